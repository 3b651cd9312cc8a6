"""The tables and lists of an audit's page: fixed criteria, forecast, prices, hacks, checks, counts, the run itself.

A list that a page cannot hold is cut, and the page says where the rest is.
"""

from collections.abc import Iterable, Mapping, Sequence

from prorubric.audit.edits import EDITS
from prorubric.audit.folder import HACKS, PRICES
from prorubric.audit.records import AuditResult, Check, EditCount, Hack, NamingPrice
from prorubric.report.audit_cases import Shown, Survey, render_others
from prorubric.report.audit_folder import AuditFolder
from prorubric.report.page import (
    UNKNOWN,
    Cell,
    Child,
    Html,
    element,
    interval,
    join,
    note,
    own_words,
    percent,
    plain,
    signed,
    table,
)
from prorubric.runs.folder import REJECTS
from prorubric.text.show import shorten

MOST_PRICES = 150
MOST_HACKS = 30

_FIXED = (
    "The share of answers, in percent, that pass two criteria which are the same for every task, before and after each "
    "edit."
)
_FORECAST = (
    "Several answers to one prompt make a group. A tied group, whose rewards are all equal, teaches nothing. Levels: "
    "how many different rewards a group tells apart. Spread: the standard deviation within a group × 100."
)
_PRICES = (
    "What it takes to name a criterion without saying anything about it, how far that moves its pass rate (1 from "
    "unmet to met), and what the sum pays for it, × 100. The cheapest come first: those that a token moves furthest, "
    "of equals the best paid."
)
_HACKS = (
    "The least that has to be said to reach the target share of the sum without the criterion that weighs most. A text "
    "counts as a hack only where the judge, shown it as a whole, paid that much for it."
)
_CHECKS = (
    "No audit is worth more than its judge. Each scheme has to show that failures are few, that nonsense earns less "
    "than answers do, and that missing advice is noticed."
)
_ORDER = (
    ": those first whose reward is moved most by an edit that a sound reward does not pay for, each with the answer "
    "that is moved most."
)
_LEGEND = (
    "✓ speaks for the answer, ✗ against it, ? is unknown. A criterion with a negative weight gets ✓ where the "
    "behaviour is absent."
)


def render_facts(facts: Iterable[tuple[str, str]]) -> Html:
    """A few words, each with its name."""
    return element(
        "dl", [element("div", element("dt", name), own_words(text, "dd")) for name, text in facts], class_="facts"
    )


def render_fixed(result: AuditResult) -> Html | None:
    """How edits move redundancy and appropriateness."""
    if not result.fixed:
        return note("Not judged: ", own_words(result.fixed_left_out)) if result.fixed_left_out else None
    rows = [
        (
            row.edit,
            row.criterion,
            Cell(plain(row.before), row.before),
            Cell(plain(row.after), row.after),
            Cell(signed(row.change), row.change, strong=True),
            Cell(interval(row.low, row.high), row.low),
            Cell(str(row.pairs), row.pairs),
            Cell(signed(row.paper), row.paper),
        )
        for row in result.fixed
        if row.edit in EDITS
    ]
    heads = ("edit", "criterion", "before", "after", "change", "95% interval", "pairs", "paper")
    return join(note(_FIXED), table("Fixed criteria", heads, rows, sortable=True))


def render_forecast(result: AuditResult) -> Html | None:
    """Whether groups of answers would teach anything."""
    rows = [
        (
            row.scheme,
            Cell(percent(row.tied), row.tied, strong=True),
            Cell(plain(row.levels, 2), row.levels),
            Cell(plain(row.spread), row.spread),
            Cell(plain(row.mean), row.mean),
            Cell(str(row.groups), row.groups),
            Cell(plain(row.size), row.size),
        )
        for row in result.forecast
    ]
    heads = ("scheme", "tied groups", "levels", "spread", "mean reward", "groups", "answers each")
    return join(note(_FORECAST), table("Forecast", heads, rows, sortable=True)) if rows else None


def render_prices(audit: AuditFolder, shown: Shown) -> Html | None:
    """What naming each criterion costs and pays, the cheapest first."""
    prices = list(audit.read_prices())
    if not prices:
        return None
    moved = sorted((price for price in prices if price.moved > 0), key=lambda price: price.rank)
    which = f"the {MOST_PRICES} cheapest are shown" if len(moved) > MOST_PRICES else "these are shown"
    cut = f" Of {len(prices):,} names {len(moved):,} moved a verdict; {which}, all are in {PRICES}."
    heads = ("task", "no.", "criterion", "named as", "weight", "tokens", "moved", "moved per token", "pays")
    rows = [_list_price(price, shown) for price in moved[:MOST_PRICES]]
    return join(note(_PRICES, cut), element("div", table("Price list", heads, rows, sortable=True), class_="tall"))


def render_hacks(audit: AuditFolder, shown: Shown) -> Html | None:
    """The hack of each task, spelled out, with what it earns beside the answer."""
    hacks = list(audit.read_hacks())
    if not hacks:
        return None
    possible = sorted((hack for hack in hacks if hack.possible), key=lambda hack: (hack.tokens, hack.task_id))
    listed = possible[:MOST_HACKS]
    refuted = [hack for hack in hacks if hack.claimed and not hack.possible]
    cut = f" The {MOST_HACKS} shortest are shown; all are in {HACKS}." if len(possible) > MOST_HACKS else ""
    heaviest = _find_heaviest(audit, listed)
    return join(
        note(_HACKS, f" One works for {len(possible)} of {len(hacks)} tasks.", cut),
        [_render_hack(hack, heaviest.get(hack.task_id), shown) for hack in listed],
        _render_without("Tasks where one was promised and did not work", refuted, shown),
        _render_without("Tasks without one", [hack for hack in hacks if not hack.claimed], shown),
    )


def render_tasks(survey: Survey, shown: Shown) -> Html | None:
    """The tasks shown whole, with a field to find one, and the others by their figures."""
    if not survey.tasks:
        return None
    every = len(shown.blocks) == len(survey.tasks)
    which = "All tasks" if every else f"{len(shown.blocks)} of {len(survey.tasks)} tasks"
    others = "" if every else " The others are named below with their figures."
    field = element("input", type="search", id="find", placeholder="id or words", autocomplete="off")
    return join(
        note(which, _ORDER, others),
        note(_LEGEND),
        element("label", "Find ", field, class_="find"),
        element("div", shown.blocks, class_="cases"),
        render_others(survey, shown),
    )


def render_checks(result: AuditResult) -> Html | None:
    """The liveness checks."""
    rows = [(check.scheme, check.check, _render_outcome(check), own_words(check.finding)) for check in result.checks]
    return join(note(_CHECKS), table("Liveness", ("scheme", "check", "outcome", "finding"), rows)) if rows else None


def render_counts(result: AuditResult) -> Html | None:
    """How often each edit could be made, and why not."""
    heads = ("edit", "made", "not made", "tokens added", "reasons")
    return table("Edits", heads, map(_list_count, result.edits)) if result.edits else None


def render_run(audit: AuditFolder) -> Html:
    """What the run took."""
    result, versions = audit.result, audit.config.get("versions")
    made_with = versions if isinstance(versions, Mapping) else {}
    facts = (
        ("Verdicts", f"{result.verdicts}, of which {result.unknown_verdicts} unknown"),
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
    return join(
        render_facts(facts),
        _render_list("Why verdicts are unknown", _count_lines(result.unknown_reasons)),
        _render_list("Failed calls", _count_lines(result.failed_calls)),
        _render_list("Rejected rows", rejects),
    )


def _list_price(price: NamingPrice, shown: Shown) -> tuple[Child | Cell, ...]:
    return (
        _link(price.task_id, shown),
        Cell(str(price.criterion), price.criterion),
        own_words(shorten(price.text, 160)),
        own_words(shorten(price.named_as, 80)),
        Cell(f"{price.weight:g}", price.weight),
        Cell(str(price.tokens), price.tokens),
        Cell(signed(price.moved, 0), price.moved),
        Cell(signed(price.moved_per_token, 3), price.moved_per_token),
        Cell(signed(price.pays), price.pays, strong=True),
    )


def _find_heaviest(audit: AuditFolder, hacks: Sequence[Hack]) -> dict[str, str]:
    tasks = audit.load_tasks(hack.task_id for hack in hacks)
    return {
        hack.task_id: tasks[hack.task_id].rubric.criteria[hack.heaviest - 1].text
        for hack in hacks
        if hack.task_id in tasks
    }


def _render_hack(hack: Hack, heaviest: str | None, shown: Shown) -> Html:
    anchor = shown.anchors.get(hack.task_id)
    lengths = f"{hack.tokens} tokens; the answer has {hack.answer_tokens}"
    most = "what weighs most" if hack.as_heavy == 1 else f"one of the {hack.as_heavy} criteria that weigh most"
    rows = [
        (name, _list_reward(hack.rewards.get(name), strong=True), _list_reward(hack.answer_rewards.get(name)))
        for name in {**hack.rewards, **hack.answer_rewards}
    ]
    return element(
        "details",
        element("summary", own_words(hack.task_id, class_="id"), element("span", lengths, class_="most")),
        own_words(hack.text, "blockquote"),
        note(f"It leaves out {most}: ", own_words(heaviest)) if heaviest else None,
        table("Rewards of the hack", ("reward × 100", "hack", "answer"), rows),
        element("p", element("a", "The task in full", href=f"#{anchor}")) if anchor else None,
        class_="hack",
    )


def _render_without(title: str, hacks: Sequence[Hack], shown: Shown) -> Html | None:
    if not hacks:
        return None
    lines = [element("li", _link(hack.task_id, shown), ": ", own_words(hack.reason)) for hack in hacks[:MOST_HACKS]]
    more = note(f"{len(hacks) - MOST_HACKS} more are in {HACKS}.") if len(hacks) > MOST_HACKS else None
    return element("details", element("summary", f"{title}: {len(hacks)}"), element("ul", lines), more)


def _list_reward(value: float | None, strong: bool = False) -> Cell:
    return Cell("open" if value is None else plain(100 * value), value, strong)


def _render_outcome(check: Check) -> Html:
    if not check.tested:
        return element("span", "– not decided")
    return element("span", "✓ passed" if check.passed else "✗ failed", class_="ok" if check.passed else "bad")


def _list_count(count: EditCount) -> tuple[Child | Cell, ...]:
    not_made = sum(count.not_made.values())
    return (
        count.edit,
        Cell(str(count.made), count.made),
        Cell(str(not_made), not_made),
        Cell(signed(count.tokens_added, 0), count.tokens_added),
        element("ul", [element("li", own_words(line)) for line in _count_lines(count.not_made)]) if not_made else "",
    )


def _count_lines(counts: Mapping[str, int]) -> list[str]:
    return [f"{reason} × {count}" for reason, count in counts.items()]


def _render_list(title: str, lines: Sequence[str]) -> Html | None:
    if not lines:
        return None
    return element("details", element("summary", title), element("ul", [element("li", own_words(x)) for x in lines]))


def _link(task_id: str, shown: Shown) -> Html:
    anchor = shown.anchors.get(task_id)
    return element("a", own_words(task_id), href=f"#{anchor}") if anchor else own_words(task_id)
