"""`convert_tasks`: any rubric file in, our own form out, with a manifest that says what became of every row.

The manifest (`OUT.manifest.json`) has the counts by reason, the settings, and the sha256 of the input and of each
output. Rows that were rejected or left out are listed with line and reason in `OUT.rejects.jsonl`. Outputs appear
when they are complete.
"""

import hashlib
import json
import tempfile
from collections import Counter
from contextlib import ExitStack
from dataclasses import KW_ONLY, asdict
from pathlib import Path
from typing import Annotated

import pyarrow as pa
from pydantic import Field

from prorubric.datasets.ids import hash_prompt
from prorubric.datasets.load import Format, Reject, Subset, count_reasons, load_tasks
from prorubric.datasets.prepare import HeldOut, Preparation
from prorubric.errors import ConfigError
from prorubric.rubric.files import open_rows, split_suffix
from prorubric.rubric.forms import TASK_SCHEMA, render_task
from prorubric.rubric.record import Record, config_record

_REJECT_SCHEMA = pa.schema({"path": pa.string(), "line": pa.int64(), "reason": pa.string()})


@config_record
class ConvertConfig:
    """What to convert, into what, and how to prepare it."""

    tasks: str
    """The file to read, or a Hugging Face dataset by its id."""
    out: Path
    """The file to write: .jsonl, .json (both also .gz, .zst) or .parquet."""
    _: KW_ONLY
    format: Format = "auto"
    """The form of the input."""
    subset: Subset = "all"
    """HealthBench: only the physician-consensus criteria, or only the others."""
    split: str = "train"
    """The split of a dataset on the hub."""
    prepare: bool = False
    """Keep each prompt once, 5 to 60 criteria, positive total weight."""
    min_criteria: int = 5
    """With --prepare: the fewest criteria a task may have."""
    max_criteria: int = 60
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


def convert_tasks(config: ConvertConfig) -> ConvertResult:
    """Convert a file, prepare it where asked, and write the manifest."""
    outputs = _name_outputs(config)
    rejects: list[Reject] = []
    left_out: Counter[str] = Counter()
    stream = load_tasks(
        config.tasks,
        config.format,
        subset=config.subset,
        split=config.split,
        strict=config.strict,
        on_reject=rejects.append,
    )
    preparation = Preparation(config.min_criteria, config.max_criteria)
    draw = HeldOut(config.held_out, config.seed)
    with tempfile.TemporaryDirectory() as folder:
        # With a held-out part the tasks are set down first: who is drawn is known only at the end of the stream.
        first = Path(folder) / "tasks.jsonl" if config.held_out else outputs["tasks"]
        with open_rows(first, TASK_SCHEMA) as write:
            for task in stream:
                reason = preparation.refuse(task) if config.prepare else None
                if reason:
                    left_out[reason] += 1
                    rejects.append(Reject(config.tasks, stream.line, f"left out: {reason}"))
                    continue
                draw.offer(task)
                write(render_task(task))
        written = _split(first, outputs, draw.chosen()) if config.held_out else stream.loaded - left_out.total()
    if stream.skipped:
        left_out[f"no criterion of the subset {config.subset}"] = stream.skipped
    return _finish(config, outputs, rejects, left_out, stream.read, written)


def _name_outputs(config: ConvertConfig) -> dict[str, Path]:
    kind, compression = split_suffix(config.out)
    stem = str(config.out)[: -len(kind + compression)]
    outputs = {"tasks": config.out}
    if config.held_out:
        outputs["held_out"] = Path(f"{stem}.held-out{kind}{compression}")
    outputs["rejects"] = Path(f"{stem}.rejects.jsonl")
    outputs["manifest"] = Path(f"{stem}.manifest.json")
    for path in outputs.values():
        if path.resolve() == Path(config.tasks).resolve():
            raise ConfigError(f"{path}: the output would replace the input; choose another name")
        if path.exists() and not config.overwrite:
            raise ConfigError(f"{path}: exists already; choose another name or pass --overwrite")
    return outputs


def _split(first: Path, outputs: dict[str, Path], chosen: frozenset[str]) -> int:
    written = 0
    with ExitStack() as stack:
        keep = stack.enter_context(open_rows(outputs["tasks"], TASK_SCHEMA))
        hold = stack.enter_context(open_rows(outputs["held_out"], TASK_SCHEMA))
        for task in load_tasks(first, "tasks", strict=True):
            held = hash_prompt(task.messages) in chosen
            written += not held
            (hold if held else keep)(render_task(task))
    return written


def _finish(
    config: ConvertConfig,
    outputs: dict[str, Path],
    rejects: list[Reject],
    left_out: Counter[str],
    read: int,
    written: int,
) -> ConvertResult:
    rejected = [reject for reject in rejects if not reject.reason.startswith("left out: ")]
    if rejects:
        with open_rows(outputs["rejects"], _REJECT_SCHEMA) as write:
            for reject in rejects:
                write(asdict(reject))
    else:
        outputs.pop("rejects").unlink(missing_ok=True)
    hashes = {name: _hash(path) for name, path in outputs.items() if name in ("tasks", "held_out")}
    result = ConvertResult(
        read=read,
        written=written,
        held_out=read - written - len(rejected) - left_out.total(),
        rejected=count_reasons(rejected),
        left_out=dict(left_out.most_common()),
        files={name: str(path) for name, path in outputs.items()},
        sha256={"input": _hash(Path(config.tasks)), **hashes},
    )
    settings = {key: str(value) if isinstance(value, Path) else value for key, value in asdict(config).items()}
    manifest = {"config": settings, **result.model_dump()}
    outputs["manifest"].write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return result


def _hash(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
