"""Models whose calls are counted, and that ask each question once and answer the next time from the journal."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from prorubric.errors import NotAskedError, UnjudgedError
from prorubric.files.json import parse_json, render_json
from prorubric.llm.accounting import Usage
from prorubric.llm.journal import key_of
from prorubric.llm.model import Failure, Model, ModelT, ModelWrapper, Outcome, Reply, Request, YesNoModel
from prorubric.rubric.records import Message
from prorubric.text.show import shorten


class Keeper(Protocol):
    """A journal, in this process or behind an actor on another machine."""

    async def find(self, key: str) -> tuple[Reply | None, bool]:
        """The reply to a question or None, and whether a damaged one was found instead."""

    async def keep(self, key: str, reply: Reply, meta: Mapping[str, Any] | None = None) -> Reply:
        """Keep a reply and return the one that is kept."""


class _Cached(ModelWrapper[ModelT]):
    """A model that is asked each question once and whose calls are counted. It does not close the journal."""

    def __init__(self, model: ModelT, journal: Keeper | None = None, usage: Usage | None = None) -> None:
        super().__init__(model)
        self._journal = journal
        self.usage = usage if usage is not None else Usage()
        self.usage.model = self.usage.model or model.name
        self._running: dict[str, asyncio.Future[Outcome | None]] = {}

    async def _find(self, request: Request, ask: Callable[[], Awaitable[Outcome]]) -> Outcome:
        """The outcome from the journal, from the same question in flight, or by asking."""
        if self._journal is None:
            return await ask()
        key = key_of(self.identity, request)
        while (running := self._running.get(key)) is not None:
            # Shielded: others may still want what a cancelled caller waits for.
            outcome = await asyncio.shield(running)
            if isinstance(outcome, Reply):
                return replace(outcome, cached=True, repeated=outcome.repeated or not outcome.cached)
            if outcome is not None:
                return outcome
        running = self._running[key] = asyncio.get_running_loop().create_future()
        outcome = None
        try:
            outcome, is_damaged = await self._journal.find(key)
            if outcome is None:
                self.usage.damaged += is_damaged
                found, meta = await ask(), {"model": self.name}
                # If another process has kept a reply meanwhile, that one counts, for this run as for a replay.
                outcome = await self._journal.keep(key, found, meta) if isinstance(found, Reply) else found
            return outcome
        finally:  # without an outcome, the next caller in line asks
            del self._running[key]
            running.set_result(outcome)


class CachedModel(_Cached[Model]):
    """A text model that is asked each question once; without a journal its calls are only counted."""

    async def complete(self, request: Request) -> Outcome:
        """Answer from the journal, or by asking. A cancelled call or a `ModelError` is not counted."""
        outcome = await self._find(request, lambda: self._model.complete(request))
        self.usage.add(outcome)
        return outcome


class CachedYesNo(_Cached[YesNoModel]):
    """The same for a model of probabilities."""

    def __init__(self, model: YesNoModel, journal: Keeper | None, usage: Usage, draw: int = 0) -> None:
        super().__init__(model, journal, usage)
        self._draw = draw

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        """Answer from the journal, or by asking. What is not a probability does not get into the journal."""

        async def ask() -> Outcome:
            try:
                found: Sequence[object] = await self._model.probabilities(conversation, response, statements)
            except UnjudgedError as error:
                return Failure("reply", str(error), attempts=0 if isinstance(error, NotAskedError) else 1)
            if len(found) != len(statements):
                return Failure("reply", f"the model gave {len(found)} probabilities for {len(statements)} items")
            if wrong := [value for value in found if not _is_probability(value)]:
                return Failure("reply", f"the model gave {shorten(repr(wrong[0]))}, not a probability from 0 to 1")
            return Reply(render_json(found).decode())

        outcome = await self._find(make_question(conversation, response, statements, self._draw), ask)
        if isinstance(outcome, Failure):
            self.usage.add(outcome)
            raise UnjudgedError(outcome.reason)
        # Not `add`, which would count a reply without tokens as unmetered.
        self.usage.calls += 1
        self.usage.cached += outcome.cached
        self.usage.repeated += outcome.repeated
        return parse_probabilities(outcome)


def make_question(conversation: str, response: str, statements: Sequence[str], draw: int = 0) -> Request:
    """A question for probabilities as the journal stores it."""
    messages = (
        Message(role="user", content=conversation),
        Message(role="assistant", content=response),
        *(Message(role="user", content=statement) for statement in statements),
    )
    return Request(messages, draw=draw)


def parse_probabilities(kept: Reply) -> list[float]:
    """The probabilities in a stored reply; `UnjudgedError` if it was damaged before it had a checksum."""
    try:
        found = parse_json(kept.text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(map(_is_probability, found)):
        raise UnjudgedError("the journal has no probabilities for this question; name another journal")
    return [float(value) for value in found]


def _is_probability(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
