"""`judge_responses`: each response of a file is judged once per reading the schemes need, and scored under all of them.

A run that is stopped leaves the responses it has finished, and its summary says why it stopped.
"""

from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, aclosing
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from prorubric.aggregate.choose import AUTO, READS_WORDS, check_judging, choose_schemes, score_readings, split_by_words
from prorubric.aggregate.schemes import list_readings
from prorubric.aggregate.score import Score
from prorubric.datasets.load import TaskOptions
from prorubric.datasets.responses import EXAMPLE
from prorubric.errors import ConfigError, SourceError
from prorubric.files.write import open_rows, write_json
from prorubric.judge.answer import View
from prorubric.judge.checks import check_functions
from prorubric.judge.judge import JudgeConfig, Judged
from prorubric.judge.panel import Judges, identify_judges, list_judges, make_judge
from prorubric.judge.readings import Reading
from prorubric.llm.accounting import Prices
from prorubric.llm.journal import Journal
from prorubric.llm.model import YesNoModel
from prorubric.llm.together import run_sync
from prorubric.rubric.base import config_record, render_config
from prorubric.rubric.records import Response, Task
from prorubric.rubric.save import save_tasks
from prorubric.rubric.verdict import (
    NotApplicable,
    Unknown,
    UnknownCounts,
    are_boolean,
)
from prorubric.runs.engines import EngineOptions, Job, run_job
from prorubric.runs.estimate import CHARACTERS_PER_TOKEN, Estimate, Questions, add_up, open_existing, replay_judge
from prorubric.runs.folder import JOURNAL, REJECTS, SUMMARY, TASKS, Setting, claim_folder
from prorubric.runs.inputs import load_all_tasks, pair_responses
from prorubric.runs.models import AnyModel
from prorubric.runs.run import OnProgress, Run, RunResult
from prorubric.runs.stop import stop_on_signals
from prorubric.runs.verdicts import JUDGE_FILES, ROW_SCHEMA, SCORES, SHEET, VERDICTS, SchemeTally, render_judged
from prorubric.runs.votes import VotedResult, VoteTally
from prorubric.text.show import shorten
from prorubric.verbs.score import ScoredResponse, ScoredRun, open_scores

_SHOWN_UNFOUNDED = 3


@config_record
class JudgeRunConfig(TaskOptions, EngineOptions):
    """What is judged, by which model, into which folder, how the judge is asked, how its endpoint is treated."""

    tasks: str
    """Tasks file, or the id of a Hugging Face dataset."""
    responses: Path
    """Responses file."""
    _: KW_ONLY
    judge: Judges
    """Judge, or several: lexical, http://host:port/v1#name, gguf:PATH, smollm2, scripted:FILE, pkg.module:object."""
    out: Path = Path("prorubric-judge")
    """Run folder; run the same command again to finish what is missing."""
    scheme: str = AUTO
    """Comma-separated schemes, all that the tasks allow, or auto: the sum, and ProRubric if there are dimensions."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Judge only the first N responses, to try a judge before paying for all of them."""
    judging: JudgeConfig = field(default_factory=JudgeConfig)

    def __post_init__(self) -> None:
        if self.out.suffix.lower() in (".csv", ".json", ".jsonl", ".parquet"):
            held = f"a folder, with {SHEET} and {SCORES} in it"
            raise ConfigError(f"--out {self.out} is {held}; name it without a suffix")


class JudgeResult(RunResult, VotedResult, ScoredRun):
    """What a run gave and what it cost."""

    unanswered: int
    """Tasks without a response that was judged; 0 if `limit` or a stop ended the run."""
    unread: dict[str, str]
    """Schemes named although the judge cannot read their texts, with the reason; their scores mean nothing."""
    transcripts: int
    """Responses that are transcripts."""
    view: View
    """How much of a transcript the judge was shown."""
    cut_transcripts: int
    """Transcripts that were too long to be shown whole."""
    turns_left_out: int
    """Turns of these that the judge was not shown."""
    addressed: int
    """Responses with text that is addressed to the judge."""
    addressed_kinds: dict[str, int]
    """The same by what it is: an instruction, a verdict, a role, hidden signs."""
    verdicts: int
    quotations: int = 0
    """Verdicts for which the judge quotes the answer, or names a turn of it."""
    unfounded: int = 0
    """Those of them whose quotation does not occur in the answer, or not in the turn that the judge names."""
    first_unfounded: tuple[str, ...] = ()
    """The first of these; all are under `evidence` in verdicts.jsonl."""
    not_applicable_verdicts: int
    """Items that do not apply to the answer, by the judge's own verdict."""
    unknown_verdicts: int
    unknown_reasons: dict[str, int]
    reasks: int | None
    """How often an open item was asked again; None for a judge that gives probabilities, which is asked once."""
    shareable_prompt_tokens: int
    """Of all prompts of the run, what a server with a prefix cache can share between responses (an estimate)."""
    shareable_share: float | None
    """The same as a share of all prompts."""


class JudgeEstimate(Estimate):
    """What a run of `judge` would take."""

    judge: str
    responses: int
    rejected: int
    schemes: tuple[str, ...]
    left_out: dict[str, str]
    unread: dict[str, str]
    all_sent_on: Estimate | None = None
    """What a cascade would take if every item went on to the second judge; the other figures are for none."""


def judge_responses(config: JudgeRunConfig, on_progress: OnProgress | None = None) -> JudgeResult:
    """Judge and score every response of a file into a run folder.

    The first Ctrl-C lets the calls in flight finish, keeps what is complete and raises `KeyboardInterrupt`; the second
    ends the run at once.
    """
    with Run(config, on_progress) as run:
        return run_sync(_judge(config, run))


def estimate_judging(config: JudgeRunConfig) -> JudgeEstimate:
    """Count the calls, tokens and money of a run without making a call."""
    with Run(config) as run:
        return run_sync(_estimate(config, run))


async def _judge(config: JudgeRunConfig, run: Run) -> JudgeResult:
    inputs, tally = _open_inputs(config, run), _Tally()
    setting = Setting(
        verb="judge",
        config=config,
        identity={"judge": identify_judges(inputs.models, config.judging), "subset": config.subset}
        | render_config(config.judging)
        | {"limit": config.limit},
        inputs={"tasks": config.tasks, "responses": config.responses},
        files=JUDGE_FILES,
        grows=("reasks", "limit"),
        until_finished=("content", "limit"),
    )
    journal = config.journal or config.out / JOURNAL
    with claim_folder(config.out, setting) as begin:
        begin(schemes=inputs.schemes)
        save_tasks(config.out / TASKS, inputs.tasks.values())
        with stop_on_signals(run.stop), ExitStack() as stack:
            write_verdicts = stack.enter_context(open_rows(config.out / VERDICTS, ROW_SCHEMA))
            files = (config.out / SCORES, config.out / SHEET)
            write_scores = [stack.enter_context(open_scores(path, inputs.schemes)) for path in files]
            async with aclosing(run_job([*inputs.models], inputs.job, inputs.cases, run, config, journal)) as stream:
                async for judged in stream:
                    if run.stop.asked and judged.is_open:  # it was not asked to the end
                        continue
                    verdicts = {name: found.verdicts for name, found in judged.judgements.items()}
                    scores = score_readings(verdicts, judged.task, inputs.schemes)
                    write_verdicts(render_judged(judged))
                    for write in write_scores:
                        write(ScoredResponse(judged.task.id, judged.response.sample, scores))
                    tally.add(judged, scores)
                    if run.is_watched:
                        note = f"{tally.counts['unknown']:,} verdicts unknown, {run.count_failures():,} calls failed"
                        run.tell(tally.counts["responses"], config.limit, note)
        run.rejects.save(config.out / REJECTS)
        was_cut = run.stop.asked or tally.counts["responses"] == config.limit
        only_probabilities = all(isinstance(model, YesNoModel) for model in inputs.models.values())
        result = JudgeResult(
            folder=str(config.out),
            judge=", ".join(inputs.models),
            unanswered=0 if was_cut else len(inputs.tasks) - len(tally.seen),
            schemes=tally.scores.summarize(inputs.schemes),
            left_out=inputs.left_out,
            unread=inputs.unread,
            view=config.judging.view,
            reasks=None if only_probabilities else config.judging.reasks,
            **tally.describe(),
            **tally.votes.summarize(run.gate.usage, run.gate.prices),
            **run.describe(),
        )
        write_json(config.out / SUMMARY, result.model_dump(mode="json"))
    if run.stop.asked and not run.stop.reason:
        raise KeyboardInterrupt
    return result


def start_judging(
    judging: JudgeConfig, readings: tuple[Reading, ...], names: tuple[str, ...], *models: AnyModel
) -> Callable[[tuple[Task, Response]], Coroutine[Any, Any, Judged]]:
    """The function that judges one response, by one model or by several."""
    judge = make_judge(dict(zip(names, models, strict=True)), judging)

    async def judge_one(case: tuple[Task, Response]) -> Judged:
        task, response = case
        return Judged(task, response, await judge.judge_all(task, response.answer, readings))

    return judge_one


@dataclass(frozen=True, slots=True)
class _Inputs:
    """What a run starts from, read and checked before anything is spent."""

    tasks: dict[str, Task]
    cases: Iterator[tuple[Task, Response]]
    schemes: tuple[str, ...]
    left_out: dict[str, str]
    unread: dict[str, str]
    models: dict[str, AnyModel]
    """By what the user calls them."""
    job: Job[tuple[Task, Response], Judged]


def _open_inputs(config: JudgeRunConfig, run: Run) -> _Inputs:
    """Read the tasks and make the judges; raises before a token is spent and before there is a folder."""
    tasks, judges = load_all_tasks(config, run.rejects), list_judges(config.judge)
    check_functions(tasks.values(), python=config.judging.python_checks)
    weakest = READS_WORDS if READS_WORDS in judges else judges[0]
    schemes, left_out = choose_schemes(config.scheme, list(tasks.values()), check_judging, weakest)
    cases = islice(pair_responses(config.responses, tasks, run.rejects, config.strict), config.limit)
    first = next(cases, None)
    if first is None:
        why = run.rejects.first(str(config.responses)) or "the file is empty"
        raise SourceError(f"{config.responses}: no response could be judged; {why}; {EXAMPLE}")
    unread = split_by_words(schemes)[1] if weakest == READS_WORDS else {}
    models = {name: run.models.make(name) for name in judges}
    job = partial(start_judging, config.judging, list_readings(schemes), judges)
    job(*models.values())  # a prompt file that cannot be used is found now
    return _Inputs(tasks, chain([first], cases), schemes, left_out, unread, models, job)


class _Tally:
    """What has been counted so far."""

    def __init__(self) -> None:
        self.counts, self.reasons, self.scores = Counter[str](), UnknownCounts(), SchemeTally()
        self.seen: set[str] = set()
        self.votes, self.addressing = VoteTally(), Counter[str]()
        self.unfounded: list[str] = []

    def add(self, judged: Judged, scores: dict[str, Score]) -> None:
        left_out = max(found.turns_left_out for found in judged.judgements.values())
        self._count(
            responses=1,
            addressed=bool(judged.addressing),
            transcripts=judged.response.messages is not None,
            cut_transcripts=left_out > 0,
            turns_left_out=left_out,
        )
        for kind in judged.addressing:
            self.addressing[kind] += 1
        for reading, judgement in judged.judgements.items():
            unfounded = [(index, given) for index, given in judgement.evidence.items() if not given.founded]
            if unfounded and len(self.unfounded) < _SHOWN_UNFOUNDED:
                place = f"{judged.task.id}, sample {judged.response.sample}, {reading}"
                for index, given in unfounded:
                    turn = "" if given.turn is None else f"turn {given.turn} "
                    self.unfounded.append(f"{place} {index}: {turn}“{shorten(given.quote)}”")
            special = () if are_boolean(judgement.verdicts) else judgement.verdicts
            unknown = [verdict for verdict in special if isinstance(verdict, Unknown)]
            self._count(
                verdicts=len(judgement.verdicts),
                unknown=len(unknown),
                quotations=len(judgement.evidence),
                unfounded=len(unfounded),
                not_applicable=sum(isinstance(verdict, NotApplicable) for verdict in special),
                prompt=judgement.prompt_characters,
                shareable=judgement.shared_characters if judged.task.id in self.seen else 0,
            )
            self.votes.add(judgement)
            for verdict in unknown:
                self.reasons.add(verdict)
        self.seen.add(judged.task.id)
        self.scores.add(scores)

    def _count(self, **numbers: int) -> None:
        """`Counter.update` is several times slower."""
        for name, number in numbers.items():
            self.counts[name] += number

    def describe(self) -> dict[str, Any]:
        """The fields of a `JudgeResult` that count something."""
        counts = self.counts
        same = ("responses", "transcripts", "cut_transcripts", "turns_left_out", "addressed", "verdicts", "quotations")
        return {
            **{name: counts[name] for name in (*same, "unfounded")},
            "addressed_kinds": dict(self.addressing.most_common()),
            "first_unfounded": tuple(self.unfounded[:_SHOWN_UNFOUNDED]),
            "not_applicable_verdicts": counts["not_applicable"],
            "unknown_verdicts": counts["unknown"],
            "unknown_reasons": self.reasons.summarize(),
            "shareable_prompt_tokens": counts["shareable"] // CHARACTERS_PER_TOKEN,
            "shareable_share": counts["shareable"] / counts["prompt"] if counts["prompt"] else None,
        }


async def _estimate(config: JudgeRunConfig, run: Run) -> JudgeEstimate:
    inputs, responses = _open_inputs(config, run), 0
    with open_existing(config.journal or config.out / JOURNAL) as journal:
        everything = _Count(inputs, journal, config.judging)
        # A first judge that is sure of everything sends nothing on; one that does not answer sends everything on.
        nothing = _Count(inputs, journal, config.judging, is_sure=True) if config.judging.cascade else everything
        for case in inputs.cases:
            for count in {everything, nothing}:
                await count.judge_one(case)
            responses += 1
    await run.models.close(own=False)  # the run may use the same object
    high, low = everything.price(run.gate.prices), nothing.price(run.gate.prices)
    return JudgeEstimate(
        judge=", ".join(inputs.models),
        responses=responses,
        rejected=run.rejects.count,
        schemes=inputs.schemes,
        left_out=inputs.left_out,
        unread=inputs.unread,
        all_sent_on=Estimate(**high) if config.judging.cascade else None,
        **{name: high[name] if name.startswith("most_") else value for name, value in low.items()},
    )


class _Count:
    """Counts what would be asked of each judge."""

    def __init__(
        self, inputs: _Inputs, journal: Journal | None, judging: JudgeConfig, *, is_sure: bool = False
    ) -> None:
        self._models, self._asked = inputs.models, {name: Questions(journal) for name in inputs.models}
        replays = (
            replay_judge(model, self._asked[name], judging, is_sure=is_sure) for name, model in self._models.items()
        )
        self.judge_one = inputs.job(*replays)

    def price(self, prices: Prices) -> dict[str, Any]:
        """The fields of an `Estimate`."""
        return add_up(self._asked[name].price(model.name, prices) for name, model in self._models.items())
