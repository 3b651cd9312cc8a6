"""`compile_rubrics`: a file of checklists becomes a file of tasks with dimensions, and every task is accounted for.

Every reply is in the journal before it is used, so that a run that was stopped, or killed, is finished by running it
again: only the calls that are missing are made. Tasks stream through in the order of the file. Those that are kept or
repaired are in OUT, those that are excluded, with the reason, in OUT's `.excluded` file, rows that could not be read
in its `.rejects` file; the manifest has the counts. The files appear when the run is complete.
"""

import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import ExitStack, aclosing
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

from prorubric.compile.compiler import RULES, Compiler
from prorubric.compile.prompt import DOMAINS, Question, load_prompt
from prorubric.compile.texts import QUESTIONS
from prorubric.compile.work import TEXT_OF, CompileJob, CompileWorker, Done, Plan, Row, Tally
from prorubric.datasets.load import Stream, open_tasks
from prorubric.datasets.rejects import REJECT_SCHEMA, Reject
from prorubric.errors import ConfigError, ModelError, SourceError
from prorubric.files.arrow import TASK_SCHEMA
from prorubric.files.write import WriteRow, hash_file, open_rows, remove_partials, write_json
from prorubric.llm.accounting import Usage, estimate_cost
from prorubric.llm.make import FORMS, hint_at_model, make_text_model
from prorubric.llm.model import Model
from prorubric.llm.together import run_in_order, run_sync
from prorubric.rubric.base import Record
from prorubric.rubric.records import Task
from prorubric.runs.engines import Workplace, run_job
from prorubric.runs.run import Run, RunOptions
from prorubric.runs.stop import Stop, stop_on_signals
from prorubric.verbs.compile_config import CompileConfig, make_plan
from prorubric.verbs.compile_outputs import announce_outputs, claim_outputs

_ONE_WORD = (RULES, "smollm2", "lexical")
_SHOWN_FAILURES = 5
_MOST_SILENT = 50
"""So many tasks in a row without a reply end a run: the generator is not there, and each would be waited for."""


class CompileResult(Record):
    """What became of every task, and what it cost."""

    generator: str
    read: int
    """Rows of the input."""
    kept: int
    repaired: int
    excluded: int
    left_out: dict[str, int]
    """Rows that hold nothing of the subset."""
    rejected: int
    """Rows that could not be read, or whose id was taken."""
    reasons: dict[str, int]
    """Why tasks were excluded."""
    attempts: dict[str, int]
    """Tasks by how many replies they took."""
    faults: dict[str, int]
    """What was wrong with replies, over all attempts."""
    text_faults: dict[str, int]
    """What is still wrong with the texts of dimensions that were kept."""
    failure_sentences: dict[str, int]
    """What the transform no-failure found: sentences that matched and were removed, descriptions restored."""
    failed_texts: dict[str, int]
    """Texts for other schemes that the generator did not deliver."""
    repairs: int
    dimensions: dict[str, int]
    """Tasks by how many dimensions they have."""
    calls: int
    """Questions, with those that needed no call."""
    cached: int
    """Those of them that needed none."""
    repeated: int
    """Those of the cached that came before in this run; the journal of earlier runs answered the others."""
    damaged: int
    """Replies that were damaged in the journal and asked for again."""
    failed_calls: dict[str, int]
    failures: dict[str, int]
    """Why tasks got no reply, in the words of the failed calls; rare ones together as `other reasons`."""
    retries: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """US dollars at list price for the calls that were made now; None where the price or the tokens are not known."""
    cost_with_journal: float | None
    files: dict[str, str]
    sha256: dict[str, str | None]
    seconds: float


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    tasks: int
    excluded: int
    usage: Usage


OnProgress = Callable[[Progress], None]


def compile_rubrics(
    config: CompileConfig, on_progress: OnProgress | None = None, on_stop: Callable[[], None] | None = None
) -> CompileResult:
    """Compile every task of a file.

    Ctrl-C lets the calls that are under way finish, so that they are not paid for twice, and then raises
    `KeyboardInterrupt`; a second one ends the run at once. `on_stop` is told of the first.
    """
    return run_sync(_run(config, on_progress, on_stop))


def make_generator(config: CompileConfig, usage: Usage) -> Model | None:
    """The generator, or None where there is none or it is no model."""
    if config.generator and not any(sign in config.generator for sign in ":/") and config.generator not in _ONE_WORD:
        raise ConfigError(
            f"no generator is called {config.generator!r}; known forms: {RULES}, {FORMS.removeprefix('lexical, ')}; "
            f"{hint_at_model(config.generator, (RULES, 'smollm2'), config.http)}"
        )
    return make_text_model(config.generator, config.http, usage) if config.generator not in ("", RULES) else None


async def _run(
    config: CompileConfig, on_progress: OnProgress | None, on_stop: Callable[[], None] | None
) -> CompileResult:
    plan = make_plan(config)
    with claim_outputs(config) as outputs:
        return await _compile(config, plan, outputs, on_progress, on_stop)


async def _compile(
    config: CompileConfig,
    plan: Plan,
    outputs: dict[str, Path],
    on_progress: OnProgress | None,
    on_stop: Callable[[], None] | None,
) -> CompileResult:
    started, tally = time.monotonic(), Tally()
    run = Run(RunOptions(journal=config.journal, prices=config.prices), config.http)
    usage, stop = run.gate.usage.setdefault(config.generator, Usage()), run.stop
    prices = run.gate.prices
    remove_partials(*outputs.values())
    stop.listeners += [on_stop] if on_stop else []
    with ExitStack() as stack, stop_on_signals(stop):
        write = {
            name: stack.enter_context(open_rows(outputs[name], schema))
            for name, schema in (("tasks", TASK_SCHEMA), ("excluded", TASK_SCHEMA), ("rejects", REJECT_SCHEMA))
        }
        rejects = _Rejects(write["rejects"])
        stream = open_tasks(config, rejects.add)
        tasks = take_tasks(stream, config.limit, stop)
        place = Workplace(config.http, outputs["journal"], config.engine, config.workers)
        results = _run_tasks(config, plan, tasks, run, place)
        async with aclosing(results):
            async for done in results:
                tally.add(done)
                if tally.silent == _MOST_SILENT and not stop.asked:  # then nobody was asked
                    raise ModelError(
                        f"{config.generator}: the last {_MOST_SILENT} tasks got no reply ({tally.last_failure}); what "
                        "was paid for is in the journal, and the same command goes on when the generator answers"
                    )
                write["excluded" if done.state == "excluded" else "tasks"](done.task)
                if on_progress:
                    on_progress(Progress(tally.tasks, tally.states["excluded"], usage))
        if stop.asked:
            raise KeyboardInterrupt
        _check_not_empty(config, stream, tally, rejects)
        announce_outputs(outputs, config)
    files = _tidy(outputs, tally, rejects.count)
    result = _summarize(config, tally, usage, files, stream.read, rejects.count).model_copy(
        update={
            "left_out": {f"no criterion of the subset {config.subset}": stream.skipped} if stream.skipped else {},
            "cost": estimate_cost(usage, prices),
            "cost_with_journal": estimate_cost(usage, prices, with_cached=True),
            "seconds": round(time.monotonic() - started, 3),
        }
    )
    write_json(outputs["manifest"], {**_describe(config, plan), **result.model_dump(mode="json")})
    return result


async def _run_tasks(
    config: CompileConfig, plan: Plan, tasks: Iterator[Task], run: Run, place: Workplace
) -> AsyncGenerator[Done[Row], None]:
    """Every task through the plan, in order, by the engine that the configuration names."""
    if make_generator(config, run.gate.usage[config.generator]) is not None:
        results = run_job(CompileJob(config.generator, plan), tasks, run, place)
    else:
        worker = CompileWorker(Compiler(None, plan.generation, plan.own_prompt), plan)
        results = run_in_order((worker.run(task) for task in tasks), place.window)
    async with aclosing(results):
        async for done in results:
            yield done


class _Rejects:
    """Rows that were left out, written down as they come."""

    def __init__(self, write: WriteRow) -> None:
        self.count = 0
        self.first: Reject | None = None
        self._write = write

    def add(self, reject: Reject) -> None:
        self.count += 1
        self.first = self.first or reject
        self._write(asdict(reject))


def take_tasks(stream: Stream[Task], limit: int | None = None, stop: Stop | None = None) -> Iterator[Task]:
    """The tasks, until there are enough or somebody asks to stop."""
    for count, task in enumerate(stream, 1):
        if stop is not None and stop.asked:
            return
        yield task
        if count == limit:
            return


def _check_not_empty(config: CompileConfig, stream: Stream[Task], tally: Tally, rejects: _Rejects) -> None:
    if not tally.tasks:
        skipped = f"no task has a criterion of the subset {config.subset}" if stream.skipped else "the file is empty"
        raise SourceError(f"{config.tasks}: no task could be read; {rejects.first or skipped}")


def _tidy(outputs: dict[str, Path], tally: Tally, rejects: int) -> dict[str, Path]:
    """The files that hold something; the others are removed, also those of an earlier run."""
    empty = [
        *(["excluded"] if not tally.states["excluded"] else []),
        *(["rejects"] if not rejects else []),
    ]
    for name in empty:
        outputs[name].unlink(missing_ok=True)
    return {name: path for name, path in outputs.items() if name not in empty and (name == "manifest" or path.exists())}


def _describe(config: CompileConfig, plan: Plan) -> dict[str, Any]:
    """Everything resolved, for the manifest. There is no key in it: keys live in the environment."""
    settings = {key: _plain(value) for key, value in asdict(config).items()}
    return {
        "verb": "compile",
        "config": {**settings, "group": plan.group},
        "prompts": _hash_prompts(config, plan) if config.generator not in ("", RULES) else {},
        "versions": {"prorubric": version("prorubric"), "python": python_version()},
    }


def _hash_prompts(config: CompileConfig, plan: Plan) -> dict[str, dict[str, str]]:
    """The hash of every prompt that a task could be asked with, by question and domain."""
    texts = [*plan.texts, *(TEXT_OF[name] for name in plan.transforms if name in TEXT_OF)]
    questions: list[Question] = [QUESTIONS[name] for name in texts]
    if plan.group != "none":
        questions.insert(0, "group")
    own, path = {"group": plan.own_prompt}, config.generation.prompt_file
    return {
        question: {domain: load_prompt(question, domain, own.get(question), path).sha256 for domain in DOMAINS}
        for question in questions
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return str(value) if isinstance(value, Path) else value


def _summarize(
    config: CompileConfig, tally: Tally, usage: Usage, files: dict[str, Path], read: int, rejected: int
) -> CompileResult:
    failures = dict(tally.failures.most_common(_SHOWN_FAILURES))
    if others := tally.failures.total() - sum(failures.values()):
        failures["other reasons"] = others
    return CompileResult(
        generator=config.generator,
        read=read,
        kept=tally.states["kept"],
        repaired=tally.states["repaired"],
        excluded=tally.states["excluded"],
        left_out={},
        rejected=rejected,
        reasons=dict(tally.reasons.most_common()),
        attempts={str(count): tasks for count, tasks in sorted(tally.attempts.items())},
        faults=dict(tally.faults.most_common()),
        text_faults=dict(tally.text_faults.most_common()),
        failure_sentences=dict(tally.failure_sentences),
        failed_texts=dict(tally.failed_texts.most_common()),
        repairs=tally.repairs,
        dimensions={str(count): tasks for count, tasks in sorted(tally.dimensions.items())},
        calls=usage.calls,
        cached=usage.cached,
        repeated=usage.repeated,
        damaged=usage.damaged,
        failed_calls={**usage.failures},
        failures=failures,
        retries=usage.retries,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost=None,
        cost_with_journal=None,
        files={name: str(path) for name, path in files.items()},
        sha256={
            "input": hash_file(Path(config.tasks)),
            **{name: hash_file(files[name]) for name in ("tasks", "excluded") if name in files},
        },
        seconds=0.0,
    )
