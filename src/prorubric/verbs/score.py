"""`score_run`: the stored verdicts of a run scored again, under any scheme, without a call."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass
from heapq import nsmallest
from pathlib import Path

from pydantic import JsonValue

from prorubric.aggregate.choose import ALL, choose_schemes, score_readings
from prorubric.aggregate.plan import make_scoring_plan
from prorubric.aggregate.schemes import find_scheme
from prorubric.aggregate.score import Score
from prorubric.datasets.load import load_tasks
from prorubric.errors import ConfigError, SchemeError, SourceError
from prorubric.files.tables import Tabular, open_csv, render_html
from prorubric.files.write import COMPRESSIONS, SUFFIXES, open_rows, split_suffix
from prorubric.rubric.base import Record, config_record
from prorubric.rubric.records import Task
from prorubric.runs.folder import CONFIG, JOURNAL, TASKS
from prorubric.runs.verdicts import (
    JUDGE_FILES,
    ROW_SCHEMA,
    SchemeSummary,
    SchemeTally,
    read_judge,
    read_verdicts,
    render_score_row,
)

_SHOWN_IN_NOTEBOOKS = 10
_CSV = ".csv"


@config_record
class ScoreConfig:
    """Which run, under which schemes."""

    run: Path
    """Run folder."""
    _: KW_ONLY
    scheme: str = ALL
    """Comma-separated schemes, or all that the stored verdicts allow."""
    out: Path | None = None
    """Write the scores of every response to this file (.csv, .jsonl …); the run folder is not changed."""
    overwrite: bool = False
    """Replace an existing output."""


@dataclass(frozen=True, slots=True)
class ScoredResponse:
    """One response with its scores by scheme."""

    task_id: str
    sample: int
    scores: Mapping[str, Score]

    def to_row(self) -> dict[str, JsonValue]:
        """The row of a table: None if a score is unknown."""
        values = {name: found.value for name, found in self.scores.items()}
        return {"task_id": self.task_id, "sample": self.sample, **values}


class ScoredRun(Tabular, Record):
    """A run folder and its scores, response by response."""

    folder: str
    judge: str
    responses: int
    schemes: dict[str, SchemeSummary]
    left_out: dict[str, str]
    """Schemes that the tasks, the judge or the stored verdicts do not allow, with the reason."""

    @property
    def order(self) -> list[str]:
        """The schemes in the order in which they say what is worst: ProRubric before the others."""
        return sorted(self.schemes, key=lambda name: name != "prorubric")

    def to_rows(self) -> list[dict[str, JsonValue]]:
        """One row a response, as for a data frame: `task_id`, `sample`, and the score under each scheme or None."""
        return [response.to_row() for response in read_scores(Path(self.folder), [*self.schemes])]

    def list_worst(self, count: int) -> list[ScoredResponse]:
        """The responses with the lowest scores by `order`; one that is unknown counts by its lower bound."""
        responses = read_scores(Path(self.folder), [*self.schemes])
        return nsmallest(count, responses, key=lambda response: [response.scores[name].low for name in self.order])

    def _repr_html_(self) -> str:
        means = [{"scheme": name, **summary.model_dump()} for name, summary in self.schemes.items()]
        worst = [response.to_row() for response in self.list_worst(_SHOWN_IN_NOTEBOOKS)]
        means_table = render_html(("scheme", "mean", "known", "unknown"), means)
        return means_table + render_html(("task_id", "sample", *self.schemes), worst)


def score_run(config: ScoreConfig) -> ScoredRun:
    """Score every response of a run again."""
    if path := config.out:
        place = path.resolve()
        if place.parent == config.run.resolve() and place.name in (CONFIG, *JUDGE_FILES, JOURNAL):
            raise ConfigError(f"{path}: belongs to the run; choose another name")
        if split_suffix(path, (_CSV, *SUFFIXES)) in {(_CSV, compression) for compression in COMPRESSIONS}:
            raise ConfigError(f"{path}: csv is written without compression; choose another name")
        if path.exists() and not config.overwrite:
            raise ConfigError(f"{path}: already exists; choose another name or pass --overwrite")
    tasks = _load_tasks(config.run)
    first = next(iter(read_verdicts(config.run)), None)
    if first is None:
        raise SourceError(f"{config.run}: the run holds no verdicts; there is nothing to score")
    schemes, left_out = choose_schemes(config.scheme, list(tasks.values()), make_scoring_plan)
    needed = {name: [reading.name for reading in find_scheme(name).readings] for name in schemes}
    there = [name for name in schemes if set(needed[name]) <= first.verdicts.keys()]
    missing = [name for name in schemes if name not in there]
    if missing and config.scheme != ALL:
        raise SchemeError(
            f"{missing[0]} needs verdicts on {', '.join(needed[missing[0]])}, the run has "
            f"{', '.join(first.verdicts)}; judge again with that scheme"
        )
    left_out |= dict.fromkeys(missing, "the run has no verdicts for them; judge again with --scheme")
    tally, responses = SchemeTally(), 0
    with open_scores(config.out, there) if config.out else nullcontext() as write:
        for response in read_scores(config.run, there):
            responses += 1
            tally.add(response.scores)
            if write:
                write(response)
    return ScoredRun(
        folder=str(config.run),
        judge=read_judge(config.run),
        responses=responses,
        schemes=tally.summarize(there),
        left_out=left_out,
    )


def read_scores(folder: Path, schemes: Sequence[str]) -> Iterator[ScoredResponse]:
    """The responses of a run with their scores under these schemes, from the stored verdicts."""
    tasks = _load_tasks(folder)
    for stored in read_verdicts(folder):
        if stored.task_id not in tasks:
            raise SourceError(f"{folder}: verdicts on {stored.task_id!r}, which is not among the run's tasks")
        scores = score_readings(stored.verdicts, tasks[stored.task_id], schemes)
        yield ScoredResponse(stored.task_id, stored.sample, scores)


@contextmanager
def open_scores(path: Path, schemes: Sequence[str]) -> Iterator[Callable[[ScoredResponse], None]]:
    """A function that writes the scores of one response: a table if the name ends in .csv, else with bounds."""
    if path.suffix.lower() == _CSV:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_csv(path, ("task_id", "sample", *schemes)) as write:
            yield lambda response: write(response.to_row())
    else:
        with open_rows(path, ROW_SCHEMA) as write:
            yield lambda response: write(render_score_row(response.task_id, response.sample, response.scores))


def _load_tasks(folder: Path) -> dict[str, Task]:
    if not (folder / TASKS).is_file():
        raise SourceError(f"{folder}: not the folder of a finished run; name one that judge has written")
    return {task.id: task for task in load_tasks(folder / TASKS, "tasks", strict=True)}
