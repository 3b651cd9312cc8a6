"""Estimate the calls and cost of an audit before it starts, without calling or writing anything.

What an audit asks depends on the replies: edits start from the verdicts on the answers. So the audit is run with
stand-ins. Replies in the journal are used; otherwise every second criterion counts as met, sampled answers are replaced
by a stock text, and dimensions and edits that a model would make are made by rules. The count is exact for the answers
and close for the rest. Only the ceiling includes asking a model again after a failed edit.
"""

from collections.abc import Callable
from functools import partial

from prorubric.audit.cases import first_cases
from prorubric.audit.config import AuditConfig
from prorubric.audit.editors import REASKS, make_editor
from prorubric.audit.examine import examine
from prorubric.audit.prepare import (
    ANOTHER_DRAW,
    AuditModels,
    add_dimensions,
    check_asked,
    choose_kinds,
    choose_tasks,
    prepare,
    wants_dimensions,
)
from prorubric.compile.compiler import RULES, GeneratorConfig
from prorubric.judge.checks import check_functions
from prorubric.judge.panel import list_judges
from prorubric.llm.journal import Journal
from prorubric.llm.make import require_text
from prorubric.llm.model import Model, Request, YesNoModel
from prorubric.runs.estimate import (
    Estimate,
    Questions,
    Replay,
    ReplayYesNo,
    add_up,
    count_reasks,
    expect_reply,
    open_existing,
    pretend_verdicts,
)
from prorubric.runs.folder import JOURNAL
from prorubric.runs.inputs import load_all_tasks
from prorubric.runs.models import AnyModel, Redrawn
from prorubric.runs.run import Run

_EDIT_TOKENS, _GROUP_TOKENS, _ANSWER_TOKENS = 120, 700, 500
_STOCK_ANSWER = " ".join(["This sentence stands for one of an answer that has not been written yet."] * 30)


class AuditEstimate(Estimate):
    """What an audit would take, by all of its models together."""

    judge: str
    editor: str
    tasks: int
    answers: int
    schemes: tuple[str, ...]
    leaves_out_sent: bool
    """True for a cascade: what goes on to the second judge depends on the first and is not counted."""


async def estimate_calls(config: AuditConfig, run: Run) -> AuditEstimate:
    """Count the calls, tokens and money of an audit without making a call."""
    rejects = run.rejects
    everything = load_all_tasks(config, rejects)
    check_functions(everything.values(), python=config.judging.python_checks)
    chosen = choose_tasks(everything, config.limit)
    check_asked(config)
    kinds, names = choose_kinds(config), list_judges(config.judge)
    with open_existing(config.journal or config.out / JOURNAL) as journal:
        stand_ins = _StandIns(run, journal)
        edit = partial(stand_ins.write, tokens=_EDIT_TOKENS, reasks=REASKS)
        models = AuditModels(
            judges={name: stand_ins.judge(name, config) for name in names},
            judges_again={name: stand_ins.judge(name, config, ANOTHER_DRAW) for name in names},
            editor=make_editor(config.editor, edit, or_by_rules=True),
            generator=None,
            answers=stand_ins.write(
                config.answers_from,
                _ANSWER_TOKENS,
                reasks=0,
                pretend=lambda request: f"{_STOCK_ANSWER} It is number {request.draw}.",
            )
            if config.answers_from
            else None,
        )
        if config.generator != RULES and wants_dimensions(config):
            generator = stand_ins.write(config.generator, _GROUP_TOKENS, GeneratorConfig().reasks)
            chosen = chosen | (await add_dimensions(chosen, generator, config, rejects))[0]
        start = await prepare(config, models, chosen, everything, rejects)
        await examine(start.cases, models, start.schemes, kinds, config, run)
    await run.models.close(own=False)  # the audit may use the same objects
    asked = stand_ins.questions.items()
    return AuditEstimate(
        judge=", ".join(names),
        editor=config.editor,
        tasks=len(first_cases(start.cases)),
        answers=len(start.cases),
        schemes=start.schemes,
        leaves_out_sent=config.judging.cascade is not None,
        **add_up(questions.price(run.models.make(spec).name, run.gate.prices) for spec, questions in asked),
    )


class _StandIns:
    """Makes stand-ins for models, which record what each one would be asked."""

    def __init__(self, run: Run, journal: Journal | None) -> None:
        self._models, self._journal = run.models, journal
        self.questions: dict[str, Questions] = {}

    def _make(self, spec: str) -> tuple[AnyModel, Questions]:
        return self._models.make(spec), self.questions.setdefault(spec, Questions(self._journal))

    def write(self, spec: str, tokens: int, reasks: int, pretend: Callable[[Request], str] | None = None) -> Model:
        """For a model whose replies have about this many tokens."""
        model, questions = self._make(spec)
        return Replay(
            require_text(model),
            questions,
            usual=lambda _: tokens,
            retries=lambda request: reasks - request.draw,
            shows_reply=True,
            pretend=pretend,
        )

    def judge(self, spec: str, config: AuditConfig, draw: int = 0) -> AnyModel:
        """For a judge."""
        model, questions = self._make(spec)
        if isinstance(model, YesNoModel):
            return ReplayYesNo(model, questions, draw, lambda items: [float(n % 2) for n in range(len(items))])
        replay = Replay(
            model,
            questions,
            usual=expect_reply,
            retries=lambda request: count_reasks(request, config.judging),
            pretend=partial(pretend_verdicts, judging=config.judging, every=2),
        )
        return Redrawn(replay, draw) if draw else replay
