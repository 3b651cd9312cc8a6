"""Where a sentence ends, in the languages that rubrics are written in."""

import re
from collections.abc import Iterator

# One set of signs first, so that the search runs from end to end of a sentence without looking at what is between.
_SENTENCE_END = re.compile(r"[.!?。！？\n](?:(?<=[.!?])[\"'”’)]?(?=\s)|(?<=[。！？])[”’」』）]?|(?<=\n))\s*")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|vs|cf|approx|ca|al|dr|mr|mrs|ms|st|prof|fig|resp|incl)\.$", re.IGNORECASE)
_LIST_MARK = re.compile(r"\W*(?:\d{1,2}|[a-z])\.", re.IGNORECASE)
# "Peter J." and "U.S." go on; "vitamin C." and "etc." end a sentence where the next word is written large.
_INITIAL = re.compile(r"(?:\b[A-Z]\w*[.,]?\s|\.)[A-Z]\.$")
_OPENS = re.compile(r"fails?\b", re.IGNORECASE)
_LONGEST_TAIL = 32
_LONGEST_ABBREVIATION = len("approx.")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text; the point of an abbreviation, a number or a list mark ends none."""
    found: list[str] = []
    for piece in _cut(text.strip()):
        if found and _goes_on(found[-1], piece):
            found[-1] = f"{found[-1]} {piece}"
        elif piece:
            found.append(piece)
    return found


def _cut(text: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(text):
        yield text[start : end.end()].rstrip()
        start = end.end()
    yield text[start:]


def _goes_on(sentence: str, piece: str) -> bool:
    """True where a piece is no sentence of its own: "pH" and "eGFR" may open one, other small letters may not."""
    if _OPENS.match(piece):
        return False
    written_small = piece[:1].islower() and not piece[1:2].isupper()
    if written_small or not sentence.endswith("."):
        return written_small
    # The patterns look at the last words only, and would begin with the first.
    if _ABBREVIATION.search(sentence, max(0, len(sentence) - _LONGEST_ABBREVIATION)):
        return True
    if sentence[-2:-1].isupper() and _INITIAL.search(sentence, max(0, len(sentence) - _LONGEST_TAIL)):
        return True
    return bool(_LIST_MARK.fullmatch(sentence))
