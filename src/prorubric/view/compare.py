"""Two runs side by side, or two judges of one: where they said different things about the same answers.

Answers are matched by task and sample, those of an evaluation also by benchmark and policy, and by judge if it has
several and none is chosen. Where two runs have other versions of a task, items of the same text are compared.
A verdict that one side did not give is counted as open and never as a disagreement.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

from prorubric.aggregate.choose import score_readings
from prorubric.aggregate.schemes import find_scheme
from prorubric.errors import ProRubricError
from prorubric.files.write import hash_file
from prorubric.judge.readings import find_reading, list_items
from prorubric.rubric.verdict import parse_verdict
from prorubric.runs.folder import TASKS
from prorubric.text.show import count
from prorubric.view.answers import AnswerIndex, AnswerRow, Code, Codes, Filter, Key


@dataclass(frozen=True)
class Side:
    """A run, or one judge of it."""

    index: AnswerIndex
    judge: str = ""

    @property
    def is_panel(self) -> bool:
        """True if all judges of an answer are in one row."""
        return any(row.judges for row in self.index.rows[:1])

    @property
    def has_several(self) -> bool:
        """True if an answer has a row from each judge."""
        return not self.judge and not self.is_panel and len(self.index.judges) > 1

    def list_rows(self, *, by_judge: bool) -> dict[tuple[Key, str], int]:
        """The number of each answer in the run."""
        return {
            (row.key, row.judge if by_judge else ""): number
            for number, row in enumerate(self.index.rows)
            if not self.judge or self.is_panel or row.judge == self.judge
        }

    def read_codes(self, row: AnswerRow) -> Codes:
        """What this side said."""
        return row.judges.get(self.judge, row.codes) if self.judge else row.codes

    def read_scores(self, row: AnswerRow) -> dict[str, float | None]:
        """What this side's verdicts pay; those of one judge of a panel are computed."""
        if not self.judge or self.judge not in row.judges:
            return {name: found[0] for name, found in row.scores.items()}
        said = self.index.read_judge(row, self.judge)
        verdicts = {name: tuple(map(parse_verdict, given)) for name, given in said.items()}
        scores = {}
        for name in row.scores:
            if all(reading.name in verdicts for reading in find_scheme(name).readings):
                try:
                    task = self.index.find_task(row.key.task, row.key.benchmark)
                    scores[name] = score_readings(verdicts, task, [name])[name].value
                except ProRubricError:
                    scores[name] = None
        return scores

    def describe(self, number: int) -> dict[str, Any]:
        """Everything about one answer, with this side's verdicts in place of the panel's."""
        found = self.index.detail(number)
        for item in (item for reading in found["readings"] for item in reading["items"]):
            if self.judge in item["judges"]:
                item |= {"verdict": item["judges"][self.judge], "reason": None, "probability": None}
        return found


@dataclass(frozen=True, slots=True)
class Pair:
    """One answer on both sides."""

    first: int
    second: int
    items: int
    """Items with a verdict on both sides."""
    different: int
    open: int
    """Items without a verdict on one side or both."""
    scores: dict[str, tuple[float | None, float | None]]

    def subtract(self, scheme: str) -> float | None:
        """How much more the first side pays; None if one of the two is not known."""
        first, second = self.scores.get(scheme, (None, None))
        return None if first is None or second is None else first - second


class Comparison:
    """Every answer that both sides have."""

    def __init__(self, first: Side, second: Side) -> None:
        self.first, self.second = first, second
        by_judge = first.has_several or second.has_several
        ours, theirs = first.list_rows(by_judge=by_judge), second.list_rows(by_judge=by_judge)
        self._is_same = first.index is second.index or _has_same_tasks(first.index, second.index)
        self._changed: set[Key] = set()
        self.only = (len(ours.keys() - theirs.keys()), len(theirs.keys() - ours.keys()))
        self.pairs = [self._pair(ours[key], theirs[key]) for key in ours if key in theirs]
        self.schemes = [*dict.fromkeys(name for pair in self.pairs[:100] for name in pair.scores)]

    def _pair(self, number: int, other: int) -> Pair:
        row, their = self.first.index.rows[number], self.second.index.rows[other]
        ours, theirs = self.first.read_codes(row), self.second.read_codes(their)
        both: list[tuple[Code, Code]] = []  # on each item; None where a side has no such item
        for name in (name for name in ours if name in theirs):
            texts = (
                [] if self._is_same else [_list_texts(side.index, row.key, name) for side in (self.first, self.second)]
            )
            if not texts or texts[0] == texts[1]:
                both += zip_longest(ours[name], theirs[name])
            else:
                self._changed.add(row.key)
                known = dict(zip(texts[0], ours[name], strict=False))
                more = dict(zip(texts[1], theirs[name], strict=False))
                both += [(known.get(text), more.get(text)) for text in dict.fromkeys((*texts[0], *texts[1]))]
        given = [(a, b) for a, b in both if a is not None and b is not None]
        paid, paid_too = self.first.read_scores(row), self.second.read_scores(their)
        return Pair(
            number,
            other,
            len(given),
            sum(a != b for a, b in given),
            len(both) - len(given),
            {name: (value, paid_too[name]) for name, value in paid.items() if name in paid_too},
        )

    @cached_property
    def about(self) -> dict[str, Any]:
        """How far the sides agree, over all answers that both have."""
        schemes: dict[str, dict[str, float | int | None]] = {}
        for name in self.schemes:
            known = [pair.scores[name] for pair in self.pairs if pair.subtract(name) is not None]
            first, second = (
                sum(pair[side] or 0.0 for pair in known) / len(known) if known else None for side in (0, 1)
            )
            schemes[name] = {"first": first, "second": second, "known": len(known)}
        return {
            "answers": len(self.pairs),
            "only_first": self.only[0],
            "only_second": self.only[1],
            "items": sum(pair.items for pair in self.pairs),
            "different": sum(pair.different for pair in self.pairs),
            "open": sum(pair.open for pair in self.pairs),
            "schemes": schemes,
        }

    @property
    def notes(self) -> list[str]:
        """What is missing on either side, and what is not the same on both."""
        first, second = self.first.index, self.second.index
        notes = [*first.notes, *second.notes]
        if self._changed:
            answers = count(len(self._changed), "answer")
            notes.append(
                f"The runs have different versions of the tasks of {answers}: items with the same text are compared."
            )
        read = [side.name_input("responses") for side in (first, second)]
        if None not in read and read[0] != read[1]:
            notes.append("The runs judged different files of answers: verdicts can differ because the answers do.")
        if (self.first.has_several or self.second.has_several) and not self.pairs:
            notes.append("A run has several judges, and none of them judged the other run: choose one.")
        return [*dict.fromkeys(notes)]

    def select(self, wanted: Filter, scheme: str, *, only_different: bool) -> list[int]:
        """The pairs that fit: by how much a scheme pays more on one side, else by how many verdicts differ."""
        fit = set(self.first.index.select(Filter(text=wanted.text, task=wanted.task, criterion=wanted.criterion)))
        found = [number for number, pair in enumerate(self.pairs) if pair.first in fit]
        if only_different:
            found = [number for number in found if self.pairs[number].different]
        if scheme:
            found = [number for number in found if self.pairs[number].subtract(scheme)]
            found.sort(key=lambda number: -abs(self.pairs[number].subtract(scheme) or 0.0))
        else:
            found.sort(key=lambda number: -self.pairs[number].different)
        return found

    def brief(self, number: int) -> dict[str, Any]:
        """What the list shows of one answer."""
        pair = self.pairs[number]
        about = self.first.index.brief(pair.first)
        kept = ("task", "sample", "benchmark", "policy", "question", "answer")
        counted = {"items": pair.items, "different": pair.different, "open": pair.open}
        return {name: about[name] for name in kept} | counted | {"number": number, "scores": pair.scores}

    def detail(self, number: int) -> dict[str, Any]:
        """One answer with what both sides say about it; an item that one of them does not have has no verdict there."""
        pair = self.pairs[number]
        sides = [side.describe(at) for side, at in ((self.first, pair.first), (self.second, pair.second))]
        theirs = {reading["name"]: reading for reading in sides[1]["readings"]}
        nothing = {"verdict": {"unknown": "this run has no such item"}, "reason": None, "probability": None}
        for reading in sides[0]["readings"]:
            other = theirs.get(reading["name"], reading)
            known, more = ({item["text"]: item for item in side["items"]} for side in (reading, other))
            if [item["text"] for item in reading["items"]] != [item["text"] for item in other["items"]]:
                items, texts = {**more, **known}, dict.fromkeys((*known, *more))
                reading["items"] = [known.get(text, items[text] | nothing) for text in texts]
                other["items"] = [more.get(text, items[text] | nothing) for text in texts]
        return {"first": sides[0], "second": sides[1], **self.brief(number)}


def _has_same_tasks(first: AnswerIndex, second: AnswerIndex) -> bool:
    """Whether two runs have the same tasks; if so, their many texts are not compared one by one."""
    if first.name_input("tasks") == second.name_input("tasks") is not None:
        return True
    return hash_file(first.folder / TASKS) == hash_file(second.folder / TASKS) is not None


def _list_texts(index: AnswerIndex, key: Key, reading: str) -> list[str]:
    """The items of a reading; empty if the task is not there."""
    try:
        found, kind = index.find_task(key.task, key.benchmark), find_reading(reading)
        texts = [item.text for item in list_items(found, kind)]
        return ["\n".join(texts)] if kind.is_joint else texts
    except ProRubricError:
        return []
