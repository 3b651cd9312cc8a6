"""How well two sets of true and false agree: balanced F1, Cohen's κ, accuracy. An unknown side makes no pair."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of pairs: what one side said, what the other did."""

    both_true: int = 0
    only_first: int = 0
    only_second: int = 0
    both_false: int = 0

    @property
    def pairs(self) -> int:
        """How many pairs were counted."""
        return self.both_true + self.only_first + self.only_second + self.both_false

    @property
    def accuracy(self) -> float | None:
        """The share of pairs that agree; None without pairs."""
        return (self.both_true + self.both_false) / self.pairs if self.pairs else None

    @property
    def balanced_f1(self) -> float | None:
        """The mean of the F1 of true and the F1 of false; None where a class never occurs on either side."""
        wrong = self.only_first + self.only_second
        scores = [_f1(self.both_true, wrong), _f1(self.both_false, wrong)]
        known = [score for score in scores if score is not None]
        return sum(known) / 2 if len(known) == 2 else None

    @property
    def kappa(self) -> float | None:
        """Agreement beyond chance; None where chance alone would agree on everything."""
        if not self.pairs:
            return None
        first = (self.both_true + self.only_first) / self.pairs
        second = (self.both_true + self.only_second) / self.pairs
        chance = first * second + (1 - first) * (1 - second)
        agreed = (self.both_true + self.both_false) / self.pairs
        return (agreed - chance) / (1 - chance) if chance < 1 else None


def count_pairs(pairs: Iterable[tuple[bool | None, bool | None]]) -> Confusion:
    """Count pairs; one with None in it is left out."""
    counts = [0, 0, 0, 0]
    for first, second in pairs:
        if first is not None and second is not None:
            counts[0 if first and second else 1 if first else 2 if second else 3] += 1
    return Confusion(*counts)


def _f1(agreed: int, wrong: int) -> float | None:
    return 2 * agreed / (2 * agreed + wrong) if agreed or wrong else None
