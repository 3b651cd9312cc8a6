"""Every Python and shell snippet of the README and the docs runs and prints what the page says it prints."""

import contextlib
import io
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown.extensions.toc import slugify

from tests.cli.forking import ADDRESS, find_fork_server
from tests.llms import render_llms
from tests.snippets import Snippet, read_snippets
from tests.view.pictures import PLACES, REPORTS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

# These lines are not run here, each for its reason; everything else is.
RUN_ELSEWHERE = {
    "make demo": "tests/test_make.py runs it in a clean copy",
    "make test": "it is the run that this test is part of",
    "make test-all": "it is the run that this test is part of",
    "source .venv/bin/activate": "the tests run in it already",
    "make check": "CI runs it beside the tests",
    "pip install .": "tests/test_make.py installs the core into a clean environment",
    "pip install '.[hub]'": "make test installs it",
    "pip install '.[local]'": "make test installs it",
    "pip install '.[ray]'": "make test installs it",
    "pip install '.[serve]'": "make test installs it, and make test-all resolves it in a clean environment",
    "pip install '.[eval]'": "make test-all installs it into an environment of its own",
    "pip install '.[trl]'": "make test-all installs it into an environment of its own",
    "pip install '.[lab,plot]'": "make test-all installs it into an environment of its own",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_snippet_of_a_page_runs_and_prints_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    for snippet in read_snippets(page):
        printed = run_python(snippet, names) if snippet.language == "python" else run_bash(snippet, tmp_path)
        if snippet.output is not None:
            assert printed == snippet.output, f"{page.name}:{snippet.line} prints something else"


def run_python(snippet: Snippet, names: dict[str, object]) -> str:
    printed = io.StringIO()
    code = compile("\n" * snippet.line + snippet.code, str(snippet.page), "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return printed.getvalue()


def run_bash(snippet: Snippet, folder: Path) -> str:
    lines = [line for line in snippet.code.splitlines() if line.split("#")[0].strip() not in RUN_ELSEWHERE]
    commands = folder / ".commands"
    for name in ("prorubric", "python"):
        write_command(commands / name)
    path = f"{commands}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, ADDRESS: find_fork_server()}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{snippet.page.name}:{snippet.line}: {done.stderr}"
    return done.stdout


def write_command(path: Path) -> None:
    """A command that runs the program, or Python with the package, without loading it again."""
    path.parent.mkdir(exist_ok=True)
    code = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom tests.cli.forking import run_here\nrun_here()\n"
    path.write_text(f"#!{sys.executable} -S\n{code}")
    path.chmod(0o755)


def test_there_are_snippets_to_run() -> None:
    languages = [snippet.language for page in PAGES for snippet in read_snippets(page)]
    assert languages.count("python") >= 15
    assert languages.count("bash") >= 6


def test_the_first_screen_of_the_readme_has_the_two_commands_and_an_audit() -> None:
    screen = (ROOT / "README.md").read_text().splitlines()[:34]
    for opening in ("make demo", "make test", "prorubric audit", "name-item "):
        assert any(line.startswith(opening) for line in screen)
    python = [snippet for snippet in read_snippets(ROOT / "README.md") if snippet.language == "python"]
    assert len(python[0].code.splitlines()) <= 10


def test_links_between_pages_lead_to_a_page_and_a_heading_on_it() -> None:
    broken = []
    for page in [*PAGES, *(ROOT / name for name in ("CHANGELOG.md", "SECURITY.md"))]:
        for target, anchor in re.findall(r"\]\(([^)#\s:]*)(?:#([^)\s]*))?\)", page.read_text()):
            found = page.parent / target if target else page
            if not found.is_file() or (anchor and anchor not in list_anchors(found)):
                broken.append(f"{page.name} -> {target}#{anchor}")
    assert broken == []


def list_anchors(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return {slugify(heading.strip(), "-") for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def test_every_page_is_in_the_navigation() -> None:
    pages = [str(page.relative_to(ROOT / "docs")) for page in sorted((ROOT / "docs").rglob("*.md"))]
    navigation = (ROOT / "mkdocs.yml").read_text().partition("nav:")[2]
    assert [page for page in pages if f": {page}\n" not in navigation] == []


def test_llms_txt_lists_every_page_of_the_navigation_and_its_links_work() -> None:
    text = (ROOT / "llms.txt").read_text()
    assert text == render_llms(), "run: make generated"
    targets = re.findall(r"\]\(([^)]*)\)", text)
    assert [target for target in targets if not (ROOT / target).is_file()] == []
    assert {f"docs/{page.relative_to(ROOT / 'docs')}" for page in (ROOT / "docs").rglob("*.md")} <= set(targets)


def test_the_api_page_has_every_public_name_once_and_says_where_it_is_from() -> None:
    listed = re.findall(r"^::: (\S+)$", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
    stub = (ROOT / "src/prorubric/__init__.pyi").read_text()
    public = re.findall(r"^from \.(\S+) import (\w+)", stub, re.MULTILINE)
    assert sorted(listed) == sorted(f"prorubric.{module}.{name}" for module, name in public)


def test_the_front_page_has_a_way_in_for_every_role() -> None:
    page = (ROOT / "docs/index.md").read_text()
    start = page.partition("## Start here")[2].partition("\n## ")[0]
    roles = "have a rubric file, train with TRL, train with verl, evaluate, want to change the code"
    assert re.findall("^### I (.*)$", start, re.MULTILINE) == roles.split(", ")
    assert all("](" in part for part in start.split("### ")[1:])


def test_every_page_has_a_picture_that_the_docs_show() -> None:
    names = {f"{name}.webp" for name in (*PLACES, *(f"report-{name}" for name in REPORTS))}
    assert {path.name for path in (ROOT / "docs/pictures").iterdir()} == names
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    assert set(re.findall(r"\]\(pictures/([\w.-]+)\)", text)) == names


def test_pictures_of_the_docs_load_nothing_and_run_nothing() -> None:
    pictures = [*(ROOT / "docs").rglob("*.svg")]
    assert pictures
    for picture in pictures:
        text = picture.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|<script|\bon\w+=|@import|url\((?!#)", text)


class Links(HTMLParser):
    """The places that a page of the site names, and what it loads or links to there."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.names: set[str] = {""}
        self.targets: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.names.add(value or "")
            elif name in ("href", "src") and value is not None and not (tag == "a" and "://" in value):
                self.targets.append(value)


def test_every_link_of_the_built_site_works_from_a_folder_without_a_warning_or_a_network(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Why a sum of criteria is a bad reward" in (tmp_path / "index.html").read_text()
    pages = {page: Links(page) for page in tmp_path.rglob("*.html") if page.name != "404.html"}
    assert len(pages) == len(list((ROOT / "docs").rglob("*.md")))
    broken = []
    for page, links in pages.items():
        for target in links.targets:
            path, _, anchor = target.partition("#")
            found = (page.parent / unquote(path)).resolve() if path else page
            if not found.is_file() or (found in pages and unquote(anchor) not in pages[found].names):
                broken.append(f"{page.relative_to(tmp_path)} -> {target}")
    assert broken == []


def test_the_readme_shows_an_audit_whole_and_what_rules_give_with_it() -> None:
    readme = (ROOT / "README.md").read_text()
    (audit,) = (one for one in read_snippets(ROOT / "README.md") if "prorubric audit" in one.code)
    assert "|" not in audit.code
    assert audit.output is not None
    assert audit.output.endswith("prorubric-audit/report.html has the rest\n")
    page = (ROOT / "docs/audit.md").read_text()
    (row,) = (line for line in page.splitlines() if line.startswith("| name-item (1,275 pairs"))
    summed, grouped = (cell.strip() for cell in row.split("|")[2:4])
    assert f"naming pays {summed} under the sum and {grouped} under those dimensions" in readme
