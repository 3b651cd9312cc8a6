"""`evaluate_policies`: answers, then verdicts, then scores, comparisons and a page, all in one folder.

All answers are collected before a judge is asked. Every reply is in the journal, so the same command continues where it
stopped, and policies, benchmarks and judges can be added to a folder later.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, aclosing
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue

from prorubric.datasets.rejects import Rejects
from prorubric.errors import ConfigError, SourceError
from prorubric.evaluate.answers import (
    REFUSED,
    Answered,
    AnswerFile,
    AnswerKey,
    Wanted,
    keep_answer,
    list_keys,
    list_wanted,
    read_answers,
    start_answering,
)
from prorubric.evaluate.benchmarks.base import Loaded
from prorubric.evaluate.benchmarks.planned import load_planned
from prorubric.evaluate.benchmarks.registry import find_benchmark, load_benchmark
from prorubric.evaluate.breakdown import break_down, control_all_styles
from prorubric.evaluate.compare import COMPARISONS, Comparisons, compare_scores
from prorubric.evaluate.instruments import INSTRUMENTS
from prorubric.evaluate.judges import CriterionVerdict, LabelledVerdict
from prorubric.evaluate.judging import (
    BASELINE,
    Case,
    Seen,
    list_cases,
    list_criteria,
    list_pairs,
    record_game,
    score_case,
    start_seeing,
)
from prorubric.evaluate.records import Game, ItemScore, Policy, PolicyAnswer, Sampling
from prorubric.evaluate.sides import Sides
from prorubric.files.json import parse_json
from prorubric.files.read import count_rows, read_rows
from prorubric.files.settings import check_names, read_settings
from prorubric.files.tables import Tabular
from prorubric.files.write import SUFFIXES, WriteRow, hash_file, open_rows, write_json
from prorubric.judge.judge import JudgeConfig
from prorubric.judge.panel import Judges, list_judges
from prorubric.llm.http import HttpConfig
from prorubric.llm.local import import_optional
from prorubric.llm.make import require_text
from prorubric.llm.model import Request, YesNoModel
from prorubric.llm.together import run_sync
from prorubric.report.evaluation_figures import FOLDER as FIGURES
from prorubric.report.evaluation_figures import write_evaluation_figures
from prorubric.report.evaluation_page import write_evaluation_page
from prorubric.report.evaluation_tables import FOLDER as TABLES
from prorubric.report.evaluation_tables import write_evaluation_tables
from prorubric.rubric.base import Record, config_record, render_config
from prorubric.rubric.verdict import Verdict, parse_verdict, render_verdicts
from prorubric.runs.engines import EngineOptions, run_job
from prorubric.runs.estimate import Estimate, Questions, Replay, add_up, open_existing, replay_judge
from prorubric.runs.folder import JOURNAL, REJECTS, SUMMARY, Setting, claim_folder
from prorubric.runs.models import AnyModel
from prorubric.runs.run import OnProgress, Run, RunResult
from prorubric.runs.stop import stop_on_signals
from prorubric.runs.verdicts import ROW_SCHEMA

ANSWERS, VERDICTS, SCORES, GAMES = "answers.jsonl", "verdicts.jsonl", "scores.jsonl", "games.jsonl"
REPEATS = "repeats.jsonl"
DATA, PAGE, INSPECT = "data.json", "report.html", "inspect"
_FILES = (ANSWERS, VERDICTS, SCORES, GAMES, REPEATS, DATA, COMPARISONS, PAGE, SUMMARY, REJECTS)
_ANSWER_SUFFIXES = (*SUFFIXES, ".csv", ".gz", ".zst")
_USUAL_ANSWER, _USUAL_TOKENS = 2500, 600
_STOPPED = "not asked before the run was stopped"


def read_policies(value: Any) -> tuple[Any, ...]:
    """One policy or several, as `NAME=SPEC` or as a mapping with name, spec, group and seed."""
    given = value if isinstance(value, list | tuple) else (value,)
    read: list[object] = []
    for one in given:
        name, equals, spec = one.partition("=") if isinstance(one, str) else ("", "=", "")
        if not equals or (isinstance(one, str) and not (name.strip() and spec.strip())):
            lacks = "model or file" if equals and name.strip() else "name"
            raise ConfigError(f"the policy {one!r} has no {lacks}", remedy="write NAME=SPEC, as in base=answers.jsonl")
        read.append({"name": name.strip(), "spec": spec.strip()} if isinstance(one, str) else one)
    return tuple(read)


def _read_compare(value: object) -> object:
    """`first:second` as well as lists of two."""
    given = (value,) if isinstance(value, str) else value
    if not isinstance(given, list | tuple):
        return value
    pairs = [tuple(pair.split(":")) if isinstance(pair, str) else pair for pair in given]
    for pair, one in zip(pairs, given, strict=True):
        if isinstance(pair, list | tuple) and len(pair) != 2:
            raise ConfigError(f"compare takes two names at a time, not {one!r}", remedy="write new:old")
    return tuple(pairs)


@config_record
class EvaluateConfig(EngineOptions):
    """Which policies, on which benchmarks, judged by whom, and how they are compared."""

    benchmarks: tuple[str, ...] = ()
    """Benchmarks, or one suite file (YAML or TOML) with these options as fields; `--list` shows the benchmarks."""
    _: KW_ONLY
    policy: Annotated[tuple[Policy, ...], BeforeValidator(read_policies)] = ()
    """NAME=SPEC, once for each policy: a file of answers, an endpoint, gguf:PATH or the folder of a checkpoint."""
    judge: Judges | None = None
    """Judge, or several: each judges everything independently."""
    data_dir: Path = Path("data")
    """Folder with the benchmark files."""
    out: Path = Path("prorubric-evaluate")
    """Run folder; run the same command again to finish what is missing."""
    profile: Literal["shared", "upstream"] = "shared"
    """Sample all policies with the same settings, or with each benchmark's published settings."""
    sampling: Sampling = field(default_factory=Sampling)
    samples: Annotated[int, Field(ge=1)] | None = None
    """Answers per item; by default the benchmark's own number."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Use only N items of each benchmark, always the same ones."""
    compare: Annotated[tuple[tuple[str, str], ...], BeforeValidator(_read_compare)] = ()
    """Policies or groups to compare, as in new:old; by default all with the baseline, or all with each other."""
    baseline: str | None = None
    """Policy to compare the others with."""
    pairing: Literal["table", "pair"] = "table"
    """Compare on the items that all policies of a table share, or on those that each pair shares."""
    family: Literal["table", "judge"] = "table"
    """Apply Holm's correction to the differences of one table, or to all of one judge."""
    repeat_judging: Annotated[int, Field(ge=0)] = 0
    """Judge this many answers of each benchmark twice, to measure the consistency of the judge."""
    style_control: bool = False
    """Arena-Hard: also give scores as if all answers had the usual length and markup."""
    resamples: Annotated[int, Field(ge=1)] = 10_000
    """Number of bootstrap draws."""
    only: Literal["answers", "judging", "report"] | None = None
    """Stop after the answers, or after judging; or only redo the report from the folder."""
    inspect_log: bool = False
    """Also write the run as logs for `inspect view`; needs the extra `[eval]`."""
    judging: JudgeConfig = field(default_factory=JudgeConfig)

    def __post_init__(self) -> None:
        Sides.of(self.policy, self.compare, self.baseline)  # refuses names that do not exist


class Unfinished(Record):
    """Calls that failed: the stage has to be run again."""

    stage: str
    open: int
    """Answers that are missing, or that a judge still has to see."""
    reasons: dict[str, int]
    """By kind; an answer that a judge failed at in two ways is in both."""


class EvaluationResult(Tabular, RunResult):
    """What an evaluation found."""

    folder: str
    policies: tuple[str, ...]
    judges: tuple[str, ...]
    answers: int
    unfinished: tuple[Unfinished, ...] = ()
    left_out: dict[str, dict[str, int]] = Field(default_factory=dict)
    """By benchmark, items that cannot be used, by reason."""
    reject_kinds: dict[str, int] = Field(default_factory=dict)
    """Rows of files of answers that were not used, by kind."""
    comparisons: Comparisons | None = None
    """None if a stage is unfinished."""
    page: str | None = None
    inspect_logs: tuple[str, ...] = ()
    """One for each benchmark, judge and policy, if they were asked for."""

    def to_rows(self) -> list[dict[str, JsonValue]]:
        """One row a policy on a benchmark under a judge, in points; none if a stage is unfinished."""
        return [
            {
                "benchmark": table.benchmark,
                "judge": table.judge,
                "policy": arm.policy,
                "score": arm.headline,
                "low": arm.low,
                "high": arm.high,
                "items": table.common,
                "lost": arm.lost,
            }
            for table in (self.comparisons.tables if self.comparisons else ())
            for arm in table.arms
        ]


class EvaluationEstimate(Estimate):
    """What an evaluation would take, and its parts by benchmark."""

    parts: dict[str, Estimate]
    """By benchmark and model."""


def load_suite(path: Path, **options: Any) -> EvaluateConfig:
    """The config in a suite file, with options that win over its fields."""
    try:
        return make_suite({**read_settings(path, "suite", "benchmarks: [medqa]"), **options})
    except ConfigError as error:
        raise error.at(path) from None


def make_suite(found: Mapping[str, Any]) -> EvaluateConfig:
    """The config of a suite from its fields."""
    check_names(found, [option.name for option in fields(EvaluateConfig) if option.name != "_"], "a suite")
    for name, part in (("judging", JudgeConfig), ("http", HttpConfig), ("sampling", Sampling)):
        if isinstance(found.get(name), Mapping):
            check_names(found[name], [option.name for option in fields(part)], name)
    benchmarks = found.get("benchmarks", ())
    return EvaluateConfig(**{**found, "benchmarks": (benchmarks,) if isinstance(benchmarks, str) else benchmarks})


def evaluate_policies(config: EvaluateConfig, on_progress: OnProgress | None = None) -> EvaluationResult:
    """Answer, judge, compare and draw, or what is missing of it.

    The first Ctrl-C lets the calls in flight finish and raises `KeyboardInterrupt`; the second ends the run at once.
    """
    with Run(config, on_progress) as run:
        return run_sync(_evaluate(config, run))


def check_evaluation(config: EvaluateConfig) -> None:
    """Raise `ProRubricError` if its benchmarks, judges or policies cannot be used; no call is made."""
    with Run(config) as run:
        _open_inputs(config, run)


def estimate_evaluation(config: EvaluateConfig, planned: Collection[str] = ()) -> EvaluationEstimate:
    """Count the calls, tokens and money by benchmark without making a call.

    The benchmarks in `planned` are counted by their published sizes, without their files.
    """
    with Run(config) as run:
        return run_sync(_estimate(config, run, planned))


@dataclass(frozen=True, slots=True)
class _Inputs:
    """What a run starts from, read and checked before anything is spent."""

    loaded: tuple[Loaded, ...]
    judges: tuple[str, ...]
    asked: tuple[Policy, ...]
    """Policies that are models."""
    files: tuple[Policy, ...]
    """Policies that are files of answers."""
    sampling: Sampling | None
    """None if each benchmark has its own."""
    sides: Sides
    identity: dict[str, Any]

    def list_wanted(self, samples: int | None) -> Iterator[Wanted]:
        """The answers that are asked for."""
        paired = {name for pair in list_pairs(self.sides) for name in pair}
        return list_wanted(self.loaded, self.asked, paired, self.sampling, samples)


def _open_inputs(config: EvaluateConfig, run: Run, planned: Collection[str] = ()) -> _Inputs:
    if not config.benchmarks:
        raise ConfigError("no benchmark is named", remedy="prorubric evaluate --list shows them")
    if config.inspect_log:
        import_optional("inspect_ai", "--inspect-log", "eval")
    found = [find_benchmark(name) for name in dict.fromkeys(config.benchmarks)]
    judges = list_judges(config.judge) if config.judge else ()
    sides = Sides.of(config.policy, config.compare, config.baseline)
    for benchmark in found:
        kind = INSTRUMENTS[benchmark.instrument].kind
        if kind != "choice" and not judges:
            raise ConfigError(
                f"{benchmark.name} needs a judge", remedy="name one with --judge, http://host:port/v1#name"
            )
        if kind != "labels" and not config.policy:
            raise ConfigError(f"{benchmark.name} needs a policy", remedy="name one with --policy, as in new=new.jsonl")
        if kind == "pairs" and not list_pairs(sides):
            remedy = "name two policies or groups, with the same seeds if both have seeds"
            raise ConfigError(f"{benchmark.name} needs two policies to compare", remedy=remedy)
    files = tuple(policy for policy in config.policy if policy.spec.lower().endswith(_ANSWER_SUFFIXES))
    for policy in files:
        if not Path(policy.spec).is_file():
            raise SourceError(f"{policy.spec}: no such file; check the path of the policy {policy.name}")
    asked = tuple(policy for policy in config.policy if policy not in files)
    models = {policy.name: require_text(run.models.make(policy.spec)) for policy in asked}
    for judge in judges:
        start_seeing(config.judging, run.models.make(judge))  # a prompt file that cannot be used is found now
    here = (benchmark for benchmark in found if benchmark.name not in planned)
    loaded = (
        *(load_benchmark(benchmark, config.data_dir, config.limit) for benchmark in here),
        *load_planned((benchmark for benchmark in found if benchmark.name in planned), config.limit),
    )
    sampling = config.sampling if config.profile == "shared" else None
    identity = {
        "policy": {policy.name: str(hash_file(Path(policy.spec))) for policy in files}
        | {name: model.identity for name, model in models.items()},
        "judge": {judge: run.models.make(judge).identity for judge in judges},
        "data": {one.benchmark.name: [file.sha256 for file in one.files] for one in loaded},
        "profile": config.profile,
        "sampling": sampling and render_config(sampling),
        "samples": config.samples,
        "limit": config.limit,
        **render_config(config.judging),
    }
    return _Inputs(loaded, judges, asked, files, sampling, sides, identity)


async def _evaluate(config: EvaluateConfig, run: Run) -> EvaluationResult:
    inputs, summary = _open_inputs(config, run), config.out / SUMMARY
    if config.only == "report":
        last = parse_json(summary.read_bytes()) if summary.is_file() else {}
        if not last or last["unfinished"] or last["stopped"]:  # what is open would be left out without a word
            raise ConfigError(f"{config.out}: holds no finished run", remedy="run the command without --only first")
    setting = Setting(
        verb="evaluate",
        config=config,
        identity=inputs.identity,
        files=_FILES if config.only != "report" else (COMPARISONS, PAGE),
        grows=("policy", "judge", "data", "limit", "reasks"),
        until_finished=("limit",),
    )
    unfinished: list[Unfinished] = []
    with claim_folder(config.out, setting) as begin:
        begin()
        for name in (TABLES, FIGURES):
            rmtree(config.out / name, ignore_errors=True)
        write_json(config.out / DATA, {one.benchmark.name: one.describe() for one in inputs.loaded})
        with stop_on_signals(run.stop):
            if config.only != "report":
                unfinished += await _answer(config, inputs, run)
                if not unfinished and config.only != "answers":
                    unfinished += await _judge(config, inputs, run)
        comparisons, is_whole = None, not (unfinished or run.stop.asked or config.only in ("answers", "judging"))
        if is_whole:
            comparisons = _compare(config, inputs)
            write_json(config.out / COMPARISONS, comparisons.model_dump(mode="json"))
        if config.only != "report":
            run.rejects.save(config.out / REJECTS)
        result = EvaluationResult(
            folder=str(config.out),
            policies=tuple(policy.name for policy in config.policy),
            judges=inputs.judges,
            answers=(count_rows(config.out / ANSWERS) or 0) if (config.out / ANSWERS).exists() else 0,
            unfinished=tuple(unfinished),
            left_out={one.benchmark.name: dict(one.left_out) for one in inputs.loaded if one.left_out},
            reject_kinds=dict(run.rejects.kinds.most_common()),
            comparisons=comparisons,
            page=str(config.out / PAGE) if is_whole else None,
            inspect_logs=await _write_inspect_logs(config, inputs) if is_whole and config.inspect_log else (),
            **run.describe(),
        )
        write_json(summary, result.model_dump(mode="json"))
        if comparisons is not None:
            write_evaluation_tables(config.out, comparisons)
            write_evaluation_figures(config.out, comparisons)
            write_evaluation_page(config.out, comparisons, _describe_settings(config, inputs), run.describe())
    if run.stop.asked and not run.stop.reason:
        raise KeyboardInterrupt
    return result


async def _answer(config: EvaluateConfig, inputs: _Inputs, run: Run) -> list[Unfinished]:
    """Write every answer; calls that failed are left open, and so are those of a policy that refuses every prompt."""
    wanted = [*inputs.list_wanted(config.samples)]
    reasons, done, has_replied = Counter[str](), 0, set[str]()
    refused: dict[str, list[Answered]] = defaultdict(list)
    with open_rows(config.out / ANSWERS, ROW_SCHEMA) as write:
        for policy in inputs.files:
            keys = dict.fromkeys(key for one in inputs.loaded for key, _ in list_keys(one, policy.name, config.samples))
            found_any = False
            for answer in read_answers(policy, keys, run.rejects):
                found_any = True
                write(answer.model_dump(mode="json"))
            if keys and not found_any:
                shown = f"such as {next(iter(keys)).item}"
                raise SourceError("no row answers an item", shown, remedy="check the ids", place=policy.spec)
        names, models = [policy.name for policy in inputs.asked], [policy.spec for policy in inputs.asked]
        job = partial(start_answering, names)
        async with aclosing(run_job(models, job, wanted, run, config, config.journal or config.out / JOURNAL)) as found:
            async for asked in found:
                done += 1
                kept = keep_answer(asked)
                if kept is None:
                    reasons[getattr(asked.outcome, "reason", "")] += 1
                elif kept.finish == REFUSED:
                    refused[kept.policy].append(asked)
                else:
                    has_replied.add(kept.policy)
                    write(kept.model_dump(mode="json"))
                run.tell(done, len(wanted), f"answers, {reasons.total():,} calls failed")
        for name, calls in refused.items():
            for asked in calls:
                if name in has_replied and (kept := keep_answer(asked)) is not None:
                    write(kept.model_dump(mode="json"))
                else:
                    reasons[f"{name} refuses every prompt: {getattr(asked.outcome, 'reason', '')}"] += 1
    if done < len(wanted):
        reasons[_STOPPED] += len(wanted) - done
    return [Unfinished(stage="answers", open=reasons.total(), reasons=dict(reasons))] if reasons else []


async def _judge(config: EvaluateConfig, inputs: _Inputs, run: Run) -> list[Unfinished]:
    """Write what every judge says about every answer; cases whose calls failed are left open."""
    answers, reasons, done, failed = AnswerFile(config.out / ANSWERS), Counter[str](), 0, 0
    with ExitStack() as stack:
        names = (VERDICTS, SCORES, GAMES, REPEATS)
        write = {name: stack.enter_context(open_rows(config.out / name, ROW_SCHEMA)) for name in names}
        for case in _list_all_cases(config, inputs, answers):
            _record(Seen(case), "", write)
        models = {judge: run.models.make(judge) for judge in inputs.judges}
        total = sum(1 for judge in models.values() for _ in _list_all_cases(config, inputs, answers, judge))
        for judge, model in models.items():
            cases = _list_all_cases(config, inputs, answers, model)
            job, journal = partial(start_seeing, config.judging), config.journal or config.out / JOURNAL
            async with aclosing(run_job([judge], job, cases, run, config, journal)) as found:
                async for seen in found:
                    done += 1
                    if seen.failed:
                        failed += 1
                        reasons.update(seen.failed)
                    else:
                        _record(seen, judge, write)
                    run.tell(done, total, f"judged, {run.count_failures():,} calls failed")
    if done < total:
        reasons[_STOPPED] += total - done
    return [Unfinished(stage="judging", open=failed + total - done, reasons=dict(reasons))] if reasons else []


def _list_all_cases(
    config: EvaluateConfig, inputs: _Inputs, answers: AnswerFile, judge: AnyModel | None = None
) -> Iterator[Case]:
    """The cases that a judge has to see, or without one those of multiple choice.

    A judge that gives probabilities says the same twice, and is not asked.
    """
    repeated = 0 if judge is None or isinstance(judge, YesNoModel) else config.repeat_judging
    for one in inputs.loaded:
        if (INSTRUMENTS[one.benchmark.instrument].kind == "choice") == (judge is None):
            yield from list_cases(one, answers, inputs.sides, config.samples, repeated)


def _record(seen: Seen, judge: str, write: Mapping[str, WriteRow]) -> None:
    case = seen.case
    game, score = record_game(seen, judge), score_case(seen, judge)
    if game is not None and not case.repeat:
        write[GAMES](game.model_dump(mode="json"))
    if seen.verdicts:
        row: dict[str, Any] = {"benchmark": case.benchmark, "judge": judge, "policy": case.answer.policy}
        row |= {"item": case.item.id, "sample": case.answer.sample, "verdicts": render_verdicts(seen.verdicts)}
        write[VERDICTS](row | ({"repeat": case.repeat} if case.repeat else {}))
    if score is not None:
        write[REPEATS if case.repeat else SCORES](score.model_dump(mode="json"))


def _compare(config: EvaluateConfig, inputs: _Inputs) -> Comparisons:
    """Compare what the files of the folder hold."""
    scores = [ItemScore(**row) for row in _read_folder(config.out / SCORES, inputs)]
    games = [Game(**row) for row in _read_folder(config.out / GAMES, inputs)]
    said: dict[tuple[str, str, str], dict[tuple[str, int], tuple[Verdict, ...]]] = defaultdict(dict)
    for row in _read_folder(config.out / VERDICTS, inputs):
        if not row.get("repeat"):
            given = tuple(map(parse_verdict, row["verdicts"]))
            said[row["benchmark"], row["judge"], row["policy"]][row["item"], row["sample"]] = given
    verdicts, labelled = _name_verdicts(said, inputs.loaded)
    found = compare_scores(
        scores,
        config.policy,
        compare=config.compare,
        baseline=config.baseline,
        pairing=config.pairing,
        family=config.family,
        resamples=config.resamples,
        games=games,
        verdicts=verdicts,
        labelled=labelled,
        repeats=[ItemScore(**row) for row in _read_folder(config.out / REPEATS, inputs)],
        pools={one.benchmark.name: len(one.items) for one in inputs.loaded},
    )
    answers = AnswerFile(config.out / ANSWERS)
    style = control_all_styles(inputs.loaded, games, answers) if config.style_control else ()
    return found.model_copy(update={"tags": break_down(inputs.loaded, scores, said), "style": style})


async def _write_inspect_logs(config: EvaluateConfig, inputs: _Inputs) -> tuple[str, ...]:
    from prorubric.evaluate.inspect_log import write_logs  # noqa: PLC0415 - loads an optional library

    verdicts = {
        (row["benchmark"], row["judge"], row["policy"], row["item"], row["sample"]): row["verdicts"]
        for row in _read_folder(config.out / VERDICTS, inputs)
        if not row.get("repeat")
    }
    answers = AnswerFile(config.out / ANSWERS)
    scores = (ItemScore(**row) for row in _read_folder(config.out / SCORES, inputs))
    written = await write_logs(config.out / INSPECT, inputs.loaded, config.policy, answers, scores, verdicts)
    return tuple(map(str, written))


def _read_folder(path: Path, inputs: _Inputs) -> Iterator[dict[str, Any]]:
    """The rows on what the command names; the folder may hold more policies, judges, benchmarks and items."""
    items = {one.benchmark.name: {item.id for item in one.items} for one in inputs.loaded}
    policies, judges = {*inputs.sides.policies, BASELINE, ""}, {*inputs.judges, ""}
    if not path.is_file():
        raise SourceError(f"{path}: no such file; run the command without --only first")
    for row in read_rows(path):
        if row.value is None:
            raise SourceError(f"{path}:{row.line}: {row.fault}; remove the file and run the command again")
        named = {row.value.get(key, "") for key in ("policy", "first", "second")}
        is_named = row.value["judge"] in judges and named <= policies
        if is_named and row.value["item"] in items.get(row.value["benchmark"], ()):
            yield row.value


def _name_verdicts(
    said: Mapping[tuple[str, str, str], Mapping[tuple[str, int], tuple[Verdict, ...]]], benchmarks: Iterable[Loaded]
) -> tuple[list[CriterionVerdict], list[LabelledVerdict]]:
    """Verdicts with their criteria, for how far judges disagree, and those on answers that people have judged.

    They are given by benchmark, judge and policy, then by item and sample.
    """
    loaded = {
        one.benchmark.name: ({item.id: item for item in one.items}, one.benchmark.instrument) for one in benchmarks
    }
    verdicts, labelled = list[CriterionVerdict](), list[LabelledVerdict]()
    for (benchmark, judge, policy), rows in said.items():
        items, instrument = loaded[benchmark]
        for (name, sample), given in rows.items():
            item = items[name]
            met = [verdict if isinstance(verdict, bool) else None for verdict in given]
            if item.labels:
                theme = next((tag.removeprefix("theme:") for tag in item.tags), "")
                labels = tuple(label for _, label in item.labels)
                labelled.append(LabelledVerdict(judge, name, item.category, theme, item.cluster, met[0], labels))
            else:
                verdicts += [
                    CriterionVerdict(benchmark, judge, policy, name, sample, *criterion, own)
                    for criterion, own in zip(list_criteria(item, instrument), met, strict=True)
                ]
    return verdicts, labelled


def _describe_settings(config: EvaluateConfig, inputs: _Inputs) -> dict[str, Any]:
    """What the page says about how the figures came about."""
    policies = {policy.name: policy.spec for policy in config.policy}
    sampling = render_config(inputs.sampling) if inputs.sampling else {"profile": "each benchmark's own"}
    names = dict.fromkeys(prompt for one in inputs.loaded for prompt in INSTRUMENTS[one.benchmark.instrument].prompts)
    files = config.judging.prompt_file
    prompts = {name: f"{files[name]} ({hash_file(files[name])})" if name in files else "ours" for name in names}
    data = {
        f"{one.benchmark.name}, {file.name}": f"{file.sha256}, "
        + {
            True: "the published file",
            False: "not the published file",
            None: "checksum of the published file not known",
        }[file.is_published]
        for one in inputs.loaded
        for file in one.files
    }
    judging = render_config(config.judging) | {"judges": ", ".join(inputs.judges)}
    left_out = {f"{one.benchmark.name}, {why}": number for one in inputs.loaded for why, number in one.left_out.items()}
    return {
        "policies": policies,
        "sampling": sampling,
        "judging": judging,
        "prompts": prompts,
        "data": data,
        "items left out": left_out,
    }


class _Pretended(dict[AnswerKey, PolicyAnswer]):
    """Answers as a dry run has them: those that exist, and texts of usual length in place of the others."""

    def read(self, keys: Iterable[AnswerKey]) -> Iterator[PolicyAnswer]:
        """Those of the answers that exist, in order."""
        return (self[key] for key in keys if key in self)


async def _estimate(config: EvaluateConfig, run: Run, planned: Collection[str]) -> EvaluationEstimate:
    inputs = _open_inputs(config, run, planned)
    answers, parts = _Pretended(), dict[str, Estimate]()
    seen: dict[str, set[bytes]] = defaultdict(set)
    specs = {policy.name: policy.spec for policy in inputs.asked}

    def add(name: str, found: Estimate, times: int) -> None:
        many = {field: value and value * times for field, value in found.model_dump().items()}
        before = parts[name].model_dump() if name in parts else add_up(())
        parts[name] = Estimate(**add_up((before, many)))

    every = {wanted.key: wanted for wanted in inputs.list_wanted(config.samples)}
    with open_existing(config.journal or config.out / JOURNAL) as journal:
        for one in inputs.loaded if config.only != "report" else ():
            name = one.benchmark.name
            asked = {spec: Questions(journal, _asked=seen[spec]) for spec in dict.fromkeys(specs.values())}
            replays = [
                Replay(
                    require_text(run.models.make(spec)),
                    asked[spec],
                    usual=lambda _: _USUAL_TOKENS,
                    retries=lambda _: 0,
                    pretend=partial(_pretend_answer, spec),
                )
                for spec in specs.values()
            ]
            answer = start_answering([*specs], *replays)
            for policy in inputs.asked:
                for key, _ in list_keys(one, policy.name, config.samples):
                    is_wanted = key in every and key not in answers
                    if is_wanted and (kept := keep_answer(await answer(every[key]))) is not None:
                        answers[key] = kept
            for policy in inputs.files:
                keys = [key for key, _ in list_keys(one, policy.name, config.samples)]
                if name in planned:  # its file is taken to have an answer to each of the real items
                    texts = {key: f"{policy.name} {key.sample} {key.item} ".ljust(_USUAL_ANSWER, "x") for key in keys}
                    read: Iterable[PolicyAnswer] = (
                        PolicyAnswer(**key._asdict(), text=text) for key, text in texts.items()
                    )
                else:
                    read = read_answers(policy, keys, Rejects())
                answers |= {AnswerKey(policy.name, kept.item, kept.sample, kept.budget): kept for kept in read}
            for spec, found in asked.items():
                add(f"{name}: answers of {spec}", _price(found, run, spec), one.stands_for)
            is_judged = config.only != "answers" and INSTRUMENTS[one.benchmark.instrument].kind != "choice"
            for judge in inputs.judges if is_judged else ():
                model, questions = run.models.make(judge), Questions(journal, _asked=seen[judge])
                see = start_seeing(config.judging, replay_judge(model, questions, config.judging))
                repeated = 0 if isinstance(model, YesNoModel) else config.repeat_judging
                for case in list_cases(one, answers, inputs.sides, config.samples, repeated):
                    await see(case)
                add(f"{name}: {judge}", _price(questions, run, judge), one.stands_for)
    await run.models.close(own=False)
    return EvaluationEstimate(parts=parts, **add_up(part.model_dump() for part in parts.values()))


def _price(questions: Questions, run: Run, spec: str) -> Estimate:
    return Estimate(**questions.price(run.models.make(spec).name, run.gate.prices))


def _pretend_answer(spec: str, request: Request) -> str:
    """A text of usual length that no other answer equals."""
    asked = f"{spec} {request.draw} {request.max_tokens} {request.messages[-1].content} "
    return asked.ljust(_USUAL_ANSWER, "x")
