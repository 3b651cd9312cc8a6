"""`plain`: rubric files as people write them, recognised by the names of their fields, ignoring case.

Two prompts or two rubrics in a row are refused; of other fields the first is read. Without a single weight each
criterion weighs 1; weights on some only are refused. An explanation and the highest level join a criterion's text, and
flags such as `is_positive` decide its sign. Other fields go into `meta`, and other keys of a criterion into its tags. A
table has a row for each criterion, grouped by id, or by prompt if there is no id.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from prorubric.datasets.ids import make_id
from prorubric.datasets.shapes import (
    DETAIL_KEYS,
    LEVEL_KEYS,
    SIGN_KEYS,
    TEXT_KEYS,
    TIER_KEYS,
    TIER_WEIGHTS,
    WEIGHT_KEYS,
    find_keys,
    find_numbers,
    keep_rest,
    list_entries,
    make_criterion,
    parse_id,
    parse_messages,
    parse_protocol,
    read_items,
    tag_rest,
    unwrap_json,
)
from prorubric.errors import RowError, RubricError
from prorubric.files.read import Row
from prorubric.rubric.records import Rubric, Task
from prorubric.text.show import show

NAME = "plain"

NEEDED = {
    "prompt": ("prompt", "question", "query", "messages"),
    "rubric": ("rubric", "rubrics", "criteria", "checklist"),
}
FIELDS = {
    **NEEDED,
    "id": ("id", "task_id", "prompt_id", "question_id"),
    "protocol": ("protocol",),
    "reference": ("reference", "reference_answer"),
    "domain": ("domain",),
    "source": ("source",),
    "meta": ("meta",),
}
USED = frozenset(name for names in FIELDS.values() for name in names)
_TABLE = {"id": FIELDS["id"], "prompt": NEEDED["prompt"], "criterion": (*TEXT_KEYS, *NEEDED["rubric"])}
_TEXTS = ("reference", "domain", "source")
_COLUMNS = (*TEXT_KEYS, *DETAIL_KEYS, *LEVEL_KEYS, *WEIGHT_KEYS, *TIER_KEYS, *SIGN_KEYS, "tags", "check")

_SHOWN_KEYS = 20
EXAMPLE = (
    'a row that works: {"prompt": "How do I boil an egg?", "rubric": [{"criterion": "Says how long", "weight": 3}]}'
)
EXAMPLE_TABLE = (
    "a table that works has the line prompt,criterion,weight and one for each criterion, "
    "such as How do I boil an egg?,Says how long,3"
)


def fits(row: Mapping[str, Any]) -> bool:
    """A prompt and a rubric, by any of their names."""
    return NEEDED.keys() <= find_keys(row, NEEDED).keys()


def parse(row: Mapping[str, Any]) -> Task:
    """One row."""
    keys = find_keys(row, FIELDS)
    for field, names in NEEDED.items():
        if field not in keys:
            null = next((f"{key} is null" for key in row if str(key).strip().lower() in names), f"no {field}")
            raise RubricError(null, remedy=f"give one under {', '.join(names)}")
        first, *others = find_keys(row, {name: (name,) for name in names}).values()
        if second := next((key for key in others if row[key] != row[first]), None):
            raise RubricError(f"two fields could be the {field}", f"{first} and {second}", remedy="keep one of them")
    found = {field: row[key] for field, key in keys.items()}
    entries = list_entries(found["rubric"])
    items = list(read_items([tag_rest(entry) for entry in entries] if isinstance(entries, list) else entries))
    weighted = [item.weight is not None or item.tier in TIER_WEIGHTS for item in items]
    default = None if any(weighted) else 1.0
    for name, number in find_numbers(entries) if default else ():
        if number < 0:
            raise RubricError(
                "the criteria have no weight, and another field has negative numbers",
                f"{name!r}: {number:g}",
                remedy="rename it to weight if it is one, else drop it",
            )
    rubric = Rubric(criteria=tuple(make_criterion(item, i, default) for i, item in enumerate(items, 1)))
    messages = parse_messages(found["prompt"])
    texts = {field: found[field] for field in _TEXTS if isinstance(found.get(field), str) and found[field] != ""}
    used = {key for field, key in keys.items() if field not in (*_TEXTS, "meta") or field in texts}
    meta = keep_rest(row, used, keys.get("meta"))
    if misspelt := "protocol" not in keys and get_close_matches("protocol", meta, 1, cutoff=0.8):
        raise RubricError("unknown key", repr(misspelt[0]), remedy="did you mean protocol?")
    return Task(
        id=parse_id(found["id"]) if found.get("id", "") != "" else make_id(messages, rubric),
        messages=messages,
        rubric=rubric,
        protocol=parse_protocol(rubric, found.get("protocol")),
        **texts,
        meta=meta,
    )


def describe_missing(rows: Sequence[Mapping[str, Any]], table: bool) -> str:
    """Which field none of these rows has, and what they have instead."""
    keys = sorted({str(key) for row in rows for key in row})
    needed = {"prompt": _TABLE["prompt"], "criterion": _TABLE["criterion"][:3]} if table else NEEDED
    found = find_keys(dict.fromkeys(keys, ""), _TABLE if table else NEEDED)
    missing = [field for field in needed if field not in found]
    if not missing:
        null = [key for field, key in found.items() if not any(field in find_keys(row, NEEDED) for row in rows)]
        named = " and ".join(null) or " or ".join(found.values())
        return f"{named} {'are' if len(null) > 1 else 'is'} null in every row"
    names = " and no ".join(f"{field} (called {', '.join(needed[field])})" for field in missing)
    shown = ", ".join(keys[:_SHOWN_KEYS]) + (f" and {len(keys) - _SHOWN_KEYS} more" * (len(keys) > _SHOWN_KEYS))
    return f"found no {names} among {shown}"


def gather(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows of a table, one for each criterion, as one row for each task.

    A column that differs between the criteria of some task belongs to the criteria, any other to the task.
    """
    groups: dict[str, list[tuple[int, dict[str, str]]]] = {}
    faults: list[tuple[str, Row]] = []
    prompt_above = key_above = ""
    for row in rows:
        cells = row.value or row.partial or {}
        columns = find_keys(cells, _TABLE)
        key = "id" if "id" in columns else "prompt"
        if row.value is None:
            faults.append((cells.get(columns.get(key, ""), ""), row))
        elif not {"prompt", "criterion"} <= columns.keys():
            yield row
        elif empty := [name for name in (key, "criterion") if not cells[columns[name]].strip()]:
            fault = RowError(f"the {empty[0]} is empty", remedy="fill it in, or remove the row")
            # Spreadsheets leave out what the row above says.
            below = empty[0] == key and cells[columns["prompt"]].strip() in ("", prompt_above)
            faults.append((key_above if below else cells[columns[key]], Row(row.line, fault=fault)))
        else:
            prompt_above, key_above = cells[columns["prompt"]], cells[columns[key]]
            groups.setdefault(key_above, []).append((row.line, row.value))
    differing = {
        name for group in groups.values() for name in group[0][1] if len({cells[name] for _, cells in group}) > 1
    }
    for name, row in faults:
        # A task without one of its criteria is another task.
        group = groups.pop(name, None)
        yield Row(group[0][0], fault=row.explain().at(f"line {row.line} of this task")) if group else row
    yield from (_join(group, differing) for group in groups.values())


def _join(group: list[tuple[int, dict[str, str]]], differing: set[str]) -> Row:
    """One task out of its rows in a table. A cell may hold one criterion, or a list of them as JSON."""
    task: dict[str, Any] = {}
    entries: list[Any] = []
    for line, row in group:
        cells = {name: cell for name, cell in row.items() if cell.strip()}
        keys = find_keys(cells, _TABLE)
        prompt = keys.get("prompt")
        if prompt and task.setdefault(prompt, cells[prompt]) != cells[prompt]:
            detail = f"line {line}, id {show(cells[keys['id']])}"
            fault = RowError("two prompts have the same id", detail, remedy="give each prompt its own id")
            return Row(group[0][0], fault=fault)
        text = cells.pop(keys["criterion"])
        listed = unwrap_json(text)
        of_criterion = () if isinstance(listed, list) else _COLUMNS
        own = {
            name: cell
            for name, cell in cells.items()
            if name not in (prompt, keys.get("id")) and (name in differing or name.strip().lower() in of_criterion)
        }
        for entry in listed if isinstance(listed, list) else [{"criterion": text}]:
            fields = {"criterion": entry} if isinstance(entry, str) else entry
            entries.append({**fields, **own} if isinstance(fields, Mapping) else entry)
        task |= {name: cell for name, cell in cells.items() if name not in own}
    return Row(group[0][0], value={**task, "rubric": entries})
