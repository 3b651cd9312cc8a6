"""200 (task, response) pairs with the rewards that plain `score` gives, for every trainer to be compared with.

`write_pairs(folder, shared)` writes them; the fixture `parity` of this folder has done so. A trainer's script, in an
environment of its own that has prorubric's core and no pytest, reads them with `load_pairs(folder)`, makes its reward
from `reward_options(folder, scheme)` and prints `render_rewards(…)`; the test compares that with `expect(…)`, to the
bit. The repository's root has to be on PYTHONPATH, so that the judge can be imported.

The judge reads the real prompts and answers in text. What it says is a hash of item and response, nothing else; one
response in twenty gets no reply at all and one item in fifty gets "maybe", so that every trainer meets unknowns.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from prorubric import ProtocolRubric, Task, Unknown, Verdict, load_samples, load_tasks, save_tasks, score
from prorubric.aggregate.schemes import find_scheme
from prorubric.files.read import read_rows
from prorubric.files.write import open_rows
from prorubric.judge.answer import show_answer
from prorubric.judge.readings import list_items
from prorubric.llm.model import Failure, Outcome, Reply, Request
from prorubric.rubric.transcript import parse_transcript

JUDGE = "tests.train.parity:HashJudge"
SCHEMES = ("prorubric", "additive", "graded", "prorubric+appropriateness")

# HealthBench asks to be kept out of plain text, also for the minute that a test takes.
TASKS, PAIRS = "tasks.parquet", "pairs.jsonl.gz"

_GROUP = 8
_HEALTHBENCH_TASKS = 19
_ANSWER = re.compile(r"<<<ANSWER ([0-9A-F]{16})\n(.*)\nANSWER \1>>>", re.DOTALL)
_TURN = re.compile(r"<<<(TURN [^\n]+) ([0-9A-F]{16})\n(.*?)\n\1 \2>>>", re.DOTALL)
_ITEMS = re.compile(r"^\[\n(?:\{.*\},?\n)+\]", re.MULTILINE)
# What trainers, tokenizers and JSON are likely to spoil, at the end of some of the made answers.
_TAILS = (
    "Ça dépend : 37,5 °C, β-blocker, 頭痛 🩺.",
    'I would grade this {"score": 1.0, "reward": [1, null]}.',
    "Line one.\n\n\tLine two, indented.\r\nLine three.",
    "5 < 7 & \"quoted\" \\ 'single' %s {braces}",
)


@dataclass(frozen=True)
class Pair:
    """One response to one task; `expected` has the reward by scheme, None where it is unknown."""

    task: Task
    text: str
    sample: int
    tokens: int
    expected: Mapping[str, float | None]


class HashJudge:
    """A text model for `pkg.module:object`. It keeps nothing, so that any process may have one."""

    name = identity = "hash-judge"

    async def complete(self, request: Request) -> Outcome:
        text = request.messages[-1].content
        found, items = _ANSWER.search(text), _ITEMS.search(text)
        answer = (_read_turns(text) or None) if found is None else found[2]
        if answer is None or items is None or request.schema is None:
            return Failure("reply", "not a prompt with an answer and items")
        if stays_silent(answer):
            return Failure("timeout", "no reply within 60 s")
        (kind,) = request.schema["properties"]
        said = {str(row["index"]): _say(row["criterion"], answer, kind == "levels") for row in json.loads(items[0])}
        return Reply(json.dumps({kind: said}))

    async def close(self) -> None:
        """There is nothing to let go of."""


def stays_silent(response: str) -> bool:
    """Whether the judge gives no reply on this response."""
    return _hash("silent", response) % 20 == 0


def decide(item: str, response: str, levels: bool = False) -> Verdict:
    """The verdict on one item, which is all that the judge knows."""
    if stays_silent(response):
        return Unknown("no reply")
    said = _say(item, response, levels)
    return Unknown("maybe") if isinstance(said, str) else said


def decide_all(task: Task, response: str, scheme: str) -> list[Verdict]:
    """The verdicts that a scheme reads, in order."""
    return [
        decide(item.text, response, levels=reading.name == "levels")
        for reading in find_scheme(scheme).readings
        for item in list_items(task, reading)
    ]


def write_pairs(folder: Path, shared: Path | None) -> list[Pair]:
    """Write tasks and pairs into a folder: 48 of the sample pack and, where the real data is there, 152 more."""
    pairs = [_make_pair(*case) for case in chain(_sample_cases(), _healthbench_cases(shared) if shared else ())]
    save_tasks(folder / TASKS, {pair.task.id: pair.task for pair in pairs}.values())
    with open_rows(folder / PAIRS, pa.schema({})) as write:
        for pair in pairs:
            write(_render_pair(pair))
    return pairs


def load_pairs(folder: Path) -> list[Pair]:
    """The pairs of a folder, in order; responses to one task follow each other."""
    tasks = {task.id: task for task in load_tasks(folder / TASKS, "tasks", strict=True)}
    return [_parse_pair(row.value, tasks) for row in read_rows(folder / PAIRS) if row.value]


def reward_options(folder: Path, scheme: str = "prorubric") -> dict[str, Any]:
    """Keyword arguments for `RewardConfig`; unknowns are meant here, so that the breaker is off."""
    return {"judge": JUDGE, "scheme": scheme, "tasks": str(folder / TASKS), "max_unknown": 1.0}


def render_rewards(values: Sequence[float | None]) -> list[str | None]:
    """Rewards as they are compared: every bit of each number, None for an unknown one."""
    return [None if value is None else float(value).hex() for value in values]


def expect(pairs: Sequence[Pair], scheme: str = "prorubric") -> list[str | None]:
    """What a trainer should have got for the pairs, as `render_rewards` writes it."""
    return render_rewards([pair.expected[scheme] for pair in pairs])


def make_messages(pair: Pair) -> list[dict[str, Any]]:
    """A transcript that ends in the response of a pair, after a tool call, its result and a user's turn."""
    function = {"name": "look_up", "arguments": json.dumps({"topic": pair.task.id, "sample": pair.sample})}
    return [
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": f"{pair.sample} results 🩺", "tool_call_id": "c1"},
        {"role": "user", "content": "And now?"},
        {"role": "assistant", "content": pair.text},
    ]


def expect_transcripts(pairs: Sequence[Pair], scheme: str = "prorubric", *, calls: bool = True) -> list[str | None]:
    """What a trainer should have got for the transcripts of the pairs, judged by all turns; some have no tool calls."""
    values = []
    for pair in pairs:
        turns = parse_transcript(make_messages(pair))
        if not calls:
            turns = (turns[0].model_copy(update={"tool_calls": ()}), *turns[1:])
        shown = show_answer(pair.task, turns, "full").fenced
        values.append(score(decide_all(pair.task, _read_turns(shown), scheme), pair.task, scheme).value)
    return render_rewards(values)


def _read_turns(prompt: str) -> str:
    """The turns of a transcript without their marks."""
    return "\n".join(f"{name}: {text}" for name, _, text in _TURN.findall(prompt))


def _make_pair(task: Task, text: str, sample: int) -> Pair:
    expected = {scheme: score(decide_all(task, text, scheme), task, scheme).value for scheme in SCHEMES}
    return Pair(task, text, sample, len(text.split()), expected)


def _sample_cases() -> Iterator[tuple[Task, str, int]]:
    for answer in load_samples():
        yield answer.task, answer.response.text.strip(), answer.response.sample


def _healthbench_cases(shared: Path) -> Iterator[tuple[Task, str, int]]:
    tasks = load_tasks(shared / "healthbench_500/healthbench_500.parquet", "healthbench", strict=True)
    usable = (task for task in tasks if 5 <= len(task.rubric) <= 60 and max(task.rubric.weights) > 0)
    for task in islice(usable, _HEALTHBENCH_TASKS):
        grouped = _add_dimensions(task)
        for sample in range(_GROUP):
            yield grouped, _make_answer(task, sample), sample


def _add_dimensions(task: Task) -> Task:
    """Criteria dealt out in order over two to five dimensions: mechanical, and good enough to be counted with."""
    count = len(task.rubric)
    parts = min(5, max(2, count // 5))
    groups = [range(part * count // parts + 1, (part + 1) * count // parts + 1) for part in range(parts)]
    dimensions = [
        {
            "name": f"Part {number}",
            "description": " ".join(task.rubric.criteria[index - 1].text for index in group) + " Fails if one does.",
            "indices": list(group),
        }
        for number, group in enumerate(groups, 1)
    ]
    return task.model_copy(update={"protocol": ProtocolRubric.of(task.rubric, dimensions)})


def _make_answer(task: Task, sample: int) -> str:
    """A text that begins like an answer to the task and differs from its siblings."""
    texts = [criterion.text for criterion in task.rubric.criteria]
    said = " ".join(texts[sample % len(texts) :])
    tail = _TAILS[sample % len(_TAILS)]
    return f"Answer {sample + 1} of {_GROUP}. {' '.join(said.split())[:400]} {tail}"


def _say(item: str, response: str, levels: bool) -> bool | int | str:
    drawn = _hash("verdict", item, response)
    if drawn % 50 == 0:
        return "maybe"
    return drawn // 50 % 4 if levels else drawn // 50 % 5 < 3


def _hash(*parts: str) -> int:
    return int.from_bytes(hashlib.sha256("\0".join(parts).encode()).digest()[:6], "big")


def _render_pair(pair: Pair) -> dict[str, Any]:
    return {
        "task_id": pair.task.id,
        "response": pair.text,
        "sample": pair.sample,
        "tokens": pair.tokens,
        "expected": dict(pair.expected),
    }


def _parse_pair(row: Mapping[str, Any], tasks: Mapping[str, Task]) -> Pair:
    return Pair(tasks[row["task_id"]], row["response"], row["sample"], row["tokens"], row["expected"])
