"""One background thread per process, with the event loop that owns every socket of its rewards.

A trainer calls from several event loops, from threads and from forked processes. All of them hand their work to the
loop here, where rewards with the same judge settings share models, limits and journals. A forked process starts with
none of it and makes its own on first use. The loop ends with the process: it cancels what is running and closes what
it holds.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from prorubric.errors import ConfigError
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.journal import Journal
from prorubric.llm.make import keep_model, make_model
from prorubric.llm.model import Model, YesNoModel

ResultT = TypeVar("ResultT")

_STOP_SECONDS = 10.0
"""How long the end of the process waits for a model that blocks the loop."""


class Engine:
    """A model with its limits, counts and journal, shared by all rewards of a process that use the same endpoint."""

    def __init__(self, judge: str, http: HttpConfig, journal: Path | None) -> None:
        self.usage = Usage()
        self.bare = make_model(judge, http, self.usage)
        if isinstance(self.bare, HttpModel):
            self.bare.gives_up = False  # the breaker ends a training, and a server outlives its judge
        self._path = journal
        self._journal: Journal | None = None
        self._model: Model | YesNoModel | None = None
        self._judges: dict[str, Judge] = {}
        if journal is not None:
            Journal(journal).close()  # refuse a file that is not a journal now, not in the middle of a training

    def find_judge(self, config: JudgeConfig) -> Judge:
        """The judge that asks this model in this way. Only the background loop calls this."""
        if self._model is None:
            if self._path is not None:
                self._journal = Journal(self._path)
            self._model = keep_model(self.bare, self._journal, self.usage)
        key = repr(config)
        if key not in self._judges:
            self._judges[key] = Judge(self._model, config)
        return self._judges[key]

    async def close(self) -> None:
        """Close sockets and files."""
        with suppress(RuntimeError):  # at exit the worker thread of a model in this process has already ended
            await self.bare.close()
        if self._journal is not None:
            self._journal.close()


class Background:
    """A thread with an event loop, which closes its engines when it ends."""

    def __init__(self, engines: Mapping[str, Engine]) -> None:
        # The thread keeps a reference to the engines: in a forked process, where the thread is gone, nothing then
        # closes their sockets and files, which are the parent's.
        self._engines = engines
        self._ready = threading.Event()
        self.thread = threading.Thread(target=self._run, name="prorubric-reward", daemon=True)
        self.thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """Cancel what is running, close the engines and wait for the thread."""
        self.loop.call_soon_threadsafe(self._stopping.set)
        self.thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        async def run_until_stopped() -> None:
            self.loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
            self._ready.set()
            await self._stopping.wait()
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            for engine in self._engines.values():
                await engine.close()

        # Never the trainer's own choice of loop: uvloop's does not survive a fork.
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(run_until_stopped())


@dataclass(slots=True)
class _Process:
    """What belongs to this process only."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    engines: dict[str, Engine] = field(default_factory=dict)
    background: Background | None = None


_process = _Process()


def lock_process() -> threading.RLock:
    """The lock on what threads of this process share. A forked process has its own, which is open."""
    return _process.lock


def find_engine(judge: str, http: HttpConfig, journal: Path | None) -> Engine:
    """The engine of this process for an endpoint; made, and its settings checked, on first use."""
    key = repr((judge, http, journal))
    with _process.lock:
        if key not in _process.engines:
            _process.engines[key] = Engine(judge, http, journal)
        return _process.engines[key]


def run_blocking(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run work on the background loop and wait for it, on any other thread."""
    background = _find_background()
    if threading.current_thread() is background.thread:
        work.close()
        raise ConfigError("a reward was called on the loop that judges, which would wait for itself; await it there")
    future = asyncio.run_coroutine_threadsafe(work, background.loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def run_awaited(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run work on the background loop and await it on the caller's; a caller that is cancelled cancels the work."""
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, _find_background().loop))


def stop_background() -> None:
    """Close every socket and file of this process's rewards. A later call starts again."""
    with _process.lock:
        background, _process.background = _process.background, None
        _process.engines = {}
    if background is not None:
        background.stop()


def _find_background() -> Background:
    with _process.lock:
        if _process.background is None:
            _process.background = Background(_process.engines)
        return _process.background


def _start_afresh() -> None:
    """After a fork: the thread does not exist here, and the lock may be held by another one that does not either."""
    global _process  # noqa: PLW0603 - the one state of this process
    _process = _Process()


atexit.register(stop_background)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_afresh)
