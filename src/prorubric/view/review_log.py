"""`reviews.jsonl`: the steps of a review, one row each, only ever appended to.

One process writes at a time, and reads what the others wrote before it does. A row is on the disk before a reviewer is
told that it is saved. A row that a killed process left incomplete was never confirmed, and the next write cuts it off;
any other line that cannot be read is a `SourceError` that names it.
"""

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock

from prorubric.errors import ConfigError, RubricError, SourceError
from prorubric.files.json import parse_json, render_json
from prorubric.files.lock import lock_path
from prorubric.files.write import split_suffix
from prorubric.view.review import Step, render_operation

_LONGEST_WAIT = 10.0


def name_reviews(tasks: Path) -> Path:
    """Where the review of a tasks file is kept."""
    stem = tasks.name[: -len("".join(split_suffix(tasks)))]
    return tasks.with_name(f"{stem}.reviews.jsonl")


class ReviewLog:
    """The steps of the review of one file, by task."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.steps: dict[str, list[Step]] = defaultdict(list)
        self.touched: set[str] = set()
        """Tasks with steps that were read since this was last emptied."""
        self._lock = RLock()
        self._read = self._lines = 0

    def refresh(self) -> list[Step]:
        """Read what was appended since the last time; a row that is not complete yet is left for later."""
        with self._lock:
            try:
                with self.path.open("rb") as stream:
                    if os.fstat(stream.fileno()).st_size < self._read:
                        remedy = "rows are only ever added to it; start again"
                        raise SourceError("has become shorter", remedy=remedy, place=self.path)
                    stream.seek(self._read)
                    rows = stream.read().split(b"\n")[:-1]
            except FileNotFoundError:
                return []
            found = []
            for row in rows:
                if row.strip():
                    found.append(self._parse(row))  # an unreadable row is an error every time
                    self.steps[found[-1].task].append(found[-1])
                    self.touched.add(found[-1].task)
                self._lines += 1
                self._read += len(row) + 1
            return found

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep other writers out, with everything that they wrote already read."""
        with self._lock, self._wait_for_lock():
            self._repair_tail()
            self.refresh()
            yield

    def append(self, step: Step) -> None:
        """Write a step; only inside `hold`."""
        row = {**step.model_dump(mode="json"), "operation": render_operation(step.operation)}
        with self.path.open("ab") as stream:
            stream.write(render_json(row) + b"\n")
            stream.flush()
            os.fsync(stream.fileno())
        self.refresh()

    @contextmanager
    def _wait_for_lock(self) -> Iterator[None]:
        lock, end = self.path.with_name(f".{self.path.name}.lock"), time.monotonic() + _LONGEST_WAIT
        while True:
            held = lock_path(lock, self.path)
            try:
                held.__enter__()
            except ConfigError:
                if time.monotonic() > end:
                    remedy = "try again"
                    raise ConfigError("another process keeps writing", remedy=remedy, place=self.path) from None
                time.sleep(0.01)
            else:
                break
        try:
            yield
        finally:
            held.__exit__(None, None, None)

    def _repair_tail(self) -> None:
        """Add a missing final line break; cut off an incomplete last row."""
        if not self.path.exists():
            return
        with self.path.open("rb+") as stream:
            stream.seek(self._read)
            rest = stream.read()
            tail = rest[rest.rfind(b"\n") + 1 :]
            if not tail:
                return
            try:
                self._parse(tail)
            except SourceError:
                stream.truncate(self._read + len(rest) - len(tail))
            else:
                stream.write(b"\n")

    def _parse(self, row: bytes) -> Step:
        try:
            return Step(**parse_json(row))
        except (ValueError, TypeError, RubricError) as error:
            kind = error.message if isinstance(error, RubricError) else "not a step of a review"
            place = f"{self.path}:{self._lines + 1}"
            raise SourceError(kind, remedy="correct or remove the line", place=place) from None
