"""Files written whole or not at all: rows as jsonl (also .gz, .zst), as a JSON array or parquet; small JSON.

A file that cannot be written is a `SourceError` that names it. What is written appears under its name only when it is
complete, and the same rows give the same bytes.
"""

import errno
import glob
import gzip
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import orjson

from prorubric.errors import SourceError
from prorubric.files.json import render_json
from prorubric.text.show import shorten

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".jsonl", ".ndjson", ".json", ".parquet")
"""What is written, and read; a few more kinds are only read."""
COMPRESSIONS = (".gz", ".zst")

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

WriteRow = Callable[[Mapping[str, Any]], None]


def split_suffix(path: Path, known: Sequence[str] = SUFFIXES) -> tuple[str, str]:
    """A file's format and compression by its name, as in `('.jsonl', '.gz')`; the second is '' for none."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    compression = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSIONS else ""
    kind = suffixes[-1] if suffixes else ""
    if kind not in known or (kind == ".parquet" and compression):
        allowed = f"allowed: {', '.join(known)}, all but parquet also with {' or '.join(COMPRESSIONS)}"
        raise SourceError(f"{path}: the name does not end in a known format; {allowed}")
    return kind, compression


@contextmanager
def open_rows(path: Path, schema: "pa.Schema") -> Iterator[WriteRow]:
    """A function that writes one row. The file appears when the block ends without an error.

    The schema is used for parquet. What goes wrong in the block itself passes through as it is.
    """
    kind, compression = split_suffix(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        with ExitStack() as stack:
            with _blaming(path):
                if kind == ".parquet":
                    from prorubric.files.arrow import write_parquet  # noqa: PLC0415 - slow to load, and rarely needed

                    write = stack.enter_context(write_parquet(partial, schema))
                else:
                    write = stack.enter_context(_write_lines(partial, compression, as_array=kind == ".json"))

            def write_row(row: Mapping[str, Any]) -> None:
                with _blaming(path):
                    write(row)

            try:
                yield write_row
            except BaseException:
                # Report the first error: on a full disk, closing would fail again.
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
    """A file to be written: it appears when the block ends without an error."""
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
    """The sha256 of a file, or None if it does not exist."""
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def remove_partials(*paths: Path) -> None:
    """Remove what killed processes left of these files. Only for the process that holds the lock."""
    for path in paths:
        for partial in path.parent.glob(f".{glob.escape(path.name)}.partial-*"):
            partial.unlink(missing_ok=True)


@contextmanager
def _blaming(path: Path) -> Iterator[None]:
    """Name the file, as the user knows it, in what the system says about writing it."""
    try:
        yield
    except OSError as error:
        # By errno: pyarrow wraps the system's message into a long one.
        reason = os.strerror(error.errno) if error.errno else shorten(str(error))
        remedy = "make room" if error.errno in _NO_ROOM else "check the place"
        raise SourceError("cannot be written", reason, remedy=f"{remedy} and run it again", place=path) from error


@contextmanager
def _write_lines(path: Path, compression: str, as_array: bool) -> Iterator[WriteRow]:
    opening, between, closing = (b"[\n", b",\n", b"\n]\n") if as_array else (b"", b"\n", b"\n")
    with ExitStack() as stack:
        stream: Any = stack.enter_context(path.open("wb"))
        if compression == ".gz":
            # No name and no time in the header: the same rows give the same bytes.
            stream = stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0))
        elif compression == ".zst":
            from prorubric.files.arrow import compress_zstd  # noqa: PLC0415 - slow to load, and rarely needed

            stream = stack.enter_context(compress_zstd(stream))
        written = 0

        def write(row: Mapping[str, Any]) -> None:
            nonlocal written
            stream.write((between if written else opening) + render_json(row))
            written += 1

        yield write
        stream.write(closing if written else opening + closing.lstrip() if as_array else b"")
