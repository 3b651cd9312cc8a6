"""A function of the user's is a scheme like the others: the same checks, bounds if it is monotone, its line if not."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import NotApplicable, RewardConfig, Score, Task, Unknown, save_tasks, score
from prorubric.aggregate.batch import PlanTable
from prorubric.aggregate.own import leave_out
from prorubric.aggregate.plan import make_scoring_plan
from prorubric.aggregate.prices import price_criteria
from prorubric.aggregate.schemes import find_scheme
from prorubric.audit.config import AuditConfig
from prorubric.errors import ConfigError, SchemeError
from prorubric.judge.readings import READINGS
from prorubric.reward.reward import RubricReward
from prorubric.verbs.audit import audit_rewards
from prorubric.verbs.judge import JudgeRunConfig, judge_responses
from prorubric.verbs.score import ScoreConfig, score_run
from tests.aggregate.test_schemes import make_task
from tests.audit.shapes import save_shape
from tests.reward.serving import RunningServer
from tests.strategies import tasks

OWN = "tests.aggregate.own_schemes"
SHARE, DECLARED, DIMENSIONS = f"{OWN}:share_met", f"{OWN}:declared", f"{OWN}:dimensions_held"
TASK = make_task([6, 4, -5], [[1, 3], [2]])


def test_a_function_gets_the_verdicts_on_the_criteria_and_the_task() -> None:
    assert score([True, False, False], TASK, SHARE) == Score(value=11 / 15, low=11 / 15, high=11 / 15)


def test_a_function_may_read_dimensions_or_a_mark() -> None:
    assert score([True, False], TASK, DIMENSIONS).value == 11 / 15
    assert score([7.0], TASK, f"{OWN}:half_the_mark").value == 0.35


def test_an_unknown_verdict_gives_bounds_if_the_function_is_declared_monotone() -> None:
    found = score([True, Unknown("cut off"), Unknown("cut off")], TASK, DECLARED)
    assert found == Score(value=None, low=0.4, high=1.0, unknown=(2, 3))


def test_an_unknown_verdict_leaves_any_other_function_open_and_says_why() -> None:
    found = score([True, Unknown("cut off"), True], TASK, SHARE)
    why = f"{SHARE} gives no bounds: it does not set monotone = True"
    assert found == Score(value=None, low=0.0, high=1.0, unknown=(2,), reason=why)


def test_a_function_that_is_declared_monotone_and_is_not_is_found_out() -> None:
    with pytest.raises(SchemeError, match=r"falling sets monotone = True but gives 0.6 .* 0 with them for it; remove"):
        score([True, Unknown("cut off"), Unknown("cut off")], TASK, f"{OWN}:falling")


def test_what_is_not_applicable_leaves_the_verdicts_and_the_task() -> None:
    found = score([True, NotApplicable("not asked"), True], TASK, SHARE)
    assert (found.value, found.not_applicable) == (6 / 11, (2,))
    assert score([False, NotApplicable()], TASK, DIMENSIONS).value == 0.0
    assert score([NotApplicable(), True], TASK, DIMENSIONS).value == 1.0


def test_if_nothing_applies_the_function_is_not_asked() -> None:
    found = score([NotApplicable()] * 3, TASK, SHARE)
    assert (found.value, found.low, found.high) == (None, 0.0, 1.0)
    assert found.reason == "every item with a positive weight is not applicable"


@given(tasks(), st.data())
def test_leaving_out_keeps_the_other_criteria_with_their_dimensions(task: Task, data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.integers(0, len(task.rubric) - 1), max_size=len(task.rubric) - 1))
    left = leave_out(task, READINGS["criteria"], gone)
    kept = [criterion for place, criterion in enumerate(task.rubric.criteria) if place not in gone]
    assert [*left.rubric.criteria] == kept
    assert task.protocol is not None
    assert left.protocol is not None
    grouped = [[task.rubric.criteria[i - 1] for i in d.indices if i - 1 not in gone] for d in task.protocol.dimensions]
    found = [[left.rubric.criteria[i - 1] for i in d.indices] for d in left.protocol.dimensions]
    assert found == [group for group in grouped if group]
    Task.model_validate(left.model_dump())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("too_much", f"{OWN}:too_much returned 2 for task 't'; return a number from 0 to 1"),
        ("divides", f"{OWN}:divides raised ZeroDivisionError: division by zero for task 't'; fix the function"),
    ],
)
def test_a_function_that_fails_is_found_before_any_verdict_exists(name: str, message: str) -> None:
    with pytest.raises(SchemeError) as raised:
        make_scoring_plan(TASK, f"{OWN}:{name}")
    assert str(raised.value).startswith(message)


def test_a_function_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigError, match="has no attribute 'nobody'; give your own scheme as"):
        find_scheme(f"{OWN}:nobody")


def test_a_function_that_reads_dimensions_needs_them() -> None:
    with pytest.raises(SchemeError, match=r"dimensions_held needs dimensions and the task has none"):
        make_scoring_plan(make_task([6, 4]), DIMENSIONS)


def test_arrays_and_prices_say_that_they_do_not_take_a_function() -> None:
    with pytest.raises(SchemeError, match="share_met is a function for one response at a time; use score"):
        PlanTable.of([TASK], SHARE)
    with pytest.raises(SchemeError, match="share_met has no formula for prices"):
        price_criteria(TASK, [0.5] * 3, SHARE)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    save_shape(tmp_path, "presence")
    return tmp_path


def test_a_run_is_judged_and_scored_again_under_a_function(files: Path) -> None:
    paths = (str(files / "tasks.jsonl"), files / "responses.jsonl")
    asked = f"additive,{DECLARED}"
    judged = judge_responses(JudgeRunConfig(*paths, judge="lexical", out=files / "run", scheme=asked))
    # The pack has no penalties, so the share that complies is the sum.
    assert judged.schemes[DECLARED].mean == pytest.approx(judged.schemes["additive"].mean)
    again = score_run(ScoreConfig(files / "run", scheme=DECLARED))
    assert again.schemes == {DECLARED: judged.schemes[DECLARED]}


def test_an_audit_examines_a_function(files: Path) -> None:
    result = audit_rewards(
        AuditConfig(
            str(files / "tasks.jsonl"),
            responses=files / "responses.jsonl",
            judge="tests.audit.judges:Keyword",
            out=files / "audit",
            scheme=f"additive,{DECLARED}",
            resamples=100,
        )
    )
    by_scheme = {
        name: [effect.mean for effect in result.effects if effect.scheme == name] for name in ("additive", DECLARED)
    }
    assert by_scheme[DECLARED] == pytest.approx(by_scheme["additive"])
    assert len(by_scheme[DECLARED]) > 5


def test_a_reward_trains_on_a_function_and_a_broken_one_is_refused_at_once(tmp_path: Path) -> None:
    save_tasks(tmp_path / "tasks.jsonl", [TASK])
    tasks_file = str(tmp_path / "tasks.jsonl")
    reward = RubricReward(RewardConfig("lexical", scheme=DECLARED, tasks=tasks_file, shadow=("additive",)))
    (found,) = reward(["t"], ["criterion 0 and criterion 1"])
    verdicts = [bool(verdict) for verdict in found.parts.verdicts["criteria"]]
    assert found.value == score(verdicts, TASK, DECLARED).value
    with pytest.raises(SchemeError, match="too_much returned 2"):
        RubricReward(RewardConfig("lexical", scheme=f"{OWN}:too_much", tasks=tasks_file))


def test_a_server_rewards_with_a_function(tmp_path: Path) -> None:
    save_tasks(tmp_path / "tasks.jsonl", [TASK])
    reward = RubricReward(RewardConfig("lexical", scheme=DECLARED, tasks=str(tmp_path / "tasks.jsonl")))
    options = ("--judge", "lexical", "--tasks", str(tmp_path / "tasks.jsonl"), "--scheme", DECLARED)
    with RunningServer(options, tmp_path) as server:
        answer = server.post("/score", {"task": "t", "response": "criterion 0"})
    assert answer.body["value"] == reward(["t"], ["criterion 0"])[0].value
