"""`run_demo`: the run folder it writes, and that its numbers are the ones of `score`."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import prorubric
from prorubric import SAMPLE_TASKS, SCHEMES, load_samples, load_tasks, score
from prorubric.aggregate.schemes import find_scheme
from prorubric.errors import ConfigError
from prorubric.llm.http import HttpConfig
from prorubric.rubric.verdict import parse_verdict
from prorubric.verbs.demo import DemoConfig, DemoResult, run_demo
from tests.llm.server import MisbehavingServer

READINGS = next(load_samples()).verdicts
SCORED = tuple(name for name in SCHEMES if all(r.name in READINGS for r in find_scheme(name).readings))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture
def copied(result: DemoResult, folder: Path, tmp_path: Path) -> Path:
    """A folder with an earlier demo."""
    return shutil.copytree(folder, tmp_path / "demo")


@pytest.fixture(scope="module")
def result(folder: Path) -> DemoResult:
    assert [*folder.iterdir()] == []  # an empty folder is used
    return run_demo(DemoConfig(out=folder))


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_folder_holds_the_files_of_a_run(result: DemoResult, folder: Path) -> None:
    names = sorted(path.name for path in folder.iterdir())
    assert [name for name in names if not name.startswith("by-rules")] == [
        "audit", "config.json", "scores.jsonl", "summary.json", "tasks.jsonl", "verdicts.jsonl",
    ]  # fmt: skip
    assert result.folder == str(folder)


def test_the_config_says_everything_that_was_resolved_with_versions(result: DemoResult, folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    assert (config["verb"], config["config"]["out"], config["schemes"]) == ("demo", str(folder), list(SCORED))
    assert config["config"]["judge"] == "lexical"
    assert config["versions"]["prorubric"] == prorubric.__version__


def test_the_summary_is_the_result(result: DemoResult, folder: Path) -> None:
    assert DemoResult(**json.loads((folder / "summary.json").read_text())) == result


def test_there_is_a_score_for_every_answer_under_every_scheme(result: DemoResult, folder: Path) -> None:
    rows = read(folder / "scores.jsonl")
    assert len({(row["task_id"], row["sample"]) for row in rows}) == len(rows) == 48
    assert {tuple(row["scores"]) for row in rows} == {SCORED}


def test_the_folder_holds_the_tasks_that_were_scored(result: DemoResult, folder: Path) -> None:
    assert list(load_tasks(folder / "tasks.jsonl")) == list(load_tasks(SAMPLE_TASKS))


@pytest.mark.parametrize("scheme", SCORED)
def test_the_scores_are_those_of_score_on_the_stored_verdicts(result: DemoResult, folder: Path, scheme: str) -> None:
    tasks = {task.id: task for task in load_tasks(folder / "tasks.jsonl")}
    verdicts = {(row["task_id"], row["sample"]): row["verdicts"] for row in read(folder / "verdicts.jsonl")}
    again = {
        key: score(
            [parse_verdict(value) for reading in find_scheme(scheme).readings for value in stored[reading.name]],
            tasks[key[0]],
            scheme,
        ).model_dump(mode="json")
        for key, stored in verdicts.items()
    }
    assert {(row["task_id"], row["sample"]): row["scores"][scheme] for row in read(folder / "scores.jsonl")} == again


def test_padding_wins_on_six_of_twelve_prompts_under_the_sum_and_on_none_under_prorubric(result: DemoResult) -> None:
    assert len(result.tasks) == 12
    assert (result.padded_first["additive"], result.padded_first["prorubric"]) == (6, 0)


def test_the_means_are_those_of_the_stored_scores(result: DemoResult, folder: Path) -> None:
    kinds = {(answer.task.id, answer.response.sample): answer.kind for answer in load_samples()}
    values = [
        row["scores"]["additive"]["value"]
        for row in read(folder / "scores.jsonl")
        if kinds[row["task_id"], row["sample"]] == "padded"
    ]
    assert len(values) == 12
    assert result.means["additive"]["padded"] == pytest.approx(sum(values) / 12, abs=1e-15)


def test_the_table_by_prompt_has_the_scores_of_both_schemes(result: DemoResult) -> None:
    first = result.tasks[0]
    assert (first.task_id, first.domain) == ("medicine-infant-fever", "medicine")
    assert {kind: round(value, 2) for kind, value in first.additive.items()} == {
        "focused": 0.61,
        "padded": 0.75,
        "thin": 0.19,
        "needless": 0.39,
    }


def test_the_lint_of_the_pack_is_part_of_the_result(result: DemoResult) -> None:
    assert (result.lint.tasks, result.lint.criteria, result.lint.negative) == (12, 264, 8)
    assert result.lint.severities == {"error": 0, "warning": 0, "note": 6}


def test_an_earlier_demo_is_replaced_from_the_journal(result: DemoResult, copied: Path) -> None:
    first, second = result, run_demo(DemoConfig(out=copied))
    assert first.audit.cached == 0
    assert second.audit.cached == second.audit.calls == first.audit.calls > 500
    assert second.audit.effects == first.audit.effects


def test_the_audit_of_the_pack_pays_for_naming_under_the_sum(result: DemoResult) -> None:
    assert {line.scheme: line.pays_for_padding for line in result.audit.headline} == {
        "additive": "yes",
        "conjunctive": "unclear",
    }
    assert result.audit.alive
    assert Path(result.page).is_file()


def test_the_rules_are_compared_with_the_packs_own_dimensions(result: DemoResult) -> None:
    assert result.rules_agreement == pytest.approx(0.061, abs=0.001)


@pytest.mark.parametrize("stranger", ["notes.txt", ".hidden", "summary.json.bak"])
def test_a_folder_with_a_stranger_in_it_is_left_alone(stranger: str, tmp_path: Path) -> None:
    (tmp_path / stranger).write_text("mine")
    with pytest.raises(ConfigError, match="holds something that is not a demo; choose another --out"):
        run_demo(DemoConfig(out=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [stranger]


@pytest.mark.parametrize(
    "name", ["config.json", "summary.json", "tasks.jsonl", "scores.jsonl", "by-rules.jsonl", "audit"]
)
def test_our_names_do_not_make_a_file_ours(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text('{"mine": 1}')
    with pytest.raises(ConfigError, match="holds something that is not a demo; choose another --out"):
        run_demo(DemoConfig(out=tmp_path))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, '{"mine": 1}')]


@pytest.mark.parametrize("held", ["[1]", "{bad", '{"verb": "demo", "config": []}'])
def test_settings_that_are_damaged_are_left_alone_in_one_line(held: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(held)
    with pytest.raises(ConfigError, match=r"config\.json: not .*; choose another --out$"):
        run_demo(DemoConfig(out=tmp_path))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("config.json", held)]


def test_an_audit_of_something_else_in_the_demos_folder_is_left_alone(copied: Path) -> None:
    about = json.loads((copied / "audit/config.json").read_text())
    about["config"]["tasks"] = "mine.jsonl"
    (copied / "audit/config.json").write_text(json.dumps(about))
    with pytest.raises(ConfigError, match="holds something that is not a demo"):
        run_demo(DemoConfig(out=copied))
    assert json.loads((copied / "audit/config.json").read_text()) == about


def test_a_demo_that_was_stopped_is_finished_by_running_it_again(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no model is called 'nobody'"):
        run_demo(DemoConfig(out=tmp_path, judge="nobody"))
    assert run_demo(DemoConfig(out=tmp_path)).audit.judge == "lexical"


def test_another_judge_takes_the_place_of_the_one_before(result: DemoResult, copied: Path) -> None:
    # The pack lies elsewhere in another installation; it is the same all the same.
    about = json.loads((copied / "audit/config.json").read_text())
    about["config"]["tasks"] = about["inputs"]["tasks"]["path"] = "/elsewhere/sample_pack/tasks.jsonl"
    (copied / "audit/config.json").write_text(json.dumps(about))
    second = run_demo(DemoConfig(out=copied, judge="tests.audit.judges:Keyword"))
    assert second.audit.judge == "tests.audit.judges:Keyword"
    for folder in (copied, copied / "audit"):
        assert json.loads((folder / "config.json").read_text())["config"]["judge"] == "tests.audit.judges:Keyword"
    assert second.page == str(copied / "audit/report.html")
    third = run_demo(DemoConfig(out=copied))
    assert third.audit.cached == third.audit.calls == result.audit.calls
    assert third.audit.effects == result.audit.effects


def test_a_file_in_the_place_of_the_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("mine")
    with pytest.raises(ConfigError, match="holds something that is not a demo"):
        run_demo(DemoConfig(out=tmp_path / "demo"))
    assert (tmp_path / "demo").read_text() == "mine"


def test_a_served_judge_takes_the_place_of_word_overlap(tmp_path: Path) -> None:
    with MisbehavingServer() as server:
        result = run_demo(DemoConfig(out=tmp_path / "demo", judge=server.spec, http=HttpConfig(concurrency=64)))
        assert server.calls > 500
    # The server only repeats what it is asked: no reply holds a verdict, and nothing is said of padding.
    assert not result.audit.alive
    assert {line.scheme: line.pays_for_padding for line in result.audit.headline} == {
        "additive": "no verdict",
        "conjunctive": "no verdict",
        "prorubric": "no verdict",
    }
