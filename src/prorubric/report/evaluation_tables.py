"""`write_evaluation_tables`: the figures of an evaluation as csv, for a notebook, and as LaTeX tables, for a paper.

Csv has every digit and every column, LaTeX one digit and the columns that fit on a page. A figure that is not known is
an empty field in csv and a dash in LaTeX, never 0. The paper's figures come from its own models and judges.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from prorubric.evaluate.compare import AVERAGED, Comparisons, Table
from prorubric.evaluate.paper import find_paper_agreement, find_paper_scores
from prorubric.evaluate.sides import SideResult
from prorubric.evaluate.statistics import Spread
from prorubric.files.tables import open_csv
from prorubric.report.audit_tables import escape_latex, render_row, render_table
from prorubric.report.page import NOTES, write_whole

FOLDER = "tables"
AVERAGE = "average"
_PAPER_MODELS = ("Qwen3-4B", "Qwen3-8B")
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
    written = []
    for sheet in list_sheets(found):
        if not sheet.rows:
            for suffix in ("csv", "tex"):  # of an earlier comparison
                (out / f"{sheet.name}.{suffix}").unlink(missing_ok=True)
            continue
        with open_csv(out / f"{sheet.name}.csv", [*sheet.rows[0]]) as write:
            for row in sheet.rows:
                write(dict(row))
        text = render_main_latex(found) if sheet.name == "main" else _render_latex(sheet)
        written += [out / f"{sheet.name}.csv", write_whole(out / f"{sheet.name}.tex", text.encode(errors="replace"))]
    return tuple(written)


def list_sheets(found: Comparisons) -> tuple[Sheet, ...]:
    """Every table; those without rows are empty."""
    makers: tuple[tuple[str, Callable[[Comparisons], Iterable[Row]], Mapping[str, int]], ...] = (
        ("main", _list_main, {}),
        ("scores", _list_scores, {"benchmark": 0, "judge": 0, "policy": 0, "mean": 1, "se": 1, "sd": 1, "n": 0}),
        (
            "differences",
            _list_differences,
            {"benchmark": 0, "judge": 0, "first": 0, "second": 0, "mean": 1, "low": 1, "high": 1, "smallest found": 1}
            | {"p holm": 3, "seeds low": 1, "seeds high": 1, "could flip": 0},
        ),
        (
            "losses",
            _list_losses,
            {"benchmark": 0, "judge": 0, "policy": 0, "pool": 0, "answered": 0, "judged": 0, "common": 0, "lost": 0}
            | {"failures": 0},
        ),
        (
            "pairs",
            _list_pairs,
            {"benchmark": 0, "judge": 0, "policy": 0, "other": 0, "wins": 0, "ties": 0, "inconsistent": 0, "losses": 0}
            | {"win rate": 1},
        ),
        ("probe", _list_probe, {"benchmark": 0, "judge": 0, "criterion": 0, "method": 0, "mean": 1, "sd": 1, "n": 0}),
        ("physicians", _list_agreement, {"judge": 0, "theme": 0, "criteria": 0, "balanced f1": 2, "physicians": 2}),
        (
            "ranks",
            _list_ranks,
            {"benchmark": 0, "first": 0, "second": 0, "policies": 0, "items": 0, "rho": 2, "low": 2, "high": 2},
        ),
        (
            "disagreement",
            _list_disagreements,
            {"benchmark": 0, "first": 0, "second": 0, "method": 0, "criteria": 0, "only first": 1, "only second": 1},
        ),
        ("lengths", _list_lengths, {"benchmark": 0, "judge": 0, "method": 0, "mean": 1, "characters": 0}),
        ("repeats", _list_repeats, {"benchmark": 0, "judge": 0, "items": 0, "flipped": 3, "se": 2}),
        ("tags", _list_tags, {"benchmark": 0, "judge": 0, "policy": 0, "tag": 0, "mean": 1, "n": 0}),
        ("style", _list_style, {"judge": 0, "policy": 0, "mean": 1, "style controlled": 1}),
    )
    return tuple(Sheet(name, tuple(make(found)), shown) for name, make, shown in makers)


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
            ours = [_render_score(score, top) for score, top in zip(line, best, strict=True)]
            rows.append(render_row([escape_latex(method), *ours]))
            for model in _PAPER_MODELS:
                printed = [_figure(score.paper.get(model) if score else None) for score in line]
                if any(cell != "--" for cell in printed):
                    rows.append(render_row([rf"\quad {{\footnotesize paper, {model}}}", *printed]))
        head = f"method ({escape_latex(block.judge)})" if block.judge else "method"
        blocks.append(([head, *(escape_latex(title_of(name)) for name in block.benchmarks)], rows))
    return render_table(blocks, escape_latex(NOTES["evaluation-main-caption"]))


def _render_score(score: MainScore | None, best: float | None) -> str:
    if score is None or score.headline is None:
        return "--"
    shown = f"\\textbf{{{score.headline:.1f}}}" if score.headline == best else f"{score.headline:.1f}"
    return shown if score.sd is None else f"{shown} {{\\footnotesize $\\pm$ {score.sd:.1f}}}"


def _render_latex(sheet: Sheet) -> str:
    rows = [
        render_row([_render_cell(row.get(head), digits) for head, digits in sheet.shown.items()]) for row in sheet.rows
    ]
    heads = [escape_latex(head) for head in sheet.shown]
    return render_table([(heads, rows)], escape_latex(NOTES[f"evaluation-{sheet.name}-caption"]))


def _render_cell(value: object, digits: int) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if value is None or isinstance(value, float):
        return _figure(value, digits)
    return escape_latex(str(value))


def _figure(value: float | None, digits: int = 1) -> str:
    if value is None:
        return "--"
    shown = f"{value:.{digits}f}"
    return f"$-${shown[1:]}" if shown.startswith("-") else shown


def _list_main(found: Comparisons) -> Iterable[Row]:
    for score in list_main(found):
        row: dict[str, object] = {**score._asdict()}
        del row["paper"]
        yield row | {f"paper {model}": score.paper.get(model) for model in _PAPER_MODELS}


def _name(table: Table) -> dict[str, object]:
    return {"benchmark": table.benchmark, "judge": table.judge}


def _list_scores(found: Comparisons) -> Iterable[Row]:
    for table in found.tables:
        for arm in table.arms:
            low, high = arm.bootstrap or (None, None)
            fields = ("policy", "method", "seed", "headline", "mean", "se", "low", "high", "sd", "n", "clusters")
            row = _name(table) | {field: getattr(arm, field) for field in fields}
            row |= {"interval by": arm.interval_by, "bootstrap low": low, "bootstrap high": high}
            yield row | {"samples": arm.samples, "between": arm.between, "within": arm.within}


def _list_differences(found: Comparisons) -> Iterable[Row]:
    for table in found.tables:
        for row in table.differences:
            ends = {"bootstrap": row.bootstrap, "simultaneous": row.simultaneous, "bound": row.bounds}
            seeds = row.over_seeds
            fields = ("first", "second", "mean", "se", "low", "high", "sd", "n", "clusters", "test", "p")
            yield (
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
            yield (
                {"benchmark": AVERAGE, "judge": average.judge, "first": own.first, "second": own.second}
                | {"mean": own.mean}
                | {"se": own.se_items, "seeds": over and over.n}
                | {f"seeds {field}": over and getattr(over, field) for field in ("sd", "low", "high")}
            )


def _list_losses(found: Comparisons) -> Iterable[Row]:
    for table in found.tables:
        for arm in table.arms:
            yield _name(table) | {
                "policy": arm.policy,
                "pool": table.pool,
                "answered": arm.answered,
                "judged": arm.judged,
                "common": table.common,
                "lost": arm.lost,
                "lost by": _join(arm.lost_by),
                "characters lost": arm.characters_lost,
                "characters kept": arm.characters_kept,
                "failures": _join(arm.failures),
            }


def _list_pairs(found: Comparisons) -> Iterable[Row]:
    for row in found.pairs:
        scores = row.by_seed.values()
        consistency = [score.consistency for score in scores if score.consistency is not None]
        bias = [score.position_bias for score in scores if score.position_bias is not None]
        fields = (
            *("benchmark", "judge", "policy", "other", "wins", "ties", "inconsistent", "losses", "n"),
            *("unread", "unanswered"),
        )
        yield (
            {field: getattr(row, field) for field in fields}
            | {"win rate": _percent(row.win_rate), "low": _percent(row.low), "high": _percent(row.high)}
            | {"interval over": row.over, "seeds": len(row.by_seed)}
            | {"p": next(iter(scores)).p if len(row.by_seed) == 1 else None}
            | {"consistency": _percent(Spread.of(consistency).mean) if consistency else None}
            | {"position bias": _percent(Spread.of(bias).mean) if bias else None}
        )


def _list_probe(found: Comparisons) -> Iterable[Row]:
    for rate in found.probe:
        for side in rate.sides:
            place = {"benchmark": rate.benchmark, "judge": rate.judge, "criterion": rate.criterion}
            yield place | {
                "method": side.name,
                "mean": side.mean,
                "sd": side.sd,
                "seeds": len(side.by_seed),
                "n": rate.n,
            }


def _list_agreement(found: Comparisons) -> Iterable[Row]:
    for own in found.labels:
        means = (own.criteria.mean, own.physicians.mean)
        themes = [("all", len(own.criteria.by_criterion), *means)]
        themes += [(row.theme, row.criteria, row.judge, row.physicians) for row in own.themes]
        for theme, criteria, judge, physicians in themes:
            is_all, paper = theme == "all", find_paper_agreement(theme)
            row = {"judge": own.judge, "theme": theme, "criteria": criteria, "balanced f1": judge}
            row |= {"physicians": physicians, "low": own.low if is_all else None, "high": own.high if is_all else None}
            row |= {
                "with one-sided": own.criteria.mean_of_all if is_all else None,
                "pooled": own.pooled if is_all else None,
            }
            yield row | {f"paper {name}": paper.get(name) for name in _PAPER_JUDGES}


_PAPER_JUDGES = ("DeepSeek-V4-Pro", "GPT-4.1", "physicians")


def _list_ranks(found: Comparisons) -> Iterable[Row]:
    return (row.model_dump() for row in found.ranks)


def _list_disagreements(found: Comparisons) -> Iterable[Row]:
    for row in found.disagreements:
        shares = [None if not row.criteria else 100 * part / row.criteria for part in (row.only_first, row.only_second)]
        fields = ("benchmark", "first", "second", "method", "criteria", "unknown")
        yield {field: getattr(row, field) for field in fields} | {"only first": shares[0], "only second": shares[1]}


def _list_lengths(found: Comparisons) -> Iterable[Row]:
    for table in found.tables:
        for side in table.sides:
            yield _name(table) | {"method": side.name, "mean": side.mean, "characters": side.characters}


def _list_repeats(found: Comparisons) -> Iterable[Row]:
    for row in found.repeats:
        own = row.repeated
        place = {"benchmark": row.benchmark, "judge": row.judge, "items": own.items, "flipped": own.flipped}
        yield place | {"difference": own.difference.mean, "se": own.difference.se}


def _list_tags(found: Comparisons) -> Iterable[Row]:
    return (row.model_dump() for row in found.tags)


def _list_style(found: Comparisons) -> Iterable[Row]:
    """Arena-Hard with and without style control."""
    plain = {(table.judge, arm.policy): arm.mean for table in found.tables if table.is_weighted for arm in table.arms}
    for row in found.style:
        for policy, score in row.found.scores.items():
            yield {
                "judge": row.judge,
                "policy": policy,
                "mean": plain.get((row.judge, policy)),
                "style controlled": score,
            }


def _join(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {number}" for kind, number in counts.items())


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
