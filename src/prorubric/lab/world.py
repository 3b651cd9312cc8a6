"""The worlds by name: fixed parameters, each with its reason, and what follows from a world's seed.

A world is frozen under its name: another parameter is another version. The reasons are facts about checklists, judges
and answers that hold before any training (what `prorubric lint` finds in real checklists, what the paper's incentive
audit says of judges); none is the result of a scheme. `docs/lab-log.md` tells how each value came to be.
"""

from dataclasses import KW_ONLY
from dataclasses import dataclass as plain_dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from prorubric.errors import ConfigError
from prorubric.lab.texts import Texts, load_texts
from prorubric.rubric.base import config_record

LEVELS = 5
"""Severities 0 to 3, and 4: too little is known, so that the right decision is to ask."""
ASK = 4
PARTS = 4


@config_record
class WorldSpec:
    """The parameters of a world. Defaults are those of `triage-v1`; the other worlds say what differs, and why."""

    name: str
    texts: str
    _: KW_ONLY
    seed: int = 0
    """Settles which items matter where, and enters every draw of cases; the training has seeds of its own."""

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
    """Items of each part that checklists of a family draw on: half of all, so that a family has to be read."""
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
    raise the sum by 7.3 points of 100 on lists of about 30, so that a name is worth .44 of a criterion on average;
    with .9 for a presence criterion that leaves .25 for the others."""
    slack: float = 0.5
    """How often a judge who reads many requirements under one verdict overlooks an unmet one."""
    dimension_threshold: float = 0.25
    """The share of substance at which a dimension is a coin flip. The paper's interval for the audit of the dimensions
    is twice that of the sum: their verdicts on the untrained answers are far from settled either way."""

    # Answers
    limit: int = 800
    """Tokens. Eight times the untrained answer, so that the overlong penalty (from half of it) sets in where the
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
class World:
    """A world with what its seed settled. Axes: F families, V levels, I items, J findings, X tests."""

    spec: WorldSpec
    texts: Texts
    bias_F_J: npt.NDArray[np.float64]
    slope_F_J: npt.NDArray[np.float64]
    pool_F_I: npt.NDArray[np.bool_]
    core_F_V_I: npt.NDArray[np.bool_]
    needed_F_V_X: npt.NDArray[np.bool_]
    finding_I: npt.NDArray[np.intp]
    """The finding that decides whether an item speaks for or against."""
    key_question_F: npt.NDArray[np.intp]


def find_world(name: str) -> WorldSpec:
    """The parameters of a world by its name."""
    if name not in WORLDS:
        raise ConfigError(f"no world is called {name!r}; known: {', '.join(WORLDS)}")
    return WORLDS[name]


@cache
def make_world(name: str) -> World:
    """A world by its name."""
    spec = find_world(name)
    texts = load_texts(spec.texts)
    rng = np.random.default_rng([spec.seed, 1])
    families, findings = len(texts.families), len(texts.findings)
    pool = np.stack([_pick_pool(spec, texts, rng) for _ in range(families)])
    return World(
        spec=spec,
        texts=texts,
        bias_F_J=rng.normal(0.0, 0.5, (families, findings)),
        slope_F_J=spec.finding_slope * rng.uniform(0.3, 1.0, (families, findings)) * rng.choice([-1, 1], findings),
        pool_F_I=pool,
        core_F_V_I=np.stack([[_pick_core(row, spec, texts, rng) for _ in range(LEVELS)] for row in pool]),
        needed_F_V_X=np.stack([_pick_tests(spec, texts, rng) for _ in range(families)]),
        finding_I=np.arange(len(texts.item_names)) % findings,
        key_question_F=rng.integers(len(texts.questions), size=families),
    )


def _pick_pool(spec: WorldSpec, texts: Texts, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    return np.concatenate([_choose(rng, len(part), spec.pool_per_part) for part in texts.items])


def _pick_core(
    pool: npt.NDArray[np.bool_], spec: WorldSpec, texts: Texts, rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    """One item of each part, and what is left of the number from the whole pool."""
    part = np.array(texts.part_of_item)
    core = np.zeros_like(pool)
    for number in range(PARTS):
        core[rng.choice(np.flatnonzero(pool & (part == number)))] = True
    rest = np.flatnonzero(pool & ~core)
    core[rng.choice(rest, spec.core - PARTS, replace=False)] = True
    return core


def _pick_tests(spec: WorldSpec, texts: Texts, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """By level, the tests that are needed; a risky one never is."""
    risky = np.zeros(len(texts.risky_tests), dtype=bool)
    return np.stack([np.concatenate([_choose(rng, len(texts.tests), count), risky]) for count in spec.needed_tests])


def _choose(rng: np.random.Generator, total: int, count: int) -> npt.NDArray[np.bool_]:
    chosen = np.zeros(total, dtype=bool)
    chosen[rng.choice(total, count, replace=False)] = True
    return chosen
