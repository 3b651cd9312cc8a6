"""`audit_rewards`: the audit with everything that is read by people: the page, and tables for papers and sheets."""

from prorubric.audit.config import AuditConfig
from prorubric.audit.records import AuditResult
from prorubric.report.audit_page import write_audit_page
from prorubric.report.audit_tables import write_audit_tables
from prorubric.verbs.audit_run import OnProgress, run_audit


def audit_rewards(config: AuditConfig, on_progress: OnProgress | None = None) -> AuditResult:
    """Measure what a reward pays for, into a run folder with `report.html`."""
    result = run_audit(config, on_progress)
    write_audit_tables(config.out)
    write_audit_page(config.out)
    return result
