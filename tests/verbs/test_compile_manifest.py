"""What the manifest counts is what the files hold."""

import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from prorubric import CompileConfig, compile_rubrics, load_tasks, save_tasks
from prorubric.compile.compiler import GeneratorConfig
from prorubric.rubric.records import Criterion, Message, ProtocolRubric, Rubric, Task
from prorubric.verbs.compile import CompileResult
from tests.compile.generating import FAULTS, make_faulty, make_tasks
from tests.compile.test_faults import ITEMS
from tests.llm.server import MisbehavingServer

PRICES = {"test-model": {"prompt": 2.0, "completion": 8.0, "date": "2026-11-05"}}


def make_faulty_tasks() -> tuple[dict[str, Task], dict[str, tuple[str | None, bool]]]:
    """Each fault once for good and once until it is told, and two tasks without one."""
    plan: dict[str, tuple[str | None, bool]] = {"good-1": (None, False), "good-2": (None, False)}
    for number, fault in enumerate(FAULTS):
        plan |= {f"stays-{number}": (fault, False), f"cured-{number}": (fault, True)}
    rubric = Rubric(criteria=tuple(Criterion(text=text, weight=weight) for text, weight in ITEMS.items()))
    question = "My baby is six weeks old and has a fever of 38.6. What now?"
    return {
        name: Task(id=name, messages=(Message(role="user", content=f"<{name}> {question}"),), rubric=rubric)
        for name in plan
    }, plan


TASKS, PLAN = make_faulty_tasks()
FAULTY = make_faulty(TASKS, PLAN)


def read_lineage(tasks: list[Task]) -> list[dict[str, Any]]:
    return [dict(task.meta["compile"]) for task in tasks]  # type: ignore[call-overload]


def compile_faulty(folder: Path, **options: Any) -> CompileResult:
    return compile_rubrics(
        CompileConfig(folder / "tasks.jsonl", out=folder / "out.jsonl", generator=f"{__name__}:FAULTY", **options)
    )


@pytest.fixture
def compiled(tmp_path: Path) -> tuple[CompileResult, Path]:
    save_tasks(tmp_path / "tasks.jsonl", TASKS.values())
    return compile_faulty(tmp_path), tmp_path


def test_states_reasons_and_attempts_are_those_that_each_fault_calls_for(compiled: tuple[CompileResult, Path]) -> None:
    result, _ = compiled
    states, reasons, attempts = Counter({"kept": 2}), Counter[str](), Counter({1: 2})
    for case in FAULTS.values():
        states.update([case.state, "kept"])
        reasons.update([case.reason] if case.reason else [])
        attempts.update([case.attempts, min(2, case.attempts)])
    found = {"kept": result.kept, "repaired": result.repaired, "excluded": result.excluded}
    assert (found, result.reasons) == (dict(states), dict(reasons))
    assert result.attempts == {str(count): tasks for count, tasks in sorted(attempts.items())}
    assert (result.read, result.rejected) == (len(PLAN), 0)
    assert result.calls == sum(count * tasks for count, tasks in attempts.items())


def test_repairs_faults_and_dimensions_are_those_of_the_tasks_in_the_files(
    compiled: tuple[CompileResult, Path],
) -> None:
    result, folder = compiled
    kept, excluded = (list(load_tasks(folder / name)) for name in ("out.jsonl", "out.excluded.jsonl"))
    lineage = read_lineage(kept)
    assert result.repairs == sum(len(about.get("repairs", [])) for about in lineage) > 0
    assert result.text_faults == {"clause": 1, "name": 1}
    assert sum(len(about.get("text_faults", [])) for about in lineage) == 2
    told = sum(len(faults) for about in read_lineage([*kept, *excluded]) for faults in about.get("faults", []))
    assert sum(result.faults.values()) == told > 0
    sizes = Counter(len(task.protocol or ()) for task in kept)
    assert result.dimensions == {str(size): count for size, count in sorted(sizes.items())}
    assert [task.id for task in sorted([*kept, *excluded], key=lambda task: list(PLAN).index(task.id))] == list(PLAN)


def test_the_manifest_is_the_result_with_the_settings_and_the_sums_of_the_files(
    compiled: tuple[CompileResult, Path],
) -> None:
    result, folder = compiled
    manifest = json.loads((folder / "out.manifest.json").read_text())
    assert {key: manifest[key] for key in result.model_dump(mode="json")} == result.model_dump(mode="json")
    assert (manifest["verb"], manifest["config"]["generator"]) == (
        "compile",
        "tests.verbs.test_compile_manifest:FAULTY",
    )
    assert manifest["config"]["generation"]["reasks"] == 2
    names = {"input": "tasks.jsonl", "tasks": "out.jsonl", "excluded": "out.excluded.jsonl"}
    assert result.sha256 == {
        key: hashlib.sha256((folder / name).read_bytes()).hexdigest() for key, name in names.items()
    }


def test_tokens_and_money_are_those_of_the_replies(tmp_path: Path, server: MisbehavingServer) -> None:
    save_tasks(tmp_path / "tasks.jsonl", make_tasks(6))
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    settings = {"out": tmp_path / "out.jsonl", "generator": server.spec, "prices": tmp_path / "prices.json"}
    first = compile_rubrics(CompileConfig(tmp_path / "tasks.jsonl", **settings))  # type: ignore[arg-type]
    # Each reply of this server says that it used 7 and 3.
    assert (first.prompt_tokens, first.completion_tokens) == (6 * 7, 6 * 3)
    assert first.cost == pytest.approx((6 * 7 * 2.0 + 6 * 3 * 8.0) / 1e6)
    again = compile_rubrics(CompileConfig(tmp_path / "tasks.jsonl", **settings, overwrite=True))  # type: ignore[arg-type]
    assert (again.prompt_tokens, again.cost, again.cached) == (0, 0.0, 6)
    assert again.cost_with_journal == first.cost


def test_texts_that_were_not_delivered_are_counted_by_their_name(tmp_path: Path) -> None:
    save_tasks(tmp_path / "tasks.jsonl", TASKS.values())
    result = compile_faulty(tmp_path, group="none", texts=("labels",), generation=GeneratorConfig(reasks=0))
    assert (result.kept, result.failed_texts) == (len(PLAN), {"labels": len(PLAN)})


def test_a_task_that_a_transform_excludes_counts_neither_repairs_nor_faults_of_its_text(tmp_path: Path) -> None:
    repaired = {name: task for name, task in TASKS.items() if PLAN[name] == ("an index is missing", False)}
    unclear = {name: task for name, task in TASKS.items() if PLAN[name] == ("no failure clause", False)}
    save_tasks(tmp_path / "tasks.jsonl", [*repaired.values(), *unclear.values()])
    result = compile_faulty(tmp_path, group="all", transform=("weighted",))
    assert (result.kept, result.excluded, result.reasons) == (0, 2, {"no text for weighted": 2})
    assert (result.repairs, result.text_faults, result.dimensions) == (0, {}, {})


def test_a_run_that_only_transforms_says_how_the_dimensions_were_made(compiled: tuple[CompileResult, Path]) -> None:
    made, folder = compiled
    result = compile_rubrics(CompileConfig(folder / "out.jsonl", out=folder / "raw.jsonl", transform=("raw-and",)))
    assert (result.kept, result.repaired, result.excluded) == (made.kept, made.repaired, 0)


CODE = """
import resource, sys
from prorubric import CompileConfig, compile_rubrics
compile_rubrics(CompileConfig(sys.argv[1], out=sys.argv[2], transform=("raw-and",)))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.extended
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """3,000 tasks of 20 kB each are 60 MB; a run that held them would need more than that."""
    rubric = make_tasks(1)[0].rubric
    rows = [{"name": f"Part {k}", "description": "All of it holds.", "indices": [2 * k - 1, 2 * k]} for k in (1, 2)]
    protocol = ProtocolRubric.of(rubric, rows)
    long = "It was a long run, mostly downhill. " * 560
    peaks = []
    for count in (300, 3000):
        folder = tmp_path / str(count)
        folder.mkdir()
        tasks = (
            Task(
                id=f"t{number}",
                messages=(Message(role="user", content=f"{number} {long}"),),
                rubric=rubric,
                protocol=protocol,
            )
            for number in range(count)
        )
        save_tasks(folder / "tasks.jsonl", tasks)
        command = [sys.executable, "-c", CODE, str(folder / "tasks.jsonl"), str(folder / "out.jsonl")]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert peaks[1] - peaks[0] < 25, peaks
