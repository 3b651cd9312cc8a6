"""Tell a model's thinking from what it says.

Only a block at the very beginning is thinking: up to the mark that closes it, even if the chat template opened it. A
mark that the prompt contains may be a quotation and closes nothing. Text is never cut at a later mark.
"""

import re

from prorubric.llm.fence import THINKING_PAIRS, flatten, match_starts

# Tags that a prompt or a habit makes a model think in, such as `<thinking>`, `<chain_of_thought>` and `<|think|>`.
_NAME = r"\w{0,20}(?:think|thought|reason|reflect|analysis|scratchpad|monologue|draft|\bcot\b)\w{0,20}"
_OPENING_TAG = re.compile(rf"<({_NAME})(?:\s[^<>]{{0,64}})?>", re.IGNORECASE)
_TAG = re.compile(rf"<[/|｜]{{0,2}}{_NAME}(?:\s[^<>]{{0,64}})?[|｜]?>", re.IGNORECASE)
_CLOSING = re.compile("|".join(re.escape(closing) for _, closing in THINKING_PAIRS), re.IGNORECASE)
_MARKS = {flatten(mark) for pair in THINKING_PAIRS for mark in pair}
_MARK, _STARTS = match_starts(_MARKS), {"<", *(mark[0] for mark in _MARKS)}
_CHANNEL = re.compile(r"\s*analysis(?=[A-Z])")


def has_thinking_mark(text: str) -> bool:
    """True if anything in a text opens or closes thinking, anywhere and in any spelling."""
    shown = flatten(text)
    if any(start in shown for start in _STARTS) and (_MARK.search(shown) or _TAG.search(shown)):
        return True
    # What is left of gpt-oss's channels if a server drops the tokens around their names.
    return "assistantfinal" in text or _CHANNEL.match(text) is not None


def drop_thinking(text: str, prompt: str = "") -> str:
    """What a model said, without what it thought before; empty if it only thought."""
    text = text.lstrip("\ufeff\u200b")
    said = text.lstrip()
    if said.startswith("{"):  # as most replies do; nothing that opens thinking does
        return text
    tag = _OPENING_TAG.match(said)
    for opening, closing in [*THINKING_PAIRS, *([(tag[0], f"</{tag[1]}>")] if tag else [])]:
        if said[: len(opening)].lower() != opening.lower():
            continue
        nests, depth = closing.replace("/", "") == opening, 0
        for mark in re.finditer(f"{re.escape(opening)}|({re.escape(closing)})", said, re.IGNORECASE):
            depth = depth - 1 if mark[1] else depth + 1 if nests else 1
            if depth == 0:
                return said[mark.end() :].lstrip()
        return ""
    if said.startswith(("{", "[")) or not has_thinking_mark(said):
        return text
    closed = _CLOSING.search(said)
    # Opened by the chat template: nothing else opens or closes, and the mark is not from the prompt.
    if closed is None or has_thinking_mark(said[: closed.start()] + said[closed.end() :]):
        return text
    shown = "".join(flatten(prompt).split())
    return text if flatten(closed[0]) in shown else said[closed.end() :].lstrip()
