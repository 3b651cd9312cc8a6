"""The JSON Schemas in docs/schemas: up to date, valid, and fitted by every file of the kind that is here."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from prorubric.cli.app import run
from prorubric.datasets.load import load_tasks
from prorubric.datasets.mapping import RowMapping
from prorubric.datasets.samples import SAMPLE_RESPONSES, SAMPLE_TASKS
from prorubric.files.settings import read_settings
from prorubric.rubric.forms import CRITERION_KEYS, TASK_KEYS
from prorubric.train.recipe import RECIPE_FIELDS, SETTING_FIELDS
from prorubric.verbs.demo import DemoConfig, run_demo
from prorubric.verbs.schema import NAMES, SchemaName, make_schema, write_schemas

ROOT = Path(__file__).parents[2]
MAPPINGS = sorted((ROOT / "src/prorubric/datasets/mappings").glob("*.yaml"))


def read_rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def list_faults(name: SchemaName, value: Any) -> list[str]:
    return [
        f"{fault.json_path}: {fault.message}" for fault in Draft202012Validator(make_schema(name)).iter_errors(value)
    ]


def test_the_schemas_in_the_docs_are_those_of_this_version(tmp_path: Path) -> None:
    assert write_schemas(tmp_path).files == tuple(str(tmp_path / f"{name}.json") for name in NAMES)
    kept = {path.name: path.read_text() for path in (ROOT / "docs/schemas").iterdir()}
    assert kept == {path.name: path.read_text() for path in tmp_path.iterdir()}, "run: make generated"


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_is_one(name: SchemaName) -> None:
    Draft202012Validator.check_schema(make_schema(name))


@pytest.mark.parametrize(("name", "path"), [("tasks", SAMPLE_TASKS), ("responses", SAMPLE_RESPONSES)])
def test_the_sample_pack_fits(name: SchemaName, path: Path) -> None:
    assert [list_faults(name, row) for row in read_rows(path)] == [[]] * len(read_rows(path))


def test_the_verdicts_and_scores_of_a_run_fit(tmp_path: Path) -> None:
    run_demo(DemoConfig(out=tmp_path / "demo"))
    rows = read_rows(tmp_path / "demo/verdicts.jsonl")
    rows[0]["verdicts"]["criteria"][:2] = [{"unknown": "no reply", "status": 500}, {"not_applicable": "no drug"}]
    assert [fault for row in rows for fault in list_faults("verdicts", row)] == []
    assert [fault for row in read_rows(tmp_path / "demo/scores.jsonl") for fault in list_faults("scores", row)] == []


@pytest.mark.parametrize("path", sorted((ROOT / "examples/recipes").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_recipe_fits(path: Path) -> None:
    assert list_faults("recipe", read_settings(path, "recipe", "")) == []


@pytest.mark.parametrize("path", sorted((ROOT / "studies").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_study_fits(path: Path) -> None:
    assert list_faults("study", read_settings(path, "study", "")) == []


@pytest.mark.parametrize("path", MAPPINGS, ids=lambda path: path.stem)
def test_every_mapping_fits(path: Path) -> None:
    assert list_faults("mapping", yaml.safe_load(path.read_text())) == []


def test_the_suite_of_the_docs_fits() -> None:
    (suite,) = re.findall(r'```yaml title="suite.yaml"\n(.*?)```', (ROOT / "docs/evaluation.md").read_text(), re.DOTALL)
    assert list_faults("suite", yaml.safe_load(suite)) == []


@pytest.mark.parametrize(
    ("name", "value", "place"),
    [
        ("tasks", {"id": "a", "messages": [{"role": "user"}], "rubric": [{"criterion": "x"}]}, "$.rubric[0]"),
        ("tasks", {"id": "a", "messages": [{"role": "me", "content": "?"}], "rubric": []}, "$.messages[0].role"),
        ("responses", {"task_id": "a"}, "$"),
        ("verdicts", {"task_id": "a", "sample": 0, "verdicts": {"criteria": ["yes"]}}, "$.verdicts.criteria[0]"),
        ("scores", {"task_id": "a", "sample": 0, "scores": {"k1": {"value": 2, "low": 0, "high": 1}}}, "$.scores"),
        ("recipe", {"method": "prorubric", "model": "tiny", "tasks": "a", "rolouts": 3}, "$"),
        ("recipe", {"method": "prorubric", "model": "tiny"}, "$"),
        ("suite", {"benchmarks": ["medqa"], "profile": "mine"}, "$.profile"),
        ("study", {"arms": [], "title": "x"}, "$.arms"),
        ("mapping", {"prompt": "question"}, "$"),
    ],
)  # fmt: skip
def test_what_is_wrong_does_not_fit(name: SchemaName, value: Any, place: str) -> None:
    assert any(fault.startswith(place) for fault in list_faults(name, value))


def test_the_schemas_have_every_field_of_a_file_and_what_it_means() -> None:
    tasks, recipe = make_schema("tasks")["properties"], make_schema("recipe")["properties"]
    assert set(tasks) == set(TASK_KEYS)
    assert set(tasks["rubric"]["items"]["properties"]) == set(CRITERION_KEYS)
    assert set(recipe) == {*RECIPE_FIELDS, *SETTING_FIELDS} - {"_"}
    assert recipe["budget"]["description"].startswith("US dollars. A plan above it is refused")
    assert set(make_schema("mapping")["properties"]) == set(RowMapping.model_fields)


def test_the_program_prints_one_and_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "scores"]) == 0
    assert json.loads(capsys.readouterr().out) == make_schema("scores")
    assert run(["schema"]) == 0
    assert capsys.readouterr().out.split() == [*NAMES]


def test_a_task_that_fits_can_be_loaded(tmp_path: Path) -> None:
    row = {"id": "a", "messages": [{"role": "user", "content": "?"}], "rubric": [{"criterion": "x y z", "weight": 1}]}
    assert list_faults("tasks", row) == []
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    assert [task.id for task in load_tasks(tmp_path / "a.jsonl", strict=True)] == ["a"]


def test_a_folder_gets_every_schema_and_a_single_one_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["schema", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{tmp_path}/{name}.json" for name in NAMES]
    assert run(["schema", "study", "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err.endswith("--out writes every schema; leave study or --out out\n")
