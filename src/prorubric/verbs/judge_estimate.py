"""`estimate_judging`: what a run of `judge` would ask for and cost, before it starts. Nothing is called or written."""

from contextlib import aclosing
from typing import Any, cast

from prorubric.judge.judge import MOST_REASKS, Judge, JudgeConfig
from prorubric.judge.stream import judge_stream
from prorubric.llm.accounting import Usage
from prorubric.llm.estimate import Estimate, Questions, Replay, ReplayYesNo, open_existing
from prorubric.llm.model import Model, Request, YesNoModel
from prorubric.llm.own import OwnModel
from prorubric.llm.together import run_sync
from prorubric.runs.inputs import Rejects
from prorubric.runs.verdicts import JOURNAL
from prorubric.verbs.judge import JudgeRunConfig, open_inputs

_TOKENS_AROUND, _TOKENS_A_VERDICT, _TOKENS_A_REASON = 8, 6, 30


class JudgeEstimate(Estimate):
    """What a run of `judge` would take."""

    judge: str
    responses: int
    rejected: int
    schemes: tuple[str, ...]
    left_out: dict[str, str]
    unread: dict[str, str]


def estimate_judging(config: JudgeRunConfig) -> JudgeEstimate:
    """Count the calls, tokens and money of a run without making a call."""
    return run_sync(_estimate(config))


async def _estimate(config: JudgeRunConfig) -> JudgeEstimate:
    rejects, responses = Rejects(), 0
    inputs = open_inputs(config, rejects, Usage())
    with open_existing(config.journal or config.out / JOURNAL) as journal:
        questions = Questions(journal)
        judge = Judge(replay_judge(inputs.model, questions, config.judging), config.judging)
        async with aclosing(judge_stream(judge, inputs.cases, inputs.readings, 1)) as stream:
            async for _ in stream:
                responses += 1
    if not isinstance(inputs.model, OwnModel):  # the run may use the same object
        await judge.close()
    return JudgeEstimate(
        judge=config.judge,
        responses=responses,
        rejected=rejects.count,
        schemes=inputs.schemes,
        left_out=inputs.left_out,
        unread=inputs.unread,
        **questions.price(inputs.model.name, inputs.prices),
    )


def replay_judge(model: Model | YesNoModel, questions: Questions, config: JudgeConfig) -> Model | YesNoModel:
    """A judge that answers from the journal, and counts what the journal cannot answer."""
    if isinstance(model, YesNoModel):
        return ReplayYesNo(model, questions)
    return Replay(model, questions, usual=expect_reply, retries=lambda request: count_reasks(request, config))


def count_reasks(request: Request, config: JudgeConfig) -> int:
    """How often what a reply leaves open may still be asked after this request."""
    return config.reasks - request.draw % (MOST_REASKS + 1)


def expect_reply(request: Request) -> int:
    """How long a reply of this schema usually is, in tokens."""
    properties: dict[str, Any] = cast("dict[str, Any]", request.schema)["properties"]
    verdicts: dict[str, Any] = next(iter(properties.values())).get("properties", {})
    reasons = [verdict for verdict in verdicts.values() if verdict["type"] == "object"]
    return _TOKENS_AROUND + _TOKENS_A_VERDICT * max(len(verdicts), 1) + _TOKENS_A_REASON * len(reasons)
