"""`write_audit_page`: an audit as one page that opens anywhere, `report.html` in its run folder.

Nothing is measured here: figures are those of `summary.json`; only coverage beside appropriateness, and which tasks
moved most, are counted from `cases.jsonl`. A figure that could not be had is shown as a dash.
"""

from collections.abc import Iterator
from pathlib import Path

from prorubric.audit.folder import PAGE
from prorubric.audit.records import AuditResult, Check, SchemeLine
from prorubric.compile.compiler import RULES
from prorubric.report.audit_cases import Shown, Survey, render_controls, render_shown, survey_cases
from prorubric.report.audit_folder import AuditFolder, open_audit
from prorubric.report.audit_plots import render_coverage, render_effects, render_placement, render_shares
from prorubric.report.audit_sections import (
    render_checks,
    render_counts,
    render_facts,
    render_fixed,
    render_forecast,
    render_hacks,
    render_prices,
    render_run,
    render_tasks,
)
from prorubric.report.page import Html, element, join, own_words, percent, plain, render_page, write_whole

_LEAD = "Answers were edited in known ways and judged again. This page shows what each edit earns."
_DEAD = " A dead judge clears every reward: where a check fails, the audit has no verdict."

_LEXICAL = (
    "The judge is lexical.",
    "It compares words and understands nothing: a lenient presence check, no model. Use a model before you decide.",
)
_COMPOSED = (
    "The answers are composed.",
    "They were put together from the checklists and no model wrote them: real answers lie further from a checklist.",
)
_RULES_EDITOR = (
    "The editor is a set of rules.",
    "Its edits are blunter than those of a model, and some of them cannot be made at all.",
)
_RULES_DIMENSIONS = (
    "The dimensions come from rules.",
    "They are a weak baseline and not what the method is: criteria are grouped by their words alone. "
    "Compile with a model before you judge grouped schemes by these figures.",
)


_NO_BRACKETS = str.maketrans("", "", "()")


def write_audit_page(folder: Path) -> Path:
    """Write the page of the audit in this run folder; raises `SourceError` where there is none."""
    audit = open_audit(folder)
    survey = survey_cases(audit)
    body = _render_body(audit, survey, render_shown(audit, survey))
    return write_whole(folder / PAGE, render_page(f"Reward audit: {audit.result.tasks} tasks", body))


def _render_body(audit: AuditFolder, survey: Survey, shown: Shown) -> Html:
    result = audit.result
    places = {name: place for place, name in enumerate(result.schemes)}
    sections = (
        ("headline", "Headline", _render_headline(result)),
        ("edits", "What each edit earns", render_effects(result, places)),
        ("naming", "Naming as a share of substance", render_shares(result, places)),
        ("placement", "Where the substance stands", render_placement(result, places)),
        ("fixed", "Redundancy and appropriateness", render_fixed(result)),
        ("coverage", "Coverage against appropriateness", render_coverage(survey.coverage)),
        ("signal", "What groups would teach", render_forecast(result)),
        ("prices", "Price list", render_prices(audit, shown)),
        ("hacks", "The cheapest hacks", render_hacks(audit, shown)),
        ("tasks", "Task by task", render_tasks(survey, shown)),
        ("alive", "Is the judge alive?", render_checks(result)),
        ("made", "Edits made and not made", render_counts(result)),
        ("run", "The run", render_run(audit)),
    )
    given = [section for section in sections if section[2]]
    return join(
        _render_header(result),
        element("nav", [element("a", title, href=f"#{name}") for name, title, _ in given], aria_label="Sections"),
        element("main", [element("section", element("h2", title), body, id=name) for name, title, body in given]),
        render_controls(result.schemes) if result.schemes else None,
    )


def _render_header(result: AuditResult) -> Html:
    facts = (
        ("Tasks", f"{result.tasks}" + (f"; {result.unanswered} more without an answer" if result.unanswered else "")),
        ("Answers", f"{result.answers}, {result.answers_from}"),
        ("Judge", result.judge),
        ("Editor", result.editor),
        ("Dimensions", result.dimensions_from),
    )
    failed = [check for check in result.checks if not check.passed]
    return element(
        "header",
        element("p", "ProRubric audit", class_="over"),
        element("h1", "What would this reward pay for?"),
        element("p", _LEAD, class_="lead"),
        render_facts(facts),
        _render_alarm(failed) if failed or not result.alive else None,
        [element("p", element("strong", head), " ", text, class_="warn") for head, text in _list_limits(result)],
    )


def _render_alarm(failed: list[Check]) -> Html:
    lines = [
        element("li", element("b", f"{check.scheme}, {check.check}"), ": ", own_words(check.finding))
        for check in failed
    ]
    schemes = list(dict.fromkeys(check.scheme for check in failed))
    title = f"The judge is not alive under {', '.join(schemes)}." if schemes else "The judge is not alive."
    return element("div", element("strong", title), _DEAD, element("ul", lines), class_="alarm", role="alert")


def _list_limits(result: AuditResult) -> Iterator[tuple[str, str]]:
    """What a reader has to know before believing a figure."""
    if result.judge == "lexical":
        yield _LEXICAL
    if result.composed:
        yield _COMPOSED
    if result.editor == RULES:
        yield _RULES_EDITOR
    if result.rules_dimensions:
        yield _RULES_DIMENSIONS


def _render_headline(result: AuditResult) -> Html:
    left_out = [element("li", element("b", name), ": ", own_words(why)) for name, why in result.left_out.items()]
    return join(
        element("ul", [_render_scheme_line(line) for line in result.headline], class_="headline"),
        element("details", element("summary", f"Schemes left out: {len(left_out)}"), element("ul", left_out))
        if left_out
        else None,
    )


def _render_scheme_line(line: SchemeLine) -> Html:
    worst = f"best paid first: {', '.join(line.worst)}" if line.worst else "no edit of this kind has a known effect"
    name = f"answer {line.pays_for_padding.replace(' ', '-').translate(_NO_BRACKETS)}"
    rewards = f"mean reward {plain(line.mean)} of 100, {percent(line.tied)} of groups tied"
    return element(
        "li",
        element("b", line.scheme, class_="scheme"),
        element("span", "would pay for padding: ", element("strong", line.pays_for_padding, class_=name)),
        own_words(line.because, "span", class_="because"),
        element("small", rewards, "; ", worst),
    )
