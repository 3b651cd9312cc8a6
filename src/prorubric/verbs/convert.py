"""`convert_tasks`: any rubric file in, our own form or a trainer's out, with an account of every row in a manifest.

The manifest (`OUT.manifest.json`) is written last and has the counts by reason, the settings, and the sha256 of the
input and of each output. Rows that were rejected, or that preparation left out, are listed with line and reason in
`OUT.rejects.jsonl`. Each output appears when it is complete.
"""

import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path
from typing import Annotated

import pyarrow as pa
from pydantic import Field

from prorubric.datasets.export import Target, open_export
from prorubric.datasets.ids import hash_prompt
from prorubric.datasets.load import Format, Reject, Subset, count_reasons, describe_taken_id, load_tasks, show_example
from prorubric.datasets.prepare import HeldOut, Preparation
from prorubric.errors import ConfigError, SourceError
from prorubric.files.write import hash_file, open_rows, split_suffix, write_json
from prorubric.rubric.base import Record, config_record

_REJECT_SCHEMA = pa.schema({"path": pa.string(), "line": pa.int64(), "reason": pa.string(), "kind": pa.string()})
_FEWEST, _MOST = 5, 60


@config_record
class ConvertConfig:
    """What to convert, into what, and how to prepare it."""

    tasks: str
    """The file to read, or a Hugging Face dataset by its id."""
    out: Path
    """The file to write: .jsonl, .json (both also .gz, .zst) or .parquet."""
    _: KW_ONLY
    to: Target = "tasks"
    """The form of the output: our own, or the rows that verl, TRL or readers of HealthBench take."""
    format: Format = "auto"
    """The form of the input."""
    subset: Subset = "all"
    """HealthBench: only the physician-consensus criteria, or only the others."""
    split: str = "train"
    """The split of a dataset on the hub."""
    prepare: bool = False
    """Keep each prompt once, 5 to 60 criteria, positive total weight."""
    min_criteria: int = _FEWEST
    """With --prepare: the fewest criteria a task may have."""
    max_criteria: int = _MOST
    """With --prepare: the most criteria a task may have."""
    held_out: Annotated[int, Field(ge=0)] = 0
    """How many prompts to hold out, into a file of their own beside the output."""
    seed: int = 42
    """Which prompts are held out."""
    strict: bool = False
    """Stop at the first row that cannot be read."""
    overwrite: bool = False
    """Replace an output that exists."""


class ConvertResult(Record):
    """What became of every row."""

    read: int
    """Rows of the input."""
    written: int
    held_out: int
    rejected: dict[str, int]
    """Rows that could not be read, by reason."""
    left_out: dict[str, int]
    """Tasks that preparation left out, or that hold nothing of the subset, by reason."""
    files: dict[str, str]
    """The files that were written, by what they hold."""
    sha256: dict[str, str | None]
    """Of the input (None for a dataset on the hub) and of each file of tasks."""


@dataclass(slots=True)
class _Tally:
    """What became of the rows so far."""

    rejects: list[Reject] = field(default_factory=list)
    left_out: list[Reject] = field(default_factory=list)
    skipped: int = 0
    read: int = 0
    written: int = 0
    held_out: int = 0
    ids: set[str] = field(default_factory=set)


def convert_tasks(config: ConvertConfig) -> ConvertResult:
    """Convert a file, prepare it where asked, and write the manifest."""
    if not config.prepare and (config.min_criteria, config.max_criteria) != (_FEWEST, _MOST):
        raise ConfigError("--min-criteria and --max-criteria belong to --prepare; add it, or leave them out")
    outputs = _name_outputs(config)
    tally = _Tally()
    with tempfile.TemporaryDirectory() as folder:
        # With a held-out part the tasks are set down first: who is drawn is known only at the end of the stream.
        first = Path(folder) / "tasks.jsonl" if config.held_out else outputs["tasks"]
        draw = _copy(config, first, tally)
        if config.held_out:
            if not draw.leaves_some:
                prompts = f"{len(draw.chosen())} distinct prompts ({tally.written} tasks)"
                raise ConfigError(f"--held-out {config.held_out} of {prompts} leaves none to train on; hold out fewer")
            _split(first, outputs, config.to, draw.chosen(), tally)
    return _finish(config, outputs, tally)


def _copy(config: ConvertConfig, path: Path, tally: _Tally) -> HeldOut:
    stream = load_tasks(
        config.tasks,
        config.format,
        subset=config.subset,
        split=config.split,
        strict=config.strict,
        on_reject=tally.rejects.append,
    )
    preparation = Preparation(config.min_criteria, config.max_criteria)
    draw = HeldOut(config.held_out, config.seed)
    with open_export(path, "tasks" if config.held_out else config.to) as write:
        for task in stream:
            place = (config.tasks, stream.line)
            reason = preparation.refuse(task) if config.prepare else None
            if reason:
                tally.left_out.append(Reject(*place, reason))
            elif task.id in tally.ids:
                tally.rejects.append(Reject(*place, describe_taken_id(task.id)))
            else:
                tally.ids.add(task.id)
                tally.written += 1
                draw.offer(task)
                write(task)
        tally.read, tally.skipped = stream.read, stream.skipped
        if tally.read and not tally.written:
            # Raised here, so that no empty file appears.
            left_out = len(tally.left_out) + tally.skipped
            counts = f"rows: {tally.read:,} read, {len(tally.rejects):,} rejected, {left_out:,} left out"
            first = "".join(f"; the first: {reject}" for reject in [*tally.rejects, *tally.left_out][:1])
            example = f"; {show_example(config.tasks)}" if tally.rejects else ""
            raise SourceError(f"{config.tasks}: no task to write ({counts}){first}{example}")
    return draw


def _name_outputs(config: ConvertConfig) -> dict[str, Path]:
    kind, compression = split_suffix(config.out)
    stem = str(config.out)[: -len(kind + compression)]
    held_out = Path(f"{stem}.held-out{kind}{compression}")
    outputs = {"tasks": config.out}
    if config.held_out:
        outputs["held_out"] = held_out
    elif held_out.exists():
        raise ConfigError(
            f"{held_out}: was held out of an earlier {config.out.name}, which this run would train on; "
            "remove it, or choose another name"
        )
    outputs["rejects"] = Path(f"{stem}.rejects.jsonl")
    outputs["manifest"] = Path(f"{stem}.manifest.json")
    for path in outputs.values():
        if path.resolve() == Path(config.tasks).resolve():
            raise ConfigError(f"{path}: the output would replace the input; choose another name")
        if path.exists() and not config.overwrite:
            raise ConfigError(f"{path}: exists already; choose another name or pass --overwrite")
    return outputs


def _split(first: Path, outputs: dict[str, Path], to: Target, chosen: frozenset[str], tally: _Tally) -> None:
    tally.written = 0
    with ExitStack() as stack:
        keep = stack.enter_context(open_export(outputs["tasks"], to))
        hold = stack.enter_context(open_export(outputs["held_out"], to))
        for task in load_tasks(first, "tasks", strict=True):
            held = hash_prompt(task.messages) in chosen
            tally.held_out += held
            tally.written += not held
            (hold if held else keep)(task)


def _finish(config: ConvertConfig, outputs: dict[str, Path], tally: _Tally) -> ConvertResult:
    listed = [(reject, "rejected") for reject in tally.rejects] + [(reject, "left out") for reject in tally.left_out]
    outputs["rejects"].unlink(missing_ok=True)
    if listed:
        with open_rows(outputs["rejects"], _REJECT_SCHEMA) as write:
            for reject, kind in sorted(listed, key=lambda pair: pair[0].line):
                write({**asdict(reject), "kind": kind})
    else:
        del outputs["rejects"]
    left_out = Counter(reject.reason for reject in tally.left_out)
    if tally.skipped:
        left_out[f"no criterion of the subset {config.subset}"] = tally.skipped
    hashes = {name: hash_file(path) for name, path in outputs.items() if name in ("tasks", "held_out")}
    result = ConvertResult(
        read=tally.read,
        written=tally.written,
        held_out=tally.held_out,
        rejected=count_reasons(tally.rejects),
        left_out=dict(left_out.most_common()),
        files={name: str(path) for name, path in outputs.items()},
        sha256={"input": hash_file(Path(config.tasks)), **hashes},
    )
    settings = {key: str(value) if isinstance(value, Path) else value for key, value in asdict(config).items()}
    write_json(outputs["manifest"], {"config": settings, **result.model_dump()})
    return result
