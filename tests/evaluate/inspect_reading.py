"""What a log of Inspect holds, as JSON: a score that is not a number is null."""

import math
from typing import Any

from inspect_ai.log import read_eval_log


def read_log(location: str) -> dict[str, Any]:
    log = read_eval_log(location)
    [found] = log.results.scores if log.results else [None]
    metrics = found.metrics if found else {}
    return {
        "task": log.eval.task,
        "model": log.eval.model,
        "scores": sorted({name for sample in log.samples or [] for name in sample.scores or {}}),
        "status": log.status,
        "error": log.error and log.error.message,
        "counts": found and [found.scored_samples, found.unscored_samples],
        "metrics": {name: _read(metric.value) for name, metric in metrics.items()},
        "samples": {
            f"{sample.id} {sample.epoch}": {
                "input": sample.input if isinstance(sample.input, str) else sample.input[-1].text,
                "target": sample.target,
                "answer": sample.output.completion,
                "stop": sample.output.stop_reason,
                "value": _read(score.value),
                "reason": score.reason,
                "explanation": score.explanation,
                "metadata": score.metadata,
            }
            for sample in log.samples or []
            for score in (sample.scores or {}).values()
        },
    }


def _read(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
