"""`audit_rewards`: what a reward pays for, measured on a file of rubrics before training, into a run folder.

Answers are judged, edited, and judged again with every edit, with controls (the answer again, garbage, an answer to
another prompt) and with probes of what naming buys. What could not be read, answered, edited or judged is counted with
its reason.
"""

from prorubric.aggregate.choose import READS_WORDS
from prorubric.audit.cases import first_cases
from prorubric.audit.config import AuditConfig
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
from prorubric.files.write import write_json
from prorubric.judge.checks import check_functions
from prorubric.judge.panel import identify_judges
from prorubric.llm.journal import Journal
from prorubric.llm.together import run_sync
from prorubric.report.audit_page import write_audit_page
from prorubric.report.audit_tables import write_audit_tables
from prorubric.rubric.base import render_config
from prorubric.rubric.save import save_tasks
from prorubric.runs.folder import JOURNAL, REJECTS, SUMMARY, TASKS, Setting, claim_folder
from prorubric.runs.inputs import load_all_tasks
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
            judges = {"judge_identity": identify_judges(models.judges, config.judging)}
            identities = judges | {"editor_identity": models.editor.identity}
            begin(schemes=start.schemes, **identities)
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
