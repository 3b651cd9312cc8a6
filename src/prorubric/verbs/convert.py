"""`convert_tasks`: any rubric file in, our own form or a trainer's out, with an account of every row in a manifest.

The manifest (`OUT.manifest.json`) is written last and has the counts by reason, the settings, and the sha256 of the
input and of each output. Rows that were rejected, or that preparation left out, are listed with line and reason in
`OUT.rejects.jsonl`. Each output appears when it is complete.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, asdict
from pathlib import Path
from typing import Annotated

import pyarrow as pa
from pydantic import Field

from prorubric.datasets.export import Target, open_export
from prorubric.datasets.load import Stream, TaskOptions, open_tasks, show_example
from prorubric.datasets.mapped import MappedSource
from prorubric.datasets.people_labels import LABEL_SCHEMA, render_label
from prorubric.datasets.prepare import HeldOut, Preparation
from prorubric.datasets.rejects import REJECT_SCHEMA, Reject, Rejects
from prorubric.errors import ConfigError, RubricError, SourceError
from prorubric.files.write import hash_file, open_rows, split_suffix, write_json
from prorubric.judge.forms import read_boolean
from prorubric.rubric.base import Record, config_record, render_config
from prorubric.rubric.forms import render_response
from prorubric.rubric.records import Response, Task
from prorubric.rubric.save import RESPONSE_SCHEMA
from prorubric.rubric.verdict import Unknown, Verdict
from prorubric.runs.verdicts import ROW_SCHEMA, render_verdict_row
from prorubric.text.show import count, shorten

_LISTED_SCHEMA = REJECT_SCHEMA.append(pa.field("outcome", pa.string()))
_FEWEST, _MOST = 5, 60
ANSWER_FILES = {"responses": "response", "verdicts": "verdict", "labels": "label"}
"""Outputs for what rows carry besides rubrics, and the field of a mapping that says where it is."""


@config_record
class ConvertConfig(TaskOptions):
    """What to convert, into what, and how to prepare it."""

    tasks: str
    """The file to read, or a Hugging Face dataset by its id."""
    out: Path | None = None
    """The file to write: .jsonl, .json (both also .gz, .zst) or .parquet."""
    _: KW_ONLY
    to: Target = "tasks"
    """The form of the output: our own, or the rows that verl, TRL or readers of HealthBench take."""
    prepare: bool = False
    """Keep each prompt once, 5 to 60 criteria, positive total weight."""
    min_criteria: int = _FEWEST
    """With --prepare: the fewest criteria a task may have."""
    max_criteria: int = _MOST
    """With --prepare: the most criteria a task may have."""
    held_out: Annotated[int, Field(ge=0)] = 0
    """How many prompts to hold out, into a separate file next to the output."""
    seed: int = 42
    """Which prompts are held out."""
    responses: Path | None = None
    """Write the answers that the rows carry to this file."""
    verdicts: Path | None = None
    """Write what a judge said of these answers, as the `verdicts.jsonl` of a run."""
    labels: Path | None = None
    """Write what people said of these answers, for calibrate."""
    overwrite: bool = False
    """Replace an output that exists."""


class ConvertResult(Record):
    """What became of every row."""

    read: int
    """Rows of the input."""
    written: int
    held_out: int
    answers: int
    """Answers of the rows that were written to a file of responses, verdicts or labels."""
    unread_labels: dict[str, int]
    """Labels that are neither true nor false, as the file has them; they are written as no opinion."""
    rejected: dict[str, int]
    """Rows that could not be read, by reason."""
    left_out: dict[str, int]
    """Tasks that preparation left out, or that hold nothing of the subset, by reason."""
    files: dict[str, str]
    unused: dict[str, int]
    """Fields that were not used and that no judge sees, with the number of rows, or of criteria, that have them."""
    dropped: dict[str, int]
    """Fields that a mapping leaves out on purpose, with the number of rows that have them."""
    unused_share: float | None
    """How much of the rows a mapping leaves unused, by characters; None for formats without a mapping."""
    sha256: dict[str, str | None]
    """Of the input (None for a dataset on the hub) and of each file of tasks."""


def convert_tasks(config: ConvertConfig) -> ConvertResult:
    """Convert a file, prepare it if asked, and write the manifest."""
    if not config.prepare and (config.min_criteria, config.max_criteria) != (_FEWEST, _MOST):
        raise ConfigError("--min-criteria and --max-criteria belong to --prepare; add it, or leave them out")
    if config.out is None:
        raise ConfigError("no output is named; give a file such as tasks.jsonl, or --suggest for a mapping")
    outputs = _name_outputs(config, config.out)
    counts = {outcome: Rejects(shown=1, keep=False) for outcome in ("rejected", "left out")}
    written = held_out = answers = 0
    samples, said, unread = Counter[str](), Counter[str](), Counter[str]()

    def list_row(reject: Reject, outcome: str = "rejected") -> None:
        counts[outcome].add(reject)
        write_listed({**asdict(reject), "outcome": outcome})

    # A task that preparation leaves out does not take its id, so ids are checked here and not by the stream.
    stream = open_tasks(config, list_row, unique=False)
    preparation, draw = Preparation(config.min_criteria, config.max_criteria), HeldOut(config.held_out, config.seed)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_rows(outputs["rejects"], _LISTED_SCHEMA) as write_listed,
        _open_answers(outputs, stream, samples, said, unread) as write_answers,
    ):
        # The held-out part is known only at the end of the stream, so the tasks first go to a temporary file.
        first = Path(folder) / "tasks.jsonl" if config.held_out else outputs["tasks"]
        with open_export(first, "tasks" if config.held_out else config.to) as write:
            for task in stream:
                refused = preparation.refuse(task) if config.prepare else None
                if refused:
                    list_row(Reject(config.tasks, stream.line, refused), "left out")
                elif (is_written := task.id in samples) or stream.take_id(task.id):
                    if not is_written:  # otherwise the row has another answer to the same task
                        draw.offer(task)
                        write(task)
                        written += 1
                    try:
                        answers += write_answers(task)
                    except RubricError as error:  # the task is fine, its answers are not
                        list_row(Reject.of(config.tasks, stream.line, error), "left out")
            if stream.read and not written:  # raised here, so no empty file appears
                raise _explain_nothing(stream, *counts.values())
            _check_said(outputs, answers, said)
        if config.held_out:
            if not draw.leaves_some:
                prompts = f"{count(len(draw.chosen()), 'distinct prompt')} ({count(written, 'task')})"
                raise ConfigError(f"--held-out {config.held_out} of {prompts} leaves none to train on; hold out fewer")
            written, held_out = draw.split(first, outputs["tasks"], outputs["held_out"], config.to)
    rejected, left_out = (found.kinds for found in counts.values())
    if not rejected and not left_out:
        outputs.pop("rejects").unlink()
    if stream.skipped:
        left_out[f"no criterion of the subset {config.subset}"] = stream.skipped
    result = ConvertResult(
        read=stream.read,
        written=written,
        held_out=held_out,
        answers=answers,
        unread_labels=dict(unread.most_common()),
        rejected=dict(rejected.most_common()),
        left_out=dict(left_out.most_common()),
        unused=dict(stream.unused.most_common()),
        dropped=dict(stream.source.dropped) if isinstance(stream.source, MappedSource) else {},
        unused_share=stream.source.unused_share if isinstance(stream.source, MappedSource) else None,
        files={name: str(path) for name, path in outputs.items()},
        sha256={"input": hash_file(Path(config.tasks))}
        | {name: hash_file(outputs[name]) for name in ("tasks", "held_out") if name in outputs},
    )
    write_json(outputs["manifest"], {"config": render_config(config), **result.model_dump()})
    return result


def _name_outputs(config: ConvertConfig, out: Path) -> dict[str, Path]:
    kind, compression = split_suffix(out)
    stem = str(out)[: -len(kind + compression)]
    held_out = Path(f"{stem}.held-out{kind}{compression}")
    if held_out.exists() and not config.held_out:
        fault = f"was held out of an earlier {out.name}, which this run would train on"
        raise ConfigError(fault, remedy="remove it, or choose another name", place=held_out)
    outputs = {"tasks": out} | ({"held_out": held_out} if config.held_out else {})
    outputs |= {name: path for name in ANSWER_FILES if (path := getattr(config, name)) is not None}
    outputs |= {"rejects": Path(f"{stem}.rejects.jsonl"), "manifest": Path(f"{stem}.manifest.json")}
    for path in outputs.values():
        if path.resolve() == Path(config.tasks).resolve():
            raise ConfigError(f"{path}: the output would replace the input; choose another name")
        if path.exists() and not config.overwrite:
            raise ConfigError(f"{path}: exists already; choose another name or pass --overwrite")
    return outputs


@contextmanager
def _open_answers(
    outputs: dict[str, Path], stream: Stream[Task], samples: Counter[str], said: Counter[str], unread: Counter[str]
) -> Iterator[Callable[[Task], int]]:
    """A function that writes the answers that a task's row carries, and gives how many there are.

    `samples` counts the answers of each task that is known by its content, to which later rows may add, `said` the
    verdicts and labels that were found, and `unread` the labels that are neither true nor false.
    """
    wanted, source = [name for name in ANSWER_FILES if name in outputs], stream.source
    if wanted and not isinstance(source, MappedSource):
        raise ConfigError(f"--{wanted[0]} needs a mapping that names the answers (response=…); give one with --map")
    for name, needs in ANSWER_FILES.items():
        if name in wanted and isinstance(source, MappedSource) and not getattr(source.mapping, needs):
            raise ConfigError(f"--{name}: the mapping does not say where they are; add {needs}=…")
    with ExitStack() as stack:
        schemas = {"responses": RESPONSE_SCHEMA, "verdicts": ROW_SCHEMA, "labels": LABEL_SCHEMA}
        write = {name: stack.enter_context(open_rows(outputs[name], schemas[name])) for name in wanted}

        def write_answers(task: Task) -> int:
            found = list(source.list_answers(stream.row, task)) if wanted and isinstance(source, MappedSource) else []
            for sample, answer in enumerate(found, samples.get(task.id, 0)):
                response = Response(task_id=task.id, text=answer.text, sample=sample, model=answer.model)
                if "responses" in write:
                    write["responses"](render_response(response))
                if "verdicts" in write:
                    said["verdicts"] += sum(one is not None for one in answer.verdicts)
                    verdicts = [_read_verdict(one) for one in answer.verdicts]
                    write["verdicts"](render_verdict_row(task.id, sample, {"criteria": verdicts}))
                if "labels" in write:
                    for criterion, given in zip(task.rubric.criteria, answer.labels, strict=True):
                        # By person, in the order of their names, so a place stands for the same person in every row.
                        people = [one for _, one in sorted(given.items())] if isinstance(given, Mapping) else given
                        people = people if isinstance(people, list) else [people]
                        labels = [read_boolean(one) for one in people]
                        said["labels"] += sum(one is not None for one in people)
                        unread.update(
                            shorten(repr(one))
                            for one, label in zip(people, labels, strict=True)
                            if one is not None and label is None
                        )
                        write["labels"](render_label(task.messages, response, criterion, labels))
            if found and isinstance(source, MappedSource) and source.mapping.id is None:
                samples[task.id] += len(found)
            return len(found)

        yield write_answers


def _check_said(outputs: dict[str, Path], answers: int, said: Counter[str]) -> None:
    for name in ("verdicts", "labels"):
        if name in outputs and answers and not said[name]:
            remedy = f"correct {ANSWER_FILES[name]} in the mapping, or leave --{name} out"
            raise ConfigError(f"--{name}: the mapping finds none of any answer", remedy=remedy)


def _read_verdict(said: object) -> Verdict:
    found = read_boolean(said)
    return found if found is not None else Unknown(f"the file says {shorten(repr(said))}", kind="not a verdict")


def _explain_nothing(stream: Stream[Task], rejects: Rejects, left_out: Rejects) -> SourceError:
    counts = f"{stream.read:,} read, {rejects.count:,} rejected, {left_out.count + stream.skipped:,} left out"
    first = "".join(f"; the first: {line}" for line in (*rejects.show(), *left_out.show())[:1])
    mapped = isinstance(stream.source, MappedSource) and stream.source.NAME == MappedSource.NAME  # not a known format
    example = f"; {show_example(stream.path)}" if rejects.count and not mapped else ""
    return SourceError(f"{stream.path}: no task to write (rows: {counts}){first}{example}")
