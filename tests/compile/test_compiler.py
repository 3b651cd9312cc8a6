"""One checklist at a time: every reply leads to the right state, with a lineage that says how."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prorubric import Criterion, Message, Rubric, ScriptedModel, Task
from prorubric.compile.compiler import GROUP_SCHEMA, Compiled, Compiler, GeneratorConfig
from prorubric.compile.draft import Fault
from prorubric.compile.prompt import load_generator_prompt, render_generator_prompt
from prorubric.compile.work import CompilePlan, CompileWorker
from prorubric.errors import ConfigError, ModelError
from prorubric.llm.model import Failure, Outcome, Reply, Request
from tests.llm.asking import run
from tests.strategies import tasks
from tests.thorough import few_or

ITEMS = {
    "Sends the six-week-old with a fever in tonight": 5,
    "Explains why fever at six weeks counts as an infection": 3,
    "Suggests waiting until the morning": -2,
    "Says for which signs an ambulance is called": 4,
}
TASK = Task(
    id="fever",
    messages=(Message(role="user", content="My baby is six weeks old and has 38.6. Can it wait?"),),
    rubric=Rubric(criteria=tuple(Criterion(text=text, weight=weight) for text, weight in ITEMS.items())),
    domain="medicine",
    source="somewhere",
    reference="Go in.",
    meta={"id": 7},
)
TEXT = "The parent knows that fever at six weeks cannot wait. Fails if the baby is kept at home until morning."
SHA = load_generator_prompt("group", "medicine").sha256


def make_row(indices: Sequence[Any], name: str = "Act tonight", description: str = TEXT, **fields: Any) -> Any:
    return {"name": name, "description": description, "weight": 1, "atomic_indices": [*indices], **fields}


def render(*rows: Any) -> str:
    return json.dumps({"criteria": [*rows]})


GOOD = render(make_row([3, 1], weight=12), make_row([2, 4], "Say why", weight="much"))
MISSING = render(make_row([1, 2]), make_row([4]))
TWICE = render(make_row([1, 2]), make_row([2, 3, 4]))
SIX = render(*(make_row([index]) for index in range(1, 7)))
SIX_ITEMS = TASK.model_copy(update={"rubric": Rubric(criteria=(*TASK.rubric.criteria, *TASK.rubric.criteria[:2]))})
NO_CLAUSE = render(make_row([1, 2], description="Fever at six weeks is taken up. It is urgent."), make_row([3, 4]))
LONG_NAME = render(make_row([1, 2], "a name that goes on and on"), make_row([3, 4], "b name that goes on and on"))

LEFT_OUT = "Item 3 is in no criterion; each belongs to one."
USED_TWICE = "Item 2 is used more than once; each belongs to one criterion."
CLAUSE_MISSING = (
    'Criterion 1: the description does not say what makes an answer fail; end with a sentence "Fails if …".'
)


def compile_with(*replies: str | Outcome, task: Task = TASK, **config: Any) -> tuple[Compiled, list[Request]]:
    """What becomes of a task whose generator gives these replies, and what the generator was asked."""
    waiting = list(replies)
    model = ScriptedModel(lambda _: waiting.pop(0), name="gen")
    made = run(Compiler(model, GeneratorConfig(**config)).compile(task))
    return made, model.requests


def lineage(made: Compiled) -> dict[str, Any]:
    found = made.task.meta["compile"]
    assert isinstance(found, dict)
    return found


def groups(made: Compiled) -> list[tuple[int, ...]]:
    assert made.task.protocol is not None
    return [dimension.indices for dimension in made.task.protocol.dimensions]


ABOUT = {"generator": "gen", "prompt": "medicine", "prompt_sha256": SHA}


class TestKept:
    def test_a_good_reply_becomes_dimensions(self) -> None:
        made, requests = compile_with(GOOD)
        assert (made.state, made.reason, made.attempts, made.faults, made.repairs, made.text_faults) == (
            ("kept", None, 1, (), (), ())
        )
        protocol = made.task.protocol
        assert protocol is not None
        assert [(d.name, d.description, d.indices) for d in protocol.dimensions] == [
            ("Act tonight", TEXT, (1, 3)),
            ("Say why", TEXT, (2, 4)),
        ]
        assert len(requests) == 1

    def test_weights_are_derived_and_those_of_the_generator_are_kept_as_information(self) -> None:
        made, _ = compile_with(GOOD)
        assert made.task.protocol is not None
        assert [dimension.weight for dimension in made.task.protocol.dimensions] == [7.0, 7.0]
        assert lineage(made) == {"state": "kept", **ABOUT, "attempts": 1, "generator_weights": [12.0, None]}

    def test_nothing_else_of_the_task_changes(self) -> None:
        made, _ = compile_with(GOOD)
        assert made.task.meta == {"id": 7, "compile": lineage(made)}
        untouched = made.task.model_copy(update={"protocol": None, "meta": TASK.meta})
        assert untouched == TASK
        assert TASK.meta == {"id": 7}

    def test_leniency_is_noted(self) -> None:
        made, _ = compile_with(render(make_row(["1", "2"]), make_row([3.0, 4])))
        assert (made.state, groups(made)) == ("kept", [(1, 2), (3, 4)])
        assert lineage(made)["notes"] == ["indices were written as text"]

    def test_a_task_that_was_compiled_before_gets_new_dimensions_and_a_new_lineage(self) -> None:
        first, _ = compile_with(MISSING, MISSING, MISSING)
        again, _ = compile_with(GOOD, task=first.task)
        fresh, _ = compile_with(GOOD)
        assert lineage(first)["state"] == "repaired"
        assert again.task == fresh.task

    def test_a_task_that_was_compiled_before_and_is_excluded_now_has_no_dimensions(self) -> None:
        first, _ = compile_with(GOOD)
        again, _ = compile_with(Failure("timeout", "too slow"), task=first.task)
        assert (again.state, again.task.protocol) == ("excluded", None)

    def test_the_prompt_is_that_of_the_task_s_domain_unless_one_is_named(self) -> None:
        for domain, config, name in (
            ("medical", {}, "medicine"),
            (None, {}, "general"),
            ("x", {"domain": "science"}, "science"),
        ):
            task = TASK.model_copy(update={"domain": domain})
            made, requests = compile_with(GOOD, task=task, **config)
            prompt = load_generator_prompt("group", name)  # type: ignore[arg-type]
            assert requests[0].messages == render_generator_prompt(prompt, task)
            assert (lineage(made)["prompt"], lineage(made)["prompt_sha256"]) == (name, prompt.sha256)


class TestAsking:
    def test_the_first_question_is_greedy_and_has_three_thousand_tokens(self) -> None:
        _, requests = compile_with(GOOD)
        assert requests == [
            Request(
                render_generator_prompt(load_generator_prompt("group", "medicine"), TASK),
                max_tokens=3000,
                temperature=0.0,
                top_p=1.0,
                schema=GROUP_SCHEMA,
                draw=0,
            )
        ]

    def test_the_faults_are_told_and_the_last_reply_is_shown(self) -> None:
        made, requests = compile_with(MISSING, TWICE, GOOD)
        first = requests[0].messages
        assert [request.draw for request in requests] == [0, 1, 2]
        assert {(request.temperature, request.max_tokens) for request in requests} == {(0.0, 3000)}
        for request, reply, fault in ((requests[1], MISSING, LEFT_OUT), (requests[2], TWICE, USED_TWICE)):
            assert request.messages[: len(first)] == first
            assert [message.role for message in request.messages[len(first) :]] == ["assistant", "user"]
            assert request.messages[-2].content == reply
            assert request.messages[-1].content == (
                f"This cannot be used as it is:\n- {fault}\n\n"
                "Write the whole JSON object again with this put right, and nothing else."
            )
        assert (made.state, made.attempts) == ("kept", 3)
        assert made.faults == (Fault("left out", LEFT_OUT), Fault("twice", USED_TWICE))
        assert lineage(made)["faults"] == [[LEFT_OUT], [USED_TWICE]]
        assert lineage(made)["attempts"] == 3

    def test_faults_of_structure_and_of_text_are_told_together(self) -> None:
        reply = render(make_row([1, 2], "a name that goes on and on"), make_row([4]))
        _, requests = compile_with(reply, GOOD)
        assert (
            requests[1]
            .messages[-1]
            .content.startswith(
                f"This cannot be used as it is:\n- {LEFT_OUT}\n- Criterion 1: the name has 7 words; use at most 6.\n\n"
            )
        )

    @pytest.mark.parametrize("reasks", [0, 1, 2])
    def test_there_are_never_more_calls_than_allowed(self, reasks: int) -> None:
        made, requests = compile_with(*["nothing"] * 9, reasks=reasks)
        assert (len(requests), made.attempts) == (reasks + 1, reasks + 1)
        assert [request.draw for request in requests] == list(range(reasks + 1))
        assert (made.state, made.reason) == ("excluded", "no usable reply: no object")

    def test_another_limit_of_tokens_is_used(self) -> None:
        _, requests = compile_with("nothing", GOOD, max_tokens=77)
        assert [request.max_tokens for request in requests] == [77, 77]

    @pytest.mark.parametrize("option", [{"reasks": 3}, {"reasks": -1}, {"max_tokens": 0}, {"text_checks": ("x",)}])
    def test_options_that_make_no_sense_are_refused(self, option: dict[str, Any]) -> None:
        with pytest.raises(ConfigError, match="GeneratorConfig: "):
            GeneratorConfig(**option)

    def test_a_reply_that_is_cut_off_is_asked_for_again_in_shorter_words(self) -> None:
        made, requests = compile_with(Reply(GOOD[:-9], finish="length"), GOOD)
        assert "write shorter descriptions" in requests[1].messages[-1].content
        assert (made.state, made.attempts) == ("kept", 2)

    def test_a_model_that_cannot_be_used_at_all_ends_the_run(self) -> None:
        def refuse(_: Request) -> str:
            raise ModelError("wrong key")

        with pytest.raises(ModelError, match="wrong key"):
            run(Compiler(ScriptedModel(refuse)).compile(TASK))


class TestRepaired:
    def test_when_the_retries_are_used_up_the_structure_is_repaired(self) -> None:
        made, requests = compile_with(TWICE, TWICE, MISSING)
        assert len(requests) == 3
        assert (made.state, made.reason, made.attempts) == ("repaired", None, 3)
        assert groups(made) == [(1, 2, 3), (4,)]
        assert made.task.protocol is not None
        assert [dimension.weight for dimension in made.task.protocol.dimensions] == [10.0, 4.0]
        assert [dimension.description for dimension in made.task.protocol.dimensions] == [TEXT, TEXT]
        assert made.repairs == ("criterion 1: given index 3, which was left out",)
        assert lineage(made) == {
            "state": "repaired",
            **ABOUT,
            "attempts": 3,
            "faults": [[USED_TWICE], [USED_TWICE], [LEFT_OUT]],
            "repairs": ["criterion 1: given index 3, which was left out"],
            "generator_weights": [1.0, 1.0],
        }
        assert made.task.rubric == TASK.rubric

    def test_a_whole_count_from_0_is_repaired(self) -> None:
        made, _ = compile_with(*[render(make_row([0, 3]), make_row([1, 2]))] * 3)
        assert (made.state, groups(made)) == ("repaired", [(1, 4), (2, 3)])
        assert made.repairs == ("indices counted from 0 were read as counted from 1",)

    def test_repaired_tasks_can_be_excluded(self) -> None:
        made, _ = compile_with(*[MISSING] * 3, repaired="exclude")
        assert (made.state, made.task.protocol) == ("excluded", None)
        assert made.reason == "needs a repair, and repaired tasks are excluded"
        kept, _ = compile_with(MISSING, GOOD, repaired="exclude")
        assert kept.state == "kept"

    def test_what_cannot_be_repaired_is_excluded_for_its_own_reason_then_too(self) -> None:
        made, _ = compile_with(*[SIX] * 3, task=SIX_ITEMS, repaired="exclude")
        assert made.reason == "more than five dimensions"


class TestChoice:
    def choose(self, *replies: str, **config: Any) -> Compiled:
        made, requests = compile_with(*replies, **config)
        assert len(requests) == len(replies)
        return made

    def test_the_fewest_faults_of_structure_count_first(self) -> None:
        two = render(make_row([1, 2]), make_row([2, 4]))
        assert groups(self.choose(two, MISSING, two)) == [(1, 2, 3), (4,)]
        assert self.choose(MISSING, LONG_NAME, TWICE).state == "kept"

    def test_then_the_fewest_faults_of_text(self) -> None:
        made = self.choose(LONG_NAME, NO_CLAUSE, LONG_NAME)
        assert [fault.detail for fault in made.text_faults] == [CLAUSE_MISSING]
        assert (made.state, lineage(made)["text_faults"]) == ("kept", [CLAUSE_MISSING])

    def test_of_equals_the_last_is_taken(self) -> None:
        first, last = (render(make_row([1, 2], name), make_row([4])) for name in ("First", "Last"))
        made = self.choose(first, first, last)
        assert made.task.protocol is not None
        assert made.task.protocol.dimensions[0].name == "Last"

    @pytest.mark.parametrize(
        "hopeless",
        [
            render(*(make_row([index]) for index in (1, 2, 3, 4)), make_row([]), make_row([])),
            render(make_row([1, 2, 3, 4])),
            render(make_row([1, 2], description=""), make_row([3, 4])),
            render(make_row([0, 1]), make_row([2])),
        ],
    )
    def test_a_draft_that_can_be_repaired_goes_before_one_with_fewer_faults_that_cannot(self, hopeless: str) -> None:
        three_faults = render(make_row([1, 9]), make_row([1, 2, 4]))
        made = self.choose(three_faults, hopeless, hopeless)
        assert (made.state, groups(made)) == ("repaired", [(1,), (2, 3, 4)])

    def test_a_reply_that_cannot_be_read_is_never_chosen(self) -> None:
        made = self.choose(MISSING, "nothing", "")
        assert (made.state, made.attempts) == ("repaired", 3)
        assert [fault.kind for fault in made.faults] == ["left out", "no object", "empty reply"]


class TestText:
    def test_faults_of_the_text_are_a_reason_to_ask_again(self) -> None:
        made, requests = compile_with(NO_CLAUSE, GOOD)
        assert (made.state, made.attempts, made.text_faults) == ("kept", 2, ())
        assert CLAUSE_MISSING in requests[1].messages[-1].content

    def test_a_draft_that_keeps_them_is_kept_with_them_on_record(self) -> None:
        made, _ = compile_with(*[NO_CLAUSE] * 3)
        assert (made.state, made.attempts) == ("kept", 3)
        assert made.text_faults == (Fault("clause", CLAUSE_MISSING),)
        assert lineage(made) == {
            "state": "kept",
            **ABOUT,
            "attempts": 3,
            "faults": [[CLAUSE_MISSING]] * 3,
            "text_faults": [CLAUSE_MISSING],
            "generator_weights": [1.0, 1.0],
        }

    def test_they_may_be_reported_only(self) -> None:
        made, requests = compile_with(NO_CLAUSE, retry_on_text=False)
        assert (made.state, len(requests)) == ("kept", 1)
        assert made.text_faults == (Fault("clause", CLAUSE_MISSING),)
        assert lineage(made)["text_faults"] == [CLAUSE_MISSING]

    def test_then_only_the_structure_is_told(self) -> None:
        reply = render(make_row([1, 2], "a name that goes on and on"), make_row([4]))
        _, requests = compile_with(reply, GOOD, retry_on_text=False)
        assert requests[1].messages[-1].content.startswith(f"This cannot be used as it is:\n- {LEFT_OUT}\n\n")

    def test_checks_that_are_not_wanted_are_not_made(self) -> None:
        made, _ = compile_with(NO_CLAUSE, text_checks=("name", "quotes"))
        assert (made.state, made.attempts, made.text_faults) == ("kept", 1, ())
        assert compile_with(NO_CLAUSE, text_checks=())[0].attempts == 1


class TestExcluded:
    @pytest.mark.parametrize(
        ("reply", "reason"),
        [
            (render(make_row([1, 2, 3, 4])), "fewer than two dimensions"),
            (render(), "fewer than two dimensions"),
            (render(make_row([1, 2, 3, 4]), make_row([])), "a dimension without criteria"),
            (render(make_row([1, 2, 3, 4]), make_row([1])), "a dimension without criteria"),
            (render(make_row([11, 12]), make_row([13])), "a dimension without criteria"),
            (render(make_row([1, 2], ""), make_row([3, 4])), "a dimension without a name"),
            (render(make_row([1, 2], description=" "), make_row([3, 4])), "a dimension without a description"),
            (render(make_row([0, 1]), make_row([2])), "indices seem to count from 0 and are not complete"),
            (render(make_row([0, 1]), make_row([2, 3, 3])), "indices seem to count from 0 and are not complete"),
            ("", "no usable reply: empty reply"),
            ("I cannot do that.", "no usable reply: no object"),
            (f"{GOOD}\n{TWICE}", "no usable reply: two objects"),
            ('{"rubric": 1}', "no usable reply: no list"),
            ('{"criteria": [], "criteria": 1}', "no usable reply: key twice"),
            (GOOD.replace("Act", "\\ud800"), "no usable reply: broken text"),
            ('{{"criteria": [{"name": "a"}]}}', "no usable reply: no object"),
        ],
    )
    def test_what_cannot_be_used_is_excluded_with_its_reason(self, reply: str, reason: str) -> None:
        made, requests = compile_with(*[reply] * 3)
        assert (made.state, made.reason, made.attempts, len(requests)) == ("excluded", reason, 3, 3)
        assert made.task == TASK.model_copy(update={"meta": {"id": 7, "compile": lineage(made)}})
        found = lineage(made)
        faults = found.pop("faults")
        assert len(faults) == 3
        assert found == {"state": "excluded", **ABOUT, "attempts": 3, "reason": reason}

    def test_six_dimensions_are_too_many(self) -> None:
        assert compile_with(*[SIX] * 3, task=SIX_ITEMS)[0].reason == "more than five dimensions"

    def test_a_cut_off_reply_is_told_apart(self) -> None:
        made, _ = compile_with(*[Reply(GOOD[:-9], finish="length")] * 3)
        assert made.reason == "no usable reply: cut off"

    def test_the_reason_is_that_of_the_last_reply(self) -> None:
        assert compile_with("x", "", '{"a": 1}')[0].reason == "no usable reply: no list"

    def test_a_call_that_gave_no_reply_excludes_the_task(self) -> None:
        made, requests = compile_with(Failure("timeout", "no reply within 60 s", attempts=4))
        assert (made.state, made.reason, made.attempts, len(requests)) == (
            ("excluded", "no reply from the generator", 0, 1)
        )
        assert lineage(made) == {
            "state": "excluded",
            **ABOUT,
            "attempts": 0,
            "reason": "no reply from the generator",
            "failure": "no reply within 60 s",
        }

    def test_a_call_that_fails_after_replies_without_a_draft_excludes_it_too(self) -> None:
        made, requests = compile_with("nothing", Failure("http", "500"))
        assert (made.reason, made.attempts, len(requests)) == ("no reply from the generator", 1, 2)
        assert [fault.kind for fault in made.faults] == ["no object"]

    def test_a_draft_is_not_repaired_where_a_retry_got_no_reply_because_the_next_run_asks_again(self) -> None:
        made, requests = compile_with(MISSING, Failure("http", "500"))
        assert (made.state, made.reason, len(requests)) == ("excluded", "no reply from the generator", 2)
        assert (lineage(made)["failure"], lineage(made)["faults"]) == ("500", [[LEFT_OUT]])

    def test_a_sound_draft_is_kept_where_a_retry_for_its_text_got_no_reply(self) -> None:
        kept, _ = compile_with(NO_CLAUSE, Failure("http", "500"))
        assert (kept.state, kept.text_faults) == ("kept", (Fault("clause", CLAUSE_MISSING),))

    def test_one_criterion_is_excluded_without_a_call(self) -> None:
        single = TASK.model_copy(update={"rubric": Rubric(criteria=TASK.rubric.criteria[:1])})
        made, requests = compile_with(GOOD, task=single)
        assert (made.state, made.reason, made.attempts, requests) == ("excluded", "fewer than two criteria", 0, [])
        assert lineage(made) == {"state": "excluded", **ABOUT, "attempts": 0, "reason": "fewer than two criteria"}


class TestRules:
    def test_without_a_model_the_rules_group_and_say_so(self) -> None:
        made = run(Compiler(None).compile(TASK))
        assert (made.state, made.attempts, made.faults) == ("kept", 1, ())
        assert lineage(made) == {"state": "kept", "generator": "rules/5", "attempts": 1}
        assert sorted(index for group in groups(made) for index in group) == [1, 2, 3, 4]

    def test_they_answer_no_other_question(self) -> None:
        with pytest.raises(
            ConfigError, match=r"there is no model to write texts \(rules writes none\); name one with --gen"
        ):
            run(Compiler(None).ask("one", TASK, lambda _: (), {}))


replies = st.one_of(
    st.text(max_size=60),
    st.sampled_from([GOOD, MISSING, TWICE, SIX, NO_CLAUSE, LONG_NAME, "", f"{GOOD}\n{TWICE}", GOOD[:-4]]),
    st.builds(
        lambda groups: render(*(make_row(group) for group in groups)),
        st.lists(st.lists(st.integers(-1, 14) | st.sampled_from(["1", "x", None, 2.0, True]), max_size=8), max_size=7),
    ),
    st.builds(Reply, st.sampled_from([GOOD, GOOD[:-4]]), finish=st.sampled_from(["length", "stop", None])),
    st.builds(Failure, st.just("timeout"), st.just("too slow")),
)


@settings(max_examples=few_or(150))
@given(
    task=tasks(with_protocol=None),
    said=st.lists(replies, min_size=3, max_size=3),
    retry_on_text=st.booleans(),
    repaired=st.sampled_from(["keep", "exclude"]),
)
def test_whatever_the_generator_says_every_task_comes_out_again(
    task: Task, said: list[str | Outcome], retry_on_text: bool, repaired: str
) -> None:
    made, requests = compile_with(*said, task=task, retry_on_text=retry_on_text, repaired=repaired)
    assert len(requests) <= 3
    assert made.task.rubric == task.rubric
    assert made.task.model_copy(update={"protocol": None, "meta": {}}) == task.model_copy(
        update={"protocol": None, "meta": {}}
    )
    assert {**made.task.meta, "compile": None} == {**task.meta, "compile": None}
    assert (lineage(made)["state"], lineage(made).get("reason")) == (made.state, made.reason)
    assert (made.state == "excluded") == (made.reason is not None) == (made.task.protocol is None)
    assert (made.state == "repaired") == bool(made.repairs)
    assert not (repaired == "exclude" and made.state == "repaired")
    # The record is checked again from the start, as a file would be.
    assert Task.model_validate_json(made.task.model_dump_json()) == made.task
    if made.task.protocol is not None:
        assert 2 <= len(made.task.protocol) <= 5


def test_why_a_transform_could_not_be_made_is_counted_by_reason_and_not_by_task() -> None:
    labelled = TASK.model_copy(update={"id": "a: strange, criterion 1: id"})
    done = run(CompileWorker(Compiler(None), CompilePlan(group="none", transforms=("raw-and",))).run(labelled))
    assert (done.state, done.reason) == (
        "excluded",
        "raw-and needs dimensions and the task has none; compile them first",
    )
    assert done.task.meta["compile"] == {"state": "excluded", "reason": done.reason}
