"""Every reply ever paid for, in one SQLite file: a cache, and the journal that makes a long run resumable.

Each reply is committed before its caller sees it, alone or with those that came at the same moment, so a killed run
loses the calls in flight and nothing else. Several processes may write at once: the first reply to a question stays,
and every process uses that one. Only replies are kept, never a failure; of a question only its hash, so neither a
prompt nor a key is in the file.

Each row has a checksum over its key and its reply. A row that does not match it is asked again, counted and replaced. A
file that is not a journal, one of a later version and one whose structure is damaged are refused with `SourceError`; a
disk that cannot take a reply raises the same, because going on would pay for what is lost. A file of version 1, which
had no checksums, gets them when it is first opened.
"""

import asyncio
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import orjson

from prorubric.errors import SourceError
from prorubric.llm.accounting import Usage
from prorubric.llm.model import Model, ModelWrapper, Outcome, Reply, Request
from prorubric.text.show import shorten

VERSION = 2
_KEY_VERSION = 1
"""Part of every key: a change asks everything again."""
_APPLICATION_ID = 0x50725262  # "PrRb", where SQLite keeps the mark of a file's maker
_BUSY_SECONDS = 60.0
_BUSY_PAUSE_SECONDS = 0.02
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
_LAST = "SELECT coalesce(max(rowid), 0) FROM replies"
_COUNT = "SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0) FROM replies"
_MOVE_AWAY = "move it away to ask for all replies again, or name another file"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_TROUBLE = (sqlite3.Error, OverflowError, UnicodeDecodeError)
"""The second for a count that no column holds, the third for what SQLite says of a damaged schema."""


_Row = tuple[str, bytes, int, int, bytes | None, str, bytes | None]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Replies that are committed together, and those who wait to hear which reply is kept."""

    loop: asyncio.AbstractEventLoop
    rows: list[tuple[_Row, Reply]] = field(default_factory=list)
    waiting: list[asyncio.Future[Reply]] = field(default_factory=list)


def key_of(identity: str, request: Request) -> str:
    """The hash of everything that can change an answer: the model, and every field of the request.

    The order of a schema's properties counts, because a model that is held to a schema writes them in that order.
    """
    question = [
        _KEY_VERSION,
        identity,
        [(message.role, message.content) for message in request.messages],
        request.schema,
        request.max_tokens,
        float(request.temperature),
        float(request.top_p),
        request.draw,
    ]
    return sha256(_render(question)).hexdigest()


class Journal:
    """Replies by the hash of their question. Whoever opens it closes it; it is also a context manager."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._connection = _open(self.path)
        self._batch: _Batch | None = None
        self.damaged: set[str] = set()
        """The keys of rows that were found damaged."""
        self._last_row = int((self._query(_LAST, ()) or (0,))[0])

    def get(self, key: str) -> Reply | None:
        """The reply to a question, marked as cached; None where there is none, or it is damaged."""
        row = self._query(_GET, (key,))
        if row is None:
            return None
        reply = _read_row(key, row)
        if reply is None:
            self.damaged.add(key)
            return None
        return replace(reply, repeated=row[-1] > self._last_row)

    async def find(self, key: str) -> tuple[Reply | None, bool]:
        """The reply to a question or None, and whether a damaged one was found instead."""
        return self.get(key), key in self.damaged

    def put(self, key: str, reply: Reply, meta: Mapping[str, Any] | None = None) -> Reply:
        """Keep a reply for good and give the one that is kept: the first reply to a question stays."""
        return self._put_all([(_render_row(key, reply, meta), reply)])[0]

    async def keep(self, key: str, reply: Reply, meta: Mapping[str, Any] | None = None) -> Reply:
        """Like `put`, in one commit with whatever else is kept in the same turn of the event loop."""
        loop = asyncio.get_running_loop()
        if self._batch is None or self._batch.loop is not loop:
            self._commit()  # what another loop has left behind
            self._batch = _Batch(loop)
            loop.call_soon(self._commit)
        self._batch.rows.append((_render_row(key, reply, meta), reply))
        kept: asyncio.Future[Reply] = loop.create_future()
        self._batch.waiting.append(kept)
        return await kept

    def counts(self) -> dict[str, int]:
        """How many replies are kept, and the tokens they once used."""
        row = self._query(_COUNT, ())
        return dict(zip(("replies", "prompt_tokens", "completion_tokens"), row or (), strict=True))

    def close(self) -> None:
        """Let go of the file. Safe to call twice."""
        self._commit()
        self._connection.close()

    def _commit(self) -> None:
        """Keep what is waiting, and tell those who wait for it."""
        batch, self._batch = self._batch, None
        if batch is None:
            return
        # A turn that is done was cancelled; its reply is kept like the others.
        try:
            kept = self._put_all(batch.rows)
        except SourceError as error:
            for turn in batch.waiting:
                if not turn.done():
                    turn.set_exception(error)
            return
        for turn, reply in zip(batch.waiting, kept, strict=True):
            if not turn.done():
                turn.set_result(reply)

    def _put_all(self, rows: list[tuple[_Row, Reply]]) -> list[Reply]:
        """Keep all of these, or none; what is kept for each, with the tokens that ours has used."""
        kept = []
        try:
            with _transaction(self._connection):
                for row, reply in rows:
                    self._connection.execute(_PUT, row)
                    found = self._read_back(row)
                    if found is None:  # damaged
                        self._connection.execute(_REPLACE, row)
                        found = self._read_back(row)
                    if found is None:
                        raise SourceError(f"{self.path}: the journal does not give back what it keeps; {_MOVE_AWAY}")
                    kept.append(replace(reply, text=found.text, finish=found.finish))
        except _TROUBLE as error:
            raise _explain(self.path, "the journal cannot keep a reply", error) from None
        return kept

    def _read_back(self, row: _Row) -> Reply | None:
        found = self._connection.execute(_GET, row[:1]).fetchone()
        return None if found is None else _read_row(row[0], found)

    def _query(self, statement: str, values: tuple[str, ...]) -> tuple[Any, ...] | None:
        try:
            row: tuple[Any, ...] | None = self._connection.execute(statement, values).fetchone()
        except _TROUBLE as error:
            raise _explain(self.path, "the journal cannot be read", error) from None
        return row

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Keeper(Protocol):
    """A journal, in this process or behind an actor on another machine."""

    async def find(self, key: str) -> tuple[Reply | None, bool]:
        """The reply to a question or None, and whether a damaged one was found instead."""

    async def keep(self, key: str, reply: Reply, meta: Mapping[str, Any] | None = None) -> Reply:
        """Keep a reply for good and give the one that is kept."""


class CachedModel(ModelWrapper[Model]):
    """A model that is asked each question once. The journal stays its maker's to close."""

    def __init__(self, model: Model, journal: Keeper, usage: Usage | None = None) -> None:
        super().__init__(model)
        self._journal = journal
        self._usage = usage if usage is not None else Usage()
        """Damaged replies are counted here; the rest is `CountedModel`'s."""
        self._meta = {"model": model.name}
        self._running: dict[str, asyncio.Future[Outcome | None]] = {}

    async def complete(self, request: Request) -> Outcome:
        """Answer from the journal, from the same question in flight, or by asking."""
        key = key_of(self._model.identity, request)
        while (running := self._running.get(key)) is not None:
            # Shielded: the others may still want what a cancelled one waits for.
            outcome = await asyncio.shield(running)
            if isinstance(outcome, Reply):
                return replace(outcome, cached=True, repeated=outcome.repeated or not outcome.cached)
            if outcome is not None:
                return outcome
        running = self._running[key] = asyncio.get_running_loop().create_future()
        outcome = None
        try:
            outcome, is_damaged = await self._journal.find(key)
            if outcome is None:
                self._usage.damaged += is_damaged
                found = await self._model.complete(request)
                # What another process has kept meanwhile is the reply to this question, for a replay as for this run.
                outcome = await self._journal.keep(key, found, self._meta) if isinstance(found, Reply) else found
            return outcome
        finally:  # without an outcome the next in waiting asks
            del self._running[key]
            running.set_result(outcome)


def _open(path: Path) -> sqlite3.Connection:
    connection = None
    try:
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        connection.text_factory = bytes  # what is damaged may not be text
        version = _read_version(path, connection)
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        if version < VERSION:
            connection.create_function("checksum", 5, _compute_checksum)
            with _transaction(connection):
                # Again: another process may have done it meanwhile.
                for statement in {0: _CREATE, 1: _UPGRADE}.get(_read_version(path, connection), ()):
                    connection.execute(statement)
        connection.execute(_GET, ("",)).fetchone()  # a table of another form is refused now
    except (*_TROUBLE, SourceError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, SourceError):
            raise
        raise _explain(path, "cannot be opened as a journal", error) from None
    return connection


def _read_version(path: Path, connection: sqlite3.Connection) -> int:
    """The version of a journal, 0 where there is nothing in the file; refuses what is not ours.

    One statement reads one state of the file, also while another process creates it.
    """
    application, version, tables = connection.execute(_STATE).fetchone()
    if application == 0 and tables == 0:
        return 0
    if application != _APPLICATION_ID:
        raise SourceError(f"{path}: a database of another program and not a journal; name another file")
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


def _explain(path: Path, trouble: str, error: Exception) -> SourceError:
    # The lowest byte is the kind of an error; the others say more about it.
    is_damaged = isinstance(error, UnicodeDecodeError) or getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED
    remedy = _MOVE_AWAY if is_damaged else "check the disk, or name another file"
    return SourceError(f"{path}: {trouble} ({shorten(str(error))}); {remedy}")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging. SQLite does not wait here by itself while another process does the same."""
    give_up = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
            time.sleep(_BUSY_PAUSE_SECONDS)
        else:
            return


def _render_row(key: str, reply: Reply, meta: Mapping[str, Any] | None) -> _Row:
    finish = None if reply.finish is None else _encode(reply.finish)
    kept = (_encode(reply.text), reply.prompt_tokens, reply.completion_tokens, finish)
    return key, *kept, _render(meta or {}).decode(), _compute_checksum(_encode(key), *kept)


def _read_row(key: str, row: tuple[Any, ...]) -> Reply | None:
    """The reply in a row; None where it is damaged."""
    *kept, checksum, _ = row
    if checksum is None or checksum != _compute_checksum(_encode(key), *kept):
        return None
    text, prompt_tokens, completion_tokens, finish = kept
    try:
        return Reply(
            _decode(text), prompt_tokens, completion_tokens, None if finish is None else _decode(finish), cached=True
        )
    except UnicodeDecodeError:  # damaged before it got its checksum
        return None


def _compute_checksum(key: bytes, text: Any, prompt_tokens: Any, completion_tokens: Any, finish: Any) -> bytes | None:
    """Over the key and all of a reply; None where the columns hold something else."""
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


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
