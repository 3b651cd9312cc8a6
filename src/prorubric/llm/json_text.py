"""JSON in what a model wrote: fenced, with prose around it, with trailing commas, as a Python literal, or cut off.

For a judge (`find_roots`) only a value on lines of its own counts: one in the middle of a sentence is a quotation of
the answer that it judges. A generator (`find_objects`) quotes nobody. Nothing is ever filled in.
"""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

_CODE_FENCE = re.compile(r"```[a-zA-Z]*")
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_LINE_START = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_LINE_END = re.compile(r"[ \t\r]*(?:\n|$)")
_SPACE = re.compile(r"\s+")
_BRACKET = re.compile(r"[\[{]")
# A bracket that a JSON value begins with, or the end of the text: "{a}" and "[see above]" are words.
_BEGINS = re.compile(r'[\[{]\s*(?:["\[{]|\Z)')
# A string, also one that the end of the text cuts off, or a sign outside of strings.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)
_CLOSES = {"{": "}", "[": "]"}


class Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs in order, so that a key that comes twice is seen."""


def find_roots(text: str, material: str = "") -> Iterator[Any]:
    """Every JSON value on lines of its own; failing that a Python literal, or what is left of one that is cut off.

    What stands in `material` word for word is an echo of it and left out.
    """
    lines = _mend(text)
    compact = _SPACE.sub("", material)
    decoder = json.JSONDecoder(object_pairs_hook=Pairs, strict=False)
    found, place = False, 0
    while (start := _LINE_START.search(lines, place)) is not None:
        try:
            value, end = decoder.raw_decode(lines, start.end())
        except (ValueError, RecursionError):
            place = start.end() + 1
            continue
        place = end
        found = True
        echoed = compact and _SPACE.sub("", lines[start.end() : end]) in compact
        if _LINE_END.match(lines, end) and not echoed:
            yield value
    if not found:
        yield from _find_literal(lines) or _find_cut_off(lines, decoder)


def find_objects(text: str) -> tuple[list[Pairs], bool]:
    """Every JSON object that lies in no other value, wherever it stands; and whether something begins and does not end.

    What can be read inside of a value that does not end is a part of it, and nothing behind its beginning is read.
    """
    mended = _mend(text)
    decoder = json.JSONDecoder(object_pairs_hook=Pairs, strict=False)
    found: list[Pairs] = []
    place = 0
    while (start := _BRACKET.search(mended, place)) is not None:
        try:
            value, place = decoder.raw_decode(mended, start.start())
        except (ValueError, RecursionError):
            end = _find_end(mended, start.start()) if _BEGINS.match(mended, start.start()) else start.end()
            if end is None:
                break
            place = end  # brackets of a sentence, a formula or a template
            continue
        if isinstance(value, Pairs):
            found.append(value)
    literal = [] if found else [root for root in _find_literal(mended) if isinstance(root, Pairs)]
    return found or literal, start is not None and not literal


def _find_end(text: str, start: int) -> int | None:
    """Where a bracket is closed again; None where it is not."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] in _CLOSES) - (token[0] in "}]")
        if depth == 0:
            return token.end()
    return None


def _mend(text: str) -> str:
    """Without fences and trailing commas, where something is to be mended: both may stand inside of a text."""
    return text if _is_json(text) else _TRAILING_COMMA.sub(r"\1", _CODE_FENCE.sub("\n", text))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _find_literal(text: str) -> list[Any]:
    """A reply that is a Python literal, as in `{'1': True}`: some models write those."""
    try:
        return [_read_literal(ast.parse(text.strip(), mode="eval").body)]
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return []


def _read_literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return Pairs((str(ast.literal_eval(key)), _read_literal(value)) for key, value in pairs if key is not None)
    return [_read_literal(item) for item in node.elts] if isinstance(node, ast.List) else ast.literal_eval(node)


def _find_cut_off(text: str, decoder: json.JSONDecoder) -> list[Any]:
    """A reply that is one object and ends in the middle: what stands before its last whole comma, closed properly."""
    begun = text.strip()
    if not begun.startswith("{"):
        return []
    open_brackets: list[str] = []
    whole = ""
    for token in _TOKEN.finditer(begun):
        if token[0] in _CLOSES:
            open_brackets.append(_CLOSES[token[0]])
        elif token[0] in "}]" and open_brackets:
            open_brackets.pop()
        elif token[0] == "," and open_brackets:
            whole = begun[: token.start()] + "".join(reversed(open_brackets))
    try:
        return [decoder.decode(whole)] if whole else []
    except (ValueError, RecursionError):
        return []
