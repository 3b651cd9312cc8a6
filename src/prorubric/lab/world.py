"""The worlds by name: their words, their fixed parameters with the reasons, and what follows from a world's seed.

A world is a file of texts, `worlds/<texts>.json`, and a row in `WORLDS`. It is frozen under its name: another parameter
is another version. The reasons are facts about checklists, judges and answers that hold before any training (what
`prorubric lint` finds in real checklists, what the paper's incentive audit says of judges); none is the result of a
scheme. `docs/lab-log.md` tells how each value came to be.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from dataclasses import dataclass as plain_dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from prorubric.errors import ConfigError
from prorubric.files.json import parse_json
from prorubric.rubric.base import Record, config_record

LEVELS = 5
"""Severities 0 to 3, and 4: too little is known, so the right decision is to ask."""
ASK = 4
PARTS = 4
END = 0
"""The move that closes an answer and fills up its row."""

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
    topic: str
    """A sentence that only touches on the phase."""
    aim: str
    failure: str
    """The failure clause."""


class Texts(Record):
    """Every sentence of a world."""

    domain: str
    families: tuple[str, ...]
    opening: dict[str, str]
    unsaid: str
    findings: tuple[tuple[str, str], ...]
    """Each as it reads when it is so, and when it is not."""
    decisions: tuple[str, ...]
    """One for each severity; the last is to ask first."""
    decision_criteria: tuple[str, ...]
    parts: tuple[Part, ...]
    items: tuple[tuple[str, ...], ...]
    """What an answer can bring up, by part."""
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
    """How one speaks to whom."""
    manner_criterion: dict[str, str]
    asides: dict[str, tuple[str, str]]
    """A sentence that is often wanted, and the criterion that wants it."""
    filler: tuple[str, ...]

    @property
    def item_names(self) -> tuple[str, ...]:
        """All items, part after part."""
        return tuple(name for part in self.items for name in part)

    @property
    def part_of_item(self) -> tuple[int, ...]:
        """The part that each item belongs to."""
        return tuple(number for number, part in enumerate(self.items) for _ in part)

    @property
    def all_tests(self) -> tuple[str, ...]:
        """The ordinary tests, then the risky ones."""
        return self.tests + self.risky_tests


@config_record
class WorldSpec:
    """The parameters of a world. Defaults are those of `triage-v1`; the other worlds say what differs, and why."""

    name: str
    texts: str
    _: KW_ONLY
    seed: int = 0
    """Decides which items matter where, and enters every draw of cases; the training has its own seeds."""

    # Cases
    thin_share: float = 0.2
    """Cases in which too little is known; one of the seven themes of HealthBench, and more, is about that."""
    expert_share: float = 0.35
    """HealthBench asks for tailoring to both; lay people are the majority."""
    hidden_share: float = 0.15
    thin_hidden_share: float = 0.7
    finding_slope: float = 3.0
    """How much a finding says about the severity: a reader who knows the world is right on three of four full
    cases; more would make the decision free, less would make it luck."""
    unknowable: float = 0.3
    """How often the truth about an item is not what its finding says. What a policy can explain is bounded by what it
    can know: whatever its training, the paper's 4B model stays below 40 on strictly judged coverage."""
    pool_per_part: int = 5
    """Items of each part that checklists of a family draw on: half of all, so the policy has to read the family."""
    core: int = 5
    """Items that matter in a case: one or two for each part."""
    needed_tests: tuple[int, ...] = (0, 1, 2, 2, 0)
    """By level: nothing for a harmless case, nothing before the answers to questions."""

    # Checklists
    peripheral: int = 12
    """Criteria on items that do not matter in the case. With the rest about 29: the paper's medical checklists have 27
    to 32 positive criteria, most of them not what the case is about."""
    presence_share: float = 0.5
    """Of the peripheral ones, those met by a mention: 6 of 29, as the 22% that lint finds among the positive criteria
    of HealthBench (898 of 4,106)."""
    compounds: int = 4
    needless_criteria: int = 1
    """Criteria that ask for a test the case does not need: the paper's labels have a class for them."""
    asked_questions: int = 2
    style_criteria: bool = True
    penalties: int = 0
    """Medical checklists are positive only; RaR's carry pitfalls."""
    tiers: bool = False
    """Weights 1.0, 0.7, 0.3 and -0.9 as in RaR; otherwise points from 3 to 10 as in HealthBench."""
    label_errors: float = 0.3
    """How often the labels behind `weighted` are wrong: balanced F1 of judges and physicians is about .65."""

    # The training judge
    named_credit: float = 0.25
    """How often the lenient judge takes a mere mention for an explanation. The paper's audit: 4 to 6 named topics
    raise the sum by 7.3 points of 100 on lists of about 30, so a name is worth .44 of a criterion on average;
    with .9 for a presence criterion that leaves .25 for the others."""
    slack: float = 0.5
    """How often a judge who reads many requirements under one verdict overlooks an unmet one."""
    dimension_threshold: float = 0.25
    """The share of substance at which a dimension is a coin flip. The paper's interval for the audit of the dimensions
    is twice that of the sum: their verdicts on the untrained answers are far from settled either way."""

    # Answers
    limit: int = 800
    """Tokens. Eight times the untrained answer, so the overlong penalty (from half of it) sets in where the
    paper's answers ended: at four times the untrained length."""

    @property
    def buffer(self) -> int:
        """Half of the limit, as in the paper."""
        return self.limit // 2


WORLDS = {
    spec.name: spec
    for spec in (
        WorldSpec("triage-v1", "triage"),
        # The same parameters, drawn again: what holds in both does not hang on which items matter where.
        WorldSpec("triage-v1-redrawn", "triage", seed=1),
        WorldSpec(
            "science-v1",
            "science",
            # RaR-Science: 7.5 criteria in tiers with pitfalls, and substantive: 195 of 300 naming edits change nothing.
            pool_per_part=3,
            core=4,
            peripheral=1,
            presence_share=0.0,
            compounds=0,
            needless_criteria=0,
            asked_questions=0,
            style_criteria=False,
            penalties=1,
            tiers=True,
            named_credit=0.0,
            needed_tests=(0, 1, 1, 1, 0),
        ),
        WorldSpec(
            "dialogue-v1",
            "dialogue",
            # 27 to 32 positive criteria as in medicine, but a name is worth .14 of a criterion (2.4 points), not .44.
            pool_per_part=5,
            presence_share=0.15,
            named_credit=0.06,
        ),
    )
}


@plain_dataclass(frozen=True)
class Moves:
    """What an answer is made of: moves, each one sentence with a price in tokens, said at most once.

    An answer is a row of move numbers. `at[kind]` holds the moves of a kind.
    """

    at: dict[str, slice]
    sentences: tuple[str, ...]
    tokens_M: Ints

    @classmethod
    def of(cls, texts: Texts) -> "Moves":
        """The moves of a world, kind after kind."""
        names = [(name, f"{name[0].upper()}{name[1:]}") for name in texts.item_names]
        findings = [texts.findings[number % len(texts.findings)] for number in range(len(names))]
        pairs = list(zip(names, findings, strict=True))
        sentences = {
            "decide": texts.decisions,
            "name": [texts.name.format(item=name) for name, _ in names],
            "for": [texts.explain_for.format(Item=name, finding=so) for (_, name), (so, _) in pairs],
            "against": [texts.explain_against.format(Item=name, finding=not_so) for (_, name), (_, not_so) in pairs],
            "test": [texts.test.format(test=test) for test in texts.all_tests],
            "ask": texts.questions,
            "manner": list(texts.manner.values()),
            "aside": [said for said, _ in texts.asides.values()],
            "topic": [part.topic for part in texts.parts],
            "filler": texts.filler,
        }
        said, tokens, at = [""], [0], {}
        for kind, lines in sentences.items():
            at[kind] = slice(len(said), len(said) + len(lines))
            said += lines
            tokens += [_TOKENS[kind]] * len(lines)
        return cls(at, tuple(said), np.array(tokens))

    def number(self, kind: str, index: int) -> int:
        """The number of one move."""
        return int(self.at[kind].start) + index

    def render(self, row: Ints) -> str:
        """The text of one answer."""
        return " ".join(self.sentences[move] for move in row if move != END)


@plain_dataclass(frozen=True)
class World:
    """A world with everything its seed settles. Axes: F families, V levels, I items, J findings, X tests."""

    spec: WorldSpec
    texts: Texts
    moves: Moves
    bias_F_J: Floats
    slope_F_J: Floats
    pool_F_I: Bools
    core_F_V_I: Bools
    needed_F_V_X: Bools
    finding_I: Indices
    """The finding that decides whether an item speaks for or against."""
    key_question_F: Indices


def find_world(name: str) -> WorldSpec:
    """The parameters of a world by its name."""
    if name not in WORLDS:
        raise ConfigError(f"no world is called {name!r}; known: {', '.join(WORLDS)}")
    return WORLDS[name]


@cache
def make_world(name: str) -> World:
    """A world by its name; the order of the draws is part of its version."""
    spec = find_world(name)
    texts = Texts(**parse_json((Path(__file__).parent / "worlds" / f"{spec.texts}.json").read_bytes()))
    rng = np.random.default_rng([spec.seed, 1])
    families, findings, items = len(texts.families), len(texts.findings), len(texts.item_names)
    part = np.array(texts.part_of_item)
    pool = np.zeros((families, items), dtype=bool)
    for family in range(families):
        for number in range(PARTS):
            pool[family, rng.choice(np.flatnonzero(part == number), spec.pool_per_part, replace=False)] = True
    bias = rng.normal(0.0, 0.5, (families, findings))
    slope = spec.finding_slope * rng.uniform(0.3, 1.0, (families, findings)) * rng.choice([-1, 1], findings)
    core = np.zeros((families, LEVELS, items), dtype=bool)
    for family, level in np.ndindex(families, LEVELS):
        # One item of each part, and the others from the whole pool.
        for number in range(PARTS):
            core[family, level, rng.choice(np.flatnonzero(pool[family] & (part == number)))] = True
        rest = np.flatnonzero(pool[family] & ~core[family, level])
        core[family, level, rng.choice(rest, spec.core - PARTS, replace=False)] = True
    needed = np.zeros((families, LEVELS, len(texts.all_tests)), dtype=bool)
    for family, level in np.ndindex(families, LEVELS):
        # The risky tests come last and are never needed.
        needed[family, level, rng.choice(len(texts.tests), spec.needed_tests[level], replace=False)] = True
    return World(
        spec=spec,
        texts=texts,
        moves=Moves.of(texts),
        bias_F_J=bias,
        slope_F_J=slope,
        pool_F_I=pool,
        core_F_V_I=core,
        needed_F_V_X=needed,
        finding_I=np.arange(items) % findings,
        key_question_F=rng.integers(len(texts.questions), size=families),
    )


def fill_rows(answers: Sequence[Sequence[int]]) -> Ints:
    """Answers of different lengths as one array, filled up with `END`."""
    filled = np.full((len(answers), max(map(len, answers)) + 1), END)
    for row, answer in zip(filled, answers, strict=True):
        row[: len(answer)] = answer
    return filled
