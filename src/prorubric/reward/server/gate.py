"""What every request passes before and after its route: the name it uses, the token, the limits, the clock, the log.

The gate is outside the framework, so that a request which is refused costs next to nothing: no body is read without a
token, and none while there is no room. A body is read here, up to its limit, and takes a place only when it is whole.
A client that hangs up stops the work that was done for it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from prorubric.files.json import render_json
from prorubric.reward.server.config import ServeOptions, Token
from prorubric.reward.server.log import log, log_bug
from prorubric.reward.server.metrics import Metrics
from prorubric.text.show import shorten

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

REWARD_ROUTES = ("/score", "/openrlhf", "/slime", "/verify")
ROUTES = (*REWARD_ROUTES, "/seed_session", "/health", "/metrics", "/openapi.json")
_OPEN_ROUTES = ("/health",)
_QUIET_ROUTES = ("/health", "/metrics")
"""Asked every few seconds; they would drown the rest of the log."""

RETRY_BUSY, RETRY_UNKNOWN = 1, 5
"""Seconds that a client is told to wait when there is no room, and when the judge gave no verdict."""

BUG = "a bug in the server; its log says where"

_HUNG_UP = 499
"""In counts and log only: nobody is there to read a status."""


_VALUE_BYTES = 80
"""What a value takes in memory beside its text, once a body is read as JSON; a comma stands for each."""


class BusyError(Exception):
    """There is no room for so many responses now."""


class Places:
    """How many responses may be judged or waiting at once."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.taken = 0

    def check(self, number: int) -> None:
        """`BusyError` where there are not so many places."""
        if self.taken + number > self.limit:
            raise BusyError(
                f"{self.taken} responses are judged or waiting and {number} more would be too many; "
                f"ask again, or raise --response-limit ({self.limit})"
            )

    @contextmanager
    def take(self, number: int) -> Iterator[None]:
        """Hold some places; `BusyError` where there are not so many."""
        self.check(number)
        self.taken += number
        try:
            yield
        finally:
            self.taken -= number


@dataclass(frozen=True, slots=True)
class Rules:
    """What the gate keeps to."""

    token: Token | None
    hosts: frozenset[str] | None
    """What the `Host` of a request may say; None where it may say anything."""
    options: ServeOptions


@dataclass(slots=True, eq=False)
class Visit:
    """One request on its way."""

    route: str
    send_on: Send
    conclude: Callable[["Visit"], None]
    started: float = field(default_factory=time.perf_counter)
    status: int | None = None
    held: ExitStack = field(default_factory=ExitStack)
    """What it takes up until it is answered."""
    notes: dict[str, Any] = field(default_factory=dict)
    """What its route adds to the log."""
    is_over: bool = False
    clock: asyncio.Timeout | None = None
    """Runs while its body is read."""
    size: int = 0
    """How many bytes of its body are held."""
    is_crowded_out: bool = False
    """Whether its body had to make room for others."""

    async def send(self, message: Message) -> None:
        """Pass an answer on. Its place is free before its client can ask again."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.end()
        await self.send_on(message)

    def end(self) -> None:
        """Give back what it held and count it, once."""
        if not self.is_over:
            self.is_over = True
            self.held.close()
            self.conclude(self)

    async def answer(self, status: int, error: str, **headers: str) -> None:
        """Answer with one line, unless an answer has begun."""
        if self.status is not None:
            return
        body = render_json({"error": error})
        fields = {"content-type": "application/json", "content-length": str(len(body)), **headers}
        encoded = [(name.replace("_", "-").encode(), value.encode()) for name, value in fields.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": encoded})
        await self.send({"type": "http.response.body", "body": body})


class Bodies:
    """The bytes of all bodies that are read or being answered. The largest unfinished one makes room for others."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._total = 0
        self._unfinished: set[Visit] = set()

    def open(self, visit: Visit) -> None:
        """A body begins to arrive; it is held until its visit ends."""
        self._unfinished.add(visit)
        visit.held.callback(self._release, visit)

    def add(self, visit: Visit, size: int) -> None:
        """More of it has arrived."""
        visit.size += size
        self._total += size
        while self._total > self.limit and self._unfinished:
            largest = max(self._unfinished, key=lambda one: one.size)
            largest.is_crowded_out = True
            self._release(largest)
            if largest.clock is not None and not largest.clock.expired():
                largest.clock.reschedule(0)

    def close(self, visit: Visit) -> None:
        """All of it has arrived, or no more will."""
        self._unfinished.discard(visit)

    def _release(self, visit: Visit) -> None:
        self.close(visit)
        self._total -= visit.size
        visit.size = 0


class Gate:
    """The outermost layer of the server."""

    def __init__(self, app: App, rules: Rules, places: Places, metrics: Metrics) -> None:
        self._app = app
        self._rules = rules
        self._places = places
        self._bodies = Bodies(max(rules.options.total_body_limit, rules.options.body_limit))
        self._metrics = metrics
        self._clocks: set[asyncio.Timeout] = set()
        self.is_stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, whatever becomes of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"] = scope["path"].removesuffix("/") or "/"  # no redirect, which would quote the client
        visit = Visit(path if path in ROUTES else "other", send, self._conclude)
        scope["visit"] = visit
        try:
            await self._serve(scope, receive, visit)
        except Exception as error:  # noqa: BLE001 - one request's bug must not be the server's end
            log_bug("bug", error, route=visit.route)
            await visit.answer(500, BUG)
        finally:
            visit.end()

    def stop(self) -> None:
        """Let what is under way end soon, and nothing new begin."""
        if not self.is_stopping:
            log("stopping", under_way=len(self._clocks))
        self.is_stopping = True
        latest = asyncio.get_running_loop().time() + self._rules.options.stop_seconds
        for clock in self._clocks:
            when = clock.when()
            if when is None or when > latest:
                clock.reschedule(latest)

    async def _serve(self, scope: Scope, receive: Receive, visit: Visit) -> None:
        host = _find_header(scope, b"host").lower()
        hosts, token = self._rules.hosts, self._rules.token
        has_length, coding = _find_header(scope, b"content-length"), _find_header(scope, b"transfer-encoding")
        if hosts is not None and host not in hosts and host.rpartition(":")[0] not in hosts:
            line = f"this server is not called {shorten(repr(host))}; use its address, or start it with --allow-host"
            await visit.answer(421, line, connection="close")
        elif coding and (has_length or scope["http_version"] == "1.0"):
            line = "Transfer-Encoding with Content-Length, or in HTTP/1.0, has two meanings; send one length"
            await visit.answer(400, line, connection="close")
        elif (
            token is not None
            and visit.route not in _OPEN_ROUTES
            and not token.fits(_find_header(scope, b"authorization"))
        ):
            await visit.answer(
                401, "no token, or not the right one; send it as a bearer token", www_authenticate="Bearer"
            )
        elif self.is_stopping:
            await visit.answer(503, "the server is stopping", retry_after=str(RETRY_UNKNOWN))
        elif visit.route not in REWARD_ROUTES:
            await self._app(scope, receive, visit.send)
        else:
            await self._serve_reward(scope, receive, visit)

    async def _serve_reward(self, scope: Scope, receive: Receive, visit: Visit) -> None:
        try:
            self._places.check(1)
            visit.held.enter_context(self._metrics.count_in_flight())
            await self._serve_in_time(scope, receive, visit)
        except BusyError as error:
            await visit.answer(429, str(error), retry_after=str(RETRY_BUSY))
        except TimeoutError:
            if self.is_stopping:
                await visit.answer(503, "the server is stopping", retry_after=str(RETRY_UNKNOWN))
            else:
                seconds = f"{self._rules.options.answer_seconds:g}"
                await visit.answer(504, f"no reward within {seconds} s; ask again, or raise --answer-seconds")

    async def _serve_in_time(self, scope: Scope, receive: Receive, visit: Visit) -> None:
        async with asyncio.timeout(self._rules.options.answer_seconds) as clock:
            self._clocks.add(clock)
            try:
                body = await self._read_body(scope, receive, visit)
                if body is not None:
                    visit.held.enter_context(self._places.take(1))
                    work = self._app(scope, _replay(body), visit.send)
                    # After the whole body there is nothing to receive but the news that its sender has gone.
                    if not await _run_while(work, receive()):
                        visit.status = visit.status or _HUNG_UP
            finally:
                self._clocks.discard(clock)

    async def _read_body(self, scope: Scope, receive: Receive, visit: Visit) -> bytes | None:
        """The body; None where it is refused, which is answered, or its sender has gone."""
        options = self._rules.options
        coding, said = _find_header(scope, b"content-encoding"), _find_header(scope, b"content-length")
        if coding not in ("", "identity"):
            await visit.answer(415, f"the body is encoded as {shorten(repr(coding))}; send it as plain JSON")
            return None
        if said.isdecimal() and int(said) > options.body_limit:
            await visit.answer(413, _describe_size(options.body_limit))
            return None
        body = bytearray()
        self._bodies.open(visit)
        try:
            async with asyncio.timeout(options.body_seconds) as visit.clock:
                is_whole = False
                while not is_whole and len(body) <= options.body_limit:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        visit.status = _HUNG_UP
                        return None
                    body += message.get("body", b"")
                    self._bodies.add(visit, len(message.get("body", b"")))
                    is_whole = not message.get("more_body", False)
                self._bodies.add(visit, _VALUE_BYTES * body.count(b","))
        except TimeoutError:
            line = f"the body did not arrive within {options.body_seconds:g} s; send it faster, or raise --body-seconds"
            if not visit.is_crowded_out:
                await visit.answer(408, line, connection="close")
        finally:
            self._bodies.close(visit)
        if visit.is_crowded_out:
            held = f"bodies of requests hold more than {self._bodies.limit:,} bytes"
            line = f"{held}; ask again, or raise --total-body-limit"
            await visit.answer(429, line, retry_after=str(RETRY_BUSY), connection="close")
        elif len(body) > options.body_limit:
            await visit.answer(413, _describe_size(options.body_limit))
        return bytes(body) if visit.status is None else None

    def _conclude(self, visit: Visit) -> None:
        status, seconds = visit.status or 500, time.perf_counter() - visit.started
        self._metrics.count_request(visit.route, status)
        if visit.route in REWARD_ROUTES:
            self._metrics.time_request(visit.route, seconds)
        if visit.route not in _QUIET_ROUTES or status >= 400:
            log("request", route=visit.route, status=status, seconds=round(seconds, 4), **visit.notes)


async def _run_while(work: Awaitable[None], gone: Awaitable[Message]) -> bool:
    """Run work until it is done, or until its client has gone; True where it was done."""
    working, waiting = asyncio.ensure_future(work), asyncio.ensure_future(gone)
    try:
        await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            await working
            return True
        return False
    finally:
        for task in (working, waiting):
            task.cancel()
        await asyncio.gather(working, waiting, return_exceptions=True)


def _replay(body: bytes) -> Receive:
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        return next(messages, {"type": "http.disconnect"})

    return receive


def _find_header(scope: Scope, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def _describe_size(limit: int) -> str:
    return f"the body is larger than {limit:,} bytes; send fewer responses at once, or raise --body-limit"
