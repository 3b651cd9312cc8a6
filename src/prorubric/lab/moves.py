"""What an answer is made of: moves, each one sentence with a price in tokens, said at most once.

An answer is a row of move numbers; `END` closes it and fills the row up. `render_answer` turns it into text.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from prorubric.lab.texts import Texts
from prorubric.lab.world import World, make_world

END = 0

# About a word and a third to a token: a decision or a question is a short sentence, a name shorter, and an
# explanation has to say what it rests on, which costs three times a name.
_TOKENS = {
    "decide": 10,
    "name": 8,
    "for": 24,
    "against": 24,
    "test": 8,
    "ask": 9,
    "manner": 8,
    "aside": 10,
    "topic": 8,
    "filler": 10,
}


@dataclass(frozen=True)
class Moves:
    """All moves of a world, kind after kind; `at[kind]` is where its moves stand."""

    count: int
    at: dict[str, slice]
    tokens_M: npt.NDArray[np.int64]

    def number(self, kind: str, index: int) -> int:
        """The number of one move."""
        return int(self.at[kind].start) + index


@cache
def make_moves(name: str) -> Moves:
    """The moves of a world by its name."""
    texts = make_world(name).texts
    start, at, tokens = 1, {}, [0]
    for kind, count in _count_moves(texts).items():
        at[kind] = slice(start, start + count)
        tokens += [_TOKENS[kind]] * count
        start += count
    return Moves(start, at, np.array(tokens))


def _count_moves(texts: Texts) -> dict[str, int]:
    items = len(texts.item_names)
    return {
        "decide": len(texts.decisions),
        "name": items,
        "for": items,
        "against": items,
        "test": len(texts.all_tests),
        "ask": len(texts.questions),
        "manner": len(texts.manner),
        "aside": len(texts.asides),
        "topic": len(texts.parts),
        "filler": len(texts.filler),
    }


def render_answer(world: World, row: npt.NDArray[np.int64]) -> str:
    """The text of one answer."""
    sentences = list_sentences(world)
    return " ".join(sentences[move] for move in row if move != END)


def list_sentences(world: World) -> list[str]:
    """The sentence of every move, by number."""
    texts = world.texts
    names = texts.item_names
    findings = [texts.findings[number] for number in world.finding_I]
    return [
        "",
        *texts.decisions,
        *(texts.name.format(item=name) for name in names),
        *(_explain(texts.explain_for, name, so) for name, (so, _) in zip(names, findings, strict=True)),
        *(_explain(texts.explain_against, name, not_so) for name, (_, not_so) in zip(names, findings, strict=True)),
        *(texts.test.format(test=test) for test in texts.all_tests),
        *texts.questions,
        *texts.manner.values(),
        *(said for said, _ in texts.asides.values()),
        *(part.topic for part in texts.parts),
        *texts.filler,
    ]


def _explain(template: str, item: str, finding: str) -> str:
    return template.format(Item=item[0].upper() + item[1:], finding=finding)
