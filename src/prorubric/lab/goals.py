"""What a faithful miniature should show, stated before the comparison, and whether it does.

A goal is judged on the rows that exist; one that lacks its rows is open, which is not the same as missed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from prorubric.lab.measure import WITHOUT, Measure
from prorubric.lab.results import Correlation, SchemeRow
from prorubric.lab.schemes import KL_WEIGHTS
from prorubric.rubric.base import Record

BETTER = ("raw-and", "prorubric", "graded", "implicit", "k1")
NO_HELP = ("length-matched", "weighted")
NO_HELP_MARGIN = 0.25  # a cure that wins back less than a quarter of what additive lost does not help
MANY_TIES = 0.3
LEARNING_STOPS = 0.5  # learning has stopped if less than half of the gain in `g` is left
ENOUGH_ROWS = 6  # a rank correlation over fewer rows is mostly chance: of three rows, every third order gives 1 or -1


class Goal(Record):
    """One expectation; `met` is None if the rows for it are missing."""

    goal: str
    met: bool | None
    finding: str


class _OpenError(Exception):
    """A goal cannot be judged; the message says why."""


@dataclass(frozen=True)
class _Table:
    base: Measure
    rows: Mapping[str, SchemeRow]
    found: Mapping[str, Correlation]  # with the paper's columns: of `c`, of `g`, and of `c` without sets of its parts

    def row(self, name: str) -> SchemeRow:
        if name not in self.rows:
            raise _OpenError(f"no runs of {name}")
        return self.rows[name]

    def won_back(self, row: SchemeRow) -> float:
        """The share of what additive lost of `c` that a scheme wins back."""
        additive = self.row("additive").c.mean
        if additive >= self.base.c:
            raise _OpenError("additive lost nothing")
        return (row.c.mean - additive) / (self.base.c - additive)

    def gain_left(self, row: SchemeRow, plain: SchemeRow) -> float:
        """The share of the gain in `g` under a scheme that a variant of it keeps."""
        return (row.g.mean - self.base.g) / (plain.g.mean - self.base.g)


def judge_goals(base: Measure, rows: Sequence[SchemeRow], found: Mapping[str, Correlation]) -> tuple[Goal, ...]:
    """Every goal, in the order of the list, with the correlations found for `c`, `g` and `without <parts>`."""
    goals, table = [], _Table(base, {row.scheme: row for row in rows}, found)
    for goal, check in _CHECKS.items():
        try:
            met, finding = check(table)
            goals.append(Goal(goal=goal, met=met, finding=finding))
        except _OpenError as reason:
            goals.append(Goal(goal=goal, met=None, finding=str(reason)))
    return tuple(goals)


def _collapse(table: _Table) -> tuple[bool, str]:
    row, base = table.row("additive"), table.base
    ends = row.c_by_seed.values()
    shown = f"untrained {base.c:.3f}, additive {', '.join(f'{end:.3f}' for end in ends)}"
    for sign, name in ((";", "length"), (",", "question")):
        shown += f"{sign} without {name} {base.c_without(WITHOUT[name]):.3f} and {row.c_without[name].mean:.3f}"
    return max(ends) < base.c, shown


def _collapse_is_early(table: _Table) -> tuple[bool, str]:
    early = []
    for curve in table.row("additive").c_curves.values():
        fall = curve[0] - curve[max(curve)]
        if fall <= 0:
            raise _OpenError("additive lost nothing on some seed")
        if 50 not in curve:
            raise _OpenError("no measurement at step 50")
        early.append((curve[0] - curve[50]) / fall)
    shown = ", ".join(f"{share:.0%}" for share in early)
    return min(early) > 0.5, f"{shown} of the fall by step 50, seed by seed (paper: 62% on its training curve)"


def _grouping_helps(table: _Table) -> tuple[bool, str]:
    leads = {name: table.row(name).c_over_additive for name in BETTER}
    if not all(leads.values()):
        raise _OpenError("no runs of additive")
    worst = {name: min(found) for name, found in leads.items()}
    shown = ", ".join(f"{name} {lead:+.3f}" for name, lead in worst.items())
    return min(worst.values()) > 0, f"over additive, worst seed: {shown}"


def _others_do_not(table: _Table) -> tuple[bool, str]:
    won = {name: table.won_back(table.row(name)) for name in NO_HELP}
    shown = ", ".join(f"{name} wins back {share:.0%}" for name, share in won.items())
    return all(share < NO_HELP_MARGIN for share in won.values()), f"{shown} of what additive lost"


def _appropriateness_helps(table: _Table) -> tuple[bool, str]:
    checked = [row for name, row in table.rows.items() if name.endswith("+appropriateness")]
    if not checked:
        raise _OpenError("no runs with +appropriateness")
    helps, shown = True, []
    for row in checked:
        plain = table.row(row.scheme.removesuffix("+appropriateness"))
        gain, other = row.c.mean - plain.c.mean, row.c_without["check"].mean - plain.c_without["check"].mean
        helps &= gain > 0
        shown.append(f"{plain.scheme} {gain:+.3f} ({other:+.3f})")
    return helps, f"{', '.join(shown)}; in brackets without the parts that the check weighs too"


def _kl_helps_as_learning_stops(table: _Table) -> tuple[bool, str]:
    additive, *sweep = (table.row(name) for name in ("additive", *(f"additive-kl-{kl}" for kl in KL_WEIGHTS)))
    pairs = [(table.won_back(row), table.gain_left(row, additive)) for row in sweep]
    shown = ", ".join(f"{won:.0%} of c back with {left:.0%} of the gain in g left" for won, left in pairs)
    never_both = all(won < LEARNING_STOPS or left < LEARNING_STOPS for won, left in pairs)
    # What the sweep did to the other reward; the goal is about additive.
    lowest = f"prorubric-kl-{min(KL_WEIGHTS)}"
    if {"prorubric", lowest} <= table.rows.keys():
        held, plain = table.row(lowest), table.row("prorubric")
        moved, left = held.c.mean - plain.c.mean, table.gain_left(held, plain)
        shown += f"; not judged: {lowest} moves c by {moved:+.3f} with {left:.0%} of the gain in g left"
    return never_both and pairs[-1][0] >= LEARNING_STOPS, shown


def _k1_ties(table: _Table) -> tuple[bool, str]:
    first, last = table.row("k1").ties_first.mean, table.row("k1").ties_last.mean
    return first >= MANY_TIES, f"{first:.0%} in the first 50 steps, {last:.0%} in the last (paper: 63-66%)"


def _ranks_agree(table: _Table, measure: str, least: float) -> tuple[bool, str]:
    found = table.found[measure]
    if found.rho is None or len(found.rows) < ENOUGH_ROWS:
        raise _OpenError(f"{len(found.rows)} rows in common, {ENOUGH_ROWS} needed")
    others = {name: other.rho for name, other in table.found.items() if name.startswith("without") and measure == "c"}
    told = [f"{found.rho:.2f}", *(f"{name} {rho:.2f}" for name, rho in others.items() if rho is not None)]
    return found.rho >= least, ", ".join(told)


_KL = "KL helps only as learning stops (judged under additive; weights moved after a look at one seed)"
_CHECKS: dict[str, Callable[[_Table], tuple[bool, str]]] = {
    "c under additive ends below the untrained policy on every seed": _collapse,
    "most of that fall is there by step 50": _collapse_is_early,
    "raw-and, prorubric, graded, implicit and k1 end above additive on every seed": _grouping_helps,
    "half the length and other weights do not help": _others_do_not,
    "appropriateness helps every scheme": _appropriateness_helps,
    _KL: _kl_helps_as_learning_stops,
    "k1 has many ties": _k1_ties,
    "rank correlation of c with the paper at least 0.8": lambda table: _ranks_agree(table, "c", 0.8),
    "rank correlation of g with the paper at least 0.5": lambda table: _ranks_agree(table, "g", 0.5),
}
