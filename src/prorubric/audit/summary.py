"""From judged cases to the `AuditResult`: arrays of rewards, the tables, the checks, the headline."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prorubric.aggregate.schemes import find_scheme
from prorubric.audit.bootstrap import Bootstrap, Floats, number_prompts
from prorubric.audit.config import AuditConfig
from prorubric.audit.edits.kind import MadeEdit, NotMade
from prorubric.audit.effects import Rewards, Tables, forecast_signal, measure_effects
from prorubric.audit.headline import make_line
from prorubric.audit.judging import ANSWER, AuditCase
from prorubric.audit.liveness import CONTROLS, check_liveness
from prorubric.audit.paper import find_paper_redundancy
from prorubric.audit.price_list import estimate_tokens
from prorubric.audit.records import Check, EditCount, Effect, FixedChange, Hack, Price
from prorubric.judge.readings import Reading
from prorubric.rubric.verdict import Unknown, UnknownCounts, Verdict

_SHOWN_PRICES, _SHOWN_HACKS = 20, 20
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Found:
    """Everything that was judged."""

    cases: list[AuditCase]
    schemes: tuple[str, ...]
    fixed: tuple[str, ...]
    """The fixed criteria that were judged."""
    prices: list[Price]
    hacks: list[Hack]


def summarize(found: Found, config: AuditConfig) -> dict[str, Any]:
    """The part of an `AuditResult` that follows from what was judged."""
    names = (*config.edits, *CONTROLS)
    rewards = gather_rewards(found.cases, found.schemes, names)
    tables = measure_effects(rewards, config.resamples)
    forecast = forecast_signal(rewards, config.margin)
    checks = _check_all(found, tables, config.most_unknown)
    dead = {check.scheme for check in checks if not check.passed}
    verdicts = [verdict for case in found.cases for verdict in _all_verdicts(case)]
    return {
        "headline": [
            make_line(row.scheme, _by_edit(tables.effects, row.scheme), row, row.scheme not in dead, config.margin)
            for row in forecast
        ],
        "alive": not dead,
        "checks": checks,
        "effects": tables.effects,
        "placement": tables.placement,
        "naming_share": tables.naming_share,
        "edits": [_count_edit(found.cases, name) for name in config.edits],
        "fixed": [
            change for criterion in found.fixed for change in _measure_fixed(found.cases, criterion, names, config)
        ],
        "forecast": forecast,
        "cheapest": _find_cheapest(found.prices),
        "hacks_claimed": sum(hack.claimed for hack in found.hacks),
        "hacks_possible": sum(hack.possible for hack in found.hacks),
        "hacks": sorted((hack for hack in found.hacks if hack.possible), key=lambda hack: hack.tokens)[:_SHOWN_HACKS],
        "verdicts": len(verdicts),
        "unknown_verdicts": sum(isinstance(verdict, Unknown) for verdict in verdicts),
        "unknown_reasons": _count_reasons(verdicts),
    }


def gather_rewards(cases: Sequence[AuditCase], schemes: Sequence[str], names: Sequence[str]) -> Rewards:
    """The scores of all cases as arrays."""
    return Rewards(
        prompts=tuple(case.task.id for case in cases),
        answers={scheme: _column(cases, ANSWER, scheme) for scheme in schemes},
        edited={name: {scheme: _column(cases, name, scheme) for scheme in schemes} for name in names},
        made={name: np.array([case.text_of(name) is not None for case in cases]) for name in names},
    )


def _column(cases: Sequence[AuditCase], name: str, scheme: str) -> Floats:
    values = [case.scores.get(name, {}).get(scheme) for case in cases]
    column = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    # Sums of weights in another order differ by a rounding error, which is no change of a reward.
    return column.round(_DIGITS)


def _by_edit(effects: Iterable[Effect], scheme: str) -> dict[str, Effect]:
    return {effect.edit: effect for effect in effects if effect.scheme == scheme}


def _check_all(found: Found, tables: Tables, most_unknown: float) -> tuple[Check, ...]:
    """The checks of every scheme. What verdicts pass under one scheme is not held against them under another."""
    readings = {scheme: find_scheme(scheme).readings for scheme in found.schemes}
    checks = [
        check
        for scheme in found.schemes
        for check in check_liveness(
            scheme, _by_edit(tables.effects, scheme), share_unknown(found.cases, readings[scheme]), most_unknown
        )
    ]
    dead = {check.scheme for check in checks if not check.passed}
    passed = {(readings[c.scheme], c.check): c.scheme for c in checks if c.tested and c.scheme not in dead}
    for place, check in enumerate(checks):
        other = passed.get((readings[check.scheme], check.check))
        if not check.passed and other:
            finding = f"{check.finding}; the same verdicts pass under {other}, so the judge is alive"
            checks[place] = check.model_copy(update={"passed": True, "tested": False, "finding": finding})
    return tuple(checks)


def share_unknown(cases: Sequence[AuditCase], readings: Sequence[Reading]) -> float:
    """The share of the verdicts of these readings that are none; 1 where there are no verdicts at all."""
    verdicts = [
        verdict
        for case in cases
        for by_reading in case.verdicts.values()
        for reading in readings
        for verdict in by_reading.get(reading.name, ())
    ]
    return sum(isinstance(verdict, Unknown) for verdict in verdicts) / len(verdicts) if verdicts else 1.0


def _all_verdicts(case: AuditCase) -> Iterator[Verdict]:
    for by_reading in case.verdicts.values():
        for verdicts in by_reading.values():
            yield from verdicts


def _count_reasons(verdicts: Iterable[Verdict]) -> dict[str, int]:
    counts = UnknownCounts()
    for verdict in verdicts:
        if isinstance(verdict, Unknown):
            counts.add(verdict)
    return counts.summarize()


def _count_edit(cases: Sequence[AuditCase], name: str) -> EditCount:
    made = [(case, case.outcomes[name]) for case in cases if isinstance(case.outcomes.get(name), MadeEdit)]
    refused = [outcome for case in cases if isinstance(outcome := case.outcomes.get(name), NotMade)]
    grown = [
        estimate_tokens(edit.text) - estimate_tokens(case.response.text)
        for case, edit in made
        if isinstance(edit, MadeEdit)
    ]
    return EditCount(
        edit=name,
        made=len(made),
        not_made=dict(Counter(outcome.reason for outcome in refused).most_common()),
        tokens_added=float(np.mean(grown)) if grown else None,
    )


def _measure_fixed(
    cases: Sequence[AuditCase], criterion: str, names: Sequence[str], config: AuditConfig
) -> list[FixedChange]:
    """How each edit moves the pass rate of a fixed criterion."""
    before = _passes(cases, ANSWER, criterion)
    after = [_passes(cases, name, criterion) for name in names]
    prompts = number_prompts([case.task.id for case in cases])
    bootstrap = Bootstrap.of(np.stack([column - before for column in after], axis=1), prompts, config.resamples)
    changes = []
    for number, name in enumerate(names):
        known = ~np.isnan(after[number] - before)
        found = bootstrap.estimate(number)
        changes.append(
            FixedChange(
                edit=name,
                criterion=criterion,
                before=float(before[known].mean()) if known.any() else None,
                after=float(after[number][known].mean()) if known.any() else None,
                change=found.mean,
                low=found.low,
                high=found.high,
                pairs=int(known.sum()),
                paper=find_paper_redundancy(name) if criterion == "redundancy" else None,
            )
        )
    return changes


def _passes(cases: Sequence[AuditCase], name: str, criterion: str) -> Floats:
    verdicts = [case.verdicts.get(name, {}).get(criterion, (None,))[0] for case in cases]
    return np.array([100.0 * verdict if isinstance(verdict, bool) else np.nan for verdict in verdicts])


def _find_cheapest(prices: Sequence[Price]) -> tuple[Price, ...]:
    """The criteria that naming moved, furthest for a token first; of equals the best paid."""
    moved = [price for price in prices if price.moved > 0]
    ranked = sorted(moved, key=lambda price: price.rank)
    return tuple(ranked[:_SHOWN_PRICES])
