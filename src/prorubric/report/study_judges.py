"""The tables of a study that are pairs, probes, and judges against each other, with the paper's figures next to ours.

Counts, rates and intervals are those of `evaluate/`. A row that only the paper has is `not run`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from prorubric.evaluate.compare import DifferenceResult, Table, compare_scores
from prorubric.evaluate.pairwise import PairResult
from prorubric.evaluate.paper import find_paper_agreement
from prorubric.evaluate.records import ItemScore, Policy
from prorubric.evaluate.statistics import Spread
from prorubric.files.read import read_rows
from prorubric.report.evaluation_page import EQUAL_BUDGET
from prorubric.report.evaluation_tables import Row, Sheet, title_of
from prorubric.report.numbers import plain, signed
from prorubric.report.plots import CategoryMark, Figure, Show, draw_categories
from prorubric.report.study_results import (
    PAIR,
    PAPER_ARMS,
    DomainResults,
    Made,
    StudyResults,
    find_paper_key,
    lay_out,
    list_paper_seeds,
)
from prorubric.report.study_tables import list_ablated_lines, list_lines, say_state

_STRICT, _OTHER = "DeepSeek-V4-Pro", "GPT-5.6-luna"
_GAP = "ProRubric − Rubric-RL"
_THEIRS = "the paper's, right of ours"
_THEMES = (
    *("emergency_referrals", "global_health", "communication", "context_seeking", "hedging"),
    *("health_data_tasks", "complex_responses", "all"),
)


class _Side(NamedTuple):
    """A pair of methods as the first of them sees it, over all seeds."""

    wins: int
    ties: int
    inconsistent: int
    losses: int
    win_rate: float | None
    """In percent, the mean over seeds."""
    sd: float | None
    seeds: int


class _Pair(NamedTuple):
    """Two methods in one domain by one judge: ours, the paper's, or both."""

    domain: str
    judge: str
    first: str
    second: str
    ours: _Side | None
    paper: Mapping[str, Any]
    paper_judge: str


def make_evidence(results: StudyResults) -> Made:
    """How often the untrained answer is preferred to that of Rubric-RL."""
    pairs = _list_base_pairs(results)
    if results.paper:
        pairs = [pair for pair in pairs if find_paper_key(pair.second) == "additive"]
    rows = [
        {"domain": pair.domain, "judge": pair.judge, "paper judge": pair.paper_judge, "method": pair.second}
        | {"untrained preferred": pair.ours and pair.ours.win_rate, "sd": pair.ours and pair.ours.sd}
        | {"seeds": pair.ours and pair.ours.seeds, "paper untrained preferred": pair.paper.get("win_rate")}
        | {"paper sd": pair.paper.get("std"), "state": say_state(pair.ours)}
        for pair in pairs
    ]
    figures = ("untrained preferred", "sd", "paper untrained preferred", "paper sd")
    names = ("domain", "judge", "paper judge", "method")
    return Made(Sheet("evidence-a", rows, dict.fromkeys(names, 0) | dict.fromkeys(figures, 1)))


def make_pairs(results: StudyResults) -> Made:
    """Wins, ties and losses in blind pairs over all seeds: of the untrained policy, then of all other pairs."""
    rows: list[Row] = []
    for pair in (*_list_base_pairs(results), *_list_other_pairs(results)):
        wins, ties, losses = pair.paper.get("counts", (None, None, None))
        counts = {name: pair.ours and getattr(pair.ours, name) for name in ("wins", "ties", "inconsistent", "losses")}
        rows.append(
            {"domain": pair.domain, "judge": pair.judge, "paper judge": pair.paper_judge, "first": pair.first}
            | {
                "second": pair.second,
                **counts,
                "win rate": pair.ours and pair.ours.win_rate,
                "sd": pair.ours and pair.ours.sd,
            }
            | {"paper wins": wins, "paper ties": ties, "paper losses": losses}
            | {"paper win rate": pair.paper.get("win_rate"), "paper sd": pair.paper.get("std")}
            | {"state": say_state(pair.ours)}
        )
    counted = ("wins", "ties", "inconsistent", "losses")
    shown = dict.fromkeys(("domain", "judge", "paper judge", "first", "second", *counted), 0)
    shown |= {"win rate": 1, "sd": 1, "paper wins": 0, "paper ties": 0, "paper losses": 0}
    return Made(Sheet("pairs", rows, shown | {"paper win rate": 1, "paper sd": 1}))


def make_equal_budget(results: StudyResults) -> Made:
    """Who wins when both policies may write at most 2,048 tokens."""
    printed, pairs = results.find_small("equal_budget_win_rate"), list[_Pair]()
    for name, domain in results.list_domains():
        wanted = [(domain.find_method(key) if domain else None) or PAPER_ARMS[key] for key in ("prorubric", "additive")]
        own = list[_Pair]()
        for pair in _list_played(domain):
            if domain and pair.benchmark.endswith(EQUAL_BUDGET):
                is_wanted = {pair.policy, pair.other} == {*wanted}
                first, second = wanted if is_wanted else (pair.policy, pair.other)
                rate = {"win_rate": printed.get(name)} if is_wanted and pair.judge == domain.strict else {}
                own.append(_Pair(name, pair.judge, first, second, _orient(pair, first), rate, ""))
        if name in printed and not any(pair.paper for pair in own):
            own.insert(0, _Pair(name, "", wanted[0], wanted[1], None, {"win_rate": printed[name]}, ""))
        pairs += own
    rows = [
        {"domain": pair.domain, "judge": pair.judge, "first": pair.first, "second": pair.second}
        | {key: pair.ours and getattr(pair.ours, key) for key in ("wins", "ties", "inconsistent", "losses")}
        | {"win rate": pair.ours and pair.ours.win_rate, "sd": pair.ours and pair.ours.sd}
        | {"paper win rate": pair.paper.get("win_rate"), "state": say_state(pair.ours)}
        for pair in pairs
    ]
    shown = dict.fromkeys(("domain", "judge", "first", "second", "wins", "ties", "inconsistent", "losses"), 0)
    drawn = [(str(row["domain"]), f"{row['first']} against {row['second']}", row) for row in rows]
    figure = _draw_domains("win rate in percent by domain", drawn, "win rate", "paper win rate", plain)
    return Made(Sheet("equal-budget", rows, shown | {"win rate": 1, "sd": 1, "paper win rate": 0}), figure)


def _draw_domains(
    label: str, rows: Sequence[tuple[str, str, Row]], ours: str, theirs: str, show: Show
) -> Figure | None:
    """Figures by domain: rows with their domain and their series, ours and the paper's next to each other."""
    series = [*dict.fromkeys(name for _, name, _ in rows)]
    marks, legend = list[CategoryMark](), dict[str, int | None]()
    for domain, name, row in rows:
        place = series.index(name)
        for key, mark, head in ((name, place, ours), (_THEIRS, None, theirs)):
            value = row[head]
            if isinstance(value, int | float):
                marks.append(CategoryMark(mark, 2 * place + (mark is None), domain, value))
                legend[key] = mark
    known = {name: legend[name] for name in (*series, _THEIRS) if name in legend}
    return Figure(label, "scatter", draw_categories(marks, show), known) if marks else None


def _list_base_pairs(results: StudyResults) -> list[_Pair]:
    """Every pair with the untrained policy; the paper's first, with what we have of it."""
    printed, found = results.find_small("pairwise_counts_base"), list[_Pair]()
    for name, domain in results.list_domains():
        base = (domain.find_method("base") if domain else None) or PAPER_ARMS["base"]
        played = [pair for pair in _list_played(domain) if not pair.benchmark.endswith(EQUAL_BUDGET)]
        own: dict[tuple[str, str], dict[str, _Side]] = {}
        for pair in played:
            if base in (pair.policy, pair.other):
                place = (pair.judge, pair.policy if pair.other == base else pair.other)
                own.setdefault(place, {})[title_of(pair.benchmark)] = _orient(pair, base)
        for key, domains in printed.items():
            method = (domain.find_method(key) if domain else None) or PAPER_ARMS[key]
            for paper_judge, figures in domains.get(name, {}).items():
                judges = domain.others if domain else ()
                for judge in [domain.strict] if domain and paper_judge == _STRICT else judges or [""]:
                    ours = own.get((judge, method), {})
                    # Of several sets of prompts, the paper's is the one that is named after the domain.
                    named = [title for title in ours if domain and domain.place.name and domain.place.name in title]
                    side = ours.pop([*named, *ours][0]) if ours else None
                    found.append(_Pair(name, judge, base, method, side, figures, paper_judge))
        for (judge, method), sides in own.items():
            several = len({pair.benchmark for pair in played}) > 1
            for title, side in sides.items():
                shown = f"{name}, {title}" if several else name
                found.append(_Pair(shown, judge, base, method, side, {}, ""))
    return found


def _list_other_pairs(results: StudyResults) -> list[_Pair]:
    """Every pair without the untrained policy, which the paper has only under an equal budget."""
    found = list[_Pair]()
    for name, domain in results.list_domains():
        base = domain.find_method("base") if domain else None
        played = [pair for pair in _list_played(domain) if not pair.benchmark.endswith(EQUAL_BUDGET)]
        several = len({pair.benchmark for pair in played}) > 1
        for pair in played:
            if base not in (pair.policy, pair.other):
                shown = f"{name}, {title_of(pair.benchmark)}" if several else name
                found.append(_Pair(shown, pair.judge, pair.policy, pair.other, _orient(pair, pair.policy), {}, ""))
    return found


def _list_played(domain: DomainResults | None) -> Sequence[PairResult]:
    return domain.comparisons.pairs if domain and domain.comparisons else ()


def _orient(pair: PairResult, first: str | None) -> _Side:
    """A pair as one of its two methods sees it."""
    is_first = pair.policy == first
    known = [own.win_rate for own in pair.by_seed.values() if own.win_rate is not None]
    rates = Spread.of([100 * (rate if is_first else 1 - rate) for rate in known]) if known else None
    wins, losses = (pair.wins, pair.losses) if is_first else (pair.losses, pair.wins)
    mean, sd = (rates.mean, rates.sd) if rates else (None, None)
    return _Side(wins, pair.ties, pair.inconsistent, losses, mean, sd, len(pair.by_seed))


def make_probe(results: StudyResults) -> Made:
    """The probe by domain, method and seed, and the difference from Rubric-RL with its interval over prompts."""
    printed, rows = results.find_small("probe_intervals"), list[Row]()
    for name, domain in results.list_domains():
        table = _find_probe(domain)
        gaps = _compare_with(domain, table) if domain and table else {}
        figures = printed.get(name, {})
        for line in list_lines(domain, figures):
            theirs = figures.get(line.key, {})
            ours = {
                "" if arm.seed is None else str(arm.seed): arm
                for arm in (table.arms if table else ())
                if arm.method == line.method
            }
            if "" in ours and theirs:  # the untrained policy has no seed; the paper shows it once
                ours = {next(iter(theirs)): ours[""]}
            for seed in dict.fromkeys([*theirs, *ours]):
                arm, cell = ours.get(seed), theirs.get(seed, {})
                gap = gaps.get(arm.policy) if arm else None
                low, high = cell.get("ci95") or (None, None)
                ends = (gap.bootstrap if gap else None) or (None, None)
                rows.append(
                    {"domain": name, "method": line.name, "seed": seed if arm is None or arm.seed is not None else ""}
                    | {"score": arm and arm.mean, "difference": gap and gap.mean, "low": ends[0], "high": ends[1]}
                    | {"n": table.common if table and arm else None, "paper score": cell.get("score")}
                    | {"paper difference": cell.get("difference"), "paper low": low, "paper high": high}
                    | {"state": say_state(arm)}
                )
    heads = ("score", "difference", "low", "high")
    shown = {"domain": 0, "method": 0, "seed": 0, **dict.fromkeys(heads, 1), "n": 0}
    return Made(Sheet("probe", rows, shown | {f"paper {head}": 1 for head in heads}))


def _find_probe(domain: DomainResults | None) -> Table | None:
    """The probe of a domain by its strict judge."""
    if domain is None:
        return None
    probes = (table for table in domain.tables if table.benchmark.startswith("probe"))
    return next((table for table in probes if table.judge == domain.strict), None)


def _compare_with(domain: DomainResults, table: Table) -> dict[str, DifferenceResult]:
    """By policy, its difference on the probe from the first seed of Rubric-RL, with which the paper pairs all."""
    method = domain.find_method("additive")
    first = next((arm.policy for arm in table.arms if arm.method == method), None)
    scores = domain.place.folder / "evaluate" / "scores.jsonl"
    others = [arm for arm in table.arms if arm.policy != first]
    if first is None or not others or not scores.is_file():
        return {}
    rows = (ItemScore(**row.value) for row in read_rows(scores) if row.value)
    own = [row for row in rows if (row.benchmark, row.judge) == (table.benchmark, table.judge)]
    # Every policy is a separate side.
    policies = [Policy(name=arm.policy, spec=arm.policy) for arm in table.arms]
    [found] = compare_scores(own, policies, compare=[(arm.policy, first) for arm in others]).tables
    return {row.first: row for row in found.differences}


def make_probe_seeds(results: StudyResults) -> Made:
    """The change of the probe from the untrained policy, seed by seed, and ProRubric over Rubric-RL."""
    printed, means = results.find_small("probe_change_from_base"), results.find_small("probe_change_means")
    rows: list[Row] = []
    tables = {name: _find_probe(domain) for name, domain in results.list_domains()}
    own = {str(arm.seed) for table in tables.values() if table for arm in table.arms if arm.seed is not None}
    seeds = sorted({*own, *(list_paper_seeds() if printed else ())}, key=int)
    for name, domain in results.list_domains():
        table, figures = tables[name], printed.get(name, {})
        sides = {side.name: side for side in (table.sides if table else ())}
        base = sides.get((domain.find_method("base") if domain else None) or "")
        untrained = base.mean if base else None
        changes: dict[str, dict[str, float]] = {}
        for line in list_lines(domain, [key for key in PAIR if key in figures]):
            side = sides.get(line.method or "")
            if untrained is None:
                changes |= {line.name: {}} if line.key in figures else {}
            elif line.key in figures or (side is not None and side is not base):
                found = side.by_seed if side else {}
                changes[line.name] = {seed: value - untrained for seed, value in found.items()}
        first, second = (changes.get((domain.find_method(key) if domain else None) or "") for key in PAIR)
        if figures or (first and second):
            first, second = first or {}, second or {}
            changes[_GAP] = {seed: second[seed] - first[seed] for seed in first if seed in second}
        for method, change in changes.items():
            key = "difference" if method == _GAP else find_paper_key(method)
            theirs = means.get(name, {}).get(key, {})
            by_seed = dict(zip(list_paper_seeds(), figures.get(key, ()), strict=False))
            spread = Spread.of([*change.values()]) if change else None
            rows.append(
                {"domain": name, "method": method, "untrained": untrained}
                | {f"seed {seed}": change.get(seed) for seed in seeds}
                | {"mean": spread and spread.mean, "sd": spread and spread.sd}
                | {"lowest": min(change.values(), default=None), "paper untrained": figures.get("base_score")}
                | {f"paper {seed}": by_seed.get(seed) for seed in seeds}
                | {"paper mean": theirs.get("mean"), "paper sd": theirs.get("std")}
                | {"paper lowest": theirs.get("lowest"), "state": say_state(spread)}
            )
    ours = ["untrained", *(f"seed {seed}" for seed in seeds), "mean", "sd", "lowest"]
    shown = dict.fromkeys(["domain", "method"], 0) | dict.fromkeys(ours, 1)
    shown |= {f"paper {head.removeprefix('seed ')}": 1 for head in ours}
    drawn = [(str(row["domain"]), str(row["method"]), row) for row in rows if row["method"] != _GAP]
    figure = _draw_domains("change from the untrained policy by domain", drawn, "mean", "paper mean", signed)
    return Made(Sheet("probe-seeds", rows, shown), figure)


def make_disagreement(results: StudyResults) -> Made:
    """How many criteria only the lenient judge calls met."""
    rows, printed = list[Row](), results.find_small("judge_disagreement_pct")
    for own, line in list_ablated_lines(results, printed):
        domain, theirs = own.domain, printed.get(line.key)
        wanted = (domain.place.appropriateness, line.method, {domain.lenient, domain.strict})
        found = domain.comparisons.disagreements if domain.comparisons else ()
        row = next((row for row in found if (row.benchmark, row.method, {row.first, row.second}) == wanted), None)
        counts: tuple[float | None, float | None] = (None, None)
        if row is not None and row.criteria:
            shares = [100 * number / row.criteria for number in (row.only_first, row.only_second)]
            counts = (shares[0], shares[1]) if row.first == domain.lenient else (shares[1], shares[0])
        if row or theirs:
            rows.append(
                {**own.place, "method": line.name, "criteria": row and row.criteria, "only lenient": counts[0]}
                | {"only strict": counts[1], "unknown": row and row.unknown}
                | {"paper only lenient": Spread.of(theirs).mean if theirs else None, "state": say_state(row)}
            )
    shown = {"method": 0, "criteria": 0, "only lenient": 1, "only strict": 1, "unknown": 0, "paper only lenient": 1}
    return Made(lay_out("disagreement", rows, shown))


def make_physicians(results: StudyResults) -> Made:
    """Judges against physicians, by theme: balanced F1, the mean over criteria."""
    labelled = {
        own.name: own.comparisons.labels for own in results.domains if own.comparisons and own.comparisons.labels
    }
    found: dict[tuple[str, str], dict[str, tuple[int, float | None, float | None]]] = {}
    for name, own in ((name, own) for name, labels in labelled.items() for own in labels):
        by_theme = {one.theme: (one.criteria, one.judge, one.physicians) for one in own.themes}
        everything = (len(own.criteria.by_criterion), own.criteria.mean, own.physicians.mean)
        found.setdefault((name, own.judge), {**by_theme, "all": everything})
    rows: list[Row] = []
    for (name, judge), themes in (found or {("", ""): {}}).items():
        place = {"domain": name} if len(labelled) > 1 else {}
        for theme in dict.fromkeys([*(_THEMES if results.paper else ()), *themes]):
            criteria, f1, people = themes.get(theme, (None, None, None))
            paper = find_paper_agreement(theme) if results.paper else {}
            rows.append(
                {**place, "judge": judge, "theme": theme.replace("_", " "), "criteria": criteria, "balanced F1": f1}
                | {"physicians": people, "paper judge": paper.get(_STRICT), "paper physicians": paper.get("physicians")}
                | {"paper GPT-4.1": paper.get("GPT-4.1"), "state": say_state(criteria)}
            )
    figures = ("balanced F1", "physicians", "paper judge", "paper physicians", "paper GPT-4.1")
    return Made(lay_out("physicians", rows, {"judge": 0, "theme": 0, "criteria": 0, **dict.fromkeys(figures, 2)}))
