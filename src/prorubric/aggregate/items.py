"""Statistics of each criterion over the verdicts of a run: how often it is met, and whether it separates answers.

A response *complies* with a criterion if the verdict is true, or false for a negative weight. Verdicts that are unknown
or not applicable are left out and counted. Rewards are those of the sum (`additive`), of another scheme that reads the
criteria, or what the caller knows of them; a response whose reward is open has none. A group is the responses whose
advantages are taken together.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from prorubric.aggregate.advantages import group_advantages
from prorubric.aggregate.plan import ScoringPlan, make_scoring_plan
from prorubric.aggregate.score import score_plan
from prorubric.errors import SchemeError
from prorubric.rubric.base import Record
from prorubric.rubric.records import Task
from prorubric.rubric.verdict import NotApplicable, Unknown, Verdict
from prorubric.text.show import shorten

FEWEST_RESPONSES = 3
"""With fewer, there is no correlation and no agreement beyond chance."""
MOVED = 0.01
"""The change of an advantage, in standard deviations of its group, above which it has moved."""
_SUM = "additive"
_DIGITS = 12
"""Sums in another order differ after about fifteen digits, and what is equal must stay equal."""

Floats = npt.NDArray[np.float64]


class ItemFigures(Record):
    """One criterion of a task, over the responses to it."""

    task_id: str
    index: int
    """1-based, as in the rubric."""
    criterion: str
    weight: float
    responses: int
    """Those with a verdict, true or false."""
    unknown: int
    not_applicable: int
    pass_rate: float | None
    """The share of the responses that comply."""
    discrimination: float | None
    """The correlation of compliance with the share of the other criteria's weight that the response complies with;
    None with fewer than three responses, or if one of the two is always the same."""
    redundant_with: int | None
    """The other criterion of the task whose compliance agrees most with this one's, beyond chance."""
    redundancy: float | None
    """That agreement, as Cohen's κ."""
    groups: int
    """Groups with at least two rewards."""
    moved_share: float | None
    """The share of those groups in which an advantage changes by more than 0.01 if the criterion is removed; None if
    the rewards are not made of the verdicts on criteria."""
    advantage_if_met: float | None
    """The mean advantage of the responses that comply, in groups where some comply and some do not."""
    suppressed: bool
    """True if that mean is not above 0: those who meet the criterion are not rewarded for it."""


def describe_items(
    task: Task,
    verdicts: Sequence[Sequence[Verdict]],
    groups: Sequence[int] | None = None,
    scheme: str = _SUM,
    rewards: Sequence[float | None] | None = None,
) -> tuple[ItemFigures, ...]:
    """The figures of every criterion of a task, from one row of verdicts on the criteria for each response.

    `groups` names the group of each response; by default they are one group. `rewards` are those of the responses if
    they are made of something else than the verdicts on criteria; otherwise they are those of `scheme`.
    """
    present = np.array([_read_row(task, row) for row in verdicts], dtype=np.float64).reshape(-1, len(task.rubric))
    weights = np.array(task.rubric.weights, dtype=np.float64)
    unknown = np.array([[isinstance(verdict, Unknown) for verdict in row] for row in verdicts], dtype=np.bool_)
    unknown = unknown.reshape(present.shape)
    names = np.zeros(len(verdicts), dtype=np.int64) if groups is None else np.asarray(groups)
    comply = np.where(weights > 0, present, 1 - present)
    kappa = _find_agreement(comply)
    score: Callable[..., Floats] = partial(_add_all, present, weights, np.asarray(unknown.any(axis=1)))
    if scheme != _SUM:
        score = partial(_score_all, make_scoring_plan(task, scheme), verdicts)
    earned = np.array(rewards, dtype=np.float64) if rewards is not None else score()
    compared = sum(int((~np.isnan(earned[names == name])).sum() >= 2) for name in np.unique(names))
    figures = []
    for item, criterion in enumerate(task.rubric.criteria):
        met = comply[:, item]
        known = met[~np.isnan(met)]
        other = int(np.nanargmax(kappa[item])) if not np.isnan(kappa[item]).all() else None
        without = None if rewards is not None else score(without=item)
        moved, advantage = _compare_advantages(met, earned, without, names)
        unknowns = int(unknown[:, item].sum())
        figures.append(
            ItemFigures(
                task_id=task.id,
                index=item + 1,
                criterion=criterion.text,
                weight=criterion.weight,
                responses=len(known),
                unknown=unknowns,
                not_applicable=len(met) - len(known) - unknowns,
                pass_rate=float(known.mean()) if len(known) else None,
                discrimination=_correlate_with_rest(item, comply, weights),
                redundant_with=None if other is None else other + 1,
                redundancy=None if other is None else float(kappa[item, other]),
                groups=compared,
                moved_share=moved / compared if compared and without is not None else None,
                advantage_if_met=advantage,
                suppressed=advantage is not None and advantage <= 0,
            )
        )
    return tuple(figures)


def rank_items(items: Iterable[ItemFigures]) -> list[ItemFigures]:
    """The suppressed ones first, then from the lowest discrimination to the highest."""
    return sorted(items, key=lambda item: (not item.suppressed, item.discrimination is None, item.discrimination or 0))


def _read_row(task: Task, row: Sequence[Verdict]) -> list[float]:
    """True as 1, false as 0, and NaN for what is unknown or not applicable."""
    if len(row) != len(task.rubric):
        raise SchemeError(f"task {task.id!r}: {len(row)} verdicts for {len(task.rubric)} criteria; give one for each")
    for verdict in row:
        if not isinstance(verdict, bool | np.bool_ | Unknown | NotApplicable):
            raise SchemeError(f"task {task.id!r}: a verdict is {shorten(repr(verdict))}; allowed: true or false")
    return [float("nan") if isinstance(verdict, Unknown | NotApplicable) else float(verdict) for verdict in row]


def _score_all(plan: ScoringPlan, verdicts: Sequence[Sequence[Verdict]], without: int | None = None) -> Floats:
    """The reward of each response, perhaps as if one criterion did not apply; NaN if there is none."""
    removed, rewards = NotApplicable("removed"), []
    for row in verdicts:
        kept = [removed if place == without else verdict for place, verdict in enumerate(row)]
        rewards.append(score_plan(kept, plan).value)
    scored: Floats = np.array(rewards, dtype=np.float64)
    return scored.round(_DIGITS)


def _add_all(present: Floats, weights: Floats, is_open: npt.NDArray[np.bool_], without: int | None = None) -> Floats:
    """The same for the sum, in one go; nothing is earned if nothing that applies has a positive weight."""
    applies = ~np.isnan(present)
    if without is not None:
        applies[:, without] = False
    total = np.where(applies, weights * np.nan_to_num(present), 0.0).sum(axis=1)
    positive = np.where(applies, np.maximum(weights, 0.0), 0.0).sum(axis=1)
    rewards = np.full(len(present), np.nan)
    np.divide(total, positive, out=rewards, where=(positive > 0) & ~is_open)
    rounded: Floats = np.round(np.clip(rewards, 0.0, 1.0), _DIGITS)
    return rounded


def _correlate_with_rest(item: int, comply: Floats, weights: Floats) -> float | None:
    size = np.abs(weights) * ~np.isnan(comply)
    size[:, item] = 0.0
    rest = (size * np.nan_to_num(comply)).sum(axis=1)
    whole = size.sum(axis=1)
    kept = (whole > 0) & ~np.isnan(comply[:, item])
    met, share = comply[kept, item], np.round(rest[kept] / whole[kept], _DIGITS)
    if len(met) < FEWEST_RESPONSES or met.min() == met.max() or share.min() == share.max():
        return None
    return float(np.corrcoef(met, share)[0, 1])


def _find_agreement(comply: Floats) -> Floats:
    """Cohen's κ of the compliance with each two criteria; NaN if it cannot be had, and on the diagonal."""
    known = (~np.isnan(comply)).astype(np.float64)
    met = np.nan_to_num(comply)
    pairs = known.T @ known
    with np.errstate(divide="ignore", invalid="ignore"):
        agreed = (met.T @ met + (known - met).T @ (known - met)) / pairs
        first = met.T @ known / pairs
        chance = first * first.T + (1 - first) * (1 - first.T)
        kappa: Floats = np.where((pairs >= FEWEST_RESPONSES) & (chance < 1), (agreed - chance) / (1 - chance), np.nan)
    np.fill_diagonal(kappa, np.nan)
    return kappa


def _compare_advantages(
    met: Floats, rewards: Floats, without: Floats | None, groups: npt.NDArray[Any]
) -> tuple[int, float | None]:
    """In how many groups an advantage moves without the criterion, and the mean advantage of responses that meet it."""
    advantages = group_advantages(rewards, groups).values
    change = np.zeros(len(rewards))
    if without is not None:
        change = np.abs(advantages - group_advantages(np.where(np.isnan(rewards), np.nan, without), groups).values)
    moved, found = 0, list[float]()
    for name in np.unique(groups):
        moved += int(change[groups == name].max() > MOVED)
        inside = (groups == name) & ~np.isnan(rewards) & ~np.isnan(met)
        has_signal = len(set(met[inside])) > 1 and advantages[inside].any()
        found += advantages[inside & (met == 1)].tolist() if has_signal else []
    return moved, round(sum(found) / len(found), _DIGITS) if found else None
