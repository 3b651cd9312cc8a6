"""How a run ends early: the first Ctrl-C finishes the calls in flight, the second ends it at once."""

import signal
import sys
from asyncio import CancelledError, current_task, get_running_loop
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import current_thread, main_thread

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@dataclass(slots=True)
class Stop:
    """Whether a run has been asked to end. Calls in flight are finished; no new call is made."""

    asked: bool = False
    reason: str = ""
    """Why, unless a signal asked for it."""
    listeners: list[Callable[[], None]] = field(default_factory=list)
    """Called once, when the run is asked to end."""
    listen: Callable[[], None] = lambda: None
    """Install the signal handlers again, after a library has replaced them."""

    def ask(self, reason: str = "") -> None:
        """Ask the run to end."""
        if not self.asked:
            self.asked, self.reason = True, reason
            for tell in self.listeners:
                tell()


@contextmanager
def stop_on_signals(stop: Stop) -> Iterator[None]:
    """Turn the first Ctrl-C or SIGTERM into `stop.ask()` and the second into `KeyboardInterrupt`.

    Signals reach only the main thread, and asyncio handles them only on Unix; elsewhere this does nothing.
    """
    running, loop = current_task(), get_running_loop()
    handled = _SIGNALS if current_thread() is main_thread() and sys.platform != "win32" else ()

    def listen() -> None:
        for number in handled:
            loop.add_signal_handler(number, lambda: running.cancel() if stop.asked and running else stop.ask())

    stop.listen = listen
    listen()
    try:
        yield
    except CancelledError:
        if stop.asked:
            raise KeyboardInterrupt from None
        raise
    finally:
        for number in handled:
            loop.remove_signal_handler(number)


@contextmanager
def count_signals() -> Iterator[Callable[[], int]]:
    """How often the user has asked to stop, for a run in processes that get no Ctrl-C themselves."""
    asked: list[int] = []
    if current_thread() is not main_thread():
        yield lambda: 0
        return
    before = {number: signal.signal(number, lambda *_: asked.append(1)) for number in _SIGNALS}
    try:
        yield lambda: len(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
