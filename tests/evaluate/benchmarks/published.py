"""Small files of every benchmark in the published shapes, with our own texts."""

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

CANARY = "test canary 6f1c"

OSS_EVAL = "healthbench/2025-05-07-06-14-12_oss_eval.jsonl"
HARD = "healthbench/hard_2025-05-08-21-00-10.jsonl"
CONSENSUS = "healthbench/consensus_2025-05-09-20-00-46.jsonl"
META = "healthbench/2025-05-07-06-14-12_oss_meta_eval.jsonl"
MEDQA = "medqa/phrases_no_exclude_test.jsonl"
GPQA = "gpqa/gpqa_diamond.csv"
WRITING = "writingbench/benchmark_all.jsonl"
CREATIVE = "creative-v3/creative_writing_prompts_v3.json"
QUESTIONS = "arena-hard-v2/question.jsonl"
O3_MINI = "arena-hard-v2/o3-mini-2025-01-31.jsonl"
GEMINI = "arena-hard-v2/gemini-2.0-flash-001.jsonl"
RESEARCHQA = "researchqa/valid.json"

Row = dict[str, Any]


def healthbench(number: int, *points: int, level: str = "example") -> Row:
    return {
        "example_tags": ["theme:hedging"],
        "ideal_completions_data": None,
        "prompt": [{"role": "user", "content": f"Does remedy {number} help?\u2028It is new."}],
        "prompt_id": f"p{number}",
        "rubrics": [
            {"criterion": f"Says fact {at}.", "points": value, "tags": [f"level:{level}", "axis:accuracy"]}
            for at, value in enumerate(points or (5, -3))
        ],
        "canary": CANARY,
    }


def meta(number: int) -> Row:
    return {
        "prompt": [{"role": "user", "content": f"Is symptom {number} serious?"}],
        "completion": "See a doctor if it gets worse.",
        "completion_id": f"c{number}",
        "prompt_id": f"p{number}",
        "rubric": "The answer names a warning sign.",
        "category": "cluster:emergency_referrals_non-emergent_context_seeking",
        "binary_labels": [True, number % 2 == 0],
        "anonymized_physician_ids": ["one", "two"],
        "canary": CANARY,
    }


def medqa(number: int) -> Row:
    options = {letter: f"drug {letter} of {number}" for letter in "ABCD"}
    return {
        "question": f"Which drug treats case {number}?",
        "answer": options["C"],
        "options": options,
        "meta_info": "step1",
        "answer_idx": "C",
        "metamap_phrases": [],
    }


def gpqa(number: int) -> Row:
    wrong = {f"Incorrect Answer {place}": f"wrong {place}" for place in (1, 2, 3)}
    head = {"Record ID": f"rec{number}", "Question": f"What is {number}, in units?\nOver two lines."}
    return {**head, "Correct Answer": "right\n", **wrong, "High-level domain": "Physics", "Canary String": CANARY}


def writing(number: int) -> Row:
    bands = {band: f"what {band} means" for band in ("1-2", "3-4", "5-6", "7-8", "9-10")}
    checklist = [{"name": f"Trait {place}", "criteria_description": "Shows it.", **bands} for place in range(5)]
    return {
        "index": number,
        "domain1": "Education",
        "domain2": "Speech",
        "query": f"Write speech {number}.",
        "checklist": checklist,
    }


def creative(*numbers: int) -> Row:
    return {
        str(number): {
            "category": "romance",
            "title": "A title",
            "writing_prompt": f"Write scene {number}. <SEED> 100 words.",
            "seed_modifiers": ["Add rain.", "Add snow.", "Add sun.", "Add wind."],
        }
        for number in numbers
    }


def question(number: int) -> Row:
    category, kind = ("hard_prompt", "coding") if number % 3 else ("creative_writing", "creative_writing")
    return {"uid": f"u{number}", "category": category, "subcategory": kind, "prompt": f"Do task {number}."}


def baseline(number: int, model: str) -> Row:
    messages = [
        {"role": "user", "content": f"Do task {number}."},
        {"role": "assistant", "content": {"answer": f"{model} did task {number}."}},
    ]
    return {"uid": f"u{number}", "ans_id": "a", "model": model, "messages": messages, "tstamp": 1.5, "metadata": {}}


def research(number: int) -> Row:
    rubric = [{"rubric_item": f"Does the response name cause {place}?", "type": ["Other"]} for place in (1, 2)]
    where = {"general_domain": "Life", "subdomain": "Biology", "field": "Genetics"}
    return {"id": f"{number}-s1", **where, "query": f"Why {number}?", "date": "2024-01-01", "rubric": rubric}


_NUMBERS = range(1, 7)
FILES: Mapping[str, Callable[[Iterable[int]], list[Row]]] = {
    OSS_EVAL: lambda numbers: [healthbench(number, 5, -3) for number in numbers],
    HARD: lambda numbers: [healthbench(number, 5, -3) for number in numbers],
    CONSENSUS: lambda numbers: [healthbench(number, 5, 5, level="cluster") for number in numbers],
    META: lambda numbers: [meta(number) for number in numbers],
    MEDQA: lambda numbers: [medqa(number) for number in numbers],
    GPQA: lambda numbers: [gpqa(number) for number in numbers],
    WRITING: lambda numbers: [writing(number) for number in numbers],
    CREATIVE: lambda numbers: [creative(*numbers)],
    QUESTIONS: lambda numbers: [question(number) for number in numbers],
    O3_MINI: lambda numbers: [baseline(number, "o3") for number in numbers],
    GEMINI: lambda numbers: [baseline(number, "gemini") for number in numbers],
    RESEARCHQA: lambda numbers: [research(number) for number in numbers],
}


def write_all(folder: Path, numbers: Iterable[int] = _NUMBERS) -> Path:
    """Every file, with one row, prompt or record for each number."""
    numbers = tuple(numbers)
    for name, make in FILES.items():
        write(folder, name, make(numbers))
    return folder


def write(folder: Path, name: str, rows: list[Row]) -> Path:
    """One file in the form that its name asks for."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows[0] if name == CREATIVE else rows), encoding="utf-8")
    else:
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
