"""The journal for models that give probabilities: one row a response and list of statements."""

from collections.abc import Sequence

from prorubric.errors import UnjudgedError
from prorubric.files.json import parse_json, render_json
from prorubric.llm.accounting import Usage
from prorubric.llm.journal import CachedModel, Keeper
from prorubric.llm.model import Failure, ModelWrapper, Outcome, Reply, Request, YesNoModel
from prorubric.rubric.records import Message
from prorubric.text.show import shorten


class CachedYesNo(ModelWrapper[YesNoModel]):
    """A model that is asked for each probability once a draw. The journal stays its maker's to close."""

    def __init__(self, model: YesNoModel, journal: Keeper, usage: Usage, draw: int = 0) -> None:
        super().__init__(model)
        self._draw = draw
        self._usage = usage
        self._cached = CachedModel(_AsText(model), journal, usage)
        usage.model = usage.model or model.name

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        """Answer from the journal, or by asking."""
        outcome = await self._cached.complete(make_question(conversation, response, statements, self._draw))
        if isinstance(outcome, Failure):
            self._usage.add(outcome)
            raise UnjudgedError(outcome.reason)
        # Tokens are not counted, so that such a reply is not one without its tokens.
        self._usage.calls += 1
        self._usage.cached += outcome.cached
        self._usage.repeated += outcome.repeated
        return parse_probabilities(outcome)


class _AsText(ModelWrapper[YesNoModel]):
    """The model as the journal knows it: a question in messages, and the probabilities as JSON."""

    async def complete(self, request: Request) -> Outcome:
        conversation, response, *statements = (message.content for message in request.messages)
        try:
            found: Sequence[object] = await self._model.probabilities(conversation, response, statements)
        except UnjudgedError as error:
            return Failure("reply", str(error))
        # What is not a probability is not a verdict, and must not stay in the journal.
        if len(found) != len(statements):
            return Failure("reply", f"the model gave {len(found)} probabilities for {len(statements)} items")
        for value in found:
            if not _is_probability(value):
                given = shorten(repr(value))
                return Failure("reply", f"the model gave {given} for a probability; from 0 to 1 is allowed")
        return Reply(render_json(found).decode())


def make_question(conversation: str, response: str, statements: Sequence[str], draw: int = 0) -> Request:
    """What the journal knows a question by."""
    messages = (
        Message(role="user", content=conversation),
        Message(role="assistant", content=response),
        *(Message(role="user", content=statement) for statement in statements),
    )
    return Request(messages, draw=draw)


def parse_probabilities(kept: Reply) -> list[float]:
    """What the journal keeps of an answer; raises `UnjudgedError` where it was damaged before it had a checksum."""
    try:
        found = parse_json(kept.text)
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(map(_is_probability, found)):
        raise UnjudgedError("the journal holds no probabilities for this question; name another journal")
    return [float(value) for value in found]


def _is_probability(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
