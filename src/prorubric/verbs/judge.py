"""`judge_responses`: a file of responses judged once per reading that the schemes need, scored under all of them.

Every reply is in the journal before it is used, so that a run that was stopped, or killed, is finished by running it
again: only the calls that are missing are made. Results appear in the run folder when the run is complete.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, aclosing
from dataclasses import KW_ONLY, dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import Field, JsonValue

from prorubric.aggregate.score import Score
from prorubric.datasets.load import Format, Subset
from prorubric.datasets.responses import EXAMPLE
from prorubric.errors import ConfigError, SourceError
from prorubric.files.lock import lock_path
from prorubric.files.write import hash_file, open_rows, remove_partials, write_json
from prorubric.judge.items import Reading
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.judge.stream import Judged, judge_stream
from prorubric.llm.accounting import Prices, Usage, estimate_cost, load_prices
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.make import keep_model, make_model
from prorubric.llm.model import Model, YesNoModel
from prorubric.llm.together import run_sync
from prorubric.rubric.base import config_record, render_config
from prorubric.rubric.records import Response, Task
from prorubric.rubric.save import save_tasks
from prorubric.rubric.verdict import Unknown
from prorubric.runs.inputs import Rejects, load_all_tasks, pair_responses, write_rejects
from prorubric.runs.reasons import Reasons
from prorubric.runs.verdicts import (
    AUTO,
    CONFIG,
    JOURNAL,
    READS_WORDS,
    ROW_SCHEMA,
    RUN_FILES,
    SCORES,
    SHEET,
    SUMMARY,
    TASKS,
    VERDICTS,
    Readings,
    SchemeTally,
    check_judging,
    choose_schemes,
    describe_versions,
    needed_readings,
    read_setting,
    render_verdict_row,
    score_readings,
    split_by_words,
)
from prorubric.text.show import shorten
from prorubric.verbs.score import ScoredResponse, ScoredRun, open_scores

_CHARACTERS_PER_TOKEN = 4
_CONTENT = "content"


@config_record
class JudgeFiles:
    """What is judged, by which model, into which folder."""

    tasks: str
    """Tasks file, or the id of a Hugging Face dataset."""
    responses: Path
    """Responses file."""
    _: KW_ONLY
    judge: str
    """The judge: lexical, http://host:port/v1#name, gguf:PATH, smollm2, scripted:FILE, pkg.module:object."""
    out: Path = Path("prorubric-judge")
    """Run folder; running the same command again finishes what is missing."""
    scheme: str = AUTO
    """Comma-separated schemes, all that the tasks allow, or auto: the sum, and ProRubric if there are dimensions."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Judge only the first N responses, to try a judge before paying for all of them."""
    format: Format = "auto"
    """Format of the tasks."""
    subset: Subset = "all"
    """HealthBench: only the physician-consensus criteria, or only the others."""
    split: str = "train"
    """The split of a dataset on the hub."""
    strict: bool = False
    """Stop at the first row that cannot be read."""
    journal: Path | None = None
    """Journal to share between runs; by default each run folder has its own."""
    prices: str | Path | None = None
    """US dollars per million prompt and completion tokens, as in 0.15,0.60, or a JSON file of prices by model."""

    def __post_init__(self) -> None:
        if self.out.suffix.lower() in (".csv", ".json", ".jsonl", ".parquet"):
            raise ConfigError(
                f"--out {self.out} is a folder, with {SHEET} and {SCORES} in it; name it without a suffix"
            )


@config_record
class JudgeRunConfig(JudgeFiles):
    """A whole run: its files, how the judge is asked, how its endpoint is treated."""

    _: KW_ONLY
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    http: HttpConfig = field(default_factory=HttpConfig)


class JudgeResult(ScoredRun):
    """What a run gave and what it cost."""

    unanswered: int
    """Tasks without a response that was judged; 0 where `limit` ended the run."""
    rejected: int
    """Rows of tasks or responses that could not be read, or responses to no known task."""
    rejects: tuple[str, ...]
    """The first of them."""
    unread: dict[str, str]
    """Schemes that were named though the judge cannot read their texts, with the reason; their scores mean nothing."""
    verdicts: int
    unknown_verdicts: int
    unknown_reasons: dict[str, int]
    reasks: int | None
    """How often an open item was asked again; None for a judge that gives probabilities, which is asked once."""
    calls: int
    """Questions, with those that needed no call."""
    cached: int
    """Those of them that needed none."""
    repeated: int
    """Those of the cached that came before in this run; the journal of earlier runs answered the others."""
    damaged: int
    """Replies that were damaged in the journal and asked for again."""
    failed_calls: dict[str, int]
    retries: int
    prompt_tokens: int
    """Of the calls that were made now."""
    completion_tokens: int
    shareable_prompt_tokens: int
    """Of all prompts of the run, what a server with a prefix cache can share between responses (an estimate)."""
    shareable_share: float | None
    """The same as a share of all prompts."""
    unmetered: int
    """Replies whose tokens the endpoint did not count."""
    cost: float | None
    """US dollars at list price for the calls that were made now; None where the price or the tokens are not known."""
    cost_with_journal: float | None
    """The same with what the replies from the journal once cost."""
    seconds: float


@dataclass(slots=True)
class _Tally:
    """What has been counted so far."""

    responses: int = 0
    verdicts: int = 0
    unknown: int = 0
    reasons: Reasons = field(default_factory=Reasons)
    scores: SchemeTally = field(default_factory=SchemeTally)
    prompt: int = 0
    shareable: int = 0
    seen: set[str] = field(default_factory=set)

    def add(self, judged: Judged, scores: dict[str, Score]) -> None:
        self.responses += 1
        for judgement in judged.judgements.values():
            self.verdicts += len(judgement.verdicts)
            self.prompt += judgement.prompt_characters
            if judged.task.id in self.seen:
                self.shareable += judgement.shared_characters
            for verdict in judgement.verdicts:
                if isinstance(verdict, Unknown):
                    self.unknown += 1
                    self.reasons.count(verdict.reason)
        self.seen.add(judged.task.id)
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
    return run_sync(_run(config, on_progress))


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a run starts from, read and checked before anything is spent."""

    tasks: dict[str, Task]
    cases: Iterator[tuple[Task, Response]]
    schemes: tuple[str, ...]
    left_out: dict[str, str]
    unread: dict[str, str]
    model: Model | YesNoModel
    prices: Prices

    @property
    def readings(self) -> tuple[Reading, ...]:
        """What has to be judged."""
        return cast("tuple[Reading, ...]", needed_readings(self.schemes))


def open_inputs(config: JudgeRunConfig, rejects: Rejects, usage: Usage) -> Inputs:
    """Read the tasks and make the model; raises before a token is spent and before there is a folder."""
    tasks = load_all_tasks(config, rejects)
    schemes, left_out = choose_schemes(config.scheme, list(tasks.values()), check_judging, config.judge)
    cases = islice(pair_responses(config.responses, tasks, rejects, config.strict), config.limit)
    first = next(cases, None)
    if first is None:
        why = rejects.first(str(config.responses)) or "the file is empty"
        raise SourceError(f"{config.responses}: no response could be judged; {why}; {EXAMPLE}")
    unread = split_by_words(schemes)[1] if config.judge == READS_WORDS else {}
    prices = load_prices(config.prices)
    model = make_model(config.judge, config.http, usage)
    Judge(model, config.judging)  # a prompt file that cannot be used is found now
    return Inputs(tasks, chain([first], cases), schemes, left_out, unread, model, prices)


async def _run(config: JudgeRunConfig, on_progress: OnProgress | None) -> JudgeResult:
    started = time.monotonic()
    rejects, usage, tally = Rejects(), Usage(), _Tally()
    inputs = open_inputs(config, rejects, usage)
    about = {
        "verb": "judge",
        "config": render_config(config),
        "schemes": list(inputs.schemes),
        "judge_identity": inputs.model.identity,
        _CONTENT: {"tasks": hash_file(Path(config.tasks)), "responses": hash_file(config.responses)},
        "versions": describe_versions(),
    }
    _check_folder(config.out, about)  # before a lock is left in a folder that is somebody else's
    config.out.mkdir(parents=True, exist_ok=True)
    with lock_path(config.out / ".lock"), Journal(config.journal or config.out / JOURNAL) as journal:
        _check_folder(config.out, about)
        remove_partials(*(config.out / name for name in RUN_FILES))
        save_tasks(config.out / TASKS, inputs.tasks.values())
        write_json(config.out / CONFIG, about)
        judge = Judge(keep_model(inputs.model, journal, usage), config.judging)
        try:
            with ExitStack() as stack:
                write_verdicts = stack.enter_context(open_rows(config.out / VERDICTS, ROW_SCHEMA))
                write_scores = [
                    stack.enter_context(open_scores(config.out / name, inputs.schemes)) for name in (SCORES, SHEET)
                ]
                stream = judge_stream(judge, inputs.cases, inputs.readings, 2 * config.http.concurrency)
                async with aclosing(stream):
                    async for judged in stream:
                        readings: Readings = {name: found.verdicts for name, found in judged.judgements.items()}
                        scores = score_readings(readings, judged.task, inputs.schemes)
                        write_verdicts(_render_verdicts(judged))
                        for write in write_scores:
                            write(ScoredResponse(judged.task.id, judged.response.sample, scores))
                        tally.add(judged, scores)
                        if on_progress:
                            on_progress(Progress(tally.responses, tally.unknown, usage))
        finally:
            await judge.close()
    write_rejects(config.out, rejects)
    result = _summarize(config, inputs, tally, usage, rejects, round(time.monotonic() - started, 3))
    write_json(config.out / SUMMARY, result.model_dump(mode="json"))
    return result


def _check_folder(folder: Path, about: Mapping[str, Any]) -> None:
    """Raise `ConfigError` where a folder holds another judge's run, or other files. More reasks go on with a run."""
    before = read_setting(folder)
    if before.get("verb") != "judge" and any((folder / name).exists() for name in RUN_FILES):
        raise ConfigError(f"{folder}: holds files that are not a run of this verb; name another folder with --out")
    old, new = (
        {"judge identity": found.get("judge_identity"), **settings, **settings.get("judging", {})}
        for found in (before, about)
        for settings in [found.get("config", {})]
    )
    for key in ("judge identity", "tasks", "responses", "subset", *about["config"]["judging"]) if before else ():
        if old.get(key) != new[key] and not (key == "reasks" and (old.get(key) or 0) < new[key]):
            raise ConfigError(
                f"{folder}: holds a run with another {key.replace('_', ' ')} ({shorten(str(old.get(key)))}, "
                f"not {shorten(str(new[key]))}); name another folder with --out"
            )
    if (folder / SUMMARY).is_file() and (folder / VERDICTS).is_file():
        _check_finished(folder, before, about)


def _check_finished(folder: Path, before: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Raise `ConfigError` where other inputs would replace the verdicts of a finished run. A larger limit goes on."""
    with (folder / VERDICTS).open("rb") as stream:
        count = sum(1 for _ in stream)
    limit = about["config"]["limit"]
    for key, found in before.get(_CONTENT, {}).items():
        if found != about[_CONTENT][key]:
            raise ConfigError(
                f"{folder}: holds a finished run, and the content of {key} ({about['config'][key]}) has changed since; "
                "name another folder with --out"
            )
    if limit is not None and limit < count:
        raise ConfigError(
            f"{folder}: holds a finished run of {count} responses, and the limit is {limit} now; "
            "name another folder with --out"
        )


def _render_verdicts(judged: Judged) -> dict[str, JsonValue]:
    """The row of `verdicts.jsonl`, with what else is known of the verdicts."""
    found = judged.judgements
    probabilities: dict[str, JsonValue] = {
        name: list(one.probabilities) for name, one in found.items() if one.probabilities is not None
    }
    reasons: dict[str, JsonValue] = {
        name: {str(index): reason for index, reason in one.reasons.items()}
        for name, one in found.items()
        if one.reasons
    }
    return render_verdict_row(
        judged.task.id,
        judged.response.sample,
        {name: one.verdicts for name, one in found.items()},
        probabilities=probabilities,
        reasons=reasons,
        meta=judged.response.meta,
    )


def _summarize(
    config: JudgeRunConfig, inputs: Inputs, tally: _Tally, usage: Usage, rejects: Rejects, seconds: float
) -> JudgeResult:
    return JudgeResult(
        folder=str(config.out),
        judge=config.judge,
        responses=tally.responses,
        unanswered=0 if tally.responses == config.limit else len(inputs.tasks) - len(tally.seen),
        rejected=rejects.count,
        rejects=rejects.show(),
        schemes=tally.scores.summarize(inputs.schemes),
        left_out=inputs.left_out,
        unread=inputs.unread,
        verdicts=tally.verdicts,
        unknown_verdicts=tally.unknown,
        unknown_reasons=dict(tally.reasons.most_common()),
        reasks=None if isinstance(inputs.model, YesNoModel) else config.judging.reasks,
        calls=usage.calls,
        cached=usage.cached,
        repeated=usage.repeated,
        damaged=usage.damaged,
        failed_calls={**usage.failures},
        retries=usage.retries,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        shareable_prompt_tokens=tally.shareable // _CHARACTERS_PER_TOKEN,
        shareable_share=tally.shareable / tally.prompt if tally.prompt else None,
        unmetered=usage.unmetered,
        cost=estimate_cost(usage, inputs.prices),
        cost_with_journal=estimate_cost(usage, inputs.prices, with_cached=True),
        seconds=seconds,
    )
