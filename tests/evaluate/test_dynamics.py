"""What happened in trainings, on looks that are small enough to check by hand."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from prorubric.errors import ConfigError, RubricError, SourceError
from prorubric.evaluate.dynamics import (
    CriterionPlace,
    compare_methods,
    complete_dimensions,
    find_disagreements,
    find_peak,
    find_suppressed,
    trace_curves,
)
from prorubric.evaluate.looks import JudgedAnswer, Look, TrainingRun, load_run
from prorubric.evaluate.statistics import t_quantile
from prorubric.rubric.records import Criterion, Message, ProtocolRubric, Rubric, Task
from prorubric.rubric.verdict import NotApplicable, Unknown, Verdict

UNKNOWN = Unknown("no reply")


def make_task(name: str, weights: Sequence[float], groups: Sequence[Sequence[int]]) -> Task:
    rubric = Rubric(criteria=tuple(Criterion(text=f"Says {index}", weight=w) for index, w in enumerate(weights, 1)))
    parts = [
        {"name": f"d{n}", "description": f"Says it. Fails if not {n}.", "indices": group}
        for n, group in enumerate(groups)
    ]
    message = Message(role="user", content="What now?")
    return Task(id=name, messages=(message,), rubric=rubric, protocol=ProtocolRubric.of(rubric, parts))


TASKS = {
    "fever": make_task("fever", [1, 1, 1, -1], [[1, 2], [3, 4]]),
    "rash": make_task("rash", [2, 1, 1, 1], [[1], [2, 3, 4]]),
}


def make_run(method: str, seed: int, steps: Mapping[int, Mapping[str, float | None]]) -> TrainingRun:
    """A run with one measure by step and prompt."""
    looks = [Look(step, tuple(JudgedAnswer(task, c=c) for task, c in values.items())) for step, values in steps.items()]
    return TrainingRun(method, seed, tuple(looks))


def make_judged(*steps: Mapping[str, Sequence[Verdict]]) -> list[TrainingRun]:
    """One run with verdicts, at steps 0, 50 and so on."""
    looks = [
        Look(50 * place, tuple(JudgedAnswer(task, verdicts=tuple(verdicts)) for task, verdicts in look.items()))
        for place, look in enumerate(steps)
    ]
    return [TrainingRun("additive", 1, tuple(looks))]


CURVES = [
    make_run("additive", 1, {0: {"p": 0.5, "q": 0.7}, 50: {"p": 0.6, "q": 0.8}, 100: {"p": 0.2, "q": 0.4}}),
    make_run("additive", 2, {0: {"p": 0.5, "q": 0.7}, 50: {"p": 0.4, "q": 0.6}, 100: {"p": 0.0, "q": 0.2}}),
    make_run("prorubric", 1, {0: {"p": 0.5, "q": 0.7}, 50: {"p": 0.6, "q": 0.6}, 100: {"p": 0.7, "q": 0.9}}),
    make_run("prorubric", 2, {0: {"p": 0.5, "q": 0.7}, 50: {"p": 0.6, "q": 0.8}, 100: {"p": 0.5, "q": 0.4}}),
]


class TestCurves:
    def test_a_point_has_the_mean_and_the_spread_over_seeds(self) -> None:
        additive, prorubric = trace_curves(CURVES, resamples=200)
        assert (additive.method, additive.measure, prorubric.method) == ("additive", "c", "prorubric")
        assert [point.step for point in additive.points] == [0, 50, 100]
        assert [point.mean for point in additive.points] == pytest.approx([0.6, 0.6, 0.2])
        assert [point.sd for point in additive.points] == pytest.approx([0.0, math.sqrt(0.02), math.sqrt(0.02)])
        assert additive.points[2].by_seed == pytest.approx({1: 0.3, 2: 0.1})
        assert [point.n for point in additive.points] == [2, 2, 2]

    def test_the_interval_is_over_prompts(self) -> None:
        prompts = {f"p{number}": float(number % 2) for number in range(40)}
        [curve] = trace_curves([make_run("additive", seed, {0: prompts}) for seed in (1, 2)], resamples=2000)
        [point] = curve.points
        assert (point.mean, point.sd) == (0.5, 0.0)
        assert point.low == pytest.approx(0.5 - 1.96 * 0.5 / math.sqrt(39), abs=0.02)
        assert point.high == pytest.approx(0.5 + 1.96 * 0.5 / math.sqrt(39), abs=0.02)

    def test_only_prompts_that_every_run_scored_count_and_losses_are_named(self) -> None:
        runs = [
            make_run("additive", 1, {0: {"p": 0.0, "q": 1.0, "r": None, "s": 0.5}}),
            make_run("prorubric", 1, {0: {"p": 1.0, "q": None, "r": 1.0}}),
        ]
        additive, prorubric = trace_curves(runs, resamples=50)
        assert (additive.points[0].mean, additive.points[0].n) == (0.0, 1)
        assert prorubric.points[0].lost == {"additive-seed-1": 1, "prorubric-seed-1": 2}

    def test_without_a_common_prompt_a_point_has_no_mean(self) -> None:
        runs = [make_run("additive", 1, {0: {"p": 0.0}}), make_run("prorubric", 1, {0: {"q": 1.0}})]
        [point] = trace_curves(runs, resamples=50)[0].points
        assert (point.mean, point.sd, point.low, point.by_seed, point.n) == (None, None, None, {}, 0)

    def test_several_answers_to_a_prompt_are_averaged_and_one_unknown_makes_it_unknown(self) -> None:
        answers = [
            JudgedAnswer("p", 0, c=0.0),
            JudgedAnswer("p", 1, c=1.0),
            JudgedAnswer("q", 0, c=1.0),
            JudgedAnswer("q", 1),
        ]
        [curve] = trace_curves([TrainingRun("additive", 1, (Look(0, tuple(answers)),))], resamples=50)
        assert (curve.points[0].mean, curve.points[0].n, curve.points[0].lost) == (0.5, 1, {"additive-seed-1": 1})

    def test_two_runs_of_one_seed_are_refused(self) -> None:
        with pytest.raises(ConfigError, match="two runs have the same method and seed; give each its own"):
            trace_curves([CURVES[0], CURVES[0]])


class TestGaps:
    def test_a_gap_is_paired_by_seed_at_each_step(self) -> None:
        start, middle, end = compare_methods(CURVES, "prorubric", "additive", resamples=200)
        assert [gap.step for gap in (start, middle, end)] == [0, 50, 100]
        assert start.over_seeds.mean == 0.0
        assert not start.over_seeds.separated
        assert middle.over_seeds.by_seed == pytest.approx({1: -0.1, 2: 0.2})
        assert not middle.over_seeds.separated
        assert end.over_seeds.by_seed == pytest.approx({1: 0.5, 2: 0.35})
        assert end.over_seeds.mean == pytest.approx(0.425)
        assert end.over_seeds.low == pytest.approx(0.425 - t_quantile(1) * math.sqrt(0.01125) / math.sqrt(2))
        assert end.over_seeds.separated
        assert end.n == 2

    def test_the_interval_over_prompts_is_that_of_the_differences(self) -> None:
        runs = [
            make_run(name, 1, {0: {f"p{number}": shift + number % 3 for number in range(30)}})
            for name, shift in (("additive", 0.0), ("prorubric", 0.25))
        ]
        [gap] = compare_methods(runs, "prorubric", "additive", resamples=50)
        assert (gap.low, gap.high) == (0.25, 0.25)

    def test_seeds_and_steps_that_one_method_lacks_are_not_compared(self) -> None:
        runs = [*CURVES[:3], make_run("additive", 3, {150: {"p": 1.0}})]
        gaps = compare_methods(runs, "prorubric", "additive", resamples=50)
        assert [(gap.step, *gap.over_seeds.by_seed) for gap in gaps] == [(0, 1), (50, 1), (100, 1)]
        assert gaps[2].over_seeds.low is None

    def test_a_method_without_a_run_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="no run of 'k1'; there are additive, prorubric"):
            compare_methods(CURVES, "k1", "additive")


class TestPeak:
    def test_it_names_the_step_and_how_far_the_curve_fell(self) -> None:
        additive, prorubric = (find_peak(curve) for curve in trace_curves(CURVES, resamples=50))
        assert additive is not None
        assert prorubric is not None
        assert (additive.step, additive.last_step, additive.by_seed) == (0, 100, {1: 50, 2: 0})
        assert additive.fall == pytest.approx(0.4)
        assert (prorubric.step, prorubric.by_seed, prorubric.fall) == (
            50,
            {1: 100, 2: 50},
            pytest.approx(0.025),
        )

    def test_of_two_highest_steps_it_is_the_first(self) -> None:
        [curve] = trace_curves(
            [make_run("additive", 1, {0: {"p": 0.5}, 50: {"p": 0.75}, 100: {"p": 0.75}})], resamples=50
        )
        peak = find_peak(curve)
        assert peak is not None
        assert (peak.step, peak.by_seed, peak.fall) == (50, {1: 50}, 0.0)

    def test_a_curve_without_values_has_none(self) -> None:
        [curve] = trace_curves([make_run("additive", 1, {0: {"p": None}})], resamples=50)
        assert find_peak(curve) is None


class TestDimensions:
    def test_they_are_counted_by_what_the_untrained_answer_missed(self) -> None:
        untrained = {
            "fever": [True, True, False, True],  # complete; wholly unmet, since the last one is to be avoided
            "rash": [False, True, False, False],  # one short, of one criterion; partly
        }
        trained = {"fever": [True, False, True, False], "rash": [True, True, True, False]}
        rows = complete_dimensions(make_judged(untrained, trained), TASKS)
        found = {(row.step, row.status): (row.dimensions, row.completed, row.share) for row in rows}
        assert found == {
            (0, "complete"): (1, 1, 1.0),
            (0, "one short"): (1, 0, 0.0),
            (0, "partly"): (1, 0, 0.0),
            (0, "wholly"): (1, 0, 0.0),
            (0, "all"): (4, 1, 0.25),
            (50, "complete"): (1, 0, 0.0),
            (50, "one short"): (1, 1, 1.0),
            (50, "partly"): (1, 0, 0.0),
            (50, "wholly"): (1, 1, 1.0),
            (50, "all"): (4, 2, 0.5),
        }
        assert {(row.method, row.seed, row.unknown) for row in rows} == {("additive", 1, 0)}

    def test_unknown_verdicts_are_counted_and_in_no_share(self) -> None:
        untrained = {"fever": [True, UNKNOWN, True, False], "rash": [True, True, True, True]}
        trained = {"fever": [True, True, UNKNOWN, True], "rash": [UNKNOWN, UNKNOWN, True, True]}
        rows = complete_dimensions(make_judged(untrained, trained), TASKS)
        found = {row.status: (row.dimensions, row.completed, row.unknown, row.share) for row in rows if row.step == 50}
        # Of `fever`, the second dimension has failed already: its other criterion does not matter.
        assert found == {"complete": (3, 0, 2, 0.0), "unknown": (1, 1, 0, 1.0), "all": (4, 1, 2, 0.5)}

    def test_what_does_not_apply_leaves_a_dimension(self) -> None:
        none = NotApplicable()
        untrained = {"fever": [none, False, none, none], "rash": [True, none, False, False]}
        rows = complete_dimensions(make_judged(untrained, {"fever": [none, True, True, none]}), TASKS)
        found = {(row.step, row.status): (row.dimensions, row.completed, row.unknown) for row in rows}
        assert found == {
            (0, "complete"): (1, 1, 0),
            (0, "one short"): (1, 0, 0),
            (0, "wholly"): (1, 0, 0),
            (0, "unknown"): (1, 0, 1),
            (0, "all"): (4, 1, 1),
            (50, "one short"): (1, 1, 0),
            (50, "unknown"): (1, 1, 0),
            (50, "all"): (2, 2, 0),
        }

    def test_a_run_without_its_untrained_policy_is_refused(self) -> None:
        with pytest.raises(
            ConfigError, match="additive-seed-1 has no validation at step 0; validate the untrained policy first"
        ):
            complete_dimensions([make_run("additive", 1, {50: {"fever": 1.0}})], TASKS)

    def test_verdicts_that_do_not_fit_the_task_are_refused(self) -> None:
        with pytest.raises(RubricError, match="task 'fever': 1 verdicts for 4 criteria"):
            complete_dimensions(make_judged({"fever": [True]}), TASKS)
        with pytest.raises(RubricError, match="task 'fever': a verdict on a criterion is 2; give true or false"):
            complete_dimensions(make_judged({"fever": [True, True, 2, True]}), TASKS)
        with pytest.raises(ConfigError, match="no task 'cough' among the 2 tasks; give those that were validated on"):
            complete_dimensions(make_judged({"cough": [True]}), TASKS)


class TestSuppressed:
    def test_a_criterion_that_the_untrained_answer_complied_with_is_lost(self) -> None:
        untrained = {"fever": [True, True, False, False], "rash": [True, UNKNOWN, False, True]}
        trained = {"fever": [False, True, True, True], "rash": [UNKNOWN, True, True, True]}
        start, end = find_suppressed(make_judged(untrained, trained), TASKS)
        assert (start.criteria, start.found, start.share, start.unknown) == (5, 0, 0.0, 1)
        # Of `fever`, criterion 1 is lost, and the behaviour of criterion 4, to be avoided, is there now.
        assert end.places == (CriterionPlace("fever", 0, 1), CriterionPlace("fever", 0, 4))
        assert (end.criteria, end.found, end.share, end.unknown) == (4, 2, 0.5, 2)

    def test_an_answer_without_an_untrained_one_is_unknown(self) -> None:
        _, end = find_suppressed(make_judged({"fever": [True] * 4}, {"rash": [True] * 4}), TASKS)
        assert (end.criteria, end.share, end.unknown) == (0, None, 4)


class TestDisagreement:
    def test_it_is_the_share_of_positive_criteria_that_only_the_first_judge_calls_met(self) -> None:
        answers = (
            JudgedAnswer("fever", verdicts=(True, True, False, True), second=(False, True, True, False)),
            JudgedAnswer("rash", verdicts=(True, UNKNOWN, True, True), second=(False, False, UNKNOWN, True)),
        )
        [found] = find_disagreements([TrainingRun("additive", 1, (Look(0, answers),))], TASKS)
        assert found.places == (CriterionPlace("fever", 0, 1), CriterionPlace("rash", 0, 1))
        assert (found.criteria, found.found, found.share, found.unknown) == (5, 2, 0.4, 2)

    def test_a_look_of_one_judge_has_no_row(self) -> None:
        assert find_disagreements(make_judged({"fever": [True] * 4}), TASKS) == ()


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_look(
    folder: Path, step: int, g: float | None, c: float, verdicts: Sequence[Any], text: str = "Rest.", **second: Any
) -> Path:
    """One answer to `fever` as a training leaves it, and one to `rash` that was not judged."""
    look, key = folder / f"validation/step-{step:04d}", {"task_id": "fever", "sample": 0}
    write_rows(look / "answers.jsonl", [{**key, "response": text}, {"task_id": "rash", "response": "Wait and see."}])
    write_rows(look / "verdicts.jsonl", [{**key, "verdicts": {"criteria": verdicts}}])
    write_rows(look / "second.jsonl", [{**key, "verdicts": second or {"probe": [True] * 4}}])
    low, high = (0.0, 1.0) if g is None else (g, g)
    scores = {"coverage": {"value": g, "low": low, "high": high}, "appropriateness": {"value": c, "low": c, "high": c}}
    write_rows(look / "scores.jsonl", [{**key, "scores": scores}])
    return look


class TestLoad:
    def test_a_folder_gives_the_looks_to_the_digit(self, tmp_path: Path) -> None:
        write_look(tmp_path, 0, 0.5, 0.75, [True, False, {"unknown": "no reply"}, False])
        write_look(tmp_path, 100, None, 0.25, [True, True, {"not_applicable": ""}, False], text="Rest and drink.")
        write_rows(tmp_path / "validation/step-0150/answers.jsonl", [{"task_id": "fever", "response": "Rest."}])
        (tmp_path / "validation/step-0200").mkdir()  # being written
        run = load_run(tmp_path, "prorubric", 42)
        assert (run.name, run.pending) == ("prorubric-seed-42", (150,))
        assert [look.step for look in run.looks] == [0, 100]
        first, missing = run.looks[0].answers
        assert first == JudgedAnswer(
            "fever", 0, g=0.5, c=0.75, characters=5, verdicts=(True, False, Unknown("no reply"), False)
        )
        assert missing == JudgedAnswer("rash", 0, characters=13)
        assert run.looks[1].answers[0].g is None
        [curve] = trace_curves([run], "c", resamples=50)
        assert [(point.mean, point.n, point.lost) for point in curve.points] == [
            (0.75, 1, {"prorubric-seed-42": 1}),
            (0.25, 1, {"prorubric-seed-42": 1}),
        ]
        rows = complete_dimensions([run], TASKS)
        assert [(row.status, row.completed, row.share) for row in rows if row.step == 100] == [
            ("one short", 1, 1.0),
            ("unknown", 1, 1.0),
            ("all", 2, 1.0),
        ]

    def test_a_second_judge_is_compared_where_it_looked_at_the_criteria(self, tmp_path: Path) -> None:
        first, second = [True, True, True, False], [False, True, False, False]
        write_look(tmp_path, 0, 0.5, 0.5, first, criteria=second)
        write_look(tmp_path, 50, 0.5, 0.5, first, probe=second)
        [found] = find_disagreements([load_run(tmp_path, "additive", 1)], TASKS)
        # All of `rash` is unknown, as no judge was asked about it.
        assert (found.step, found.criteria, found.found, found.share, found.unknown) == (0, 3, 2, 2 / 3, 4)

    def test_a_judge_that_was_not_asked_leaves_its_part_unknown(self, tmp_path: Path) -> None:
        look = write_look(tmp_path, 0, 0.5, 0.75, [True] * 4)
        (look / "verdicts.jsonl").unlink()
        score = {"value": 0.75, "low": 0.75, "high": 0.75}
        row = {"task_id": "fever", "sample": 0, "scores": {"appropriateness": score}}
        write_rows(look / "scores.jsonl", [row])
        assert load_run(tmp_path, "additive", 1).looks[0].answers[0] == JudgedAnswer("fever", 0, c=0.75, characters=5)

    def test_a_folder_without_looks_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match="has no validation/; name the folder of one training run"):
            load_run(tmp_path, "additive", 1)

    def test_rows_that_do_not_belong_together_are_refused(self, tmp_path: Path) -> None:
        look = write_look(tmp_path, 0, 0.5, 0.5, [True] * 4)
        write_rows(look / "answers.jsonl", [{"task_id": "rash", "response": "Wait."}])
        with pytest.raises(SourceError, match=r"'fever', sample 0, was judged but is not in answers\.jsonl"):
            load_run(tmp_path, "additive", 1)
        write_rows(look / "answers.jsonl", [{"task_id": "fever", "response": "Wait.", "sample": 0}] * 2)
        with pytest.raises(SourceError, match=r"answers\.jsonl: 'fever', sample 0, appears twice; keep one"):
            load_run(tmp_path, "additive", 1)

    def test_a_score_that_is_none_is_refused_with_its_place(self, tmp_path: Path) -> None:
        look = write_look(tmp_path, 0, 0.5, 0.5, [True] * 4)
        for scores in ({"coverage": {"value": 2, "low": 2, "high": 2}}, {"coverage": 0.5}):
            write_rows(look / "scores.jsonl", [{"task_id": "fever", "sample": 0, "scores": scores}])
            with pytest.raises(SourceError, match=r"scores\.jsonl:1: not a row of scores"):
                load_run(tmp_path, "additive", 1)
        write_rows(look / "scores.jsonl", [{"task_id": "fever"}])
        with pytest.raises(SourceError, match="it needs a task_id, a sample and scores"):
            load_run(tmp_path, "additive", 1)
