"""Scores as Inspect knows them, and an evaluation as the logs that `inspect view` reads.

What the judge left open is unscored there: it has a reason and bounds, and no number. What the policy failed at is
scored, and has a reason as well. The texts of protected benchmarks stay where they are: a log has only their ids.
"""

import hashlib
import math
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    write_eval_log_async,
)
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import Score
from pydantic import JsonValue

from prorubric.evaluate.answers import AnswerFile, AnswerKey
from prorubric.evaluate.benchmarks.base import Loaded
from prorubric.evaluate.records import BenchmarkItem, ItemScore, Policy, PolicyAnswer
from prorubric.evaluate.statistics import estimate_mean, estimate_ratio
from prorubric.rubric.records import Message

SCORER = "score"
"""By this name Inspect knows the scores of a sample."""

CUT = ("max_tokens", "model_length")
"""Why Inspect says that an answer was cut off."""

Verdicts = Mapping[tuple[str, str, str, str, int], list[JsonValue]]
"""By benchmark, judge, policy, item and sample, as `verdicts.jsonl` has them."""

_GRADER = "grader_failed"
_REASONS = {"empty": "no_response", "no letter": "invalid_response_format", "cut off": "cut_off"}
_ROLES = {"user": ChatMessageUser, "assistant": ChatMessageAssistant}


def make_messages(messages: Iterable[Message]) -> list[Any]:
    """A conversation as Inspect has it."""
    return [_ROLES.get(message.role, ChatMessageSystem)(content=message.content) for message in messages]


def make_score(score: ItemScore, verdicts: Sequence[JsonValue] = ()) -> Any:
    """What an answer is worth; without a value it is unscored."""
    about = score.model_dump(include={"judge", "low", "high", "weight", "failure", "unknown"})
    if verdicts:
        about["verdicts"] = [*verdicts]
    if score.value is None:
        missing = ", ".join(f"{number} {kind}" for kind, number in score.unknown.items())
        explanation = f"without a verdict: {missing}; worth {score.low:g} to {score.high:g}"
        return Score.unscored(reason=_GRADER, explanation=explanation, metadata=about)
    reason = _REASONS.get(score.failure, score.failure) or None
    return Score(value=score.value, reason=reason, explanation=score.failure or None, metadata=about)


def estimate_scores(
    values: Sequence[float], weights: Sequence[float], clusters: Sequence[Hashable]
) -> tuple[float, float]:
    """The average of a benchmark and its standard error; NaN if it has none."""
    if set(weights) <= {1.0}:
        found = estimate_mean(values, clusters)
        mean, se = found.mean, found.se
    else:
        mean, se = estimate_ratio([value * weight for value, weight in zip(values, weights, strict=True)], weights)
    return math.nan if mean is None else mean, math.nan if se is None else se


async def write_logs(
    folder: Path,
    benchmarks: Iterable[Loaded],
    policies: Iterable[Policy],
    answers: AnswerFile,
    scores: Iterable[ItemScore],
    verdicts: Verdicts,
) -> list[Path]:
    """Write one log for each benchmark, judge and policy; a log of an earlier run is replaced."""
    loaded = {one.benchmark.name: one for one in benchmarks}
    named = {policy.name: policy for policy in policies}
    items = {(name, item.id) for name, one in loaded.items() for item in one.items}
    rows = defaultdict[tuple[str, str, str], list[ItemScore]](list)
    for score in scores:
        if (score.benchmark, score.item) in items and score.policy in named:  # and not of an earlier command
            rows[score.benchmark, score.judge, score.policy].append(score)
    folder.mkdir(exist_ok=True)
    written = []
    for key, own in rows.items():
        benchmark, _, policy = key
        digest = hashlib.sha256("\n".join(key).encode()).hexdigest()[:8]
        path = folder / f"{benchmark}-{re.sub(r'[^0-9A-Za-z.-]+', '-', policy)}-{digest}.eval"
        log = _make_log(digest, loaded[benchmark], named[policy], answers, own, verdicts)
        partial = path.with_suffix(".partial")
        await write_eval_log_async(log, str(partial), format="eval")
        written.append(partial.replace(path))
    return written


def _make_log(
    name: str, loaded: Loaded, policy: Policy, answers: AnswerFile, scores: Sequence[ItemScore], verdicts: Verdicts
) -> Any:
    benchmark, judge, now = loaded.benchmark, scores[0].judge, datetime.now(UTC).isoformat(timespec="seconds")
    items = {item.id: item for item in loaded.items}
    is_protected = any(file.is_protected for file in benchmark.files)
    keys = [AnswerKey(policy.name, score.item, score.sample, benchmark.budget) for score in scores]
    said = {(answer.item, answer.sample): answer for answer in answers.read(keys)}
    samples = []
    for score in scores:
        judged = verdicts.get((benchmark.name, judge, policy.name, score.item, score.sample), [])
        answer = said[score.item, score.sample]
        samples.append(_make_sample(items[score.item], answer, score, judged, is_protected=is_protected))
    return EvalLog(
        status="success",
        eval=EvalSpec(
            created=now,
            run_id=name,
            task=f"prorubric/{benchmark.name}",
            task_id=name,
            task_args={"judge": judge} if judge else {},
            dataset=EvalDataset(name=benchmark.name, samples=len(items), sample_ids=[*items]),
            model=policy.name,
            config=EvalConfig(epochs=max(score.sample for score in scores) + 1),
            scorers=[{"name": SCORER, "options": {"benchmark": benchmark.name, "judge": judge}}],
            packages={"prorubric": version("prorubric")},
            metadata={"policy": policy.spec, "files": {file.name: file.sha256 for file in loaded.files}},
        ),
        results=_sum_up(scores),
        stats=EvalStats(started_at=now, completed_at=now),
        samples=samples,
    )


def _make_sample(
    item: BenchmarkItem, answer: PolicyAnswer, score: ItemScore, verdicts: list[JsonValue], *, is_protected: bool
) -> Any:
    shown = [ChatMessageUser(content=item.id)] if is_protected else make_messages(item.messages)
    output = ModelOutput.from_content(answer.policy, answer.text, "max_tokens" if answer.finish == "length" else "stop")
    if answer.tokens is not None:
        output.usage = ModelUsage(output_tokens=answer.tokens, total_tokens=answer.tokens)
    return EvalSample(
        id=item.id,
        epoch=answer.sample + 1,
        input=shown,
        target="" if is_protected else item.letter,
        messages=[*shown, output.message],
        output=output,
        scores={SCORER: make_score(score, verdicts)},
        metadata={"cluster": item.cluster or item.id, "tags": [*item.tags], "category": item.category},
    )


def _sum_up(scores: Sequence[ItemScore]) -> Any:
    """The results over items whose draws all have a value."""
    draws = defaultdict[str, list[ItemScore]](list)
    for score in scores:
        draws[score.item].append(score)
    values, weights, clusters = list[float](), list[float](), list[str]()
    for item, own in draws.items():
        weight = math.fsum(score.weight for score in own)
        known = [score.value * score.weight for score in own if score.value is not None]
        if len(known) == len(own):
            values.append(math.fsum(known) / weight)
            weights.append(weight / len(own))
            clusters.append(own[0].cluster or item)
    mean, se = estimate_scores(values, weights, clusters)
    metrics = {name: EvalMetric(name=name, value=value) for name, value in (("mean", mean), ("stderr", se))}
    unscored = sum(score.value is None for score in scores)
    found = EvalScore(
        name=SCORER,
        scorer=SCORER,
        scored_samples=len(scores) - unscored,
        unscored_samples=unscored,
        params={"judge": scores[0].judge},
        metrics=metrics,
    )
    return EvalResults(total_samples=len(scores), completed_samples=len(scores), scores=[found])
