"""Who takes part in an audit: judge, editor, generator, and the model whose answers are sampled.

Each model is made once, however many of these it is: one in this process is large. Replies are kept in the journal, and
what a model used is counted under its own name, because models have different prices.
"""

from dataclasses import dataclass, replace

from prorubric.audit.config import AuditConfig
from prorubric.audit.editors import Editor, make_editor
from prorubric.compile.compiler import RULES
from prorubric.judge.judge import MOST_REASKS
from prorubric.llm.accounting import Usage
from prorubric.llm.cache import CachedYesNo
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.make import keep_model, make_model, require_text, with_journal
from prorubric.llm.model import Model, ModelWrapper, Outcome, Request, YesNoModel

# Far above any draw that a judge makes by itself, and a first attempt as theirs are.
ANOTHER_DRAW = 100_000 * (MOST_REASKS + 1)


@dataclass(frozen=True, slots=True)
class Models:
    """Everybody who takes part."""

    judge: Model | YesNoModel
    judge_again: Model | YesNoModel
    """The judge, asked afresh: nothing that it says comes from the journal of the first time."""
    editor: Editor
    generator: Model | None
    """None: the rules."""
    answers: Model | None
    """None: the answers are given or composed."""
    usage: dict[str, Usage]
    """By model."""

    async def close(self) -> None:
        """Let go of all of them."""
        for model in (self.judge, self.judge_again, self.editor, self.generator, self.answers):
            if model is not None:
                await model.close()


def make_models(config: AuditConfig, journal: Journal) -> Models:
    """The models that the options name; raises before a token is spent."""
    door = _Door(config.http, journal)
    return Models(
        judge=door.open(config.judge),
        judge_again=door.open_again(config.judge),
        editor=make_editor(config.editor, door.open_text),
        generator=None if config.generator == RULES else door.open_text(config.generator),
        answers=door.open_text(config.answers_from) if config.answers_from else None,
        usage=door.usage,
    )


class Redrawn(ModelWrapper[Model]):
    """A model that writes text, asked for other draws."""

    async def complete(self, request: Request) -> Outcome:
        """Answer as another draw."""
        return await self._model.complete(replace(request, draw=request.draw + ANOTHER_DRAW))


class _Door:
    """Makes models, each once."""

    def __init__(self, http: HttpConfig, journal: Journal) -> None:
        self._http = http
        self._journal = journal
        self._made: dict[str, Model | YesNoModel] = {}
        self.usage: dict[str, Usage] = {}

    def open(self, spec: str) -> Model | YesNoModel:
        return keep_model(self._make(spec), self._journal, self.usage[spec])

    def open_again(self, spec: str) -> Model | YesNoModel:
        model = self._make(spec)
        if isinstance(model, YesNoModel):
            return CachedYesNo(model, self._journal, self.usage[spec], draw=ANOTHER_DRAW)
        return Redrawn(with_journal(model, self._journal, self.usage[spec]))

    def open_text(self, spec: str) -> Model:
        return with_journal(require_text(self._make(spec)), self._journal, self.usage[spec])

    def _make(self, spec: str) -> Model | YesNoModel:
        if spec not in self._made:
            self.usage[spec] = Usage()
            self._made[spec] = make_model(spec, self._http, self.usage[spec])
        return self._made[spec]
