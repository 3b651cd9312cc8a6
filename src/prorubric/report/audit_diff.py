"""An edit beside the answer it was made to: what is new, what is gone, and where nothing changed only that.

Texts are compared sentence by sentence, cut also where the editor says that its own sentences begin and end.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise

from prorubric.audit.edits.kind import MadeEdit
from prorubric.report.page import Html, element, join, own_words
from prorubric.text.sentences import LARGEST_TABLE, split_sentences

_KEPT_AROUND = 2
"""Sentences without a change that are shown before and after one."""


def render_edit(answer: str, edit: MadeEdit) -> Html:
    """The edited answer with its changes marked; long stretches that did not change are named and left out."""
    before, after = _cut(answer, edit.removed), _cut(edit.text, edit.added)
    return own_words_block(_mark(before, after))


def own_words_block(content: Html) -> Html:
    """Marked-up text of a run, with its line breaks."""
    return element("div", content, class_="text", dir="auto")


def render_text(text: str) -> Html:
    """Text of a run, with its line breaks."""
    return own_words(text, "div", class_="text")


def _cut(text: str, marked: Sequence[str]) -> list[str]:
    cuts = {0, *accumulate(map(len, split_sentences(text)))}
    for sentence in filter(None, marked):
        start = text.find(sentence)
        if start >= 0:
            cuts |= {start, start + len(sentence)}
    return [text[start:end] for start, end in pairwise(sorted(cuts))]


def _mark(before: Sequence[str], after: Sequence[str]) -> Html:
    steps = _list_steps([*map(_flatten, before)], [*map(_flatten, after)])
    return join(
        _keep(after[new:new_end], first=number == 0, last=number == len(steps) - 1)
        if step == "equal"
        else (_wrap("del", before[old:old_end]), _wrap("ins", after[new:new_end]))
        for number, (step, old, old_end, new, new_end) in enumerate(steps)
    )


def _list_steps(before: list[str], after: list[str]) -> list[tuple[str, int, int, int, int]]:
    """What is the same, what is gone and what is new: places in both, in order.

    Most edits touch one place, so that the same beginning and end are set aside first. An answer that repeats itself a
    thousand times would take minutes to compare: what is left of it then counts as rewritten.
    """
    start = _count_same(before, after)
    end = _count_same(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if len(old) * len(new) > LARGEST_TABLE:
        inner = [("replace", 0, len(old), 0, len(new))]
    else:
        inner = [*SequenceMatcher(None, old, new, autojunk=False).get_opcodes()]
    moved = [(step, a + start, b + start, c + start, d + start) for step, a, b, c, d in inner]
    tail = ("equal", len(before) - end, len(before), len(after) - end, len(after))
    return [("equal", 0, start, 0, start)] * (start > 0) + moved + [tail] * (end > 0)


def _count_same(left: list[str], right: list[str]) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right))
    )


def _keep(pieces: Sequence[str], first: bool, last: bool) -> Iterator[str | Html]:
    head, tail = 0 if first else _KEPT_AROUND, 0 if last else _KEPT_AROUND
    left_out = len(pieces) - head - tail
    if left_out <= _KEPT_AROUND:
        yield "".join(pieces)
        return
    yield "".join(pieces[:head])
    yield element("span", f"… {left_out} sentences unchanged …", class_="gap")
    yield "".join(pieces[len(pieces) - tail :])


def _wrap(tag: str, pieces: Sequence[str]) -> Html:
    text = "".join(pieces)
    bare = text.rstrip()
    # The space after a sentence is no part of the change: marked, it would look like one.
    return join(element(tag, bare) if bare else None, text[len(bare) :])


def _flatten(piece: str) -> str:
    return " ".join(piece.split())
