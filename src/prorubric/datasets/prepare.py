"""Preparation as in the paper: each prompt once, 5 to 60 criteria, a positive total weight, a held-out part by seed.

Which prompts are held out depends on the seed and on their own text only, not on their order or on the others: a file
that is shuffled, or that grows, keeps its split.
"""

import hashlib
import heapq
from dataclasses import dataclass, field

from prorubric.datasets.ids import hash_prompt
from prorubric.errors import ConfigError
from prorubric.rubric.records import Task


@dataclass(slots=True)
class Preparation:
    """Decides task by task what is kept, and remembers the prompts it has seen (32 bytes each)."""

    min_criteria: int = 5
    max_criteria: int = 60
    _seen: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not 1 <= self.min_criteria <= self.max_criteria:
            raise ConfigError(
                f"criteria from {self.min_criteria} to {self.max_criteria}: no rubric can have that; "
                "give a smallest number from 1 on and a largest that is not below it"
            )

    def refuse(self, task: Task) -> str | None:
        """Why this task is left out, or None."""
        if len(task.rubric) < self.min_criteria:
            return f"fewer than {self.min_criteria} criteria"
        if len(task.rubric) > self.max_criteria:
            return f"more than {self.max_criteria} criteria"
        if sum(task.rubric.weights) <= 0:
            return "total weight is not positive"
        prompt = bytes.fromhex(hash_prompt(task.messages))
        if prompt in self._seen:
            return "prompt seen before"
        self._seen.add(prompt)
        return None


@dataclass(slots=True)
class HeldOut:
    """Chooses `size` prompts by seed from a stream of any length, in memory that grows with `size` only."""

    size: int
    seed: int
    _heap: list[tuple[int, str]] = field(default_factory=list)

    def offer(self, task: Task) -> None:
        """Let one prompt take part in the draw."""
        prompt = hash_prompt(task.messages)
        ticket = (-int.from_bytes(hashlib.sha256(f"{self.seed}:{prompt}".encode()).digest()), prompt)
        if len(self._heap) < self.size:
            heapq.heappush(self._heap, ticket)
        elif self._heap:
            heapq.heappushpop(self._heap, ticket)

    def chosen(self) -> frozenset[str]:
        """The hashes of the prompts that were drawn."""
        return frozenset(prompt for _, prompt in self._heap)
