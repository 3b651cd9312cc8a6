"""The benchmarks as tasks of Inspect: `inspect eval prorubric/healthbench --model openai/gpt-5 -T judge=…`.

Inspect asks the policy and keeps the log; items, judge and scores are ours. Inspect imports this module through its
entry point, and nothing here does. A verdict that the judge did not give leaves its sample unscored. A call of the
judge that failed is an error of the sample, which Inspect's own options retry, ignore or stop at.
"""

import math
from collections.abc import Callable, Coroutine, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from inspect_ai import Epochs, Task, task
from inspect_ai._util.error import PrerequisiteError  # the only error that Inspect prints without a traceback
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import SampleScore, metric, scorer
from inspect_ai.solver import generate
from rich.markup import escape

from prorubric.errors import ConfigError, ModelError, ProRubricError
from prorubric.evaluate.benchmarks.base import Benchmark, Loaded
from prorubric.evaluate.benchmarks.registry import BENCHMARKS, find_benchmark, load_benchmark
from prorubric.evaluate.inspect_log import CUT, SCORER, estimate_scores, make_messages, make_score
from prorubric.evaluate.instruments import INSTRUMENTS
from prorubric.evaluate.judging import Seen, make_case, score_case, start_seeing
from prorubric.evaluate.records import PolicyAnswer
from prorubric.judge.judge import JudgeConfig
from prorubric.llm.make import make_model
from prorubric.rubric.verdict import render_verdicts

_KINDS = ("answers", "choice", "baseline")
"""What can be scored one answer at a time."""


def make_task(benchmark: str, judge: str = "", data_dir: str = "data") -> Any:
    """A benchmark as a task, sampled with its published settings unless Inspect's options say otherwise."""
    try:
        loaded = _load(benchmark, data_dir)
        scored = score_benchmark(benchmark, judge, data_dir)
    except ProRubricError as error:
        raise PrerequisiteError(escape(str(error))) from None
    used = loaded.benchmark.sampling
    samples = [
        Sample(
            id=item.id,
            input=make_messages(item.messages),
            target=item.letter,
            metadata={"cluster": item.cluster or item.id, "tags": [*item.tags], "category": item.category},
        )
        for item in loaded.items
    ]
    return Task(
        dataset=MemoryDataset(samples, name=benchmark),
        solver=generate(),
        scorer=scored,
        epochs=Epochs(loaded.benchmark.samples, "mean"),
        config=GenerateConfig(
            temperature=used.temperature,
            top_p=used.top_p if used.top_p < 1 else None,  # some endpoints refuse both
            top_k=used.top_k,
            max_tokens=loaded.benchmark.budget or used.max_tokens,
        ),
    )


def _score_benchmark(benchmark: str, judge: str = "", data_dir: str = "data") -> Any:
    """Score the answers to a benchmark: the letter of multiple choice, or the verdicts of a judge."""
    loaded = _load(benchmark, data_dir)
    items, see = {item.id: item for item in loaded.items}, _start(loaded.benchmark, judge)

    async def score(state: Any, _: Any) -> Any:
        output, item = state.output, items[state.sample_id]
        answer = PolicyAnswer(
            policy=str(state.model),
            item=item.id,
            sample=state.epoch - 1,
            text=output.completion,
            finish="length" if output.stop_reason in CUT else "stop",
            tokens=output.usage.output_tokens if output.usage else None,
        )
        seen = await see(make_case(loaded.benchmark, item, answer))
        if seen.failed:
            raise ModelError(f"{judge}: no verdict on {item.id}", ", ".join(seen.failed))
        found = score_case(seen, judge)
        assert found is not None  # noqa: S101 - not of these kinds of benchmark
        return make_score(found, render_verdicts(seen.verdicts))

    return score


def _start(benchmark: Benchmark, judge: str) -> Callable[[Any], Coroutine[Any, Any, Seen]]:
    """What shows a case to the judge; multiple choice needs no judge."""

    async def pass_on(case: Any) -> Seen:
        return Seen(case)

    if INSTRUMENTS[benchmark.instrument].kind == "choice":
        return pass_on
    if not judge:
        remedy = "name one with -T judge=http://host:port/v1#name"
        raise ConfigError(f"{benchmark.name} needs a judge", remedy=remedy)
    return start_seeing(JudgeConfig(), make_model(judge))


@cache
def _load(benchmark: str, data_dir: str) -> Loaded:
    return load_benchmark(find_benchmark(benchmark), Path(data_dir).resolve())


def _estimate(scores: Iterable[SampleScore]) -> tuple[float, float]:
    known = [one for one in scores if not math.isnan(one.score.as_float())]
    values = [one.score.as_float() for one in known]
    weights = [float((one.score.metadata or {}).get("weight", 1.0)) for one in known]
    clusters = [(one.sample_metadata or {}).get("cluster", one.sample_id) for one in known]
    return estimate_scores(values, weights, clusters)


def _mean() -> Any:
    """The benchmark's own average; not a number if nothing is scored."""

    def measure(scores: list[SampleScore]) -> float:
        return _estimate(scores)[0]

    return measure


def _stderr() -> Any:
    """Its standard error, over what is independent."""

    def measure(scores: list[SampleScore]) -> float:
        return _estimate(scores)[1]

    return measure


def _register(benchmark: str) -> None:
    def make(judge: str = "", data_dir: str = "data") -> Any:
        return make_task(benchmark, judge, data_dir)

    task(name=benchmark)(make)


score_benchmark = scorer(metrics=[metric(name="mean")(_mean)(), metric(name="stderr")(_stderr)()], name=SCORER)(
    _score_benchmark
)
for _benchmark in BENCHMARKS.values():
    if INSTRUMENTS[_benchmark.instrument].kind in _KINDS:
        _register(_benchmark.name)
