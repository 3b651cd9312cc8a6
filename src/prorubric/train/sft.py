"""Supervised fine-tuning: the rows made of answers, and the order in which they are trained on.

A row is the prompt as the policy reads it before it answers, then the answer and the end token; only the last two are
learned. A row that cannot be used is left out with a reason, never cut.
"""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from prorubric.datasets.sources import trl as trl_rows
from prorubric.rubric.records import Response, Task
from prorubric.train.methods import Sft
from prorubric.train.trl import encode_prompt


class SftRows(NamedTuple):
    """Rows of ids with a mask of what is learned, and the answers that became none, with the reason."""

    rows: list[dict[str, list[int]]]
    left_out: list[dict[str, Any]]


def make_rows(answers: Iterable[Response], tasks: Mapping[str, Task], tokenizer: Any, limit: int) -> SftRows:
    """One row for each answer to one of the tasks that is not longer than the limit."""
    made = SftRows([], [])
    for answer in answers:
        task, reason = tasks.get(answer.task_id), "its task is not among the training tasks"
        if task is not None:
            prompt = encode_prompt(tokenizer, trl_rows.render(task)["prompt"])
            learned = [*tokenizer(answer.text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
            size = len(prompt) + len(learned)
            if size <= limit:
                mask = [0] * len(prompt) + [1] * len(learned)
                made.rows.append({"input_ids": prompt + learned, "completion_mask": mask})
                continue
            reason = f"{size:,} tokens, and row_limit is {limit:,}"
        made.left_out.append({"task_id": answer.task_id, "sample": answer.sample, "reason": reason})
    return made


def order_rows(count: int, sft: Sft, seed: int) -> list[int]:
    """The places of rows in the order of training: a different order every epoch, in whole batches."""
    order: list[int] = []
    for epoch in range(sft.epochs):
        # By hash, so the order is the same in every version of Python.
        ranked = sorted(range(count), key=lambda place: sha256(f"{seed}/{epoch}/{place}".encode()).digest())
        order += ranked[: count // sft.batch * sft.batch]
    return order
