"""How long the statistics of a large evaluation take, and the memory: 20 policies, 5,000 items, every difference.

Then judging: 512 answers of a file x 30 criteria in one call each, a stub of 100 ms, 64 in flight, by `evaluate` and by
`judge` in the same run.
"""

import random
import resource
import sys
import tempfile
import time
from itertools import combinations
from pathlib import Path

from judge import IN_FLIGHT, LATENCY, RESPONSES, make_files, run, run_ours, run_stub
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


OURS = """
import json, sys, time
from pathlib import Path
from prorubric.evaluate.records import Policy
from prorubric.llm.http import HttpConfig
from prorubric.verbs.evaluate import EvaluateConfig, evaluate_policies
url, folder, concurrency = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
config = EvaluateConfig(
    (f"tasks:{folder / 'tasks.jsonl'}",), policy=(Policy("file", str(folder / "answers.jsonl")),), samples=8,
    judge=f"{url}#stub", out=folder / f"evaluate-{time.time_ns()}", resamples=100,
    http=HttpConfig(concurrency=concurrency),
)
wall, cpu = time.perf_counter(), time.process_time()
result = evaluate_policies(config)
assert result.answers == 512 and not result.unfinished and not result.cached
print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}))
"""


def compare_judging() -> None:
    """Print what judging takes, next to the ideal and to the verb `judge`."""
    ideal = RESPONSES / IN_FLIGHT * LATENCY
    with tempfile.TemporaryDirectory() as name, run_stub(LATENCY) as url:
        folder = Path(name)
        make_files(folder, RESPONSES)
        rows = (folder / "responses.jsonl").read_text().splitlines(keepends=True)
        numbered = (row.replace(f'"sample":{place}', f'"sample":{place % 8}') for place, row in enumerate(rows))
        (folder / "answers.jsonl").write_text("".join(numbered))
        command = [sys.executable, "-c", OURS, url, str(folder), str(IN_FLIGHT)]
        found = {
            "judge": min((run_ours(url, folder) for _ in range(3)), key=lambda row: row["wall"]),
            "evaluate": min((run(command) for _ in range(3)), key=lambda row: row["wall"]),
        }
    for verb, row in found.items():
        cpu = row["cpu"] / RESPONSES * 1000
        print(f"{verb:8} {row['wall']:.2f} s, {row['wall'] / ideal:.2f} x ideal, {cpu:.2f} ms of CPU an answer")


if __name__ == "__main__":
    main()
    compare_judging()
