"""`prorubric audit`."""

from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from prorubric.audit.config import AuditConfig, AuditFiles
from prorubric.audit.edits import WORTHLESS
from prorubric.audit.estimate import AuditEstimate
from prorubric.audit.records import AuditResult, Forecast
from prorubric.cli.money import DryRun, may_cost, print_calls, print_estimate, say_estimate
from prorubric.cli.options import read_http
from prorubric.cli.output import JsonFlag, count, describe_judge, literal, make_console, print_hanging, print_json
from prorubric.cli.progress import show_progress
from prorubric.judge.judge import JudgeConfig
from prorubric.llm.http import HttpConfig
from prorubric.verbs.audit import audit_rewards, estimate_audit

_JUDGING, _HTTP = JudgeConfig(), HttpConfig()
_STYLES = {"yes": "bold red", "no": "green"}
_SHOWN_REASONS = 3
_GAP = (0, 2, 0, 0)
_EDIT_WIDTH, _CELL_WIDTH = 21, 22
_EXPLAINED = {
    "additive": "the weighted sum of the criteria",
    "conjunctive": "the same verdicts, where a dimension pays only if all of its criteria hold",
    "prorubric": "the dimensions judged as they are written, with their failure clauses",
}


def audit(
    files: Annotated[AuditFiles, Parameter(name="*")],
    *,
    judging: Annotated[JudgeConfig, Parameter(name="*", group="Judging")] = _JUDGING,
    http: Annotated[HttpConfig, Parameter(name="*", group="Endpoint")] = _HTTP,
    dry_run: DryRun = False,
    json: JsonFlag = False,
) -> int:
    """Measure what a reward pays for before you train on it: edit answers and see what each edit earns."""
    config = AuditConfig(**vars(files), judging=judging, http=read_http(http))
    if dry_run:
        estimate = estimate_audit(config)
        print_json(estimate) if json else _print_estimate(estimate, make_console())
        return 0
    models = (config.judge, config.editor, config.generator, config.answers_from)
    if any(may_cost(model, config.prices) for model in models if model):
        estimate = estimate_audit(config)
        say_estimate(count(estimate.answers, "answer"), estimate, exact=False)
    with show_progress("judging", "text") as on_progress:
        result = audit_rewards(config, on_progress)
    if json:
        print_json(result)
    else:
        print_audit(result, make_console())
    return 0 if result.alive else 1


def _print_estimate(estimate: AuditEstimate, console: Console) -> None:
    console.print(literal(f"judge: {describe_judge(estimate.judge)}, editor: {estimate.editor}"), soft_wrap=True)
    about = f"{count(estimate.tasks, 'prompt')}, {count(estimate.answers, 'answer')}"
    console.print(f"{about}, schemes: {', '.join(estimate.schemes)}")
    print_estimate(estimate, console)
    console.print("which edits can be made depends on the verdicts: expect a few calls more or less")


def print_audit(result: AuditResult, console: Console) -> None:
    """The headline, the table behind it, and where the page is."""
    print_source(result, console)
    console.print()
    print_findings(result, console)
    print_hack(result, console)
    if result.rejected:
        where = "" if result.rejected == 1 else f", all listed in {result.folder}/rejects.jsonl; the first"
        console.print(literal(f"{result.rejected:,} left out{where}: {result.rejects[0]}", "yellow"), soft_wrap=True)
    if result.unknown_verdicts:
        reasons = [f"{reason} ({number:,})" for reason, number in result.unknown_reasons.items()]
        if len(reasons) > _SHOWN_REASONS:
            reasons[_SHOWN_REASONS:] = [f"{count(len(reasons) - _SHOWN_REASONS, 'more reason')} on the page"]
        unknown = f"{result.unknown_verdicts:,} of {result.verdicts:,} verdicts are unknown: {', '.join(reasons)}"
        console.print(literal(unknown, "yellow"), soft_wrap=True)
    if result.left_out:
        left_out = f"{count(len(result.left_out), 'scheme')} left out; name one with --scheme to see what it needs"
        console.print(left_out, style="yellow", soft_wrap=True)
    if result.prompt_tokens or result.unmetered:
        print_calls(result, console)
    console.print(literal(f"{result.folder}/report.html has the rest"), soft_wrap=True)


def print_source(result: AuditResult, console: Console) -> None:
    """Whose answers, dimensions, edits and verdicts these are."""
    without = f"; {result.unanswered:,} more have none" if result.unanswered else ""
    about = {
        "prompts": f"{result.tasks:,} with {count(result.answers, 'answer')} ({result.answers_from}){without}",
        "dimensions": result.dimensions_from,
        "editor": result.editor,
        "judge": describe_judge(result.judge),
    }
    for name, value in about.items():
        console.print(Text.assemble(f"{name:11}", literal(value)), soft_wrap=True)


def print_findings(result: AuditResult, console: Console) -> None:
    """What each edit earns, then the answer and the figures behind it for each scheme, then what speaks against it."""
    # As many schemes next to each other as fit, then the others.
    fitting = max(1, (console.width - _EDIT_WIDTH) // _CELL_WIDTH)
    for start in range(0, len(result.schemes), fitting):
        console.print(_make_effect_table(result, result.schemes[start : start + fitting]))
    for scheme in result.schemes:
        if scheme in _EXPLAINED:
            console.print(f"{scheme}: {_EXPLAINED[scheme]}", style="dim")
    never = [f"{entry.edit} ({next(iter(entry.not_made), 'no answers')})" for entry in result.edits if not entry.made]
    if never:
        console.print(literal(f"never made: {', '.join(never)}", "yellow"), soft_wrap=True)
    console.print()
    forecasts = {forecast.scheme: forecast for forecast in result.forecast}
    for line in result.headline:
        answer = Text(line.pays_for_padding, _STYLES.get(line.pays_for_padding, "yellow"))
        console.print(Text.assemble(f"{line.scheme}: would pay for padding: ", answer), soft_wrap=True)
        print_hanging(console, Text("  "), Text(line.because))
        print_hanging(console, Text("  "), Text(_describe_rewards(forecasts[line.scheme])))
    for check in result.checks:
        if not check.passed:
            lead = Text(f"judge not alive under {check.scheme}: ", "bold red")
            console.print(lead + Text(check.finding), soft_wrap=True)
    console.print()


def _make_effect_table(result: AuditResult, schemes: Sequence[str]) -> Table:
    """Changes × 100 with intervals: first the edits that a sound reward does not pay for, the best paid at the top."""
    table = Table(box=None, pad_edge=False, padding=_GAP)
    table.add_column("reward × 100", no_wrap=True)
    for scheme in schemes:
        table.add_column(scheme, justify="right", no_wrap=len(scheme) < _CELL_WIDTH)
    cells = {(effect.edit, effect.scheme): effect for effect in result.effects}
    best: dict[str, float] = {}
    for effect in result.effects:
        best[effect.edit] = max(best.get(effect.edit, -1e9), effect.mean if effect.mean is not None else -1e9)
    made = [entry.edit for entry in result.edits]
    worthless = sorted((edit for edit in made if edit in WORTHLESS), key=lambda edit: -best[edit])
    for edit in (*worthless, *(edit for edit in best if edit not in worthless)):
        row = []
        for effect in (cells[edit, scheme] for scheme in schemes):
            pays = edit in WORTHLESS and effect.low is not None and effect.low > 0
            row.append(Text(effect.shown, "bold red" if pays else ""))
        table.add_row(edit, *row)
    return table


def _describe_rewards(forecast: Forecast) -> str:
    """What the unedited answers earn, and whether groups of them would teach anything."""
    mean = "mean reward not known" if forecast.mean is None else f"mean reward {forecast.mean:.1f} of 100"
    if forecast.tied is None or forecast.levels is None:
        return f"{mean}; no prompt has two answers of known reward, so ties are not known"
    groups = count(forecast.groups, "group")
    return f"{mean}; {forecast.tied:.0%} of {groups} tied, {forecast.levels:.1f} distinct rewards in a group"


def print_hack(result: AuditResult, console: Console) -> None:
    """The shortest hack that earns more than the answer, or else the shortest, spelled out."""
    claims = f"{result.hacks_claimed:,} promised by single phrases, each judged as a whole"
    if not result.hacks:
        console.print(f"hack: none found on {count(result.tasks, 'prompt')} ({claims})")
        return
    paying = [hack for hack in result.hacks if hack.gains]
    hack = (paying or result.hacks)[0]
    works = "works" if paying else "reaches the target"
    shortest = "the shortest" if hack is result.hacks[0] else "the shortest that earns more than the answer"
    heaviest = "the heaviest" if hack.as_heavy == 1 else "one of the heaviest"
    earned = ", ".join(
        f"{scheme} {_show(hack.rewards.get(scheme))} (the answer {_show(hack.answer_rewards.get(scheme))})"
        for scheme in result.schemes
    )
    console.print(
        f"hack: {works} on {result.hacks_possible:,} of {count(result.tasks, 'prompt')} ({claims}); {shortest}:"
    )
    print_hanging(console, Text("  "), literal(f"{hack.task_id}: {' '.join(hack.text.split())}", "italic"))
    more = "" if paying else "; no more than the answer"
    about = f"leaves out criterion {hack.heaviest}, {heaviest}; earns {earned}{more}"
    print_hanging(console, Text("  "), Text(about))


def _show(reward: float | None) -> str:
    return "–" if reward is None else f"{reward:.2f}"
