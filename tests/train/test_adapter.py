"""What adapters share: unknown rewards in a group, and rewards that arrive one by one as steps."""

import json
from pathlib import Path

import pytest

from prorubric.files.read import read_rows
from prorubric.reward.monitor import MonitorConfig
from prorubric.reward.reward import Reward, RewardParts
from prorubric.train.adapter import StepLog, fill_unknown


def make_reward(value: float | None) -> Reward:
    parts = RewardParts(
        task_id="t",
        scheme="additive",
        score=value,
        low=value or 0.0,
        high=1.0 if value is None else value,
        overlong=0.0,
        unknown=() if value is not None else ("no reply",),
        verdicts={},
        dimensions={},
        shadow={},
        tokens=None,
        characters=3,
    )
    return Reward(value=value, parts=parts)


def record(path: Path, size: int, came: list[tuple[int | None, float | None]]) -> list[tuple[int, int, int]]:
    log = StepLog(MonitorConfig(path), size)
    for step, value in came:
        log.add(step, "group", make_reward(value))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [(line["step"], line["responses"], line["unknown"]) for line in lines]


@pytest.mark.parametrize(
    ("came", "steps"),
    [
        ([(5, 0.1), (5, None), (6, 0.2), (6, 0.3)], [(5, 2, 1), (6, 2, 0)]),
        ([(None, 0.1), (None, 0.2), (None, 0.3)], [(1, 2, 0)]),
        ([(5, 0.1), (6, 0.2), (6, 0.3)], [(5, 1, 0), (6, 2, 0)]),
        ([(5, 0.1), (6, 0.2), (6, 0.3), (5, 0.4), (6, 0.5)], [(5, 1, 0), (6, 2, 0)]),
        ([(6, 0.1), (5, 0.2), (5, 0.3), (6, 0.4)], [(5, 2, 0), (6, 2, 0)]),
        ([(5, 0.1)], []),
    ],
    ids=["told", "counted", "a step that stayed short", "too late", "mixed", "not full"],
)
def test_steps_are_recorded_when_they_are_full_and_in_order(
    tmp_path: Path, came: list[tuple[int | None, float | None]], steps: list[tuple[int, int, int]]
) -> None:
    assert record(tmp_path / "steps.jsonl", 2, came) == steps


def test_the_responses_of_a_step_are_kept_in_the_order_of_their_places(tmp_path: Path) -> None:
    log = StepLog(MonitorConfig(tmp_path / "steps.jsonl"), 3, keep=True)
    for place, number, value in ((1, 0, None), (0, 1, 0.5), (0, 0, 0.25)):
        log.add(7, "group", make_reward(value), {"place": place, "response": number, "text": f"{place}{number}"})
    rows = [row.value for row in read_rows(tmp_path / "rollouts/step-0007.jsonl.zst")]
    assert rows[0] == {
        "task_id": "t",
        "place": 0,
        "response": 0,
        "text": "00",
        "tokens": None,
        "reward": 0.25,
        "score": 0.25,
        "verdicts": {},
    }
    assert [(row["text"], row["reward"]) for row in rows if row] == [("00", 0.25), ("01", 0.5), ("10", None)]


@pytest.mark.parametrize(
    ("values", "filled"),
    [
        ([1.0, None, 0.5, 0.25, None, None], [1.0, 0.75, 0.5, 0.25, 0.25, 0.25]),
        ([None, None, None, 0.5, 0.25, 0.0], [0.25, 0.25, 0.25, 0.5, 0.25, 0.0]),
        ([None] * 6, [0.0] * 6),
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
    ],
)
def test_an_unknown_reward_is_the_mean_of_its_groups_known_ones(
    values: list[float | None], filled: list[float]
) -> None:
    assert fill_unknown(values, ["a"] * 3 + ["b"] * 3) == filled
