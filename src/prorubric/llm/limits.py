"""How many calls and tokens an endpoint is asked for at once and per minute, in the order of the calls.

A call waits here until there is room and then gets a `Permit`, which it must release. An endpoint that says "too many
requests" is asked less: half as many calls at once, none new before the moment it names, and one more at once after
every few replies. An endpoint that has not replied yet is asked nothing new while calls to it are retried. Nothing
fails here. For one thread at a time; several event loops may use a limiter in turn.
"""

import asyncio
import time
from collections import deque
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import inf

from prorubric.llm.model import Request

_SUCCESSES_PER_STEP = 10  # replies in a row after which a slowed limiter allows one more concurrent call


def estimate_tokens(request: Request) -> int:
    """The tokens that a call may use: a quarter of its characters, and all it is allowed to write."""
    characters = sum(len(message.content) for message in request.messages)
    return characters // 4 + request.max_tokens


class Window:
    """At most `limit` in any stretch of `seconds`; an amount above the limit goes alone."""

    def __init__(self, limit: float, seconds: float) -> None:
        self.limit = limit
        self.seconds = seconds
        self._spent: deque[list[float]] = deque()
        self._sum = 0.0

    def wait_for(self, amount: float, now: float) -> float:
        """Seconds until an amount fits; 0 if it fits now."""
        while self._spent and self._spent[0][0] + self.seconds <= now:
            self._sum -= self._spent.popleft()[1]
        excess, wait = self._sum + amount - self.limit, 0.0
        for moment, spent in self._spent:
            if excess <= 0:
                break
            excess -= spent
            wait = moment + self.seconds - now
        return wait

    def spend(self, amount: int, now: float) -> list[float]:
        """Note an amount; `correct` takes the entry returned."""
        entry = [now, amount]
        if self.limit < inf:
            self._spent.append(entry)
            self._sum += amount
        return entry

    def correct(self, entry: list[float], amount: int) -> None:
        """Replace an estimate by the real amount. An entry that has left the window changes nothing."""
        if self._spent and entry[0] >= self._spent[0][0]:
            self._sum += amount - entry[1]
        entry[1] = amount


@dataclass(slots=True)
class Permit:
    """The right to one call: the slow-downs before it began, and the tokens set aside for it."""

    slowdowns: int
    entry: list[float]


_Turn = asyncio.Future[Permit | None]
"""How a wait ends: with a permit, or with None if the limiter was stopped."""


@dataclass(slots=True, order=True)
class _Waiter:
    ticket: int
    tokens: int = field(compare=False)
    is_retry: bool = field(compare=False)
    turn: _Turn = field(compare=False)


class Limiter:
    """Lets calls through in the order of their tickets, within concurrency, requests and tokens per minute."""

    def __init__(
        self,
        concurrency: int,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        window_seconds: float = 60.0,
    ) -> None:
        self.concurrency = concurrency
        self.allowed = concurrency
        """How many calls may run at once now; less than `concurrency` after a slow-down."""
        self.in_flight = 0
        self._requests = Window(requests_per_minute or inf, window_seconds)
        self._tokens = Window(tokens_per_minute or inf, window_seconds)
        self._successes = 0
        self._slowdowns = 0
        self._paused_until = 0.0
        self._held_until = 0.0
        self._tickets = count()
        self._line: list[_Waiter] = []
        self.resting: set[_Turn] = set()
        """Calls that rest before a retry."""
        self.is_stopped = False
        self._timer: asyncio.TimerHandle | None = None

    def take_ticket(self) -> int:
        """A place in line. A call keeps it for its retries, so a retry goes before later calls."""
        return next(self._tickets)

    async def acquire(self, ticket: int, tokens: int, *, is_retry: bool = False) -> Permit | None:
        """Wait for room; None if the limiter is stopped. A pause holds new calls only: a retry has waited already."""
        if self.is_stopped:
            return None
        if not self._line and self._wait(tokens, is_retry, now := time.monotonic()) <= 0:
            return self._admit(tokens, now)
        waiter = _Waiter(ticket, tokens, is_retry, asyncio.get_running_loop().create_future())
        heappush(self._line, waiter)
        self._let_through()
        try:
            permit = await waiter.turn
        except asyncio.CancelledError:
            # The permit goes back, or the place to the next in line.
            permit = waiter.turn.result() if waiter.turn.done() and not waiter.turn.cancelled() else None
            if permit is not None:
                self.release(permit, tokens=0)
            else:
                self._let_through()
            raise
        if permit is not None and self.is_stopped:  # stopped between being let through and going
            self.release(permit, tokens=0)
            return None
        return permit

    async def rest(self, seconds: float) -> bool:
        """Sleep before a retry; False if the limiter is stopped, which ends the sleep at once."""
        if self.is_stopped:
            return False
        turn: _Turn = asyncio.get_running_loop().create_future()
        self.resting.add(turn)
        try:
            await asyncio.wait([turn], timeout=seconds)
        finally:
            self.resting.discard(turn)
        return not self.is_stopped

    def stop(self) -> None:
        """Let nothing more through and end all waits. Calls with a permit continue. Safe to call twice."""
        self.is_stopped = True
        waiting = [*self.resting, *(waiter.turn for waiter in self._line)]
        self._line.clear()
        self._come_back_in(inf)
        for turn in waiting:
            # A future of a closed loop can no longer be woken.
            if not turn.done() and not turn.get_loop().is_closed():
                turn.set_result(None)

    def release(self, permit: Permit, tokens: int | None = None) -> None:
        """Return a permit, with the tokens really used if known."""
        self.in_flight -= 1
        if tokens is not None:
            self._tokens.correct(permit.entry, tokens)
        self._let_through()

    def speed_up(self) -> None:
        """A call went well; after a few of them one more may run at once."""
        self._successes += 1
        if self.allowed < self.concurrency and self._successes >= _SUCCESSES_PER_STEP:
            self._successes = 0
            self.allowed += 1
            self._let_through()

    def slow_down(self, permit: Permit, pause_seconds: float = 0.0) -> None:
        """The endpoint said "too many requests". Calls sent together count as one warning and halve the limit once."""
        self._paused_until = max(self._paused_until, time.monotonic() + pause_seconds)
        self._successes = 0
        if permit.slowdowns == self._slowdowns:
            self._slowdowns += 1
            self.allowed = max(1, self.allowed // 2)

    def hold(self, seconds: float) -> None:
        """Let only retries through for some time, or until `resume`."""
        self._held_until = time.monotonic() + seconds

    def resume(self) -> None:
        """End a hold."""
        self._held_until = 0.0
        self._let_through()

    def _wait(self, tokens: int, is_retry: bool, now: float) -> float:
        """Seconds until a call may go; infinite if another call has to end first."""
        if self.in_flight >= self.allowed:
            return inf
        wait = 0.0 if is_retry else max(0.0, self._paused_until - now, self._held_until - now)
        return max(wait, self._requests.wait_for(1, now), self._tokens.wait_for(tokens, now))

    def _let_through(self) -> None:
        """Admit from the head of the line; come back later if the head only waits for time to pass."""
        now = time.monotonic()
        while self._line:
            head = self._line[0]
            if not head.turn.done():
                wait = self._wait(head.tokens, head.is_retry, now)
                if wait > 0:
                    self._come_back_in(wait)
                    return
                head.turn.set_result(self._admit(head.tokens, now))
            heappop(self._line)

    def _admit(self, tokens: int, now: float) -> Permit:
        self.in_flight += 1
        self._requests.spend(1, now)
        return Permit(self._slowdowns, self._tokens.spend(tokens, now))

    def _come_back_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds != inf:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._let_through)
