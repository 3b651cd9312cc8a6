"""The same in slightly other words: swaps that are safe wherever they occur, contractions, two bullets changed round.

It is the mildest paraphrase there is and measures how much a reward moves for no reason at all. Numbers, names, code,
tables and quotations are left alone. Where nothing can be changed the result is None.
"""

import re
from collections.abc import Iterable

from prorubric.text.sentences import bullet_of, is_prose

_WORDS = {
    "for example": "for instance",
    "for instance": "for example",
    "usually": "typically",
    "typically": "usually",
    "often": "frequently",
    "frequently": "often",
    "may": "might",
    "might": "may",
    "in order to": "so as to",
    "in addition to": "besides",
    "along with": "together with",
    "together with": "along with",
    "prior to": "before",
    "due to": "because of",
    "because of": "due to",
    "as soon as possible": "as quickly as possible",
    "make sure": "be sure",
    "several": "a number of",
    "you need to": "you have to",
    "you have to": "you need to",
    "such as": "like",
    "especially": "particularly",
    "particularly": "especially",
    "therefore": "for that reason",
    "approximately": "roughly",
    "roughly": "approximately",
    "instead of": "rather than",
    "rather than": "instead of",
    "a lot of": "a great deal of",
    "begin": "start",
    "quickly": "rapidly",
    "rapidly": "quickly",
    "until": "till",
    "regarding": "about",
    "requires": "needs",
    "requiring": "needing",
    "worsen": "get worse",
    "if possible": "where possible",
    "could you": "can you",
    "can you": "could you",
    "i recommend": "I would advise",
    "one more point": "another point",
    "do not": "don't",
    "don't": "do not",
    "does not": "doesn't",
    "doesn't": "does not",
    "did not": "didn't",
    "is not": "isn't",
    "isn't": "is not",
    "are not": "aren't",
    "aren't": "are not",
    "was not": "wasn't",
    "cannot": "can't",
    "can't": "cannot",
    "will not": "won't",
    "won't": "will not",
    "would not": "wouldn't",
    "it's": "it is",
    "you're": "you are",
    "you'll": "you will",
    "i'm": "I am",
    "that's": "that is",
    "there's": "there is",
}
# What can be changed only where something of the right kind follows.
_BEFORE_A_WORD = {
    "it is": "it's",
    "you are": "you're",
    "you will": "you'll",
    "i would": "I'd",
    "i am": "I'm",
    "there is": "there's",
    "they are": "they're",
}
_NO_CLAUSE = r"(?!\s+of\b)"
_NO_ORDER = r"(?!\s+(?:after|before|following|below|above|available|life)\b)"
_NO_QUESTION = r"(?!\s+(?:not|I|you|we|he|she|they|it|the|a|an|this|that|my|your|also|have)\b|n['’]t)"
_SWAPS = _WORDS | _BEFORE_A_WORD | {"because": "since", "immediately": "right away", "should": "ought to"}


def _either(phrases: Iterable[str]) -> str:
    """Any of the phrases, the longer ones first."""
    return "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True))


# What stands between quotation marks, backquotes or in an address is passed over whole.
_PATTERN = re.compile(
    r"`[^`\n]*`|“[^“”\n]*”|\"[^\"\n]*\"|\bhttps?://\S+"
    rf"|\b(?:{_either(_WORDS)})\b(?!['’-]\w)"
    rf"|(?<!\bof )(?<!\bas )(?<!\bwhat )\b(?:{_either(_BEFORE_A_WORD)})(?=\s+[a-z])"
    rf"|\bbecause\b{_NO_CLAUSE}|\bimmediately\b{_NO_ORDER}|\bshould\b{_NO_QUESTION}",
    re.IGNORECASE,
)


def reword(pieces: tuple[str, ...]) -> str | None:
    """The sentences in slightly other words, joined; None where nothing in them can be changed."""
    before = "".join(pieces)
    after = "".join(_PATTERN.sub(_swap, piece) if is_prose(piece) else piece for piece in pieces)
    if after != before:
        return after
    return _turn_bullets(pieces)


def _swap(match: re.Match[str]) -> str:
    found = match[0]
    other = _SWAPS.get(found.lower())
    # May is a month, and what is written in capitals is meant to be.
    if other is None or found == "May" or (len(found) > 2 and found.isupper()):
        return found
    return other[0].upper() + other[1:] if found[0].isupper() else other


def _turn_bullets(pieces: tuple[str, ...]) -> str | None:
    """The first two neighbouring bullets of one list changed round: their order says nothing."""
    for place in range(len(pieces) - 1):
        first, second = pieces[place], pieces[place + 1]
        bullet = bullet_of(first)
        alone = bullet is not None and bullet == bullet_of(second) and first.rstrip() != second.rstrip()
        behind = pieces[place + 2 :][:1]
        closed = not behind or bullet_of(behind[0]) == bullet or second.endswith("\n\n")
        if alone and closed and first.endswith("\n") and not first.endswith("\n\n"):
            space = second[len(second.rstrip()) :]
            turned = f"{second.rstrip()}\n{first.rstrip()}{space}"
            return "".join(pieces[:place]) + turned + "".join(pieces[place + 2 :])
    return None
