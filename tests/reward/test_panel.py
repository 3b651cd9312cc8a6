"""Rewards by several votes and by several judges."""

from pathlib import Path
from typing import Any

import pytest

from prorubric import JudgeConfig, RewardConfig
from prorubric.errors import ConfigError, ModelError
from prorubric.reward.reward import RubricReward
from tests.judge.voters import DEAD, FAILING, LENIENT, ODD, STRICT, WAVERING
from tests.reward.rewarding import write_tasks


def make_reward(folder: Path, judge: Any, **change: Any) -> RubricReward:
    return RubricReward(RewardConfig(judge, tasks=write_tasks(folder), scheme="additive", max_unknown=1.0, **change))


# The weights are 5, 3, -2 and 1; items 1 and 3 are granted.
ODD_SCORE = (5 - 2) / 9


@pytest.mark.parametrize("judge", [[LENIENT, STRICT, ODD], f"{LENIENT},{STRICT},{ODD}"])
def test_a_panel_rewards_what_most_of_its_judges_grant(tmp_path: Path, judge: Any) -> None:
    reward = make_reward(tmp_path, judge)
    before = {name: used.calls for name, used in reward.usage_by_judge.items()}
    [found] = reward(["task 0"], ["an answer"])
    assert found.value == pytest.approx(ODD_SCORE)
    assert found.parts.agreement == {"criteria": dict.fromkeys("1234", pytest.approx(2 / 3))}
    after = {name: used.calls - before[name] for name, used in reward.usage_by_judge.items()}
    assert after == {LENIENT: 1, STRICT: 1, ODD: 1}
    assert reward.usage.calls == sum(used.calls for used in reward.usage_by_judge.values())


@pytest.mark.parametrize("failing", [FAILING, DEAD])
def test_a_judge_that_fails_does_not_make_the_reward_unknown(tmp_path: Path, failing: str) -> None:
    [found] = make_reward(tmp_path, [ODD, failing])(["task 0"], ["an answer"])
    assert (found.value, found.parts.unknown) == (pytest.approx(ODD_SCORE), ())


def test_judges_who_differ_leave_the_reward_open(tmp_path: Path) -> None:
    [found] = make_reward(tmp_path, [LENIENT, STRICT])(["task 0"], ["an answer"])
    assert (found.value, found.parts.unknown) == (None, ("the votes have no majority: 1 x true, 1 x false",))


def test_a_panel_of_judges_that_cannot_be_used_raises(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="a wrong key"):
        make_reward(tmp_path, [DEAD, f"{DEAD}Too"])(["task 0"], ["an answer"])


def test_votes_count_in_a_reward_too(tmp_path: Path) -> None:
    [found] = make_reward(tmp_path, WAVERING, judging=JudgeConfig(votes=5))(["task 0"], ["an answer"])
    assert found.parts.verdicts == {"criteria": [True, True, False, False]}
    assert found.value == pytest.approx((5 + 3) / 9)


def test_a_cascade_asks_the_second_judge_only_where_the_first_is_not_sure(tmp_path: Path) -> None:
    reward = make_reward(tmp_path, [WAVERING, ODD], judging=JudgeConfig(votes=5, cascade=0.8))
    before = {name: used.calls for name, used in reward.usage_by_judge.items()}
    [found] = reward(["task 0"], ["an answer"])
    # Items 2 and 3 have an agreement of 0.6; the second judge grants the third.
    assert found.parts.verdicts == {"criteria": [True, False, True, False]}
    assert found.parts.sent_on == {"criteria": (2, 3)}
    assert found.value == pytest.approx(ODD_SCORE)
    after = {name: used.calls - before[name] for name, used in reward.usage_by_judge.items()}
    assert after == {WAVERING: 5, ODD: 1}


def test_a_cascade_of_one_judge_is_refused_when_the_reward_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a cascade has two judges, and 1 is named"):
        make_reward(tmp_path, ODD, judging=JudgeConfig(votes=3, cascade=0.8))
