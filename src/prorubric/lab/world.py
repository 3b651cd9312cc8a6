"""The worlds by name: their words, their fixed parameters, and what follows from a world's seed.

A world is a file of texts, `worlds/<texts>.json`, and a table in `worlds/parameters.toml`. It is frozen under its name:
another parameter is another version. The reasons given there are facts about checklists, judges and answers that hold
before any training; none is the result of a scheme. `docs/lab-log.md` tells how each value came to be.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import KW_ONLY
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from prorubric.errors import ConfigError
from prorubric.files.json import parse_json
from prorubric.rubric.base import Record, config_record

LEVELS = 5  # severities 0 to 3, and 4: too little is known, so the right decision is to ask
ASK = 4
PARTS = 4
END = 0  # the move that closes an answer and fills up its row

Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# The kinds of moves and their prices. About a word and a third to a token: a decision or a question is a short
# sentence, a name shorter, and an explanation has to say what it rests on, which costs three times a name.
_TOKENS = {"decide": 10, "name": 8, "for": 24, "against": 24, "test": 8, "ask": 9, "manner": 8, "aside": 10}
_TOKENS |= {"topic": 8, "filler": 10}


class Part(Record):
    """One phase of a good answer: it becomes one dimension of the protocol rubric."""

    name: str
    topic: str  # a sentence that only touches on the phase
    aim: str
    failure: str


class Texts(Record):
    """Every sentence of a world."""

    domain: str
    families: tuple[str, ...]
    opening: dict[str, str]
    unsaid: str
    findings: tuple[tuple[str, str], ...]  # each as it reads when it is so, and when it is not
    decisions: tuple[str, ...]  # one for each severity; the last is to ask first
    decision_criteria: tuple[str, ...]
    parts: tuple[Part, ...]
    items: tuple[tuple[str, ...], ...]  # what an answer can bring up, by part
    name: str
    explain_for: str
    explain_against: str
    presence: str
    substantive: str
    compound: str
    tests: tuple[str, ...]
    risky_tests: tuple[str, ...]
    test: str
    test_criterion: str
    test_penalty: str
    questions: tuple[str, ...]
    question_criterion: str
    manner: dict[str, str]
    manner_criterion: dict[str, str]
    asides: dict[str, tuple[str, str]]  # a sentence that is often wanted, and the criterion that wants it
    filler: tuple[str, ...]

    @property
    def part_of_item(self) -> dict[str, int]:
        """The number of the part that each item belongs to, part after part."""
        return {name: number for number, part in enumerate(self.items) for name in part}


@config_record
class WorldSpec:
    """The parameters of a world; `worlds/parameters.toml` says what each means and why it has its value."""

    name: str
    texts: str
    _: KW_ONLY
    seed: int
    # Cases
    thin_share: float
    expert_share: float
    hidden_share: float
    thin_hidden_share: float
    finding_slope: float
    unknowable: float
    pool_per_part: int
    core: int
    needed_tests: tuple[int, ...]
    # Checklists
    peripheral: int
    presence_share: float
    compounds: int
    needless_criteria: int
    asked_questions: int
    style_criteria: bool
    penalties: int
    tiers: bool
    label_errors: float
    # The training judge
    named_credit: float
    slack: float
    dimension_threshold: float
    # Answers
    limit: int


_FOLDER = Path(__file__).parent / "worlds"
_PARAMETERS = tomllib.loads((_FOLDER / "parameters.toml").read_text(encoding="utf-8"))
WORLDS = {name: WorldSpec(name, **_PARAMETERS["triage-v1"] | given) for name, given in _PARAMETERS.items()}


def find_world(name: str) -> WorldSpec:
    """The parameters of a world by its name."""
    if name not in WORLDS:
        raise ConfigError(f"no world is called {name!r}; known: {', '.join(WORLDS)}")
    return WORLDS[name]


class Moves:
    """What an answer is made of: moves, each one sentence with a price in tokens, said at most once.

    An answer is a row of move numbers. `at[kind]` holds the moves of a kind.
    """

    def __init__(self, texts: Texts) -> None:
        names = [(name, f"{name[0].upper()}{name[1:]}") for name in texts.part_of_item]
        findings = [texts.findings[number % len(texts.findings)] for number in range(len(names))]
        pairs = list(zip(names, findings, strict=True))
        kinds = {
            "decide": texts.decisions,
            "name": [texts.name.format(item=name) for name, _ in names],
            "for": [texts.explain_for.format(Item=name, finding=so) for (_, name), (so, _) in pairs],
            "against": [texts.explain_against.format(Item=name, finding=not_so) for (_, name), (_, not_so) in pairs],
            "test": [texts.test.format(test=test) for test in texts.tests + texts.risky_tests],
            "ask": texts.questions,
            "manner": list(texts.manner.values()),
            "aside": [said for said, _ in texts.asides.values()],
            "topic": [part.topic for part in texts.parts],
            "filler": texts.filler,
        }
        self.at: dict[str, slice] = {}
        self.sentences, tokens = [""], [0]
        for kind, lines in kinds.items():
            self.at[kind] = slice(len(tokens), len(tokens) + len(lines))
            self.sentences += lines
            tokens += [_TOKENS[kind]] * len(lines)
        self.tokens_M: Ints = np.array(tokens)

    def number(self, kind: str, index: int) -> int:
        """The number of one move."""
        return int(self.at[kind].start) + index

    def render(self, row: Ints) -> str:
        """The text of one answer."""
        return " ".join(self.sentences[move] for move in row if move != END)


class World:
    """A world with everything its seed settles. Axes: F families, V levels, I items, J findings, X tests."""

    def __init__(self, name: str) -> None:
        self.spec = spec = find_world(name)
        self.texts = texts = Texts(**parse_json((_FOLDER / f"{spec.texts}.json").read_bytes()))
        self.moves = Moves(texts)
        families, findings, items = len(texts.families), len(texts.findings), len(texts.part_of_item)
        # The finding that decides whether an item speaks for or against.
        self.finding_I: Indices = np.arange(items) % findings
        # The order of the draws is part of a world's version.
        rng, part = np.random.default_rng([spec.seed, 1]), np.array([*texts.part_of_item.values()])
        self.pool_F_I: Bools = np.zeros((families, items), dtype=bool)
        for pool in self.pool_F_I:
            for number in range(PARTS):
                pool[rng.choice(np.flatnonzero(part == number), spec.pool_per_part, replace=False)] = True
        self.bias_F_J: Floats = rng.normal(0.0, 0.5, (families, findings))
        slope = spec.finding_slope * rng.uniform(0.3, 1.0, (families, findings))
        self.slope_F_J: Floats = slope * rng.choice([-1, 1], findings)
        self.core_F_V_I: Bools = np.zeros((families, LEVELS, items), dtype=bool)
        for family, level in np.ndindex(families, LEVELS):
            # One item of each part, and the others from the whole pool.
            core, pool = self.core_F_V_I[family, level], self.pool_F_I[family]
            for number in range(PARTS):
                core[rng.choice(np.flatnonzero(pool & (part == number)))] = True
            core[rng.choice(np.flatnonzero(pool & ~core), spec.core - PARTS, replace=False)] = True
        # The risky tests come last and are never needed.
        self.needed_F_V_X: Bools = np.zeros((families, LEVELS, len(texts.tests + texts.risky_tests)), dtype=bool)
        for family, level in np.ndindex(families, LEVELS):
            tests = rng.choice(len(texts.tests), spec.needed_tests[level], replace=False)
            self.needed_F_V_X[family, level, tests] = True
        self.key_question_F: Indices = rng.integers(len(texts.questions), size=families)


@cache
def make_world(name: str) -> World:
    """A world by its name."""
    return World(name)


def fill_rows(answers: Sequence[Sequence[int]]) -> Ints:
    """Answers of different lengths as one array, filled up with `END`."""
    filled = np.full((len(answers), max(map(len, answers)) + 1), END)
    for row, answer in zip(filled, answers, strict=True):
        row[: len(answer)] = answer
    return filled
