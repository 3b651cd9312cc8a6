"""`lint_tasks` over whole files: totals, when it fails, what it writes, and what real files look like to it."""

import csv
import json
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from prorubric import SAMPLE_TASKS, LintConfig, lint_tasks
from prorubric.datasets.load import load_tasks
from prorubric.datasets.rejects import RejectWarning
from prorubric.errors import ConfigError, RowError, SchemeError, SourceError
from prorubric.reward.monitor import Monitor, MonitorConfig
from prorubric.rubric.lint import CHECKS, TaskLint
from prorubric.text.criteria import find_unjudgeable
from prorubric.verbs.demo import DemoConfig, run_demo
from prorubric.verbs.lint import LintResult
from tests.reward.test_monitor import make_reward

CLEAN = [("Tells her to rest", 2), ("Explains the dose", 1), ("Asks about age", 1)]
NOTED = [("Tells her to rest", 2), ("Uses bullet points", 1)]
WARNED = [("Mentions rest", 3), ("Mentions rest", 3), ("Sells a cure", -2)]
WRONG = [("Tells her to rest", 2), ("Clarity", 2)]
NO_SUM = [("Sells a cure", -2), ("Shouts at her", -1)]


def make_row(name: str, criteria: Sequence[tuple[str, float]], groups: list[list[int]] | None = None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": name,
        "messages": [{"role": "user", "content": "?"}],
        "rubric": [{"criterion": text, "weight": weight} for text, weight in criteria],
    }
    if groups:
        row["protocol"] = [{"name": "d", "description": "Fails if not.", "indices": group} for group in groups]
    return row


def write(path: Path, *rows: dict[str, Any] | str) -> str:
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


class TestTotals:
    @pytest.fixture
    def result(self, tmp_path: Path) -> LintResult:
        rows = [
            make_row("clean", CLEAN, groups=[[1, 2], [3]]),
            make_row("noted", NOTED),
            make_row("warned", WARNED),
            make_row("wrong", WRONG),
            make_row("no-sum", NO_SUM),
        ]
        return lint_tasks(LintConfig(write(tmp_path / "tasks.jsonl", *rows)))

    def test_tasks_criteria_and_penalties_are_counted(self, result: LintResult) -> None:
        assert (result.tasks, result.criteria, result.negative) == (5, 12, 3)

    def test_every_check_has_a_count_and_those_without_findings_have_zero(self, result: LintResult) -> None:
        found = {"unjudgeable": 1, "duplicate": 1, "no-positive-weight": 1, "formatting-only": 1}
        assert result.findings == dict.fromkeys(CHECKS, 0) | found
        assert result.severities == {"error": 1, "warning": 2, "note": 1}

    def test_criteria_are_counted_by_kind(self, result: LintResult) -> None:
        assert (result.presence, result.formatting, result.substantive) == (2, 1, 9)

    def test_compensation_is_averaged_over_the_tasks_that_have_a_sum(self, result: LintResult) -> None:
        # By task 2/4, 1/3, 3/6, 2/4; the last has no positive weight.
        assert result.compensation is not None
        assert (result.compensation.lowest, result.compensation.highest, result.compensation.tasks) == (1 / 3, 0.5, 4)
        assert result.compensation.mean == (0.5 + 1 / 3 + 0.5 + 0.5) / 4

    def test_compensation_with_dimensions_is_averaged_over_the_tasks_that_have_them(self, result: LintResult) -> None:
        assert result.compensation_grouped is not None
        assert result.compensation_grouped.model_dump() == {"mean": 0.25, "lowest": 0.25, "highest": 0.25, "tasks": 1}

    def test_the_share_of_presence_is_averaged_over_tasks(self, result: LintResult) -> None:
        assert result.presence_share is not None
        assert result.presence_share.model_dump() == {"mean": 0.15, "lowest": 0.0, "highest": 0.75, "tasks": 5}

    def test_a_file_without_dimensions_has_no_figure_for_them(self, tmp_path: Path) -> None:
        result = lint_tasks(LintConfig(write(tmp_path / "tasks.jsonl", make_row("a", NO_SUM))))
        assert (result.compensation, result.compensation_grouped) == (None, None)

    def test_an_empty_file_of_a_named_format_has_no_figures(self, tmp_path: Path) -> None:
        result = lint_tasks(LintConfig(write(tmp_path / "tasks.jsonl"), format="tasks"))
        assert (result.tasks, result.criteria, result.presence_share, result.passed) == (0, 0, None, False)

    def test_a_repeated_id_is_an_error_and_not_a_second_task(self, tmp_path: Path) -> None:
        path = write(tmp_path / "tasks.jsonl", make_row("a", CLEAN), make_row("a", WRONG), make_row("b", CLEAN), "{")
        result = lint_tasks(LintConfig(path))
        assert (result.tasks, result.duplicate_ids, result.severities["error"], result.passed) == (2, 1, 2, False)
        assert result.rejected == {"the id is already taken": 1, "not JSON": 1}
        assert result.rejects[0] == f"{path}:2: the id is already taken (got 'a'); give each task its own"
        assert sum(result.findings.values()) == 0


class TestPassing:
    @pytest.mark.parametrize(
        ("criteria", "passes_at"),
        [
            (CLEAN, {"error", "warning", "note", "never"}),
            (NOTED, {"error", "warning", "never"}),
            (WARNED, {"error", "never"}),
            (WRONG, {"never"}),
        ],
    )
    def test_fail_on_names_the_mildest_severity_that_fails(
        self, criteria: list[tuple[str, float]], passes_at: set[str], tmp_path: Path
    ) -> None:
        path = write(tmp_path / "tasks.jsonl", make_row("a", criteria))
        levels = ("error", "warning", "note", "never")
        assert {level for level in levels if lint_tasks(LintConfig(path, fail_on=level)).passed} == passes_at

    def test_errors_are_what_fails_unless_something_else_is_said(self, tmp_path: Path) -> None:
        path = write(tmp_path / "tasks.jsonl", make_row("a", WARNED))
        assert lint_tasks(LintConfig(path)).passed

    @pytest.mark.parametrize(("limit", "above"), [(0.4, 2), (0.5, 0), (1.0, 0), (0.0, 2)])
    def test_a_task_above_the_limit_on_compensation_fails(self, limit: float, above: int, tmp_path: Path) -> None:
        # 0.5 and 0.5; the third has no sum to compensate in.
        path = write(tmp_path / "t.jsonl", make_row("a", CLEAN), make_row("b", CLEAN), make_row("c", NO_SUM))
        result = lint_tasks(LintConfig(path, max_compensation=limit))
        assert (result.too_compensable, result.passed) == (above, above == 0)

    def test_the_limit_on_compensation_fails_even_where_no_finding_does(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.jsonl", make_row("a", CLEAN))
        assert not lint_tasks(LintConfig(path, max_compensation=0.1, fail_on="never")).passed

    @pytest.mark.parametrize(
        "options",
        [
            {"show": -1},
            {"max_compensation": 1.1},
            {"max_compensation": -0.1},
            {"max_compensation": float("nan")},
            {"fail_on": "info"},
            {"format": "csv"},
        ],
    )
    def test_a_setting_that_is_not_allowed_is_refused_before_anything_is_read(self, options: dict[str, Any]) -> None:
        with pytest.raises(ConfigError, match=next(iter(options))):
            LintConfig("no-such-file.jsonl", **options)


class TestRejects:
    def test_rows_that_cannot_be_read_count_as_errors_and_the_rest_is_looked_at(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.jsonl", make_row("a", CLEAN), "{", make_row("b", [("Tells her to rest", 0)]))
        result = lint_tasks(LintConfig(path))
        assert (result.tasks, result.severities["error"], sum(result.rejected.values())) == (1, 2, 2)
        assert not result.passed

    def test_the_first_rejects_are_kept_with_file_and_line(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.jsonl", make_row("a", CLEAN), *["[]"] * 4)
        result = lint_tasks(LintConfig(path, show=2))
        assert [reject.split(": ")[0] for reject in result.rejects] == [f"{path}:2", f"{path}:3"]
        assert sum(result.rejected.values()) == 4

    def test_rejects_pass_where_nothing_is_to_fail(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.jsonl", make_row("a", CLEAN), "{")
        assert lint_tasks(LintConfig(path, fail_on="never")).passed

    def test_strict_stops_at_the_first(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.jsonl", make_row("a", CLEAN), "{")
        with pytest.raises(RowError, match=r"t\.jsonl:2: "):
            lint_tasks(LintConfig(path, strict=True))

    def test_a_file_of_no_known_form_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match=r"found no prompt .* and no rubric .* among a; a row that works: "):
            lint_tasks(LintConfig(write(tmp_path / "t.jsonl", '{"a": 1}')))


class TestWorst:
    def test_the_worst_come_first_by_errors_then_warnings_then_notes(self, tmp_path: Path) -> None:
        rows = [
            make_row("note", NOTED),
            make_row("two warnings", [*WARNED, ("Fails to ask", 2)]),
            make_row("clean", CLEAN),
            make_row("error", WRONG),
            make_row("warning", WARNED),
        ]
        result = lint_tasks(LintConfig(write(tmp_path / "t.jsonl", *rows)))
        assert [task.task_id for task in result.worst] == ["error", "two warnings", "warning", "note"]

    def test_of_equals_the_first_in_the_file_comes_first(self, tmp_path: Path) -> None:
        rows = [make_row(f"{number}", WARNED) for number in range(300)]
        result = lint_tasks(LintConfig(write(tmp_path / "t.jsonl", *rows), show=3))
        assert [task.task_id for task in result.worst] == ["0", "1", "2"]

    @pytest.mark.parametrize("place", [1, 30, 53, 54, 287])
    def test_the_worst_is_found_wherever_it_stands(self, place: int, tmp_path: Path) -> None:
        rows = [make_row(f"{number}", WRONG if number == place else WARNED) for number in range(300)]
        result = lint_tasks(LintConfig(write(tmp_path / "t.jsonl", *rows), show=2))
        assert [task.task_id for task in result.worst] == [f"{place}", "0"]

    def test_show_zero_keeps_none_and_counts_all(self, tmp_path: Path) -> None:
        result = lint_tasks(LintConfig(write(tmp_path / "t.jsonl", make_row("a", WRONG)), show=0))
        assert (result.worst, result.findings["unjudgeable"]) == ((), 1)


class TestOut:
    def test_the_file_has_one_row_for_every_task_clean_ones_too(self, tmp_path: Path) -> None:
        path, out = write(tmp_path / "t.jsonl", make_row("a", CLEAN), make_row("b", WRONG)), tmp_path / "out.jsonl"
        lint_tasks(LintConfig(path, out=out))
        rows = [TaskLint(**json.loads(line)) for line in out.read_text().splitlines()]
        assert [(row.task_id, [f.check for f in row.findings]) for row in rows] == [("a", []), ("b", ["unjudgeable"])]

    def test_parquet_holds_the_findings_as_json(self, tmp_path: Path) -> None:
        path, out = write(tmp_path / "t.jsonl", make_row("b", WRONG)), tmp_path / "out.parquet"
        lint_tasks(LintConfig(path, out=out))
        [row] = pq.read_table(out).to_pylist()
        assert (row["task_id"], row["compensation"], row["compensation_grouped"]) == ("b", 0.5, None)
        assert json.loads(row["findings"])[0]["criteria"] == [2]

    def test_the_findings_never_replace_the_tasks(self, tmp_path: Path) -> None:
        path = tmp_path / "t.jsonl"
        write(path, make_row("a", WRONG))
        before = path.read_bytes()
        with pytest.raises(ConfigError, match="the findings would replace the tasks; choose another name"):
            lint_tasks(LintConfig(str(path), out=tmp_path / "sub" / ".." / "t.jsonl"))
        assert path.read_bytes() == before

    def test_a_name_of_no_known_format_is_refused_and_nothing_is_written(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.jsonl", make_row("a", WRONG))
        with pytest.raises(SourceError, match=r"out\.txt: the name does not end in a known format"):
            lint_tasks(LintConfig(path, out=tmp_path / "out.txt"))
        assert [file.name for file in tmp_path.iterdir()] == ["t.jsonl"]

    def test_a_row_that_stops_a_strict_run_leaves_no_half_file(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.jsonl", make_row("a", WRONG), "{")
        with pytest.raises(RowError):
            lint_tasks(LintConfig(path, strict=True, out=tmp_path / "out.jsonl"))
        assert [file.name for file in tmp_path.iterdir()] == ["t.jsonl"]


Found = tuple[LintResult, dict[str, TaskLint]]


@pytest.fixture(scope="module")
def found(shared_data: Path) -> Found:
    path = shared_data / "healthbench_500/healthbench_500.parquet"
    if not path.is_file():
        pytest.skip(f"the real data is not here: {path} is missing")
    result = lint_tasks(LintConfig(str(path), show=500))
    return result, {task.task_id: task for task in result.worst}


def test_a_third_of_the_questions_of_researchqa_ask_to_name_something(shared_data: Path) -> None:
    result = lint_tasks(LintConfig(str(shared_data / "researchqa/valid.json"), show=0))
    assert (result.tasks, result.criteria, result.presence, result.formatting) == (703, 5230, 1723, 0)
    assert result.presence_share is not None
    assert round(result.presence_share.mean, 2) == 0.34


class TestHealthBench:
    """The 500 real prompts. The totals are what the checks find today; a change of a check has to look at them."""

    def test_one_prompt_has_exactly_three_repeated_criteria(self, found: Found) -> None:
        [task] = [task for name, task in found[1].items() if name.startswith("e690c779")]
        pairs = [finding.criteria for finding in task.findings if finding.check == "duplicate"]
        assert pairs == [(8, 11), (9, 12), (10, 13)]

    def test_the_totals_of_the_file(self, found: Found) -> None:
        result = found[0]
        assert (result.tasks, result.criteria, result.negative, result.rejected) == (500, 5965, 1859, {})
        assert (result.presence, result.formatting, result.substantive) == (1369, 30, 4566)

    def test_the_totals_of_the_findings(self, found: Found) -> None:
        nonzero = {check: count for check, count in found[0].findings.items() if count}
        assert nonzero == {"polarity": 60, "duplicate": 3, "near-duplicate": 3, "mirrored": 16, "formatting-only": 30}
        assert found[0].passed

    def test_on_average_most_of_the_sum_is_reachable_without_the_heaviest_criterion(self, found: Found) -> None:
        assert found[0].compensation is not None
        assert round(found[0].compensation.mean, 4) == 0.7755
        assert (found[0].compensation.lowest, found[0].compensation.tasks) == (0.0, 500)

    def test_every_mirrored_pair_is_one_of_a_demand_and_its_failure(self, found: Found) -> None:
        mirrored = [f.message for task in found[1].values() for f in task.findings if f.check == "mirrored"]
        assert sum("Fails to " in message or "Does not " in message for message in mirrored) == 16


@pytest.mark.parametrize(
    "file",
    [
        "researchqa/valid.json",
        "deep_research_bench/criteria.jsonl",
        "vitabench/delivery_en.json",
        "rubriceval/hard.json",
        "paperbench/rice.json",
        "paperbench/all-in-one.json",
        "writingbench/benchmark_all.jsonl",
        "scholarqa/test_configs_snippets.json",
        "healthbench_104/context_seeking_consensus_hard_104.jsonl",
    ],
)
def test_every_criterion_of_real_files_can_be_judged(shared_data: Path, file: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RejectWarning)
        tasks = list(load_tasks(shared_data / file))
    assert [c.text for task in tasks for c in task.rubric.criteria if find_unjudgeable(c.text)] == []


@pytest.mark.parametrize(
    ("file", "tasks", "criteria"),
    [("deep_research_bench/criteria.jsonl", 50, 1271), ("writingbench/benchmark_all.jsonl", 264, 1320)],
)
def test_the_chinese_half_of_a_file_is_counted_as_unread(
    shared_data: Path, file: str, tasks: int, criteria: int
) -> None:
    result = lint_tasks(LintConfig(str(shared_data / file), show=0))
    assert (result.findings["unread"], result.unread) == (tasks, criteria)
    assert result.presence_share is not None
    assert result.presence_share.tasks == result.tasks - tasks
    assert result.presence + result.formatting + result.unread + result.substantive == result.criteria


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over the sample pack, whose verdicts were given by hand."""
    folder = tmp_path_factory.mktemp("demo") / "run"
    run_demo(DemoConfig(out=folder))
    return folder


class TestWithRun:
    def test_every_criterion_of_the_sample_pack_has_its_figures(self, run: Path) -> None:
        items = lint_tasks(LintConfig(str(SAMPLE_TASKS), run=run)).items
        assert items is not None
        assert (items.tasks, items.responses, len(items.criteria)) == (12, 48, 264)
        assert (items.judge, items.left_out) == ("none: verdicts given by hand", {})
        assert (items.always_met, items.never_met, items.never_moved, items.suppressed) == (20, 1, 21, 26)
        assert [item.suppressed for item in items.criteria] == [True] * 26 + [False] * 238
        fever = next(item for item in items.criteria if (item.task_id, item.index) == ("medicine-infant-fever", 1))
        assert (fever.weight, fever.pass_rate, fever.redundant_with, fever.suppressed) == (10, 0.75, 2, True)

    def test_without_a_run_there_are_none_and_with_one_the_outcome_is_the_same(self, run: Path) -> None:
        plain, judged = (lint_tasks(LintConfig(str(SAMPLE_TASKS), run=one)) for one in (None, run))
        assert plain.items is None
        assert judged.model_copy(update={"items": None}) == plain

    def test_the_table_has_a_row_for_each_criterion_in_the_order_of_the_file(self, run: Path, tmp_path: Path) -> None:
        lint_tasks(LintConfig(str(SAMPLE_TASKS), run=run, items=tmp_path / "new" / "items.csv"))
        again = LintConfig(str(SAMPLE_TASKS), run=run, items=tmp_path / "new" / "items.csv")
        with pytest.raises(ConfigError, match=r"items.csv: already exists; choose another name or pass --overwrite"):
            lint_tasks(again)
        lint_tasks(replace(again, overwrite=True))
        with (tmp_path / "new" / "items.csv").open(newline="", encoding="utf-8") as file:
            rows = [*csv.DictReader(file)]
        assert (len(rows), rows[0]["task_id"], rows[0]["index"]) == (264, "medicine-infant-fever", "1")
        assert (rows[0]["pass_rate"], rows[0]["moved_share"], rows[0]["suppressed"]) == ("0.75", "1.0", "True")

    def test_smaller_groups_are_counted_by_the_order_of_the_samples(self, run: Path) -> None:
        items = lint_tasks(LintConfig(str(SAMPLE_TASKS), run=run, group_size=2)).items
        assert items is not None
        assert {item.groups for item in items.criteria} == {2}
        # The advantages of two are the same as long as the same one is better, and no single criterion decides that.
        assert {item.moved_share for item in items.criteria} == {0.0}

    def test_tasks_that_differ_or_are_on_one_side_only_are_counted(self, run: Path, tmp_path: Path) -> None:
        first, second, *_ = (json.loads(line) for line in SAMPLE_TASKS.read_text(encoding="utf-8").splitlines())
        second["rubric"][0]["criterion"] += " Or not."
        path = write(tmp_path / "tasks.jsonl", first, second, make_row("new", CLEAN))
        items = lint_tasks(LintConfig(path, run=run)).items
        assert items is not None
        assert (items.tasks, len(items.criteria)) == (1, len(first["rubric"]))
        assert items.left_out == {
            "tasks with different criteria in the run": 1,
            "tasks without verdicts in the run": 1,
            "tasks of the run that are not in the file": 10,
        }

    def test_unknown_verdicts_and_those_that_do_not_apply_are_counted(self, run: Path, tmp_path: Path) -> None:
        copy = tmp_path / "run"
        shutil.copytree(run, copy)
        lines = (copy / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
        row = json.loads(lines[0])
        row["verdicts"]["criteria"][:2] = [{"unknown": "no reply"}, {"not_applicable": "no"}]
        (copy / "verdicts.jsonl").write_text("\n".join([json.dumps(row), *lines[1:]]) + "\n", encoding="utf-8")
        items = lint_tasks(LintConfig(str(SAMPLE_TASKS), run=copy)).items
        assert items is not None
        assert (items.unknown, items.not_applicable) == (1, 1)
        of_first = sorted((i for i in items.criteria if i.task_id == row["task_id"]), key=lambda item: item.index)
        assert [item.responses for item in of_first][:3] == [3, 3, 4]

    def test_advantages_may_be_those_of_another_scheme(self, run: Path) -> None:
        found = {}
        for scheme in ("conjunctive", "prorubric"):
            items = lint_tasks(LintConfig(str(SAMPLE_TASKS), run=run, scheme=scheme)).items
            assert items is not None
            found[scheme] = items
            assert (items.scheme, len(items.criteria)) == (scheme, 264)
        # Under the sum 26 are. What the verdicts are not on cannot be removed.
        assert (found["conjunctive"].suppressed, found["prorubric"].suppressed) == (60, 106)
        assert {item.moved_share for item in found["conjunctive"].criteria} == {0.0, 1.0}
        assert {item.moved_share for item in found["prorubric"].criteria} == {None}

    def test_the_verdicts_of_a_training_have_their_own_groups_and_rewards(self, tmp_path: Path) -> None:
        task = make_row("t", CLEAN)
        criteria = len(task["rubric"])
        path, verdicts = write(tmp_path / "tasks.jsonl", task), tmp_path / "verdicts.jsonl"
        rewards = [
            make_reward(value, task_id="t", verdicts={"criteria": [met] + [True] * (criteria - 1)})
            for value, met in ((0.0, True), (1.0, False))
        ]
        with Monitor(MonitorConfig(tmp_path / "steps.jsonl", verdicts=verdicts)) as monitor:
            for step in (1, 2, 3):
                monitor.record(step, rewards, groups=["a", "a"])
        with verdicts.open("ab") as file:
            file.write(b'{"task_id": "t", "sam')  # a process that was killed
        with Monitor(MonitorConfig(tmp_path / "steps.jsonl", verdicts=verdicts)) as monitor:
            monitor.record(2, [*rewards, make_reward(None, task_id="t", verdicts=rewards[0].parts.verdicts)])
        items = lint_tasks(LintConfig(path, run=verdicts)).items
        assert items is not None
        first = next(item for item in items.criteria if item.index == 1)
        # The second step was trained again, and the third has not been yet.
        assert (items.responses, items.scheme, items.judge) == (5, "", "not stored")
        assert (first.groups, first.responses, first.pass_rate) == (2, 5, 0.6)
        assert (first.moved_share, first.suppressed) == (None, True)
        assert first.advantage_if_met == pytest.approx(-(0.5**0.5), abs=1e-4)
        summed = lint_tasks(LintConfig(path, run=verdicts, scheme="additive")).items
        assert summed is not None
        assert [item.suppressed for item in summed.criteria if item.index == 1] == [False]

    def test_a_training_that_kept_other_verdicts_is_refused(self, tmp_path: Path) -> None:
        path = write(tmp_path / "tasks.jsonl", make_row("t", CLEAN))
        row = {"task_id": "t", "sample": 0, "verdicts": {"dimensions": [True]}, "step": 1, "group": "t", "reward": 1.0}
        with pytest.raises(SourceError, match=r"no verdicts on criteria \(it has dimensions\); add additive, or the"):
            lint_tasks(LintConfig(path, run=Path(write(tmp_path / "verdicts.jsonl", row))))
        del row["step"]
        with pytest.raises(SourceError, match=r"verdicts\.jsonl:1: a row of verdicts without step, group and reward"):
            lint_tasks(LintConfig(path, run=Path(write(tmp_path / "verdicts.jsonl", row))))

    def test_what_does_not_fit_is_refused_in_one_line(self, run: Path, tmp_path: Path) -> None:
        tasks = str(SAMPLE_TASKS)
        with pytest.raises(ConfigError, match="--items, --group-size and --scheme are about the verdicts of a run"):
            lint_tasks(LintConfig(tasks, items=tmp_path / "items.csv"))
        with pytest.raises(ConfigError, match=r"items\.jsonl: the figures of criteria are written as csv"):
            lint_tasks(LintConfig(tasks, run=run, items=tmp_path / "items.jsonl"))
        with pytest.raises(SourceError, match="not the folder of a finished run; name one that judge has written"):
            lint_tasks(LintConfig(tasks, run=tmp_path))
        with pytest.raises(SchemeError, match="compares the length of an answer with the others in its group"):
            lint_tasks(LintConfig(tasks, run=run, scheme="focused(additive)"))
        (tmp_path / "tasks.jsonl").write_bytes((run / "tasks.jsonl").read_bytes())
        lines = [json.loads(line) for line in (run / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]
        write(tmp_path / "verdicts.jsonl", *({**row, "verdicts": {"mark": [3]}} for row in lines))
        with pytest.raises(SourceError, match=r"the run has no verdicts on criteria \(it has mark\); judge again with"):
            lint_tasks(LintConfig(tasks, run=tmp_path))
