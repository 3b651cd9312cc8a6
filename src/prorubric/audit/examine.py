"""An audit from its tasks to its findings: dimensions and answers, verdicts, edits, controls and probes."""

from collections.abc import Sequence
from dataclasses import dataclass

from prorubric.aggregate.choose import ALL, AUTO, READS_WORDS, split_by_words
from prorubric.aggregate.schemes import APPROPRIATENESS, find_scheme, list_readings
from prorubric.audit.answers import find_answers
from prorubric.audit.cases import ANSWER, CONTROLS, AuditCase, Examiner, add_controls, first_cases
from prorubric.audit.config import AuditConfig
from prorubric.audit.editors import Editor
from prorubric.audit.edits import EditName
from prorubric.audit.edits.kind import EditCase, MadeEdit, NotMade
from prorubric.audit.models import AuditModels
from prorubric.audit.price_list import PROBES, probe_prices
from prorubric.audit.summary import Found, share_unknown
from prorubric.audit.tasks import NO_DIMENSIONS, add_dimensions, keep_judgeable, need_dimensions
from prorubric.compile.compiler import LINEAGE, RULES
from prorubric.datasets.rejects import Rejects
from prorubric.errors import SourceError
from prorubric.judge.judge import Judge
from prorubric.judge.readings import READINGS, Reading
from prorubric.llm.together import run_in_order
from prorubric.rubric.records import Task
from prorubric.runs.run import Run

_NO_VERDICTS = "the judge gave no verdict on the answer"
_FIXED = (READINGS["redundancy"], READINGS[APPROPRIATENESS])


@dataclass(frozen=True, slots=True)
class Start:
    """What an audit starts from."""

    tasks: dict[str, Task]
    dimensions_from: str
    schemes: tuple[str, ...]
    left_out: dict[str, str]
    cases: list[AuditCase]
    answers_from: str


async def prepare(
    config: AuditConfig, models: AuditModels, chosen: dict[str, Task], everything: dict[str, Task], rejects: Rejects
) -> Start:
    """Dimensions for the tasks that need some, the schemes that they allow, and answers to them."""
    asked = _name_schemes(config)
    compiled, dimensions_from = chosen, NO_DIMENSIONS
    if wants_dimensions(config):
        compiled, dimensions_from = await add_dimensions(chosen, models.generator, config, rejects)
    tasks, schemes, left_out = keep_judgeable(compiled, asked, config.tasks, rejects)
    if asked.strip() == ALL and config.judge == READS_WORDS:
        schemes, unread = split_by_words(schemes)
        left_out |= unread
    cases, answers_from = await find_answers(tasks, everything | tasks, models.answers, config, rejects)
    return Start(tasks, dimensions_from, schemes, left_out, cases, answers_from)


def wants_dimensions(config: AuditConfig) -> bool:
    """True if a scheme or a fixed criterion needs the tasks' dimensions."""
    return need_dimensions(_name_schemes(config)) or bool(_list_fixed(config))


def is_grouped_by_rules(task: Task) -> bool:
    """True if `rules` made the dimensions of a task, in this audit or before."""
    lineage = task.meta.get(LINEAGE)
    # The lineage has the version as well: rules/3.
    return isinstance(lineage, dict) and str(lineage.get("generator")).split("/")[0] == RULES


def _name_schemes(config: AuditConfig) -> str:
    """The sum and ProRubric. A judge that compares words cannot read a dimension; the groups hold for it as well."""
    if config.scheme.strip() != AUTO:
        return config.scheme
    return "additive,conjunctive" if config.judge == READS_WORDS else "additive,conjunctive,prorubric"


def _list_fixed(config: AuditConfig) -> tuple[Reading, ...]:
    """Fixed criteria are not about words, and mean nothing to a judge that compares them."""
    return () if config.judge == READS_WORDS else _FIXED


async def examine(
    cases: list[AuditCase], models: AuditModels, schemes: tuple[str, ...], config: AuditConfig, run: Run
) -> Found:
    """Judge the answers, edit them, and judge every edit, control and probe."""
    fixed = _list_fixed(config)
    # Compliance with the criteria is what edits start from, whatever the schemes read.
    readings = tuple(dict.fromkeys((READINGS["criteria"], *list_readings(schemes), *fixed)))
    # About how many texts there are to judge; edits that cannot be made are counted in.
    expected = len(cases) * (1 + len(config.edits) + len(CONTROLS)) + len(first_cases(cases)) * len(PROBES)
    judged = 0

    def count(more: int) -> None:
        nonlocal judged
        judged += more
        run.tell(judged, max(expected, judged))

    examiner = Examiner(
        Judge(models.judge, config.judging),
        Judge(models.judge_again, config.judging),
        schemes,
        readings,
        2 * config.http.concurrency,
        count,
    )
    await examiner.examine(cases, ANSWER)
    run.check_stopped()
    if all(share_unknown(cases, find_scheme(name).readings) > config.most_unknown for name in schemes):
        # Everything after this would cost money and could not be used.
        outcomes: dict[str, MadeEdit | NotMade] = {
            name: NotMade(kind=name, reason=_NO_VERDICTS) for name in config.edits
        }
        for case in cases:
            case.outcomes.update(outcomes)
        return Found(cases, schemes, tuple(reading.name for reading in fixed), [], [])
    work = (_edit_one(case, models.editor, config.edits) for case in cases)
    position = 0
    async for made in run_in_order(work, 2 * config.http.concurrency):
        cases[position].outcomes.update({outcome.kind: outcome for outcome in made})
        position += 1
    run.check_stopped()
    add_controls(cases)
    for name in (*config.edits, *CONTROLS):
        await examiner.examine(cases, name)
        run.check_stopped()
    prices, hacks = await probe_prices(cases, examiner, config.target)
    return Found(cases, schemes, tuple(reading.name for reading in fixed), prices, hacks)


async def _edit_one(case: AuditCase, editor: Editor, kinds: Sequence[EditName]) -> tuple[MadeEdit | NotMade, ...]:
    complies = case.complies
    if all(found is None for found in complies):
        return tuple(NotMade(kind=kind, reason=_NO_VERDICTS) for kind in kinds)
    return await editor.edit(EditCase(case.task, case.response.text, complies), kinds)


def check_asked(config: AuditConfig) -> None:
    """Find mistakes in the options before dimensions are made, which may cost tokens."""
    names = _name_schemes(config)
    for name in names.split(",") if names.strip() != "all" else ():
        if name.strip():
            find_scheme(name.strip())
    if config.responses is not None and not config.responses.is_file():
        raise SourceError(f"{config.responses}: no such file; check the path")
