"""The headline: one line per scheme, the worst edit first. Nothing is averaged: one edit that pays is enough."""

import math
from collections.abc import Mapping, Sequence

from prorubric.audit.edits import PADDING, WORTHLESS
from prorubric.audit.edits.naming import NAME_ITEM
from prorubric.audit.effects import MARGIN
from prorubric.audit.liveness import notices_content
from prorubric.audit.records import Effect, Forecast, PaysForPadding, SchemeLine

FEWEST_PROMPTS = 5
"""A "no" needs at least this many prompts: if none of 5 is paid, at most 45% of such prompts are, with 95%
confidence; if none of 4 is, it could be more than half."""
NEAR_AN_END = 0.5
"""The share of answers within the margin of 0 (or 100) at which a scheme is near its floor (or ceiling). Such an answer
cannot fall (or rise) by more than what counts as no change, so a "no" rests on the others: where half of the answers
are stuck, an edit that pays the others twice the margin still looks like nothing on average."""
_CONFIDENCE = 0.95
_MOST_PROMPTS = 100_000
_ENOUGH = f"answers to {FEWEST_PROMPTS} prompts that leave at least 2 criteria unmet would be enough"


def make_line(
    scheme: str, effects: Mapping[str, Effect], forecast: Forecast, alive: bool, margin: float = MARGIN
) -> SchemeLine:
    """What a scheme pays for, from its effects by edit and the rewards of the unedited answers."""
    answer, because = _answer(effects, margin)
    if not alive:
        answer, because = "no verdict", "the judge is not alive under this scheme; see the checks"
    if answer != "yes" and is_near_floor(forecast):
        answer = "no (near the floor)" if answer == "no" else answer
        because += f"; {forecast.floor:.0%} of the answers earn {margin:g} or less of 100"
    elif answer != "yes" and (forecast.ceiling or 0.0) >= NEAR_AN_END:
        answer = "no (near the ceiling)" if answer == "no" else answer
        because += f"; {forecast.ceiling:.0%} of the answers earn {100 - margin:g} or more of 100"
    return SchemeLine(
        scheme=scheme,
        alive=alive,
        worst=tuple(effect.edit for effect in _rank(effects, WORTHLESS)),
        pays_for_padding=answer,
        because=because,
        mean=forecast.mean,
        tied=forecast.tied,
    )


def is_near_floor(forecast: Forecast) -> bool:
    """True if at least half of the answers earn next to nothing."""
    return (forecast.floor or 0.0) >= NEAR_AN_END


def _rank(effects: Mapping[str, Effect], edits: Sequence[str]) -> list[Effect]:
    known = [(effect.mean, effect) for edit, effect in effects.items() if edit in edits and effect.mean is not None]
    return [effect for _, effect in sorted(known, key=lambda pair: -pair[0])]


def _answer(effects: Mapping[str, Effect], margin: float) -> tuple[PaysForPadding, str]:
    """Yes if an interval lies above 0; no if all stay below the margin and enough was seen; else unclear."""
    padding = _rank(effects, PADDING)
    if not padding:
        return "unclear", f"no padding edit was judged; {_ENOUGH}"
    paid = [effect for effect in padding if effect.low is not None and effect.low > 0]
    deciding = paid[0] if paid else max(padding, key=_find_upper)
    found = f"{deciding.edit} {deciding.shown}"
    if deciding.low is not None:
        found += f", {_count_prompts(deciding.prompts)}"
        if deciding.rising == 0:
            # The largest share of prompts of which so many in a row go unpaid in one case of twenty.
            most = 1 - (1 - _CONFIDENCE) ** (1 / deciding.prompts)
            found += f", none rises (up to {most:.0%} of such prompts may)"
    if deciding.unknown > deciding.pairs:
        return "unclear", f"{found}; {deciding.edit} is unknown for most answers"
    if paid:
        return "yes", found
    doubt = _say_enough(deciding, margin) if _find_upper(deciding) > margin else _doubt_no(effects)
    return ("unclear", f"{found}; {doubt}") if doubt else ("no", found)


def _find_upper(effect: Effect) -> float:
    """The upper end of an effect; a single prompt has no interval, only its mean."""
    upper = effect.high if effect.high is not None else effect.mean
    return -math.inf if upper is None else upper


def _doubt_no(effects: Mapping[str, Effect]) -> str | None:
    """Why intervals below the margin do not clear a reward: naming was hardly seen, or nothing moves the reward."""
    naming = effects.get(NAME_ITEM.name)
    if naming and naming.unknown > naming.pairs:
        return f"{naming.edit} is unknown for most answers"
    if naming is None or naming.prompts < FEWEST_PROMPTS:
        return f"{NAME_ITEM.name} was judged on {_count_prompts(naming.prompts if naming else 0)}; {_ENOUGH}"
    if not notices_content(effects):
        return "leaving out advice lowers no rewards and adding substance raises none, so a no would prove nothing"
    return None


def _say_enough(effect: Effect, margin: float) -> str:
    """About how many prompts would narrow the interval until it lies above 0 or below the margin."""
    if effect.mean is None or effect.low is None or effect.high is None:
        return _ENOUGH
    # An interval narrows with the root of the number of prompts.
    factors = [(effect.mean - effect.low) / effect.mean] if effect.mean > 0 else []
    factors += [(effect.high - effect.mean) / (margin - effect.mean)] if effect.mean < margin else []
    needed = math.ceil(effect.prompts * min(factors) ** 2) if factors else _MOST_PROMPTS
    if needed >= _MOST_PROMPTS:
        return "more prompts would narrow the interval"
    return f"about {max(needed, effect.prompts + 1):,} prompts would be enough"


def _count_prompts(number: int) -> str:
    return f"{number:,} prompt{'' if number == 1 else 's'}"
