"""Every reply ever paid for, in one SQLite file: a cache, and the journal that makes a long run resumable.

Each reply is committed before its caller sees it, alone or with those that came at the same moment, so a killed run
loses the calls in flight and nothing else. Several processes may write at once. Only replies are kept, never a failure;
of a question only its hash, so neither a prompt nor a key is in the file. A file that is not a journal, or one of
another version, is refused with `SourceError` and left as it was; a disk that cannot take a reply raises the same,
because going on would pay for what is lost.
"""

import asyncio
import json
import sqlite3
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from prorubric.errors import SourceError
from prorubric.llm.model import Around, Model, Outcome, Reply, Request

VERSION = 1
_APPLICATION_ID = 0x50725262  # "PrRb", where SQLite keeps the mark of a file's maker
_BUSY_SECONDS = 60.0
_BUSY_PAUSE_SECONDS = 0.02
_STATE = """
SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
       (SELECT count(*) FROM sqlite_master)
"""
_CREATE = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS replies (
    key TEXT NOT NULL UNIQUE,
    text BLOB NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    finish BLOB,
    meta TEXT NOT NULL
);
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {VERSION};
COMMIT;
"""
_PUT = "INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?)"
_GET = "SELECT text, prompt_tokens, completion_tokens, finish, rowid FROM replies WHERE key = ?"
_LAST = "SELECT coalesce(max(rowid), 0) FROM replies"
_CANNOT_KEEP = "cannot keep a reply"
_COUNT = "SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0) FROM replies"


_Row = tuple[str, bytes, int, int, bytes | None, str]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Replies that are committed together, and those who wait for it."""

    loop: asyncio.AbstractEventLoop
    rows: list[_Row] = field(default_factory=list)
    waiting: list[asyncio.Future[None]] = field(default_factory=list)

    def tell(self, error: SourceError | None) -> None:
        """The rows are kept, or why they are not."""
        for turn in self.waiting:
            if turn.done():  # cancelled; its reply is kept like the others
                continue
            if error is None:
                turn.set_result(None)
            else:
                turn.set_exception(error)


def key_of(identity: str, request: Request) -> str:
    """The hash of everything that can change an answer: the model, and every field of the request.

    The order of a schema's properties counts, because a model that is held to a schema writes them in that order.
    """
    question = [
        VERSION,
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
        self._last_row: int = self._execute(_LAST, (), "cannot be read").fetchone()[0]

    def get(self, key: str) -> Reply | None:
        """The reply to a question, marked as cached, or None."""
        row = self._execute(_GET, (key,), "cannot be read").fetchone()
        if row is None:
            return None
        text, prompt_tokens, completion_tokens, finish, number = row
        finish = None if finish is None else _decode(finish)
        repeated = number > self._last_row
        return Reply(_decode(text), prompt_tokens, completion_tokens, finish, cached=True, repeated=repeated)

    def put(self, key: str, reply: Reply, meta: Mapping[str, Any] | None = None) -> None:
        """Keep a reply for good before this returns. The first reply to a question stays."""
        self._execute(_PUT, _render_row(key, reply, meta), _CANNOT_KEEP)

    async def keep(self, key: str, reply: Reply, meta: Mapping[str, Any] | None = None) -> None:
        """Like `put`, in one commit with whatever else is kept in the same turn of the event loop."""
        loop = asyncio.get_running_loop()
        if self._batch is None or self._batch.loop is not loop:
            self._commit()  # what another loop has left behind
            self._batch = _Batch(loop)
            loop.call_soon(self._commit)
        self._batch.rows.append(_render_row(key, reply, meta))
        kept = loop.create_future()
        self._batch.waiting.append(kept)
        await kept

    def counts(self) -> dict[str, int]:
        """How many replies are kept, and the tokens they once used."""
        row = self._execute(_COUNT, (), "cannot be read").fetchone()
        return dict(zip(("replies", "prompt_tokens", "completion_tokens"), row, strict=True))

    def close(self) -> None:
        """Let go of the file. Safe to call twice."""
        self._commit()
        self._connection.close()

    def _commit(self) -> None:
        """Keep what is waiting, and tell those who wait for it."""
        batch, self._batch = self._batch, None
        if batch is None:
            return
        try:
            self._put_all(batch.rows)
        except SourceError as error:
            batch.tell(error)
        else:
            batch.tell(None)

    def _put_all(self, rows: list[_Row]) -> None:
        """Keep all of these rows, or none."""
        self._execute("BEGIN IMMEDIATE", (), _CANNOT_KEEP)
        try:
            self._connection.executemany(_PUT, rows)
            self._connection.execute("COMMIT")
        except (sqlite3.DatabaseError, OverflowError) as error:
            with suppress(sqlite3.DatabaseError):  # a full disk has ended it already
                self._connection.execute("ROLLBACK")
            raise self._explain(_CANNOT_KEEP, error) from None

    def _execute(self, statement: str, values: tuple[Any, ...], trouble: str) -> sqlite3.Cursor:
        try:
            return self._connection.execute(statement, values)
        except (sqlite3.DatabaseError, OverflowError) as error:  # the latter for a count that no column holds
            raise self._explain(trouble, error) from None

    def _explain(self, trouble: str, error: Exception) -> SourceError:
        return SourceError(f"{self.path}: the journal {trouble} ({error})")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class CachedModel(Around[Model]):
    """A model that is asked each question once. The journal stays its maker's to close."""

    def __init__(self, model: Model, journal: Journal) -> None:
        super().__init__(model)
        self._journal = journal
        self._meta = {"model": model.name}
        self._running: dict[str, asyncio.Future[Outcome | None]] = {}

    async def complete(self, request: Request) -> Outcome:
        """Answer from the journal, from the same question in flight, or by asking."""
        key = key_of(self._model.identity, request)
        while (running := self._running.get(key)) is not None:
            # Shielded: the others may still want what a cancelled one waits for.
            outcome = await asyncio.shield(running)
            if outcome is not None:
                return replace(outcome, cached=True, repeated=True) if isinstance(outcome, Reply) else outcome
        return self._journal.get(key) or await self._ask(key, request)

    async def _ask(self, key: str, request: Request) -> Outcome:
        """Make the one call. If it ends without an outcome, the next in waiting makes it."""
        running = self._running[key] = asyncio.get_running_loop().create_future()
        outcome = None
        try:
            outcome = await self._model.complete(request)
            if isinstance(outcome, Reply):
                await self._journal.keep(key, outcome, self._meta)
            return outcome
        finally:
            del self._running[key]
            running.set_result(outcome)


def _open(path: Path) -> sqlite3.Connection:
    connection = None
    try:
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        is_new = _is_new(path, connection)
        _use_wal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        if is_new:
            connection.executescript(_CREATE)
    except (sqlite3.DatabaseError, SourceError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{path}: cannot be opened as a journal ({error}); name another file") from None
    return connection


def _is_new(path: Path, connection: sqlite3.Connection) -> bool:
    """True where there is nothing in the file; refuses what is not ours.

    One statement reads one state of the file, also while another process creates it.
    """
    application, version, tables = connection.execute(_STATE).fetchone()
    if application == 0 and tables == 0:
        return True
    if application != _APPLICATION_ID:
        raise SourceError(f"{path}: a database of another program and not a journal; name another file")
    if version != VERSION:
        raise SourceError(f"{path}: a journal of version {version}, this is version {VERSION}; name another file")
    return False


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
    return key, _encode(reply.text), reply.prompt_tokens, reply.completion_tokens, finish, _render(meta or {}).decode()


def _render(value: object) -> bytes:
    try:
        return orjson.dumps(value, default=dict)
    except TypeError:  # a lone surrogate, which has no UTF-8
        return json.dumps(value, default=dict).encode()


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
