"""`prorubric convert`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import yaml
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from prorubric.cli.output import JsonFlag, count, literal, make_console, print_json, write_json_line
from prorubric.datasets.suggest import Suggestion, suggest_mapping
from prorubric.errors import ConfigError
from prorubric.files.write import open_whole
from prorubric.rubric.forms import render_task
from prorubric.text.show import shorten
from prorubric.verbs.convert import ConvertConfig, convert_tasks

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
        return _suggest(config, json)
    result = convert_tasks(config)
    if json:
        print_json(result)
        return 0
    console = make_console()
    made = f"{count(result.read, 'row')} read, {count(result.written, 'task')} written, {result.held_out:,} held out"
    console.print(made + (f", {count(result.answers, 'answer')}" if result.answers else ""))
    for kind, reasons in (("rejected", result.rejected), ("left out", result.left_out)):
        for reason, found in reasons.items():
            console.print(Text.assemble(f"  {found:,} {kind}: ", literal(reason)), soft_wrap=True)
    _print_unused(result.unused, result.unused_share, console)
    for name, path in result.files.items():
        console.print(Text.assemble(f"{name.replace('_', '-')}: ", literal(path)), soft_wrap=True)
    return 0


def _suggest(config: ConvertConfig, json: bool) -> int:
    """Print a proposed mapping with what it makes of the file, or write it to a file."""
    out = config.out
    if out is not None and out.suffix not in (".yaml", ".yml"):
        raise ConfigError(f"{out}: --suggest writes a mapping; give a name that ends in .yaml")
    if out is not None and out.exists() and not config.overwrite:
        raise ConfigError(f"{out}: exists already; choose another name or pass --overwrite")
    found = suggest_mapping(Path(config.tasks))
    text = yaml.safe_dump(found.fields, sort_keys=False, allow_unicode=True, width=100)
    if out is not None:
        with open_whole(out) as stream:
            stream.write(text.encode())
    if json:
        write_json_line(asdict(found) | {"tasks": [render_task(task) for task in found.tasks]})
        return 0
    console = make_console()
    console.print(literal_lines(text))
    _print_tasks(found, console)
    _print_unused(found.unused, found.unused_share, console)
    name = str(out) if out else "mapping.yaml"
    console.print(Text.assemble("check it, then: ", literal(f"prorubric convert {config.tasks} OUT --map {name}")))
    return 0


def _print_tasks(found: Suggestion, console: Console) -> None:
    for reason, number in found.rejected.items():
        console.print(Text.assemble(f"{number:,} of the first {count(found.rows, 'row')} rejected: ", literal(reason)))
    for task in found.tasks:
        prompt = shorten(task.messages[-1].content, 100)
        console.print(Text.assemble(f"task {task.id}: ", literal(prompt)), soft_wrap=True)
        for criterion in task.rubric.criteria[:_SHOWN_CRITERIA]:
            line = f"  {criterion.weight:+g}  {shorten(criterion.text, 100)}"
            console.print(literal(line), soft_wrap=True)
        more = len(task.rubric) - _SHOWN_CRITERIA
        if more > 0:
            console.print(f"  and {count(more, 'more criterion').replace('criterions', 'criteria')}")


def _print_unused(unused: dict[str, int], share: float | None, console: Console) -> None:
    """Fields that no judge will see; a warning if they are most of the file."""
    if unused:
        fields = ", ".join(f"{name} ({number:,})" for name, number in unused.items())
        console.print(Text.assemble("not used, kept in meta and tags where no judge sees it: ", literal(fields)))
    if share is not None and share > _MOSTLY:
        warning = f"warning: the mapping leaves {share:.0%} of the rows unused; name the fields, or drop them"
        console.print(literal(warning, "yellow"), soft_wrap=True)


def literal_lines(text: str) -> Text:
    """Foreign text of several lines, exactly as it is."""
    return Text("\n").join(literal(line) for line in text.rstrip().splitlines())
