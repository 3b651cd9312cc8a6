"""`write_train_page`: what the runs of a recipe did, as one page that opens anywhere, `report.html` in its folder.

Nothing is measured here: the figures come from a `TrainingAnalysis`. A part that the folder cannot tell says why.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from prorubric.evaluate.dynamics import Curve, CurveStep
from prorubric.evaluate.looks import Measure
from prorubric.evaluate.training import (
    MethodGap,
    RolloutCurve,
    RolloutMeasure,
    TrainingAnalysis,
)
from prorubric.report.numbers import UNKNOWN, interval, join_counts, percent, plain, signed
from prorubric.report.page import (
    NOTES,
    Cell,
    Child,
    Html,
    Row,
    bullets,
    element,
    figure,
    fold,
    join,
    note,
    own_words,
    render_facts,
    render_page,
    render_sections,
    table,
    write_whole,
)
from prorubric.report.plots import CurveLine, CurvePoint, Show, make_line, render_curves
from prorubric.text.show import count

PAGE = "report.html"
_MOST_ROWS = 100
_TITLES: dict[Measure | RolloutMeasure, str] = {
    "c": "Appropriateness",
    "g": "Coverage",
    "characters": "Length",
    "reward": "Reward",
    "tokens": "Tokens of a response",
    "equal_groups": "Groups without signal",
    "loss": "Loss",
}
_ROLLOUTS: tuple[RolloutMeasure, ...] = ("reward", "tokens", "equal_groups", "loss")
_STYLES = {"done": "ok", "stopped": "bad", "failed": "bad"}
_HEADS = ("method", "step", "mean", "± over seeds", "95% over prompts", "by seed", "prompts", "lost")
_RUN_HEADS = ("run", "state", "step", "validations", "responses without a reward", "alarms")
_GAP_HEADS = ("step", "difference", "95% over prompts", "95% over seeds", "by seed", "separated", "prompts")

Places = Mapping[str, int]  # the place of each method, which gives it its colour and shape


def write_train_page(folder: Path, analysis: TrainingAnalysis) -> Path:
    """Write the page of a recipe's folder."""
    places = {name: place for place, name in enumerate(dict.fromkeys(run.method for run in analysis.runs))}
    runs: list[Row] = [
        (
            own_words(run.name),
            element("span", run.state, class_=_STYLES.get(run.state)),
            Cell(f"{run.step:,} of {run.steps:,}", run.step),
            Cell(f"{len(run.validations)}" + (f", {len(run.pending)} pending" if run.pending else "")),
            Cell(f"{run.unknown:,} of {run.responses:,}", run.unknown),
            figure(len(run.alarms)),
        )
        for run in analysis.runs
    ]
    departures = fold(count(len(analysis.departures), "departure"), bullets(map(own_words, analysis.departures)))
    sections = (
        ("runs", "Runs", table("Runs", _RUN_HEADS, runs)),
        ("c", "Appropriateness", _render_measure(analysis, "c", places)),
        ("g", "Coverage", _render_measure(analysis, "g", places)),
        ("length", "Length of the answers", _render_measure(analysis, "characters", places)),
        ("training", "What the training saw", _render_rollouts(analysis, places)),
        ("completed", "Completed dimensions", _render_completions(analysis)),
        ("judges", "Where the judges disagree", _render_shares(analysis, "disagreements")),
        ("lost", "Lost criteria", _render_shares(analysis, "suppressed")),
        ("dimensions", "Dimensions in the training", _render_dimensions(analysis)),
        ("departures", "Departures from the paper", departures if analysis.departures else note("None.")),
    )
    name = folder.absolute().name
    body = render_sections(_render_header(name, analysis), sections)
    return write_whole(folder / PAGE, render_page(f"Training: {name}", body))


def _render_header(name: str, analysis: TrainingAnalysis) -> Html:
    runs = analysis.runs
    states = Counter(run.state for run in runs)
    facts = (
        ("Runs", ", ".join(f"{number} {state}" for state, number in states.items())),
        ("Methods", ", ".join(dict.fromkeys(run.method for run in runs))),
        ("Seeds", ", ".join(map(str, sorted({run.seed for run in runs})))),
        ("Validations judged", str(sum(len(run.validations) for run in runs))),
    )
    early = [join(element("b", run.name), ": ", own_words(run.reason)) for run in runs if run.reason]
    alarms = [join(element("b", run.name), ": ", own_words(line)) for run in runs for line in run.alarms]
    boxes = [
        element("div", element("strong", title), bullets(lines), class_="alarm", role="alert")
        for title, lines in (("Runs that ended early", early), ("Alarms", alarms))
        if lines
    ]
    peaks: list[Child] = []
    for peak in analysis.peaks:
        fall = f"; at step {peak.last_step} it is {plain(peak.last_mean, 3)}, {plain(peak.fall, 3)} lower"
        reached = (": appropriateness peaked at ", element("b", f"step {peak.step}"), f" with {plain(peak.mean, 3)}")
        peaks.append((element("b", peak.method), *reached, None if peak.step == peak.last_step else fall))
    parts = [part for part in ("validations", "pending", "means", "seeds") if part in analysis.missing]
    limits = [(element("b", part.capitalize()), ": ", analysis.missing[part]) for part in parts]
    return element(
        "header",
        element("p", "ProRubric training", class_="over"),
        element("h1", own_words(name)),
        element("p", NOTES["train"], class_="lead"),
        render_facts(facts),
        bullets(peaks) if peaks else None,
        boxes,
        [element("p", line, class_="warn") for line in limits],
    )


def _render_measure(analysis: TrainingAnalysis, measure: Measure, places: Places) -> Html | None:
    """One measure of the held-out answers: the curves, the differences, and the table behind both."""
    curves = [curve for curve in analysis.curves if curve.measure == measure]
    if not curves:
        return _explain(analysis, {"c": "appropriateness", "g": "coverage"}.get(measure, ""))
    digits = 0 if measure == "characters" else 3
    show = _show(max(0, digits - 1))
    lines = [_make_line(curve, places) for curve in curves]
    gaps = [gap for gap in analysis.gaps if gap.measure == measure]
    rows: list[Row] = [
        (
            own_words(curve.method),
            figure(point.step),
            Cell(plain(point.mean, digits), point.mean, strong=True),
            Cell(plain(point.sd, digits), point.sd),
            Cell(interval(point.low, point.high, partial(plain, digits=digits)), point.low),
            _list_seeds(point.by_seed, digits),
            figure(point.n),
            join_counts(point.lost),
        )
        for curve in curves
        for point in curve.points
    ]
    return join(
        note(NOTES[f"train-{measure}"]),
        render_curves(_TITLES[measure], lines, _find_end(analysis), show),
        [_render_gap(gap, places, _find_end(analysis), digits) for gap in gaps],
        fold("All figures as a table", table(_TITLES[measure], _HEADS, rows, sortable=True)),
        None if measure == "characters" else _explain(analysis, "gaps"),
    )


def _make_line(curve: Curve | RolloutCurve, places: Places) -> CurveLine:
    means = []
    for point in curve.points:
        ends = (point.low, point.high) if isinstance(point, CurveStep) else ()
        if point.mean is not None:
            means.append(CurvePoint(point.step, point.mean, *ends))
    return make_line(curve.method, places[curve.method], means, {point.step: point.by_seed for point in curve.points})


def _render_gap(gap: MethodGap, places: Places, end: int, digits: int) -> Html:
    title, show = f"{gap.first} minus {gap.second}", partial(signed, digits=digits)
    means, rows = list[CurvePoint](), list[Row]()
    points = [(point, point.over_seeds, point.over_seeds.mean) for point in gap.points]
    for point, over, mean in points:
        if mean is not None:
            means.append(CurvePoint(point.step, mean, point.low, point.high))
            rows.append(
                (
                    Cell(point.step, point.step),
                    Cell(show(mean), mean, strong=True),
                    Cell(interval(point.low, point.high, show), point.low),
                    Cell(interval(over.low, over.high, show), over.low),
                    _list_seeds(over.by_seed, digits),
                    "yes" if over.separated else "no",
                    figure(point.n),
                )
            )
    by_step = {point.step: over.by_seed for point, over, mean in points if mean is not None}
    line = make_line(title, places[gap.first], means, by_step)
    return join(
        render_curves(title, [line], end, partial(signed, digits=max(0, digits - 1)), zero=True),
        fold("All differences as a table", table(title, _GAP_HEADS, rows)),
    )


def _render_rollouts(analysis: TrainingAnalysis, places: Places) -> Html | None:
    """Every measure of the training itself."""
    plots: list[Child] = []
    for measure in _ROLLOUTS:
        lines = [_make_line(curve, places) for curve in analysis.rollouts if curve.measure == measure]
        if lines:
            digits = {"tokens": 0, "equal_groups": 0}.get(measure, 2)
            show = percent if measure == "equal_groups" else _show(digits)
            plot = render_curves(_TITLES[measure], lines, _find_end(analysis), show)
            plots.append(element("div", element("h3", _TITLES[measure]), plot))
    if not plots:
        return _explain(analysis, "rollouts")
    return join(note(NOTES["train-rollouts"]), plots)


def _render_completions(analysis: TrainingAnalysis) -> Html | None:
    """Dimensions that hold, over the seeds of a method, by what the untrained answer missed."""
    steps = sorted({row.step for row in analysis.completions})
    held: dict[tuple[str, str], dict[int, tuple[int, int]]] = defaultdict(dict)
    for row in analysis.completions:
        completed, known = held[row.method, row.status].get(row.step, (0, 0))
        held[row.method, row.status][row.step] = completed + row.completed, known + row.dimensions - row.unknown
    rows: list[Row] = [
        (
            own_words(method),
            status,
            figure(found[min(found)][1]),
            *(_render_share(*found.get(step, (0, 0))) for step in steps),
        )
        for (method, status), found in held.items()
    ]
    heads = ("method", "untrained answer", "dimensions", *(f"step {step}" for step in steps))
    return join(
        join(note(NOTES["train-completed"]), table("Completed dimensions", heads, rows)) if rows else None,
        _explain(analysis, "completions"),
    )


def _render_shares(analysis: TrainingAnalysis, part: Literal["disagreements", "suppressed"]) -> Html | None:
    """One row a method and one column a step, over the seeds, and the criteria at the last validation."""
    if part == "disagreements":
        shares, criteria, text = analysis.disagreements, analysis.disputed_criteria, NOTES["train-judges"]
        label, title = "Disagreement", "Criteria that only the training judge calls met"
    else:
        shares, criteria, text = analysis.suppressed, analysis.suppressed_criteria, NOTES["train-lost"]
        label, title = "Lost criteria", "Criteria that were lost"
    if not shares:
        return _explain(analysis, part)
    steps = sorted({row.step for row in shares})
    counts: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    for row in shares:
        found, asked = counts[row.method].get(row.step, (0, 0))
        counts[row.method][row.step] = found + row.found, asked + row.criteria
    rows: list[Row] = [
        (own_words(method), *(_render_share(*own.get(step, (0, 0))) for step in steps))
        for method, own in counts.items()
    ]
    listed: list[Row] = [
        (own_words(row.task_id), figure(row.criterion), own_words(row.text), figure(row.runs))
        for row in criteria[:_MOST_ROWS]
    ]
    more = f", the first {_MOST_ROWS} shown" if len(criteria) > _MOST_ROWS else ""
    inner = table(title, ("task", "number", "criterion", "runs"), listed, sortable=True)
    return join(
        note(text),
        table(label, ("method", *(f"step {step}" for step in steps)), rows),
        fold(f"{title} at the last validation: {len(criteria)}{more}", inner, class_="tall") if criteria else None,
        _explain(analysis, part),
    )


def _render_dimensions(analysis: TrainingAnalysis) -> Html | None:
    if not analysis.dimensions:
        return None
    rows: list[Row] = [
        (
            own_words(row.name),
            own_words(row.method),
            figure(row.early, percent),
            figure(row.late, percent),
            Cell(signed(100 * (row.late - row.early), 0), row.late - row.early, strong=True),
            figure(row.known),
        )
        for row in analysis.dimensions[:_MOST_ROWS]
    ]
    heads = ("dimension", "method", "first quarter", "last quarter", "change", "verdicts")
    shown = count(len(analysis.dimensions), "pass rate")
    return join(
        note(NOTES["train-dimensions"]),
        fold(
            shown + (f", the {_MOST_ROWS} that changed most" if len(analysis.dimensions) > _MOST_ROWS else ""),
            table("Dimensions in the training", heads, rows, sortable=True),
            class_="tall",
        ),
    )


def _explain(analysis: TrainingAnalysis, part: str) -> Html | None:
    reason = analysis.missing.get(part)
    return note(f"Not known: {reason}.") if reason else None


def _find_end(analysis: TrainingAnalysis) -> int:
    return max((run.steps for run in analysis.runs), default=0)


def _show(digits: int) -> Show:
    return lambda value: UNKNOWN if value is None else f"{value:,.{digits}f}".replace("-", "−")


def _render_share(part: int, whole: int) -> Cell:
    share = part / whole if whole else None
    return figure(share, percent)


def _list_seeds(by_seed: Mapping[int, float], digits: int) -> Html:
    return element("small", ", ".join(f"{seed}: {plain(value, digits)}" for seed, value in by_seed.items()))
