"""Re-scoring 100,000 responses × 30 criteria under every scheme, against a plain Python loop over the same formulas.

The loop runs on a sample, since it is slow; both are given per response. Run: python bench/aggregate.py [responses]
"""

import sys
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from prorubric import (
    SCHEMES,
    Criterion,
    Message,
    PlanTable,
    ProtocolRubric,
    Rubric,
    Task,
    find_scheme,
    make_plan,
    score_batch,
)

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


def draw_verdicts(table: PlanTable, responses: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    low, high = table.low_T_M.max(axis=0), table.high_T_M.max(axis=0)
    drawn: npt.NDArray[np.float64] = low + rng.integers(0, (high - low + 1).astype(int), (responses, len(low)))
    return drawn


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
    total_batch = total_loop = 0.0
    print(f"{responses:,} responses x {CRITERIA} criteria, {TASKS} tasks, one thread")
    print(f"{'scheme':38} {'batch, responses/s':>19} {'loop, responses/s':>18} {'ratio':>7}")
    for name in SCHEMES:
        table = PlanTable.of(tasks, find_scheme(name))
        verdicts = draw_verdicts(table, responses, rng)
        batch = time_it(lambda: score_batch(verdicts, table, owner), 3) / responses  # noqa: B023 - called at once
        plans = [make_plan(tasks[t], name) for t in owner[:LOOPED]]
        rows = [verdicts[r, : len(plan.ranges)].tolist() for r, plan in enumerate(plans)]
        loop = time_it(lambda: [plan.value(row) for plan, row in zip(plans, rows, strict=True)], 3) / LOOPED  # noqa: B023
        total_batch, total_loop = total_batch + batch, total_loop + loop
        print(f"{name:38} {1 / batch:19,.0f} {1 / loop:18,.0f} {loop / batch:6.0f}x")
    print(f"{'all schemes':38} {1 / total_batch:19,.0f} {1 / total_loop:18,.0f} {total_loop / total_batch:6.0f}x")


if __name__ == "__main__":
    main()
