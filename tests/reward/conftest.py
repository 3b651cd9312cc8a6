"""A judge behind the misbehaving server, and a background loop that leaves nothing behind."""

import gc
from collections.abc import Iterator

import pytest

from prorubric.reward.engine import stop_background
from tests.llm.server import MisbehavingServer


@pytest.fixture
def judging_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[MisbehavingServer]:
    """The developer's key stays out of it. What is not closed warns when it is collected, and a warning is an error."""
    monkeypatch.delenv("PRORUBRIC_API_KEY", raising=False)
    with MisbehavingServer() as running:
        running.always = "judge"
        yield running
        stop_background()
    gc.collect()
