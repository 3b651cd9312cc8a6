"""`audit_rewards`: what a reward pays for, measured on a file of rubrics before training, into a run folder.

Answers are judged, edited, and judged again with every edit, with controls (the answer again, garbage, an answer to
another prompt) and with probes of what naming buys. What could not be read, answered, edited or judged is counted with
its reason.
"""

from collections.abc import Mapping
from typing import Any

from prorubric.aggregate.choose import READS_WORDS
from prorubric.audit.cases import first_cases
from prorubric.audit.config import AuditConfig
from prorubric.audit.editors import Editor, make_editor
from prorubric.audit.estimate import AuditEstimate, estimate_calls
from prorubric.audit.examine import examine
from prorubric.audit.folder import AUDIT_FILES, REPORT_FILES, write_cases
from prorubric.audit.prepare import (
    NO_DIMENSIONS,
    check_asked,
    check_models,
    choose_kinds,
    choose_tasks,
    is_grouped_by_rules,
    open_models,
    prepare,
)
from prorubric.audit.records import AuditResult
from prorubric.audit.summary import summarize_audit
from prorubric.files.json import parse_json
from prorubric.files.write import write_json
from prorubric.judge.checks import check_functions
from prorubric.judge.panel import identify_judges, list_judges
from prorubric.llm.journal import Journal
from prorubric.llm.make import require_text
from prorubric.llm.together import run_sync
from prorubric.report.audit_page import write_audit_page
from prorubric.report.audit_tables import write_audit_tables
from prorubric.rubric.base import render_config
from prorubric.rubric.save import save_tasks
from prorubric.runs.folder import JOURNAL, REJECTS, SUMMARY, TASKS, Setting, claim_folder, describe_run, read_setting
from prorubric.runs.inputs import load_all_tasks
from prorubric.runs.models import AnyModel
from prorubric.runs.run import OnProgress, Run
from prorubric.runs.stop import stop_on_signals

_IDENTITY = ("judge", "judging", "editor", "generator", "answers_from", "limit", "subset")


def audit_rewards(config: AuditConfig, on_progress: OnProgress | None = None) -> AuditResult:
    """Measure what a reward pays for, into a run folder with `report.html` and tables."""
    result = run_audit(config, on_progress)
    write_audit_tables(config.out)
    write_audit_page(config.out)
    return result


def run_audit(config: AuditConfig, on_progress: OnProgress | None = None) -> AuditResult:
    """The same without the page and the tables."""
    with Run(config, on_progress) as run:
        return run_sync(_audit(config, run))


def estimate_audit(config: AuditConfig) -> AuditEstimate:
    """Count the calls, tokens and money of an audit without making a call."""
    with Run(config) as run:
        return run_sync(estimate_calls(config, run))


def make_audit_setting(config: AuditConfig) -> Setting:
    """Which audit a folder holds."""
    options = render_config(config)
    sampled = ("temperature", "top_p") if config.answers_from is not None else ()
    return Setting(
        verb="audit",
        config=config,
        # Given answers are all taken, however many.
        identity={key.replace("_", " "): options[key] for key in (*_IDENTITY, *sampled)}
        | {"samples": config.samples if config.responses is None else None},
        inputs={"tasks": config.tasks, "responses": config.responses},
        files=(*AUDIT_FILES, *REPORT_FILES),
        overwrite=config.overwrite,
    )


def find_audit(config: AuditConfig) -> AuditResult | None:
    """The result of the same audit by the same models, if the folder has it to the end."""
    if not (config.out / SUMMARY).is_file():
        return None
    with Run(config) as run:
        made = {name: run.models.make(name) for name in list_judges(config.judge)}
        editor = make_editor(config.editor, lambda spec: require_text(run.models.make(spec)))
        answers = run.models.make(config.answers_from) if config.answers_from else None
        identities = _identify_models(config, made, editor, answers)
    before, now = read_setting(config.out), describe_run(make_audit_setting(config)) | identities
    if any(before.get(key) != now[key] for key in ("config", "identity", "inputs", *identities)):
        return None
    return AuditResult(**parse_json((config.out / SUMMARY).read_bytes()))


def _identify_models(
    config: AuditConfig, judges: Mapping[str, AnyModel], editor: Editor, answers: AnyModel | None
) -> dict[str, Any]:
    """Who judged, edited and answered: the same name may lead to another model."""
    return {
        "judge_identity": identify_judges(judges, config.judging),
        "editor_identity": editor.identity,
        "answers_identity": answers.identity if answers else None,
    }


async def _audit(config: AuditConfig, run: Run) -> AuditResult:
    everything = load_all_tasks(config, run.rejects)
    check_functions(everything.values(), python=config.judging.python_checks)
    chosen = choose_tasks(everything, config.limit)
    check_asked(config)
    kinds = choose_kinds(config)
    check_models(config, run.models)
    with (
        claim_folder(config.out, make_audit_setting(config)) as begin,
        Journal(config.journal or config.out / JOURNAL) as journal,
        stop_on_signals(run.stop),
    ):
        models = open_models(config, run.models, journal)
        try:
            start = await prepare(config, models, chosen, everything, run.rejects)
            run.check_stopped()
            begin(schemes=start.schemes, **_identify_models(config, models.judges, models.editor, models.answers))
            save_tasks(config.out / TASKS, start.tasks.values())
            found = await examine(start.cases, models, start.schemes, kinds, config, run)
            run.check_stopped()
        finally:
            await run.models.close()
        write_cases(config.out, found)
        run.rejects.save(config.out / REJECTS)
        audited = len(first_cases(start.cases))
        words = f"{READS_WORDS} compares words, and these criteria are not about words"
        result = AuditResult(
            folder=str(config.out),
            tasks=audited,
            unanswered=len(start.tasks) - audited,
            reject_kinds=dict(run.rejects.kinds.most_common()),
            answers=len(start.cases),
            answers_from=start.answers_from,
            composed=config.responses is None and config.answers_from is None,
            judge=", ".join(models.judges),
            editor=config.editor,
            dimensions_from=start.dimensions_from,
            rules_dimensions=start.dimensions_from != NO_DIMENSIONS
            and any(map(is_grouped_by_rules, start.tasks.values())),
            schemes=start.schemes,
            left_out=start.left_out,
            fixed_left_out="" if found.fixed else words,
            **summarize_audit(found, config),
            **found.votes.summarize(run.gate.usage, run.gate.prices),
            **run.describe(),
        )
        write_json(config.out / SUMMARY, result.model_dump(mode="json"))
    return result
