"""From judged cases to the `AuditResult`: arrays of rewards, the tables, the checks, the headline."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prorubric.aggregate.bootstrap import Bootstrap, Floats, mean_of, number_prompts
from prorubric.aggregate.schemes import find_scheme
from prorubric.audit.cases import ANSWER, CONTROLS, AuditCase
from prorubric.audit.config import AuditConfig
from prorubric.audit.edits.kind import EditKind, MadeEdit
from prorubric.audit.effects import Rewards, forecast_signal, measure_effects
from prorubric.audit.headline import check_liveness, make_headline
from prorubric.audit.paper import find_paper_redundancy
from prorubric.audit.price_list import approximate_tokens
from prorubric.audit.records import EditCount, Effect, FixedChange, Hack, LivenessCheck, NamingPrice
from prorubric.judge.readings import Reading
from prorubric.rubric.verdict import Unknown, UnknownCounts, Verdict
from prorubric.runs.votes import VoteTally

_SHOWN_PRICES, _SHOWN_HACKS = 20, 20
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that was judged."""

    cases: list[AuditCase]
    schemes: tuple[str, ...]
    kinds: Mapping[str, EditKind]
    """The edits that were asked for, by name."""
    fixed: tuple[str, ...]
    """The fixed criteria that were judged."""
    prices: list[NamingPrice]
    hacks: list[Hack]
    votes: VoteTally = field(default_factory=VoteTally)


def summarize_audit(found: Found, config: AuditConfig) -> dict[str, Any]:
    """The part of an `AuditResult` that follows from what was judged."""
    cases, kinds, counts = found.cases, found.kinds, list[EditCount]()
    for name in kinds:
        grown, refused = list[int](), Counter[str]()
        for case in cases:
            outcome = case.outcomes.get(name)
            if isinstance(outcome, MadeEdit):
                grown.append(approximate_tokens(outcome.text) - approximate_tokens(case.response.text))
            elif outcome is not None:
                refused[outcome.reason] += 1
        added, addressed = mean_of(grown), sum(name in case.addressing for case in cases)
        not_made = dict(refused.most_common())
        counts.append(EditCount(edit=name, made=len(grown), not_made=not_made, tokens_added=added, addressed=addressed))
    verdicts, reasons = _list_verdicts(cases), UnknownCounts()
    unknown = [verdict for verdict in verdicts if isinstance(verdict, Unknown)]
    for verdict in unknown:
        reasons.add(verdict)
    hacks = sorted((hack for hack in found.hacks if hack.possible), key=lambda hack: hack.tokens)
    prices = sorted((price for price in found.prices if price.moved > 0), key=lambda price: price.rank)
    addressing = Counter(kind for case in cases for kind in case.addressing.get(ANSWER, ()))
    content = [name for name in (*kinds, *CONTROLS) if name not in kinds or not kinds[name].is_hack]
    return {
        **_judge_schemes(found, counts, config),
        "edits": counts,
        "addressed": sum(ANSWER in case.addressing for case in cases),
        "addressed_kinds": dict(addressing.most_common()),
        "phrases": [kind.phrase for kind in kinds.values() if kind.phrase],
        "fixed": [
            change
            for criterion in found.fixed
            for change in _measure_fixed(cases, criterion, content, config.resamples)
        ],
        "cheapest": prices[:_SHOWN_PRICES],
        "hacks_sought": len(found.hacks),
        "hacks_copied": sum(hack.is_copied for hack in hacks),
        "hacks_claimed": sum(hack.claimed for hack in found.hacks),
        "hacks_possible": len(hacks),
        "hacks": hacks[:_SHOWN_HACKS],
        "verdicts": len(verdicts),
        "unknown_verdicts": len(unknown),
        "unknown_reasons": reasons.summarize(),
    }


def _judge_schemes(found: Found, counts: Iterable[EditCount], config: AuditConfig) -> dict[str, Any]:
    """What each scheme pays for, and whether its judge is alive.

    What verdicts pass under one scheme is not held against them under another.
    """
    rewards = gather_rewards(found.cases, found.schemes, (*found.kinds, *CONTROLS))
    tables, forecast = measure_effects(rewards, config.resamples), forecast_signal(rewards, config.margin)
    effects: dict[str, dict[str, Effect]] = {scheme: {} for scheme in found.schemes}
    for effect in tables.effects:
        effects[effect.scheme][effect.edit] = effect
    readings = {scheme: find_scheme(scheme).readings for scheme in effects}
    checks: list[LivenessCheck] = []
    for scheme, by_edit in effects.items():
        checks += check_liveness(scheme, by_edit, share_unknown(found.cases, readings[scheme]), config.most_unknown)
    dead = {check.scheme for check in checks if not check.passed}
    passed = {(readings[c.scheme], c.check): c.scheme for c in checks if c.tested and c.scheme not in dead}
    for place, check in enumerate(checks):
        other = passed.get((readings[check.scheme], check.check))
        if not check.passed and other:
            finding = f"{check.finding}; the same verdicts pass under {other}, so the judge is alive"
            checks[place] = check.model_copy(update={"passed": True, "tested": False, "finding": finding})
    dead = {check.scheme for check in checks if not check.passed}
    by_name = {count.edit: count for count in counts}
    headline = [
        make_headline(row.scheme, effects[row.scheme], row, row.scheme not in dead, config.margin, found.kinds, by_name)
        for row in forecast
    ]
    return {"headline": headline, "alive": not dead, "checks": checks, **tables._asdict(), "forecast": forecast}


def gather_rewards(cases: Sequence[AuditCase], schemes: Sequence[str], names: Sequence[str]) -> Rewards:
    """The scores of all cases as arrays."""

    def column(name: str, scheme: str) -> Floats:
        values = [case.scores.get(name, {}).get(scheme) for case in cases]
        # Sums of weights in another order differ by a rounding error, which is not a change of a reward.
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64).round(_DIGITS)

    return Rewards(
        prompts=tuple(case.task.id for case in cases),
        answers={scheme: column(ANSWER, scheme) for scheme in schemes},
        edited={name: {scheme: column(name, scheme) for scheme in schemes} for name in names},
        made={name: np.array([case.text_of(name) is not None for case in cases]) for name in names},
    )


def share_unknown(cases: Iterable[AuditCase], readings: Iterable[Reading]) -> float:
    """The share of the verdicts of these readings that are unknown; 1 if there are no verdicts at all."""
    verdicts = _list_verdicts(cases, {reading.name for reading in readings})
    return sum(isinstance(verdict, Unknown) for verdict in verdicts) / len(verdicts) if verdicts else 1.0


def _list_verdicts(cases: Iterable[AuditCase], readings: Container[str] | None = None) -> list[Verdict]:
    return [
        verdict
        for case in cases
        for by_reading in case.verdicts.values()
        for reading, verdicts in by_reading.items()
        if readings is None or reading in readings
        for verdict in verdicts
    ]


def _measure_fixed(
    cases: Sequence[AuditCase], criterion: str, names: Sequence[str], resamples: int
) -> list[FixedChange]:
    """How each edit moves the pass rate of a fixed criterion."""

    def passes(name: str) -> Floats:
        verdicts = [case.verdicts.get(name, {}).get(criterion, (None,))[0] for case in cases]
        return np.array([100.0 * verdict if isinstance(verdict, bool) else np.nan for verdict in verdicts])

    before, after = passes(ANSWER), [passes(name) for name in names]
    prompts = number_prompts([case.task.id for case in cases])
    bootstrap = Bootstrap.of(np.stack([column - before for column in after], axis=1), prompts, resamples)
    changes = []
    for number, name in enumerate(names):
        known = ~np.isnan(after[number] - before)
        found = bootstrap.estimate(number)
        change = FixedChange(
            edit=name,
            criterion=criterion,
            before=mean_of(before[known]),
            after=mean_of(after[number][known]),
            change=found.mean,
            low=found.low,
            high=found.high,
            pairs=int(known.sum()),
            paper=find_paper_redundancy(name) if criterion == "redundancy" else None,
        )
        changes.append(change)
    return changes
