"""A study composes the verbs: what each stage is told, in which order, and what a plan counts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prorubric.cli.app import run as run_program
from prorubric.errors import ConfigError
from prorubric.rubric.records import Message
from prorubric.rubric.save import save_tasks
from prorubric.train.plan import plan_training
from prorubric.verbs.study import StudyConfig, load_study, plan_study, run_study
from tests.aggregate.test_schemes import make_task
from tests.llm.server import MisbehavingServer
from tests.verbs.evaluating import write_healthbench

ROOT = Path(__file__).parents[2]


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer() as running:
        running.always = "evaluate"
        yield running


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    prompts = [(Message(role="user", content=f"Question {number}?"),) for number in range(12)]
    made = make_task([5, 3, -2, 1])
    tasks = [made.model_copy(update={"id": prompt[0].content, "messages": prompt}) for prompt in prompts]
    save_tasks(tmp_path / "tasks.jsonl", tasks)
    write_healthbench(tmp_path / "data")
    return tmp_path


def write_study(folder: Path, **changes: Any) -> Path:
    study = {
        "title": "Two arms",
        "compile": {"tasks": "tasks.jsonl", "generator": "rules"},
        "train": {
            "model": "tiny",
            "judge": "lexical",
            "rollouts": 4,
            "prompts": 2,
            "mini_batch": 2,
            "responses": 2,
            "held_out": 2,
        },
        "arms": {
            "ProRubric": {"method": "prorubric", "after": "Sum", "judge": "scripted:judge.json"},
            "Sum": {"method": "rubric-rl", "seeds": [1, 2]},
        },
        "evaluate": {"benchmarks": ["healthbench"], "data_dir": "data", "judge": "lexical"},
        **changes,
    }
    (folder / "judge.json").write_text('{"contains": [], "reply": "{}"}\n')
    path = folder / "mine.yaml"
    path.write_text(json.dumps(study))
    return path


def test_a_plan_counts_every_stage_and_writes_nothing(folder: Path) -> None:
    plan = plan_study(StudyConfig(write_study(folder)))
    [domain] = plan.domains
    assert (domain.missing, domain.assumed) == ({}, False)
    assert {name: part.calls for name, part in domain.compile.items()} == {"compiled.jsonl": 0}
    assert list(domain.arms) == ["Sum", "ProRubric"]
    assert [run.name for run in domain.arms["Sum"].runs] == ["rubric-rl-seed-1", "rubric-rl-seed-2"]
    assert domain.evaluate is not None
    # Three policies answer four prompts; lexical is asked once for each answer.
    assert domain.evaluate.calls == 3 * 4 + 3 * 4
    assert plan.calls == domain.evaluate.calls + sum(arm.calls for arm in domain.arms.values())
    assert not (folder / "runs").exists()


def test_the_arms_of_a_study_are_recipes_that_the_verb_train_reads(folder: Path) -> None:
    _, [domain] = load_study(write_study(folder))
    (folder / "runs/mine").mkdir(parents=True)
    path = domain.write_recipe("Sum", folder / "tasks.jsonl")
    assert path == Path("runs/mine/recipes/Sum.yaml")
    assert plan_training(path).runs[0].name == "rubric-rl-seed-1"
    found = json.loads(domain.write_recipe("ProRubric").read_text())
    assert (found["tasks"], found["model"], found["out"]) == (
        "runs/mine/compiled.jsonl",
        "tiny",
        "runs/mine/train/ProRubric",
    )


def test_an_arm_goes_on_from_the_last_checkpoint_of_another(folder: Path) -> None:
    _, [domain] = load_study(write_study(folder))
    for number in (2, 10):
        place = folder / f"runs/mine/train/Sum/rubric-rl-seed-1/checkpoints/checkpoint-{number}"
        place.mkdir(parents=True)
        (place / "rollout.json").write_text(json.dumps({"rollout": number}))
    found = json.loads(domain.write_recipe("ProRubric").read_text())
    assert found["model"] == "runs/mine/train/Sum/rubric-rl-seed-1/checkpoints/checkpoint-10"
    specs = {policy.name: policy.spec for policy in domain.list_policies()}
    assert specs == {
        "ProRubric 42": "planned:ProRubric 42",
        "Sum 1": "runs/mine/train/Sum/rubric-rl-seed-1/checkpoints/checkpoint-10",
        "Sum 2": "planned:Sum 2",
    }


def test_a_study_without_arms_compiles_and_evaluates_given_policies(folder: Path, server: MisbehavingServer) -> None:
    address = f"http://127.0.0.1:{server.port}/v1"
    policies = [{"name": "full", "spec": f"{address}#writes-rest-drink"}]
    evaluate = {"benchmarks": ["healthbench"], "data_dir": "data", "judge": f"{address}#judge", "policy": policies}
    path = write_study(folder, arms={}, evaluate=evaluate)
    result = run_study(StudyConfig(path))
    [domain] = result.domains
    assert domain.compiled == {"compiled.jsonl": 12}
    assert domain.evaluation is not None
    assert domain.evaluation.comparisons is not None
    assert [arm.mean for arm in domain.evaluation.comparisons.tables[0].arms] == [100.0]
    asked = server.calls
    again = run_study(StudyConfig(path))
    assert (server.calls, again.unfinished) == (asked, ())
    save_tasks(folder / "tasks.jsonl", [make_task([5, 3])])
    with pytest.raises(ConfigError, match="holds tasks that were compiled from another file"):
        run_study(StudyConfig(path))


def test_domains_share_what_they_do_not_change(folder: Path) -> None:
    domains = {
        "medicine": {"train": {"tasks": "medicine.jsonl"}},
        "science": {
            "train": {"tasks": "science.jsonl"},
            "arms": {"Raw": {"method": "raw-and", "judge": "scripted:judge.json"}},
        },
    }
    assume = {"tasks": 40, "criteria": 5}
    path = write_study(folder, domains=domains, assume=assume, compile={"generator": "http://localhost:1/v1#none"})
    plan = plan_study(StudyConfig(path, only=("compile", "train")))
    assert [domain.missing for domain in plan.domains] == [{}, {}]
    assert [(domain.name, list(domain.arms), domain.assumed) for domain in plan.domains] == [
        ("medicine", ["Sum", "ProRubric"], True),
        ("science", ["Sum", "Raw", "ProRubric"], True),
    ]
    assert [domain.compile["compiled.jsonl"].calls for domain in plan.domains] == [40, 40]
    only = plan_study(StudyConfig(path, only=("science", "train", "ProRubric")))
    assert [(domain.name, list(domain.arms)) for domain in only.domains] == [("science", ["Sum", "ProRubric"])]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"arm": {}}, "a study has no field 'arm'; did you mean arms?"),
        ({"arms": {}, "compile": {}, "evaluate": {}}, "the study has no part; give compile, arms or evaluate"),
        ({"arms": {"A": {"method": "prorubric", "after": "B"}}}, "the arm A comes after 'B'"),
        ({"domains": {"x": {"tasks": "y"}}}, "the domain x has no field 'tasks'"),
    ],
)
def test_a_study_that_cannot_be_run_is_refused_in_one_line(folder: Path, changes: dict[str, Any], said: str) -> None:
    path = write_study(folder, **changes)

    def write_first() -> None:
        _, [domain] = load_study(path)
        domain.write_recipe("A")

    with pytest.raises(ConfigError) as refused:
        write_first()
    assert said in str(refused.value)


def test_arms_that_come_after_each_other_are_refused(folder: Path) -> None:
    arms = {"A": {"method": "prorubric", "after": "B"}, "B": {"method": "prorubric", "after": "A"}}
    with pytest.raises(ConfigError, match="the arms A, B come after each other"):
        run_study(StudyConfig(write_study(folder, arms=arms, compile={}), only=("train",)))


def test_the_program_writes_a_file_to_start_from_and_says_what_it_lacks(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_program(["study", "new.yaml", "--init"]) == 0
    assert run_program(["study", "new.yaml", "--init"]) == 2
    assert run_program(["study", "new.yaml", "--dry-run"]) == 1
    said = capsys.readouterr().out
    assert "not planned, tasks:my-held-out.jsonl: a file is missing" in " ".join(said.split())
    assert said.count("not planned, ") == 5  # the compiled file, its tasks and three benchmarks, but not every arm


@pytest.mark.parametrize("name", ["paper-4b", "paper-8b"])
def test_the_studies_of_the_paper_have_every_arm_and_its_exact_calls(folder: Path, name: str) -> None:
    text = (ROOT / f"studies/{name}.yaml").read_text()
    assert "tasks: 12519, criteria: 27" in text
    path = folder / f"{name}.yaml"
    path.write_text(text.replace("tasks: 12519, criteria: 27", "tasks: 400, criteria: 3"))
    plan = plan_study(StudyConfig(path, only=("medical", "train")))
    [domain] = plan.domains
    assert domain.missing == {}
    assert len(domain.arms) == 14
    # Three seeds of 300 rollouts with 64 × 8 responses, a call each, and what validations take.
    trained = {arm: sum(run.calls for run in own.runs) for arm, own in domain.arms.items()}
    assert trained["ProRubric"] == 3 * 300 * 64 * 8
    assert trained["Graded"] == 2 * trained["ProRubric"]
    assert trained["OPSD"] == 0
