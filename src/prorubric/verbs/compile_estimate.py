"""`estimate_compile`: what a run would ask for and cost, before it starts. Nothing is called.

Replies that the journal has already are left out: they are read as a run would read them, up to the first question that
has no reply yet.
"""

from prorubric.compile.bake import list_baked
from prorubric.compile.compiler import Compiler
from prorubric.compile.prompt import Question
from prorubric.compile.texts import QUESTIONS, add_texts
from prorubric.compile.work import Plan, list_texts, needs_grouping
from prorubric.datasets.load import open_tasks
from prorubric.datasets.rejects import Reject
from prorubric.llm.accounting import Usage, load_prices
from prorubric.llm.own import OwnModel
from prorubric.llm.together import run_sync
from prorubric.rubric.records import Task
from prorubric.runs.estimate import Estimate, Questions, Replay, open_existing
from prorubric.verbs.compile import make_generator, take_tasks
from prorubric.verbs.compile_config import CompileConfig, make_plan
from prorubric.verbs.compile_outputs import find_journal

_REPLY_TOKENS: dict[Question, int] = {"group": 700, "one": 250, "restate": 1000, "label": 200}
"""What replies usually take, for checklists of 10 to 30 items."""


class CompileEstimate(Estimate):
    """What a compile run would take."""

    generator: str
    tasks: int
    rejected: int


def estimate_compile(config: CompileConfig) -> CompileEstimate:
    """Count the calls, tokens and money of a run without making a call."""
    return run_sync(_estimate(config))


async def _estimate(config: CompileConfig) -> CompileEstimate:
    plan, path, model = make_plan(config), find_journal(config), make_generator(config, Usage())
    tasks = rejected = 0

    def reject(_: Reject) -> None:
        nonlocal rejected
        rejected += 1

    with open_existing(None if model is None else path) as journal:
        questions, replay = Questions(journal), None
        if model is not None:
            reasks = config.generation.reasks
            replay = Replay(
                model, questions, usual=lambda _: 0, retries=lambda request: reasks - request.draw, shows_reply=True
            )
        compiler = Compiler(replay, config.generation, plan.own_prompt)
        for task in take_tasks(open_tasks(config, reject), config.limit):
            tasks += 1
            if replay is not None:
                await _ask_about(task, plan, compiler, replay)
    if not isinstance(model, OwnModel):  # the run may use the same object
        await compiler.close()
    fields = questions.price("" if model is None else model.name, load_prices(config.prices))
    return CompileEstimate(generator=config.generator, tasks=tasks, rejected=rejected, **fields)


async def _ask_about(task: Task, plan: Plan, compiler: Compiler, replay: Replay) -> None:
    """Put the questions that a task would be asked about, as far as the journal answers them."""
    if needs_grouping(task, plan):
        if "appropriateness" in list_baked(task):
            return
        replay.usual = lambda _: _REPLY_TOKENS["group"]
        made = await compiler.compile(task)
        if made.state == "excluded" and made.failure is None:  # for good: nothing else is asked about it
            return
    for name in list_texts(task, plan):
        tokens = _REPLY_TOKENS[QUESTIONS[name]]
        replay.usual = lambda _, tokens=tokens: tokens  # type: ignore[misc]
        await add_texts(compiler, task, (name,))
