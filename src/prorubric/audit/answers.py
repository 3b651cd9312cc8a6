"""The answers of an audit: given in a file, sampled from a model, or composed from the checklist.

A composed answer is a stand-in: sentences made from some of the criteria, in most answers starting with the heaviest.
It says nothing about what a model would write, and every report that uses one has to say so (`COMPOSED` is its
model). A failed call and a checklist that cannot be stated become records with a reason; nothing is made up.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from functools import partial

from prorubric.audit.cases import AuditCase
from prorubric.audit.config import AuditConfig
from prorubric.audit.edits.kind import draw_number
from prorubric.audit.phrases import statement_of
from prorubric.datasets.rejects import Reject, Rejects
from prorubric.datasets.responses import EXAMPLE
from prorubric.errors import ConfigError
from prorubric.llm.fence import clean
from prorubric.llm.model import Failure, Model, Request
from prorubric.llm.together import run_in_order
from prorubric.rubric.base import Record
from prorubric.rubric.records import Response, Task
from prorubric.runs.inputs import pair_responses
from prorubric.text.show import count, is_blank
from prorubric.text.words import is_english

COMPOSED = "composed"
"""The model of answers that no model wrote."""
FROM_CHECKLISTS = "composed from the checklists, without a model"
FEWEST_STATEMENTS = 2
_GIVE_ANSWERS = "give a file of answers, or --answers-from MODEL"
_LONGEST = 2048
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


class NoAnswer(Record):
    """An answer that could not be sampled, and why."""

    task_id: str
    sample: int
    reason: str


async def find_answers(
    tasks: dict[str, Task], known: dict[str, Task], model: Model | None, config: AuditConfig, rejects: Rejects
) -> tuple[list[AuditCase], str]:
    """The answers, and where they come from.

    Answers to tasks that are `known` and not audited, because of `--limit` or a reject, are passed over.
    """
    if config.responses is not None:
        given = [*pair_responses(config.responses, known, rejects, config.strict)]
        cases = [AuditCase(task, response) for task, response in given if task.id in tasks]
        if not cases:
            why = rejects.first(str(config.responses)) or f"the file is empty; {EXAMPLE}"
            if given:
                its = f"its {count(len(given), 'answer')} {'is' if len(given) == 1 else 'are'}"
                limited = f"--limit {config.limit} chose others; give a larger limit"
                why = f"{its} to tasks that are left out: {rejects.first(config.tasks) or limited}"
            raise ConfigError(f"{config.responses}: there is no answer to audit; {why}")
        return cases, "given"
    if model is not None:
        drawn = {"temperature": config.temperature, "top_p": config.top_p}
        stream = sample_answers(model, tasks.values(), config.samples, 2 * config.http.concurrency, **drawn)
        answers, source, place = [answer async for answer in stream], f"sampled from {model.name}", model.name
    else:
        answers = [answer for task in tasks.values() for answer in compose_answers(task, config.samples)]
        source, place = FROM_CHECKLISTS, config.tasks
    missing: dict[str, list[NoAnswer]] = {}
    for answer in answers:
        if isinstance(answer, NoAnswer):
            missing.setdefault(answer.task_id, []).append(answer)
    for task_id, failed in missing.items():
        reason, whole = failed[0].reason, len(failed) == config.samples
        what = "no answer" if whole else f"{len(failed)} of {config.samples} answers missing"
        line = f"task {task_id!r}: {what}, {reason}" + (f"; {_GIVE_ANSWERS}" if model is None else "")
        rejects.add(Reject(place, 0, line, f"{'no answer' if whole else 'answers missing'}: {reason}"))
    cases = [AuditCase(tasks[answer.task_id], answer) for answer in answers if isinstance(answer, Response)]
    if not cases:
        reasons = Counter(failed[0].reason for failed in missing.values())
        counted = ", ".join(f"{reason} ({count(number, 'task')})" for reason, number in reasons.most_common())
        remedy = _GIVE_ANSWERS if model is None else "check the model"
        raise ConfigError(f"{place}: there is no answer to audit; {counted}; {remedy}")
    return cases, source


async def sample_answers(
    model: Model,
    tasks: Iterable[Task],
    samples: int = 1,
    window: int = 32,
    *,
    temperature: float = 0.7,
    top_p: float = 0.8,
) -> AsyncGenerator[Response | NoAnswer, None]:
    """The model's answers, task by task and in each by sample, with at most `window` calls at a time."""

    async def sample(task: Task, number: int) -> Response | NoAnswer:
        # A conversation is data: chat tokens in it must not become turns.
        messages = (message.model_copy(update={"content": clean(message.content)}) for message in task.messages)
        request = Request(tuple(messages), draw=number, temperature=temperature, top_p=top_p, max_tokens=_LONGEST)
        reply = await model.complete(request)
        if isinstance(reply, Failure):
            return NoAnswer(task_id=task.id, sample=number, reason=f"no reply: {reply.kind}")
        if is_blank(reply.text):
            return NoAnswer(task_id=task.id, sample=number, reason="the reply is empty")
        tokens = reply.completion_tokens or None
        return Response(task_id=task.id, text=reply.text, sample=number, model=model.name, tokens=tokens)

    asked = (sample(task, number) for task in tasks for number in range(samples))
    async for answer in run_in_order(asked, window):
        yield answer


def compose_answers(task: Task, samples: int = 1) -> tuple[Response | NoAnswer, ...]:
    """Stand-ins for answers, each from another part of the checklist; the same in every process.

    An answer is the heaviest statement and a share of the others, in their order.
    """
    wanted = sorted((c for c in task.rubric.criteria if c.weight > 0), key=lambda criterion: -criterion.weight)
    stated = list(dict.fromkeys(text for criterion in wanted if (text := statement_of(criterion.text)) is not None))
    if len(stated) < FEWEST_STATEMENTS:
        reason = "too few criteria can be put into sentences by rule"
        if len(wanted) < FEWEST_STATEMENTS:
            reason = f"fewer than {FEWEST_STATEMENTS} criteria have a positive weight"
        elif not is_english(" ".join(criterion.text for criterion in wanted)):
            reason = "the criteria are not in English, which the rules need"
        return tuple(NoAnswer(task_id=task.id, sample=sample, reason=reason) for sample in range(samples))
    answers = []
    first, *others = stated
    for sample in range(samples):
        draw = partial(draw_number, task.id, str(sample))
        share = _LOWEST_SHARE + (_HIGHEST_SHARE - _LOWEST_SHARE) * (draw("share") / _SCALE)
        numbers = {place: draw(f"statement {place}") for place in range(len(others))}
        drawn = sorted(numbers, key=numbers.__getitem__)
        said = [others[place] for place in sorted(drawn[: max(FEWEST_STATEMENTS - 1, int(share * len(others)))])]
        # The task decides which of its samples leaves the heaviest out, so some of each do.
        if len(said) < FEWEST_STATEMENTS or (draw_number(task.id) + sample) % _LEAVES_OUT:
            said.insert(0, first)
        opening = _OPENINGS[draw("opening") % len(_OPENINGS)]
        paragraphs = [" ".join(said[place : place + _PARAGRAPH]) for place in range(0, len(said), _PARAGRAPH)]
        text = "\n\n".join([opening, *paragraphs])
        answers.append(Response(task_id=task.id, text=text, sample=sample, model=COMPOSED))
    return tuple(answers)
