"""Progress on stderr: a bar with rate, failures and time left on a terminal, a plain line now and then elsewhere."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from prorubric.cli.output import say
from prorubric.errors import SourceError
from prorubric.files.read import count_rows
from prorubric.runs.run import OnProgress, Progress
from prorubric.text.show import count

_SECONDS_BETWEEN_LINES = 30.0


class _Pace:
    """How fast a run goes: counted from what it began with, which may have been done before, and anew for each part."""

    began, first, last = 0.0, 0, sys.maxsize

    def measure(self, done: int) -> float:
        """Things done a second."""
        if done < self.last:
            self.began, self.first = time.monotonic(), done
        self.last = done
        return (done - self.first) / max(time.monotonic() - self.began, 1e-9)


@contextmanager
def show_progress(verb: str, noun: str, path: Path | None = None) -> Iterator[OnProgress]:
    """A function that shows how far a run is; `path`, if given, holds a row for each thing to do."""
    try:
        known = count_rows(path) if path else None
    except SourceError:  # a dataset on the hub has no rows to count; a wrong name is refused on reading
        known = None
    said, pace = time.monotonic(), _Pace()

    def write_line(now: Progress) -> None:
        nonlocal said
        moment, rate = time.monotonic(), pace.measure(now.done)
        if moment - said < _SECONDS_BETWEEN_LINES:
            return
        said = moment
        total = now.total or known
        left = f", {(total - now.done) / rate:.0f} s left" if total and rate else ""
        note = f", {now.note}" if now.note else ""
        say(f"{verb}: {now.done:,} of {count(total, noun) if total else '?'}, {rate:.1f}/s{note}{left}")

    # A bar is drawn with escape codes, which users who set NO_COLOR do not want.
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR"):
        yield write_line
        return
    columns = (TextColumn("{task.fields[rate]:.1f}/s"), TextColumn("{task.fields[note]}"), TimeRemainingColumn())
    with Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        *columns,
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        row = bar.add_task(verb, total=known, rate=0.0, note="")

        def draw(now: Progress) -> None:
            if now.done < pace.last:
                bar.reset(row)
            rate = pace.measure(now.done)
            bar.update(row, completed=now.done, total=now.total or known, rate=rate, note=now.note)

        yield draw
