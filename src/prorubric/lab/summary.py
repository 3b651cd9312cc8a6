"""From runs to tables: what each scheme ended with, beside the paper's figures and beside what the audit foretold."""

from collections.abc import Callable, Sequence

import numpy as np

from prorubric.audit.paper import load_paper
from prorubric.lab.goals import Goal, judge_goals
from prorubric.lab.incentive import EDITS, Audit
from prorubric.lab.measure import WITHOUT, Measure
from prorubric.lab.results import BaseResult, RunResult
from prorubric.lab.rows import BASE, CurvePoint, RunEnd, SchemeRow
from prorubric.lab.schemes import KL_WEIGHTS, find_lab_scheme
from prorubric.lab.statistics import Correlation, Spread, correlate
from prorubric.rubric.base import Record

REFERENCE = "additive"
FIRST_STEPS = 50
_PAPER_MEASURES = {"c": "c_pro", "g": "g_pro"}


class Prediction(Record):
    """Over schemes, what the audit foretold and what became of `c`."""

    edit: str
    correlation: Correlation
    """Of what the edit pays, in units of the spread within a group, and `c` at the end."""


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
    correlation_c: Correlation
    """Of `c` with the paper's column, over the rows that exist in both."""
    correlation_g: Correlation
    correlation_c_greedy: Correlation
    correlation_c_trained: Correlation
    """The same without the untrained row and the KL sweep: the rows that are easy to tell apart."""
    correlation_g_trained: Correlation
    correlations_c_without: dict[str, Correlation]
    """Of `c` without a set of parts, by the name of the set."""
    correlations_c_without_trained: dict[str, Correlation]
    predictions: tuple[Prediction, ...]
    """For every edit, whatever the argument is about: one of many that fits says little."""
    goals: tuple[Goal, ...]
    cpu_seconds: float
    """Of all runs together."""

    def row(self, scheme: str) -> SchemeRow | None:
        """One scheme's row."""
        return next((row for row in self.rows if row.scheme == scheme), None)


def summarize(base: BaseResult, runs: Sequence[RunResult]) -> LabResult:
    """The tables of finished runs."""
    names = list(dict.fromkeys(run.scheme for run in runs))
    rows = tuple(_make_row(name, runs) for name in names)
    paper_c, paper_g = find_paper_column("c"), find_paper_column("g")
    ours_c = {BASE: base.sampled.c, **{row.scheme: row.c.mean for row in rows}}
    ours_g = {BASE: base.sampled.g, **{row.scheme: row.g.mean for row in rows}}
    greedy = {BASE: base.greedy.c, **{row.scheme: row.c_greedy.mean for row in rows}}
    medical = base.world.startswith("triage")
    paper_c, paper_g = (paper_c, paper_g) if medical else ({}, {})
    columns = {name: _without(name, base, rows) for name in WITHOUT}
    without = {name: correlate(column, paper_c) for name, column in columns.items()}
    found_c, found_g = correlate(ours_c, paper_c), correlate(ours_g, paper_g)
    return LabResult(
        world=base.world,
        steps=runs[0].steps,
        seeds=tuple(dict.fromkeys(run.seed for run in runs)),
        base=base,
        rows=rows,
        runs=tuple(_end(run) for run in runs),
        paper_c={name: paper_c[name] for name in ours_c if name in paper_c},
        paper_g={name: paper_g[name] for name in ours_g if name in paper_g},
        correlation_c=found_c,
        correlation_g=found_g,
        correlation_c_greedy=correlate(greedy, paper_c),
        correlation_c_trained=correlate(_trained(ours_c), paper_c),
        correlation_g_trained=correlate(_trained(ours_g), paper_g),
        correlations_c_without=without,
        correlations_c_without_trained={name: correlate(_trained(column), paper_c) for name, column in columns.items()},
        predictions=tuple(_predict(edit, base.audit, rows) for edit in EDITS),
        goals=judge_goals(base, rows, found_c, found_g, without),
        cpu_seconds=sum(run.cpu_seconds for run in runs),
    )


def find_paper_column(measure: str) -> dict[str, float]:
    """The paper's medical figures for `c` or `g`, under our names."""
    key = _PAPER_MEASURES[measure]
    figures = load_paper()["medical_ablations_4b_full"]
    return {_rename(name): row[key] for name, row in figures.items() if key in row}


def _rename(name: str) -> str:
    if name == "prorubric_no_failure_clauses":
        return "prorubric-no-failure"
    renamed = name.replace("_plus_", "+").replace("_", "-")
    for ours, theirs in KL_WEIGHTS.items():
        if renamed.endswith(f"-kl-{theirs}"):
            return renamed.removesuffix(str(theirs)) + str(ours)
    return renamed


def _without(name: str, base: BaseResult, rows: Sequence[SchemeRow]) -> dict[str, float]:
    untrained = base.sampled.c_without(WITHOUT[name])
    return {BASE: untrained, **{row.scheme: row.c_without[name].mean for row in rows}}


def _trained(column: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in column.items() if name != BASE and "-kl-" not in name}


def _make_row(name: str, runs: Sequence[RunResult]) -> SchemeRow:
    own = [run for run in runs if run.scheme == name]
    reference = {run.seed: run.last for run in runs if run.scheme == REFERENCE}

    def spread(take: Callable[[Measure], float]) -> Spread:
        return Spread.of([take(run.last) for run in own])

    return SchemeRow(
        scheme=name,
        seeds=len(own),
        g=spread(lambda m: m.g),
        g_lenient=spread(lambda m: m.g_lenient),
        c=spread(lambda m: m.c),
        c_without={
            name: Spread.of([run.last.c_without(left_out) for run in own]) for name, left_out in WITHOUT.items()
        },
        c_greedy=Spread.of([run.greedy.c for run in own]),
        g_greedy=Spread.of([run.greedy.g for run in own]),
        tokens=spread(lambda m: m.tokens),
        accuracy=spread(lambda m: m.accuracy),
        accuracy_greedy=Spread.of([run.greedy.accuracy for run in own]),
        naming=spread(lambda m: m.naming),
        parts={part: Spread.of([run.last.parts[part] for run in own]) for part in own[0].last.parts},
        ties_first=Spread.of([_end(run).ties_first for run in own]),
        ties_last=Spread.of([_end(run).ties_last for run in own]),
        c_by_seed={run.seed: run.last.c for run in own},
        c_over_additive=tuple(run.last.c - reference[run.seed].c for run in own if run.seed in reference),
        g_over_additive=tuple(run.last.g - reference[run.seed].g for run in own if run.seed in reference),
        curve=tuple(_average(own, place) for place in range(len(own[0].points))),
        c_curves={run.seed: {point.step: point.measure.c for point in run.points} for run in own},
    )


def _end(run: RunResult) -> RunEnd:
    return RunEnd(
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


def _average(runs: Sequence[RunResult], place: int) -> CurvePoint:
    looks = [run.points[place] for run in runs]
    return CurvePoint(
        step=looks[0].step,
        c=Spread.of([look.measure.c for look in looks]),
        g=Spread.of([look.measure.g for look in looks]),
        tokens=Spread.of([look.measure.tokens for look in looks]),
    )


def _predict(edit: str, audit: Audit, rows: Sequence[SchemeRow]) -> Prediction:
    """Rows that differ from another in the limit or a KL weight share its audit and are left out."""
    plain = [row for row in rows if find_lab_scheme(row.scheme).base == row.scheme]
    pays = {row.scheme: audit.effect(edit, row.scheme).per_spread for row in plain}
    known = {name: value for name, value in pays.items() if value is not None}
    return Prediction(edit=edit, correlation=correlate(known, {row.scheme: row.c.mean for row in plain}))
