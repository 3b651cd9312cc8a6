"""Rows for people: csv that a spreadsheet opens without running any of it, and HTML tables for notebooks.

Csv is RFC 4180: commas, CRLF, quotes doubled. What is None is an empty cell, never 0. A text that a spreadsheet would
take for a formula gets an apostrophe in front; numbers stay as they are.
"""

import csv
import html
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from prorubric.errors import MissingExtraError
from prorubric.files.write import WriteRow, open_whole

_STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def defuse(value: object) -> object:
    """A value as a csv cell that no spreadsheet runs."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_STARTS_FORMULA) else value


@contextmanager
def open_csv(path: Path, heads: Sequence[str]) -> Iterator[WriteRow]:
    """A function that writes one row. The file appears when the block ends without an error."""
    with open_whole(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="")
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(map(defuse, heads))
        yield lambda row: writer.writerow(defuse(row.get(head)) for head in heads)
        text.flush()
        text.detach()


def render_html(heads: Sequence[str], rows: Iterable[Mapping[str, object]]) -> str:
    """A plain table; numbers with three digits, None as a dash."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in heads)
    body = ""
    for values in ([row.get(name) for name in heads] for row in rows):
        shown = ("–" if v is None else f"{v:.3f}" if isinstance(v, float) else str(v) for v in values)
        body += f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in shown)}</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Tabular:
    """A result with rows: a notebook shows it as a table, and pandas, if it is installed, takes it as a data frame."""

    def to_rows(self) -> Sequence[Mapping[str, object]]:
        """One mapping a row, all with the same keys; what is not known is None."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """The rows as a `pandas.DataFrame`."""
        try:
            pandas = import_module("pandas")
        except ModuleNotFoundError:
            raise MissingExtraError("to_frame needs pandas: pip install pandas; to_rows works without it") from None
        return pandas.DataFrame(self.to_rows())

    def _repr_html_(self) -> str:
        rows = self.to_rows()
        return render_html([*(rows[0] if rows else ())], rows)
