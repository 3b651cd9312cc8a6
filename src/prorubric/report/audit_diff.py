"""An edited answer with its changes marked, and a few of the unchanged sentences around them.

Texts are compared sentence by sentence. They are also cut where the editor says that its own sentences begin and end.
"""

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import accumulate, pairwise

from prorubric.audit.edits.kind import MadeEdit
from prorubric.report.page import Child, Html, element, join, own_words
from prorubric.text.sentences import LARGEST_TABLE, split_sentences
from prorubric.text.show import count

_KEPT_AROUND = 2  # unchanged sentences that are shown before and after a change


def render_edit(answer: str, edit: MadeEdit) -> Html:
    """The edited answer with its changes marked; long unchanged stretches are counted and left out."""
    before, after = _cut(answer, edit.removed), _cut(edit.text, edit.added)
    steps = _compare(*([" ".join(piece.split()) for piece in pieces] for pieces in (before, after)))
    content: list[Child] = []
    for number, (step, old, old_end, new, new_end) in enumerate(steps):
        if step != "equal":
            content += [_wrap("del", before[old:old_end]), _wrap("ins", after[new:new_end])]
            continue
        pieces = after[new:new_end]
        head, tail = 0 if number == 0 else _KEPT_AROUND, 0 if number == len(steps) - 1 else _KEPT_AROUND
        left_out = len(pieces) - head - tail
        if left_out <= _KEPT_AROUND:
            content.append("".join(pieces))
        else:
            gap = element("span", f"… {count(left_out, 'sentence')} unchanged …", class_="gap")
            content += ["".join(pieces[:head]), gap, "".join(pieces[len(pieces) - tail :])]
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


def _compare(before: list[str], after: list[str]) -> list[tuple[str, int, int, int, int]]:
    """Opcodes as `SequenceMatcher` gives them; what is too long to compare counts as rewritten.

    Most edits touch one place, so the common beginning and end are set aside first.
    """
    shortest = min(len(before), len(after))
    start = next((place for place in range(shortest) if before[place] != after[place]), shortest)
    rest = shortest - start
    end = next((place for place in range(rest) if before[-1 - place] != after[-1 - place]), rest)
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if len(old) * len(new) > LARGEST_TABLE:
        inner = [("replace", 0, len(old), 0, len(new))]
    else:
        inner = [*SequenceMatcher(None, old, new, autojunk=False).get_opcodes()]
    moved = [(step, a + start, b + start, c + start, d + start) for step, a, b, c, d in inner]
    tail = ("equal", len(before) - end, len(before), len(after) - end, len(after))
    return [("equal", 0, start, 0, start)] * (start > 0) + moved + [tail] * (end > 0)


def _wrap(tag: str, pieces: Sequence[str]) -> Html:
    text = "".join(pieces)
    bare = text.rstrip()
    # The space after a sentence is not part of the change.
    return join(element(tag, bare) if bare else None, text[len(bare) :])
