"""`run_demo`: lint, compile, score and audit the sample pack, with verdicts given by hand.

It needs no model, no key and no network, unless a judge is named. The folder is a run of the hand-given verdicts, with
the audit in a folder inside it. An earlier demo is replaced; anything else is left alone.
"""

from collections import defaultdict
from dataclasses import KW_ONLY, field
from pathlib import Path
from statistics import fmean

from prorubric.aggregate.choose import score_readings
from prorubric.aggregate.schemes import SCHEMES, find_scheme
from prorubric.audit.config import AuditConfig
from prorubric.audit.folder import PAGE
from prorubric.audit.records import AuditResult
from prorubric.compile.compare import compare_tasks
from prorubric.datasets.samples import ANSWER_KINDS, SAMPLE_RESPONSES, SAMPLE_TASKS, load_samples
from prorubric.errors import ConfigError
from prorubric.files.write import open_rows, write_json
from prorubric.llm.http import HttpConfig
from prorubric.rubric.base import Record, config_record
from prorubric.rubric.save import save_tasks
from prorubric.runs.folder import CONFIG, SUMMARY, TASKS, Setting, describe_run, read_setting
from prorubric.runs.run import OnProgress
from prorubric.runs.verdicts import ROW_SCHEMA, SCORES, VERDICTS, render_score_row, render_verdict_row
from prorubric.verbs.audit import audit_rewards
from prorubric.verbs.compile import CompileConfig, compile_rubrics
from prorubric.verbs.lint import LintConfig, LintResult, lint_tasks

_SHOWN_TASKS = 2
_VERB, _AUDIT, _BY_RULES = "demo", "audit", "by-rules"
_FILES = (CONFIG, TASKS, VERDICTS, SCORES, SUMMARY)


@config_record
class DemoConfig:
    """Where the demo puts its run folder, who judges, and how the judge's endpoint is treated."""

    _: KW_ONLY
    out: Path = Path("prorubric-demo")
    """Folder to write; it must be new, empty or from an earlier demo."""
    judge: str = "lexical"
    """Judge for the audit: lexical, or a real model such as http://host:port/v1#name."""
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


def run_demo(config: DemoConfig, on_progress: OnProgress | None = None) -> DemoResult:
    """Lint, compile, score and audit the sample pack, into a run folder."""
    _check_folder(config.out)
    config.out.mkdir(parents=True, exist_ok=True)
    answers = list(load_samples())
    tables: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    # A scheme that reads something else has no verdicts in the pack.
    schemes = [name for name in SCHEMES if all(r.name in answers[0].verdicts for r in find_scheme(name).readings)]
    about = {"schemes": schemes, "judge": "none: verdicts given by hand"}
    # Written first, so a demo that was stopped is still recognised as one.
    write_json(config.out / CONFIG, {**describe_run(Setting(_VERB, config, {})), **about})
    (config.out / SUMMARY).unlink(missing_ok=True)
    compiled = config.out / f"{_BY_RULES}.jsonl"
    compile_rubrics(CompileConfig(str(SAMPLE_TASKS), out=compiled, generator="rules", overwrite=True))
    agreement = compare_tasks(compiled, SAMPLE_TASKS).agreement
    scored = [score_readings(answer.verdicts, answer.task, schemes) for answer in answers]
    for answer, scores in zip(answers, scored, strict=True):
        for name, found in scores.items():
            if found.value is None:
                raise ConfigError("the sample pack is damaged: a verdict is unknown; install the package again")
            tables[name][answer.task.id][answer.kind] = found.value
    out = config.out / _AUDIT
    audit = AuditConfig(
        str(SAMPLE_TASKS), SAMPLE_RESPONSES, judge=config.judge, out=out, overwrite=True, http=config.http
    )
    result = DemoResult(
        folder=str(config.out),
        lint=lint_tasks(LintConfig(str(SAMPLE_TASKS), show=_SHOWN_TASKS)),
        rules_agreement=agreement.mean if agreement else None,
        means={
            name: {kind: fmean(row[kind] for row in rows.values()) for kind in ANSWER_KINDS}
            for name, rows in tables.items()
        },
        padded_first={name: sum(row["padded"] > row["focused"] for row in tables[name].values()) for name in tables},
        tasks=tuple(
            TaskScores(
                task_id=answer.task.id,
                domain=answer.task.domain,
                additive=tables["additive"][answer.task.id],
                prorubric=tables["prorubric"][answer.task.id],
                padded_note=answer.note,
            )
            for answer in answers
            if answer.kind == "padded"
        ),
        audit=audit_rewards(audit, on_progress),
        page=str(out / PAGE),
    )
    save_tasks(config.out / TASKS, {answer.task.id: answer.task for answer in answers}.values())
    verdicts_file, scores_file = (open_rows(config.out / name, ROW_SCHEMA) for name in (VERDICTS, SCORES))
    with verdicts_file as write_verdicts, scores_file as write_scores:
        for answer, scores in zip(answers, scored, strict=True):
            write_verdicts(render_verdict_row(answer.task.id, answer.response.sample, answer.verdicts))
            write_scores(render_score_row(answer.task.id, answer.response.sample, scores))
    write_json(config.out / SUMMARY, result.model_dump(mode="json"))
    return result


def _check_folder(folder: Path) -> None:
    """Refuse a folder that holds anything but a demo: file names alone do not make it one, only its settings do."""
    held = {path.name for path in folder.iterdir() if ".partial" not in path.name} if folder.is_dir() else set()
    others = {name for name in held - {_AUDIT, *_FILES} if not name.lstrip(".").startswith(_BY_RULES)}
    is_other = (
        others or (held and read_setting(folder).get("verb") != _VERB) or (folder.exists() and not folder.is_dir())
    )
    # The audit in it is replaced, so it has to be one of the pack, which may lie in another installation by now.
    audited = read_setting(folder / _AUDIT).get("config", {}).get("tasks")
    is_ours = audited is None or Path(str(audited)).parts[-2:] == SAMPLE_TASKS.parts[-2:]
    if is_other or not is_ours:
        raise ConfigError(f"{folder}: holds something that is not a demo; choose another --out")
