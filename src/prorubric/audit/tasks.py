"""The tasks of an audit: which are chosen, their dimensions, and those that the schemes can judge."""

import hashlib

from prorubric.aggregate.choose import ALL, check_judging, choose_schemes
from prorubric.aggregate.schemes import find_scheme
from prorubric.audit.config import AuditConfig
from prorubric.compile.compiler import RULES, Compiler
from prorubric.compile.rules import LABEL
from prorubric.datasets.rejects import Reject, Rejects
from prorubric.errors import SchemeError
from prorubric.llm.model import Model
from prorubric.llm.together import run_in_order
from prorubric.rubric.records import Task

NO_DIMENSIONS = "none: no scheme reads them"


def choose_tasks(tasks: dict[str, Task], limit: int | None) -> dict[str, Task]:
    """At most `limit` tasks, the same ones every time: those whose ids have the lowest hashes, in the file's order."""
    if limit is None or limit >= len(tasks):
        return tasks
    chosen = set(sorted(tasks, key=lambda name: hashlib.sha256(name.encode(errors="surrogatepass")).digest())[:limit])
    return {name: task for name, task in tasks.items() if name in chosen}


def need_dimensions(names: str) -> bool:
    """True if one of these schemes reads dimensions, or weighs by their number."""
    return names.strip() == ALL or any("dimensions" in find_scheme(name).needs for name in _split_names(names))


async def add_dimensions(
    tasks: dict[str, Task], generator: Model | None, config: AuditConfig, rejects: Rejects
) -> tuple[dict[str, Task], str]:
    """The tasks with dimensions, made for those that have none, and who made them."""
    ready = {name: task for name, task in tasks.items() if task.protocol is not None}
    by_file, compiler = len(ready), Compiler(generator)
    missing = (compiler.compile(task) for task in tasks.values() if task.protocol is None)
    async for compiled in run_in_order(missing, 2 * config.http.concurrency):
        if compiled.task.protocol is None:
            reason = f"task {compiled.task.id!r} got no dimensions ({compiled.reason}); compile it by itself"
            rejects.add(Reject(config.tasks, 0, reason, "the task got no dimensions"))
        else:
            ready[compiled.task.id] = compiled.task
    maker = LABEL if config.generator == RULES else config.generator
    by_generator = len(ready) - by_file
    if not by_generator:
        maker = "the file's own"
    elif by_file:
        maker = f"the file's own for {by_file}, {maker} for {by_generator}"
    return {name: ready[name] for name in tasks if name in ready}, maker


def keep_judgeable(
    tasks: dict[str, Task], names: str, path: str, rejects: Rejects
) -> tuple[dict[str, Task], tuple[str, ...], dict[str, str]]:
    """The tasks that can be judged under all schemes that were named, those schemes, and what `all` had to leave out.

    A task that does not fit a scheme is a reject; a scheme that fits no task is an error.
    """
    faults: dict[str, SchemeError] = {}
    for name, task in tasks.items():
        try:
            for scheme in _split_names(names):
                check_judging(task, scheme)
        except SchemeError as error:
            faults[name] = error
    fitting = {name: task for name, task in tasks.items() if name not in faults} or tasks
    for name, fault in faults.items():
        if name not in fitting:
            rejects.add(Reject.of(path, 0, fault))
    schemes, left_out = choose_schemes(names, list(fitting.values()), check_judging)
    return fitting, schemes, left_out


def _split_names(names: str) -> tuple[str, ...]:
    """The schemes that are named; `all` names none in particular."""
    return () if names.strip() == ALL else tuple(name.strip() for name in names.split(",") if name.strip())
