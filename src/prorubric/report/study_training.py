"""The tables and figures of a study that come from its trainings, with the paper's figures next to ours.

Everything is read off the folders of the arms by `analyse_training`, and only the KL sweep off the evaluation. Shares
and scores are × 100. What the paper has here is of its smaller model, in medicine.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from prorubric.audit.paper import load_paper
from prorubric.evaluate.dynamics import Completion, CurveStep
from prorubric.evaluate.looks import Measure
from prorubric.evaluate.training import RolloutMeasure, RolloutStep, TrainingAnalysis
from prorubric.report.evaluation_tables import Row, Sheet
from prorubric.report.numbers import in_percent, plain
from prorubric.report.plots import CurveLine, CurvePoint, Figure, ScatterMark, draw_curves, draw_scatter, make_line
from prorubric.report.study_results import (
    PAPER_ARMS,
    DomainResults,
    Made,
    StudyResults,
    find_paper_key,
    find_paper_length,
    lay_out,
)
from prorubric.report.study_tables import say_state

_MOST_POINTS = 30
_THEIRS = "the paper's"
_KL = re.compile(r"(?P<arm>.+?),? \(?KL (?P<weight>[\d.]+)\)?")
"""`Rubric-RL KL 0.01`, also with a comma or parentheses."""


class _Arm(NamedTuple):
    """One arm of a domain: of the study, of the paper, or of both."""

    domain: str
    name: str
    """With `(unfinished)` as long as one of its runs is."""
    key: str
    """Among the paper's figures; empty if it has none."""
    found: TrainingAnalysis | None
    is_clinical: bool
    """True if the paper's figures are next to it."""


def _list_arms(results: StudyResults, paper: Sequence[str], *measures: str) -> Iterator[_Arm]:
    """The paper's arms in medicine, then every arm of the study that has something of one of these measures."""
    for domain in results.domains:
        keys = {find_paper_key(arm) or arm: arm for arm in domain.training}
        is_clinical = domain is results.clinic and bool(paper)
        for key in dict.fromkeys([*(paper if is_clinical else ()), *keys]):
            name = keys.get(key)
            found = domain.training[name] if name is not None else None
            if found is not None:
                known: set[str] = {*(one.measure for one in found.curves), *(one.measure for one in found.rollouts)}
                known |= {"completions"} if found.completions else set()
                found = None if known.isdisjoint(measures) else found
            if found is not None or (is_clinical and key in paper):
                is_finished = found is None or all(run.state == "done" for run in found.runs)
                shown = (name or PAPER_ARMS[key]) + ("" if is_finished else " (unfinished)")
                yield _Arm(domain.name, shown, key, found, is_clinical)


def make_dynamics(results: StudyResults) -> Made:
    """Appropriateness over the steps of every arm, and the step at which it was highest."""
    printed, rows, lines = results.find_small("training_dynamics_c"), list[Row](), list[CurveLine]()
    keys = [key for key in printed if key in PAPER_ARMS]
    prefixes = {own.domain.name: own.prefix for own in results.ablated}
    for arm in _list_arms(results, keys, "c"):
        has_paper = arm.is_clinical and arm.key in keys
        theirs = {0: printed["step_0"], **{int(step): c for step, c in printed[arm.key].items()}} if has_paper else {}
        points = {point.step: point for point in _find_points(arm.found, "c") if point.mean is not None}
        peaks = arm.found.peaks if arm.found else ()
        highest = next((peak.step for peak in peaks if peak.measure == "c"), None)
        for step in sorted({*points, *theirs}):
            ours = points[step].model_dump(include={"mean", "sd", "low", "high", "n"}) if step in points else {}
            rows.append(
                {
                    "domain": arm.domain,
                    "method": arm.name,
                    "step": step,
                    "appropriateness": in_percent(ours.get("mean")),
                }
                | {head: in_percent(ours.get(head)) for head in ("sd", "low", "high")}
                | {"prompts": ours.get("n"), "highest": "highest" if step == highest else ""}
                | {"paper": theirs.get(step), "state": say_state(ours.get("mean"))}
            )
        if points and (prefix := prefixes.get(arm.domain)) is not None:
            name = f"{prefix}{arm.name}, highest at step {highest}"
            curve = [
                CurvePoint(step, 100 * point.mean, in_percent(point.low), in_percent(point.high))
                for step, point in points.items()
                if point.mean is not None
            ]
            by_step = {step: {seed: 100 * c for seed, c in one.by_seed.items()} for step, one in points.items()}
            lines.append(make_line(name, len(lines), curve, by_step))
    shown = {"domain": 0, "method": 0, "step": 0, "appropriateness": 1, "sd": 1, "highest": 0, "paper": 1}
    return Made(Sheet("dynamics", rows, shown), _draw("appropriateness", lines))


def make_kl(results: StudyResults) -> Made:
    """Coverage, appropriateness and length under every weight of the KL penalty, and how far ProRubric is ahead."""
    rows, drawn = list[Row](), list[tuple[str, Row]]()
    for own in results.ablated:
        found = _list_kl_rows(own.domain, results.find_small("medical_ablations_4b_full"))
        rows += [{**own.place, **row} for row in found]
        drawn += [(f"{own.prefix}{row['method']}", row) for row in found]
    heads = {"coverage": 1, "appropriateness": 1, "characters": 0, "ahead": 1}
    shown = {"method": 0, "KL": 3, **heads, **{f"paper {head}": digits for head, digits in heads.items()}}
    return Made(lay_out("kl", rows, shown), _draw_kl(drawn))


def _list_kl_rows(domain: DomainResults, printed: Mapping[str, Any]) -> list[dict[str, object]]:
    """The rows of one domain; ProRubric is compared with Rubric-RL under the same weight."""
    axes = {"coverage": domain.place.coverage, "appropriateness": domain.place.appropriateness}
    rows: list[dict[str, object]] = []
    for (arm, weight), method in _list_kl(domain, printed).items():
        base = find_paper_key(arm)
        paper = printed.get(f"{base}_kl_{weight:g}" if weight else base, {})
        sides = {head: domain.find_side(name, domain.strict, method) if method else None for head, name in axes.items()}
        ours = {head: side.mean if side else None for head, side in sides.items()}
        last = sides["appropriateness"]
        rows.append(
            {"method": arm, "KL": weight, **ours, "characters": last.characters if last else None, "ahead": None}
            | {"paper coverage": paper.get("g_pro"), "paper appropriateness": paper.get("c_pro")}
            | {"paper characters": find_paper_length(paper), "paper ahead": None}
            | {"state": say_state(*ours.values())}
        )
    found = {(find_paper_key(str(row["method"])), row["KL"]): row for row in rows}
    ahead = [(row, found.get(("additive", place))) for (key, place), row in found.items() if key == "prorubric"]
    for row, other in ahead:
        for start in ("", "paper ") if other else ():
            one, two = (own and own[f"{start}appropriateness"] for own in (row, other))
            if isinstance(one, float) and isinstance(two, float):
                row[f"{start}ahead"] = round(one - two, 6)
    return rows


def _draw_kl(rows: Sequence[tuple[str, Row]]) -> Figure | None:
    """Rows with the name of their arm."""
    marks, legend = list[ScatterMark](), dict[str, int | None]()
    names = [*dict.fromkeys(name for name, _ in rows)]
    for arm, row in rows:
        weight = row["KL"]
        for name, place, start in ((arm, names.index(arm), ""), (_THEIRS, None, "paper ")):
            value = row[f"{start}appropriateness"]
            if isinstance(weight, float) and isinstance(value, float):
                marks.append(ScatterMark(place, weight, value))
                legend[name] = place
    label = "weight of the penalty across, appropriateness up"
    return Figure(label, "scatter", draw_scatter(marks, lambda x: plain(x, 2), plain), legend) if marks else None


def _list_kl(domain: DomainResults, printed: Mapping[str, object]) -> dict[tuple[str, float], str | None]:
    """By arm and weight, the method of the study, or None if only the paper has it; without a penalty it is 0."""
    found: dict[tuple[str, float], str | None] = {}
    for name in [*(PAPER_ARMS[key] for key in printed if "_kl_" in key), *domain.methods]:
        if match := _KL.fullmatch(name):
            arm = match["arm"]
            found[arm, 0.0] = _find_method(domain, arm)
            found[arm, float(match["weight"])] = _find_method(domain, name)
    arms = [*dict.fromkeys(arm for arm, _ in found)]
    return {pair: found[pair] for pair in sorted(found, key=lambda pair: (arms.index(pair[0]), pair[1]))}


def _find_method(domain: DomainResults, name: str) -> str | None:
    """The method of a study with this name, or with another spelling of the same arm of the paper."""
    key = find_paper_key(name)
    return domain.find_method(key) if key else name if name in domain.methods else None


def make_equal_groups(results: StudyResults) -> Made:
    """Groups of responses whose rewards are all equal, which teach nothing, over a training."""
    # A range over its seeds.
    printed = load_paper()["identical_reward_groups_k1_pct"] if results.paper_model == "Qwen3-4B" else []
    rows: list[Row] = []
    for arm in _list_arms(results, ["k1"] if printed else [], "equal_groups"):
        points = _find_rollouts(arm.found, "identical_groups")
        unknown = [point.mean for point in _find_rollouts(arm.found, "unknown_groups")]
        by_seed: dict[int, list[float]] = {}
        for seed, value in (pair for point in points for pair in point.by_seed.items()):
            by_seed.setdefault(seed, []).append(value)
        seeds = [*map(fmean, by_seed.values())]
        ours = _quarters(points) | {"all": fmean(point.mean for point in points) if points else None}
        ours |= {"lowest seed": min(seeds, default=None), "highest seed": max(seeds, default=None)}
        ours |= {"unknown": fmean(unknown) if unknown else None}
        paper = printed if arm.is_clinical and arm.key == "k1" else [None, None]
        row = {"domain": arm.domain, "method": arm.name, **{head: in_percent(value) for head, value in ours.items()}}
        rows.append(row | {"paper from": paper[0], "paper to": paper[1], "state": say_state(*ours.values())})
    heads = ("first quarter", "last quarter", "all", "lowest seed", "highest seed", "unknown")
    shown = {"domain": 0, "method": 0, **dict.fromkeys(heads, 1), "paper from": 0, "paper to": 0}
    figure = _draw_rollouts(results, "identical_groups", "groups with equal rewards in percent", 100)
    return Made(Sheet("equal-groups", rows, shown), figure)


def make_lengths(results: StudyResults) -> Made:
    """The length of responses over a training: in tokens by rollouts, in characters by validations."""
    printed, rows = results.find_small("medical_ablations_4b_full"), list[Row]()
    keys = [key for key in printed if key != "base" and "mean_chars_k" in printed[key]]
    for arm in _list_arms(results, keys, "characters", "tokens"):
        tokens = _quarters(_find_rollouts(arm.found, "tokens"))
        looks = [point.mean for point in _find_points(arm.found, "characters")]
        start, end = (looks[0], looks[-1]) if looks else (None, None)
        end_length = find_paper_length(printed.get(arm.key, {})) if arm.is_clinical else None
        start_length = find_paper_length(printed["base"]) if end_length is not None else None
        rows.append(
            {"domain": arm.domain, "method": arm.name}
            | {f"tokens, {head}": value for head, value in tokens.items()}
            | {"characters, start": start, "characters, end": end}
            | {"paper characters, start": start_length, "paper characters, end": end_length}
            | {"state": say_state(start, *tokens.values())}
        )
    heads = ("tokens, first quarter", "tokens, last quarter", "characters, start", "characters, end")
    shown = {"domain": 0, "method": 0, **dict.fromkeys(heads, 0)}
    shown |= {"paper characters, start": 0, "paper characters, end": 0}
    return Made(Sheet("training-length", rows, shown), _draw_rollouts(results, "tokens", "tokens of a response", 1))


def make_completions(results: StudyResults) -> Made:
    """Dimensions that hold at the end, by how many of their criteria the untrained answer did not meet."""
    printed, rows = results.find_small("completed_dimensions_order"), list[Row]()
    for arm in _list_arms(results, list(printed), "completions"):
        paper = printed.get(arm.key, {}) if arm.is_clinical else {}
        found = arm.found.completions if arm.found else ()
        last = max((one.step for one in found), default=None)
        ends = [one for one in found if one.step == last]
        for status in ("complete", "one short", "partly", "wholly", "all"):
            own = [one for one in ends if one.status == status]
            shares = [one.share for one in own if one.share is not None]
            if not shares and status not in paper:
                continue
            rows.append(
                {"domain": arm.domain, "method": arm.name, "untrained answer": status, "step": last}
                | {"completed": in_percent(fmean(shares)) if shares else None}
                | {
                    "lowest seed": in_percent(min(shares, default=None)),
                    "highest seed": in_percent(max(shares, default=None)),
                }
                | {"dimensions": sum(one.dimensions - one.unknown for one in own) if ends else None}
                | {"most often in": _count_ahead(ends) if status == "one short" else ""}
                | {"paper order": paper.get(status), "state": say_state(last)}
            )
    shown = {"domain": 0, "method": 0, "untrained answer": 0, "step": 0, "completed": 1, "lowest seed": 1}
    shown |= {"highest seed": 1, "dimensions": 0, "most often in": 0, "paper order": 0}
    return Made(Sheet("completions", rows, shown))


def _count_ahead(ends: Sequence[Completion]) -> str:
    """In how many seeds dimensions one criterion short are completed more often than those that lack more."""
    by_seed: dict[int, dict[str, float]] = {}
    for one in ends:
        if one.share is not None:
            by_seed.setdefault(one.seed, {})[one.status] = one.share
    known = [own for own in by_seed.values() if "one short" in own and ("partly" in own or "wholly" in own)]
    ahead = [own for own in known if own["one short"] > max(own.get("partly", 0.0), own.get("wholly", 0.0))]
    return f"{len(ahead)} of {len(known)} seeds" if known else ""


def _find_points(found: TrainingAnalysis | None, measure: Measure) -> Sequence[CurveStep]:
    curves = found.curves if found else ()
    return next((curve.points for curve in curves if curve.measure == measure), ())


def _find_rollouts(found: TrainingAnalysis | None, measure: RolloutMeasure) -> Sequence[RolloutStep]:
    curves = found.rollouts if found else ()
    return next((curve.points for curve in curves if curve.measure == measure), ())


def _quarters(points: Sequence[RolloutStep]) -> dict[str, float | None]:
    """Means over the first and the last quarter of the rollouts; a quarter has at least one."""
    size, values = max(1, len(points) // 4), [point.mean for point in points]
    first, last = (fmean(part) if part else None for part in (values[:size], values[-size:]))
    return {"first quarter": first, "last quarter": last}


def _draw_rollouts(results: StudyResults, measure: RolloutMeasure, label: str, factor: float) -> Figure | None:
    """The arms of the domains whose ablations are shown; many rollouts are averaged in blocks."""
    lines: list[CurveLine] = []
    arms = ((own.prefix + name, found) for own in results.ablated for name, found in own.domain.training.items())
    for name, found in arms:
        points = _find_rollouts(found, measure)
        size = -(-len(points) // _MOST_POINTS) or 1
        parts = [points[start : start + size] for start in range(0, len(points), size)]
        means = [CurvePoint(part[-1].step, factor * fmean(point.mean for point in part)) for part in parts]
        if means:
            lines.append(CurveLine(name, len(lines), means))
    return _draw(label, lines)


def _draw(label: str, lines: Sequence[CurveLine]) -> Figure | None:
    end = max((line.points[-1].step for line in lines), default=0)
    return draw_curves(label, lines, end, plain) if lines else None
