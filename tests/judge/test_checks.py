"""Criteria with checks are decided without a call and mix with judged ones in every reading."""

import json
from pathlib import Path

import pytest

from prorubric import Criterion, Judge, JudgeConfig, Message, ProtocolRubric, Rubric, ScriptedModel, Task, score
from prorubric.cli.app import run
from prorubric.llm.lexical import LexicalModel
from prorubric.llm.model import Request
from prorubric.rubric.save import save_tasks
from prorubric.rubric.verdict import Unknown, Verdict
from prorubric.verbs.judge import JudgeRunConfig, estimate_judging, judge_responses
from tests.judge.test_judge import asked_indices

GROUPS = ([1, 2], [3], [4, 5])
DIMENSIONS = [{"name": f"D{k}", "description": "holds. Fails if not.", "indices": g} for k, g in enumerate(GROUPS)]
RUBRIC = Rubric(
    criteria=(
        Criterion(text="Explains the risk", weight=5.0),
        Criterion(text="At most five words", weight=2.0, check={"max_words": 5}),
        Criterion(text="Is polite", weight=3.0),
        Criterion(text="Says water", weight=1.0, check={"contains": "water"}),
        Criterion(text="Sells something", weight=-4.0, check={"regex": "(?i)buy"}),
    )
)
TASK = Task(
    id="t",
    messages=(Message(role="user", content="?"),),
    rubric=RUBRIC,
    protocol=ProtocolRubric.of(RUBRIC, DIMENSIONS),
    meta={"rewritten": ["a", "b", "c", "d", "e"]},
)
GOOD = "Drink water and rest."
LONG = "Drink water and rest for days on end."
SELLS = "Buy water."


def say_yes(request: Request) -> str:
    """A judge that grants everything that it is shown."""
    assert request.schema is not None
    (key,) = request.schema["properties"]
    if key == "mark":
        return '{"mark": 10}'
    return json.dumps({key: dict.fromkeys(map(str, asked_indices(request)), 3 if key == "levels" else True)})


@pytest.mark.parametrize(
    ("reading", "asked", "good", "long", "sells"),
    [
        ("criteria", [1, 3], (1, 1, 1, 1, 0), (1, 0, 1, 1, 0), (1, 1, 1, 1, 1)),
        ("criteria-rewritten", [1, 3], (1, 1, 1, 1, 0), (1, 0, 1, 1, 0), (1, 1, 1, 1, 1)),
        ("groups", [1, 2], (1, 1, 1), (0, 1, 1), (1, 1, 0)),
        ("dimensions", [1, 2, 3], (1, 1, 1), (0, 1, 1), (1, 1, 0)),
        ("dimensions-no-failure", [1, 2, 3], (1, 1, 1), (0, 1, 1), (1, 1, 0)),
        ("levels", [1, 2, 3], (3.0, 3.0, 3.0), (0.0, 3.0, 3.0), (3.0, 3.0, 0.0)),
        ("one-dimension", [1], (1,), (0,), (0,)),
        ("mark", [1, 2, 3, 4, 5], (10.0,), (10.0,), (10.0,)),
        ("appropriateness", [1], (1,), (1,), (1,)),
    ],
)
async def test_checks_decide_in_every_reading(
    reading: str, asked: list[int], good: tuple[int], long: tuple[int], sells: tuple[int]
) -> None:
    model = ScriptedModel(say_yes)
    found = [(await Judge(model).judge(TASK, answer, reading)).verdicts for answer in (GOOD, LONG, SELLS)]
    assert found == [good, long, sells]
    assert {tuple(asked_indices(request)) for request in model.requests} == {tuple(asked)}


async def test_the_reason_names_the_check_that_decided() -> None:
    judge = Judge(ScriptedModel(say_yes))
    assert (await judge.judge(TASK, LONG, "criteria")).reasons == {
        2: "check: max_words 5 does not hold",
        4: "check: contains",
        5: "check: regex (?i)buy does not hold",
    }
    assert (await judge.judge(TASK, SELLS, "dimensions")).reasons == {3: "criterion 5, check: regex"}


async def test_a_dimension_that_the_judge_denies_stays_denied() -> None:
    model = ScriptedModel(lambda _: '{"satisfied": {"1": false, "2": true, "3": false}}')
    assert (await Judge(model).judge(TASK, GOOD, "dimensions")).verdicts == (False, True, False)


async def test_checked_and_judged_criteria_are_scored_together() -> None:
    found = await Judge(ScriptedModel(say_yes)).judge(TASK, SELLS, "criteria")
    assert score(found.verdicts, TASK, "additive").value == (5 + 2 + 3 + 1 - 4) / 11
    assert score(found.verdicts, TASK, "conjunctive").value == (7 + 3) / 15


async def test_a_rubric_of_checks_alone_takes_no_call() -> None:
    rubric = Rubric(criteria=RUBRIC.criteria[3:])
    parts = [{"name": "D", "description": "holds", "indices": [1, 2]}]
    task = Task(id="t", messages=TASK.messages, rubric=rubric, protocol=ProtocolRubric.of(rubric, parts))
    model = ScriptedModel([])
    found = await Judge(model).judge_all(task, SELLS, ["criteria", "groups"])
    assert {name: one.verdicts for name, one in found.items()} == {"criteria": (True, True), "groups": (False,)}
    assert (model.requests, found["criteria"].calls) == ([], 0)


async def test_one_call_an_item_leaves_out_what_checks_decide() -> None:
    model = ScriptedModel(lambda _: '{"reason": "x", "satisfied": true}')
    found = await Judge(model).judge_singly(TASK, GOOD, "criteria")
    assert (found.verdicts, found.calls) == ((True, True, True, True, False), 2)


async def test_a_model_of_probabilities_is_asked_about_the_others() -> None:
    found = await Judge(LexicalModel()).judge(TASK, GOOD, "criteria")
    assert found.verdicts == (False, True, False, True, False)
    assert found.probabilities is not None
    assert [one is None for one in found.probabilities] == [False, True, False, True, True]


FAILS: Verdict = Unknown("the check tests.judge.test_checks:raise_it raised ValueError: no")


def raise_it(_: str) -> bool:
    raise ValueError("no")


@pytest.mark.parametrize(
    ("reply", "reading", "expected"),
    [
        ("true", "dimensions", FAILS),
        ("false", "dimensions", False),
        ("true", "groups", FAILS),
        ("true", "criteria", FAILS),
    ],
)
async def test_a_check_that_fails_leaves_open_only_what_it_could_change(
    reply: str, reading: str, expected: Verdict
) -> None:
    check = {"python": "tests.judge.test_checks:raise_it"}
    rubric = Rubric(criteria=(Criterion(text="a", weight=1.0, check=check),))
    parts = [{"name": "D", "description": "holds", "indices": [1]}]
    task = Task(id="t", messages=TASK.messages, rubric=rubric, protocol=ProtocolRubric.of(rubric, parts))
    judge = Judge(ScriptedModel([f'{{"satisfied": {{"1": {reply}}}}}']), JudgeConfig(python_checks=True))
    assert (await judge.judge(task, GOOD, reading)).verdicts == (expected,)


def write_inputs(folder: Path, task: Task = TASK) -> tuple[str, Path]:
    save_tasks(folder / "tasks.jsonl", [task])
    rows = [{"task_id": "t", "response": answer} for answer in (GOOD, LONG, SELLS)]
    (folder / "responses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder / "tasks.jsonl"), folder / "responses.jsonl"


@pytest.mark.parametrize("scheme", ["additive", "raw-and", "prorubric", "additive,raw-and,prorubric,k1,graded"])
def test_the_calls_of_a_dry_run_are_those_of_the_run(tmp_path: Path, scheme: str) -> None:
    tasks, responses = write_inputs(tmp_path)
    config = JudgeRunConfig(tasks, responses, judge="tests.judge.test_checks:YES", out=tmp_path / "run", scheme=scheme)
    estimate = estimate_judging(config)
    result = judge_responses(config)
    assert (result.calls, result.unknown_verdicts) == (estimate.calls, 0)
    row = json.loads((tmp_path / "run" / "verdicts.jsonl").read_text().splitlines()[1])
    if scheme == "additive":
        assert row["verdicts"] == {"criteria": [True, False, True, True, False]}
        assert row["reasons"]["criteria"]["2"] == "check: max_words 5 does not hold"


def test_a_file_that_names_functions_needs_leave_before_anything_is_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = {"python": "os:system"}
    rubric = Rubric(criteria=(*RUBRIC.criteria[:4], Criterion(text="a", weight=-4.0, check=check)))
    task = Task(**{**dict(TASK), "rubric": rubric})
    tasks, responses = write_inputs(tmp_path, task)
    arguments = ["judge", tasks, str(responses), "--judge", "lexical", "--out", str(tmp_path / "run")]
    assert run(arguments) == 2
    line = "task 't': criterion 5: its check calls Python code (os:system); pass --python-checks if you trust the file"
    assert capsys.readouterr().err == f"prorubric: {line}\n"
    assert not (tmp_path / "run").exists()


YES = ScriptedModel(say_yes)
