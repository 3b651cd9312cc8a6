"""What a cascade of two judges does with an item: the first decides if it is sure, and the second decides the rest.

A judge's confidence in a verdict is the probability it gave, or the agreement of its votes. A live run and
the replay of two stored runs measure it here, so they agree on every item.
"""

from dataclasses import replace

from prorubric.judge.judge import Judgement
from prorubric.rubric.verdict import Unknown, Verdict

DIGITS = 4
"""Of an agreement, as run folders store it."""


def measure_sureness(verdict: Verdict, probability: float | None, agreement: float | None) -> float:
    """How sure a judge is, from 0 to 1: below 0 without a verdict, 1 if neither probability nor votes decided it."""
    if isinstance(verdict, Unknown):
        return -1.0
    if agreement is not None:
        return round(agreement, DIGITS)
    if probability is None:
        return 1.0
    return probability if verdict else 1 - probability


def list_unsure(found: Judgement, threshold: float, *, is_counted: bool) -> tuple[int, ...]:
    """The indices of the items to send on; levels and marks (not `is_counted`) only if they are unknown."""
    probabilities = dict(enumerate(found.probabilities or (), 1)) if is_counted else {}
    return tuple(
        index
        for index, verdict in enumerate(found.verdicts, 1)
        if measure_sureness(verdict, probabilities.get(index), found.agreement.get(index)) < threshold
    )


def join_cascade(first: Judgement, second: Judgement) -> Judgement:
    """The verdicts of the first judge, and those of the second on the items that it was sent.

    Probabilities and agreement stay those of the first, because they decided what was sent on.
    """
    sent = second.only or ()
    said = dict(zip(sent, second.verdicts, strict=True))
    # Counted even without votes: after a stop, what the first judge left open may have been sent on in error.
    missing = first.unknown_votes or sum(isinstance(verdict, Unknown) for verdict in first.verdicts)
    own = {index: given for index, given in first.evidence.items() if index not in said}
    return replace(
        first,
        verdicts=tuple(said.get(index, verdict) for index, verdict in enumerate(first.verdicts, 1)),
        reasons={index: reason for index, reason in first.reasons.items() if index not in said} | second.reasons,
        evidence=own | second.evidence,
        unknown_votes=missing,
        calls=first.calls + second.calls,
        prompt_characters=first.prompt_characters + second.prompt_characters,
        shared_characters=first.shared_characters + second.shared_characters,
    )
