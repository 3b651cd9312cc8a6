"""Every real checklist of a real file ends in the right state, whatever the generator says about it."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from prorubric import CompileConfig, compile_rubrics, load_tasks, save_tasks
from prorubric.compile.compiler import Compiled, Compiler
from prorubric.llm.together import run_sync, run_together
from prorubric.rubric.records import Criterion, Message, Rubric, Task
from tests.compile.generating import FAULTS, make_faulty

FEWEST_FAULTS = 200
ITEMS = {
    "Says that an infant of six weeks with a fever of 38.6 needs to be seen tonight": 5,
    "Explains why a fever at this age is treated as an infection until proven otherwise": 3,
    "Suggests waiting until the morning": -2,
    "Tells the parent to keep feeding the baby on the way": 4,
    "Keeps the tone calm": 1,
    "Names signs for which to call an ambulance at once": 7,
}


def mark(task: Task) -> Task:
    """The task with its id in the conversation, by which the faulty generator knows it."""
    first = Message(role="user", content=f"<{task.id}>")
    return task.model_copy(update={"messages": (first, *task.messages)})


def compile_all(tasks: list[Task], plan: dict[str, tuple[str | None, bool]]) -> list[Compiled]:
    compiler = Compiler(make_faulty({task.id: task for task in tasks}, plan))
    return run_sync(run_together(compiler.compile(task) for task in tasks))


def check(made: Compiled, task: Task, fault: str | None, cured: bool) -> None:
    """The state, the reason, the number of attempts; the checklist as it was; a partition where there is one."""
    case = FAULTS[fault] if fault else None
    if case is None:
        wanted = ("kept", None, 1)
    elif cured:
        wanted = ("kept", None, min(2, case.attempts))
    else:
        wanted = (case.state, case.reason, case.attempts)
    assert (made.state, made.reason, made.attempts) == wanted, (task.id, fault, cured, made.faults)
    assert made.task.rubric == task.rubric
    assert made.task.messages == task.messages
    lineage = made.task.meta["compile"]
    assert isinstance(lineage, dict)
    assert lineage["state"] == made.state
    if made.state == "excluded":
        assert made.task.protocol is None
        assert lineage["reason"] == made.reason
        return
    assert made.task.protocol is not None
    indices = sorted(index for dimension in made.task.protocol.dimensions for index in dimension.indices)
    assert indices == list(range(1, len(task.rubric) + 1))
    assert 2 <= len(made.task.protocol) <= 5
    for dimension in made.task.protocol.dimensions:
        assert dimension.weight == task.rubric.weight_of(dimension.indices)
    assert bool(made.repairs) == (made.state == "repaired")


@pytest.mark.parametrize("cured", [False, True])
@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_ends_in_its_state(fault: str, cured: bool) -> None:
    criteria = tuple(Criterion(text=text, weight=weight) for text, weight in ITEMS.items())
    question = Message(role="user", content="My baby is six weeks old and has a fever of 38.6. What now?")
    task = mark(Task(id="fever", messages=(question,), rubric=Rubric(criteria=criteria)))
    made = compile_all([task], {task.id: (fault, cured)})[0]
    check(made, task, fault, cured)


def test_all_of_healthbench_with_hundreds_of_faults_ends_in_the_right_states(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = [mark(task) for task in load_tasks(shared_data / "healthbench_500" / "healthbench_500.parquet")]
    names = list(FAULTS)
    plan: dict[str, tuple[str | None, bool]] = {}
    for number, task in enumerate(tasks):
        fault = names[(number // 5 * 3 + number % 5) % len(names)] if number % 5 < 3 else None
        # Where there are few items some faults are another: half of three items is one, and taking it leaves none.
        plan[task.id] = (fault if len(task.rubric) >= 6 else None, number % 5 == 2)
    stay = Counter(fault for fault, cured in plan.values() if fault and not cured)
    assert sum(bool(fault) for fault, _ in plan.values()) >= FEWEST_FAULTS
    assert set(stay) == set(FAULTS)
    made = compile_all(tasks, plan)
    assert len(made) == 500
    for one, task in zip(made, tasks, strict=True):
        check(one, task, *plan[task.id])
    # The same as a run over the file: every task is in one of the two files, in order, as it was made here.
    faulty = make_faulty({task.id: task for task in tasks}, plan)
    monkeypatch.setattr(sys.modules[__name__], "FAULTY", faulty, raising=False)
    save_tasks(tmp_path / "tasks.jsonl", tasks)
    spec = f"{__name__}:FAULTY"
    result = compile_rubrics(CompileConfig(tmp_path / "tasks.jsonl", out=tmp_path / "out.jsonl", generator=spec))
    assert Counter(one.state for one in made) == Counter(
        kept=result.kept, repaired=result.repaired, excluded=result.excluded
    )
    kept, excluded = (list(load_tasks(tmp_path / name)) for name in ("out.jsonl", "out.excluded.jsonl"))
    assert kept == [one.task for one in made if one.state != "excluded"]
    assert excluded == [one.task for one in made if one.state == "excluded"]
    assert result.reasons == dict(Counter(one.reason for one in made if one.reason))
