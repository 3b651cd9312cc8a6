"""Every benchmark by name: where its files are expected, whether they are the published ones, and its items."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from prorubric.errors import ConfigError
from prorubric.evaluate.benchmarks import (
    arena,
    choice,
    creative,
    healthbench,
    meta,
    probe,
    researchqa,
    writingbench,
)
from prorubric.evaluate.benchmarks.base import Benchmark, BenchmarkFiles, Loaded, LoadedFile, choose
from prorubric.evaluate.benchmarks.own import KINDS, make_own
from prorubric.evaluate.records import DataFile
from prorubric.files.write import COMPRESSIONS, hash_file

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.name: benchmark
    for module in (healthbench, meta, choice, writingbench, creative, arena, researchqa, probe)
    for benchmark in module.BENCHMARKS
}

_PUBLISHED = {file.sha256 for benchmark in BENCHMARKS.values() for file in benchmark.files if file.sha256}


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a benchmark, for `evaluate --list`."""

    benchmark: str
    title: str
    rows: int | None
    """Of the published file, if known."""
    licence: str
    sha256: str
    """Of the published file; empty if it is not known."""
    place: Path
    """Where it is expected."""
    path: Path | None
    """Where it is."""
    is_published: bool | None
    """False if it is a different file; None if it does not exist, or its checksum is not known."""
    is_optional: bool
    is_protected: bool
    get: str


def find_benchmark(name: str) -> Benchmark:
    """The benchmark of this name, or one made from your file."""
    if ":" in name and name.partition(":")[0] in KINDS:
        return make_own(name)
    if name not in BENCHMARKS:
        remedy = f"choose from {', '.join(BENCHMARKS)}, or tasks:FILE, probe:FILE, pairs:FILE for your own"
        raise ConfigError("unknown benchmark", repr(name), remedy=remedy)
    return BENCHMARKS[name]


def find_files(benchmark: Benchmark, data_dir: Path) -> dict[str, Path | None]:
    """Where each file of a benchmark is, or None; a file may be compressed or have one of its other names."""
    found = {}
    for file in benchmark.files:
        places = (data_dir / f"{name}{end}" for name in (file.name, *file.also) for end in ("", *COMPRESSIONS))
        found[file.name] = next(filter(Path.is_file, places), None)
    return found


def load_benchmark(benchmark: Benchmark, data_dir: Path, limit: int | None = None) -> Loaded:
    """The items of a benchmark; with a limit, those whose ids have the smallest hashes."""
    source = BenchmarkFiles(require_files(benchmark, data_dir))
    items = benchmark.load(source)
    files = []
    for file in (file for file in benchmark.files if file.name in source.paths):
        path = source.paths[file.name]
        digest = hash_file(path) or ""
        files.append(LoadedFile(file.name, path, digest, source.rows[file.name], _is_published(file, digest)))
    left_out = dict(sorted(source.left_out.items()))
    return Loaded(benchmark, tuple(choose(items, limit)), len(items), tuple(files), left_out)


def require_files(benchmark: Benchmark, data_dir: Path) -> dict[str, Path]:
    """The files of a benchmark that are there; `ConfigError` if one that it cannot do without is missing."""
    if (file := find_missing(benchmark, data_dir)) is not None:
        also = f", or there as {' or '.join(file.also)}" if file.also else ""
        detail = f"looked for {data_dir / file.name}{also}"
        remedy = f"get it: {file.get}" if benchmark.published else file.get
        raise ConfigError("a file is missing", detail, remedy=remedy, place=benchmark.name)
    return {name: path for name, path in find_files(benchmark, data_dir).items() if path}


def find_missing(benchmark: Benchmark, data_dir: Path) -> DataFile | None:
    """The first file that it cannot do without and that is not there."""
    places = find_files(benchmark, data_dir)
    return next((file for file in benchmark.files if places[file.name] is None and not file.is_optional), None)


def describe_benchmarks(data_dir: Path) -> list[ListedFile]:
    """Every file of every benchmark: what it is, where it is expected, whether it exists, how to get it."""
    listed = []
    hash_once = cache(hash_file)
    for benchmark in BENCHMARKS.values():
        places = find_files(benchmark, data_dir)
        for file in benchmark.files:
            path = places[file.name]
            listed.append(
                ListedFile(
                    benchmark=benchmark.name,
                    title=benchmark.title,
                    rows=file.rows or None,
                    licence=file.licence,
                    sha256=file.sha256,
                    place=data_dir / file.name,
                    path=path,
                    is_published=_is_published(file, hash_once(path)) if path else None,
                    is_optional=file.is_optional,
                    is_protected=file.is_protected,
                    get=file.get,
                )
            )
    return listed


def _is_published(file: DataFile, digest: str | None) -> bool | None:
    # A file may serve another benchmark too, such as all of HealthBench for the consensus.
    return digest in _PUBLISHED if file.sha256 else None
