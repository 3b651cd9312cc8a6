"""`write_evaluation_tables`: the figures of an evaluation as csv, for a notebook, and as LaTeX tables, for a paper.

Csv has every digit and every column, LaTeX one digit and the columns that fit on a page. A figure that is not known is
an empty field in csv and a dash in LaTeX, never 0. The paper's figures come from its own models and judges.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from prorubric.evaluate.compare import AVERAGED, Comparisons, Table
from prorubric.evaluate.paper import find_paper_agreement, find_paper_scores
from prorubric.evaluate.sides import SideResult
from prorubric.evaluate.statistics import Spread
from prorubric.files.tables import open_csv
from prorubric.report.audit_tables import escape_latex, render_row, render_table
from prorubric.report.numbers import in_percent, join_counts
from prorubric.report.page import NOTES, write_whole

FOLDER = "tables"
AVERAGE = "average"
_PAPER_MODELS = ("Qwen3-4B", "Qwen3-8B")
_PAPER_JUDGES = ("DeepSeek-V4-Pro", "GPT-4.1", "physicians")
_TITLES = {
    "writingbench": "WritingBench",
    "creative-v3": "Creative-v3",
    "arena-hard-v2": "Arena-Hard v2",
    "healthbench": "HealthBench",
    "healthbench-hard": "HealthBench hard",
    "healthbench-consensus": "HealthBench consensus",
    "medqa": "MedQA",
    "gpqa-diamond": "GPQA-Diamond",
    "researchqa": "ResearchQA",
    AVERAGE: "Average",
}

Row = Mapping[str, object]


class Sheet(NamedTuple):
    """One table: rows by column, and the columns that LaTeX shows, with their digits."""

    name: str
    rows: Sequence[Row]
    shown: Mapping[str, int]


class MainScore(NamedTuple):
    """A method on a benchmark, as it is printed, and the same by the paper's models."""

    method: str
    benchmark: str
    judge: str
    headline: float | None
    sd: float | None
    """Of the headline, over seeds."""
    mean: float | None
    """Not clipped."""
    seeds: int
    n: int | None
    paper: Mapping[str, float]


def write_evaluation_tables(folder: Path, found: Comparisons) -> tuple[Path, ...]:
    """Write every table that has rows into `tables/` of this folder, each as csv and as LaTeX."""
    out = folder / FOLDER
    out.mkdir(parents=True, exist_ok=True)
    written = list[Path]()
    for sheet in list_sheets(found):
        if not sheet.rows:
            for suffix in ("csv", "tex"):  # of an earlier comparison
                (out / f"{sheet.name}.{suffix}").unlink(missing_ok=True)
            continue
        caption = NOTES[f"evaluation-{sheet.name}-caption"]
        text = render_main_latex(found) if sheet.name == "main" else render_sheet_latex(sheet, caption)
        written += write_sheet(out, sheet, text)
    return tuple(written)


def write_sheet(out: Path, sheet: Sheet, latex: str) -> tuple[Path, Path]:
    """Write a table that has rows as csv and as LaTeX."""
    with open_csv(out / f"{sheet.name}.csv", [*sheet.rows[0]]) as write:
        for row in sheet.rows:
            write(dict(row))
    return out / f"{sheet.name}.csv", write_whole(out / f"{sheet.name}.tex", latex.encode(errors="replace"))


def list_sheets(found: Comparisons) -> tuple[Sheet, ...]:
    """Every table; those without rows are empty."""
    return (*_list_score_sheets(found), *_list_judge_sheets(found))


def _list_score_sheets(found: Comparisons) -> Iterator[Sheet]:
    """Scores, differences, losses and blind pairs."""
    main = []
    for score in list_main(found):
        paper = {f"paper {model}": score.paper.get(model) for model in _PAPER_MODELS}
        main.append({head: value for head, value in score._asdict().items() if head != "paper"} | paper)
    yield Sheet("main", main, {})
    scores, losses = list[Row](), list[Row]()
    fields = ("policy", "method", "seed", "headline", "mean", "se", "low", "high", "sd", "n", "clusters")
    for table in found.tables:
        for arm in table.arms:
            low, high = arm.bootstrap or (None, None)
            scores.append(
                _name(table)
                | {field: getattr(arm, field) for field in fields}
                | {"interval by": arm.interval_by, "bootstrap low": low, "bootstrap high": high}
                | {"samples": arm.samples, "between": arm.between, "within": arm.within}
            )
            losses.append(
                _name(table)
                | {"policy": arm.policy, "pool": table.pool, "answered": arm.answered, "judged": arm.judged}
                | {"common": table.common, "lost": arm.lost, "lost by": join_counts(arm.lost_by)}
                | {"characters lost": arm.characters_lost, "characters kept": arm.characters_kept}
                | {"failures": join_counts(arm.failures)}
            )
    shown = {"benchmark": 0, "judge": 0}
    yield Sheet("scores", scores, shown | {"policy": 0, "mean": 1, "se": 1, "sd": 1, "n": 0})
    ends = {"low": 1, "high": 1, "smallest found": 1, "p holm": 3, "seeds low": 1, "seeds high": 1, "could flip": 0}
    yield Sheet("differences", _list_differences(found), shown | {"first": 0, "second": 0, "mean": 1} | ends)
    lost = ("policy", "pool", "answered", "judged", "common", "lost", "failures")
    yield Sheet("losses", losses, shown | dict.fromkeys(lost, 0))
    counts = ("policy", "other", "wins", "ties", "inconsistent", "losses")
    yield Sheet("pairs", _list_pairs(found), shown | dict.fromkeys(counts, 0) | {"win rate": 1})


def _list_judge_sheets(found: Comparisons) -> Iterator[Sheet]:
    """The probe, the judges against physicians and each other, and what else moves a score."""
    probe = [
        {"benchmark": rate.benchmark, "judge": rate.judge, "criterion": rate.criterion, "method": side.name}
        | {"mean": side.mean, "sd": side.sd, "seeds": len(side.by_seed), "n": rate.n}
        for rate in found.probe
        for side in rate.sides
    ]
    place = {"benchmark": 0, "judge": 0}
    yield Sheet("probe", probe, place | {"criterion": 0, "method": 0, "mean": 1, "sd": 1, "n": 0})
    shown = {"judge": 0, "theme": 0, "criteria": 0, "balanced f1": 2, "physicians": 2}
    yield Sheet("physicians", _list_agreement(found), shown)
    judges = {"benchmark": 0, "first": 0, "second": 0}
    ranks = [row.model_dump() for row in found.ranks]
    yield Sheet("ranks", ranks, judges | {"policies": 0, "items": 0, "rho": 2, "low": 2, "high": 2})
    disagreement: list[Row] = []
    fields = ("benchmark", "first", "second", "method", "criteria", "unknown")
    for row in found.disagreements:
        first, second = (
            100 * part / row.criteria if row.criteria else None for part in (row.only_first, row.only_second)
        )
        disagreement.append(
            {field: getattr(row, field) for field in fields} | {"only first": first, "only second": second}
        )
    shown = judges | {"method": 0, "criteria": 0, "only first": 1, "only second": 1}
    yield Sheet("disagreement", disagreement, shown)
    lengths = [
        _name(table) | {"method": side.name, "mean": side.mean, "characters": side.characters}
        for table in found.tables
        for side in table.sides
    ]
    yield Sheet("lengths", lengths, place | {"method": 0, "mean": 1, "characters": 0})
    repeats = [
        {"benchmark": row.benchmark, "judge": row.judge, "items": row.repeated.items, "flipped": row.repeated.flipped}
        | {"difference": row.repeated.difference.mean, "se": row.repeated.difference.se}
        for row in found.repeats
    ]
    yield Sheet("repeats", repeats, place | {"items": 0, "flipped": 3, "se": 2})
    yield Sheet("tags", [row.model_dump() for row in found.tags], place | {"policy": 0, "tag": 0, "mean": 1, "n": 0})
    plain = {(table.judge, arm.policy): arm.mean for table in found.tables if table.is_weighted for arm in table.arms}
    style = [
        {"judge": row.judge, "policy": policy, "mean": plain.get((row.judge, policy)), "style controlled": score}
        for row in found.style
        for policy, score in row.found.scores.items()
    ]
    yield Sheet("style", style, {"judge": 0, "policy": 0, "mean": 1, "style controlled": 1})


def list_main(found: Comparisons) -> list[MainScore]:
    """Every method on every benchmark of the main table under every judge, and its average."""
    scores = []
    for table in found.tables:
        for side in table.sides:
            arms = [arm for arm in table.arms if arm.method == side.name]
            headlines = [arm.headline for arm in arms if arm.headline is not None]
            printed = Spread.of(headlines) if headlines else None
            scores.append(_make_score(side, table.benchmark, table.judge, printed, table.common))
    for average in found.averages:
        for side in average.sides:
            printed = None if side.mean is None else Spread(mean=side.mean, sd=side.sd)
            scores.append(_make_score(side, AVERAGE, average.judge, printed, None))
    return scores


def _make_score(side: SideResult, benchmark: str, judge: str, printed: Spread | None, n: int | None) -> MainScore:
    paper = find_paper_scores(side.name, benchmark)
    headline, sd = (printed.mean, printed.sd) if printed else (None, None)
    return MainScore(side.name, benchmark, judge, headline, sd, side.mean, len(side.by_seed), n, paper)


class MainBlock(NamedTuple):
    """The scores by one judge that fit next to each other: the benchmarks of the average, or the others."""

    judge: str
    benchmarks: Sequence[str]
    rows: Mapping[str, Sequence[MainScore | None]]
    """By method, a score for each benchmark."""


def list_blocks(found: Comparisons) -> list[MainBlock]:
    """The main table in parts. Benchmarks that need no judge are with every judge."""
    scores, blocks = list_main(found), []
    for judge in dict.fromkeys(score.judge for score in scores if score.judge) or {"": None}:
        own = {(score.method, score.benchmark): score for score in scores if score.judge in (judge, "")}
        given = dict.fromkeys(benchmark for _, benchmark in own)
        averaged = [name for name in (*AVERAGED, AVERAGE) if name in given]
        for benchmarks in (averaged, [name for name in given if name not in averaged]):
            methods = dict.fromkeys(method for method, benchmark in own if benchmark in benchmarks)
            rows = {method: [own.get((method, name)) for name in benchmarks] for method in methods}
            if rows:
                blocks.append(MainBlock(judge, benchmarks, rows))
    return blocks


def title_of(benchmark: str) -> str:
    """The name of a benchmark as tables print it."""
    return _TITLES.get(benchmark, benchmark)


def name_judge(judge: str) -> str:
    """The judge as the end of a name; nothing if none is needed."""
    return f" by {judge}" if judge else ""


def render_main_latex(found: Comparisons) -> str:
    """Methods down, benchmarks across, mean ± standard deviation over seeds, the paper's figures under ours.

    Needs the package booktabs.
    """
    blocks = []
    for block in list_blocks(found):
        columns = zip(*block.rows.values(), strict=True)
        best = [max((score.headline or 0.0 for score in column if score), default=None) for column in columns]
        rows = []
        for method, line in block.rows.items():
            ours = []
            for score, top in zip(line, best, strict=True):
                headline, sd = (score.headline, score.sd) if score else (None, None)
                shown = "--" if headline is None else f"{headline:.1f}"
                shown = f"\\textbf{{{shown}}}" if headline is not None and headline == top else shown
                ours.append(shown if sd is None else f"{shown} {{\\footnotesize $\\pm$ {sd:.1f}}}")
            rows.append(render_row([escape_latex(method), *ours]))
            for model in _PAPER_MODELS:
                printed = [_figure(score.paper.get(model) if score else None) for score in line]
                if any(cell != "--" for cell in printed):
                    rows.append(render_row([rf"\quad {{\footnotesize paper, {model}}}", *printed]))
        head = f"method ({escape_latex(block.judge)})" if block.judge else "method"
        blocks.append(([head, *(escape_latex(title_of(name)) for name in block.benchmarks)], rows))
    return render_table(blocks, escape_latex(NOTES["evaluation-main-caption"]))


def render_sheet_latex(sheet: Sheet, caption: str) -> str:
    """The columns of a table that are shown, under a caption. Needs the package booktabs."""
    rows = []
    for row in sheet.rows:
        cells = []
        for head, digits in sheet.shown.items():
            value = row.get(head)
            if value is None or isinstance(value, float):
                cells.append(_figure(value, digits))
            else:
                cells.append({True: "yes", False: ""}[value] if isinstance(value, bool) else escape_latex(str(value)))
        rows.append(render_row(cells))
    return render_table([([*map(escape_latex, sheet.shown)], rows)], escape_latex(caption))


def _figure(value: float | None, digits: int = 1) -> str:
    if value is None:
        return "--"
    shown = f"{value:.{digits}f}"
    return f"$-${shown[1:]}" if shown.startswith("-") else shown


def _name(table: Table) -> dict[str, object]:
    return {"benchmark": table.benchmark, "judge": table.judge}


def _list_differences(found: Comparisons) -> list[Row]:
    rows: list[Row] = []
    for table in found.tables:
        for row in table.differences:
            ends = {"bootstrap": row.bootstrap, "simultaneous": row.simultaneous, "bound": row.bounds}
            seeds = row.over_seeds
            fields = ("first", "second", "mean", "se", "low", "high", "sd", "n", "clusters", "test", "p")
            rows.append(
                _name(table)
                | {field: getattr(row, field) for field in fields}
                | {"p holm": row.p_holm, "smallest found": row.smallest_found}
                | {f"{name} low": own and own[0] for name, own in ends.items()}
                | {f"{name} high": own and own[1] for name, own in ends.items()}
                | {"could flip": row.could_flip, "seeds": row.seeds}
                | {f"seeds {field}": seeds and getattr(seeds, field) for field in ("sd", "low", "high")}
                | {"seeds and items se": row.over_both and row.over_both.se}
            )
    for average in found.averages:
        for own in average.differences:
            over = own.over_seeds
            rows.append(
                {"benchmark": AVERAGE, "judge": average.judge, "first": own.first, "second": own.second}
                | {"mean": own.mean, "se": own.se_items, "seeds": over and over.n}
                | {f"seeds {field}": over and getattr(over, field) for field in ("sd", "low", "high")}
            )
    return rows


def _list_pairs(found: Comparisons) -> list[Row]:
    rows: list[Row] = []
    counts = ("benchmark", "judge", "policy", "other", "wins", "ties", "inconsistent", "losses", "n")
    for row in found.pairs:
        scores = row.by_seed.values()
        consistency = [score.consistency for score in scores if score.consistency is not None]
        bias = [score.position_bias for score in scores if score.position_bias is not None]
        rows.append(
            {field: getattr(row, field) for field in (*counts, "unread", "unanswered")}
            | {"win rate": in_percent(row.win_rate), "low": in_percent(row.low), "high": in_percent(row.high)}
            | {"interval over": row.over, "seeds": len(row.by_seed)}
            | {"p": next(iter(scores)).p if len(row.by_seed) == 1 else None}
            | {"consistency": in_percent(Spread.of(consistency).mean) if consistency else None}
            | {"position bias": in_percent(Spread.of(bias).mean) if bias else None}
        )
    return rows


def _list_agreement(found: Comparisons) -> list[Row]:
    rows: list[Row] = []
    for own in found.labels:
        everything = ("all", len(own.criteria.by_criterion), own.criteria.mean, own.physicians.mean)
        themes = [(row.theme, row.criteria, row.judge, row.physicians) for row in own.themes]
        whole = {"low": own.low, "high": own.high, "with one-sided": own.criteria.mean_of_all, "pooled": own.pooled}
        for theme, criteria, judge, physicians in (everything, *themes):
            paper = find_paper_agreement(theme)
            rows.append(
                {"judge": own.judge, "theme": theme, "criteria": criteria, "balanced f1": judge}
                | {"physicians": physicians, **(whole if theme == "all" else dict.fromkeys(whole))}
                | {f"paper {name}": paper.get(name) for name in _PAPER_JUDGES}
            )
    return rows
