"""The rewards that the lab can train with: the project's schemes, their variants, and your own function.

A name is a scheme of `aggregate` (`prorubric+appropriateness`), `length-matched` (additive under half the limit), a
scheme with a KL weight (`additive-kl-0.01`), or the import path of a function, `pkg.module:function` (see
`aggregate.own`), which may return any finite number here.
"""

import hashlib
import importlib
import inspect
import re
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from prorubric.aggregate.batch import PlanTable, score_batch
from prorubric.aggregate.own import load_own
from prorubric.aggregate.plan import make_scoring_plan
from prorubric.aggregate.schemes import APPROPRIATENESS, SCHEMES, find_scheme, unwrap_name
from prorubric.aggregate.score import score_plan
from prorubric.errors import ConfigError
from prorubric.lab.checklist import Checklists
from prorubric.lab.facts import Facts
from prorubric.lab.judges import READINGS, judge_reading
from prorubric.lab.world import Floats


class Scorer(Protocol):
    """Answers and the judge's seed to one score for each answer."""

    def __call__(self, facts: Facts, seed: int, step: int | None = None, usual_R: Floats | None = None) -> Floats:
        """Score; the step is for `dropout(…)`, the mean lengths of the answers' groups are by default those given."""
        ...  # pragma: no cover


LENGTH_MATCHED = "length-matched"
KL_WEIGHTS = {0.05: 0.005, 0.1: 0.01, 0.4: 0.04}
"""The lab's KL weights and the paper's that they stand for. The reward of an answer is shared by all of its choices,
the KL term is not: with some 20 choices instead of 2,660 tokens the reward says about 10 times as much to each (the
root of their ratio), so the same balance takes a weight 10 times as large."""
_KL = re.compile(r"(.+)-kl-(\d+(?:\.\d+)?)")

COMPARED = (
    *(
        "additive",
        "weighted",
        LENGTH_MATCHED,
        "raw-and",
        "prorubric-no-failure",
        "prorubric",
        "graded",
        "k1",
        "implicit",
    ),
    *(f"{scheme}+appropriateness" for scheme in ("additive", "raw-and", "prorubric", "graded", "k1", "implicit")),
    *(f"{scheme}-kl-{kl}" for scheme in ("additive", "prorubric") for kl in KL_WEIGHTS),
)
"""The rows of the paper's medical tables, and appropriateness with every scheme."""


@dataclass(frozen=True, slots=True)
class LabScheme:
    """One row of a comparison."""

    name: str
    base: str  # the scheme of `aggregate`, or an import path
    halved: bool = False  # under half the limit, and half the buffer
    kl: float = 0.0

    @property
    def is_own(self) -> bool:
        """True for a function of the user's."""
        return ":" in self.base


def find_lab_scheme(name: str) -> LabScheme:
    """The row of this name; the user's own function is not imported, so old runs can be read when it is gone."""
    if name == LENGTH_MATCHED:
        return LabScheme(name, "additive", halved=True)
    match = _KL.fullmatch(name)
    base, kl = (match[1], float(match[2])) if match else (name, 0.0)
    inner = unwrap_name(base)
    if ":" not in inner and inner not in SCHEMES:
        raise ConfigError(
            f"the lab has no scheme {name!r}; known: {', '.join(SCHEMES)}, {LENGTH_MATCHED}, <scheme>-kl-0.01, "
            "focused(<scheme>), dropout(<scheme>), or your own function as pkg.module:function"
        )
    return LabScheme(name, base, kl=kl)


def check_lab_scheme(name: str) -> None:
    """Refuse, before any run, a name that does not lead to a scheme or to a function that could be one."""
    scheme = find_lab_scheme(name)
    if scheme.is_own and (reading := find_scheme(scheme.base).readings[0].name) not in READINGS:
        raise ConfigError(f"{scheme.base}: its attribute reads is {reading!r}; the lab knows {', '.join(READINGS)}")


def hash_own(name: str) -> str | None:
    """A hash of the files in which the user's own function is written; None for a known scheme.

    Whole files: helpers, constants and `reads` next to the function change its rewards too.
    """
    scheme = find_lab_scheme(name)
    if not scheme.is_own:
        return None
    path = unwrap_name(scheme.base)
    function: Any = load_own(path).function
    files = {getattr(importlib.import_module(path.partition(":")[0]), "__file__", None)}
    while isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(function)
    with suppress(TypeError):  # written in C
        files.add(inspect.getsourcefile(function if inspect.isroutine(function) else type(function)))
    digest = hashlib.sha256()
    for file in sorted(files - {None}, key=str):
        digest.update(Path(str(file)).read_bytes())
    return digest.hexdigest()


def make_scorer(scheme: LabScheme, lists: Checklists) -> Scorer:
    """What turns answers to these cases into scores: the judge reads, `aggregate` or the user's function adds up."""
    if scheme.is_own:
        return _score_own(scheme.base, lists)
    table, reading = PlanTable.of(lists.tasks, scheme.base), find_scheme(scheme.base).readings[0].name

    def score(facts: Facts, seed: int, step: int | None = None, usual_R: Floats | None = None) -> Floats:
        verdicts: npt.NDArray[Any] = judge_reading(facts, reading, seed)
        if table.scheme.appropriateness:
            # One more verdict behind each answer's own last: tasks have different numbers of them.
            last_R_1 = table.counts_T[facts.row_R][:, None] - 1
            whole_R_1 = judge_reading(facts, APPROPRIATENESS, seed).astype(verdicts.dtype)
            verdicts = np.pad(verdicts, ((0, 0), (0, 1)))
            np.put_along_axis(verdicts, last_R_1, whole_R_1, axis=1)
        length_R = _relate_lengths(facts, usual_R)
        return score_batch(verdicts, table, facts.row_R, length_R=length_R, step=step).value_R

    return score


def mean_lengths(facts: Facts) -> Floats:
    """For each answer the mean number of tokens of the answers to its case."""
    cases, group_R = np.unique(facts.row_R, return_inverse=True)
    sums = np.bincount(group_R, weights=facts.tokens, minlength=len(cases))
    mean_R: Floats = (sums / np.bincount(group_R, minlength=len(cases)))[group_R]
    return mean_R


def _relate_lengths(facts: Facts, usual_R: Floats | None) -> Floats:
    length_R: Floats = facts.tokens / np.maximum(mean_lengths(facts) if usual_R is None else usual_R, 1)
    return length_R


def _score_own(path: str, lists: Checklists) -> Scorer:
    scheme, own = find_scheme(path), load_own(unwrap_name(path))
    by_criterion = own.reading.name.startswith("criteria")
    counts = [len(task.rubric) if by_criterion else len(task.protocol or ()) for task in lists.tasks]
    plans = [make_scoring_plan(task, scheme) for task in lists.tasks] if scheme.is_relative else []

    def score(facts: Facts, seed: int, step: int | None = None, usual_R: Floats | None = None) -> Floats:
        judged = zip(judge_reading(facts, own.reading.name, seed).tolist(), facts.row_R.tolist(), strict=True)
        rows = [(verdicts[: counts[row]], row) for verdicts, row in judged]
        if not plans:
            return np.array([own(verdicts, lists.tasks[row]) for verdicts, row in rows])
        lengths = _relate_lengths(facts, usual_R).tolist()
        found = (
            score_plan(verdicts, plans[row], length=length, step=step)
            for (verdicts, row), length in zip(rows, lengths, strict=True)
        )
        return np.array([one.low for one in found])  # every verdict is known

    return score
