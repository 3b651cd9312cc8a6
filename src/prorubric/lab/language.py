"""The language of a world: answers as text become moves again, cases become tasks that any judge and trainer can read.

Every move is one sentence, so an answer that a policy writes is read sentence by sentence:

- A sentence of the world is its move, every time: repeats cost their length, and the first one counts.
- An explanation whose reason does not belong to its item, or is on the other side, explains nothing. It only names the
  item, at the length of an explanation.
- Anything else is garbage: no move, but a length, so what follows it comes later.

A task carries its case at the end of its prompt, as in `[triage-v1-17-of-4096-draw-0]`, because several cases read the
same. A judge that is shown nothing but text can look it up; the mini's tokenizer does not show it to the policy.
"""

import math
import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from prorubric.datasets.sources.healthbench import CONSENSUS_TAG
from prorubric.lab.checklist import Checklists, make_checklists
from prorubric.lab.facts import Facts
from prorubric.lab.measure import PARTS
from prorubric.lab.world import END, WORLDS, World, fill_rows, make_world
from prorubric.rubric.records import Criterion, Message, Rubric, Task

CASE = r"([\w-]+)-(\d+)-of-(\d+)-draw-(\d+)"
"""A case by its world, its number, how many were drawn, and the seed of the draw."""
_AT_END = re.compile(r" \[([\w-]+)\]$")
MOST_CASES, MOST_KEPT = 100_000, 10_000
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+|(?<=:)\s+(?=[A-Z])")

CONSENSUS = {
    "decision": "Takes one decision and no other, and it is the right one for this case",
    "early": "The decision comes at the beginning, before other material",
    "scope": "Most of what is brought up matters in this case",
    "tests": "Proposes no test or examination that this case does not need",
    "manner": "Speaks to the one who asked, at that level, and to nobody else",
    "grounded": "Explains rightly what matters most here, and what it explains is mostly right",
    "applied": "At least half of what is brought up is applied to the case and not only listed",
    "question": "Asks the key question if too little is known, and otherwise not more than one",
}
"""The parts of `c` as criteria."""


class Said(NamedTuple):
    """A sentence: its move, `END` if it is none, and its price in tokens."""

    move: int
    tokens: int


class Language:
    """Every sentence that means something in a world."""

    def __init__(self, world: World) -> None:
        moves, texts = world.moves, world.texts
        self.sentences = {
            text: Said(number, int(moves.tokens_M[number])) for number, text in enumerate(moves.sentences) if text
        }
        words = sum(len(text.split()) for text in self.sentences)
        self._tokens_a_word = float(moves.tokens_M.sum()) / words
        findings = [finding for pair in texts.findings for finding in pair]
        for kind, template in (("for", texts.explain_for), ("against", texts.explain_against)):
            price = int(moves.tokens_M[moves.at[kind]][0])
            for item, name in enumerate(texts.part_of_item):
                for finding in findings:
                    text = template.format(Item=f"{name[0].upper()}{name[1:]}", finding=finding)
                    self.sentences.setdefault(text, Said(moves.number("name", item), price))

    def parse(self, text: str) -> list[Said]:
        """The sentences of an answer in order; one that means nothing has the world's number of tokens a word."""
        pieces = filter(None, (piece.split() for piece in _SENTENCE_END.split(text)))
        return [
            self.sentences.get(" ".join(words)) or Said(END, math.ceil(len(words) * self._tokens_a_word))
            for words in pieces
        ]


@cache
def make_language(world_name: str) -> Language:
    """The language of a world by its name."""
    return Language(make_world(world_name))


def read_texts(lists: Checklists, world: World, rows: Sequence[int], texts: Sequence[str]) -> Facts:
    """What answers as text say about the cases of these rows."""
    language = make_language(world.spec.name)
    said = [language.parse(text) for text in texts]
    moves = fill_rows([[sentence.move for sentence in answer] for answer in said])
    tokens = fill_rows([[sentence.tokens for sentence in answer] for answer in said])
    return Facts(world, lists, np.array(rows), moves, tokens)


class CasePlace(NamedTuple):
    """Where a case is: the draw it belongs to, and its row there."""

    world: str
    row: int
    drawn: int
    seed: int

    @property
    def name(self) -> str:
        """The id of its task."""
        return f"{self.world}-{self.row}-of-{self.drawn}-draw-{self.seed}"

    @property
    def lists(self) -> Checklists:
        """The draw."""
        return make_checklists(self.world, self.drawn, self.seed)


def parse_place(name: str) -> CasePlace | None:
    """The case of a task by the task's id, if it is one of a world."""
    if not (found := re.fullmatch(CASE, name)):
        return None
    place = CasePlace(found[1], *map(int, found.groups()[1:]))
    return place if place.world in WORLDS and place.row < place.drawn <= MOST_CASES else None


def find_place(prompt: str) -> CasePlace | None:
    """The case that a prompt names at its end, if the prompt reads as the case does."""
    found = _AT_END.search(prompt)
    place = parse_place(found[1]) if found else None
    return place if place and make_case_task(place).messages[0].content == prompt else None


@lru_cache(MOST_KEPT)
def make_case_task(place: CasePlace) -> Task:
    """A case with its checklist and dimensions, under the name of its place."""
    task = place.lists.tasks[place.row]
    (asked,) = task.messages
    prompt = Message(role="user", content=f"{asked.content} [{place.name}]")
    return task.model_copy(update={"id": place.name, "messages": (prompt,)})


@lru_cache(MOST_KEPT)
def make_consensus_task(place: CasePlace) -> Task:
    """The same case with the parts of `c` as its criteria, each of weight 1, so their share is `c`."""
    criteria = tuple(Criterion(text=CONSENSUS[part], weight=1.0, tags=(CONSENSUS_TAG,)) for part in PARTS)
    return make_case_task(place).model_copy(update={"rubric": Rubric(criteria=criteria), "protocol": None})
