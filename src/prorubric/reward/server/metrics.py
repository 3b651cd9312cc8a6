"""Counts of a running server, written as Prometheus reads them.

Labels come from short lists (routes, statuses, kinds of failure), so that nothing that a client sends makes a new
series.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from prorubric.llm.accounting import Usage

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


@dataclass(slots=True)
class Histogram:
    """How many values fell below each bound, and their sum."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(_BUCKETS) + 1))
    total: float = 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(_BUCKETS, value)] += 1
        self.total += value

    def list_buckets(self) -> Iterator[tuple[str, int]]:
        """The bounds with what lies at or below each of them."""
        below = 0
        for bound, number in zip((*map(str, _BUCKETS), "+Inf"), self.counts, strict=True):
            below += number
            yield bound, below


@dataclass(slots=True)
class Metrics:
    """What a server has done since it was started."""

    requests: Counter[tuple[str, int]] = field(default_factory=Counter)
    """By route and status."""
    rewards: Counter[str] = field(default_factory=Counter)
    """Rewards that are known, by route."""
    unknown: Counter[str] = field(default_factory=Counter)
    """Rewards that stayed unknown, by route."""
    seconds: dict[str, Histogram] = field(default_factory=dict)
    """How long requests took, by route."""
    requests_in_flight: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    """Connections that the server closed, by reason: `late`, or `crowded` out by others."""

    def count_request(self, route: str, status: int) -> None:
        """Count a request that came to its end."""
        self.requests[route, status] += 1

    def time_request(self, route: str, seconds: float) -> None:
        """Note how long a request for a reward took."""
        self.seconds.setdefault(route, Histogram()).add(seconds)

    @contextmanager
    def count_in_flight(self) -> Iterator[None]:
        """Count a request for a reward while it is under way."""
        self.requests_in_flight += 1
        try:
            yield
        finally:
            self.requests_in_flight -= 1

    def count_reward(self, route: str, is_known: bool) -> None:
        """Count one reward."""
        (self.rewards if is_known else self.unknown)[route] += 1

    def render(self, usage: Usage, responses_in_flight: int) -> str:
        """Everything as text, a family after the other."""
        lines: list[str] = []
        by_request = {_label(route=route, status=str(status)): n for (route, status), n in self.requests.items()}
        _add(lines, "requests_total", "counter", "Requests that came to an end.", by_request)
        _add(lines, "rewards_total", "counter", "Rewards that were given.", _by_route(self.rewards))
        _add(lines, "unknown_rewards_total", "counter", "Rewards that stayed unknown.", _by_route(self.unknown))
        _add(lines, "requests_in_flight", "gauge", "Requests for rewards under way.", {"": self.requests_in_flight})
        _add(lines, "responses_in_flight", "gauge", "Responses judged or waiting.", {"": responses_in_flight})
        dropped = {_label(reason=reason): number for reason, number in self.dropped.items()}
        _add(lines, "dropped_connections_total", "counter", "Connections closed for being slow.", dropped)
        self._add_seconds(lines)
        _add_judge(lines, usage)
        return "\n".join(lines) + "\n"

    def _add_seconds(self, lines: list[str]) -> None:
        _add(lines, "request_seconds", "histogram", "How long requests for rewards took.", {})
        name = "prorubric_request_seconds"
        for route, histogram in sorted(self.seconds.items()):
            for bound, number in histogram.list_buckets():
                lines.append(f"{name}_bucket{_label(route=route, le=bound)} {number}")
            lines.append(f"{name}_sum{_label(route=route)} {histogram.total!r}")
            lines.append(f"{name}_count{_label(route=route)} {sum(histogram.counts)}")


def _add_judge(lines: list[str], usage: Usage) -> None:
    tokens = {_label(kind="prompt"): usage.prompt_tokens, _label(kind="completion"): usage.completion_tokens}
    failures = {_label(kind=kind): number for kind, number in {**usage.failures}.items()}
    _add(lines, "judge_calls_total", "counter", "Calls of the judge that came to an end.", {"": usage.calls})
    _add(lines, "judge_cached_total", "counter", "Calls that the journal answered.", {"": usage.cached})
    _add(lines, "judge_failures_total", "counter", "Calls that gave no reply after every retry.", failures)
    _add(lines, "judge_retries_total", "counter", "Attempts after the first.", {"": usage.retries})
    _add(lines, "judge_tokens_total", "counter", "Tokens that the judge read and wrote.", tokens)


def _add(lines: list[str], name: str, kind: str, about: str, values: Mapping[str, int]) -> None:
    lines += [f"# HELP prorubric_{name} {about}", f"# TYPE prorubric_{name} {kind}"]
    lines += [f"prorubric_{name}{labels} {value}" for labels, value in sorted(values.items())]


def _by_route(counts: Mapping[str, int]) -> dict[str, int]:
    return {_label(route=route): number for route, number in counts.items()}


def _label(**labels: str) -> str:
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"
