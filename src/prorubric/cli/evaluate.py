"""`prorubric evaluate`."""

from dataclasses import asdict, fields
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from prorubric.cli.money import DryRun, may_cost, print_calls, say_estimate, show_estimate
from prorubric.cli.options import flatten_options, read_http
from prorubric.cli.output import (
    JsonFlag,
    describe_judge,
    literal,
    make_console,
    make_table,
    print_line,
    show_figure,
    show_result,
    write_json_line,
)
from prorubric.cli.progress import show_progress
from prorubric.evaluate.answers import NO_ITEM, NOT_NEEDED
from prorubric.evaluate.benchmarks.registry import describe_benchmarks
from prorubric.evaluate.compare import Comparisons, Table
from prorubric.judge.panel import list_judges
from prorubric.report.evaluation_headline import describe_result
from prorubric.text.show import count
from prorubric.verbs.evaluate import (
    EvaluateConfig,
    EvaluationResult,
    estimate_evaluation,
    evaluate_policies,
    load_suite,
)

flatten_options(EvaluateConfig)
for _option, _type in {"policy": tuple[str, ...], "compare": tuple[str, ...], "judge": tuple[str, ...] | None}.items():
    # Each may be given several times, as text.
    EvaluateConfig.__annotations__[_option] = Annotated[_type, Parameter(negative="")]
_USUAL = EvaluateConfig()
_SUITES = (".toml", ".yaml", ".yml")


def evaluate(
    config: Annotated[EvaluateConfig, Parameter(name="*")] = _USUAL,
    *,
    dry_run: DryRun = False,
    list: Annotated[bool, Parameter(help="List the benchmarks and where their files are expected.")] = False,  # noqa: A002 - the name of the option
    json: JsonFlag = False,
) -> int:
    """Compare policies on benchmarks, with paired statistics."""
    config = read_http(config)
    if len(config.benchmarks) == 1 and config.benchmarks[0].lower().endswith(_SUITES):
        names = [option.name for option in fields(EvaluateConfig) if option.name != "benchmarks"]
        given = {name: getattr(config, name) for name in names if getattr(config, name) != getattr(_USUAL, name)}
        config = load_suite(Path(config.benchmarks[0]), **given)
    if list:
        _print_list(config.data_dir, json=json)
        return 0
    if dry_run:
        planned = estimate_evaluation(config)
        show_estimate(planned, (), parts=planned.parts, json=json)
        return 0
    models = [*(policy.spec for policy in config.policy), *list_judges(config.judge or ())]
    if config.only != "report" and any(may_cost(model, config.prices) for model in models):
        say_estimate("evaluation", estimate_evaluation(config), exact=False)
    with show_progress("evaluating", "call") as on_progress:
        result = evaluate_policies(config, on_progress)
    show_result(result, _print_result, json=json)
    is_poor = bool(result.reject_kinds.keys() - {NO_ITEM, NOT_NEEDED})
    if found := result.comparisons:
        is_poor = is_poor or bool(found.empty) or not (found.tables or found.pairs or found.labels)
    return 1 if result.unfinished or result.stopped or is_poor else 0


def _print_list(data_dir: Path, *, json: bool) -> None:
    found = describe_benchmarks(data_dir)
    if json:
        write_json_line(
            [
                {**asdict(file), "place": str(file.place), "path": None if file.path is None else str(file.path)}
                for file in found
            ]
        )
        return
    console = make_console()
    table = make_table("benchmark", "rows")
    for name in ("licence", "file", ""):
        table.add_column(name)
    for file in found:
        state = {True: "published", False: "another file", None: "present"}[file.is_published]
        shown = state if file.path else "missing, not needed" if file.is_optional else "missing"
        rows = "" if file.rows is None else f"{file.rows:,}"
        table.add_row(file.benchmark, rows, file.licence, file.place.name, shown)
    console.print(table)
    missing = dict.fromkeys((file.place, file.sha256, file.get) for file in found if file.path is None)
    for place, digest, get in missing:
        print_line(console, f"{place}: {get}" + (f" (sha256 {digest[:12]}…)" if digest else ""))


def _print_result(result: EvaluationResult, console: Console) -> None:
    for benchmark, reasons in result.left_out.items():
        for reason, number in reasons.items():
            print_line(console, f"{benchmark}: {count(number, 'item')} left out: {reason}", "yellow")
    if result.rejected:
        kinds = ", ".join(f"{kind} ({number:,})" for kind, number in result.reject_kinds.items())
        where = f"all in {result.folder}/rejects.jsonl; the first: {result.rejects[0]}"
        print_line(console, f"{count(result.rejected, 'row')} of answers not used: {kinds}; {where}", "yellow")
    for part in result.unfinished:
        print_line(console, f"unfinished {part.stage}: {count(part.open, 'answer')} open:", "red")
        for reason, number in part.reasons.items():
            print_line(console, f"  {number:,} x {reason}")
        print_line(console, "  run the same command again to make only these calls")
    for judge in (judge for judge in result.judges if describe_judge(judge) != judge):
        print_line(console, f"judge: {describe_judge(judge)}")
    if result.comparisons is not None:
        found = result.comparisons
        if not (found.tables or found.pairs or found.labels):
            print_line(console, "nothing to compare: no policy has an answer to an item", "red")
        for table in found.tables:
            _print_table(table, console)
        _print_others(result.comparisons, console)
        for line in describe_result(result.comparisons):
            print_line(console, line)
    print_calls(result, console)
    if result.inspect_logs:
        folder = Path(result.inspect_logs[0]).parent
        print_line(console, f"{count(len(result.inspect_logs), 'log')} for Inspect: inspect view --log-dir {folder}")
    print_line(console, f"The run is in {result.folder}/." if result.page is None else f"The page is {result.page}.")


def _print_table(table: Table, console: Console) -> None:
    judge = f", judged by {table.judge}" if table.judge else ""
    judged = min((arm.judged for arm in table.arms), default=0)
    said = f"pool {table.pool:,} → answered {table.answered:,} → judged {judged:,} → in common {table.common:,}"
    print_line(console, f"{table.benchmark}{judge}: {said}", "bold")
    shown = make_table("policy", "score", "95%", "failed", "lost", "characters")
    for arm in table.arms:
        interval = "–" if arm.low is None or arm.high is None else f"{arm.low:.1f} … {arm.high:.1f}"
        failed, lost = sum(arm.failures.values()), arm.lost
        length = show_figure(arm.characters, ",.0f")
        shown.add_row(literal(arm.policy), show_figure(arm.mean, ".1f"), interval, f"{failed:,}", f"{lost:,}", length)
    console.print(shown)
    if table.absent:
        print_line(console, f"without an answer to any of these items: {', '.join(table.absent)}", "yellow")
    if table.differences:
        shown = make_table("difference", "points", "95%", "p (Holm)", "detectable")
        for one in table.differences:
            interval = "–" if one.low is None or one.high is None else f"{one.low:+.1f} … {one.high:+.1f}"
            name = literal(f"{one.first} − {one.second}")
            if one.could_flip:
                name.append(" (unknown verdicts could flip it)", "yellow")
            p, least = show_figure(one.p_holm, ".3f"), show_figure(one.smallest_found, ".1f")
            shown.add_row(name, show_figure(one.mean, "+.1f"), interval, p, least)
        console.print(shown)


def _print_others(found: Comparisons, console: Console) -> None:
    """Pairs, judges against people, and how far judges agree."""
    for pair in found.pairs:
        won = f"{pair.wins:,} won, {pair.ties:,} tied, {pair.inconsistent:,} inconsistent, {pair.losses:,} lost"
        lost = f", {pair.unread:,} unread" if pair.unread else ""
        lost += f", {pair.unanswered:,} unanswered" if pair.unanswered else ""
        place = f"{pair.benchmark}, judged by {pair.judge}"
        print_line(console, f"{place}: {pair.policy} against {pair.other}: {won}{lost}")
    for one in found.labels:
        found_f1, criteria = one.criteria, count(len(one.criteria.by_criterion), "criterion")
        means = [show_figure(mean, ".3f") for mean in (found_f1.mean, found_f1.mean_of_all)]
        sides = f"{len(found_f1.one_sided):,} of them one-sided ({means[1]} with these)"
        print_line(console, f"{one.judge} against people: balanced F1 {means[0]} over {criteria}, {sides}")
    for rank in (rank for rank in found.ranks if rank.rho is not None):
        rho = show_figure(rank.rho, ".2f")
        print_line(console, f"{rank.benchmark}: {rank.first} and {rank.second} rank {rank.policies} policies: ρ {rho}")
    for again in found.repeats:
        share = f"{show_figure(again.repeated.flipped, '.0%')} of {count(again.repeated.items, 'answer')}"
        print_line(console, f"{again.benchmark}: {again.judge} changed its mind on {share} that it judged twice")
