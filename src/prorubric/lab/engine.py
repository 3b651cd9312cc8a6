"""Many runs in parallel processes, resumable: a finished run is one file, and what is finished is not done again.

The folder holds `config.json` (the world with its parameters), `base.pt` (the untrained policy), `base.json` (its
measures, answers and audit) and `runs/<scheme>-seed-<seed>-steps-<steps>.json`. A folder made with other parameters is
refused: two worlds in one table would be neither. A function of one's own that was edited since is audited and trained
on again. An interrupt, a kill, or a run that fails ends all processes at once; what they had not finished is made next
time.
"""

import multiprocessing.connection
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import KW_ONLY, asdict
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from prorubric.errors import ConfigError, MissingExtraError, RubricError
from prorubric.files.json import parse_json, render_json
from prorubric.files.lock import lock_path
from prorubric.files.write import write_json
from prorubric.lab.incentive import Audit
from prorubric.lab.results import BaseResult, RunResult
from prorubric.lab.schemes import COMPARED, check_lab_scheme, find_lab_scheme, hash_own
from prorubric.lab.world import find_world
from prorubric.rubric.base import config_record, split_commas
from prorubric.train.paper import PAPER

Tell = Callable[[int, str, int], None]
"""Told how many steps are done, a note, and how many there are."""

_POLL_SECONDS = 0.5


@config_record
class LabConfig:
    """Which runs to make, and where."""

    _: KW_ONLY
    scheme: Annotated[tuple[str, ...], BeforeValidator(split_commas), Field(min_length=1)] = COMPARED
    """Comma-separated schemes, such as prorubric,additive-kl-0.01, or your own function as pkg.module:function."""
    world: str = "triage-v1"
    """The world: triage-v1, triage-v1-redrawn, science-v1 or dialogue-v1."""
    steps: Annotated[int, Field(ge=1, le=10_000)] = PAPER.rollouts
    """Number of training steps."""
    seeds: Annotated[int, Field(ge=1, le=100)] = len(PAPER.seeds)
    """Number of seeds, starting at 42."""
    workers: Annotated[int, Field(ge=1, le=256)] = 2
    """Number of worker processes, each with one thread."""
    out: Path = Path("prorubric-lab")
    """Run folder; running the same command again makes the runs that are missing."""

    def __post_init__(self) -> None:
        find_world(self.world)
        for name in self.scheme:
            check_lab_scheme(name)

    @property
    def runs(self) -> list[tuple[str, int]]:
        """Scheme and seed of every run; all schemes of a seed before the next, so that a table fills evenly."""
        return [(scheme, PAPER.seeds[0] + seed) for seed in range(self.seeds) for scheme in dict.fromkeys(self.scheme)]


def make_runs(config: LabConfig, tell: Tell) -> tuple[BaseResult, list[RunResult]]:
    """Make the runs that are missing, and read them all."""
    require_torch()
    config.out.mkdir(parents=True, exist_ok=True)
    with lock_path(config.out / "lock", config.out):
        _check_folder(config)
        (config.out / "runs").mkdir(exist_ok=True)
        missing = [run for run in config.runs if not _is_made(config, *run)]
        base = _make_base(config)
        if missing:
            _run_all(config, missing, tell)
    return base, list(read_runs(config))


def read_runs(config: LabConfig) -> Iterator[RunResult]:
    """The finished runs of a folder, as far as the config asks for them."""
    for run in config.runs:
        place = _place(config, *run)
        if place.is_file():
            yield RunResult(**parse_json(place.read_bytes()))


def require_torch() -> None:
    """Refuse in one line where torch is missing, before anything is written."""
    try:
        import torch  # noqa: F401, PLC0415 - heavy, and an extra
    except ImportError:
        raise MissingExtraError.of("training in the lab", "lab") from None


def _place(config: LabConfig, scheme: str, seed: int) -> Path:
    return config.out / "runs" / f"{scheme.replace(':', '@')}-seed-{seed}-steps-{config.steps}.json"


def _is_made(config: LabConfig, scheme: str, seed: int) -> bool:
    """True where a run is there; one of a function of one's own has to be of the function as it is now."""
    place, source = _place(config, scheme, seed), hash_own(scheme)
    return place.is_file() and (source is None or parse_json(place.read_bytes()).get("source") == source)


def _check_folder(config: LabConfig) -> None:
    """One folder, one world with one set of parameters."""
    place = config.out / "config.json"
    parameters = parse_json(render_json({"world": asdict(find_world(config.world))}))
    if place.is_file():
        held = parse_json(place.read_bytes())
        if held.get("world") != parameters["world"]:
            raise ConfigError(
                f"{config.out} holds runs of {held.get('world', {}).get('name')!r} with its parameters, not of this "
                f"{config.world}; give another --out"
            )
    else:
        write_json(place, parameters)


def _make_base(config: LabConfig) -> BaseResult:
    """The untrained policy's measures and audit; made in a process of its own, so that this one stays light.

    What was audited before is kept: a function of one's own may be gone by now.
    """
    place = config.out / "base.json"
    held = _read_base(place)
    audited = [name for name in _audited(config.scheme) if held is None or not _is_audited(held, name)]
    if held is not None and not audited:
        return held
    with _open_pool(1, _start_process) as pool:
        made = pool.submit(_describe_base, config.world, config.out / "base.pt", audited).result()
    result = made if held is None else _join(held, made)
    write_json(place, result.model_dump(mode="json"))
    return result


def _is_audited(held: BaseResult, name: str) -> bool:
    source = hash_own(name)
    known = any(found.scheme == name for found in held.audit.forecast)
    return known and (source is None or held.sources.get(name) == source)


def _join(held: BaseResult, made: BaseResult) -> BaseResult:
    """What was held, with what was audited now in place of what has its name."""
    new = {found.scheme for found in made.audit.forecast}
    old = held.audit
    audit = Audit(
        world=old.world,
        effects=(*(cell for cell in old.effects if cell.scheme not in new), *made.audit.effects),
        naming_share=(*(share for share in old.naming_share if share.scheme not in new), *made.audit.naming_share),
        forecast=(*(row for row in old.forecast if row.scheme not in new), *made.audit.forecast),
    )
    return held.model_copy(update={"audit": audit, "sources": held.sources | made.sources})


def _read_base(place: Path) -> BaseResult | None:
    """What was made before; None where there is nothing, or where another version wrote it: it can be made again."""
    try:
        return BaseResult(**parse_json(place.read_bytes())) if place.is_file() else None
    except RubricError:
        return None


def _audited(schemes: Sequence[str]) -> list[str]:
    """What a KL weight or a limit changes is not what an answer earns: these rows share the audit of their scheme."""
    return list(dict.fromkeys(find_lab_scheme(name).base for name in schemes))


def _describe_base(world: str, place: Path, schemes: Sequence[str]) -> BaseResult:
    from prorubric.lab.run import Ground, describe_base  # noqa: PLC0415 - brings torch

    return describe_base(Ground(world, place), schemes)


@contextmanager
def _open_pool(workers: int, start: Callable[..., None], *args: Any) -> Iterator[ProcessPoolExecutor]:
    """Worker processes that end with the block: where it fails or is interrupted, in the middle of what they do."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=start, initargs=args) as pool:
        try:
            yield pool
        except BaseException:
            # The pool itself would wait for them; what has a public name for this is Python 3.14.
            for process in list(pool._processes.values()):
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _run_all(config: LabConfig, missing: list[tuple[str, int]], tell: Tell) -> None:
    """No more runs are handed out than there are workers, so that none begins after an interrupt."""
    counter = multiprocessing.get_context("spawn").Value("q", 0)
    workers, total = min(config.workers, len(missing)), config.steps * len(missing)
    waiting, done = iter(missing), 0
    with _open_pool(workers, _start_worker, config.world, config.out / "base.pt", counter) as pool:
        running: set[Future[None]] = {pool.submit(_work, config, *run) for run in islice(waiting, workers)}
        while running:
            ended, running = wait(running, _POLL_SECONDS, FIRST_COMPLETED)
            for future in ended:
                future.result()
            done += len(ended)
            running |= {pool.submit(_work, config, *run) for run in islice(waiting, len(ended))}
            tell(int(counter.value), f"{done} of {len(missing)} runs", total)


def _start_process() -> None:
    """A terminal interrupts every process; the first one decides, and ends the others, however it ends itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None  # noqa: S101 - this runs in the processes of a pool only

    def end_with_parent() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


_WORKER: dict[str, Any] = {}
"""What a worker process builds once for all of its runs."""


def _start_worker(world: str, base: Path, counter: Any) -> None:
    _start_process()
    from prorubric.lab.run import Ground  # noqa: PLC0415 - brings torch

    _WORKER.update(ground=Ground(world, base), counter=counter)


def _work(config: LabConfig, scheme: str, seed: int) -> None:
    from prorubric.lab.run import RunConfig, train  # noqa: PLC0415 - brings torch

    def count(step: int) -> None:  # noqa: ARG001 - each call is one step
        with _WORKER["counter"].get_lock():
            _WORKER["counter"].value += 1

    result = train(RunConfig(scheme, world=config.world, seed=seed, steps=config.steps), _WORKER["ground"], count)
    write_json(_place(config, scheme, seed), result.model_dump(mode="json"))
