"""`write_audit_page`: an audit as one page that opens anywhere, `report.html` in its run folder.

Nothing is measured here: the figures come from `summary.json`. Only coverage by appropriateness, which tasks moved
most, and the figures of criteria are counted from `cases.jsonl`. A figure that is not known is shown as a dash.
"""

from pathlib import Path

from prorubric.audit.folder import PAGE
from prorubric.audit.records import AuditResult
from prorubric.compile.compiler import RULES
from prorubric.report import audit_plots as plots
from prorubric.report import audit_sections as tables
from prorubric.report.audit_cases import render_controls, render_shown, survey_cases
from prorubric.report.audit_folder import open_audit
from prorubric.report.numbers import percent, plain
from prorubric.report.page import (
    NOTES,
    Html,
    bullets,
    element,
    fold,
    join,
    own_words,
    render_facts,
    render_page,
    render_sections,
    write_whole,
)
from prorubric.text.show import count

_SHOWN_WORST = 5
_NO_BRACKETS = str.maketrans("", "", "()")


def write_audit_page(folder: Path) -> Path:
    """Write the page of the audit in this run folder; raises `SourceError` if it holds none."""
    audit = open_audit(folder)
    survey = survey_cases(audit)
    shown = render_shown(audit, survey)
    result = audit.result
    places = {name: place for place, name in enumerate(result.schemes)}
    sections = (
        ("headline", "Headline", _render_headline(result)),
        ("edits", "What each edit earns", plots.render_effects(result, places)),
        ("naming", "Naming as a share of substance", plots.render_shares(result, places)),
        ("placement", "Where the substance is placed", plots.render_placement(result, places)),
        ("fixed", "Redundancy and appropriateness", tables.render_fixed(result)),
        ("coverage", "Coverage against appropriateness", plots.render_coverage(survey.coverage)),
        ("signal", "What groups would teach", tables.render_forecast(result)),
        ("criteria", "Which criteria tell answers apart", tables.render_items(audit, shown)),
        ("prices", "Price list", tables.render_prices(audit, shown)),
        ("hacks", "The cheapest hacks", tables.render_hacks(audit, shown)),
        ("tasks", "Task by task", tables.render_tasks(survey, shown)),
        ("alive", "Is the judge alive?", tables.render_checks(result)),
        ("made", "Edits made and not made", tables.render_counts(result)),
        ("run", "The run", tables.render_run(audit)),
    )
    controls = render_controls(result.schemes) if result.schemes else None
    body = join(render_sections(_render_header(result), sections), controls)
    return write_whole(folder / PAGE, render_page(f"Reward audit: {count(result.tasks, 'task')}", body))


def _render_header(result: AuditResult) -> Html:
    facts = (
        ("Tasks", f"{result.tasks}" + (f"; {result.unanswered} more without an answer" if result.unanswered else "")),
        ("Answers", f"{result.answers}, {result.answers_from}"),
        ("Judge", result.judge),
        ("Editor", result.editor),
        ("Dimensions", result.dimensions_from),
    )
    alarm = None
    failed = [check for check in result.checks if not check.passed]
    if failed or not result.alive:
        schemes = ", ".join(dict.fromkeys(check.scheme for check in failed))
        title = f"The judge is not alive under {schemes}." if schemes else "The judge is not alive."
        lines = [join(element("b", f"{x.scheme}, {x.check}"), ": ", own_words(x.finding)) for x in failed]
        content = (element("strong", title), " ", NOTES["dead"], bullets(lines))
        alarm = element("div", content, class_="alarm", role="alert")
    limits = (
        ("lexical" in result.judge.split(", "), "The judge is lexical.", NOTES["lexical-judge"]),
        (result.composed, "The answers are composed.", NOTES["composed-answers"]),
        (result.editor == RULES, "The editor is a set of rules.", NOTES["rules-editor"]),
        (result.rules_dimensions, "The dimensions come from rules.", NOTES["rules-dimensions"]),
    )
    warnings = [(head, text) for applies, head, text in limits if applies]
    return element(
        "header",
        element("p", "ProRubric audit", class_="over"),
        element("h1", "What would this reward pay for?"),
        element("p", NOTES["lead"], class_="lead"),
        render_facts(facts),
        alarm,
        [element("p", element("strong", head), " ", text, class_="warn") for head, text in warnings],
    )


def _render_headline(result: AuditResult) -> Html:
    lines: list[Html] = []
    for line in result.headline:
        more = f" and {len(line.worst) - _SHOWN_WORST} more" if len(line.worst) > _SHOWN_WORST else ""
        best = f"best paid first: {', '.join(line.worst[:_SHOWN_WORST])}{more}"
        worst = best if line.worst else "no edit of this kind has a known effect"
        style = f"answer {line.pays_for_padding.replace(' ', '-').translate(_NO_BRACKETS)}"
        rewards = f"mean reward {plain(line.mean)} of 100, {percent(line.tied)} of groups tied"
        scheme = element("b", line.scheme, class_="scheme")
        answer = element("span", "would pay for padding: ", element("strong", line.pays_for_padding, class_=style))
        because = own_words(line.because, "span", class_="because")
        lines.append(element("li", scheme, answer, because, element("small", rewards, "; ", worst)))
    left_out = [join(element("b", name), ": ", own_words(why)) for name, why in result.left_out.items()]
    return join(
        element("ul", lines, class_="headline"),
        fold(f"Schemes left out: {len(left_out)}", bullets(left_out)) if left_out else None,
    )
