"""The lab's judges as a model, `lab:WORLD` and `lab:WORLD/strict`: they are asked with the real prompts and write JSON.

A request holds nothing but text. The model finds the case by the prompt that the conversation shows, the answer between
its fences, and the reading by the texts of the items; then the judges of `judges.py` and `measure.py` decide, with the
same errors as in the lab. The errors depend on the case and the answer alone: another draw says the same.

The lenient judge knows every reading that the lab trains with. The strict one knows criteria, the parts of `c`, the
probe and pairs. Whatever else they are shown, they say in words why they cannot read it, which makes the verdicts
unknown. The same model edits answers for an audit; see `editor.py`.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import orjson

from prorubric.audit.editors import DECLINED
from prorubric.judge.judge import CANARY
from prorubric.judge.readings import READINGS, Item, list_items
from prorubric.lab.editor import DeclinedError, find_edit, write_edit
from prorubric.lab.facts import Facts
from prorubric.lab.judges import STRICT_RATES, judge_criteria, judge_reading, lenient_rates
from prorubric.lab.language import CasePlace, find_place, make_case_task, make_consensus_task, read_texts
from prorubric.lab.measure import judge_parts, judge_probe
from prorubric.lab.world import find_world, make_world
from prorubric.llm.model import Outcome, Reply, Request

PREFIX, STRICT = "lab:", "/strict"
JUDGE_SEED = 0
_LENIENT_SEED = 2
"""Of the lenient judge on the parts of `c` and the probe, on which it errs as often as the strict one, elsewhere."""
_FENCE = re.compile(r"^<<<(\w+) ([0-9A-F]{16})\n(.*?)\n\1 \2>>>$", re.MULTILINE | re.DOTALL)
_LIST = re.compile(r"^\[\n(.*)\n\]$", re.MULTILINE | re.DOTALL)
_KEY = re.compile(r'"(satisfied|levels|mark|better)":')
_OTHER_KEY = re.compile(r'write "(\w+)" in place of the key')
# What is asked for under each key. One text may be an item of two readings, under different keys. A reading that asks
# about each item alone has the items of another one, under which they are found.
_READINGS = {
    "levels": ("levels",),
    "mark": ("mark",),
    "satisfied": tuple(
        name for name, reading in READINGS.items() if reading.form.key == "satisfied" and not reading.is_single
    ),
}


class _UnreadableError(Exception):
    """What the model cannot read, in words."""


class _Question(NamedTuple):
    """What a prompt shows and asks for."""

    place: CasePlace
    answers: tuple[str, ...]
    key: str
    reply_key: str
    items: tuple[tuple[str, str], ...] | None
    """The index and the text of each; None if there is no list."""
    rest: str
    """The prompt without what is between fences."""


class LabModel:
    """A programmed judge behind the interface of a model."""

    def __init__(self, spec: str) -> None:
        self.is_strict = spec.endswith(STRICT)
        world = spec.removeprefix(PREFIX).removesuffix(STRICT)
        find_world(world)
        self.world = make_world(world)
        self.name = spec
        self.identity = f"{spec}/1"
        """Changes with everything in the lab that changes a verdict."""

    async def complete(self, request: Request) -> Outcome:
        """Judge or edit what the prompt shows, or say what in it cannot be read."""
        edit = find_edit(request.messages[0].content)
        try:
            if edit:
                found = write_edit(edit, self.world, _read_fences(request.messages[1].content), request.draw)
            else:
                found = self._answer(_read(request.messages[-1].content))
            said = json.dumps(found)
        except DeclinedError as error:
            said = json.dumps({DECLINED: str(error)})
        except _UnreadableError as error:
            said = f"I cannot judge this: {error}."
        characters = sum(len(message.content) for message in request.messages)
        return Reply(said, prompt_tokens=characters // 4, completion_tokens=len(said) // 4, finish="stop")

    async def close(self) -> None:
        """There is nothing to close."""

    def _answer(self, asked: _Question) -> dict[str, Any]:
        place = asked.place
        if place.world != self.world.spec.name:
            raise _UnreadableError(f"the case is of {place.world}")
        facts = read_texts(place.lists, self.world, [place.row] * len(asked.answers), asked.answers)
        if asked.key == "better":  # by the parts of `c` that hold, or by the weight of the criteria met
            if self.is_strict:
                first, second = judge_parts(facts, JUDGE_SEED).sum(axis=1)
            else:
                met = judge_criteria(facts, lenient_rates(self.world.spec), "lenient", JUDGE_SEED)
                first, second = (met * facts.lists.weight_T_N[facts.row_R]).sum(axis=1)
            return {asked.reply_key: "equal" if first == second else "first" if first > second else "second"}
        if asked.key == "mark":
            reading, _ = self._find_reading(asked, [text for _, text in asked.items or ()])
            (mark,) = self._judge(facts, reading)
            return {asked.reply_key: int(mark)}
        if asked.items is None:
            shown = [
                (len(item.text), name, item.index)
                for name, known in _list_known(place, asked.key).items()
                for item in known
                if f"\n{item.text}\n" in asked.rest
            ]
            if not shown:
                raise _UnreadableError("no reading of this case has this item")
            _, reading, number = max(shown)
            verdict = bool(self._judge(facts, reading)[number - 1])
            return {"reason": "As the lab's judge sees it.", asked.reply_key: verdict}
        items = [item for item in asked.items if item[1] != CANARY]
        reading, known = self._find_reading(asked, [text for _, text in items])
        verdicts, open_items = self._judge(facts, reading), list(known)
        found: dict[str, Any] = {index: False for index, text in asked.items if text == CANARY}
        for index, text in items:
            # Of criteria that read the same, the first one shown is the first of the task.
            item = open_items.pop(next(number for number, item in enumerate(open_items) if item.text == text))
            found[index] = int(verdicts[item.index - 1]) if asked.key == "levels" else bool(verdicts[item.index - 1])
        return {asked.reply_key: found}

    def _find_reading(self, asked: _Question, texts: Sequence[str]) -> tuple[str, tuple[Item, ...]]:
        """The reading that has all of these texts, and its items."""
        for name, known in _list_known(asked.place, asked.key).items():
            if texts and not Counter(texts) - Counter(item.text for item in known):
                return name, known
        raise _UnreadableError("no reading of this case has these items")

    def _judge(self, facts: Facts, reading: str) -> Sequence[Any]:
        """The verdicts on the first answer, in the order of the reading's items."""
        if reading in ("consensus", "probe"):
            judge: Callable[[Facts, int], Any] = judge_parts if reading == "consensus" else judge_probe
            return list(judge(facts, JUDGE_SEED if self.is_strict else _LENIENT_SEED)[0])
        if self.is_strict:
            if reading != "criteria":
                raise _UnreadableError(f"the strict judge does not read {reading}")
            return list(judge_criteria(facts, STRICT_RATES, "strict", JUDGE_SEED)[0])
        if reading == "redundancy":  # what the third criterion of the probe means in a world
            return list(judge_probe(facts, _LENIENT_SEED)[0, 2:3])
        return list(judge_reading(facts, reading, JUDGE_SEED)[0])


def _read_fences(prompt: str) -> dict[str, str]:
    """What a prompt has between fences, by name; the first of each."""
    return {found[1]: found[3] for found in reversed([*_FENCE.finditer(prompt)])}


def _read(prompt: str) -> _Question:
    """What a judge's prompt shows, by its fences, its list of items and the key that it asks for."""
    fenced = _read_fences(prompt)
    rest = _FENCE.sub("", prompt)
    turns = fenced.get("CONVERSATION", "")
    place = find_place(turns.removeprefix("user: "))
    if place is None:
        raise _UnreadableError("the conversation is not one of the lab's cases")
    answers = tuple(fenced[name] for name in ("ANSWER", "FIRST", "SECOND") if name in fenced)
    listed = _LIST.search(rest)
    keys = _KEY.findall(rest[listed.end() :] if listed else rest)
    if not keys or len(answers) != 1 + (keys[-1] == "better"):
        raise _UnreadableError("it is not clear what is asked about which answer")
    other = _OTHER_KEY.search(rest)
    items = None
    if listed:
        rows = orjson.loads(f"[{listed[1]}]")
        items = tuple((str(row["index"]), str(row["criterion"])) for row in rows)
    return _Question(place, answers, keys[-1], other[1] if other else keys[-1], items, rest)


def _list_known(place: CasePlace, key: str) -> dict[str, tuple[Item, ...]]:
    """By reading, the items of a case that can be asked about under a key."""
    task = make_case_task(place)
    known = {name: list_items(task, name) for name in _READINGS[key] if name != "criteria-rewritten"}
    if key == "satisfied":
        known["consensus"] = list_items(make_consensus_task(place), "criteria")
    return known
