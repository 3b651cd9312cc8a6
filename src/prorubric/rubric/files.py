"""Rows in files: jsonl (plain, .gz, .zst), a JSON array, parquet. Read as a stream, written whole or not at all.

A line that is not a JSON object is a `Row` with a fault, for the caller to count; a file that cannot be opened, that
ends in the middle of its compression, or that the disk has no room for, is a `SourceError`. Memory does not grow with
the number of rows, except for a `.json` file that holds one array, which has to be read whole. What is written appears
under its name only when it is complete, and the same rows give the same bytes.
"""

import errno
import glob
import gzip
import hashlib
import io
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import orjson

from prorubric.errors import ConfigError, SourceError
from prorubric.rubric.record import shorten

if TYPE_CHECKING:
    import pyarrow as pa

try:
    import fcntl
except ImportError:  # not a Unix
    fcntl = None  # type: ignore[assignment]

SUFFIXES = (".jsonl", ".ndjson", ".json", ".parquet")
COMPRESSIONS = (".gz", ".zst")

_ALLOWED = f"allowed: {', '.join(SUFFIXES)}, all but parquet also with {' or '.join(COMPRESSIONS)}"

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LOOK_BYTES = 1 << 24

WriteRow = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file: its line (1-based; for parquet the row) and either its value or what is wrong with it."""

    line: int
    value: dict[str, Any] | None = None
    fault: str | None = None


def parse_json(text: bytes | str) -> Any:
    """JSON as real files hold it: NaN and lone surrogates are read, for the records to refuse or keep."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def render_json(value: object) -> bytes:
    """One line of JSON that `parse_json` gives back exactly; text that UTF-8 cannot hold is escaped."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, allow_nan=False).encode("ascii")


def split_suffix(path: Path) -> tuple[str, str]:
    """A file's format and compression by its name, as in `('.jsonl', '.gz')`; the second is '' for none."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else ""
    kind = suffixes[-1] if suffixes else ""
    if kind not in SUFFIXES or (kind == ".parquet" and compression):
        raise SourceError(f"{path}: the name does not end in a known format; {_ALLOWED}")
    return kind, compression


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, one at a time."""
    if not path.exists():
        raise SourceError(f"{path}: no such file; check the path")
    kind, compression = split_suffix(path)
    if not path.is_file():
        raise SourceError(f"{path}: not a regular file; check the path")
    if kind == ".parquet":
        from prorubric.rubric.arrow import read_parquet  # noqa: PLC0415 - slow to load, and rarely needed

        yield from (Row(line, value=value) for line, value in enumerate(read_parquet(path), 1))
    else:
        with _open_bytes(path, compression) as stream:
            yield from _read_stream(path, stream, may_be_array=kind == ".json")


def describe_instead_of_rows(path: Path) -> str | None:
    """What a text file without readable rows holds in their place, where that can be told; for error messages only."""
    try:
        kind, compression = split_suffix(path)
        if kind == ".parquet" or not path.is_file():
            return None
        with _open_bytes(path, compression) as stream:
            text = stream.read(_LOOK_BYTES).decode("utf-8-sig", errors="replace").lstrip()
        value, end = json.JSONDecoder().raw_decode(text)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError):  # the caller has an error to report already
        return None
    if value == [] and not text[end:].strip():
        return "the file is empty"
    if isinstance(value, dict) and "\n" in text[:end]:
        return "one object over many lines is no row"
    return None


def count_rows(path: Path) -> int | None:
    """How many rows a file has, where that can be told without reading it through; for progress bars only."""
    kind, compression = split_suffix(path)
    if not path.is_file():
        return None
    if kind == ".parquet":
        from prorubric.rubric.arrow import count_parquet  # noqa: PLC0415 - slow to load, and rarely needed

        return count_parquet(path)
    if compression or kind == ".json":
        return None
    with path.open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))


@contextmanager
def open_rows(path: Path, schema: "pa.Schema") -> Iterator[WriteRow]:
    """A function that writes one row. The file appears when the block ends without an error.

    The schema is used for parquet, whose columns have to be known before the first row. A file that cannot be written
    is named by the `SourceError`; what goes wrong in the block itself passes through as it is.
    """
    kind, compression = split_suffix(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        with ExitStack() as stack:
            with _blaming(path):
                write = stack.enter_context(_open_writer(partial, kind, compression, schema))
            try:
                yield _make_blaming(write, path)
            except BaseException:
                # The first error is the one to know of: a full disk would complain again of what is left to write.
                with suppress(OSError):
                    stack.pop_all().__exit__(*sys.exc_info())
                raise
            with _blaming(path):
                stack.pop_all().close()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def open_whole(path: Path) -> Iterator[IO[bytes]]:
    """A file to be written: it appears when the block ends without an error, whole or not at all."""
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        with _blaming(path):
            with partial.open("wb") as stream:
                yield stream
            partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """A small JSON file, whole or not at all."""
    with open_whole(path) as stream:
        stream.write(orjson.dumps(value, option=orjson.OPT_INDENT_2) + b"\n")


def hash_file(path: Path) -> str | None:
    """The sha256 of a file, or None where there is none."""
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def remove_partials(*paths: Path) -> None:
    """Remove what killed processes left of these files. Only for whoever holds the lock: nobody else writes them."""
    for path in paths:
        for partial in path.parent.glob(f".{glob.escape(path.name)}.partial-*"):
            partial.unlink(missing_ok=True)


@contextmanager
def lock_path(path: Path, place: Path | None = None) -> Iterator[None]:
    """Keep a second process out of a run: both would pay for the same calls. Where locks exist, that is.

    `place` is what the user knows it by; by default the folder.
    """
    if fcntl is None:
        yield
        return
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            known = place or path.parent
            raise ConfigError(f"{known}: another process is running into this; wait, or name another") from None
        # Whoever finished between our opening and our locking may have removed the file that we hold.
        if not path.exists() or path.stat().st_ino != os.fstat(lock.fileno()).st_ino:
            raise ConfigError(f"{path}: another process has just finished here; try again")
        yield


def _read_stream(path: Path, stream: IO[bytes], may_be_array: bool) -> Iterator[Row]:
    try:
        first, line = stream.readline(), 1
        while may_be_array and first and not first.strip():
            first, line = stream.readline(), line + 1
        if may_be_array and first.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            yield from _read_array(path, first + stream.read())
            return
        while first:
            row = _parse_line(line, first.removeprefix(b"\xef\xbb\xbf") if line == 1 else first)
            if row is not None:
                yield row
            first, line = stream.readline(), line + 1
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path}: cannot be read to its end ({error}); the file is damaged or cut off") from error


def _parse_line(number: int, line: bytes) -> Row | None:
    if not line.strip():
        return None
    try:
        return _as_row(number, parse_json(line))
    except (ValueError, RecursionError) as error:
        return Row(number, fault=f"not JSON ({shorten(str(error))}): {shorten(line.decode(errors='replace'))}")


def _read_array(path: Path, text: bytes) -> Iterator[Row]:
    try:
        values = parse_json(text.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: not a JSON array ({shorten(str(error))}); one object a line works too") from error
    for number, value in enumerate(values, 1):
        yield _as_row(number, value)


def _as_row(number: int, value: object) -> Row:
    if isinstance(value, dict):
        return Row(number, value=value)
    return Row(number, fault=f"not a JSON object: {shorten(repr(value))}")


@contextmanager
def _open_bytes(path: Path, compression: str) -> Iterator[IO[bytes]]:
    with ExitStack() as stack:
        if compression == ".gz":
            yield io.BufferedReader(stack.enter_context(gzip.open(path, "rb")))
        elif compression == ".zst":
            from prorubric.rubric.arrow import open_zstd  # noqa: PLC0415 - slow to load, and rarely needed

            yield io.BufferedReader(stack.enter_context(open_zstd(path)))
        else:
            yield stack.enter_context(path.open("rb"))


def _open_writer(path: Path, kind: str, compression: str, schema: "pa.Schema") -> AbstractContextManager[WriteRow]:
    if kind == ".parquet":
        from prorubric.rubric.arrow import write_parquet  # noqa: PLC0415 - slow to load, and rarely needed

        return write_parquet(path, schema)
    return _line_writer(path, compression, as_array=kind == ".json")


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Name the file, as the user knows it, in what the system says about writing it."""
    try:
        yield
    except OSError as error:
        raise _cannot_write(path, error) from error


def _make_blaming(write: WriteRow, path: Path) -> WriteRow:
    def write_row(row: Mapping[str, Any]) -> None:
        try:
            write(row)
        except OSError as error:
            raise _cannot_write(path, error) from error

    return write_row


def _cannot_write(path: Path, error: OSError) -> SourceError:
    # By its number: pyarrow wraps the system's words into many of its own.
    reason = os.strerror(error.errno) if error.errno else shorten(str(error))
    remedy = "make room" if error.errno in _NO_ROOM else "check the place"
    return SourceError(f"{path}: cannot be written ({reason}); {remedy} and run it again")


@contextmanager
def _line_writer(path: Path, compression: str, as_array: bool) -> Iterator[WriteRow]:
    opening, between, closing = (b"[\n", b",\n", b"\n]\n") if as_array else (b"", b"\n", b"\n")
    with ExitStack() as stack:
        stream: Any = stack.enter_context(path.open("wb"))
        if compression == ".gz":
            # No name and no time in the header: the same rows give the same bytes.
            stream = stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0))
        elif compression == ".zst":
            from prorubric.rubric.arrow import compress_zstd  # noqa: PLC0415 - slow to load, and rarely needed

            stream = stack.enter_context(compress_zstd(stream))
        written = 0

        def write(row: Mapping[str, Any]) -> None:
            nonlocal written
            stream.write((between if written else opening) + render_json(row))
            written += 1

        yield write
        stream.write(closing if written else opening + closing.lstrip() if as_array else b"")
