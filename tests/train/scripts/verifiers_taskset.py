"""The taskset as verifiers loads it, without a rollout.

python verifiers_taskset.py TASKS        a task a line in our own form
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import verifiers.v1 as vf

from prorubric.errors import ProRubricError
from prorubric.train.verifiers import OverlongConfig, RubricTaskConfig, RubricTaskset, RubricTasksetConfig


def load(tasks: str, **options: Any) -> list[dict[str, Any]]:
    config = RubricTasksetConfig(tasks=tasks, task=RubricTaskConfig(**{"judge": "lexical", **options}))
    return [describe(task.data) for task in RubricTaskset(config)]


def describe(data: Any) -> dict[str, Any]:
    # A trainer reads the row from the wire, without our classes.
    wire = vf.WireTaskData.model_validate(json.loads(data.model_dump_json()))
    said = wire.model_dump(mode="json", include={"id", "prompt", "system_prompt", "row"}, exclude_none=True)
    return {**said, "row": [item["weight"] for item in said["row"]["rubric"]]}


def refuse(do: Callable[[], Any]) -> str:
    try:
        return f"was not refused: {do()}"
    except ProRubricError as error:
        return f"{type(error).__name__}: {error}"


def main(tasks: str) -> None:
    overlong = OverlongConfig(limit=100, buffer=200)
    said = {
        "tasks": load(tasks, scheme="additive"),
        "no tasks": refuse(lambda: load("")),
        "no judge": refuse(lambda: load(tasks, judge="")),
        "no such judge": refuse(lambda: load(tasks, judge="nobody")),
        "no dimensions": refuse(lambda: load(tasks, scheme="prorubric")),
        "overlong": refuse(lambda: load(tasks, scheme="additive", overlong=overlong)),
        "tool": refuse(lambda: load(str(Path(tasks).with_name("tool.jsonl")), scheme="additive")),
        "judging": refuse(lambda: load(tasks, scheme="additive", judging={"reasks": -1})),
        "min_batch": RubricTaskConfig(judge="lexical").make_reward().config.min_batch,
        "example": vf.taskset_config_type("rubric_tasks").__name__,
    }
    print(json.dumps(said))  # noqa: T201 - the line that the test reads


if __name__ == "__main__":
    main(sys.argv[1])
