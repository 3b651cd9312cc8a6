"""`compile_rubrics`: a file of checklists becomes a file of tasks with dimensions, and every task is accounted for.

Every reply is in the journal before it is used, so that a run that was stopped, or killed, is finished by running it
again: only the calls that are missing are made. Tasks stream through in the order of the file. Those that are kept or
repaired are in OUT, those that are excluded, with the reason, in OUT's `.excluded` file, rows that could not be read
in its `.rejects` file; the manifest has the counts. The files appear when the run is complete.
"""

import signal
import time
from asyncio import CancelledError, current_task, get_running_loop
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import ExitStack, aclosing, contextmanager, nullcontext
from dataclasses import KW_ONLY, asdict, dataclass, field
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import BeforeValidator, Field

from prorubric.compile.bake import Transform
from prorubric.compile.compiler import RULES, Compiler, GeneratorConfig
from prorubric.compile.prompt import DOMAINS, load_prompt
from prorubric.compile.texts import TextName
from prorubric.compile.work import TEXT_OF, Done, Group, Plan, Tally, process
from prorubric.datasets.load import Format, Reject, Stream, Subset, load_tasks
from prorubric.errors import ConfigError, SourceError
from prorubric.llm.accounting import Usage, estimate_cost, load_prices
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.make import keep_text, make_text_model
from prorubric.llm.model import Model
from prorubric.llm.together import run_in_order, run_sync
from prorubric.rubric.files import WriteRow, hash_file, lock_path, open_rows, remove_partials, split_suffix, write_json
from prorubric.rubric.forms import TASK_SCHEMA, render_task
from prorubric.rubric.record import Record, config_record, split_commas
from prorubric.rubric.records import Task

_REJECT_SCHEMA = pa.schema({"path": pa.string(), "line": pa.int64(), "reason": pa.string()})


@config_record
class CompileFiles:
    """What is compiled, by which generator, into which file."""

    tasks: str
    """The file of tasks, or a Hugging Face dataset by its id."""
    _: KW_ONLY
    out: Path
    """The file to write: .jsonl, .json (both also .gz, .zst) or .parquet. The same command again finishes a run."""
    generator: str = ""
    """The generator: rules (no model), http://host:port/v1#name, gguf:PATH, scripted:FILE, pkg.module:object."""
    group: Group | None = None
    """Which tasks get new dimensions; by default all, and none where only a transform is asked for."""
    texts: Annotated[tuple[TextName, ...], BeforeValidator(split_commas)] = ()
    """What else the generator writes: k1, rewritten, labels, for the schemes k1, rewritten and weighted."""
    transform: Annotated[tuple[Transform, ...], BeforeValidator(split_commas)] = ()
    """Controls to set into the tasks, in this order."""
    engine: Literal["local", "ray"] = "local"
    """Where the work is done: in this process, or in Ray actors on many machines."""
    workers: Annotated[int, Field(ge=1)] = 2
    """Ray: how many actors share the work."""
    format: Format = "auto"
    """The form of the tasks."""
    subset: Subset = "all"
    """HealthBench: only the physician-consensus criteria, or only the others."""
    split: str = "train"
    """The split of a dataset on the hub."""
    strict: bool = False
    """Stop at the first row that cannot be read."""
    overwrite: bool = False
    """Replace an output that exists."""
    journal: Path | None = None
    """A journal that several runs share; by default each output has its own beside it."""
    prices: Path | None = None
    """A price table of your own, for the estimate of costs."""


@config_record
class CompileConfig(CompileFiles):
    """A whole run: its files, how the generator is asked, how its endpoint is treated."""

    _: KW_ONLY
    generation: GeneratorConfig = field(default_factory=GeneratorConfig)
    http: HttpConfig = field(default_factory=HttpConfig)


class CompileResult(Record):
    """What became of every task, and what it cost."""

    generator: str
    read: int
    """Rows of the input."""
    kept: int
    repaired: int
    excluded: int
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
    failed_texts: dict[str, int]
    """Texts for other schemes that the generator did not deliver."""
    repairs: int
    dimensions: dict[str, int]
    """Tasks by how many dimensions they have."""
    calls: int
    cached: int
    failed_calls: dict[str, int]
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


@dataclass(slots=True)
class Stop:
    """Whether somebody has asked a run to end. What is under way is finished; nothing new is begun."""

    asked: bool = False


def compile_rubrics(
    config: CompileConfig, on_progress: OnProgress | None = None, on_stop: Callable[[], None] | None = None
) -> CompileResult:
    """Compile every task of a file.

    Ctrl-C lets the calls that are under way finish, so that they are not paid for twice, and then raises
    `KeyboardInterrupt`; a second one ends the run at once. `on_stop` is told of the first.
    """
    return run_sync(_run(config, on_progress, on_stop))


def make_plan(config: CompileConfig) -> Plan:
    """What is done to each task; raises `ConfigError` where the options do not fit together."""
    group: Group = config.group or ("none" if config.transform else "all")
    plan = Plan(group, config.texts, config.transform, config.generation)
    writes = [*config.texts, *(name for name in config.transform if name in TEXT_OF)]
    if group != "none" and not config.generator:
        raise ConfigError(f"--generator is missing; name a model, or {RULES} to do without one")
    if config.texts and config.generator in ("", RULES):
        raise ConfigError(f"--texts {','.join(config.texts)} needs a model that writes them; name it with --generator")
    if config.engine == "ray" and not config.generator:
        raise ConfigError("--engine ray spreads the calls to a generator, and there is none; leave it out")
    if group == "none" and not writes and not config.transform:
        raise ConfigError("there is nothing to do; name --texts or --transform, or leave --group out")
    return plan


def open_tasks(config: CompileConfig, on_reject: Callable[[Reject], None]) -> Stream[Task]:
    """The tasks of the input."""
    return load_tasks(
        config.tasks,
        config.format,
        subset=config.subset,
        split=config.split,
        strict=config.strict,
        on_reject=on_reject,
    )


def make_generator(config: CompileConfig, usage: Usage) -> Model | None:
    """The generator, or None where there is none or it is no model."""
    return make_text_model(config.generator, config.http, usage) if config.generator not in ("", RULES) else None


async def _run(
    config: CompileConfig, on_progress: OnProgress | None, on_stop: Callable[[], None] | None
) -> CompileResult:
    started, usage, tally, stop = time.monotonic(), Usage(), Tally(), Stop()
    plan, outputs = make_plan(config), name_outputs(config)
    prices = load_prices(config.prices) if config.prices else load_prices()
    config.out.parent.mkdir(parents=True, exist_ok=True)
    lock = config.out.with_name(f".{config.out.name}.lock")
    with lock_path(lock), ExitStack() as stack, _on_interrupt(stop, on_stop):
        remove_partials(*outputs.values())
        write = {
            name: stack.enter_context(open_rows(outputs[name], schema))
            for name, schema in (("tasks", TASK_SCHEMA), ("excluded", TASK_SCHEMA), ("rejects", _REJECT_SCHEMA))
        }
        rejects = _Rejects(write["rejects"])
        stream = open_tasks(config, rejects.add)
        results = run_tasks(config, plan, _take(stream, rejects, stop), usage, outputs["journal"])
        async with aclosing(results):
            async for done in results:
                tally.add(done)
                write["excluded" if done.state == "excluded" else "tasks"](render_task(done.task))
                if on_progress:
                    on_progress(Progress(tally.tasks, tally.states["excluded"], usage))
        if stop.asked:
            raise KeyboardInterrupt
        _check_not_empty(config, stream, tally, rejects)
    files = _tidy(outputs, tally, rejects.count)
    result = _summarize(config, tally, usage, files, stream.read, rejects.count).model_copy(
        update={
            "cost": estimate_cost(usage, prices),
            "cost_with_journal": estimate_cost(usage, prices, with_cached=True),
            "seconds": round(time.monotonic() - started, 3),
        }
    )
    write_json(outputs["manifest"], {**_describe(config, plan), **result.model_dump(mode="json")})
    return result


async def run_tasks(
    config: CompileConfig, plan: Plan, tasks: Iterator[Task], usage: Usage, journal: Path
) -> AsyncGenerator[Done, None]:
    """Every task through the plan, in order, by the engine that the configuration names."""
    model = make_generator(config, usage)
    if config.engine == "ray" and model is not None:
        from prorubric.compile.ray_engine import run_on_ray  # noqa: PLC0415 - loads an optional library

        async for done in run_on_ray(config, plan, tasks, usage, journal):
            yield done
        return
    with Journal(journal) if model is not None else nullcontext() as kept:
        compiler = Compiler(model if kept is None or model is None else keep_text(model, kept, usage), plan.generation)
        try:
            async for done in run_in_order((process(compiler, task, plan) for task in tasks), window_of(config)):
                yield done
        finally:
            await compiler.close()


def window_of(config: CompileConfig) -> int:
    """How many tasks are under way: twice the calls in flight, so that one that takes long holds nobody up."""
    return 2 * config.http.concurrency


def name_outputs(config: CompileConfig) -> dict[str, Path]:
    """The files of a run; refuses to replace what exists."""
    kind, compression = split_suffix(config.out)
    stem = config.out.with_name(config.out.name[: -len(kind + compression)])
    outputs = {
        "tasks": config.out,
        "excluded": Path(f"{stem}.excluded.jsonl"),
        "rejects": Path(f"{stem}.rejects.jsonl"),
        "manifest": Path(f"{stem}.manifest.json"),
        "journal": config.journal or Path(f"{stem}.journal.sqlite"),
    }
    for name, path in outputs.items():
        if path.resolve() == Path(config.tasks).resolve():
            raise ConfigError(f"{path}: the output would replace the input; choose another name")
        if name != "journal" and path.exists() and not config.overwrite:
            raise ConfigError(f"{path}: exists already; choose another name or pass --overwrite")
    return outputs


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


def _take(stream: Stream[Task], rejects: _Rejects, stop: Stop) -> Iterator[Task]:
    """The tasks, each id once, until somebody asks to stop. Of an id only a hash is kept: files are long."""
    seen: set[bytes] = set()
    for task in stream:
        if stop.asked:
            return
        key = blake2b(task.id.encode("utf-8", "surrogatepass"), digest_size=12).digest()
        if key in seen:
            reason = f"the id is taken already; give each its own (got {task.id!r})"
            rejects.add(Reject(stream.path, stream.line, reason))
            continue
        seen.add(key)
        yield task


@contextmanager
def _on_interrupt(stop: Stop, on_stop: Callable[[], None] | None) -> Iterator[None]:
    """The first Ctrl-C asks the run to stop, the second ends it; where signals can be handled, that is."""
    running, loop = current_task(), get_running_loop()

    def handle() -> None:
        if stop.asked and running is not None:
            running.cancel()
        stop.asked = True
        if on_stop:
            on_stop()

    try:
        loop.add_signal_handler(signal.SIGINT, handle)
    except (NotImplementedError, RuntimeError, ValueError):  # not a Unix, or not the main thread
        yield
        return
    try:
        yield
    except CancelledError:
        if stop.asked:
            raise KeyboardInterrupt from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGINT)


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
    prompts = {domain: load_prompt("group", domain, config.generation.prompt_file).sha256 for domain in DOMAINS}
    return {
        "verb": "compile",
        "config": {**settings, "group": plan.group},
        "prompts": prompts if config.generator not in ("", RULES) else {},
        "versions": {"prorubric": version("prorubric"), "python": python_version()},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return str(value) if isinstance(value, Path) else value


def _summarize(
    config: CompileConfig, tally: Tally, usage: Usage, files: dict[str, Path], read: int, rejected: int
) -> CompileResult:
    return CompileResult(
        generator=config.generator,
        read=read,
        kept=tally.states["kept"],
        repaired=tally.states["repaired"],
        excluded=tally.states["excluded"],
        rejected=rejected,
        reasons=dict(tally.reasons.most_common()),
        attempts={str(count): tasks for count, tasks in sorted(tally.attempts.items())},
        faults=dict(tally.faults.most_common()),
        text_faults=dict(tally.text_faults.most_common()),
        failed_texts=dict(tally.failed_texts.most_common()),
        repairs=tally.repairs,
        dimensions={str(count): tasks for count, tasks in sorted(tally.dimensions.items())},
        calls=usage.calls,
        cached=usage.cached,
        failed_calls={**usage.failures},
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
