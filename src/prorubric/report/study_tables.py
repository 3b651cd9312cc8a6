"""The tables of a study that are scores on benchmarks, with the paper's figures next to ours.

Scores are those of `Comparisons`. A row that only the paper has is `not run`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from prorubric.audit.paper import load_paper
from prorubric.evaluate.compare import AVERAGED
from prorubric.evaluate.judges import RankAgreement
from prorubric.evaluate.sides import SideResult
from prorubric.evaluate.statistics import Spread
from prorubric.report.evaluation_tables import AVERAGE, Row, Sheet, title_of
from prorubric.report.numbers import plain
from prorubric.report.plots import Figure, ScatterMark, draw_scatter
from prorubric.report.study_results import (
    NOT_RUN,
    PAIR,
    PAPER_ARMS,
    AblatedDomain,
    DomainResults,
    Made,
    StudyResults,
    find_paper_key,
    find_paper_length,
    lay_out,
    list_paper_seeds,
)

_MAIN = ("base", "sft", "opsd", "additive", "ruscarl", "prorubric")
_THEIRS = "the paper's, each method once"
_SFT = "sft_consensus_4b"
_LENIENT, _OTHER_FAMILY = "lenient", "another family"
# By benchmark, its name among the paper's sizes of common sets, by role of the judge.
_SIZES = {
    "healthbench": ("healthbench_full_lite", "healthbench_full_pro"),
    "healthbench-consensus": (None, "healthbench_consensus_common"),
}


class Line(NamedTuple):
    """A row of a table: a method of the study, of the paper, or of both."""

    name: str
    key: str
    """Among the paper's figures; empty if it has none."""
    method: str | None
    """As the study calls it; None if it is only in the paper."""


def list_lines(domain: DomainResults | None, keys: Iterable[str], *, more: bool = True) -> list[Line]:
    """The paper's rows in its order, then the other methods of the study, unless only the paper's are wanted."""
    own = {key: domain.find_method(key) if domain else None for key in keys}
    lines = [Line(method or PAPER_ARMS[key], key, method) for key, method in own.items()]
    others = [method for method in (domain.methods if domain else ()) if method not in own.values()]
    # Of two methods with a name of the paper, the first has its figures.
    rest = [Line(method, "" if (key := find_paper_key(method)) in own else key, method) for method in others]
    return lines + rest if more or not own else lines


def list_ablated_lines(
    results: StudyResults, keys: Iterable[str], *, more: bool = True
) -> Iterator[tuple[AblatedDomain, Line]]:
    """The rows of a table of ablations, domain by domain."""
    return ((own, line) for own in results.ablated for line in list_lines(own.domain, keys, more=more))


def say_state(*ours: object) -> str:
    """`not run` if the study has none of these figures."""
    return NOT_RUN if all(value is None for value in ours) else ""


def _find(domain: DomainResults, benchmark: str, judge: str, method: str | None) -> SideResult | None:
    return domain.find_side(benchmark, judge, method) if method and judge else None


def _find_mean(domain: DomainResults, benchmark: str, judge: str, method: str | None) -> float | None:
    side = _find(domain, benchmark, judge, method)
    return side.mean if side else None


class _Part(NamedTuple):
    """Domains that are one in the tables of benchmarks."""

    name: str
    domains: Sequence[DomainResults]
    is_whole: bool = False
    """True if each of its domains is a part too."""

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """The seven of the average in its order, if they are there, then all others."""
        names = dict.fromkeys(name for domain in self.domains for name in domain.benchmarks)
        return (*(name for name in AVERAGED if name in names), *(name for name in names if name not in AVERAGED))

    @property
    def has_average(self) -> bool:
        return {*AVERAGED} <= {*self.benchmarks}

    def list_lines(self, keys: Iterable[str]) -> list[Line]:
        """The rows of all domains; a row of the paper is missing only if no domain has it."""
        lines = [line for domain in self.domains for line in list_lines(domain, keys)]
        ran = {line.key for line in lines if line.method}
        return list(dict.fromkeys(line for line in lines if line.method or line.key not in ran))

    def find_scores(self, benchmark: str, method: str | None) -> dict[str, float]:
        """By seed, what a method has on a benchmark by the strict judge, as the benchmark prints it."""
        if benchmark == AVERAGE:
            return _average([self.find_scores(name, method) for name in AVERAGED])
        for domain in self.domains if method else ():
            table = domain.find_table(benchmark, domain.strict)
            if arms := [arm for arm in (table.arms if table else ()) if arm.method == method]:
                return {str(arm.seed): arm.headline for arm in arms if arm.headline is not None}
        return {}


def _list_parts(results: StudyResults) -> list[_Part]:
    """Every domain; or all of them as one if the study repeats the paper, which has each benchmark in one domain.

    A benchmark that a second domain has too is then shown again under the name of that domain. Domains of which each
    has some of the seven benchmarks have their average as another part.
    """
    repeating, seen = list[_Part](), set[str]()
    for domain in results.domains:
        if not seen.isdisjoint(domain.benchmarks):
            repeating.append(_Part(domain.name, (domain,)))
        seen.update(domain.benchmarks)
    if results.paper:
        return [_Part("", results.domains), *repeating]
    parts = [_Part(domain.name, (domain,)) for domain in results.domains]
    whole = _Part("all domains", results.domains, is_whole=True)
    is_spread = whole.has_average and not repeating and not any(part.has_average for part in parts)
    return [*parts, whole] if is_spread else parts


def make_main(results: StudyResults) -> Made:
    """Every method on every benchmark, and the average of the seven."""
    parts, rows = _list_parts(results), list[Row]()
    own, is_named = results.benchmarks, any(part.name for part in parts)
    averaged = [name for name in AVERAGED if results.paper or name in own]
    average = [AVERAGE] if results.paper or any(part.has_average for part in parts) else []
    benchmarks = [*averaged, *average, *(name for name in own if name not in AVERAGED)]
    figures: dict[str, Any] = load_paper()["main_results"].get(results.paper_model, {})
    for part in parts:
        keys = _MAIN if figures and part is parts[0] else ()
        place = {"domain": part.name} if is_named else {}
        for line in part.list_lines(keys):
            scores = {name: part.find_scores(name, line.method) for name in benchmarks}
            spreads = {name: Spread.of([*scores[name].values()]) if scores[name] else None for name in benchmarks}
            ours = {title_of(name): spread and spread.mean for name, spread in spreads.items()}
            sds = {f"{title_of(name)} sd": spread and spread.sd for name, spread in spreads.items()}
            row = {**place, "method": line.name}
            rows.append({**row, "of": "ours", **ours, **sds, "state": say_state(*ours.values())})
            if line.key in keys:
                printed = figures["rubric_rl" if line.key == "additive" else line.key]
                theirs = {title_of(name): printed.get(name.replace("-", "_")) for name in benchmarks}
                rows.append({**row, "of": "paper", **theirs, **dict.fromkeys(sds), "state": ""})
    return Made(lay_out("main", rows, {"method": 0, "of": 0, **{title_of(name): 1 for name in benchmarks}}))


def _average(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """By seed, the mean over benchmarks; only for seeds that have all of them."""
    seeds = [seed for seed in (scores[0] if scores else {}) if all(seed in own for own in scores)]
    return {seed: sum(own[seed] for own in scores) / len(scores) for seed in seeds}


def make_plane(results: StudyResults) -> Made:
    """Coverage against appropriateness of every policy."""
    rows, points = list[Row](), list[_Point]()
    if results.paper_model == "Qwen3-8B":
        main, consensus = load_paper()["main_results"]["Qwen3-8B"], load_paper()["consensus_8b"]
        names = {key: "rubric_rl" if key == "additive" else key for key in consensus}
        theirs = {key: (main.get(names[key], {}).get("healthbench"), c) for key, c in consensus.items()}
    else:
        small = results.find_small("medical_ablations_4b_full")
        theirs = {key: (own.get("g_pro"), own["c_pro"]) for key, own in small.items()}
        if small:  # not among its ablations
            theirs["sft"] = (load_paper()["main_results"]["Qwen3-4B"]["sft"]["healthbench"], load_paper()[_SFT])
    for own, line in list_ablated_lines(results, theirs):
        domain, name = own.domain, own.prefix + line.name
        axes = (domain.place.coverage, domain.place.appropriateness)
        g, c = (_find_mean(domain, axis, domain.strict, line.method) for axis in axes)
        paper_g, paper_c = theirs.get(line.key, (None, None))
        row = {**own.place, "method": line.name, "coverage": g, "appropriateness": c}
        rows.append(row | {"paper coverage": paper_g, "paper appropriateness": paper_c, "state": say_state(g, c)})
        points += [_Point(name, g, c), _Point(None, paper_g, paper_c)]
    shown = {"method": 0, "coverage": 1, "appropriateness": 1, "paper coverage": 1, "paper appropriateness": 1}
    return Made(lay_out("plane", rows, shown), _draw_points("coverage across, appropriateness up", points, 1))


class _Point(NamedTuple):
    """A mark of a scatter plot that may not be known; without a name it is the paper's."""

    name: str | None
    x: float | None
    y: float | None


def _draw_points(label: str, points: Iterable[_Point], digits: int) -> Figure | None:
    known = [(point.name, point.x, point.y) for point in points if point.x is not None and point.y is not None]
    names = dict.fromkeys(name for name, _, _ in known if name is not None)
    places: dict[str | None, int | None] = {name: place for place, name in enumerate(names)} | {None: None}
    marks = [ScatterMark(places[name], x, y) for name, x, y in known]
    if not marks:
        return None
    legend = {name or _THEIRS: places[name] for name in (*names, None) if any(name == own for own, _, _ in known)}
    shapes = draw_scatter(marks, lambda value: f"{value:,.{digits}f}" if value is not None else "", plain)
    return Figure(label, "scatter", shapes, legend)


def make_ablations(results: StudyResults) -> Made:
    """What each change of the reward does to appropriateness and coverage, by the strict judge."""
    rows, small = list[Row](), results.find_small("medical_ablations_4b")
    for own, line in list_ablated_lines(results, small, more=False):
        place = own.domain.place
        c, g = (
            _find(own.domain, benchmark, own.domain.strict, line.method)
            for benchmark in (place.appropriateness, place.coverage)
        )
        printed = small.get(line.key, {})
        rows.append(
            {**own.place, "method": line.name}
            | {"c": c and c.mean, "c sd": c and c.sd, "g": g and g.mean, "g sd": g and g.sd}
            | {"seeds": len(side.by_seed) if (side := c or g) else None}
            | {f"paper {name}": printed.get(name.replace(" sd", "_std")) for name in ("c", "c sd", "g", "g sd")}
            | {"state": say_state(c, g)}
        )
    figures = dict.fromkeys(("c", "c sd", "g", "g sd"), 1)
    shown = {"method": 0, **figures, "seeds": 0, **{f"paper {name}": 1 for name in figures}}
    return Made(lay_out("ablations", rows, shown))


def make_full_ablations(results: StudyResults) -> Made:
    """Both axes under both judges, and the length of the answers."""
    rows, small = list[Row](), results.find_small("medical_ablations_4b_full")
    for own, line in list_ablated_lines(results, small):
        domain = own.domain
        axes = {"g": domain.place.coverage, "c": domain.place.appropriateness}
        judges = {"lenient": (domain.lenient, "lite"), "strict": (domain.strict, "pro")}
        printed, ours, sds, theirs, their_sds = small.get(line.key, {}), {}, {}, {}, {}
        for axis, benchmark in axes.items():
            for role, (judge, suffix) in judges.items():
                side = _find(domain, benchmark, judge, line.method)
                ours[f"{axis} {role}"] = side and side.mean
                sds[f"{axis} {role} sd"] = side and side.sd
                theirs[f"paper {axis} {role}"] = printed.get(f"{axis}_{suffix}")
                their_sds[f"paper {axis} {role} sd"] = printed.get(f"{axis}_{suffix}_std")
        last = next(filter(None, (_find(domain, axes[axis], domain.strict, line.method) for axis in ("c", "g"))), None)
        rows.append(
            {**own.place, "method": line.name, **ours, **sds, "characters": last and last.characters}
            | {"seeds": len(last.by_seed) if last else None, **theirs, **their_sds}
            | {"paper characters": find_paper_length(printed), "paper seeds": printed.get("n_seeds")}
            | {"state": say_state(*ours.values())}
        )
    heads = ("g lenient", "g strict", "c lenient", "c strict")
    shown = {"method": 0, **dict.fromkeys(heads, 1), "characters": 0, "seeds": 0}
    shown |= {f"paper {head}": 1 for head in heads} | {"paper characters": 0}
    return Made(lay_out("ablations-full", rows, shown))


def make_length(results: StudyResults) -> Made:
    """The length of the answers against appropriateness, by both judges."""
    rows, points, small = list[Row](), list[_Point](), results.find_small("medical_ablations_4b_full")
    for own, line in list_ablated_lines(results, small):
        domain, c = own.domain, own.domain.place.appropriateness
        strict, lenient = (_find_mean(domain, c, judge, line.method) for judge in (domain.strict, domain.lenient))
        side, printed = _find(domain, c, domain.strict, line.method), small.get(line.key, {})
        length = side.characters if side else None
        rows.append(
            {**own.place, "method": line.name, "characters": length, "c strict": strict}
            | {"c lenient": lenient, "paper characters": find_paper_length(printed)}
            | {"paper c strict": printed.get("c_pro"), "paper c lenient": printed.get("c_lite")}
            | {"state": say_state(length if strict is None else strict)}
        )
        points.append(_Point(own.prefix + line.name, length, strict))
        points.append(_Point(None, find_paper_length(printed), printed.get("c_pro")))
    heads = ("c strict", "c lenient")
    shown = {"method": 0, "characters": 0, **dict.fromkeys(heads, 1), "paper characters": 0}
    shown |= {f"paper {head}": 1 for head in heads}
    # The lab's answers are a hundred times as short as the paper's: on one axis nothing could be read.
    drawn = [point for point in points if point.name is not None or results.paper != "mini"]
    return Made(lay_out("length", rows, shown), _draw_points("characters across, appropriateness up", drawn, 0))


def make_seeds_benchmarks(results: StudyResults) -> Made:
    """Rubric-RL and ProRubric on every benchmark seed by seed, and their paired difference."""
    parts, seeds, rows = _list_parts(results), _list_seeds(results), list[Row]()
    is_named = any(part.name for part in parts)
    for part in parts:
        small = results.find_small("per_seed_domains_4b") if part is parts[0] else {}
        place = {"domain": part.name} if is_named else {}
        rows += [{**place, **row} for row in _list_benchmark_seeds(part, small, seeds, more=not results.paper)]
    rows = rows if results.paper else [row for row in rows if row["state"] != NOT_RUN]
    return Made(lay_out("seeds-benchmarks", rows, _show_seeds("benchmark", seeds)))


def _list_benchmark_seeds(part: _Part, small: Mapping[str, Any], seeds: Sequence[str], *, more: bool) -> Iterator[Row]:
    """By benchmark the two methods that the paper compares and their difference, then more methods if wanted."""
    main = load_paper()["main_results"]["Qwen3-4B"] if small else {}
    methods = [next((m for domain in part.domains if (m := domain.find_method(key))), None) for key in PAIR]
    every = dict.fromkeys(method for domain in part.domains for method in domain.methods)
    others = [method for method in every if more and method not in methods]
    averaged = [name for name in AVERAGED if small or name in part.benchmarks]
    average = [AVERAGE] if small or part.has_average else []
    rest = [name for name in part.benchmarks if name not in AVERAGED]
    for name in average if part.is_whole else [*averaged, *average, *rest]:
        key, place = name.replace("-", "_"), {"benchmark": title_of(name)}
        printed = small.get(key, {})
        names = {"additive": "rubric_rl", "prorubric": "prorubric"}
        theirs = [
            _Printed(printed.get(own, ()), main.get(names[own], {}).get(key), printed.get(f"{own}_std")) for own in PAIR
        ]
        gap = _Printed((), printed.get("difference"), printed.get("difference_std"))
        yield from _list_seed_rows(place, [part.find_scores(name, own) for own in methods], [*theirs, gap], seeds)
        for method in others:
            if found := part.find_scores(name, method):
                yield {**place, "method": method, **_lay_seeds(found, _Printed(), seeds)}


def make_seeds_consensus(results: StudyResults) -> Made:
    """Appropriateness of Rubric-RL and ProRubric seed by seed under both judges, and their paired difference."""
    seeds, rows = _list_seeds(results), list[Row]()
    small, full = results.find_small("per_seed_ablations_4b"), results.find_small("medical_ablations_4b_full")
    gaps = results.find_small("per_seed_consensus_difference_4b")
    for own in results.ablated:
        domain = own.domain
        for role, judge, column in (("strict", domain.strict, "c_pro"), ("lenient", domain.lenient, "c_lite")):
            if not judge and not small:
                continue
            sides = [_find(domain, domain.place.appropriateness, judge, domain.find_method(key)) for key in PAIR]
            theirs = [_print_seeds(small.get(key, {}), full.get(key, {}), column) for key in PAIR]
            gap = _Printed(gaps[column]["by_seed"], gaps[column]["mean"]) if gaps else _Printed()
            ours = [side.by_seed if side else {} for side in sides]
            rows += _list_seed_rows({**own.place, "judge": role}, ours, [*theirs, gap], seeds)
    rows = rows if results.paper else [row for row in rows if row["state"] != NOT_RUN]
    return Made(lay_out("seeds-consensus", rows, _show_seeds("judge", seeds)))


def make_seeds_ablations(results: StudyResults) -> Made:
    """Every ablation seed by seed: appropriateness under both judges, and coverage under the lenient one."""
    seeds, rows = _list_seeds(results), list[Row]()
    small, full = results.find_small("per_seed_ablations_4b"), results.find_small("medical_ablations_4b_full")
    for own, line in list_ablated_lines(results, small):
        domain = own.domain
        for name, benchmark, judge, column in (
            ("c strict", domain.place.appropriateness, domain.strict, "c_pro"),
            ("c lenient", domain.place.appropriateness, domain.lenient, "c_lite"),
            ("g lenient", domain.place.coverage, domain.lenient, "g_lite"),
        ):
            side = _find(domain, benchmark, judge, line.method)
            theirs = _print_seeds(small.get(line.key, {}), full.get(line.key, {}), column)
            if side or theirs.by_seed:
                place = {**own.place, "method": line.name, "measure": name}
                rows.append(place | _lay_seeds(side.by_seed if side else {}, theirs, seeds))
    return Made(lay_out("seeds-ablations", rows, {"method": 0, **_show_seeds("measure", seeds, method=False)}))


class _Printed(NamedTuple):
    """What the paper prints seed by seed, and as mean and standard deviation."""

    by_seed: Sequence[float] = ()
    mean: float | None = None
    sd: float | None = None


def _print_seeds(by_seed: Mapping[str, Any], full: Mapping[str, Any], column: str) -> _Printed:
    """One measure of an ablation: its seeds in one table of the paper, mean and standard deviation in another."""
    return _Printed(by_seed.get(column, ()), full.get(column), full.get(f"{column}_std"))


def _list_seeds(results: StudyResults) -> list[str]:
    """The seeds of the study, and of the paper if it is compared with the one that prints them."""
    tables = (table for domain in results.domains for table in domain.tables)
    own = {str(arm.seed) for table in tables for arm in table.arms if arm.seed is not None}
    own |= {*(list_paper_seeds() if results.find_small("per_seed_domains_4b") else ())}
    return sorted(own, key=int)


def _list_seed_rows(
    place: Row, ours: Sequence[Mapping[str, float]], theirs: Sequence[_Printed], seeds: Sequence[str]
) -> list[Row]:
    """Rubric-RL, ProRubric, and the second minus the first on the seeds that both have."""
    first, second = ours
    gap = {seed: second[seed] - first[seed] for seed in first if seed in second}
    names = (*(PAPER_ARMS[key] for key in PAIR), "difference")
    return [
        {**place, "method": name, **_lay_seeds(own, printed, seeds)}
        for name, own, printed in zip(names, (first, second, gap), theirs, strict=True)
    ]


def _lay_seeds(ours: Mapping[str, float], theirs: _Printed, seeds: Sequence[str]) -> dict[str, object]:
    spread = Spread.of([*ours.values()]) if ours else None
    printed = dict(zip(list_paper_seeds(), theirs.by_seed, strict=False))
    return {
        **{f"seed {seed}": ours.get(seed) for seed in seeds},
        "mean": spread and spread.mean,
        "sd": spread and spread.sd,
        **{f"paper {seed}": printed.get(seed) for seed in seeds},
        "paper mean": theirs.mean,
        "paper sd": theirs.sd,
        "state": say_state(spread),
    }


def _show_seeds(first: str, seeds: Sequence[str], *, method: bool = True) -> dict[str, int]:
    names = [first, *(["method"] if method else [])]
    figures = [*(f"seed {seed}" for seed in seeds), "mean", "sd", *(f"paper {seed}" for seed in seeds), "paper mean"]
    figures.append("paper sd")
    return dict.fromkeys(names, 0) | dict.fromkeys(figures, 1)


def make_cross_judge(results: StudyResults) -> Made:
    """Appropriateness under the judges besides the strict one, and whether they rank the methods as it does."""
    has_paper = bool(results.find_small("gpt_crosscheck_c"))
    rows = [
        {**own.place, **row}
        for own in results.ablated
        # Without a judge between the lenient and the strict one, the study has not run the paper's of another family.
        for judge, role in (
            *([(own.domain.lenient, _LENIENT)] if own.domain.lenient else []),
            *((judge, _OTHER_FAMILY) for judge in own.domain.others or ([""] if has_paper else [])),
        )
        for row in _compare_judge(results, own.domain, judge, role)
    ]
    shown = {"judge": 0, "role": 0, "method": 0, "score": 1, "strict": 1, "items": 0, "rho": 2, "low": 2, "high": 2}
    shown |= {"paper score": 1, "paper strict": 1, "paper items": 0, "paper rho": 2}
    return Made(lay_out("cross-judge", rows, shown))


def _compare_judge(results: StudyResults, domain: DomainResults, judge: str, role: str) -> Iterator[Row]:
    """Every method by one judge and by the strict one, and the correlation of their rankings."""
    is_other, c = role == _OTHER_FAMILY, domain.place.appropriateness
    scores, full = results.find_small("gpt_crosscheck_c"), results.find_small("medical_ablations_4b_full")
    items = results.find_small("gpt_crosscheck_items") if is_other else {}
    paper_rho = results.find_small("gpt_crosscheck_spearman").get("rho") if is_other else None
    table = domain.find_table(c, judge)
    for line in list_lines(domain, scores):
        ours, main = (_find(domain, c, name, line.method) for name in (judge, domain.strict))
        printed = full.get(line.key, {})
        yield (
            {"judge": judge, "role": role, "method": line.name, "score": ours and ours.mean}
            | {"strict": main and main.mean, "items": table.common if table and ours else None}
            | {"rho": None, "low": None, "high": None}
            | {"paper score": scores.get(line.key) if is_other else printed.get("c_lite")}
            | {"paper strict": printed.get("c_pro"), "paper items": items.get(line.key)}
            | {"paper rho": None, "state": say_state(ours)}
        )
    rank = _find_rank(domain, judge)
    empty = dict.fromkeys(("score", "strict", "paper score", "paper strict", "paper items"))
    yield (
        {"judge": judge, "role": role, "method": "Spearman's ρ", **empty, "items": rank and rank.items}
        | {"rho": rank and rank.rho, "low": rank and rank.low, "high": rank and rank.high}
        | {"paper rho": paper_rho, "state": say_state(rank)}
    )


def _find_rank(domain: DomainResults, judge: str) -> RankAgreement | None:
    """How far a judge ranks the methods by appropriateness as the strict one does."""
    ranks = domain.comparisons.ranks if domain.comparisons else ()
    wanted = (domain.place.appropriateness, {judge, domain.strict})
    return next((rank for rank in ranks if (rank.benchmark, {rank.first, rank.second}) == wanted), None)


def make_sizes(results: StudyResults) -> Made:
    """How many items every table compares, of how many."""
    sizes, rows = load_paper()["eval_set_sizes"] if results.paper else {}, list[Row]()
    for name, domain in results.list_domains():
        for table in domain.tables if domain else ():
            lite, pro = _SIZES.get(table.benchmark, (None, table.benchmark.replace("-", "_")))
            if table.benchmark.startswith("probe"):
                pro = "probe_prompts_per_domain"
            is_lenient = domain is not None and table.judge == domain.lenient != ""
            paper = sizes.get(lite if is_lenient else pro)
            place = {"domain": name, "benchmark": title_of(table.benchmark), "judge": table.judge}
            counts = {"pool": table.pool, "answered": table.answered, "common": table.common}
            rows.append(place | counts | {"paper common": paper, "state": ""})
    ran = {row["benchmark"] for row in rows}
    for benchmark in (*AVERAGED, "healthbench-consensus") if sizes else ():
        if title_of(benchmark) not in ran:
            pro = _SIZES.get(benchmark, (None, benchmark.replace("-", "_")))[1]
            empty = dict.fromkeys(("pool", "answered", "common"))
            place = {"domain": "", "benchmark": title_of(benchmark), "judge": ""}
            rows.append(place | empty | {"paper common": sizes.get(pro), "state": NOT_RUN})
    shown = dict.fromkeys(("domain", "benchmark", "judge", "pool", "answered", "common", "paper common"), 0)
    return Made(Sheet("sizes", rows, shown))
