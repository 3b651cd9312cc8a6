"""Rows that could not be read: each has its place, its reason and the kind by which it is counted."""

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile

import pyarrow as pa

from prorubric.errors import ProRubricError
from prorubric.files.json import render_json
from prorubric.files.write import open_whole

REJECT_SCHEMA = pa.schema({"path": pa.string(), "line": pa.int64(), "reason": pa.string(), "kind": pa.string()})
_MOST_IN_MEMORY = 1 << 20


class RejectWarning(UserWarning):
    """Rows of a file could not be read, and the caller passed no `on_reject`."""


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that could not be read, and why."""

    path: str
    line: int
    """0 if the reason is not about one row."""
    reason: str
    kind: str = ""
    """What is wrong as a constant phrase, for counting; by default the reason."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.kind or self.reason)

    @classmethod
    def of(cls, path: str, line: int, error: ProRubricError) -> "Reject":
        """The reject that an error makes of a row."""
        return cls(path, line, str(error), error.kind)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}" if self.line else f"{self.path}: {self.reason}"


class Rejects:
    """Counts rejects by kind, remembers the first, and keeps all of them, beyond 1 MiB in a temporary file."""

    def __init__(self, shown: int = 5, *, keep: bool = True) -> None:
        self.kinds: Counter[str] = Counter()
        self._shown: list[str] = []
        self._most_shown = shown
        self._first: dict[str, str] = {}
        self._rows = SpooledTemporaryFile(_MOST_IN_MEMORY) if keep else None  # noqa: SIM115 - lives as long as the run

    @property
    def count(self) -> int:
        """How many there were."""
        return self.kinds.total()

    def add(self, reject: Reject) -> None:
        """Count one; can be passed as `on_reject`."""
        self.kinds[reject.kind] += 1
        self._first.setdefault(reject.path, str(reject))
        if len(self._shown) < self._most_shown:
            self._shown.append(str(reject))
        if self._rows:
            self._rows.write(render_json(asdict(reject)) + b"\n")

    def first(self, path: str) -> str | None:
        """The first reject of a file, as one line."""
        return self._first.get(path)

    def show(self) -> tuple[str, ...]:
        """The first few, one line each."""
        return tuple(self._shown)

    def save(self, path: Path) -> None:
        """Write all of them to a file; without any, remove the file of an earlier run."""
        if self._rows is None or not self.count:
            path.unlink(missing_ok=True)
            return
        self._rows.seek(0)
        with open_whole(path) as stream:
            copyfileobj(self._rows, stream)

    def close(self) -> None:
        """Close the temporary file."""
        if self._rows is not None:
            self._rows.close()

    __del__ = close
