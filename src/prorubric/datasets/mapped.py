"""`MappedSource`: rows of any shape become tasks through a mapping, with a count of what it does not use."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from prorubric.datasets.ids import make_id
from prorubric.datasets.listed import split_listed
from prorubric.datasets.mapping import Flag, RowMapping
from prorubric.datasets.shapes import find_highest, make_meta, parse_id, parse_messages, parse_tags, unwrap_json
from prorubric.errors import RowError, RubricError
from prorubric.files.json import render_json
from prorubric.files.read import Row
from prorubric.rubric.records import Criterion, Message, ProtocolRubric, Rubric, Task
from prorubric.text.pitfalls import UNDECIDED_TAG, read_pitfall
from prorubric.text.show import shorten

_GROUP_TAG = "dimension:"
_GATHERED = "rows of the table"
# Weights as people write them: 3, +3, 40%, 3 pts.
_AMOUNT = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*(?:%|points?|pts?\.?|marks?)", re.IGNORECASE)


@dataclass
class MappedSource:
    """Rows read through a mapping, with a count of what it does not use."""

    mapping: RowMapping
    NAME: str = "mapping"
    USED: frozenset[str] = frozenset()
    unused: Counter[str] = field(default_factory=Counter)
    """In how many rows each field was not used; fields of criteria begin with `criteria:`."""
    dropped: Counter[str] = field(default_factory=Counter)
    characters: int = 0
    unused_characters: int = 0

    def __post_init__(self) -> None:
        self._parts = self.mapping.split()

    def fits(self, row: Mapping[str, Any]) -> bool:
        """True if the row has everything by which this mapping is known."""
        return bool(self.mapping.fits) and all(next(_find(row, path), None) for path in self.mapping.fits)

    def parse(self, row: Mapping[str, Any]) -> Task:
        """One row as a task; raises `RubricError` naming the path that leads nowhere."""
        mapping, messages = self.mapping, _read_prompt(row, self.mapping)
        entries = _list_entries(row, self._parts)
        if not entries:
            places = ", ".join(one.at for one in mapping.criteria)
            raise RubricError("there are no criteria", f"at {places}", remedy="correct the path in criteria")
        made, levels = [], {}
        for position, entry in enumerate(entries, 1):
            try:
                criterion, described = _make_criterion(entry, row)
            except RubricError as error:
                raise error.at(f"criterion {position}") from None
            made.append(criterion)
            if described:
                levels[str(position)] = described
        rubric = Rubric(criteria=tuple(made))
        given = next(_find(row, mapping.id), None) if mapping.id else None
        references = (_find_text(row, path) for path in mapping.reference)
        meta = self._count_unused(row, entries)
        return Task(
            id=parse_id(given.value) if given else make_id(messages, rubric),
            messages=messages,
            rubric=rubric,
            protocol=_make_dimensions(rubric) if mapping.dimensions else None,
            domain=_find_text(row, mapping.domain) if mapping.domain else None,
            source=_find_text(row, mapping.source) if mapping.source else self.NAME,
            reference="\n\n".join(text for text in references if text) or None,
            meta={**meta, "levels": levels} if levels else meta,
        )

    @property
    def unused_share(self) -> float:
        """The share of the characters of all rows that no field of the mapping uses."""
        return self.unused_characters / self.characters if self.characters else 0.0

    def _count_unused(self, row: Mapping[str, Any], entries: list["_Entry"]) -> dict[str, Any]:
        """Count what is not used, and give the fields of the row that go into its meta."""
        mapping = self.mapping
        named = [*_list_outer(mapping), *(one.at for one in mapping.criteria)]
        # A criterion may be the row itself.
        for part in self._parts:
            named += [path.strip("/") for path in _list_inner(part) if path.startswith("/") or part.at == "."]
        paths = [path.split(".") for path in named if not path.startswith("=")]
        rest = dict(_list_unused(row, paths))
        self.characters += len(render_json(make_meta(row)))
        self.unused_characters += len(render_json(make_meta(rest)))
        self.unused.update({re.sub(r"\.\d+\.", ".*.", key) for key in rest})
        for entry in entries:
            self.unused.update(f"criteria: {key}" for part in (*entry.rest, _list_rest(entry)) for key in part)
        self.dropped.update(path for path in mapping.drop if next(_find(row, path), None))
        kept = {path: found.value for path in mapping.meta for found in _find(row, path)}
        return make_meta(rest | kept)

    def list_answers(self, row: Mapping[str, Any], task: Task) -> Iterator["Answer"]:
        """The answers in a row, each with a judge's verdicts and people's labels on every criterion."""
        mapping = self.mapping
        entries = _list_entries(row, self._parts) if mapping.verdict or mapping.label else []

        def list_said(path: str | None, key: str | None) -> list[Any]:
            """The values for each criterion; if there are several answers, for the one with this key."""
            found = [_find(*_resolve(path, entry, row)) for entry in entries] if path else []
            return [
                next((one.value for one in said if not one.keys or key is None or one.keys[-1] == key), None)
                for said in found
            ]

        for path in mapping.response:
            for found in _find(row, path):
                key = found.keys[-1] if found.keys else path if len(mapping.response) > 1 else None
                value = unwrap_json(found.value)
                if isinstance(value, list) and value and isinstance(value[-1], Mapping):  # a conversation
                    value = value[-1].get("content")
                if not isinstance(value, str):
                    raise RubricError("the response is not text", shorten(repr(value)), remedy="give text or messages")
                yield Answer(task, value, key, list_said(mapping.verdict, key), list_said(mapping.label, key))


def open_mapped(rows: Iterable[Row], mapping: RowMapping) -> tuple[Iterator[Row], MappedSource]:
    """The rows that a mapping describes, one for each task, and what reads them."""
    rows = spread_rows(rows, mapping.rows) if mapping.rows else iter(rows)
    is_long = mapping.at == "." and len(mapping.criteria) == 1
    if is_long and not (mapping.response or mapping.children):
        rows, mapping = _gather_criteria(rows, mapping)
    return rows, MappedSource(mapping)


def spread_rows(rows: Iterable[Row], path: str) -> Iterator[Row]:
    """The rows that an object holds; what is next to them belongs to each of them."""
    number = 0
    for row in rows:
        if row.value is None:
            yield row
            continue
        outer = dict(_list_unused(row.value, [path.split(".")], deep=False)) if path != "." else {}
        for value in [unwrap_json(one.value) for one in _find(row.value, path)] or [None]:
            named = value.items() if isinstance(value, Mapping) else [(None, one) for one in value or [None]]
            for key, inner in named:
                number += 1
                if isinstance(found := unwrap_json(inner), Mapping):
                    yield Row(number, value={**outer, **({"key": key} if key is not None else {}), **found})
                else:
                    fault = RowError(f"no row at {path}", shorten(repr(inner)), remedy="correct rows in the mapping")
                    yield Row(number, fault=fault)


def _gather_criteria(rows: Iterable[Row], mapping: RowMapping) -> tuple[Iterator[Row], RowMapping]:
    """The rows of a file, one for each criterion, as one row for each task, and the mapping that reads those.

    A column that the mapping names for criteria, or that differs within a task, belongs to the criteria.
    """
    groups: dict[str | None, list[Row]] = {}
    for row in rows:
        name = _find_text(row.value or row.partial or {}, mapping.id or mapping.prompt[0])
        groups.setdefault(name, []).append(row)
    used = {path.split(".")[0] for path in _list_outer(mapping)}
    own = {path.strip("/").split(".")[0] for path in _list_inner(mapping.split()[0])}
    for group in groups.values():
        values = [row.value for row in group if row.value]
        own |= {key for value in values for key in value if value[key] != values[0].get(key) and key not in used}
    joined = (_join_rows(group, own, mapping) for group in groups.values())
    return joined, mapping.model_copy(update={"criteria": (mapping.criteria[0].model_copy(update={"at": _GATHERED}),)})


def _join_rows(group: list[Row], own: set[str], mapping: RowMapping) -> Row:
    entries = []
    for row in group:
        if row.value is None:  # a task without one of its criteria is another task
            return Row(group[0].line, fault=row.explain().at(f"line {row.line} of this task"))
        entries.append({key: cell for key, cell in row.value.items() if key in own})
    first = group[0].value or {}
    for row in group:
        if [_find_text(row.value, path) for path in mapping.prompt] != [
            _find_text(first, path) for path in mapping.prompt
        ]:
            detail = f"line {row.line}, id {_find_text(first, mapping.id or '')!r}"
            fault = RowError("two prompts have the same id", detail, remedy="give each prompt its own id")
            return Row(group[0].line, fault=fault)
    return Row(group[0].line, value={key: first[key] for key in first if key not in own} | {_GATHERED: entries})


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that a row of rubrics carries."""

    task: Task
    text: str
    model: str | None
    verdicts: list[Any]
    """A judge's verdict on each criterion, as given in the row."""
    labels: list[Any]
    """People's labels on each criterion, as given in the row: one value, or a list of them."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A value, and the keys that `*` met on the way to it."""

    value: Any
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    """One criterion as the file has it."""

    value: Any
    mapping: RowMapping
    """What says where its parts are."""
    key: str
    index: int
    share: float = 1.0
    """What its ancestors in a tree leave it, or what its text says it weighs."""
    above: tuple[str, ...] = ()
    """The texts of its ancestors, from the outside in, without the root."""
    rest: tuple[Mapping[str, Any], ...] = ()
    """The fields of its ancestors that the mapping does not name."""


def _find(value: Any, path: str, keys: tuple[str, ...] = ()) -> Iterator[_Found]:
    """Every value that a path leads to; nothing where it leads nowhere."""
    if path in ("", "."):
        yield _Found(value, keys)
        return
    step, _, rest = path.partition(".")
    value = unwrap_json(value)
    if isinstance(value, list):
        if step == "*":
            for position, inner in enumerate(value):
                yield from _find(inner, rest, (*keys, str(position)))
        elif step.isdigit() and int(step) < len(value):
            yield from _find(value[int(step)], rest, keys)
    elif isinstance(value, Mapping):
        if "*" in step:
            pattern = re.compile(re.escape(step).replace(r"\*", "(.*)"))
            for key, inner in value.items():
                if (match := pattern.fullmatch(str(key))) and inner is not None:
                    yield from _find(inner, rest, (*keys, match[1] if len(match.groups()) == 1 else str(key)))
        else:
            inner = value.get(step) if step in value else value.get(step.removesuffix("?"))
            yield from _find(inner, rest, keys) if inner is not None else ()


def _find_text(value: Any, path: str) -> str | None:
    """The text at a path, or None; numbers and objects as JSON."""
    if path.startswith("="):
        return path[1:]
    found = next(_find(value, path), None)
    if found is None or found.value in (None, "", [], {}):
        return None
    return found.value if isinstance(found.value, str) else render_json(make_meta({"": found.value})[""]).decode()


def _read_prompt(row: Mapping[str, Any], mapping: RowMapping) -> tuple[Message, ...]:
    """One prompt out of its parts: texts are joined, and a conversation continues with what follows it."""
    first, *others = mapping.prompt
    is_optional = bool(others) and first.endswith("?")
    parts = [found.value for found in _find(row, first)][: None if is_optional else 1]
    if first.startswith("="):
        parts = [first[1:]]
    elif not parts and not is_optional:
        there = shorten(", ".join(map(str, row)), 200)
        raise RubricError(f"prompt: nothing at {first}", f"among {there}", remedy="correct the path")
    parts += [found.value for path in others for found in _find(row, path)]
    system = _find_text(row, mapping.system) if mapping.system else None
    joined = [Message(role="system", content=system)] if system else []
    for part in parts:
        for message in parse_messages(part if isinstance(part, str | list) else render_json(part).decode()):
            if not message.content.strip():
                continue
            if joined and message.role == "user" and joined[-1].role == "user":
                joined[-1] = Message(role="user", content=f"{joined[-1].content}\n\n{message.content}")
            else:
                joined.append(message)
    return tuple(joined)


def _list_entries(row: Mapping[str, Any], parts: tuple[RowMapping, ...]) -> list[_Entry]:
    """The criteria of a row, one by one, whatever holds them."""
    entries: list[_Entry] = []
    for part in parts:
        name = part.at.rpartition(".")[2] if len(parts) > 1 else ""
        for found in _find(row, part.at):
            value, key = unwrap_json(found.value), found.keys[-1] if found.keys else name
            is_one = isinstance(value, str) and "\n" not in value.strip() and bool(name or part.at.endswith("*"))
            if isinstance(value, str) and part.split_at:
                texts = filter(None, map(str.strip, value.split(part.split_at)))
                entries += [_Entry(text, part, key, index) for index, text in enumerate(texts)]
            elif isinstance(value, str) and not is_one:
                entries += [_Entry(text, part, key, i, weight) for i, (text, weight) in enumerate(split_listed(value))]
            elif part.children:
                root = {part.children: value} if isinstance(value, list) else value
                entries += _list_leaves(root, part, key)
            else:
                values = value if isinstance(value, list) else [value] if value != "" else []
                entries += [_Entry(unwrap_json(entry), part, key, index) for index, entry in enumerate(values)]
    if parts[0].shares and not parts[0].children:
        total = sum(abs(entry.share * _read_weight(entry, row)) for entry in entries)
        entries = [replace(entry, share=entry.share / total) for entry in entries] if total else entries
    return entries


def _list_leaves(
    node: Any, mapping: RowMapping, key: str, above: tuple[_Entry, ...] = (), share: float = 1.0
) -> Iterator[_Entry]:
    """The leaves of a tree, each with the product of the shares, or of the weights, from the root down to it."""
    inner = unwrap_json(node.get(mapping.children)) if isinstance(node, Mapping) else None
    if not inner:
        texts = (
            ": ".join(filter(None, (_find_text(entry.value, path) for path in mapping.text))) for entry in above[1:]
        )
        # The fields of a root that is the row are the row's.
        rest = tuple(_list_rest(entry) for entry in above[mapping.at == "." :])
        yield _Entry(node, mapping, key, 0, share, tuple(filter(None, texts)), rest)
        return
    if not isinstance(inner, list):
        raise RubricError(f"{mapping.children} is not a list", shorten(repr(inner)), remedy="list the parts of a node")
    sizes = [_read_weight(_Entry(child, mapping, key, 0), {}) for child in inner]
    if mapping.shares and not sum(sizes) > 0:
        raise RubricError("the weights below a node add up to 0", remedy="give one of them a weight")
    for number, (child, size) in enumerate(zip(inner, sizes, strict=True), 1):
        part = size / sum(sizes) if mapping.shares else size
        nearer = (*above, _Entry(node, mapping, key, 0))
        yield from _list_leaves(child, mapping, key if above else str(number), nearer, share * part)


def _make_criterion(entry: _Entry, row: Mapping[str, Any]) -> tuple[Criterion, dict[str, str] | None]:
    """One criterion, and the descriptions of its levels if it has some."""
    mapping = entry.mapping
    parts = [_find_text(*_resolve(path, entry, row)) for path in mapping.text]
    if isinstance(entry.value, str) and entry.value not in parts:
        parts.append(entry.value)
    text = ": ".join(part.strip().rstrip(":") for part in parts if part)
    if not text:
        there = ", ".join(map(str, entry.value)) if isinstance(entry.value, Mapping) else repr(entry.value)
        raise RubricError("no text", f"at {', '.join(mapping.text)} among {shorten(there)}", remedy="correct text")
    if entry.above:
        text += f"\nPart of: {' > '.join(entry.above)}"
    levels = _read_levels(entry)
    if levels:
        met = mapping.met or find_highest(levels)
        if met not in levels:
            raise RubricError("no such level", repr(met), remedy=f"met is one of {', '.join(levels)}")
        text += f"\nHolds if the answer reaches this level: {levels[met]}"
    weight = entry.share if mapping.children else entry.share * _read_weight(entry, row)
    tags = [*_list_tags(entry, row)]
    if mapping.polarity == "wording" and weight < 0:
        direction = read_pitfall(text)
        weight = abs(weight) if direction == "requirement" else weight
        tags += [UNDECIDED_TAG] if direction == "undecided" else []
    elif mapping.polarity == "negative" or (
        isinstance(mapping.polarity, Flag) and _is_bad(entry, row, mapping.polarity)
    ):
        weight = -abs(weight)
    group = None
    if mapping.group == "{key}":
        group = entry.above[0] if entry.above else entry.key
    elif mapping.group:
        group = _find_text(*_resolve(mapping.group, entry, row))
    tags += [f"{_GROUP_TAG}{group}"] if group else []
    return Criterion(text=text, weight=weight, tags=tuple(tags)), levels


def _resolve(path: str, entry: _Entry, row: Mapping[str, Any]) -> tuple[Any, str]:
    """Where a path of a criterion starts, and the rest of it."""
    path = path.replace("{key}", entry.key).replace("{index}", str(entry.index))
    return (row, path[1:]) if path.startswith("/") else (entry.value, path)


def _read_weight(entry: _Entry, row: Mapping[str, Any]) -> float:
    """The product of the weights that a mapping names; a criterion that is a text has only those of its row."""
    weight, words = 1.0, {word.strip().lower(): number for word, number in entry.mapping.words.items()}
    for path in entry.mapping.weight:
        if isinstance(entry.value, str) and not path.startswith("/"):
            continue
        start, rest = _resolve(path.removesuffix("?"), entry, row)
        found = next(_find(start, rest), None)
        if found is None and path.endswith("?"):
            continue
        value: Any = found.value if found else None
        if isinstance(value, str):
            value = words.get(value.strip().lower(), value)
        try:
            weight *= parse_amount(value)
        except (TypeError, ValueError):
            known = ", ".join(entry.mapping.words)
            remedy = "give a number" + (f" or one of {known}" if known else ", or set words")
            raise RubricError(f"the weight at {path} is not a number", shorten(repr(value)), remedy=remedy) from None
    return weight


def parse_amount(value: Any) -> float:
    """A weight as people write it; raises `TypeError` or `ValueError`."""
    found = _AMOUNT.fullmatch(value.strip()) if isinstance(value, str) else None
    return float(found[1] if found else None if isinstance(value, bool) else value)  # type: ignore[arg-type]


def _is_bad(entry: _Entry, row: Mapping[str, Any], flag: Flag) -> bool:
    start, path = _resolve(flag.at, entry, row)
    found = next(_find(start, path), None) if not path.startswith("=") else _Found(path[1:])
    value = found.value if found else None
    wanted = [word.strip().lower() if isinstance(word, str) else word for word in flag.bad]
    return (value.strip().lower() if isinstance(value, str) else value) in wanted


def _read_levels(entry: _Entry) -> dict[str, str] | None:
    found = [(path, one) for path in entry.mapping.levels for one in _find(entry.value, path)]
    value = unwrap_json(found[0][1].value) if len(found) == 1 else None
    if isinstance(value, Mapping):
        return {str(name): str(text) for name, text in value.items() if text}
    if isinstance(value, list):
        return {str(number): str(text) for number, text in enumerate(value, 1) if text}
    return {one.keys[-1] if one.keys else path: str(one.value) for path, one in found if one.value != ""} or None


def _list_tags(entry: _Entry, row: Mapping[str, Any]) -> Iterator[str]:
    """Tags that the mapping names, then everything of the criterion that it does not use."""
    for path in entry.mapping.tags:
        found = next(_find(*_resolve(path, entry, row)), None)
        name = next(step for step in reversed(path.strip("/").split(".")) if "{" not in step)
        if found is not None:
            values = parse_tags(found.value)
            yield from values if name == "tags" else (f"{name}:{value}" for value in values)
    for rest in (*entry.rest, _list_rest(entry)):
        yield from parse_tags(make_meta(rest))


def _list_rest(entry: _Entry) -> dict[str, Any]:
    """The fields of a criterion that a mapping does not name."""
    mapping, paths = entry.mapping, _list_inner(entry.mapping)
    is_row = mapping.at == "." and not mapping.children
    if is_row or "." in paths or not isinstance(entry.value, Mapping):
        return {}
    named = [path.split(".") for path in (*paths, *mapping.drop) if not path.startswith("/")]
    return dict(_list_unused(entry.value, named, deep=False))


def _list_outer(mapping: RowMapping) -> list[str]:
    """The paths of a mapping that start at the row, other than the criteria."""
    single = (mapping.id, mapping.domain, mapping.source, mapping.system)
    several = (*mapping.prompt, *mapping.reference, *mapping.meta, *mapping.drop, *mapping.response)
    return [*_name_optional((*several, *filter(None, single)))]


def _list_inner(mapping: RowMapping) -> list[str]:
    """The paths of a mapping that start at a criterion."""
    flag = mapping.polarity.at if isinstance(mapping.polarity, Flag) else None
    single = (mapping.group, mapping.children, mapping.verdict, mapping.label, flag)
    several = (*mapping.text, *mapping.weight, *mapping.levels, *mapping.tags)
    inner = [*several, *(path for path in single if path and path != "{key}")]
    return [path.replace("{key}", "*").replace("{index}", "*") for path in _name_optional(inner)]


def _name_optional(paths: Iterable[str]) -> Iterator[str]:
    """Paths, and those with a question mark also without it: a column may be called `Polite?`."""
    for path in paths:
        yield from (path, path.removesuffix("?")) if path.endswith("?") else (path,)


def _list_unused(
    value: Mapping[str, Any], named: list[list[str]], deep: bool = True, place: str = ""
) -> Iterator[tuple[str, Any]]:
    """The fields of an object that no path leads to or through, by their own paths."""
    for key, inner in value.items():
        through = [path[1:] for path in named if re.fullmatch(re.escape(path[0]).replace(r"\*", ".*"), str(key))]
        if not through and inner not in (None, "", [], {}):
            yield f"{place}{key}", inner
        elif deep and through and all(through) and isinstance(opened := unwrap_json(inner), Mapping | list):
            fields = (
                opened if isinstance(opened, Mapping) else {str(position): one for position, one in enumerate(opened)}
            )
            yield from _list_unused(fields, through, deep, f"{place}{key}.")


def _make_dimensions(rubric: Rubric) -> ProtocolRubric:
    """One dimension for each group, in the order in which they appear."""
    groups: dict[str, list[int]] = {}
    for index, criterion in enumerate(rubric.criteria, 1):
        name = next((tag.removeprefix(_GROUP_TAG) for tag in criterion.tags if tag.startswith(_GROUP_TAG)), None)
        if name is None:
            remedy = "correct group, or leave dimensions out"
            raise RubricError("the criterion has no group", remedy=remedy, place=f"criterion {index}")
        groups.setdefault(name, []).append(index)
    described = []
    for name, indices in groups.items():
        criteria = [rubric.criteria[index - 1] for index in indices]
        demands = "; ".join(f"{'must not: ' * (one.weight < 0)}{one.text.rstrip('.')}" for one in criteria)
        description = f"All of the following must hold: {demands}. Fails if any of them does not hold."
        described.append({"name": name, "description": description, "indices": indices})
    return ProtocolRubric.of(rubric, described)
