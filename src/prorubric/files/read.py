"""Rows out of files: jsonl, JSON, parquet, csv and yaml, the text kinds also as .gz and .zst, as a stream.

A row that cannot be read is a `Row` with a fault, for the caller to count; a file that cannot be read is a
`SourceError`. JSON, yaml and csv are held whole. What is held at once is limited, because a few kilobytes of compressed
file can hold gigabytes: `MAX_LINE` for a line, `MAX_FILE` for a whole file and for a row group of parquet.
"""

import codecs
import csv
import gzip
import io
import json
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple

import orjson

from prorubric.errors import ConfigError, RowError, SourceError
from prorubric.files import write as files
from prorubric.files.json import parse_json
from prorubric.files.write import split_suffix
from prorubric.text.show import shorten, show

TABLES = (".csv", ".tsv")
SUFFIXES = (*files.SUFFIXES, *TABLES, ".yaml", ".yml")

_LOOK_BYTES = 1 << 24
_CHUNK = 1 << 20
_ARRAY = "a row is one JSON object, and a file with an array of them is called .json"
_NO_LINE_FEEDS = "its lines end in CR only; convert them to LF"
# The longer marks first: UTF-32 begins like UTF-16.
_MARKS = {
    **dict.fromkeys((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "utf-32"),
    **dict.fromkeys((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), "utf-16"),
}


class Limit(NamedTuple):
    """How much of a file may be held at once, and the environment variable that says otherwise."""

    variable: str
    mebibytes: int

    def read(self) -> int:
        """The limit in bytes."""
        given = os.environ.get(self.variable, "")
        if given and not (given.isascii() and given.isdigit() and int(given) > 0):
            raise ConfigError(f"{self.variable} is {given!r}; give a whole number of MiB, such as {self.mebibytes}")
        return int(given or self.mebibytes) << 20

    def refuse(self, place: str) -> SourceError:
        """The error for what is larger."""
        most = self.read() >> 20
        return SourceError(f"{place} is larger than {most:,} MiB; raise {self.variable} to read it")


MAX_LINE = Limit("PRORUBRIC_MAX_LINE_MIB", 64)
MAX_FILE = Limit("PRORUBRIC_MAX_FILE_MIB", 1024)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a file: its line (1-based; for parquet the row) and either its value or what is wrong with it."""

    line: int
    value: dict[str, Any] | None = None
    fault: RowError | None = None
    partial: dict[str, str] | None = None
    """Of a record of a table that has a fault: the cells up to it, which may name what it belongs to."""

    def explain(self) -> RowError:
        """What is wrong with a row that has no value."""
        return self.fault or RowError("the row is empty", remedy="remove it")


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, one at a time."""
    if not path.exists():
        raise SourceError(f"{path}: no such file; check the path")
    kind, compression = split_suffix(path, SUFFIXES)
    if not path.is_file():
        raise SourceError(f"{path}: not a regular file; check the path")
    if kind == ".parquet":
        from prorubric.files.arrow import read_parquet  # noqa: PLC0415 - slow to load, and rarely needed

        yield from (Row(line, value=value) for line, value in enumerate(read_parquet(path), 1))
        return
    try:
        with _open_text(path, compression) as stream:
            if kind == ".json":
                yield from _read_json(path, stream)
            elif kind in TABLES:
                yield from _read_table(path, stream)
            elif kind in (".yaml", ".yml"):
                from prorubric.files.yaml_rows import read_yaml  # noqa: PLC0415 - rarely needed

                yield from read_yaml(path, _read_whole(path, stream).decode("utf-8"))
            else:
                yield from _parse_lines(_read_lines(path, stream))
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"{path}: cannot be read to its end ({error}); the file is damaged or cut off") from error
    except UnicodeError as error:
        raise explain_encoding(error).turn_into(SourceError, path) from error


def describe_instead_of_rows(path: Path) -> str | None:
    """What a text file without readable rows holds instead, if known; for error messages only."""
    try:
        kind, compression = split_suffix(path, SUFFIXES)
        if kind == ".parquet" or not path.is_file():
            return None
        with _open_text(path, compression) as stream:
            text = stream.read(_LOOK_BYTES).decode("utf-8", errors="replace").lstrip()
        value, end = json.JSONDecoder().raw_decode(text)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError):  # the caller has an error to report already
        return None
    if value == [] and not text[end:].strip():
        return "the file is empty"
    if isinstance(value, dict) and "\n" in text[:end]:
        return "one object over many lines is not a row"
    return None


def count_rows(path: Path) -> int | None:
    """How many rows a file has, if that can be found without parsing it; for progress bars only."""
    kind, compression = split_suffix(path, SUFFIXES)
    if kind == ".parquet" and path.is_file():
        from prorubric.files.arrow import count_parquet  # noqa: PLC0415 - slow to load, and rarely needed

        return count_parquet(path)
    if compression or kind not in (".jsonl", ".ndjson") or not path.is_file():
        return None
    with path.open("rb") as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(_CHUNK), b""))


def explain_encoding(error: UnicodeError) -> RowError:
    """What is wrong with text that is not UTF-8."""
    if not isinstance(error, UnicodeDecodeError) or error.encoding != "utf-8":
        return RowError("the text is damaged", shorten(str(error)), remedy="save the file as UTF-8")
    around = error.object[max(error.start - 20, 0) : error.end + 20].decode("latin-1")
    detail = f"byte 0x{error.object[error.start]:02x} in {around!r}, shown as Latin-1"
    remedy = "save the file as UTF-8, for example with iconv -f WINDOWS-1252 -t UTF-8"
    return RowError("not UTF-8", detail, remedy=remedy)


def _read_lines(path: Path, stream: IO[bytes], whole: bool = False) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers, each no longer than allowed; of a file held `whole`, all together."""
    longest, most, read = MAX_LINE.read(), MAX_FILE.read(), 0
    for number, line in enumerate(iter(lambda: stream.readline(longest + 1), b""), 1):
        read += len(line)
        if len(line) > longest:
            raise MAX_LINE.refuse(f"{path}:{number}: the line")
        if whole and read > most:
            raise MAX_FILE.refuse(f"{path}: the file")
        yield number, line


def _read_whole(path: Path, stream: IO[bytes]) -> bytes:
    """The rest of a file, no more than allowed."""
    parts, read, most = [], 0, MAX_FILE.read()
    while part := stream.read(_CHUNK):
        parts.append(part)
        read += len(part)
        if read > most:
            raise MAX_FILE.refuse(f"{path}: the file")
    return b"".join(parts)


def _parse_lines(lines: Iterator[tuple[int, bytes]]) -> Iterator[Row]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            value = parse_json(line)
            _refuse_repeated_keys(line, value)
            yield _as_row(number, value)
        except UnicodeDecodeError as error:
            yield Row(number, fault=explain_encoding(error))
        except RowError as error:
            yield Row(number, fault=error.with_traceback(None))  # which would keep the file open
        except (ValueError, RecursionError) as error:
            detail = f"{shorten(str(error))}: {shorten(line.decode(errors='replace'))}"
            remedy = _ARRAY if line.lstrip().startswith(b"[") else "a row is one JSON object"
            remedy = _NO_LINE_FEEDS if b"\r" in line.strip() else remedy
            yield Row(number, fault=RowError("not JSON", detail, remedy=remedy))


def _read_json(path: Path, stream: IO[bytes]) -> Iterator[Row]:
    """An array of rows, one object over many lines, or one object a line."""
    text = _read_whole(path, stream)
    try:
        value = parse_json(text)
    except (ValueError, RecursionError) as error:
        if not text.lstrip().startswith(b"["):
            yield from _parse_lines(_read_lines(path, io.BytesIO(text)))
            return
        if isinstance(error, UnicodeDecodeError):
            raise
        raise SourceError(f"{path}: not a JSON array ({shorten(str(error))}); one object per line works too") from error
    try:
        _refuse_repeated_keys(text, value)
    except RowError as error:
        raise error.turn_into(SourceError, path) from None
    if isinstance(value, list):
        yield from (_as_row(number, row) for number, row in enumerate(value, 1))
    else:
        yield _as_row(1 + text[: len(text) - len(text.lstrip())].count(b"\n"), value)


def _as_row(number: int, value: object) -> Row:
    if isinstance(value, dict):
        return Row(number, value=value)
    remedy = _ARRAY if isinstance(value, list) else "a row is one JSON object"
    return Row(number, fault=RowError("not a JSON object", show(value), remedy=remedy))


def _refuse_repeated_keys(text: bytes, value: object) -> None:
    """Raise RowError if an object in a JSON text has a key twice; parsing would keep only the last."""
    # Rendered again, such an object has fewer colons; only then is the text parsed a second time, slowly.
    with suppress(TypeError):
        if text.count(b":") <= orjson.dumps(value).count(b":"):
            return

    def check(pairs: list[tuple[str, Any]]) -> None:
        for key, count in Counter(key for key, _ in pairs).items():
            if count > 1:
                raise RowError("a key appears twice in one object", show(key), remedy="keep one")

    json.loads(text, object_pairs_hook=check)


def _read_table(path: Path, stream: IO[bytes]) -> Iterator[Row]:
    """The records of a table by the names in its first line; commas, semicolons or tabs separate the cells."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_LINE.read()))
    lines = (line.decode("utf-8") for _, line in _read_lines(path, stream, whole=True))
    head = next(lines, "")
    separator = max(",;\t", key=head.count)
    reader = csv.reader(chain([head], lines), delimiter=separator, strict=True)
    try:
        names = [name.strip() or f"column {number}" for number, name in enumerate(next(reader), 1)]
        if twice := [name for name in names if names.count(name) > 1]:
            raise SourceError(f"{path}:1: two columns are called {twice[0]!r}; give each its own name")
        end = reader.line_num
        for cells in reader:
            line, end = end + 1, reader.line_num
            while len(cells) > len(names) and not cells[-1].strip():
                cells.pop()
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) == len(names):
                yield Row(line, value=dict(zip(names, cells, strict=True)))
            else:
                detail = f"{len(cells)} under {len(names)} column names"
                remedy = f"put a cell that contains {separator!r} in double quotes"
                fault = RowError("wrong number of cells", detail, remedy=remedy)
                yield Row(line, fault=fault, partial=dict(zip(names, cells, strict=False)))
    except csv.Error as error:
        remedy = _NO_LINE_FEEDS if "\r" in head.rstrip() else "check the double quotes"
        raise SourceError(f"{path}:{reader.line_num}: not a table ({error}); {remedy}") from error


@contextmanager
def _open_text(path: Path, compression: str) -> Iterator[IO[bytes]]:
    """The bytes of a text file in UTF-8, whatever it is compressed with, without its byte order mark."""
    with ExitStack() as stack:
        stream: io.BufferedReader[Any]
        if compression == ".gz":
            stream = io.BufferedReader(stack.enter_context(gzip.open(path, "rb")))
        elif compression == ".zst":
            from prorubric.files.arrow import open_zstd  # noqa: PLC0415 - slow to load, and rarely needed

            stream = io.BufferedReader(stack.enter_context(open_zstd(path)))
        else:
            stream = stack.enter_context(path.open("rb"))
        head = stream.peek(4)[:4]
        encoding = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
        if encoding:
            stream = io.BufferedReader(_Recoded(stream, encoding))
        elif head.startswith(codecs.BOM_UTF8):
            stream.read(len(codecs.BOM_UTF8))
        elif len(head) == 4 and (head[0] == head[2] == 0 < min(head[1], head[3]) or head[1] == head[3] == 0 < head[0]):
            guess = "UTF-16BE" if head[0] == 0 else "UTF-16LE"
            remedy = f"save it as UTF-8, for example with iconv -f {guess} -t UTF-8"
            raise SourceError(f"looks like {guess} without a byte order mark", remedy=remedy, place=path)
        yield stream


class _Recoded(io.RawIOBase):
    """UTF-8 out of a stream in another encoding."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found, part = b"", b"any"
        while part and not found:
            # Two bytes become up to three, and the decoder may have kept some: half of the room is enough for both.
            part = self._stream.read(max(len(buffer) // 2, 1))
            found = self._decoder.decode(part, final=not part).encode("utf-8")
        buffer[: len(found)] = found
        return len(found)
