"""`prorubric convert`."""

from pathlib import Path
from typing import Annotated

import yaml
from cyclopts import Parameter
from rich.console import Console

from prorubric.cli.output import JsonFlag, print_line, show_result
from prorubric.datasets.suggest import Suggestion, suggest_mapping
from prorubric.errors import ConfigError
from prorubric.files.write import open_whole
from prorubric.text.show import count, shorten
from prorubric.verbs.convert import ConvertConfig, ConvertResult, convert_tasks

SuggestFlag = Annotated[
    bool,
    Parameter(help="Propose a mapping from the first rows; it is written to OUT (.yaml) if one is named.", negative=""),
]

_MOSTLY = 0.5
_SHOWN_CRITERIA = 4


def convert(
    config: Annotated[ConvertConfig, Parameter(name="*")], *, suggest: SuggestFlag = False, json: JsonFlag = False
) -> int:
    """Convert a rubric file of any supported format into a tasks file or a trainer's format, with a manifest."""
    if suggest:
        out = config.out
        if out is not None and out.suffix not in (".yaml", ".yml"):
            raise ConfigError(f"{out}: --suggest writes a mapping; give a name that ends in .yaml")
        if out is not None and out.exists() and not config.overwrite:
            raise ConfigError(f"{out}: already exists; choose another name or pass --overwrite")
        found = suggest_mapping(Path(config.tasks))
        if out is not None:
            with open_whole(out) as stream:
                stream.write(_render(found).encode())
        show_result(found, _print_suggestion, json=json)
        return 0 if found.tasks else 1
    show_result(convert_tasks(config), _print_result, json=json)
    return 0


def _print_result(result: ConvertResult, console: Console) -> None:
    made = f"{count(result.read, 'row')} read, {count(result.written, 'task')} written, {result.held_out:,} held out"
    console.print(made + (f", {count(result.answers, 'answer')}" if result.answers else ""))
    for kind, reasons in (("rejected", result.rejected), ("left out", result.left_out)):
        for reason, found in reasons.items():
            print_line(console, f"  {found:,} {kind}: {reason}")
    if result.unread_labels:
        shown = ", ".join(f"{value} ({number:,})" for value, number in result.unread_labels.items())
        print_line(console, f"labels that are neither true nor false, written as no opinion: {shown}")
    _print_unused(result.unused, result.unused_share, console)
    for name, path in result.files.items():
        print_line(console, f"{name.replace('_', '-')}: {path}")


def _render(found: Suggestion) -> str:
    """The mapping; with what the rows hold as comments if something could not be decided."""
    comments = [f"{found.note}; the rows contain:"] if found.note else []
    comments += [f"  {place}: {held}" for place, held in found.places.items()] if found.note else []
    if found.fields["prompt"] == "=":
        comments.append("write the prompt after the =, or give its path")
    if "criteria" not in found.fields:
        comments += ["write the path of the criteria here, and of their parts:", "criteria:", "text:", "weight:"]
    text: str = yaml.safe_dump(found.fields, sort_keys=False, allow_unicode=True, width=100)
    return "".join(f"# {line}\n" for line in comments) + text


def _print_suggestion(found: Suggestion, console: Console) -> None:
    for line in _render(found).splitlines():
        print_line(console, line)
    for reason, number in found.rejected.items():
        print_line(console, f"{number:,} of the first {count(found.rows, 'row')} rejected: {reason}")
    for task in found.tasks:
        print_line(console, f"task {task.id}: {shorten(task.messages[-1].content, 100)}")
        for criterion in task.rubric.criteria[:_SHOWN_CRITERIA]:
            print_line(console, f"  {criterion.weight:+g}  {shorten(criterion.text, 100)}")
        if len(task.rubric) > _SHOWN_CRITERIA:
            console.print(f"  and {len(task.rubric) - _SHOWN_CRITERIA} more")
    _print_unused(found.unused, found.unused_share, console)
    first = "check it" if found.note is None else "complete it"
    print_line(console, f"{first}, then: prorubric convert {found.path} OUT --map MAPPING.yaml")


def _print_unused(unused: dict[str, int], share: float | None, console: Console) -> None:
    """Fields that no judge will see; a warning if they are most of the file."""
    if unused:
        fields = ", ".join(f"{name} ({number:,})" for name, number in unused.items())
        print_line(console, f"not used, kept in meta and tags where no judge sees it: {fields}")
    if share is not None and share > _MOSTLY:
        warning = f"warning: the mapping leaves {share:.0%} of the rows unused; name the fields, or drop them"
        print_line(console, warning, "yellow")
