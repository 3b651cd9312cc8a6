"""Rows and tasks that a run leaves out: each is kept with its place and reason, and counted."""

from dataclasses import asdict
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO

from prorubric.datasets.load import Reject
from prorubric.files.json import render_json
from prorubric.files.write import open_whole

SHOWN_REJECTS = 5


class Rejects:
    """Collects rejects in a temporary file, so memory does not grow with their number."""

    def __init__(self) -> None:
        self.count = 0
        self._shown: list[str] = []
        self._first: dict[str, str] = {}
        self._rows: IO[bytes] | None = None

    def add(self, reject: Reject) -> None:
        """Count one."""
        self.count += 1
        self._first.setdefault(reject.path, str(reject))
        if len(self._shown) < SHOWN_REJECTS:
            self._shown.append(str(reject))
        self._rows = self._rows or TemporaryFile()  # noqa: SIM115 - it lives as long as the run
        self._rows.write(render_json(asdict(reject)) + b"\n")

    def first(self, path: str) -> str | None:
        """The first reject of a file, as one line."""
        return self._first.get(path)

    def show(self) -> tuple[str, ...]:
        """The first few, one line each."""
        return tuple(self._shown)

    def save(self, path: Path) -> None:
        """Write all of them to a file; without any, remove the file of an earlier run."""
        if self._rows is None:
            path.unlink(missing_ok=True)
            return
        self._rows.seek(0)
        with open_whole(path) as stream:
            copyfileobj(self._rows, stream)

    def close(self) -> None:
        """Close the temporary file."""
        if self._rows is not None:
            self._rows.close()
