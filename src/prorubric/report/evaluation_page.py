"""`write_evaluation_page`: what an evaluation found, as one page that opens anywhere, `report.html` in its folder.

Nothing is measured here: the figures come from `Comparisons`. No text of a benchmark is on the page, only names and
figures.
"""

from collections.abc import Mapping
from pathlib import Path

from prorubric.evaluate.compare import AVERAGED, Comparisons
from prorubric.evaluate.pairwise import PairResult
from prorubric.report.evaluation_headline import describe_result
from prorubric.report.evaluation_plots import (
    render_differences,
    render_lengths,
    render_numbers,
    render_pairs,
    render_physicians,
    render_probe,
    render_seeds,
    show_span,
)
from prorubric.report.evaluation_tables import list_blocks, name_judge, title_of
from prorubric.report.numbers import UNKNOWN, interval, join_counts, percent, plain, signed
from prorubric.report.page import (
    NOTES,
    Cell,
    Child,
    Html,
    Row,
    bullets,
    element,
    figure,
    fold,
    join,
    note,
    own_words,
    render_facts,
    render_page,
    render_sections,
    table,
    write_whole,
)
from prorubric.text.show import count

PAGE = "report.html"
EQUAL_BUDGET = "-2048"
_MOST_SENTENCES = 6


def write_evaluation_page(
    folder: Path, found: Comparisons, settings: Mapping[str, object], summary: Mapping[str, object]
) -> Path:
    """Write the page. `settings` has the configuration and checksums, `summary` what the run did and cost.

    Both may be nested once; an inner mapping becomes a table under its name.
    """
    names = dict.fromkeys(side.name for one in found.tables for side in one.sides)
    places = {name: place for place, name in enumerate(names)}
    scores = [(row.judge, policy, score) for row in found.style for policy, score in row.found.scores.items()]
    style: list[Row] = [(own_words(judge), own_words(policy), figure(score, plain)) for judge, policy, score in scores]
    style_table = table("Style control", ("judge", "policy", "score"), style)
    sections: tuple[tuple[str, str, Html | None], ...] = (
        ("items", "How many items", render_numbers(found)),
        ("main", "Scores", _render_main(found)),
        ("seeds", "Coverage and appropriateness by seed", render_seeds(found, places)),
        ("differences", "Differences", render_differences(found, places)),
        ("probe", "The probe by criterion", render_probe(found, places)),
        ("pairs", "Blind pairs", render_pairs([row for row in found.pairs if not _is_equal(row)], "pairs")),
        ("budget", "Equal budget", render_pairs([row for row in found.pairs if _is_equal(row)], "budget")),
        ("physicians", "Judges against physicians", render_physicians(found)),
        ("ranks", "Would another judge agree?", _render_ranks(found)),
        ("lengths", "Length and score", render_lengths(found, places)),
        ("tags", "By tag", _render_tags(found)),
        ("style", "Style control", join(note(NOTES["evaluation-style"]), style_table) if style else None),
        ("losses", "Losses", _render_losses(found)),
        ("cost", "What it took", _render_mapping(summary)),
        ("settings", "Settings and checksums", _render_mapping(settings)),
    )
    name = folder.absolute().name
    body = render_sections(_render_header(name, found), sections)
    return write_whole(folder / PAGE, render_page(f"Evaluation: {name}", body))


def _is_equal(row: PairResult) -> bool:
    return row.benchmark.endswith(EQUAL_BUDGET)


def _render_header(name: str, found: Comparisons) -> Html:
    sentences = [own_words(line, "span") for line in describe_result(found)]
    shown, rest = sentences[:_MOST_SENTENCES], sentences[_MOST_SENTENCES:]
    judges = dict.fromkeys(one.judge for one in found.tables if one.judge)
    seeds = {side.name: [*side.by_seed] for one in found.tables for side in one.sides}
    named = [name if own in ([], [name]) else f"{name} ({', '.join(own)})" for name, own in seeds.items()]
    facts = (
        ("Policies, seeds", ", ".join(named)),
        ("Benchmarks", ", ".join(dict.fromkeys(title_of(one.benchmark) for one in found.tables)) or "none"),
        ("Judges", ", ".join(judges) or "none needed"),
        ("Common set", "of every table" if found.pairing == "table" else "of every pair"),
    )
    told = element("ul", [element("li", line) for line in shown], class_="headline told") if shown else None
    return element(
        "header",
        element("p", "ProRubric evaluation", class_="over"),
        element("h1", own_words(name)),
        told or element("p", "Nothing was compared: there is one policy.", class_="lead"),
        fold(f"{count(len(rest), 'other difference')}", bullets(rest)) if rest else None,
        render_facts(facts),
    )


def _render_main(found: Comparisons) -> Html | None:
    """Methods down, benchmarks across, the paper's figures under ours."""
    tables: list[Child] = []
    several = len({one.judge for one in found.tables if one.judge}) > 1
    for block in list_blocks(found):
        rows: list[Row] = []
        for method, line in block.rows.items():
            row: list[Child | Cell] = [own_words(method)]
            for score in line:
                spread = None if score is None or score.sd is None else element("small", f" ±{plain(score.sd)}")
                value = score.headline if score else None
                row.append(Cell((plain(value), spread), value, strong=bool(score and score.benchmark == "average")))
            rows.append(row)
            for model in dict.fromkeys(model for score in line if score for model in score.paper):
                printed = [score.paper.get(model) if score else None for score in line]
                name = element("small", f"paper, {model}", class_="paper-row")
                rows.append((name, *(Cell(element("small", plain(v)) if v is not None else "", v) for v in printed)))
        is_main = any(name in AVERAGED for name in block.benchmarks)
        title = block.judge if is_main else f"{block.judge}, other benchmarks"
        head = element("h4", own_words(title)) if several else None
        tables.append(join(head, table("Scores", ["method", *map(title_of, block.benchmarks)], rows)))
    if not tables:
        return None
    clipped = []
    for one in found.tables:
        if any(arm.headline != arm.mean for arm in one.arms):
            means = ", ".join(f"{side.name} {plain(side.mean)}" for side in one.sides)
            clipped.append(f"{title_of(one.benchmark)}{name_judge(one.judge)}: {means}")
    return join(
        note(NOTES["evaluation-main"]),
        tables,
        join(note("Means that were clipped in this table:"), bullets(clipped)) if clipped else None,
        fold("Every policy, with errors over items", _render_arms(found), class_="tall"),
    )


def _render_arms(found: Comparisons) -> Html:
    heads = ("policy", "benchmark", "judge", "mean", "95% over items", "bootstrap", "s.e.", "s.d.", "items", "clusters")
    rows: list[Row] = [
        (
            own_words(arm.policy),
            title_of(one.benchmark),
            own_words(one.judge),
            Cell(plain(arm.mean), arm.mean, strong=True),
            Cell(interval(arm.low, arm.high, plain), arm.low),
            Cell(show_span(arm.bootstrap, plain)),
            figure(arm.se, lambda value: plain(value, 2)),
            figure(arm.sd, plain),
            figure(arm.n),
            figure(arm.clusters),
        )
        for one in found.tables
        for arm in one.arms
    ]
    return table("Policies", heads, rows, sortable=True)


def _render_ranks(found: Comparisons) -> Html | None:
    ranks: list[Row] = [
        (
            title_of(row.benchmark),
            own_words(row.first),
            own_words(row.second),
            Cell(plain(row.rho, 2), row.rho, strong=True),
            Cell(interval(row.low, row.high, lambda value: plain(value, 2)), row.low),
            figure(row.policies),
            figure(row.items),
        )
        for row in found.ranks
    ]
    shares: list[Row] = [
        (
            own_words(row.method),
            title_of(row.benchmark),
            element("small", f"{row.first}, {row.second}"),
            Cell(percent(row.only_first / row.criteria if row.criteria else None), row.only_first, strong=True),
            Cell(percent(row.only_second / row.criteria if row.criteria else None), row.only_second),
            figure(row.criteria),
            figure(row.unknown),
        )
        for row in found.disagreements
    ]
    repeats: list[Row] = [
        (
            title_of(row.benchmark),
            own_words(row.judge),
            figure(row.repeated.flipped, percent),
            Cell(signed(row.repeated.difference.mean, 2)),
            Cell(plain(row.repeated.difference.se, 2)),
            figure(row.repeated.items),
        )
        for row in found.repeats
    ]
    rank_heads = ("benchmark", "first judge", "second judge", "ρ", "95% over items", "policies", "items")
    share_heads = ("method", "benchmark", "judges", "only the first", "only the second", "criteria", "unknown")
    parts = (
        ("Ranks", "ranks", rank_heads, ranks),
        ("Criteria", "disagreement", share_heads, shares),
        ("Judged twice", "repeats", ("benchmark", "judge", "changed", "difference", "s.e.", "items"), repeats),
    )
    given = [
        join(element("h3", title), note(NOTES[f"evaluation-{name}"]), table(title, heads, rows))
        for title, name, heads, rows in parts
        if rows
    ]
    return join(given) if given else None


def _render_tags(found: Comparisons) -> Html | None:
    """One table a benchmark and judge, with the policies as columns."""
    parts: list[Html] = []
    for benchmark, judge in dict.fromkeys((row.benchmark, row.judge) for row in found.tags):
        own = [row for row in found.tags if (row.benchmark, row.judge) == (benchmark, judge)]
        policies = dict.fromkeys(row.policy for row in own)
        means = {(row.tag, row.policy): row.mean for row in own}
        counts = {row.tag: row.n for row in own}
        rows: list[Row] = [
            (
                own_words(tag),
                figure(number, "{:,}".format),
                *(figure(means.get((tag, name)), plain) for name in policies),
            )
            for tag, number in counts.items()
        ]
        heads = ("tag", "items", *map(own_words, policies))
        name = f"{title_of(benchmark)} by {judge}" if judge else title_of(benchmark)
        parts.append(fold(f"{name}: {count(len(rows), 'tag')}", table(name, heads, rows, sortable=True), class_="tall"))
    return join(note(NOTES["evaluation-tags"]), *parts) if parts else None


def _render_losses(found: Comparisons) -> Html | None:
    heads = (
        *("policy", "benchmark", "judge", "answered", "judged", "lost", "reasons", "length lost", "length kept"),
        "failures",
    )
    rows: list[Row] = []
    for one in found.tables:
        for arm in one.arms:
            rows.append(
                (
                    own_words(arm.policy),
                    title_of(one.benchmark),
                    own_words(one.judge),
                    Cell(f"{arm.answered:,} of {one.pool:,}", arm.answered),
                    figure(arm.judged, "{:,}".format),
                    figure(arm.lost, "{:,}".format, strong=bool(arm.lost)),
                    own_words(join_counts(arm.lost_by)),
                    Cell("" if arm.characters_lost is None else f"{arm.characters_lost:,.0f}", arm.characters_lost),
                    Cell("" if arm.characters_kept is None else f"{arm.characters_kept:,.0f}", arm.characters_kept),
                    own_words(join_counts(arm.failures)),
                )
            )
    if not rows:
        return None
    arms = [arm for one in found.tables for arm in one.arms]
    lost, failed = sum(arm.lost for arm in arms), sum(sum(arm.failures.values()) for arm in arms)
    whole = sum(arm.answered for arm in arms)
    title = f"{lost:,} of {whole:,} scores were lost to the judges, and the policies failed at {failed:,} answers"
    absent = [f"{title_of(one.benchmark)}: {', '.join(one.absent)}" for one in found.tables if one.absent]
    missing = join(note("Policies without an answer, which the common set does not ask for:"), bullets(absent))
    return join(
        note(NOTES["evaluation-losses"]),
        fold(title, table("Losses", heads, rows, sortable=True), class_="tall"),
        missing if absent else None,
    )


def _render_mapping(values: Mapping[str, object]) -> Html | None:
    """Plain values as facts, inner mappings as tables, lists of mappings as tables with their keys as heads."""
    plain_ones = [(key, _show(value)) for key, value in values.items() if not isinstance(value, Mapping | list | tuple)]
    parts: list[Child] = [render_facts(plain_ones)] if plain_ones else []
    for key, value in values.items():
        if isinstance(value, Mapping):
            rows: list[Row] = [(own_words(str(name)), own_words(_show(own))) for name, own in value.items()]
            parts.append(join(element("h3", key), table(key, ("", ""), rows)) if rows else None)
        elif isinstance(value, list | tuple) and value and all(isinstance(row, Mapping) for row in value):
            heads = [*dict.fromkeys(head for row in value for head in row)]
            body: list[Row] = [tuple(own_words(_show(row.get(head))) for head in heads) for row in value]
            parts.append(join(element("h3", key), table(key, [str(head) for head in heads], body)))
        elif isinstance(value, list | tuple):
            parts.append(render_facts([(key, ", ".join(map(_show, value)))]))
    return join(parts) if parts else None


def _show(value: object) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
