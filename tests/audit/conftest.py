from collections.abc import Iterator
from contextlib import closing

import pytest

from prorubric.datasets.rejects import Rejects


@pytest.fixture
def rejects() -> Iterator[Rejects]:
    with closing(Rejects()) as found:
        yield found
