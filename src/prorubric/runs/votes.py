"""What several votes, or several judges, said in a run: how far they agree, and what each judge did and cost."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from prorubric.judge.judge import Judgement
from prorubric.judge.votes import UNSURE_BELOW
from prorubric.llm.accounting import Prices, Usage, estimate_cost
from prorubric.rubric.base import Record
from prorubric.rubric.verdict import Unknown, UnknownCounts, is_unknown


class PanelMember(Record):
    """One judge of a panel or a cascade: what it said, and what it cost."""

    verdicts: int
    unknown: int
    unknown_reasons: dict[str, int]
    agreed: float | None
    """The share of its known verdicts that are those of all judges together, where there is one; None without any."""
    calls: int
    cached: int
    failed_calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None


class VotedResult(Record):
    """The part of a result that is about votes and judges."""

    agreement: float | None = None
    """The mean over all items of the share of votes that say what most say; None if there was one vote."""
    unsure: int = 0
    """Items with an agreement below `UNSURE_BELOW`."""
    unknown_votes: int = 0
    """Votes without a verdict, of several; the others may have decided all the same."""
    judges: dict[str, PanelMember] = Field(default_factory=dict)
    """By name, if there are several."""
    sent_on: int | None = None
    """Items that the first judge of a cascade was not sure of, and the second decided; None without a cascade."""


class VoteTally:
    """Counts judgements as they come in."""

    def __init__(self) -> None:
        self._counts, self._agreement = Counter[str](), 0.0
        self._judges: dict[str, Counter[str]] = defaultdict(Counter)
        self._reasons: dict[str, UnknownCounts] = defaultdict(UnknownCounts)

    def add(self, judgement: Judgement) -> None:
        """Count one judgement; a single vote of a single judge has nothing to count."""
        if not judgement.agreement and not judgement.judges:
            return
        self._counts.update(
            voted=len(judgement.agreement),
            unsure=sum(share < UNSURE_BELOW for share in judgement.agreement.values()),
            unknown_votes=judgement.unknown_votes if judgement.agreement else 0,
            sent_on=len(judgement.sent_on),
        )
        self._agreement += sum(judgement.agreement.values())
        for name, own in judgement.judges.items():
            joined = judgement.verdicts
            if own.only is not None:
                self._counts["cascades"] += 1
                joined = tuple(joined[index - 1] for index in own.only)
            both = zip(own.verdicts, joined, strict=True)
            known = [said == final for said, final in both if not (is_unknown(said) or is_unknown(final))]
            missing = [verdict for verdict in own.verdicts if isinstance(verdict, Unknown)]
            counts = {"verdicts": len(own.verdicts), "unknown": len(missing)}
            self._judges[name].update(**counts, compared=len(known), agreed=sum(known))
            for verdict in missing:
                self._reasons[name].add(verdict)

    def summarize(self, usage: Mapping[str, Usage], prices: Prices) -> dict[str, Any]:
        """The fields of a `VotedResult`; `usage` is what was asked of each model, by name."""
        members = {}
        for name, held in self._judges.items():
            used = usage[name]
            members[name] = PanelMember(
                verdicts=held["verdicts"],
                unknown=held["unknown"],
                unknown_reasons=self._reasons[name].summarize(),
                agreed=held["agreed"] / held["compared"] if held["compared"] else None,
                calls=used.calls,
                cached=used.cached,
                failed_calls=sum(used.failures.values()),
                prompt_tokens=used.prompt_tokens,
                completion_tokens=used.completion_tokens,
                cost=estimate_cost(used, prices),
            )
        counts = self._counts
        return {
            "agreement": self._agreement / counts["voted"] if counts["voted"] else None,
            "unsure": counts["unsure"],
            "unknown_votes": counts["unknown_votes"],
            "judges": members,
            "sent_on": counts["sent_on"] if counts["cascades"] else None,
        }
