"""Models of the user's own, `pkg.module:object`: what they do wrong becomes one line that says where.

A model that cannot be made, or that has no name, is refused with `ConfigError` before anything is asked. A call that
fails is a `Failure` that the model returns, and a response that it cannot judge an `UnjudgedError`. Any other
exception, and an answer that is no `Reply`, is a bug in the model, which no retry mends: it ends the run as a
`ModelError`.
"""

from asyncio import CancelledError, current_task
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from inspect import isawaitable
from pathlib import Path
from traceback import extract_tb
from typing import Any, TypeVar

from prorubric.errors import ConfigError, ModelError, ProRubricError
from prorubric.llm.model import MOST_TOKENS, Failure, Model, ModelT, ModelWrapper, Outcome, Reply, Request, YesNoModel
from prorubric.text.show import is_blank, shorten

_SHOWN_CHARACTERS = 200
_COUNTED = ("prompt_tokens", "completion_tokens")

ResultT = TypeVar("ResultT")


def import_model(spec: str, forms: str) -> Model | YesNoModel:
    """The object that `pkg.module:object` names, or an instance of it where it is a class."""
    module, _, name = spec.partition(":")
    try:
        try:
            found = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            reason = f"{error}{_hint_at_path(error, module)}"
            raise ConfigError(f"the model {spec!r} cannot be imported ({reason}); known forms: {forms}") from error
        return _wrap(found() if isinstance(found, type) else found, spec)
    except ProRubricError:
        raise
    except (Exception, SystemExit) as error:
        reason = f"{_describe(error)}{_hint_at_arguments(error)}"
        raise ConfigError(f"the model {spec!r} cannot be imported: {reason}") from error


class _Own(ModelWrapper[ModelT]):
    """What every model of the user's own is held to."""

    async def close(self) -> None:
        """Close it."""
        await self._call("close", "its close has to end without an error")

    async def _call(self, method: str, remedy: str, *arguments: object) -> Any:
        """What a method of the model gives; what it does wrong is said of it."""
        with _blaming(self.name, remedy):
            return await _expect_awaitable(getattr(self._model, method)(*arguments), self.name, method)


class OwnModel(_Own[Model]):
    """A text model of the user's own."""

    async def complete(self, request: Request) -> Outcome:
        """Ask it."""
        outcome = await self._call("complete", "a call that fails has to return a Failure", request)
        return _check_outcome(outcome, self.name)


class OwnYesNo(_Own[YesNoModel]):
    """A model of probabilities of the user's own."""

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        """Ask it. How many there are and how large is seen to by those who ask."""
        remedy = "a response that cannot be judged has to raise UnjudgedError"
        found = await self._call("probabilities", remedy, conversation, response, statements)
        if not isinstance(found, list | tuple):
            raise ModelError(
                f"{self.name} gave {type(found).__name__} for probabilities; return a list, one for each statement"
            )
        return [*found]


class _OwnBoth(OwnModel, OwnYesNo):
    """One that does both."""


def _wrap(model: Any, spec: str) -> Model | YesNoModel:
    writes, weighs = isinstance(model, Model), isinstance(model, YesNoModel)
    if not writes and not weighs:
        raise ConfigError(
            f"{spec!r} is neither a Model nor a YesNoModel; see prorubric.llm.model for the methods it needs"
        )
    for field in ("name", "identity"):
        value = getattr(model, field)
        if not isinstance(value, str) or is_blank(value):
            raise ConfigError(f"the model {spec!r}: its {field} is {_show(value)}; allowed is a text that is not empty")
    if writes and weighs:
        return _OwnBoth(model)
    return OwnModel(model) if writes else OwnYesNo(model)


def _check_outcome(outcome: object, name: str) -> Outcome:
    """What a model answered with, if the journal can keep it and the counts can add it up."""
    if isinstance(outcome, Failure):
        return outcome
    if not isinstance(outcome, Reply):
        raise ModelError(f"{name} answered with {type(outcome).__name__}; return a Reply or a Failure")
    if not isinstance(outcome.text, str):
        raise ModelError(f"{name}: the text of its Reply is {_show(outcome.text)}; allowed is a str")
    for field in _COUNTED:
        count = getattr(outcome, field)
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MOST_TOKENS:
            raise ModelError(f"{name}: the {field} of its Reply are {_show(count)}; allowed is an int of 0 or more")
    if outcome.finish is not None and not isinstance(outcome.finish, str):
        raise ModelError(f"{name}: the finish of its Reply is {_show(outcome.finish)}; allowed is a str or None")
    return outcome


def _expect_awaitable(result: ResultT | Awaitable[ResultT], name: str, method: str) -> Awaitable[ResultT]:
    if not isawaitable(result):
        raise ModelError(
            f"{name}: its {method} is not async, it gave {type(result).__name__}; write async def {method}"
        )
    return result


@contextmanager
def _blaming(name: str, remedy: str) -> Iterator[None]:
    try:
        yield
    except ProRubricError:
        raise
    except CancelledError as error:
        running = current_task()
        if running is None or running.cancelling():  # by us
            raise
        raise ModelError(f"{name} raised {_describe(error)}; {remedy}") from error
    except (Exception, SystemExit) as error:
        raise ModelError(f"{name} raised {_describe(error)}; {remedy}") from error


def _describe(error: BaseException) -> str:
    said = shorten(str(error), _SHOWN_CHARACTERS)
    return f"{type(error).__name__}{': ' if said else ''}{said}{_find_place(error)}"


def _find_place(error: BaseException) -> str:
    """Where it was raised; nothing where that is our own line that called it."""
    frames = extract_tb(error.__traceback__)
    if not frames or frames[-1].filename == __file__:
        return ""
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


def _hint_at_path(error: Exception, module: str) -> str:
    """For a module that is not found; one that it imports may be missing instead."""
    is_it = isinstance(error, ModuleNotFoundError) and error.name and f"{module}.".startswith(f"{error.name}.")
    return "; is its folder on PYTHONPATH?" if is_it else ""


def _hint_at_arguments(error: BaseException) -> str:
    is_ours = isinstance(error, TypeError) and not _find_place(error)
    return "; name a class that is made without arguments, or an object" if is_ours else ""


def _show(value: object) -> str:
    type_name = type(value).__name__
    return f"{shorten(repr(value))} ({type_name})" if isinstance(value, int | float | str) else type_name
