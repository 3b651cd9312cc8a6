"""What a faithful miniature should show, stated before the comparison, and whether it did.

A goal is judged on the rows that exist; one that lacks its rows is open, which is not the same as missed.
"""

from collections.abc import Callable, Mapping, Sequence

from prorubric.lab.measure import WITHOUT
from prorubric.lab.results import BaseResult
from prorubric.lab.rows import SchemeRow
from prorubric.lab.schemes import KL_WEIGHTS
from prorubric.lab.statistics import Correlation
from prorubric.rubric.base import Record

BETTER = ("raw-and", "prorubric", "graded", "implicit", "k1")
NO_HELP = ("length-matched", "weighted")
NO_HELP_MARGIN = 0.25
"""A cure that wins back less than a quarter of what additive lost does not help."""
MANY_TIES = 0.3
LEARNING_STOPS = 0.5
"""Learning has stopped where less than half of the gain in `g` is left."""
ENOUGH_ROWS = 6
"""A rank correlation over fewer rows is mostly chance: of three rows, every third order gives 1 or -1."""


class Goal(Record):
    """One expectation."""

    goal: str
    met: bool | None
    """None where the rows for it are missing."""
    finding: str


class _OpenError(Exception):
    """A goal cannot be judged; the message says why."""


class _Rows:
    def __init__(self, base: BaseResult, rows: Sequence[SchemeRow]) -> None:
        self.base = base.sampled
        self.names = [row.scheme for row in rows]
        self._by_name = {row.scheme: row for row in rows}

    def row(self, name: str) -> SchemeRow:
        if name not in self._by_name:
            raise _OpenError(f"no runs of {name}")
        return self._by_name[name]

    def c(self, name: str) -> float:
        return self.row(name).c.mean

    @property
    def lost(self) -> float:
        """What additive lost of `c`."""
        lost = self.base.c - self.c("additive")
        if lost <= 0:
            raise _OpenError("additive lost nothing")
        return lost

    def worst_lead(self, name: str) -> float:
        """Over additive, on the seed where it is smallest."""
        leads = self.row(name).c_over_additive
        if not leads:
            raise _OpenError("no runs of additive")
        return min(leads)


def judge_goals(
    base: BaseResult,
    rows: Sequence[SchemeRow],
    found_c: Correlation,
    found_g: Correlation,
    without: Mapping[str, Correlation],
) -> tuple[Goal, ...]:
    """Every goal, in the order of the list; `without` are the correlations of `c` without sets of its parts."""
    table = _Rows(base, rows)
    goals = [_try(name, check, table) for name, check in _CHECKS.items()]
    others = [f"without {name} {found.rho:.2f}" for name, found in without.items() if found.rho is not None]
    return (*goals, _judge_rho("c", found_c, 0.8, others), _judge_rho("g", found_g, 0.5))


def _judge_rho(measure: str, found: Correlation, least: float, others: Sequence[str] = ()) -> Goal:
    goal = f"rank correlation of {measure} with the paper at least {least}"
    if found.rho is None or len(found.rows) < ENOUGH_ROWS:
        return Goal(goal=goal, met=None, finding=f"{len(found.rows)} rows in common, {ENOUGH_ROWS} needed")
    return Goal(goal=goal, met=found.rho >= least, finding=", ".join([f"{found.rho:.2f}", *others]))


def _try(name: str, check: Callable[[_Rows], tuple[bool, str]], table: _Rows) -> Goal:
    try:
        met, finding = check(table)
    except _OpenError as reason:
        return Goal(goal=name, met=None, finding=str(reason))
    return Goal(goal=name, met=met, finding=finding)


def _collapse(table: _Rows) -> tuple[bool, str]:
    row = table.row("additive")
    ends = row.c_by_seed.values()
    shown = ", ".join(f"{end:.3f}" for end in ends)
    others = ", ".join(
        f"without {name} {table.base.c_without(left_out):.3f} and {row.c_without[name].mean:.3f}"
        for name, left_out in WITHOUT.items()
        if name in ("length", "question")
    )
    return max(ends) < table.base.c, f"untrained {table.base.c:.3f}, additive {shown}; {others}"


def _collapse_is_early(table: _Rows) -> tuple[bool, str]:
    early = [_early_share(curve) for curve in table.row("additive").c_curves.values()]
    shown = ", ".join(f"{share:.0%}" for share in early)
    return min(early) > 0.5, f"{shown} of the fall by step 50, seed by seed (paper: 62% on its training curve)"


def _early_share(curve: Mapping[int, float]) -> float:
    fall = curve[0] - curve[max(curve)]
    if 50 not in curve or fall <= 0:
        raise _OpenError("no look at step 50" if fall > 0 else "additive lost nothing on some seed")
    return (curve[0] - curve[50]) / fall


def _grouping_helps(table: _Rows) -> tuple[bool, str]:
    leads = {name: table.worst_lead(name) for name in BETTER}
    shown = ", ".join(f"{name} {lead:+.3f}" for name, lead in leads.items())
    return min(leads.values()) > 0, f"over additive, worst seed: {shown}"


def _others_do_not(table: _Rows) -> tuple[bool, str]:
    won = {name: (table.c(name) - table.c("additive")) / table.lost for name in NO_HELP}
    shown = ", ".join(f"{name} wins back {share:.0%}" for name, share in won.items())
    return all(share < NO_HELP_MARGIN for share in won.values()), f"{shown} of what additive lost"


def _appropriateness_helps(table: _Rows) -> tuple[bool, str]:
    pairs = [name for name in table.names if name.endswith("+appropriateness")]
    if not pairs:
        raise _OpenError("no runs with +appropriateness")
    plain = {name: table.row(name.removesuffix("+appropriateness")) for name in pairs}
    gains = {name: table.c(name) - row.c.mean for name, row in plain.items()}
    other = {name: table.row(name).c_without["check"].mean - row.c_without["check"].mean for name, row in plain.items()}
    shown = ", ".join(f"{row.scheme} {gains[name]:+.3f} ({other[name]:+.3f})" for name, row in plain.items())
    return all(gain > 0 for gain in gains.values()), f"{shown}; in brackets without the parts that the check weighs too"


def _kl_helps_as_learning_stops(table: _Rows) -> tuple[bool, str]:
    gain = table.row("additive").g.mean - table.base.g
    sweep = [table.row(f"additive-kl-{kl}") for kl in KL_WEIGHTS]
    left = [(row.g.mean - table.base.g) / gain for row in sweep]
    helped = [(row.c.mean - table.c("additive")) / table.lost for row in sweep]
    shown = ", ".join(
        f"{b:.0%} of c back with {a:.0%} of the gain in g left" for a, b in zip(left, helped, strict=True)
    )
    fine = all(a < LEARNING_STOPS or b < LEARNING_STOPS for a, b in zip(left, helped, strict=True))
    return fine and helped[-1] >= LEARNING_STOPS, f"{shown}{_kl_on_prorubric(table)}"


def _kl_on_prorubric(table: _Rows) -> str:
    """What the sweep did to the other reward; told beside the goal, which is about additive."""
    lowest = f"prorubric-kl-{min(KL_WEIGHTS)}"
    if not {"prorubric", lowest} <= set(table.names):
        return ""
    plain, held = table.row("prorubric"), table.row(lowest)
    left = (held.g.mean - table.base.g) / (plain.g.mean - table.base.g)
    return f"; not judged: {lowest} moves c by {held.c.mean - plain.c.mean:+.3f} with {left:.0%} of the gain in g left"


def _ties(table: _Rows) -> tuple[bool, str]:
    row = table.row("k1")
    finding = f"{row.ties_first.mean:.0%} in the first 50 steps, {row.ties_last.mean:.0%} in the last (paper: 63-66%)"
    return row.ties_first.mean >= MANY_TIES, finding


_KL = "KL helps only as learning stops (judged under additive; weights moved after a look at one seed)"
_CHECKS: dict[str, Callable[[_Rows], tuple[bool, str]]] = {
    "c under additive ends below the untrained policy on every seed": _collapse,
    "most of that fall is there by step 50": _collapse_is_early,
    "raw-and, prorubric, graded, implicit and k1 end above additive on every seed": _grouping_helps,
    "half the length and other weights do not help": _others_do_not,
    "appropriateness helps every scheme": _appropriateness_helps,
    _KL: _kl_helps_as_learning_stops,
    "k1 has many ties": _ties,
}
