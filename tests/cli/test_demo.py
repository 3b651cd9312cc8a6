"""`prorubric demo`: the tables a person sees."""

import json
import re
from pathlib import Path

import pytest

from prorubric.cli.app import run
from prorubric.cli.demo import print_demo
from prorubric.cli.output import make_console
from prorubric.verbs.demo import DemoResult
from tests.cli.program import run_in_terminal, run_program
from tests.thorough import parametrize_sparingly

PROMPTS = [
    "infant-fever",
    "warfarin-nsaid",
    "child-ear-pain",
    "confounded-chambers",
    "irreversible-piston",
    "minus-rt",
    "apology-email",
    "unsaid-scene",
    "gas-notice",
    "vegan-pasta-bake",
    "wedding-flight",
    "phone-reset-codes",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def shown(folder: Path) -> str:
    return run_in_terminal("demo", cwd=folder, columns=80, NO_COLOR="1")


@pytest.fixture
def result(shown: str, folder: Path) -> DemoResult:
    return DemoResult(**json.loads((folder / "prorubric-demo/summary.json").read_text()))


def test_the_table_has_the_twelve_prompts_in_order(shown: str) -> None:
    assert re.findall(r"^ ([a-z-]+) +0\.\d\d ", shown, re.MULTILINE) == PROMPTS


def test_a_star_marks_the_six_prompts_where_padding_wins(shown: str) -> None:
    starred = re.findall(r"^ ([a-z-]+) .*\d\*", shown, re.MULTILINE)
    assert starred == [*PROMPTS[:3], *PROMPTS[9:]]


def test_a_row_holds_the_four_sums_and_the_four_scores_by_dimensions(shown: str) -> None:
    [row] = [line for line in shown.splitlines() if line.startswith(" infant-fever ")]
    assert row.split()[1:] == ["0.61", "0.75*", "0.19", "0.39", "1.00", "0.20", "0.27", "0.47"]


def test_the_audit_names_what_the_sum_pays_for_and_what_the_dimensions_pay(shown: str) -> None:
    rows = [line for line in shown[shown.index("4. audit") :].splitlines() if line.strip()]
    (named,) = (line for line in rows if line.startswith("name-item "))
    assert re.match(r"name-item +12 +\+11\.8 \[.*\] +\+1\.5 \[-0\.\d, \+\d\.\d\]$", named)
    (dropped,) = (line for line in rows if line.startswith("drop-key-advice "))
    assert dropped.split()[1:3] == ["12", "-7.9"]
    assert "additive: would pay for padding: yes\n" in shown
    assert "conjunctive: would pay for padding: unclear\n" in shown


def test_the_last_lines_say_what_it_means_and_where_it_is(shown: str) -> None:
    assert "beats the focused one on 6 of 12 prompts, under \nProRubric on 0.\n" in shown
    assert shown.endswith("Look at prorubric-demo/audit/report.html (all figures: summary.json).\n")


@pytest.mark.parametrize("kind", ["focused", "padded", "thin", "needless", "sum", "dims"])
def test_every_word_of_the_heading_is_explained(kind: str, shown: str) -> None:
    assert re.search(rf"^{kind} +[a-z].* [a-z]", shown, re.MULTILINE)


def test_nothing_is_cut_or_broken_at_80_columns(shown: str) -> None:
    assert "…" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_a_wider_terminal_shows_the_same_tables(
    shown: str, result: DemoResult, capsys: pytest.CaptureFixture[str]
) -> None:
    print_demo(result, make_console(120))
    wide = capsys.readouterr().out
    section = re.compile(r"^3\. score.*(?=^Under the sum)", re.MULTILINE | re.DOTALL)
    assert section.search(wide)[0] == section.search(shown)[0]  # type: ignore[index]


def test_a_narrow_terminal_shows_the_prompts_with_the_two_answers_that_matter(
    result: DemoResult, capsys: pytest.CaptureFixture[str]
) -> None:
    print_demo(result, make_console(60))
    [row] = [line for line in capsys.readouterr().out.splitlines() if line.startswith(" infant-fever ")]
    assert row.split()[1:] == ["0.61", "0.75*", "1.00", "0.20"]


@parametrize_sparingly("name", ["deep/run[1]", "[bold]", "[red]x", ":x:"], 4)
def test_it_ends_with_0_and_writes_where_it_is_told_whatever_the_name(tmp_path: Path, name: str) -> None:
    done = run_program("demo", "--out", name, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"Look at {name}/audit/report.html (all figures: summary.json).\n")
    assert (tmp_path / name / "audit/report.html").is_file()


def test_json_prints_the_result_record_which_is_also_in_the_summary(tmp_path: Path) -> None:
    done = run_program("demo", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    assert json.loads(done.stdout) == json.loads((tmp_path / "prorubric-demo/summary.json").read_text())
    assert DemoResult(**json.loads(done.stdout)).padded_first["additive"] == 6


def test_a_folder_with_something_else_in_it_is_left_alone_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert run(["demo", "--out", str(tmp_path)]) == 2
    line = f"prorubric: {tmp_path}: holds something that is not a demo; choose another --out\n"
    assert capsys.readouterr() == ("", line)
