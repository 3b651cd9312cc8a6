"""The journal for models that give probabilities: one row a response and list of statements."""

from collections.abc import Sequence

from prorubric.errors import UnjudgedError
from prorubric.llm.accounting import Usage
from prorubric.llm.journal import Keeper, key_of
from prorubric.llm.model import Around, Failure, Reply, Request, YesNoModel
from prorubric.rubric.files import parse_json, render_json
from prorubric.rubric.record import shorten
from prorubric.rubric.records import Message


class CachedYesNo(Around[YesNoModel]):
    """A model that is asked for each probability once a draw. The journal stays its maker's to close."""

    def __init__(self, model: YesNoModel, journal: Keeper, usage: Usage, draw: int = 0) -> None:
        super().__init__(model)
        self._draw = draw
        self._journal = journal
        self._usage = usage
        usage.model = usage.model or model.name

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        """Answer from the journal, or by asking."""
        question = (
            Message(role="user", content=conversation),
            Message(role="assistant", content=response),
            *(Message(role="user", content=statement) for statement in statements),
        )
        key = key_of(self._model.identity, Request(question, draw=self._draw))
        kept, is_damaged = await self._journal.find(key)
        if kept is None:
            self._usage.damaged += is_damaged
            try:
                found = _check(await self._model.probabilities(conversation, response, statements), len(statements))
            except UnjudgedError as error:
                self._usage.add(Failure("reply", str(error)))
                raise
            kept = await self._journal.keep(key, Reply(render_json(found).decode()), {"model": self.name})
        self._usage.calls += 1
        self._usage.cached += kept.cached
        self._usage.repeated += kept.repeated
        return [float(value) for value in parse_json(kept.text)]


def _check(found: Sequence[object], expected: int) -> Sequence[object]:
    """What a model gave, if it can be kept: what is no probability is no verdict, and must not stay in the journal."""
    if len(found) != expected:
        raise UnjudgedError(f"the model gave {len(found)} probabilities for {expected} items")
    for value in found:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise UnjudgedError(f"the model gave {shorten(repr(value))} for a probability; from 0 to 1 is allowed")
    return found
