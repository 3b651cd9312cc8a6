"""What the fields of a criterion hold, guessed from their names and values; for `suggest_mapping`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from prorubric.datasets.mapped import parse_amount
from prorubric.datasets.shapes import TIER_WEIGHTS, unwrap_json

_LOOKED_AT = 200
"""Texts, and characters of each, in which words are counted."""
SENTENCE = 3
"""Words from which on a text is more than a name."""
_TEXTS = (
    *("criterion", "description", "requirement", "text", "rubric", "item", "question", "statement", "content", "name"),
    "criteria",
)
_MORE_TEXT = ("explanation", "detail", "guidance", "description", "definition")
TITLES = ("title", "name", "label", "heading", "criterion", "aspect")
_WEIGHTS = ("weight", "points", "pts", "marks", "importance", "value", "worth", "severity", "priority", "max")
GROUPS = ("dimension", "group", "axis", "category", "section", "aspect", "theme")
LEVELS = ("level", "performance", "anchor", "scale", "grade", "band")
ASIDES = ("why", "reason", "rationale", "note", "comment", "example", "evidence", "source", "url", "author", "model")
KINDS = ("id", "type", "category", "kind", "label", "source", "name", "weight", "title", "lang", "language", "domain")
"""Last words of names that say what something is called, and not what it says."""
_CHILDREN = ("children", "sub_tasks", "subtasks", "sub_criteria", "items", "nodes")
_IDS = ("id", "uid", "uuid", "index", "key", "qid", "slug", "ref")
_COUNTS = (*_IDS, "score", "order", "position", "number", "year", "page", "rank", "priority", "version")
"""Numbers that are not weights, unless their name says so."""
_FLAGS = {
    **dict.fromkeys(("is_positive", "positive", "good"), False),
    **dict.fromkeys(("is_negative", "negative", "pitfall", "is_pitfall", "penalty"), True),
}
_YES_NO = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_LABELS = ("polarity", "sentiment", "direction", "kind", "type", "sign")
BAD = ("negative", "pitfall", "penalt", "bad", "avoid", "undesirable", "detrimental", "must_not", "must not", "dont")
_WORDS = {
    **TIER_WEIGHTS,
    **dict.fromkeys(("critical", "blocker"), 4.0),
    **dict.fromkeys(("high", "major", "must", "must have"), 3.0),
    **dict.fromkeys(("medium", "moderate", "should", "should have"), 2.0),
    **dict.fromkeys(("low", "minor", "could", "nice to have"), 1.0),
}
# From the best to the worst.
_LEVEL_WORDS = (
    *("excellent", "outstanding", "exemplary", "full", "complete", "advanced", "strong", "exceeds", "high", "good"),
    *("proficient", "competent", "meets", "satisfactory", "adequate", "partial", "medium", "average", "fair"),
    *(
        "developing",
        "basic",
        "emerging",
        "beginning",
        "limited",
        "weak",
        "low",
        "poor",
        "unsatisfactory",
        "none",
        "fail",
    ),
)
_LEVEL_NAME = re.compile(
    r"(?:level|score|grade|band)?[ _-]*(\d+)(?:\s*[-–]\s*\d+)?(?:[ _-]*(?:description|points?|pts))?"
)


def propose_parts(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the fields of criteria that are objects hold."""
    columns: dict[str, list[Any]] = {}
    for entry in entries:
        for key, value in entry.items():
            if value is not None and value != "" and "." not in str(key):
                columns.setdefault(str(key), []).append(unwrap_json(value))
    levels = _propose_levels(columns)
    level_columns = levels.get("levels", [])
    texts = [
        key
        for key, found in columns.items()
        if is_text(found) and not all(map(is_number, found)) and key not in level_columns and not is_id(key)
    ]
    weight = propose_weight(columns)
    fields = _propose_text({key: columns[key] for key in texts if key != weight.get("weight")})
    fields |= weight | _propose_polarity(columns)
    used = [fields.get("text"), *(fields["text"] if isinstance(fields.get("text"), list) else [])]
    group = first(GROUPS, [key for key in texts if key not in used])
    if group and len(set(columns[group])) < len(columns[group]) == len(entries):
        fields["group"] = group
    children = next((key for key in columns if is_tree(key, entries)), None)
    return fields | levels | ({"children": children, "shares": True} if children else {})


def _propose_text(texts: Mapping[str, list[Any]]) -> dict[str, Any]:
    """The field that says what a criterion asks for, with its title or its explanation."""
    plain = [key for key in texts if last_word(key) not in KINDS and not has(key.lower(), ASIDES)] or [*texts]
    long = (key for key in plain if mean_words(texts[key]) >= SENTENCE)
    text = first(_TEXTS, plain) or next(long, None) or max(plain, key=lambda k: mean_words(texts[k]), default=None)
    if text is None:
        return {}
    more = first(_MORE_TEXT, [key for key in texts if key != text])
    title = first(TITLES, [key for key in texts if key != text and len({*texts[key]}) * 2 > len({*texts[text]})])
    return {"text": [text, more] if more else [title, text] if title else text}


def propose_weight(columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    """The field with the weight: a number, or words that stand for one."""
    for key in (name for part in _WEIGHTS for name in columns if part in name.lower() and not is_id(name)):
        if all(map(is_number, columns[key])):
            return {"weight": key}
        words = {str(value).strip().lower() for value in columns[key] if isinstance(value, str)}
        if words and words <= _WORDS.keys():
            return {"weight": key, "words": {word: _WORDS[word] for word in sorted(words)}}
    numbers = [key for key, found in columns.items() if all(map(is_number, found)) and key.lower() not in _FLAGS]
    signed = [key for key in numbers if min(map(parse_amount, columns[key])) < 0]  # a penalty must not be read as +1
    likely = signed or [key for key in numbers if not has(key.lower(), _COUNTS)]
    return {"weight": likely[0]} if len(likely) == 1 else {}


def _propose_polarity(columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    for key, found in columns.items():
        flag, said = _FLAGS.get(key.lower().replace(" ", "_")), {str(value).strip().lower() for value in found}
        if flag is not None and said <= _YES_NO.keys():
            bad = sorted({value for value in found if _YES_NO[str(value).strip().lower()] == flag})
            return {"polarity": {"at": key, "bad": bad or [flag]}}
        bad = sorted(word for word in said if word == "-" or has(word, BAD))
        if key.lower() in _LABELS and bad:
            return {"polarity": {"at": key, "bad": bad}}
    return {}


def _propose_levels(columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Descriptions of levels: an object, a list, or separate columns."""
    for key, (one, *_) in columns.items():
        named = has_word(key, LEVELS)
        if is_levels(one) or (named and isinstance(one, Mapping) and is_text(one.values())):
            return {"levels": key, "met": choose_met(list(one))}
        if named and isinstance(one, list) and is_text(one):
            return {"levels": key}
        if named and isinstance(one, list) and all(isinstance(level, Mapping) for level in one):
            text = propose_parts(one).get("text")
            number = first(("score", "level", *_WEIGHTS), [name for name in one[0] if is_number(one[0][name])])
            numbers = [parse_amount(level.get(number, 0)) for level in one]
            met = {"met": str(numbers.index(max(numbers)))} if number else {}
            return {"levels": f"{key}.*.{text if isinstance(text, str) else text[-1]}", **met} if text else {}
    own = [key for key, found in columns.items() if is_level_name(key) and is_text(found) and not is_number(found[0])]
    return {"levels": own, "met": choose_met(own)} if len(own) > 1 else {}


def is_levels(value: Any) -> bool:
    """True for an object that describes levels by their names."""
    return isinstance(value, Mapping) and len(value) > 1 and is_text(value.values()) and all(map(is_level_name, value))


def is_level_name(name: object) -> bool:
    """True for a name such as 1, score_5, 9-10 or excellent."""
    words = re.findall(r"[a-z]+", str(name).lower())
    return bool(_LEVEL_NAME.fullmatch(str(name).strip().lower()) or (words and words[0] in _LEVEL_WORDS))


def choose_met(names: list[Any]) -> str:
    """The best of the levels by their numbers or words, or else the last."""
    numbers = [int(found[-1]) if (found := re.findall(r"\d+", str(name))) else None for name in names]
    if all(number is not None for number in numbers):
        return str(names[max(range(len(names)), key=lambda index: numbers[index] or 0)])
    words = [(re.findall(r"[a-z]+", str(name).lower()) or [""])[0] for name in names]
    return str(next((names[words.index(best)] for best in _LEVEL_WORDS if best in words), names[-1]))


def is_tree(key: str, nodes: Sequence[Mapping[str, Any]]) -> bool:
    """True if a field holds the parts of a node, and one of them has parts again."""
    parts = [unwrap_json(node.get(key)) for node in nodes] if str(key).lower() in _CHILDREN else []
    return any(
        isinstance(part, Mapping) and part.get(key) for found in parts if isinstance(found, list) for part in found
    )


def is_text(found: Iterable[Any]) -> bool:
    """True if all of the values are text."""
    return all(isinstance(value, str) for value in found)


def is_number(value: Any) -> bool:
    """True for a number, or text of one."""
    try:
        parse_amount(value)
    except (TypeError, ValueError):
        return False
    return True


def is_id(name: str) -> bool:
    """True for the name of a field that holds names."""
    return name.lower() in _IDS or last_word(name) in ("id", "no", "nr")


def mean_words(texts: Sequence[str]) -> float:
    """The mean number of words."""
    # Chinese and Japanese have no spaces between words.
    some = [re.findall(r"[\u3040-\u9fff]|[^\s\u3040-\u9fff]+", text[:_LOOKED_AT]) for text in texts[:_LOOKED_AT]]
    return fmean(map(len, some)) if some else 0.0


def last_word(name: str) -> str:
    """The last word of a name such as user_request or userRequest, in lower case."""
    words: list[str] = re.findall(r"[A-Z]?[a-z]+", name)
    return words[-1].lower() if words else ""


def has(name: str, parts: Iterable[str]) -> bool:
    """True if a name contains one of the parts."""
    return any(part in name for part in parts)


def has_word(name: str, words: Iterable[str]) -> bool:
    """True if one of the words is a word of the name, in the singular or the plural."""
    return any(word.lower().removesuffix("s") in words for word in re.findall(r"[A-Z]?[a-z]+", name))


def first(parts: Iterable[str], names: list[str]) -> str | None:
    """The first name that contains one of the parts, in the order of the parts."""
    return next((name for part in parts for name in names if part in name.lower()), None)
