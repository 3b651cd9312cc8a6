"""The nouns of the project: criteria and rubrics, dimensions and protocol rubrics, tasks and responses.

All are frozen and checked on entry: what is wrong is refused with a `RubricError` before a token is spent. Indices are
1-based, as in prompts and files. A record never repairs its input; loaders do, if the format of a source calls for it.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, ValidationInfo, field_validator, model_validator

from prorubric.errors import InvalidValueError, RubricError
from prorubric.rubric.base import Record
from prorubric.rubric.checks import Check
from prorubric.text.show import is_blank, show

Role = Literal["system", "developer", "user", "assistant", "tool"]

_StrictText = Annotated[str, Field(strict=True)]
_Index = Annotated[int, Field(strict=True)]
_LARGEST_INTEGER = 2**63 - 1
_Count = Annotated[int, Field(strict=True, ge=0, le=_LARGEST_INTEGER)]


def _refuse_large_integers(value: JsonValue) -> JsonValue:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _refuse_large_integers(inner)
    elif isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
        raise InvalidValueError("an integer does not fit into 64 bits", str(value), remedy="store it as text")
    return value


_Meta = Annotated[dict[str, JsonValue], AfterValidator(_refuse_large_integers)]


def _readable(name: str, remedy: str) -> AfterValidator:
    """Refuses a blank text."""

    def check(text: str) -> str:
        if is_blank(text):
            raise InvalidValueError(f"{name} is blank", remedy=remedy)
        return text

    return AfterValidator(check)


class Criterion(Record):
    """One requirement in natural language and what it weighs."""

    text: Annotated[_StrictText, _readable("text", "write what the judge should check, or drop the criterion")]
    """What the judge checks; for a negative weight, the behaviour to avoid."""
    weight: Annotated[float, Field(strict=True)]
    """Finite and not 0. Negative: the criterion describes a behaviour to avoid, and a true verdict subtracts."""
    tags: tuple[_StrictText, ...] = ()
    """Free labels such as `level:consensus` or `label:critical`, kept from the source."""
    check: Check | None = None
    """Decides the criterion without a judge, if there is one."""

    @field_validator("weight", mode="before")
    @classmethod
    def _weight_has_a_sign(cls, weight: object) -> object:
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise InvalidValueError("weight is not a number", remedy="give a finite number other than 0")
        if weight == 0 or not abs(weight) <= sys.float_info.max:
            raise InvalidValueError("weight must be finite and not 0", remedy="give it a sign or drop the criterion")
        return float(weight)


class Rubric(Record):
    """The checklist of one prompt. Criteria are known by position: real files repeat texts with other weights."""

    criteria: tuple[Criterion, ...]

    @model_validator(mode="after")
    def _has_a_usable_total(self) -> Self:
        if not self.criteria:
            raise InvalidValueError("a rubric needs at least 1 criterion")
        try:
            math.fsum(abs(criterion.weight) for criterion in self.criteria)
        except OverflowError:
            raise InvalidValueError("the weights add up past the largest float", remedy="scale them down") from None
        return self

    def __len__(self) -> int:
        return len(self.criteria)

    @property
    def weights(self) -> tuple[float, ...]:
        """The signed weights, in order."""
        return tuple(criterion.weight for criterion in self.criteria)

    @property
    def total_weight(self) -> float:
        """The sum of `|w|` over all criteria."""
        return math.fsum(abs(weight) for weight in self.weights)

    def weight_of(self, indices: Iterable[int]) -> float:
        """The sum of `|w|` over the criteria with these 1-based indices: what a dimension made of them weighs."""
        return math.fsum(abs(self.criteria[index - 1].weight) for index in indices)


class Dimension(Record):
    """A group of criteria that must hold together, rewritten as one description that ends in a failure clause."""

    name: Annotated[_StrictText, _readable("text", "say what the dimension asks for")]
    description: Annotated[_StrictText, _readable("text", "say what the dimension asks for")]
    indices: tuple[_Index, ...]
    """1-based positions of its criteria in the rubric, in ascending order."""
    weight: Annotated[float, Field(gt=0)]
    """Derived: the sum of `|w|` over its criteria. `ProtocolRubric.of` computes it."""

    @field_validator("indices")
    @classmethod
    def _indices_are_a_set(cls, indices: tuple[int, ...]) -> tuple[int, ...]:
        if not indices:
            remedy = "list its indices or drop the dimension"
            raise InvalidValueError("a dimension needs at least 1 criterion", remedy=remedy)
        if len(set(indices)) < len(indices):
            repeated = min(index for index, count in Counter(indices).items() if count > 1)
            raise InvalidValueError("an index is listed twice", str(repeated), remedy="list each criterion once")
        return tuple(sorted(indices))


class ProtocolRubric(Record):
    """Dimensions that together hold every criterion of one rubric exactly once. Make it with `of`."""

    dimensions: tuple[Dimension, ...]

    @model_validator(mode="after")
    def _is_a_partition(self) -> Self:
        if not self.dimensions:
            raise InvalidValueError("a protocol rubric needs at least 1 dimension")
        groups = [dimension.indices for dimension in self.dimensions]
        _check_partition(groups, sum(map(len, groups)))
        return self

    @classmethod
    def of(cls, rubric: Rubric, dimensions: Iterable[Mapping[str, Any]]) -> Self:
        """Make a partition of a rubric from mappings with `name`, `description` and `indices`; weights are derived."""
        parts = list(dimensions)
        if not all(isinstance(part, Mapping) for part in parts):
            remedy = "give each as a mapping with name, description and indices"
            raise RubricError("a dimension is not a mapping", remedy=remedy, place=cls.__name__)
        groups = []
        for position, part in enumerate(parts, 1):
            given: Any = part.get("indices")
            is_list = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
            indices = tuple(given) if is_list else ()
            if not indices or not all(isinstance(index, int) and not isinstance(index, bool) for index in indices):
                kind, place = "indices are not a list of whole numbers", f"{cls.__name__}: dimension {position}"
                raise RubricError(kind, show(given), remedy="give at least one, counted from 1", place=place)
            groups.append(indices)
        try:
            _check_partition(groups, len(rubric))
        except InvalidValueError as error:
            raise error.turn_into(RubricError, cls.__name__) from None
        made = []
        for part, group in zip(parts, groups, strict=True):
            texts = {key: part.get(key) for key in ("name", "description")}
            made.append(Dimension(**texts, indices=group, weight=rubric.weight_of(group)))
        return cls(dimensions=tuple(made))

    def __len__(self) -> int:
        return len(self.dimensions)


class Message(Record):
    """One turn of a conversation."""

    role: Role
    content: _StrictText


class Task(Record):
    """A prompt with its checklist and, once compiled, the protocol rubric made from it."""

    id: Annotated[_StrictText, _readable("id", "give each task its own name")]
    messages: tuple[Message, ...]
    rubric: Rubric
    protocol: ProtocolRubric | None = None
    domain: str | None = None
    source: str | None = None
    reference: str | None = None
    """The source's own answer or notes, used as an anchor where items contradict each other."""
    meta: _Meta = Field(default_factory=dict)
    """Whatever else the source said; JSON values only."""

    @field_validator("messages")
    @classmethod
    def _require_nonblank_message(cls, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        if all(is_blank(message.content) for message in messages):
            raise InvalidValueError("the conversation is empty", remedy="give at least one message with text")
        return messages

    @model_validator(mode="after")
    def _protocol_belongs_to_the_rubric(self) -> Self:
        dimensions = self.protocol.dimensions if self.protocol else ()
        if dimensions:
            _check_partition([dimension.indices for dimension in dimensions], len(self.rubric))
        for position, dimension in enumerate(dimensions, 1):
            derived = self.rubric.weight_of(dimension.indices)
            if dimension.weight != derived:
                detail = f"dimension {position} weighs {dimension.weight:g}, its criteria add up to {derived:g}"
                remedy = "make it with ProtocolRubric.of(rubric, …)"
                raise InvalidValueError("a dimension does not weigh what its criteria weigh", detail, remedy=remedy)
        return self


class ToolCall(Record):
    """A tool that an assistant calls in a transcript."""

    name: Annotated[_StrictText, _readable("name", "say which tool is called")]
    arguments: _StrictText = "{}"
    """As they were written: usually, but not always, JSON text of an object."""
    id: str | None = None


class Turn(Message):
    """One turn of a transcript: a message that may call tools, or that holds what a tool returned."""

    tool_calls: tuple[ToolCall, ...] = ()
    tool_name: str | None = None
    """The tool whose result this is, if the transcript says so."""
    tool_call_id: str | None = None
    """The call whose result this is."""


Answer = str | tuple[Turn, ...]
"""What is judged: a text, or the turns of a transcript."""


def find_last_text(turns: Sequence[Turn]) -> str:
    """What the assistant said last; empty if it said nothing in its last turn, or had none."""
    return next((turn.content for turn in reversed(turns) if turn.role == "assistant"), "")


class Response(Record):
    """An answer to a task: a text or a transcript. It is untrusted and may be empty: an empty answer is an answer."""

    task_id: _StrictText
    messages: tuple[Turn, ...] | None = None
    """The turns of a transcript, in place of a text."""
    text: _StrictText = Field(default=None, validate_default=True)
    """The answer; for a transcript this is derived: the content of the last assistant turn."""
    sample: _Count = 0
    """Which of several answers to the same task this is."""
    model: str | None = None
    tokens: _Count | None = None
    meta: _Meta = Field(default_factory=dict)
    """Whatever else the file said; JSON values only."""

    @field_validator("text", mode="before")
    @classmethod
    def _text_or_messages(cls, text: object, info: ValidationInfo) -> object:
        turns = info.data.get("messages", ())  # absent if they were refused
        if turns is None:
            if text is None:
                raise InvalidValueError("neither text nor messages", remedy="give one of them")
            return text
        if text not in (None, find_last_text(turns)):
            remedy = "give one; the text of a transcript is its last assistant turn"
            raise InvalidValueError("both text and messages", remedy=remedy)
        return find_last_text(turns)

    @property
    def answer(self) -> Answer:
        """The turns of a transcript, or the text."""
        return self.text if self.messages is None else self.messages

    def with_text(self, text: str) -> Self:
        """The response with another text; in a transcript, as the content of the last assistant turn."""
        if self.messages is None:
            return self.model_copy(update={"text": text})
        turns = list(self.messages)
        last = next((place for place in reversed(range(len(turns))) if turns[place].role == "assistant"), None)
        if last is None:
            turns.append(Turn(role="assistant", content=text))
        else:
            turns[last] = turns[last].model_copy(update={"content": text})
        return self.model_copy(update={"text": text, "messages": tuple(turns)})


def _check_partition(groups: Sequence[Sequence[int]], criterion_count: int) -> None:
    """Raise InvalidValueError unless every index 1..criterion_count is in exactly one group."""
    if sorted(chain.from_iterable(groups)) == list(range(1, criterion_count + 1)):
        return
    allowed = f"use 1..{criterion_count}, each exactly once"
    owner: dict[int, int] = {}
    for position, group in enumerate(groups, 1):
        for index in group:
            if not 1 <= index <= criterion_count:
                detail = f"dimension {position} lists index {index}"
                raise InvalidValueError("an index is not in the rubric", detail, remedy=allowed)
            if index in owner:
                detail = f"index {index} is in dimension {owner[index]} and in dimension {position}"
                raise InvalidValueError("an index is in two dimensions", detail, remedy=allowed)
            owner[index] = position
    missing = sorted(set(range(1, criterion_count + 1)) - owner.keys())
    if missing:
        detail = f"criterion {missing[0]}, {len(missing)} missing"
        raise InvalidValueError("a criterion is in no dimension", detail, remedy=allowed)
