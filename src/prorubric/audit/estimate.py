"""What an audit would ask for and cost, before it starts. Nothing is called or written.

What an audit asks depends on the replies: edits start from the verdicts on the answers. So the audit is run with
stand-ins. Replies in the journal are used; otherwise every second criterion counts as met, sampled answers are replaced
by a stock text, and dimensions and edits that a model would make are made by rules. The count is exact for the answers
and close for the rest. Only the ceiling includes asking a model again after a failed edit.
"""

import json
from functools import partial
from typing import Any, cast

from prorubric.audit.cases import first_cases
from prorubric.audit.config import AuditConfig
from prorubric.audit.editors import REASKS, Editor, make_by_rules, make_editor
from prorubric.audit.editors import RULES as EDIT_BY_RULES
from prorubric.audit.edits.kind import EditCase, EditKind, MadeEdit, NotMade
from prorubric.audit.examine import check_asked, examine, prepare, wants_dimensions
from prorubric.audit.models import ANOTHER_DRAW, AuditModels
from prorubric.audit.tasks import add_dimensions, choose_tasks
from prorubric.compile.compiler import RULES, GeneratorConfig
from prorubric.judge.judge import JudgeConfig
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


async def estimate_calls(config: AuditConfig, run: Run) -> AuditEstimate:
    """Count the calls, tokens and money of an audit without making a call."""
    rejects = run.rejects
    everything = load_all_tasks(config, rejects)
    chosen = choose_tasks(everything, config.limit)
    check_asked(config)
    with open_existing(config.journal or config.out / JOURNAL) as journal:
        company = _Company(config, run, journal)
        models = company.make_models()
        if config.generator != RULES and wants_dimensions(config):
            replay = Replay(
                *company.make_text(config.generator),
                usual=lambda _: _GROUP_TOKENS,
                retries=lambda request: GeneratorConfig().reasks - request.draw,
                shows_reply=True,
            )
            chosen = chosen | (await add_dimensions(chosen, replay, config, rejects))[0]
        start = await prepare(config, models, chosen, everything, rejects)
        await examine(start.cases, models, start.schemes, config, run)
    await run.models.close(own=False)  # the audit may use the same objects
    return AuditEstimate(
        judge=config.judge,
        editor=config.editor,
        tasks=len(first_cases(start.cases)),
        answers=len(start.cases),
        schemes=start.schemes,
        **add_up(q.price(run.models.make(spec).name, run.gate.prices) for spec, q in company.questions.items()),
    )


class _Company:
    """Stand-ins for all models, which record what each one would be asked."""

    def __init__(self, config: AuditConfig, run: Run, journal: Journal | None) -> None:
        self._config, self._run, self._journal = config, run, journal
        self.questions: dict[str, Questions] = {}

    def make_models(self) -> AuditModels:
        config = self._config
        editor: Editor = make_editor(config.editor, self._replay_editor)
        answers = config.answers_from and Replay(
            *self.make_text(config.answers_from),
            usual=lambda _: _ANSWER_TOKENS,
            retries=lambda _: 0,
            pretend=lambda request: f"{_STOCK_ANSWER} It is number {request.draw}.",
        )
        return AuditModels(
            judge=self._replay_judge(0),
            judge_again=self._replay_judge(ANOTHER_DRAW),
            editor=editor if config.editor == EDIT_BY_RULES else _RulesInstead(editor),
            generator=None,
            answers=answers or None,
        )

    def _make(self, spec: str) -> tuple[AnyModel, Questions]:
        return self._run.models.make(spec), self.questions.setdefault(spec, Questions(self._journal))

    def make_text(self, spec: str) -> tuple[Model, Questions]:
        model, questions = self._make(spec)
        return require_text(model), questions

    def _replay_judge(self, draw: int) -> AnyModel:
        model, questions = self._make(self._config.judge)
        if isinstance(model, YesNoModel):
            return ReplayYesNo(model, questions, draw, lambda items: [float(n % 2) for n in range(len(items))])
        judging = self._config.judging
        replay = Replay(
            model,
            questions,
            usual=expect_reply,
            retries=lambda request: count_reasks(request, judging),
            pretend=partial(_pretend_verdicts, judging=judging),
        )
        return Redrawn(replay, draw) if draw else replay

    def _replay_editor(self, spec: str) -> Model:
        return Replay(
            *self.make_text(spec),
            usual=lambda _: _EDIT_TOKENS,
            retries=lambda request: REASKS - request.draw,
            shows_reply=True,
        )


class _RulesInstead(Editor):
    """An editor that edits by rules if the journal has no reply from its model."""

    def __init__(self, editor: Editor) -> None:
        self._editor = editor
        self.name, self.identity = editor.name, editor.identity

    async def make(self, case: EditCase, kind: EditKind) -> MadeEdit | NotMade:
        made = await self._editor.make(case, kind)
        return made if isinstance(made, MadeEdit) else make_by_rules(case, kind)

    async def close(self) -> None:
        await self._editor.close()


def _pretend_verdicts(request: Request, judging: JudgeConfig) -> str:
    """A reply that can be read: every second item holds, and none that no answer can meet."""
    properties: dict[str, Any] = cast("dict[str, Any]", request.schema)["properties"]
    [(name, inner)] = properties.items()
    if "properties" not in inner:  # one mark for all items
        return json.dumps({name: (inner["minimum"] + inner["maximum"]) // 2})
    indices = list(inner["properties"])
    yes, no = (True, False) if name == "satisfied" else (2, 0)
    held: dict[str, Any] = {index: no if int(index) % 2 else yes for index in indices}
    if judging.canary:
        held[indices[-1]] = no
    if judging.reasons:
        held = {index: {"reason": "so", name: verdict} for index, verdict in held.items()}
    return json.dumps({name: held})
