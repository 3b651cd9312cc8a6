"""How long the statistics of a large evaluation take, and the memory: 20 policies, 5,000 items, every difference."""

import random
import resource
import time
from itertools import combinations

from prorubric.evaluate.compare import compare_scores
from prorubric.evaluate.records import ItemScore, Policy

POLICIES, ITEMS = 20, 5_000


def make_scores(policies: list[Policy], items: int) -> list[ItemScore]:
    """Scores with a quality of the policy, a difficulty of the item and two unknown verdicts in a thousand."""
    draws, scores = random.Random(0), []
    difficulty = [draws.gauss(0.0, 0.25) for _ in range(items)]
    for place, policy in enumerate(policies):
        for number, hard in enumerate(difficulty):
            value = 0.3 + 0.01 * place - hard + draws.gauss(0.0, 0.2)
            is_open = draws.random() < 0.002
            scores.append(
                ItemScore(
                    benchmark="healthbench",
                    judge="judge",
                    policy=policy.name,
                    item=f"healthbench/{number}",
                    value=None if is_open else value,
                    low=value - 0.2 if is_open else value,
                    high=value + 0.2 if is_open else value,
                    unknown={"unreadable": 1} if is_open else {},
                    characters=draws.randrange(500, 9_000),
                )
            )
    return scores


def main() -> None:
    """Print time and peak memory."""
    policies = [Policy(name=f"policy-{place}", spec="answers.jsonl") for place in range(POLICIES)]
    scores = make_scores(policies, ITEMS)
    pairs = [*combinations([policy.name for policy in policies], 2)]
    start = time.perf_counter()
    found = compare_scores(scores, policies, compare=pairs)
    took = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    [table] = found.tables
    print(f"{POLICIES} policies x {ITEMS:,} items, {table.common:,} common, {len(table.differences)} differences")
    print(f"{found.resamples:,} joint draws and as many sign flips: {took:.1f} s, peak memory {peak:,.0f} MB")


if __name__ == "__main__":
    main()
