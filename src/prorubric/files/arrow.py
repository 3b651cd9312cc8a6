"""What pyarrow does here: parquet and zstd. It is slow to load, so `files` imports this module only when needed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import JsonValue

from prorubric.errors import RubricError, SourceError
from prorubric.files.json import render_json
from prorubric.files.read import MAX_FILE
from prorubric.files.write import WriteRow
from prorubric.text.show import shorten, show

_BATCH = 256
_MISFITS = (UnicodeEncodeError, OverflowError, pa.ArrowException)


def read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a parquet file, one at a time."""
    read = 0
    try:
        # Without reading ahead: memory must not grow with the file.
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for group in range(file.metadata.num_row_groups):
                if file.metadata.row_group(group).total_byte_size > MAX_FILE.read():
                    raise MAX_FILE.refuse(f"{path}: row group {group + 1}")
            for batch in file.iter_batches(batch_size=_BATCH):
                for value in batch.to_pylist():
                    read += 1
                    yield value
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: not readable as parquet after row {read} ({shorten(str(error))})") from error


def count_parquet(path: Path) -> int | None:
    """How many rows a parquet file says it has."""
    try:
        rows: int = pq.read_metadata(path).num_rows
    except (pa.ArrowException, OSError):  # reading it will say what is wrong with it
        return None
    return rows


def open_zstd(path: Path) -> Any:
    """The bytes inside a compressed file."""
    return pa.input_stream(str(path), compression="zstd")


def compress_zstd(stream: IO[bytes]) -> Any:
    """A stream that compresses into another."""
    return pa.CompressedOutputStream(stream, "zstd")


@contextmanager
def write_parquet(path: Path, schema: pa.Schema) -> Iterator[WriteRow]:
    """A function that writes one row, in the columns of the schema."""
    pending: list[dict[str, Any]] = []
    written = 0

    with pq.ParquetWriter(path, schema, compression="zstd") as writer:

        def flush() -> None:
            nonlocal written
            try:
                writer.write_batch(pa.RecordBatch.from_pylist(pending, schema=schema))
            except _MISFITS as error:
                raise _find_misfit(pending, schema, written, error) from error
            written += len(pending)
            pending.clear()

        def write(row: Mapping[str, Any]) -> None:
            pending.append({name: _as_cell(row.get(name), schema.field(name).type) for name in schema.names})
            if len(pending) >= _BATCH * 4:
                flush()

        yield write
        if pending:
            flush()


def _find_misfit(rows: list[dict[str, Any]], schema: pa.Schema, before: int, error: Exception) -> RubricError:
    """The error that names the one row among many which the columns cannot hold."""
    found = "a row"
    for number, row in enumerate(rows, before + 1):
        try:
            pa.RecordBatch.from_pylist([row], schema=schema)
        except _MISFITS as own:
            names = [f" ({key} {show(row[key])})" for key in ("id", "task_id") if row.get(key) is not None]
            found, error = f"row {number}{''.join(names[:1])}", own
            break
    return RubricError(f"{found} does not fit into parquet ({shorten(str(error))}); change it or write jsonl")


def _as_cell(value: JsonValue, column: pa.DataType) -> JsonValue:
    """Free-form JSON goes into a text column as JSON: parquet has no type for it."""
    if pa.types.is_string(column):
        return render_json(value).decode() if isinstance(value, dict | list) else value
    if pa.types.is_struct(column) and isinstance(value, dict):
        return {part.name: _as_cell(value.get(part.name), part.type) for part in column}
    if pa.types.is_list(column) and isinstance(value, list):
        return [_as_cell(part, column.value_type) for part in value]
    return value
