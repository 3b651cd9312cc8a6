"""What judges are asked in an evaluation, and what their verdicts make of an answer.

A call that failed is not a verdict: its case is left open, and the run is not finished. A reply that cannot be read
after all asks, or a question that the judge's endpoint refuses, is an unknown verdict, which is recorded.
"""

from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

from prorubric.evaluate.answers import AnswerKey, list_keys
from prorubric.evaluate.benchmarks.base import Loaded
from prorubric.evaluate.instruments import INSTRUMENTS, Worth
from prorubric.evaluate.records import Game, Item, ItemScore, Policy, PolicyAnswer
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.llm.model import Model
from prorubric.rubric.verdict import Unknown, Verdict
from prorubric.runs.models import AnyModel, Redrawn

BASELINE = "baseline"
_REFUSALS = (400, 413, 422)
_REDRAW = 1000


@dataclass(frozen=True, slots=True)
class Case:
    """One answer, or two, that a judge is shown."""

    benchmark: str
    instrument: str
    item: Item
    answer: PolicyAnswer
    other: PolicyAnswer | None = None
    """The answer of the baseline or of the policy that it is compared with."""
    repeat: int = 0
    """1 if it is judged a second time, to see whether the judge repeats itself."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a judge said about a case: verdicts, or the labels of two games."""

    case: Case
    verdicts: tuple[Verdict | str, ...]

    @property
    def is_open(self) -> bool:
        """True if a call failed, so that there is nothing to record yet."""
        return any(
            isinstance(said, Unknown) and said.failure and said.status not in _REFUSALS for said in self.verdicts
        )

    @property
    def unknown(self) -> dict[str, int]:
        """Verdicts that were not given, by kind."""
        return dict(Counter(said.label for said in self.verdicts if isinstance(said, Unknown)))


class Answers(Protocol):
    """Where answers are found."""

    def read(self, keys: Iterable[AnswerKey]) -> Iterator[PolicyAnswer]:
        """Those of the answers that exist, in order."""


def list_cases(
    loaded: Loaded, answers: Answers, policies: Sequence[Policy], pairs: Sequence[tuple[str, str]], samples: int | None, repeated: int = 0
) -> Iterator[Case]:
    """Everything that a judge has to look at for one benchmark, the first `repeated` answers a second time."""
    benchmark, kind = loaded.benchmark, INSTRUMENTS[loaded.benchmark.instrument].kind
    about = (benchmark.name, benchmark.instrument)
    items = {item.id: item for item in loaded.items}
    if kind == "labels":
        for item in loaded.items:
            yield Case(*about, item, PolicyAnswer(policy="", item=item.id, text=item.answer or ""))
    elif kind == "pairs":
        for pair in pairs:
            for item in loaded.items:
                found = [*answers.read(AnswerKey(name, item.id, 0, benchmark.budget) for name in pair)]
                if len(found) == 2:
                    yield Case(*about, item, *found)
    else:
        for policy in policies:
            keys = (key for key, _ in list_keys(loaded, policy.name, samples))
            for answer in answers.read(keys):
                item = items[answer.item]
                other = None
                if kind == "baseline":
                    other = PolicyAnswer(policy=BASELINE, item=item.id, text=item.baseline or "")
                yield Case(*about, item, answer, other)
                if repeated > 0:
                    repeated -= 1
                    yield Case(*about, item, answer, other, repeat=1)


def start_seeing(judging: JudgeConfig, *models: AnyModel) -> Callable[[Case], Coroutine[Any, Any, Seen]]:
    """The function that shows one case to the judge."""
    [model] = models
    again = Redrawn(model, _REDRAW) if isinstance(model, Model) else model
    judges = (Judge(model, judging), Judge(again, judging))

    async def see(case: Case) -> Seen:
        instrument = INSTRUMENTS[case.instrument]
        if instrument.kind == "choice":
            return Seen(case, ())
        judge = judges[case.repeat]
        if case.other is None:
            return Seen(case, await instrument.judge(judge, case.item, case.answer.text))
        return Seen(case, await instrument.play(judge, case.item, case.other.text, case.answer.text))

    return see


def score_case(seen: Seen, judge: str) -> ItemScore | None:
    """What the answer of a case is worth; None for two policies, which are counted in games."""
    case, instrument = seen.case, INSTRUMENTS[seen.case.instrument]
    if instrument.kind in ("pairs", "labels"):
        return None
    if case.other is not None:
        worth: Worth = instrument.worth_of_games(seen.verdicts)
    else:
        worth = instrument.score(case.item, case.answer, [said for said in seen.verdicts if not isinstance(said, str)])
    return ItemScore(
        benchmark=case.benchmark,
        judge=judge if instrument.kind != "choice" else "",
        policy=case.answer.policy,
        item=case.item.id,
        sample=case.answer.sample,
        value=worth.value,
        low=worth.low,
        high=worth.high,
        weight=worth.weight,
        failure=worth.failure,
        unknown=seen.unknown,
        cluster=case.item.cluster,
        characters=len(case.answer.text),
        tokens=case.answer.tokens,
    )


def record_game(seen: Seen, judge: str) -> Game | None:
    """The two games of a case; None if there was one answer."""
    if seen.case.other is None:
        return None
    first, second = (None if isinstance(said, Unknown) else str(said) for said in seen.verdicts)
    return Game(
        benchmark=seen.case.benchmark,
        judge=judge,
        item=seen.case.item.id,
        first=seen.case.other.policy,
        second=seen.case.answer.policy,
        sample=seen.case.answer.sample,
        labels=(first, second),
        unknown=seen.unknown,
    )


def list_pairs(
    policies: Sequence[Policy], compare: Sequence[tuple[str, str]], baseline: str | None
) -> list[tuple[str, str]]:
    """Which policies are compared: those asked for, all with the baseline, or all with all.

    Groups are compared seed by seed.
    """
    names = [policy.name for policy in policies]
    if not compare and baseline is not None:
        return [(name, baseline) for name in names if name != baseline]
    if not compare:
        return list(combinations(names, 2))
    by_seed: dict[str, dict[int | None, str]] = {name: {None: name} for name in names}
    for policy in policies:
        if policy.group and policy.group not in names:
            by_seed.setdefault(policy.group, {})[policy.seed] = policy.name
    return [
        (by_seed[one][seed], by_seed[other][seed])
        for one, other in compare
        for seed in by_seed[one]
        if seed in by_seed[other]
    ]
