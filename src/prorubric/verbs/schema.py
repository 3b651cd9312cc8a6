"""`make_schema`: JSON Schemas of the files that people and other programs write or read, made from the records.

A file that can be read fits its schema. The reverse is not promised: a partition, a weight or a name can be wrong in
ways that only the program sees. A field that is read in several forms, such as `a,b` for a list, may be any text or
list here.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from prorubric.datasets.mapping import RowMapping
from prorubric.files.write import write_json
from prorubric.rubric.base import Record
from prorubric.rubric.records import Criterion, Dimension, Message, Response, Role, Task
from prorubric.rubric.verdict import NotApplicable, Unknown
from prorubric.runs.verdicts import StoredScores, StoredVerdicts
from prorubric.train.methods import Settings
from prorubric.train.recipe import Recipe
from prorubric.verbs.evaluate import EvaluateConfig
from prorubric.verbs.study_file import Study

SchemaName = Literal["tasks", "responses", "verdicts", "scores", "recipe", "suite", "study", "mapping"]
NAMES: tuple[SchemaName, ...] = get_args(SchemaName)
"""The files that have a schema; those of rows are about one row."""
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_Schema = dict[str, Any]
_ANY_FORM = ({"type": ["string", "number", "boolean"]}, {"type": "array"})


class WrittenFiles(Record):
    """Where schemas were written."""

    files: tuple[str, ...]


class _Generator(GenerateJsonSchema):
    """Schemas with the docstrings of fields as descriptions, and room for what a validator reads in other forms."""

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        whole_record = schema["schema"]["type"] in ("model", "model-fields", "dataclass", "dataclass-args")
        return inner if whole_record else {"anyOf": [inner, *_ANY_FORM]}

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        return _describe(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        return _describe(super().dataclass_schema(schema), schema["cls"])

    def get_title_from_name(self, name: str) -> str:
        return name


def make_schema(name: SchemaName) -> _Schema:
    """The schema of one kind of file."""
    made = _MAKERS[name]()
    title = f"ProRubric {name}" + (", one row" if name in ("tasks", "responses", "verdicts", "scores") else "")
    return {"$schema": _DIALECT, **made, "title": title}


def write_schemas(folder: Path) -> WrittenFiles:
    """Write every schema to `NAME.json` in a folder; the same version writes the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name in NAMES:
        write_json(folder / f"{name}.json", make_schema(name))
        files.append(str(folder / f"{name}.json"))
    return WrittenFiles(files=tuple(files))


def _generate(record: Any) -> _Schema:
    return TypeAdapter(record).json_schema(schema_generator=_Generator)


def _describe(made: JsonSchemaValue, record: type) -> JsonSchemaValue:
    """Add what the record says of its fields; those of a parent are described where the parent is written."""
    parts = made.get("properties", {})
    for owner in reversed(record.__mro__):
        if not owner.__module__.startswith("prorubric"):
            continue
        (body,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
        for field, text in pairwise(getattr(body, "body", [])):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and field.target.id in parts
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
                and isinstance(text.value.value, str)
            ):
                parts[field.target.id]["description"] = " ".join(text.value.value.split())
    return made


def _rename(made: _Schema, old: str, new: str) -> None:
    """In a file, the field has another name than in the record."""
    made["properties"] = {new if name == old else name: part for name, part in made["properties"].items()}
    made["required"] = [new if name == old else name for name in made.get("required", ())]


def _rows_of(made: _Schema) -> _Schema:
    return {"type": "array", "items": made, "minItems": 1}


def _or_null(made: _Schema) -> _Schema:
    return {"anyOf": [made, {"type": "null"}]}


def _make_tasks() -> _Schema:
    criterion, dimension, task = _generate(Criterion), _generate(Dimension), _generate(Task)
    definitions = criterion.pop("$defs")
    _rename(criterion, "text", "criterion")
    for name in ("tags", "check"):
        criterion["properties"][name] = _or_null(criterion["properties"][name])
    dimension["required"].remove("weight")
    task["properties"]["rubric"] = _rows_of(criterion)
    task["properties"]["protocol"] = _or_null(_rows_of(dimension))
    task["properties"]["messages"] = _rows_of(_generate(Message))
    task["properties"]["meta"] = {"type": ["object", "null"], "description": task["properties"]["meta"]["description"]}
    return {**task, "$defs": definitions}


def _make_responses() -> _Schema:
    made = _generate(Response)
    text = {"type": ["string", "null"]}
    call = {"type": "object", "properties": {"id": text, "type": text, "function": {"type": "object"}}}
    turn = {"role": {"enum": [*get_args(Role)]}, "content": text, "name": text, "tool_call_id": text}
    turns = {"type": "object", "properties": {**turn, "tool_calls": _or_null(_rows_of(call))}, "required": ["role"]}
    _rename(made, "text", "response")
    made["properties"]["messages"] = _or_null(_rows_of(turns)) | {
        "description": made["properties"]["messages"]["description"]
    }
    made["properties"]["response"]["description"] = "The answer, if it is not a transcript."
    del made["properties"]["response"]["default"], made["$defs"]
    made["properties"]["meta"] = {"type": ["object", "null"]}
    # Other fields of a row are kept in meta.
    return {**made, "additionalProperties": True, "anyOf": [{"required": ["response"]}, {"required": ["messages"]}]}


def _make_verdicts() -> _Schema:
    made = _generate(StoredVerdicts)
    for record, name in ((NotApplicable, "not_applicable"), (Unknown, "unknown")):
        _rename(made["$defs"][record.__name__], "reason", name)
        made["$defs"][record.__name__]["required"] = [name]
    training = {"step": {"type": "integer", "description": "In the file of a training."}}
    made["properties"] |= training
    return made


def _make_recipe() -> _Schema:
    made, settings = _generate(Recipe), _generate(Settings)
    del made["properties"]["settings"], settings["properties"]["kind"]
    method = made["properties"]["method"]
    own = {"type": "object", "properties": {"base": {"type": "string"}}, "required": ["base"]}
    made["properties"] = {**made["properties"], "method": {"anyOf": [method, own]}, **settings["properties"]}
    # What a method sets is not the default of a recipe.
    for name in settings["properties"]:
        made["properties"][name].pop("default", None)
    return {**made, "$defs": made["$defs"] | settings["$defs"]}


def _make_suite() -> _Schema:
    made = _generate(EvaluateConfig)
    made["properties"]["benchmarks"] = {
        "anyOf": [made["properties"]["benchmarks"], {"type": "string"}],
        "description": made["properties"]["benchmarks"]["description"],
    }
    return made


def _make_study() -> _Schema:
    made, recipe, suite = _generate(Study), _make_recipe(), _make_suite()
    definitions = made.pop("$defs") | recipe.pop("$defs") | suite.pop("$defs")
    # The parts of a study are completed from one another, so none of them needs a field.
    for part in (recipe, suite):
        part.pop("required", None)
        part.pop("additionalProperties")
    definitions |= {"TrainPart": recipe, "EvaluatePart": suite}
    arms = {"type": "object", "additionalProperties": {"$ref": "#/$defs/TrainPart"}}
    parts = {"train": {"$ref": "#/$defs/TrainPart"}, "arms": arms, "evaluate": {"$ref": "#/$defs/EvaluatePart"}}
    own = {name: deepcopy(made["properties"][name]) for name in ("compile", "audit")}
    assumed = {key: value for key, value in definitions["Assumed"].items() if key != "required"}
    domain = {
        "type": "object",
        "properties": {**own, **parts, "assume": assumed},
        "additionalProperties": False,
    }
    domains = {"type": "object", "additionalProperties": domain}
    return {**made, "properties": {**made["properties"], **parts, "domains": domains}, "$defs": definitions}


_MAKERS: Mapping[SchemaName, Callable[[], _Schema]] = {
    "tasks": _make_tasks,
    "responses": _make_responses,
    "verdicts": _make_verdicts,
    "scores": lambda: _generate(StoredScores),
    "recipe": _make_recipe,
    "suite": _make_suite,
    "study": _make_study,
    "mapping": lambda: _generate(RowMapping),
}
