"""What a model is to the rest of the project: it answers a request with a reply or with a failure.

A failed call is a value, because one bad call must not end a run of thousands. What no retry can fix (a wrong key, a
model that does not exist) raises `ModelError` and ends the run before more is spent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

from prorubric.rubric.records import Message

MOST_TOKENS = 2**40
"""No call uses this many; a larger count is a mistake and might not fit into a journal."""

REFUSALS = (400, 413, 422)
"""The HTTP statuses of an endpoint that rejects a question, for example as too long."""

FailureKind = Literal["connection", "timeout", "http", "reply", "gave-up"]


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model, with everything that can change the answer."""

    messages: tuple[Message, ...]
    max_tokens: int = 1024
    is_sized: bool = field(default=False, kw_only=True)
    """True if `max_tokens` was computed from the length of a text rather than set by an option."""
    temperature: float = 0.0
    top_p: float = 1.0
    schema: Mapping[str, Any] | None = None
    """The JSON schema of the reply; a model that does not support schemas answers freely."""
    draw: int = 0
    """Asking the same question again, as after a bad reply, is another draw."""
    top_k: int | None = None
    min_p: float | None = None
    seed: int | None = None
    """The seed of draw 0; a later draw counts on from it. None: the draw's number is the seed."""
    thinking: bool | None = None
    """False asks a model that thinks not to, True asks it to; None says nothing."""

    @property
    def options(self) -> dict[str, Any]:
        """The last four, without those that are not set."""
        min_p = None if self.min_p is None else float(self.min_p)
        named = {"top_k": self.top_k, "min_p": min_p, "seed": self.seed, "thinking": self.thinking}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def sent_seed(self) -> int:
        """The seed of this draw."""
        return (self.seed or 0) + self.draw


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, without its thinking."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    finish: str | None = None
    """Why it stopped: `stop`, `length`, `content_filter` …"""
    cached: bool = False
    """True if an earlier reply to the same question was used."""
    repeated: bool = field(default=False, compare=False)
    """True if that earlier reply came after the journal was opened, not in an earlier run."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A call that got no reply after all its retries."""

    kind: FailureKind
    reason: str
    """One line without the key, the prompt or the response."""
    attempts: int = 1
    status: int | None = None
    """HTTP status of the last answer."""

    @property
    def is_refusal(self) -> bool:
        """True if the endpoint rejects this question, for example as too long."""
        return self.status in REFUSALS

    @property
    def is_unanswered(self) -> bool:
        """True if nothing came back."""
        return self.kind in ("connection", "timeout")


Outcome = Reply | Failure


class _Named(Protocol):
    """What all models have."""

    @property
    def name(self) -> str:
        """The model as the user wrote it; never a key."""

    @property
    def identity(self) -> str:
        """Everything about the model that can change an answer; part of every cache key."""

    async def close(self) -> None:
        """Close sockets and files. Safe to call twice."""


@runtime_checkable
class Model(_Named, Protocol):
    """Answers requests in text."""

    async def complete(self, request: Request) -> Outcome:
        """Answer one request. Safe to call concurrently."""


@runtime_checkable
class YesNoModel(_Named, Protocol):
    """Gives the probability that a statement about a response is true, without writing an answer."""

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        """One probability from 0 to 1 for each statement."""


def stop_model(model: object) -> None:
    """Start no further calls of a model whose calls may wait before they start; running calls finish."""
    if (stop := getattr(model, "stop", None)) is not None:
        stop()


def refuse_statement(model: object, statement: str) -> str | None:
    """Why a model of probabilities cannot judge this statement, whatever the response; None if it can be asked."""
    refuse = getattr(model, "refuse_statement", None)
    return refuse(statement) if refuse else None


ModelT = TypeVar("ModelT", bound=Model | YesNoModel)


class ModelWrapper(Generic[ModelT]):
    """Base of what wraps a model under the model's own name and identity: a cache, a counter."""

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

    def refuse_statement(self, statement: str) -> str | None:
        """What the model inside says."""
        return refuse_statement(self._model, statement)

    async def close(self) -> None:
        """Close the model inside."""
        await self._model.close()
