"""Judges that fail on purpose, as `pkg.module:object`."""

import json
import os
from collections import Counter
from hashlib import sha256
from pathlib import Path

from tests.train.parity import HashJudge

from prorubric.llm.model import Failure, Outcome, Reply, Request


class FaultyJudge(HashJudge):
    """Gives no reply on about a third of all responses, always the same ones."""

    name = identity = "faulty-judge"

    async def complete(self, request: Request) -> Outcome:
        answer = request.messages[-1].content.partition("<<<ANSWER ")[2].partition("\n")[2].partition("\nANSWER ")[0]
        if sum(answer.encode()) % 3 == 0:
            return Failure("server", "the endpoint answers 503")
        return await super().complete(request)


class PatchyJudge(FaultyJudge):
    """Also answers "maybe" about every third item, so that a response has some of its verdicts."""

    name = identity = "patchy-judge"

    async def complete(self, request: Request) -> Outcome:
        outcome = await super().complete(request)
        if isinstance(outcome, Failure):
            return outcome
        ((kind, said),) = json.loads(outcome.text).items()
        answer = request.messages[-1].content.partition("<<<ANSWER ")[2].partition("\n")[2].partition("\nANSWER ")[0]
        patchy = {index: "maybe" if (len(answer) + int(index)) % 3 == 0 else one for index, one in said.items()}
        return Reply(json.dumps({kind: patchy}))


class DeadJudge(HashJudge):
    """Gives no reply at all."""

    name = identity = "dead-judge"

    async def complete(self, request: Request) -> Outcome:
        return Failure("server", "the endpoint answers 503")


class PoorJudge(HashJudge):
    """Finds everything in a good response, nothing in any other, and gives no reply on one that asks for that."""

    name = identity = "poor-judge"

    async def complete(self, request: Request) -> Outcome:
        answer = request.messages[-1].content.partition("<<<ANSWER ")[2].partition("\n")[2]
        if answer.startswith("no reply"):
            return Failure("server", "the endpoint answers 503")
        (kind,) = request.schema["properties"] if request.schema else ("satisfied",)
        asked = list(request.schema["properties"][kind]["properties"]) if request.schema else []
        return Reply(json.dumps({kind: dict.fromkeys(asked, answer.startswith("good"))}))


class GamedJudge(HashJudge):
    """Finds a little more in every response for dimensions, and a little less for criteria: a reward that is gamed."""

    name = identity = "gamed-judge"

    def __init__(self) -> None:
        self._calls: Counter[bool] = Counter()

    async def complete(self, request: Request) -> Outcome:
        (kind,) = request.schema["properties"] if request.schema else ("satisfied",)
        asked = list(request.schema["properties"][kind]["properties"]) if request.schema else []
        few = len(asked) <= 5
        self._calls[few] += 1
        progress = min(self._calls[few] / 40, 1.0)
        met = round(len(asked) * (progress if few else 1 - progress))
        return Reply(json.dumps({kind: {index: place < met for place, index in enumerate(asked)}}))


class LoggedJudge(HashJudge):
    """Writes a line to the file in JUDGE_LOG for every reply that would have to be paid for."""

    name = identity = "logged-judge"

    async def complete(self, request: Request) -> Outcome:
        outcome = await super().complete(request)
        if isinstance(outcome, Reply):
            asked = sha256(request.messages[-1].content.encode("utf-8", "surrogatepass")).hexdigest()
            with Path(os.environ["JUDGE_LOG"]).open("a") as log:
                log.write(f"{asked}\n")
        return outcome
