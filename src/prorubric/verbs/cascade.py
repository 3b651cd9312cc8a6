"""`replay_cascade`: what a cascade of two judges would do, from two stored runs on the same responses, without a call.

In a cascade the first judge decides, and only items it is unsure of go to the second, more expensive one. Its
confidence in a verdict is the probability it gave, or the agreement of its votes. Unknown items always go to the second
judge. Items without a verdict of the second judge are in no share of agreement.
"""

from pathlib import Path

from prorubric.errors import SourceError
from prorubric.judge.cascade import measure_sureness
from prorubric.judge.forms import BOOLEAN
from prorubric.judge.readings import READINGS
from prorubric.rubric.base import Record
from prorubric.rubric.verdict import NotApplicable, Verdict, is_unknown
from prorubric.runs.verdicts import read_judge, read_verdicts

_THRESHOLDS = (0.0, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0)
_TRUE_OR_FALSE = {name for name, reading in READINGS.items() if reading.form is BOOLEAN}


class CascadeStep(Record):
    """A cascade with one threshold."""

    threshold: float
    """Items that the first judge is less sure of than this go to the second."""
    sent: int
    share_sent: float
    agreement: float | None
    """The share of items on which the cascade says what the second judge says."""


class CascadeResult(Record):
    """What each threshold would send on, and how well the cascade agrees with the second judge."""

    first: str
    second: str
    responses: int
    """Those that are in both runs."""
    only_in_one: int
    """Responses that only one of the runs has; they are left out."""
    items: int
    unknown: int
    """Items on which the second judge has no verdict."""
    steps: tuple[CascadeStep, ...]


def replay_cascade(first: Path, second: Path) -> CascadeResult:
    """Replay a cascade from the run folder of the first judge and that of the second, one threshold after another.

    Of two thresholds that send on the same items only the lower is given.
    """
    cheap = {(row.task_id, row.sample): row for row in read_verdicts(first)}
    dear = {(row.task_id, row.sample): row for row in read_verdicts(second)}
    shared = [key for key in cheap if key in dear]
    items: list[tuple[float, Verdict, Verdict]] = []  # how sure the first judge is, below 0 without a verdict
    for row, other in ((cheap[key], dear[key]) for key in shared):
        for name in row.verdicts.keys() & other.verdicts.keys() & _TRUE_OR_FALSE:
            counts = len(row.verdicts[name]), len(other.verdicts[name])
            if counts[0] != counts[1]:
                differ = f"task {row.task_id!r} has {counts[0]} and {counts[1]} items in the two runs"
                raise SourceError(f"{differ}; judge the same tasks in both")
            probabilities = dict(enumerate(row.probabilities.get(name, ()), 1))
            agreement = {int(index): share for index, share in row.agreement.get(name, {}).items()}
            # Without any figures, what is known was not judged by probability or votes; what is unknown is sent on.
            if probabilities or agreement or all(map(is_unknown, row.verdicts[name])):
                for index, pair in enumerate(zip(row.verdicts[name], other.verdicts[name], strict=True), 1):
                    sureness = measure_sureness(pair[0], probabilities.get(index), agreement.get(index))
                    items.append((sureness, *pair))
    if all(sureness < 0 for sureness, _, _ in items):
        what = f"no verdict of {first} has a probability, or the agreement of several votes, and another in {second}"
        raise SourceError(f"{what}; judge the same responses in both, and in the first with --votes 3")
    known = [item for item in items if not is_unknown(item[2])]
    steps: dict[int, CascadeStep] = {}
    for threshold in _THRESHOLDS:
        sent = sum(sureness < threshold for sureness, _, _ in items)
        agreed = sum(
            sureness < threshold
            or said == other
            or (isinstance(said, NotApplicable) and isinstance(other, NotApplicable))
            for sureness, said, other in known
        )
        share = agreed / len(known) if known else None
        step = CascadeStep(threshold=threshold, sent=sent, share_sent=sent / len(items), agreement=share)
        steps.setdefault(sent, step)
    return CascadeResult(
        first=read_judge(first),
        second=read_judge(second),
        responses=len(shared),
        only_in_one=len(cheap) + len(dear) - 2 * len(shared),
        items=len(items),
        unknown=len(items) - len(known),
        steps=tuple(steps.values()),
    )
