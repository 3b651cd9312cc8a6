"""`calibrate_judge`: a judge beside people, on statements that people have labelled.

All statements on one response are asked in one call, as in a run. Agreement is counted against each person's label,
not against a majority, and the agreement of people with each other stands beside it: no judge can be expected to
agree more than they do.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack, aclosing
from dataclasses import KW_ONLY, dataclass, field
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

from prorubric.datasets.labels import LabelFormat, LabelledItem, load_labels
from prorubric.errors import SourceError
from prorubric.judge.agreement import Confusion, count_pairs
from prorubric.judge.judge import Judge, JudgeConfig
from prorubric.judge.readings import READINGS
from prorubric.judge.stream import judge_stream
from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.make import keep_model, make_model
from prorubric.llm.together import run_sync
from prorubric.rubric.base import Record, config_record
from prorubric.rubric.records import Criterion, Message, Response, Rubric, Task
from prorubric.rubric.verdict import Unknown, UnknownCounts, Verdict


@config_record
class CalibrateFiles:
    """Which labels, which judge."""

    labels: Path
    """The file of labels: jsonl in our own form, or K-QA's csv."""
    _: KW_ONLY
    judge: str
    """The judge, as for a run."""
    format: LabelFormat = "auto"
    """The form of the labels."""
    journal: Path | None = None
    """Keep the judge's replies here, so that a run that was stopped goes on where it was."""


@config_record
class CalibrateConfig(CalibrateFiles):
    """A whole calibration."""

    _: KW_ONLY
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    http: HttpConfig = field(default_factory=HttpConfig)


class Agreement(Record):
    """How well a judge, or people, agree with people's labels."""

    items: int
    pairs: int
    """Pairs of a verdict, or of another person's label, with a label."""
    balanced_f1: float | None
    """The mean of the F1 of both classes over all pairs."""
    kappa: float | None
    """The mean over people (or pairs of people) of Cohen's κ."""
    accuracy: float | None


class CalibrateResult(Record):
    """A judge beside people."""

    judge: str
    items: int
    people: int
    unknown: int
    """Items without a verdict; they are in no pair."""
    unknown_reasons: dict[str, int]
    damaged: int
    """Replies that were damaged in the journal and asked for again."""
    said_true: float | None
    """The share of known verdicts that are true; people's share is beside it."""
    labelled_true: float | None
    judge_agreement: Agreement
    human_agreement: Agreement
    by_tag: dict[str, dict[str, Agreement]]
    """For each tag the agreement of the judge (`judge`) and of people with each other (`human`)."""


@dataclass(frozen=True, slots=True)
class _Rated:
    item: LabelledItem
    verdict: bool | None


def calibrate_judge(config: CalibrateConfig) -> CalibrateResult:
    """Judge every labelled item and compare."""
    items = list(load_labels(config.labels, config.format))
    if not items:
        raise SourceError(f"{config.labels}: no labels in it; there is nothing to compare with")
    usage = Usage()
    verdicts = run_sync(_judge(config, items, usage))
    rated = [
        _Rated(item, None if isinstance(verdict, Unknown) else bool(verdict))
        for item, verdict in zip(items, verdicts, strict=True)
    ]
    counts = UnknownCounts()
    for verdict in verdicts:
        if isinstance(verdict, Unknown):
            counts.add(verdict)
    tags = dict.fromkeys(tag for item in items for tag in item.tags)
    return CalibrateResult(
        judge=config.judge,
        items=len(items),
        people=max(len(item.labels) for item in items),
        unknown=sum(one.verdict is None for one in rated),
        unknown_reasons=counts.summarize(),
        damaged=usage.damaged,
        said_true=_share([one.verdict for one in rated]),
        labelled_true=_share([label for item in items for label in item.labels]),
        judge_agreement=_agree_with_judge(rated),
        human_agreement=_agree_with_each_other(rated),
        by_tag={tag: _compare([one for one in rated if tag in one.item.tags]) for tag in tags},
    )


async def _judge(config: CalibrateConfig, items: Sequence[LabelledItem], usage: Usage) -> list[Verdict]:
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        groups[item.prompt, item.response].append(number)
    found: dict[int, Verdict] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        journal = stack.enter_context(Journal(config.journal or folder / "journal.sqlite"))
        judge = Judge(keep_model(make_model(config.judge, config.http, usage), journal, usage), config.judging)
        members = list(groups.values())
        cases = [_make_case(number, items, those) for number, those in enumerate(members)]
        try:
            async with aclosing(
                judge_stream(judge, cases, [READINGS["criteria"]], 2 * config.http.concurrency)
            ) as stream:
                async for judged in stream:
                    verdicts = judged.judgements["criteria"].verdicts
                    found.update(zip(members[int(judged.task.id)], verdicts, strict=True))
        finally:
            await judge.close()
    return [found[number] for number in range(len(items))]


def _make_case(number: int, items: Sequence[LabelledItem], members: list[int]) -> tuple[Task, Response]:
    """One response with all statements about it as criteria; a blank prompt is shown as what it is."""
    first = items[members[0]]
    criteria = tuple(Criterion(text=items[member].statement, weight=1.0) for member in members)
    message = Message(role="user", content=first.prompt.strip() or "(no prompt was recorded)")
    task = Task(id=str(number), messages=(message,), rubric=Rubric(criteria=criteria))
    return task, Response(task_id=task.id, text=first.response)


def _compare(rated: list[_Rated]) -> dict[str, Agreement]:
    return {"judge": _agree_with_judge(rated), "human": _agree_with_each_other(rated)}


def _agree_with_judge(rated: list[_Rated]) -> Agreement:
    people = max((len(one.item.labels) for one in rated), default=0)
    columns = [count_pairs((one.verdict, _label(one, person)) for one in rated) for person in range(people)]
    return _pool(len(rated), columns)


def _agree_with_each_other(rated: list[_Rated]) -> Agreement:
    people = max((len(one.item.labels) for one in rated), default=0)
    columns = [
        count_pairs((_label(one, first), _label(one, second)) for one in rated)
        for first, second in combinations(range(people), 2)
    ]
    return _pool(len(rated), columns)


def _pool(items: int, columns: Sequence[Confusion]) -> Agreement:
    whole = Confusion(
        sum(column.both_true for column in columns),
        sum(column.only_first for column in columns),
        sum(column.only_second for column in columns),
        sum(column.both_false for column in columns),
    )
    kappas = [column.kappa for column in columns if column.kappa is not None]
    return Agreement(
        items=items,
        pairs=whole.pairs,
        balanced_f1=whole.balanced_f1,
        kappa=sum(kappas) / len(kappas) if kappas else None,
        accuracy=whole.accuracy,
    )


def _label(one: _Rated, person: int) -> bool | None:
    return one.item.labels[person] if person < len(one.item.labels) else None


def _share(values: Sequence[bool | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
