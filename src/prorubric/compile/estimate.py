"""`estimate_compile`: what a run would ask for and cost, before it starts. Nothing is called.

Prompts are rendered as they would be sent and counted at four characters a token, an ordinary figure for English. What
the replies will be is not known: the estimate takes one reply a question of a usual length, the ceiling takes every
retry and every reply as long as it may be. Replies that the journal has already are left out of both: they are read as
a run would read them, up to the first question that has no reply yet. A question that comes twice is asked once.
"""

from contextlib import nullcontext
from dataclasses import dataclass, field

from prorubric.compile.bake import list_baked
from prorubric.compile.compiler import Compiler
from prorubric.compile.config import CompileConfig, make_plan
from prorubric.compile.outputs import find_journal
from prorubric.compile.prompt import Question
from prorubric.compile.run import make_generator, open_tasks, take_tasks
from prorubric.compile.texts import QUESTIONS, add_texts
from prorubric.compile.work import Plan, list_texts, needs_grouping
from prorubric.datasets.load import Reject
from prorubric.llm.accounting import Usage, estimate_cost, load_prices
from prorubric.llm.journal import Journal, key_of
from prorubric.llm.model import Around, Failure, Model, Outcome, Request
from prorubric.llm.own import OwnModel
from prorubric.llm.together import run_sync
from prorubric.rubric.record import Record
from prorubric.rubric.records import Task

_CHARACTERS_PER_TOKEN = 4
_REPLY_TOKENS: dict[Question, int] = {"group": 700, "one": 250, "restate": 1000, "label": 200}
"""What replies usually take, for checklists of 10 to 30 items."""


class CompileEstimate(Record):
    """What a run would take, from the tasks as they are."""

    generator: str
    tasks: int
    rejected: int
    calls: int
    """One for each question that the journal cannot answer."""
    cached: int
    """Questions that the journal answers, or the reply to the same question."""
    most_calls: int
    """With every retry."""
    prompt_tokens: int
    completion_tokens: int
    """At the usual length."""
    most_prompt_tokens: int
    most_completion_tokens: int
    cost: float | None
    """US dollars at list price; None where the price is not known."""
    most_cost: float | None


@dataclass(slots=True)
class _Count:
    """What has been counted so far; of a question only a hash is kept, to ask it once."""

    retries: int
    longest: int
    tasks: int = 0
    rejected: int = 0
    calls: int = 0
    most_calls: int = 0
    cached: int = 0
    prompt: int = 0
    most_prompt: int = 0
    completion: int = 0
    asked: set[bytes] = field(default_factory=set)

    def add_reject(self, _: Reject) -> None:
        self.rejected += 1

    def add_call(self, request: Request, usual_tokens: int) -> None:
        """A call that has to be made, with all retries that may follow it."""
        prompt = sum(len(message.content) for message in request.messages) // _CHARACTERS_PER_TOKEN
        left = self.retries - request.draw
        self.calls += 1
        self.most_calls += 1 + left
        self.prompt += prompt
        # A retry shows the last reply again, so that its prompt is longer by that reply.
        self.most_prompt += prompt * (1 + left) + left * self.longest
        self.completion += min(usual_tokens, self.longest)


class _Replay(Around[Model]):
    """A model that answers from the journal and counts the question that the journal cannot answer."""

    def __init__(self, model: Model, journal: Journal | None, count: _Count) -> None:
        super().__init__(model)
        self._journal, self._count = journal, count
        self.question: Question = "group"

    async def complete(self, request: Request) -> Outcome:
        """The reply from the journal; where there is none, a failure, which ends the questions about a task."""
        key = key_of(self.identity, request)
        reply = self._journal.get(key) if self._journal is not None else None
        brief = bytes.fromhex(key[:24])
        if reply is not None or brief in self._count.asked:
            self._count.cached += 1
        else:
            self._count.asked.add(brief)
            self._count.add_call(request, _REPLY_TOKENS[self.question])
        return reply or Failure("gave-up", "not asked")


def estimate_compile(config: CompileConfig) -> CompileEstimate:
    """Count the calls, tokens and money of a run without making a call."""
    return run_sync(_estimate(config))


async def _estimate(config: CompileConfig) -> CompileEstimate:
    plan, path, model = make_plan(config), find_journal(config), make_generator(config, Usage())
    count = _Count(config.generation.reasks, config.generation.max_tokens)
    # An empty file would become a journal.
    kept = path if model is not None and path is not None and path.exists() and path.stat().st_size else None
    with nullcontext() if kept is None else Journal(kept) as journal:
        replay = None if model is None else _Replay(model, journal, count)
        compiler = Compiler(replay, config.generation, plan.own_prompt)
        for task in take_tasks(open_tasks(config, count.add_reject), count.add_reject, config.limit):
            count.tasks += 1
            if replay is not None:
                await _ask_about(task, plan, compiler, replay)
    if not isinstance(model, OwnModel):  # the run may use the same object
        await compiler.close()
    return _price(config, count, "" if model is None else model.name)


async def _ask_about(task: Task, plan: Plan, compiler: Compiler, replay: _Replay) -> None:
    """Put the questions that a task would be asked about, as far as the journal answers them."""
    if needs_grouping(task, plan):
        if "appropriateness" in list_baked(task):
            return
        replay.question = "group"
        made = await compiler.compile(task)
        if made.state == "excluded" and made.failure is None:  # for good: nothing else is asked about it
            return
    for name in list_texts(task, plan):
        replay.question = QUESTIONS[name]
        await add_texts(compiler, task, (name,))


def _price(config: CompileConfig, count: _Count, model: str) -> CompileEstimate:
    prices = load_prices(config.prices)
    most_completion = count.most_calls * count.longest
    usual = Usage(model, prompt_tokens=count.prompt, completion_tokens=count.completion)
    most = Usage(model, prompt_tokens=count.most_prompt, completion_tokens=most_completion)
    return CompileEstimate(
        generator=config.generator,
        tasks=count.tasks,
        rejected=count.rejected,
        calls=count.calls,
        cached=count.cached,
        most_calls=count.most_calls,
        prompt_tokens=count.prompt,
        completion_tokens=count.completion,
        most_prompt_tokens=count.most_prompt,
        most_completion_tokens=most_completion,
        # No model costs nothing; a model whose price is not known does not cost 0.
        cost=estimate_cost(usual, prices) if model else 0.0,
        most_cost=estimate_cost(most, prices) if model else 0.0,
    )
