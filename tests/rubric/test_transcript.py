"""Transcripts: records with turns, and the messages of chat APIs."""

import pickle
from typing import Any

import pytest
from hypothesis import given

from prorubric import Message, Response
from prorubric.errors import RubricError
from prorubric.rubric.records import ToolCall, Turn
from prorubric.rubric.transcript import drop_prompt, parse_transcript, render_transcript
from tests.aggregate.test_schemes import make_task
from tests.strategies import responses, transcripts

CALL = ToolCall(name="search", arguments='{"city": "Xi\'an"}', id="call_1")
TURNS = (
    Turn(role="assistant", content="Let me look.", tool_calls=(CALL,)),
    Turn(role="tool", content="3 hotels", tool_name="search", tool_call_id="call_1"),
    Turn(role="assistant", content="There are three."),
)
MESSAGES = [
    {
        "role": "assistant",
        "content": "Let me look.",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": '{"city": "Xi\'an"}'}}
        ],
    },
    {"role": "tool", "content": "3 hotels", "name": "search", "tool_call_id": "call_1"},
    {"role": "assistant", "content": "There are three."},
]


class TestResponse:
    def test_the_text_of_a_transcript_is_its_last_assistant_turn(self) -> None:
        response = Response(task_id="t", messages=(*TURNS, Turn(role="user", content="Thanks!")))
        assert (response.text, response.answer) == ("There are three.", response.messages)

    def test_a_transcript_that_ends_in_a_tool_call_says_nothing_last(self) -> None:
        ended = Turn(role="assistant", content="", tool_calls=(CALL,))
        assert Response(task_id="t", messages=(*TURNS, ended)).text == ""
        assert Response(task_id="t", messages=()).text == ""

    def test_a_response_is_a_text_or_a_transcript(self) -> None:
        assert Response(task_id="t", text="x").messages is None
        with pytest.raises(RubricError, match=r"^Response: text: neither text nor messages .*give one of them$"):
            Response(task_id="t")
        with pytest.raises(RubricError, match=r"both text and messages .*its last assistant turn$"):
            Response(task_id="t", text="x", messages=TURNS)

    def test_wrong_messages_are_named_alone(self) -> None:
        with pytest.raises(RubricError, match=r"^Response: messages: Input should be a valid tuple \(got 3\)$"):
            Response(task_id="t", messages=3)

    @given(responses)
    def test_a_response_survives_pickling_and_its_own_dump(self, response: Response) -> None:
        assert pickle.loads(pickle.dumps(response)) == response
        assert Response(**response.model_dump()) == response

    def test_another_text_replaces_the_last_assistant_turn(self) -> None:
        changed = Response(task_id="t", messages=TURNS).with_text("Four.")
        assert (changed.text, changed.messages) == ("Four.", (*TURNS[:2], Turn(role="assistant", content="Four.")))
        assert Response(task_id="t", text="x").with_text("y") == Response(task_id="t", text="y")
        silent = Response(task_id="t", messages=TURNS[1:2]).with_text("y")
        assert silent.messages == (TURNS[1], Turn(role="assistant", content="y"))


class TestMessages:
    def test_messages_of_a_chat_api_are_read_and_written(self) -> None:
        assert parse_transcript(MESSAGES) == TURNS
        assert render_transcript(TURNS) == MESSAGES

    @given(transcripts)
    def test_every_transcript_survives_being_written(self, turns: tuple[Turn, ...]) -> None:
        assert parse_transcript(render_transcript(turns)) == turns

    @pytest.mark.parametrize(
        "call",
        [
            {"type": "function", "function": {"name": "search", "arguments": {"city": "Xi'an"}}},
            {"name": "search", "arguments": {"city": "Xi'an"}},
        ],
    )
    def test_arguments_may_be_an_object_and_a_call_may_be_flat(self, call: dict[str, Any]) -> None:
        (turn,) = parse_transcript([{"role": "assistant", "content": None, "tool_calls": [call]}])
        assert (turn.content, turn.tool_calls) == ("", (ToolCall(name="search", arguments='{"city":"Xi\'an"}'),))

    def test_the_old_form_of_a_call_is_read(self) -> None:
        (turn,) = parse_transcript([{"role": "assistant", "function_call": {"name": "f", "arguments": "not JSON"}}])
        assert turn.tool_calls == (ToolCall(name="f", arguments="not JSON"),)

    def test_parts_of_text_are_joined_and_a_refusal_is_text(self) -> None:
        parts = [{"type": "text", "text": "One, "}, {"type": "output_text", "text": "two, "}, "three."]
        refusal = {"role": "assistant", "content": None, "refusal": "No."}
        assert [turn.content for turn in parse_transcript([{"role": "user", "content": parts}, refusal])] == [
            "One, two, three.",
            "No.",
        ]

    @pytest.mark.parametrize(
        ("messages", "said"),
        [
            ("text", "the transcript is not a list of messages ('text'); give one"),
            ([MESSAGES[0], 3], "turn 2: not a message (3); give an object with role and content"),
            (
                [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}],
                "turn 1: a part cannot be judged (type image_url); leave out what is not text",
            ),
            (
                [{"role": "user", "content": 3}],
                "turn 1: the content is not text (3); give text, or a list of parts of text",
            ),
            (
                [{"role": "assistant", "content": "", "tool_calls": ["f()"]}],
                "turn 1: a tool call is not an object ('f()'); give its function, a name and arguments",
            ),
            (
                [{"role": "assistant", "content": "", "tool_calls": [{"name": " "}]}],
                "turn 1: ToolCall: name: name is blank (got ' '); say which tool is called",
            ),
        ],
    )
    def test_what_cannot_be_judged_is_refused_with_its_place(self, messages: Any, said: str) -> None:
        with pytest.raises(RubricError) as caught:
            parse_transcript(messages)
        assert str(caught.value) == said


def test_a_prompt_that_a_transcript_repeats_is_left_out_if_it_is_all_there() -> None:
    prompt = (Message(role="system", content="Be brief."), Message(role="user", content="Hotels?"))
    task = make_task([1]).model_copy(update={"messages": prompt})
    turns = parse_transcript(prompt)
    assert drop_prompt((*turns, *TURNS), task) == TURNS
    assert drop_prompt((*turns[1:], *TURNS), task) == (*turns[1:], *TURNS)
    assert drop_prompt(turns, task) == ()
