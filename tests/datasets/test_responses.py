"""Answers as people write them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from prorubric import Response, load_responses, save_responses
from prorubric.datasets.rejects import Reject
from prorubric.datasets.responses import EXAMPLE
from tests.datasets.rows import write_jsonl
from tests.rubric.test_transcript import MESSAGES, TURNS


def read_all(path: Path) -> tuple[list[Response], list[str]]:
    rejects: list[Reject] = []
    found = list(load_responses(path, on_reject=rejects.append))
    return found, [str(reject).removeprefix(f"{path}:") for reject in rejects]


@pytest.mark.parametrize("name", ["task_id", "id"])
@pytest.mark.parametrize("text", ["response", "completion", "answer", "output"])
def test_every_name_of_task_and_text_is_understood(tmp_path: Path, name: str, text: str) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", {name: "t", text: "No."})
    assert read_all(path) == ([Response(task_id="t", text="No.")], [])


def test_a_missing_sample_is_numbered_by_order_within_the_task(tmp_path: Path) -> None:
    rows = [{"id": name, "answer": text} for name, text in (("a", "1"), ("b", "2"), ("a", "3"), ("a", "4"))]
    found, _ = read_all(write_jsonl(tmp_path / "a.jsonl", *rows))
    assert [(r.task_id, r.sample, r.text) for r in found] == [
        ("a", 0, "1"),
        ("b", 0, "2"),
        ("a", 1, "3"),
        ("a", 2, "4"),
    ]


def test_other_keys_are_kept(tmp_path: Path) -> None:
    row = {"task_id": "t", "response": "No.", "id": "r1", "checkpoint": 300, "meta": {"year": 2026}, "answer": "gold"}
    (found,), rejects = read_all(write_jsonl(tmp_path / "a.jsonl", row))
    assert (found.text, rejects) == ("No.", [])
    assert found.meta == {"year": 2026, "id": "r1", "checkpoint": 300, "answer": "gold"}


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_a_table_of_answers_is_read(tmp_path: Path, suffix: str) -> None:
    text = 'ID,Output,sample,tokens,model,run\n1,"No, ""never""",0,12,m,x\n1,,,,,y\n2,Yes,5,,,\n'
    path = tmp_path / f"a{suffix}"
    if suffix.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    assert read_all(path) == (
        [
            Response(task_id="1", text='No, "never"', sample=0, tokens=12, model="m", meta={"run": "x"}),
            Response(task_id="1", text="", sample=1, meta={"run": "y"}),
            Response(task_id="2", text="Yes", sample=5, meta={"run": ""}),
        ],
        [],
    )


TOO_LARGE = "Input should be less than or equal to 9223372036854775807"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {"task_id": "t", "text": "x"},
            "no response (among task_id, text); call it response, completion, answer or output",
        ),
        ({"response": "x"}, "no task_id (among response); call it task_id, id, prompt_id or question_id"),
        (
            {"id": "t", "answer": "x", "output": "y"},
            "several fields could be the response (answer and output); call the right one response",
        ),
        ({"id": True, "answer": "x"}, "the id is not a name (True); give text or a whole number"),
        ({"id": "t", "answer": "x", "sample": "two"}, "Response: sample: Input should be a valid integer (got 'two')"),
        ({"id": "t", "answer": "x", "sample": 2**63}, f"Response: sample: {TOO_LARGE} (got 9223372036854775808)"),
        ({"id": "t", "answer": "x", "sample": 2**64}, f"Response: sample: {TOO_LARGE} (got 18446744073709551616)"),
        ({"id": "t", "answer": "x", "tokens": 10**400}, f"Response: tokens: {TOO_LARGE} (got 1000"),
    ],
)
def test_a_row_that_is_not_an_answer_says_why(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    found, (reject,) = read_all(write_jsonl(tmp_path / "a.jsonl", row))
    assert (found, reject[: len(said) + 3]) == ([], f"1: {said}")


@pytest.mark.parametrize("sample", ["99999999999999999999", "9" * 5000, "-1", "1.5", "٣"])
def test_a_sample_in_a_table_that_is_not_a_count_is_a_reject(tmp_path: Path, sample: str) -> None:
    (tmp_path / "a.csv").write_text(f"id,answer,sample\nt,x,{sample}\n", encoding="utf-8")
    found, (reject,) = read_all(tmp_path / "a.csv")
    assert (found, reject.startswith("2: Response: sample: Input should be ")) == ([], True)


def test_an_integer_of_more_than_64_bits_among_other_keys_is_kept_as_text(tmp_path: Path) -> None:
    (found,), _ = read_all(write_jsonl(tmp_path / "a.jsonl", {"id": 2**64, "answer": "x", "seed": 2**64}))
    assert (found.task_id, found.meta) == (str(2**64), {"seed": str(2**64)})


def test_the_example_row_is_read(tmp_path: Path) -> None:
    row = json.loads(EXAMPLE.removeprefix("a row that works: "))
    assert read_all(write_jsonl(tmp_path / "a.jsonl", row)) == ([Response(task_id="fever", text="Go in now.")], [])


def test_a_text_that_is_null_is_named(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", {"task_id": "t", "answer": None})
    assert read_all(path) == ([], ["1: answer is null; give text, or leave the row out"])


def test_nan_among_other_keys_is_kept_as_text(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"task_id": "t", "response": "No.", "x": NaN}')
    assert read_all(tmp_path / "a.jsonl")[0][0].meta == {"x": "NaN"}


@pytest.mark.parametrize("name", ["messages", "Transcript"])
@pytest.mark.parametrize("render", [lambda messages: messages, json.dumps], ids=["list", "text"])
def test_a_transcript_is_read_from_either_column(tmp_path: Path, name: str, render: Any) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", {"task_id": "t", name: render(MESSAGES), "run": 3})
    assert read_all(path) == ([Response(task_id="t", messages=TURNS, meta={"run": 3})], [])


@pytest.mark.parametrize("suffix", ["jsonl", "json", "parquet", "jsonl.gz"])
def test_transcripts_and_texts_in_one_file_are_read_back(tmp_path: Path, suffix: str) -> None:
    saved = [
        Response(task_id="t", messages=TURNS, sample=0, meta={"run": 3}),
        Response(task_id="t", text="No.", sample=1, tokens=2),
        Response(task_id="u", messages=TURNS[:1]),
    ]
    path = tmp_path / f"a.{suffix}"
    assert save_responses(path, saved) == 3
    assert read_all(path) == (saved, [])


PROMPT = [{"role": "user", "content": "Hotels?"}]


@pytest.mark.parametrize(
    ("row", "messages"),
    [
        ({"answer": "No.", "messages": PROMPT}, PROMPT),
        ({"response": "No.", "messages": MESSAGES}, MESSAGES),
    ],
)
def test_messages_next_to_a_text_are_the_prompt_and_kept(tmp_path: Path, row: dict[str, Any], messages: Any) -> None:
    (found,), rejects = read_all(write_jsonl(tmp_path / "a.jsonl", {"task_id": "t", **row}))
    assert (found.text, found.messages, found.meta, rejects) == ("No.", None, {"messages": messages}, [])


@pytest.mark.parametrize(("text", "name"), [("answer", "messages"), ("response", "transcript")])
def test_a_transcript_next_to_a_text_is_refused(tmp_path: Path, text: str, name: str) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", {"task_id": "t", text: "No.", name: MESSAGES})
    assert read_all(path) == (
        [],
        [f"1: several fields could be the response ({text} and {name}); call the text response, or keep one"],
    )


def test_a_transcript_with_an_image_is_a_reject(tmp_path: Path) -> None:
    image = {"role": "tool", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}
    path = write_jsonl(tmp_path / "a.jsonl", {"task_id": "t", "messages": [*MESSAGES, image]})
    said = "1: turn 4: a part cannot be judged (type image_url); leave out what is not text"
    assert read_all(path) == ([], [said])


@pytest.mark.parametrize("turns", [[], [{"role": "user", "content": "Can it wait?"}]])
def test_a_transcript_without_a_turn_of_the_assistant_is_a_reject(tmp_path: Path, turns: list[Any]) -> None:
    row = {"task_id": "a", "messages": turns, "text": "No."}
    said = "1: the transcript has no assistant turn (in messages); add its turns, or give the answer as response"
    assert read_all(write_jsonl(tmp_path / "in.jsonl", row)) == ([], [said])
