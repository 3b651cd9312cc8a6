"""Advantages by dimension: exact numbers, what is unknown, and which schemes have dimensions to add."""

from typing import Any

import pytest

from prorubric import Criterion, Message, ProtocolRubric, Reward, Rubric, Task
from prorubric.errors import ConfigError
from prorubric.reward.channels import Channels, check_channels, read_channels, weigh_channels
from prorubric.reward.reward import RewardParts

RUBRIC = Rubric(criteria=(Criterion(text="a", weight=3.0), Criterion(text="b", weight=1.0)))
DIMENSIONS = [
    {"name": "A", "description": "a", "indices": [1]},
    {"name": "B", "description": "b", "indices": [2]},
]
TASK = Task(
    id="t",
    messages=(Message(role="user", content="?"),),
    rubric=RUBRIC,
    protocol=ProtocolRubric.of(RUBRIC, DIMENSIONS),
)
HALF_ROOT = 0.5**0.5


def make_reward(scheme: str = "prorubric", **parts: Any) -> Reward:
    plain: dict[str, Any] = {"low": 0.0, "high": 1.0, "overlong": 0.0, "unknown": (), "verdicts": {}, "shadow": {}}
    plain |= {"dimensions": {}, "tokens": None, "characters": 1, **parts}
    return Reward(value=None, parts=RewardParts(task_id="t", scheme=scheme, score=None, **plain))


def test_the_channels_of_a_response_are_its_dimensions_and_their_shares() -> None:
    found = read_channels(TASK, make_reward(dimensions={"A": True, "B": None}, overlong=-0.25))
    assert found == Channels((1.0, None), (0.75, 0.25), -0.25)
    graded = read_channels(TASK, make_reward("graded", dimensions={"A": 1.5, "B": 3.0}))
    assert graded == Channels((0.5, 1.0), (0.75, 0.25), 0.0)


@pytest.mark.parametrize(("verdict", "value"), [(True, 1.0), (False, 0.0), ({"unknown": "maybe"}, None)])
def test_appropriateness_is_a_channel_with_its_weight(verdict: Any, value: float | None) -> None:
    scheme, said = "prorubric+appropriateness", {"appropriateness": [verdict]}
    found = read_channels(TASK, make_reward(scheme, dimensions={"A": True, "B": False}, verdicts=said))
    assert found == Channels((1.0, 0.0, value), (0.5, 1 / 6, 1 / 3), 0.0)
    as_a_shadow = read_channels(TASK, make_reward(dimensions={"A": True, "B": False}, verdicts=said))
    assert as_a_shadow == Channels((1.0, 0.0), (0.75, 0.25), 0.0)


def test_each_dimension_is_scaled_by_itself_and_added_by_its_share() -> None:
    rows = [Channels((1.0, 0.0), (0.75, 0.25), 0.0), Channels((0.0, 1.0), (0.75, 0.25), 0.0)]
    assert weigh_channels(rows, "aa", epsilon=0) == pytest.approx([HALF_ROOT / 2, -HALF_ROOT / 2])


def test_an_unknown_dimension_adds_nothing_and_a_response_without_any_has_no_number() -> None:
    rows = [
        Channels((1.0, None), (0.75, 0.25), -0.125),
        Channels((0.0, 1.0), (0.75, 0.25), 0.0),
        Channels((None, 0.0), (0.75, 0.25), 0.0),
        Channels((None, None), (0.75, 0.25), -0.5),
    ]
    first, second, third, fourth = weigh_channels(rows, "aaaa", epsilon=0)
    assert (first, third) == pytest.approx((0.75 * HALF_ROOT - 0.125, -0.25 * HALF_ROOT))
    assert second == pytest.approx(-0.75 * HALF_ROOT + 0.25 * HALF_ROOT)
    assert fourth is None


def test_tasks_with_fewer_dimensions_are_groups_of_their_own() -> None:
    one, two = Channels((1.0,), (1.0,), 0.0), Channels((0.0,), (1.0,), 0.0)
    wide = [Channels((1.0, 0.0, 1.0), (0.5, 0.25, 0.25), 0.0), Channels((0.0, 0.0, 1.0), (0.5, 0.25, 0.25), 0.0)]
    found = weigh_channels([one, wide[0], two, wide[1]], ["t", "u", "t", "u"], epsilon=0)
    assert found == pytest.approx([HALF_ROOT, HALF_ROOT / 2, -HALF_ROOT, -HALF_ROOT / 2])


@pytest.mark.parametrize("scheme", ["prorubric", "graded+appropriateness", "raw-and", "conjunctive"])
def test_schemes_that_add_dimensions_have_channels(scheme: str) -> None:
    check_channels(scheme)


@pytest.mark.parametrize("scheme", ["additive", "k1", "implicit", "gated", "licensed", "focused(prorubric)"])
def test_other_schemes_have_none(scheme: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_channels(scheme)
    assert str(caught.value) == (
        f"channels: {scheme} does not add dimensions by their weight; use one that does: conjunctive, raw-and, "
        "prorubric, prorubric-no-failure, graded, each also with +appropriateness"
    )
