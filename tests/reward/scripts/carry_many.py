"""Reward answers to many large tasks that each request carries, and say how much of them stays in memory."""

import gc
import json
import resource
import sys
from typing import Any

from prorubric import RewardConfig, Task
from prorubric.reward import lookup
from prorubric.reward.reward import RubricReward


def make_row(number: int, shape: str) -> dict[str, Any]:
    """Half a megabyte of JSON: in one long text, in many short criteria, or in what nobody reads."""
    criteria = [{"criterion": f"It mentions {number} and {i}.", "weight": 1} for i in range(7000)]
    row: dict[str, Any] = {"id": f"task {number}", "messages": [{"role": "user", "content": f"Question {number}?"}]}
    row["rubric"] = criteria if shape == "criteria" else criteria[:2]
    if shape == "conversation":
        row["messages"][0]["content"] += " Why?" * 100_000
    if shape == "meta":
        row["meta"] = {"nothing": [[]] * 160_000}
    return row


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
    lookup.REMEMBERED_BYTES = int(sys.argv[2])
    reward = RubricReward(RewardConfig("lexical", scheme="additive"))
    peaks = []
    for number in range(40):
        (rewarded,) = reward([make_row(number, sys.argv[1])], [f"A text about {number}."])
        assert rewarded.value is not None
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    alive = sum(isinstance(one, Task) for one in gc.get_objects())
    sys.stdout.write(json.dumps({"tasks": alive, "early_megabytes": peaks[9], "megabytes": peaks[-1]}))


main()
