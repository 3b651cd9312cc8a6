"""What the checks of a task say about the items of a reading: some are decided by them, others can only fail.

A criterion with a check is never asked about. A dimension fails if a check in it fails, and is otherwise judged, unless
all that the judge would read of it are criteria with checks. Which items are asked about depends on the task and not on
the answer, so the prompts of all responses to a task begin alike.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prorubric.errors import ConfigError
from prorubric.judge.readings import Item, Reading, list_members
from prorubric.rubric.checks import Check, import_function, run_check
from prorubric.rubric.identity import remember
from prorubric.rubric.records import Task
from prorubric.rubric.verdict import Unknown, Verdict


@dataclass(frozen=True, slots=True)
class CheckedItems:
    """The items of a reading on one response, and what is known of them before the judge is asked."""

    items: tuple[Item, ...]
    failed: Verdict
    """The verdict on an item that does not hold."""
    decided: Mapping[int, Verdict] = field(default_factory=dict)
    """By index, the verdicts on items that are not asked about."""
    bounds: Mapping[int, bool | Unknown] = field(default_factory=dict)
    """By index, what the checks say about items that are asked about all the same."""
    reasons: Mapping[int, str] = field(default_factory=dict)
    """By index, the check that decided."""

    @property
    def asked(self) -> tuple[Item, ...]:
        """The items to ask about."""
        return tuple(item for item in self.items if item.index not in self.decided) if self.decided else self.items

    def select(self, only: tuple[int, ...] | None) -> "CheckedItems":
        """The same for some of the items, by their indices; None for all."""
        if only is None:
            return self
        bounds = {index: bound for index, bound in self.bounds.items() if index in only}
        return replace(self, items=tuple(item for item in self.items if item.index in only), bounds=bounds)

    def complete(self, judged: Sequence[Verdict]) -> tuple[Verdict, ...]:
        """The verdicts on all items, given those on the ones that were asked about."""
        if not self.decided and not self.bounds:
            return tuple(judged)
        verdicts = {**dict(zip((item.index for item in self.asked), judged, strict=True)), **self.decided}
        for index, bound in self.bounds.items():
            if bound is False:
                verdicts[index] = self.failed
            elif isinstance(bound, Unknown) and verdicts[index] != self.failed:
                verdicts[index] = bound
        return tuple(verdicts[item.index] for item in self.items)


def run_checks(task: Task, answer: str, reading: Reading, items: tuple[Item, ...], *, python: bool) -> CheckedItems:
    """Run the checks of a task on an answer, for the items of one reading."""
    failed: Verdict = False if reading.form.is_boolean else reading.form.scale[0]
    criteria = task.rubric.criteria
    if not _has_checks(task):
        return CheckedItems(items, failed)
    decided: dict[int, Verdict] = {}
    bounds: dict[int, bool | Unknown] = {}
    reasons: dict[int, str] = {}
    for item, members in zip(items, list_members(task, reading), strict=False):  # a reading may have no members
        checked = {i: (check, criteria[i - 1].weight > 0) for i in members if (check := criteria[i - 1].check)}
        if not checked:
            continue
        if reading.about == "criterion":
            said, reason = run_check(checked[item.index][0], answer, python=python)
        else:
            said, reason = _run_all(checked, answer, python)
        if reading.shows_criteria and len(checked) == len(members):
            decided[item.index], reasons[item.index] = said, reason
        else:
            bounds[item.index] = said
            if said is False:
                reasons[item.index] = reason
    return CheckedItems(items, failed, decided, bounds, reasons)


@remember(1024)
def _has_checks(task: Task) -> bool:
    return any(criterion.check for criterion in task.rubric.criteria)


def check_functions(tasks: Iterable[Task], *, python: bool) -> None:
    """Raise `ConfigError` if a check calls a function that is not allowed, or cannot be imported."""
    for task in tasks:
        for position, criterion in enumerate(task.rubric.criteria, 1):
            function = criterion.check.python if criterion.check else None
            if function is None:
                continue
            place = f"task {task.id!r}: criterion {position}"
            if not python:
                remedy = "pass --python-checks if you trust the file"
                raise ConfigError("its check calls Python code", function, remedy=remedy, place=place)
            try:
                import_function(function)
            except ConfigError as error:
                raise error.at(place) from error


def _run_all(checked: Mapping[int, tuple[Check, bool]], answer: str, python: bool) -> tuple[bool | Unknown, str]:
    """Whether all of these criteria comply, and what decided; a penalty complies if its check does not hold."""
    unknown = None
    for index, (check, is_demand) in checked.items():
        said, reason = run_check(check, answer, python=python)
        if isinstance(said, Unknown):
            unknown = said
        elif said != is_demand:
            return False, f"criterion {index}, {reason}"
    return (True if unknown is None else unknown), f"checks of criteria {', '.join(map(str, checked))}"
