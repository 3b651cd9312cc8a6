"""`focused(…)` and `dropout(…)`: what length costs within a group, and what is left out at a step of a training."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from prorubric import NotApplicable, RewardConfig, Task, Unknown, save_tasks, score
from prorubric.aggregate.batch import PlanTable, score_batch
from prorubric.aggregate.plan import make_scoring_plan
from prorubric.aggregate.prices import price_criteria
from prorubric.aggregate.schemes import find_scheme, unwrap_name
from prorubric.audit.config import AuditConfig
from prorubric.errors import ConfigError, SchemeError
from prorubric.reward.reward import RubricReward
from prorubric.verbs.audit import audit_rewards
from prorubric.verbs.judge import JudgeRunConfig, judge_responses
from tests.aggregate.test_schemes import make_task, scheme_names, verdicts_for
from tests.audit.shapes import save_shape
from tests.strategies import tasks

TASK = make_task([6, 4, -5, 3, 2, 1], [[1, 3, 5], [2, 4, 6]])
TEXTS = ["criterion 0", "criterion 0, criterion 1 and much more of it " * 3, "criterion 3", "nothing"]


class TestNames:
    def test_wrappers_can_be_put_into_each_other_and_around_any_scheme(self) -> None:
        found = find_scheme("focused(dropout(prorubric+appropriateness))")
        assert (found.focus, found.dropout, found.is_relative) == (1 / 3, 0.25, True)
        assert [reading.name for reading in found.readings] == ["dimensions", "appropriateness"]
        assert unwrap_name("focused(dropout(a.b:c))") == "a.b:c"
        assert find_scheme("dropout(tests.aggregate.own_schemes:declared)").own is not None

    @pytest.mark.parametrize("name", ["focused()", "focused(sum)", "sharpened(additive)", "focused(additive"])
    def test_other_names_are_refused_with_those_that_exist(self, name: str) -> None:
        with pytest.raises(SchemeError, match=r"no scheme is called .* as focused\(<scheme>\) or dropout\(<scheme>\)"):
            find_scheme(name)

    def test_they_have_no_prices(self) -> None:
        for name in ("focused(additive)", "dropout(additive)"):
            with pytest.raises(SchemeError, match="has no formula for prices"):
                price_criteria(TASK, [0.5] * 6, name)


class TestFocused:
    def test_an_answer_of_the_mean_length_keeps_three_quarters(self) -> None:
        task = make_task([6, 4])
        assert score([True, False], task, "focused(additive)", length=1.0).value == pytest.approx(0.45)
        assert score([True, False], task, "focused(additive)", length=3.0).value == 0.3
        assert score([True, False], task, "focused(additive)", length=0.0).value == 0.6

    def test_bounds_are_shortened_with_the_score(self) -> None:
        found = score([True, Unknown("cut off")], make_task([6, 4]), "focused(additive)", length=3.0)
        assert (found.value, found.low, found.high, found.unknown) == (None, 0.3, 0.5, (2,))

    @pytest.mark.parametrize("length", [None, -1.0, float("nan"), float("inf")])
    def test_without_a_length_that_makes_sense_it_is_refused(self, length: float | None) -> None:
        with pytest.raises(SchemeError, match=r"focused\(additive\)"):
            score([True, False], make_task([6, 4]), "focused(additive)", length=length)

    @given(tasks(), scheme_names, st.floats(0, 100), st.floats(0, 100), st.data())
    def test_a_longer_answer_never_earns_more_for_the_same_verdicts(
        self, task: Task, name: str, first: float, second: float, data: st.DataObject
    ) -> None:
        verdicts = data.draw(verdicts_for(make_scoring_plan(task, name)))
        short, long = sorted((first, second))
        scores = [score(verdicts, task, f"focused({name})", length=length).low for length in (short, long)]
        assert 0 <= scores[1] <= scores[0] <= score(verdicts, task, name).low

    def test_runs_that_see_answers_one_by_one_refuse_it_before_anything_is_judged(self, tmp_path: Path) -> None:
        save_shape(tmp_path, "presence")
        paths = (str(tmp_path / "tasks.jsonl"), tmp_path / "responses.jsonl")
        told = {"judge": "lexical", "out": tmp_path / "run", "scheme": "focused(additive)"}
        for run in (
            lambda: judge_responses(JudgeRunConfig(*paths, **told)),
            lambda: audit_rewards(AuditConfig(*paths, **told)),
        ):
            with pytest.raises(SchemeError, match=r"focused\(additive\) compares the length .* there is no group"):
                run()
        assert not (tmp_path / "run").exists()


class TestDropout:
    def test_a_quarter_of_what_adds_is_left_out_and_reported(self) -> None:
        task = make_task([1, 2, 3, 4, 5, 6, 7, 8, -9])
        found = score([True] * 8 + [False], task, "dropout(additive)", step=3)
        assert len(found.not_applicable) == 2
        assert 9 not in found.not_applicable
        assert found.value == 1.0

    def test_another_step_leaves_other_items_out_and_the_same_step_the_same(self) -> None:
        plan = make_scoring_plan(make_task(range(1, 21)), "dropout(additive)")
        drawn = [plan.list_dropped(step) for step in range(200)]
        assert drawn == [plan.list_dropped(step) for step in range(200)]
        assert {len(dropped) for dropped in drawn} == {5}
        counts = [sum(place in dropped for dropped in drawn) for place in range(20)]
        assert 25 <= min(counts) <= max(counts) <= 80

    def test_without_a_step_nothing_is_left_out(self) -> None:
        verdicts = [True, False, False, True, True, False]
        assert score(verdicts, TASK, "dropout(additive)") == score(verdicts, TASK, "additive")

    def test_a_function_gets_the_task_without_what_is_left_out(self) -> None:
        verdicts = [True, False, False, True, True, False]
        name = "tests.aggregate.own_schemes:share_met"
        left = make_scoring_plan(TASK, f"dropout({name})").list_dropped(5)
        given = [NotApplicable("left out at step 5") if i in left else v for i, v in enumerate(verdicts)]
        assert len(left) == 1
        assert score(verdicts, TASK, f"dropout({name})", step=5) == score(given, TASK, name)

    @given(tasks(), scheme_names, st.integers(0, 1000))
    def test_something_that_adds_always_stays_and_penalties_always_count(
        self, task: Task, name: str, step: int
    ) -> None:
        plan = make_scoring_plan(task, f"dropout({name})")
        dropped = plan.list_dropped(step)
        assert plan.has_left(dropped)
        assert not any(plan.penalties[place] for place in dropped)
        assert not (plan.scheme.appropriateness and len(plan.ranges) - 1 in dropped)


@given(tasks(), scheme_names, st.integers(0, 9), st.booleans(), st.data())
def test_a_batch_gives_the_same_bits_as_one_response_at_a_time(
    task: Task, name: str, step: int, unknowns: bool, data: st.DataObject
) -> None:
    wrapped = f"focused(dropout({name}))"
    plan = make_scoring_plan(task, wrapped)
    rows = [data.draw(verdicts_for(plan, unknowns)) for _ in range(3)]
    lengths = data.draw(st.lists(st.floats(0, 10), min_size=3, max_size=3))
    unknown = np.array([[isinstance(verdict, Unknown) for verdict in row] for row in rows])
    values = np.array([[0.0 if isinstance(v, Unknown) else float(v) for v in row] for row in rows])
    table = PlanTable.of([task], wrapped)
    batch = score_batch(values, table, np.zeros(3, dtype=int), unknown, length_R=np.array(lengths), step=step)
    alone = [score(row, task, wrapped, length=length, step=step) for row, length in zip(rows, lengths, strict=True)]
    assume(all(found.low < found.high or found.value is not None for found in alone))
    assert batch.low_R.tolist() == [found.low for found in alone]
    assert batch.high_R.tolist() == [found.high for found in alone]


class TestReward:
    @pytest.fixture
    def tasks_file(self, tmp_path: Path) -> str:
        save_tasks(tmp_path / "tasks.jsonl", [TASK])
        return str(tmp_path / "tasks.jsonl")

    def make(self, tasks_file: str, scheme: str, **change: object) -> RubricReward:
        return RubricReward(RewardConfig("lexical", scheme=scheme, tasks=tasks_file, **change))  # type: ignore[arg-type]

    def test_length_counts_within_the_group_in_characters_or_tokens(self, tasks_file: str) -> None:
        plain = self.make(tasks_file, "additive")(["t"] * 4, TEXTS)
        focused = self.make(tasks_file, "focused(additive)")
        for tokens, sizes in ((None, [len(text) for text in TEXTS]), ([10, 400, 20, 2], [10, 400, 20, 2])):
            found = focused(["t"] * 4, TEXTS, tokens=tokens)
            mean = sum(sizes) / 4
            expected = [reward.parts.low / (1 + size / mean / 3) for reward, size in zip(plain, sizes, strict=True)]
            assert [reward.value for reward in found] == pytest.approx(expected)
        assert any(reward.parts.low for reward in plain)

    def test_a_step_is_the_same_for_a_group_and_counts_up(self, tasks_file: str) -> None:
        reward = self.make(tasks_file, "dropout(additive)")
        plan = make_scoring_plan(TASK, "dropout(additive)")
        for step in range(4):
            found = reward(["t"] * 4, TEXTS)
            for one in found:
                verdicts = [bool(verdict) for verdict in one.parts.verdicts["criteria"]]
                assert one.value == score(verdicts, TASK, "dropout(additive)", step=step).value
        assert len({plan.list_dropped(step) for step in range(4)}) > 1
        again = reward(["t"] * 4, TEXTS, step=3)
        assert [one.value for one in again] == [one.value for one in found]

    def test_in_validation_nothing_is_left_out_and_length_costs_nothing(self, tasks_file: str) -> None:
        plain = self.make(tasks_file, "additive")(["t"] * 4, TEXTS)
        for scheme in ("focused(additive)", "dropout(additive)"):
            found = self.make(tasks_file, scheme)(["t"] * 4, TEXTS, validation=True)
            assert [one.value for one in found] == [one.value for one in plain]
        assert self.make(tasks_file, "focused(additive)")(["t"], TEXTS[:1], validation=True)[0].value is not None

    @pytest.mark.parametrize("change", [{"scheme": "focused(additive)"}, {"scheme": "dropout(additive)"}])
    def test_a_response_without_its_group_is_refused(self, tasks_file: str, change: dict[str, str]) -> None:
        with pytest.raises(ConfigError, match=r"task 't': .*\(additive\) compares the responses to one prompt"):
            self.make(tasks_file, **change)(["t"], TEXTS[:1])

    def test_a_shadow_may_be_focused(self, tasks_file: str) -> None:
        reward = self.make(tasks_file, "additive", shadow=("focused(additive)",))
        found = reward(["t"] * 2, ["criterion 0", "criterion 0"])
        assert found[0].parts.shadow == {"focused(additive)": pytest.approx(found[0].parts.low * 0.75)}

    def test_empty_answers_are_of_the_mean_length(self, tasks_file: str) -> None:
        found = self.make(tasks_file, "focused(additive)")(["t"] * 2, ["", ""])
        assert [one.value for one in found] == [0.0, 0.0]
