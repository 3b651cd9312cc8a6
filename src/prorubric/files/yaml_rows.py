"""Rows out of yaml: a list of tasks, one task, or several documents.

Only the types of JSON are read. `No`, `12:30`, `007` and `2026-01-02` are text, as their author meant them, and not
false, 750, 7 and a date; `true`, `null` and plain numbers are what they look like. Duplicate keys and aliases are
refused: the first would lose a value, the second can make gigabytes out of a few lines.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import yaml

from prorubric.errors import RowError, SourceError
from prorubric.files.read import Row
from prorubric.text.show import shorten, show

_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "seq", "map")}


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """The safe loader with the scalars of JSON, without aliases and without keys that come twice."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        """A value, unless it is an alias or of a type that JSON does not have."""
        if self.check_event(yaml.AliasEvent):
            raise _refuse("an alias (*name) is not read; write the value out", self.peek_event())
        node = super().compose_node(parent, index)
        if node.tag not in _TAGS:
            raise _refuse(f"the tag {node.tag} is not read; leave it out", node)
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """An object whose keys are text, each once."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _refuse("a key is not text; give each value a name", key)
            if key.value in seen:
                raise _refuse(f"the key {key.value!r} appears twice; keep one", key)
            key.tag = "tag:yaml.org,2002:str"
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _refuse(problem: str, found: Any) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=found.start_mark)


for _tag, _pattern, _first in (
    ("null", r"null|~|", ["n", "~", ""]),
    ("bool", r"true|false", ["t", "f"]),
    ("int", r"-?(?:0|[1-9][0-9]*)", list("-0123456789")),
    ("float", r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", list("-0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first)


def read_yaml(path: Path, text: str) -> Iterator[Row]:
    """The rows of a file, with the line that each begins in."""
    try:
        loader = _Loader(text)
        while loader.check_node():
            document = loader.get_node()
            for node in document.value if isinstance(document, yaml.SequenceNode) else [document]:
                line, value = node.start_mark.line + 1, loader.construct_document(node)
                if isinstance(value, dict):
                    yield Row(line, value=value)
                else:
                    remedy = "a row has keys such as prompt and rubric"
                    yield Row(line, fault=RowError("not a mapping", show(value), remedy=remedy))
    except yaml.MarkedYAMLError as error:
        hint = "; put text that contains : or # in quotes" if type(error) is not yaml.MarkedYAMLError else ""
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise SourceError(f"{path}:{line}: not readable as yaml: {error.problem}{hint}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise SourceError(f"{path}: not readable as yaml ({shorten(str(error), 120)}); check the text") from None
    except RecursionError:
        raise SourceError(f"{path}: nested too deeply to be read; flatten it") from None
