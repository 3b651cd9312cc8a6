"""The models of an audit: judge, editor, generator, and the model that answers are sampled from."""

from dataclasses import dataclass

from prorubric.audit.config import AuditConfig
from prorubric.audit.editors import RULES as EDIT_BY_RULES
from prorubric.audit.editors import Editor, make_editor
from prorubric.compile.compiler import RULES
from prorubric.judge.judge import MOST_REASKS
from prorubric.llm.journal import Journal
from prorubric.llm.make import require_text
from prorubric.llm.model import Model
from prorubric.runs.models import AnyModel, Models

# Far above any draw that a judge makes by itself, and a first attempt as theirs are.
ANOTHER_DRAW = 100_000 * (MOST_REASKS + 1)


@dataclass(frozen=True, slots=True)
class AuditModels:
    """Every model that takes part."""

    judge: AnyModel
    judge_again: AnyModel
    """The judge, asked afresh: none of its replies come from the journal of the first time."""
    editor: Editor
    generator: Model | None
    """None: the rules."""
    answers: Model | None
    """None: the answers are given or composed."""


def check_models(config: AuditConfig, models: Models) -> None:
    """Make every model that the options name; raises before there is a folder."""
    models.make(config.judge)
    for spec in (config.editor, config.generator, config.answers_from):
        if spec is not None and spec not in (EDIT_BY_RULES, RULES):
            require_text(models.make(spec))


def open_models(config: AuditConfig, models: Models, journal: Journal) -> AuditModels:
    """The models with their replies kept in a journal."""

    def open_text(spec: str) -> Model:
        return require_text(models.open(spec, journal))

    return AuditModels(
        judge=models.open(config.judge, journal),
        judge_again=models.open(config.judge, journal, ANOTHER_DRAW),
        editor=make_editor(config.editor, open_text),
        generator=None if config.generator == RULES else open_text(config.generator),
        answers=open_text(config.answers_from) if config.answers_from else None,
    )
