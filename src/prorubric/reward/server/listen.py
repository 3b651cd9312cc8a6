"""The HTTP server: uvicorn with limits on its connections, and with a stop that lets running requests finish.

uvicorn has no deadline before a request is complete, and asyncio answers a lack of open files with a storm of log
lines. So connections are accepted here and checked once a second. At the limit, those that keep the server waiting make
room: a client that sends complete requests is not kept out by any number that do not.
"""

import asyncio
import errno
import signal
import socket
from collections.abc import Callable
from functools import partial
from heapq import nsmallest
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from prorubric.errors import ConfigError
from prorubric.reward.engine import run_blocking
from prorubric.reward.server.config import ServerOptions
from prorubric.reward.server.gate import ServerGate
from prorubric.reward.server.log import log_error
from prorubric.reward.server.metrics import Metrics

try:
    import resource
except ImportError:  # not a Unix
    resource = None  # type: ignore[assignment]

HEAD_LIMIT = 16 * 1024
_TOO_LARGE = f"The head of the request is larger than {HEAD_LIMIT} bytes."
_TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_LOOK_BYTES, _TINY_CHUNK = 4096, 8
"""Chunks of a few bytes cost a thousand times what their bytes do; reads of this size are checked for them."""
_BACKLOG = 2048
"""Connections that the system keeps until they are accepted."""
_AT_ONCE = 64
"""Connections that are opened before the loop turns to other work."""
_PAUSE_SECONDS = 0.1
"""How long to wait when no connection can be accepted or closed."""
_LOG_SECONDS = 10.0
"""How long a lack of room is not logged again."""
_BACKSTOP_SECONDS = 5.0
"""Added to the time that requests have to finish; then uvicorn cancels what is left."""


class Connection(H11Protocol):
    """A connection that knows how long its client has kept it waiting."""

    since = 0.0
    """When it was opened or last answered, on the loop's clock."""
    has_answered = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Note when it was opened."""
        self.since = self.loop.time()
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Refuse a large head in one piece and tiny chunks, which h11's own limits let pass."""
        has_tiny_parts = len(data) > _LOOK_BYTES and data.count(b"\r\n") * _TINY_CHUNK > len(data)
        if len(data) > HEAD_LIMIT and self.conn.their_state is h11.IDLE:
            start = self.conn.trailing_data[0][-3:] + data[:HEAD_LIMIT]
            if b"\r\n\r\n" not in start:
                self.send_400_response(_TOO_LARGE)
                return
        elif has_tiny_parts and any(name == b"transfer-encoding" for name, _ in self.headers or ()):
            self.transport.abort()
            return
        super().data_received(data)

    def on_response_complete(self) -> None:
        """It waits for its next request from now on."""
        self.since, self.has_answered = self.loop.time(), True
        super().on_response_complete()

    @property
    def is_idle(self) -> bool:
        """Whether no request is being served."""
        return self.conn.our_state not in (h11.SEND_RESPONSE, h11.SEND_BODY)

    def hang_up(self) -> None:
        """Close it. If it is closed already and its client does not read, drop what is left."""
        if self.transport.is_closing():
            self.transport.abort()
            return
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0]:
            self.transport.write(_TOO_LATE)
        self.transport.close()


class Server(uvicorn.Server):
    """Uvicorn that accepts its own connections, and tells the gate when it is asked to stop."""

    def __init__(self, gate: ServerGate, options: ServerOptions, metrics: Metrics, limit: int) -> None:
        super().__init__(
            uvicorn.Config(
                gate,
                http=Connection,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
                timeout_graceful_shutdown=int(options.stop_seconds + _BACKSTOP_SECONDS),
            )
        )
        self._gate, self._options, self._metrics, self._limit = gate, options, metrics, limit
        self._on_start: Callable[[], None] = lambda: None
        self._accepting: list[asyncio.Task[None]] = []
        self._opening: set[asyncio.Task[Any]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run_until_stopped(self, listener: socket.socket, on_start: Callable[[], None]) -> None:
        """Serve until SIGINT or SIGTERM. These come to the main thread, and the server runs in another."""
        self._on_start = on_start
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            # On the loop that has the judge's sockets: a thread of its own would only compete for the interpreter.
            run_blocking(self.serve([listener]))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections."""
        self._loop = asyncio.get_running_loop()
        await super().startup([])
        self._accepting = [self._loop.create_task(self._accept(listener)) for listener in sockets or ()]
        self._on_start()

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second; once a second, close connections whose client is late."""
        if counter % 10 == 0:
            now = asyncio.get_running_loop().time()
            for one in self._list_open():
                if one.transport.get_write_buffer_size():
                    patience = self._options.body_seconds
                elif one.is_idle:
                    patience = self._options.header_seconds
                else:
                    continue  # the gate has a time limit for its body and its answer
                if now - one.since > patience:
                    self._metrics.dropped_connections.labels("late").inc()
                    one.hang_up()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept nothing more, and let running requests finish."""
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal asked the server to stop."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._gate.stop)
        super().handle_exit(sig, frame)

    async def _accept(self, listener: socket.socket) -> None:
        """Accept connections until cancelled."""
        loop = asyncio.get_running_loop()
        make = partial(Connection, self.config, self.server_state, self.lifespan.state, loop)
        while True:
            try:
                client, _ = await loop.sock_accept(listener)
            except OSError as error:
                log_error("cannot accept connections", pause=_LOG_SECONDS, error=error.strerror)
                self._make_room()
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            task = loop.create_task(loop.connect_accepted_socket(make, client))
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)
            if len(self._opening) >= _AT_ONCE:
                await asyncio.wait(self._opening)
            while len(self.server_state.connections) + len(self._opening) >= self._limit:
                await asyncio.sleep(0 if self._make_room() else _PAUSE_SECONDS)

    def _make_room(self) -> int:
        """Drop some that sent no complete request: first those that never did, the oldest before others."""
        waiting = [one for one in self._list_open() if one.is_idle or one.conn.their_state is h11.SEND_BODY]
        chosen = nsmallest(max(1, self._limit // 16), waiting, key=lambda one: (one.has_answered, one.since))
        for one in chosen:
            one.transport.abort()
        self._metrics.dropped_connections.labels("crowded").inc(len(chosen))
        if chosen:
            log_error("too many connections", pause=_LOG_SECONDS, limit=self._limit)
        return len(chosen)

    def _list_open(self) -> list[Connection]:
        return [one for one in self.server_state.connections if isinstance(one, Connection)]


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens on an address; `ConfigError` if that is not possible."""
    try:
        # TCP by name: only then asyncio turns off Nagle's algorithm, which costs 40 ms per answer.
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    except socket.gaierror as error:
        raise ConfigError(f"--host {host}: no such address ({error.strerror}); use one of this machine") from None
    try:
        listener.bind(address)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(f"port {port} of {host} is in use; choose another --port, or 0 for a free one") from None
        raise ConfigError(f"cannot listen on {host}:{port} ({error.strerror})") from None
    return listener


def limit_connections(wanted: int, other_files: int) -> int:
    """How many connections there may be besides other open files; raises the limit on open files if allowed."""
    if resource is None:
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    total = wanted + other_files
    if soft != resource.RLIM_INFINITY and soft < total:
        soft = total if hard == resource.RLIM_INFINITY else min(hard, total)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    allowed = wanted if soft == resource.RLIM_INFINITY else max(soft // 2, soft - other_files)
    return min(wanted, allowed)
