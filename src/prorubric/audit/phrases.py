"""What a criterion is about, taken from its own words: a name, a topic, a statement that meets it, its first half.

These are patterns over the English in which checklists are written ("Mentions that …", "Advises against …"); they and
their word lists are in `phrases.toml`, and a question is read as its statement. If a text fits none, the answer is None
and the edit is not made; nothing is guessed. A criterion that demands something without stating it ("explains why …",
"gives the dose") has no statement either: that would take knowledge. A name is found more often than a statement, since
any noun will do.
"""

import re
import tomllib
from functools import lru_cache
from pathlib import Path

from prorubric.text.criteria import read_direction, read_kind
from prorubric.text.questions import third_person, to_statement
from prorubric.text.sentences import list_sentences
from prorubric.text.words import find_content_words, is_content, stem

_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_WORDS = {name: frozenset(words.split()) for name, words in _DATA["words"].items()}
_GERUNDS: dict[str, str] = _DATA["gerunds"]
_AGREE: dict[str, str] = _DATA["agree"]
_MOST_WORDS, _MOST_NAME_WORDS = 60, 6
_LOOK_AT = 11  # five parts and the breaks between them
_DOING = "\x00"
"""Stands where a verb follows."""

LABELS: dict[str, tuple[str, ...]] = {topic["name"]: tuple(topic["labels"]) for topic in _DATA["topics"]}
"""Wordings of each topic, none of which says what it is about."""
GENERIC = frozenset(find_content_words(_DATA["words"]["generic"]))
"""Stems of the words of which a label such as "further checks" consists."""


_VERBS = {name: frozenset(verbs.split()) for name, verbs in _DATA["verbs"].items()}
_OPENING = _VERBS["saying"] | _VERBS["advising"] | _VERBS["listing"] | _VERBS["asking"]
_FORMS = {form: verb for verb in _OPENING for form in (verb, third_person(verb))}


# What the placeholders of the patterns stand for.
_FILLED = {**_DATA["parts"], "verbs": "|".join(sorted(map(third_person, _OPENING)))}
_PATTERNS = {
    name: re.compile(re.sub(r"%(\w+)%", lambda part: _FILLED[part[1]], pattern), re.VERBOSE)
    for name, pattern in _DATA["patterns"].items()
}
_CUES: dict[str, re.Pattern[str]] = {
    topic["name"]: re.compile(rf"\b(?:{topic['cues']})", re.IGNORECASE) for topic in _DATA["topics"] if "cues" in topic
}


def _opens(name: str, text: str) -> re.Match[str] | None:
    return _PATTERNS[name].match(text)


def _has(name: str, text: str) -> re.Match[str] | None:
    return _PATTERNS[name].search(text)


def _cut(name: str, text: str) -> str:
    """A text without what it opens with."""
    match = _opens(name, text)
    return text[match.end() :] if match else text


@lru_cache(maxsize=32_768)
def demand_of(text: str) -> str:
    """A criterion as a statement, without the aside that gives its reason, on one line, without its final full stop."""
    return " ".join(_PATTERNS["aside"].sub("", to_statement(text)).split()).rstrip(" .;")


@lru_cache(maxsize=32_768)
def _read(text: str) -> tuple[str, str] | None:
    """The verb that a demand opens with and what follows it; None if it opens otherwise or is too long to be one."""
    demand = demand_of(text)
    if demand.count(" ") >= _MOST_WORDS or read_direction(text) == "fault":
        return None
    opening, _, rest = _cut("adverbs", _cut("subject", demand)).partition(" ")
    verb = _FORMS.get(opening.lower().rstrip(","))
    # "State of the art" opens with a noun, and so does "Notes of …".
    if verb is None or not rest or rest.startswith("of "):
        return None
    again = _opens("again", rest)
    return (_FORMS[again[1]], rest[again.end() :]) if again else (verb, _cut("manner", rest))


def topic_of(text: str) -> str:
    """What kind of thing a criterion asks for; `LABELS` has wordings for each kind that give nothing away."""
    demand = demand_of(text)
    return next((topic for topic, cues in _CUES.items() if cues.search(demand)), "other")


@lru_cache(maxsize=32_768)
def statement_of(text: str) -> str | None:
    """A sentence that meets the criterion with what the criterion itself says, or None."""
    demand, read = demand_of(text), _read(text)
    is_one = len(list_sentences(demand)) <= 1
    if read is None or not is_one or read_kind(text) == "formatting":
        # What "Avoids recommending antibiotics" asks for can be said; what else is avoided is met by silence.
        refusal = _opens("refusal", demand) if is_one else None
        return _finish(f"I would not recommend {_cut('to_person', refusal[1])}") if refusal else None
    halves = _PATTERNS["second_verb"].split(demand, maxsplit=1)
    if len(halves) > 1:
        said = [statement_of(half) for half in halves]
        return None if None in said else " ".join(map(str, said))
    made = (make(*read) for make in (_state_clause, _state_advice, _ask, _state_items))
    sentence = next((sentence for sentence in made if sentence is not None), None)
    return None if sentence is None else _finish(sentence)


def _state_clause(verb: str, rest: str) -> str | None:
    """From "states that it is safe": "it is safe"."""
    clause = _cut("that", rest)
    if verb not in _VERBS["saying"] or clause == rest or _opens("unsaid", clause):
        return None
    finite = _has("finite", clause)
    # "Recommends that it be stopped" is a wish; "suggests that it is safe" is not.
    is_wish = verb in _VERBS["proposing"] and (finite is None or finite[1] == "be")
    clause = re.sub(r"\b(and|or|but)\s+that\s+", r"\1 ", clause)
    return f"I recommend that {clause}" if is_wish and not re.match(r"(?:if|when)\b", clause) else clause


def _state_advice(verb: str, rest: str) -> str | None:
    """From "advises the patient to call": "call"; from "advises against aspirin": "I advise against aspirin"."""
    if verb not in _VERBS["advising"] | _VERBS["ordering"]:
        return None
    told = _cut("to_person", rest)
    is_addressed = told != rest
    if told.startswith("against "):
        what = told.removeprefix("against ")
        doing, _, object_ = what.partition(" ")
        return f"Do not {_GERUNDS[doing]} {object_}" if doing in _GERUNDS and object_ else f"I advise against {what}"
    if re.match(r"(?:of|about)\s", told) and verb in ("warn", "caution", "remind"):
        topic = told.split(" ", 1)[1]
        return None if _opens("wh", topic) else f"Be aware of {topic}"
    to = re.match(r"(?:(not|never)\s+)?to\s+(?:also\s+)?(?=[a-z])", told)
    if to and (is_addressed or verb in _VERBS["proposing"] | _VERBS["ordering"]):
        order = ("Do not " if to[1] else "") + re.sub(r"\b(and|or)\s+to\s+", r"\1 ", told[to.end() :])
        has_other_demand = re.search(r"\b(?:and|or)\s+that\b", order)
        return None if has_other_demand else order
    is_listed = _has("items", told) and not re.match(r"\w{3,}ing\b", told)
    if verb not in _VERBS["proposing"] or _opens("no_advice", told) or is_listed:
        return None
    return f"I recommend {'that you ' if is_addressed and _opens('base', told) else ''}{told}"


def _ask(verb: str, rest: str) -> str | None:
    """From "asks how long": "Could you tell me how long?"."""
    if verb not in _VERBS["asking"]:
        return None
    asked = _cut("unsure", _cut("addressed", rest))
    if _opens("wh", asked):
        return f"Could you tell me {asked}?"
    if into := re.match(r"(about|for|regarding|into|on)\s+", asked):
        return f"Could you tell me {'' if into[1] == 'for' else 'about '}{asked[into.end() :]}?"
    if verb not in ("request", "seek") or asked.startswith("to "):
        return None
    return f"Could you tell me more about {asked}?"


def _state_items(verb: str, rest: str) -> str | None:
    """From "lists causes such as A and B": "causes include A and B". All of a list is more than a part of it."""
    if verb not in _VERBS["listing"]:
        return None
    listing = _cut("with", rest)
    told = _cut("list_of", listing)
    items = _has("items", told)
    if items is None or items.start() <= 2:
        # A list without its items would have to be known.
        unknown = verb not in _VERBS["naming"] or told != listing or _opens("wh", told) or _opens("no_name", told)
        return None if unknown else f"One more point here is {told}"
    head, listed = told[: items.start()].rstrip(" ,"), told[items.end() :]
    if "(" in items[0]:
        if not listed.endswith(")"):
            return None  # something follows the bracket, and would follow the list
        listed = listed[:-1]
    if any(_opens(name, head) for name in ("wh", "doing_first", "vague", "no_name")) or head.count(" ") > 25:
        return None
    noun = _PATTERNS["after_noun"].split(head, maxsplit=1)[0]
    if noun.endswith("s") and not noun.endswith("ss"):
        return f"{head} include {listed}"
    # What one thing includes is less certain: the list may belong to a word further in.
    return None if head.count(" ") > 6 or _has("not_one", head) else f"{head} includes {listed}"


def _finish(sentence: str) -> str | None:
    """One sentence, said to the person, capital first; None if it speaks of the answer instead of its subject."""
    if _has("self", sentence):
        return None

    def address(match: re.Match[str]) -> str:
        verb = match[2]
        is_third = verb.endswith("s") and len(verb) > 3 and not verb.endswith(("ss", "us", "ways", "times", "haps"))
        return f"you {match[1] or ''}{_AGREE.get(verb, verb[:-1] if is_third else verb)}"

    said = _PATTERNS["user_verb"].sub(address, sentence)
    said = _PATTERNS["user"].sub(lambda match: "your" if match[1] else "you", said)
    # "pH" and "q = 0" stay as they are.
    said = said[0].upper() + said[1:] if said[:2].islower() or said.startswith("a ") else said
    return said if said.endswith(("?", '."', ".”")) else f"{said.rstrip(' .,;:')}."


@lru_cache(maxsize=32_768)
def name_of(text: str) -> str | None:
    """A short phrase that names what a criterion is about without saying anything of it, or None."""
    demand, read = demand_of(text), _read(text)
    if read_kind(text) == "formatting" or _has("strange", demand):
        return None
    if read:
        rest = read[1]
    else:  # a demand that opens with any other verb: a name needs no more than what follows it
        opening = _opens("any_verb", demand)
        is_short = demand.count(" ") < _MOST_WORDS and len(list_sentences(demand)) == 1
        if not opening or not is_short or read_direction(text) == "fault":
            return None
        rest = demand[opening.end() :]
    rest = _cut("list_of", _cut("personal", _cut("opening", _cut("personal", rest))))
    if _opens("no_name", rest) and not rest.startswith(("to ", "not to ")):
        return None
    if order := re.match(r"(?:not\s+)?to\s+(?:also\s+)?([a-z]+)\s+", rest):
        rest = f"{_make_gerund(order[1])} {rest[order.end() :]}"
    rest = _PATTERNS["links"].sub(lambda link: f", {_DOING} " if link[1] else ",", rest.removeprefix("that "))
    parts = _PATTERNS["break"].split(rest)
    for part, before in zip(parts[:_LOOK_AT:2], ["", *parts[1::2]], strict=False):
        # A verb follows "that" and "which"; what follows "to" is a thing only with a determiner.
        is_thing = bool({*part.split(maxsplit=1)[:1]} & _WORDS["determiners"])
        can_name = is_thing if before == "to" else before not in ("that", "which", "who", "not")
        name = _trim(part) if can_name else None
        if name is not None:
            return name
    return None


def _trim(part: str) -> str | None:
    """The part as a name if it can be one: short, with a word that says something, not a verb alone, not a figure."""
    words = part.split()
    if len(words) > _MOST_NAME_WORDS:
        words = re.split(r"\s(?:and|or)\s", part, maxsplit=1)[0].split()
    if words[:1] == [_DOING]:
        words = [word for word in words if not word.endswith("ly")]
        is_deed = len(words) >= 3 and words[1] not in _WORDS["no_doing"]
        words = [_make_gerund(words[1]), *words[2:]] if is_deed else []
    while words and words[0].lower() in _WORDS["empty"] | _WORDS["empty_opening"]:
        words = words[1:]
    while words and words[-1].lower() in ("and", "or"):
        words = words[:-1]
    is_particular = any(_says_something(word) and stem(word.lower()) not in GENERIC for word in words)
    if not is_particular or len(words) > _MOST_NAME_WORDS or _has("figure", part):
        return None
    if len(words) == 1 and not _PATTERNS["one_word"].fullmatch(words[0]):
        return None
    return None if words[-1].lower() in _WORDS["determiners"] | _WORDS["no_last"] else " ".join(words)


def _make_gerund(verb: str) -> str:
    if verb.endswith("e") and not verb.endswith("ee") and verb != "be":
        return verb[:-1] + "ing"
    doubled = re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]|begin|refer", verb)
    return verb + (verb[-1] if doubled else "") + "ing"


def _says_something(word: str) -> bool:
    lower = word.lower().strip("'’")
    return len(lower) > 2 and is_content(lower) and lower not in _WORDS["empty"] | _WORDS["determiners"]


@lru_cache(maxsize=32_768)
def first_requirement(text: str) -> str | None:
    """The first of several requirements, worded as a separate criterion; None if there is only one."""
    demand = demand_of(text)
    if _read(text) is None or _has("alternatives", demand):
        return None
    sentences = list_sentences(demand)
    if len(sentences) > 1:
        return sentences[0]
    for name in ("second_verb", "and_more"):
        first, *more = _PATTERNS[name].split(demand, maxsplit=1)
        if more and _is_enough(first, fewest=1):
            return first
    series = _opens("series", demand)
    if series and " or " not in demand and _is_enough(series["first"]) and _has_its_verb(demand, series["first"]):
        return series["first"]
    first, *more = _PATTERNS["and"].split(demand, maxsplit=1)
    whole = more and "," not in first and not _has("between", first) and _has_its_verb(demand, first)
    return first if whole and _is_enough(first) else None


def _has_its_verb(demand: str, part: str) -> bool:
    """False if a clause is cut before its verb: "that A, B and C are" cannot end after A."""
    clause, kept = demand.partition(" that ")[2], part.partition(" that ")[2]
    return not _has("links", clause) or bool(_has("links", kept))


def _is_enough(part: str, fewest: int = 2) -> bool:
    """Whether a part says something by itself and opens no bracket that the rest closes."""
    said = sum(_says_something(word.strip(",.;:()")) for word in part.split())
    return said >= fewest and part.count("(") == part.count(")")
