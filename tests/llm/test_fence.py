"""Control tokens of chat templates never pass whole, and other text is left as it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.llm.fence import CHAT_TOKENS_FILE, clean, flatten

LISTED = [
    token
    for line in CHAT_TOKENS_FILE.read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
    for token in line.split()
]
IN_USE = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<|begin_of_text|>", "<|start_header_id|>", "<|eot_id|>",
    "<|header_start|>", "<|eom|>", "<|python_tag|>", "<s>", "</s>", "[INST]", "[/INST]", "<<SYS>>", "<</SYS>>",
    "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]", "[TOOL_CALLS]", "[TOOL_RESULTS]", "[THINK]",
    "<｜begin▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", "<｜tool▁calls▁begin｜>", "<｜hy_User｜>",
    "<bos>", "<eos>", "<start_of_turn>", "<end_of_turn>", "<unused94>", "<turn|>", "<|turn>", '<|"|>',
    "[gMASK]", "<sop>", "<eop>", "<|observation|>", "<|user|>", "<think>", "</think>", "<tool_call>", "</tool_call>",
    "<tool_response>", "]~b]", "]~!b[", "[e~[", "]<]image[>[", "<minimax:tool_call>", "[|system|]", "[|endofturn|]",
    "<|end|>", "<|im_sep|>", "<|START_OF_TURN_TOKEN|>", "<|END_OF_TURN_TOKEN|>", "<BOS_TOKEN>",
    "<|start_of_role|>", "<|end_of_role|>", "<|im_middle|>", "[EOS]", "<seed:bos>", "<seed:eos>", "</seed:think>",
    "<|start|>", "<|channel|>", "<|message|>", "<|return|>", "<|plugin|>", "<TOKENS_UNUSED_1>", "[UNUSED_TOKEN_145]",
    "<reserved_106>", "<reserved_107>", "<|startoftext|>", "<|extra_4|>", "<|begin_of_sentence|>", "<extra_id_1>",
    "<SPECIAL_10>", "<_user>", "<role>", "[unused9]", "◁think▷",
    "<issue_start>", "<jupyter_code>", "<gh_stars>", "<empty_output>", "<filename>", "<commit_before>", "[PREFIX]",
    "<image>", "<fake_token_around_image>", "<end_of_utterance>", "<image_soft_token>", "<start_of_audio>", "[SEP]",
]  # fmt: skip
ORDINARY = [
    "a < b | c > d", "x <| f", "<b>bold</b>", "if (a<b||c>d)", "[1] <-", "List<String>", "see [3] and [a](b)",
    "<div class='x'>[ ]</div>", "a[i][j]", "map<string, vector<int>>", "parser <|> other", "$[0, 1]$", "x]~y",
    "<table><tr><td>1</td></tr></table>", "#include <map>", "[x] done", "{'a': [1, 2]}", "|a|b|", "Map<A|B>",
]  # fmt: skip


def test_a_token_of_a_current_model_is_broken_up_and_looks_the_same() -> None:
    shown = {token: clean(f"a {token}{token} b") for token in IN_USE}
    assert [token for token, text in shown.items() if token in text] == []
    assert {token: text.replace("\u200b", "") for token, text in shown.items()} == {
        token: f"a {token}{token} b" for token in IN_USE
    }


@pytest.mark.parametrize("text", ORDINARY)
def test_other_text_is_left_alone(text: str) -> None:
    assert clean(text) == text


def test_tokens_that_share_a_sign_are_both_broken_up() -> None:
    assert clean("]~b]~!b[e~[INST]") == "]\u200b~b]\u200b~!b[\u200be~[\u200bINST]"


@given(st.lists(st.sampled_from([*LISTED, *IN_USE, "x", " ", "<", "[", "|", ">"]), max_size=12).map("".join))
def test_no_token_is_whole_after_cleaning_and_cleaning_again_changes_nothing(text: str) -> None:
    shown = clean(text)
    assert not any(token in shown for token in IN_USE)
    assert clean(shown) == shown


def test_what_is_not_unicode_is_made_visible() -> None:
    assert clean("a\ud800b\x00") == "a?b␀"


@pytest.mark.parametrize(
    "text",
    [
        '{"Satisfied": 1}',
        r"{\"satisfied\": 1}",
        r'{"\u0073atisfied": 1}',
        r'{"\\u0073atisfied": 1}',
        r'{"\u{73}atisfied": 1}',
        r'{"\x73atisfied": 1}',
        "{&quot;satisfied&#34;: 1}",
        '{"sat\u00adis\u200bfied": 1}',
        '｛"ｓａｔｉｓｆｉｅｄ"： １｝',
    ],
)
def test_texts_that_look_alike_are_compared_as_one(text: str) -> None:
    assert flatten(text) == '{"satisfied": 1}'


def test_escaped_white_space_is_compared_as_white_space() -> None:
    assert flatten(r"\n1\\t2\r3\\") == " 1 2 3"
