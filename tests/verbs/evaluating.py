"""Small HealthBench and MedQA files, and a server that is policies and judge at once: what is right can be worked out.

The criteria are words that an answer has to contain. A policy is named after the words it writes.
"""

import asyncio
import json
import re
from pathlib import Path

from tests.llm.server import BEHAVIOURS, Exchange

CANARY = "healthbench:0a1b2c3d-0000-4000-8000-00000000cafe"
SECRET = "quinquagenarian"
_ANSWER = re.compile(r"<<<(ANSWER|FIRST|A) ([0-9A-F]{16})\n(.*?)\n\1 \2>>>", re.DOTALL)
_SECOND = re.compile(r"<<<(SECOND|B) ([0-9A-F]{16})\n(.*?)\n\1 \2>>>", re.DOTALL)
_WORD = re.compile(r"says the word (\w+)")


def write_healthbench(folder: Path, prompts: int = 4) -> None:
    """Prompts with three criteria: `rest` (5 points) and `drink` (5, the consensus), and `panic`, which costs 4."""
    rows = []
    for number in range(prompts):
        words = [("rest", 5, "level:example"), ("drink", 5, "level:cluster"), ("panic", -4, "level:example")]
        rows.append(
            {
                "prompt_id": f"p{number}",
                "prompt": [{"role": "user", "content": f"A {SECRET} with complaint {number} asks for help."}],
                "rubrics": [
                    {"criterion": f"The answer says the word {word}.", "points": points, "tags": [level]}
                    for word, points, level in words
                ],
                "example_tags": ["theme:hedging"],
                "canary": CANARY,
            }
        )
    path = folder / "healthbench" / "2025-05-07-06-14-12_oss_eval.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_medqa(folder: Path, letters: str = "ABCD") -> None:
    """One question for each letter, which is its right answer."""
    rows = [
        {
            "question": f"Question {number}?",
            "options": {letter: f"option {letter} of {number}" for letter in "ABCD"},
            "answer_idx": right,
            "answer": f"option {right} of {number}",
            "meta_info": "step1",
        }
        for number, right in enumerate(letters)
    ]
    path = folder / "medqa" / "phrases_no_exclude_test.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


async def evaluate(exchange: Exchange) -> None:
    """A policy `#writes-rest-drink` writes these words; a judge looks for the word of a criterion."""
    await asyncio.sleep(exchange.server.think_seconds)
    model, text = exchange.body["model"], exchange.question
    if model.startswith("writes"):
        await exchange.send_content(f"Please {' '.join(model.split('-')[1:])}. Answer: A")
        return
    word, answer, second = _WORD.search(text), _ANSWER.search(text), _SECOND.search(text)
    assert answer is not None
    if second is not None:  # the longer answer is better
        longer = len(answer[3]) - len(second[3])
        side = "first" if longer > 0 else "second" if longer < 0 else "equal"
        label = {"first": "[[A>B]]", "second": "[[B>A]]", "equal": "[[A=B]]"}[side]
        await exchange.send_content(json.dumps({"better": side}) if second[1] == "SECOND" else f"By length: {label}")
    elif word is None:  # a criterion of the probe: met by short answers
        await exchange.send_content(json.dumps({"reason": "its length", "satisfied": len(answer[3]) < 25}))
    else:
        met = word[1] in answer[3]
        await exchange.send_content(json.dumps({"reason": "looked for it", "criteria_met": met}))


BEHAVIOURS["evaluate"] = evaluate


async def judge_words(exchange: Exchange) -> None:
    """Like `evaluate`, and looks for the words of several criteria at once."""
    words, answer = _WORD.findall(exchange.question), _ANSWER.search(exchange.question)
    if len(words) > 1 and answer is not None:
        verdicts = {str(place): word in answer[3] for place, word in enumerate(words, 1)}
        await exchange.send_content(json.dumps({"satisfied": verdicts}))
    else:
        await evaluate(exchange)


BEHAVIOURS["judge words"] = judge_words


async def mumble_about_drink(exchange: Exchange) -> None:
    """Like `evaluate`, but what it says about drinking cannot be read."""
    is_judge = not exchange.body["model"].startswith("writes")
    if is_judge and "word drink" in exchange.question:
        await exchange.send_content("It is hard to say.")
    else:
        await evaluate(exchange)


BEHAVIOURS["mumble about drink"] = mumble_about_drink


def write_arena(folder: Path, questions: int = 4) -> None:
    """Hard prompts with a baseline that is longer than `Please rest.` and shorter than `Please rest drink.`."""
    place = folder / "arena-hard-v2"
    place.mkdir(parents=True, exist_ok=True)
    asked, answers = [], []
    for number in range(questions):
        about = {"uid": f"q{number}", "category": "hard_prompt", "subcategory": "coding"}
        asked.append({**about, "prompt": f"Question {number}?"})
        said = [
            {"role": "user", "content": f"Question {number}?"},
            {"role": "assistant", "content": {"answer": "A baseline of 25 letters."}},
        ]
        answers.append({"uid": f"q{number}", "model": "o3-mini-2025-01-31", "messages": said})
    for name, rows in (("question", asked), ("o3-mini-2025-01-31", answers)):
        (place / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_meta(folder: Path) -> None:
    """Four answers, two of which say the word; physicians differ on one of these."""
    rows = [
        {
            "prompt": [{"role": "user", "content": f"Complaint {number}."}],
            "completion": "Please drink." if number < 2 else "Please rest.",
            "rubric": "The answer says the word drink.",
            "category": "cluster:hedging_any-reducible-uncertainty_hedges",
            "binary_labels": labels,
            "anonymized_physician_ids": ["one", "two"],
            "canary": CANARY,
        }
        for number, labels in enumerate([[True, True], [True, False], [False, False], [False, False]])
    ]
    path = folder / "healthbench" / "2025-05-07-06-14-12_oss_meta_eval.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_writing_and_research(folder: Path) -> None:
    """Two queries with five criteria each, and two questions with nine items each, which take two calls."""
    writing, research = folder / "writingbench", folder / "researchqa"
    for place in (writing, research):
        place.mkdir(parents=True, exist_ok=True)
    bands = {band: f"band {band}" for band in ("1-2", "3-4", "5-6", "7-8", "9-10")}
    queries = [
        {
            "index": number,
            "domain1": "Finance",
            "domain2": "Report",
            "query": f"Write report {number}.",
            "checklist": [
                {"name": f"point {place}", "criteria_description": f"It has point {place}.", **bands}
                for place in range(5)
            ],
        }
        for number in range(2)
    ]
    (writing / "benchmark_all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    questions = [
        {
            "id": f"r{number}",
            "general_domain": "Science",
            "subdomain": "Physics",
            "field": "Optics",
            "query": f"What is known about {number}?",
            "rubric": [{"rubric_item": f"Does it cover {place} of {number}?", "type": ["Other"]} for place in range(9)],
        }
        for number in range(2)
    ]
    (research / "valid.json").write_text(json.dumps(questions))
