"""From answers to findings: verdicts, edits, controls and probes."""

from prorubric.aggregate.schemes import APPROPRIATENESS, find_scheme, list_readings
from prorubric.audit.cases import ANSWER, CONTROLS, AuditCase, Examiner, add_controls, first_cases
from prorubric.audit.config import AuditConfig
from prorubric.audit.edits.kind import EditCase, NotMade
from prorubric.audit.prepare import AuditModels, judges_fixed
from prorubric.audit.price_list import PROBES, probe_prices
from prorubric.audit.summary import Found, share_unknown
from prorubric.judge.judge import Judge
from prorubric.judge.readings import READINGS
from prorubric.llm.together import run_in_order
from prorubric.runs.run import Run

_FIXED = ("redundancy", APPROPRIATENESS)


async def examine(
    cases: list[AuditCase], models: AuditModels, schemes: tuple[str, ...], config: AuditConfig, run: Run
) -> Found:
    """Judge the answers, edit them, and judge every edit, control and probe."""
    fixed = _FIXED if judges_fixed(config) else ()
    # Compliance with the criteria is what edits start from, whatever the schemes read.
    readings = dict.fromkeys((READINGS["criteria"], *list_readings(schemes), *(READINGS[name] for name in fixed)))
    # About how many texts there are to judge; edits that cannot be made are counted in.
    expected = len(cases) * (1 + len(config.edits) + len(CONTROLS)) + len(first_cases(cases)) * len(PROBES)
    judged, window = 0, 2 * config.http.concurrency

    def count(more: int) -> None:
        nonlocal judged
        judged += more
        run.tell(judged, max(expected, judged))

    async def edit(case: AuditCase) -> None:
        made = await models.editor.edit(EditCase(case.task, case.response.text, case.complies), config.edits)
        case.outcomes.update({outcome.kind: outcome for outcome in made})

    judges = Judge(models.judge, config.judging), Judge(models.judge_again, config.judging)
    examiner = Examiner(*judges, schemes, tuple(readings), window, count)
    await examiner.examine(cases, ANSWER)
    run.check_stopped()
    for case in cases:
        for name in config.edits:
            case.outcomes[name] = NotMade(kind=name, reason="the judge gave no verdict on the answer")
    if all(share_unknown(cases, find_scheme(name).readings) > config.most_unknown for name in schemes):
        # Everything after this would cost money and could not be used.
        return Found(cases, schemes, fixed, [], [])
    judged_cases = (case for case in cases if any(found is not None for found in case.complies))
    async for _ in run_in_order(map(edit, judged_cases), window):
        pass
    run.check_stopped()
    add_controls(cases)
    for name in (*config.edits, *CONTROLS):
        await examiner.examine(cases, name)
        run.check_stopped()
    prices, hacks = await probe_prices(cases, examiner, config.target)
    return Found(cases, schemes, fixed, prices, hacks)
