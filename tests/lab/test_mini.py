"""The files of the mini are written and planned here; the policy is trained in TRL's environment."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prorubric import Judge, Response, load_tasks, make_model, score
from prorubric.aggregate.batch import PlanTable
from prorubric.datasets.load import load_responses
from prorubric.errors import ConfigError
from prorubric.lab.checklist import make_checklists
from prorubric.lab.demos import write_demos
from prorubric.lab.facts import Facts
from prorubric.lab.language import CONSENSUS, CasePlace, find_place, make_case_task, make_language
from prorubric.lab.measure import measure
from prorubric.lab.mini import SAMPLE_SEEDS, measure_answers, write_mini
from prorubric.lab.mini_policy import list_clauses
from prorubric.lab.world import END, WORLDS, make_world
from prorubric.train import plan_training
from prorubric.train.best_of import choose_best
from tests.train.running import run_in, trainers

SCRIPT = Path(__file__).parent / "scripts" / "mini.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("mini")
    written = write_mini(made, training=40, held_out=5, demos=260)
    assert written == {
        "tasks.jsonl": 40,
        "held-out.jsonl": 5,
        "consensus.jsonl": 5,
        "demo-tasks.jsonl": 260,
        "demos.jsonl": 260,
        "best.jsonl": 40,
    }
    return made


def test_the_files_hold_cases_that_the_judge_recognises(folder: Path) -> None:
    tasks, held, consensus = (list(load_tasks(folder / f"{name}.jsonl")) for name in ("tasks", "held-out", "consensus"))
    prompts = [task.messages[0].content for task in (*tasks, *held)]
    assert len({*prompts}) == 45
    assert all(find_place(prompt) for prompt in prompts)
    assert all(task.protocol and len(task.protocol) == 4 for task in (*tasks, *held))
    assert [(task.id, task.messages) for task in held] == [(task.id, task.messages) for task in consensus]
    assert [criterion.text for criterion in consensus[0].rubric.criteria] == [*CONSENSUS.values()]


def test_the_demonstrations_answer_their_tasks_in_sentences_of_the_world(folder: Path) -> None:
    demos, language = list(load_responses(folder / "demos.jsonl")), make_language("triage-v1")
    assert [demo.task_id for demo in demos] == [task.id for task in load_tasks(folder / "demo-tasks.jsonl")]
    assert all(said.move != END for demo in demos for said in language.parse(demo.text))


def test_the_best_demonstration_is_the_one_that_the_lenient_judge_scores_highest(folder: Path) -> None:
    world, cases, few = make_world("triage-v1"), make_checklists("triage-v1", 40, 0).cases, 3
    drawn = [write_demos(world, cases, seed) for seed in SAMPLE_SEEDS]
    tasks = [make_case_task(CasePlace("triage-v1", row, 40, 0)) for row in range(few)]
    answers = [
        Response(task_id=task.id, sample=sample, text=world.moves.render(moves[row]))
        for row, task in enumerate(tasks)
        for sample, moves in enumerate(drawn)
    ]
    judge, scores = Judge(make_model("lab:triage-v1")), []
    for answer in answers:
        task = tasks[[task.id for task in tasks].index(answer.task_id)]
        judged = asyncio.run(judge.judge(task, answer.text, "criteria"))
        scores.append(score(judged.verdicts, task, "additive").value)
    assert [*load_responses(folder / "best.jsonl")][:few] == [*choose_best(answers, scores).chosen]


def test_the_recipes_are_planned_to_the_call(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    base, arms = plan_training(Path("base.yaml")), plan_training(Path("arms.yaml"), only=["rubric-rl", "prorubric"])
    assert [(run.name, run.steps, run.calls) for run in base.runs] == [("sft-seed-42", 4, 0)]
    assert [(run.name, run.steps, run.calls, run.validation_calls) for run in arms.runs] == [
        ("rubric-rl-seed-42", 300, 300 * 32 * 8, 7 * 5),
        ("prorubric-seed-42", 300, 300 * 32 * 8, 7 * 5),
    ]


@pytest.mark.parametrize("sizes", [{"demos": 127}, {"training": 0}, {"held_out": 200_000}])
def test_sizes_that_cannot_be_trained_on_are_refused(tmp_path: Path, sizes: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="the mini needs at least 128 demonstrations, and 1 to 100,000 cases"):
        write_mini(tmp_path, **sizes)
    assert list(tmp_path.iterdir()) == []


def test_answers_as_text_are_measured_as_the_lab_measures_moves() -> None:
    world, lists = make_world("triage-v1"), make_checklists("triage-v1", 20, 3)
    demos = write_demos(world, lists.cases, 3)
    texts = [world.moves.render(row) for row in demos]
    answers = [Response(task_id=CasePlace("triage-v1", row, 20, 3).name, text=text) for row, text in enumerate(texts)]
    found = measure_answers(answers)
    facts = Facts(world, lists, np.arange(20), demos)
    assert found.measure == measure(facts, PlanTable.of(lists.tasks, "additive"))
    assert (found.answers, found.read, found.repeated) == (20, 1.0, 0.0)
    spoiled = answers[0].model_copy(update={"text": "Please be seen today. Rubbish. Please be seen today."})
    found = measure_answers([spoiled])
    assert (found.read, found.repeated) == (2 / 3, 0.5)
    with pytest.raises(ConfigError, match="these are not answers to the cases of one draw of the lab"):
        measure_answers([*answers, spoiled.model_copy(update={"task_id": "another"})])


def test_clauses_are_pieces_of_templates_with_the_signs_that_touch_them() -> None:
    clauses = list_clauses(make_world("triage-v1"))
    for clause in ("Think of", "a heart attack", "too.", "A heart attack:", "of weight here, because", "an ECG."):
        assert clause in clauses
    assert len(clauses) == len({*clauses})


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_in("trl", SCRIPT, tmp_path_factory.mktemp("runs"))


@trainers
class TestInTrl:
    @pytest.mark.parametrize("name", WORLDS)
    def test_every_text_of_a_world_comes_back_from_its_tokens(self, found: dict[str, Any], name: str) -> None:
        tokens = found["tokens"][name]
        assert (tokens["same"], tokens["unknown"], tokens["case_is_hidden"]) == (True, 0, True)
        assert tokens["prompt"] < 14
        assert tokens["answer"] < 18
        assert tokens["entries"] < 700

    def test_the_sampler_draws_with_the_chances_that_the_model_gives(self, found: dict[str, Any]) -> None:
        sampler = found["sampler"]
        assert sampler["gap"] < 1e-4
        assert len(sampler["sizes"]) > 10
        assert (sampler["ended"], sampler["ended_once"], sampler["greedy_is_theirs"]) == (True, True, True)
        assert sampler["spreads_off"] < 5

    def test_scores_without_padding_are_those_with_it(self, found: dict[str, Any]) -> None:
        scores = found["scores"]
        assert max(scores["gaps"][:2]) < 1e-4
        assert scores["gaps"][2] < 1e-4 * scores["gradient"]
        assert scores["tokens"][1] < 0.75 * scores["tokens"][0]

    def test_a_base_and_two_arms_are_trained_and_every_answer_is_judged(self, found: dict[str, Any]) -> None:
        training = found["training"]
        assert training["base"] == [20]
        for name in ("rubric-rl", "prorubric", "ruscarl"):
            arm = training["arms"][f"{name}-seed-42"]
            assert (arm["rows"], arm["rewarded"], arm["state"]) == (64, 64, "done")
        for name in ("opsd", "sft"):
            assert training["arms"][f"{name}-seed-42"] == {"steps": [1, 2], "state": "done"}

    def test_scaffolds_and_the_checklist_of_a_teacher_are_in_the_prompts(self, found: dict[str, Any]) -> None:
        scaffolded, plain = found["training"]["shown"]["answered"][:32], found["training"]["shown"]["answered"][32:]
        assert all(size > 180 for size in scaffolded[::8])  # the first of a group sees the whole checklist
        assert all(size < 17 for size in (*scaffolded[7::8], *plain))  # its last, and the second rollout, nothing
        assert len(found["training"]["shown"]["taught"]) == 8
        assert all(size > 180 for size in found["training"]["shown"]["taught"])
