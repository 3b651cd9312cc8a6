"""`run_demo`: the whole way on the sample pack: lint, compile, verdicts given by hand under every scheme, audit, page.

No model, no key, no network, unless a judge is named. The folder is a run of the hand-given verdicts, with the audit in
a folder of its own. An earlier demo is replaced, whoever judged it; anything else is left alone.
"""

from collections import defaultdict
from dataclasses import KW_ONLY, field
from pathlib import Path
from statistics import fmean
from typing import Any

from prorubric.aggregate.schemes import SCHEMES, Scheme, find_scheme
from prorubric.aggregate.score import Score, score
from prorubric.audit.config import AuditConfig
from prorubric.audit.folder import PAGE
from prorubric.audit.records import AuditResult
from prorubric.compile.compare import CompareConfig, compare_tasks
from prorubric.datasets.samples import ANSWER_KINDS, SAMPLE_RESPONSES, SAMPLE_TASKS, SampleAnswer, load_samples
from prorubric.errors import ConfigError
from prorubric.files.write import open_rows, write_json
from prorubric.llm.http import HttpConfig
from prorubric.rubric.base import Record, config_record
from prorubric.rubric.save import save_tasks
from prorubric.rubric.verdict import Verdict
from prorubric.runs.folder import CONFIG, SUMMARY, TASKS, Setting, describe_run, read_setting
from prorubric.runs.run import OnProgress
from prorubric.runs.verdicts import ROW_SCHEMA, SCORES, VERDICTS, render_score_row, render_verdict_row
from prorubric.verbs.audit import audit_rewards
from prorubric.verbs.compile import compile_rubrics
from prorubric.verbs.compile_config import CompileConfig
from prorubric.verbs.lint import LintConfig, LintResult, lint_tasks

_SHOWN_TASKS = 2
_BY_RULES = "by-rules"
_AUDIT = "audit"
_VERB = "demo"
_FILES = (CONFIG, TASKS, VERDICTS, SCORES, SUMMARY)


@config_record
class DemoFiles:
    """Where the demo puts its run folder, and who judges."""

    _: KW_ONLY
    out: Path = Path("prorubric-demo")
    """Folder to write. A folder with anything but an earlier demo in it is left alone."""
    judge: str = "lexical"
    """The judge of the audit: lexical, or a real model such as http://host:port/v1#name."""


@config_record
class DemoConfig(DemoFiles):
    """The demo, and how the endpoint of its judge is treated."""

    _: KW_ONLY
    http: HttpConfig = field(default_factory=HttpConfig)


class TaskScores(Record):
    """The four answers to one task under two schemes."""

    task_id: str
    domain: str | None
    additive: dict[str, float]
    prorubric: dict[str, float]
    padded_note: str


class DemoResult(Record):
    """What the demo found."""

    folder: str
    lint: LintResult
    rules_agreement: float | None
    """How far the dimensions that `rules` makes agree with the pack's own: adjusted Rand index, 1 same, 0 chance."""
    means: dict[str, dict[str, float]]
    """By scheme and kind of answer, the mean score over the 12 tasks."""
    padded_first: dict[str, int]
    """By scheme, in how many of the tasks the padded answer scores higher than the focused one."""
    tasks: tuple[TaskScores, ...]
    audit: AuditResult
    page: str
    """Where the audit can be looked at."""


def run_demo(config: DemoConfig, on_progress: OnProgress | None = None) -> DemoResult:
    """Lint, compile, score and audit the sample pack, into a run folder."""
    _check_folder(config.out)
    config.out.mkdir(parents=True, exist_ok=True)
    if not (config.out / CONFIG).exists():
        # First of all: a demo that was stopped is known as one by it.
        write_json(config.out / CONFIG, _describe(config))
    answers = list(load_samples())
    lint = lint_tasks(LintConfig(str(SAMPLE_TASKS), show=_SHOWN_TASKS))
    scored = {
        name: [score(pick_verdicts(answer, find_scheme(name)), answer.task, name) for answer in answers]
        for name in SCHEMES
    }
    result = DemoResult(
        folder=str(config.out),
        lint=lint,
        rules_agreement=_compare_rules(config.out),
        means={name: _mean_by_kind(answers, scores) for name, scores in scored.items()},
        padded_first={name: _count_padded_first(answers, scores) for name, scores in scored.items()},
        tasks=tuple(_compare_tasks(answers, scored)),
        audit=_audit(config, on_progress),
        page=str(config.out / _AUDIT / PAGE),
    )
    _write_folder(config, answers, scored, result)
    return result


def pick_verdicts(answer: SampleAnswer, scheme: Scheme) -> tuple[Verdict, ...]:
    """The hand-given verdicts of a sample answer that a scheme reads, in its order."""
    return tuple(verdict for reading in scheme.readings for verdict in answer.verdicts[reading.name])


def _compare_rules(folder: Path) -> float | None:
    """Compile the pack with `rules` and see how far its groups are those that people made."""
    compiled = folder / f"{_BY_RULES}.jsonl"
    compile_rubrics(CompileConfig(str(SAMPLE_TASKS), out=compiled, generator="rules", overwrite=True))
    agreement = compare_tasks(CompareConfig(compiled, SAMPLE_TASKS)).agreement
    return agreement.mean if agreement else None


def _audit(config: DemoConfig, on_progress: OnProgress | None) -> AuditResult:
    audited = AuditConfig(
        str(SAMPLE_TASKS),
        SAMPLE_RESPONSES,
        judge=config.judge,
        out=config.out / _AUDIT,
        overwrite=True,
        http=config.http,
    )
    return audit_rewards(audited, on_progress)


def _value(score: Score) -> float:
    # The pack has no unknown verdict, which its tests check; a demo of half a pack would be no demo.
    if score.value is None:
        raise ConfigError("the sample pack is damaged: a verdict is unknown; install the package again")
    return score.value


def _mean_by_kind(answers: list[SampleAnswer], scores: list[Score]) -> dict[str, float]:
    values = defaultdict(list)
    for answer, found in zip(answers, scores, strict=True):
        values[answer.kind].append(_value(found))
    return {kind: fmean(values[kind]) for kind in ANSWER_KINDS}


def _by_task(answers: list[SampleAnswer], scores: list[Score]) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = defaultdict(dict)
    for answer, found in zip(answers, scores, strict=True):
        table[answer.task.id][answer.kind] = _value(found)
    return table


def _count_padded_first(answers: list[SampleAnswer], scores: list[Score]) -> int:
    return sum(row["padded"] > row["focused"] for row in _by_task(answers, scores).values())


def _compare_tasks(answers: list[SampleAnswer], scored: dict[str, list[Score]]) -> list[TaskScores]:
    additive, grouped = _by_task(answers, scored["additive"]), _by_task(answers, scored["prorubric"])
    return [
        TaskScores(
            task_id=answer.task.id,
            domain=answer.task.domain,
            additive=additive[answer.task.id],
            prorubric=grouped[answer.task.id],
            padded_note=answer.note,
        )
        for answer in answers
        if answer.kind == "padded"
    ]


def _check_folder(folder: Path) -> None:
    """Leave alone what is not a demo: our names do not make a file ours, only the settings of a demo beside it do."""
    held = {path.name for path in folder.iterdir() if ".partial" not in path.name} if folder.is_dir() else set()
    strangers = {name for name in held - {_AUDIT, *_FILES} if not name.lstrip(".").startswith(_BY_RULES)}
    strange = strangers or (held and read_setting(folder).get("verb") != _VERB)
    if strange or (folder.exists() and not folder.is_dir()) or not _holds_only_the_pack(folder / _AUDIT):
        raise ConfigError(f"{folder}: holds something that is not a demo; name another folder with --out")


def _holds_only_the_pack(folder: Path) -> bool:
    """False where somebody has audited tasks of their own into the demo's folder, which is to be replaced.

    The pack may lie elsewhere than it did: in another installation.
    """
    tasks = read_setting(folder).get("config", {}).get("tasks")
    return tasks is None or Path(str(tasks)).parts[-2:] == SAMPLE_TASKS.parts[-2:]


def _describe(config: DemoConfig) -> dict[str, Any]:
    about = {"schemes": SCHEMES, "judge": "none: verdicts given by hand"}
    return {**describe_run(Setting(_VERB, config, {})), **about}


def _write_folder(
    config: DemoConfig, answers: list[SampleAnswer], scored: dict[str, list[Score]], result: DemoResult
) -> None:
    verdicts = [render_verdict_row(a.task.id, a.response.sample, a.verdicts) for a in answers]
    scores = [
        render_score_row(answer.task.id, answer.response.sample, {name: scored[name][i] for name in scored})
        for i, answer in enumerate(answers)
    ]
    (config.out / SUMMARY).unlink(missing_ok=True)
    write_json(config.out / CONFIG, _describe(config))
    save_tasks(config.out / TASKS, {answer.task.id: answer.task for answer in answers}.values())
    for name, rows in ((VERDICTS, verdicts), (SCORES, scores)):
        with open_rows(config.out / name, ROW_SCHEMA) as write:
            for row in rows:
                write(row)
    write_json(config.out / SUMMARY, result.model_dump(mode="json"))
