"""The tables and lists of an audit's page: fixed criteria, forecast, prices, hacks, checks, counts, the run itself.

A list that is too long for a page is cut, and the page says where the rest is.
"""

from collections.abc import Mapping

from prorubric.aggregate.items import FEWEST_RESPONSES, describe_items, rank_items
from prorubric.audit.cases import ANSWER
from prorubric.audit.edits import EDITS
from prorubric.audit.folder import CASES, HACKS, PRICES
from prorubric.audit.records import AuditResult, Hack, NamingPrice
from prorubric.report.audit_cases import Shown, Survey, render_others, reward
from prorubric.report.audit_folder import AuditFolder, StoredCase
from prorubric.report.numbers import UNKNOWN, interval, percent, plain, signed
from prorubric.report.page import (
    NOTES,
    Cell,
    Html,
    bullets,
    element,
    figure,
    fold,
    join,
    note,
    own_words,
    render_facts,
    table,
)
from prorubric.rubric.records import Task
from prorubric.rubric.verdict import Verdict, parse_verdict
from prorubric.runs.folder import REJECTS
from prorubric.text.show import shorten

MOST_PRICES = 150
MOST_HACKS = 30
MOST_ITEMS = 100


def render_fixed(result: AuditResult) -> Html | None:
    """How edits move redundancy and appropriateness."""
    if not result.fixed:
        return note("Not judged: ", own_words(result.fixed_left_out)) if result.fixed_left_out else None
    rows = [
        (
            row.edit,
            row.criterion,
            *(figure(row.before, plain), figure(row.after, plain), figure(row.change, signed, strong=True)),
            Cell(interval(row.low, row.high), row.low),
            *(figure(row.pairs), figure(row.paper, signed)),
        )
        for row in result.fixed
        if row.edit in EDITS
    ]
    heads = ("edit", "criterion", "before", "after", "change", "95% interval", "pairs", "paper")
    return join(note(NOTES["fixed"]), table("Fixed criteria", heads, rows, sortable=True))


def render_forecast(result: AuditResult) -> Html | None:
    """Whether groups of answers would teach anything."""
    rows = [
        (
            row.scheme,
            figure(row.tied, percent, strong=True),
            Cell(plain(row.levels, 2), row.levels),
            *(figure(row.spread, plain), figure(row.mean, plain), figure(row.groups), figure(row.size, plain)),
        )
        for row in result.forecast
    ]
    heads = ("scheme", "tied groups", "levels", "spread", "mean reward", "groups", "answers each")
    return join(note(NOTES["forecast"]), table("Forecast", heads, rows, sortable=True)) if rows else None


def render_items(audit: AuditFolder, shown: Shown) -> Html | None:
    """What the verdicts on the answers, before any edit, say about each criterion; the worst first."""
    found: dict[str, list[list[Verdict]]] = {}
    for case in audit.read(CASES, StoredCase):
        if verdicts := case.verdicts.get(ANSWER, {}).get("criteria"):
            found.setdefault(case.task_id, []).append([*map(parse_verdict, verdicts)])
    tasks = audit.load_tasks(name for name, rows in found.items() if len(rows) >= FEWEST_RESPONSES)
    items = rank_items(item for name, task in tasks.items() for item in describe_items(task, found[name]))
    if not items:
        return None
    rows = [
        (
            shown.link(item.task_id),
            *(figure(item.index), own_words(shorten(item.criterion, 160)), Cell(f"{item.weight:g}", item.weight)),
            *(figure(item.pass_rate, percent), Cell(plain(item.discrimination, 2), item.discrimination)),
            Cell(UNKNOWN if item.redundancy is None else f"{item.redundancy:.2f} ({item.redundant_with})"),
            Cell(plain(item.advantage_if_met, 2), item.advantage_if_met),
        )
        for item in items[:MOST_ITEMS]
    ]
    never = sum(item.moved_share == 0 for item in items)
    counts = (
        f" Of {len(items):,} criteria {sum(item.suppressed for item in items):,} are suppressed and {never:,} move no"
    )
    cut = f" advantage.{f' The worst {MOST_ITEMS} are shown.' if len(items) > MOST_ITEMS else ''}"
    heads = ("task", "no.", "criterion", "weight", "met", "discrimination", "κ (with no.)", "advantage if met")
    listed = table("Criteria", heads, rows, sortable=True)
    return join(note(NOTES["items"], counts, cut), element("div", listed, class_="tall"))


def render_prices(audit: AuditFolder, shown: Shown) -> Html | None:
    """What naming each criterion costs and pays, the cheapest first."""
    prices = list(audit.read(PRICES, NamingPrice))
    if not prices:
        return None
    moved = sorted((price for price in prices if price.moved > 0), key=lambda price: price.rank)
    which = f"the {MOST_PRICES} cheapest are shown" if len(moved) > MOST_PRICES else "these are shown"
    cut = f" Of {len(prices):,} names {len(moved):,} moved a verdict; {which}, all are in {PRICES}."
    rows = [
        (
            shown.link(price.task_id),
            figure(price.criterion),
            *(own_words(shorten(price.text, 160)), own_words(shorten(price.named_as, 80))),
            *(Cell(f"{price.weight:g}", price.weight), figure(price.tokens)),
            *(Cell(signed(price.moved, 0), price.moved), Cell(signed(price.moved_per_token, 3), price.moved_per_token)),
            figure(price.pays, signed, strong=True),
        )
        for price in moved[:MOST_PRICES]
    ]
    heads = ("task", "no.", "criterion", "named as", "weight", "tokens", "moved", "moved per token", "pays")
    listed = table("Price list", heads, rows, sortable=True)
    return join(note(NOTES["prices"], cut), element("div", listed, class_="tall"))


def render_hacks(audit: AuditFolder, shown: Shown) -> Html | None:
    """The hack of each task, spelled out, with what it and the answer earn."""
    hacks = list(audit.read(HACKS, Hack))
    if not hacks:
        return None
    possible = sorted((hack for hack in hacks if hack.possible), key=lambda hack: (hack.tokens, hack.task_id))
    listed = possible[:MOST_HACKS]
    tasks = audit.load_tasks(hack.task_id for hack in listed)
    cut = f" The {MOST_HACKS} shortest are shown; all are in {HACKS}." if len(possible) > MOST_HACKS else ""
    without: list[Html] = []
    for title, group in (
        ("Tasks where a promised hack did not work", [h for h in hacks if h.claimed and not h.possible]),
        ("Tasks without a hack", [h for h in hacks if not h.claimed]),
    ):
        lines = [join(shown.link(hack.task_id), ": ", own_words(hack.reason)) for hack in group[:MOST_HACKS]]
        more = note(f"{len(group) - MOST_HACKS} more are in {HACKS}.") if len(group) > MOST_HACKS else None
        if group:
            without.append(fold(f"{title}: {len(group)}", bullets(lines), more))
    copies = sum(hack.is_copied for hack in possible)
    mostly = f", for {copies} of them mostly with the criteria's own text" if copies else ""
    return join(
        note(NOTES["hacks"], f" A hack works for {len(possible)} of {len(hacks)} tasks{mostly}.", cut),
        [_render_hack(hack, tasks.get(hack.task_id), shown.anchors.get(hack.task_id)) for hack in listed],
        without,
    )


def _render_hack(hack: Hack, task: Task | None, anchor: str | None) -> Html:
    lengths = f"{hack.tokens} tokens; the answer has {hack.answer_tokens}"
    copied = f"Mostly criterion text: {percent(hack.copied)} of its words occur in a criterion, in the same order."
    left_out = None
    if task:
        which = "the criterion that weighs" if hack.as_heavy == 1 else f"one of the {hack.as_heavy} criteria that weigh"
        left_out = note(f"It leaves out {which} most: ", own_words(task.rubric.criteria[hack.heaviest - 1].text))
    rows = [
        (name, reward(hack.rewards.get(name), strong=True), reward(hack.answer_rewards.get(name)))
        for name in {**hack.rewards, **hack.answer_rewards}
    ]
    return fold(
        join(own_words(hack.task_id, class_="id"), element("span", lengths, class_="most")),
        own_words(hack.text, "blockquote"),
        note(copied) if hack.is_copied else None,
        left_out,
        table("Rewards of the hack", ("reward × 100", "hack", "answer"), rows),
        element("p", element("a", "The task in full", href=f"#{anchor}")) if anchor else None,
        class_="hack",
    )


def render_tasks(survey: Survey, shown: Shown) -> Html | None:
    """The tasks shown in full, with a search field, and the others by their figures."""
    if not survey.tasks:
        return None
    every = len(shown.blocks) == len(survey.tasks)
    which = "All tasks" if every else f"{len(shown.blocks)} of {len(survey.tasks)} tasks"
    others = "" if every else " The others are listed below with their figures."
    field = element("input", type="search", id="find", placeholder="id or words", autocomplete="off")
    return join(
        note(which, ", ", NOTES["tasks"], others),
        note(NOTES["legend"]),
        element("label", "Find ", field, class_="find"),
        element("div", shown.blocks, class_="cases"),
        render_others(survey, shown),
    )


def render_checks(result: AuditResult) -> Html | None:
    """The liveness checks."""
    rows = []
    for check in result.checks:
        word, style = ("✓ passed", "ok") if check.passed else ("✗ failed", "bad")
        outcome = element("span", word, class_=style) if check.tested else element("span", "– not decided")
        rows.append((check.scheme, check.check, outcome, own_words(check.finding)))
    heads = ("scheme", "check", "outcome", "finding")
    return join(note(NOTES["checks"]), table("Liveness", heads, rows)) if rows else None


def render_counts(result: AuditResult) -> Html | None:
    """How often each edit could be made, and why not."""
    rows = []
    for count in result.edits:
        made = (figure(count.made), figure(sum(count.not_made.values())), figure(count.addressed))
        added = Cell(signed(count.tokens_added, 0), count.tokens_added)
        reasons = bullets(map(own_words, _count_lines(count.not_made))) if any(count.not_made.values()) else ""
        rows.append((count.edit, *made, added, reasons))
    return (
        table("Edits", ("edit", "made", "not made", "address the judge", "tokens added", "reasons"), rows)
        if rows
        else None
    )


def render_run(audit: AuditFolder) -> Html:
    """What the run took."""
    result, versions = audit.result, audit.config.get("versions")
    made_with = versions if isinstance(versions, Mapping) else {}
    facts = (
        ("Verdicts", f"{result.verdicts}, of which {result.unknown_verdicts} unknown"),
        ("Answers that address the judge", f"{result.addressed} of {result.answers}"),
        *([("Agreement of the votes", f"{result.agreement:.1%}")] if result.agreement is not None else []),
        *([("Sent on to the second judge", f"{result.sent_on}")] if result.sent_on is not None else []),
        ("Calls", f"{result.calls - result.cached}, and {result.cached - result.repeated} replies of earlier runs"),
        *([("Damaged replies", f"{result.damaged}, asked for again")] if result.damaged else []),
        ("Cost", UNKNOWN if result.cost is None else f"${result.cost:.2f}"),
        ("Time", f"{result.seconds:.0f} s"),
        ("Rows rejected", f"{result.rejected}"),
        ("Made with", ", ".join(f"{name} {number}" for name, number in made_with.items()) or UNKNOWN),
    )
    rejects = [*result.rejects]
    if result.rejected > len(rejects):
        rejects.append(f"{result.rejected - len(rejects):,} more are in {REJECTS}")
    lists = (
        ("Why verdicts are unknown", _count_lines(result.unknown_reasons)),
        ("Failed calls", _count_lines(result.failed_calls)),
        ("Rejected rows", rejects),
    )
    return join(render_facts(facts), [fold(title, bullets(map(own_words, lines))) for title, lines in lists if lines])


def _count_lines(counts: Mapping[str, int]) -> list[str]:
    return [f"{reason} × {count}" for reason, count in counts.items()]
