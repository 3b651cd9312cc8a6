"""`write_evaluation_page`: what an evaluation found, as one page that opens anywhere, `report.html` in its folder.

Nothing is measured here: the figures come from `Comparisons`. No text of a benchmark is on the page, only names and
figures.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from prorubric.evaluate.compare import Average, Comparisons, DifferenceResult, Table
from prorubric.evaluate.pairwise import PairResult
from prorubric.evaluate.paper import find_paper_agreement
from prorubric.evaluate.sides import SideResult
from prorubric.report.audit_plots import Mark, render_axis, render_line
from prorubric.report.evaluation_headline import describe_result
from prorubric.report.evaluation_tables import list_blocks, title_of
from prorubric.report.numbers import UNKNOWN, percent, plain, signed
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
    table,
    write_whole,
)
from prorubric.report.plots import Scale, make_scale, place_shape, render_key, render_legend
from prorubric.text.show import count

PAGE = "report.html"
EQUAL_BUDGET = "-2048"
_MOST_SENTENCES = 6
_OUTCOMES = (
    ("wins", "win", "c0"),
    ("ties", "tie", "rest"),
    ("inconsistent", "inconsistent", "split"),
    ("losses", "loss", "c1"),
)
_PERCENT = Scale(0.0, 100.0, (0.0, 25.0, 50.0, 75.0, 100.0))

Places = Mapping[str, int]  # the place of each method, which gives it its colour and shape
Section = Callable[[Comparisons, Places], Html | None]


def write_evaluation_page(
    folder: Path, found: Comparisons, settings: Mapping[str, object], summary: Mapping[str, object]
) -> Path:
    """Write the page. `settings` has the configuration and checksums, `summary` what the run did and cost.

    Both may be nested once; an inner mapping becomes a table under its name.
    """
    names = dict.fromkeys(side.name for one in found.tables for side in one.sides)
    places = {name: place for place, name in enumerate(names)}
    sections: tuple[tuple[str, str, Html | None], ...] = (
        ("items", "How many items", _render_numbers(found)),
        ("main", "Scores", _render_main(found)),
        ("seeds", "Coverage and appropriateness by seed", _render_seeds(found, places)),
        ("differences", "Differences", _render_differences(found, places)),
        ("probe", "The probe by criterion", _render_probe(found, places)),
        ("pairs", "Blind pairs", _render_pairs([row for row in found.pairs if not _is_equal(row)], "pairs")),
        ("budget", "Equal budget", _render_pairs([row for row in found.pairs if _is_equal(row)], "budget")),
        ("physicians", "Judges against physicians", _render_physicians(found)),
        ("ranks", "Would another judge agree?", _render_ranks(found)),
        ("lengths", "Length and score", _render_lengths(found, places)),
        ("losses", "Losses", _render_losses(found)),
        ("cost", "What it took", _render_mapping(summary)),
        ("settings", "Settings and checksums", _render_mapping(settings)),
    )
    given = [section for section in sections if section[2]]
    name = folder.absolute().name
    body = join(
        _render_header(name, found),
        element("nav", [element("a", title, href=f"#{key}") for key, title, _ in given], aria_label="Sections"),
        element("main", [element("section", element("h2", title), inner, id=key) for key, title, inner in given]),
    )
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


def _render_numbers(found: Comparisons) -> Html | None:
    """From the pool to the common set: one bar for each table."""
    lines = []
    for one in found.tables:
        judged = min((arm.judged for arm in one.arms), default=0)
        steps = ((one.pool, "pool"), (one.answered, "answered"), (judged, "split"), (one.common, "c0"))
        bars = [
            element("rect", x="0", y="15%", width=f"{100 * number / one.pool:.2f}%", height="70%", class_=style)
            for number, style in steps
        ]
        shown = " → ".join(f"{number:,}" for number, _ in steps)
        plot = element("svg", bars, class_="plot", role="img", aria_label=shown)
        name = element("span", title_of(one.benchmark), element("small", _by(one.judge)))
        lines.append(_join_line(name, plot, element("b", percent(one.common / one.pool)), element("small", shown)))
    if not lines:
        return None
    names = (("pool", "pool"), ("answered", "answered by all"), ("split", "judged, worst policy"), ("c0", "common"))
    legend = [element("span", _swatch(style), title) for style, title in names]
    legend_line = element("div", legend, class_="legend")
    return join(note(NOTES["evaluation-numbers"]), legend_line, element("div", lines, class_="forest"))


def _swatch(style: str) -> Html:
    inner = element("rect", width="100%", height="100%", class_=style)
    return element("svg", inner, class_="swatch", aria_hidden="true")


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
        title = block.judge if "average" in block.benchmarks else f"{block.judge}, other benchmarks"
        head = element("h4", own_words(title)) if several else None
        tables.append(join(head, table("Scores", ["method", *map(title_of, block.benchmarks)], rows)))
    if not tables:
        return None
    clipped = [
        join(title_of(one.benchmark), _by(one.judge), ": ", ", ".join(f"{s.name} {plain(s.mean)}" for s in one.sides))
        for one in found.tables
        if any(arm.mean is not None and arm.headline != arm.mean for arm in one.arms)
    ]
    return join(
        note(NOTES["evaluation-main"]),
        tables,
        join(note("Means that were clipped in this table:"), bullets(clipped)) if clipped else None,
        fold("Every policy, with errors over items", _render_arms(found)),
    )


def _render_arms(found: Comparisons) -> Html:
    heads = ("policy", "benchmark", "judge", "mean", "95% over items", "bootstrap", "s.e.", "s.d.", "items", "clusters")
    rows: list[Row] = [
        (
            own_words(arm.policy),
            title_of(one.benchmark),
            own_words(one.judge),
            Cell(plain(arm.mean), arm.mean, strong=True),
            Cell(_ends(arm.low, arm.high, plain), arm.low),
            Cell(_span(arm.bootstrap, plain)),
            figure(arm.se, lambda value: plain(value, 2)),
            figure(arm.sd, plain),
            figure(arm.n),
            figure(arm.clusters),
        )
        for one in found.tables
        for arm in one.arms
    ]
    return table("Policies", heads, rows, sortable=True)


def _render_seeds(found: Comparisons, places: Places) -> Html | None:
    """Each seed of each method on HealthBench and on its consensus criteria."""
    titles = {"healthbench": "Coverage", "healthbench-consensus": "Appropriateness"}
    chosen = [one for one in found.tables if one.benchmark in titles]
    if not any(len(side.by_seed) > 1 for one in chosen for side in one.sides):
        return None
    groups = []
    for one in chosen:
        scale = make_scale((value for side in one.sides for value in side.by_seed.values()), zero=False)
        lines = [_render_side(side, scale, places) for side in one.sides]
        head = element("h4", titles[one.benchmark], " ", element("small", f"{title_of(one.benchmark)}{_by(one.judge)}"))
        groups.append(element("div", head, lines, render_axis(scale, plain), class_="forest"))
    return join(note(NOTES["evaluation-seeds"]), groups)


def _render_side(side: SideResult, scale: Scale, places: Places, digits: int = 1) -> Html:
    """One method: a small mark for each seed, the mean, and both in figures."""
    place = places.get(side.name, 0)
    dots = [
        element("circle", cx=scale.place(value), cy="50%", r="2.6", class_="dot")
        for value in (side.by_seed.values() if len(side.by_seed) > 1 else ())
    ]
    mark = Mark(side.mean)
    plot = element("svg", dots, render_line(mark, scale, place), class_="plot", aria_hidden="true")
    spread = "" if side.sd is None else f"±{plain(side.sd, digits)} over {count(len(side.by_seed), 'seed')}"
    return _join_line(
        (render_key(place), own_words(side.name)),
        plot,
        element("b", plain(side.mean, digits)),
        element("small", spread),
    )


def _render_differences(found: Comparisons, places: Places) -> Html | None:
    rows = [(one, row) for one in found.tables for row in one.differences]
    if not rows:
        return None
    scale = make_scale(end for _, row in rows for end in (row.low, row.high, row.mean))
    groups = [_render_average(average, scale, places) for average in found.averages if average.differences]
    for one in found.tables:
        lines = [_render_difference(row, scale, places) for row in one.differences]
        if lines:
            sizes = [row.smallest_found for row in one.differences if row.smallest_found is not None]
            size = f"finds {plain(min(sizes))} to {plain(max(sizes))} points four times out of five" if sizes else ""
            head = _title(one, f"{count(one.common, 'item')}; {size}" if size else count(one.common, "item"))
            groups.append(element("div", head, lines, class_="forest"))
    return join(
        note(NOTES["evaluation-differences"]),
        groups,
        render_axis(scale, signed),
        fold("All figures as a table", note(NOTES["evaluation-over"]), _render_difference_table(rows)),
    )


def _render_average(average: Average, scale: Scale, places: Places) -> Html:
    lines = []
    for row in average.differences:
        place, half = places.get(row.first, 0), None if row.se_items is None else 1.96 * row.se_items
        ends = (None, None) if half is None else (row.mean - half, row.mean + half)
        seeds = row.over_seeds
        over = f"seeds {_ends(seeds.low, seeds.high)}" if seeds and seeds.low is not None else ""
        name = element("span", own_words(row.first), " − ", own_words(row.second))
        figures = (element("b", signed(row.mean)), element("span", _ends(*ends)), element("small", over))
        lines.append(_join_line((render_key(place), name), render_line(Mark(row.mean, *ends), scale, place), *figures))
    about = f"of {len(average.benchmarks)} benchmarks{_by(average.judge)}"
    return element("div", element("h4", "Average ", own_words(about, "small")), lines, class_="forest")


def _render_difference(row: DifferenceResult, scale: Scale, places: Places) -> Html:
    band = None
    if row.smallest_found is not None:
        left, right = (min(max(scale.share(end), 0), 100) for end in (-row.smallest_found, row.smallest_found))
        band = element("rect", x=f"{left:.2f}%", width=f"{right - left:.2f}%", y="0", height="100%", class_="missed")
    place = places.get(row.first, 0)
    plot = element(
        "svg", band, render_line(Mark(row.mean, row.low, row.high), scale, place), class_="plot", aria_hidden="true"
    )
    sign = " ⚠" if row.could_flip else ""
    return _join_line(
        (render_key(place), element("span", own_words(row.first), " − ", own_words(row.second))),
        plot,
        element("b", signed(row.mean)),
        element("span", _ends(row.low, row.high)),
        element("small", UNKNOWN if row.p_holm is None else f"p {row.p_holm:.3f}{sign}"),
    )


def _render_difference_table(rows: Iterable[tuple[Table, DifferenceResult]]) -> Html:
    heads = (
        *("difference", "benchmark", "judge", "points", "95% over items", "bootstrap", "at once", "95% over seeds"),
        *("s.e. over both", "p", "test", "p (Holm)", "bounds", "finds", "items", "clusters"),
    )
    found: list[Row] = []
    for one, row in rows:
        seeds = row.over_seeds
        found.append(
            (
                element("span", own_words(row.first), " − ", own_words(row.second)),
                title_of(one.benchmark),
                own_words(one.judge),
                Cell(signed(row.mean), row.mean, strong=True),
                Cell(_ends(row.low, row.high), row.low),
                Cell(_span(row.bootstrap)),
                Cell(_span(row.simultaneous)),
                Cell(_ends(seeds.low, seeds.high) if seeds else ""),
                figure(
                    row.over_both.se if row.over_both else None, lambda value: "" if value is None else plain(value, 2)
                ),
                figure(row.p, lambda value: plain(value, 4)),
                row.test,
                figure(row.p_holm, lambda value: plain(value, 4)),
                Cell((_span(row.bounds), " ⚠" if row.could_flip else "")),
                figure(row.smallest_found, plain),
                figure(row.n),
                figure(row.clusters),
            )
        )
    return table("Differences", heads, found, sortable=True)


def _render_probe(found: Comparisons, places: Places) -> Html | None:
    if not found.probe:
        return None
    groups = []
    for rate in found.probe:
        lines = [_render_side(side, _PERCENT, places) for side in rate.sides]
        about = f"{rate.benchmark}{_by(rate.judge)}, {count(rate.n, 'item')}"
        head = element("h4", own_words(rate.criterion), " ", element("small", about))
        groups.append(element("div", head, lines, class_="forest"))
    return join(note(NOTES["evaluation-probe"]), groups, render_axis(_PERCENT, plain))


def _render_pairs(rows: Sequence[PairResult], name: str) -> Html | None:
    """Wins, ties, inconsistent results and losses as one bar for each pair and judge."""
    if not rows:
        return None
    legend = [element("span", _swatch(style), title) for _, title, style in _OUTCOMES]
    by_judge: dict[tuple[str, str], list[PairResult]] = defaultdict(list)
    for row in rows:
        by_judge[row.benchmark, row.judge].append(row)
    groups = []
    for (benchmark, judge), own in by_judge.items():
        head = element("h4", title_of(benchmark), " ", element("small", _by(judge).strip()))
        groups.append(element("div", head, map(_render_pair, own), class_="forest"))
    legend_line = element("div", legend, class_="legend")
    return join(note(NOTES[f"evaluation-{name}"]), legend_line, groups, _render_pair_table(rows))


def _render_pair(row: PairResult) -> Html:
    bars, left = [], 0.0
    for field, _, style in _OUTCOMES:
        width = 100 * getattr(row, field) / row.n if row.n else 0.0
        bars.append(element("rect", x=f"{left:.2f}%", width=f"{width:.2f}%", y="12%", height="76%", class_=style))
        left += width
    title = element("span", own_words(row.policy), " against ", own_words(row.other))
    counts = f"W {row.wins} T {row.ties} I {row.inconsistent} L {row.losses}"
    plot = element("svg", bars, class_="plot", role="img", aria_label=counts)
    return _join_line(title, plot, element("b", percent(row.win_rate)), element("small", counts))


def _render_pair_table(rows: Sequence[PairResult]) -> Html:
    heads = (
        "pair",
        "benchmark",
        "judge",
        "seed",
        "W",
        "T",
        "I",
        "L",
        "unread",
        "win rate",
        "95%",
        "p",
        "consistent",
        "first shown",
    )
    found: list[Row] = []
    for row in rows:
        for seed, score in row.by_seed.items():
            counts = (score.wins, score.ties, score.inconsistent, score.losses, score.unread)
            bias = score.position_bias
            found.append(
                (
                    element("span", own_words(row.policy), " against ", own_words(row.other)),
                    title_of(row.benchmark),
                    own_words(row.judge),
                    own_words(seed) if len(row.by_seed) > 1 else "",
                    *(figure(number) for number in counts),
                    Cell(percent(score.win_rate), score.win_rate, strong=True),
                    Cell(_ends(score.low, score.high, percent)),
                    figure(score.p, lambda value: plain(value, 4)),
                    figure(score.consistency, percent),
                    Cell(UNKNOWN if bias is None else f"{signed(100 * bias, 0)} points", bias),
                )
            )
        if len(row.by_seed) > 1:
            blank = [Cell("")] * 3
            counts = (row.wins, row.ties, row.inconsistent, row.losses, row.unread)
            found.append(
                (
                    element("span", own_words(row.policy), " against ", own_words(row.other)),
                    title_of(row.benchmark),
                    own_words(row.judge),
                    "all, interval over seeds",
                    *(figure(number) for number in counts),
                    Cell(percent(row.win_rate), row.win_rate, strong=True),
                    Cell(_ends(row.low, row.high, percent)),
                    *blank,
                )
            )
    return fold("All figures as a table", table("Pairs", heads, found, sortable=True))


def _render_physicians(found: Comparisons) -> Html | None:
    if not found.labels:
        return None
    scale = Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))
    groups: list[Child] = []
    for own in found.labels:
        lines = []
        for theme in own.themes:
            paper = find_paper_agreement(theme.theme)
            judge = _join_line(
                (render_key(0), own_words(theme.theme.replace("_", " "))),
                element(
                    "svg",
                    render_line(Mark(theme.judge, paper=paper.get("DeepSeek-V4-Pro")), scale, 0),
                    None if theme.physicians is None else place_shape(1, theme.physicians, scale),
                    class_="plot",
                    aria_hidden="true",
                ),
                element("b", plain(theme.judge, 2)),
                element("span", f"physicians {plain(theme.physicians, 2)}"),
                element("small", count(theme.criteria, "criterion")),
            )
            lines.append(judge)
        ends = _ends(own.low, own.high, lambda value: plain(value, 3))
        about = f"{plain(own.criteria.mean, 3)} ({ends} over conversations); physicians {plain(own.physicians.mean, 3)}"
        axis = render_axis(scale, lambda value: f"{value:g}")
        head = element("h4", own_words(own.judge), " ", element("small", about))
        groups.append(element("div", head, lines, axis, class_="forest"))
        one_sided = f"{len(own.criteria.one_sided)} of {len(own.criteria.by_criterion)} criteria are one-sided"
        rest = f"with them {plain(own.criteria.mean_of_all, 3)}; pooled {plain(own.pooled, 3)}"
        groups.append(
            note(f"{one_sided}; {rest}; {own.pairs:,} labels, {own.unknown:,} of {own.rows:,} rows without a verdict.")
        )
    legend = element(
        "div",
        element("span", render_key(0), "judge"),
        element("span", render_key(1), "physicians"),
        element("span", render_key(None), "the paper's judge"),
        class_="legend",
    )
    return join(note(NOTES["evaluation-physicians"]), legend, groups)


def _render_ranks(found: Comparisons) -> Html | None:
    ranks: list[Row] = [
        (
            title_of(row.benchmark),
            own_words(row.first),
            own_words(row.second),
            Cell(plain(row.rho, 2), row.rho, strong=True),
            Cell(_ends(row.low, row.high, lambda value: plain(value, 2)), row.low),
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
    parts = (
        (
            "Ranks",
            "ranks",
            ("benchmark", "first judge", "second judge", "ρ", "95% over items", "policies", "items"),
            ranks,
        ),
        (
            "Criteria",
            "disagreement",
            ("method", "benchmark", "judges", "only the first", "only the second", "criteria", "unknown"),
            shares,
        ),
        ("Judged twice", "repeats", ("benchmark", "judge", "changed", "difference", "s.e.", "items"), repeats),
    )
    given = [
        join(element("h3", title), note(NOTES[f"evaluation-{name}"]), table(title, heads, rows))
        for title, name, heads, rows in parts
        if rows
    ]
    return join(given) if given else None


def _render_lengths(found: Comparisons, places: Places) -> Html | None:
    """A plot for each table with lengths."""
    plots: list[Child] = []
    for one in found.tables:
        marks = [(arm.method, arm.characters, arm.mean) for arm in one.arms if arm.characters and arm.mean is not None]
        if marks:
            across = make_scale((length for _, length, _ in marks), zero=False, show=lambda value: f"{value:,.0f}")
            up = make_scale((mean for _, _, mean in marks), zero=False, show=plain)
            shapes: list[Html] = []
            for tick in up.ticks:
                y = f"{100 - up.share(tick):.2f}%"
                shapes.append(element("line", x1="0", x2="100%", y1=y, y2=y, class_="grid" if tick else "zero"))
                shapes.append(
                    element("text", plain(tick).replace(".0", ""), x="-8", y=y, dy=".32em", text_anchor="end")
                )
            for tick in across.ticks:
                x = across.place(tick)
                shapes.append(element("text", f"{tick:,.0f}", x=x, y="100%", dy="1.5em", text_anchor="middle"))
            for method, length, mean in marks:
                shapes.append(place_shape(places[method], length or 0.0, across, f"{100 - up.share(mean):.2f}%"))
            about = f"{title_of(one.benchmark)}{_by(one.judge)}: length against score"
            plot = element("svg", shapes, class_="scatter", role="img", aria_label=about)
            plots.append(element("div", _title(one), plot, class_="chart"))
    if not plots:
        return None
    return join(note(NOTES["evaluation-lengths"]), render_legend(places), element("div", plots, class_="charts"))


def _render_losses(found: Comparisons) -> Html | None:
    heads = (
        "policy",
        "benchmark",
        "judge",
        "answered",
        "judged",
        "lost",
        "reasons",
        "length lost",
        "length kept",
        "failures",
    )
    rows: list[Row] = []
    for one in found.tables:
        for arm in one.arms:
            failures = ", ".join(f"{kind} {number}" for kind, number in arm.failures.items())
            rows.append(
                (
                    own_words(arm.policy),
                    title_of(one.benchmark),
                    own_words(one.judge),
                    Cell(f"{arm.answered:,} of {one.pool:,}", arm.answered),
                    figure(arm.judged, "{:,}".format),
                    figure(arm.lost, "{:,}".format, strong=bool(arm.lost)),
                    own_words(", ".join(f"{kind} {number}" for kind, number in arm.lost_by.items())),
                    Cell("" if arm.characters_lost is None else f"{arm.characters_lost:,.0f}", arm.characters_lost),
                    Cell("" if arm.characters_kept is None else f"{arm.characters_kept:,.0f}", arm.characters_kept),
                    own_words(failures),
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


def _title(one: Table, about: str = "") -> Html:
    small = ", ".join(filter(None, (f"by {one.judge}" if one.judge else "", about)))
    return element("h4", title_of(one.benchmark), " ", own_words(small, "small"))


def _by(judge: str) -> str:
    return f" by {judge}" if judge else ""


def _join_line(name: Child, plot: Html, *figures: Child) -> Html:
    label = element("span", name, class_="name")
    spaced = [(figure, " ") for figure in figures]
    return element("div", label, plot, element("span", spaced, class_="figure"), class_="line")


def _ends(low: float | None, high: float | None, show: Callable[[float | None], str] = signed) -> str:
    return "" if low is None or high is None else f"{show(low)} to {show(high)}"


def _span(ends: tuple[float, float] | None, show: Callable[[float | None], str] = signed) -> str:
    return "" if ends is None else _ends(*ends, show)
