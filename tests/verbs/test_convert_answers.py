"""`convert` with answers, verdicts and labels that the rows carry."""

import json
from pathlib import Path
from typing import Any

import pytest

from prorubric import NotApplicable, load_tasks
from prorubric.datasets.load import load_responses
from prorubric.datasets.people_labels import load_labels
from prorubric.errors import ConfigError
from prorubric.rubric.verdict import Unknown, parse_verdict, render_verdict
from prorubric.verbs.convert import ConvertConfig, convert_tasks
from tests.datasets.rows import ROWS, write_jsonl

JUDGED: dict[str, Any] = {
    "q": "Is it safe?",
    "items": [{"what": "Says no", "met": True}, {"what": "Says why", "met": "unclear"}],
    "answer": "No.",
}


def convert(folder: Path, row: dict[str, Any], **options: Any) -> Any:
    source = write_jsonl(folder / "in.jsonl", row)
    return convert_tasks(ConvertConfig(tasks=str(source), out=folder / "out.jsonl", **options))


def test_answers_become_responses_named_by_their_model(tmp_path: Path) -> None:
    result = convert(tmp_path, ROWS["profbench"], responses=tmp_path / "answers.jsonl")
    found = [(r.task_id, r.sample, r.model, r.text) for r in load_responses(tmp_path / "answers.jsonl")]
    assert result.answers == 2
    assert found == [("Fin-0", 0, "o3", "Memo A"), ("Fin-0", 1, "grok4", "Memo B")]


def test_the_answers_of_rubrichub_become_responses_to_its_rubrics(tmp_path: Path) -> None:
    result = convert(tmp_path, ROWS["rubrichub-sft"], responses=tmp_path / "answers.jsonl")
    (task,), (answer,) = load_tasks(tmp_path / "out.jsonl"), load_responses(tmp_path / "answers.jsonl")
    assert (answer.task_id, answer.text, result.answers) == (task.id, "Roses are red", 1)
    assert [(c.text, c.weight, c.tags) for c in task.rubric.criteria] == [
        ("Every line rhymes", 4.0, ("form",)),
        ("Swears", -2.0, ()),
    ]
    assert task.meta == {"source": "writing", "sample_id": 3, "rubric_score": 0.5}
    assert result.dropped == {"rubric_judge_details": 1}


def test_rows_with_the_same_prompt_and_rubric_are_samples_of_one_task(tmp_path: Path) -> None:
    row, other = ROWS["rubrichub-sft"], {**ROWS["rubrichub-sft"], "query": "Write a song."}
    rows = [row, other, {**row, "answer": "Violets are blue"}, {**row, "answer": "Sugar is sweet"}]
    source = write_jsonl(tmp_path / "in.jsonl", *rows)
    config = ConvertConfig(tasks=str(source), out=tmp_path / "out.jsonl", responses=tmp_path / "answers.jsonl")
    result = convert_tasks(config)
    assert (result.read, result.written, result.answers, result.rejected) == (4, 2, 4, {})
    poem, song = (task.id for task in load_tasks(tmp_path / "out.jsonl"))
    found = [(r.task_id, r.sample, r.text) for r in load_responses(tmp_path / "answers.jsonl")]
    assert found == [
        (poem, 0, "Roses are red"),
        (song, 0, "Roses are red"),
        (poem, 1, "Violets are blue"),
        (poem, 2, "Sugar is sweet"),
    ]


def test_rows_that_repeat_an_id_of_their_own_are_rejects(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", ROWS["profbench"], ROWS["profbench"])
    config = ConvertConfig(tasks=str(source), out=tmp_path / "out.jsonl", responses=tmp_path / "answers.jsonl")
    result = convert_tasks(config)
    assert (result.written, result.answers, sum(result.rejected.values())) == (1, 2, 1)


def test_labels_of_several_answers_are_told_apart(tmp_path: Path) -> None:
    convert(tmp_path, ROWS["profbench"], labels=tmp_path / "labels.jsonl")
    found = [(item.response, item.statement, item.labels) for item in load_labels(tmp_path / "labels.jsonl")]
    assert found == [("Memo A", "Gives the estimate.", (True,)), ("Memo B", "Gives the estimate.", (False,))]


def test_labels_of_several_people_stay_together(tmp_path: Path) -> None:
    convert(tmp_path, ROWS["healthbench-meta"], labels=tmp_path / "labels.jsonl")
    (item,) = load_labels(tmp_path / "labels.jsonl")
    assert (item.response, item.labels, item.messages[0].content) == ("Rest.", (True, False), "I have a cold.")


def test_the_last_turn_of_a_conversation_is_the_answer(tmp_path: Path) -> None:
    convert(tmp_path, ROWS["wildchecklists"], responses=tmp_path / "answers.jsonl")
    found = [(r.model, r.text) for r in load_responses(tmp_path / "answers.jsonl")]
    assert found == [("chosen", "Snow falls."), ("rejected", "No.")]


def test_what_a_judge_said_is_read_and_never_guessed(tmp_path: Path) -> None:
    mapping = ("prompt=q", "criteria=items", "text=what", "response=answer", "verdict=met")
    convert(tmp_path, JUDGED, map=mapping, verdicts=tmp_path / "verdicts.jsonl")
    (row,) = map(json.loads, (tmp_path / "verdicts.jsonl").read_text().splitlines())
    assert [*map(parse_verdict, row["verdicts"]["criteria"])] == [True, Unknown("the file says 'unclear'")]


def test_answers_without_a_mapping_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--responses needs a mapping that names the answers"):
        convert(tmp_path, ROWS["plain"], responses=tmp_path / "answers.jsonl")
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl"}


def test_a_mapping_that_does_not_name_them_is_told_which_field(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--verdicts: the mapping does not say where they are; add verdict=…"):
        convert(tmp_path, ROWS["profbench"], verdicts=tmp_path / "verdicts.jsonl")


def test_unused_fields_are_in_the_manifest(tmp_path: Path) -> None:
    convert(tmp_path, ROWS["plain"])
    manifest = json.loads((tmp_path / "out.manifest.json").read_text())
    assert (manifest["unused"], manifest["unused_share"]) == ({"difficulty": 1}, None)


def test_not_applicable_survives_a_file() -> None:
    assert parse_verdict(render_verdict(NotApplicable("no code was asked for"))) == NotApplicable(
        "no code was asked for"
    )


def test_an_answer_that_is_not_text_is_listed_and_its_task_stays(tmp_path: Path) -> None:
    mapping = ("prompt=q", "criteria=items", "text=what", "response=answer", "drop=note")
    row = {**JUDGED, "answer": 7, "note": "x"}
    result = convert(tmp_path, row, map=mapping, responses=tmp_path / "answers.jsonl")
    assert (result.written, result.answers, result.left_out) == (1, 0, {"the response is not text": 1})
    assert result.dropped == {"note": 1}


LABELLED = {"q": "Is it hot?", "items": [{"what": "Says yes", "by": {"bob": "maybe", "ann": "yes"}}], "a": "Yes."}


def test_labels_by_person_are_read_in_the_order_of_their_names_and_others_counted(tmp_path: Path) -> None:
    fields = ("prompt=q", "criteria=items", "text=what", "response=a", "label=by")
    result = convert(tmp_path, LABELLED, map=fields, labels=tmp_path / "labels.jsonl")
    (item,) = load_labels(tmp_path / "labels.jsonl")
    assert (item.labels, result.unread_labels) == ((True, None), {"'maybe'": 1})


@pytest.mark.parametrize(("name", "field"), [("labels", "label"), ("verdicts", "verdict")])
def test_a_path_to_no_verdict_or_label_of_any_answer_is_refused(tmp_path: Path, name: str, field: str) -> None:
    fields = ("prompt=q", "criteria=items", "text=what", "response=a", f"{field}=nowhere")
    with pytest.raises(ConfigError, match=f"--{name}: the mapping finds none for any answer; correct {field}"):
        convert(tmp_path, LABELLED, map=fields, **{name: tmp_path / "said.jsonl"})
    assert not list(tmp_path.glob("*said*"))
