"""One small row of every format, and the two moves that most tests make: write rows, read them back."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prorubric import Task, load_tasks
from prorubric.datasets.rejects import Reject

TASK: dict[str, Any] = {
    "id": "task-1",
    "messages": [{"role": "user", "content": "Is it safe?"}],
    "domain": "medicine",
    "source": "by-hand",
    "rubric": [
        {"criterion": "Says no", "weight": 3, "tags": ["label:critical"]},
        {"criterion": "Sells something", "weight": -2, "tags": []},
    ],
    "protocol": [
        {"name": "Answer", "description": "It says no. Fails if it sells something.", "indices": [1, 2], "weight": 5}
    ],
    "reference": "No.",
    "meta": {"year": 2026},
}
HEALTHBENCH: dict[str, Any] = {
    "prompt_id": "p-1",
    "prompt": [
        {"role": "user", "content": "My knee hurts."},
        {"role": "assistant", "content": "Since when?"},
        {"role": "user", "content": "Since Monday."},
    ],
    "rubrics": [
        {"criterion": "Asks for an injury", "points": 7, "tags": ["level:example", "axis:completeness"]},
        {"criterion": "Invents a diagnosis", "points": -6, "tags": ["level:example", "axis:accuracy"]},
        {"criterion": "Stays calm", "points": 5, "tags": ["level:cluster", "axis:accuracy", "cluster:tone"]},
    ],
    "ideal_completions_data": {"ideal_completion": "Did you fall?", "ideal_completions_group": "Group 1"},
    "example_tags": ["theme:context_seeking"],
    "canary": "a canary",
}
RUBRICHUB: dict[str, Any] = {
    "prompt": [{"role": "user", "content": "Write a poem."}],
    "Rubrics": [{"title": "Rhyme", "description": "Every line rhymes", "weight": 4, "tags": ["form"]}],
    "ability": "chat",
    "reward_model": {"ground_truth": "Roses are red", "style": "rubric"},
    "extra_info": {"id": "rh-1"},
}
RUBRICHUB_SFT: dict[str, Any] = {
    "query": "Write a poem.",
    "response": "Roses are red",
    "rubrics": [{"criterion": "Every line rhymes", "points": 4}],
}
RAR: dict[str, Any] = {
    "question": "What is wrong with the patient?",
    "rubric": [{"title": "Diagnosis", "description": "Essential Criteria: Names the diagnosis", "weight": 5}],
    "reference_answer": "Gout.",
    "question_source": "an exam",
}
SCHOLARQA: dict[str, Any] = {
    "initial_prompt": "Which corpora exist?",
    "metric_config": {
        "name": "rubric",
        "config": {
            "question": "Which corpora exist?",
            "low_length": 300,
            "length_weight": 0.05,
            "other_properties": [
                {"name": "item-0", "criterion": "Lists the corpora", "weight": 0.4, "evidence": ["some"]}
            ],
        },
    },
    "case_id": "case-1",
    "annotator": "Annotator 1",
    "agreement": True,
}
RESEARCHQA: dict[str, Any] = {
    "id": "rq-1",
    "query": "How do glaciers flow?",
    "rubric": [
        {"rubric_item": "Does the response explain creep?", "type": "Explanation"},
        {"rubric_item": "Does the response cite Glen?", "type": ["Citation", "Example"]},
    ],
    "general_domain": "Earth science",
    "date": "2021",
}
VERL: dict[str, Any] = {
    "prompt": [{"role": "user", "content": "Is it safe?"}],
    "data_source": "our-clinic",
    "ability": "medicine",
    "reward_model": {"style": "rubric", "ground_truth": "No."},
    "extra_info": {
        "id": "v-1",
        "split": "train",
        "rubric": [{"criterion": "Says no", "weight": 3}, {"criterion": "Sells something", "weight": -2}],
        "protocol": [{"name": "Answer", "description": "Says no. Fails if it sells.", "indices": [1, 2]}],
    },
}
TRL: dict[str, Any] = {"prompt": TASK["messages"], "task_id": TASK["id"], "task": json.dumps(TASK)}
PLAIN: dict[str, Any] = {
    "question": "Is it safe?",
    "checklist": ["Says no", {"text": "Explains why"}],
    "difficulty": "easy",
}
ROWS: dict[str, dict[str, Any]] = {
    "tasks": TASK,
    "healthbench": HEALTHBENCH,
    "rubrichub": RUBRICHUB,
    "rar": RAR,
    "scholarqa": SCHOLARQA,
    "researchqa": RESEARCHQA,
    "verl": VERL,
    "trl": TRL,
    "plain": PLAIN,
}


def write_jsonl(path: Path, *rows: Mapping[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read(path: Path, format: Any = "auto", **options: Any) -> tuple[list[Task], list[Reject]]:  # noqa: A002
    """The tasks and the rejects of a file."""
    rejects: list[Reject] = []
    return list(load_tasks(path, format, on_reject=rejects.append, **options)), rejects


def read_one(folder: Path, row: Mapping[str, Any], format: Any = "auto") -> Task:  # noqa: A002
    """The task that one row becomes, by way of a file."""
    (task,) = load_tasks(write_jsonl(folder / "one.jsonl", row), format, strict=True)
    return task


def reject_one(folder: Path, row: Mapping[str, Any], format: Any = "auto") -> str:  # noqa: A002
    """What is said of one row that cannot be read."""
    tasks, (reject,) = read(write_jsonl(folder / "one.jsonl", row), format)
    assert tasks == []
    return str(reject)
