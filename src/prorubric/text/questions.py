"""Criteria written as questions, turned into the statements they ask about.

"Does the response avoid jargon?" becomes "The response avoids jargon.", so everything that reads criteria reads both
alike. A question that fits none of the English patterns is returned unchanged, and so is any statement.
"""

import re
from functools import lru_cache

from prorubric.text.patterns import load_patterns

_PATTERNS = load_patterns("criteria", re.IGNORECASE)["questions"]
_DOING = ("does", "do", "did")
_HAVING = ("has", "have", "had")
_MODAL = ("can", "could", "will", "would", "should", "must")
_IRREGULAR = {"be": "is", "do": "does", "have": "has"}
_PARTICIPLES = {"begun": "begin", "given": "give", "made": "make", "shown": "show", "told": "tell"}
_MOST_VERBS = 6


@lru_cache(maxsize=32_768)
def to_statement(text: str) -> str:
    """The statement that a question asks about; a text that is not a question as it is."""
    if whether := _PATTERNS["whether"].match(text):
        return _capitalize(text[whether.end() :])
    opening = _PATTERNS["opening"].match(text)
    if not opening:
        return text
    auxiliary = opening["auxiliary"].lower()
    names = ["about_answer"]
    if _PATTERNS["mark"].search(text, opening.end()):
        names += [] if auxiliary in _MODAL else ["deed"] if auxiliary in _DOING else ["there", "being"]
    elif auxiliary not in ("does", "did"):
        return text
    found = next(filter(None, (_PATTERNS[name].match(text, opening.end()) for name in names)), None)
    if found is None:
        return text
    subject = found["subject"] if opening["lead"].strip() else _capitalize(found["subject"])
    said = _say(auxiliary, found["adverbs"], text[found.end() :])
    shown = said.rstrip()
    # A full stop in place of the question mark.
    ended = f"{shown[:-1].rstrip()}." if shown.endswith("?") else _PATTERNS["mark"].sub(".", said, count=1)
    return f"{opening['lead']}{subject} {ended}"


def third_person(verb: str) -> str:
    """The form of a verb after "it": mentions, specifies, has."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")


def _say(auxiliary: str, adverbs: str, rest: str) -> str:
    """What the question says of the subject: "does" goes into its verb, and other auxiliaries come before it."""
    verb = _PATTERNS["first_verb"].match(rest)
    if verb is None or verb[0].lower() == "not":
        return f"{auxiliary} {adverbs}{rest}"
    after = rest[verb.end() :]
    if auxiliary in _HAVING and (base := _find_base(verb[0].lower())):
        return f"{adverbs}{third_person(base)}{after}"
    if auxiliary not in _DOING:
        return f"{auxiliary} {adverbs}{rest}"
    if auxiliary == "do":
        return f"{adverbs}{rest}"
    for _ in range(_MOST_VERBS):
        more = _PATTERNS["next_verb"].match(after)
        if not more or _PATTERNS["other_clause"].search(more["before"]):
            break
        # Each turn finds the next one: the form it leaves behind is not a verb of the list.
        after = f"{more['before']}{third_person(more['verb'])}{after[more.end() :]}"
    # "Does the response cites …?" has its form already.
    is_third = verb[0].endswith("s") and not verb[0].endswith(("ss", "us"))
    return f"{adverbs}{verb[0] if is_third else third_person(verb[0])}{after}"


def _find_base(participle: str) -> str | None:
    """The verb of a participle, if it is one that checklists use."""
    stem = participle.removesuffix("ed")
    guesses = (_PARTICIPLES.get(participle, ""), stem, f"{stem}e", f"{stem.removesuffix('i')}y", stem[:-1])
    return next(
        (guess for guess in guesses if guess != participle and _PATTERNS["checklist_verb"].fullmatch(guess)), None
    )


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]
