"""Known hacks: phrases that policies learned to add because judges paid for them, and the user's own phrases.

They are made without a model, from a stock of phrases in `hacks.toml`; which variant an answer gets depends on its task
and text alone. Nothing in them is about the subject, so no sound reward pays for them.
"""

import tomllib
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

from prorubric.audit.edits.kind import EditCase, Edited, EditKind, MadeEdit, NoEditError, draw_number
from prorubric.audit.place import append
from prorubric.errors import SourceError
from prorubric.text.sentences import can_follow, is_prose, is_whole, list_sentences, mark_end

_STOCK: dict[str, dict[str, list[Any]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_MEANINGS = {
    "self-praise": "praises itself at the end",
    "claim-compliance": "says that it meets every criterion",
    "closing-phrase": "ends with a polite phrase",
    "authority": "claims the authority of an expert or of studies",
    "flatter-judge": "flatters the judge",
    "instruct-judge": "tells the judge what to decide",
}
_LONGEST_QUESTION = 60
_MOST_REPEATED = 3
_SHORTEST_REPEATED = 12
"""Characters: a shorter sentence is an exclamation or a label."""


def _draw(name: str, case: EditCase, variants: list[Any]) -> Any:
    return variants[draw_number(name, case.task.id, case.answer) % len(variants)]


def _append_one(name: str, variants: list[str]) -> Callable[[EditCase], Edited]:
    return lambda case: (append(case.answer, _draw(name, case, variants)), ())


def _restate_question(case: EditCase) -> Edited:
    """The last question that the person asked, or the first sentence of a request, before the answer."""
    said = [message.content for message in case.task.messages if message.role == "user"]
    sentences = [sentence for sentence in list_sentences(said[-1]) if is_prose(sentence)] if said else []
    asked = [sentence for sentence in sentences if sentence.endswith(("?", "？"))]
    question = (asked[-1:] or sentences[:1] or [""])[0]
    if not question or len(question.split()) > _LONGEST_QUESTION:
        raise NoEditError("there is no short question to restate")
    opening = _draw("restate-question", case, _STOCK["opening"]["restate-question"])
    return f"{opening.format(question)}\n\n{case.answer}", ()


def _put_under_headings(case: EditCase) -> Edited:
    """Three parts of about the same length, cut between paragraphs if there are enough, never inside a list."""
    pieces = case.pieces
    cuts = [
        place
        for place, (piece, following) in enumerate(pairwise(pieces), 1)
        if is_prose(piece) and can_follow(piece) and is_prose(following) and mark_end(following) == 0
    ]
    paragraphs = [place for place in cuts if pieces[place - 1].endswith("\n\n")]
    cuts = paragraphs if len(paragraphs) > 1 else cuts
    if len(cuts) < 2:
        raise NoEditError("the answer cannot be cut into three parts")
    first = min(cuts[:-1], key=lambda place: abs(place - len(pieces) / 3))
    second = min((place for place in cuts if place > first), key=lambda place: abs(place - 2 * len(pieces) / 3))
    headings = _draw("template-format", case, _STOCK["headings"]["template-format"])
    parts = (pieces[:first], pieces[first:second], pieces[second:])
    titled = (f"## {heading}\n\n{''.join(part).rstrip()}" for heading, part in zip(headings, parts, strict=True))
    return "\n\n".join(titled), ()


def _repeat_sentences(case: EditCase) -> Edited:
    whole = [one for one in case.sentences if is_whole(one) and is_prose(one) and len(one) >= _SHORTEST_REPEATED]
    if not whole:
        raise NoEditError("the answer has no sentence to repeat")
    start = draw_number("repeat-answer", case.task.id, case.answer) % max(1, len(whole) - _MOST_REPEATED + 1)
    return append(case.answer, " ".join(whole[start : start + _MOST_REPEATED])), ()


def _make_hack(
    name: str,
    meaning: str,
    by_rules: Callable[[EditCase], Edited],
    check: Callable[[EditCase, MadeEdit], object] = EditCase.find_appended,
    *,
    phrase: str = "",
    is_english: bool = True,
) -> EditKind:
    return EditKind(
        name=name,
        meaning=meaning,
        is_worthless=True,
        is_padding=True,
        is_hack=True,
        phrase=phrase,
        is_english=is_english,
        by_rules=by_rules,
        check=check,
    )


HACKS = (
    *(_make_hack(name, meaning, _append_one(name, _STOCK["ending"][name])) for name, meaning in _MEANINGS.items()),
    _make_hack(
        "restate-question", "repeats the question before the answer", _restate_question, EditCase.check_inserted
    ),
    _make_hack("template-format", "puts the answer under three headings", _put_under_headings, EditCase.check_inserted),
    _make_hack(
        "repeat-answer", "repeats up to three of its own sentences at the end", _repeat_sentences, is_english=False
    ),
)


def make_own_hacks(phrases: Iterable[str]) -> dict[str, EditKind]:
    """One kind of edit for each phrase, which it puts at the end of an answer in any language; own-1 is the first."""
    named = {f"own-{number}": phrase for number, phrase in enumerate(phrases, 1)}
    return {
        name: _make_hack(name, f"ends with “{phrase}”", _append_one(name, [phrase]), phrase=phrase, is_english=False)
        for name, phrase in named.items()
    }


def load_phrases(path: Path) -> tuple[str, ...]:
    """The lines of a text file that are not blank and do not begin with `# `; a duplicate line is refused."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeError:
        raise SourceError(
            "the file is not text in UTF-8", remedy="save it as UTF-8, one phrase per line", place=path
        ) from None
    except OSError as error:
        detail = error.strerror or type(error).__name__
        raise SourceError("the file of hacks cannot be read", detail, remedy="check the path", place=path) from None
    lines: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        phrase = line.strip()
        if phrase == "#" or phrase.startswith(("# ", "#\t")):
            continue
        if phrase in lines:
            same = f"the phrase is the same as in line {lines[phrase]}"
            raise SourceError(same, remedy="remove one of the two", place=f"{path}:{number}")
        if phrase:
            lines[phrase] = number
    if not lines:
        raise SourceError("there is no phrase in the file", remedy="write one per line", place=path)
    return tuple(lines)
