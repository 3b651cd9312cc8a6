"""`check_files`: the rubric files of a repository, whole or compared with an earlier commit.

For CI and for a pre-commit hook. With a base, only what is new there counts: a repository with old findings can start
today. The versions of the base are read with git, and nothing in the repository is changed.
"""

from collections.abc import Iterable, Iterator, Sequence
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
from prorubric.files.history import Base, find_base
from prorubric.rubric.base import Record, config_record
from prorubric.rubric.changes import TaskChange, compare_versions
from prorubric.rubric.lint import SEVERITIES
from prorubric.rubric.records import Response, Task
from prorubric.rubric.save import save_responses, save_tasks
from prorubric.verbs.audit import run_audit
from prorubric.verbs.lint import LintConfig


@config_record
class CheckConfig(TaskOptions):
    """Which files, compared with what, and when to fail."""

    files: tuple[str, ...]
    """Rubric files, or patterns such as 'rubrics/**/*.jsonl'."""
    _: KW_ONLY
    base: str | None = None
    """Commit or branch to compare with, from where the two parted; without one, or before the first commit, every
    finding counts as new."""
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
    renamed_from: str | None
    """Its name in the base, if that is another one."""
    tasks: int
    """How many can be read; 0 if the file was deleted."""
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
    unmeasured: int = 0
    """Changed tasks with answers that are not in `naming`: a check of theirs would run Python code."""


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
    base = find_base(config.base) if config.base is not None else None
    answers = [*load_responses(config.answers, strict=True)] if config.answers else []
    files = tuple(_check_file(Path(path), base, answers, config) for path in _list_files(config.files, base))
    changes = [change for file in files for change in file.changes]
    new = [finding.severity for change in changes for finding in change.new]
    severities = {name: new.count(name) for name in SEVERITIES}
    severities["error"] += sum(len(file.rejects) for file in files)
    failing = [] if config.fail_on == "never" else SEVERITIES[: SEVERITIES.index(config.fail_on) + 1]
    limit = 1.0 if config.max_rise is None else config.max_rise
    too_high = sum(any(rise > limit for rise in change.rises.values()) for change in changes)
    return CheckResult(
        base=base.commit if base else None,
        answers=str(config.answers) if config.answers else None,
        files=files,
        severities=severities,
        gone=sum(len(change.gone) for change in changes),
        more_hackable=sum(bool(change.rises) for change in changes),
        too_high=too_high,
        passed=not too_high and not any(severities[name] for name in failing),
    )


def _list_files(names: Sequence[str], base: Base | None) -> Iterable[str]:
    """The files of today, then those that match a pattern and only the base has; each once."""
    if not names:
        raise ConfigError("no file to check; name rubric files, or a pattern such as 'rubrics/**/*.jsonl'")
    paths: dict[str, None] = {}
    deleted: dict[str, None] = {}
    for name in names:
        if Path(name).is_dir():
            remedy = f"name its files with a pattern, such as '{name.rstrip('/')}/**/*.jsonl'"
            raise SourceError(f"{name}: a folder; {remedy}")
        if Path(name).exists():
            paths[name] = None
            continue
        matches = sorted(glob(name, recursive=True))  # noqa: PTH207 - the pattern may be absolute
        found = [match for match in matches if not Path(match).is_dir()]
        gone = base.list_deleted(name) if base else []
        if not found and not gone:  # an error, since CI would pass without a look
            raise SourceError(f"{name}: no such file, and no file matches it as a pattern; check the path")
        paths |= dict.fromkeys(found)
        deleted |= dict.fromkeys(gone)
    return paths | deleted


def _check_file(path: Path, base: Base | None, answers: Sequence[Response], config: CheckConfig) -> FileCheck:
    rejects: list[str] = []
    after, before, is_whole = {}, {}, True
    try:
        if path.exists():
            stream = _open(path, config, lambda reject: rejects.append(str(reject)))
            after = {task.id: (task, stream.line) for task in stream}
    except SourceError as error:  # not a row of it: a fault of this file, and the others are checked too
        rejects.append(str(error))
        is_whole = False
    old, base_rejects, unread_base = base and base.read(path), Rejects(keep=False), 0
    with TemporaryDirectory() as name:
        scratch = Path(name)
        if old and old[1]:
            copy = scratch / old[0].name
            copy.write_bytes(old[1])
            try:
                before = {task.id: task for task in _open(copy, config, base_rejects.add)}
            except SourceError:
                unread_base = 1
        pairs = _pair_tasks(before, after) if is_whole else ()
        found = [(change, was, now) for was, now, line in pairs if (change := compare_versions(was, now, line))]
        naming, unmeasured = _measure_naming([(was, now) for _, was, now in found if was and now], answers, scratch)
    return FileCheck(
        path=str(path),
        renamed_from=str(old[0]) if old and old[0] != path else None,
        tasks=len(after),
        is_new=old is None,
        rejects=tuple(rejects),
        base_rejects=base_rejects.count + unread_base,
        changes=tuple(sorted((one[0] for one in found), key=lambda one: -max(one.rises.values(), default=0.0))),
        naming=naming,
        unmeasured=unmeasured,
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


def _measure_naming(
    changed: list[tuple[Task, Task]], answers: Sequence[Response], scratch: Path
) -> tuple[tuple[NamingChange, ...], int]:
    """What naming pays on the changed tasks that have answers, by the same answers before and after.

    Also how many of these tasks are left out, since judging them would run Python code that their file names.
    """
    answered = {response.task_id for response in answers}
    tasks = [pair for pair in changed if pair[1].id in answered]
    safe = [
        pair
        for pair in tasks
        if not any(part.check and part.check.python for task in pair for part in task.rubric.criteria)
    ]
    if not safe:
        return (), len(tasks)
    names = {task.id for task, _ in safe}
    save_responses(scratch / "answers.jsonl", [response for response in answers if response.task_id in names])
    grouped = all(task.protocol for pair in safe for task in pair)
    effects: list[list[Effect]] = []
    for name, version in zip(("before", "after"), zip(*safe, strict=True), strict=True):
        save_tasks(scratch / f"{name}.jsonl", version)
        config = AuditConfig(
            str(scratch / f"{name}.jsonl"),
            scratch / "answers.jsonl",
            edits=(NAME_ITEM.name,),
            scheme="additive,conjunctive" if grouped else "additive",
            out=scratch / name,
        )
        effects.append([effect for effect in run_audit(config).effects if effect.edit == NAME_ITEM.name])
    naming = (NamingChange(scheme=one.scheme, before=one, after=other) for one, other in zip(*effects, strict=True))
    return tuple(naming), len(tasks) - len(safe)
