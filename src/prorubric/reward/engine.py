"""One background thread a process, with the event loop that owns every socket of its rewards.

A trainer calls from several event loops, from threads and from processes that it has forked. All of them hand their
work to the loop here, where models, limits and journals are shared by the rewards that ask alike. A forked process
begins with none of it and makes its own when it first asks. The loop ends with the process and closes what it holds;
what is under way then is cancelled.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import orjson

from prorubric.errors import ConfigError
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.llm.accounting import CountedModel, CountedYesNo, Usage
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.journal import Journal
from prorubric.llm.make import keep_model, make_model
from prorubric.llm.model import Model, YesNoModel

ResultT = TypeVar("ResultT")

_STOP_SECONDS = 10.0
"""How long the end of the process waits for a model that blocks the loop."""


class Asking:
    """Whom to ask and how: rewards for which this is the same share an engine."""

    def __init__(self, judge: str, http: HttpConfig, journal: Path | None) -> None:
        self.judge, self.http, self.journal = judge, http, journal
        place = None if journal is None else journal.absolute()
        self.key = describe_settings({"judge": judge, "http": asdict(http), "journal": place})


class Engine:
    """A model with its limits, its counts and its journal, for all rewards of a process that ask alike."""

    def __init__(self, asking: Asking) -> None:
        self.usage = Usage()
        self.bare = make_model(asking.judge, asking.http, self.usage)
        if isinstance(self.bare, HttpModel):
            self.bare.gives_up = False  # the breaker ends a training, and a server outlives its judge
        self._path = asking.journal
        self._journal: Journal | None = None
        self._model: Model | YesNoModel | None = None
        self._judges: dict[str, Judge] = {}
        if asking.journal is not None:
            Journal(
                asking.journal
            ).close()  # a file that is no journal is refused now and not in the middle of a training

    def find_judge(self, config: JudgeConfig) -> Judge:
        """The judge that asks this model in this way. Only the background loop calls this."""
        key = repr(config)
        if key not in self._judges:
            self._judges[key] = Judge(self._open(), config)
        return self._judges[key]

    async def close(self) -> None:
        """Let go of sockets and files."""
        with suppress(RuntimeError):  # at exit the worker thread of a model in this process has ended before us
            await self.bare.close()
        if self._journal is not None:
            self._journal.close()

    def _open(self) -> Model | YesNoModel:
        if self._model is None and self._path is not None:
            self._journal = Journal(self._path)
            self._model = keep_model(self.bare, self._journal, self.usage)
        elif self._model is None:
            self._model = _count(self.bare, self.usage)
        return self._model


def _count(model: Model | YesNoModel, usage: Usage) -> Model | YesNoModel:
    return CountedYesNo(model, usage) if isinstance(model, YesNoModel) else CountedModel(model, usage)


class Background:
    """A thread with an event loop, which closes its engines when it ends."""

    def __init__(self, engines: Mapping[str, Engine]) -> None:
        # The thread holds on to the engines: in a forked process, where it is gone, nothing then closes the sockets
        # and files in them, which are the parent's.
        self._engines = engines
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="prorubric-reward", daemon=True)
        self._thread.start()
        self._ready.wait()

    def submit(self, work: Coroutine[Any, Any, ResultT]) -> "Future[ResultT]":
        """Start work on the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def is_current(self) -> bool:
        """True on the thread of the loop, which must never wait for itself."""
        return threading.current_thread() is self._thread

    def stop(self) -> None:
        """Cancel what is under way, close the engines and wait for the thread."""
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        # Whatever loop the trainer has chosen for itself: uvloop's does not survive that its process is forked.
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._live())

    async def _live(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        self._ready.set()
        await self._stopping.wait()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        for engine in self._engines.values():
            await engine.close()


@dataclass(slots=True)
class _Process:
    """What belongs to this process and to no other."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    engines: dict[str, Engine] = field(default_factory=dict)
    background: Background | None = None


_process = _Process()


def find_engine(asking: Asking) -> Engine:
    """The engine of this process; made, and its settings checked, when it is first asked for."""
    with _process.lock:
        if asking.key not in _process.engines:
            _process.engines[asking.key] = Engine(asking)
        return _process.engines[asking.key]


def run_blocking(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run work on the background loop and wait for it, on any other thread."""
    background = _find_background()
    if background.is_current():
        work.close()
        raise ConfigError("a reward is called on the loop that judges, which would wait for itself; await it there")
    future = background.submit(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


async def run_awaited(work: Coroutine[Any, Any, ResultT]) -> ResultT:
    """Run work on the background loop and await it on the caller's; a caller that is cancelled cancels the work."""
    return await asyncio.wrap_future(_find_background().submit(work))


def stop_background() -> None:
    """Close every socket and file of this process's rewards. A later call begins anew."""
    with _process.lock:
        background, _process.background = _process.background, None
        _process.engines = {}
    if background is not None:
        background.stop()


def describe_settings(settings: Mapping[str, Any]) -> str:
    """Settings as text, the same for the same settings."""
    return orjson.dumps(settings, default=str, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS).decode()


def _find_background() -> Background:
    with _process.lock:
        if _process.background is None:
            _process.background = Background(_process.engines)
        return _process.background


def _forget() -> None:
    """After a fork: the thread is not here, and the lock may have been taken by one that is not here either."""
    global _process  # noqa: PLW0603 - it is the one state of this process
    _process = _Process()


atexit.register(stop_background)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
