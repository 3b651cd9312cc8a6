"""`run_audit`: what a reward pays for, from a file of rubrics to the tables, into a run folder.

Answers are judged, edited, and judged again with every edit, with controls (the answer again, garbage, an answer to
another prompt) and with probes of what naming buys. Every reply is in the journal before it is used: an audit that was
stopped is finished by running it again. What could not be read, answered, edited or judged is counted with its reason.
"""

import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from typing import cast

from prorubric.aggregate.schemes import APPROPRIATENESS, find_scheme
from prorubric.audit.config import AuditConfig
from prorubric.audit.editors import Editor
from prorubric.audit.edits import EditName
from prorubric.audit.edits.kind import EditCase, MadeEdit, NotMade
from prorubric.audit.folder import AUDIT_FILES, check_folder, write_cases, write_setting
from prorubric.audit.judging import ANSWER, AuditCase, Examiner, find_compliance
from prorubric.audit.liveness import CONTROLS
from prorubric.audit.models import Models, make_models
from prorubric.audit.probes import PROBES, add_controls, first_cases, probe_prices
from prorubric.audit.records import AuditResult
from prorubric.audit.setting import (
    NO_DIMENSIONS,
    add_dimensions,
    choose_tasks,
    find_answers,
    keep_judgeable,
    need_dimensions,
)
from prorubric.audit.summary import Found, share_unknown, summarize
from prorubric.compile.compiler import LINEAGE, RULES
from prorubric.errors import ProRubricError, SourceError
from prorubric.files.lock import lock_path
from prorubric.files.write import remove_partials, write_json
from prorubric.judge.items import Reading
from prorubric.judge.judge import Judge
from prorubric.llm.accounting import Usage, estimate_cost, load_prices
from prorubric.llm.journal import Journal
from prorubric.llm.together import run_in_order, run_sync
from prorubric.rubric.records import Task
from prorubric.runs.folder import JOURNAL, REJECTS, SUMMARY
from prorubric.runs.inputs import load_all_tasks
from prorubric.runs.rejects import Rejects
from prorubric.runs.verdicts import ALL, AUTO, READS_WORDS, needed_readings, split_by_words

_NO_VERDICTS = "the judge gave no verdict on the answer"
_FIXED: tuple[Reading, ...] = ("redundancy", APPROPRIATENESS)  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an audit is."""

    judged: int
    expected: int
    """About how many texts there are to judge; edits that cannot be made are counted in."""


OnProgress = Callable[[Progress], None]


@dataclass(slots=True)
class _Counter:
    """Counts judged texts and tells whoever wants to know."""

    tell: OnProgress | None
    expected: int = 0
    judged: int = 0

    def __call__(self, more: int) -> None:
        self.judged += more
        if self.tell:
            self.tell(Progress(self.judged, max(self.expected, self.judged)))


def run_audit(config: AuditConfig, on_progress: OnProgress | None = None) -> AuditResult:
    """Audit a reward into a run folder."""
    with closing(Rejects()) as rejects:
        return run_sync(_run(config, rejects, on_progress))


async def _run(config: AuditConfig, rejects: Rejects, on_progress: OnProgress | None) -> AuditResult:
    started = time.monotonic()
    everything = load_all_tasks(config, rejects)
    chosen = choose_tasks(everything, config.limit)
    prices = load_prices(config.prices)
    check_asked(config)
    check_folder(config)
    is_new = not config.out.exists()
    config.out.mkdir(parents=True, exist_ok=True)
    with lock_path(config.out / ".lock"), Journal(config.journal or config.out / JOURNAL) as journal:
        check_folder(config)  # again: another audit may have ended here since
        remove_partials(*(config.out / name for name in AUDIT_FILES))
        async with AsyncExitStack() as stack:
            try:
                models = make_models(config, journal)
            except ProRubricError:
                if is_new:
                    shutil.rmtree(config.out, ignore_errors=True)
                raise
            stack.push_async_callback(models.close)
            start = await prepare(config, models, chosen, everything, rejects)
            tasks, schemes, cases = start.tasks, start.schemes, start.cases
            write_setting(config, tasks.values(), schemes, models.judge.identity, models.editor.identity)
            found = await examine(cases, models, schemes, config, on_progress)
    write_cases(config.out, found)
    rejects.save(config.out / REJECTS)
    used = Usage()
    for usage in models.usage.values():
        used.merge(usage)
    result = AuditResult(
        folder=str(config.out),
        tasks=len(first_cases(cases)),
        unanswered=len(tasks) - len(first_cases(cases)),
        answers=len(cases),
        answers_from=start.answers_from,
        composed=config.responses is None and config.answers_from is None,
        judge=config.judge,
        editor=config.editor,
        dimensions_from=start.dimensions_from,
        rules_dimensions=start.dimensions_from != NO_DIMENSIONS and any(map(_is_grouped_by_rules, tasks.values())),
        schemes=schemes,
        left_out=start.left_out,
        fixed_left_out="" if found.fixed else f"{config.judge} compares words, and these criteria are not about words",
        rejected=rejects.count,
        rejects=rejects.show(),
        calls=used.calls,
        cached=used.cached,
        repeated=used.repeated,
        damaged=used.damaged,
        failed_calls={str(kind): number for kind, number in used.failures.items()},
        retries=used.retries,
        prompt_tokens=used.prompt_tokens,
        completion_tokens=used.completion_tokens,
        unmetered=used.unmetered,
        cost=_add_costs([estimate_cost(usage, prices) for usage in models.usage.values() if usage.calls]),
        seconds=round(time.monotonic() - started, 3),
        **summarize(found, config),
    )
    write_json(config.out / SUMMARY, result.model_dump(mode="json"))
    return result


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
    config: AuditConfig, models: Models, chosen: dict[str, Task], everything: dict[str, Task], rejects: Rejects
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
    """True where a scheme or a fixed criterion needs the tasks' dimensions."""
    return need_dimensions(_name_schemes(config)) or bool(_list_fixed(config))


def _is_grouped_by_rules(task: Task) -> bool:
    lineage = task.meta.get(LINEAGE)
    # The lineage has the version as well: rules/2.
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
    cases: list[AuditCase],
    models: Models,
    schemes: tuple[str, ...],
    config: AuditConfig,
    on_progress: OnProgress | None,
) -> Found:
    """Judge the answers, edit them, and judge every edit, control and probe."""
    fixed = _list_fixed(config)
    # Compliance with the criteria is what edits start from, whatever the schemes read.
    readings = tuple(dict.fromkeys(("criteria", *needed_readings(schemes), *fixed)))
    counter = _Counter(on_progress, _expect(cases, config))
    examiner = Examiner(
        Judge(models.judge, config.judging),
        Judge(models.judge_again, config.judging),
        schemes,
        cast("tuple[Reading, ...]", readings),
        2 * config.http.concurrency,
        counter,
    )
    await examiner.examine(cases, ANSWER)
    if all(share_unknown(cases, find_scheme(name).readings) > config.most_unknown for name in schemes):
        # Nothing that follows could be read, and all of it would be paid for.
        _make_no_edits(cases, config.edits)
        return Found(cases, schemes, fixed, [], [])
    await _edit(cases, models.editor, config)
    add_controls(cases)
    for name in (*config.edits, *CONTROLS):
        await examiner.examine(cases, name)
    prices, hacks = await probe_prices(cases, examiner, config.target)
    return Found(cases, schemes, fixed, prices, hacks)


def _expect(cases: Sequence[AuditCase], config: AuditConfig) -> int:
    return len(cases) * (1 + len(config.edits) + len(CONTROLS)) + len(first_cases(cases)) * len(PROBES)


async def _edit(cases: Sequence[AuditCase], editor: Editor, config: AuditConfig) -> None:
    work = (_edit_one(case, editor, config.edits) for case in cases)
    position = 0
    async for outcomes in run_in_order(work, 2 * config.http.concurrency):
        cases[position].outcomes.update({outcome.kind: outcome for outcome in outcomes})
        position += 1


async def _edit_one(case: AuditCase, editor: Editor, kinds: Sequence[EditName]) -> tuple[MadeEdit | NotMade, ...]:
    complies = find_compliance(case)
    if all(found is None for found in complies):
        return tuple(NotMade(kind=kind, reason=_NO_VERDICTS) for kind in kinds)
    return await editor.edit(EditCase(case.task, case.response.text, complies), kinds)


def _make_no_edits(cases: Iterable[AuditCase], kinds: Iterable[EditName]) -> None:
    outcomes: dict[str, MadeEdit | NotMade] = {kind: NotMade(kind=kind, reason=_NO_VERDICTS) for kind in kinds}
    for case in cases:
        case.outcomes.update(outcomes)


def check_asked(config: AuditConfig) -> None:
    """Refuse what no task could mend before dimensions are made, which may cost tokens."""
    names = _name_schemes(config)
    for name in names.split(",") if names.strip() != "all" else ():
        if name.strip():
            find_scheme(name.strip())
    if config.responses is not None and not config.responses.is_file():
        raise SourceError(f"{config.responses}: no such file; check the path")


def _add_costs(costs: Sequence[float | None]) -> float | None:
    """None where one of them is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
