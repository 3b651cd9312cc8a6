"""`prorubric audit`."""

import math
from collections.abc import Sequence
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table
from rich.text import Text

from prorubric.audit.config import AuditConfig
from prorubric.audit.records import AuditResult
from prorubric.cli.money import DryRun, may_cost, print_calls, say_estimate, show_estimate
from prorubric.cli.options import flatten_options, read_http
from prorubric.cli.output import JsonFlag, describe_judge, literal, print_hanging, print_line, show_figure, show_result
from prorubric.cli.progress import show_progress
from prorubric.cli.votes import print_addressed, print_votes
from prorubric.judge.panel import list_judges
from prorubric.text.show import count
from prorubric.verbs.audit import audit_rewards, estimate_audit

_STYLES = {"yes": "bold red", "no": "green"}
_SHOWN_REASONS = 3
_EDIT_WIDTH, _CELL_WIDTH = 30, 22
_EXPLAINED = {
    "additive": "the weighted sum of the criteria",
    "conjunctive": "the same verdicts, where a dimension pays only if all of its criteria hold",
    "prorubric": "the dimensions judged as they are written, with their failure clauses",
}
flatten_options(AuditConfig)


def audit(
    config: Annotated[AuditConfig, Parameter(name="*")], *, dry_run: DryRun = False, json: JsonFlag = False
) -> int:
    """Measure what a reward pays for before you train on it: edit answers and see what each edit earns."""
    config = read_http(config)
    if dry_run:
        planned = estimate_audit(config)
        judge = f"judge: {describe_judge(planned.judge)}, editor: {planned.editor}"
        counts = f"{count(planned.tasks, 'prompt')}, {count(planned.answers, 'answer')}"
        notes = [Text("which edits can be made depends on the verdicts: expect a few calls more or less")]
        if planned.leaves_out_sent:
            notes.append(Text("not counted: items that the first judge sends on to the second", "yellow"))
        about = (judge, f"{counts}, schemes: {', '.join(planned.schemes)}")
        show_estimate(planned, about, notes=notes, json=json)
        return 0
    models = (*list_judges(config.judge), config.editor, config.generator, config.answers_from)
    if any(may_cost(model, config.prices) for model in models if model):
        estimate = estimate_audit(config)
        say_estimate(count(estimate.answers, "answer"), estimate, exact=False)
    with show_progress("judging", "text") as on_progress:
        result = audit_rewards(config, on_progress)
    show_result(result, print_audit, json=json)
    return 0 if result.alive else 1


def print_audit(result: AuditResult, console: Console) -> None:
    """The headline, the table behind it, and where the page is."""
    print_source(result, console)
    console.print()
    print_findings(result, console)
    print_hack(result, console)
    if result.rejected:
        where = "" if result.rejected == 1 else f", all listed in {result.folder}/rejects.jsonl; the first"
        kinds = [f"{kind} ({number:,})" for kind, number in result.reject_kinds.items()]
        why = f" ({', '.join(kinds)})" if len(kinds) > 1 else ""
        print_line(console, f"{result.rejected:,} left out{why}{where}: {result.rejects[0]}", "yellow")
    if result.addressed:
        print_addressed(result.addressed, "answer", result.addressed_kinds, "cases.jsonl", console)
    if result.unknown_verdicts:
        reasons = [f"{reason} ({number:,})" for reason, number in result.unknown_reasons.items()]
        if len(reasons) > _SHOWN_REASONS:
            reasons[_SHOWN_REASONS:] = [f"{count(len(reasons) - _SHOWN_REASONS, 'more reason')} on the page"]
        unknown = f"{result.unknown_verdicts:,} of {result.verdicts:,} verdicts are unknown"
        print_line(console, f"{unknown}: {', '.join(reasons)}", "yellow")
    print_votes(result, result.verdicts, console)
    if result.left_out:
        schemes = count(len(result.left_out), "scheme")
        print_line(console, f"{schemes} left out; name one with --scheme to see what it needs", "yellow")
    if result.prompt_tokens or result.unmetered:
        print_calls(result, console)
    print_line(console, f"{result.folder}/report.html has the rest")


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
        print_line(console, f"{name:11}{value}")


def print_findings(result: AuditResult, console: Console) -> None:
    """What each edit earns, then the answer and the figures behind it for each scheme, then what speaks against it."""
    # As many schemes next to each other as fit, then the others.
    fitting = max(1, (console.width - _EDIT_WIDTH) // _CELL_WIDTH)
    for start in range(0, len(result.schemes), fitting):
        console.print(_make_effect_table(result, result.schemes[start : start + fitting]))
    for scheme in result.schemes:
        if scheme in _EXPLAINED:
            console.print(f"{scheme}: {_EXPLAINED[scheme]}", style="dim")
    for name, kind in result.kinds.items():
        if kind.phrase:
            print_line(console, f"{name}: {kind.meaning}", "dim")
    never: dict[str, list[str]] = {}
    for entry in result.edits:
        if not entry.made:
            never.setdefault(next(iter(entry.not_made), "no answers"), []).append(entry.edit)
    if never:
        groups = [f"{', '.join(edits)} ({reason})" for reason, edits in never.items()]
        print_line(console, f"never made: {'; '.join(groups)}", "yellow")
    console.print()
    forecasts = {forecast.scheme: forecast for forecast in result.forecast}
    for line in result.headline:
        answer = Text(line.pays_for_padding, _STYLES.get(line.pays_for_padding, "yellow"))
        console.print(Text.assemble(f"{line.scheme}: would pay for padding: ", answer), soft_wrap=True)
        print_hanging(console, Text("  "), Text(line.because))
        found = forecasts[line.scheme]
        ties = "no prompt has two answers with known rewards, so ties are not known"
        if found.tied is not None and found.levels is not None:
            number = count(found.groups, "group")
            ties = f"{found.tied:.0%} of {number} tied, {found.levels:.1f} distinct rewards in a group"
        mean = "not known" if found.mean is None else f"{found.mean:.1f} of 100"
        print_hanging(console, Text("  "), Text(f"mean reward {mean}; {ties}"))
    for check in result.checks:
        if not check.passed:
            lead = (f"judge not alive under {check.scheme}: ", "bold red")
            console.print(Text.assemble(lead, check.finding), soft_wrap=True)
    console.print()


def _make_effect_table(result: AuditResult, schemes: Sequence[str]) -> Table:
    """Changes × 100 with intervals: first the edits that a sound reward does not pay for, the best paid at the top."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("reward × 100", no_wrap=True)
    table.add_column("prompts", justify="right", no_wrap=True)
    for scheme in schemes:
        table.add_column(scheme, justify="right", no_wrap=len(scheme) < _CELL_WIDTH)
    cells = {(effect.edit, effect.scheme): effect for effect in result.effects}
    is_worthless = {name: kind.is_worthless for name, kind in result.kinds.items()}
    best = {effect.edit: -math.inf for effect in result.effects}
    for effect in result.effects:
        if effect.mean is not None:
            best[effect.edit] = max(best[effect.edit], effect.mean)
    worthless = sorted((edit for edit in best if is_worthless.get(edit)), key=lambda edit: -best[edit])
    for edit in (*worthless, *(edit for edit in best if not is_worthless.get(edit))):
        prompts = sorted({cells[edit, scheme].prompts for scheme in schemes})
        row: list[str | Text] = [f"{prompts[0]:,}" if len(prompts) == 1 else f"{prompts[0]:,}–{prompts[-1]:,}"]
        for effect in (cells[edit, scheme] for scheme in schemes):
            pays = edit in worthless and effect.low is not None and effect.low > 0
            row.append(Text(effect.shown, "bold red" if pays else ""))
        table.add_row(edit, *row)
    return table


def print_hack(result: AuditResult, console: Console) -> None:
    """The shortest hack that earns more than the answer, or else the shortest, spelled out."""
    if not result.hacks_sought:
        console.print("hack: not searched for, because too many verdicts on the answers are unknown")
        return
    claims = f"{result.hacks_claimed:,} promised by single phrases, each judged as a whole"
    if not result.hacks:
        console.print(f"hack: none found on {count(result.tasks, 'prompt')} ({claims})")
        return
    paying = [hack for hack in result.hacks if hack.gains]
    hack = (paying or result.hacks)[0]
    works = "works" if paying else "reaches the target"
    shortest = "the shortest" if hack is result.hacks[0] else "the shortest that earns more than the answer"
    earned = ", ".join(
        f"{scheme} {show_figure(hack.rewards.get(scheme), '.2f')} "
        f"(the answer {show_figure(hack.answer_rewards.get(scheme), '.2f')})"
        for scheme in result.schemes
    )
    prompts = f"{result.hacks_possible:,} of {count(result.tasks, 'prompt')}"
    if result.hacks_copied:
        prompts += f", on {result.hacks_copied:,} of them mostly with the criteria's own text"
    console.print(f"hack: {works} on {prompts} ({claims}); {shortest}:")
    print_hanging(console, Text("  "), literal(f"{hack.task_id}: {' '.join(hack.text.split())}", "italic"))
    more = "" if paying else "; no more than the answer"
    copied = f"mostly criterion text, word for word ({hack.copied:.0%}); " if hack.is_copied else ""
    about = f"{copied}leaves out {hack.left_out}; earns {earned}{more}"
    print_hanging(console, Text("  "), Text(about))
