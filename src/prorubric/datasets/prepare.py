"""Preparation as in the paper: each prompt once, 5 to 60 criteria, a positive total weight, a held-out part by seed.

Which prompts are held out depends on the seed and on the prompts, not on their order. When a file grows, new prompts
may take the place of old ones in the held-out part; no prompt that was trained on moves into it.
"""

import hashlib
import heapq
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from prorubric.datasets.export import Target, open_export
from prorubric.datasets.ids import hash_prompt
from prorubric.datasets.load import load_tasks
from prorubric.errors import ConfigError
from prorubric.rubric.records import Task
from prorubric.text.show import count


@dataclass(slots=True)
class Preparation:
    """Decides task by task what is kept, and remembers the prompts it has seen (32 bytes each)."""

    min_criteria: int = 5
    max_criteria: int = 60
    _seen: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not 1 <= self.min_criteria <= self.max_criteria:
            wrong = f"criteria from {self.min_criteria} to {self.max_criteria}: no rubric can have that"
            raise ConfigError(wrong, remedy="give a minimum of 1 or more and a maximum that is not below it")

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
    _drawn: set[str] = field(default_factory=set)
    leaves_some: bool = False
    """True as soon as a prompt was offered that is not drawn."""
    offered: int = 0
    """Tasks that were written; of these, `kept` and `held` are in the two files in the end."""
    kept: int = 0
    held: int = 0

    def offer(self, task: Task) -> None:
        """Let one prompt take part in the draw; one that comes again has its ticket already."""
        self.offer_prompt(hash_prompt(task.messages))

    def offer_prompt(self, prompt: str) -> None:
        """The same for a prompt by its hash."""
        if self.size == 0 or prompt in self._drawn:
            return
        ticket = (-int.from_bytes(hashlib.sha256(f"{self.seed}:{prompt}".encode()).digest()), prompt)
        self._drawn.add(prompt)
        heapq.heappush(self._heap, ticket)
        if len(self._heap) > self.size:
            self._drawn.discard(heapq.heappop(self._heap)[1])
            self.leaves_some = True

    def chosen(self) -> frozenset[str]:
        """The hashes of the prompts that were drawn."""
        return frozenset(self._drawn)

    @contextmanager
    def open(self, kept: Path, held_out: Path | None, to: Target) -> Iterator[Callable[[Task], None]]:
        """A function that writes one task and lets its prompt take part; at the end they go into two files."""
        with TemporaryDirectory() as folder:
            # The held-out part is known only at the end, so the tasks first go to a temporary file.
            first = Path(folder) / "tasks.jsonl" if held_out else kept
            with open_export(first, "tasks" if held_out else to) as export:

                def write(task: Task) -> None:
                    self.offer(task)
                    self.offered += 1
                    export(task)

                yield write
            self.kept = self.offered
            if held_out is None:
                return
            if not self.leaves_some:
                prompts = f"{count(len(self._drawn), 'distinct prompt')} ({count(self.offered, 'task')})"
                raise ConfigError(f"--held-out {self.size} of {prompts} leaves none to train on; hold out fewer")
            with open_export(kept, to) as keep, open_export(held_out, to) as hold:
                for task in load_tasks(first, "tasks", strict=True):
                    is_held = hash_prompt(task.messages) in self._drawn
                    (hold if is_held else keep)(task)
                    self.held += is_held
            self.kept -= self.held
