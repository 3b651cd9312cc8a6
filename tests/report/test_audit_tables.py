"""`write_audit_tables`: csv that reads back exactly, and a LaTeX table."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from prorubric.audit.edits import EDITS
from prorubric.audit.folder import REPORT_FILES
from prorubric.audit.records import AuditResult, Effect, FixedChange, Forecast, SchemeLine, Share
from prorubric.errors import SourceError
from prorubric.report.audit_tables import escape_latex, render_forecast_latex, render_latex, write_audit_tables

from .audit_folder import SCHEMES, build_audit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit")


@pytest.fixture(scope="module")
def result(folder: Path) -> AuditResult:
    found = build_audit(folder)
    write_audit_tables(folder)
    return found


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream, strict=True))


def effect(edit: str, scheme: str, mean: float | None, **more: Any) -> Effect:
    known = mean is not None
    about = {"low": mean - 1 if known else None, "high": mean + 1 if known else None} | more
    shares = dict.fromkeys(("rising", "falling", "unchanged", "per_spread"))
    return Effect(edit=edit, scheme=scheme, mean=mean, pairs=3, prompts=3, unknown=0, **shares, **about)


def test_the_files_are_named_in_order(folder: Path, result: AuditResult) -> None:
    names = [path.name for path in write_audit_tables(folder)]
    assert names == [
        *("effects.csv", "shares.csv", "fixed.csv", "forecast.csv", "prices.csv", "hacks.csv"),
        *("effects.tex", "forecast.tex"),
    ]
    assert {*names, "report.html"} == set(REPORT_FILES)


def test_effects_read_back_to_the_last_digit(folder: Path, result: AuditResult) -> None:
    rows = read(folder / "effects.csv")
    assert [(row["edit"], row["scheme"]) for row in rows] == [(e.edit, e.scheme) for e in result.effects]
    assert [row["mean"] for row in rows] == [str(e.mean) for e in result.effects]
    assert list(rows[0]) == list(Effect.model_fields)


def test_the_forecast_has_a_row_for_each_scheme(folder: Path, result: AuditResult) -> None:
    rows = read(folder / "forecast.csv")
    assert [row["scheme"] for row in rows] == list(SCHEMES)
    assert [float(row["tied"]) for row in rows] == [row.tied for row in result.forecast]


def test_shares_and_fixed_criteria_read_back_to_the_last_digit(folder: Path, result: AuditResult) -> None:
    shares, fixed = read(folder / "shares.csv"), read(folder / "fixed.csv")
    assert [(row["scheme"], row["value"]) for row in shares] == [
        (share.scheme, "" if share.value is None else str(share.value)) for share in result.naming_share
    ]
    assert [(row["edit"], row["criterion"], row["change"]) for row in fixed] == [
        (row.edit, row.criterion, str(row.change)) for row in result.fixed
    ]
    assert (list(shares[0]), list(fixed[0])) == (list(Share.model_fields), list(FixedChange.model_fields))


def test_every_hack_is_a_row_with_a_column_for_each_reward(folder: Path, result: AuditResult) -> None:
    given = [json.loads(line) for line in (folder / "hacks.jsonl").read_text().splitlines()]
    rows = read(folder / "hacks.csv")
    assert [row["task_id"] for row in rows] == [hack["task_id"] for hack in given]
    assert [row["possible"] for row in rows] == [str(hack["possible"]) for hack in given]
    assert [row["criteria"] for row in rows] == [" ".join(map(str, hack["criteria"])) for hack in given]
    assert [row["rewards:additive"] for row in rows] == [
        str(hack["rewards"]["additive"]) if hack["possible"] else "" for hack in given
    ]
    assert [float(row["answer_rewards:graded"]) for row in rows] == [hack["answer_rewards"]["graded"] for hack in given]


def test_an_audit_without_hacks_has_the_head_of_the_table(tmp_path: Path) -> None:
    build_audit(tmp_path)
    (tmp_path / "hacks.jsonl").unlink()
    write_audit_tables(tmp_path)
    [head] = (tmp_path / "hacks.csv").read_text().splitlines()
    assert head.startswith("task_id,heaviest,")
    assert head.endswith(",".join(f"answer_rewards:{name}" for name in SCHEMES))


def test_prices_keep_their_texts_through_quotes_commas_and_line_breaks(tmp_path: Path) -> None:
    build_audit(tmp_path, tasks=1, reword=lambda text: f'{text}, said "twice";\nthen\r\nagain')
    write_audit_tables(tmp_path)
    given = [json.loads(line) for line in (tmp_path / "prices.jsonl").read_text().splitlines()]
    rows = read(tmp_path / "prices.csv")
    assert [row["text"] for row in rows] == [row["text"] for row in given]
    assert b'said ""twice"";\nthen\r\nagain"' in (tmp_path / "prices.csv").read_bytes()


def test_no_text_of_a_rubric_is_run_by_a_spreadsheet(tmp_path: Path) -> None:
    build_audit(tmp_path, tasks=1, reword=lambda text: f'=HYPERLINK("http://x", "{text}")')
    write_audit_tables(tmp_path)
    given = [json.loads(line)["text"] for line in (tmp_path / "prices.jsonl").read_text().splitlines()]
    assert [row["text"] for row in read(tmp_path / "prices.csv")] == [f"'{text}" for text in given]


def test_a_figure_that_is_not_known_is_an_empty_field(tmp_path: Path) -> None:
    build_audit(tmp_path, effects=(effect("name-item", "additive", None),), forecast=())
    write_audit_tables(tmp_path)
    [row] = read(tmp_path / "effects.csv")
    assert (row["mean"], row["low"], row["paper"], row["pairs"]) == ("", "", "", "3")
    assert (tmp_path / "forecast.csv").read_bytes().count(b"\r\n") == 1


def test_the_latex_table_has_edits_down_schemes_across_and_the_worst_in_bold(result: AuditResult) -> None:
    small = result.model_copy(
        update={
            "effects": (
                effect("needless-test", "additive", -0.25),
                effect("name-item", "additive", 7.3),
                effect("name-item", "raw_and", None),
                effect("needless-test", "raw_and", 0.0, low=None),
            ),
            "headline": (
                SchemeLine(
                    scheme="additive", alive=True, worst=("name-item",), pays_for_padding="yes", because="name-item"
                ),
            ),
            "judge": "http://host/v1#a_b 100% {x}",
        }
    )
    made = render_latex(small)
    assert made.splitlines()[:12] == [
        r"\begin{table}",
        r"\centering",
        r"\small",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"edit & additive & raw\_and \\",
        r"\midrule",
        r"name-item & \textbf{\boldmath$+7.3$} {\footnotesize $[+6.3, +8.3]$} & -- \\",
        r"needless-test & $-0.2$ {\footnotesize $[-1.2, +0.8]$} & $0.0$ \\",
        r"\bottomrule",
        r"\end{tabular}",
        made.splitlines()[11],
    ]
    assert r"judge: http://host/v1\#a\_b 100\% \{x\};" in made


def test_more_schemes_than_a_page_is_wide_make_several_blocks(result: AuditResult) -> None:
    made = render_latex(result)
    assert made.count(r"\begin{tabular}{lrrrrr}") == made.count(r"\begin{tabular}{lrrr}") == 1
    assert made.count(r"\begin{table}") == made.count(r"\caption{") == made.count(r"\par\medskip") == 1
    assert all(made.count(f"\n{edit} & ") == 2 for edit in EDITS)


def test_the_forecast_is_a_latex_table_with_a_line_a_scheme(result: AuditResult) -> None:
    known, unknown = (
        Forecast(scheme=name, groups=count, size=size, tied=tied, levels=size, spread=size, mean=size)
        for name, count, size, tied in (("raw_and", 12, 4.04, 0.416), ("k1", 0, None, None))
    )
    made = render_forecast_latex(result.model_copy(update={"forecast": (known, unknown)})).splitlines()
    assert made[3:10] == [
        r"\begin{tabular}{lrrrrrr}",
        r"\toprule",
        r"scheme & tied (\%) & levels & spread & mean & groups & answers \\",
        r"\midrule",
        r"raw\_and & 42 & 4.0 & 4.0 & 4.0 & 12 & 4.0 \\",
        r"k1 & -- & -- & -- & -- & 0 & -- \\",
        r"\bottomrule",
    ]
    assert made[-2].endswith(r"judge: http://127.0.0.1:8000/v1\#judge; dimensions: the file of tasks.}")


def test_a_dead_judge_is_named_in_the_caption(result: AuditResult) -> None:
    dead = [line.scheme for line in result.headline if not line.alive]
    assert dead == ["implicit"]
    assert "The judge is not alive under implicit: no verdict there.}" in render_latex(result)


def test_signs_that_latex_reads_are_escaped() -> None:
    assert escape_latex("a_b & 5% of $3 #1 {x} ~ ^ \\ \n c") == (
        r"a\_b \& 5\% of \$3 \#1 \{x\} \textasciitilde{} \textasciicircum{} \textbackslash{} c"
    )


def test_a_folder_that_holds_no_audit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is not the folder of a finished audit"):
        write_audit_tables(tmp_path)
