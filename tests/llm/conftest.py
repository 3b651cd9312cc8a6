"""A misbehaving server for each test, and no socket left behind by any."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from prorubric.llm.journal import Journal
from tests.llm.server import MisbehavingServer


@pytest.fixture(autouse=True)
def nothing_left_open(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An unclosed socket warns when it is collected, and a warning is an error. The developer's key stays out."""
    monkeypatch.delenv("PRORUBRIC_API_KEY", raising=False)
    yield
    gc.collect()


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer() as running:
        yield running


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "journal.sqlite") as opened:
        yield opened
