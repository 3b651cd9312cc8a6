"""Looks at a training: the answers of its policy to held-out prompts at several steps, judged.

`load_run` reads what a training leaves in `validation/`. An answer that has no score or verdict is unknown, never 0; a
step that is not judged yet is pending.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeVar

from prorubric.datasets.load import load_responses
from prorubric.errors import ConfigError, SourceError
from prorubric.rubric.verdict import Verdict
from prorubric.runs.verdicts import SCORES, VERDICTS, StoredVerdicts, read_stored_scores, read_verdicts

ANSWERS = "answers.jsonl"

Measure = Literal["g", "c", "reward", "characters"]
"""Coverage, appropriateness, the reward of the training, and the length of the answer."""

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
    reward: float | None = None
    """The score under the scheme of the training."""
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
        raise ConfigError(f"{self.name} has no look at step 0; validate the untrained policy first")


def load_run(
    folder: Path,
    method: str,
    seed: int,
    *,
    scores: Mapping[str, str] | None = None,
    judges: tuple[str, str] | None = None,
) -> TrainingRun:
    """The looks in `validation/step-0000/` and so on: `answers.jsonl`, `verdicts.jsonl` and `scores.jsonl` in each.

    `scores` says under which names of `scores.jsonl` `g`, `c` and `reward` are, by default their own. `judges` names
    the training's judge and the second one in the verdicts of a panel; without it there is one judge.
    """
    folders = sorted((int(path.name.removeprefix("step-")), path) for path in folder.glob("validation/step-[0-9]*"))
    if not folders:
        raise SourceError(f"{folder} has no validation/step-…; name the folder of one training run")
    judged = {step: path for step, path in folders if (path / VERDICTS).is_file() and (path / SCORES).is_file()}
    names = {"g": "g", "c": "c", "reward": "reward", **(scores or {})}
    return TrainingRun(
        method,
        seed,
        looks=tuple(Look(step, _load_answers(path, names, judges)) for step, path in judged.items()),
        pending=tuple(step for step, _ in folders if step not in judged),
    )


def _load_answers(folder: Path, names: Mapping[str, str], judges: tuple[str, str] | None) -> tuple[JudgedAnswer, ...]:
    answers = _by_answer(load_responses(folder / ANSWERS, strict=True), folder / ANSWERS)
    stored = _by_answer(read_verdicts(folder), folder / VERDICTS)
    scores = _by_answer(read_stored_scores(folder), folder / SCORES)
    for task_id, sample in (*stored, *scores):
        if (task_id, sample) not in answers:
            raise SourceError(f"{folder}: {task_id!r}, sample {sample}, was judged and is not in {ANSWERS}")
    found = []
    for key, answer in answers.items():
        own = scores[key].scores if key in scores else {}
        values = {field: own[name].value for field, name in names.items() if name in own}
        verdicts, second = _pick_verdicts(stored[key], judges, folder) if key in stored else ((), ())
        found.append(
            JudgedAnswer(
                answer.task_id,
                answer.sample,
                g=values.get("g"),
                c=values.get("c"),
                reward=values.get("reward"),
                characters=len(answer.text),
                verdicts=verdicts,
                second=second,
            )
        )
    return tuple(found)


def _pick_verdicts(
    stored: StoredVerdicts, judges: tuple[str, str] | None, folder: Path
) -> tuple[tuple[Verdict, ...], tuple[Verdict, ...]]:
    """The verdicts on criteria of the training's judge and of the second one."""
    if judges is None:
        return stored.verdicts.get(_READING, ()), ()
    for name in judges:
        if name not in stored.judges:
            known = ", ".join(stored.judges) or "no panel"
            raise ConfigError(f"{folder / VERDICTS}: no judge {name!r} for {stored.task_id!r}; there is {known}")
    first, second = (stored.judges[name].get(_READING, ()) for name in judges)
    return first, second


def _by_answer(rows: Iterable[RowT], path: Path) -> dict[tuple[str, int], RowT]:
    found: dict[tuple[str, int], RowT] = {}
    for row in rows:
        key = (row.task_id, row.sample)
        if key in found:
            raise SourceError(f"{path}: {row.task_id!r}, sample {row.sample}, comes twice; keep one")
        found[key] = row
    return found
