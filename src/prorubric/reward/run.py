"""`judge_responses`: a file of responses judged once per reading that the schemes need, scored under all of them.

Every reply is in the journal before it is used, so that a run that was stopped, or killed, is finished by running it
again: only the calls that are missing are made. Results appear in the run folder when the run is complete.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import JsonValue

from prorubric.aggregate.score import Score
from prorubric.datasets.load import Format, Reject, Subset, load_responses, load_tasks
from prorubric.errors import ConfigError
from prorubric.judge.items import Reading
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.judge.stream import Judged, judge_stream
from prorubric.llm.accounting import Usage, estimate_cost, load_prices
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.make import open_model
from prorubric.reward.folder import (
    CONFIG,
    JOURNAL,
    ROW_SCHEMA,
    SCORES,
    SUMMARY,
    TASKS,
    VERDICTS,
    SchemeSummary,
    SchemeTally,
    choose_schemes,
    describe_versions,
    needed_readings,
    render_score_row,
    render_verdict_row,
    score_readings,
    write_json,
)
from prorubric.rubric.files import WriteRow, open_rows
from prorubric.rubric.record import Record, config_record
from prorubric.rubric.records import Response, Task
from prorubric.rubric.save import save_tasks
from prorubric.rubric.verdict import Unknown, Verdict

_CHARACTERS_PER_TOKEN = 4
_SHOWN_REJECTS = 5


@config_record
class JudgeFiles:
    """What is judged, by which model, into which folder."""

    tasks: str
    """The file of tasks, or a Hugging Face dataset by its id."""
    responses: Path
    """The file of responses."""
    _: KW_ONLY
    judge: str
    """The judge: lexical, http://host:port/v1#name, gguf:PATH, smollm2, scripted:FILE, pkg.module:object."""
    out: Path
    """The run folder; running into it again finishes what is missing."""
    scheme: str = "all"
    """Schemes with commas between them, or all that the tasks allow."""
    format: Format = "auto"
    """The form of the tasks."""
    subset: Subset = "all"
    """HealthBench: only the physician-consensus criteria, or only the others."""
    strict: bool = False
    """Stop at the first row that cannot be read."""
    journal: Path | None = None
    """A journal that several runs share; by default each run folder has its own."""
    prices: Path | None = None
    """A price table of your own, for the estimate of costs."""


@config_record
class JudgeRunConfig(JudgeFiles):
    """A whole run: its files, how the judge is asked, how its endpoint is treated."""

    _: KW_ONLY
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    http: HttpConfig = field(default_factory=HttpConfig)


class JudgeResult(Record):
    """What a run gave and what it cost."""

    folder: str
    judge: str
    responses: int
    rejected: int
    """Rows of tasks or responses that could not be read, or responses to no known task."""
    rejects: tuple[str, ...]
    """The first of them."""
    schemes: dict[str, SchemeSummary]
    left_out: dict[str, str]
    """Schemes that the tasks do not allow, with the reason."""
    verdicts: int
    unknown_verdicts: int
    unknown_reasons: dict[str, int]
    calls: int
    cached: int
    failed_calls: dict[str, int]
    retries: int
    prompt_tokens: int
    completion_tokens: int
    shareable_prompt_tokens: int
    """Of the prompts sent, what a server with a prefix cache can share between responses to a task (an estimate)."""
    cost: float | None
    """US dollars at list price; None where the price is not known."""
    seconds: float


@dataclass(slots=True)
class _Tally:
    """What has been counted so far."""

    responses: int = 0
    verdicts: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    scores: SchemeTally = field(default_factory=SchemeTally)
    shareable: int = 0
    last_task: str | None = None

    def add(self, judged: Judged, scores: dict[str, Score]) -> None:
        self.responses += 1
        for judgement in judged.judgements.values():
            self.verdicts += len(judgement.verdicts)
            self.unknown.update(verdict.reason for verdict in judgement.verdicts if isinstance(verdict, Unknown))
            if judged.task.id == self.last_task:
                self.shareable += judgement.shared_characters // _CHARACTERS_PER_TOKEN
        self.last_task = judged.task.id
        self.scores.add(scores)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    responses: int
    unknown_verdicts: int
    usage: Usage


OnProgress = Callable[[Progress], None]


def judge_responses(config: JudgeRunConfig, on_progress: OnProgress | None = None) -> JudgeResult:
    """Judge and score every response of a file into a run folder."""
    return asyncio.run(_run(config, on_progress))


async def _run(config: JudgeRunConfig, on_progress: OnProgress | None) -> JudgeResult:
    started = time.monotonic()
    rejects: list[Reject] = []
    tasks = _load_tasks(config, rejects)
    schemes, left_out = choose_schemes(config.scheme, list(tasks.values()))
    readings = cast("tuple[Reading, ...]", needed_readings(schemes))
    prices = load_prices(config.prices) if config.prices else load_prices()
    config.out.mkdir(parents=True, exist_ok=True)
    usage, tally = Usage(), _Tally()
    with Journal(config.journal or config.out / JOURNAL) as journal:
        judge = Judge(open_model(config.judge, journal, config.http, usage), config.judging)
        write_json(config.out / CONFIG, _describe(config, schemes, judge.model.identity))
        try:
            with ExitStack() as stack:
                write_verdicts = stack.enter_context(open_rows(config.out / VERDICTS, ROW_SCHEMA))
                write_scores = stack.enter_context(open_rows(config.out / SCORES, ROW_SCHEMA))
                cases = _pair(config, tasks, rejects)
                async for judged in judge_stream(judge, cases, readings, 2 * config.http.concurrency):
                    tally.add(judged, _write(judged, schemes, write_verdicts, write_scores))
                    if on_progress:
                        on_progress(Progress(tally.responses, tally.unknown.total(), usage))
        finally:
            await judge.close()
    save_tasks(config.out / TASKS, tasks.values())
    result = _summarize(config, tally, usage, schemes, left_out, rejects)
    final = result.model_copy(
        update={"cost": estimate_cost(usage, prices), "seconds": round(time.monotonic() - started, 3)}
    )
    write_json(config.out / SUMMARY, final.model_dump(mode="json"))
    return final


def _load_tasks(config: JudgeRunConfig, rejects: list[Reject]) -> dict[str, Task]:
    stream = load_tasks(
        config.tasks, config.format, subset=config.subset, strict=config.strict, on_reject=rejects.append
    )
    tasks: dict[str, Task] = {}
    for task in stream:
        if task.id in tasks:
            rejects.append(Reject(config.tasks, stream.line, f"the id {task.id!r} is taken already; give each its own"))
            continue
        tasks[task.id] = task
    if not tasks:
        raise ConfigError(f"{config.tasks}: no task could be read; {rejects[0] if rejects else 'the file is empty'}")
    return tasks


def _pair(config: JudgeRunConfig, tasks: dict[str, Task], rejects: list[Reject]) -> Iterator[tuple[Task, Response]]:
    stream = load_responses(config.responses, strict=config.strict, on_reject=rejects.append)
    for response in stream:
        task = tasks.get(response.task_id)
        if task is None:
            reason = f"no task is called {response.task_id!r}; check the task_id"
            rejects.append(Reject(str(config.responses), stream.line, reason))
            continue
        yield task, response


def _write(judged: Judged, schemes: Sequence[str], verdicts: WriteRow, scores: WriteRow) -> dict[str, Score]:
    readings: dict[str, tuple[Verdict, ...]] = {name: j.verdicts for name, j in judged.judgements.items()}
    probabilities: dict[str, JsonValue] = {
        name: list(j.probabilities) for name, j in judged.judgements.items() if j.probabilities is not None
    }
    reasons: dict[str, JsonValue] = {
        name: {str(index): reason for index, reason in j.reasons.items()}
        for name, j in judged.judgements.items()
        if j.reasons
    }
    place = (judged.task.id, judged.response.sample)
    verdicts(render_verdict_row(*place, readings, probabilities=probabilities, reasons=reasons))
    found = score_readings(readings, judged.task, schemes)
    scores(render_score_row(*place, found))
    return found


def _describe(config: JudgeRunConfig, schemes: Sequence[str], identity: str) -> dict[str, Any]:
    """Everything resolved, for the run folder. There is no key in it: keys live in the environment."""
    settings = _plain(asdict(config))
    return {
        "verb": "judge",
        "config": settings,
        "schemes": list(schemes),
        "judge_identity": identity,
        "versions": describe_versions(),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return str(value) if isinstance(value, Path) else value


def _summarize(
    config: JudgeRunConfig,
    tally: _Tally,
    usage: Usage,
    schemes: Sequence[str],
    left_out: dict[str, str],
    rejects: list[Reject],
) -> JudgeResult:
    return JudgeResult(
        folder=str(config.out),
        judge=config.judge,
        responses=tally.responses,
        rejected=len(rejects),
        rejects=tuple(str(reject) for reject in rejects[:_SHOWN_REJECTS]),
        schemes=tally.scores.summarize(schemes),
        left_out=left_out,
        verdicts=tally.verdicts,
        unknown_verdicts=tally.unknown.total(),
        unknown_reasons=dict(tally.unknown.most_common()),
        calls=usage.calls,
        cached=usage.cached,
        failed_calls={**usage.failures},
        retries=usage.retries,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        shareable_prompt_tokens=tally.shareable,
        cost=None,
        seconds=0.0,
    )
