"""`run_audit`: what a reward pays for, from a file of rubrics to the tables, into a run folder.

Answers are judged, edited, and judged again with every edit, with controls (the answer again, garbage, an answer to
another prompt) and with probes of what naming buys. Every reply is in the journal before it is used: an audit that was
stopped is finished by running it again. What could not be read, answered, edited or judged is counted with its reason.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from prorubric.aggregate.schemes import APPROPRIATENESS, find_scheme
from prorubric.audit.config import AUTO, AuditConfig
from prorubric.audit.edits import Edit, EditCase, Editor, NotMade
from prorubric.audit.judging import ANSWER, Case, find_compliance, make_examiner
from prorubric.audit.liveness import CONTROLS
from prorubric.audit.make_editor import make_editor
from prorubric.audit.probes import PROBES, add_controls, first_cases, probe_prices
from prorubric.audit.records import AuditResult
from prorubric.audit.setting import add_dimensions, choose_tasks, find_answers
from prorubric.audit.summary import Found, summarize
from prorubric.compile.compiler import RULES
from prorubric.errors import ConfigError, SourceError
from prorubric.judge.items import Reading
from prorubric.llm.accounting import Usage, estimate_cost, load_prices
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.make import keep_model, keep_text, make_model, require_text
from prorubric.llm.model import Model, YesNoModel
from prorubric.llm.together import run_in_order, run_sync
from prorubric.reward.folder import (
    CONFIG,
    JOURNAL,
    ROW_SCHEMA,
    SUMMARY,
    TASKS,
    check_judging,
    choose_schemes,
    describe_versions,
    needed_readings,
)
from prorubric.reward.inputs import Rejects, load_all_tasks, write_rejects
from prorubric.rubric.files import lock_path, open_rows, parse_json, remove_partials, write_json
from prorubric.rubric.record import render_config, shorten
from prorubric.rubric.records import Task
from prorubric.rubric.save import save_tasks
from prorubric.rubric.verdict import render_verdict

CASES, PRICES, HACKS = "cases.jsonl", "prices.jsonl", "hacks.jsonl"
AUDIT_FILES = (CONFIG, TASKS, CASES, PRICES, HACKS, SUMMARY)

_READS_BY_WORDS = "lexical"
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


@dataclass(slots=True)
class _Models:
    """Who takes part, and what each model used: they have different prices."""

    judge: Model | YesNoModel
    editor: Editor
    generator: Model | None
    answers: Model | None
    usage: dict[str, Usage] = field(default_factory=dict)

    async def close(self) -> None:
        for model in (self.judge, self.editor, self.generator, self.answers):
            if model is not None:
                await model.close()


def run_audit(config: AuditConfig, on_progress: OnProgress | None = None) -> AuditResult:
    """Audit a reward into a run folder."""
    return run_sync(_run(config, on_progress))


async def _run(config: AuditConfig, on_progress: OnProgress | None) -> AuditResult:
    started = time.monotonic()
    rejects = Rejects()
    tasks = choose_tasks(load_all_tasks(config, rejects), config.limit)
    prices = load_prices(config.prices) if config.prices else load_prices()
    _check_asked(config)
    _check_folder(config)
    config.out.mkdir(parents=True, exist_ok=True)
    with lock_path(config.out / ".lock"), Journal(config.journal or config.out / JOURNAL) as journal:
        remove_partials(*(config.out / name for name in AUDIT_FILES))
        async with AsyncExitStack() as stack:
            models = _make_models(config, journal)
            stack.push_async_callback(models.close)
            tasks, dimensions_from = await add_dimensions(tasks, models.generator, config, rejects)
            schemes, left_out = choose_schemes(_name_schemes(config), list(tasks.values()), check_judging)
            cases, answers_from = await find_answers(tasks, models.answers, config, rejects)
            _write_setting(config, tasks, models, schemes)
            found = await _examine(cases, models, schemes, config, on_progress)
    _write_cases(config.out, found)
    write_rejects(config.out, rejects)
    result = AuditResult(
        folder=str(config.out),
        tasks=len(first_cases(cases)),
        unanswered=len(tasks) - len(first_cases(cases)),
        answers=len(cases),
        answers_from=answers_from,
        judge=config.judge,
        editor=config.editor,
        dimensions_from=dimensions_from,
        schemes=schemes,
        left_out=left_out,
        fixed_left_out="" if found.fixed else f"{config.judge} compares words, and these criteria are not about words",
        rejected=rejects.count,
        rejects=rejects.show(),
        calls=sum(usage.calls for usage in models.usage.values()),
        cached=sum(usage.cached for usage in models.usage.values()),
        failed_calls=_add_failures(models.usage.values()),
        cost=_add_costs([estimate_cost(usage, prices) for usage in models.usage.values() if usage.calls]),
        seconds=round(time.monotonic() - started, 3),
        **summarize(found, config),
    )
    write_json(config.out / SUMMARY, result.model_dump(mode="json"))
    return result


def _name_schemes(config: AuditConfig) -> str:
    """The sum and ProRubric. A judge that compares words cannot read a dimension; the groups hold for it as well."""
    if config.scheme.strip() != AUTO:
        return config.scheme
    return "additive,conjunctive" if config.judge == _READS_BY_WORDS else "additive,conjunctive,prorubric"


class _Door:
    """Makes each model once, however many parts it plays: one in this process is large. Calls are counted by model."""

    def __init__(self, http: HttpConfig, journal: Journal) -> None:
        self._http = http
        self._journal = journal
        self._made: dict[str, Model | YesNoModel] = {}
        self.usage: dict[str, Usage] = {}

    def open(self, spec: str) -> Model | YesNoModel:
        return keep_model(self._make(spec), self._journal, self.usage[spec])

    def open_text(self, spec: str) -> Model:
        return keep_text(require_text(self._make(spec)), self._journal, self.usage[spec])

    def _make(self, spec: str) -> Model | YesNoModel:
        if spec not in self._made:
            self.usage[spec] = Usage()
            self._made[spec] = make_model(spec, self._http, self.usage[spec])
        return self._made[spec]


def _make_models(config: AuditConfig, journal: Journal) -> _Models:
    door = _Door(config.http, journal)
    return _Models(
        judge=door.open(config.judge),
        editor=make_editor(config.editor, door.open_text),
        generator=None if config.generator == RULES else door.open_text(config.generator),
        answers=door.open_text(config.answers_from) if config.answers_from else None,
        usage=door.usage,
    )


async def _examine(
    cases: list[Case], models: _Models, schemes: tuple[str, ...], config: AuditConfig, on_progress: OnProgress | None
) -> Found:
    fixed = () if config.judge == _READS_BY_WORDS else _FIXED
    # Compliance with the criteria is what edits start from, whatever the schemes read.
    readings = tuple(dict.fromkeys(("criteria", *needed_readings(schemes), *fixed)))
    counter = _Counter(on_progress, _expect(cases, config))
    examiner = make_examiner(
        models.judge,
        config.judging,
        schemes,
        cast("tuple[Reading, ...]", readings),
        2 * config.http.concurrency,
        counter,
    )
    await examiner.examine(cases, ANSWER)
    await _edit(cases, models.editor, config)
    add_controls(cases)
    for name in (*config.edits, *CONTROLS):
        await examiner.examine(cases, name)
    prices, hacks = await probe_prices(cases, examiner, config.target)
    return Found(cases, schemes, fixed, prices, hacks)


def _expect(cases: Sequence[Case], config: AuditConfig) -> int:
    return len(cases) * (1 + len(config.edits) + len(CONTROLS)) + len(first_cases(cases)) * len(PROBES)


async def _edit(cases: Sequence[Case], editor: Editor, config: AuditConfig) -> None:
    work = (editor.edit(EditCase(case.task, case.response.text, find_compliance(case)), config.edits) for case in cases)
    position = 0
    async for outcomes in run_in_order(work, 2 * config.http.concurrency):
        cases[position].outcomes.update({outcome.kind: outcome for outcome in outcomes})
        position += 1


def _check_asked(config: AuditConfig) -> None:
    """Refuse what no task could mend before dimensions are made, which may cost tokens."""
    names = _name_schemes(config)
    for name in names.split(",") if names.strip() != "all" else ():
        if name.strip():
            find_scheme(name.strip())
    if config.responses is not None and not config.responses.is_file():
        raise SourceError(f"{config.responses}: no such file; check the path")


def _check_folder(config: AuditConfig) -> None:
    """A folder that holds another verb's run, or an audit of something else, is left alone."""
    path = config.out / CONFIG
    before = parse_json(path.read_bytes()) if path.is_file() else {}
    if before.get("verb") != "audit" and any((config.out / name).exists() for name in AUDIT_FILES):
        raise ConfigError(f"{config.out}: holds files that are not an audit; name another folder with --out")
    asked = render_config(config)
    for key in ("tasks", "responses", "judge", "editor") if before else ():
        old = before.get("config", {}).get(key)
        if old != asked[key]:
            raise ConfigError(
                f"{config.out}: holds an audit with another {key} ({shorten(str(old))}); name another folder with --out"
            )


def _write_setting(config: AuditConfig, tasks: dict[str, Task], models: _Models, schemes: Sequence[str]) -> None:
    save_tasks(config.out / TASKS, tasks.values())
    about = {
        "verb": "audit",
        "config": render_config(config),
        "schemes": list(schemes),
        "judge_identity": models.judge.identity,
        "editor_identity": models.editor.identity,
        "versions": describe_versions(),
    }
    write_json(config.out / CONFIG, about)


def _write_cases(folder: Path, found: Found) -> None:
    rows = {
        CASES: map(_render_case, found.cases),
        PRICES: (price.model_dump(mode="json") for price in found.prices),
        HACKS: (hack.model_dump(mode="json") for hack in found.hacks),
    }
    for name, content in rows.items():
        with open_rows(folder / name, ROW_SCHEMA) as write:
            for row in content:
                write(row)


def _render_case(case: Case) -> dict[str, Any]:
    return {
        "task_id": case.task.id,
        "sample": case.response.sample,
        "answer": case.response.text,
        "edits": [made.model_dump(mode="json") for made in case.outcomes.values() if isinstance(made, Edit)],
        "not_made": {kind: made.reason for kind, made in case.outcomes.items() if isinstance(made, NotMade)},
        "verdicts": {
            name: {reading: [*map(render_verdict, verdicts)] for reading, verdicts in readings.items()}
            for name, readings in case.verdicts.items()
        },
        "scores": case.scores,
    }


def _add_failures(usages: Any) -> dict[str, int]:
    total = Usage()
    for usage in usages:
        total.merge(usage)
    return {str(kind): count for kind, count in total.failures.items()}


def _add_costs(costs: Sequence[float | None]) -> float | None:
    """None where one of them is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None
