"""How long `prorubric view` takes with 20,000 tasks and 200,000 verdicts: the first page, filters, one answer.

`python bench/view.py [TASKS]`; with Chromium installed also the elapsed times in a real browser, next to the load.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from fastapi.testclient import TestClient

from prorubric import Criterion, Message, Response, Rubric, Task, save_responses, save_tasks
from prorubric.aggregate.choose import score_readings
from prorubric.files.write import hash_file, write_json
from prorubric.rubric.records import ProtocolRubric
from prorubric.runs.verdicts import render_score_row, render_verdict_row
from prorubric.view.app import make_app
from prorubric.view.config import ViewConfig

_WORDS = (
    "fever rash cough dose doctor tonight warning signs rest fluids temperature infant weeks because history".split()
)
_RUN = "bGFyZ2U"  # the id of "large"


def make_run(folder: Path, tasks: int, criteria: int) -> None:
    """A judge run with answers of about 1,500 characters."""
    folder.mkdir(parents=True)
    made, rows, scores, responses = [], [], [], []
    for number in range(tasks):
        text = " ".join(_WORDS[(number + place * 7) % len(_WORDS)] for place in range(220))
        rubric = Rubric(
            criteria=tuple(
                Criterion(
                    text=f"Criterion {place} says {_WORDS[(number + place) % len(_WORDS)]} {text[:80]}", weight=1.0
                )
                for place in range(criteria)
            )
        )
        parts = [{"name": "All", "description": "Fails if not.", "indices": range(1, criteria + 1)}]
        protocol = ProtocolRubric.of(rubric, [{**part, "indices": tuple(part["indices"])} for part in parts])
        message = Message(role="user", content=f"question {number}: {text[:300]}")
        task = Task(id=f"task-{number}", messages=(message,), rubric=rubric, protocol=protocol)
        verdicts = {"criteria": tuple((number + place) % 3 > 0 for place in range(criteria))}
        made.append(task)
        responses.append(Response(task_id=task.id, text=f"answer {number}. {text}", sample=0))
        rows.append(render_verdict_row(task.id, 0, verdicts))
        scores.append(render_score_row(task.id, 0, score_readings(verdicts, task, ["additive", "conjunctive"])))
    save_tasks(folder / "tasks.jsonl", made)
    answers = folder.parent / "responses.jsonl"
    save_responses(answers, responses)
    for name, lines in (("verdicts", rows), ("scores", scores)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    held = {"responses": {"path": str(answers), "sha256": hash_file(answers)}}
    setting = {"verb": "judge", "config": {"judge": "none"}, "identity": {}, "inputs": held}
    write_json(folder / "config.json", setting)
    write_json(folder / "summary.json", {"stopped": "", "calls": tasks, "cost": None})


def main(tasks: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        make_run(root / "large", tasks, 10)
        client = TestClient(make_app(root, config=ViewConfig(root)))
        print(f"{tasks:,} tasks, {tasks * 10:,} verdicts")
        for name, path in {
            "list of runs": "/api/runs",
            "first page, run read for the first time": f"/api/run/{_RUN}/answers",
            "first page again": f"/api/run/{_RUN}/answers",
            "filter by words, first time": f"/api/run/{_RUN}/answers?text=answer+{tasks - 1}",
            "filter by words": f"/api/run/{_RUN}/answers?text=dose+answer+{tasks // 2}",
            "filter by criterion and verdict": f"/api/run/{_RUN}/answers?criterion=criterion+3&verdict=unmet",
            "filter by scheme difference": f"/api/run/{_RUN}/answers?first=additive&second=conjunctive",
            "one answer": f"/api/run/{_RUN}/answer/{tasks // 2}",
            "compare a run with itself, first time": f"/api/compare?a={_RUN}&b={_RUN}",
            "compare, filter by words": f"/api/compare?a={_RUN}&b={_RUN}&text=dose",
        }.items():
            begun, used = time.perf_counter(), time.process_time()
            answer = client.get(path)
            taken, used = time.perf_counter() - begun, time.process_time() - used
            assert answer.status_code == 200, answer.text
            print(f"{name:45} {1000 * taken:8.0f} ms, {1000 * used:8.0f} ms of CPU")
        _measure_browser(root, tasks)


_ROWS = "document.querySelectorAll('.answers tbody tr').length"
_TYPE = """(name, text) => new Promise((done) => {
  const box = document.querySelector(`[name=${name}]`), line = document.querySelector(".pager [role=status]");
  const before = line.textContent, begun = performance.now();
  const look = () => (line.textContent === before ? requestAnimationFrame(look) : done(performance.now() - begun));
  box.value = text;
  box.dispatchEvent(new Event(box.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
  look();
})"""
"""Fill in a filter; gives the milliseconds until the page shows how many answers are left."""


def _measure_browser(root: Path, tasks: int) -> None:
    """Elapsed times in a real browser, with the server in this process: until it has painted, listed, filtered."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.report.browser import PROGRAM, open_browser  # noqa: PLC0415 - only where there is a browser
    from tests.view.folders import serve  # noqa: PLC0415

    if PROGRAM is None:
        print("no Chromium on this machine: not measured in a browser")
        return
    with serve(root) as address, open_browser() as page:
        for time_of in ("first", "second"):
            page.open(f"{address}/#/run/{_RUN}")
            while not page.evaluate(_ROWS):
                time.sleep(0.005)
            listed = page.evaluate("performance.now()")
            painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN")
            _tell(f"Chromium: first paint, {time_of} time", painted)
            _tell(f"Chromium: answers listed, {time_of} time", listed)
        for what, name, text in (
            ("words, first time", "text", f"answer {tasks - 1}."),
            ("words", "text", f"answer {(tasks - 1) // 10}"),
            ("fewer letters of them", "text", f"answer {(tasks - 1) // 100}"),
            ("task", "task", "task-1"),
            ("", "", ""),  # clear them all
            ("criterion", "criterion", "criterion 3 says dose"),
            ("criterion and verdict", "verdict", "unmet"),
        ):
            if name:
                _tell(
                    f"Chromium: filter by {what}", page.evaluate(f"({_TYPE})({json.dumps(name)}, {json.dumps(text)})")
                )
            else:
                page.evaluate("document.querySelector('form.filters > button').click()")
                while f"{tasks:,} answers" not in page.evaluate("document.body.innerText"):
                    time.sleep(0.005)


def _tell(what: str, milliseconds: float) -> None:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"{what:45} {milliseconds:8.0f} ms elapsed, load {load} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
