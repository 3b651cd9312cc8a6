"""What every request passes before and after its route: the token, the limits, the clock, the counts, the log.

The gate stands outside of the framework, so that a request which is refused costs next to nothing: no body is read
without a token, and none while there is no room. A body is read here, up to its limit. Whoever hangs up stops the work
that was done for them.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from prorubric.reward.server.config import Token
from prorubric.reward.server.log import log, log_bug
from prorubric.reward.server.metrics import Metrics
from prorubric.rubric.files import render_json

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

REWARD_ROUTES = ("/score", "/openrlhf", "/slime", "/verify")
ROUTES = (*REWARD_ROUTES, "/seed_session", "/health", "/metrics", "/docs", "/openapi.json")
_OPEN_ROUTES = ("/health",)
_QUIET_ROUTES = ("/health", "/metrics")
"""Asked every few seconds; they would drown the rest of the log."""

RETRY_BUSY, RETRY_UNKNOWN = 1, 5
"""Seconds that a client is told to wait when there is no room, and when the judge gave no verdict."""

BUG = "a bug in the server; its log says where"

_HUNG_UP = 499
"""In counts and log only: nobody is there to read a status."""


class BusyError(Exception):
    """There is no room for so many responses now."""


class Places:
    """How many responses may be judged or waiting at once."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.taken = 0

    @contextmanager
    def take(self, number: int) -> Iterator[None]:
        """Hold some places; `BusyError` where there are not so many."""
        if self.taken + number > self.limit:
            raise BusyError(
                f"{self.taken} responses are judged or waiting and {number} more would be too many; "
                f"ask again, or raise --limit ({self.limit})"
            )
        self.taken += number
        try:
            yield
        finally:
            self.taken -= number


@dataclass(frozen=True, slots=True)
class Rules:
    """What the gate keeps to."""

    token: Token | None
    body_limit: int
    answer_seconds: float
    stop_seconds: float


@dataclass(slots=True)
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


class Gate:
    """The outermost layer of the server."""

    def __init__(self, app: App, rules: Rules, places: Places, metrics: Metrics) -> None:
        self._app = app
        self._rules = rules
        self._places = places
        self._metrics = metrics
        self._clocks: set[asyncio.Timeout] = set()
        self.is_stopping = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, whatever becomes of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"].rstrip("/")
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
        latest = asyncio.get_running_loop().time() + self._rules.stop_seconds
        for clock in self._clocks:
            when = clock.when()
            if when is None or when > latest:
                clock.reschedule(latest)

    async def _serve(self, scope: Scope, receive: Receive, visit: Visit) -> None:
        if not self._is_allowed(scope, visit.route):
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
            visit.held.enter_context(self._places.take(1))
            visit.held.enter_context(self._metrics.count_in_flight())
            await self._serve_in_time(scope, receive, visit)
        except BusyError as error:
            await visit.answer(429, str(error), retry_after=str(RETRY_BUSY))
        except TimeoutError:
            if self.is_stopping:
                await visit.answer(503, "the server is stopping", retry_after=str(RETRY_UNKNOWN))
            else:
                seconds = f"{self._rules.answer_seconds:g}"
                await visit.answer(504, f"no reward within {seconds} s; ask again, or raise --answer-seconds")

    async def _serve_in_time(self, scope: Scope, receive: Receive, visit: Visit) -> None:
        async with asyncio.timeout(self._rules.answer_seconds) as clock:
            self._clocks.add(clock)
            try:
                body = await self._read_body(scope, receive, visit)
                if body is not None:
                    work = self._app(scope, _replay(body), visit.send)
                    # After the whole body there is nothing to receive but the news that its sender has gone.
                    if not await _run_while(work, receive()):
                        visit.status = visit.status or _HUNG_UP
            finally:
                self._clocks.discard(clock)

    async def _read_body(self, scope: Scope, receive: Receive, visit: Visit) -> bytes | None:
        """The body; None where it is too large, which is answered, or its sender has gone."""
        limit = self._rules.body_limit
        said = _find_header(scope, b"content-length")
        if said.isdecimal() and int(said) > limit:
            await visit.answer(413, _describe_size(limit))
            return None
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                visit.status = _HUNG_UP
                return None
            body += message.get("body", b"")
            if len(body) > limit:
                await visit.answer(413, _describe_size(limit))
                return None
            if not message.get("more_body", False):
                return bytes(body)

    def _is_allowed(self, scope: Scope, route: str) -> bool:
        token = self._rules.token
        return token is None or route in _OPEN_ROUTES or token.fits(_find_header(scope, b"authorization"))

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
