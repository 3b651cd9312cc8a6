"""Connections that have not sent a whole request: how many there may be, and for how long.

uvicorn has no deadline before a request is whole, and asyncio meets a lack of open files with a storm of log lines. So
connections are accepted here and looked over once a second. At the limit, those that keep the server waiting make room:
a client that sends its requests whole is not kept out by any number that do not.
"""

import asyncio
import socket
from functools import partial
from heapq import nsmallest
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from prorubric.reward.server.config import ServeOptions
from prorubric.reward.server.log import Rarely, log_trouble
from prorubric.reward.server.metrics import Metrics

HEAD_LIMIT = 16 * 1024
_TOO_LARGE = f"The head of the request is larger than {HEAD_LIMIT} bytes."
_TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_LOOK_BYTES, _TINY_CHUNK = 4096, 8
"""Chunks of a few bytes cost a thousand times what their bytes do; from so many bytes on they are looked for."""
_AT_ONCE = 64
"""Connections that are opened before the loop turns to other work."""
_PAUSE_SECONDS = 0.1
"""How long to wait when no connection can be accepted or closed."""


class Connection(H11Protocol):
    """A connection that knows how long its client has kept it waiting."""

    since = 0.0
    """When it was opened or last answered, on the loop's clock."""
    has_answered = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """It is open."""
        self.since = self.loop.time()
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Read on. h11 limits what is incomplete; a large head in one piece and tiny chunks would pass."""
        if len(data) > HEAD_LIMIT and self.conn.their_state is h11.IDLE:
            start = self.conn.trailing_data[0][-3:] + data[:HEAD_LIMIT]
            if b"\r\n\r\n" not in start:
                self.send_400_response(_TOO_LARGE)
                return
        elif len(data) > _LOOK_BYTES and data.count(b"\r\n") * _TINY_CHUNK > len(data) and self._is_chunked():
            self.transport.abort()
            return
        super().data_received(data)

    def on_response_complete(self) -> None:
        """It waits for its next request from now on."""
        self.since, self.has_answered = self.loop.time(), True
        super().on_response_complete()

    def _is_chunked(self) -> bool:
        return any(name == b"transfer-encoding" for name, _ in self.headers or ())

    @property
    def is_between(self) -> bool:
        """Whether no request is under way."""
        return self.conn.our_state not in (h11.SEND_RESPONSE, h11.SEND_BODY)

    def hang_up(self) -> None:
        """Close it. Where it is closed already and its client does not read, drop what is left."""
        if self.transport.is_closing():
            self.transport.abort()
            return
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self.transport.write(_TOO_LATE)
        self.transport.close()


class Connections:
    """The connections of a server, from the listener on."""

    def __init__(self, server: uvicorn.Server, options: ServeOptions, limit: int, metrics: Metrics) -> None:
        self._server = server
        self._options = options
        self._limit = limit
        self._metrics = metrics
        self._opening: set[asyncio.Task[Any]] = set()
        self._failing, self._crowded = Rarely(10.0), Rarely(10.0)

    @property
    def _open(self) -> list[Connection]:
        return [one for one in self._server.server_state.connections if isinstance(one, Connection)]

    async def accept(self, listener: socket.socket) -> None:
        """Take connections in until cancelled."""
        loop, server = asyncio.get_running_loop(), self._server
        make = partial(Connection, server.config, server.server_state, server.lifespan.state, loop)
        while True:
            try:
                client, _ = await loop.sock_accept(listener)
            except OSError as error:
                if (number := self._failing.count()) is not None:
                    log_trouble("cannot accept connections", error=error.strerror, times=number)
                self._make_room()
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            task = loop.create_task(loop.connect_accepted_socket(make, client))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)
            if len(self._opening) >= _AT_ONCE:
                await asyncio.wait(self._opening)
            while len(server.server_state.connections) + len(self._opening) >= self._limit:
                await asyncio.sleep(0 if self._make_room() else _PAUSE_SECONDS)

    def look_over(self) -> None:
        """Hang up where a head does not come in time, or an answer is not taken in time."""
        now = asyncio.get_running_loop().time()
        for one in self._open:
            if one.transport.get_write_buffer_size():
                patience = self._options.body_seconds
            elif one.is_between:
                patience = self._options.header_seconds
            else:
                continue  # the gate has a clock on its body and on its answer
            if now - one.since > patience:
                self._metrics.dropped["late"] += 1
                one.hang_up()

    def _make_room(self) -> int:
        """Drop some that sent no whole request: first those that never did, the oldest before others."""
        waiting = [one for one in self._open if one.is_between or one.conn.their_state is h11.SEND_BODY]
        chosen = nsmallest(max(1, self._limit // 16), waiting, key=lambda one: (one.has_answered, one.since))
        for one in chosen:
            one.transport.abort()
        self._metrics.dropped["crowded"] += len(chosen)
        if chosen and (number := self._crowded.count()) is not None:
            log_trouble("too many connections", limit=self._limit, times=number)
        return len(chosen)
