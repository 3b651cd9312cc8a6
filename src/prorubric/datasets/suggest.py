"""`suggest_mapping`: a mapping proposed from the first rows of a file, for a person to check and correct.

Fields are chosen by their names and by what they hold: the criteria are the list whose entries look most like
criteria, the prompt is the text whose name says so. Nothing here decides on its own: `convert --suggest` shows three
tasks as read, and every field that stays unused.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from prorubric.datasets.listed import is_listed
from prorubric.datasets.mapped import MappedSource
from prorubric.datasets.mapping import make_mapping
from prorubric.datasets.shapes import TIER_WEIGHTS, unwrap_json
from prorubric.errors import RubricError, SourceError
from prorubric.files.read import read_rows
from prorubric.rubric.base import Record
from prorubric.rubric.records import Task

_ROWS = 50
_SHOWN = 3
_DEEPEST = 4
_SHORT = 8

# Parts of names, the most telling first.
_PROMPTS = (
    "prompt",
    "question",
    "query",
    "instruction",
    "conversation",
    "message",
    "problem",
    "request",
    "input",
    "task",
)
_CRITERIA = (
    "rubric",
    "criteri",
    "checklist",
    "requirement",
    "decomposed",
    "expectation",
    "item",
    "standard",
    "question",
)
_TEXTS = (
    "criterion",
    "description",
    "requirement",
    "text",
    "rubric",
    "item",
    "question",
    "statement",
    "content",
    "name",
)
_MORE_TEXT = ("explanation", "detail", "guidance", "description", "definition")
_WEIGHTS = ("weight", "points", "pts", "marks", "importance", "value")
_GROUPS = ("dimension", "group", "axis", "category", "section", "aspect", "theme")
_FLAGS = {
    "is_positive": False,
    "positive": False,
    "is_negative": True,
    "negative": True,
    "pitfall": True,
    "penalty": True,
}
_LABELS = ("polarity", "sentiment", "direction", "kind", "type")
_BAD_WORDS = ("negative", "pitfall", "penalty", "bad", "avoid", "undesirable", "detrimental")
_LEVELS = ("level", "performance", "anchor", "scale", "grade")
_REFERENCES = ("reference", "ideal", "gold", "ground_truth", "solution")
_CHILDREN = ("children", "sub_tasks", "subtasks", "sub_criteria", "items", "nodes")
_IDS = ("id", "task_id", "prompt_id", "question_id", "uid", "uuid", "index", "key", "qid")


class Suggestion(Record):
    """A mapping for a file, and what it makes of the first rows."""

    path: str
    fields: dict[str, Any]
    """The mapping, as its file has it."""
    tasks: tuple[Task, ...]
    """The first tasks as read."""
    rows: int
    """How many rows were looked at."""
    rejected: dict[str, int]
    """Rows among them that this mapping cannot read, by reason."""
    unused: dict[str, int]
    """Fields that it does not use, with the number of rows that have them."""
    unused_share: float


def suggest_mapping(path: Path) -> Suggestion:
    """Propose a mapping; raises `SourceError` if nothing in the rows looks like a prompt or like criteria."""
    rows = [row.value for row in islice(read_rows(path), _ROWS) if row.value]
    if not rows:
        raise SourceError(f"{path}: no readable row to propose a mapping from")
    fields = _propose(rows, str(path))
    source, tasks, rejected = MappedSource(make_mapping(fields, str(path))), [], Counter[str]()
    for row in rows:
        try:
            tasks.append(source.parse(row))
        except RubricError as error:
            rejected[error.message] += 1
    shown = tuple(tasks[:_SHOWN])
    return Suggestion(
        path=str(path),
        fields=fields,
        tasks=shown,
        rows=len(rows),
        rejected=dict(rejected.most_common()),
        unused=dict(source.unused.most_common()),
        unused_share=source.unused_share,
    )


def _propose(rows: list[dict[str, Any]], path: str) -> dict[str, Any]:
    tree = next((key for key in rows[0] if key.lower() in _CHILDREN and isinstance(rows[0][key], list)), None)
    if tree:
        inner = _propose_inner(rows)
        return {"prompt": inner["text"], "criteria": ".", **inner, "children": tree, "shares": True}
    shapes = [dict(_walk(row)) for row in rows]
    values: dict[str, list[Any]] = {}
    for shape in shapes:
        for place, value in shape.items():
            values.setdefault(place, []).append(value)
    criteria = _choose(values, _rate_criteria)
    if criteria is None:
        raise SourceError(
            f"{path}: no field looks like a list of criteria; write the mapping by hand, see docs/rubric-files.md"
        )
    prompt = _choose(values, lambda place, found: _rate_prompt(place, found, criteria))
    if prompt is None:
        raise SourceError(f"{path}: no field looks like a prompt; write the mapping by hand, see docs/rubric-files.md")
    fields: dict[str, Any] = {}
    names = {place: place.rpartition(".")[2].lower() for place in values}
    for name in _IDS:
        ids = [
            place for place in values if names[place] == name and "." not in place and place not in (prompt, criteria)
        ]
        found = [str(value) for value in values[ids[0]]] if ids else []
        if ids and len(set(found)) == len(rows):
            fields["id"] = ids[0]
            break
    fields |= {"prompt": prompt, "criteria": criteria}
    entries = [entry for value in values[criteria] for entry in _list_entries(value)]
    grouped: dict[str, Any] = {}
    if all(_is_grouped(value) for value in values[criteria]):
        entries = [entry for value in values[criteria] for part in value.values() for entry in _list_entries(part)]
        grouped = {"criteria": f"{criteria}.*", "group": "{key}"}
    fields |= _propose_inner([entry for entry in entries if isinstance(entry, Mapping)]) | grouped
    shares = [place for place in values if grouped and _has_numbers_for(values[place][0], values[criteria][0])]
    if shares and isinstance(fields.get("weight"), str):
        fields["weight"] = [fields["weight"], f"/{shares[0]}.{{key}}"]
    reference = next((p for p in values if any(n in names[p] for n in _REFERENCES) and _is_text(values[p])), None)
    return fields | ({"reference": reference} if reference and reference not in (prompt, criteria) else {})


def _propose_inner(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the fields of criteria that are objects hold."""
    if not entries:
        return {}
    columns: dict[str, list[Any]] = {}
    for entry in entries:
        for key, value in entry.items():
            if value is not None:
                columns.setdefault(str(key), []).append(unwrap_json(value))
    texts = [key for key, found in columns.items() if _is_text(found)]
    fields: dict[str, Any] = {}
    text = _first(_TEXTS, texts) or max(texts, key=lambda key: sum(map(len, columns[key])), default=None)
    if text:
        more = _first(_MORE_TEXT, [key for key in texts if key != text])
        fields["text"] = [text, more] if more else text
    fields |= _propose_weight(columns) | _propose_polarity(columns)
    taken = fields.get("text")
    group = _first(_GROUPS, [key for key in texts if key not in (taken if isinstance(taken, list) else [taken])])
    if group and len(set(columns[group])) < len(columns[group]) == len(entries):
        fields["group"] = group
    levels = _first(_LEVELS, [key for key, found in columns.items() if isinstance(found[0], Mapping)])
    if levels:
        fields["levels"] = levels
        fields["met"] = next(iter(columns[levels][0]))
    children = next(
        (key for key, found in columns.items() if key.lower() in _CHILDREN and isinstance(found[0], list)), None
    )
    return fields | ({"children": children, "shares": True} if children else {})


def _propose_weight(columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    for key in (name for part in _WEIGHTS for name in columns if part in name.lower()):
        if all(map(_is_number, columns[key])):
            return {"weight": key}
        words = {str(value).strip().lower() for value in columns[key]}
        if words <= TIER_WEIGHTS.keys():
            return {"weight": key, "words": {word: TIER_WEIGHTS[word] for word in sorted(words)}}
    return {}


def _propose_polarity(columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    for key, found in columns.items():
        if key.lower() in _FLAGS and all(isinstance(value, bool) for value in found):
            return {"polarity": {"at": key, "bad": [_FLAGS[key.lower()]]}}
        bad = {str(value).strip().lower() for value in found} & set(_BAD_WORDS)
        if key.lower() in _LABELS and bad:
            return {"polarity": {"at": key, "bad": sorted(bad)}}
    return {}


def _walk(value: Mapping[str, Any], place: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    """Every field of a row with its path, objects opened."""
    for key, inner in value.items():
        if inner is None or "." in str(key):
            continue
        found, path = unwrap_json(inner), f"{place}{key}"
        yield path, found
        if isinstance(found, Mapping) and depth < _DEEPEST:
            yield from _walk(found, f"{path}.", depth + 1)


def _choose(values: Mapping[str, list[Any]], rate: Any) -> str | None:
    rated = {place: rate(place, found) for place, found in values.items()}
    best = max(rated, key=lambda place: rated[place], default=None)
    return best if best is not None and rated[best] > 0 else None


def _rate_criteria(place: str, found: list[Any]) -> float:
    name = place.rpartition(".")[2].lower()
    named = max((len(_CRITERIA) - i for i, part in enumerate(_CRITERIA) if part in name), default=0)
    value = found[0]
    if _is_grouped(value):
        inner = [entry for part in value.values() for entry in _list_entries(part)]
        return (
            named + 2.5 if inner and all(isinstance(entry, Mapping) and "role" not in entry for entry in inner) else 0.0
        )
    if isinstance(value, str):
        # An answer may be a list too, so a name counts for more.
        return named / 2 if named and "\n" in value else 0.5 if all(map(is_listed, found)) else 0.0
    entries = _list_entries(value) if isinstance(value, list) else []
    if not entries:
        return 0.0
    if all(isinstance(entry, Mapping) for entry in entries):
        texts = any(isinstance(inner, str) and len(inner) > _SHORT for inner in entries[0].values())
        messages = all("role" in entry for entry in entries)
        return named + (2.0 if texts and not messages else -len(_CRITERIA))
    return named + 1.0 if named and all(isinstance(entry, str) and len(entry) > _SHORT for entry in entries) else 0.0


def _rate_prompt(place: str, found: list[Any], criteria: str) -> float:
    if place == criteria or place.startswith(f"{criteria}."):
        return 0.0
    name = place.rpartition(".")[2].lower()
    named = max((len(_PROMPTS) - i for i, part in enumerate(_PROMPTS) if part in name), default=0)
    is_conversation = (
        isinstance(found[0], list) and found[0] and isinstance(found[0][0], Mapping) and "role" in found[0][0]
    )
    if not (is_conversation or _is_text(found)) or name.endswith(("_id", "_type", "_name", "_source")):
        return 0.0
    return named - place.count(".") / 10


def _is_grouped(value: Any) -> bool:
    """True for an object that holds lists of criteria by name."""
    return (
        isinstance(value, Mapping) and len(value) > 1 and all(isinstance(unwrap_json(v), list) for v in value.values())
    )


def _has_numbers_for(value: Any, groups: Mapping[str, Any]) -> bool:
    """True for an object with a number for each group."""
    return isinstance(value, Mapping) and value.keys() == groups.keys() and all(map(_is_number, value.values()))


def _list_entries(value: Any) -> list[Any]:
    value = unwrap_json(value)
    return [unwrap_json(entry) for entry in value] if isinstance(value, list) else [value]


def _is_text(found: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in found)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _first(parts: Iterable[str], names: list[str]) -> str | None:
    """The first name that contains one of the parts, in the order of the parts."""
    return next((name for part in parts for name in names if part in name.lower()), None)
