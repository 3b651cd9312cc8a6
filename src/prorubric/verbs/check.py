"""`check_files`: the rubric files of a repository, whole or compared with an earlier commit.

For CI and for a pre-commit hook. With a base, only what is new there counts: a repository with old findings can start
today. The versions of the base are read with git, and nothing in the repository is changed.
"""

import subprocess
from collections.abc import Iterator
from dataclasses import KW_ONLY, fields
from glob import glob
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

from pydantic import Field

from prorubric.audit.config import AuditConfig
from prorubric.audit.edits.naming import NAME_ITEM
from prorubric.audit.records import Effect
from prorubric.datasets.ids import hash_prompt
from prorubric.datasets.load import OnReject, Stream, TaskOptions, load_responses, open_tasks
from prorubric.datasets.rejects import Rejects
from prorubric.errors import ConfigError, SourceError
from prorubric.rubric.base import Record, config_record
from prorubric.rubric.changes import TaskChange, compare_tasks
from prorubric.rubric.lint import SEVERITIES
from prorubric.rubric.records import Task
from prorubric.rubric.save import save_responses, save_tasks
from prorubric.verbs.audit import run_audit
from prorubric.verbs.lint import LintConfig

_NOT_TRACKED = 128


@config_record
class CheckConfig(TaskOptions):
    """Which files, compared with what, and when to fail."""

    files: tuple[str, ...]
    """Rubric files, or patterns such as 'rubrics/**/*.jsonl'."""
    _: KW_ONLY
    base: str | None = None
    """Commit or branch to compare with, from where the two parted; without one, every finding counts as new."""
    answers: Path | None = None
    """Answers to the tasks: with them, what naming pays before and after is measured by an audit without a model."""
    fail_on: Literal["error", "warning", "note", "never"] = "error"
    """The mildest severity of a new finding that makes the exit code 1. Rows that cannot be read count as errors."""
    max_rise: Annotated[float, Field(ge=0, le=1)] | None = None
    """Fail if a figure of a task (compensation, weight on presence-style criteria) rises by more than this."""


class NamingChange(Record):
    """What naming items pays under a scheme, on the changed tasks that have answers."""

    scheme: str
    before: Effect
    after: Effect


class FileCheck(Record):
    """One file and what changed in it."""

    path: str
    tasks: int
    is_new: bool
    """The base has no such file, or there is no base."""
    rejects: tuple[str, ...]
    """Rows that cannot be read, or whose id is taken, each with its line."""
    base_rejects: int
    """Rows of the base that could not be read, so they are compared with nothing."""
    changes: tuple[TaskChange, ...]
    """The tasks that are not as they were; those that got more hackable first."""
    naming: tuple[NamingChange, ...] = ()
    """Empty without answers to the changed tasks."""


class CheckResult(Record):
    """What a check of files found."""

    base: str | None
    """The commit that the files were compared with."""
    answers: str | None
    files: tuple[FileCheck, ...]
    severities: dict[str, int]
    """New findings by severity; rows that cannot be read are errors."""
    gone: int
    more_hackable: int
    """Tasks with a figure that rose."""
    too_high: int
    """Tasks with a figure that rose by more than `max_rise`."""
    passed: bool


def check_files(config: CheckConfig) -> CheckResult:
    """Check every file that the config names."""
    base = None
    if config.base is not None:
        done = _run_git("merge-base", "--", config.base, "HEAD")
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines() or ["no commit in common with HEAD"]
            remedy = "in CI, check out the whole history (fetch-depth: 0)"
            if "not a git repository" in said[0]:
                said, remedy = ["this folder is not in a git repository"], "run the check inside the repository"
            raise ConfigError(f"--base {config.base}: {said[0]}; {remedy}")
        base = done.stdout.decode().strip()
    paths: dict[str, None] = {}
    for name in config.files:
        matches = [name] if Path(name).exists() else sorted(glob(name, recursive=True))  # noqa: PTH207 - may be absolute
        found = [match for match in matches if not Path(match).is_dir()]
        if not found and Path(name).is_dir():
            remedy = f"name its files with a pattern, such as '{name.rstrip('/')}/**/*.jsonl'"
            raise SourceError(f"{name}: a folder; {remedy}")
        if not found:  # an error, since CI would pass without a look
            raise SourceError(f"{name}: no such file, and no file matches it as a pattern; check the path")
        paths |= dict.fromkeys(found)
    if not paths:
        raise ConfigError("no file to check; name rubric files, or a pattern such as 'rubrics/**/*.jsonl'")
    files = tuple(_check_file(Path(path), base, config) for path in paths)
    changes = [change for file in files for change in file.changes]
    new = [finding.severity for change in changes for finding in change.new]
    severities = {name: new.count(name) for name in SEVERITIES}
    severities["error"] += sum(len(file.rejects) for file in files)
    failing = [] if config.fail_on == "never" else SEVERITIES[: SEVERITIES.index(config.fail_on) + 1]
    limit = 1.0 if config.max_rise is None else config.max_rise
    too_high = sum(any(rise > limit for rise in change.rises.values()) for change in changes)
    return CheckResult(
        base=base,
        answers=str(config.answers) if config.answers else None,
        files=files,
        severities=severities,
        gone=sum(len(change.gone) for change in changes),
        more_hackable=sum(bool(change.rises) for change in changes),
        too_high=too_high,
        passed=not too_high and not any(severities[name] for name in failing),
    )


def _run_git(*arguments: str, cwd: Path | None = None) -> "subprocess.CompletedProcess[bytes]":
    try:
        return subprocess.run(["git", *arguments], cwd=cwd, capture_output=True, check=False)  # noqa: S603, S607
    except FileNotFoundError:
        raise ConfigError("--base needs git; install it, or leave --base out") from None


def _check_file(path: Path, base: str | None, config: CheckConfig) -> FileCheck:
    rejects: list[str] = []
    after, before, unread_base = {}, {}, 0
    try:
        stream = _open(path, config, lambda reject: rejects.append(str(reject)))
        after = {task.id: (task, stream.line) for task in stream}
    except SourceError as error:  # not a row of it: a fault of this file, and the others are checked too
        rejects.append(str(error))
    old, base_rejects = None, Rejects(keep=False)
    if base is not None:
        shown = _run_git("show", f"{base}:./{path.name}", cwd=path.parent)
        if shown.returncode not in (0, _NOT_TRACKED):
            raise SourceError(f"{path}: git cannot show it at {base}: {shown.stderr.decode(errors='replace').strip()}")
        old = shown.stdout if shown.returncode == 0 else None
    with TemporaryDirectory() as name:
        scratch = Path(name)
        if old:
            (scratch / path.name).write_bytes(old)
            try:
                before = {task.id: task for task in _open(scratch / path.name, config, base_rejects.add)}
            except SourceError:
                unread_base = 1
        pairs = _pair_tasks(before, after)
        found = [(change, was, now) for was, now, line in pairs if (change := compare_tasks(was, now, line))]
        changed = [(was, now) for _, was, now in found if was and now]
        naming = _measure_naming(changed, config.answers, scratch) if config.answers else ()
    return FileCheck(
        path=str(path),
        tasks=len(after),
        is_new=old is None,
        rejects=tuple(rejects),
        base_rejects=base_rejects.count + unread_base,
        changes=tuple(sorted((one[0] for one in found), key=lambda one: -max(one.rises.values(), default=0.0))),
        naming=naming,
    )


def _open(path: Path, config: CheckConfig, on_reject: OnReject) -> Stream[Task]:
    options = {part.name: getattr(config, part.name) for part in fields(TaskOptions)}
    return open_tasks(LintConfig(str(path), **options), on_reject)


def _pair_tasks(
    before: dict[str, Task], after: dict[str, tuple[Task, int]]
) -> Iterator[tuple[Task | None, Task | None, int]]:
    """Each task with its earlier version: the one with its id, else one with its prompt.

    A file that names no ids gets them from the content, so there a changed task has another id.
    """
    by_prompt: dict[str, list[Task]] = {}
    for name, task in before.items():
        if name not in after:
            by_prompt.setdefault(hash_prompt(task.messages), []).append(task)
    for name, (task, line) in after.items():
        with_prompt = by_prompt.get(hash_prompt(task.messages))
        earlier = before.get(name) or (with_prompt.pop(0) if with_prompt else None)
        yield earlier and earlier.model_copy(update={"id": name}), task, line
    yield from ((task, None, 0) for tasks in by_prompt.values() for task in tasks)


def _measure_naming(changed: list[tuple[Task, Task]], answers: Path, scratch: Path) -> tuple[NamingChange, ...]:
    """What naming pays on the changed tasks that have answers, by the same answers before and after."""
    names = {task.id for task, _ in changed}
    responses = [response for response in load_responses(answers, strict=True) if response.task_id in names]
    if not responses:
        return ()
    save_responses(scratch / "answers.jsonl", responses)
    grouped = all(task.protocol for pair in changed for task in pair)
    schemes = ("additive", "conjunctive") if grouped else ("additive",)
    effects: list[list[Effect]] = []
    for name, tasks in zip(("before", "after"), zip(*changed, strict=True), strict=True):
        save_tasks(scratch / f"{name}.jsonl", tasks)
        config = AuditConfig(
            str(scratch / f"{name}.jsonl"),
            scratch / "answers.jsonl",
            edits=(NAME_ITEM.name,),
            scheme=",".join(schemes),
            out=scratch / name,
        )
        effects.append([effect for effect in run_audit(config).effects if effect.edit == NAME_ITEM.name])
    return tuple(NamingChange(scheme=one.scheme, before=one, after=other) for one, other in zip(*effects, strict=True))
