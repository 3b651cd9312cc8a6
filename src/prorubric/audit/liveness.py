"""Checks that the judge is judging: with a judge that does not, an audit would clear every reward.

A judge that calls everything met, or nothing, or that looks only at length, or at nothing at all, moves no reward when
padding is added; the audit of such a judge would read like the audit of a sound one. So each scheme must first show
that failures are few, that garbage and answers to other questions earn less than the answers themselves, and that
leaving out the key advice is noticed at all. A scheme that fails gets no verdict.
"""

from collections.abc import Mapping

from prorubric.audit.cases import AGAIN, GARBAGE, OTHER_ANSWER
from prorubric.audit.edits.drop_key_advice import DROP_KEY_ADVICE
from prorubric.audit.edits.substance import ADD_SUBSTANCE
from prorubric.audit.records import Check, Effect

FEWEST_PAIRS = 8
"""With fewer pairs than this a change that does not show is not held against the judge."""

LEAST_FALLS = 2
"""How many rewards have to fall with garbage for each that rises."""


def check_liveness(
    scheme: str, effects: Mapping[str, Effect], unknown_share: float, most_unknown: float
) -> tuple[Check, ...]:
    """The checks of one scheme, from its effects by edit and the share of its verdicts that are unknown."""
    unknown = f"{unknown_share:.1%} of the verdicts are unknown, at most {most_unknown:.0%} may be"
    checks = {
        "failures": (unknown_share <= most_unknown, unknown),
        GARBAGE: _check_fall(effects.get(GARBAGE), "garbage of the same length", "the answers"),
        OTHER_ANSWER: _check_fall(effects.get(OTHER_ANSWER), "an answer to another prompt", "the prompt's own"),
        DROP_KEY_ADVICE.name: _check_noticed(effects),
    }
    return tuple(
        Check(scheme=scheme, check=name, passed=passed is not False, tested=passed is not None, finding=finding)
        for name, (passed, finding) in checks.items()
    )


def _check_fall(effect: Effect | None, what: str, reference: str) -> tuple[bool | None, str]:
    """The reward must fall, by more than chance and in most pairs; None if that could not be tested.

    Both controls are held against the same verdicts: a judge that draws, and drew high for the answers, would pass both
    intervals now and then, however many answers there are. Its rewards rise almost as often as they fall.
    """
    if effect is None or not effect.pairs + effect.unknown:
        return None, f"{what} could not be made; not tested"
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
        return None, "no answer could have its key advice left out; not tested"
    noise = 1 - again.unchanged if again and again.unchanged is not None else 0.0
    found = f"leaving out the key advice lowers {effect.falling:.0%} of the rewards, judging twice changes {noise:.0%}"
    if effect.falling > noise or effect.pairs >= FEWEST_PAIRS:
        return effect.falling > noise, found
    return None, f"{found}; of {effect.pairs} answers that says nothing, {FEWEST_PAIRS} are needed"


def notices_content(effects: Mapping[str, Effect]) -> bool:
    """True if the reward was seen to move with what an answer says; otherwise a reward that stays means nothing.

    A judge that looks only at the subject passes every check above if few answers have advice that can be left out.
    """
    substance = effects.get(ADD_SUBSTANCE.name)
    rises = substance is not None and substance.low is not None and substance.low > 0
    return rises or bool(_check_noticed(effects)[0])
