"""Re-scoring 100,000 responses × 30 criteria under every scheme, against our own one by one and a plain Python loop.

The plain loop is what a script would do: it walks over the task's criteria and dimensions for each response. Loops run
on a sample, since they are slow; everything is given per response. Run: python bench/aggregate.py [responses]
"""

import sys
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from prorubric import SCHEMES, Criterion, Message, ProtocolRubric, Rubric, Task
from prorubric.aggregate.batch import PlanTable, score_batch
from prorubric.aggregate.plan import make_scoring_plan
from prorubric.aggregate.schemes import Scheme, find_scheme
from prorubric.judge.forms import BOOLEAN

TASKS, CRITERIA, DIMENSIONS, LOOPED = 500, 30, 4, 2_000


def make_task(number: int, rng: np.random.Generator) -> Task:
    count = int(rng.integers(CRITERIA - 5, CRITERIA + 1)) if number else CRITERIA
    weights = rng.integers(1, 11, count) * rng.choice([1, 1, 1, 1, -1], count)
    weights[0] = 10
    rubric = Rubric(
        criteria=tuple(Criterion(text=f"c{i}", weight=int(w), tags=("label:normal",)) for i, w in enumerate(weights))
    )
    groups = np.array_split(rng.permutation(count) + 1, DIMENSIONS)
    parts = [{"name": "n", "description": "d", "indices": [int(i) for i in group]} for group in groups]
    return Task(
        id=str(number),
        messages=(Message(role="user", content="?"),),
        rubric=rubric,
        protocol=ProtocolRubric.of(rubric, parts),
    )


def draw_verdicts(table: PlanTable, responses: int, rng: np.random.Generator) -> npt.NDArray[np.float64 | np.bool_]:
    """Verdicts as a caller keeps them: booleans where the scheme has booleans only, numbers elsewhere."""
    low, high = table.low_T_M.max(axis=0), table.high_T_M.max(axis=0)
    drawn: npt.NDArray[np.float64] = low + rng.integers(0, (high - low + 1).astype(int), (responses, len(low)))
    return drawn == 1 if table.is_boolean else drawn


def score_plainly(task: Task, verdicts: list[float], scheme: Scheme) -> float:
    """A plain loop over a task's records: no plan, no order of summation, no unknowns, no checks."""
    total = positive = 0.0
    dimensions = task.protocol.dimensions if task.protocol else ()
    if scheme.joins:
        for dimension in dimensions:
            positive += dimension.weight
            if all(bool(verdicts[i - 1]) == (task.rubric.criteria[i - 1].weight > 0) for i in dimension.indices):
                total += dimension.weight
    elif scheme.reads_criteria:
        for criterion, verdict in zip(task.rubric.criteria, verdicts, strict=False):
            if criterion.weight > 0:
                positive += criterion.weight
            if verdict:
                total += criterion.weight
    elif scheme.readings[0].about == "response":
        positive = sum(abs(criterion.weight) for criterion in task.rubric.criteria)
        total = positive * (verdicts[0] if scheme.readings[0].form is BOOLEAN else (verdicts[0] - 1) / 9)
    else:
        for dimension, verdict in zip(dimensions, verdicts, strict=False):
            positive += dimension.weight
            total += dimension.weight * (verdict if scheme.readings[0].form is BOOLEAN else verdict / 3)
    if scheme.appropriateness:
        weight = sum(abs(criterion.weight) for criterion in task.rubric.criteria) / len(dimensions)
        positive, total = positive + weight, total + weight * verdicts[-1]
    return min(max(total / positive, 0.0), 1.0)


def time_it(work: Callable[[], object], repeats: int) -> float:
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    responses = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rng = np.random.default_rng(0)
    tasks = [make_task(number, rng) for number in range(TASKS)]
    owner = rng.integers(0, TASKS, responses)
    sums = np.zeros(3)
    print(f"{responses:,} responses x {CRITERIA} criteria, {TASKS} tasks, one thread; responses a second")
    print(
        f"{'scheme':37} {'batch':>12} {'one by one':>11} {'plain loop':>11} {'batch : one':>12} {'batch : plain':>14}"
    )
    for name in SCHEMES:
        scheme = find_scheme(name)
        table = PlanTable.of(tasks, scheme)
        verdicts = draw_verdicts(table, responses, rng)
        plans = [make_scoring_plan(tasks[t], name) for t in owner[:LOOPED]]
        rows = [verdicts[r, : len(plan.ranges)].tolist() for r, plan in enumerate(plans)]
        owners = [tasks[t] for t in owner[:LOOPED]]
        seconds = np.array(
            [
                time_it(lambda: score_batch(verdicts, table, owner), 3) / responses,  # noqa: B023 - called at once
                time_it(lambda: [p.value(row) for p, row in zip(plans, rows, strict=True)], 3) / LOOPED,  # noqa: B023
                time_it(lambda: [score_plainly(t, row, scheme) for t, row in zip(owners, rows, strict=True)], 3)  # noqa: B023
                / LOOPED,
            ]
        )
        sums += seconds
        print_row(name, seconds)
    print_row("all schemes", sums)


def print_row(name: str, seconds: npt.NDArray[np.float64]) -> None:
    batch, single, plain = 1 / seconds
    print(f"{name:37} {batch:12,.0f} {single:11,.0f} {plain:11,.0f} {batch / single:11.0f}x {batch / plain:13.0f}x")


if __name__ == "__main__":
    main()
