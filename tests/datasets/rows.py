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
RUBRICHUB_ANSWERED: dict[str, Any] = {
    "source": "writing",
    "query": "Write a poem.",
    "answer": "Roses are red",
    "sample_id": 3,
    "rubrics": [
        {"criterion": "Every line rhymes", "points": 4, "tags": ["form"]},
        {"criterion": "Swears", "points": -2, "tags": []},
    ],
    "rubric_score": 0.5,
    "rubric_judge_details": [{"criterion": "Every line rhymes", "met": True}],
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
DEEPRESEARCH: dict[str, Any] = {
    "id": 3,
    "prompt": "Compare heat pumps.",
    "dimension_weight": {"insight": 0.6, "readability": 0.4},
    "criterions": {
        "insight": [{"criterion": "Cold climates", "explanation": "Says how they do at -15 °C.", "weight": 1.0}],
        "readability": [
            {"criterion": "Structure", "explanation": "Has a summary.", "weight": 0.75},
            {"criterion": "Tables", "explanation": "Compares in a table.", "weight": 0.25, "comment": "nice"},
        ],
    },
}
VITABENCH: dict[str, Any] = {
    "id": "v-1",
    "domain": "delivery",
    "message_history": [],
    "environment": {"time": "noon"},
    "instructions": "Order noodles.",
    "evaluation_criteria": {
        "expected_states": [{"state_rubrics": ["Noodles are ordered"]}],
        "overall_rubrics": ["Noodles are ordered", "Nothing fried is ordered"],
    },
}
RUBRICEVAL: dict[str, Any] = {
    "id": 4.0,
    "category": "Brainstorming",
    "instruction": "Name a boat.",
    "rubric": [
        {
            "criterion": "Wit",
            "weight": 60.0,
            "performance_to_description": {
                "excellent": "Makes one laugh.",
                "good": "Makes one smile.",
                "poor": "Dull.",
            },
        }
    ],
    "excellent_response": "Boaty.",
    "rubric_date": "2024-09-03",
}
WRITINGBENCH: dict[str, Any] = {
    "index": 5,
    "domain1": "Academic",
    "domain2": "Outline",
    "query": "Write an outline.",
    "checklist": [
        {"name": "Structure", "criteria_description": "Is it complete?", "1-2": "No.", "5-6": "Half.", "9-10": "Whole."}
    ],
}
PAPERBENCH: dict[str, Any] = {
    "id": "root",
    "requirements": "The paper is reproduced.",
    "weight": 1,
    "task_category": None,
    "sub_tasks": [
        {
            "id": "a",
            "requirements": "The data is there.",
            "weight": 3,
            "sub_tasks": [
                {
                    "id": "a1",
                    "requirements": "It is downloaded.",
                    "weight": 1,
                    "sub_tasks": [],
                    "task_category": "Code",
                },
                {"id": "a2", "requirements": "It is split.", "weight": 2, "sub_tasks": []},
            ],
        },
        {"id": "b", "requirements": "The model is trained.", "weight": 1, "sub_tasks": []},
    ],
}
HEALTHBENCH_META: dict[str, Any] = {
    "prompt_id": "q-1",
    "prompt": [{"role": "user", "content": "I have a cold."}],
    "completion": "Rest.",
    "completion_id": "c-1",
    "rubric": "Says when to see a doctor.",
    "binary_labels": [True, False],
    "anonymized_physician_ids": ["p1", "p2"],
    "category": "cluster:referral",
    "canary": "a canary",
}
ADVANCEDIF: dict[str, Any] = {
    "conversation_history": json.dumps([{"role": "system", "content": "Haiku."}, {"role": "user", "content": "Rain."}]),
    "benchmark_name": "system_steerability",
    "prompt_metadata": json.dumps({"rubrics": json.dumps(["Is it a haiku?", "Is it about rain?"])}),
}
PRBENCH: dict[str, Any] = {
    "task": "t-1",
    "turns": 2,
    "field": "Finance",
    "topic": "Leases",
    "prompt_0": "How do I value a lease?",
    "response_0": "Which standard?",
    "model_0": "m",
    "reference_texts_0": [],
    "prompt_1": "IFRS 16.",
    "response_1": None,
    "reference_texts_1": ["A note."],
    "rubric": [
        {
            "id": "c1",
            "title": "Names the rate",
            "annotations": {
                "criteria_category": "Accuracy",
                "weight_class": "critically important",
                "critically_important_weight": 9,
                "important_weight": 5,
            },
        },
        {
            "id": "c2",
            "title": "Leaves the lease off the balance sheet",
            "annotations": {"weight_class": "detrimental", "detrimental_weight": -6, "important_weight": None},
        },
    ],
}
PROFBENCH: dict[str, Any] = {
    "task_id": "Fin-0",
    "domain": "Finance MBA",
    "prompt": "Write a memo.",
    "filepaths": [],
    "o3_response": "Memo A",
    "grok4_response": "Memo B",
    "rubrics": [
        {
            "criterion_description": "Gives the estimate.",
            "criterion_weight": "Critical",
            "criterion_type": ["Reasoning"],
            "o3_fulfilment": True,
            "grok4_fulfilment": False,
        }
    ],
}
RESEARCHRUBRICS: dict[str, Any] = {
    "sample_id": "r-1",
    "prompt": "Compare heat pumps.",
    "domain": "STEM",
    "rubrics": [
        {"criterion": "Covers cold climates.", "weight": 5.0, "axis": "Explicit"},
        {"criterion": "Recommends a discontinued product.", "weight": -3.0, "axis": "Implicit"},
    ],
}
INFOBENCH: dict[str, Any] = {
    "id": "i-1",
    "category": "Marketing",
    "instruction": "Write a slogan of five words.",
    "input": "For tea.",
    "decomposed_questions": ["Is it a slogan?", "Does it have five words?"],
    "subset": "Hard_set",
    "question_label": [["Content"], ["Number", "Format"]],
}
WILDCHECKLISTS: dict[str, Any] = {
    "prompt": "Write a haiku on snow.",
    "requirements": "1) Is it a haiku? (importance: 100/100)\n2) Is snow the topic? (importance: 90/100)",
    "chosen": [{"role": "user", "content": "Write."}, {"role": "assistant", "content": "Snow falls."}],
    "rejected": [{"role": "user", "content": "Write."}, {"role": "assistant", "content": "No."}],
    "chosen_score": 92.5,
    "rejected_score": 61.0,
}
BIGGEN: dict[str, Any] = {
    "id": "planning_trip_0",
    "capability": "planning",
    "task": "trip",
    "instance_idx": 0,
    "system_prompt": "You plan trips.",
    "input": "Plan a day in Oslo.",
    "reference_answer": "Morning: …",
    "score_rubric": {"criteria": "Is it feasible?", "score1_description": "No plan.", "score5_description": "Sound."},
}
MULTICHALLENGE: dict[str, Any] = {
    "QUESTION_ID": "m-1",
    "AXIS": "INFERENCE_MEMORY",
    "CONVERSATION": [{"role": "user", "content": "I avoid nuts. Suggest a snack."}],
    "TARGET_QUESTION": "Does the reply suggest a snack with nuts?",
    "PASS_CRITERIA": "NO",
}
FRONTIERSCIENCE: dict[str, Any] = {
    "problem": "Why does the yield fall?",
    "subject": "chemistry",
    "task_group_id": "g-1",
    "answer": "Points: 1.0, Item: Names the side reaction.\nPoints: 0.5, Item: Gives a control\nthat rules out water.",
}
PLAWBENCH: dict[str, Any] = {
    "id": "case-1",
    "task": "case_analysis",
    "judge_type": "case_analysis",
    "category": "个人生活",
    "context": "甲与乙签约。",
    "question": "甲能否解约？",
    "max_points": 60,
    "rubrics": json.dumps([{"criterion": "结论正确。", "points": "5", "tags": "结论得分"}]),
}
OPENRUBRICS: dict[str, Any] = {
    "instruction": "Write a toast.",
    "response_a": "To us.",
    "response_b": "Cheers.",
    "winner": "A",
    "rubric": "1. The response is two lines long. [Hard Rule]\n2. The response sounds warm. [Principle]",
    "source": "a set",
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
    "healthbench-meta": HEALTHBENCH_META,
    "deepresearch": DEEPRESEARCH,
    "vitabench": VITABENCH,
    "rubriceval": RUBRICEVAL,
    "writingbench": WRITINGBENCH,
    "paperbench": PAPERBENCH,
    "advancedif": ADVANCEDIF,
    "prbench": PRBENCH,
    "profbench": PROFBENCH,
    "researchrubrics": RESEARCHRUBRICS,
    "infobench": INFOBENCH,
    "wildchecklists": WILDCHECKLISTS,
    "biggen": BIGGEN,
    "multichallenge": MULTICHALLENGE,
    "frontierscience": FRONTIERSCIENCE,
    "plawbench": PLAWBENCH,
    "openrubrics": OPENRUBRICS,
    "rubrichub-sft": RUBRICHUB_ANSWERED,
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
