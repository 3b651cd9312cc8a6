"""What a run would ask for and cost, counted without a call.

The run's own code puts its questions to a `Replay`, which answers from the journal. A question that the journal cannot
answer is counted once, and gets a failure, so whatever depends on it is not asked. Prompts are counted at four
characters per token, a common figure for English. The estimate assumes one reply of usual length per question; the
ceiling assumes every retry and the longest replies.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

from prorubric.errors import UnjudgedError
from prorubric.judge.judge import MOST_REASKS, JudgeConfig
from prorubric.llm.accounting import Prices, Usage, estimate_cost
from prorubric.llm.cache import make_question, parse_probabilities
from prorubric.llm.journal import Journal, key_of
from prorubric.llm.model import Failure, Model, ModelWrapper, Outcome, Reply, Request, YesNoModel
from prorubric.rubric.base import Record

CHARACTERS_PER_TOKEN = 4
_TOKENS_AROUND, _TOKENS_A_VERDICT, _TOKENS_A_REASON = 8, 6, 30
_TOKENS_A_TEXT = 800
_TEXT = {"type": "string"}


class Estimate(Record):
    """What a run would take, from its files as they are."""

    calls: int
    """One for each question that the journal cannot answer."""
    cached: int
    """Questions that the journal answers, or the reply to the same question."""
    repeated: int
    """Those of the cached that come before in the run itself."""
    most_calls: int
    """With every retry."""
    prompt_tokens: int
    completion_tokens: int
    """At the usual length."""
    most_prompt_tokens: int
    most_completion_tokens: int
    cost: float | None
    """US dollars at list price; None if the price is not known."""
    most_cost: float | None


@dataclass(slots=True)
class Questions:
    """What would be asked of one model; of a question only a hash is kept, to ask it once."""

    journal: Journal | None = None
    counts: Counter[str] = field(default_factory=Counter)
    """By the fields of an `Estimate`."""
    _asked: set[bytes] = field(default_factory=set)

    def find(self, identity: str, request: Request) -> Outcome | None:
        """The reply in the journal, None if the question has to be asked, a failure if it was asked before."""
        key = key_of(identity, request)
        reply = self.journal.get(key) if self.journal is not None else None
        brief = bytes.fromhex(key[:24])
        if reply is None and brief not in self._asked:
            self._asked.add(brief)
            self.counts["calls"] += 1
            return None
        self.counts.update(cached=1, repeated=reply is None)
        return reply or Failure("gave-up", "not asked")

    def price(self, model: str, prices: Prices) -> dict[str, Any]:
        """The fields of an `Estimate`. What reads no token, because it is not a model or not asked, costs nothing."""
        fields: dict[str, Any] = {name: self.counts[name] for name in Estimate.model_fields}
        for start in ("", "most_"):
            prompt, completion = (fields[f"{start}{part}_tokens"] for part in ("prompt", "completion"))
            used = Usage(model, prompt_tokens=prompt, completion_tokens=completion)
            fields[f"{start}cost"] = estimate_cost(used, prices) if prompt else 0.0
        return fields


class Replay(ModelWrapper[Model]):
    """A text model that answers from the journal and counts what the journal cannot answer."""

    def __init__(
        self,
        model: Model,
        questions: Questions,
        *,
        usual: Callable[[Request], int],
        retries: Callable[[Request], int],
        shows_reply: bool = False,
        pretend: Callable[[Request], str] | None = None,
    ) -> None:
        """`usual` is how long the reply to a request usually is, in tokens."""
        super().__init__(model)
        self._questions, self._usual, self._retries = questions, usual, retries
        self._shows_reply, self._pretend = shows_reply, pretend

    async def complete(self, request: Request) -> Outcome:
        """The reply from the journal, or else a failure, which ends whatever depends on the reply.

        With `pretend`, a made-up reply takes its place, so later questions are counted as well.
        """
        found = self._questions.find(self.identity, request)
        if found is None:
            prompt = sum(len(message.content) for message in request.messages) // CHARACTERS_PER_TOKEN
            left = max(self._retries(request), 0)
            self._questions.counts.update(
                most_calls=1 + left,
                prompt_tokens=prompt,
                # A retry that shows the last reply again has a prompt that is longer by that reply.
                most_prompt_tokens=prompt * (1 + left) + left * request.max_tokens * self._shows_reply,
                completion_tokens=min(self._usual(request), request.max_tokens),
                most_completion_tokens=request.max_tokens * (1 + left),
            )
        if self._pretend is not None and not isinstance(found, Reply):
            return Reply(self._pretend(request))
        return found or Failure("gave-up", "not asked")


class ReplayYesNo(ModelWrapper[YesNoModel]):
    """The same for a model of probabilities, which has no retries and counts no tokens."""

    def __init__(
        self,
        model: YesNoModel,
        questions: Questions,
        draw: int = 0,
        pretend: Callable[[Sequence[str]], list[float]] | None = None,
    ) -> None:
        super().__init__(model)
        self._questions, self._draw, self._pretend = questions, draw, pretend

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        """The probabilities from the journal; `UnjudgedError` if it has none."""
        found = self._questions.find(self.identity, make_question(conversation, response, statements, self._draw))
        self._questions.counts["most_calls"] += found is None
        if isinstance(found, Reply):
            return parse_probabilities(found)
        if self._pretend is None:
            raise UnjudgedError("not asked")
        return self._pretend(statements)


def add_up(parts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The fields of one `Estimate` from those of several; the cost is not known if one of them is not."""
    total: dict[str, Any] = dict.fromkeys(Estimate.model_fields, 0)
    for part in parts:
        total = {
            name: None if value is None or part[name] is None else value + part[name] for name, value in total.items()
        }
    return total


@contextmanager
def open_existing(path: Path | None) -> Iterator[Journal | None]:
    """An existing journal, or None. An empty file would become one."""
    if path is None or not path.exists() or not path.stat().st_size:
        yield None
    else:
        with Journal(path) as journal:
            yield journal


def replay_judge(
    model: Model | YesNoModel, questions: Questions, config: JudgeConfig, *, is_sure: bool = False
) -> Model | YesNoModel:
    """A judge that answers from the journal, and counts what the journal cannot answer; `is_sure` grants that."""
    if isinstance(model, YesNoModel):
        return ReplayYesNo(model, questions, pretend=(lambda items: [1.0] * len(items)) if is_sure else None)
    return Replay(
        model,
        questions,
        usual=expect_reply,
        retries=lambda request: count_reasks(request, config),
        pretend=partial(pretend_verdicts, judging=config, every=1) if is_sure else None,
    )


def pretend_verdicts(request: Request, judging: JudgeConfig, every: int) -> str:
    """A reply that can be read: every n-th item holds, and none that no answer can meet."""
    properties: dict[str, Any] = cast("dict[str, Any]", request.schema)["properties"]
    [(name, inner)] = properties.items()
    if "properties" not in inner:  # one mark for all items
        return json.dumps({name: (inner["minimum"] + inner["maximum"]) // 2})
    indices = list(inner["properties"])
    yes, no = (True, False) if name.startswith("satisfied") else (2, 0)
    held: dict[str, Any] = {index: no if int(index) % every else yes for index in indices}
    if judging.canary:
        held[indices[-1]] = no
    if judging.reasons:
        held = {index: {"reason": "so", name: verdict} for index, verdict in held.items()}
    return json.dumps({name: held})


def count_reasks(request: Request, config: JudgeConfig) -> int:
    """How often what a reply leaves open may still be asked after this request."""
    return config.reasks - request.draw % (MOST_REASKS + 1)


def expect_reply(request: Request) -> int:
    """How long a reply of this schema usually is, in tokens; without one it is an analysis and its result."""
    if request.schema is None:
        return _TOKENS_A_TEXT
    properties: dict[str, Any] = cast("dict[str, Any]", request.schema)["properties"]
    verdicts: dict[str, Any] = next(iter(properties.values())).get("properties", {})
    # A reason or a quotation; a turn is a number.
    notes = [note for one in verdicts.values() for note in one.get("properties", {}).values()]
    texts = [note for note in (*notes, *properties.values()) if note == _TEXT]
    return _TOKENS_AROUND + _TOKENS_A_VERDICT * max(len(verdicts), 1) + _TOKENS_A_REASON * len(texts)
