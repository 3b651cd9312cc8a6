"""From runs to tables: what each scheme ended with, next to the paper's figures and to what the audit predicted."""

from collections.abc import Sequence

import numpy as np

from prorubric.audit.paper import load_paper
from prorubric.evaluate.statistics import Spread
from prorubric.lab.goals import Goal, judge_goals
from prorubric.lab.incentive import EDITS
from prorubric.lab.measure import WITHOUT, Measure
from prorubric.lab.results import BASE, BaseResult, Correlation, LabRun, MeasureRow, SchemeRow, correlate
from prorubric.lab.schemes import KL_WEIGHTS, find_lab_scheme
from prorubric.lab.world import make_world
from prorubric.rubric.base import Record

REFERENCE = "additive"
FIRST_STEPS = 50


class RunEnd(Record):
    """How one run ended."""

    scheme: str
    seed: int
    g: float
    c: float
    sampled: Measure  # all measures at temperature 1, `g` and `c` among them
    greedy: Measure
    ties_first: float
    ties_last: float
    cpu_seconds: float


class Prediction(Record):
    """Over schemes, what the audit predicted and what became of `c`."""

    edit: str
    correlation: Correlation  # of what the edit pays, in units of the spread within a group, and `c` at the end


class LabResult(Record):
    """A comparison of schemes in one world."""

    world: str
    steps: int
    seeds: tuple[int, ...]
    base: BaseResult
    rows: tuple[SchemeRow, ...]
    runs: tuple[RunEnd, ...]
    paper_c: dict[str, float]
    paper_g: dict[str, float]
    correlation_c: Correlation  # of `c` with the paper's column, over the rows that exist in both
    correlation_g: Correlation
    correlation_c_greedy: Correlation
    correlation_c_trained: Correlation
    """The same without the untrained row and the KL sweep: the rows that are easy to tell apart."""
    correlation_g_trained: Correlation
    correlations_c_without: dict[str, Correlation]  # of `c` without a set of parts, by the name of the set
    correlations_c_without_trained: dict[str, Correlation]
    predictions: tuple[Prediction, ...]  # for every edit, expected to predict or not: one of many that fits says little
    goals: tuple[Goal, ...]
    cpu_seconds: float  # of all runs together

    def row(self, scheme: str) -> SchemeRow | None:
        """One scheme's row."""
        return next((row for row in self.rows if row.scheme == scheme), None)

    @property
    def base_row(self) -> MeasureRow:
        """The untrained policy as a row of the same tables."""
        return MeasureRow.of(BASE, [self.base.sampled], [self.base.greedy])


def summarize_lab(base: BaseResult, runs: Sequence[LabRun]) -> LabResult:
    """The tables of finished runs."""
    ends = [
        RunEnd(
            scheme=run.scheme,
            seed=run.seed,
            g=run.last.g,
            c=run.last.c,
            sampled=run.last,
            greedy=run.greedy,
            ties_first=float(np.mean(run.ties[:FIRST_STEPS])),
            ties_last=float(np.mean(run.ties[-FIRST_STEPS:])),
            cpu_seconds=run.cpu_seconds,
        )
        for run in runs
    ]
    rows = [_make_row(name, runs, ends) for name in dict.fromkeys(run.scheme for run in runs)]
    every = [MeasureRow.of(BASE, [base.sampled], [base.greedy]), *rows]
    ours_c, ours_g = ({row.scheme: getattr(row, name).mean for row in every} for name in ("c", "g"))
    without = {name: {row.scheme: row.c_without[name].mean for row in every} for name in WITHOUT}
    # The paper's columns are of medicine.
    medical = make_world(base.world).texts.domain == "medicine"
    paper_c, paper_g = (find_paper_column(name) if medical else {} for name in ("c", "g"))

    def drop_easy(column: dict[str, float]) -> dict[str, float]:
        return {name: value for name, value in column.items() if name != BASE and "-kl-" not in name}

    # Rows that differ from another only in the limit or a KL weight share its audit.
    plain = {row.scheme: row.c.mean for row in rows if find_lab_scheme(row.scheme).base == row.scheme}
    predictions = []
    for edit in EDITS:
        pays = {scheme: base.audit.effect(edit, scheme).per_spread for scheme in plain}
        known = {scheme: value for scheme, value in pays.items() if value is not None}
        predictions.append(Prediction(edit=edit, correlation=correlate(known, plain)))
    found_c, found_g = correlate(ours_c, paper_c), correlate(ours_g, paper_g)
    found_without = {name: correlate(column, paper_c) for name, column in without.items()}
    for_goals = {"c": found_c, "g": found_g} | {f"without {name}": found for name, found in found_without.items()}
    return LabResult(
        world=base.world,
        steps=runs[0].steps,
        seeds=tuple(dict.fromkeys(run.seed for run in runs)),
        base=base,
        rows=tuple(rows),
        runs=tuple(ends),
        paper_c={name: paper_c[name] for name in ours_c if name in paper_c},
        paper_g={name: paper_g[name] for name in ours_g if name in paper_g},
        correlation_c=found_c,
        correlation_g=found_g,
        correlation_c_greedy=correlate({row.scheme: row.c_greedy.mean for row in every}, paper_c),
        correlation_c_trained=correlate(drop_easy(ours_c), paper_c),
        correlation_g_trained=correlate(drop_easy(ours_g), paper_g),
        correlations_c_without=found_without,
        correlations_c_without_trained={n: correlate(drop_easy(column), paper_c) for n, column in without.items()},
        predictions=tuple(predictions),
        goals=judge_goals(base.sampled, rows, for_goals),
        cpu_seconds=sum(run.cpu_seconds for run in runs),
    )


def find_paper_column(measure: str) -> dict[str, float]:
    """The paper's medical figures for `c` or `g`, under our names."""
    found = {}
    for name, figures in load_paper()["medical_ablations_4b_full"].items():
        ours = name.replace("_plus_", "+").replace("_failure_clauses", "_failure").replace("_", "-")
        scheme, _, weight = ours.partition("-kl-")
        if weight:
            ours = f"{scheme}-kl-{next(our for our, theirs in KL_WEIGHTS.items() if str(theirs) == weight)}"
        if f"{measure}_pro" in figures:
            found[ours] = figures[f"{measure}_pro"]
    return found


def _make_row(name: str, runs: Sequence[LabRun], ends: Sequence[RunEnd]) -> SchemeRow:
    own = [run for run in runs if run.scheme == name]
    reference = {run.seed: run.last for run in runs if run.scheme == REFERENCE}
    pairs = [(run.last, reference[run.seed]) for run in own if run.seed in reference]
    curve = []
    for looks in zip(*(run.points for run in own), strict=True):
        means = {name: Spread.of([getattr(look.measure, name) for look in looks]) for name in ("c", "g", "tokens")}
        curve.append({"step": looks[0].step, **means})
    return SchemeRow.of(
        name,
        [run.last for run in own],
        [run.greedy for run in own],
        ties_first=Spread.of([end.ties_first for end in ends if end.scheme == name]),
        ties_last=Spread.of([end.ties_last for end in ends if end.scheme == name]),
        c_by_seed={run.seed: run.last.c for run in own},
        c_over_additive=tuple(last.c - additive.c for last, additive in pairs),
        g_over_additive=tuple(last.g - additive.g for last, additive in pairs),
        curve=tuple(curve),
        c_curves={run.seed: {point.step: point.measure.c for point in run.points} for run in own},
    )
