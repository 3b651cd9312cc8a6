"""A hub that is never asked over the network."""

import os
import tempfile

# Both are read when `datasets` is imported, which happens in the first test of the hub at the earliest.
CACHE = tempfile.TemporaryDirectory(prefix="prorubric-hub-")
os.environ["HF_DATASETS_CACHE"] = CACHE.name
os.environ["HF_DATASETS_OFFLINE"] = "1"
