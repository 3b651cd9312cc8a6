"""Results computed for an object, kept as long as the object lives: many responses share one task."""

import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, TypeVar, cast

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_FORMS = 32  # results kept for one object, such as the readings of a task
_NONE = object()


def remember(size: int) -> Callable[[FunctionT], FunctionT]:
    """Keep what a function gives, by the identity of its first argument and the values of the others.

    Results must not hold the object: they are dropped with it, and the oldest when there are more than `size` objects.
    """

    def decorate(function: FunctionT) -> FunctionT:
        # No lock, which a fork could leave locked: each step below is atomic.
        kept: dict[int, tuple[weakref.ref[Any], dict[tuple[Any, ...], Any]]] = {}

        @wraps(function)
        def remembered(owner: Any, *rest: Any) -> Any:
            key = id(owner)
            known, results = kept.get(key, (None, {}))
            # One look, because a hash of many items takes time.
            result = results.get(rest, _NONE) if known is not None and known() is owner else _NONE
            if result is not _NONE:
                return result
            result = function(owner, *rest)
            if known is None or known() is not owner or len(results) >= _FORMS:
                kept[key] = weakref.ref(owner, lambda _: kept.pop(key, None)), {rest: result}
            else:
                results[rest] = result
            if len(kept) > size:
                with suppress(RuntimeError, StopIteration):  # another thread changed it
                    kept.pop(next(iter(kept)), None)
            return result

        return cast("FunctionT", remembered)

    return decorate
