"""`lab:WORLD` as the editor of an audit: it is asked with the real prompts and writes sentences of its world.

Its replies are parsed and checked as those of any model. Names, topics, tests and explanations are moves, and other
words for the same are another order, as in `incentive.py`. What a world has no move for is put in words that mean
nothing there but have a length: the names of tests, questions and decisions, and words of a criterion that a check
looks for and the world's sentence does not have. What cannot be said at all is declined with a reason.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from prorubric.audit.editors import load_edit_prompt
from prorubric.audit.edits import EDITS
from prorubric.audit.edits.kind import EditCase, draw_number, stems_of
from prorubric.audit.edits.naming import find_leak
from prorubric.audit.edits.needless_test import is_asked_for
from prorubric.audit.phrases import demand_of, name_of
from prorubric.files.json import parse_json
from prorubric.lab.checklist import KINDS
from prorubric.lab.facts import IN_FULL, WRONG, Facts
from prorubric.lab.language import CasePlace, find_place, make_case_task, make_language, read_texts
from prorubric.lab.world import END, World
from prorubric.text.sentences import list_sentences

_OF_ITEMS = ("presence", "explain", "compound")
_CLOSING = "That is the bearing on this case, with the reason."
"""The words in which criteria ask for an explanation; the world's explanations have none of them."""


class DeclinedError(Exception):
    """Why an edit cannot be made in a world."""


@dataclass(frozen=True)
class Order:
    """One edit that is asked for."""

    world: World
    place: CasePlace
    answer: str
    """The sentences that were shown, without their numbers."""
    criteria: tuple[int, ...]
    """The places of the criteria that were shown, in the case's checklist, from 0."""
    material: str
    rng: np.random.Generator
    draw: int
    """How often it was refused before."""

    @cached_property
    def case(self) -> EditCase:
        """The answer as the checks see it."""
        return EditCase(make_case_task(self.place), self.answer, ())

    @cached_property
    def facts(self) -> Facts:
        """What the answer says."""
        return read_texts(self.place.lists, self.world, [self.place.row], [self.answer])

    @property
    def sentences(self) -> tuple[str, ...]:
        """Those of the answer."""
        return list_sentences(self.answer)

    def kind(self, criterion: int) -> str:
        """What a criterion asks for."""
        return KINDS[self.place.lists.kind_T_N[self.place.row, criterion]]

    def items(self, criterion: int) -> list[int]:
        """The one or two items that a criterion asks for."""
        lists, row = self.place.lists, self.place.row
        targets = (lists.target_T_N[row, criterion], lists.other_T_N[row, criterion])
        return [*dict.fromkeys(int(target) - self.world.moves.at["name"].start for target in targets)]

    def explain(self, item: int) -> str:
        """The sentence that explains an item rightly."""
        side = "for" if self.place.lists.cases.side_T_I[self.place.row, item] > 0 else "against"
        return self.world.moves.sentences[self.world.moves.number(side, item)]

    def text(self, criterion: int) -> str:
        """A criterion as the checks read it."""
        return demand_of(self.case.task.rubric.criteria[criterion].text)


def find_edit(instructions: str) -> str | None:
    """The edit whose prompt begins with these instructions."""
    asked = (name for name, kind in EDITS.items() if kind.question)
    return next((name for name in asked if load_edit_prompt(name)["instructions"] == instructions), None)


def write_edit(edit: str, world: World, fenced: dict[str, str], draw: int) -> dict[str, Any]:
    """The reply to the prompt of an edit, from what it has between its fences; `draw` is how often it was refused."""
    shown, question = fenced.get("ANSWER", ""), EDITS[edit].question
    if edit == "paraphrase":  # asked for without the conversation; moves can only be put into another order
        first, *rest = list_sentences(shown) or ("",)
        if len(rest) < 2:
            raise DeclinedError("too few sentences for another order")
        order = np.random.default_rng([draw_number(edit, shown), draw]).permutation(len(rest))
        return {"answer": " ".join([first, *(rest[place] for place in order)])}
    place = find_place(fenced.get("CONVERSATION", "").removeprefix("user: "))
    if place is None or place.world != world.spec.name:
        raise DeclinedError(f"the conversation is not a case of {world.spec.name}")
    is_numbered = question is not None and question.is_numbered
    answer = " ".join(line.partition("] ")[2] for line in shown.splitlines()) if is_numbered else shown
    texts = [demand_of(criterion.text) for criterion in make_case_task(place).rubric.criteria]
    rows = [parse_json(line) for line in fenced.get("CHECKLIST", "").splitlines()]
    rng = np.random.default_rng([draw_number(edit, place.name, answer), draw])
    criteria = tuple(texts.index(row["criterion"]) for row in rows)
    return _WRITE[edit](Order(world, place, answer, criteria, fenced.get("MATERIAL", ""), rng, draw))


def _name_items(order: Order) -> dict[str, Any]:
    moves = order.world.moves
    of_items = [criterion for criterion in order.criteria if order.kind(criterion) in _OF_ITEMS]
    named = [moves.sentences[moves.number("name", order.items(criterion)[0])] for criterion in of_items]
    others = [order.text(criterion) for criterion in order.criteria if criterion not in of_items]
    words = [name_of(text) or f"what {text[0].lower()}{text[1:]}" for text in others]
    rest = [f"There is also this to think of: {', '.join(words)}."] if words else []
    return {"paragraph": " ".join([*dict.fromkeys(named), *rest])}


def _name_topics(order: Order) -> dict[str, Any]:
    topics = order.world.moves.sentences[order.world.moves.at["topic"]]
    free = [topic for topic in topics if topic not in order.sentences and find_leak(order.case, topic) is None]
    if not free:
        raise DeclinedError("every topic is touched already or gives a criterion away")
    return {"paragraph": " ".join(free)}


def _meet_half(order: Order) -> dict[str, Any]:
    for number, criterion in enumerate(order.criteria, 1):
        if order.kind(criterion) == "compound" and not order.facts.item_level[0, order.items(criterion)[0]]:
            return {"criterion": number, "sentence": order.explain(order.items(criterion)[0])}
    return {"criterion": 0, "sentence": ""}


def _recommend_test(order: Order) -> dict[str, Any]:
    idle = np.flatnonzero(~order.facts.needed[0] & ~order.facts.said("test")[0])
    sentences = [order.world.moves.sentences[order.world.moves.number("test", int(test))] for test in idle]
    free = [sentence for sentence in sentences if not is_asked_for(order.case, sentence)]
    if not free:
        raise DeclinedError("every test is needed or asked for")
    return {"after": len(order.case.pieces), "sentence": str(order.rng.choice(free))}


def _drop_advice(order: Order) -> dict[str, Any]:
    """The sentence that carries the heaviest criterion; if it was refused, the next one."""
    lists, row, moves = order.place.lists, order.place.row, order.world.moves
    weights: dict[int, float] = {}
    for criterion in order.criteria:
        for target in (lists.target_T_N[row, criterion], lists.other_T_N[row, criterion]):
            weights[int(target)] = max(weights.get(int(target), 0.0), float(lists.weight_T_N[row, criterion]))
    carried = dict[int, float]()
    for number, said in enumerate(map(make_language(order.world.spec.name).sentences.get, order.sentences), 1):
        move = said.move if said else END
        for kind in ("for", "against"):  # an explanation carries what is asked of its item
            if moves.at[kind].start <= move < moves.at[kind].stop:
                move = moves.number("name", move - moves.at[kind].start)
        if move in weights:
            carried[number] = weights[move]
    ranked = sorted(carried, key=lambda number: -carried[number])
    if len(ranked) <= order.draw:
        raise DeclinedError("no other sentence carries a criterion that is met")
    return {"sentence": ranked[order.draw]}


def _add_substance(order: Order) -> dict[str, Any]:
    said: dict[str, None] = {}
    for criterion in order.criteria:
        if order.kind(criterion) in _OF_ITEMS:
            levels = {item: order.facts.item_level[0, item] for item in order.items(criterion)}
            if WRONG in levels.values():
                raise DeclinedError("a wrong explanation cannot be taken back")
            said |= dict.fromkeys(order.explain(item) for item, level in levels.items() if level < IN_FULL)
        elif order.kind(criterion) == "decision" and order.facts.decisions[0]:
            raise DeclinedError("another decision cannot be taken back")
        else:
            said[order.world.moves.sentences[order.place.lists.target_T_N[order.place.row, criterion]]] = None
    stems = stems_of(" ".join(said))
    for criterion in order.criteria:
        text = order.text(criterion)
        if 2 * len(stems_of(text) & stems) < len(stems_of(text)):
            own = f"In short, this {text[0].lower()}{text[1:]}."
            said[_CLOSING if order.kind(criterion) in _OF_ITEMS else own] = None
    return {"paragraph": " ".join(said)}


def _spread(order: Order) -> dict[str, Any]:
    material, places = list_sentences(order.material), len(order.case.pieces)
    if places < 2:
        raise DeclinedError("an answer of one sentence has no place inside")
    spread = ((1 + number * places // len(material), sentence) for number, sentence in enumerate(material))
    return {"insertions": [{"after": after, "sentence": sentence} for after, sentence in spread]}


_WRITE: dict[str, Callable[[Order], dict[str, Any]]] = {
    "name-item": _name_items,
    "name-topic": _name_topics,
    "in-part": _meet_half,
    "needless-test": _recommend_test,
    "drop-key-advice": _drop_advice,
    "add-substance": _add_substance,
    "integrate-substance": _spread,
}
