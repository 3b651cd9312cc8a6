"""What a criterion is about, taken from its own words: a name, a topic, a statement that meets it, its first half.

These are patterns over the English in which checklists are written ("Mentions that …", "Advises against …"); their
word lists are in `phrases.toml`. If a text fits none, the answer is None and the edit is not made; nothing is guessed.
A criterion that demands something without stating it ("explains why …", "gives the dose") has no statement either:
that would take knowledge. A name is found more often than a statement, since any noun will do.
"""

import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Literal

from prorubric.text.criteria import read_direction, read_kind
from prorubric.text.sentences import list_sentences
from prorubric.text.words import find_content_words, is_content, stem

Topic = Literal["asking", "form", "warning", "checks", "later", "causes", "handling", "background", "other"]

_DATA = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_WORDS = {name: frozenset(words.split()) for name, words in _DATA["words"].items()}
_GERUNDS: dict[str, str] = _DATA["gerunds"]
_AGREE: dict[str, str] = _DATA["agree"]

LABELS: dict[Topic, tuple[str, ...]] = {topic["name"]: tuple(topic["labels"]) for topic in _DATA["topics"]}
"""Wordings of each topic, none of which says what it is about."""

GENERIC = frozenset(find_content_words(_DATA["words"]["generic"]))
"""Stems of the words of which a label such as "further checks" consists."""

_CUES: tuple[tuple[Topic, re.Pattern[str]], ...] = tuple(
    (topic["name"], re.compile(rf"\b(?:{topic['cues']})", re.IGNORECASE))
    for topic in _DATA["topics"]
    if "cues" in topic
)


def _list_forms(verbs: str) -> dict[str, str]:
    """Each form in which a verb can open a demand, with the verb itself."""
    forms: dict[str, str] = {}
    for verb in verbs.split():
        ending = "es" if verb.endswith(("ss", "sh")) else "s"
        forms |= {verb: verb, (verb[:-1] + "ies" if verb.endswith(("fy", "ry")) else verb + ending): verb}
    return forms


_FORMS = {name: _list_forms(verbs) for name, verbs in _DATA["verbs"].items()}
_VERBS = {name: frozenset(forms.values()) for name, forms in _FORMS.items()}
_ALL_FORMS = _FORMS["saying"] | _FORMS["advising"] | _FORMS["listing"] | _FORMS["asking"]
_THIRD_PERSON = "|".join(sorted(form for form, verb in _ALL_FORMS.items() if form != verb))

_ASIDE = re.compile(r"\(\s*justification\b.*$", re.IGNORECASE | re.DOTALL)
_MOST_WORDS = 60
_SUBJECT = re.compile(
    r"(?:(?:the|this|an?)\s+)?(?:response|answer|reply|output|model|assistant|completion|chatbot|it)s?\s+"
    r"(?:(?:should|must|shall|needs?\s+to|has\s+to|ought\s+to)\s+(?:also\s+)?)?|(?:should|must|needs\s+to)\s+",
    re.IGNORECASE,
)
_ADVERBS = re.compile(
    r"(?:(?!in\w+ly\b|un\w+ly\b|mis\w+ly\b|false?ly\b|wrongly\b|excessively\b|overly\b|only\b)"
    r"\w+ly,?\s+(?:(?:and|but|or)\s+(?=\w+ly\b))?|also\s+|at\s+least\s+|further\s+)+",
    re.IGNORECASE,
)
_PERSON = (
    r"(?:(?:the|this|that|an?|their|any)\s+)?(?:user|patient|reader|customer|person|parent|caregiver|individual"
    r"|asker|seller"
    r"|student|client|mother|woman|man|clinician|physician|provider|writer)s?(?:\s+asking)?(?!['’\w-])|(?:him|her"
    r"|them|you|people|tenants|users)\b"
)
_TO_PERSON = re.compile(rf"(?:(?:to|for)\s+)?(?:{_PERSON})\s+", re.IGNORECASE)
_WH = re.compile(r"(?:why|how|what|when|where|which|who|whose|whether|if|ways?\s+(?:to|of|in))\b", re.IGNORECASE)
_UNSAID = re.compile(r"(?:why|how|what|which|who|whose|whether)\b", re.IGNORECASE)
_SELF = re.compile(
    r"\b(?:responses?|answers?|reply|replies|paragraphs?|bullet(?:ed|s)?|headings?|tables?|format\w*"
    r"|subject\s+line|sentences?"
    r"|tone|word\s+(?:limit|count)|rubric|criteri\w+|jargon|conversation|the\s+(?:prompt|scene|notice|email|story|poem|"
    r"text|question|user['’]s\s+(?:question|message|request)))\b|\b\d+\s+words\b",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"(?:\w+\s+){0,2}?(?:avoids?|refrains?\s+from|does\s+not|doesn['’]t|should\s+not)\s+"
    r"(?:recommend|advis|suggest|encourag)(?:ing|e|)?\s+(?!that\b|how\b|or\b|and\b)(.+)$",
    re.IGNORECASE,
)
_DOING_FIRST = re.compile(r"\w+ing\b")
_MANNER = re.compile(r"(?:(?!only\b|likely\b|early\b|daily\b|family\b)\w+ly,?\s+|also\s+)+", re.IGNORECASE)
_AGAIN = re.compile(rf"(?:and|or)\s+(?:\w+ly\s+)?({_THIRD_PERSON})\s+")
_THAT = re.compile(
    rf"(?:out\s+|to\s+(?=that))?(?:(?:to\s+)?(?:{_PERSON})\s+)?(?:about\s+)?(?:the\s+fact\s+)?that\s+", re.IGNORECASE
)
_FINITE = re.compile(r"^.{0,80}?\b(should|may|might|can|could|must|will|would|is|are|has|have|does|be)\b")
_NO_ADVICE = re.compile(
    rf"(?:{_WH.pattern}|(?:at|for|on|with|in|against|as|by|or|and|no|only|a\s+few|various|one|two|three"
    rf"|several)\s|[^\w“\"'(])",
    re.IGNORECASE,
)
_BASE = re.compile(r"(?!with\b|for\b|on\b|about\b|in\b|who\b|and\b|or\b|is\b)[a-z]+\b(?<!ing)(?<!ed)\s")
_ADDRESSED = re.compile(rf"(?:{_PERSON})\s+", re.IGNORECASE)
_UNSURE = re.compile(
    r"(?:for\s+)?(?:(?:further|more|additional)\s+)?(?:clarification|clarity|information|details?|context)\s+"
    r"(?:(?:about|on|regarding|of|as\s+to)\s+)?"
)
_WITH = re.compile(rf"(?:to\s+)?(?:{_PERSON})\s+(?:with|of|about)\s+|to\s+(?=the\b|an?\b)", re.IGNORECASE)
_NO_NAME = re.compile(r"(?:to|in|on|at|by|as|for|no|not|nothing|none|and|or)\b|$", re.IGNORECASE)
_AFTER_NOUN = re.compile(
    r",?\s+(?:of|for|that|which|who|in|on|with|to|where|when|from|at|about|regarding|after|if|during)\b"
)
_NOT_ONE = re.compile(r"\b(?:to|if|when|or)\b|^\w+ing\b")
_VAGUE = re.compile(
    r"the\s+(?:lack|importance|need|role|effect|use|value|differences?|relationship|absence)\b", re.IGNORECASE
)
_ITEMS = re.compile(
    r"(?:\s*\(?,?\s*(?:including|such\s+as|like|e\.g\.,?|namely|for\s+example,?)|\s*:)\s+(?!the\s+following)",
    re.IGNORECASE,
)
_LIST_OF = re.compile(
    r"(?:(?:an?|the|some|several|at\s+least)\s+)?(?:\w+\s+){0,2}?(?:list|examples?|number|range|overview|summary"
    r"|variety)\s+"
    r"(?:of|that\s+includes)\s+|(?:the\s+)?following\s+(?:as\s+)?|(?:at\s+least\s+)?(?:one|two|three|four|five"
    r"|\d+|some|several)\s+(?:of\s+(?:the\s+)?(?:following\s+)?)?"
    r"|(?:the\s+)?(?:presence|fact|possibility|existence)\s+of\s+",
    re.IGNORECASE,
)
_ALTERNATIVES = re.compile(r"\bat\s+least\b|\beither\b|\bone\s+of\b|\band/or\b|\bany\s+of\b", re.IGNORECASE)
_USER_VERB = re.compile(r"\b(?:the|a)\s+(?:user|asker)\s+((?:also|always|often|sometimes|currently)\s+)?(\w+(?:'t)?)")
_USER = re.compile(r"\b(?:the|a)\s+(?:users?|asker)(['’]s)?(?!\w)", re.IGNORECASE)

# Names
_LINKS = re.compile(
    r"\b(?:(may|might|can|could|should|would|will|must|does|do|did|cannot)|is|are|was|were|has|have|had|needs?"
    r"|requires?|isn't|aren't|occurs?|causes?(?!\s+(?:of|for|such)\b)|means|helps?|includes?|indicates?|makes?|takes?"
    r"|comes?|leads?|seems?|appears?|depends?|allows?|gives?|shows?|reduces?|increases?|prevents?|contains?|produces?"
    r"|affects?|improves?|provides?)\b"
)
_DOING = "\x00"
"""Stands where a verb follows."""
_BREAK = re.compile(
    r"([,;:.!?()\[\]“”\"–—/]|\b(?:that|which|who|whom|whose|when|where|while|because|since|if|unless|as|than|so"
    r"|but|with"
    r"|without|for|from|to|in|on|at|by|into|about|against|after|before|during|due|including|such|via|per|between"
    r"|within|like|until"
    r"|over|under|through|whether|how|why|what|not|then|also|using|based|according|rather|instead|even|both"
    r"|either|often|usually)\b|\s-\s)"
)
_ANY_VERB = re.compile(
    r"(?!Does|Is\b|Has\b|Was\b|Responses|This|Uses|Keeps|Avoids|Refrains|Answers|Offers\sno|Steps|Always|Focuses|Yes)"
    r"[A-Z][a-z]+s\s+(?:out\s+|clear\s+|to\s+|with\s+)?(?:that\s+)?(?!of\b|is\b|are\b|no\b)"
)
# A short word alone may be a verb; a plural, a name or a long word is a thing.
_ONE_WORD = re.compile(r"(?!\w+(?:ly|ed|ing)$)(?:[A-Z].*|.*[\d-].*|\w{3,}s|\w{8,})")
_MOST_NAME_WORDS = 6
_LOOK_AT = 11  # five parts and the breaks between them
_FIGURE = re.compile(r"(?<![\w-])[\d£$€%]|(?<!\w)['’]|['’](?!\w)")
_STRANGE = re.compile(r"[^\x00-\u024f\u2000-\u22ff]")
_PERSONAL = re.compile(rf"(?:to\s+)?(?:{_PERSON})\s+", re.IGNORECASE)
_OPENING = re.compile(r"(?:with|of|about|for|out|on|the\s+fact|whether|if)\s+")

# Halves
_SECOND_VERB = re.compile(
    rf",?\s+(?:and|while|but)\s+(?:also\s+|then\s+|clearly\s+|explicitly\s+)?(?=(?:{_THIRD_PERSON})\b)"
)
_AND_MORE = re.compile(
    r";\s+|,?\s+(?:as\s+well\s+as|along\s+with|in\s+addition\s+to|but\s+also|together\s+with|while\s+also)\s+"
)
_SERIES = re.compile(r"^(?P<first>[^,]{8,}?),\s+(?:[^,]+,\s+)*[^,]*?\band\s+(?!/)[^,]+$")
_AND = re.compile(
    r"\s+and\s+(?=(?:the|an?|to|that|how|why|when|where|what|whether|his|her|their|your|its|any|not|should|can"
    r"|may|must|is|are|has|\w+ing)\b)"
)
_BETWEEN = re.compile(r"\b(?:between|both|either|from)\b|\band/or\b", re.IGNORECASE)


@lru_cache(maxsize=32_768)
def demand_of(text: str) -> str:
    """A criterion without the aside that gives its reason, on one line, without its final full stop."""
    return " ".join(_ASIDE.sub("", text).split()).rstrip(" .;")


@lru_cache(maxsize=32_768)
def _read(text: str) -> tuple[str, str] | None:
    """The verb that a demand opens with and what follows it; None if it opens otherwise or is too long to be one."""
    demand = demand_of(text)
    if demand.count(" ") >= _MOST_WORDS or read_direction(text) == "fault":
        return None
    opening, _, rest = _cut(_ADVERBS, _cut(_SUBJECT, demand)).partition(" ")
    verb = _ALL_FORMS.get(opening.lower().rstrip(","))
    # "State of the art" opens with a noun, and so does "Notes of …".
    if verb is None or not rest or rest.startswith("of "):
        return None
    again = _AGAIN.match(rest)
    return (_ALL_FORMS[again[1]], rest[again.end() :]) if again else (verb, _cut(_MANNER, rest))


def _cut(pattern: re.Pattern[str], text: str) -> str:
    """A text without what it opens with."""
    match = pattern.match(text)
    return text[match.end() :] if match else text


def topic_of(text: str) -> Topic:
    """What kind of thing a criterion asks for; `LABELS` has wordings for each kind that give nothing away."""
    demand = demand_of(text)
    return next((topic for topic, cues in _CUES if cues.search(demand)), "other")


@lru_cache(maxsize=32_768)
def statement_of(text: str) -> str | None:
    """A sentence that meets the criterion with what the criterion itself says, or None."""
    demand, read = demand_of(text), _read(text)
    is_one = len(list_sentences(demand)) <= 1
    if read is None or not is_one or read_kind(text) == "formatting":
        # What "Avoids recommending antibiotics" asks for can be said; what else is avoided is met by silence.
        refusal = _REFUSAL.match(demand) if is_one else None
        return _finish(f"I would not recommend {_cut(_TO_PERSON, refusal[1])}") if refusal else None
    halves = _SECOND_VERB.split(demand, maxsplit=1)
    if len(halves) > 1:
        said = [statement_of(half) for half in halves]
        return None if None in said else " ".join(map(str, said))
    made = (make(*read) for make in (_state_clause, _state_advice, _ask, _state_items))
    sentence = next((sentence for sentence in made if sentence is not None), None)
    return None if sentence is None else _finish(sentence)


def _state_clause(verb: str, rest: str) -> str | None:
    """From "states that it is safe": "it is safe"."""
    clause = _cut(_THAT, rest)
    if verb not in _VERBS["saying"] or clause == rest or _UNSAID.match(clause):
        return None
    finite = _FINITE.search(clause)
    # "Recommends that it be stopped" is a wish; "suggests that it is safe" is not.
    is_wish = verb in _VERBS["proposing"] and (finite is None or finite[1] == "be")
    clause = re.sub(r"\b(and|or|but)\s+that\s+", r"\1 ", clause)
    return f"I recommend that {clause}" if is_wish and not re.match(r"(?:if|when)\b", clause) else clause


def _state_advice(verb: str, rest: str) -> str | None:
    """From "advises the patient to call": "call"; from "advises against aspirin": "I advise against aspirin"."""
    if verb not in _VERBS["advising"] and verb not in _VERBS["ordering"]:
        return None
    addressed = _TO_PERSON.match(rest)
    told = rest[addressed.end() :] if addressed else rest
    if told.startswith("against "):
        what = told.removeprefix("against ")
        doing, _, object_ = what.partition(" ")
        return f"Do not {_GERUNDS[doing]} {object_}" if doing in _GERUNDS and object_ else f"I advise against {what}"
    if re.match(r"(?:of|about)\s", told) and verb in ("warn", "caution", "remind"):
        topic = told.split(" ", 1)[1]
        return None if _WH.match(topic) else f"Be aware of {topic}"
    to = re.match(r"(?:(not|never)\s+)?to\s+(?:also\s+)?(?=[a-z])", told)
    if to and (addressed or verb in _VERBS["proposing"] or verb in _VERBS["ordering"]):
        order = re.sub(r"\b(and|or)\s+to\s+", r"\1 ", told[to.end() :])
        has_other_demand = re.search(r"\b(?:and|or)\s+that\b", told[to.end() :])
        return None if has_other_demand else f"{'Do not ' if to[1] else ''}{order}"
    doing_first = re.match(r"\w{3,}ing\b", told)
    if verb not in _VERBS["proposing"] or _NO_ADVICE.match(told) or (_ITEMS.search(told) and not doing_first):
        return None
    return f"I recommend {'that you ' if addressed and _BASE.match(told) else ''}{told}"


def _ask(verb: str, rest: str) -> str | None:
    """From "asks how long": "Could you tell me how long?"."""
    if verb not in _VERBS["asking"]:
        return None
    asked = _cut(_UNSURE, _cut(_ADDRESSED, rest))
    if _WH.match(asked):
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
    listing = _cut(_WITH, rest)
    told = _cut(_LIST_OF, listing)
    items = _ITEMS.search(told)
    if items is None or items.start() <= 2:
        # A list without its items would have to be known.
        unknown = verb not in _VERBS["naming"] or told != listing or _WH.match(told) or _NO_NAME.match(told)
        return None if unknown else f"One more point here is {told}"
    head, listed = told[: items.start()].rstrip(" ,"), told[items.end() :]
    if "(" in items[0]:
        if not listed.endswith(")"):
            return None  # something follows the bracket, and would follow the list
        listed = listed[:-1]
    if any(pattern.match(head) for pattern in (_WH, _DOING_FIRST, _VAGUE, _NO_NAME)) or head.count(" ") > 25:
        return None
    noun = _AFTER_NOUN.split(head, maxsplit=1)[0]
    if noun.endswith("s") and not noun.endswith("ss"):
        return f"{head} include {listed}"
    # What one thing includes is less certain: the list may belong to a word further in.
    return None if head.count(" ") > 6 or _NOT_ONE.search(head) else f"{head} includes {listed}"


def _finish(sentence: str) -> str | None:
    """One sentence, said to the person, capital first; None if it speaks of the answer instead of its subject."""
    if _SELF.search(sentence):
        return None

    def address(match: re.Match[str]) -> str:
        verb = match[2]
        is_third = verb.endswith("s") and len(verb) > 3 and not verb.endswith(("ss", "us", "ways", "times", "haps"))
        return f"you {match[1] or ''}{_AGREE.get(verb, verb[:-1] if is_third else verb)}"

    said = _USER.sub(lambda match: "your" if match[1] else "you", _USER_VERB.sub(address, sentence))
    # "pH" and "q = 0" stay as they are.
    said = said[0].upper() + said[1:] if said[:2].islower() or said.startswith("a ") else said
    return said if said.endswith(("?", '."', ".”")) else f"{said.rstrip(' .,;:')}."


@lru_cache(maxsize=32_768)
def name_of(text: str) -> str | None:
    """A short phrase that names what a criterion is about without saying anything of it, or None."""
    demand, read = demand_of(text), _read(text)
    if read_kind(text) == "formatting" or _STRANGE.search(demand):
        return None
    if read:
        rest = read[1]
    else:  # a demand that opens with any other verb: a name needs no more than what follows it
        opening = _ANY_VERB.match(demand)
        is_short = demand.count(" ") < _MOST_WORDS and len(list_sentences(demand)) == 1
        if not opening or not is_short or read_direction(text) == "fault":
            return None
        rest = demand[opening.end() :]
    rest = _cut(_LIST_OF, _cut(_PERSONAL, _cut(_OPENING, _cut(_PERSONAL, rest))))
    if _NO_NAME.match(rest) and not rest.startswith(("to ", "not to ")):
        return None
    if order := re.match(r"(?:not\s+)?to\s+(?:also\s+)?([a-z]+)\s+", rest):
        rest = f"{_make_gerund(order[1])} {rest[order.end() :]}"
    parts = _BREAK.split(_LINKS.sub(lambda link: f", {_DOING} " if link[1] else ",", rest.removeprefix("that ")))
    for part, before in zip(parts[:_LOOK_AT:2], ["", *parts[1::2]], strict=False):
        # A verb follows "that" and "which"; what follows "to" is a thing only with a determiner.
        is_thing = part.split(maxsplit=1)[:1] and part.split(maxsplit=1)[0] in _WORDS["determiners"]
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
    if not is_particular or len(words) > _MOST_NAME_WORDS or _FIGURE.search(part):
        return None
    if len(words) == 1 and not _ONE_WORD.fullmatch(words[0]):
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
    if _read(text) is None or _ALTERNATIVES.search(demand):
        return None
    sentences = list_sentences(demand)
    if len(sentences) > 1:
        return sentences[0]
    for pattern in (_SECOND_VERB, _AND_MORE):
        first, *more = pattern.split(demand, maxsplit=1)
        if more and _is_enough(first, fewest=1):
            return first
    series = _SERIES.match(demand)
    if series and " or " not in demand and _is_enough(series["first"]) and _has_its_verb(demand, series["first"]):
        return series["first"]
    first, *more = _AND.split(demand, maxsplit=1)
    whole = more and "," not in first and not _BETWEEN.search(first) and _has_its_verb(demand, first)
    return first if whole and _is_enough(first) else None


def _has_its_verb(demand: str, part: str) -> bool:
    """False if a clause is cut before its verb: "that A, B and C are" cannot end after A."""
    clause = demand.partition(" that ")[2]
    return not _LINKS.search(clause) or bool(_LINKS.search(part.partition(" that ")[2]))


def _is_enough(part: str, fewest: int = 2) -> bool:
    """Whether a part says something by itself and opens no bracket that the rest closes."""
    said = sum(_says_something(word.strip(",.;:()")) for word in part.split())
    return said >= fewest and part.count("(") == part.count(")")
