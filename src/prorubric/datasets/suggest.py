"""`suggest_mapping`: a mapping proposed from the first rows of a file, for a person to check and correct.

Every place of the rows is rated by what it holds and by its name: the criteria are the place whose entries look most
like criteria, the prompt is a text that says so or that differs from row to row. Nothing here decides on its own:
`convert --suggest` shows three tasks as read, and every field that stays unused. What cannot be decided is left out,
with a note and a list of what the rows hold.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any

from prorubric.datasets.listed import is_listed
from prorubric.datasets.mapped import open_mapped, parse_amount, spread_rows
from prorubric.datasets.mapping import make_mapping
from prorubric.datasets.parts import (
    ASIDES,
    BAD,
    GROUPS,
    KINDS,
    LEVELS,
    SENTENCE,
    TITLES,
    choose_met,
    first,
    has,
    has_word,
    is_id,
    is_level_name,
    is_levels,
    is_number,
    is_text,
    is_tree,
    last_word,
    mean_words,
    propose_parts,
    propose_weight,
)
from prorubric.datasets.shapes import unwrap_json
from prorubric.errors import RubricError, SourceError
from prorubric.files.read import Row, read_rows
from prorubric.rubric.base import Record
from prorubric.rubric.records import Task
from prorubric.text.show import count

_ROWS = 50
_SHOWN = 3
_LISTED = 40
_DEEPEST = 8
_LIKELY = 0.45
"""The score from which on a place is taken without a look at plain columns: items in a text have more."""
_LOOKED_AT = 20
"""Entries of a list, or names of an object, that are looked at."""

# Parts of names, the most telling first.
_PROMPTS = (
    *("prompt", "question", "query", "instruction", "conversation", "message", "problem", "request", "input", "task"),
    *("scenario", "user"),
)
_CRITERIA = (
    *("rubric", "criteri", "checklist", "requirement", "decomposed", "expectation", "item", "standard", "question"),
    "check",
)
_REFERENCES = ("reference", "ideal", "gold", "ground_truth", "solution")
_ANSWERS = (*_REFERENCES, "answer", "response", "completion", "output", "reply", "example", "message", "conversation")

_Pairs = list[tuple[str | int | None, Any]]
"""What the rows hold at a place, each with what the last `*` met: a name, or a position in a list."""


class Suggestion(Record):
    """A mapping for a file, and what it makes of the first rows."""

    path: str
    fields: dict[str, Any]
    """The mapping, as its file has it; without criteria if none were found."""
    note: str | None
    """What could not be decided."""
    places: dict[str, str]
    """If something could not be decided, what the rows hold, by path."""
    tasks: tuple[Task, ...]
    """The first tasks as read."""
    rows: int
    """How many rows were looked at."""
    rejected: dict[str, int]
    """Rows among them that this mapping cannot read, by reason."""
    unused: dict[str, int]
    """Fields that it does not use, with the number of rows that have them."""
    unused_share: float


@dataclass(frozen=True, slots=True)
class _Criteria:
    """A place that may hold the criteria."""

    place: str
    entries: list[Any]
    keys: list[str]
    """The name of each entry, or of the list that it is in."""
    score: float
    named: bool
    single: bool = False
    """Each value is one criterion, and no list of them."""

    @property
    def objects(self) -> list[Mapping[str, Any]]:
        """The entries that have fields."""
        return [entry for entry in self.entries if isinstance(entry, Mapping)]


def suggest_mapping(path: Path) -> Suggestion:
    """Propose a mapping; raises `SourceError` for a file without readable rows."""
    rows = list(islice(read_rows(path), _ROWS))
    values = [row.value for row in rows if row.value]
    if not values:
        raise SourceError(f"{path}: no readable row to propose a mapping from")
    fields = _propose(values)
    note = None if "criteria" in fields else "no field looks like a list of criteria"
    tasks, rejected, shown, unused, share = [], Counter[str](), fields, dict[str, int](), 0.0
    if fields["prompt"] == "=":
        note, shown = note or "no field looks like a prompt", {**fields, "prompt": "=(no prompt in the file)"}
    if "criteria" in fields:
        opened, source = open_mapped(rows, make_mapping(shown, str(path)))
        for row in opened:
            try:
                if row.value is None:
                    raise row.explain()
                tasks.append(source.parse(row.value))
            except RubricError as error:
                rejected[error.message] += 1
        unused, share = dict(source.unused.most_common()), source.unused_share
    return Suggestion(
        path=str(path),
        fields=fields,
        note=note,
        places=_describe_places(values) if note else {},
        tasks=tuple(tasks[:_SHOWN]),
        rows=len(values),
        rejected=dict(rejected.most_common()),
        unused=unused,
        unused_share=share,
    )


def _propose(rows: list[dict[str, Any]]) -> dict[str, Any]:
    tree = next((key for key in rows[0] if is_tree(key, [rows[0]])), None)
    if tree:
        inner = propose_parts(rows)
        return {"prompt": inner["text"], "criteria": ".", **inner, "children": tree, "shares": True}
    places = _collect(rows)
    candidates = [found for place, pairs in places.items() if (found := _rate_criteria(place, pairs))]
    # What merely holds lists of criteria is passed over.
    entries = [found for found in candidates if not any(_is_section(found, other) for other in candidates)]
    criteria = max(entries, key=lambda found: found.score, default=None)
    if criteria is None or criteria.score < _LIKELY:
        flat = _propose_flat(rows)
        if flat:
            return flat
    at = criteria.place if criteria else "."
    rated = {place: _rate_prompt(place, [v for _, v in pairs], at) for place, pairs in places.items()}
    prompt = max(rated, key=lambda place: rated[place], default="=")
    prompt = prompt if rated.get(prompt) else "="
    if criteria is None:
        return {"prompt": prompt}
    above, star, _ = prompt.rpartition(".*.") if ".*." in prompt else prompt.rpartition("*.")
    if star:
        spread = spread_rows((Row(1, value=row) for row in rows), above or ".")
        return {"rows": above or ".", **_propose([row.value for row in islice(spread, _ROWS) if row.value])}
    fields = _propose_id(rows, [[row] for row in rows], (prompt, criteria.place)) | {"prompt": prompt}
    fields |= _propose_criteria(criteria, places)
    for place, pairs in places.items():
        is_free = "*" not in place and place not in (prompt, criteria.place)
        if is_free and has(_last(place), _REFERENCES) and is_text(value for _, value in pairs):
            return fields | {"reference": place}
    return fields


def _propose_criteria(found: _Criteria, places: Mapping[str, _Pairs]) -> dict[str, Any]:
    """Where the criteria are, with the parts of each, its group, and what makes it bad."""
    fields: dict[str, Any] = {"criteria": found.place} | propose_parts(found.objects)
    if found.single:
        return fields | _propose_single(found, places, fields)
    if found.place.endswith("*"):
        return fields | _propose_lists(found, places, fields)
    if found.place.rpartition(".")[0].endswith("*"):
        return fields | _propose_section(found.place.rpartition(".")[0], places, fields)
    return fields | _propose_siblings(found, places, fields)


def _propose_single(found: _Criteria, places: Mapping[str, _Pairs], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Criteria by name: the name is a part of the text, unless it is a number."""
    are_numbers = all(map(is_number, found.entries))
    key = [] if all(any(map(str.isdigit, name)) for name in found.keys) and not are_numbers else ["={key}"]
    own = fields.get("text", [] if are_numbers or found.objects else ".")
    text = [*key, *([own] if isinstance(own, str) else own)]
    more: dict[str, Any] = {"text": text if len(text) > 1 else text[0]} if key else {}
    more |= {"weight": "."} if are_numbers else {}
    if found.objects and all(map(is_levels, found.objects)):
        more |= {"levels": ".", "met": choose_met(list(found.objects[0]))}
    columns = places if found.place.rpartition(".")[2] != "*" else {}  # such as criterion1, criterion2, w1, w2, dont1
    numbered = {name for name in columns if re.search(r"\d", name) and re.sub(r"\d+", "*", name) in columns}
    for place, pairs in columns.items():
        if not _is_next_to(place, found.place):
            continue
        if place.endswith("*") and all(is_number(value) for _, value in pairs):
            more["weight"] = f"/{place.replace('*', '{key}')}"
        elif has(_last(place), BAD) and is_text(value for _, value in pairs) and place not in numbered:
            more.setdefault("criteria", [found.place]).append({"at": place, "polarity": "negative"})
    return more


def _propose_lists(found: _Criteria, places: Mapping[str, _Pairs], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Lists of criteria by name: the name is the group, may have a weight elsewhere, and may say that they are bad."""
    more: dict[str, Any] = {"group": "{key}"}
    numbers = {place: pairs[0][1] for place, pairs in places.items() if isinstance(pairs[0][1], Mapping)}
    is_share = {place: all(map(is_number, value.values())) for place, value in numbers.items()}
    share = next((place for place in numbers if is_share[place] and numbers[place].keys() == {*found.keys}), None)
    if share and isinstance(fields.get("weight"), str):
        more["weight"] = [fields["weight"], f"/{share}.{{key}}"]
    bad = sorted({key for key in found.keys if has(key.lower(), BAD)})
    entries = [entry for entry, key in zip(found.entries, found.keys, strict=True) if key in bad]
    return more | ({"polarity": {"at": "={key}", "bad": bad}} if bad and not _are_negative(fields, entries) else {})


def _propose_siblings(found: _Criteria, places: Mapping[str, _Pairs], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Lists of criteria next to each other: those to be avoided, or those that look alike and have no telling name."""
    paths: list[Any] = [found.place]
    more: dict[str, Any] = {}
    for place, pairs in places.items():
        if "*" in place or not _is_next_to(place, found.place):
            continue
        numbers = [one for _, value in pairs if isinstance(value, list) for one in value]
        if not found.objects and len(numbers) == len(found.entries) and all(map(is_number, numbers)):
            more["weight"] = f"/{place}.{{index}}"
        other = _rate_criteria(place, pairs)
        if other and has(_last(place), BAD):
            paths.append(place if _are_negative(fields, other.entries) else {"at": place, "polarity": "negative"})
        elif other and not found.named and _name_fields(other.entries) == _name_fields(found.entries):
            paths.append(place)
    return more | ({"criteria": paths, "group": "{key}"} if len(paths) > 1 else {})


def _propose_section(section: str, places: Mapping[str, _Pairs], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The group and the weight that criteria have from the section that holds them."""
    if section.count("*") > 1:  # `{key}` is only the last of them
        return {}
    below = {place: pairs for place, pairs in places.items() if place.rpartition(".")[0] == section}
    columns = {place.rpartition(".")[2]: [value for _, value in pairs] for place, pairs in below.items()}
    start = f"/{section.replace('*', '{key}')}."
    names = [key for key, found in columns.items() if is_text(found) and not all(map(is_number, found))]
    name = first((*TITLES, *GROUPS), names) or next(iter(names), None)
    is_list = isinstance(next(iter(below.values()))[0][0], int)
    group = {"group": start + name} if name else {} if is_list else {"group": "{key}"}
    weight = propose_weight(columns).get("weight")
    own = [fields["weight"]] if "weight" in fields else []
    return group | ({"weight": [*own, start + weight] if own else start + weight} if weight else {})


def _propose_flat(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """A mapping for rows of plain columns: each is a criterion, or some of its columns are."""
    columns = {str(key): [row[key] for row in rows if row.get(key) not in (None, "")] for key in rows[0]}
    columns = {key: found for key, found in columns.items() if found and "." not in key}
    texts = {key: found for key, found in columns.items() if is_text(found) and not all(map(is_number, found))}
    sentences = [
        key
        for key, found in texts.items()
        if mean_words(found) >= SENTENCE and not has(key.lower(), _ANSWERS) and not is_level_name(key)
    ]
    rated = {key: _rate_prompt(key, columns[key], ".") for key in columns}
    named = [key for key in sorted(rated, key=lambda key: -rated[key]) if rated[key] >= 1]
    repeated = [key for key in sentences if len({*columns[key]}) < len(columns[key]) and rated[key]]
    prompt = next(iter([*named, *repeated, *(key for key in sentences if rated[key])]), None)
    matched = [key for key in texts if key != prompt and has(key.lower(), _CRITERIA) and last_word(key) not in KINDS]
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(str(row.get(prompt or "", "")), []).append(row)
    fields = {**_propose_id(rows, list(groups.values()), (prompt or "",)), "prompt": prompt or "="}
    split = next((sign for sign in ";|" if len(matched) == 1 and all(sign in text for text in texts[matched[0]])), None)
    if split and prompt:
        return {**fields, "criteria": matched[0], "split_at": split}
    if len(groups) < len(rows) or len(matched) == 1:
        own = [key for key in rows[0] if key not in fields.values() and not has(str(key).lower(), _ANSWERS)]
        inner = propose_parts([{key: row.get(key) for key in own} for row in rows])
        return {**fields, "criteria": ".", **inner} if inner.get("text") else {}
    wide = matched or [key for key in sentences if key != prompt]
    return {**fields, "criteria": wide, "group": "{key}"} if prompt and len(wide) > 1 else {}


def _propose_id(
    rows: list[dict[str, Any]], tasks: list[list[dict[str, Any]]], taken: tuple[str, ...]
) -> dict[str, Any]:
    """A field with one name for each task; where several rows are one task, any field of single words will do."""
    for key in (key for key in rows[0] if key not in taken and all(row.get(key) is not None for row in rows)):
        names, found = [{str(row[key]) for row in task} for task in tasks], [row[key] for row in rows]
        is_word = len(tasks) < len(rows) and not any(map(is_number, found)) and mean_words([*map(str, found)]) == 1
        if (is_word or is_id(str(key))) and len(set().union(*names)) == len(tasks) == sum(map(len, names)):
            return {"id": key}
    return {}


def _collect(rows: Iterable[Mapping[str, Any]]) -> dict[str, _Pairs]:
    """What the rows hold, by place; only places that at least half of the rows have."""
    places: dict[str, _Pairs] = {}
    had, total = Counter[str](), 0
    for row in rows:
        total, before = total + 1, {place: len(pairs) for place, pairs in places.items()}
        for place, key, value in _walk(row):
            places.setdefault(place, []).append((key, value))
        had.update(place for place, pairs in places.items() if len(pairs) > before.get(place, 0))
    kept = {place: pairs for place, pairs in places.items() if had[place] * 2 >= total}
    # A `*` for only one name would take in what other names hold.
    return {
        place: pairs
        for place, pairs in kept.items()
        if not any(len(kept[other]) == len(pairs) and _is_one_of(other, place) for other in kept)
    }


def _is_one_of(place: str, general: str) -> bool:
    """True if a place is what a more general one is with a name in place of some `*`."""
    steps, others = place.split("."), general.split(".")
    return (
        place != general
        and len(steps) == len(others)
        and all(b in (a, "*") for a, b in zip(steps, others, strict=True))
    )


def _walk(
    value: Any, place: str = "", key: str | int | None = None, depth: int = 0
) -> Iterator[tuple[str, str | int | None, Any]]:
    """Every place below a value; `*` stands for the entries of a list, for names of a family, and for numbers."""
    if depth == _DEEPEST or not isinstance(value, Mapping | list):
        return
    if isinstance(value, list):
        for position, inner in enumerate(value[:_LOOKED_AT]):
            yield from _walk(unwrap_json(inner), f"{place}*.", position, depth + 1)
        return
    inners = {str(name): unwrap_json(inner) for name, inner in value.items() if inner is not None and inner != ""}
    is_family = len(inners) > 1 and len({_kind(inner) for inner in inners.values()}) == 1
    numbered = Counter(re.sub(r"\d+", "*", name) for name in inners)
    for name, inner in islice(inners.items(), _LOOKED_AT if is_family else None):
        steps: dict[str, str | int | None] = {name: key} if "." not in name else {}
        steps |= {"*": name} if is_family else {}
        pattern = re.sub(r"\d+", "*", name)
        if numbered[pattern] > 1 and pattern.count("*") == 1 and pattern != "*" and "." not in name:
            steps[pattern] = "".join(filter(str.isdigit, name))
        for step, met in steps.items():
            yield f"{place}{step}", met, inner
            yield from _walk(inner, f"{place}{step}.", met, depth + 1)


def _rate_criteria(place: str, pairs: _Pairs) -> _Criteria | None:
    name, values = _last(place), [value for _, value in pairs]
    named = max((len(_CRITERIA) - i for i, part in enumerate(_CRITERIA) if part in name), default=0)
    is_star = place.endswith("*") and isinstance(pairs[0][0], str)
    entries, keys = values, [str(key) for key, _ in pairs]
    if (is_star and len({*keys}) < 2) or is_level_name(name) or has_word(name, LEVELS):
        return None
    if all(isinstance(value, list) for value in values):
        keys = [key for key, value in zip(keys, values, strict=True) for _ in value]
        entries = [unwrap_json(entry) for value in values for entry in value]
        score = _rate_entries(entries, named) + 0.5 * (isinstance(pairs[0][0], str) and len({*keys}) > 1)
    elif is_text(values) and not is_star:
        score = named / 2 if named and "\n" in values[0] else 0.5 if all(map(is_listed, values)) else -1.0
    elif is_star and is_text(values):
        score = named + 1.0 if named or place.rpartition(".")[2] != "*" else -1.0
    elif is_star and all(map(is_number, values)):
        score = named + 1.5 if mean_words(keys) >= SENTENCE else -1.0
    elif is_star and all(isinstance(value, Mapping) for value in values):
        described = all(map(is_levels, values)) or {"weight", "levels"} & propose_parts(values).keys()
        score = _rate_entries(values, named) + 0.5 if named or described else -1.0
    else:
        return None
    if has(name, _ANSWERS) and not named:
        score = min(score, 0.3)
    score += place.count("*") / 10 - place.count(".") / 100  # what is true of many is likelier to be meant
    return _Criteria(place, entries, keys, score, bool(named), is_star and entries is values) if score > 0 else None


def _rate_entries(entries: list[Any], named: int) -> float:
    if not entries:
        return -1.0
    if all(isinstance(entry, Mapping) for entry in entries):
        is_told = all(map(is_levels, entries)) or "text" in propose_parts(entries)
        is_message = any("role" in entry for entry in entries)
        return named + 2.0 if is_told and not is_message else -1.0
    if not all(isinstance(entry, str | Mapping) for entry in entries):
        return -1.0
    words = mean_words([entry for entry in entries if isinstance(entry, str)])
    return named + 1.0 if named and words >= 1 else 0.4 if words >= 2 else -1.0


def _is_section(outer: _Criteria, inner: _Criteria) -> bool:
    """True if the entries of one place are not criteria but hold those of the other."""
    below = f"{outer.place}." if outer.single else f"{outer.place}.*."
    if not inner.place.startswith(below):
        return False
    inside = propose_parts(outer.objects).get("text", [])
    texts = [inside] if isinstance(inside, str) else inside
    words = [mean_words([str(one.get(key, "")) for one in outer.objects]) for key in texts]
    return max(words, default=0) < SENTENCE or (bool(inner.objects) and (inner.named or not outer.named))


def _rate_prompt(place: str, found: list[Any], criteria: str) -> float:
    name = _last(place)
    row = place[: place.rfind("*") + 1]
    # Not inside the criteria, and not in one of the entries that they come from, unless it stands for all of them.
    above = [criteria[: end + 1] for end, sign in enumerate(criteria) if sign == "*"]
    steps = {path: re.escape(f"{path}.").replace(r"\*", "[^.]+") for path in (criteria, *above)}
    inside = [path for path in steps if re.match(steps[path], f"{place}.")]
    is_one_of_many = any(path == criteria or not f"{place}.".startswith(f"{path}.") for path in inside)
    if is_one_of_many or place.endswith("*") or is_level_name(name) or not criteria.startswith(row):
        return 0.0
    named = max((len(_PROMPTS) - i for i, part in enumerate(_PROMPTS) if part in name), default=0)
    if isinstance(found[0], list) and found[0] and isinstance(found[0][0], Mapping) and "role" in found[0][0]:
        return max(named, len(_PROMPTS) / 2)
    words = mean_words(found) if is_text(found) else 0
    if words < (1 if named > len(_PROMPTS) / 2 else SENTENCE) or last_word(name) in KINDS:
        return 0.0
    if named:
        return named - place.count(".") / 10
    if has(name, (*_ANSWERS, *ASIDES, *TITLES, *GROUPS, "description", "requirement", "statement")):
        return 0.0
    different, asked = len({*found}) / len(found), fmean("?" in text for text in found)
    return 0.2 + 0.3 * different + 0.2 * asked + min(words, 50) / 250 - place.count(".") / 50


def _describe_places(rows: list[dict[str, Any]]) -> dict[str, str]:
    """What the rows hold; fields that `*` could stand for are listed by their own names."""
    own = {place: pairs for place, pairs in _collect(rows).items() if not isinstance(pairs[0][0], str)}
    described = {}
    for place, pairs in islice(own.items(), _LISTED):
        values = [value for _, value in pairs]
        if is_text(values):
            about = f"text, about {count(round(mean_words(values)), 'word')}, {len({*values}):,} different"
        else:
            entries = [entry for value in values if isinstance(value, list) for entry in value]
            keys = dict.fromkeys(str(key) for one in (*values, *entries) if isinstance(one, Mapping) for key in one)
            about = " or ".join(sorted({_kind(value) for value in values}))
            about += f" with {', '.join(list(keys)[:_LOOKED_AT])}" if keys else ""
        described[place] = about
    return described


def _kind(value: Any) -> str:
    kinds = {str: "text", list: "list", bool: "true or false", int: "number", float: "number"}
    return "object" if isinstance(value, Mapping) else kinds.get(type(value), "value")


def _is_next_to(place: str, other: str) -> bool:
    return place != other and place.rpartition(".")[0] == other.rpartition(".")[0]


def _name_fields(entries: list[Any]) -> set[str]:
    return {str(key) for entry in entries if isinstance(entry, Mapping) for key in entry}


def _are_negative(fields: Mapping[str, Any], entries: list[Any]) -> bool:
    path = fields.get("weight")
    weights = [entry.get(path) for entry in entries if isinstance(entry, Mapping) and isinstance(path, str)]
    return bool(weights) and all(is_number(weight) and parse_amount(weight) < 0 for weight in weights)


def _last(place: str) -> str:
    """The last step of a path that has a name."""
    return next((step for step in reversed(place.split(".")) if step != "*"), "").lower()
