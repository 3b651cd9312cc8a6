"""From answers to findings: verdicts, edits, controls and probes."""

from collections.abc import Mapping
from dataclasses import replace

from prorubric.aggregate.schemes import APPROPRIATENESS, find_scheme, list_readings
from prorubric.audit.cases import ANSWER, CONTROLS, AuditCase, Examiner, add_controls, first_cases
from prorubric.audit.config import AuditConfig
from prorubric.audit.edits.kind import EditCase, EditKind, NotMade
from prorubric.audit.prepare import AuditModels, judges_fixed
from prorubric.audit.price_list import PROBES, probe_prices
from prorubric.audit.summary import Found, share_unknown
from prorubric.judge.panel import make_judge
from prorubric.judge.readings import READINGS
from prorubric.llm.together import run_in_order
from prorubric.runs.run import Run

_FIXED = ("redundancy", APPROPRIATENESS)


async def examine(
    cases: list[AuditCase],
    models: AuditModels,
    schemes: tuple[str, ...],
    kinds: Mapping[str, EditKind],
    config: AuditConfig,
    run: Run,
) -> Found:
    """Judge the answers, edit them, and judge every edit, control and probe.

    Known hacks are many and add the same words everywhere: they are tried on one answer to each prompt, and judged only
    on what the schemes read.
    """
    fixed = _FIXED if judges_fixed(config) else ()
    # Compliance with the criteria is what edits start from, whatever the schemes read.
    readings = dict.fromkeys((READINGS["criteria"], *list_readings(schemes), *(READINGS[name] for name in fixed)))
    hacks, firsts = [name for name, kind in kinds.items() if kind.is_hack], {*map(id, first_cases(cases))}
    edits = [name for name in kinds if name not in hacks]
    # About how many texts there are to judge; edits that cannot be made are counted in.
    expected = len(cases) * (1 + len(edits) + len(CONTROLS)) + len(firsts) * (len(hacks) + len(PROBES))
    judged, window = 0, 2 * config.http.concurrency

    def count(more: int) -> None:
        nonlocal judged
        judged += more
        run.tell(judged, max(expected, judged))

    async def edit(case: AuditCase) -> None:
        made = await models.editor.edit(EditCase(case.task, case.response.text, case.complies), [*case.outcomes], kinds)
        case.outcomes.update({outcome.kind: outcome for outcome in made})

    judges = make_judge(models.judges, config.judging), make_judge(models.judges_again, config.judging)
    examiner = Examiner(*judges, schemes, tuple(readings), window, count)
    await examiner.examine(cases, ANSWER)
    run.check_stopped()
    unread = all(share_unknown(cases, find_scheme(name).readings) > config.most_unknown for name in schemes)
    for case in cases:
        reason = "too many verdicts on the answers are unknown" if unread else "the judge gave no verdict on the answer"
        names = [*edits, *hacks] if id(case) in firsts else edits
        case.outcomes.update({name: NotMade(kind=name, reason=reason) for name in names})
    if unread:  # everything after this would cost money and could not be used
        return Found(cases, schemes, kinds, fixed, [], [], examiner.votes)
    judged_cases = (case for case in cases if any(found is not None for found in case.complies))
    async for _ in run_in_order(map(edit, judged_cases), window):
        pass
    run.check_stopped()
    add_controls(cases)
    on_schemes = replace(examiner, readings=list_readings(schemes))
    for name in (*kinds, *CONTROLS):
        await (on_schemes if name in hacks else examiner).examine(cases, name)
        run.check_stopped()
    prices, found_hacks = await probe_prices(cases, examiner, config.target)
    return Found(cases, schemes, kinds, fixed, prices, found_hacks, examiner.votes)
