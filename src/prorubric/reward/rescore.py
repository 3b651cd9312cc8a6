"""`score_run`: the stored verdicts of a run scored again, under any scheme, without a call."""

from contextlib import nullcontext
from dataclasses import KW_ONLY
from pathlib import Path

from prorubric.datasets.load import load_tasks
from prorubric.errors import SchemeError, SourceError
from prorubric.reward.folder import (
    ROW_SCHEMA,
    TASKS,
    SchemeSummary,
    SchemeTally,
    check_scoring,
    choose_schemes,
    needed_readings,
    read_judge,
    read_verdicts,
    render_score_row,
    score_readings,
)
from prorubric.rubric.files import open_rows
from prorubric.rubric.record import Record, config_record


@config_record
class ScoreConfig:
    """Which run, under which schemes."""

    run: Path
    """The run folder."""
    _: KW_ONLY
    scheme: str = "all"
    """Schemes with commas between them, or all that the stored verdicts allow."""
    out: Path | None = None
    """Write the scores of every response to this file; the run folder is left as it is."""


class ScoreResult(Record):
    """The scores of a run."""

    folder: str
    judge: str
    """Who gave the verdicts."""
    responses: int
    schemes: dict[str, SchemeSummary]
    left_out: dict[str, str]
    """Schemes that the tasks or the stored verdicts do not allow, with the reason."""


def score_run(config: ScoreConfig) -> ScoreResult:
    """Score every response of a run again."""
    if not (config.run / TASKS).is_file():
        raise SourceError(f"{config.run}: not the folder of a finished run; name one that judge has written")
    tasks = {task.id: task for task in load_tasks(config.run / TASKS, "tasks", strict=True)}
    first = next(iter(read_verdicts(config.run)), None)
    if first is None:
        raise SourceError(f"{config.run}: the run holds no verdicts; there is nothing to score")
    schemes, left_out = choose_schemes(config.scheme, list(tasks.values()), check_scoring)
    there = [name for name in schemes if set(needed_readings([name])) <= first.verdicts.keys()]
    missing = [name for name in schemes if name not in there]
    if missing and config.scheme != "all":
        raise SchemeError(
            f"{missing[0]} needs verdicts on {', '.join(needed_readings([missing[0]]))}, the run has "
            f"{', '.join(first.verdicts)}; judge again with that scheme"
        )
    left_out |= {name: f"the run has no verdicts on {', '.join(needed_readings([name]))}" for name in missing}
    tally, responses = SchemeTally(), 0
    with open_rows(config.out, ROW_SCHEMA) if config.out else nullcontext() as write:
        for stored in read_verdicts(config.run):
            if stored.task_id not in tasks:
                raise SourceError(f"{config.run}: verdicts on {stored.task_id!r}, which is not among the run's tasks")
            responses += 1
            scores = score_readings(stored.verdicts, tasks[stored.task_id], there)
            tally.add(scores)
            if write:
                write(render_score_row(stored.task_id, stored.sample, scores))
    return ScoreResult(
        folder=str(config.run),
        judge=read_judge(config.run),
        responses=responses,
        schemes=tally.summarize(there),
        left_out=left_out,
    )
