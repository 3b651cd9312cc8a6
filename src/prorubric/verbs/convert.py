"""`convert_tasks`: any rubric file in, our own form or a trainer's out, with an account of every row in a manifest.

The manifest (`OUT.manifest.json`) is written last and has the counts by reason, the settings, and the sha256 of the
input and of each output. Rows that were rejected, or that preparation left out, are listed with line and reason in
`OUT.rejects.jsonl`. Each output appears when it is complete.
"""

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import KW_ONLY, asdict
from pathlib import Path
from typing import Annotated

import pyarrow as pa
from pydantic import Field

from prorubric.datasets.export import Target
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
from prorubric.text.show import shorten

_LISTED_SCHEMA = REJECT_SCHEMA.append(pa.field("outcome", pa.string()))
_FEWEST, _MOST = 5, 60
ANSWER_FILES = {"responses": "response", "verdicts": "verdict", "labels": "label"}
"""Outputs for what rows carry besides rubrics, and the field of a mapping that says where it is."""


@config_record
class ConvertConfig(TaskOptions):
    """What to convert, into what, and how to prepare it."""

    tasks: str
    """Rubric file, or the id of a Hugging Face dataset."""
    out: Path | None = None
    """File to write: .jsonl, .json (both also .gz, .zst) or .parquet."""
    _: KW_ONLY
    to: Target = "tasks"
    """Output format: our own, or rows for verl, TRL or HealthBench tools."""
    prepare: bool = False
    """Keep each prompt once, 5 to 60 criteria, positive total weight."""
    min_criteria: int = _FEWEST
    """With --prepare: minimum number of criteria in a task."""
    max_criteria: int = _MOST
    """With --prepare: maximum number of criteria in a task."""
    held_out: Annotated[int, Field(ge=0)] = 0
    """Number of prompts to hold out, in a separate file next to the output."""
    seed: int = 42
    """Seed that selects the held-out prompts."""
    responses: Path | None = None
    """Write the answers in the rows to this file."""
    verdicts: Path | None = None
    """Write a judge's verdicts on these answers to this file, like the `verdicts.jsonl` of a run."""
    labels: Path | None = None
    """Write people's labels on these answers to this file, for calibrate."""
    overwrite: bool = False
    """Replace an existing output."""


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
    """Tasks left out by preparation or without a criterion of the subset, by reason."""
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
    outputs = _name_outputs(config)
    counts = {outcome: Rejects(shown=1, keep=False) for outcome in ("rejected", "left out")}

    def list_row(reject: Reject, outcome: str = "rejected") -> None:
        counts[outcome].add(reject)
        write_listed({**asdict(reject), "outcome": outcome})

    # A task that preparation leaves out does not take its id, so ids are checked here and not by the stream.
    stream = open_tasks(config, list_row, unique=False)
    preparation, draw = Preparation(config.min_criteria, config.max_criteria), HeldOut(config.held_out, config.seed)
    with (
        open_rows(outputs["rejects"], _LISTED_SCHEMA) as write_listed,
        ExitStack() as stack,
        draw.open(outputs["tasks"], outputs.get("held_out"), config.to) as write,
    ):
        answers = _Answers(outputs, stream, stack)
        for task in stream:
            refused = preparation.refuse(task) if config.prepare else None
            if refused:
                list_row(Reject(config.tasks, stream.line, refused), "left out")
            elif (is_written := task.id in answers.samples) or stream.take_id(task.id):
                if not is_written:  # otherwise the row has another answer to the same task
                    write(task)
                try:
                    answers.write(task)
                except RubricError as error:  # the task is fine, its answers are not
                    list_row(Reject.of(config.tasks, stream.line, error), "left out")
        rejected, left_out = counts.values()
        if stream.read and not draw.offered:  # raised here, so no empty file appears
            rows = f"{stream.read:,} read, {rejected.count:,} rejected, {left_out.count + stream.skipped:,} left out"
            first = "".join(f"; the first: {line}" for line in (*rejected.show(), *left_out.show())[:1])
            is_mapped = isinstance(stream.source, MappedSource) and stream.source.NAME == MappedSource.NAME
            example = f"; {show_example(stream.path)}" if rejected.count and not is_mapped else ""
            raise SourceError(f"{stream.path}: no task to write (rows: {rows}){first}{example}")
        answers.check()
    return _finish(config, outputs, stream, draw, answers, rejected.kinds, left_out.kinds)


def _name_outputs(config: ConvertConfig) -> dict[str, Path]:
    """The files to write, by what they hold; raises `ConfigError` if one cannot be written."""
    if not config.prepare and (config.min_criteria, config.max_criteria) != (_FEWEST, _MOST):
        raise ConfigError("--min-criteria and --max-criteria belong to --prepare; add it, or leave them out")
    out = config.out
    if out is None:
        raise ConfigError("no output is named; give a file such as tasks.jsonl, or --suggest for a mapping")
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
            raise ConfigError(f"{path}: already exists; choose another name or pass --overwrite")
    return outputs


class _Answers:
    """Writes the answers in rows, with a judge's verdicts and people's labels on them."""

    def __init__(self, outputs: dict[str, Path], stream: Stream[Task], stack: ExitStack) -> None:
        wanted, source = [name for name in ANSWER_FILES if name in outputs], stream.source
        self._stream, self._source = stream, source if wanted and isinstance(source, MappedSource) else None
        if wanted and self._source is None:
            raise ConfigError(f"--{wanted[0]} needs a mapping that names the answers (response=…); give one with --map")
        for name in wanted:
            if self._source and not getattr(self._source.mapping, ANSWER_FILES[name]):
                raise ConfigError(f"--{name}: the mapping does not say where they are; add {ANSWER_FILES[name]}=…")
        schemas = {"responses": RESPONSE_SCHEMA, "verdicts": ROW_SCHEMA, "labels": LABEL_SCHEMA}
        self._write = {name: stack.enter_context(open_rows(outputs[name], schemas[name])) for name in wanted}
        self.count = 0
        self.samples = Counter[str]()
        """How many answers each task has that is known by its content: later rows may add to them."""
        self.unread = Counter[str]()
        """Labels that are neither true nor false."""
        self._said = Counter[str]()

    def write(self, task: Task) -> None:
        """Write the answers that the current row carries."""
        found = list(self._source.list_answers(self._stream.row, task)) if self._source else []
        for sample, answer in enumerate(found, self.samples.get(task.id, 0)):
            response = Response(task_id=task.id, text=answer.text, sample=sample, model=answer.model)
            if "responses" in self._write:
                self._write["responses"](render_response(response))
            if "verdicts" in self._write:
                self._said["verdicts"] += sum(said is not None for said in answer.verdicts)
                verdicts: list[Verdict] = []
                for said in answer.verdicts:
                    unknown = Unknown(f"the file says {shorten(repr(said))}", kind="not a verdict")
                    verdicts.append(unknown if (verdict := read_boolean(said)) is None else verdict)
                self._write["verdicts"](render_verdict_row(task.id, sample, {"criteria": verdicts}))
            if "labels" in self._write:
                for criterion, given in zip(task.rubric.criteria, answer.labels, strict=True):
                    # By person, in the order of their names, so a place stands for the same person in every row.
                    people = [one for _, one in sorted(given.items())] if isinstance(given, Mapping) else given
                    people = people if isinstance(people, list) else [people]
                    labels = [read_boolean(one) for one in people]
                    opinions = [pair for pair in zip(people, labels, strict=True) if pair[0] is not None]
                    self._said["labels"] += len(opinions)
                    self.unread.update(shorten(repr(one)) for one, label in opinions if label is None)
                    self._write["labels"](render_label(task.messages, response, criterion, labels))
        self.count += len(found)
        if found and self._source and self._source.mapping.id is None:
            self.samples[task.id] += len(found)

    def check(self) -> None:
        """Raise if there are answers but no verdicts or labels on them."""
        for name in ("verdicts", "labels"):
            if name in self._write and self.count and not self._said[name]:
                remedy = f"correct {ANSWER_FILES[name]} in the mapping, or leave --{name} out"
                raise ConfigError(f"--{name}: the mapping finds none for any answer", remedy=remedy)


def _finish(
    config: ConvertConfig,
    outputs: dict[str, Path],
    stream: Stream[Task],
    draw: HeldOut,
    answers: "_Answers",
    rejected: Counter[str],
    left_out: Counter[str],
) -> ConvertResult:
    """Write the manifest, and remove an empty list of rejects."""
    if not rejected and not left_out:
        outputs.pop("rejects").unlink()
    if stream.skipped:
        left_out[f"no criterion of the subset {config.subset}"] = stream.skipped
    mapped = stream.source if isinstance(stream.source, MappedSource) else None
    result = ConvertResult(
        read=stream.read,
        written=draw.kept,
        held_out=draw.held,
        answers=answers.count,
        unread_labels=dict(answers.unread.most_common()),
        rejected=dict(rejected.most_common()),
        left_out=dict(left_out.most_common()),
        unused=dict(stream.unused.most_common()),
        dropped=dict(mapped.dropped) if mapped else {},
        unused_share=mapped.unused_share if mapped else None,
        files={name: str(path) for name, path in outputs.items()},
        sha256={"input": hash_file(Path(config.tasks))}
        | {name: hash_file(outputs[name]) for name in ("tasks", "held_out") if name in outputs},
    )
    write_json(outputs["manifest"], {"config": render_config(config), **result.model_dump()})
    return result
