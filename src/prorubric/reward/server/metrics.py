"""Counts of a running server for Prometheus, in a registry of its own.

Labels come from short lists (routes, statuses, kinds of failure), so nothing that a client sends makes a new series.
"""

from collections.abc import Callable, Iterator
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from prorubric.llm.accounting import Usage

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


class Metrics(Collector):
    """What a server has done since it was started, and what its judge was asked."""

    def __init__(self, get_usage: Callable[[], Usage], count_responses: Callable[[], int]) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # the library does not annotate it
        self.registry = CollectorRegistry()
        counter = partial(Counter, namespace="prorubric", registry=self.registry)
        gauge = partial(Gauge, namespace="prorubric", registry=self.registry)
        self.requests = counter("requests", "Finished requests.", ["route", "status"])
        self.rewards = counter("rewards", "Rewards that were given.", ["route"])
        self.unknown_rewards = counter("unknown_rewards", "Rewards that stayed unknown.", ["route"])
        self.dropped_connections = counter("dropped_connections", "Connections closed for being slow.", ["reason"])
        self.requests_in_flight = gauge("requests_in_flight", "Requests for rewards being served.")
        gauge("responses_in_flight", "Responses being judged or waiting.").set_function(count_responses)
        self.request_seconds = Histogram(
            "request_seconds",
            "How long requests for rewards took.",
            ["route"],
            namespace="prorubric",
            registry=self.registry,
            buckets=_BUCKETS,
        )
        self._get_usage = get_usage
        self.registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """What the judge was asked, read from its own counts."""
        usage = self._get_usage()
        yield CounterMetricFamily("prorubric_judge_calls", "Finished calls of the judge.", value=usage.calls)
        yield CounterMetricFamily("prorubric_judge_cached", "Calls that the journal answered.", value=usage.cached)
        yield CounterMetricFamily("prorubric_judge_retries", "Attempts after the first.", value=usage.retries)
        failures = CounterMetricFamily(
            "prorubric_judge_failures", "Calls that gave no reply after every retry.", labels=["kind"]
        )
        for kind, number in {**usage.failures}.items():
            failures.add_metric([kind], number)
        yield failures
        tokens = CounterMetricFamily("prorubric_judge_tokens", "Tokens the judge read and wrote.", labels=["kind"])
        tokens.add_metric(["prompt"], usage.prompt_tokens)
        tokens.add_metric(["completion"], usage.completion_tokens)
        yield tokens
