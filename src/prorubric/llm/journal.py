"""Every reply ever paid for, in one SQLite file: a cache, and the journal that makes a long run resumable.

Each reply is committed before its caller sees it, so a killed run loses the calls in flight and nothing else. Several
processes may write at once: the first reply to a question stays, and all use that one. Failures are not kept. Of a
question only the hash is kept, so the file has no prompts and no key.

A row that does not match its checksum is asked again, counted and replaced. A file that is not a journal, is of a later
version or has a damaged structure is refused with `SourceError`; a disk that cannot take a reply raises the same,
because continuing would pay for what is lost. A file of version 1, which had no checksums, gets them when opened.
"""

import asyncio
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any, Self

import orjson

from prorubric.errors import SourceError
from prorubric.llm.accounting import Usage
from prorubric.llm.model import Reply, Request
from prorubric.text.show import shorten

VERSION = 2
_KEY_VERSION = 1
"""Part of every key: a change asks everything again."""
_APPLICATION_ID = 0x50725262  # "PrRb", where SQLite keeps the mark of a file's maker
_BUSY_SECONDS = 60.0
_STATE = """
SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
       (SELECT count(*) FROM sqlite_master)
"""
_CREATE = (
    "CREATE TABLE replies (key UNIQUE, text, prompt_tokens, completion_tokens, finish, meta, checksum)",
    f"PRAGMA application_id = {_APPLICATION_ID}",
    f"PRAGMA user_version = {VERSION}",
)
_UPGRADE = (
    "ALTER TABLE replies RENAME TO old",
    *_CREATE,
    """INSERT INTO replies SELECT key, text, prompt_tokens, completion_tokens, finish, meta,
       checksum(CAST(key AS BLOB), text, prompt_tokens, completion_tokens, finish) FROM old""",
    "DROP TABLE old",
)
_PUT = "INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)"
_REPLACE = "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?)"
_GET = "SELECT text, prompt_tokens, completion_tokens, finish, checksum, rowid FROM replies WHERE key = ?"
_COUNT = """SELECT json_extract(meta, '$.model'), count(*), sum(prompt_tokens), sum(completion_tokens)
FROM replies GROUP BY 1"""
_LAST = "SELECT coalesce(max(rowid), 0) FROM replies"
_MOVE_AWAY = "move it away to ask for all replies again, or name another file"
_BUSY, _DAMAGED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}, {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_ERRORS = (sqlite3.Error, OverflowError, UnicodeDecodeError)
"""The second for a count that does not fit a column, the third for SQLite's words about a damaged schema."""

_Row = tuple[str, bytes, int, int, bytes | None, str, bytes | None]


def key_of(identity: str, request: Request) -> str:
    """The hash of everything that can change an answer, the order of a schema's properties included."""
    question: list[Any] = [
        _KEY_VERSION,
        identity,
        [(message.role, message.content) for message in request.messages],
        request.schema,
        request.max_tokens,
        float(request.temperature),
        float(request.top_p),
        request.draw,
    ]
    if request.options:  # without any, the key is the one from before there were options
        question.append(request.options)
    return sha256(_render(question)).hexdigest()


class Journal:
    """Replies by the hash of their question. Close it after use; it is also a context manager."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._connection = _open(self.path)
        self._waiting: list[tuple[_Row, Reply, asyncio.Future[Reply]]] = []
        self.damaged: set[str] = set()
        """The keys of rows that were found damaged."""
        self._last_row = int(self._query(_LAST, ())[0])

    def get(self, key: str) -> Reply | None:
        """The reply to a question, marked as cached; None if there is none or it is damaged."""
        row = self._query(_GET, (key,))
        reply = _read_row(key, row) if row else None
        if row and reply is None:
            self.damaged.add(key)
        return reply and replace(reply, repeated=row[-1] > self._last_row)

    async def find(self, key: str) -> tuple[Reply | None, bool]:
        """The reply to a question or None, and whether a damaged one was found instead."""
        return self.get(key), key in self.damaged

    def put(self, key: str, reply: Reply, meta: Mapping[str, Any] | None = None) -> Reply:
        """Keep a reply and return the one that is kept: the first reply to a question stays."""
        return self._put_all([(_render_row(key, reply, meta), reply)])[0]

    async def keep(self, key: str, reply: Reply, meta: Mapping[str, Any] | None = None) -> Reply:
        """Like `put`, in one commit with everything else that is kept in the same turn of the event loop."""
        loop = asyncio.get_running_loop()
        if self._waiting and self._waiting[0][-1].get_loop() is not loop:
            self._commit()  # what another loop left behind
        if not self._waiting:
            loop.call_soon(self._commit)
        kept: asyncio.Future[Reply] = loop.create_future()
        self._waiting.append((_render_row(key, reply, meta), reply, kept))
        return await kept

    def count(self) -> list[Usage]:
        """Replies and tokens by model, over everything that is kept."""
        rows = self._connection.execute(_COUNT).fetchall()
        return [
            Usage(str(model or b"", "utf-8"), calls, prompt_tokens=prompt, completion_tokens=made)
            for model, calls, prompt, made in rows
        ]

    def close(self) -> None:
        """Commit what is waiting and close the file. Safe to call twice."""
        self._commit()
        self._connection.close()

    def _commit(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        # A turn that is done was cancelled; its reply is kept like the others.
        turns = [turn for *_, turn in waiting]
        try:
            kept = self._put_all([(row, reply) for row, reply, _ in waiting])
        except SourceError as error:
            for turn in turns:
                if not turn.done():
                    turn.set_exception(error)
            return
        for turn, reply in zip(turns, kept, strict=True):
            if not turn.done():
                turn.set_result(reply)

    def _put_all(self, rows: Sequence[tuple[_Row, Reply]]) -> list[Reply]:
        """Keep all of these or none; what is kept for each, with the tokens that ours used."""
        kept = []
        try:
            with _transaction(self._connection):
                if self._connection.executemany(_PUT, [row for row, _ in rows]).rowcount == len(rows):
                    return [reply for _, reply in rows]  # all of these questions are new
                for row, reply in rows:
                    found = None
                    for statement in (_PUT, _REPLACE):  # the second if what is there is damaged
                        self._connection.execute(statement, row)
                        found = _read_row(row[0], self._connection.execute(_GET, row[:1]).fetchone())
                        if found is not None:
                            break
                    if found is None:
                        raise SourceError(f"{self.path}: the journal does not return what it keeps; {_MOVE_AWAY}")
                    kept.append(replace(reply, text=found.text, finish=found.finish))
        except _ERRORS as error:
            raise _explain(self.path, "the journal cannot keep a reply", error) from None
        return kept

    def _query(self, statement: str, values: tuple[str, ...]) -> Any:
        try:
            return self._connection.execute(statement, values).fetchone()
        except _ERRORS as error:
            raise _explain(self.path, "the journal cannot be read", error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open(path: Path) -> sqlite3.Connection:
    connection = None
    try:
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        connection.text_factory = bytes  # damaged data may not be text
        version = _read_version(path, connection)
        give_up = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                # SQLite does not wait here by itself while another process does the same.
                if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() > give_up:
                    raise
                time.sleep(0.02)
        connection.execute("PRAGMA synchronous = NORMAL")
        if version < VERSION:
            connection.create_function("checksum", 5, _compute_checksum)
            with _transaction(connection):
                # Read it again: another process may have done this meanwhile.
                for statement in {0: _CREATE, 1: _UPGRADE}.get(_read_version(path, connection), ()):
                    connection.execute(statement)
        connection.execute(_GET, ("",)).fetchone()  # refuses a table of another form now
    except (*_ERRORS, SourceError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, SourceError):
            raise
        raise _explain(path, "cannot be opened as a journal", error) from None
    return connection


def _read_version(path: Path, connection: sqlite3.Connection) -> int:
    """The version of a journal, 0 if the file is empty; refuses any other file."""
    # One statement reads one state of the file, even while another process creates it.
    application, version, tables = connection.execute(_STATE).fetchone()
    if application == 0 and tables == 0:
        return 0
    if application != _APPLICATION_ID:
        raise SourceError(f"{path}: a database of another program, not a journal; name another file")
    if not 1 <= version <= VERSION:
        raise SourceError(f"{path}: a journal of version {version}, this is version {VERSION}; name another file")
    return int(version)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk has ended it already
            connection.execute("ROLLBACK")
        raise


def _explain(path: Path, problem: str, error: Exception) -> SourceError:
    # The lowest byte of SQLite's code is the kind of error.
    is_damaged = isinstance(error, UnicodeDecodeError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED
    remedy = _MOVE_AWAY if is_damaged else "check the disk, or name another file"
    return SourceError(f"{path}: {problem} ({shorten(str(error))}); {remedy}")


def _render_row(key: str, reply: Reply, meta: Mapping[str, Any] | None) -> _Row:
    finish = None if reply.finish is None else _encode(reply.finish)
    kept = (_encode(reply.text), reply.prompt_tokens, reply.completion_tokens, finish)
    return key, *kept, _render(meta or {}).decode(), _compute_checksum(_encode(key), *kept)


def _read_row(key: str, row: tuple[Any, ...]) -> Reply | None:
    """The reply in a row; None if it is damaged."""
    *kept, checksum, _ = row
    if checksum is None or checksum != _compute_checksum(_encode(key), *kept):
        return None
    text, prompt_tokens, completion_tokens, finish = kept
    try:
        text = text.decode("utf-8", "surrogatepass")
        finish = None if finish is None else finish.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:  # damaged before it got its checksum
        return None
    return Reply(text, prompt_tokens, completion_tokens, finish, cached=True)


def _compute_checksum(key: bytes, text: Any, prompt_tokens: Any, completion_tokens: Any, finish: Any) -> bytes | None:
    """Over the key and all of a reply; None if the columns contain something else."""
    counts = (prompt_tokens, completion_tokens)
    if not isinstance(text, bytes) or not isinstance(finish, bytes | None) or not all(type(n) is int for n in counts):
        return None
    sizes = (len(key), len(text), -1 if finish is None else len(finish))
    return blake2b(b"%d %d %d %d %d " % (*sizes, *counts) + key + text + (finish or b""), digest_size=16).digest()


def _render(value: object) -> bytes:
    try:
        return orjson.dumps(value, default=dict)
    except TypeError:  # a lone surrogate, which has no UTF-8
        return json.dumps(value, default=dict).encode()


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
