"""The texts for other schemes: set into the task where the generator delivers them, and nowhere made up."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import Criterion, Message, ProtocolRubric, Rubric, ScriptedModel, Task, score
from prorubric.compile.compiler import Compiled, Compiler, GeneratorConfig
from prorubric.compile.draft import Fault
from prorubric.compile.prompt import Question, find_domain, load_generator_prompt, render_generator_prompt
from prorubric.compile.texts import QUESTIONS, TextName, add_texts, make_text_schema, parse_text
from prorubric.compile.work import CompilePlan, CompileWorker
from prorubric.judge.readings import list_items
from prorubric.judge.texts import list_rewritten, read_one
from prorubric.llm.model import Failure, Outcome, Reply, Request
from prorubric.rubric.labels import LABELS, NEEDS
from tests.llm.asking import run

RUBRIC = Rubric(
    criteria=(
        Criterion(text="Sends her in tonight", weight=5, tags=("level:example", "label:normal")),
        Criterion(text="Waits until the morning", weight=-2),
        Criterion(text="Uses headings", weight=1, tags=("form",)),
    )
)
TASK = Task(
    id="fever",
    messages=(Message(role="user", content="Can it wait?"),),
    rubric=RUBRIC,
    protocol=ProtocolRubric.of(
        RUBRIC,
        [
            {"name": "Act", "description": "She goes. Fails if not.", "indices": [1, 2]},
            {"name": "Form", "description": "It reads well. Fails if not.", "indices": [3]},
        ],
    ),
    domain="medicine",
    meta={"id": 7},
)
ONE = {"name": "All of it", "description": "The baby goes in and the parent knows why. Fails if she waits."}
RESTATED = ["She is sent. Fails if not.", "It lets her wait. Fails if not.", "Headings help. Fails if not."]
REWRITTEN = {"criteria": {"1": RESTATED[0], "2": RESTATED[1], "3": RESTATED[2]}}
LABELLED = {"labels": {"1": "critical", "2": "needless", "3": "formatting"}}
NEEDED = {"labels": {"1": "required", "2": "optional", "3": "optional"}}
GOOD: dict[TextName, Any] = {"k1": ONE, "rewritten": REWRITTEN, "labels": LABELLED, "required": NEEDED}


def test_many_items_left_out_are_counted() -> None:
    found = parse_text(Reply('{"criteria": {"1": "a"}}'), "rewritten", 12)
    said = "Item 2, 3, 4, 5, 6, 7, 8, 9 and 3 more is left out; every item needs its own."
    assert found == Fault("left out", said)


def add(*replies: object, names: tuple[TextName, ...], **config: Any) -> tuple[Compiled, list[Request]]:
    """What these replies add to the task; what is neither text nor an outcome is sent as JSON."""
    waiting: list[str | Outcome] = [
        reply if isinstance(reply, str | Failure) else json.dumps(reply) for reply in replies
    ]
    model = ScriptedModel(lambda _: waiting.pop(0))
    made = run(add_texts(Compiler(model, GeneratorConfig(**config)), Compiled(TASK, "kept"), names))
    return replace(made, task=without_lineage(made.task)), model.requests


def without_lineage(task: Task) -> Task:
    return task.model_copy(update={"meta": {key: value for key, value in task.meta.items() if key != "compile"}})


class TestGood:
    def test_one_standard_for_everything(self) -> None:
        made, _ = add(ONE, names=("k1",))
        assert made == Compiled(TASK.model_copy(update={"meta": {"id": 7, "k1": ONE}}), "kept")
        assert read_one(made.task) == (ONE["name"], ONE["description"])
        assert [item.text for item in list_items(made.task, "one-dimension")] == [
            "All of it: The baby goes in and the parent knows why. Fails if she waits."
        ]

    def test_criteria_restated_one_by_one(self) -> None:
        made, _ = add(REWRITTEN, names=("rewritten",))
        assert made == Compiled(TASK.model_copy(update={"meta": {"id": 7, "rewritten": RESTATED}}), "kept")
        assert list_rewritten(made.task) == tuple(RESTATED)

    def test_labels_replace_the_label_and_leave_everything_else(self) -> None:
        made, _ = add(LABELLED, names=("labels",))
        assert [criterion.tags for criterion in made.task.rubric.criteria] == [
            ("level:example", "label:critical"),
            ("label:needless",),
            ("form", "label:formatting"),
        ]
        stripped = tuple(criterion.model_copy(update={"tags": ()}) for criterion in made.task.rubric.criteria)
        assert stripped == tuple(criterion.model_copy(update={"tags": ()}) for criterion in RUBRIC.criteria)
        assert made.task.model_copy(update={"rubric": RUBRIC}) == TASK
        assert Task.model_validate_json(made.task.model_dump_json()) == made.task

    def test_what_is_required_stands_next_to_the_other_label_and_opens_the_schemes_that_read_it(self) -> None:
        made, _ = add(NEEDED, names=("required",))
        assert [criterion.tags for criterion in made.task.rubric.criteria] == [
            ("level:example", "label:normal", "label:required"),
            ("label:optional",),
            ("form", "label:optional"),
        ]
        other = {"labels": {"1": "optional", "2": "optional", "3": "Required"}}
        again, _ = add(other, names=("required",))
        assert [criterion.tags[-1] for criterion in again.task.rubric.criteria] == [
            "label:optional",
            "label:optional",
            "label:required",
        ]
        met_the_first = [True, False, False]
        # Without labels the heaviest criterion, the first, is required.
        assert score(met_the_first, TASK, "required-first").value == 0.5
        assert score(met_the_first, made.task, "required-first").value == 0.5
        assert score(met_the_first, again.task, "required-first").value == 0.0
        assert score(met_the_first, again.task, "veto").value == 0.0
        assert score(met_the_first, again.task, "licensed").value == pytest.approx(0.2 * 5 / 6)

    def test_labels_from_an_earlier_call_are_replaced_by_their_own_kind(self) -> None:
        made, _ = add(NEEDED, LABELLED, names=("required", "labels"))
        assert made.task.rubric.criteria[2].tags == ("form", "label:optional", "label:formatting")
        model = ScriptedModel([json.dumps({"labels": {**NEEDED["labels"], "3": "required"}})])
        again = run(add_texts(Compiler(model), made, ("required",)))
        assert again.task.rubric.criteria[2].tags == ("form", "label:formatting", "label:required")

    def test_all_of_them_in_one_go_each_from_one_call(self) -> None:
        made, requests = add(ONE, REWRITTEN, LABELLED, NEEDED, names=tuple(QUESTIONS))
        assert made.task.meta == {"id": 7, "k1": ONE, "rewritten": RESTATED}
        assert made.task.rubric.criteria[0].tags == ("level:example", "label:critical", "label:required")
        assert (made.failed_texts, len(requests)) == ({}, 4)

    @pytest.mark.parametrize("name", tuple(QUESTIONS))
    def test_each_has_its_own_question_in_the_domain_of_the_task(self, name: TextName) -> None:
        _, requests = add(GOOD[name], names=(name,))
        assert requests == [
            Request(
                render_generator_prompt(load_generator_prompt(QUESTIONS[name], "medicine"), TASK),
                max_tokens=3000,
                temperature=0.0,
                schema=make_text_schema(name, 3),
            )
        ]

    def test_space_around_texts_is_taken_off(self) -> None:
        made, _ = add({key: f" {text}\n" for key, text in ONE.items()}, names=("k1",))
        assert made.task.meta["k1"] == ONE
        spaced = {"labels": {key: f" {label} " for key, label in LABELLED["labels"].items()}}
        assert add(spaced, names=("labels",))[0].task == add(LABELLED, names=("labels",))[0].task

    def test_the_order_of_the_keys_does_not_matter(self) -> None:
        turned = {"criteria": dict(reversed(REWRITTEN["criteria"].items()))}
        assert add(turned, names=("rewritten",))[0].task.meta["rewritten"] == RESTATED


BROKEN: list[tuple[TextName, object, Fault]] = [
    ("k1", "", Fault("empty reply", "The reply is empty.")),
    ("k1", "no", Fault("no object", "There is no complete JSON object in the reply.")),
    ("k1", {"description": ONE["description"]}, Fault("no name", "There is no name.")),
    ("k1", {**ONE, "name": " "}, Fault("no name", "There is no name.")),
    ("k1", {**ONE, "name": 5}, Fault("no name", "There is no name.")),
    ("k1", {"name": "All"}, Fault("no description", "There is no description.")),
    ("k1", {**ONE, "description": ["a"]}, Fault("no description", "There is no description.")),
    (
        "k1",
        {**ONE, "description": "The baby goes in."},
        Fault("clause", 'The description does not say what makes an answer fail; end with "Fails if …".'),
    ),
    ("k1", {"criteria": [ONE]}, Fault("no name", "There is no name.")),
    (
        "k1",
        '{"name": "a", "description": "\\udc00 Fails if not."}',
        Fault("broken text", "A text holds half of a character; write the character, not an escape."),
    ),
    ("rewritten", ONE, Fault("no object", 'There is no object under "criteria".')),
    ("rewritten", {"criteria": RESTATED}, Fault("no object", 'There is no object under "criteria".')),
    (
        "rewritten",
        {"criteria": {"1": "a"}},
        Fault("left out", "Item 2, 3 is left out; every item needs its own."),
    ),
    (
        "rewritten",
        {"criteria": {"0": "a", "1": "b", "2": "c"}},
        Fault("left out", "Item 3 is left out; every item needs its own."),
    ),
    (
        "rewritten",
        {"criteria": {**REWRITTEN["criteria"], "4": "d"}},
        Fault("out of range", "There is no item 4; they are numbered from 1 to 3."),
    ),
    (
        "rewritten",
        {"criteria": {**REWRITTEN["criteria"], "2": ""}},
        Fault("not allowed", "Item 2 has ''; give a text."),
    ),
    (
        "rewritten",
        {"criteria": {**REWRITTEN["criteria"], "3": None}},
        Fault("not allowed", "Item 3 has None; give a text."),
    ),
    (
        "rewritten",
        '{"criteria": {"1": "a", "1": "b", "2": "c", "3": "d"}}',
        Fault("key twice", "The key '1' has two values; give it one."),
    ),
    ("labels", {"labels": ["critical"] * 3}, Fault("no object", 'There is no object under "labels".')),
    ("labels", REWRITTEN, Fault("no object", 'There is no object under "labels".')),
    (
        "labels",
        {"labels": {"1": "critical", "3": "normal"}},
        Fault("left out", "Item 2 is left out; every item needs its own."),
    ),
    (
        "labels",
        {"labels": {**LABELLED["labels"], "2": "important"}},
        Fault(
            "not allowed",
            "Item 2 has 'important'; give one of critical, normal, formatting, duplicate, needless.",
        ),
    ),
    (
        "labels",
        {"labels": {**LABELLED["labels"], "2": True}},
        Fault("not allowed", "Item 2 has True; give one of critical, normal, formatting, duplicate, needless."),
    ),
    (
        "labels",
        '{"labels": {"1": "critical", "2": "normal", "2": "needless", "3": "normal"}}',
        Fault("key twice", "The key '2' has two values; give it one."),
    ),
    (
        "required",
        {"labels": {"1": "required", "2": "optional"}},
        Fault("left out", "Item 3 is left out; every item needs its own."),
    ),
    (
        "required",
        {"labels": {**NEEDED["labels"], "2": "critical"}},
        Fault("not allowed", "Item 2 has 'critical'; give one of required, optional."),
    ),
    (
        "required",
        {"labels": {"1": "optional", "2": "optional", "3": "optional"}},
        Fault("nothing required", "No item is required; an answer that meets none of them is not an answer."),
    ),
]


class TestBroken:
    @pytest.mark.parametrize(("name", "reply", "fault"), BROKEN)
    def test_a_reply_that_cannot_be_used_adds_nothing_and_is_told(
        self, name: TextName, reply: object, fault: Fault
    ) -> None:
        made, requests = add(reply, reply, reply, names=(name,))
        assert made == Compiled(TASK, "kept", failed_texts={name: fault}, faults=(fault,) * 3)
        assert [request.draw for request in requests] == [0, 1, 2]
        assert f"- {fault.detail}\n" in requests[1].messages[-1].content

    @pytest.mark.parametrize(("name", "reply", "fault"), BROKEN)
    def test_a_good_reply_to_the_next_question_is_used(self, name: TextName, reply: object, fault: Fault) -> None:
        made, requests = add(reply, GOOD[name], names=(name,))
        assert made.task == add(GOOD[name], names=(name,))[0].task
        assert (made.failed_texts, made.faults, len(requests)) == ({}, (fault,), 2)

    @pytest.mark.parametrize("name", tuple(QUESTIONS))
    def test_a_call_without_a_reply_is_the_reason(self, name: TextName) -> None:
        failure = Failure("timeout", "too slow")
        made, requests = add(failure, names=(name,))
        assert made == Compiled(TASK, "kept", failed_texts={name: Fault("timeout", "too slow")}, failure=failure)
        assert len(requests) == 1

    def test_one_that_fails_does_not_keep_the_others_back(self) -> None:
        made, _ = add(ONE, "no", LABELLED, NEEDED, names=tuple(QUESTIONS), reasks=0)
        assert made.failed_texts == {
            "rewritten": Fault("no object", "There is no complete JSON object in the reply."),
        }
        assert made.task.meta == {"id": 7, "k1": ONE}
        assert made.task.rubric.criteria[1].tags == ("label:needless", "label:optional")

    def test_an_older_text_stays_where_a_new_one_could_not_be_had(self) -> None:
        task = TASK.model_copy(update={"meta": {"k1": ONE}})
        model = ScriptedModel(["no"])
        made = run(add_texts(Compiler(model, GeneratorConfig(reasks=0)), Compiled(task, "kept"), ("k1",)))
        assert without_lineage(made.task) == task


values = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from([*LABELS, *NEEDS, "Fails if not."])
)


@given(
    name=st.sampled_from(tuple(QUESTIONS)),
    reply=st.text(max_size=40)
    | st.dictionaries(st.sampled_from(["name", "description", "criteria", "labels"]), values).map(json.dumps)
    | st.dictionaries(st.sampled_from(["0", "1", "2", "3", "4", "x"]), values).map(
        lambda rows: json.dumps({"criteria": rows, "labels": rows})
    ),
)
def test_nothing_is_ever_in_the_task_that_the_reply_did_not_say(name: TextName, reply: str) -> None:
    made, _ = add(reply, names=(name,), reasks=0)
    if made.failed_texts:
        assert made.task == TASK
        return
    said = json.loads(reply)
    if name == "k1":
        assert made.task.meta["k1"] == {key: said[key].strip() for key in ("name", "description")}
    elif name == "rewritten":
        assert made.task.meta["rewritten"] == [said["criteria"][key].strip() for key in "123"]
    else:
        labels = [criterion.tags[-1] for criterion in made.task.rubric.criteria]
        assert labels == [f"label:{said['labels'][key].strip()}" for key in "123"]


@pytest.mark.parametrize("name", tuple(QUESTIONS))
def test_the_schema_asks_for_exactly_what_is_read(name: TextName) -> None:
    schema = make_text_schema(name, 3)
    assert schema["required"] == list(GOOD[name])
    assert schema["additionalProperties"] is False
    if name != "k1":
        inner = schema["properties"][next(iter(GOOD[name]))]
        assert inner["required"] == ["1", "2", "3"]
        allowed: dict[TextName, list[str]] = {"labels": [*LABELS], "required": [*NEEDS]}
        assert inner["properties"]["2"].get("enum") == allowed.get(name)


def sha256(question: Question) -> str:
    return load_generator_prompt(question, find_domain(TASK.domain)).sha256


def test_a_task_says_who_wrote_its_texts_with_which_prompt_and_how_often_it_was_asked() -> None:
    labels = '{"labels": {"1": "Critical", "2": "normal", "3": "needless"}}'
    done = run(CompileWorker(Compiler(ScriptedModel(["no", labels])), CompilePlan("none", ("labels",))).run(TASK))
    reason = "There is no complete JSON object in the reply."
    about = {"generator": "scripted", "prompt_sha256": sha256("label"), "attempts": 2, "faults": [[reason]]}
    assert done.task.meta["compile"] == {"texts": {"labels": about}}
    assert [criterion.tags[-1] for criterion in done.task.rubric.criteria] == [
        "label:critical",
        "label:normal",
        "label:needless",
    ]


def test_a_task_says_which_texts_it_lacks_and_why() -> None:
    compiler = Compiler(ScriptedModel(["no"]), GeneratorConfig(reasks=0))
    done = run(CompileWorker(compiler, CompilePlan("none", ("k1",))).run(TASK))
    reason = "There is no complete JSON object in the reply."
    assert (done.state, done.failed_texts) == ("kept", {"k1": Fault("no object", reason)})
    about = {"generator": "scripted", "prompt_sha256": sha256("one"), "attempts": 1, "faults": [[reason]]}
    assert done.task.meta == {"id": 7, "compile": {"texts": {"k1": about}, "failed_texts": {"k1": reason}}}


def test_a_task_without_the_text_that_is_to_be_baked_is_excluded() -> None:
    plan = CompilePlan("none", transforms=("rewritten",))
    done = run(CompileWorker(Compiler(ScriptedModel(["no"]), GeneratorConfig(reasks=0)), plan).run(TASK))
    reason = "There is no complete JSON object in the reply."
    assert (done.state, done.reason) == ("excluded", "no text for rewritten")
    about = {"generator": "scripted", "prompt_sha256": sha256("restate"), "attempts": 1, "faults": [[reason]]}
    assert done.task.meta["compile"] == {
        "texts": {"rewritten": about},
        "failed_texts": {"rewritten": reason},
        "state": "excluded",
        "reason": "no text for rewritten",
    }
    assert done.task.rubric == TASK.rubric
