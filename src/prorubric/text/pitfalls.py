"""Pitfalls: criteria that carry a minus in files where it may mean two things.

One describes the mistake ("Recommends surgery", "Does not mention sepsis"): true is bad. The other states the duty to
avoid it ("Does not suggest delaying fluids"): true is good, and with a minus the reward would punish the good
answer. The wording decides; a criterion whose wording does not is tagged as undecided, and lint shows it.
"""

import re
from typing import Literal

from prorubric.text.criteria import read_direction, split_negation
from prorubric.text.questions import to_statement

UNDECIDED_TAG = "polarity:undecided"

# Not to give these is to leave something out.
_OMITTED = re.compile(
    r"(?:mention|includ|discuss|address|explain|consider|identif|acknowledg|state|note|clarif|describ|account|recogni[sz]"
    r"|provid|offer|ask|warn|check|verif|cite|list|specif|emphasi[sz]|differentiat|distinguish|link|connect|justif|show"
    r"|demonstrat|incorporat|highlight|cover|defin|compar|calculat|comput|convert|deriv|determin|appl|answer|respond|follow"
    r"|correct)\w*\b"
)
# Not to do these is a virtue, whatever they are about.
_UNWANTED = re.compile(
    r"(?:impl(?:y|ies)|assum|claim|confus|mislead|exaggerat|overstat|overgenerali[sz]|conflat|delay|dismiss|encourag"
    r"|promot|blam|speculat|misinterpret|misrepresent|misattribut|mistak|contradict|fabricat|invent|exceed|jump"
    r"|incorrectly|wrongly|falsely|inaccurately|unnecessarily|excessively)\w*\b|too\s"
    # What is given and should not be; to correct a false claim, or to name dangerous effects, is another matter.
    r"|(?:add|cite|contain|draw|give|include|introduce|make|offer|present|provide|reach|state|use)s?\s+(?:\w+\s+){0,2}?"
    r"(?:irrelevant|unrelated|wrong|incorrect|false|inaccurate|misleading|unnecessary|unsupported|invented|excessive"
    r"|inappropriate)\b"
    r"|(?:suggest|recommend|advis|advocat|rel)\w*\s+(?:\w+\s+){0,2}?(?:delay|stop|withhold|skip|avoid|ignor|unnecess|harm"
    r"|danger|unsafe|incorrect|wrong|inappropriat|only|solely|exclusively)\w*"
)
# "Does not ignore friction" denies twice, and what it says is good.
_DENIED_TWICE = re.compile(
    r"\W*(?:\w+\s+){0,3}?(?:not|never|\w+n['’]t)\s+(?:ignor|omit|overlook|neglect|forget|fail|lack|leave\s+out)",
    re.IGNORECASE,
)


def read_pitfall(text: str) -> Literal["fault", "requirement", "undecided"]:
    """Whether a criterion with a minus describes the mistake, or asks to avoid it, or may mean either."""
    if _DENIED_TWICE.match(to_statement(text)):
        return "requirement"
    direction = read_direction(text)
    if direction != "neutral":
        return direction
    about, is_negated = split_negation(text)
    if not is_negated:
        return "fault"
    if _UNWANTED.match(about):
        return "requirement"
    return "fault" if _OMITTED.match(about) else "undecided"
