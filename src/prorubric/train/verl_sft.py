"""Rows for verl's SFT trainer: the prompt as the policy gets it, and the answer, of which alone the loss is computed.

verl's own data set learns earlier turns of the assistant too, and refuses templates that write an empty block of
thoughts into the last turn. Here there is no such block. Rows above `data.max_length` are left out and counted.
"""

import logging
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from prorubric.files.read import read_rows

_log = logging.getLogger(__name__)


class AnswerDataset:
    """Conversations from parquet, each of which ends with the answer to learn."""

    def __init__(self, parquet_files: Any, tokenizer: Any, config: Mapping[str, Any], **_: Any) -> None:
        files = [parquet_files] if isinstance(parquet_files, str) else list(parquet_files)
        chats = [(row.value or {})["messages"] for file in files for row in read_rows(Path(file))]
        rows: list[tuple[list[int], list[int]]] = []
        for chat in chats:
            prompt = tokenizer.apply_chat_template(chat[:-1], add_generation_prompt=True, tokenize=False)
            parts = tokenizer([prompt, chat[-1]["content"]], add_special_tokens=False)["input_ids"]
            rows.append((parts[0], [*parts[1], tokenizer.eos_token_id]))
        self._rows = [row for row in rows if len(row[0]) + len(row[1]) <= config["max_length"]]
        if len(self._rows) < len(rows):
            long = len(rows) - len(self._rows)
            _log.warning(
                "%d of %d rows have more than %d tokens and are left out", long, len(rows), config["max_length"]
            )

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> dict[str, Any]:
        """One row in the form of `data.pad_mode=no_padding`."""
        torch, (prompt, answer) = import_module("torch"), self._rows[place]
        return {
            "input_ids": torch.tensor([*prompt, *answer]),
            "position_ids": torch.arange(len(prompt) + len(answer)),
            "loss_mask": torch.tensor([0] * len(prompt) + [1] * len(answer)),
        }
