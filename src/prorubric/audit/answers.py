"""Answers for an audit where a file has none: sampled from a model, or composed from the checklist.

A composed answer is a stand-in: sentences made from a part of the criteria themselves, the heaviest first in most of
them. It says nothing of what any model would write, and every report that uses one has to say so (`COMPOSED` is its
model). A call that fails and a checklist that cannot be stated are records with their reasons; nothing is filled in.
"""

from collections.abc import AsyncGenerator, Iterable
from dataclasses import KW_ONLY
from typing import Annotated

from pydantic import Field

from prorubric.audit.edits.kind import draw_number
from prorubric.audit.phrases import statement_of
from prorubric.llm.model import Failure, Model, Request
from prorubric.llm.together import run_in_order
from prorubric.rubric.base import Record, config_record
from prorubric.rubric.records import Response, Task
from prorubric.text.show import is_blank

COMPOSED = "composed"
"""The model of answers that no model wrote."""
FEWEST_STATEMENTS = 2
_OPENINGS = (
    "Thank you for your question.",
    "Here is what matters most in this case.",
    "Let me go through this with you.",
    "These are the points that I would look at first.",
    "In short, this is how I would go about it.",
)
_LOWEST_SHARE, _HIGHEST_SHARE = 0.35, 0.55
_LEAVES_OUT = 6
"""One answer in this many leaves the heaviest criterion out."""
_PARAGRAPH = 3
_SCALE = float(2**64)


@config_record
class SamplingConfig:
    """How answers are sampled."""

    _: KW_ONLY
    samples: Annotated[int, Field(ge=1)] = 1
    """How many for each task."""
    temperature: Annotated[float, Field(ge=0)] = 0.7
    top_p: Annotated[float, Field(gt=0, le=1)] = 0.8
    max_tokens: Annotated[int, Field(ge=1)] = 2048


class NoAnswer(Record):
    """An answer that could not be had, and why."""

    task_id: str
    sample: int
    reason: str


async def sample_answers(
    model: Model, tasks: Iterable[Task], config: SamplingConfig | None = None, window: int = 32
) -> AsyncGenerator[Response | NoAnswer, None]:
    """The model's answers, task by task and in each by sample, with at most `window` calls under way."""
    settings = config or SamplingConfig()
    asked = (_sample(model, task, sample, settings) for task in tasks for sample in range(settings.samples))
    async for answer in run_in_order(asked, window):
        yield answer


async def _sample(model: Model, task: Task, sample: int, config: SamplingConfig) -> Response | NoAnswer:
    outcome = await model.complete(
        Request(
            messages=task.messages,
            max_tokens=config.max_tokens,
            temperature=config.temperature,
            top_p=config.top_p,
            draw=sample,
        )
    )
    if isinstance(outcome, Failure):
        return NoAnswer(task_id=task.id, sample=sample, reason=f"no reply: {outcome.kind}")
    if is_blank(outcome.text):
        return NoAnswer(task_id=task.id, sample=sample, reason="the reply is empty")
    return Response(
        task_id=task.id, text=outcome.text, sample=sample, model=model.name, tokens=outcome.completion_tokens or None
    )


def compose_answers(task: Task, samples: int = 1) -> tuple[Response | NoAnswer, ...]:
    """Stand-ins for answers, each from another part of the checklist; the same in every process."""
    stated = _list_statements(task)
    if len(stated) < FEWEST_STATEMENTS:
        reason = "too few criteria can be put into sentences by rule; give a file of answers, or --answers-from MODEL"
        return tuple(NoAnswer(task_id=task.id, sample=sample, reason=reason) for sample in range(samples))
    return tuple(
        Response(task_id=task.id, text=_compose(task.id, stated, sample), sample=sample, model=COMPOSED)
        for sample in range(samples)
    )


def _list_statements(task: Task) -> list[str]:
    """What meets the criteria that add, the heaviest first, each sentence once."""
    criteria = sorted(
        ((-criterion.weight, place, criterion.text) for place, criterion in enumerate(task.rubric.criteria))
    )
    stated = (statement_of(text) for weight, _, text in criteria if weight < 0)
    return list(dict.fromkeys(statement for statement in stated if statement is not None))


def _compose(task_id: str, stated: list[str], sample: int) -> str:
    def draw(what: str) -> float:
        return draw_number(task_id, str(sample), what) / _SCALE

    first, *others = stated
    share = _LOWEST_SHARE + (_HIGHEST_SHARE - _LOWEST_SHARE) * draw("share")
    count = max(FEWEST_STATEMENTS - 1, int(share * len(others)))
    chosen = sorted(sorted(range(len(others)), key=lambda place: draw(f"statement {place}"))[:count])
    said = [others[place] for place in chosen]
    # The task decides which of its samples leaves the heaviest out, so that some of each do.
    if len(said) < FEWEST_STATEMENTS or (draw_number(task_id) + sample) % _LEAVES_OUT:
        said.insert(0, first)
    opening = _OPENINGS[draw_number(task_id, str(sample), "opening") % len(_OPENINGS)]
    paragraphs = [" ".join(said[place : place + _PARAGRAPH]) for place in range(0, len(said), _PARAGRAPH)]
    return "\n\n".join([opening, *paragraphs])
