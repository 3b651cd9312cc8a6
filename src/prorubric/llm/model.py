"""What a model is to the rest of the project: something that answers a request with a reply or with a failure.

A failed call is a value with its reason, because one bad call must not end a run of thousands. What no retry can mend
(a wrong key, a model that does not exist) raises `ModelError` and ends it before more is spent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

from prorubric.rubric.records import Message

MOST_TOKENS = 2**40
"""No call has used more; a larger count is a mistake, and would not fit into a journal."""

_REFUSED = (400, 413, 422)

FailureKind = Literal["connection", "timeout", "http", "reply", "gave-up"]


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model, with everything that can change the answer."""

    messages: tuple[Message, ...]
    max_tokens: int = 1024
    is_sized: bool = field(default=False, kw_only=True)
    """Whether `max_tokens` follows from the length of a text, and not from an option."""
    temperature: float = 0.0
    top_p: float = 1.0
    schema: Mapping[str, Any] | None = None
    """The JSON schema of the reply, where one is wanted; a model that takes none answers freely."""
    draw: int = 0
    """Which of several draws of the same question this is. A retry of a bad reply is another draw."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said. Thinking is already left out."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    finish: str | None = None
    """Why it stopped: `stop`, `length`, `content_filter` …"""
    cached: bool = False
    """Not asked for now: another reply to the same question is used."""
    repeated: bool = field(default=False, compare=False)
    """Cached, and that other reply came since the journal was opened, not from an earlier run."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that gave no reply, after every retry it was worth."""

    kind: FailureKind
    reason: str
    """One line, without a key, a prompt or a response in it."""
    attempts: int = 1
    status: int | None = None
    """Of the last answer, where an endpoint gave one."""
    code: str | None = None
    """What the endpoint calls the error."""
    param: str | None = None
    """The field of the request that the endpoint says it is about."""

    @property
    def is_refusal(self) -> bool:
        """True where the question itself cannot be taken, as one that is too long."""
        return self.status in _REFUSED


Outcome = Reply | Failure


@runtime_checkable
class Model(Protocol):
    """Answers requests in text."""

    @property
    def name(self) -> str:
        """The model as the user wrote it; never a key."""

    @property
    def identity(self) -> str:
        """Everything about the model itself that can change an answer; part of every cache key."""

    async def complete(self, request: Request) -> Outcome:
        """Answer one request. Safe to call many times at once."""

    async def close(self) -> None:
        """Let go of sockets and files. Safe to call twice."""


@runtime_checkable
class YesNoModel(Protocol):
    """Gives the probability that a statement about a response is true, without writing an answer."""

    @property
    def name(self) -> str:
        """The model as the user wrote it."""

    @property
    def identity(self) -> str:
        """Everything about the model itself that can change an answer."""

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        """One probability from 0 to 1 for each statement."""

    async def close(self) -> None:
        """Let go of what it holds. Safe to call twice."""


@runtime_checkable
class Stoppable(Protocol):
    """A model whose calls may wait before they begin."""

    def stop(self) -> None:
        """End those that wait as failures, and let no other begin; what has begun is finished."""


ModelT = TypeVar("ModelT", bound=Model | YesNoModel)


class ModelWrapper(Generic[ModelT]):
    """What stands around a model and is known by its name: a cache, a count."""

    def __init__(self, model: ModelT) -> None:
        self._model: ModelT = model

    @property
    def name(self) -> str:
        """The name of the model inside."""
        return self._model.name

    @property
    def identity(self) -> str:
        """The identity of the model inside."""
        return self._model.identity

    async def close(self) -> None:
        """Close the model inside."""
        await self._model.close()
