"""JSON in what a model wrote: fenced, with prose around it, with trailing commas, as a Python literal, or cut off.

From a judge (`find_roots`) only a value on separate lines counts: one in the middle of a sentence is a quotation of the
answer being judged. From a generator (`find_objects`) every object counts. Nothing is ever filled in, and the
time is linear in the length of the text.
"""

import json
import re
from typing import Any

# What models put around a value: a code fence, a tag, a token that ends a turn.
_WRAPPING = re.compile(
    r"```[a-zA-Z]*|</?(?:answer|output|result|json)>|<\|(?:im_end|end|eot_id|eom_id|return|end_?of_?text)\|>|</s>"
    r"|<end_of_turn>",
    re.IGNORECASE,
)
# A string in a line, or a comma outside strings with nothing after it.
_TRAILING_COMMA = re.compile(r'("[^"\\\n]*(?:\\.[^"\\\n]*)*(?:"|\\?$))|,(?=\s*[}\]])', re.MULTILINE)
_LINE_START = re.compile(r"^[ \t]*(?=[\[{])", re.MULTILINE)
_LINE_END = re.compile(r"[ \t\r]*(?:\n|$)")
# A bracket after which JSON may continue; `{{` begins a template.
_BRACKET = re.compile(r'\{(?=\s*(?:["\[{}]|\Z))|\[(?=\s*(?:["\[{\]\d\-tfnNI]|\Z))')
# A bracket that a JSON value begins with, or the end of the text: "{a}" and "[see above]" are words.
_BEGINS = re.compile(r'[\[{]\s*(?:["\[{]|\Z)')
# The same for values that are not quite JSON: other quotation marks, or none around a key.
_BEGINS_LOOSELY = re.compile(r'[\[{]\s*(?:["\'`“”„‘’«\[{]|\Z)|\{\s*(?:[\w#]+\s*[:=]|//|/\*|#)')
# A string, even if the end of the text cuts it off, or a sign outside strings.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[{}\[\],]', re.DOTALL)
_CLOSES = {"{": "}", "[": "]"}
# What Python writes differently from JSON: strings in single quotes, three words, numbers as keys. And strings in
# typographic quotation marks.
_PYTHON = re.compile(
    r"""'([^'\\]*(?:\\.[^'\\]*)*)(?:'|(\\?\Z))|"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)"""
    r"""|\b(?:True|False|None)\b|(?<=[{,\s])\d+(?=\s{0,9}:)|[“”]([^“”"\\]*)[“”]""",
    re.DOTALL,
)
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_PYTHON_ESCAPE = re.compile(r'\\.|"', re.DOTALL)
_MOST_FAILURES = 500
_MOST_REREADING = 8
"""How many times failed attempts may read a text again, in total, before it is given up."""


class Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs in order, so a repeated key is seen."""


_DECODER = json.JSONDecoder(object_pairs_hook=Pairs, strict=False)


def find_roots(text: str) -> tuple[list[Any], str]:
    """Every JSON object or list on separate lines, and the prose around them.

    Otherwise one Python literal on separate lines, or what is left of a text that is cut off. If a value on a separate
    line is broken, it is unclear which of them counts, so none does.
    """
    if _is_json(text):
        value = _DECODER.decode(text)
        return [value] if isinstance(value, list) else [], ""
    lines = _unwrap(text)
    found: list[Any] = []
    prose: list[str] = []
    place = behind = failures = 0
    while (start := _LINE_START.search(lines, place)) is not None:
        try:
            value, place = _DECODER.raw_decode(lines, start.end())
        except (ValueError, RecursionError) as error:
            failures += 1
            is_word = isinstance(error, json.JSONDecodeError) and not _BEGINS_LOOSELY.match(lines, start.end())
            if not is_word or failures > _MOST_FAILURES:
                found = []
                break
            place = max(getattr(error, "pos", 0), start.end() + 1)
            continue
        if _LINE_END.match(lines, place):
            found.append(value)
            prose.append(lines[behind : start.end()])
            behind = place
    if found:
        return found, "".join([*prose, lines[behind:]])
    first, end = _LINE_START.search(lines), max(lines.rfind("}"), lines.rfind("]")) + 1
    if first is not None and _LINE_END.match(lines, end) and not _BEGINS_LOOSELY.search(lines, end):
        literal = _find_literal(lines[first.end() : end])
        if literal:
            return literal, lines[: first.end()] + lines[end:]
    return _find_cut_off(lines), ""


def find_objects(text: str) -> tuple[list[Pairs], bool]:
    """Every outermost JSON object, wherever it is, and whether a value begins and does not end.

    Objects inside a value that does not end are part of it, so nothing after its beginning is read.
    """
    cleaned = text if _is_json(text) else _unwrap(text)
    found: list[Pairs] = []
    place = failures = reread = 0
    while (start := _BRACKET.search(cleaned, place)) is not None:
        try:
            value, place = _DECODER.raw_decode(cleaned, start.start())
        except (ValueError, RecursionError) as error:
            failures += 1
            reread += getattr(error, "pos", len(cleaned)) - start.start()
            end = _find_end(cleaned, start.start()) if _BEGINS.match(cleaned, start.start()) else start.end()
            if end is None or failures > _MOST_FAILURES or reread > _MOST_REREADING * len(cleaned):
                break
            place = end  # brackets of a sentence, a formula or a template
            continue
        if isinstance(value, Pairs):
            found.append(value)
    literal = [] if found else [root for root in _find_literal(cleaned) if isinstance(root, Pairs)]
    return found or literal, start is not None and not literal


def _find_end(text: str, start: int) -> int | None:
    """Where a bracket is closed; None if it is not."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] in _CLOSES) - (token[0] in "}]")
        if depth == 0:
            return token.end()
    return None


def _unwrap(text: str) -> str:
    return _TRAILING_COMMA.sub(lambda found: found[1] or "", _WRAPPING.sub("\n", text))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _find_literal(text: str) -> list[Any]:
    """A reply that is a Python literal, as in `{'1': True}`: some models write those."""
    try:
        value = json.loads(_PYTHON.sub(_render_as_json, text), object_pairs_hook=Pairs)
    except (ValueError, RecursionError):
        return []
    return [value] if isinstance(value, list) else []


def _render_as_json(token: re.Match[str]) -> str:
    if token[2] is not None:
        return "'"  # does not end, so it is not JSON either
    if token[1] is not None:
        return '"' + _PYTHON_ESCAPE.sub(lambda sign: {"\\'": "'", '"': '\\"'}.get(sign[0], sign[0]), token[1]) + '"'
    if token[3] is not None:
        return f'"{token[3]}"'
    return _PYTHON_WORDS.get(token[0], token[0] if token[0].startswith('"') else f'"{token[0]}"')


def _find_cut_off(text: str) -> list[Any]:
    """A reply that is one object and breaks off: what is before its last comma, closed properly.

    Nothing if a complete part is followed by another, which may take the first back.
    """
    begun = text.strip()
    if not begun.startswith("{"):
        return []
    cut = depth = 0
    has_whole_part = False
    for token in _TOKEN.finditer(begun):
        if token[0] in _CLOSES:
            depth += 1
        elif token[0] in "}]":
            depth -= 1
            has_whole_part = has_whole_part or depth == 1
            if depth == 0 and token.end() < len(begun):
                return []
        elif token[0] == ",":
            if has_whole_part and depth == 1:
                return []
            cut = token.start()
    closing: list[str] = []
    for token in _TOKEN.finditer(begun, 0, cut):
        if token[0] in _CLOSES:
            closing.append(_CLOSES[token[0]])
        elif token[0] in "}]":
            closing.pop()
    try:
        return [_DECODER.decode(begun[:cut] + "".join(reversed(closing)))] if cut else []
    except (ValueError, RecursionError):
        return []
