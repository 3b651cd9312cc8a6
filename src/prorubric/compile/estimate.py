"""`estimate_compile`: what a run would ask for and cost, before it starts. Nothing is called.

Prompts are rendered as they would be sent and counted at four characters a token, an ordinary figure for English. What
the replies will be is not known: the estimate takes one reply a question of a usual length, the ceiling takes every
retry and every reply as long as it may be. Replies that the journal has already are left out of both.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

from prorubric.compile.check import FEWEST
from prorubric.compile.compiler import GROUP_SCHEMA, Compiler
from prorubric.compile.prompt import Question
from prorubric.compile.run import CompileConfig, find_journal, make_generator, make_plan, open_tasks
from prorubric.compile.texts import QUESTIONS, make_text_schema
from prorubric.compile.work import Plan, list_texts
from prorubric.datasets.load import Reject
from prorubric.llm.accounting import Usage, estimate_cost, load_prices
from prorubric.llm.journal import Journal, key_of
from prorubric.llm.model import Model, Request
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
    """Questions that the journal answers."""
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
    tasks: int = 0
    rejected: int = 0
    calls: int = 0
    cached: int = 0
    prompt: int = 0
    completion: int = 0

    def add_reject(self, _: Reject) -> None:
        self.rejected += 1

    def add_request(self, request: Request, tokens: int, is_cached: bool) -> None:
        if is_cached:
            self.cached += 1
            return
        self.calls += 1
        self.prompt += sum(len(message.content) for message in request.messages) // _CHARACTERS_PER_TOKEN
        self.completion += tokens


def estimate_compile(config: CompileConfig) -> CompileEstimate:
    """Count the calls, tokens and money of a run without making a call."""
    plan, path, model = make_plan(config), find_journal(config), make_generator(config, Usage())
    compiler, count = Compiler(model, config.generation), _Count()
    with Journal(path) if model is not None and path is not None and path.exists() else nullcontext() as journal:
        for task in open_tasks(config, count.add_reject):
            count.tasks += 1
            for question, request in _list_requests(compiler, task, plan) if model is not None else ():
                is_cached = journal is not None and model is not None and _knows(journal, model, request)
                count.add_request(request, min(_REPLY_TOKENS[question], config.generation.max_tokens), is_cached)
    run_sync(compiler.close())
    return _price(config, count, "" if model is None else model.name)


def _list_requests(compiler: Compiler, task: Task, plan: Plan) -> Iterator[tuple[Question, Request]]:
    """The first question of each kind that a task would be asked about."""
    if len(task.rubric) >= FEWEST and (plan.group == "all" or (plan.group == "missing" and task.protocol is None)):
        yield "group", compiler.make_request("group", task, GROUP_SCHEMA)
    for name in list_texts(task, plan):
        yield QUESTIONS[name], compiler.make_request(QUESTIONS[name], task, make_text_schema(name, len(task.rubric)))


def _knows(journal: Journal, model: Model, request: Request) -> bool:
    return journal.get(key_of(model.identity, request)) is not None


def _price(config: CompileConfig, count: _Count, model: str) -> CompileEstimate:
    prices = load_prices(config.prices) if config.prices else load_prices()
    retries, longest = config.generation.reasks, config.generation.max_tokens
    # A retry shows the last reply again, so that its prompt is longer by that reply.
    most_prompt = count.prompt * (1 + retries) + count.calls * retries * longest
    most_completion = count.calls * (1 + retries) * longest
    usual = Usage(model, prompt_tokens=count.prompt, completion_tokens=count.completion)
    most = Usage(model, prompt_tokens=most_prompt, completion_tokens=most_completion)
    return CompileEstimate(
        generator=config.generator,
        tasks=count.tasks,
        rejected=count.rejected,
        calls=count.calls,
        cached=count.cached,
        most_calls=count.calls * (1 + retries),
        prompt_tokens=count.prompt,
        completion_tokens=count.completion,
        most_prompt_tokens=most_prompt,
        most_completion_tokens=most_completion,
        # No model costs nothing; a model whose price is not known does not cost 0.
        cost=estimate_cost(usual, prices) if model else 0.0,
        most_cost=estimate_cost(most, prices) if model else 0.0,
    )
