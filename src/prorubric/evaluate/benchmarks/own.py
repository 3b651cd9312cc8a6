"""Your own tasks file as a benchmark.

`tasks:FILE` scores answers by the criteria of the file, `probe:FILE` and `pairs:FILE` use only its prompts. The ids are
the same in all three, so an answer is asked for once.
"""

from functools import partial
from pathlib import Path

from prorubric.datasets.load import load_tasks
from prorubric.evaluate.benchmarks.base import Benchmark, BenchmarkFiles
from prorubric.evaluate.records import BenchmarkItem, DataFile, Sampling

KINDS = {"tasks": "Tasks of {}", "probe": "Probe, prompts of {}", "pairs": "Blind pairs, prompts of {}"}


def make_own(name: str) -> Benchmark:
    """The benchmark that a name such as `tasks:held-out.jsonl` describes."""
    kind, _, place = name.partition(":")
    file = DataFile(str(Path(place).absolute()), 0, "yours", "check the path")
    title = KINDS[kind].format(Path(place).name)
    return Benchmark(name, title, "own", (file,), partial(_load, file.name), kind, Sampling())


def _load(file: str, source: BenchmarkFiles) -> list[BenchmarkItem]:
    items = []
    for task in load_tasks(source.paths[file], strict=True):
        source.rows[file] += 1
        if any(weight > 0 for weight in task.rubric.weights):
            tags = (f"domain:{task.domain}",) if task.domain else ()
            items.append(BenchmarkItem(f"{Path(file).stem}/{task.id}", task.messages, task.rubric.criteria, tags=tags))
        else:
            source.left_out["no positive weights"] += 1
    return items
