"""Looks at a training: the answers of its policy to held-out prompts at several steps, judged.

`load_run` reads what `prorubric train` leaves in `validation/`. An answer without a score or a verdict is unknown, not
0; a step that is not judged yet is pending.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from prorubric.datasets.load import load_responses
from prorubric.errors import ConfigError, SourceError
from prorubric.rubric.verdict import Verdict
from prorubric.runs.verdicts import SCORES, read_stored_scores, read_verdicts
from prorubric.train.run_folder import ANSWERS, VALIDATION
from prorubric.train.validate import FILES

Measure = Literal["g", "c", "characters"]
"""Coverage, appropriateness, and the length of the answer."""

_G, _C = "coverage", "appropriateness"
_READING = "criteria"


class _OfAnAnswer(Protocol):
    @property
    def task_id(self) -> str: ...
    @property
    def sample(self) -> int: ...


RowT = TypeVar("RowT", bound=_OfAnAnswer)


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """One answer at one step."""

    task_id: str
    sample: int = 0
    g: float | None = None
    """Coverage; None if it is unknown, as are all that follow."""
    c: float | None = None
    """Appropriateness, on criteria that the training never saw."""
    characters: int | None = None
    verdicts: tuple[Verdict, ...] = ()
    """On every criterion of the task's rubric, by the training's judge."""
    second: tuple[Verdict, ...] = ()
    """On the same criteria by a second judge; empty if there is none."""


@dataclass(frozen=True, slots=True)
class Look:
    """The answers of a policy at one step."""

    step: int
    answers: tuple[JudgedAnswer, ...]


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """The looks at one training, in order."""

    method: str
    seed: int
    looks: tuple[Look, ...]
    pending: tuple[int, ...] = ()
    """Steps whose answers are there and not judged yet."""

    @property
    def name(self) -> str:
        """As its folder is called."""
        return f"{self.method}-seed-{self.seed}"

    def find_untrained(self) -> Look:
        """The look at step 0; raises `ConfigError` if there is none."""
        for look in self.looks:
            if look.step == 0:
                return look
        raise ConfigError(f"{self.name} has no validation at step 0; validate the untrained policy first")


def load_run(folder: Path, method: str, seed: int) -> TrainingRun:
    """The looks at one run of a training, in `validation/step-0000/` and so on."""
    if not (folder / VALIDATION).is_dir():
        raise SourceError(f"{folder} has no {VALIDATION}/; name the folder of one training run")
    found = (path.parent for path in folder.glob(f"{VALIDATION}/step-[0-9]*/{ANSWERS}"))
    folders = sorted((int(path.name.removeprefix("step-")), path) for path in found)
    judged = {step: path for step, path in folders if (path / SCORES).is_file()}
    return TrainingRun(
        method,
        seed,
        looks=tuple(Look(step, _load_answers(path)) for step, path in judged.items()),
        pending=tuple(step for step, _ in folders if step not in judged),
    )


def _load_answers(folder: Path) -> tuple[JudgedAnswer, ...]:
    answers = _by_answer(load_responses(folder / ANSWERS, strict=True), folder / ANSWERS)
    scores = _by_answer(read_stored_scores(folder), folder / SCORES)
    said = []
    for name in (FILES[_G], FILES[_C]):  # nothing if this judge was not asked, or about something else
        rows = _by_answer(read_verdicts(folder, name), folder / name) if (folder / name).is_file() else {}
        said.append({key: row.verdicts.get(_READING, ()) for key, row in rows.items()})
    verdicts, second = said
    for task_id, sample in (*scores, *verdicts, *second):
        if (task_id, sample) not in answers:
            raise SourceError(f"{folder}: {task_id!r}, sample {sample}, was judged but is not in {ANSWERS}")
    found = []
    for key, answer in answers.items():
        own = {name: score.value for name, score in scores[key].scores.items()} if key in scores else {}
        found.append(
            JudgedAnswer(
                answer.task_id,
                answer.sample,
                g=own.get(_G),
                c=own.get(_C),
                characters=len(answer.text),
                verdicts=verdicts.get(key, ()),
                second=second.get(key, ()),
            )
        )
    return tuple(found)


def _by_answer(rows: Iterable[RowT], path: Path) -> dict[tuple[str, int], RowT]:
    found: dict[tuple[str, int], RowT] = {}
    for row in rows:
        key = (row.task_id, row.sample)
        if key in found:
            raise SourceError(f"{path}: {row.task_id!r}, sample {row.sample}, appears twice; keep one")
        found[key] = row
    return found
