"""The rewards that the lab can train with: the project's schemes, their variants, and a function of your own.

A name is a scheme of `aggregate` (`prorubric+appropriateness`), `length-matched` (additive under half the limit), a
scheme with a KL weight (`additive-kl-0.01`), or the import path of a function, `pkg.module:function`. Such a function
takes the verdicts on one answer and its task and returns a finite number; it reads the criteria one by one unless its
attribute `reads` names another reading of the judge (`function.reads = "dimensions"`). One that cannot be imported is a
`ConfigError`, one that raises or returns no number a `SchemeError`; both name the function by its import path.
"""

import hashlib
import importlib
import inspect
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from prorubric.aggregate.batch import PlanTable, score_batch
from prorubric.aggregate.schemes import APPROPRIATENESS, SCHEMES, find_scheme
from prorubric.errors import ConfigError, SchemeError
from prorubric.judge.items import READINGS
from prorubric.lab.checklist import Checklists
from prorubric.lab.facts import Facts
from prorubric.lab.judges import judge_reading
from prorubric.rubric.records import Task
from prorubric.text.show import shorten

Own = Callable[[Sequence[Any], Task], float]
Floats = npt.NDArray[np.float64]
Scorer = Callable[[Facts, int], Floats]
"""Answers and the judge's seed to one score for each answer."""

LENGTH_MATCHED = "length-matched"
KL_WEIGHTS = {0.05: 0.005, 0.1: 0.01, 0.4: 0.04}
"""The lab's KL weights and those of the paper that they stand for. The reward of an answer is shared by all of its
choices, the KL term is not: with some 20 choices instead of 2,660 tokens the reward says about 10 times as much to each
(the root of their ratio), so that the same balance takes a weight 10 times as large."""
_KL = re.compile(r"(.+)-kl-(\d+(?:\.\d+)?)")
_REMEDY = "give a scheme of your own as pkg.module:function"

COMPARED = (
    "additive",
    "weighted",
    LENGTH_MATCHED,
    "raw-and",
    "prorubric-no-failure",
    "prorubric",
    "graded",
    "k1",
    "implicit",
    *(f"{scheme}+appropriateness" for scheme in ("additive", "raw-and", "prorubric", "graded", "k1", "implicit")),
    *(f"{scheme}-kl-{kl}" for scheme in ("additive", "prorubric") for kl in KL_WEIGHTS),
)
"""The rows of the paper's medical tables, and appropriateness with every scheme."""


@dataclass(frozen=True, slots=True)
class LabScheme:
    """One row of a comparison."""

    name: str
    base: str
    """The scheme of `aggregate`, or an import path."""
    halved: bool = False
    """Under half the limit, and half the buffer."""
    kl: float = 0.0

    @property
    def is_own(self) -> bool:
        """True for a function of the user's."""
        return ":" in self.base


def find_lab_scheme(name: str) -> LabScheme:
    """The row of this name; raises `ConfigError` where there is none.

    A function of one's own is not imported, so that old runs can be read when it is gone; `check_lab_scheme` does it.
    """
    if name == LENGTH_MATCHED:
        return LabScheme(name, "additive", halved=True)
    match = _KL.fullmatch(name)
    base, kl = (match[1], float(match[2])) if match else (name, 0.0)
    if ":" not in base and base not in SCHEMES:
        raise ConfigError(
            f"the lab knows no scheme {name!r}; known: {', '.join(SCHEMES)}, {LENGTH_MATCHED}, <scheme>-kl-0.01, "
            "or a function of your own as pkg.module:function"
        )
    return LabScheme(name, base, kl=kl)


def check_lab_scheme(name: str) -> None:
    """Refuse, before any run, a name that leads to no scheme or to no function that could be one."""
    scheme = find_lab_scheme(name)
    if scheme.is_own:
        _find_reading(_load_function(scheme.base), scheme.base)


def hash_own(name: str) -> str | None:
    """A hash of the file in which a function of one's own is written; None for a known scheme.

    The whole file, not the function's lines: the helpers, constants and `reads` beside it change its rewards too. What
    that file imports from elsewhere is not looked at.
    """
    scheme = find_lab_scheme(name)
    if not scheme.is_own:
        return None
    function, module = _load_function(scheme.base), _import_module(scheme.base)
    digest = hashlib.sha256()
    for path in sorted({getattr(module, "__file__", None), _find_file(function)} - {None}, key=str):
        digest.update(Path(str(path)).read_bytes())
    return digest.hexdigest()


def make_scorer(scheme: LabScheme, lists: Checklists) -> Scorer:
    """What turns answers to these cases into scores: the judge reads, `aggregate` adds up."""
    return _score_own(scheme.base, lists) if scheme.is_own else _score_known(scheme.base, lists)


def _score_known(name: str, lists: Checklists) -> Scorer:
    table = PlanTable.of(lists.tasks, name)
    main = find_scheme(name).readings[0]
    last_T = table.counts_T - 1

    def score(facts: Facts, seed: int) -> Floats:
        verdicts: npt.NDArray[Any] = judge_reading(facts, main, seed)
        if table.scheme.appropriateness:
            verdicts = _append(verdicts, judge_reading(facts, APPROPRIATENESS, seed), last_T[facts.row_R])
        return score_batch(verdicts, table, facts.row_R).value_R

    return score


def _append(
    verdicts_R_M: npt.NDArray[Any], one_R_1: npt.NDArray[Any], place_R: npt.NDArray[np.intp]
) -> npt.NDArray[Any]:
    """One more verdict behind each answer's own last: tasks have different numbers of them."""
    joined = np.zeros((len(verdicts_R_M), verdicts_R_M.shape[1] + 1), dtype=verdicts_R_M.dtype)
    joined[:, :-1] = verdicts_R_M
    np.put_along_axis(joined, place_R[:, None], one_R_1.astype(joined.dtype), axis=1)
    return joined


def _score_own(path: str, lists: Checklists) -> Scorer:
    function = _load_function(path)
    reading = _find_reading(function, path)
    widths = [_count_items(task, reading) for task in lists.tasks]

    def score(facts: Facts, seed: int) -> Floats:
        rows = judge_reading(facts, reading, seed).tolist()
        return np.array(
            [
                _ask(function, path, row[: widths[number]], lists.tasks[number])
                for row, number in zip(rows, facts.row_R.tolist(), strict=True)
            ]
        )

    return score


def _ask(function: Own, path: str, verdicts: list[Any], task: Task) -> float:
    try:
        value: object = function(verdicts, task)
    except Exception as error:
        raise SchemeError(f"{path} raised {_describe(error)} for task {task.id!r}; fix the function") from error
    if not isinstance(value, int | float | np.integer | np.floating) or not math.isfinite(value):
        raise SchemeError(
            f"{path} returned {shorten(repr(value))} for task {task.id!r}; return a finite number for every answer"
        )
    return float(value)


def _find_reading(function: Own, path: str) -> str:
    reading = getattr(function, "reads", "criteria")
    if reading not in READINGS:
        raise ConfigError(f"{path}: its attribute reads is {reading!r}; known readings: {', '.join(READINGS)}")
    return str(reading)


def _count_items(task: Task, reading: str) -> int:
    if reading in ("criteria", "criteria-rewritten"):
        return len(task.rubric)
    if reading in ("mark", "one-dimension", APPROPRIATENESS):
        return 1
    return len(task.protocol or ())


def _load_function(path: str) -> Own:
    name = path.partition(":")[2]
    module = _import_module(path)
    if not hasattr(module, name):
        raise ConfigError(f"{path}: module {module.__name__!r} has no attribute {name!r}; {_REMEDY}")
    found: Own = getattr(module, name)
    if not callable(found):
        raise ConfigError(f"{path} is not a function; give one that takes verdicts and a task and returns a number")
    return found


def _import_module(path: str) -> ModuleType:
    try:
        return importlib.import_module(path.partition(":")[0])
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module may do anything while it is imported
        raise ConfigError(f"{path} cannot be imported: {_describe(error)}; {_REMEDY}") from None


def _find_file(function: Any) -> str | None:
    """Where a function is written; what wraps it is looked through, and of an object its class is taken."""
    while isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(function)
    try:
        return inspect.getsourcefile(function if inspect.isroutine(function) else type(function))
    except TypeError:  # written in C
        return None


def _describe(error: BaseException) -> str:
    """An error as one line; a syntax error says its file and line itself."""
    return f"{type(error).__name__}: {shorten(str(error), 200)}"
