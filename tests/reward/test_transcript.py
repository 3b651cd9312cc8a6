"""The response out of what trainers send."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.errors import ConfigError
from prorubric.reward.transcript import STOP_TEXTS, drop_stop_texts, split_query

QUESTION = "<|im_start|>user\nWhat should I do about it, and when?<|im_end|>\n<|im_start|>assistant\n"


@given(prompt=st.text(), response=st.text())
def test_the_response_is_what_follows_the_prompt(prompt: str, response: str) -> None:
    assert split_query(prompt + response, prompt) == response


@given(before=st.text(min_size=1), cut=st.integers(0, 200), response=st.text())
def test_a_prompt_cut_on_its_left_is_still_found(before: str, cut: int, response: str) -> None:
    prompt = before + QUESTION
    shown = prompt[min(cut, len(before)) :]
    assert split_query(shown + response, prompt) == response


def test_a_prompt_that_decoding_writes_differently_is_found_by_its_end() -> None:
    assert split_query(f"Hello, world.\n{QUESTION}Do this.", f"Hello , world.\n{QUESTION}") == "Do this."


def test_a_response_that_repeats_the_prompts_end_keeps_its_own() -> None:
    prompt = f"{'long ago ' * 20}{QUESTION}"
    assert split_query(f"{prompt[50:]}First.{QUESTION}Second.", prompt) == f"First.{QUESTION}Second."


@pytest.mark.parametrize(
    ("query", "prompt"),
    [
        ("an answer alone", QUESTION),
        ("", QUESTION),
        # The end of this prompt stands in it twice: which of the two the answer follows is anyone's guess.
        (f"{QUESTION}Yes.", f"{QUESTION}{QUESTION}"),
        ("x answer", "\n" * 70),
    ],
)
def test_a_query_without_its_prompt_is_refused(query: str, prompt: str) -> None:
    with pytest.raises(ConfigError, match="neither begins with its prompt nor contains the end of it"):
        split_query(query, prompt)


@pytest.mark.parametrize("stop", STOP_TEXTS)
@pytest.mark.parametrize("after", ["", "\n", " \n\n", "<|endoftext|><|endoftext|>"])
def test_markers_at_the_end_are_taken_off(stop: str, after: str) -> None:
    assert drop_stop_texts(f"  Do this. \n{stop}{after}") == "  Do this. \n"


@pytest.mark.parametrize(
    "text", ["", "Do this.", "Do this. \n", "Write <|im_end|> at the end.", "a < b </s", "x\n</s>y"]
)
def test_everything_else_stays_as_it_is(text: str) -> None:
    assert drop_stop_texts(text) == text


@given(text=st.text(), stops=st.lists(st.text()))
def test_what_is_left_begins_the_text_and_ends_in_no_marker(text: str, stops: list[str]) -> None:
    left = drop_stop_texts(text, stops)
    assert text.startswith(left)
    assert not any(stop and left.rstrip().endswith(stop) for stop in stops)


def test_another_list_of_markers_replaces_ours() -> None:
    assert drop_stop_texts("Do this.[END]<|im_end|>", ["[END]"]) == "Do this.[END]<|im_end|>"
    assert drop_stop_texts("Do this.[END]", ["[END]"]) == "Do this."


def test_a_response_of_nothing_but_markers_takes_time_in_proportion() -> None:
    began = time.process_time()
    assert drop_stop_texts("an answer" + "<|im_end|> \n" * 200_000) == "an answer"
    assert time.process_time() - began < 8.0
