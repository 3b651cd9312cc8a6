"""Best of n: the answer to each prompt that scored best, as data for supervised training.

An unknown score never wins. A prompt none of whose answers has a known score is left out and named.
"""

import math
from collections.abc import Iterable

from prorubric.rubric.base import Record
from prorubric.rubric.records import Response


class BestOf(Record):
    """The chosen answers, and what was not chosen because its score is not known."""

    chosen: tuple[Response, ...]
    """One answer to a prompt, in the order in which the prompts first appear."""
    scores: tuple[float, ...]
    """Theirs."""
    left_out: tuple[str, ...]
    """The tasks without a known score."""
    unknown: int
    """Answers without a known score, of all tasks."""


def choose_best(responses: Iterable[Response], scores: Iterable[float | None]) -> BestOf:
    """The answer of each task with the highest known score, the earliest sample if several have it.

    `scores` has one entry per response; None and NaN are unknown, and so is an infinity.
    """
    best: dict[str, tuple[float, Response] | None] = {}
    unknown = 0
    for response, score in zip(responses, scores, strict=True):
        leader = best.setdefault(response.task_id, None)
        if score is None or not math.isfinite(score):
            unknown += 1
        elif leader is None or (score, -response.sample) > (leader[0], -leader[1].sample):
            best[response.task_id] = score, response
    found = [pair for pair in best.values() if pair is not None]
    return BestOf(
        chosen=tuple(response for _, response in found),
        scores=tuple(score for score, _ in found),
        left_out=tuple(task_id for task_id, pair in best.items() if pair is None),
        unknown=unknown,
    )
