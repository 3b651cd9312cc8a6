"""The plots of an audit's page: what each edit earns, naming against substance, placement, coverage."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from statistics import fmean

from prorubric.audit.cases import ANSWER
from prorubric.audit.edits import EDITS, WORTHLESS
from prorubric.audit.paper import load_paper
from prorubric.audit.records import AuditResult, Effect
from prorubric.report.audit_folder import list_edits
from prorubric.report.audit_forest import Mark, Scale, make_scale, render_axis, render_key, render_line, render_strip
from prorubric.report.page import Cell, Child, Html, element, interval, join, note, percent, plain, signed, table

_EFFECTS = (
    "Mean change of the reward × 100 with its 95% interval (bootstrap over prompts, widened for few of them), against "
    "the same answer without the edit."
)
_COLUMNS = (
    "Rising, falling and unchanged are shares of the pairs. Open: pairs that were left out because one of the two "
    "rewards is not known. Per spread: the mean in units of the spread between answers to the same prompt, by which "
    "GRPO divides. The last three are controls: the answer judged again, garbage of its length, an answer to another "
    "prompt."
)
_HEADS = (
    *("edit", "scheme", "mean", "95% interval", "rising", "falling", "unchanged"),
    *("pairs", "prompts", "open", "per spread", "paper"),
)
_SHARES = (
    "What naming items earns, as a share of what really satisfying them earns. At 0% a name is worth nothing; at 100% "
    "it is as good as the real thing."
)
_PLACEMENT = (
    "Substance spread through the answer against the same substance at its end, on pairs of about the same length. "
    "Above 0 the reward prefers the woven answer, below 0 the appended paragraph."
)
_COVERAGE = (
    "How much of the checklist answers cover (the sum × 100), apart for those that pass appropriateness and those that "
    "fail it. A stroke is a place where answers lie, the mark is their mean. Where failing answers cover as much as "
    "passing ones, coverage does not tell whether an answer suits the asker."
)
_PERCENT = Scale(0.0, 100.0, (0.0, 25.0, 50.0, 75.0, 100.0))

Places = Mapping[str, int]
"""The place of each scheme, which gives it its colour and shape."""
Show = Callable[[float | None], str]


def render_effects(result: AuditResult, places: Places) -> Html:
    """Every edit under every scheme: the forest plot, and the table behind it."""
    known = [effect for effect in result.effects if effect.edit in EDITS]
    if not known:
        return note("No edit could be made.")
    scale = make_scale(chain.from_iterable(_mark_of(effect).values for effect in known))
    edits = list_edits(known)
    rows = [
        _list_cells(effect) for edit in list_edits(result.effects) for effect in result.effects if effect.edit == edit
    ]
    return join(
        note(_EFFECTS),
        _render_legend(known),
        _render_group(
            "A sound reward pays nothing for these", [e for e in edits if e in WORTHLESS], known, scale, places
        ),
        _render_group("Noise, and what should pay", [e for e in edits if e not in WORTHLESS], known, scale, places),
        element(
            "details",
            element("summary", "All figures as a table"),
            table("Effects", _HEADS, rows, sortable=True),
            note(_COLUMNS),
        ),
    )


def render_shares(result: AuditResult, places: Places) -> Html | None:
    """Naming as a share of substance."""
    marks = {share.scheme: Mark(share.value, share.low, share.high, share.paper) for share in result.naming_share}
    return _render_plot(_SHARES, marks, places, percent) if marks else None


def render_placement(result: AuditResult, places: Places) -> Html | None:
    """Substance at the end against substance in its place."""
    marks = {effect.scheme: _mark_of(effect) for effect in result.placement}
    return _render_plot(_PLACEMENT, marks, places, signed) if marks else None


def render_coverage(coverage: Mapping[tuple[str, bool], Sequence[float]]) -> Html | None:
    """Coverage of the answers that pass appropriateness beside those that fail it."""
    if not coverage:
        return None
    kinds = [kind for kind in (ANSWER, *EDITS) if (kind, True) in coverage or (kind, False) in coverage]
    plots = [
        element(
            "div",
            element("h4", "the answer as it is" if kind == ANSWER else kind),
            [_render_strip_line(coverage.get((kind, passed), ()), passed) for passed in (True, False)],
            class_="forest",
        )
        for kind in kinds
    ]
    return join(note(_COVERAGE), plots, _render_axis_line(_PERCENT, plain))


def _render_legend(effects: Iterable[Effect]) -> Html | None:
    if all(effect.paper is None for effect in effects):
        return None
    source = element("cite", str(load_paper()["source"]))
    return note(
        render_key(None), " hollow: the paper's figure, 300 clinical cases, its own judge and editor (", source, ")"
    )


def _render_group(
    title: str, edits: Sequence[str], effects: Sequence[Effect], scale: Scale, places: Places
) -> Html | None:
    if not edits:
        return None
    plots = [_render_edit(edit, [e for e in effects if e.edit == edit], scale, places) for edit in edits]
    return element("div", element("h3", title), plots, _render_axis_line(scale, signed))


def _render_edit(edit: str, effects: Sequence[Effect], scale: Scale, places: Places) -> Html:
    meaning = element("small", EDITS[edit].meaning if edit in EDITS else "")
    lines = [_render_line(effect.scheme, _mark_of(effect), scale, places, signed) for effect in effects]
    return element("div", element("h4", edit, " ", meaning), lines, class_="forest")


def _render_plot(text: str, marks: Mapping[str, Mark], places: Places, show: Show) -> Html:
    scale = make_scale(chain.from_iterable(mark.values for mark in marks.values()))
    lines = [_render_line(name, mark, scale, places, show) for name, mark in marks.items()]
    return join(note(text), element("div", lines, _render_axis_line(scale, show), class_="forest"))


def _render_line(name: str, mark: Mark, scale: Scale, places: Places, show: Show) -> Html:
    place = places.get(name, 0)
    return element(
        "div",
        element("span", render_key(place), name, class_="name"),
        render_line(mark, scale, place),
        element("span", _render_figure(mark, show), class_="figure"),
        class_="line",
    )


def _render_figure(mark: Mark, show: Show) -> Html:
    if mark.value is None:
        return element("small", "not known")
    ends = f"{show(mark.low)} to {show(mark.high)}" if mark.low is not None and mark.high is not None else ""
    paper = f"paper {show(mark.paper)}" if mark.paper is not None else ""
    return join(element("b", show(mark.value)), " ", element("small", ends), " ", element("small", paper))


def _render_strip_line(shares: Sequence[float], passed: bool) -> Html:
    mean = fmean(shares) if shares else None
    return element(
        "div",
        element("span", render_key(0 if passed else 1), "passes" if passed else "fails", class_="name"),
        render_strip(shares, mean, _PERCENT, passed),
        element("span", element("b", plain(mean)), " ", element("small", f"{len(shares)} answers"), class_="figure"),
        class_="line",
    )


def _render_axis_line(scale: Scale, show: Show) -> Html:
    empty = element("span")
    return element("div", empty, render_axis(scale, show), empty, class_="line axis-line")


def _mark_of(effect: Effect) -> Mark:
    return Mark(effect.mean, effect.low, effect.high, effect.paper, effect.paper_low, effect.paper_high)


def _list_cells(effect: Effect) -> list[Child | Cell]:
    paper = join(signed(effect.paper), " ", element("small", interval(effect.paper_low, effect.paper_high)))
    return [
        effect.edit,
        effect.scheme,
        Cell(signed(effect.mean), effect.mean, strong=True),
        Cell(interval(effect.low, effect.high), effect.low),
        *(Cell(percent(share), share) for share in (effect.rising, effect.falling, effect.unchanged)),
        *(Cell(str(count), count) for count in (effect.pairs, effect.prompts, effect.unknown)),
        Cell(signed(effect.per_spread, 2), effect.per_spread),
        Cell(paper, effect.paper),
    ]
