"""Models that the user wrote, `pkg.module:object`: a mistake in one becomes a one-line error with its location.

A model that cannot be made, or that has no name, is refused with `ConfigError` before anything is asked. A failed call
is a `Failure` that the model returns, and a response that it cannot judge is an `UnjudgedError`. Any other exception,
and an answer that is not a `Reply`, is a bug in the model that no retry fixes, and ends the run with `ModelError`.
"""

from asyncio import CancelledError, current_task
from collections.abc import Sequence
from importlib import import_module
from inspect import isawaitable
from pathlib import Path
from traceback import extract_tb
from typing import Any

from prorubric.errors import ConfigError, ModelError, ProRubricError
from prorubric.llm.model import MOST_TOKENS, Failure, Model, ModelT, ModelWrapper, Outcome, Reply, Request, YesNoModel
from prorubric.text.show import is_blank, shorten


def import_model(spec: str, forms: str) -> Model | YesNoModel:
    """The object that `pkg.module:object` names, or an instance if it is a class."""
    module, _, name = spec.partition(":")
    try:
        try:
            found = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            missing = error.name if isinstance(error, ModuleNotFoundError) else None  # it, or a module that it imports
            hint = "; is its folder on PYTHONPATH?" if missing and f"{module}.".startswith(f"{missing}.") else ""
            raise ConfigError(f"the model {spec!r} cannot be imported ({error}{hint}); known forms: {forms}") from error
        model = found() if isinstance(found, type) else found
        is_text, is_yes_no = isinstance(model, Model), isinstance(model, YesNoModel)
        names = {field: getattr(model, field, None) for field in ("name", "identity")}
    except ProRubricError:
        raise
    except (Exception, SystemExit) as error:
        place = _find_place(error)
        hint = "; name a class that takes no arguments, or an object" if type(error) is TypeError and not place else ""
        raise ConfigError(f"the model {spec!r} cannot be imported: {_describe(error)}{place}{hint}") from error
    if not is_text and not is_yes_no:
        remedy = "see prorubric.llm.model for the methods it needs"
        raise ConfigError(f"{spec!r} is neither a Model nor a YesNoModel", remedy=remedy)
    for field, value in names.items():
        if not isinstance(value, str) or is_blank(value):
            shown = _show(value)
            raise ConfigError(f"the model {spec!r}: its {field} is {shown}; it must be a text that is not empty")
    if is_text and is_yes_no:
        return _OwnBoth(model)
    return OwnModel(model) if is_text else OwnYesNo(model)


class _Own(ModelWrapper[ModelT]):
    """The checks that every model of the user's gets."""

    async def close(self) -> None:
        """Close it."""
        await self._call("close", "its close must not raise")

    async def _call(self, method: str, remedy: str, *arguments: object) -> Any:
        """Call a method of the model; what it raises becomes a `ModelError` with the place."""
        try:
            result = getattr(self._model, method)(*arguments)
            if isawaitable(result):
                return await result
        except ProRubricError:
            raise
        except (Exception, SystemExit, CancelledError) as error:
            running = current_task()
            if isinstance(error, CancelledError) and (running is None or running.cancelling()):  # by us
                raise
            raise ModelError(f"{self.name} raised {_describe(error)}{_find_place(error)}; {remedy}") from error
        given = type(result).__name__
        raise ModelError(f"{self.name}: its {method} is not async, it gave {given}; write async def {method}")


class OwnModel(_Own[Model]):
    """A text model that the user wrote."""

    async def complete(self, request: Request) -> Outcome:
        """Ask it, and check that the journal can keep the reply and its tokens can be counted."""
        outcome = await self._call("complete", "return a Failure for a call that fails", request)
        if isinstance(outcome, Failure):
            return outcome
        if not isinstance(outcome, Reply):
            raise ModelError(f"{self.name} answered with {type(outcome).__name__}; return a Reply or a Failure")
        count = "an int of 0 or more"
        checks = {
            "text": (isinstance(outcome.text, str), "a str"),
            "prompt_tokens": (_is_count(outcome.prompt_tokens), count),
            "completion_tokens": (_is_count(outcome.completion_tokens), count),
            "finish": (isinstance(outcome.finish, str | None), "a str or None"),
        }
        for field, (is_right, allowed) in checks.items():
            if not is_right:
                shown = _show(getattr(outcome, field))
                raise ModelError(f"{self.name}: the {field} of its Reply is {shown}; it must be {allowed}")
        return outcome


class OwnYesNo(_Own[YesNoModel]):
    """A model of probabilities that the user wrote."""

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        """Ask it. The caller checks how many there are and how large."""
        remedy = "raise UnjudgedError for a response that cannot be judged"
        found = await self._call("probabilities", remedy, conversation, response, statements)
        if not isinstance(found, list | tuple):
            given = type(found).__name__
            raise ModelError(f"{self.name} gave {given} for probabilities; return a list, one for each statement")
        return [*found]


class _OwnBoth(OwnModel, OwnYesNo):
    """A model that does both."""


def _describe(error: BaseException) -> str:
    said = shorten(str(error), 200)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _find_place(error: BaseException) -> str:
    """Where it was raised; empty if that is the line here that called the model."""
    frames = extract_tb(error.__traceback__)
    if not frames or frames[-1].filename == __file__:
        return ""
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MOST_TOKENS


def _show(value: object) -> str:
    kind = type(value).__name__
    return f"{shorten(repr(value))} ({kind})" if isinstance(value, int | float | str) else kind
