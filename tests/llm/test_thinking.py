"""Thinking is left out where it is beyond doubt; a mark that may be quoted cuts nothing."""

import pytest

from prorubric.llm.thinking import drop_thinking, has_thinking_mark


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Yes.", "Yes."),
        ("<think>a</think>Yes.", "Yes."),
        (" \n<think>a</think>\n\n Yes. ", "Yes. "),
        ("<think></think>", ""),
        ("a</think>Yes.", "Yes."),
        ("<think>a <think>b</think> c</think>Yes.", "Yes."),
        ('<think>{}</think>{"why": "x"}', '{"why": "x"}'),
        ("<thinking>a</thinking>Yes.", "Yes."),
        ("<Thinking>a</thinking>Yes.", "Yes."),
        ("<reasoning>a</reasoning>Yes.", "Yes."),
        ('<chain_of_thought n="1">a</chain_of_thought>Yes.', "Yes."),
        ("\ufeff<think>a</think>Yes.", "Yes."),
        ("[THINK]a[/THINK]Yes.", "Yes."),
        ("<seed:think>a</seed:think>Yes.", "Yes."),
        ("◁think▷a◁/think▷Yes.", "Yes."),
        ("<|START_THINKING|>a<|END_THINKING|>Yes.", "Yes."),
        ("<unused94>thought\na<unused95>Yes.", "Yes."),
        ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>Yes.", "Yes."),
        ("<|channel|>analysis<|message|>a<|channel|>analysis<|message|>b<|channel|>final<|message|>Yes.", "Yes."),
        ("<|channel|>final<|message|>Yes.", "Yes."),
    ],
)
def test_thinking_at_the_beginning_is_left_out(said: str, text: str) -> None:
    assert drop_thinking(said) == text


@pytest.mark.parametrize(
    "said", ["<think>a", "<thinking>a {}", "[THINK]a", "<|channel|>analysis<|message|>a", "<think>a <think>b</think>"]
)
def test_thinking_without_an_end_says_nothing(said: str) -> None:
    assert drop_thinking(said) == ""


@pytest.mark.parametrize(
    "said",
    [
        '{"why": "it ends with </think>"}',
        '[{"why": "it ends with </think>"}]',
        "No. It ends with </think>Yes</think>Yes.",
        "No. It says <think>a</think>Yes.",
        "No.<think>a",
    ],
)
def test_nothing_is_cut_at_a_mark_that_may_be_quoted(said: str) -> None:
    assert drop_thinking(said) == said


@pytest.mark.parametrize("shown", ["It ends </think>Yes", "<\u200b/think>", "&lt;/THINK&gt;", r"\u003c/think\u003e"])
def test_a_mark_of_the_prompt_closes_only_what_was_opened(shown: str) -> None:
    assert drop_thinking("No. It ends </think>Yes", shown) == "No. It ends </think>Yes"
    assert drop_thinking("<think>No.</think>Yes", shown) == "Yes"


def test_thinking_closed_first_leaves_the_rest_with_its_marks() -> None:
    said = drop_thinking('<think>It ends with </think>{"1": true}, so no.</think>{"1": false}')
    assert said == '{"1": true}, so no.</think>{"1": false}'
    assert has_thinking_mark(said)


@pytest.mark.parametrize(
    "text", ["analysisWe need to", "no.assistantfinal{}", "a <think", "a </scratchpad> b", "<|/thinking|>"]
)
def test_marks_are_seen_wherever_they_stand(text: str) -> None:
    assert has_thinking_mark(text) is (text != "a <think")


@pytest.mark.parametrize("text", ["a < thinking of b > c", "<p>a thought</p>", "<option reasonable>", "<a draft"])
def test_other_tags_are_not_marks(text: str) -> None:
    assert not has_thinking_mark(text)


def test_a_long_row_of_open_marks_is_read_in_no_time() -> None:
    assert drop_thinking("<think>" * 200_000) == ""
    assert drop_thinking("</think>" + "<think>" * 200_000) == "</think>" + "<think>" * 200_000
