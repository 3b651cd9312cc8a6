"""A self-contained HTML page: escaped by construction, one style, one script, nothing from elsewhere.

`element` escapes every text it is given; only what `element` itself made (`Html`) goes through as it is, so that an
answer or a rubric can never become markup. No text of a run is put into the script, and the page's policy lets the
browser run that one script by its hash and nothing else. The same content gives the same bytes.
"""

import base64
import hashlib
import html
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import TypeAlias

_ASSETS = Path(__file__).parent / "assets"
_VOID = ("br", "img", "input", "link", "meta")
# What HTML does not allow even as a reference; a lone surrogate is what UTF-8 cannot hold.
_NOT_ALLOWED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

_NARROW = 3
"""As many columns fit on a phone."""

UNKNOWN = "–"
"""How a figure that could not be had is shown."""


class Html(str):
    """Markup that was made here, and so may go into a page as it is."""

    __slots__ = ()


Child: TypeAlias = str | int | Iterable["Child"] | None
Attribute: TypeAlias = str | float | bool | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table with figures: set to the right, and sorted by its value and not by its text."""

    content: Child
    sort: float | None = None
    strong: bool = False


def escape(text: str) -> Html:
    """Text as markup that shows it; what HTML cannot hold is shown as the replacement character."""
    return Html(html.escape(_NOT_ALLOWED.sub("\ufffd", text)))


def element(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """One element. `class_` is written `class`, `data_x` is `data-x`; what is None or False is left out."""
    opening = f"<{name}{''.join(_render_attribute(key, value) for key, value in attributes.items())}>"
    return Html(opening if name in _VOID else f"{opening}{join(*children)}</{name}>")


def join(*children: Child) -> Html:
    """Several pieces, one after the other; None is nothing."""
    return Html("".join(map(_render_child, children)))


def own_words(text: str, tag: str = "bdi", **attributes: Attribute) -> Html:
    """Text of a run, kept from turning the direction of what stands around it."""
    return element(tag, text, dir="auto", **attributes)


def note(*children: Child) -> Html:
    """A paragraph beside the matter: what a figure means."""
    return element("p", *children, class_="note")


def table(label: str, heads: Sequence[str], rows: Iterable[Sequence[Child | Cell]], *, sortable: bool = False) -> Html:
    """A table that scrolls inside its own box; a column whose first row is a `Cell` is one of figures.

    On a phone a table of many columns becomes a list, where every cell shows the head of its column.
    """
    found = [list(row) for row in rows]
    figures = [bool(found) and isinstance(found[0][place], Cell) for place in range(len(heads))]
    head = element(
        "tr",
        [
            element("th", name, scope="col", class_="n" if right else None)
            for name, right in zip(heads, figures, strict=True)
        ],
    )
    wide = len(heads) > _NARROW
    body = [element("tr", map(_render_cell, row, heads if wide else [None] * len(heads), count())) for row in found]
    names = " ".join(name for name, given in (("sortable", sortable), ("wide", wide)) if given)
    inner = element("table", element("thead", head), element("tbody", body), class_=names or None)
    return element("div", inner, class_="scroll", role="region", aria_label=label, tabindex=0)


def render_page(title: str, body: Child) -> bytes:
    """The whole page."""
    style, script = _load("page.css"), _load("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", Html(style)),
    )
    page = element("html", head, element("body", body, element("script", Html(script))), lang="en")
    return f"<!doctype html>\n{page}\n".encode()


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all."""
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        partial.write_bytes(content)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def signed(value: float | None, digits: int = 1) -> str:
    """A change, with its sign."""
    if value is None:
        return UNKNOWN
    text = f"{value:+.{digits}f}"
    return plain(0.0, digits) if float(text) == 0 else text.replace("-", "−")


def plain(value: float | None, digits: int = 1) -> str:
    """A figure."""
    return UNKNOWN if value is None else f"{value:.{digits}f}".replace("-", "−")


def percent(value: float | None) -> str:
    """A share."""
    return UNKNOWN if value is None else f"{value:.0%}".replace("-", "−")


def interval(low: float | None, high: float | None, digits: int = 1) -> str:
    """The ends of an interval, in words that a minus sign cannot confuse."""
    return "" if low is None or high is None else f"{signed(low, digits)} to {signed(high, digits)}"


def _render_child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str | int):
        return escape(str(child))
    return "".join(map(_render_child, child))


def _render_attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def _render_cell(value: Child | Cell, head: str | None, place: int) -> Html:
    if isinstance(value, Cell):
        inner = element("strong", value.content) if value.strong else value.content
        return element("td", inner, class_="n", data_sort=value.sort, data_head=head)
    return element("td", value, data_head=head) if place else element("th", value, scope="row")


@lru_cache(maxsize=4)
def _load(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
