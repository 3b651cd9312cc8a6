"""A self-contained HTML page: escaped by construction, one style, one script, nothing loaded from elsewhere.

`element` escapes every text it is given, except markup that it made itself (`Html`), so an answer or a rubric can never
become markup. The page's policy lets the browser run this one script, by its hash, and no other. The same content gives
the same bytes.
"""

import base64
import hashlib
import html
import re
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any, TypeAlias

from prorubric.files.write import open_whole

_ASSETS = Path(__file__).parent / "assets"
_VOID = ("br", "img", "input")
# HTML does not allow these even as references, and UTF-8 cannot encode a lone surrogate.
_NOT_ALLOWED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

_NARROW = 3  # the number of columns that fit on a phone
# The longer texts of pages, by name.
NOTES: dict[str, str] = tomllib.loads((_ASSETS / "notes.toml").read_text(encoding="utf-8"))


class Html(str):
    """Markup that was made here, so it needs no escaping."""

    __slots__ = ()


Child: TypeAlias = str | int | Iterable["Child"] | None
Attribute: TypeAlias = str | float | bool | None


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure in a table: aligned to the right, and sorted by its value instead of its text."""

    content: Child
    sort: float | None = None
    strong: bool = False


Row: TypeAlias = Sequence[Child | Cell]


def escape(text: str) -> Html:
    """Text as markup; characters that HTML cannot hold become the replacement character."""
    return Html(html.escape(_NOT_ALLOWED.sub("\ufffd", text)))


def element(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """One element. `class_` is written `class`, `data_x` is `data-x`; an attribute of None or False is left out."""
    opening = f"<{name}"
    for key, value in attributes.items():
        if value is not None and value is not False:
            opening += f" {key.rstrip('_').replace('_', '-')}"
            opening += "" if value is True else f'="{escape(str(value))}"'
    return Html(f"{opening}>" if name in _VOID else f"{opening}>{join(*children)}</{name}>")


def join(*children: Child) -> Html:
    """Several pieces, one after the other; None adds nothing."""
    pieces: list[str] = []
    for child in children:
        if isinstance(child, str | int):
            pieces.append(child if isinstance(child, Html) else escape(str(child)))
        elif child is not None:
            pieces.append(join(*child))
    return Html("".join(pieces))


def own_words(text: str, tag: str = "bdi", **attributes: Attribute) -> Html:
    """Text of a run, isolated so that right-to-left text does not reorder the text around it."""
    return element(tag, text, dir="auto", **attributes)


def note(*children: Child) -> Html:
    """A paragraph that explains a figure."""
    return element("p", *children, class_="note")


def fold(title: Child, *children: Child, **attributes: Attribute) -> Html:
    """Content under a title that opens on a click."""
    return element("details", element("summary", title), *children, **attributes)


def bullets(lines: Iterable[Child]) -> Html:
    """A plain list."""
    return element("ul", [element("li", line) for line in lines])


def render_facts(facts: Iterable[tuple[str, str]]) -> Html:
    """Short facts, each with its name."""
    pairs = [element("div", element("dt", name), own_words(text, "dd")) for name, text in facts]
    return element("dl", pairs, class_="facts")


def render_sections(header: Html, sections: Iterable[tuple[str, str, Html | None]]) -> Html:
    """A header, links, and sections by anchor and title; a section without content is left out."""
    given = [section for section in sections if section[2]]
    links = [element("a", title, href=f"#{name}") for name, title, _ in given]
    blocks = [element("section", element("h2", title), content, id=name) for name, title, content in given]
    return join(header, element("nav", links, aria_label="Sections"), element("main", blocks))


def table(label: str, heads: Sequence[str], rows: Iterable[Row], *, sortable: bool = False) -> Html:
    """A table that scrolls inside its own box; if the first row has a `Cell` in a column, the column holds figures.

    On a phone a table of many columns becomes a list, and every cell shows the head of its column.
    """
    body: list[Html] = []
    first: Row = ()
    wide = len(heads) > _NARROW
    for row in rows:
        first = first or row
        cells = []
        for place, (value, name) in enumerate(zip(row, heads, strict=True)):
            head = name if wide else None
            if isinstance(value, Cell):
                inner = element("strong", value.content) if value.strong else value.content
                cells.append(element("td", inner, class_="n", data_sort=value.sort, data_head=head))
            else:
                cells.append(element("td", value, data_head=head) if place else element("th", value, scope="row"))
        body.append(element("tr", cells))
    columns = zip(heads, first or heads, strict=True)
    top = [element("th", name, scope="col", class_="n" if isinstance(cell, Cell) else None) for name, cell in columns]
    classes = " ".join(name for name, given in (("sortable", sortable), ("wide", wide)) if given)
    inner = element("table", element("thead", element("tr", top)), element("tbody", body), class_=classes or None)
    return element("div", inner, class_="scroll", role="region", aria_label=label, tabindex=0)


def render_page(title: str, body: Child) -> bytes:
    """The whole page."""
    names = ("html", "css", "js")
    page, css, js = ((_ASSETS / f"page.{name}").read_text(encoding="utf-8") for name in names)
    css_hash, js_hash = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (css, js))
    filled = {"title": escape(title), "body": join(body), "css": css, "js": js}
    return Template(page).substitute(filled, css_hash=css_hash, js_hash=js_hash).encode()


def write_whole(path: Path, content: bytes) -> Path:
    """Write a file whole or not at all."""
    with open_whole(path) as stream:
        stream.write(content)
    return path


def figure(value: float | None, show: Callable[[Any], str] = str, *, strong: bool = False) -> Cell:
    """A figure as a cell: how it is shown, and the value it is sorted by."""
    return Cell(show(value), value, strong)
