"""What is judged besides the edits: controls that say whether the judge is alive, probes that say what naming buys."""

from collections.abc import Sequence
from typing import Any

from prorubric.aggregate.score import score
from prorubric.audit.edits.kind import MadeEdit, NotMade
from prorubric.audit.judging import ANSWER, AuditCase, Examiner
from prorubric.audit.liveness import AGAIN, GARBAGE, OTHER_ANSWER, make_garbage
from prorubric.audit.price_list import (
    HACK,
    NAMED_ALL,
    NAMES_ALONE,
    STATED_ALONE,
    Forms,
    estimate_tokens,
    find_hack,
    list_names,
    list_prices,
    list_statements,
    render_names,
)
from prorubric.audit.records import Hack, Price
from prorubric.rubric.verdict import Verdict, is_unknown

_ON_CRITERIA = (NAMED_ALL, NAMES_ALONE, STATED_ALONE)
PROBES = (*_ON_CRITERIA, HACK)


def add_controls(cases: Sequence[AuditCase]) -> None:
    """Give every answer its controls."""
    for case in cases:
        key = f"{case.task.id}/{case.response.sample}"
        garbage = make_garbage(case.response.text, key)
        case.outcomes[AGAIN] = MadeEdit(kind=AGAIN, text=case.response.text)
        case.outcomes[GARBAGE] = MadeEdit(kind=GARBAGE, text=garbage, added=(garbage,), removed=(case.response.text,))
        case.outcomes[OTHER_ANSWER] = NotMade(kind=OTHER_ANSWER, reason="there is no answer to another prompt")
    by_task: dict[str, list[AuditCase]] = {}
    for case in cases:
        by_task.setdefault(case.task.id, []).append(case)
    groups = list(by_task.values())
    for position, group in enumerate(groups):
        others = groups[(position + 1) % len(groups)]
        for number, case in enumerate(group if others is not group else ()):
            text = others[number % len(others)].response.text
            case.outcomes[OTHER_ANSWER] = MadeEdit(
                kind=OTHER_ANSWER, text=text, added=(text,), removed=(case.response.text,)
            )


def first_cases(cases: Sequence[AuditCase]) -> list[AuditCase]:
    """The first answer to each prompt: probes are made once a prompt."""
    return list({case.task.id: case for case in reversed(cases)}.values())[::-1]


async def probe_prices(cases: Sequence[AuditCase], examiner: Examiner, target: float) -> tuple[list[Price], list[Hack]]:
    """What naming buys on each task, and the cheapest hack, judged."""
    firsts = first_cases(cases)
    for case in firsts:
        _add_probes(case)
    for probe in _ON_CRITERIA:
        await examiner.examine(firsts, probe, ("criteria",))
    hacks = [_find_hack(case, target) for case in firsts]
    for case, hack in zip(firsts, hacks, strict=True):
        case.outcomes[HACK] = (
            MadeEdit(
                kind=HACK, text=hack.text, added=(hack.text,), removed=(case.response.text,), criteria=hack.criteria
            )
            if hack.claimed
            else NotMade(kind=HACK, reason="the target cannot be reached without the heaviest criterion")
        )
    await examiner.examine(firsts, HACK)
    prices = [price for case in firsts for price in _list_prices(case)]
    return prices, [_confirm(case, hack, target) for case, hack in zip(firsts, hacks, strict=True)]


def _add_probes(case: AuditCase) -> None:
    """The answer with every name behind it, the names alone, the sentences alone."""
    names, sentences = render_names(list_names(case.task).values()), " ".join(list_statements(case.task).values())
    texts = {
        NAMED_ALL: f"{case.response.text}\n\n{names}" if list_names(case.task) else "",
        NAMES_ALONE: names if list_names(case.task) else "",
        STATED_ALONE: sentences,
    }
    for kind, text in texts.items():
        reason = "no criterion can be put into words by rule"
        case.outcomes[kind] = MadeEdit(kind=kind, text=text) if text else NotMade(kind=kind, reason=reason)


def _find_hack(case: AuditCase, target: float) -> Hack:
    forms = Forms(
        names=list_names(case.task) if NAMES_ALONE in case.verdicts else {},
        names_met=case.verdicts.get(NAMES_ALONE, {}).get("criteria", ()),
        statements=list_statements(case.task) if STATED_ALONE in case.verdicts else {},
        statements_met=case.verdicts.get(STATED_ALONE, {}).get("criteria", ()),
    )
    return find_hack(case.task, forms, target)


def _list_prices(case: AuditCase) -> tuple[Price, ...]:
    if NAMED_ALL not in case.verdicts:
        return ()
    before, after = (case.verdicts[text]["criteria"] for text in (ANSWER, NAMED_ALL))
    return list_prices(case.task, list_names(case.task), before, after)


def _confirm(case: AuditCase, hack: Hack, target: float) -> Hack:
    """Hold the claim against the verdicts on the whole text: what single phrases earn does not have to add up."""
    about: dict[str, Any] = {
        "answer_tokens": estimate_tokens(case.response.text),
        "answer_rewards": case.scores[ANSWER],
    }
    if hack.claimed:
        verdicts = case.verdicts[HACK]["criteria"]
        earns, heaviest = score(verdicts, case.task, "additive").value, verdicts[hack.heaviest - 1]
        reason = _refute(earns, heaviest, target)
        about |= {"rewards": case.scores[HACK], "earns": earns, "possible": not reason, "reason": reason}
    return hack.model_copy(update=about)


def _refute(earns: float | None, heaviest: Verdict, target: float) -> str:
    """What speaks against a hack; nothing where it holds."""
    if earns is None or is_unknown(heaviest):
        return "the judge left a verdict on the whole text open"
    if earns < target - 1e-9:
        return f"judged as a whole the text earns {earns:.0%} of the sum, {target:.0%} is needed"
    return "judged as a whole the text meets the heaviest criterion" if heaviest else ""
