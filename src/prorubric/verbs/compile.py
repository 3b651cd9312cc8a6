"""`compile_rubrics`: turn a file of checklists into a file of tasks with dimensions, and account for every task.

Tasks are streamed in the order of the file. Kept and repaired tasks go to OUT, excluded ones with their reason to OUT's
`.excluded` file, unreadable rows to its `.rejects` file; the manifest has the counts. The files appear when the run is
complete.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from dataclasses import KW_ONLY, field, replace
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from prorubric.compile.bake import DESCRIBING, NEEDS_DIMENSIONS, Transform, find_conflict, list_baked
from prorubric.compile.compiler import RULES, Compiled, Compiler, GeneratorConfig
from prorubric.compile.outputs import CompileOutputs
from prorubric.compile.prompt import DOMAINS, Question, load_generator_prompt, render_generator_prompt
from prorubric.compile.rules import MOST, draft_by_rules
from prorubric.compile.texts import QUESTIONS, TextName, add_texts
from prorubric.compile.verify import Verifier, find_unverified, load_verify_prompt
from prorubric.compile.work import TEXT_OF, CompilePlan, CompileWorker, Group
from prorubric.datasets.load import Stream, TaskOptions, open_tasks
from prorubric.errors import ConfigError, ModelError, ProRubricError, SourceError
from prorubric.files.json import parse_json, render_json
from prorubric.files.write import hash_file, open_rows, write_json
from prorubric.llm.accounting import estimate_cost
from prorubric.llm.make import FORMS, hint_at_model, require_text
from prorubric.llm.prompt_file import read_prompt
from prorubric.llm.together import run_in_order, run_sync
from prorubric.rubric.base import Record, config_record, render_config, split_commas
from prorubric.rubric.forms import render_task
from prorubric.rubric.records import Task
from prorubric.rubric.save import TASK_SCHEMA
from prorubric.runs.engines import EngineOptions, run_job, take_until_stopped
from prorubric.runs.estimate import (
    CHARACTERS_PER_TOKEN,
    Estimate,
    Questions,
    Replay,
    add_up,
    expect_reply,
    open_existing,
)
from prorubric.runs.folder import Setting, describe_run
from prorubric.runs.models import AnyModel
from prorubric.runs.run import OnProgress, Run, RunResult
from prorubric.runs.stop import stop_on_signals
from prorubric.text.show import shorten

_ONE_WORD = (RULES, "smollm2", "lexical")
_SHOWN_FAILURES, _LONGEST_FAILURE = 5, 120
_MOST_SILENT = 50
"""After this many tasks in a row without a reply the run ends: the generator is down."""
_REPLY_TOKENS: dict[Question, int] = {"group": 700, "one": 250, "restate": 1000, "label": 200, "require": 200}
"""The usual length of replies, for checklists of 10 to 30 items."""
_COUNTED = (
    "reasons attempts faults text_faults verify_faults not_verified failure_sentences failed_texts dimensions".split()
)
"""What the result counts by name."""
_USED = ("calls", "cached", "prompt_tokens", "completion_tokens")
_IDENTITY = (  # the two files first
    "tasks out format subset split limit strict generator group texts transform verify verify_strict generation".split()
)
"""The options that decide what the files hold."""


@config_record
class CompileConfig(TaskOptions, EngineOptions):
    """What is compiled, by which generator, into which file, and how the generator is asked."""

    tasks: Annotated[str, BeforeValidator(lambda value: str(value) if isinstance(value, Path) else value)]
    """Tasks file, or the id of a Hugging Face dataset."""
    _: KW_ONLY
    out: Path | None = None
    """File to write: .jsonl, .json (also .gz, .zst) or .parquet. The same command finishes an interrupted run."""
    generator: str = ""
    """Generator: rules (no model), http://host:port/v1#name, gguf:PATH, scripted:FILE, pkg.module:object."""
    verify: str = ""
    """Model that checks every new dimension against its criteria, with one call for each; named as for --generator."""
    verify_strict: bool = False
    """Exclude a task if a dimension still has a fault, or is not verified, after the last retry."""
    group: Group | None = None
    """Tasks that get new dimensions: by default all, or none if only --transform is given."""
    texts: Annotated[tuple[TextName, ...], BeforeValidator(split_commas)] = ()
    """Extra texts for the generator to write: k1, rewritten, labels, for the schemes k1, rewritten and weighted;
    required, for licensed, required-first and veto."""
    transform: Annotated[tuple[Transform, ...], BeforeValidator(split_commas)] = ()
    """Controls to apply to the tasks, in this order."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Compile only the first N tasks, to try a generator before paying for all of them."""
    overwrite: bool = False
    """Replace an existing output."""
    generation: GeneratorConfig = field(default_factory=GeneratorConfig)

    @property
    def has_model(self) -> bool:
        """True if the generator is a model, as opposed to the rules or nothing."""
        return self.generator not in ("", RULES)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that are called."""
        return (*((self.generator,) if self.has_model else ()), *((self.verify,) if self.verify else ()))


class ModelUse(Record):
    """What one model was asked, and what that cost."""

    calls: int
    """Including those that the journal answered."""
    cached: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """US dollars at list price; None if the price or the tokens are not known."""


class CompileResult(RunResult):
    """What became of every task, and what it cost."""

    generator: str
    read: int
    """Rows of the input."""
    kept: int
    repaired: int
    excluded: int
    left_out: dict[str, int]
    """Rows without a criterion of the subset."""
    reasons: dict[str, int]
    """Why tasks were excluded."""
    attempts: dict[str, int]
    """Tasks by how many replies they took."""
    faults: dict[str, int]
    """What was wrong with replies, over all attempts."""
    text_faults: dict[str, int]
    """What is still wrong with the texts of dimensions that were kept."""
    verified: int
    """Dimensions of kept tasks in which the verifying model found no fault."""
    verify_faults: dict[str, int]
    """Those in which it still found one, by kind; one with both kinds counts twice."""
    not_verified: dict[str, int]
    """Those about which nothing is known, by reason."""
    models: dict[str, ModelUse]
    failure_sentences: dict[str, int]
    """What the transform no-failure found: sentences that matched and were removed, descriptions restored."""
    failed_texts: dict[str, int]
    """Texts for other schemes that the generator did not deliver."""
    repairs: int
    dimensions: dict[str, int]
    """Tasks by how many dimensions they have."""
    failures: dict[str, int]
    """Why tasks got no reply, in the words of the failed calls; rare ones are counted as `other reasons`."""
    refused: int = 0
    """Of these, the tasks that an endpoint rejects: it would do so again."""
    files: dict[str, str]
    sha256: dict[str, str | None]

    @property
    def lost(self) -> int:
        """Tasks that got no reply and may get one if they are asked about again."""
        return sum(self.failures.values()) - self.refused


class CompileEstimate(Estimate):
    """What a compile run would take."""

    generator: str
    tasks: int
    rejected: int


def compile_rubrics(
    config: CompileConfig, on_progress: OnProgress | None = None, on_stop: Callable[[], None] | None = None
) -> CompileResult:
    """Compile every task of a file.

    The first Ctrl-C calls `on_stop`, lets the calls in flight finish and raises `KeyboardInterrupt`; the second ends
    the run at once.
    """
    with Run(config, on_progress) as run:
        run.stop.listeners += [on_stop] if on_stop else []
        return run_sync(_compile(config, run))


def estimate_compile(config: CompileConfig) -> CompileEstimate:
    """Count the calls, tokens and money of a run without making a call."""
    with Run(config) as run:
        return run_sync(_estimate(config, run))


def make_compile_plan(config: CompileConfig) -> CompilePlan:
    """What is done to each task; `ConfigError` if the options do not fit together."""
    generator, transforms = config.generator, config.transform
    if generator and not any(sign in generator for sign in ":/") and generator not in _ONE_WORD:
        hint = hint_at_model(generator, (RULES, "smollm2"), config.http)
        known = f"{RULES}, {FORMS.removeprefix('lexical, ')}"
        raise ConfigError(f"no generator is called {generator!r}; known forms: {known}; {hint}")
    group: Group = config.group or "all"
    if config.group is None and transforms:
        # Existing dimensions are what is transformed; missing ones are made if a transform needs them.
        needs_dimensions = any(name in NEEDS_DIMENSIONS for name in transforms)
        group = "missing" if generator and needs_dimensions else "none"
    if group != "none" and not generator:
        raise ConfigError(f"--generator is missing; name a model, or {RULES} to run without one")
    if config.texts and not config.has_model:
        raise ConfigError(f"--texts {','.join(config.texts)} needs a model that writes them; name it with --generator")
    if config.verify and group == "none":
        raise ConfigError("--verify checks new dimensions, but none are made here; leave out --verify or --group")
    if config.verify_strict and not config.verify:
        raise ConfigError("--verify-strict needs a model that verifies; name it with --verify")
    if config.engine == "ray" and not config.models:
        raise ConfigError("--engine ray spreads the calls to a model, but there is none; leave it out")
    for position, name in enumerate(transforms):
        if conflict := find_conflict(transforms[:position], name):
            order = f"name each once: at most one of {', '.join(DESCRIBING)}, then the others, weighted last"
            raise ConfigError(f"--transform {','.join(transforms)}: {conflict}; {order}")
    if group == "none" and not config.texts and not transforms:
        raise ConfigError("there is nothing to do; name --texts or --transform, or leave --group out")
    own = config.generation.prompt_file
    own_prompt = read_prompt(own) if own else None
    verify = bool(config.verify), config.verify_strict
    return CompilePlan(group, config.texts, transforms, config.generation, own_prompt, *verify)


def name_outputs(config: CompileConfig) -> CompileOutputs:
    """The files of a run."""
    if config.out is None:
        raise ConfigError("--out is missing; name the file to write, such as compiled.jsonl")
    deciding = [getattr(config, name) for name in _IDENTITY]
    return CompileOutputs.of(config.out, config.journal, sha256(repr(deciding).encode()).hexdigest())


async def _compile(config: CompileConfig, run: Run) -> CompileResult:
    plan, outputs, tally = make_compile_plan(config), name_outputs(config), _Tally()
    with outputs.claim(config.tasks, config.overwrite):
        stream = open_tasks(config, run.rejects.add)
        tasks = take_until_stopped(islice(stream, config.limit), run.stop)
        for model in config.models:
            require_text(run.models.make(model))  # before there is a journal
        job = partial(start_compiling, plan)
        if config.models:
            results = run_job(config.models, job, tasks, run, config, outputs.journal)
        else:
            results = run_in_order(map(job(), tasks), config.window)
        with (
            stop_on_signals(run.stop),
            open_rows(outputs.tasks, TASK_SCHEMA) as write_task,
            open_rows(outputs.excluded, TASK_SCHEMA) as write_excluded,
        ):
            async with aclosing(results):
                async for done in results:
                    tally.add(done)
                    if tally.silent == _MOST_SILENT and not run.stop.asked:  # after a stop, no task gets a reply
                        raise ModelError(
                            f"{', '.join(config.models)}: the last {_MOST_SILENT} tasks got no reply "
                            f"({tally.last_failure}); what was paid for is in the journal, and the same command "
                            "continues when it answers"
                        )
                    (write_excluded if done.state == "excluded" else write_task)(render_task(done.task))
                    excluded = tally.counts["states"]["excluded"]
                    run.tell(tally.tasks, note=f"{excluded:,} excluded, {run.count_failures():,} calls failed")
            run.check_stopped()
            if not tally.tasks:
                subset = f"no task has a criterion of the subset {config.subset}"
                why = run.rejects.first(config.tasks) or (subset if stream.skipped else "the file is empty")
                raise SourceError(f"{config.tasks}: no task could be read; {why}")
            outputs.announce()
        return _finish(config, plan, outputs, tally, stream, run)


def start_compiling(plan: CompilePlan, *models: AnyModel) -> Callable[[Task], Coroutine[Any, Any, Compiled]]:
    """The function that compiles one task. The models are the generator, if it is not the rules, and the verifier."""
    found = [*map(require_text, models)]
    verifier = Verifier(found.pop(), plan.generation.max_tokens) if plan.verify else None
    compiler = Compiler(found.pop() if found else None, plan.generation, plan.own_prompt, verifier)
    return CompileWorker(compiler, plan).run


class _Tally:
    """What has been counted over the tasks so far, by the names of the result."""

    def __init__(self) -> None:
        self.tasks = self.repairs = self.verified = 0
        self.counts: dict[str, Counter[str]] = defaultdict(Counter)
        self.last_failure = ""
        self.silent = self.refused = 0
        """How many tasks in a row got no reply."""

    def add(self, done: Compiled) -> None:
        counts = self.counts
        self.tasks += 1
        self.repairs += len(done.repairs)
        counts["states"][done.state] += 1
        if done.exclusion is not None:
            counts["reasons"][done.exclusion.kind] += 1
        elif done.task.protocol is not None:
            counts["dimensions"][str(len(done.task.protocol))] += 1
        if done.attempts:
            counts["attempts"][str(done.attempts)] += 1
        counts["faults"].update(fault.kind for fault in done.faults)
        counts["text_faults"].update(fault.kind for fault in done.text_faults)
        for found in done.verified:
            self.verified += not found.faults and not found.unverified
            counts["verify_faults"].update([*found.faults])
            counts["not_verified"].update([found.unverified.kind] if found.unverified else [])
        counts["failed_texts"].update([*done.failed_texts])
        counts["failure_sentences"].update(done.failure_sentences)
        # An endpoint that refuses a question is up, and may answer the next.
        self.silent = self.silent + 1 if done.failure and not done.failure.is_refusal else 0
        if done.failure:
            self.refused += done.failure.is_refusal
            self.last_failure = shorten(done.failure.reason, _LONGEST_FAILURE)
            counts["failures"][self.last_failure] += 1

    def describe(self) -> dict[str, Any]:
        """The fields of a `CompileResult`: counts by number in order, others the most frequent first."""
        found: dict[str, Any] = {name: dict(self.counts[name].most_common()) for name in _COUNTED}
        for name in ("attempts", "dimensions"):
            found[name] = dict(sorted(found[name].items(), key=lambda pair: int(pair[0])))
        failures = dict(self.counts["failures"].most_common(_SHOWN_FAILURES))
        if others := self.counts["failures"].total() - sum(failures.values()):
            failures["other reasons"] = others
        states = {name: self.counts["states"][name] for name in ("kept", "repaired", "excluded")}
        return {
            **states,
            **found,
            "failures": failures,
            "refused": self.refused,
            "repairs": self.repairs,
            "verified": self.verified,
        }


def _finish(
    config: CompileConfig, plan: CompilePlan, outputs: CompileOutputs, tally: _Tally, stream: Stream[Task], run: Run
) -> CompileResult:
    """Write the manifest, and remove files that hold nothing, also those of an earlier run."""
    run.rejects.save(outputs.rejects)
    if not tally.counts["states"]["excluded"]:
        outputs.excluded.unlink()
    files = {name: path for name, path in outputs.paths.items() if path.exists() or name == "manifest"}
    result = CompileResult(
        generator=config.generator,
        read=stream.read,
        left_out={f"no criterion of the subset {config.subset}": stream.skipped} if stream.skipped else {},
        files={name: str(path) for name, path in files.items()},
        sha256={"input": hash_file(Path(config.tasks))}
        | {name: hash_file(files[name]) for name in ("tasks", "excluded") if name in files},
        models={
            name: ModelUse(cost=estimate_cost(used, run.gate.prices), **{key: getattr(used, key) for key in _USED})
            for name, used in run.gate.usage.items()
        },
        **tally.describe(),
        **run.describe(),
    )
    about = describe_run(Setting("compile", replace(config, group=plan.group), {"files": outputs.identity}))
    written = {**about, "prompts": _hash_prompts(config, plan), **result.model_dump(mode="json")}
    write_json(outputs.manifest, written)
    return result


def _hash_prompts(config: CompileConfig, plan: CompilePlan) -> dict[str, dict[str, str]]:
    """By question and domain, what is asked."""
    questions: list[Question] = ["group"] if plan.group != "none" else []
    questions += [QUESTIONS[name] for name in (*plan.texts, *(TEXT_OF[t] for t in plan.transforms if t in TEXT_OF))]
    prompts: dict[str, dict[str, str]] = {}
    for question in questions if config.has_model else ():
        own = (plan.own_prompt, config.generation.prompt_file) if question == "group" else ()
        prompts[question] = {domain: load_generator_prompt(question, domain, *own).sha256 for domain in DOMAINS}
    if plan.verify:
        prompts["verify"] = dict.fromkeys(DOMAINS, load_verify_prompt()[1])
    return prompts


def find_compiled(config: CompileConfig) -> CompileResult | None:
    """The result of an earlier run whose files are there; `ConfigError` if it was made of or with something else."""
    outputs = name_outputs(config)
    is_half_written = outputs.mark.exists() and outputs.mark.read_text()
    if is_half_written or not (outputs.manifest.is_file() and outputs.tasks.is_file()):
        return None
    try:
        found = parse_json(outputs.manifest.read_bytes())
        result = CompileResult(**{name: found[name] for name in CompileResult.model_fields})
        before = {**found["config"], "input": found["sha256"]["input"], "prompts": found["prompts"]}
    except (KeyError, TypeError, ValueError, ProRubricError) as error:
        line, remedy = f"not the manifest of a compilation ({shorten(str(error))})", "remove it to compile again"
        raise SourceError(line, remedy=remedy, place=outputs.manifest) from None
    plan, digest = make_compile_plan(config), hash_file(Path(config.tasks))
    now = {**render_config(replace(config, group=plan.group)), "input": digest, "prompts": _hash_prompts(config, plan)}
    now = parse_json(render_json(now))
    # A folder may be moved with what is in it; a dataset on the hub has no hash.
    for name in ("input", *(("tasks",) if digest is None else ()), *_IDENTITY[2:], "prompts"):
        if before.get(name) != now[name]:
            what = {"input": "content of the tasks file", "prompts": "prompt"}.get(name, name)
            line = f"holds tasks that were compiled with another {what}"
            raise ConfigError(line, remedy="put it back, or choose another out", place=outputs.tasks)
    return result


async def _estimate(config: CompileConfig, run: Run) -> CompileEstimate:
    """Put the questions of a run to a replay of its journal, task by task, up to the first that it cannot answer."""
    plan, count = make_compile_plan(config), 0
    question: Question = "group"
    made = {name: require_text(run.models.make(name)) for name in config.models}
    journal_path = config.journal or (name_outputs(config).journal if config.out else None)
    with open_existing(journal_path if made else None) as journal:
        asked, verified = Questions(journal), Questions(journal)
        replay = config.has_model and Replay(
            made[config.generator],
            asked,
            usual=lambda _: _REPLY_TOKENS[question],
            retries=lambda request: config.generation.reasks - request.draw,
            shows_reply=True,
        )
        verifier = plan.verify and Verifier(
            Replay(made[config.verify], verified, usual=expect_reply, retries=lambda _: 0), config.generation.max_tokens
        )
        compiler = Compiler(replay or None, config.generation, plan.own_prompt, verifier or None)
        for task in islice(open_tasks(config, run.rejects.add), config.limit):
            count += 1
            if not made:
                continue
            if plan.needs_grouping(task):
                if "appropriateness" in list_baked(task):
                    continue
                question = "group"
                done = await _expect_dimensions(compiler, task, asked, verified)
                if done.state == "excluded" and done.failure is None:  # for good: nothing else is asked about it
                    continue
                if plan.verify_strict and done.failure is None and find_unverified(done.verified):
                    continue
            for name in plan.list_texts(task):
                question = QUESTIONS[name]
                await add_texts(compiler, Compiled(task, "kept"), (name,))
    await run.models.close(own=False)  # the run may use the same objects
    parts = [(config.generator, asked)] * config.has_model + [(config.verify, verified)] * plan.verify
    fields = add_up(questions.price(made[name].name, run.gate.prices) for name, questions in parts)
    return CompileEstimate(generator=config.generator, tasks=count, rejected=run.rejects.count, **fields)


async def _expect_dimensions(compiler: Compiler, task: Task, asked: Questions, verified: Questions) -> Compiled:
    """Count what is asked to make and verify the dimensions of one task.

    A draft that the journal does not have is expected to have as many dimensions as the rules would make. At most, all
    retries are used, and every draft has five dimensions.
    """
    drafts, before = asked.counts["calls"], Counter(verified.counts)
    done = await compiler.compile(task)
    if compiler.verifier is None or len(task.rubric) < 2:
        return done
    is_open = asked.counts["calls"] > drafts
    if is_open:
        await compiler.verifier.verify(draft_by_rules(task), task)
    new = verified.counts - before
    if not new["calls"] or compiler.model is None:
        return done
    config = compiler.config
    left = config.reasks + 1 - done.attempts
    more = min(MOST, len(task.rubric)) * left - (new["calls"] if is_open else 0)
    verified.counts.update(
        most_calls=more,
        most_prompt_tokens=more * new["prompt_tokens"] // new["calls"],
        most_completion_tokens=more * config.max_tokens,
    )
    if not is_open:  # the journal has the draft, and the generator is asked again if the verification finds a fault
        messages = render_generator_prompt(compiler.prompt_for("group", task.domain), task)
        prompt = sum(len(message.content) for message in messages) // CHARACTERS_PER_TOKEN + config.max_tokens
        asked.counts.update(
            most_calls=left, most_prompt_tokens=left * prompt, most_completion_tokens=left * config.max_tokens
        )
    return done
