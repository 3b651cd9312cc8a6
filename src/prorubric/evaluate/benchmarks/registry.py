"""Every benchmark by name: where its files are looked for, whether they are the published ones, and its items."""

from collections.abc import Iterator
from pathlib import Path

from prorubric.errors import ConfigError
from prorubric.evaluate.benchmarks import healthbench
from prorubric.evaluate.benchmarks.base import Benchmark, Loaded, LoadedFile, Source, choose
from prorubric.evaluate.records import DataFile
from prorubric.files.write import COMPRESSIONS, hash_file

BENCHMARKS: dict[str, Benchmark] = {benchmark.name: benchmark for benchmark in (*healthbench.BENCHMARKS,)}

_PUBLISHED = {file.sha256 for benchmark in BENCHMARKS.values() for file in benchmark.files if file.sha256}


def find_benchmark(name: str) -> Benchmark:
    """The benchmark of this name."""
    if name not in BENCHMARKS:
        raise ConfigError("unknown benchmark", repr(name), remedy=f"choose from {', '.join(BENCHMARKS)}")
    return BENCHMARKS[name]


def find_files(benchmark: Benchmark, data_dir: Path) -> dict[str, Path | None]:
    """Where each file of a benchmark is, or None; a file may be compressed or have one of its other names."""
    return {file.name: next(filter(Path.is_file, _list_places(file, data_dir)), None) for file in benchmark.files}


def load_benchmark(benchmark: Benchmark, data_dir: Path, limit: int | None = None) -> Loaded:
    """The items of a benchmark; with a limit, those whose ids have the smallest hashes."""
    places = find_files(benchmark, data_dir)
    for file in benchmark.files:
        if places[file.name] is None and not file.is_optional:
            also = f", or there as {' or '.join(file.also)}" if file.also else ""
            detail = f"looked for {data_dir / file.name}{also}"
            raise ConfigError("a file is missing", detail, remedy=f"get it: {file.get}", place=benchmark.name)
    source = Source({name: path for name, path in places.items() if path})
    items = benchmark.load(source)
    files = tuple(_describe_read(file, source) for file in benchmark.files if file.name in source.paths)
    return Loaded(benchmark, tuple(choose(items, limit)), len(items), files, dict(sorted(source.left_out.items())))


def _list_places(file: DataFile, data_dir: Path) -> Iterator[Path]:
    for name in (file.name, *file.also):
        for ending in ("", *COMPRESSIONS):
            yield data_dir / f"{name}{ending}"


def _describe_read(file: DataFile, source: Source) -> LoadedFile:
    path = source.paths[file.name]
    digest = hash_file(path) or ""
    # A file may serve another benchmark under its own name, such as all of HealthBench for the consensus.
    is_published = digest in _PUBLISHED if file.sha256 else None
    return LoadedFile(file.name, path, digest, source.rows[file.name], is_published)
