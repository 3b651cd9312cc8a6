"""`prorubric demo`: the tables a person sees."""

import json
import re
from pathlib import Path

import pytest

from prorubric.cli.app import run
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
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    return run_in_terminal("demo", cwd=tmp_path_factory.mktemp("demo"), columns=80, NO_COLOR="1")


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


def test_a_wider_terminal_shows_the_same_tables(shown: str, tmp_path: Path) -> None:
    wide = run_in_terminal("demo", cwd=tmp_path, columns=120, NO_COLOR="1")
    section = re.compile(r"^3\. score.*(?=^Under the sum)", re.MULTILINE | re.DOTALL)
    assert section.search(wide)[0] == section.search(shown)[0]  # type: ignore[index]


def test_a_narrow_terminal_shows_the_prompts_with_the_two_answers_that_matter(tmp_path: Path) -> None:
    narrow = run_in_terminal("demo", cwd=tmp_path, columns=60, NO_COLOR="1")
    [row] = [line for line in narrow.splitlines() if line.startswith(" infant-fever ")]
    assert row.split()[1:] == ["0.61", "0.75*", "1.00", "0.20"]


def test_it_ends_with_0_and_writes_where_it_is_told(tmp_path: Path) -> None:
    done = run_program("demo", "--out", "deep/down", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("Look at deep/down/audit/report.html (all figures: summary.json).\n")


def test_json_prints_the_result_record_which_is_also_in_the_summary(tmp_path: Path) -> None:
    done = run_program("demo", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (0, "", 1)
    assert json.loads(done.stdout) == json.loads((tmp_path / "prorubric-demo/summary.json").read_text())
    assert DemoResult(**json.loads(done.stdout)).padded_first["additive"] == 6


@parametrize_sparingly("name", ["run[1]", "[bold]", "[red]x", ":x:"], 4)
def test_the_name_of_the_folder_is_printed_as_it_is(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["demo", "--out", name]) == 0
    assert f"Look at {name}/audit/report.html (" in capsys.readouterr().out


def test_a_folder_with_something_else_in_it_is_left_alone_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert run(["demo", "--out", str(tmp_path)]) == 2
    line = f"prorubric: {tmp_path}: holds something that is not a demo; choose another --out\n"
    assert capsys.readouterr() == ("", line)
