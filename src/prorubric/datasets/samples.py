"""The sample pack: 12 prompts with checklists, dimensions, four kinds of answer each, and verdicts given by hand.

It is an illustration: the padded answers were written to name things, the focused ones not to. It shows what a scheme
does with an answer and is not evidence of how often such answers occur.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from prorubric.datasets.load import load_responses, load_tasks
from prorubric.files.read import read_rows
from prorubric.rubric.records import Response, Task
from prorubric.rubric.verdict import Verdict, parse_verdict

AnswerKind = Literal["focused", "padded", "thin", "needless"]
ANSWER_KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)

_FOLDER = Path(__file__).parent / "sample_pack"
SAMPLE_TASKS = _FOLDER / "tasks.jsonl"
SAMPLE_RESPONSES = _FOLDER / "responses.jsonl"
SAMPLE_VERDICTS = _FOLDER / "verdicts.jsonl"


@dataclass(frozen=True, slots=True)
class SampleAnswer:
    """One answer of the pack with everything that is known of it."""

    task: Task
    response: Response
    kind: AnswerKind
    note: str
    """One sentence on why the answer gets its score."""
    verdicts: Mapping[str, tuple[Verdict, ...]]
    """By what was read: `criteria`, `dimensions`, `dimensions-no-failure`, `levels`, `mark`, `appropriateness`.

    Three more follow from these: `groups` (all criteria of a dimension comply), `one-dimension` (all dimensions hold)
    and `criteria-rewritten` (the same as `criteria`).
    """


def load_samples() -> Iterator[SampleAnswer]:
    """The 48 answers of the sample pack, task by task."""
    tasks = {task.id: task for task in load_tasks(SAMPLE_TASKS, "tasks", strict=True)}
    rows = (row.value or {} for row in read_rows(SAMPLE_VERDICTS))
    known = {(row["task_id"], row["sample"]): row for row in rows}
    for response in load_responses(SAMPLE_RESPONSES, strict=True):
        task, row = tasks[response.task_id], known[response.task_id, response.sample]
        listed = ("criteria", "dimensions", "dimensions-no-failure", "levels")
        given = {key: tuple(map(parse_verdict, row[key])) for key in listed}
        given |= {key: (parse_verdict(row[key]),) for key in ("mark", "appropriateness")}
        met = [verdict == (weight > 0) for verdict, weight in zip(given["criteria"], task.rubric.weights, strict=True)]
        dimensions = task.protocol.dimensions if task.protocol else ()
        given |= {
            "groups": tuple(all(met[index - 1] for index in dimension.indices) for dimension in dimensions),
            "one-dimension": (all(given["dimensions"]),),
            "criteria-rewritten": given["criteria"],
        }
        yield SampleAnswer(task, response, row["kind"], row["note"], given)
