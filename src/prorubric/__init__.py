"""ProRubric: rubric rewards that a policy cannot buy.

Names are imported when first used, so that `import prorubric` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prorubric.rubric.records import Criterion as Criterion

_HOMES: dict[str, str] = {
    "Criterion": "rubric.records",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'prorubric' has no attribute {name!r}")
    return getattr(import_module(f"prorubric.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
