"""`calibrate_judge`: compare a judge with people, on statements and on pairs of responses that people have labelled.

All statements on one response are asked in one call, as in a run. Agreement is counted against each person's label,
not against a majority, and reported next to the agreement of people with each other: no judge can be expected to agree
more than they do. The two responses of a pair are shown in both orders.
"""

from collections import defaultdict
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import KW_ONLY, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from prorubric.datasets.people_labels import LabelFormat, LabelledItem, LabelledPair, load_labels
from prorubric.errors import ConfigError, SourceError
from prorubric.judge.agreement import Agreement, PairAgreement, compare_pairs, compare_with_people
from prorubric.judge.judge import Comparison, Judge, JudgeConfig
from prorubric.judge.panel import Judges, judge_stream, list_judges, make_judge
from prorubric.llm.accounting import Usage, load_prices
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.make import keep_model, make_model
from prorubric.llm.together import run_in_order, run_sync
from prorubric.rubric.base import config_record
from prorubric.rubric.records import Criterion, Message, Response, Rubric, Task
from prorubric.rubric.verdict import NotApplicable, Unknown, UnknownCounts, Verdict
from prorubric.runs.folder import JOURNAL
from prorubric.runs.votes import VotedResult, VoteTally
from prorubric.text.show import count

_NOT_RECORDED = (Message(role="user", content="(no prompt was recorded)"),)
_NOT_APPLICABLE = Unknown("the judge called it not applicable", kind="not applicable")
_NO_RUBRIC = Rubric(criteria=(Criterion(text="is the better answer", weight=1.0),))  # a comparison does not show it


@config_record
class CalibrateConfig:
    """Which labels, which judge, and how it is asked."""

    labels: Path
    """Labels file: jsonl in our own format, or one of the formats below."""
    _: KW_ONLY
    judge: Judges
    """Judge, or several, as for a run."""
    format: LabelFormat = "auto"
    """Format of the labels."""
    journal: Path | None = None
    """File to keep the judge's replies in, so a stopped run can continue."""
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    http: HttpConfig = field(default_factory=HttpConfig)


class CalibrateResult(VotedResult):
    """A judge compared with people."""

    judge: str
    items: int
    people: int
    unknown: int
    """Items and pairs of responses without a verdict."""
    unknown_reasons: dict[str, int]
    damaged: int
    """Replies that were damaged in the journal and asked for again."""
    said_true: float | None
    """The share of known verdicts that are true; `labelled_true` is that of the labels."""
    labelled_true: float | None
    judge_agreement: Agreement
    human_agreement: Agreement
    by_tag: dict[str, dict[str, Agreement]]
    """For each tag the agreement of the judge (`judge`) and of people with each other (`human`)."""
    pairs: PairAgreement | None = None
    """On pairs of responses; None if there are none."""
    pairs_by_tag: dict[str, PairAgreement]


def calibrate_judge(config: CalibrateConfig) -> CalibrateResult:
    """Judge every labelled item and compare."""
    rows = list(load_labels(config.labels, config.format))
    if not rows:
        raise SourceError(f"{config.labels}: no labels found; there is nothing to compare with")
    items = [row for row in rows if isinstance(row, LabelledItem)]
    pairs = [row for row in rows if isinstance(row, LabelledPair)]
    if pairs and (config.judging.votes > 1 or len(list_judges(config.judge)) > 1):
        line = f"{count(len(pairs), 'pair')} of answers, which one judge compares without votes"
        raise ConfigError(
            line, remedy="name one judge and leave out votes, or leave out the pairs", place=config.labels
        )
    usage, counts, votes = {name: Usage() for name in list_judges(config.judge)}, UnknownCounts(), VoteTally()
    judged, compared = run_sync(_ask(config, items, pairs, usage, votes))
    judged = [_NOT_APPLICABLE if isinstance(verdict, NotApplicable) else verdict for verdict in judged]
    unknown = [found for found in (*judged, *compared) if isinstance(found, Unknown)]
    for missing in unknown:
        counts.add(missing)
    verdicts = [None if isinstance(verdict, Unknown) else bool(verdict) for verdict in judged]
    sides = [
        (pair.better, None if isinstance(side, Unknown) else side) for pair, side in zip(pairs, compared, strict=True)
    ]
    whole = compare_with_people(verdicts, [item.labels for item in items])
    by_tag = {}
    for tag in dict.fromkeys(tag for item in items for tag in item.tags):
        tagged = [(verdict, item.labels) for verdict, item in zip(verdicts, items, strict=True) if tag in item.tags]
        by_tag[tag] = compare_with_people(*zip(*tagged, strict=True))
    return CalibrateResult(
        judge=", ".join(usage),
        items=len(items),
        people=max((len(item.labels) for item in items), default=0),
        unknown=len(unknown),
        unknown_reasons=counts.summarize(),
        damaged=sum(used.damaged for used in usage.values()),
        said_true=_share(verdicts),
        labelled_true=_share([label for item in items for label in item.labels]),
        judge_agreement=whole["judge"],
        human_agreement=whole["human"],
        by_tag=by_tag,
        **votes.summarize(usage, load_prices(None)),
        pairs=compare_pairs(sides) if sides else None,
        pairs_by_tag={
            tag: compare_pairs([side for side, pair in zip(sides, pairs, strict=True) if tag in pair.tags])
            for tag in dict.fromkeys(tag for pair in pairs for tag in pair.tags)
        },
    )


async def _ask(
    config: CalibrateConfig,
    items: Sequence[LabelledItem],
    pairs: Sequence[LabelledPair],
    usage: Mapping[str, Usage],
    votes: VoteTally,
) -> tuple[list[Verdict], list[Comparison | Unknown]]:
    """Ask for a verdict on every item and pair; all statements on one response are the criteria of one task."""
    groups: dict[tuple[tuple[Message, ...], str], list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        groups[item.messages, item.response].append(number)
    cases: list[tuple[Task, Response]] = []
    for (messages, response), members in groups.items():
        rubric = Rubric(criteria=tuple(Criterion(text=items[member].statement, weight=1.0) for member in members))
        task = Task(id=str(len(cases)), messages=messages or _NOT_RECORDED, rubric=rubric)
        cases.append((task, Response(task_id=task.id, text=response)))
    verdicts: dict[int, Verdict] = {}
    window = 2 * config.http.concurrency
    with TemporaryDirectory() as folder, Journal(config.journal or Path(folder) / JOURNAL) as journal:
        models = {name: keep_model(make_model(name, config.http, used), journal, used) for name, used in usage.items()}
        judge, comparing = make_judge(models, config.judging), Judge(next(iter(models.values())), config.judging)

        def compare(pair: LabelledPair) -> Coroutine[Any, Any, Comparison | Unknown]:
            task = Task(id="pair", messages=pair.messages or _NOT_RECORDED, rubric=_NO_RUBRIC)
            return comparing.compare(task, pair.first, pair.second)

        try:
            stream = judge_stream(judge, cases, ["criteria"], window)
            judgements = [judged.judgements["criteria"] async for judged in stream]
            compared = [found async for found in run_in_order(map(compare, pairs), window)]
        finally:
            await judge.close()
    for members, judgement in zip(groups.values(), judgements, strict=True):
        votes.add(judgement)
        verdicts.update(zip(members, judgement.verdicts, strict=True))
    return [verdicts[number] for number in range(len(items))], compared


def _share(values: Sequence[bool | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
