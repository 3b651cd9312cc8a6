"""`calibrate_judge`: compare a judge with people, on statements that people have labelled.

All statements on one response are asked in one call, as in a run. Agreement is counted against each person's label,
not against a majority, and reported next to the agreement of people with each other: no judge can be expected to agree
more than they do.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import KW_ONLY, field
from pathlib import Path
from tempfile import TemporaryDirectory

from prorubric.datasets.people_labels import LabelFormat, LabelledItem, load_labels
from prorubric.errors import SourceError
from prorubric.judge.agreement import Agreement, compare_with_people
from prorubric.judge.judge import Judge, JudgeConfig, judge_stream
from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.make import keep_model, make_model
from prorubric.llm.together import run_sync
from prorubric.rubric.base import Record, config_record
from prorubric.rubric.records import Criterion, Message, Response, Rubric, Task
from prorubric.rubric.verdict import NotApplicable, Unknown, UnknownCounts, Verdict
from prorubric.runs.folder import JOURNAL

_NOT_RECORDED = (Message(role="user", content="(no prompt was recorded)"),)
_INAPPLICABLE = "the judge says that the statement does not apply"


@config_record
class CalibrateConfig:
    """Which labels, which judge, and how it is asked."""

    labels: Path
    """Labels file: jsonl in our form, or K-QA's csv."""
    _: KW_ONLY
    judge: str
    """The judge, as for a run."""
    format: LabelFormat = "auto"
    """The form of the labels."""
    journal: Path | None = None
    """Keep the judge's replies here, so a run that was stopped continues where it was."""
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    http: HttpConfig = field(default_factory=HttpConfig)


class CalibrateResult(Record):
    """A judge compared with people."""

    judge: str
    items: int
    people: int
    unknown: int
    """Items without a verdict; they are in no pair."""
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


def calibrate_judge(config: CalibrateConfig) -> CalibrateResult:
    """Judge every labelled item and compare."""
    items = list(load_labels(config.labels, config.format))
    if not items:
        raise SourceError(f"{config.labels}: no labels in it; there is nothing to compare with")
    usage, counts = Usage(), UnknownCounts()
    verdicts: list[bool | None] = []
    for said in run_sync(_judge(config, items, usage)):
        verdict = Unknown(_INAPPLICABLE, kind="not applicable") if isinstance(said, NotApplicable) else said
        verdicts.append(None if isinstance(verdict, Unknown) else bool(verdict))
        if isinstance(verdict, Unknown):
            counts.add(verdict)
    whole = compare_with_people(verdicts, [item.labels for item in items])
    by_tag = {}
    for tag in dict.fromkeys(tag for item in items for tag in item.tags):
        tagged = [(verdict, item.labels) for verdict, item in zip(verdicts, items, strict=True) if tag in item.tags]
        by_tag[tag] = compare_with_people(*zip(*tagged, strict=True))
    return CalibrateResult(
        judge=config.judge,
        items=len(items),
        people=max(len(item.labels) for item in items),
        unknown=verdicts.count(None),
        unknown_reasons=counts.summarize(),
        damaged=usage.damaged,
        said_true=_share(verdicts),
        labelled_true=_share([label for item in items for label in item.labels]),
        judge_agreement=whole["judge"],
        human_agreement=whole["human"],
        by_tag=by_tag,
    )


async def _judge(config: CalibrateConfig, items: Sequence[LabelledItem], usage: Usage) -> list[Verdict]:
    """A verdict for each item; all statements on one response are the criteria of one task."""
    groups: dict[tuple[tuple[Message, ...], str], list[int]] = defaultdict(list)
    for number, item in enumerate(items):
        groups[item.messages, item.response].append(number)
    cases: list[tuple[Task, Response]] = []
    for (messages, response), members in groups.items():
        rubric = Rubric(criteria=tuple(Criterion(text=items[member].statement, weight=1.0) for member in members))
        task = Task(id=str(len(cases)), messages=messages or _NOT_RECORDED, rubric=rubric)
        cases.append((task, Response(task_id=task.id, text=response)))
    with TemporaryDirectory() as folder, Journal(config.journal or Path(folder) / JOURNAL) as journal:
        judge = Judge(keep_model(make_model(config.judge, config.http, usage), journal, usage), config.judging)
        try:
            stream = judge_stream(judge, cases, ["criteria"], 2 * config.http.concurrency)
            judgements = [judged.judgements["criteria"] async for judged in stream]
        finally:
            await judge.close()
    found: dict[int, Verdict] = {}
    for members, judgement in zip(groups.values(), judgements, strict=True):
        found.update(zip(members, judgement.verdicts, strict=True))
    return [found[number] for number in range(len(items))]


def _share(values: Sequence[bool | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
