"""Replies that reason first and end in lines of text: a mark for each criterion of a list, or one label for a pair.

Only these lines are read, never numbers or labels among the reasoning, and nothing is guessed: a reply that was cut
off, gives a criterion two marks or ends in two labels says nothing. If the material holds text of the same form, the
judge is asked to write a line before its verdict that the material cannot contain, and only what follows it is read.
"""

import re
from collections.abc import Sequence

from prorubric.judge.forms import LARGEST_MARK, TEXT_MARKS, VerdictForm
from prorubric.judge.parse import EMPTY, LEFT_OUT, NO_VERDICTS, QUOTED, THINKING, TWO_VERDICTS, UNFINISHED, UNREADABLE
from prorubric.judge.texts import CREATIVE_NAMES
from prorubric.llm.fence import flatten
from prorubric.llm.thinking import drop_thinking, has_thinking_mark
from prorubric.rubric.verdict import NotApplicable, Unknown, Verdict
from prorubric.text.show import shorten

_NAMES = {re.sub(r"\W+", " ", name.lower()): place for place, name in enumerate(CREATIVE_NAMES)}
_NAME = "|".join(re.escape(name).replace(r"\ ", r"\W{1,3}") for name in _NAMES)
_MARK_LINE = re.compile(
    rf"[\W_]{{0,9}}(?:\d{{1,2}}[.)])?[\W_]{{0,9}}({_NAME})(?:\s*\([^()]*\))?[\s*_]{{0,9}}:(.*)", re.IGNORECASE
)
_MARK = re.compile(r"(\d{1,3}(?:\.\d{1,2})?)(?:\s?/\s?20|\s+out of 20)?")
_AROUND = " \t*_[]()."
_NO_MARK = ("", "-", "–", "—", "n/a", "na", "not applicable")
_PROSE = re.compile(r"[^\W\d_]\w*\W+(?:\w+\W+){2}\w+")
"""A value that begins with four words is part of the analysis."""
_LIKE_MARK = re.compile(rf"(?<![^\W_])(?:{_NAME})[\W_]{{0,20}}\d")
_SIDES = r"((?:A\s*(?:>>?|<<?|=)\s*B)|(?:B\s*(?:>>?|<<?|=)\s*A))"
# An index of an array, such as x[a>b], is not a label; one in single brackets also has to end its line.
_LABELS = (
    re.compile(rf"(?<![\w\])])\[\[\s*{_SIDES}\s*\]\]", re.IGNORECASE),
    re.compile(rf"(?<![\w\])])\[\s*{_SIDES}\s*\](?=[ \t*.]*$)", re.MULTILINE),
)
_LIKE_LABEL = re.compile(rf"\[\s*{_SIDES}\s*\]", re.IGNORECASE)


def holds_text(material: str, form: VerdictForm) -> bool:
    """True if something in the material could be read as a verdict once it is quoted."""
    shown = flatten(material)
    return bool((_LIKE_MARK if form is TEXT_MARKS else _LIKE_LABEL).search(shown)) or has_thinking_mark(shown)


def parse_text_reply(
    text: str, form: VerdictForm, material: str = "", key: str | None = None, is_cut: bool = False
) -> tuple[Verdict, ...] | str | Unknown:
    """The marks of all criteria, or the label, that a reply ends in; `key` is the line that it was asked to write."""
    said = drop_thinking(text, material)
    if not said.strip():
        return EMPTY
    if is_cut:
        return UNFINISHED
    lines = said.splitlines()
    if key is not None:
        begins = [place for place, line in enumerate(lines) if line.strip("*_`#: \t").lower() == key]
        if not begins:
            return QUOTED
        lines = lines[begins[0] + 1 :]
    elif has_thinking_mark(said):
        return THINKING
    return _read_marks(lines) if form is TEXT_MARKS else _read_label("\n".join(lines))


def _read_marks(lines: Sequence[str]) -> tuple[Verdict, ...] | Unknown:
    """A mark for each criterion. Only a reply that reaches the last one may leave some out as not applicable."""
    marks: dict[int, Verdict] = {}
    for line in lines:
        found = _MARK_LINE.fullmatch(line)
        if found is None:
            continue
        place = _NAMES[re.sub(r"\W+", " ", found[1].lower())]
        value = found[2].strip(_AROUND)
        number = _MARK.fullmatch(value)
        if number is None and value.lower() not in _NO_MARK:
            if _PROSE.match(value):
                continue
            return Unknown(f"the mark is {shorten(value, 40)!r}", kind=UNREADABLE)
        mark: Verdict = NotApplicable() if number is None else float(number[1])
        if isinstance(mark, float) and not (mark <= LARGEST_MARK and (2 * mark).is_integer()):
            return Unknown(f"the mark is {mark:g}; marks are from 0 to {LARGEST_MARK}", kind=UNREADABLE)
        if marks.setdefault(place, mark) != mark:
            return TWO_VERDICTS
    if not any(isinstance(mark, float) for mark in marks.values()):
        return NO_VERDICTS
    if len(CREATIVE_NAMES) - 1 not in marks:
        return LEFT_OUT
    return tuple(marks.get(place, NotApplicable()) for place in range(len(CREATIVE_NAMES)))


def _read_label(text: str) -> str | Unknown:
    """The last label, in double brackets or else in single ones. Labels that end a reply together must be the same."""
    for pattern in _LABELS:
        last = set[str]()
        for part in reversed(re.split(r"\n\s*\n", text)):
            labels = {_turn(label) for label in pattern.findall(part)}
            is_bare = not re.search(r"\w", pattern.sub("", part))
            if last and (not labels or not is_bare):
                break
            last |= labels
        if last:
            return last.pop() if len(last) == 1 else TWO_VERDICTS
    return NO_VERDICTS


def _turn(label: str) -> str:
    """A label with the better answer first: `A<B` is `B>A`."""
    joined = "".join(label.upper().split())
    one, sign, other = joined[0], joined[1:-1], joined[-1]
    if sign == "=":
        return "A=B"
    return f"{other}{sign.replace('<', '>')}{one}" if "<" in sign else joined
