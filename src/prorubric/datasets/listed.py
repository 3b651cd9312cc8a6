"""Rubrics in prose: one text with one item per line, with or without numbers and points."""

import re
from itertools import pairwise

from prorubric.datasets.shapes import TIER_WEIGHTS, split_text
from prorubric.errors import RubricError
from prorubric.text.show import shorten

# "1. …", "2) …", "- …", "- [ ] …", "Points: 2, Item: …", "1.（+3分）…": each begins an item,
# and what follows up to the next belongs to it.
_NUMBER = r"(?:\d+[.)、](?!\d)|[-*•](?=\s))[ \t]*(?:\[[ xX]\][ \t]*)?"
_POINTS = (
    r"points?[ \t]*:[ \t]*(?P<points{0}>[+-]?\d+(?:\.\d+)?)[ \t]*[,;][ \t]*(?:item|criterion)[ \t]*:[ \t]*"
    r"|[(（][ \t]*(?P<marks{0}>[+-]?\d+(?:\.\d+)?)[ \t]*分[ \t]*[)）][ \t]*"
)
_LISTED = re.compile(
    rf"^[ \t]*(?:{_NUMBER}(?:{_POINTS.format('')})?|{_POINTS.format('_alone')})", re.IGNORECASE | re.MULTILINE
)
_POINTS_BEHIND = re.compile(
    r"\s*[(\[（]\s*(?P<points>[+−-]?\d+(?:\.\d+)?)\s*(?:points?|pts?\.?|marks?)\s*[)\]）]\s*\.?$", re.IGNORECASE
)
_IMPORTANCE = re.compile(r"\s*\(importance:\s*(\d+(?:\.\d+)?)\s*/\s*100\)\s*$", re.IGNORECASE)


def is_listed(text: str) -> bool:
    """True for a text with at least two items that are numbered or marked."""
    return len(_LISTED.findall(text)) > 1


def split_listed(text: str) -> list[tuple[str, float]]:
    """The items of a rubric in prose, each with the points or the tier that it names, or 1."""
    marks = list(_LISTED.finditer(text))
    if not marks:
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise RubricError("the rubric is text without items", shorten(repr(text)), remedy="give one item per line")
        return _take_points([_weigh_listed(line, None) for line in lines])
    ends = [after.start() for _, after in pairwise(marks)] + [len(text)]
    items = []
    for mark, end in zip(marks, ends, strict=True):
        points = next((value for value in mark.groupdict().values() if value), None)
        items.append(_weigh_listed(text[mark.end() : end].strip(), float(points) if points else None))
    return _take_points([(item, weight) for item, weight in items if item])


def _take_points(items: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Items that all end with their points, as in `Names a dose (3 points)`, without them."""
    found = [_POINTS_BEHIND.search(item) for item, _ in items]
    if not all(found):
        return items
    return [(mark.string[: mark.start()], float(mark["points"].replace("−", "-"))) for mark in found if mark]


def _weigh_listed(text: str, points: float | None) -> tuple[str, float]:
    importance = _IMPORTANCE.search(text)
    if importance and points is None:
        return text[: importance.start()], float(importance[1])
    item = split_text(text, points, None, ())
    return item.text, item.weight if item.weight is not None else TIER_WEIGHTS.get(item.tier or "", 1.0)
