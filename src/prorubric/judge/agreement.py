"""How well verdicts, and comparisons of two answers, agree with people's labels. An unknown side makes no pair.

For true and false: balanced F1, Cohen's κ, accuracy. For comparisons: the share that agree, and how often the order
in which two answers are shown does not change the result.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, zip_longest
from typing import NamedTuple

from prorubric.rubric.base import Record

Label = bool | None


class Confusion(NamedTuple):
    """Counts of pairs: what one side said, what the other did."""

    both_true: int = 0
    only_first: int = 0
    only_second: int = 0
    both_false: int = 0

    @property
    def pairs(self) -> int:
        """How many pairs were counted."""
        return sum(self)

    @property
    def accuracy(self) -> float | None:
        """The share of pairs that agree; None without pairs."""
        return (self.both_true + self.both_false) / self.pairs if self.pairs else None

    @property
    def balanced_f1(self) -> float | None:
        """The mean of the F1 of true and the F1 of false; None if a class never occurs on either side."""
        wrong = self.only_first + self.only_second
        if not wrong and not (self.both_true and self.both_false):
            return None
        return sum(2 * agreed / (2 * agreed + wrong) for agreed in (self.both_true, self.both_false)) / 2

    @property
    def kappa(self) -> float | None:
        """Agreement beyond chance; None if chance alone would agree on everything."""
        if self.accuracy is None:
            return None
        first = (self.both_true + self.only_first) / self.pairs
        second = (self.both_true + self.only_second) / self.pairs
        chance = first * second + (1 - first) * (1 - second)
        return (self.accuracy - chance) / (1 - chance) if chance < 1 else None


def count_pairs(pairs: Iterable[tuple[Label, Label]]) -> Confusion:
    """Count pairs; one with None in it is left out."""
    counts = Counter(pair for pair in pairs if None not in pair)
    return Confusion(counts[True, True], counts[True, False], counts[False, True], counts[False, False])


class Agreement(Record):
    """How well a judge, or people, agree with people's labels."""

    items: int
    pairs: int
    """Pairs of a verdict, or of another person's label, with a label."""
    balanced_f1: float | None
    kappa: float | None
    """The mean over people (or pairs of people) of Cohen's κ."""
    accuracy: float | None


def compare_with_people(verdicts: Sequence[Label], labels: Sequence[Sequence[Label]]) -> dict[str, Agreement]:
    """How well a judge agrees with each person's labels (`judge`), and people with each other (`human`).

    `labels` has a row for each verdict with a label from each person; a row may be short.
    """
    people = list(zip_longest(*labels))
    compared = {
        "judge": [count_pairs(zip(verdicts, person, strict=True)) for person in people],
        "human": [count_pairs(zip(one, other, strict=True)) for one, other in combinations(people, 2)],
    }
    found = {}
    for name, confusions in compared.items():
        whole = Confusion(*map(sum, zip(*confusions, strict=True)))
        kappas = [confusion.kappa for confusion in confusions if confusion.kappa is not None]
        found[name] = Agreement(
            items=len(verdicts),
            pairs=whole.pairs,
            balanced_f1=whole.balanced_f1,
            kappa=sum(kappas) / len(kappas) if kappas else None,
            accuracy=whole.accuracy,
        )
    return found


class PairAgreement(Record):
    """How well a judge that compares two answers agrees with people."""

    pairs: int
    agreed: int
    """Pairs of which the judge says in both orders what people say."""
    ties: int
    """Called equal in both orders."""
    inconsistent: int
    """The two orders gave different results."""
    unknown: int
    agreement: float | None
    """Those agreed, as a share of all that are known."""
    agreement_if_decided: float | None
    """The same among those for which the judge preferred an answer."""
    order_consistency: float | None
    """The share of known pairs that are not inconsistent."""


def compare_pairs(sides: Sequence[tuple[str, str | None]]) -> PairAgreement:
    """Count pairs of what people say (`first`, `second`, `equal`) and what `Judge.compare` said; None is unknown."""
    known = [(better, said) for better, said in sides if said is not None]
    counts = Counter(said for _, said in known)
    agreed = sum(said == ("tie" if better == "equal" else better) for better, said in known)
    decided = [better == said for better, said in known if said in ("first", "second")]
    return PairAgreement(
        pairs=len(sides),
        agreed=agreed,
        ties=counts["tie"],
        inconsistent=counts["inconsistent"],
        unknown=len(sides) - len(known),
        agreement=agreed / len(known) if known else None,
        agreement_if_decided=sum(decided) / len(decided) if decided else None,
        order_consistency=1 - counts["inconsistent"] / len(known) if known else None,
    )
