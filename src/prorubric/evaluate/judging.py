"""What judges are shown in an evaluation, and what their verdicts make of an answer.

A call that failed is not a verdict: its case stays open, and the run is not finished. A reply that cannot be read after
all asks, or a question that the judge's endpoint refuses, is an unknown verdict, which is recorded.
"""

from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from prorubric.evaluate.answers import AnswerKey, list_keys
from prorubric.evaluate.benchmarks.base import Benchmark, Loaded
from prorubric.evaluate.instruments import INSTRUMENTS, Label
from prorubric.evaluate.records import BenchmarkItem, Game, ItemScore, PolicyAnswer
from prorubric.evaluate.sides import Sides
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.judge.readings import list_items
from prorubric.llm.model import REFUSALS, YesNoModel
from prorubric.rubric.verdict import Unknown, Verdict
from prorubric.runs.models import AnyModel, Redrawn

BASELINE = "the published baseline"
"""What Arena-Hard's answer to beat is called in games; a policy is more likely to be called `baseline`."""
PROBE_NAMES = ("1 request first", "2 fits the situation", "3 nothing needless", "4 uncertainty stated")
"""The four criteria of the probe, in their order."""
_REDRAW = 1000


@dataclass(frozen=True, slots=True)
class Case:
    """One answer, or two, that a judge is shown."""

    benchmark: str
    instrument: str
    item: BenchmarkItem
    answer: PolicyAnswer
    other: PolicyAnswer | None = None
    """The answer of the baseline, or of the policy that it is compared with."""
    repeat: int = 0
    """1 if it is judged a second time, to measure the consistency of the judge."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a judge said about a case: verdicts, or the labels of two games."""

    case: Case
    verdicts: tuple[Verdict, ...] = ()
    labels: tuple[Label, Label] | None = None

    @property
    def missing(self) -> list[Unknown]:
        """What the judge did not say."""
        return [said for said in (*self.verdicts, *(self.labels or ())) if isinstance(said, Unknown)]

    @property
    def failed(self) -> list[str]:
        """Why calls failed, each kind once; there is nothing to record yet."""
        failed = (said for said in self.missing if said.failure and said.status not in REFUSALS)
        return [*dict.fromkeys(said.label for said in failed)]

    @property
    def unknown(self) -> dict[str, int]:
        """What is missing, by kind."""
        return dict(Counter(said.label for said in self.missing))


class Answers(Protocol):
    """Where answers are found."""

    def read(self, keys: Iterable[AnswerKey]) -> Iterator[PolicyAnswer]:
        """Those of the answers that exist, in order."""


def list_cases(
    loaded: Loaded, answers: Answers, sides: Sides, samples: int | None = None, repeated: int = 0
) -> Iterator[Case]:
    """Everything that a judge has to look at for one benchmark, the first `repeated` answers a second time."""
    benchmark, kind = loaded.benchmark, INSTRUMENTS[loaded.benchmark.instrument].kind
    about = (benchmark.name, benchmark.instrument)
    if kind == "labels":
        for item in loaded.items:
            yield Case(*about, item, PolicyAnswer(policy="", item=item.id, text=item.answer or ""))
        return
    if kind == "pairs":
        for pair in list_pairs(sides):
            for item in loaded.items:
                match [*answers.read(AnswerKey(name, item.id, 0, benchmark.budget) for name in pair)]:
                    case [own, other]:
                        yield Case(*about, item, own, other)
        return
    items = {item.id: item for item in loaded.items}
    for policy in sides.policies:
        for answer in answers.read(key for key, _ in list_keys(loaded, policy, samples)):
            case = make_case(benchmark, items[answer.item], answer)
            yield case
            if repeated > 0:
                repeated -= 1
                yield replace(case, repeat=1)


def list_pairs(sides: Sides) -> list[tuple[str, str]]:
    """The policies that blind pairs compare, those of two groups seed by seed."""
    matched = [sides.match_seeds(*map(sides.list_policies, pair)).values() for pair in sides.pairs]
    return [*dict.fromkeys(pair for pairs in matched for pair in pairs)]


def make_case(benchmark: Benchmark, item: BenchmarkItem, answer: PolicyAnswer) -> Case:
    """One answer, with the baseline's if the benchmark has one."""
    is_compared = INSTRUMENTS[benchmark.instrument].kind == "baseline"
    baseline = PolicyAnswer(policy=BASELINE, item=item.id, text=item.baseline or "") if is_compared else None
    return Case(benchmark.name, benchmark.instrument, item, answer, baseline)


def start_seeing(judging: JudgeConfig, *models: AnyModel) -> Callable[[Case], Coroutine[Any, Any, Seen]]:
    """The function that shows one case to the judge."""
    [model] = models
    both: Sequence[AnyModel] = (model,) if isinstance(model, YesNoModel) else (model, Redrawn(model, _REDRAW))
    judges = {
        (name, repeat): Judge(one, replace(judging, max_tokens=max(judging.max_tokens, instrument.reply_tokens)))
        for name, instrument in INSTRUMENTS.items()
        for repeat, one in enumerate(both)
    }

    async def see(case: Case) -> Seen:
        instrument, judge = INSTRUMENTS[case.instrument], judges[case.instrument, case.repeat]
        if case.other is None:
            return Seen(case, await instrument.judge(judge, case.item, case.answer.text))
        return Seen(case, labels=await instrument.play(judge, case.item, case.other.text, case.answer.text))

    return see


def score_case(seen: Seen, judge: str) -> ItemScore | None:
    """What the answer of a case is worth; None for pairs, which are counted in games, and for people's labels."""
    case, instrument = seen.case, INSTRUMENTS[seen.case.instrument]
    if instrument.kind in ("pairs", "labels"):
        return None
    if seen.labels is not None:
        worth = instrument.worth_of_games(case.answer, seen.labels)
    else:
        worth = instrument.score(case.item, case.answer, seen.verdicts)
    return ItemScore(
        benchmark=case.benchmark,
        judge=judge,
        policy=case.answer.policy,
        item=case.item.id,
        sample=case.answer.sample,
        value=worth.value,
        low=worth.low,
        high=worth.high,
        weight=worth.weight,
        failure=worth.failure,
        unknown=worth.unknown,
        cluster=case.item.cluster,
        characters=len(case.answer.text),
        tokens=case.answer.tokens,
    )


def record_game(seen: Seen, judge: str) -> Game | None:
    """The two games of a case; None if there was one answer."""
    if seen.labels is None or seen.case.other is None:
        return None
    first, second = (None if isinstance(label, Unknown) else label for label in seen.labels)
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


def list_criteria(item: BenchmarkItem, instrument: str) -> Sequence[tuple[str, float]]:
    """What each verdict is on, by a name that tells nothing of a protected text, with its weight."""
    items = list_items(item.task, INSTRUMENTS[instrument].reading)
    names = PROBE_NAMES if instrument == "probe" else [str(own.index) for own in items]
    return [(name, own.weight) for name, own in zip(names, items, strict=True)]
