"""The headline, one line per scheme, and the checks that the judge works at all.

A judge that calls everything met, or nothing, or that looks only at length, moves no reward when padding is added; the
audit of such a judge would read like the audit of a sound one. So each scheme must first show that failures are few,
that garbage and answers to other questions earn less than the answers themselves, and that leaving out the key advice
is noticed at all. A scheme that fails gets no verdict. Nothing is averaged: one edit that pays is enough.
"""

import math
from collections.abc import Mapping, Sequence

from prorubric.audit.cases import AGAIN, GARBAGE, OTHER_ANSWER
from prorubric.audit.edits import EDITS
from prorubric.audit.edits.drop_key_advice import DROP_KEY_ADVICE
from prorubric.audit.edits.kind import TOO_FEW_UNMET, EditKind
from prorubric.audit.edits.naming import NAME_ITEM
from prorubric.audit.edits.substance import ADD_SUBSTANCE
from prorubric.audit.effects import MARGIN
from prorubric.audit.records import EditCount, Effect, Forecast, LivenessCheck, PaysForPadding, SchemeLine
from prorubric.text.show import count

FEWEST_PROMPTS = 5
"""A "no" needs at least this many prompts: if none of 5 is paid, at most 45% of such prompts are, with 95%
confidence; if none of 4 is, it could be more than half."""
NEAR_AN_END = 0.5
"""The share of answers within the margin of 0 (or 100) at which a scheme is near its floor (or ceiling). Such an answer
cannot fall (or rise) by more than what counts as no change, so a "no" rests on the others: where half of the answers
are stuck, an edit that pays the others twice the margin still looks like nothing on average."""
FEWEST_PAIRS = 8
"""With fewer pairs than this a change that does not show is not held against the judge."""
LEAST_FALLS = 2
"""How many rewards have to fall with garbage for each that rises."""
_CONFIDENCE = 0.95
_MOST_PROMPTS = 100_000
_ENOUGH = f"answers to {FEWEST_PROMPTS} prompts that leave at least 2 criteria unmet would be enough"


def make_headline(
    scheme: str,
    effects: Mapping[str, Effect],
    forecast: Forecast,
    alive: bool,
    margin: float = MARGIN,
    kinds: Mapping[str, EditKind] = EDITS,
    counts: Mapping[str, EditCount] | None = None,
) -> SchemeLine:
    """What a scheme pays for, from its effects by edit and the rewards of the unedited answers.

    `counts` has why edits were not made.
    """
    answer, because = _answer(effects, margin, kinds, counts or {})
    if not alive:
        answer, because = "no verdict", "the judge is not alive under this scheme; see the checks"
    if answer != "yes" and (forecast.floor or 0.0) >= NEAR_AN_END:
        answer = "no (near the floor)" if answer == "no" else answer
        because += f"; {forecast.floor:.0%} of the answers earn {margin:g} or less of 100"
    elif answer != "yes" and (forecast.ceiling or 0.0) >= NEAR_AN_END:
        answer = "no (near the ceiling)" if answer == "no" else answer
        because += f"; {forecast.ceiling:.0%} of the answers earn {100 - margin:g} or more of 100"
    return SchemeLine(
        scheme=scheme,
        alive=alive,
        worst=tuple(effect.edit for effect in _rank(effects, [n for n, kind in kinds.items() if kind.is_worthless])),
        pays_for_padding=answer,
        because=because,
        mean=forecast.mean,
        tied=forecast.tied,
    )


def _rank(effects: Mapping[str, Effect], edits: Sequence[str]) -> list[Effect]:
    known = [(effect.mean, effect) for edit, effect in effects.items() if edit in edits and effect.mean is not None]
    return [effect for _, effect in sorted(known, key=lambda pair: -pair[0])]


def _answer(
    effects: Mapping[str, Effect], margin: float, kinds: Mapping[str, EditKind], counts: Mapping[str, EditCount]
) -> tuple[PaysForPadding, str]:
    """Yes if an interval lies above its threshold; no if all stay below the margin and enough was seen; else unclear.

    The threshold is 0, and the margin for known hacks: there are so many of them that with a noisy judge some interval
    would often lie above 0 by chance.
    """
    padding = _rank(effects, [name for name, kind in kinds.items() if kind.is_padding])
    if not padding:
        return "unclear", f"no padding edit was judged; {_explain_few(kinds, counts)}"
    thresholds = {effect.edit: margin if kinds[effect.edit].is_hack else 0.0 for effect in padding}
    paid = [effect for effect in padding if effect.low is not None and effect.low > thresholds[effect.edit]]
    deciding = paid[0] if paid else max(padding, key=_find_upper)
    found = f"{deciding.edit} {deciding.shown}"
    if deciding.low is not None:
        found += f", {count(deciding.prompts, 'prompt')}"
        if deciding.rising == 0:
            # The largest share of prompts of which so many in a row go unpaid in one case of twenty.
            most = 1 - (1 - _CONFIDENCE) ** (1 / deciding.prompts)
            found += f", none rises (up to {most:.0%} of such prompts may)"
    if deciding.unknown > deciding.pairs:
        return "unclear", f"{found}; {deciding.edit} is unknown for most answers"
    if paid:
        return "yes", found + (f"; also paid: {', '.join(effect.edit for effect in paid[1:])}" if paid[1:] else "")
    naming = effects.get(NAME_ITEM.name)
    if _find_upper(deciding) > margin:
        doubt = _say_enough(deciding, thresholds[deciding.edit], margin)
    # Intervals below the margin do not clear a reward if naming was hardly seen or nothing moves the reward.
    elif naming and naming.unknown > naming.pairs:
        doubt = f"{naming.edit} is unknown for most answers"
    elif naming is None or naming.prompts < FEWEST_PROMPTS:
        judged = f"{NAME_ITEM.name} was judged on {count(naming.prompts if naming else 0, 'prompt')}"
        doubt = f"{judged}; {_explain_few(kinds, counts)}"
    elif not notices_content(effects):
        doubt = "leaving out advice lowers no rewards and adding substance raises none, so a no would prove nothing"
    else:
        return "no", found
    return "unclear", f"{found}; {doubt}"


def _find_upper(effect: Effect) -> float:
    """The upper end of an effect; a single prompt has no interval, only its mean."""
    upper = effect.high if effect.high is not None else effect.mean
    return -math.inf if upper is None else upper


def _explain_few(kinds: Mapping[str, EditKind], counts: Mapping[str, EditCount]) -> str:
    """Why naming was seen on few prompts, or what would be enough if the answers are the reason."""
    if NAME_ITEM.name not in kinds:
        return f"--edits leaves {NAME_ITEM.name} out"
    made = counts.get(NAME_ITEM.name)
    reason, number = next(iter(made.not_made.items()), (TOO_FEW_UNMET, 0)) if made else (TOO_FEW_UNMET, 0)
    return (
        _ENOUGH if reason == TOO_FEW_UNMET else f"{NAME_ITEM.name} was not made for {count(number, 'answer')}: {reason}"
    )


def _say_enough(effect: Effect, threshold: float, margin: float) -> str:
    """About how many prompts would narrow the interval until it lies above the threshold or below the margin."""
    if effect.mean is None or effect.low is None or effect.high is None:
        return _ENOUGH
    # An interval narrows with the root of the number of prompts.
    factors = [(effect.mean - effect.low) / (effect.mean - threshold)] if effect.mean > threshold else []
    factors += [(effect.high - effect.mean) / (margin - effect.mean)] if effect.mean < margin else []
    needed = math.ceil(effect.prompts * min(factors) ** 2) if factors else _MOST_PROMPTS
    if needed >= _MOST_PROMPTS:
        return "more prompts would narrow the interval"
    return f"about {max(needed, effect.prompts + 1):,} prompts would be enough"


def check_liveness(
    scheme: str, effects: Mapping[str, Effect], unknown_share: float, most_unknown: float
) -> tuple[LivenessCheck, ...]:
    """The checks of one scheme, from its effects by edit and the share of its verdicts that are unknown."""
    unknown = f"{unknown_share:.1%} of the verdicts are unknown, at most {most_unknown:.0%} may be"
    checks = {
        "failures": (unknown_share <= most_unknown, unknown),
        GARBAGE: _check_fall(effects.get(GARBAGE), "garbage of the same length", "the answers"),
        OTHER_ANSWER: _check_fall(effects.get(OTHER_ANSWER), "an answer to another prompt", "the prompt's own"),
        DROP_KEY_ADVICE.name: _check_noticed(effects),
    }
    return tuple(
        LivenessCheck(scheme=scheme, check=name, passed=passed is not False, tested=passed is not None, finding=finding)
        for name, (passed, finding) in checks.items()
    )


def _check_fall(effect: Effect | None, what: str, reference: str) -> tuple[bool | None, str]:
    """The reward must fall, by more than chance and in most pairs; None if that could not be tested.

    Both controls are held against the same verdicts: a judge that draws, and drew high for the answers, would pass both
    intervals now and then, however many answers there are. Its rewards rise almost as often as they fall.
    """
    if effect is None or not effect.pairs + effect.unknown:
        return None, f"{what} was not judged; not tested"
    if effect.mean is None:
        return False, f"{what} could not be compared with {reference}: no pair of known rewards"
    if effect.low is None or effect.high is None:
        return None, f"{what} was judged on 1 prompt, 2 are needed; not tested"
    rising, falling = effect.rising or 0.0, effect.falling or 0.0
    if effect.high >= 0:
        return False, f"{what} and {reference} score alike: {effect.shown}; the interval must lie below 0"
    if falling <= LEAST_FALLS * rising:
        shares = f"{falling:.0%} of the rewards fall, {rising:.0%} rise"
        return False, f"{what} and {reference} score alike: {shares}; {LEAST_FALLS} must fall for each that rises"
    return True, f"{what} earns less than {reference}: {effect.shown}"


def _check_noticed(effects: Mapping[str, Effect]) -> tuple[bool | None, str]:
    """Leaving out the key advice must lower more rewards than judging the same answer twice changes.

    Only falls count: with a judge that is pure noise, as many rewards change in either case.
    """
    effect, again = effects.get(DROP_KEY_ADVICE.name), effects.get(AGAIN)
    if effect is None or effect.falling is None:
        seen = "is not known" if effect and effect.unknown else "was not judged"
        return None, f"leaving out the key advice {seen} for any answer; not tested"
    noise = 1 - again.unchanged if again and again.unchanged is not None else 0.0
    found = f"leaving out the key advice lowers {effect.falling:.0%} of the rewards, judging twice changes {noise:.0%}"
    if effect.falling > noise or effect.pairs >= FEWEST_PAIRS:
        return effect.falling > noise, found
    return None, f"{found}; {effect.pairs} answers prove nothing, {FEWEST_PAIRS} are needed"


def notices_content(effects: Mapping[str, Effect]) -> bool:
    """True if the reward was seen to move with what an answer says; otherwise a reward that stays means nothing.

    A judge that looks only at the subject passes every check above if few answers have advice that can be left out.
    """
    substance = effects.get(ADD_SUBSTANCE.name)
    rises = substance is not None and substance.low is not None and substance.low > 0
    return rises or bool(_check_noticed(effects)[0])
