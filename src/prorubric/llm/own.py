"""Models of the user's own, `pkg.module:object`: what they raise becomes one line that says where.

A call that fails is a `Failure` that the model returns, and a response that it cannot judge an `UnjudgedError`. Any
other exception is a bug in the model, which no retry mends: it ends the run as a `ModelError`, whose cause it is.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from traceback import extract_tb

from prorubric.errors import ConfigError, ModelError, ProRubricError
from prorubric.llm.model import Around, Model, Outcome, Request, YesNoModel
from prorubric.rubric.record import shorten

_SHOWN_CHARACTERS = 200


def import_model(spec: str, forms: str) -> Model | YesNoModel:
    """The object that `pkg.module:object` names, or an instance of it where it is a class."""
    module, _, name = spec.partition(":")
    try:
        found = getattr(import_module(module), name)
        model = found() if isinstance(found, type) else found
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"the model {spec!r} cannot be imported ({error}); known forms: {forms}") from error
    except Exception as error:
        raise ConfigError(f"the model {spec!r} cannot be imported: {_describe(error)}") from error
    if isinstance(model, Model) and isinstance(model, YesNoModel):
        return _OwnBoth(model)
    if isinstance(model, Model):
        return OwnModel(model)
    if isinstance(model, YesNoModel):
        return OwnYesNo(model)
    raise ConfigError(f"{spec!r} is neither a Model nor a YesNoModel; see prorubric.llm.model for the methods it needs")


class OwnModel(Around[Model]):
    """A text model of the user's own."""

    async def complete(self, request: Request) -> Outcome:
        """Ask it."""
        with _blaming(self.name, "a call that fails has to return a Failure"):
            return await self._model.complete(request)


class OwnYesNo(Around[YesNoModel]):
    """A model of probabilities of the user's own."""

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        """Ask it."""
        with _blaming(self.name, "a response that cannot be judged has to raise UnjudgedError"):
            return await self._model.probabilities(conversation, response, statements)


class _OwnBoth(OwnModel, OwnYesNo):
    """One that does both."""


@contextmanager
def _blaming(name: str, remedy: str) -> Iterator[None]:
    try:
        yield
    except ProRubricError:
        raise
    except Exception as error:
        raise ModelError(f"{name} raised {_describe(error)}; {remedy}") from error


def _describe(error: Exception) -> str:
    frames = extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {shorten(str(error), _SHOWN_CHARACTERS)}{place}"
