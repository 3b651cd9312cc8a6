"""Progress on stderr: a bar with rate, failures and time left on a terminal, a plain line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from prorubric.cli.output import count, say
from prorubric.errors import SourceError
from prorubric.rubric.files import count_rows

_SECONDS_BETWEEN_LINES = 10.0

Show = Callable[[int, str], None]
"""Told how many are done, and in a few words what went wrong so far."""


@contextmanager
def show_progress(verb: str, noun: str, path: Path) -> Iterator[Show]:
    """A function that shows how far a run is; `path` holds as many rows as there are things to do."""
    total = _count(path)
    if sys.stderr.isatty():
        with _make_bar() as bar:
            row = bar.add_task(verb, total=total, rate=0.0, note="")
            started = time.monotonic()
            yield lambda done, note: bar.update(
                row, completed=done, rate=done / max(time.monotonic() - started, 1e-9), note=note
            )
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


def _make_line_writer(verb: str, noun: str, total: int | None) -> Show:
    started = said = time.monotonic()

    def write(done: int, note: str) -> None:
        nonlocal said
        moment = time.monotonic()
        if moment - said < _SECONDS_BETWEEN_LINES:
            return
        said = moment
        rate = done / (moment - started)
        left = f", {(total - done) / rate:.0f} s left" if total and rate else ""
        say(f"{verb}: {done:,} of {count(total, noun) if total else '?'}, {rate:.1f}/s, {note}{left}")

    return write
