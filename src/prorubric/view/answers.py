"""The answers of a run with their verdicts: an index in memory to page and filter, and everything about one of them.

The index holds the verdicts as short codes, the scores, and the texts in lower case; what a page shows of one answer is
read from its file. It is made once for each state of a folder. What is missing is listed in `notes`, never guessed:
a run folder does not hold the responses that it judged, nor the data of a benchmark.
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice, pairwise
from pathlib import Path
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

from prorubric.aggregate.choose import score_readings
from prorubric.aggregate.schemes import SCHEMES, find_scheme
from prorubric.aggregate.score import Score
from prorubric.datasets.load import load_responses
from prorubric.datasets.samples import SAMPLE_RESPONSES
from prorubric.errors import ProRubricError, SchemeError, SourceError
from prorubric.evaluate.benchmarks.registry import find_benchmark, load_benchmark
from prorubric.evaluate.instruments import INSTRUMENTS
from prorubric.evaluate.records import BenchmarkItem
from prorubric.files.json import parse_json
from prorubric.files.write import hash_file
from prorubric.judge.evidence import locate_quote
from prorubric.judge.readings import find_reading, list_items, list_members
from prorubric.rubric.forms import parse_task
from prorubric.rubric.records import Response, Task
from prorubric.rubric.verdict import NotApplicable, Verdict, parse_verdict, render_verdict
from prorubric.runs.folder import SUMMARY, TASKS, read_setting
from prorubric.runs.verdicts import SCORES, VERDICTS
from prorubric.text.show import count, shorten
from prorubric.view.runs import find_rows

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")
NOT_APPLICABLE = "n/a"
Code = bool | float | str | None
"""A verdict in short: true, false, a level or mark, `n/a`, or None if it is unknown."""
Codes = Mapping[str, Sequence[Code]]
"""By reading."""
Place = tuple[int, int]
"""Where a row is in its file: its first byte, and how many it has."""
PAGE_SIZE = 50
_SNIPPET = 220
_ROWS_AT_ONCE = 200
_LONGEST_FAULT = 200
_ANSWERS = "answers.jsonl"
_MORE = ("probabilities", "reasons", "evidence", "agreement")
"""What a row of verdicts may say about a reading besides."""
BENCHMARK_SCORE = "score"
"""What the score of a benchmark is called next to schemes."""


class Key(NamedTuple):
    """Which answer it is; benchmark and policy are empty but for an evaluation."""

    task: str
    sample: int = 0
    benchmark: str = ""
    policy: str = ""

    @property
    def place(self) -> tuple[str, str]:
        """Which task it is about: benchmark and id."""
        return self.benchmark, self.task


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One answer as one judge saw it, or all judges of a panel together."""

    key: Key
    judge: str
    codes: Codes
    scores: Mapping[str, Sequence[float | None]]
    """By scheme: value, low, high."""
    judges: Mapping[str, Codes] = field(default_factory=dict)
    """What each judge of a panel said."""
    place: Place = (0, 0)
    """Where its line is in the file of verdicts; of length 0 if it has none."""

    @property
    def unknown(self) -> int:
        """How many verdicts are missing."""
        return sum(codes.count(None) for codes in self.codes.values())

    def count_disputed(self) -> int:
        """On how many items the judges of a panel said different things."""
        said = [*self.judges.values()]
        return sum(
            len({code for code in codes if code is not None}) > 1
            for reading in self.codes
            for codes in zip(*(own.get(reading, ()) for own in said), strict=False)
        )


@dataclass(frozen=True, slots=True)
class Filter:
    """Which answers are shown, and in which order."""

    text: str = ""
    """Words that all occur in the question, the answer or the criteria."""
    task: str = ""
    criterion: str = ""
    """Words of an item; with `verdict`, that item must have it."""
    verdict: str = ""
    """met, unmet, unknown or n/a."""
    benchmark: str = ""
    policy: str = ""
    judge: str = ""
    disputed: bool = False
    first: str = ""
    second: str = ""
    """Two schemes whose scores differ."""
    sort: str = ""
    """A scheme, `-` before it for the highest first; or `unknown`."""


class Pool(Generic[KeyT, ValueT]):
    """The contents of a file, read as far as needed; a separate thread reads the rest."""

    def __init__(self, rows: Iterator[tuple[KeyT, ValueT]]) -> None:
        self._rows, self._lock = rows, Lock()
        self._found: dict[KeyT, ValueT] = {}
        self._failure: ProRubricError | None = None

    def get(self, key: KeyT) -> ValueT | None:
        """What is under a key; of several the first."""
        while key not in self._found and self._read():
            pass
        return self._found.get(key)

    def read_all(self) -> dict[KeyT, ValueT]:
        """Everything."""
        while self._read():
            pass
        return self._found

    def _read(self) -> bool:
        """Read a few more rows, letting other threads in between; False at the end. Every caller gets a failure."""
        with self._lock:
            if self._failure is not None:
                raise self._failure
            has_more = False
            try:
                for key, value in islice(self._rows, _ROWS_AT_ONCE):
                    self._found.setdefault(key, value)
                    has_more = True
            except ProRubricError as error:
                self._failure = error
                raise
            return has_more


class TaskText(NamedTuple):
    """What is searched and listed of a task."""

    question: str
    criteria: Sequence[str]
    """In lower case, as is `low`."""
    low: str
    place: Place = (0, 0)
    """Where it is in the file of tasks."""


class AnswerIndex:
    """The answers of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.setting = read_setting(folder)
        self.options: Mapping[str, Any] = self.setting.get("config", {})
        self.is_evaluation = self.setting.get("verb") == "evaluate"
        self.notes: list[str] = []
        self.is_ahead = False
        self._items: dict[tuple[str, str], BenchmarkItem] = {}
        self.verdict_file = find_rows(folder, VERDICTS)
        with _without_collecting():
            self.rows = self._read_evaluation() if self.is_evaluation else self._read_judging()
        self.tasks = Pool(self._read_items() if self.is_evaluation else self._read_tasks())
        self.responses = Pool(self._read_answers() if self.is_evaluation else self._read_responses())
        self.schemes = [*dict.fromkeys(name for row in self.rows[:100] for name in row.scores)]
        panel = [*dict.fromkeys(name for row in self.rows[:100] for name in row.judges)]
        self.judges = panel or [*dict.fromkeys(row.judge for row in self.rows if row.judge)]
        self.numbers = {(row.key, row.judge): number for number, row in enumerate(self.rows)}

    def name_input(self, name: str) -> object:
        """Identifies a file that was judged; None if the run does not say."""
        return self._find_input(name).get("sha256")

    def _find_input(self, name: str) -> Mapping[str, Any]:
        """Path and hash of a file that the run read; empty if the run does not say."""
        inputs = self.setting.get("inputs")
        held = inputs.get(name) if isinstance(inputs, dict) else None
        return held if isinstance(held, dict) else {}

    @cached_property
    def about(self) -> dict[str, Any]:
        """What there is, and what the page offers to filter by."""
        keys, means = [row.key for row in self.rows], dict[str, dict[str, float | int | None]]()
        for name in self.schemes:
            given = [row.scores[name][0] for row in self.rows if name in row.scores]
            known = [value for value in given if value is not None]
            means[name] = {"value": sum(known) / len(known) if known else None, "known": len(known)}
        return {
            "answers": len(self.rows),
            "tasks": len({key.task for key in keys}),
            "verdicts": sum(len(codes) for row in self.rows for codes in row.codes.values()),
            "unknown": sum(row.unknown for row in self.rows),
            "schemes": self.schemes,
            "judges": self.judges,
            "readings": [*dict.fromkeys(name for row in self.rows[:100] for name in row.codes)],
            "benchmarks": [*dict.fromkeys(key.benchmark for key in keys if key.benchmark)],
            "policies": [*dict.fromkeys(key.policy for key in keys if key.policy)],
            "is_panel": any(row.judges for row in self.rows[:100]),
            "means": means,
        }

    def select(self, wanted: Filter) -> list[int]:
        """The numbers of the answers that fit, in order."""
        found: Iterable[int] = range(len(self.rows))
        for test in self._list_tests(wanted):
            found = [number for number in found if test(self.rows[number])]
        if wanted.criterion:
            found = self._find_item(wanted, found)
        texts = self._texts if wanted.text.strip() else []
        for word in sorted(wanted.text.lower().split(), key=len, reverse=True):  # long ones are rare
            found = [number for number in found if word in texts[number][1] or word in texts[number][0]]
        numbers = [*found]
        if wanted.first and wanted.second and not wanted.sort:
            numbers.sort(key=lambda number: -abs(self._subtract(self.rows[number], wanted) or 0.0))
        elif wanted.sort == "unknown":
            numbers.sort(key=lambda number: -self.rows[number].unknown)
        elif wanted.sort:
            name, sign = wanted.sort.lstrip("-"), -1 if wanted.sort.startswith("-") else 1
            lows = {number: self.rows[number].scores.get(name, (None, None, None))[1] for number in numbers}
            # Answers without a score come last in either order.
            numbers.sort(key=lambda number: (lows[number] is None, sign * (lows[number] or 0.0)))
        return numbers

    def _list_tests(self, wanted: Filter) -> Iterator[Any]:
        """The tests that a row has to pass, the cheap ones first."""
        for name in ("benchmark", "policy"):
            if value := getattr(wanted, name):
                yield lambda row, name=name, value=value: getattr(row.key, name) == value
        if wanted.judge and not any(row.judges for row in self.rows[:1]):
            yield lambda row: row.judge == wanted.judge
        if wanted.task:
            yield lambda row: wanted.task.lower() in row.key.task.lower()
        if wanted.first and wanted.second:
            yield lambda row: bool(self._subtract(row, wanted))
        if wanted.disputed:
            yield lambda row: row.count_disputed() > 0
        if wanted.verdict and not wanted.criterion:
            yield lambda row: any(_is_said(code, wanted.verdict) for codes in row.codes.values() for code in codes)

    @staticmethod
    def _subtract(row: AnswerRow, wanted: Filter) -> float | None:
        """What one scheme pays more than the other; None if one of the two is not known."""
        first, second = (row.scores.get(name, (None,))[0] for name in (wanted.first, wanted.second))
        return None if first is None or second is None else first - second

    def _find_item(self, wanted: Filter, numbers: Iterable[int]) -> list[int]:
        """The answers to tasks that have an item with these words, or of which such an item has the verdict."""
        tasks, words, found = self.tasks.read_all(), wanted.criterion.lower().split(), list[int]()
        about = {name for row in self.rows[:100] for name in row.codes if find_reading(name).about == "criterion"}
        for number in numbers:
            row = self.rows[number]
            texts = tasks[row.key.place].criteria if row.key.place in tasks else ()
            places: Sequence[int] = range(len(texts))
            for word in words:
                places = [place for place in places if word in texts[place]]
            if not wanted.verdict and places:
                found.append(number)
            elif places:
                said = (codes for name, codes in row.codes.items() if name in about and len(codes) == len(texts))
                if any(_is_said(codes[place], wanted.verdict) for codes in said for place in places):
                    found.append(number)
        return found

    @cached_property
    def _texts(self) -> list[tuple[str, str]]:
        """For each answer, what is searched: its task, and its own text."""
        tasks, responses = self.tasks.read_all(), self.responses.read_all()
        low = {key: f"{one.text}\n{one.model or ''}".lower() for key, one in responses.items()}
        nothing = TaskText("", (), "")
        return [(tasks.get(row.key.place, nothing).low, low.get(row.key, "")) for row in self.rows]

    def read_ahead(self) -> None:
        """Read what a search needs, to make the first one fast."""
        self.is_ahead = True
        with suppress(ProRubricError, OSError):  # raised again for the request that needs it
            _ = self._texts

    def brief(self, number: int) -> dict[str, Any]:
        """What the list shows of one answer."""
        row = self.rows[number]
        task, response = self.tasks.get(row.key.place), self.responses.get(row.key)
        codes = [*chain.from_iterable(row.codes.values())]
        return {
            "number": number,
            **row.key._asdict(),
            "judge": row.judge,
            "question": task.question[:_SNIPPET] if task else "",
            "answer": response.text[:_SNIPPET] if response else None,
            "model": response.model if response else None,
            "met": sum(code is True for code in codes),
            "verdicts": len(codes),
            "unknown": row.unknown,
            "disputed": row.count_disputed(),
            "scores": {name: list(found) for name, found in row.scores.items()},
        }

    def find_task(self, name: str, benchmark: str = "") -> Task:
        """A task of the run, in an evaluation one of a benchmark; `SourceError` if it is not there."""
        found = self.tasks.get((benchmark, name))
        if (benchmark, name) in self._items:
            return self._items[benchmark, name].task
        if found is None or not found.place[1]:
            raise SourceError(f"no task is called {name!r} in this run")
        start, length = found.place
        path = find_rows(self.folder, TASKS)
        if path is None:
            raise SourceError(f"{self.folder / TASKS} is gone", remedy="run the same command again")
        with path.open("rb") as stream:
            stream.seek(start)
            return parse_task(_parse_row(stream.read(length)))

    def list_tasks(self, text: str) -> list[dict[str, str]]:
        """The first tasks with these words."""
        words, tasks = text.lower().split(), self.tasks.read_all()
        fits = (place for place, task in tasks.items() if all(word in task.low for word in words))
        return [
            {"id": name, "benchmark": benchmark, "question": tasks[benchmark, name].question[:_SNIPPET]}
            for benchmark, name in islice(fits, PAGE_SIZE)
        ]

    def detail(self, number: int) -> dict[str, Any]:
        """Everything about one answer."""
        if not 0 <= number < len(self.rows):
            raise SourceError(f"the run has {len(self.rows)} answers and no number {number}")
        row = self.rows[number]
        stored = self._read_line(row)
        task, notes = None, [*self.notes]
        try:
            task = self.find_task(row.key.task, row.key.benchmark)
        except ProRubricError as error:
            notes.append(f"The question and the criteria are not shown: {error}")
        readings = stored.get("verdicts") or {}
        if isinstance(readings, list):
            readings = {self._find_reading(row.key.benchmark): readings}
        verdicts = {name: tuple(map(parse_verdict, given)) for name, given in readings.items()}
        shown = []
        for name, given in verdicts.items():
            more = {part: (stored.get(part) or {}).get(name) for part in _MORE}
            more["judges"] = {judge: own.get(name) for judge, own in (stored.get("judges") or {}).items()}
            shown.append(show_reading(task, name, given, more))
        quotes = [item["evidence"]["quote"] for one in shown for item in one["items"] if item.get("evidence")]
        paid = pay_all(verdicts, task, row.scores) if task and not self.is_evaluation else []
        return {
            **self.brief(number),
            "task_record": show_task(task) if task else None,
            "response": show_response(self.responses.get(row.key), quotes),
            "readings": shown,
            "paid": paid or [_show_score(name, found) for name, found in row.scores.items()],
            "addressing": stored.get("addressing") or {},
            "notes": [*dict.fromkeys(notes)],
        }

    def read_judge(self, row: AnswerRow, judge: str) -> dict[str, list[Any]]:
        """The verdicts of one judge of a panel, by reading."""
        found: dict[str, list[Any]] = self._read_line(row)["judges"][judge]
        return found

    def _read_line(self, row: AnswerRow) -> dict[str, Any]:
        start, length = row.place
        if not length or self.verdict_file is None:
            return {}
        with self.verdict_file.open("rb") as stream:
            stream.seek(start)
            found: dict[str, Any] = _parse_row(stream.read(length))
            return found

    def _find_reading(self, benchmark: str) -> str:
        try:
            return INSTRUMENTS[find_benchmark(benchmark).instrument].reading or "criteria"
        except ProRubricError:
            return "criteria"

    def _read_rows(self, name: str, parse: Callable[[Place, Any], ValueT]) -> Iterator[ValueT]:
        """What the rows of a file say, each with its place; those that cannot be read are counted in a note."""
        path, place, faults = find_rows(self.folder, name), 0, list[str]()
        if path is None:
            if not self.is_evaluation and (self.folder / SUMMARY).is_file():
                self.notes.append(f"{name} is missing.")
            return
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                is_being_written = path.name != name and not line.endswith(b"\n")
                try:
                    found = parse((place, len(line)), _parse_row(line)) if line.strip() else None
                except (ProRubricError, ValueError, TypeError, KeyError, AttributeError) as error:
                    found = None
                    if not is_being_written:
                        faults.append(f"line {number}: {_explain(error)}")
                place += len(line)
                if found is not None:
                    yield found
        if faults:
            self.notes.append(f"{name}: {count(len(faults), 'row')} could not be read ({faults[0]}).")

    def _read_tasks(self) -> Iterator[tuple[tuple[str, str], TaskText]]:
        def parse(place: Place, row: Any) -> tuple[tuple[str, str], TaskText]:
            criteria = [str(one["criterion"]) for one in row["rubric"]]
            turns = [str(turn.get("content", "")) for turn in row["messages"]]
            return ("", row["id"]), _make_text(row["id"], turns, criteria)._replace(place=place)

        return self._read_rows(TASKS, parse)

    def _read_judging(self) -> list[AnswerRow]:
        judge = self.setting.get("judge") or self.options.get("judge") or ""
        name = judge if isinstance(judge, str) else ", ".join(judge)

        def parse_scores(_: Place, row: Any) -> tuple[tuple[str, int], dict[str, Sequence[float | None]]]:
            given: dict[str, Sequence[float | None]] = {
                name: (one.get("value"), one.get("low"), one.get("high")) for name, one in row["scores"].items()
            }
            return (row["task_id"], row["sample"]), given

        scores = dict(self._read_rows(SCORES, parse_scores))

        def parse(place: Place, row: Any) -> AnswerRow:
            judges = {own: _shorten_all(said) for own, said in (row.get("judges") or {}).items()}
            key = Key(row["task_id"], row["sample"])
            return AnswerRow(key, name, _shorten_all(row["verdicts"]), scores.get(key[:2], {}), judges, place)

        return [*self._read_rows(VERDICTS, parse)]

    def _read_responses(self) -> Iterator[tuple[Key, Response]]:
        """The file that was judged; what is wrong with it is noted."""
        held = self._find_input("responses")
        path, digest = Path(held.get("path") or self.options.get("responses") or ""), held.get("sha256")
        if self.setting.get("verb") == "demo":
            path, digest = SAMPLE_RESPONSES, None
        if not path.is_file():
            self.notes.append(f"The answers are not shown: {path} no longer exists.")
            return
        if digest and hash_file(path) != digest:
            self.notes.append(f"{path} has changed since it was judged: the answers shown may not be those judged.")
        try:
            for one in load_responses(path, on_reject=lambda _: None):
                yield Key(one.task_id, one.sample), one
        except ProRubricError as error:
            self.notes.append(f"The answers are not shown: {error}")

    def _read_items(self) -> Iterator[tuple[tuple[str, str], TaskText]]:
        """By benchmark: those that share prompts have the same ids but different criteria."""
        for name in self.options.get("benchmarks") or ():
            try:
                loaded = load_benchmark(find_benchmark(name), Path(self.options.get("data_dir") or "data"))
            except (ProRubricError, OSError) as error:
                self.notes.append(f"The questions and criteria of {name} are not shown: {error}")
                continue
            for item in loaded.items:
                self._items[name, item.id] = item
                turns, criteria = [turn.content for turn in item.messages], [one.text for one in item.criteria]
                yield (name, item.id), _make_text(item.id, turns, criteria)

    def _read_evaluation(self) -> list[AnswerRow]:
        def parse_scores(_: Place, row: Any) -> tuple[tuple[Key, str], dict[str, Sequence[float | None]]]:
            found = (row.get("value"), row.get("low"), row.get("high"))
            return (_read_key(row), row.get("judge", "")), {BENCHMARK_SCORE: found}

        scores = dict(self._read_rows(SCORES, parse_scores))

        def parse(place: Place, row: Any) -> AnswerRow | None:
            key, judge = _read_key(row), str(row.get("judge", ""))
            codes = {self._find_reading(key.benchmark): [*map(shorten_verdict, row["verdicts"])]}
            return None if row.get("repeat") else AnswerRow(key, judge, codes, scores.get((key, judge), {}), {}, place)

        rows = {(row.key, row.judge): row for row in self._read_rows(VERDICTS, parse) if row is not None}
        for (key, judge), found_scores in scores.items():
            rows.setdefault((key, judge), AnswerRow(key, judge, {}, found_scores))
        return [*rows.values()]

    def _read_answers(self) -> Iterator[tuple[Key, Response]]:
        keys: dict[tuple[str, str, int], list[Key]] = {}
        for row in self.rows:
            keys.setdefault((row.key.policy, row.key.task, row.key.sample), []).append(row.key)

        def parse(_: Place, found: Any) -> Response:
            return Response(
                task_id=found["item"],
                text=found.get("text", ""),
                sample=found.get("sample", 0),
                model=found.get("policy") or None,
            )

        for answer in self._read_rows(_ANSWERS, parse):
            for key in keys.get((answer.model or "", answer.task_id, answer.sample), ()):
                yield key, answer


def _parse_row(line: bytes) -> Any:
    """A row of a file; the slow parser is for what the fast one refuses."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return parse_json(line)


def _explain(error: Exception) -> str:
    """Why a row cannot be read."""
    match error:
        case ProRubricError():
            return shorten(str(error), _LONGEST_FAULT)
        case KeyError():
            return f"{error.args[0]} is missing"
        case ValueError():
            return "not JSON"
    return "not a row of this file"


def _make_text(name: str, turns: Sequence[str], criteria: Sequence[str]) -> TaskText:
    low = tuple(text.lower() for text in criteria)
    return TaskText(turns[-1] if turns else "", low, "\n".join((name, *turns)).lower() + "\n" + "\n".join(low))


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Hundreds of thousands of small objects that all stay: looking for garbage among them takes most of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def shorten_verdict(verdict: Any) -> Code:
    """A stored verdict as its code; `RubricError` if it is none."""
    if isinstance(verdict, bool | float | int):
        return verdict
    return NOT_APPLICABLE if isinstance(parse_verdict(verdict), NotApplicable) else None


def _shorten_all(readings: Mapping[str, Sequence[Any]]) -> dict[str, list[Code]]:
    return {find_reading(name).name: [*map(shorten_verdict, said)] for name, said in readings.items()}


def _is_said(code: Code, verdict: str) -> bool:
    wanted = {"met": True, "unmet": False, "unknown": None}
    return code is wanted[verdict] if verdict in wanted else code == verdict


def _read_key(row: Mapping[str, Any]) -> Key:
    return Key(row["item"], row.get("sample", 0), row.get("benchmark", ""), row.get("policy", ""))


def show_task(task: Task) -> dict[str, Any]:
    """A task as JSON for a page."""
    dimensions = task.protocol.dimensions if task.protocol else ()
    return {
        "id": task.id,
        "domain": task.domain,
        "source": task.source,
        "reference": task.reference,
        "messages": [message.model_dump(mode="json") for message in task.messages],
        "criteria": [
            {"index": index, "text": one.text, "weight": one.weight, "tags": list(one.tags)}
            for index, one in enumerate(task.rubric.criteria, 1)
        ],
        "dimensions": [one.model_dump(mode="json") for one in dimensions],
    }


def show_reading(task: Task | None, name: str, verdicts: Sequence[Verdict], more: Mapping[str, Any]) -> dict[str, Any]:
    """The verdicts of a reading next to the items they are about."""
    reading, texts, members = find_reading(name), [], []
    if task is not None:
        with suppress(SchemeError):  # a verdict on what the task does not have is shown without its text
            items = () if reading.is_joint else list_items(task, reading)
            texts, members = [(item.text, item.weight) for item in items], list_members(task, reading)
    judges = {judge: said for judge, said in (more.get("judges") or {}).items() if said}
    rows = []
    for place, verdict in enumerate(verdicts):
        index = str(place + 1)
        text, weight = (
            texts[place] if place < len(texts) else ("all criteria together" if reading.is_joint else "", None)
        )
        probabilities = more.get("probabilities") or ()
        rows.append(
            {
                "index": place + 1,
                "text": text,
                "weight": weight,
                "members": list(members[place]) if place < len(members) else [],
                "verdict": render_verdict(verdict),
                "probability": probabilities[place] if place < len(probabilities) else None,
                "reason": (more.get("reasons") or {}).get(index),
                "evidence": (more.get("evidence") or {}).get(index),
                "agreement": (more.get("agreement") or {}).get(index),
                "judges": {judge: said[place] for judge, said in judges.items() if place < len(said)},
            }
        )
    return {"name": name, "about": reading.about, "items": rows}


def show_response(response: Response | None, quotes: Sequence[str]) -> dict[str, Any] | None:
    """A response in turns, each in pieces of which some are quoted by the judge."""
    if response is None:
        return None
    turns = [
        {
            "role": turn.role,
            "pieces": mark_quotes(turn.content, quotes),
            "calls": [f"{call.name}({call.arguments})" for call in turn.tool_calls],
        }
        for turn in response.messages or ()
    ]
    if not turns:
        turns = [{"role": "assistant", "pieces": mark_quotes(response.text, quotes), "calls": []}]
    return {"turns": turns, "text": response.text, "model": response.model, "tokens": response.tokens}


def mark_quotes(text: str, quotes: Sequence[str]) -> list[dict[str, Any]]:
    """A text in pieces, each with the places in `quotes` of those that it is part of."""
    spans = [(*span, number) for number, quote in enumerate(quotes) for span in locate_quote(quote, text)]
    cuts = sorted({0, len(text), *(edge for start, end, _ in spans for edge in (start, end))})
    pieces = []
    for start, end in pairwise(cuts):
        within = [number for left, right, number in spans if left <= start and end <= right]
        pieces.append({"text": text[start:end], "quotes": within})
    return pieces


def pay_all(
    verdicts: Mapping[str, tuple[Verdict, ...]], task: Task, stored: Mapping[str, Sequence[float | None]]
) -> list[dict[str, Any]]:
    """What every scheme pays for these verdicts, or why it cannot tell."""
    paid = []
    for name in dict.fromkeys((*stored, *SCHEMES)):
        try:
            missing = [reading.name for reading in find_scheme(name).readings if reading.name not in verdicts]
            if missing:
                paid.append({"scheme": name, "why_not": f"needs verdicts on {', '.join(missing)}"})
            else:
                found = score_readings(verdicts, task, [name])[name]
                paid.append(_show_score(name, (found.value, found.low, found.high), found))
        except ProRubricError as error:
            if name in stored:
                paid.append(_show_score(name, stored[name]))
            else:
                paid.append({"scheme": name, "why_not": str(error)})
    return paid


def _show_score(name: str, ends: Sequence[float | None], found: Score | None = None) -> dict[str, Any]:
    value, low, high = ends
    return {"scheme": name, "value": value, "low": low, "high": high, "reason": found.reason if found else ""}
