"""Which schemes a run can use: those the user asks for, if the tasks and the judge allow them."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from prorubric.aggregate.plan import make_scoring_plan
from prorubric.aggregate.schemes import SCHEMES, find_scheme
from prorubric.aggregate.score import Score, score_plan, share_for_length
from prorubric.errors import ConfigError, SchemeError
from prorubric.judge.readings import list_items
from prorubric.rubric.identity import remember
from prorubric.rubric.records import Task
from prorubric.rubric.verdict import Verdict

ALL, AUTO = "all", "auto"
READS_WORDS = "lexical"
"""The judge that compares words instead of asking a model."""
_REMEDIES = {
    "dimensions": "make them with prorubric compile",
    "restated criteria": "write them with prorubric compile --texts rewritten",
}
_BY_DEFAULT = ("additive", "prorubric")
_BY_WORDS = ("additive", "conjunctive", "prorubric")
"""Groups of criteria hold for a judge that cannot read a dimension as well."""

Readings = Mapping[str, Sequence[Verdict]]
_remembered_plan = remember(1024)(make_scoring_plan)


def check_judging(task: Task, name: str) -> None:
    """Raise `SchemeError` if a task cannot be judged and scored under a scheme."""
    _remembered_plan(task, name)
    for reading in find_scheme(name).readings:
        list_items(task, reading)


def choose_schemes(
    names: str, tasks: Sequence[Task], check: Callable[[Task, str], object], judge: str = ""
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The schemes that a user asked for, checked against the tasks before anything is spent.

    `all` means every scheme that fits all of the tasks and the judge, `auto` means the sum and ProRubric if they fit.
    Schemes that are left out are returned with the reason. A scheme that was named and does not fit raises
    `SchemeError`.
    """
    asked = names.strip()
    if asked in (ALL, AUTO):
        wanted = SCHEMES if asked == ALL else _BY_DEFAULT if judge != READS_WORDS else _BY_WORDS
        left_out: dict[str, str] = {}
        for name in wanted:
            for task in tasks:
                try:
                    check(task, name)
                except SchemeError as error:  # in the same words for every scheme with the same remedy
                    needs = sorted(find_scheme(name).needs - ({"dimensions"} if task.protocol else set()))
                    lacks = f"there are tasks without {needs[0]}; {_REMEDIES[needs[0]]}" if needs else str(error)
                    left_out[name] = lacks
                    break
        if len(left_out) == len(wanted):
            raise SchemeError(f"{wanted[0]}: {left_out[wanted[0]]}")
        fitting = tuple(name for name in wanted if name not in left_out)
        readable, unread = split_by_words(fitting) if judge == READS_WORDS else (fitting, {})
        return readable, left_out | unread
    chosen = tuple(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not chosen:
        raise ConfigError("no scheme is named; give one or more separated by commas, all, or auto")
    for name in chosen:
        check_alone(name)
        for task in tasks:
            check(task, name)
    return chosen, {}


def check_alone(name: str) -> None:
    """Raise `SchemeError` if a scheme cannot score a response without the others of its group."""
    scheme = find_scheme(name)
    if scheme.focus:
        share_for_length(scheme, None)


def split_by_words(schemes: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Of some schemes those that a judge that compares words can read, and why not the others."""
    readable = tuple(name for name in schemes if all(r.is_read_by_words for r in find_scheme(name).readings))
    reason = f"{READS_WORDS} compares words and cannot read their texts; use a model as the judge"
    return readable, {name: reason for name in schemes if name not in readable}


def score_readings(
    readings: Readings, task: Task, schemes: Sequence[str], *, length: float | None = None, step: int | None = None
) -> dict[str, Score]:
    """The scores of one response under several schemes, from one set of verdicts; `length` and `step` as in `score`."""
    scores = {}
    for name in schemes:
        plan = _remembered_plan(task, name)
        wanted = [reading.name for reading in plan.scheme.readings]
        if missing := [reading for reading in wanted if reading not in readings]:
            raise SchemeError(
                f"{name} needs verdicts on {missing[0]}, and there are only {', '.join(readings)}; judge again"
            )
        verdicts = [*chain.from_iterable(readings[reading] for reading in wanted)]
        scores[name] = score_plan(verdicts, plan, length=length, step=step)
    return scores
