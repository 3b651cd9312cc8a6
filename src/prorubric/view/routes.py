"""What the pages about runs ask for: the list, the answers of a run, two runs compared, a training, the judge."""

from collections import OrderedDict
from dataclasses import fields
from pathlib import Path
from threading import Lock, Thread
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, Response
from pydantic import BaseModel

from prorubric.errors import ConfigError
from prorubric.files.json import render_json
from prorubric.judge.readings import Reading, find_reading
from prorubric.rubric.records import Answer, Task
from prorubric.runs.folder import TASKS
from prorubric.runs.verdicts import SCORES, VERDICTS
from prorubric.view.answers import PAGE_SIZE, AnswerIndex, Filter, show_task
from prorubric.view.ask import Asker, list_possible, make_typed_task
from prorubric.view.compare import Comparison, Side
from prorubric.view.config import ViewConfig
from prorubric.view.gate import REPORT_POLICY
from prorubric.view.runs import Library, find_rows
from prorubric.view.training import describe_training

_MOST_INDEXES = 4
"""How many runs are held in memory; the least recently used one is dropped."""


class Shelf:
    """What the routes share; `app.state.shelf`."""

    def __init__(self, root: Path, config: ViewConfig) -> None:
        self.library, self.asker = Library(root), Asker(config)
        self._held: OrderedDict[object, Any] = OrderedDict()
        self._lock = Lock()

    def open_index(self, run: str) -> AnswerIndex:
        """The answers of a run, read again if its files have changed."""
        folder = self.library.find(run)
        paths = [find_rows(folder, name) for name in (TASKS, VERDICTS, SCORES, "answers.jsonl")]
        stamp = tuple((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in paths if path)
        with self._lock:  # of a run that goes on, only the latest state is kept
            for key in [key for key in self._held if isinstance(key, tuple) and key[0] == folder and key[1] != stamp]:
                del self._held[key]
        found: AnswerIndex = self._hold((folder, stamp), lambda: AnswerIndex(folder))
        return found

    def open_comparison(self, first: Side, second: Side) -> Comparison:
        """Two sides compared."""
        key = (id(first.index), first.judge, id(second.index), second.judge)
        found: Comparison = self._hold(key, lambda: Comparison(first, second))
        return found

    def _hold(self, key: object, make: Any) -> Any:
        """One at a time: two windows that open the same run must not read it twice."""
        with self._lock:
            if key not in self._held:
                self._held[key] = make()
            self._held.move_to_end(key)
            while len(self._held) > _MOST_INDEXES:
                self._held.popitem(last=False)
            return self._held[key]


def _get_shelf(request: Request) -> Shelf:
    shelf: Shelf = request.app.state.shelf
    return shelf


def _read_filter(request: Request) -> Filter:
    """The filter of a query; words other than its fields are left to the route."""
    given = request.query_params
    texts = {part.name: given[part.name] for part in fields(Filter) if part.name in given and part.name != "disputed"}
    if texts.get("verdict", "") not in ("", "met", "unmet", "unknown", "n/a"):
        raise HTTPException(422, "verdict: allowed are met, unmet, unknown, n/a")
    return Filter(**texts, disputed=given.get("disputed") in ("1", "true"))


Shelved = Annotated[Shelf, Depends(_get_shelf)]
Filtered = Annotated[Filter, Depends(_read_filter)]
PageNumber = Annotated[int, Query(ge=0)]
router = APIRouter()


def _answer(body: object) -> Response:
    return Response(render_json(body), media_type="application/json")


@router.get("/api/runs")
def get_runs(shelf: Shelved) -> Response:
    """Every run, by verb and state."""
    listing = shelf.library.list_runs().model_dump(mode="json")
    return _answer({**listing, "judge": ", ".join(shelf.asker.names)})


@router.get("/api/run/{run}")
def get_run(run: str, shelf: Shelved) -> Response:
    """One run of the list."""
    return _answer({**shelf.library.describe(run).model_dump(mode="json"), "can_ask": bool(shelf.asker.names)})


@router.get("/api/run/{run}/answers")
def get_answers(run: str, shelf: Shelved, wanted: Filtered, page: PageNumber = 0) -> Response:
    """A page of the answers that fit."""
    index = shelf.open_index(run)
    numbers = index.select(wanted)
    shown = numbers[page * PAGE_SIZE : (page + 1) * PAGE_SIZE]
    body = {"found": len(numbers), "page_size": PAGE_SIZE, "rows": [index.brief(number) for number in shown]}
    if not index.is_ahead:
        Thread(target=index.read_ahead, daemon=True).start()
    return _answer({**body, "about": {**index.about, "notes": index.notes}})


@router.get("/api/run/{run}/answer/{number}")
def get_answer(run: str, number: int, shelf: Shelved, wanted: Filtered) -> Response:
    """One answer; the next and the previous are those of the filter."""
    index = shelf.open_index(run)
    return _answer({**index.detail(number), **_find_neighbours(number, index.select(wanted))})


def _find_neighbours(number: int, numbers: list[int]) -> dict[str, int | None]:
    """What comes before and after an answer in a list; nothing if it is not part of the list."""
    at = numbers.index(number) if number in numbers else None
    return {
        "previous": numbers[at - 1] if at else None,
        "next": numbers[at + 1] if at is not None and at + 1 < len(numbers) else None,
        "place": None if at is None else at + 1,
        "found": len(numbers),
    }


def _open_comparison(shelf: Shelved, a: str, b: str, judge_a: str = "", judge_b: str = "") -> Comparison:
    """The two sides that a query names: runs, and judges of them."""
    first, second = Side(shelf.open_index(a), judge_a), Side(shelf.open_index(b), judge_b)
    for side in (first, second):
        if side.judge and side.judge not in side.index.judges:
            raise ConfigError(f"no judge of this run is called {side.judge!r}", remedy="choose one from the list")
    return shelf.open_comparison(first, second)


Compared = Annotated[Comparison, Depends(_open_comparison)]


@router.get("/api/compare")
def get_comparison(
    found: Compared, wanted: Filtered, scheme: str = "", different: bool = False, page: PageNumber = 0
) -> Response:
    """A page of the answers that two sides have."""
    numbers = found.select(wanted, scheme, only_different=different)
    rows = [found.brief(number) for number in numbers[page * PAGE_SIZE : (page + 1) * PAGE_SIZE]]
    about = found.about | {"judges_a": found.first.index.judges, "judges_b": found.second.index.judges}
    return _answer({"found": len(numbers), "page_size": PAGE_SIZE, "rows": rows, "about": about, "notes": found.notes})


@router.get("/api/compare/{number}")
def get_pair(number: int, found: Compared, wanted: Filtered, scheme: str = "", different: bool = False) -> Response:
    """One answer on both sides; the next and the previous are those of the list that the filter makes."""
    if not 0 <= number < len(found.pairs):
        raise HTTPException(404, f"both have {len(found.pairs)} answers, none with number {number}")
    numbers = found.select(wanted, scheme, only_different=different)
    return _answer({**found.detail(number), **_find_neighbours(number, numbers)})


@router.get("/api/run/{run}/training")
def get_training(run: str, shelf: Shelved) -> Response:
    """The curves of a training."""
    is_running = shelf.library.describe(run).state == "running"
    return _answer(describe_training(shelf.library.find(run), is_running=is_running))


@router.get("/report/{run}")
def get_report(run: str, shelf: Shelved) -> Response:
    """The page that a run has written, under a policy that keeps it away from this app."""
    path = shelf.library.find_report(run)
    if path is None:
        raise HTTPException(404, "this run has no report")
    return FileResponse(path, media_type="text/html; charset=utf-8", headers={"content-security-policy": REPORT_POLICY})


class Again(BaseModel):
    """A stored answer to be judged again; with an item, only that of a reading."""

    run: str
    number: int
    reading: str = ""
    item: int | None = None


class Play(BaseModel):
    """An answer to a task of a run, or to a question with criteria that were typed."""

    answer: str
    run: str = ""
    task: str = ""
    benchmark: str = ""
    question: str = ""
    criteria: str = ""


def _find_stored(body: Again, shelf: Shelf) -> tuple[Task, Answer, list[Reading]]:
    index = shelf.open_index(body.run)
    detail, row = index.detail(body.number), index.rows[body.number]
    response = index.responses.get(row.key)
    if response is None:
        raise HTTPException(409, "the text of this answer is missing, so it cannot be judged again")
    names = [body.reading] if body.item is not None else [reading["name"] for reading in detail["readings"]]
    return index.find_task(row.key.task, row.key.benchmark), response.answer, [find_reading(name) for name in names]


@router.post("/api/ask/again")
async def ask_again(body: Again, shelf: Shelved) -> Response:
    """Judge a stored answer again."""
    # Reading a run can take seconds, in which the loop must serve other pages.
    task, answer, readings = await run_in_threadpool(_find_stored, body, shelf)
    return _answer(await shelf.asker.ask(task, answer, readings, body.item))


@router.post("/api/ask/play")
async def ask_play(body: Play, shelf: Shelved) -> Response:
    """Judge a pasted answer under everything that the task allows."""
    if body.run:
        task = await run_in_threadpool(lambda: shelf.open_index(body.run).find_task(body.task, body.benchmark))
    else:
        task = make_typed_task(body.question, body.criteria)
    return _answer(await shelf.asker.ask(task, body.answer, list_possible(task)))


@router.get("/api/run/{run}/tasks")
def get_tasks(run: str, shelf: Shelved, text: str = "") -> Response:
    """The tasks of a run that fit, for the play page."""
    index = shelf.open_index(run)
    return _answer(index.list_tasks(text))


@router.get("/api/run/{run}/task")
def get_task(run: str, name: str, shelf: Shelved, benchmark: str = "") -> Response:
    """One task of a run."""
    return _answer(show_task(shelf.open_index(run).find_task(name, benchmark)))
