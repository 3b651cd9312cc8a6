"""Rows of a Hugging Face dataset, streamed through the `datasets` library (extra `[hub]`)."""

import re
from collections.abc import Iterator
from logging import ERROR, getLogger
from pathlib import Path

from prorubric.errors import MissingExtraError, SourceError
from prorubric.files.read import SUFFIXES, Row
from prorubric.files.write import COMPRESSIONS
from prorubric.text.show import shorten

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def is_hub_id(name: str) -> bool:
    """True for `owner/name`; a name that ends like a file is taken for a file."""
    return bool(_HUB_ID.fullmatch(name)) and not name.endswith((*SUFFIXES, *COMPRESSIONS))


def read_hub(name: str, split: str) -> Iterator[Row]:
    """The rows of one split of a dataset on the hub, or in a local folder laid out like one."""
    try:
        from datasets.utils import logging  # noqa: PLC0415

        from datasets import load_dataset  # noqa: PLC0415 - optional, and slow to import
    except ImportError:
        if Path(name).is_dir() and not is_hub_id(name):
            remedy = "name a file (a folder laid out like a dataset needs the extra [hub])"
            raise SourceError("is a folder", remedy=remedy, place=name) from None
        raise MissingExtraError.of(f"reading the dataset {name!r} from the hub", "hub") from None
    logging.set_verbosity_error()  # we report errors ourselves, once
    getLogger("huggingface_hub").setLevel(ERROR)
    try:
        values = iter(load_dataset(name, split=split, streaming=True))
    except Exception as error:
        remedy = "check name and split" + ("; it is a folder: name a file in it" if Path(name).is_dir() else "")
        raise SourceError(f"{name}: the dataset cannot be opened ({shorten(str(error), 160)}); {remedy}") from error
    number = 0
    try:
        for number, value in enumerate(values, 1):
            yield Row(number, value=dict(value))
    except Exception as error:
        reason = shorten(str(error), 160)
        raise SourceError(f"{name}: the dataset cannot be read past row {number} ({reason})") from error
