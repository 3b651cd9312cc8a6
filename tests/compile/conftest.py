"""A real server that generates."""

from collections.abc import Iterator

import pytest

from tests.compile.generating import BEHAVIOURS
from tests.llm.server import MisbehavingServer


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    assert "groups" in BEHAVIOURS
    with MisbehavingServer() as running:
        running.always = "groups"
        yield running
