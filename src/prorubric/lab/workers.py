"""Many runs in parallel processes, resumable: a finished run is one file and is not made again.

The folder holds `base.pt` (the untrained policy), `base.json` (its measures, answers and audit) and
`runs/<scheme>-seed-<seed>-steps-<steps>.json`. A function of the user's that was edited since is audited and trained on
again. An interrupt, a kill, or a run that fails ends all processes at once; the next call makes the missing runs.
"""

import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prorubric.errors import RubricError
from prorubric.files.json import parse_json
from prorubric.files.write import write_json
from prorubric.lab.results import BaseResult, LabRun
from prorubric.lab.schemes import find_lab_scheme, hash_own
from prorubric.runs.run import OnProgress, Progress

if TYPE_CHECKING:
    from prorubric.lab.training import Ground

_POLL_SECONDS = 0.5
_SPAWN = multiprocessing.get_context("spawn")
_STEPS: list[Any] = []  # in a worker process, the counter of all steps


@dataclass(frozen=True)
class LabFolder:
    """The runs of one world with one number of steps."""

    path: Path
    world: str
    steps: int

    def place(self, scheme: str, seed: int) -> Path:
        """The file of a run."""
        return self.path / "runs" / f"{scheme.replace(':', '@')}-seed-{seed}-steps-{self.steps}.json"

    def is_made(self, scheme: str, seed: int) -> bool:
        """True for a finished run; one of the user's own function has to be of the function as it is now."""
        place, source = self.place(scheme, seed), hash_own(scheme)
        return place.is_file() and (source is None or parse_json(place.read_bytes()).get("source") == source)


def make_runs(
    folder: LabFolder, wanted: Sequence[tuple[str, int]], workers: int, on_progress: OnProgress | None
) -> tuple[BaseResult, list[LabRun]]:
    """Make the runs that are missing, by scheme and seed, and read them all. The caller holds the folder's lock."""
    (folder.path / "runs").mkdir(exist_ok=True)
    missing = [run for run in wanted if not folder.is_made(*run)]
    base = _make_base(folder, [scheme for scheme, _ in wanted])
    counter, waiting, done = _SPAWN.Value("q", 0), iter(missing), 0
    workers, total = min(workers, len(missing)), folder.steps * len(missing)
    if missing:
        # No more runs are handed out than there are workers, so none begins after an interrupt.
        with open_pool(workers, counter) as pool:
            running: set[Future[None]] = {pool.submit(_make_run, folder, *run) for run in islice(waiting, workers)}
            while running:
                ended, running = wait(running, _POLL_SECONDS, FIRST_COMPLETED)
                for future in ended:
                    future.result()
                done += len(ended)
                running |= {pool.submit(_make_run, folder, *run) for run in islice(waiting, len(ended))}
                if on_progress:
                    on_progress(Progress(int(counter.value), total, f"{done} of {len(missing)} runs"))
    return base, [LabRun(**parse_json(folder.place(*run).read_bytes())) for run in wanted]


def _make_base(folder: LabFolder, schemes: Sequence[str]) -> BaseResult:
    """The untrained policy's measures and audit; made in another process, which keeps torch out of this one.

    Earlier audits are kept: the user's own function may be gone by now.
    """
    place = folder.path / "base.json"
    try:
        held = BaseResult(**parse_json(place.read_bytes())) if place.is_file() else None
    except RubricError:
        held = None  # another version wrote it
    # A KL weight or a limit does not change what an answer earns: these rows share the audit of their scheme.
    bases = dict.fromkeys(find_lab_scheme(name).base for name in schemes)
    missing = [name for name in bases if held is None or not held.has_audit(name)]
    if held is not None and not missing:
        return held
    with open_pool(1) as pool:
        made = pool.submit(_describe_base, folder, missing).result()
    result = made if held is None else held.with_audit(made)
    write_json(place, result.model_dump(mode="json"))
    return result


@contextmanager
def open_pool(workers: int, counter: Any = None) -> Iterator[ProcessPoolExecutor]:
    """Worker processes that end with the block: if it fails or is interrupted, in the middle of their work."""
    with ProcessPoolExecutor(workers, _SPAWN, initializer=_start_process, initargs=(counter,)) as pool:
        try:
            yield pool
        except BaseException:
            # The pool itself would wait for them; what has a public name for this is Python 3.14.
            for process in list(pool._processes.values()):
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _start_process(counter: Any) -> None:
    """A terminal interrupts every process; the first one decides, and ends the others, however it ends itself."""
    _STEPS.append(counter)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101 - this runs in the processes of a pool only

    def end_with_parent() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


@cache
def _load_ground(folder: LabFolder) -> "Ground":
    from prorubric.lab.training import Ground  # noqa: PLC0415 - brings torch

    return Ground(folder.world, folder.path / "base.pt")


def _describe_base(folder: LabFolder, schemes: Sequence[str]) -> BaseResult:
    from prorubric.lab.training import describe_base  # noqa: PLC0415 - brings torch

    return describe_base(_load_ground(folder), schemes)


def _make_run(folder: LabFolder, scheme: str, seed: int) -> None:
    from prorubric.lab.training import train_policy  # noqa: PLC0415 - brings torch

    def count_step() -> None:
        with _STEPS[0].get_lock():
            _STEPS[0].value += 1

    result = train_policy(scheme, _load_ground(folder), seed, folder.steps, count_step)
    write_json(folder.place(scheme, seed), result.model_dump(mode="json"))
