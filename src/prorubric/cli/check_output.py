"""A check of files in the forms that GitHub shows: a comment in Markdown, and annotations of lines.

Everything that comes from a file is put into code spans, where a mention, a link or HTML stays text.
"""

import re
from collections.abc import Iterator

from prorubric.rubric.changes import FIGURES, TaskChange
from prorubric.text.show import count
from prorubric.verbs.check import CheckResult, FileCheck

MARKER = "<!-- prorubric check -->"
"""The first line of the comment, by which the next run finds it again."""
MOST_SHOWN = 20
"""Tasks of a file that are shown in full, and findings of each."""
_MOST_CHARACTERS = 60_000
"""A comment on GitHub has at most 65,536."""
HEADS = ("compensation", "with dimensions", "weight on naming")
NOTES = (
    "compensation: the share of the sum that an answer can still reach without the heaviest criterion",
    "with dimensions: the same where a dimension pays only as a whole",
    "weight on naming: the share of the weight on criteria that are met by naming something",
)
NAMING_NOTE = (
    "what naming pays: reward × 100 that an answer gains by naming items it does not cover, with 95% intervals; "
    "the judge is word overlap, no model"
)
_LEVELS = {"error": "error", "warning": "warning", "note": "notice"}


def show_figures(change: TaskChange) -> list[str]:
    """The figures before and after, with an arrow where one rose."""
    shown = []
    for name in FIGURES:
        was, now = (getattr(side, name) if side else None for side in (change.before, change.after))
        texts = ["–" if value is None else f"{value:.2f}" for value in (was, now)]
        text = texts[0] if texts[0] == texts[1] else " → ".join(texts)
        if change.kind != "changed":
            text = texts[change.kind == "added"]
        shown.append(f"{text} ▲" if name in change.rises else text)
    return shown


def describe_total(result: CheckResult) -> str:
    """The first line: what matters most."""
    if not result.base:
        return ", ".join(count(number, name) for name, number in result.severities.items())
    found = ", ".join(count(number, f"new {name}") for name, number in result.severities.items())
    too_high = f" ({result.too_high:,} above the limit)" if result.too_high else ""
    return f"{count(result.more_hackable, 'task')} more hackable{too_high}, {found}, {result.gone:,} gone"


def describe_file(file: FileCheck) -> str:
    """How many tasks a file has, and what became of them."""
    kinds = [change.kind for change in file.changes]
    parts = [f"{kinds.count(kind):,} {kind}" for kind in ("changed", "added", "removed") if kind in kinds]
    if file.base_rejects:
        parts.append(f"{file.base_rejects:,} unreadable in the base")
    if not parts:
        parts = ["none changed" if file.tasks else "none could be read"]
    return f"{count(file.tasks, 'task')}: {', '.join(parts)}"


def describe_unmeasured(file: FileCheck) -> str:
    """The tasks for which what naming pays is not known."""
    return f"what naming pays: {count(file.unmeasured, 'task')} left out, since their checks call Python code"


def render_comment(result: CheckResult) -> str:
    """The whole result as a comment on a pull request."""
    title = "passed" if result.passed else "failed"
    since = f", compared with `{result.base[:10]}`" if result.base else ""
    lines = [MARKER, f"### Rubric check {title}: {describe_total(result)}", "", f"prorubric check{since}", ""]
    for file in result.files:
        lines += _render_file(file)
    lines += [f"<sub>{note}</sub><br>" for note in NOTES]
    if any(file.naming for file in result.files):
        lines.append(f"<sub>{NAMING_NOTE}; answers: {_code(result.answers or '')}</sub>")
    text = "\n".join(lines) + "\n"
    if len(text) > _MOST_CHARACTERS:
        text = text[:_MOST_CHARACTERS].rpartition("\n")[0] + "\n\n… the comment is cut here; the log has the rest\n"
    return text


def _render_file(file: FileCheck) -> Iterator[str]:
    renamed = f" (was {_code(file.renamed_from)})" if file.renamed_from else ""
    yield from (f"#### {_code(file.path)}{renamed}", "", describe_file(file), "")
    yield from (f"- error: {_code(reject)}" for reject in file.rejects[:MOST_SHOWN])
    if len(file.rejects) > MOST_SHOWN:
        yield f"- … and {len(file.rejects) - MOST_SHOWN:,} more rows that cannot be read"
    shown = [change for change in file.changes if change.rises or change.new or change.gone]
    if shown:
        yield from ("", f"| task | | {' | '.join(HEADS)} |", "| --- | --- | --- | --- | --- |")
        for change in shown[:MOST_SHOWN]:
            name = _code(change.task_id).replace("|", "\\|")  # a table ends its cells even inside code
            yield f"| {name} | {change.kind} | {' | '.join(show_figures(change))} |"
        yield ""
        for change in shown[:MOST_SHOWN]:
            for word, findings in (("new ", change.new), ("gone: ", change.gone)):
                for finding in findings[:MOST_SHOWN]:
                    place = f"{finding.severity} {finding.check} in {_code(change.task_id)}"
                    yield f"- {word}{place}: {_code(finding.message)}"
                if len(findings) > MOST_SHOWN:
                    yield f"- {word}{len(findings) - MOST_SHOWN:,} more in {_code(change.task_id)}"
        if len(shown) > MOST_SHOWN:
            yield f"- … and {count(len(shown) - MOST_SHOWN, 'more task')}"
    if file.naming:
        prompts = count(file.naming[0].after.prompts, "prompt")
        yield from ("", f"| what naming pays ({prompts}) | before | after |", "| --- | --- | --- |")
        yield from (f"| {one.scheme} | {one.before.shown} | {one.after.shown} |" for one in file.naming)
    if file.unmeasured:
        yield from ("", describe_unmeasured(file))
    yield ""


def render_annotations(result: CheckResult) -> str:
    """Workflow commands: GitHub shows each at its line of the pull request."""
    lines: list[str] = []
    for file in result.files:
        for reject in file.rejects:
            line = re.match(rf"{re.escape(file.path)}:(\d+): ", reject)
            lines.append(_annotate("error", file.path, int(line[1]) if line else 0, "unreadable row", reject))
        for change in file.changes:
            for finding in change.new:
                level, message = _LEVELS[finding.severity], f"{change.task_id}: {finding.message}"
                lines.append(_annotate(level, file.path, change.line, finding.check, message))
            if change.rises:
                heads = dict(zip(FIGURES, HEADS, strict=True))
                rose = ", ".join(f"{heads[name]} +{rise:.2f}" for name, rise in change.rises.items())
                message = f"{change.task_id}: {rose}"
                lines.append(_annotate("warning", file.path, change.line, "more hackable", message))
    return "".join(f"{line}\n" for line in lines)


def _annotate(level: str, path: str, line: int, title: str, message: str) -> str:
    """One command; a line break or a colon of the message cannot start another."""
    place = f"file={_escape(path)}" + (f",line={line}" if line else "")
    text = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return f"::{level} {place},title={_escape(f'prorubric: {title}')}::{text}"


def _escape(value: str) -> str:
    escaped = value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return escaped.replace(":", "%3A").replace(",", "%2C")


def _code(text: str) -> str:
    """Text as a code span on one line, whatever backticks it has."""
    flat = " ".join(text.split())
    fence = "`" * (1 + max(map(len, re.findall("`+", flat)), default=0))
    edge = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{edge}{flat}{edge}{fence}"
