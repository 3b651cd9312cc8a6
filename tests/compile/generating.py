"""A generator that is well-behaved, and one that has every fault that real replies have, on command.

`group(task, k)` is what a good generator says about a task. `FAULTS` turns that into what goes wrong, with the state in
which a task must end when the fault stays through every retry. `groups` is the behaviour of a real server that
generates well.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from prorubric.llm.model import Outcome, Reply, Request
from prorubric.llm.scripted import ScriptedModel
from prorubric.rubric.records import Criterion, Message, Rubric, Task
from tests.llm.server import BEHAVIOURS, Exchange

Rows = list[dict[str, Any]]


def group(task: Task, parts: int = 2) -> Rows:
    """A sound grouping of a task's criteria into consecutive parts."""
    n = len(task.rubric)
    parts = min(parts, n)
    bounds = [round(number * n / parts) for number in range(parts + 1)]
    return [
        {
            "name": f"Part {number} of the decision",
            "description": _describe(task),
            "weight": 1,
            "atomic_indices": list(range(start + 1, end + 1)),
        }
        for number, (start, end) in enumerate(pairwise(bounds), 1)
    ]


def _describe(task: Task) -> str:
    words = " ".join(task.rubric.criteria[0].text.split()[:30])
    return (
        f"The reader comes away with a sound judgement on this: {words}. It follows from what they said. "
        "Fails if the decision behind it is wrong, however much else is there."
    )


def render(rows: Rows) -> str:
    return json.dumps({"criteria": rows})


def change(rows: Rows, position: int, **fields: Any) -> Rows:
    return [{**row, **fields} if number == position else row for number, row in enumerate(rows)]


def _indices(rows: Rows, position: int) -> list[int]:
    return list(rows[position]["atomic_indices"])


@dataclass(frozen=True)
class FaultCase:
    """A way in which replies go wrong, and the state of a task whose replies all do."""

    make: Callable[[Task, Rows], Reply | str]
    state: str
    reason: str | None = None
    attempts: int = 3


def _prose(_: Task, rows: Rows) -> str:
    return f"Sure! Here is the rubric:\n\n```json\n{json.dumps({'criteria': rows}, indent=2)}\n```\nLet me know."


def _truncate(_: Task, rows: Rows) -> Reply:
    return Reply(render(rows)[:-60], 900, 3000, finish="length")


FAULTS: dict[str, FaultCase] = {
    "an index is missing": FaultCase(
        lambda _, rows: render(change(rows, 1, atomic_indices=_indices(rows, 1)[1:])), "repaired"
    ),
    "an index comes twice": FaultCase(
        lambda _, rows: render(change(rows, 1, atomic_indices=[1, *_indices(rows, 1)])), "repaired"
    ),
    "an index does not exist": FaultCase(
        lambda task, rows: render(change(rows, 0, atomic_indices=[*_indices(rows, 0), len(task.rubric) + 7])),
        "repaired",
    ),
    "six dimensions": FaultCase(
        lambda task, _: render((group(task, len(task.rubric)) * 6)[:6]), "excluded", "more than five dimensions"
    ),
    "one dimension": FaultCase(lambda task, _: render(group(task, 1)), "excluded", "fewer than two dimensions"),
    "an empty description": FaultCase(
        lambda _, rows: render(change(rows, 0, description=" ")), "excluded", "a dimension without a description"
    ),
    "an empty group": FaultCase(
        lambda _, rows: render([*rows, {**rows[0], "atomic_indices": []}]), "excluded", "a dimension without criteria"
    ),
    "wrong weights": FaultCase(lambda _, rows: render(change(rows, 0, weight=-99)), "kept", attempts=1),
    "prose around the object": FaultCase(_prose, "kept", attempts=1),
    "cut off": FaultCase(_truncate, "excluded", "no usable reply: cut off"),
    "two objects": FaultCase(
        lambda task, rows: f"{render(rows)}\nor rather\n{render(group(task, 3)[::-1])}",
        "excluded",
        "no usable reply: two objects",
    ),
    "indices from 0": FaultCase(
        lambda _, rows: render(
            [{**row, "atomic_indices": [index - 1 for index in row["atomic_indices"]]} for row in rows]
        ),
        "repaired",
    ),
    "indices from 0 and one missing": FaultCase(
        lambda _, rows: render(
            [
                {**row, "atomic_indices": [i - 1 for i in row["atomic_indices"]][: None if number == 0 else -1]}
                for number, row in enumerate(rows)
            ]
        ),
        "excluded",
        "indices seem to count from 0 and are not complete",
    ),
    "indices as text": FaultCase(
        lambda _, rows: render([{**row, "atomic_indices": [*map(str, row["atomic_indices"])]} for row in rows]),
        "kept",
        attempts=1,
    ),
    "no JSON at all": FaultCase(
        lambda *_: "I would group these into safety and advice.", "excluded", "no usable reply: no object"
    ),
    "nothing at all": FaultCase(lambda *_: "", "excluded", "no usable reply: empty reply"),
    "another object": FaultCase(lambda *_: '{"rubric": "fine"}', "excluded", "no usable reply: no list"),
    "no failure clause": FaultCase(
        lambda task, rows: render(
            change(rows, 0, description=_describe(task).rpartition("Fails")[0] + "That is all of it.")
        ),
        "kept",
    ),
    "a long name": FaultCase(
        lambda _, rows: render(change(rows, 0, name="a name that goes on and on for long")), "kept"
    ),
}


@dataclass
class Dealer:
    """Deals faults out to tasks in the order in which they are first asked about."""

    tasks: dict[str, Task]
    plan: dict[str, tuple[str | None, bool]] = field(default_factory=dict)
    """For each task the fault it has, and whether it is cured by asking again."""

    def answer(self, request: Request) -> Outcome | str:
        question = request.messages[1].content
        name = next(key for key in self.tasks if self._mark(key) in question)
        task = self.tasks[name]
        fault, cured = self.plan[name]
        rows = group(task)
        if fault is None or (cured and request.draw > 0):
            return render(rows)
        return FAULTS[fault].make(task, rows)

    def _mark(self, name: str) -> str:
        return f"<{name}>"


def make_faulty(tasks: dict[str, Task], plan: dict[str, tuple[str | None, bool]]) -> ScriptedModel:
    """A model that has the planned faults. The conversation of each task must hold its id in angle brackets."""
    return ScriptedModel(Dealer(tasks, plan).answer, name="faulty")


def group_by_prompt(messages: list[dict[str, str]]) -> str:
    """What a good generator says, with nothing but the prompt to go by: the checklist is in it, one item a line."""
    items = [json.loads(line) for line in messages[1]["content"].splitlines() if line.startswith('{"index":')]
    criteria = tuple(Criterion(text=item["criterion"], weight=item["weight"]) for item in items)
    shown = Task(id="shown", messages=(Message(role="user", content="?"),), rubric=Rubric(criteria=criteria))
    return render(group(shown))


async def send_groups(exchange: Exchange) -> None:
    """The behaviour of a server that generates."""
    await asyncio.sleep(exchange.server.think_seconds)
    await exchange.send_content(group_by_prompt(exchange.body["messages"]))


BEHAVIOURS["groups"] = send_groups


def make_tasks(count: int, start: int = 0) -> list[Task]:
    """Small tasks that differ from one another."""
    return [
        Task(
            id=f"task-{number}",
            messages=(Message(role="user", content=f"Question {number}: my knee hurts after running. What now?"),),
            rubric=Rubric(
                criteria=(
                    Criterion(text=f"Advises runner {number} to rest the knee before training again", weight=5),
                    Criterion(text="Explains that swelling of the knee needs an examination", weight=3),
                    Criterion(text="Recommends a scan of the knee at once", weight=-2),
                    Criterion(text="Says how to return to running step by step", weight=4),
                )
            ),
        )
        for number in range(start, start + count)
    ]


class TextOnly:
    """What a user may take for a model: it answers with text."""

    name = identity = "text-only"

    async def complete(self, request: Request) -> str:
        return "{}"

    async def close(self) -> None:
        pass


class Slow:
    """A model of the user's own that is never right, and takes its time."""

    name = identity = "slow"

    async def complete(self, request: Request) -> Outcome:
        await asyncio.sleep(0.2)
        return Reply("Let me think.")

    async def close(self) -> None:
        pass
