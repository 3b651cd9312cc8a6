"""Criteria linted per second: the checks alone, and reading and checking a file.

Run: python bench/lint.py [FILE]. Without a file the sample pack is repeated to 6,000 criteria, which are as long as
real ones.
"""

import sys
import tempfile
import time
from pathlib import Path

from prorubric import LintConfig, lint_tasks, load_tasks, save_tasks
from prorubric.datasets.samples import SAMPLE_TASKS
from prorubric.rubric.lint import lint_task

REPEATS, ENOUGH = 5, 6_000


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = sys.argv[1] if len(sys.argv) > 1 else str(make_file(Path(folder) / "tasks.jsonl"))
        tasks = list(load_tasks(path))
        criteria = sum(len(task.rubric) for task in tasks)
        checks, whole = [], []
        for _ in range(REPEATS):
            start = time.process_time()
            for task in tasks:
                lint_task(task)
            checks.append(time.process_time() - start)
            start = time.process_time()
            result = lint_tasks(LintConfig(path))
            whole.append(time.process_time() - start)
            assert result.criteria == criteria
        print(f"{len(tasks):,} tasks, {criteria:,} criteria, CPU time, best of {REPEATS}")
        print(f"checks alone          {criteria / min(checks):9,.0f} criteria/s")
        print(f"reading and checking  {criteria / min(whole):9,.0f} criteria/s")
        print(f"ratio of the two      {min(whole) / min(checks):9.2f}")


def make_file(path: Path) -> Path:
    tasks = list(load_tasks(SAMPLE_TASKS))
    copies = 1 + ENOUGH // sum(len(task.rubric) for task in tasks)
    # Each copy gets its own ids: a second task with the same id is a reject, and would not be checked.
    save_tasks(path, (task.model_copy(update={"id": f"{task.id} {copy}"}) for copy in range(copies) for task in tasks))
    return path


if __name__ == "__main__":
    main()
