"""Several votes on one item become one verdict: the majority of the known votes.

A tie is unknown, and so is an item on which fewer than half of the votes are known. Unknown votes count in the
agreement, which is the share of all votes that say what most of them say.
"""

from collections.abc import Sequence

from prorubric.rubric.verdict import NotApplicable, Unknown, Verdict

UNSURE_BELOW = 0.8
"""An item with less agreement than this is counted as unsure."""


def join_votes(votes: Sequence[Verdict], min_agreement: float = 0.0) -> tuple[Verdict, float]:
    """The verdict of several votes of true, false or not applicable, and their agreement."""
    sides: dict[object, list[Verdict]] = {}
    for vote in votes:
        if not isinstance(vote, Unknown):
            sides.setdefault("not applicable" if isinstance(vote, NotApplicable) else vote, []).append(vote)
    largest = max(sides.values(), key=len, default=[])
    known, agreement = sum(map(len, sides.values())), len(largest) / len(votes)
    if not known:
        return votes[0], agreement
    if 2 * known < len(votes):
        missing = next(vote for vote in votes if isinstance(vote, Unknown))
        reason = f"only {known} of {len(votes)} votes are known; the first that is not: {missing.reason}"
        return Unknown(reason, kind="too few votes"), agreement
    if 2 * len(largest) <= known:
        counts = ", ".join(f"{len(same)} x {str(side).lower()}" for side, same in sides.items())
        return Unknown(f"the votes have no majority: {counts}", kind="no majority"), agreement
    if agreement < min_agreement:
        reason = f"{len(largest)} of {len(votes)} votes agree, less than the {min_agreement:.0%} asked for"
        return Unknown(reason, kind="low agreement"), agreement
    return largest[0], agreement


def average_votes(votes: Sequence[Verdict]) -> Verdict:
    """The mean of several levels or marks; unknown, or not applicable, if one of them is."""
    total = 0.0
    for vote in votes:
        if isinstance(vote, Unknown | NotApplicable):
            return vote
        total += vote
    return total / len(votes)
