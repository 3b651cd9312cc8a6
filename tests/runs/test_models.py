"""The models of a run, as the parts of the run ask them."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.model import Model, Reply, Request, YesNoModel
from prorubric.rubric.records import Message
from prorubric.runs.models import CallGate, Models
from prorubric.runs.stop import Stop

ASKED: list[str] = []


class WritesAndWeighs:
    """Like a model in this process, which can do both."""

    name = identity = "both/1"

    async def complete(self, request: Request) -> Reply:
        ASKED.append(request.messages[-1].content)
        return Reply("written", 3, 1, "stop")

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        ASKED.append(conversation + response)
        return [0.25 for _ in statements]

    async def close(self) -> None:
        pass


def test_a_model_that_writes_and_gives_probabilities_is_kept_and_counted_as_both(tmp_path: Path) -> None:
    ASKED.clear()
    gate = CallGate(Stop())
    models = Models(HttpConfig(), gate)

    async def ask() -> tuple[str, list[float]]:
        with Journal(tmp_path / "journal.sqlite") as journal:
            model = models.open(f"{__name__}:WritesAndWeighs", journal)
            assert isinstance(model, Model)
            assert isinstance(model, YesNoModel)
            reply = await model.complete(Request((Message(role="user", content="Write."),)))
            assert isinstance(reply, Reply)
            return reply.text, await model.probabilities("Is it?", "Yes.", ["it is", "it is not"])

    assert [asyncio.run(ask()) for _ in range(2)] == [("written", [0.25, 0.25])] * 2
    assert ASKED == ["Write.", "Is it?Yes."]  # the second time the journal answers
    [usage] = gate.usage.values()
    assert (usage.calls, usage.cached) == (4, 2)
