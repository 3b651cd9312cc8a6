"""The review of compiled tasks: operations on the dimensions of a task, and what they make of it.

Every operation has an inverse of the same kind, so each can be undone. What compile's checks of structure refuse is
refused here: criteria are never lost, never in two dimensions, and a task keeps two to five dimensions. The checklist
itself is never changed. States are compared by their hash: a step says from which state to which it leads, and is not
applied to any other.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from prorubric.compile.bake import list_baked
from prorubric.compile.check import FEWEST, MOST, find_faults, list_text_faults
from prorubric.compile.draft import Draft, DraftDimension, Fault
from prorubric.errors import RubricError
from prorubric.files.json import render_json
from prorubric.rubric.base import Record, explain_invalid
from prorubric.rubric.records import Dimension, ProtocolRubric, Task
from prorubric.text.show import is_blank

_LONGEST_NAME, _LONGEST_TEXT = 300, 20_000
_Number = Annotated[int, Field(strict=True, ge=1)]
_Name = Annotated[str, Field(max_length=_LONGEST_NAME)]
_Text = Annotated[str, Field(max_length=_LONGEST_TEXT)]


class _Operation(Record):
    reason: _Text = ""
    """Why, in the reviewer's words."""


class Move(_Operation):
    """Put a criterion into another dimension. Both are known by their number, from 1."""

    op: Literal["move"] = "move"
    criterion: _Number
    to: _Number


class Split(_Operation):
    """Make a new dimension of some criteria of another."""

    op: Literal["split"] = "split"
    dimension: _Number
    criteria: tuple[_Number, ...]
    name: _Name
    description: _Text
    at: _Number | None = None
    """The number of the new dimension; by default the next one."""
    left: _Text | None = None
    """A new description for what is left of the old dimension; by default it stays."""


class Merge(_Operation):
    """Put all criteria of a dimension into another, whose name stays."""

    op: Literal["merge"] = "merge"
    dimension: _Number
    into: _Number
    description: _Text | None = None
    """By default both descriptions, one after the other."""


class Rename(_Operation):
    """Give a dimension another name."""

    op: Literal["rename"] = "rename"
    dimension: _Number
    name: _Name


class Reword(_Operation):
    """Give a dimension another description."""

    op: Literal["reword"] = "reword"
    dimension: _Number
    description: _Text


class Accept(_Operation):
    """Say that the dimensions can be used."""

    op: Literal["accept"] = "accept"
    of: str = ""
    """The dimensions that were decided on, as a hash; by default those of the moment."""


class RejectTask(_Operation):
    """Say that the task cannot be used, and why."""

    op: Literal["reject"] = "reject"
    of: str = ""


class Reopen(_Operation):
    """Take a decision back."""

    op: Literal["reopen"] = "reopen"


class Note(_Operation):
    """Write a note on the task in place of the one it has; an empty one removes it."""

    op: Literal["note"] = "note"
    text: _Text


Operation = Move | Split | Merge | Rename | Reword | Accept | RejectTask | Reopen | Note
_OPERATIONS: TypeAdapter[Operation] = TypeAdapter(Annotated[Operation, Field(discriminator="op")])
_EDITS = (Move, Split, Merge, Rename, Reword)


def parse_operation(value: object) -> Operation:
    """An operation from JSON; `RubricError` if it is none."""
    try:
        return _OPERATIONS.validate_python(value)
    except ValidationError as error:
        raise explain_invalid(error).turn_into(RubricError, "operation") from None


def render_operation(operation: Operation) -> dict[str, Any]:
    """The operation as JSON, without what it does not say."""
    said = operation.model_dump(mode="json", exclude_defaults=True)
    return {"op": operation.op, **{key: value for key, value in said.items() if key != "op"}}


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A task as its review left it."""

    task: Task
    decision: Accept | RejectTask | None = None
    note: str = ""

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The dimensions; empty if the task is not compiled."""
        return self.task.protocol.dimensions if self.task.protocol else ()

    @property
    def status(self) -> Literal["open", "accepted", "rejected"]:
        """What was decided. A decision on dimensions that have been changed since does not count."""
        if self.decision is None or self.decision.of != hash_dimensions(self.task):
            return "open"
        return "accepted" if isinstance(self.decision, Accept) else "rejected"

    @property
    def hash(self) -> str:
        """Identifies the state: the checklist, the dimensions, the decision and the note."""
        decision = None if self.decision is None else render_operation(self.decision)
        return _digest([self.task.id, hash_dimensions(self.task), decision, self.note])


def hash_dimensions(task: Task) -> str:
    """Identifies the checklist and the dimensions of a task."""
    dimensions = task.protocol.dimensions if task.protocol else ()
    criteria = [[criterion.text, criterion.weight] for criterion in task.rubric.criteria]
    return _digest([criteria, [[part.name, part.description, [*part.indices]] for part in dimensions]])


def _digest(value: object) -> str:
    return hashlib.sha256(render_json(value)).hexdigest()[:16]


def apply_operation(state: Reviewed, operation: Operation) -> Reviewed:
    """The state after an operation; `RubricError` if it cannot be done. Limits that compile sets are not checked."""
    match operation:
        case Accept() | RejectTask():
            of = operation.of or hash_dimensions(state.task)
            return replace(state, decision=operation.model_copy(update={"of": of}))
        case Reopen():
            return replace(state, decision=None)
        case Note():
            return replace(state, note=operation.text)
        case _:
            rows = _change(_list_rows(state), operation)
            protocol = ProtocolRubric.of(state.task.rubric, rows)
            return replace(state, task=state.task.model_copy(update={"protocol": protocol}))


def _change(rows: list[dict[str, Any]], operation: Operation) -> list[dict[str, Any]]:
    """The dimensions after an edit."""
    match operation:
        case Move(criterion=criterion, to=to):
            home = _find_home(rows, criterion)
            target = _find(rows, to)
            if home is target:
                raise RubricError(f"criterion {criterion} is in dimension {to} already")
            home["indices"].remove(criterion)
            target["indices"].append(criterion)
        case Split(dimension=number, criteria=criteria):
            row = _find(rows, number)
            if unknown := [index for index in criteria if index not in row["indices"]]:
                raise RubricError(f"criterion {unknown[0]} is not in dimension {number}", remedy="move it there first")
            row["indices"] = [index for index in row["indices"] if index not in criteria]
            row["description"] = row["description"] if operation.left is None else operation.left
            at = operation.at or number + 1
            if at > len(rows) + 1:
                raise RubricError(f"a new dimension cannot be number {at}", remedy=f"use 1 to {len(rows) + 1}")
            new = {"name": operation.name, "description": operation.description, "indices": [*criteria]}
            rows.insert(at - 1, new)
        case Merge(dimension=number, into=into):
            row, target = _find(rows, number), _find(rows, into)
            if row is target:
                raise RubricError(f"dimension {number} cannot be merged with itself", remedy="name two")
            target["indices"] += row["indices"]
            both = f"{target['description']} {row['description']}"
            target["description"] = both if operation.description is None else operation.description
            rows.remove(row)
        case Rename(dimension=number, name=name):
            _find(rows, number)["name"] = name
        case Reword(dimension=number, description=description):
            _find(rows, number)["description"] = description
    return rows


def invert(operation: Operation, state: Reviewed) -> Operation:  # noqa: PLR0911 - one for each operation
    """The operation that leads back to a state from where an operation leads."""
    rows = _list_rows(state)
    match operation:
        case Move(criterion=criterion):
            return Move(criterion=criterion, to=rows.index(_find_home(rows, criterion)) + 1)
        case Split(dimension=number):
            at = operation.at or number + 1
            into = number if number < at else number + 1
            return Merge(dimension=at, into=into, description=_find(rows, number)["description"])
        case Merge(dimension=number, into=into):
            row, target = _find(rows, number), _find(rows, into)
            return Split(
                dimension=into if into < number else into - 1,
                criteria=tuple(row["indices"]),
                name=row["name"],
                description=row["description"],
                at=number,
                left=target["description"],
            )
        case Rename(dimension=number):
            return Rename(dimension=number, name=_find(rows, number)["name"])
        case Reword(dimension=number):
            return Reword(dimension=number, description=_find(rows, number)["description"])
        case Note():
            return Note(text=state.note)
    return state.decision or Reopen()


def try_operation(state: Reviewed, operation: Operation) -> Reviewed:
    """The state after a reviewer's operation; `RubricError`, in one line, if it changes nothing or is not allowed."""
    place = f"task {state.task.id!r}"
    if isinstance(operation, _EDITS) and not state.dimensions:
        raise RubricError("has no dimensions", remedy="compile it first", place=place)
    if isinstance(operation, _EDITS) and (baked := list_baked(state.task)):
        remedy = "review the tasks before compile --transform is applied"
        raise RubricError("its dimensions were made by a transform", ", ".join(baked), remedy=remedy, place=place)
    if isinstance(operation, RejectTask) and is_blank(operation.reason):
        raise RubricError("a task is rejected without a reason", remedy="say why", place=place)
    before = {fault.kind for fault in find_faults(_draft(_list_rows(state)), len(state.task.rubric))}
    if isinstance(operation, _EDITS):
        try:
            rows = _change(_list_rows(state), operation)
        except RubricError as error:
            raise error.at(place) from None
        for fault in find_faults(_draft(rows), len(state.task.rubric)):
            if fault.kind not in before or (fault.kind == "too many" and isinstance(operation, Split)):
                raise RubricError(_REFUSALS.get(fault.kind, fault.detail), place=place)
    after = apply_operation(state, operation)
    if after.hash == state.hash:
        raise RubricError("nothing would change", place=place)
    return after


_REFUSALS = {
    "no name": "a dimension needs a name",
    "no description": "a dimension needs a description",
    "no items": "a dimension would be left without criteria; merge it with another instead",
    "too many": f"a task has at most {MOST} dimensions; merge two of them first",
    "too few": f"a task has at least {FEWEST} dimensions; split one of them first",
}


def list_faults(state: Reviewed) -> list[list[Fault]]:
    """What compile's checks say about the text of each dimension."""
    return list_text_faults(_draft(_list_rows(state)), state.task)


class Step(Record):
    """One row of `reviews.jsonl`: who did what to which task, and between which states."""

    when: str
    who: str
    task: str
    kind: Literal["do", "undo", "redo"] = "do"
    operation: Annotated[Operation, Field(discriminator="op")]
    before: str
    """The hash of the state it was done to."""
    after: str


@dataclass(slots=True)
class History:
    """The steps of one task, and the state they lead to."""

    state: Reviewed
    steps: list[Step] = field(default_factory=list)
    """Those that were applied."""
    unapplied: list[Step] = field(default_factory=list)
    """Those made on another state, such as that of an earlier compilation."""
    done: list[tuple[Operation, Operation]] = field(default_factory=list)
    """What can be undone: operations and their inverses, the last one last."""
    undone: list[tuple[Operation, Operation]] = field(default_factory=list)
    """What can be done again."""

    def add(self, step: Step) -> None:
        """Apply a step if it begins where the steps before it lead to."""
        stack = {"do": None, "undo": self.done, "redo": self.undone}[step.kind]
        try:
            after = apply_operation(self.state, step.operation) if step.before == self.state.hash else None
        except RubricError:
            after = None
        if after is None or after.hash != step.after or stack == []:
            self.unapplied.append(step)
            return
        if stack is None:
            self.done.append((step.operation, invert(step.operation, self.state)))
            self.undone.clear()
        else:
            (self.undone if step.kind == "undo" else self.done).append(stack.pop())
        self.state = after
        self.steps.append(step)


def fold(task: Task, steps: Iterable[Step]) -> History:
    """What a review made of a task."""
    history = History(Reviewed(task))
    for step in steps:
        history.add(step)
    return history


def _list_rows(state: Reviewed) -> list[dict[str, Any]]:
    return [
        {"name": part.name, "description": part.description, "indices": [*part.indices]} for part in state.dimensions
    ]


def _draft(rows: Sequence[dict[str, Any]]) -> Draft:
    parts = (DraftDimension(row["name"], row["description"], tuple(row["indices"])) for row in rows)
    return Draft(tuple(parts))


def _find(rows: Sequence[dict[str, Any]], number: int) -> dict[str, Any]:
    if number > len(rows):
        raise RubricError(f"there is no dimension {number}", remedy=f"they are numbered from 1 to {len(rows)}")
    return rows[number - 1]


def _find_home(rows: Sequence[dict[str, Any]], criterion: int) -> dict[str, Any]:
    home = next((row for row in rows if criterion in row["indices"]), None)
    if home is None:
        count = sum(len(row["indices"]) for row in rows)
        raise RubricError(f"there is no criterion {criterion}", remedy=f"they are numbered from 1 to {count}")
    return home
