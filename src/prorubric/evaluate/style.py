"""Arena-Hard with style control: what models would score if length and markup were as usual.

A logistic regression (Bradley-Terry) of every row of every game on one strength a model and four differences in style
to the baseline: tokens, headers, list items and bold passages. The differences are relative and standardised over all
rows, so a strength is that of a model whose answers differ from the baseline's as the average answer does.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from prorubric.errors import RubricError
from prorubric.evaluate.scores import list_results
from prorubric.rubric.base import Record

_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKUP = (
    re.compile(r"^ {0,3}#{1,6}\s", re.MULTILINE),
    re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s", re.MULTILINE),
    re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__"),
)
_RIDGE = 1e-2
"""Keeps the strength of a model finite that wins or loses every game; elsewhere it changes nothing that is printed."""
_MOST_STEPS = 200


class Style(NamedTuple):
    """How long an answer is, and how much markup it has."""

    tokens: int
    headers: int
    lists: int
    bold: int


def count_style(text: str, tokens: int) -> Style:
    """The style of an answer of so many tokens; markup inside code blocks does not count."""
    shown = _CODE.sub("", text)
    return Style(tokens, *(len(pattern.findall(shown)) for pattern in _MARKUP))


@dataclass(frozen=True, slots=True)
class Battle:
    """The two games of a model against the baseline on one question."""

    model: str
    labels: tuple[str | None, str | None]
    """Of the first game, in which the baseline is A, and of the second; None if unread."""
    own: Style
    baseline: Style


class StyleScores(Record):
    """Scores under style control."""

    scores: dict[str, float]
    """By model, 0..100."""
    coefficients: dict[str, float]
    """What one standard deviation more of each element does to the log-odds of a win."""
    n: int
    unread: int
    """Questions that are left out because a game could not be read."""


def control_style(battles: Iterable[Battle], per_token: bool = True) -> StyleScores:
    """Fit all models at once, with the same coefficients for all of them.

    Markup is counted per token, as Arena-Hard v2 does; with `per_token=False` by itself, as v0.1 does.
    """
    rows: list[tuple[int, float, int]] = []
    differences: list[tuple[float, ...]] = []
    models: dict[str, int] = {}
    n = unread = 0
    for battle in battles:
        results = list_results(*battle.labels)
        if results is None:
            unread += 1
            continue
        n += 1
        place = models.setdefault(battle.model, len(models))
        rows += [(place, won, weight) for won, weight in results]
        own, other = battle.own, battle.baseline
        lengths = own.tokens + other.tokens
        units = (max(1, own.tokens), max(1, other.tokens)) if per_token else (1, 1)
        markup = [(one / units[0], two / units[1]) for one, two in zip(own[1:], other[1:], strict=True)]
        relative = ((one - two) / (one + two + 1) for one, two in markup)  # each between -1 and 1
        length = (own.tokens - other.tokens) / lengths if lengths else 0.0
        differences += [(length, *relative)] * len(results)
    if not rows:
        raise RubricError(f"no question has two games that were read ({unread} unread), so there is nothing to fit")
    table = np.array(rows)
    strengths, coefficients = _fit(table[:, 0].astype(int), table[:, 1], table[:, 2], np.array(differences))
    return StyleScores(
        scores={model: float(100 / (1 + np.exp(-strengths[place]))) for model, place in models.items()},
        coefficients=dict(zip(Style._fields, map(float, coefficients), strict=True)),
        n=n,
        unread=unread,
    )


_Array = np.ndarray[Any, np.dtype[Any]]


def _fit(places: _Array, won: _Array, weights: _Array, differences: _Array) -> tuple[_Array, _Array]:
    """Strengths and coefficients, by Newton's method. The strengths' part of the Hessian is diagonal."""
    mean = np.average(differences, axis=0, weights=weights)
    spread = np.sqrt(np.average((differences - mean) ** 2, axis=0, weights=weights))
    style = (differences - mean) / np.where(spread > 0, spread, 1.0)
    count, elements = int(places.max()) + 1, style.shape[1]
    strengths, coefficients = np.zeros(count), np.zeros(elements)
    for _ in range(_MOST_STEPS):
        chances = 1 / (1 + np.exp(-(strengths[places] + style @ coefficients)))
        rest, bend = weights * (won - chances), weights * chances * (1 - chances)
        own = np.bincount(places, bend, count) + _RIDGE
        mixed = np.stack([np.bincount(places, bend * style[:, one], count) for one in range(elements)], axis=1)
        shared = style.T @ (style * bend[:, None]) + _RIDGE * np.eye(elements)
        to_strengths = np.bincount(places, rest, count) - _RIDGE * strengths
        to_coefficients = style.T @ rest - _RIDGE * coefficients
        schur = shared - mixed.T @ (mixed / own[:, None])
        step = np.linalg.solve(schur, to_coefficients - mixed.T @ (to_strengths / own))
        move = (to_strengths - mixed @ step) / own
        strengths, coefficients = strengths + move, coefficients + step
        if max(np.abs(move).max(), np.abs(step).max()) < 1e-9:
            return strengths, coefficients
    raise RubricError(f"the fit did not converge in {_MOST_STEPS} steps; are there enough questions for each model?")
