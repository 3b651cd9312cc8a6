"""Whether a passage that a judge quotes really occurs in the answer, and in the turn that the judge names.

Case, white space, punctuation and look-alike letters do not matter, and a quotation may leave words out with "…".
Otherwise nothing is forgiven: a paraphrase is not a quotation.
"""

import re

from prorubric.judge.answer import ShownAnswer
from prorubric.llm.fence import flatten
from prorubric.rubric.verdict import Evidence
from prorubric.text.words import is_unspaced

_WORD = re.compile(r"\w+")
_LEFT_OUT = re.compile(r"\[?(?:\.{3,}|…)\]?")


def check_evidence(quote: str, turn: int | None, answer: ShownAnswer) -> Evidence:
    """The evidence with whether it is founded: the quotation occurs, in a transcript in the turn that is named."""
    if turn is None:
        founded = _occurs(quote, answer.material)
    else:
        founded = turn in answer.turns and _occurs(quote, answer.turns[turn])
    return Evidence(quote=quote, turn=turn, founded=founded)


def _occurs(quote: str, text: str) -> bool:
    """True if all parts of a quotation occur in their order."""
    between = "" if is_unspaced(quote) else " "

    def join(part: str) -> str:
        return between + between.join(_WORD.findall(flatten(part))) + between

    said, place = join(text), 0
    for part in _LEFT_OUT.split(quote):
        wanted = join(part)
        if not wanted.strip():
            continue
        found = said.find(wanted, place)
        if found < 0:
            return False
        place = found + len(wanted) - len(between)
    return True


def locate_quote(quote: str, text: str) -> list[tuple[int, int]]:
    """Where the parts of a quotation are in a text, as `check_evidence` finds them; empty if one of them is not."""
    if is_unspaced(quote):
        place = text.find(quote)
        return [] if place < 0 else [(place, place + len(quote))]
    words = [(found.start(), found.end(), flatten(found[0])) for found in _WORD.finditer(text)]
    spans, start = [], 0
    for part in _LEFT_OUT.split(quote):
        wanted = _WORD.findall(flatten(part))
        if not wanted:
            continue
        last = len(words) - len(wanted)
        ends = (at for at in range(start, last + 1) if [word[2] for word in words[at : at + len(wanted)]] == wanted)
        at = next(ends, None)
        if at is None:
            return []
        start = at + len(wanted)
        spans.append((words[at][0], words[start - 1][1]))
    return spans
