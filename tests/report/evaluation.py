"""An evaluation that looks like a real one: two methods with three seeds, an untrained policy, two judges."""

import random
from collections.abc import Iterator

from prorubric.evaluate.compare import Comparisons, compare_scores
from prorubric.evaluate.judges import CriterionVerdict, LabelledVerdict
from prorubric.evaluate.records import Game, ItemScore, Policy

METHODS = {"base": 0.0, "rubric-rl": 0.03, "prorubric": 0.07}
POLICIES = [
    Policy(name="base", spec="base.jsonl"),
    *(
        Policy(name=f"{method}-{seed}", spec=f"{method}-{seed}.jsonl", group=method, seed=seed)
        for method in ("rubric-rl", "prorubric")
        for seed in (42, 43, 44)
    ),
]
JUDGES = ("deepseek-v4-pro", "gpt-5.6-luna")
LEVELS = {
    "writingbench": 0.55,
    "creative-v3": 0.33,
    "arena-hard-v2": 0.17,
    "healthbench": 0.29,
    "healthbench-hard": -0.06,
    "healthbench-consensus": 0.52,
    "researchqa": 0.58,
}
LABELS = ("A>>B", "A>B", "A=B", "B>A", "B>>A")
SETTINGS = {
    "profile": "one for all: temperature 0.7, top-p 0.8, top-k 20, 8,192 tokens",
    "resamples": 10_000,
    "prompts": {"healthbench": "own words, 5b1c9f…", "arena-hard": "own words, 77aa01…"},
    "files": [
        {"file": "healthbench.jsonl", "rows": 5000, "sha256": "e99dd3c6…", "published": True},
        {"file": "medqa.jsonl", "rows": 1273, "sha256": "0a41d2…", "published": None},
    ],
}
SUMMARY = {
    "calls": 48_210,
    "cost": "$21.40",
    "seconds": 5210.5,
    "stages": {"answers": "7,400 calls", "judging": "40,810 calls"},
}


def make_comparisons(items: int = 120, resamples: int = 300) -> Comparisons:
    """Made-up rows, compared."""
    draws = random.Random(0)
    return compare_scores(
        [*_make_scores(draws, items)],
        POLICIES,
        compare=[("prorubric", "rubric-rl"), ("prorubric", "base"), ("rubric-rl", "base")],
        resamples=resamples,
        games=[*_make_games(draws, items)],
        verdicts=[*_make_verdicts(draws, items)],
        labelled=[*_make_labels(draws, items)],
        repeats=[*_make_scores(random.Random(1), items // 3, ("healthbench",), JUDGES[:1])],
    )


def _quality(policy: Policy) -> float:
    return METHODS[policy.group or policy.name] + 0.004 * ((policy.seed or 43) - 43)


def _make_scores(
    draws: random.Random, items: int, benchmarks: tuple[str, ...] = tuple(LEVELS), judges: tuple[str, ...] = JUDGES
) -> Iterator[ItemScore]:
    for benchmark in benchmarks:
        hard = [draws.gauss(0, 0.2) for _ in range(items)]
        for judge in judges:
            for policy in POLICIES:
                for number in range(items):
                    value = LEVELS[benchmark] + _quality(policy) - hard[number] + draws.gauss(0, 0.15)
                    is_open = draws.random() < (0.02 if judge == JUDGES[0] else 0.005)
                    yield ItemScore(
                        benchmark=benchmark,
                        judge=judge,
                        policy=policy.name,
                        item=f"{benchmark}/{number}",
                        value=None if is_open else value,
                        low=value - 0.3 if is_open else value,
                        high=value + 0.3 if is_open else value,
                        weight=draws.choice((2.0, 4.0, 6.0)) if benchmark == "arena-hard-v2" else 1.0,
                        unknown={draws.choice(("unreadable", "refused")): 1} if is_open else {},
                        failure="cut off" if draws.random() < 0.02 else "",
                        cluster=f"prompt {number // 3}" if benchmark == "creative-v3" else "",
                        characters=int(
                            (2500 if policy.name == "base" else 9000) * (1 + _quality(policy)) + 9000 * is_open
                        ),
                    )
    if benchmarks != tuple(LEVELS):
        return
    for benchmark, level in (("medqa", 0.62), ("gpqa-diamond", 0.42)):
        for policy in POLICIES:
            for number in range(items):
                right = float(draws.random() < level + _quality(policy))
                failure = "no letter" if not right and draws.random() < 0.05 else ""
                yield ItemScore(
                    benchmark=benchmark,
                    judge="",
                    policy=policy.name,
                    item=f"{benchmark}/{number}",
                    value=right,
                    low=right,
                    high=right,
                    failure=failure,
                    characters=1800,
                )


def _make_games(draws: random.Random, items: int) -> Iterator[Game]:
    for benchmark in ("pairs-medical", "pairs-writing", "pairs-medical-2048"):
        for judge in JUDGES:
            for policy in POLICIES[1:]:
                for number in range(items):
                    better = draws.random() < 0.5 + 2 * _quality(policy)
                    labels = ("B>A", "A>B") if better else ("A>B", "B>A")
                    if draws.random() < 0.2:
                        labels = (draws.choice(LABELS), draws.choice(LABELS))
                    kept = (labels[0], None) if draws.random() < 0.02 else labels
                    yield Game(
                        benchmark=benchmark,
                        judge=judge,
                        item=str(number),
                        first="base",
                        second=policy.name,
                        labels=kept,
                    )


def _make_verdicts(draws: random.Random, items: int) -> Iterator[CriterionVerdict]:
    for policy in POLICIES:
        for number in range(items):
            for criterion in ("answers what was asked", "nothing needless", "fits the person", "right length"):
                met = draws.random() < 0.45 + 2 * _quality(policy)
                yield CriterionVerdict("probe-medical", JUDGES[0], policy.name, str(number), 0, criterion, 1.0, met)
            for judge in JUDGES:
                for criterion in range(4):
                    said = None if draws.random() < 0.01 else draws.random() < 0.6
                    yield CriterionVerdict("healthbench", judge, policy.name, str(number), 0, str(criterion), 5.0, said)


def _make_labels(draws: random.Random, items: int) -> Iterator[LabelledVerdict]:
    themes = (
        "emergency_referrals",
        "global_health",
        "communication",
        "context_seeking",
        "hedging",
        "complex_responses",
    )
    for number in range(items * 3):
        theme = draws.choice(themes)
        truth = draws.random() < 0.6
        labels = tuple(truth if draws.random() < 0.8 else not truth for _ in range(2))
        met = None if draws.random() < 0.02 else truth if draws.random() < 0.75 else not truth
        criterion = f"{theme} {draws.randrange(3)}"
        yield LabelledVerdict(JUDGES[0], str(number), criterion, theme, f"conversation {number // 2}", met, labels)
