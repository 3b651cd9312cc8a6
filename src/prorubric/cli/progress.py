"""Progress on stderr: a bar with rate, failures and time left on a terminal, a plain line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from prorubric.cli.output import say
from prorubric.reward.run import Progress
from prorubric.rubric.files import count_rows

_SECONDS_BETWEEN_LINES = 10.0

OnProgress = Callable[[Progress], None]


@contextmanager
def show_progress(verb: str, path: Path) -> Iterator[OnProgress]:
    """A function that is told how far a run is."""
    total = count_rows(path)
    if sys.stderr.isatty():
        with _make_bar() as bar:
            row = bar.add_task(verb, total=total, rate=0.0, unknown=0, failed=0)
            started = time.monotonic()
            yield lambda now: bar.update(
                row,
                completed=now.responses,
                rate=now.responses / max(time.monotonic() - started, 1e-9),
                unknown=now.unknown_verdicts,
                failed=sum(now.usage.failures.values()),
            )
    else:
        yield _make_line_writer(verb, total)


def _make_bar() -> Bar:
    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:.1f}/s"),
        TextColumn("{task.fields[unknown]} unknown, {task.fields[failed]} calls failed"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )


def _make_line_writer(verb: str, total: int | None) -> OnProgress:
    started = said = time.monotonic()

    def write(now: Progress) -> None:
        nonlocal said
        moment = time.monotonic()
        if moment - said < _SECONDS_BETWEEN_LINES:
            return
        said = moment
        rate = now.responses / (moment - started)
        left = f", {(total - now.responses) / rate:.0f} s left" if total and rate else ""
        failed = sum(now.usage.failures.values())
        say(
            f"{verb}: {now.responses:,} of {total or '?'} responses, {rate:.1f}/s, "
            f"{now.unknown_verdicts:,} verdicts unknown, {failed:,} calls failed{left}"
        )

    return write
