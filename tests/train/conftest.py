"""The pairs on which every trainer has to give the same reward."""

from pathlib import Path

import pytest

from tests.train.parity import write_pairs

_SHARED = Path(__file__).parents[3] / "shared/data"


@pytest.fixture(scope="session")
def parity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tasks and pairs of `tests/train/parity.py`; without the real data, those of the sample pack."""
    folder = tmp_path_factory.mktemp("parity")
    write_pairs(folder, _SHARED if _SHARED.is_dir() else None)
    return folder
