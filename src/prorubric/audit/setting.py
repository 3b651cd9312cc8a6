"""What an audit starts from: tasks with dimensions, and answers to them. What cannot be had is counted, not made up."""

import hashlib
from collections.abc import Iterable

from prorubric.aggregate.choose import ALL, check_judging, choose_schemes
from prorubric.aggregate.schemes import find_scheme
from prorubric.audit.answers import NoAnswer, SamplingConfig, compose_answers, sample_answers
from prorubric.audit.config import AuditConfig
from prorubric.audit.judging import AuditCase
from prorubric.compile.compiler import RULES, Compiler
from prorubric.compile.rules import LABEL
from prorubric.datasets.rejects import Reject, Rejects
from prorubric.datasets.responses import EXAMPLE
from prorubric.errors import ConfigError, SchemeError
from prorubric.llm.model import Model
from prorubric.llm.together import run_in_order
from prorubric.rubric.records import Response, Task
from prorubric.runs.inputs import pair_responses

FROM_CHECKLISTS = "composed from the checklists, by no model"
NO_DIMENSIONS = "none: no scheme reads them"


def choose_tasks(tasks: dict[str, Task], limit: int | None) -> dict[str, Task]:
    """At most `limit` tasks, the same ones every time: those whose ids have the lowest hashes, in the file's order."""
    if limit is None or limit >= len(tasks):
        return tasks
    chosen = set(sorted(tasks, key=lambda name: hashlib.sha256(name.encode(errors="surrogatepass")).digest())[:limit])
    return {name: task for name, task in tasks.items() if name in chosen}


def need_dimensions(names: str) -> bool:
    """True where one of these schemes reads dimensions, or weighs by their number."""
    if names.strip() == ALL:
        return True
    return any("dimensions" in find_scheme(name).needs for name in list_names(names))


async def add_dimensions(
    tasks: dict[str, Task], generator: Model | None, config: AuditConfig, rejects: Rejects
) -> tuple[dict[str, Task], str]:
    """The tasks with dimensions, made where a task has none, and who made them."""
    missing = [task for task in tasks.values() if task.protocol is None]
    compiler = Compiler(generator)
    ready = {name: task for name, task in tasks.items() if task.protocol is not None}
    by_file = len(ready)
    async for compiled in run_in_order((compiler.compile(task) for task in missing), 2 * config.http.concurrency):
        if compiled.task.protocol is None:
            reason = f"task {compiled.task.id!r} got no dimensions ({compiled.reason}); compile it by itself"
            rejects.add(Reject(config.tasks, 0, reason, "the task got no dimensions"))
        else:
            ready[compiled.task.id] = compiled.task
    ordered = {name: ready[name] for name in tasks if name in ready}
    return ordered, _describe_dimensions(by_file, len(ordered), config.generator)


def keep_judgeable(
    tasks: dict[str, Task], names: str, path: str, rejects: Rejects
) -> tuple[dict[str, Task], tuple[str, ...], dict[str, str]]:
    """The tasks that can be judged under all schemes that were named, those schemes, and what `all` had to leave out.

    A task that does not fit a scheme is a reject; a scheme that fits no task is an error of whoever named it.
    """
    asked = () if names.strip() == ALL else list_names(names)
    faults = {name: _find_fault(task, asked) for name, task in tasks.items()}
    fitting = {name: task for name, task in tasks.items() if faults[name] is None} or tasks
    for name, fault in faults.items():
        if fault is not None and name not in fitting:
            rejects.add(Reject.of(path, 0, fault))
    schemes, left_out = choose_schemes(names, list(fitting.values()), check_judging)
    return fitting, schemes, left_out


def list_names(names: str) -> tuple[str, ...]:
    """What stands between the commas."""
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _find_fault(task: Task, schemes: tuple[str, ...]) -> SchemeError | None:
    try:
        for scheme in schemes:
            check_judging(task, scheme)
    except SchemeError as error:
        return error
    return None


async def find_answers(
    tasks: dict[str, Task], known: dict[str, Task], model: Model | None, config: AuditConfig, rejects: Rejects
) -> tuple[list[AuditCase], str]:
    """The answers: from the file, sampled from a model, or composed; and which of these.

    Answers to tasks that are `known` and not audited, because of `--limit` or a reject, are passed over.
    """
    empty = False
    if config.responses is not None:
        given = [*pair_responses(config.responses, known, rejects, config.strict)]
        pairs = [(task, response) for task, response in given if task.id in tasks]
        source, empty = "given", not given
    elif model is not None:
        sampling = SamplingConfig(samples=config.samples)
        stream = sample_answers(model, tasks.values(), sampling, 2 * config.http.concurrency)
        pairs = _pair(tasks, [answer async for answer in stream], model.name, config.samples, rejects)
        source = f"sampled from {model.name}"
    else:
        composed = [answer for task in tasks.values() for answer in compose_answers(task, config.samples)]
        pairs, source = _pair(tasks, composed, config.tasks, config.samples, rejects), FROM_CHECKLISTS
    if not pairs:
        why = rejects.first(str(config.responses)) or (f"the file is empty; {EXAMPLE}" if empty else None)
        why = why or next(iter(rejects.show()), None)
        raise ConfigError(f"{config.responses or config.tasks}: there is no answer to audit{f'; {why}' if why else ''}")
    return [AuditCase(task, response) for task, response in pairs], source


def _pair(
    tasks: dict[str, Task], answers: Iterable[Response | NoAnswer], source: str, samples: int, rejects: Rejects
) -> list[tuple[Task, Response]]:
    pairs = []
    missing: dict[str, list[NoAnswer]] = {}
    for answer in answers:
        if isinstance(answer, Response):
            pairs.append((tasks[answer.task_id], answer))
        else:
            missing.setdefault(answer.task_id, []).append(answer)
    for task_id, failed in missing.items():
        what = "no answer" if len(failed) == samples else f"{len(failed)} of {samples} answers missing"
        rejects.add(Reject(source, 0, f"task {task_id!r}: {what}, {failed[0].reason}", "answers are missing"))
    return pairs


def _describe_dimensions(by_file: int, total: int, generator: str) -> str:
    maker = LABEL if generator == RULES else generator
    if by_file == total:
        return "the file's own"
    return maker if by_file == 0 else f"the file's own for {by_file}, {maker} for {total - by_file}"
