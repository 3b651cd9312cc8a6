"""What a criterion is about, taken from its own words: a name, a topic, a statement that meets it, its first half.

These are patterns over the English in which checklists are written ("Mentions that …", "Advises against …"). Where a
text does not fit one, the answer is None and the edit is not made; nothing is guessed. What a criterion demands without
saying it ("explains why …", "gives the dose") has no statement either: it would have to be known, and is not written
there. The name of a thing is found more often than a statement, since any noun will do.
"""

import re
from functools import lru_cache
from typing import Literal

from prorubric.text.criteria import read_direction, read_kind
from prorubric.text.sentences import list_sentences
from prorubric.text.words import find_content_words, is_content, stem

Topic = Literal["asking", "form", "warning", "checks", "later", "causes", "handling", "background", "other"]

LABELS: dict[Topic, tuple[str, ...]] = {
    "asking": ("what is still unknown", "open questions"),
    "form": ("how it is put", "points of style"),
    "warning": ("what to look out for", "possible problems"),
    "checks": ("further checks", "ways to find out more"),
    "later": ("what comes next", "follow-up"),
    "causes": ("possible causes", "where it comes from"),
    "handling": ("what can be done", "the various options"),
    "background": ("the background", "the wider picture"),
    "other": ("other considerations", "related matters"),
}
"""Wordings of each topic, none of which says what it is about."""

GENERIC = frozenset(
    find_content_words(
        """further other additional related various possible potential general usual common wider broader different
        several some more next later steps step checks check ways way options option points point matters matter aspects
        aspect considerations consideration questions question background picture causes cause origins problems problem
        issues issue topics topic areas area sides side follow-up followup find out look comes come done unknown open
        still put style concerns concern factors factor details detail information context measures measure things thing
        practical everyday worth considering consider keeping mind relevant important part parts whole overall subject
        discuss discussed mention mentioned thought thoughts think thinking explore explored there also besides well
        such as signs sign symptoms advice support help care practice handling form tone wording limits limit caveats
        uncertainties uncertainty alternatives alternative timing planning preparation review follow future reasons
        reason explanation monitoring prevention management treatment diagnosis testing evaluation assessment safety
        risks risk lifestyle medication medications history changes solutions instruction instructions targets elements
        understanding approach plan strategies resources guidance answer""",
    )
)
"""Words of which a label such as "further checks" consists. None of them is a thing that an item could be about."""

_CUE_WORDS: tuple[tuple[Topic, str], ...] = (
    ("asking", r"asks?\b|inquir|seeks?\b|clarif|request|whether"),
    ("form", r"tone\b|format|concise|wording|empath|style|headings?\b|bullet|table\b|length\b|words\b"),
    ("warning", r"red flag|warn|emergenc|urgent|danger|risk|severe|contraindic|side effects?|caution|avoid|against"),
    ("checks", r"tests?\b|testing|scan|imaging|x-ray|lab|exam|measur|monitor|check|screen|culture|biops|calculat"),
    ("later", r"follow[- ]?up|appointment|return|afterwards|next step|consult|see a |refer|visit|later|then\b"),
    ("causes", r"caus|because|why\b|due to|diagnos|differential|reason|mechanism|origin"),
    ("handling", r"treat|medicat|dose|dosage|therap|recommend|suggest|advis|steps?\b|option|instruct|remed|use\b"),
    ("background", r"explain|defin|describ|discuss|states?\b|evidence|stud|research|source|history|notes?\b"),
)
_CUES = tuple((topic, re.compile(rf"\b(?:{cues})", re.IGNORECASE)) for topic, cues in _CUE_WORDS)

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


def _forms(words: str) -> dict[str, str]:
    """Every form in which a verb may open a demand, with the verb itself."""
    forms: dict[str, str] = {}
    for verb in words.split():
        third = (
            verb[:-1] + "ies" if verb.endswith(("fy", "ry")) else verb + ("es" if verb.endswith(("ss", "sh")) else "s")
        )
        forms |= {verb: verb, third: verb}
    return forms


_SAYING = _forms(
    """state mention explain note indicate clarify emphasize emphasise highlight inform add remind acknowledge recognize
    recognise identify specify report stress warn say tell describe conclude confirm reassure outline define discuss
    underline underscore caution reiterate show advise recommend suggest include point counsel hedge convey educate
    encourage urge instruct summarize summarise list propose determine observe establish"""
)
_ADVISING = _forms(
    """advise recommend suggest encourage urge instruct direct tell remind counsel caution warn ask prompt guide propose
    invite"""
)
_ORDERING = frozenset("say indicate remind state mention note emphasize emphasise stress".split())
"""What can be followed by "to call …" without saying whom."""
_PROPOSING = frozenset("advise recommend suggest encourage urge propose".split())
_LISTING = _forms(
    """mention include list name note reference cite acknowledge identify highlight specify state contain enumerate add
    give provide offer outline describe discuss present recommend suggest explain refer warn emphasize emphasise advise
    share report define document detail record summarize"""
)
_NAMING = frozenset("mention include name note reference cite acknowledge highlight contain specify add refer".split())
_ASKING = _forms("ask inquire request seek query prompt question clarify")
_VERBS = _SAYING | _ADVISING | _LISTING | _ASKING
_MANNER = re.compile(r"(?:(?!only\b|likely\b|early\b|daily\b|family\b)\w+ly,?\s+|also\s+)+", re.IGNORECASE)
_AGAIN = re.compile(
    rf"(?:and|or)\s+(?:\w+ly\s+)?({'|'.join(form for form, verb in _VERBS.items() if form != verb)})\s+"
)
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
_GERUNDS = {
    "using": "use", "taking": "take", "giving": "give", "stopping": "stop", "eating": "eat", "drinking": "drink",
    "driving": "drive", "applying": "apply", "putting": "put", "starting": "start", "inducing": "induce",
    "ignoring": "ignore", "relying": "rely", "delaying": "delay", "smoking": "smoke", "swimming": "swim",
    "moving": "move", "touching": "touch", "rubbing": "rub", "sharing": "share", "buying": "buy", "waiting": "wait",
    "sending": "send", "making": "make", "increasing": "increase", "doing": "do", "performing": "perform",
}  # fmt: skip
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
_AGREE = {
    "has": "have",
    "is": "are",
    "was": "were",
    "does": "do",
    "isn't": "aren't",
    "doesn't": "don't",
    "hasn't": "haven't",
    "goes": "go",
}
_USER_VERB = re.compile(r"\b(?:the|a)\s+(?:user|asker)\s+((?:also|always|often|sometimes|currently)\s+)?(\w+(?:'t)?)")
_NO_VERB = ("ss", "us", "ways", "times", "haps")
_USER = re.compile(r"\b(?:the|a)\s+(?:users?|asker)(['’]s)?(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=32_768)
def demand_of(text: str) -> str:
    """A criterion without the aside that gives its reason, on one line, without its final full stop."""
    return " ".join(_ASIDE.sub("", text).split()).rstrip(" .;")


@lru_cache(maxsize=32_768)
def _read(text: str) -> tuple[str, str] | None:
    """The verb that a demand opens with and what follows it; None where it opens otherwise or is too long to be one."""
    demand = demand_of(text)
    if demand.count(" ") >= _MOST_WORDS or read_direction(text) == "fault":
        return None
    opening, _, rest = _cut(_ADVERBS, _cut(_SUBJECT, demand)).partition(" ")
    verb = _VERBS.get(opening.lower().rstrip(","))
    # "State of the art" opens with a noun, and so does "Notes of …".
    if verb is None or not rest or rest.startswith("of "):
        return None
    again = _AGAIN.match(rest)
    return (_VERBS[again[1]], rest[again.end() :]) if again else (verb, _cut(_MANNER, rest))


def _cut(pattern: re.Pattern[str], text: str) -> str:
    """A text without what it opens with."""
    match = pattern.match(text)
    return text[match.end() :] if match else text


# --- statements


@lru_cache(maxsize=32_768)
def statement_of(text: str) -> str | None:
    """A sentence that meets the criterion with what the criterion itself says, or None."""
    read = _read(text)
    if read is None or len(list_sentences(demand_of(text))) > 1 or read_kind(text) == "formatting":
        return _state_refusal(text)
    halves = _SECOND_VERB.split(demand_of(text), maxsplit=1)
    if len(halves) > 1:
        said = [statement_of(half) for half in halves]
        return None if None in said else " ".join(map(str, said))
    verb, rest = read
    for make in (_state_clause, _state_advice, _ask, _state_items):
        made = make(verb, rest)
        if made is not None:
            return _finish(made)
    return None


def _state_refusal(text: str) -> str | None:
    """What "Avoids recommending antibiotics" asks for can be said; what else is avoided is met by silence."""
    match = re.match(
        r"(?:\w+\s+){0,2}?(?:avoids?|refrains?\s+from|does\s+not|doesn['’]t|should\s+not)\s+"
        r"(?:recommend|advis|suggest|encourag)(?:ing|e|)?\s+(?!that\b|how\b|or\b|and\b)(.+)$",
        demand_of(text),
        re.IGNORECASE,
    )
    if match is None or len(list_sentences(demand_of(text))) > 1:
        return None
    return _finish(f"I would not recommend {_cut(_TO_PERSON, match[1])}")


def _state_clause(verb: str, rest: str) -> str | None:
    if verb not in _SAYING.values():
        return None
    clause = _cut(_THAT, rest)
    if clause == rest or _UNSAID.match(clause):
        return None
    finite = _FINITE.search(clause)
    # "Recommends that it be stopped" is a wish; "suggests that it is safe" is none.
    wish = verb in _PROPOSING and (finite is None or finite[1] == "be") and not re.match(r"(?:if|when)\b", clause)
    clause = re.sub(r"\b(and|or|but)\s+that\s+", r"\1 ", clause)
    return f"I recommend that {clause}" if wish else clause


def _state_advice(verb: str, rest: str) -> str | None:
    if verb not in _ADVISING.values() and verb not in _ORDERING:
        return None
    addressed = _TO_PERSON.match(rest)
    told = rest[addressed.end() :] if addressed else rest
    if told.startswith("against "):
        return _state_against(told.removeprefix("against "))
    if re.match(r"(?:of|about)\s", told) and verb in ("warn", "caution", "remind"):
        topic = told.split(" ", 1)[1]
        return None if _WH.match(topic) else f"Be aware of {topic}"
    to = re.match(r"(?:(not|never)\s+)?to\s+(?:also\s+)?(?=[a-z])", told)
    if to and (addressed or verb in _PROPOSING or verb in _ORDERING):
        return _state_order(told[to.end() :], denied=to[1] is not None)
    doing = re.match(r"\w{3,}ing\b", told)
    if verb not in _PROPOSING or _NO_ADVICE.match(told) or (_ITEMS.search(told) and not doing):
        return None
    return f"I recommend {'that you ' if addressed and _BASE.match(told) else ''}{told}"


def _state_order(told: str, *, denied: bool) -> str | None:
    if re.search(r"\b(?:and|or)\s+that\b", told):
        return None  # a second demand of another form
    plain = re.sub(r"\b(and|or)\s+to\s+", r"\1 ", told)
    return f"Do not {plain}" if denied else plain


def _state_against(what: str) -> str:
    first, _, rest = what.partition(" ")
    return f"Do not {_GERUNDS[first]} {rest}" if first in _GERUNDS and rest else f"I advise against {what}"


def _ask(verb: str, rest: str) -> str | None:
    if verb not in _ASKING.values():
        return None
    asked = _cut(_UNSURE, _cut(_ADDRESSED, rest))
    if _WH.match(asked):
        return f"Could you tell me {asked}?"
    into = re.match(r"(about|for|regarding|into|on)\s+", asked)
    if into:
        return f"Could you tell me {'' if into[1] == 'for' else 'about '}{asked[into.end() :]}?"
    return (
        None if verb not in ("request", "seek") or asked.startswith("to ") else f"Could you tell me more about {asked}?"
    )


def _state_items(verb: str, rest: str) -> str | None:
    if verb not in _LISTING.values():
        return None
    # Where a part of a list is enough, all of it is more than enough.
    listing = _cut(_WITH, rest)
    told = _cut(_LIST_OF, listing)
    items = _ITEMS.search(told)
    if items and items.start() > 2:
        return _list_items(told, items)
    # A list without its items would have to be known.
    if verb not in _NAMING or told != listing or _WH.match(told) or _NO_NAME.match(told):
        return None
    return f"One more point here is {told}"


def _list_items(told: str, items: re.Match[str]) -> str | None:
    head, listed = told[: items.start()].rstrip(" ,"), told[items.end() :]
    if "(" in items[0]:
        if not listed.endswith(")"):
            return None  # something follows the bracket, and would follow the list
        listed = listed[:-1]
    if (
        _WH.match(head)
        or re.match(r"\w+ing\b", head)
        or _VAGUE.match(head)
        or _NO_NAME.match(head)
        or head.count(" ") > 25
    ):
        return None
    noun = _AFTER_NOUN.split(head, maxsplit=1)[0]
    if noun.endswith("s") and not noun.endswith("ss"):
        return f"{head} include {listed}"
    # What one thing includes is less certain: the list may belong to a word further in.
    return None if head.count(" ") > 6 or _NOT_ONE.search(head) else f"{head} includes {listed}"


def _finish(sentence: str) -> str | None:
    """One sentence, said to the person, capital first; None where it speaks of the answer instead of its subject."""
    if _SELF.search(sentence):
        return None
    said = _USER_VERB.sub(lambda m: f"you {m[1] or ''}{_agree(m[2])}", sentence)
    said = _USER.sub(lambda m: "your" if m[1] else "you", said)
    # "pH" and "q = 0" stay as they are.
    said = said[0].upper() + said[1:] if said[:2].islower() or said.startswith("a ") else said
    return said if said.endswith(("?", '."', ".”")) else f"{said.rstrip(' .,;:')}."


def _agree(verb: str) -> str:
    """The verb behind "the user" as it is behind "you"."""
    if verb in _AGREE:
        return _AGREE[verb]
    return verb[:-1] if verb.endswith("s") and len(verb) > 3 and not verb.endswith(_NO_VERB) else verb


# --- names


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
_DETERMINER = frozenset("a an the his her their your its any some this these those no each every".split())
_EMPTY = frozenset(
    """user user's users patient patient's patients person people it they he she you we there this that these those one
    i them him her something anything things thing fact following need possibility importance information details
    response list example examples least clear brief detailed specific appropriate relevant various several other
    it's its answer question advice guidance explanation description statement option options way ways asker women men
    adults children accurate possible names given and or tips""".split()
)
_EMPTY_OPENING = _EMPTY | {
    "very",
    "more",
    "most",
    "be",
    "been",
    "being",
    "only",
    "often",
    "usually",
    "already",
    "still",
}
_NO_LAST = _DETERMINER | frozenset(
    """of and or other related generally possible common likely allergic associated suited raised used based often such
    than benign""".split()
)
_NO_DOING = frozenset("be have not also only always never then still".split())
# A short word alone may be a verb; a plural, a name or a long word is a thing.
_ONE_WORD = re.compile(r"(?!\w+(?:ly|ed|ing)$)(?:[A-Z].*|.*[\d-].*|\w{3,}s|\w{8,})")
_MOST_NAME_WORDS = 6
_LOOK_AT = 11  # five parts and the breaks between them
_FIGURE = re.compile(r"(?<![\w-])[\d£$€%]|(?<!\w)['’]|['’](?!\w)")
_STRANGE = re.compile(r"[^\x00-\u024f\u2000-\u22ff]")
_PERSONAL = re.compile(rf"(?:to\s+)?(?:{_PERSON})\s+", re.IGNORECASE)
_OPENING = re.compile(r"(?:with|of|about|for|out|on|the\s+fact|whether|if)\s+")


@lru_cache(maxsize=32_768)
def name_of(text: str) -> str | None:
    """A short phrase that names what a criterion is about without saying anything of it, or None."""
    read = _read(text) or _read_any(text)
    if read is None or read_kind(text) == "formatting" or _STRANGE.search(demand_of(text)):
        return None
    rest = _cut(_LIST_OF, _cut(_PERSONAL, _cut(_OPENING, _cut(_PERSONAL, read[1]))))
    if _NO_NAME.match(rest) and not rest.startswith(("to ", "not to ")):
        return None
    order = re.match(r"(?:not\s+)?to\s+(?:also\s+)?([a-z]+)\s+", rest)
    if order:
        rest = f"{_make_gerund(order[1])} {rest[order.end() :]}"
    clause = _LINKS.sub(lambda link: f", {_DOING} " if link[1] else ",", _cut(re.compile(r"that\s+"), rest))
    parts = _BREAK.split(clause)
    breaks = ["", *parts[1::2]]
    names = (_trim(part) for part, before in zip(parts[:_LOOK_AT:2], breaks, strict=False) if _can_name(part, before))
    return next((name for name in names if name is not None), None)


def _can_name(part: str, before: str) -> bool:
    """False behind "that" and "which", where a verb follows, and behind "to" unless a thing does."""
    if before == "to":
        return part.split(maxsplit=1)[:1] != [] and part.split(maxsplit=1)[0] in _DETERMINER
    return before not in ("that", "which", "who", "not")


def _read_any(text: str) -> tuple[str, str] | None:
    """The same for a demand that opens with any other verb; a name needs no more than what follows it."""
    demand = demand_of(text)
    opening = _ANY_VERB.match(demand)
    short = demand.count(" ") < _MOST_WORDS and len(list_sentences(demand)) == 1
    return ("", demand[opening.end() :]) if opening and short and read_direction(text) != "fault" else None


def _make_gerund(verb: str) -> str:
    if verb.endswith("e") and not verb.endswith("ee") and verb != "be":
        return verb[:-1] + "ing"
    doubled = re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]|begin|refer", verb)
    return verb + (verb[-1] if doubled else "") + "ing"


def _trim(part: str) -> str | None:
    """The part as a name, where it can be one: short, with a word that says something, no verb alone, no figure."""
    words = part.split()
    if len(words) > _MOST_NAME_WORDS:
        words = re.split(r"\s(?:and|or)\s", part, maxsplit=1)[0].split()
    if words[:1] == [_DOING]:
        words = [word for word in words if not word.endswith("ly")]
        words = [] if len(words) < 3 or words[1] in _NO_DOING else [_make_gerund(words[1]), *words[2:]]
    while words and words[0].lower() in _EMPTY_OPENING:
        words = words[1:]
    while words and words[-1].lower() in ("and", "or"):
        words = words[:-1]
    if not any(map(_is_particular, words)) or len(words) > _MOST_NAME_WORDS or _FIGURE.search(part):
        return None
    if len(words) == 1 and not _ONE_WORD.fullmatch(words[0]):
        return None
    return None if words[-1].lower() in _NO_LAST else " ".join(words)


def _is_particular(word: str) -> bool:
    """True for a word that could tell one item from another."""
    return _says_something(word) and stem(word.lower()) not in GENERIC


def _says_something(word: str) -> bool:
    lower = word.lower().strip("'’")
    return len(lower) > 2 and is_content(lower) and lower not in _EMPTY and lower not in _DETERMINER


def topic_of(text: str) -> Topic:
    """What kind of thing a criterion asks for; `LABELS` has wordings for each kind that give nothing away."""
    demand = demand_of(text)
    return next((topic for topic, cues in _CUES if cues.search(demand)), "other")


# --- halves


_SECOND_VERB = re.compile(
    r",?\s+(?:and|while|but)\s+(?:also\s+|then\s+|clearly\s+|explicitly\s+)?(?=(?:"
    + "|".join(sorted(form for form, verb in _VERBS.items() if form != verb))
    + r")\b)"
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
def first_requirement(text: str) -> str | None:
    """The first of several requirements, worded as a criterion of its own; None where there is only one."""
    demand = demand_of(text)
    if _read(text) is None or _ALTERNATIVES.search(demand):
        return None
    sentences = list_sentences(demand)
    if len(sentences) > 1:
        return sentences[0]
    for pattern in (_SECOND_VERB, _AND_MORE):
        parts = pattern.split(demand, maxsplit=1)
        if len(parts) > 1 and _is_enough(parts[0], fewest=1):
            return parts[0]
    series = _SERIES.match(demand)
    if series and " or " not in demand and _is_enough(series["first"]) and _has_its_verb(demand, series["first"]):
        return series["first"]
    parts = _AND.split(demand, maxsplit=1)
    whole = len(parts) > 1 and not _BETWEEN.search(parts[0]) and _has_its_verb(demand, parts[0])
    return parts[0] if whole and _is_enough(parts[0]) and "," not in parts[0] else None


def _has_its_verb(demand: str, part: str) -> bool:
    """False where a clause is cut before its verb: "that A, B and C are" cannot end behind A."""
    clause = demand.partition(" that ")[2]
    return not (_LINKS.search(clause) and not _LINKS.search(part.partition(" that ")[2]))


def _is_enough(part: str, fewest: int = 2) -> bool:
    """True where a part says something by itself and opens no bracket that the rest closes."""
    said = sum(_says_something(word.strip(",.;:()")) for word in part.split())
    return said >= fewest and part.count("(") == part.count(")")
