"""The plots of an evaluation's page as inline SVG, each with the table behind it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from prorubric.evaluate.compare import AverageDifference, Comparisons, DifferenceResult, Table
from prorubric.evaluate.pairwise import PairResult
from prorubric.evaluate.paper import find_paper_agreement
from prorubric.evaluate.scores import PairsScore
from prorubric.evaluate.sides import SideResult
from prorubric.report.audit_plots import Mark, render_axis, render_line
from prorubric.report.evaluation_tables import name_judge, title_of
from prorubric.report.numbers import interval, percent, plain, signed
from prorubric.report.page import (
    NOTES,
    Cell,
    Child,
    Html,
    Row,
    element,
    figure,
    fold,
    join,
    note,
    own_words,
    table,
)
from prorubric.report.plots import Scale, ScatterMark, draw_scatter, make_scale, place_shape, render_key, render_legend
from prorubric.text.show import count

_OUTCOMES = (
    ("wins", "win", "c0"),
    ("ties", "tie", "rest"),
    ("inconsistent", "inconsistent", "split"),
    ("losses", "loss", "c1"),
)
_SHARE = Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))
_PERCENT = Scale(0.0, 100.0, (0.0, 25.0, 50.0, 75.0, 100.0))

Places = Mapping[str, int]  # the place of each method, which gives it its colour and shape


def render_numbers(found: Comparisons) -> Html | None:
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
        name = element("span", title_of(one.benchmark), element("small", name_judge(one.judge)))
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


def render_seeds(found: Comparisons, places: Places) -> Html | None:
    """Each seed of each method on HealthBench and on its consensus criteria."""
    titles = {"healthbench": "Coverage", "healthbench-consensus": "Appropriateness"}
    chosen = [one for one in found.tables if one.benchmark in titles]
    if not any(len(side.by_seed) > 1 for one in chosen for side in one.sides):
        return None
    groups = []
    for one in chosen:
        scale = make_scale((value for side in one.sides for value in side.by_seed.values()), zero=False)
        lines = [_render_side(side, scale, places) for side in one.sides]
        head = element(
            "h4", titles[one.benchmark], " ", element("small", f"{title_of(one.benchmark)}{name_judge(one.judge)}")
        )
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


def _render_difference(
    row: AverageDifference | DifferenceResult,
    ends: tuple[float | None, float | None],
    about: str,
    scale: Scale,
    places: Places,
    band: Html | None = None,
) -> Html:
    """One difference with its interval, in front of a band if there is one."""
    place = places.get(row.first, 0)
    line = render_line(Mark(row.mean, *ends), scale, place)
    return _join_line(
        (render_key(place), element("span", own_words(row.first), " − ", own_words(row.second))),
        element("svg", band, line, class_="plot", aria_hidden="true"),
        *(element("b", signed(row.mean)), element("span", interval(*ends)), element("small", about)),
    )


def render_differences(found: Comparisons, places: Places) -> Html | None:
    """Every difference as a forest plot, and the table behind it."""
    rows = [(one, row) for one in found.tables for row in one.differences]
    if not rows:
        return None
    scale = make_scale(end for _, row in rows for end in (row.low, row.high, row.mean))
    groups: list[Html] = []
    for average in (average for average in found.averages if average.differences):
        lines = []
        for mean in average.differences:
            half, seeds = None if mean.se_items is None else 1.96 * mean.se_items, mean.over_seeds
            ends = (None, None) if half is None else (mean.mean - half, mean.mean + half)
            over = f"seeds {interval(seeds.low, seeds.high)}" if seeds and seeds.low is not None else ""
            lines.append(_render_difference(mean, ends, over, scale, places))
        about = f"of {len(average.benchmarks)} benchmarks{name_judge(average.judge)}"
        head = element("h4", "Average ", own_words(about, "small"))
        groups.append(element("div", head, lines, class_="forest"))
    for one in (one for one in found.tables if one.differences):
        lines, sizes = [], [row.smallest_found for row in one.differences if row.smallest_found is not None]
        for row in one.differences:
            band, size = None, row.smallest_found
            if size is not None:
                left, right = (min(max(scale.share(end), 0), 100) for end in (-size, size))
                shape = {"x": f"{left:.2f}%", "width": f"{right - left:.2f}%", "y": "0", "height": "100%"}
                band = element("rect", **shape, class_="missed")
            about = f"p {_show_p(row.p_holm)}{' ⚠' if row.could_flip else ''}"
            lines.append(_render_difference(row, (row.low, row.high), about, scale, places, band))
        found_sizes = " to ".join(dict.fromkeys((plain(min(sizes)), plain(max(sizes))))) if sizes else ""
        power = f"; finds {found_sizes} points four times out of five" if sizes else ""
        groups.append(element("div", _title(one, count(one.common, "item") + power), lines, class_="forest"))
    return join(
        note(NOTES["evaluation-differences"]),
        groups,
        render_axis(scale, signed),
        fold("All figures as a table", note(NOTES["evaluation-over"]), _render_difference_table(rows), class_="tall"),
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
                Cell(interval(row.low, row.high), row.low),
                Cell(show_span(row.bootstrap)),
                Cell(show_span(row.simultaneous)),
                Cell(interval(seeds.low, seeds.high) if seeds else ""),
                figure(
                    row.over_both.se if row.over_both else None, lambda value: "" if value is None else plain(value, 2)
                ),
                figure(row.p, _show_p),
                row.test,
                figure(row.p_holm, _show_p),
                Cell((show_span(row.bounds), " ⚠" if row.could_flip else "")),
                figure(row.smallest_found, plain),
                figure(row.n),
                figure(row.clusters),
            )
        )
    return table("Differences", heads, found, sortable=True)


def render_probe(found: Comparisons, places: Places) -> Html | None:
    """How often each criterion of the probe is met."""
    if not found.probe:
        return None
    groups = []
    for rate in found.probe:
        lines = [_render_side(side, _PERCENT, places) for side in rate.sides]
        about = f"{rate.benchmark}{name_judge(rate.judge)}, {count(rate.n, 'item')}"
        head = element("h4", own_words(rate.criterion), " ", element("small", about))
        groups.append(element("div", head, lines, class_="forest"))
    return join(note(NOTES["evaluation-probe"]), groups, render_axis(_PERCENT, plain))


def render_pairs(rows: Sequence[PairResult], name: str) -> Html | None:
    """Wins, ties, inconsistent results and losses as one bar for each pair and judge."""
    if not rows:
        return None
    by_judge: dict[tuple[str, str], list[Html]] = defaultdict(list)
    for row in rows:
        bars, left = [], 0.0
        for field, _, style in _OUTCOMES:
            width = 100 * getattr(row, field) / row.n if row.n else 0.0
            bars.append(element("rect", x=f"{left:.2f}%", width=f"{width:.2f}%", y="12%", height="76%", class_=style))
            left += width
        title = element("span", own_words(row.policy), " against ", own_words(row.other))
        left_out = [f"{number} {name}" for name in ("unread", "unanswered") if (number := getattr(row, name))]
        counts = ", ".join([f"W {row.wins} T {row.ties} I {row.inconsistent} L {row.losses}", *left_out])
        plot = element("svg", bars, class_="plot", role="img", aria_label=counts)
        line = _join_line(title, plot, element("b", percent(row.win_rate)), element("small", counts))
        by_judge[row.benchmark, row.judge].append(line)
    groups = []
    for (benchmark, judge), lines in by_judge.items():
        head = element("h4", title_of(benchmark), " ", element("small", name_judge(judge).strip()))
        groups.append(element("div", head, lines, class_="forest"))
    legend = [element("span", _swatch(style), title) for _, title, style in _OUTCOMES]
    legend_line = element("div", legend, class_="legend")
    return join(note(NOTES[f"evaluation-{name}"]), legend_line, groups, _render_pair_table(rows))


def _render_pair_table(rows: Sequence[PairResult]) -> Html:
    heads = ("pair", "seed", "W", "T", "I", "L", "unread", "win rate", "95%", "p", "consistent", "first shown")
    found: list[Row] = []
    for row in rows:
        about = element("small", f" {title_of(row.benchmark)}{name_judge(row.judge)}")
        name = element("span", own_words(row.policy, "span"), " against ", own_words(row.other, "span"), about)
        scores: dict[str, PairsScore | PairResult] = {**row.by_seed}
        if len(scores) > 1:
            scores["all"] = row
        for seed, score in scores.items():
            single = score if isinstance(score, PairsScore) else None
            p, consistency, bias = (single.p, single.consistency, single.position_bias) if single else (None,) * 3
            counts = (score.wins, score.ties, score.inconsistent, score.losses, score.unread)
            found.append(
                (
                    name,
                    seed if len(scores) > 1 else "",
                    *(figure(number) for number in counts),
                    Cell(percent(score.win_rate), score.win_rate, strong=True),
                    Cell(interval(score.low, score.high, percent)),
                    figure(p, _show_p),
                    figure(consistency, percent),
                    Cell("" if bias is None else f"{signed(100 * bias, 0)} points", bias),
                )
            )
    return fold("All figures as a table", table("Pairs", heads, found, sortable=True), class_="tall")


def render_physicians(found: Comparisons) -> Html | None:
    """Balanced F1 by theme, of each judge and of the physicians."""
    if not found.labels:
        return None
    groups: list[Child] = []
    for own in found.labels:
        lines = []
        for theme in own.themes:
            paper = find_paper_agreement(theme.theme).get("DeepSeek-V4-Pro")
            people = None if theme.physicians is None else place_shape(1, theme.physicians, _SHARE)
            line = render_line(Mark(theme.judge, paper=paper), _SHARE, 0)
            plot = element("svg", line, people, class_="plot", aria_hidden="true")
            figures = (element("b", plain(theme.judge, 2)), element("span", f"physicians {plain(theme.physicians, 2)}"))
            name = (render_key(0), own_words(theme.theme.replace("_", " ")))
            lines.append(_join_line(name, plot, *figures, element("small", count(theme.criteria, "criterion"))))
        ends = interval(own.low, own.high, lambda value: plain(value, 3))
        about = f"{plain(own.criteria.mean, 3)} ({ends} over conversations); physicians {plain(own.physicians.mean, 3)}"
        head = element("h4", own_words(own.judge), " ", element("small", about))
        axis = render_axis(_SHARE, lambda value: f"{value:g}")
        groups.append(element("div", head, lines, axis, class_="forest"))
        one_sided = f"{len(own.criteria.one_sided)} of {len(own.criteria.by_criterion)} criteria are one-sided"
        rest = f"with them {plain(own.criteria.mean_of_all, 3)}; pooled {plain(own.pooled, 3)}"
        rows = f"{own.pairs:,} labels, {own.unknown:,} of {own.rows:,} rows without a verdict"
        groups.append(note(f"{one_sided}; {rest}; {rows}."))
    names = {"judge": 0, "physicians": 1, "the paper's judge": None}
    legend = element(
        "div", [element("span", render_key(place), name) for name, place in names.items()], class_="legend"
    )
    return join(note(NOTES["evaluation-physicians"]), legend, groups)


def render_lengths(found: Comparisons, places: Places) -> Html | None:
    """A plot for each table with lengths."""
    plots: list[Child] = []
    for one in found.tables:
        marks = [(arm.method, arm.characters, arm.mean) for arm in one.arms if arm.characters and arm.mean is not None]
        if marks:
            placed = [ScatterMark(places[method], length, mean) for method, length, mean in marks]
            shapes = draw_scatter(placed, lambda value: f"{value:,.0f}", plain)
            about = f"{title_of(one.benchmark)}{name_judge(one.judge)}: length against score"
            plot = element("svg", shapes, class_="scatter", role="img", aria_label=about)
            plots.append(element("div", _title(one), plot, class_="chart"))
    if not plots:
        return None
    return join(note(NOTES["evaluation-lengths"]), render_legend(places), element("div", plots, class_="charts"))


def _title(one: Table, about: str = "") -> Html:
    small = ", ".join(filter(None, (f"by {one.judge}" if one.judge else "", about)))
    return element("h4", title_of(one.benchmark), " ", own_words(small, "small"))


def _join_line(name: Child, plot: Html, *figures: Child) -> Html:
    label = element("span", name, class_="name")
    spaced = [(figure, " ") for figure in figures]
    return element("div", label, plot, element("span", spaced, class_="figure"), class_="line")


def show_span(ends: tuple[float, float] | None, show: Callable[[float | None], str] = signed) -> str:
    """As `interval`, for ends in one."""
    return "" if ends is None else interval(*ends, show)


def _show_p(value: float | None) -> str:
    if value is None:
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}"
