"""Where the real data lies, and a hub that is never asked over the network."""

import os
import tempfile
from pathlib import Path

import pytest

# Both are read when `datasets` is imported, which happens in the first test of the hub at the earliest.
CACHE = tempfile.TemporaryDirectory(prefix="prorubric-hub-")
os.environ["HF_DATASETS_CACHE"] = CACHE.name
os.environ["HF_DATASETS_OFFLINE"] = "1"

SHARED_DATA = Path(__file__).parents[2].parent / "shared/data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    if not SHARED_DATA.is_dir():
        pytest.skip(f"the real data is not here: {SHARED_DATA} is missing")
    return SHARED_DATA


@pytest.fixture(scope="session")
def healthbench_file(shared_data: Path) -> Path:
    return _require(shared_data / "healthbench_500/healthbench_500.parquet")


@pytest.fixture(scope="session")
def scholarqa_file(shared_data: Path) -> Path:
    return _require(shared_data / "scholarqa/test_configs_snippets.json")


def _require(path: Path) -> Path:
    if not path.is_file():
        pytest.skip(f"the real data is not here: {path} is missing")
    return path
