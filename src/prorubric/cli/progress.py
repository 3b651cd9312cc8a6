"""Progress on stderr: a bar with rate, failures and time left on a terminal, a plain line now and then elsewhere."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from prorubric.cli.output import count, say
from prorubric.errors import SourceError
from prorubric.files.read import count_rows

_SECONDS_BETWEEN_LINES = 10.0


class Show(Protocol):
    """Told how many are done, in a few words what went wrong, and of how many where that was not known before."""

    def __call__(self, done: int, note: str, total: int | None = None) -> None:
        """Show it."""


@contextmanager
def show_progress(verb: str, noun: str, path: Path | None = None) -> Iterator[Show]:
    """A function that shows how far a run is; `path`, where there is one, holds a row for each thing to do."""
    total = _count(path) if path else None
    # A bar is drawn with escape codes, which somebody who sets NO_COLOR does not want.
    if sys.stderr.isatty() and not os.environ.get("NO_COLOR"):
        with _make_bar() as bar:
            yield _make_bar_writer(bar, bar.add_task(verb, total=total, rate=0.0, note=""), total)
    else:
        yield _make_line_writer(verb, noun, total)


def _count(path: Path) -> int | None:
    try:
        return count_rows(path)
    except SourceError:  # a dataset by its id has no rows to count, and a wrong name is refused where it is read
        return None


def _make_bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:.1f}/s"),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _make_bar_writer(bar: Progress, row: TaskID, known: int | None) -> Show:
    started = time.monotonic()

    def write(done: int, note: str, total: int | None = None) -> None:
        rate = done / max(time.monotonic() - started, 1e-9)
        bar.update(row, completed=done, total=total or known, rate=rate, note=note)

    return write


def _make_line_writer(verb: str, noun: str, known: int | None) -> Show:
    started = said = time.monotonic()

    def write(done: int, note: str, total: int | None = None) -> None:
        nonlocal said
        total = total or known
        moment = time.monotonic()
        if moment - said < _SECONDS_BETWEEN_LINES:
            return
        said = moment
        rate = done / (moment - started)
        left = f", {(total - done) / rate:.0f} s left" if total and rate else ""
        wrong = f", {note}" if note else ""
        say(f"{verb}: {done:,} of {count(total, noun) if total else '?'}, {rate:.1f}/s{wrong}{left}")

    return write
