"""`prorubric train` around its trainers: folders, resuming, stopping, validating; a stand-in writes what they write."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from prorubric import Response, load_responses, save_responses, save_tasks
from prorubric.cli.app import run as run_cli
from prorubric.errors import ConfigError, ProRubricError
from prorubric.reward.engine import run_blocking
from prorubric.train import plan_training
from prorubric.train.methods import METHODS
from prorubric.train.recipe import list_runs, load_recipe
from prorubric.train.run_folder import RunFolder
from prorubric.train.supervise import Supervisor
from prorubric.train.validate import Validator
from prorubric.verbs.train import TrainConfig, TrainResult, train_policies
from tests.patience import PATIENCE
from tests.train.counting_judge import CountingJudge, find_answer, serve_judge
from tests.train.test_plan import make_task

ROOT = Path(__file__).parents[2]
STAND_IN = ROOT / "tests/train/scripts/stand_in.py"


@pytest.fixture
def judge() -> Iterator[CountingJudge]:
    with serve_judge(lambda prompt, _: "good" in find_answer(prompt)) as served:
        yield served


class Trial:
    """A recipe in a folder, and the script of the stand-in."""

    def __init__(self, folder: Path, judge: CountingJudge) -> None:
        self.folder, self.path = folder, folder / "try.yaml"
        self.out = folder / "out"
        save_tasks(folder / "tasks.jsonl", [make_task(f"t{number}") for number in range(20)])
        python = folder / "python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} {STAND_IN} "$@"\n')
        python.chmod(0o755)
        self.recipe: dict[str, Any] = {
            "method": "rubric-rl",
            "model": "tiny",
            "tasks": str(folder / "tasks.jsonl"),
            "judge": f"{judge.address}#first",
            "rollouts": 4,
            "prompts": 2,
            "mini_batch": 1,
            "held_out": 2,
            "validate": {"every": 1},
            "python": str(python),
            "out": str(self.out),
            "http": {"retries": 0},
        }
        self.script: dict[str, Any] = {"answers": ["good"], "waits_for_judge": True}

    def write(self, **changes: Any) -> Path:
        self.recipe |= changes
        self.path.write_text(json.dumps(self.recipe))
        self.out.mkdir(exist_ok=True)
        (self.out / "script.json").write_text(json.dumps(self.script))
        return self.path

    def train(self, **changes: Any) -> TrainResult:
        return train_policies(TrainConfig(self.write(**changes)))

    @property
    def starts(self) -> list[str]:
        path = self.out / "starts.txt"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def trial(tmp_path: Path, judge: CountingJudge) -> Trial:
    os.environ["PYTHONPATH"] = str(ROOT)
    return Trial(tmp_path, judge)


def test_every_checkpoint_is_judged_twice_and_the_curve_is_kept(trial: Trial, judge: CountingJudge) -> None:
    trial.script["answers"] = ["bad", "good"]
    (run,) = trial.train().runs
    assert (run.state, run.step, run.late) == ("done", 4, {})
    assert [(found.step, found.coverage, found.appropriateness) for found in run.validations] == [
        (0, 0.0, 0.0),
        *((step, 1.0, 1.0) for step in range(1, 5)),
    ]
    assert judge.calls == {"first": 5 * 2 * 2}
    assert plan_training(trial.path).runs[0].validation_calls == judge.calls.total()
    folder = trial.out / run.name / "validation/step-0001"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["answers.jsonl", "scores.jsonl", "second.jsonl", "summary.json", "verdicts.jsonl"]
    rows = [json.loads(line) for line in (folder / "scores.jsonl").read_text().splitlines()]
    assert [{name: score["value"] for name, score in row["scores"].items()} for row in rows] == [
        {"coverage": 1.0, "appropriateness": 1.0}
    ] * 2
    (first, _) = (json.loads(line) for line in (folder / "second.jsonl").read_text().splitlines())
    assert first["verdicts"] == {"probe": [True] * 4}


@pytest.mark.extended
def test_the_page_and_the_summary_show_what_the_runs_did(trial: Trial) -> None:
    trial.script["answers"] = ["bad", "good"]
    result = trial.train(rollouts=2)
    summary = json.loads((trial.out / "summary.json").read_text())
    assert summary["analysis"] == result.analysis.model_dump(mode="json")
    (c,) = (curve for curve in result.analysis.curves if curve.measure == "c")
    assert [(point.step, point.mean, point.n) for point in c.points] == [(0, 0.0, 2), (1, 1.0, 2), (2, 1.0, 2)]
    assert [(peak.method, peak.step) for peak in result.analysis.peaks] == [("rubric-rl", 1)]
    page = (trial.out / "report.html").read_text()
    assert "appropriateness peaked at <b>step 1</b> with 1.000" in page


@pytest.mark.extended
def test_a_second_judge_on_tasks_of_its_own_sees_their_criteria(trial: Trial, judge: CountingJudge) -> None:
    own = trial.folder / "own.jsonl"
    save_tasks(own, [make_task(f"own{number}", criteria=3) for number in range(3)])
    second = {"tasks": str(own), "judge": f"{judge.address}#second", "every": 2}
    (run,) = trial.train(validate=second, held_out=None).runs
    assert judge.calls == {"first": 3 * 3, "second": 3 * 3}
    rows = (trial.out / run.name / "validation/step-0000/second.jsonl").read_text().splitlines()
    assert json.loads(rows[0])["verdicts"] == {"criteria": [True] * 3}


@pytest.mark.extended
def test_a_run_that_is_done_is_not_made_again_and_added_seeds_are(trial: Trial, judge: CountingJudge) -> None:
    trial.train(seeds=[42, 43])
    assert trial.starts == ["rubric-rl-seed-42", "rubric-rl-seed-43"]
    asked = judge.calls.total()
    result = trial.train(seeds=[42, 43, 44])
    assert trial.starts[2:] == ["rubric-rl-seed-44"]
    assert [(run.name, run.state, len(run.validations)) for run in result.runs] == [
        (f"rubric-rl-seed-{seed}", "done", 5) for seed in (42, 43, 44)
    ]
    assert judge.calls.total() == asked  # the same answers to the same questions


def test_a_changed_recipe_is_refused_by_its_field(trial: Trial) -> None:
    trial.train()
    with pytest.raises(ConfigError, match=r"holds this run with another settings\.kl \(0\.0, not 0\.01\); put it back"):
        trial.train(kl=0.01)
    save_tasks(trial.folder / "tasks.jsonl", [make_task("other"), make_task("another"), make_task("third")])
    with pytest.raises(ConfigError, match="the content of tasks"):
        trial.train(kl=0.0)
    assert trial.starts == ["rubric-rl-seed-42"]


@pytest.mark.extended
def test_endpoint_settings_and_rules_for_stopping_may_change(trial: Trial) -> None:
    trial.train()
    assert trial.train(http={"retries": 0, "concurrency": 2}, keep="last", stop="alarm").runs[0].state == "done"


def test_a_folder_is_left_as_it_is_if_it_is_of_another_training_or_damaged(trial: Trial) -> None:
    (run,) = trial.train().runs
    assert (trial.out / "tasks.jsonl").exists()
    before = {path: path.read_bytes() for path in trial.out.rglob("*.json*")}
    with pytest.raises(ConfigError, match=r"another held_out \(2, not 5\)"):
        trial.train(held_out=5)
    path = trial.out / run.name / "run.json"
    path.write_text("{")
    with pytest.raises(ProRubricError, match=r"run\.json: not JSON \(.*\); put it back"):
        trial.train(held_out=2)
    path.unlink()
    (path.parent / "checkpoints").mkdir()
    with pytest.raises(ConfigError, match=r"has checkpoints but no run\.json"):
        trial.train()
    path.write_bytes(before[path])
    assert {path: path.read_bytes() for path in trial.out.rglob("*.json*")} == before
    damaged = path.parent / "validation/step-0002/summary.json"
    damaged.write_text("{")
    assert len(trial.train().runs[0].validations) == 5  # judged again, from the journal
    assert damaged.read_bytes() == before[damaged]


def test_files_of_the_user_are_not_overwritten(trial: Trial) -> None:
    before = (trial.folder / "tasks.jsonl").read_bytes()
    with pytest.raises(ConfigError, match=r"holds files that are not a run of train \(tasks\.jsonl\)"):
        trial.train(out=str(trial.folder))
    with pytest.raises(ProRubricError, match=r"try\.yaml"):
        trial.train(out=str(trial.path))
    assert (trial.folder / "tasks.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("/no/such/python", "/no/such/python: no such program; python names the Python of the trainer"),
        ("/bin/true", "run rubric-rl-seed-42: the trainer ended with its work unfinished (no output); see "),
    ],
)
@pytest.mark.extended
def test_a_trainer_that_cannot_start_or_does_nothing_is_an_error(trial: Trial, python: str, said: str) -> None:
    with pytest.raises(ProRubricError, match=re.escape(said)):
        trial.train(python=python)


@pytest.mark.extended
def test_an_interrupt_does_not_wait_for_a_judge(trial: Trial) -> None:
    class Slow(Validator):
        def judge_answers(self, folder: Path, step: int) -> None:
            run_blocking(asyncio.sleep(PATIENCE))

    recipe = load_recipe(trial.write())
    folder = RunFolder(trial.out / "run")
    for step in (0, 1):
        save_responses(folder.name_answers(step), [Response(task_id="t1", text="good")])
    folder.save_state("done", 4)
    started = time.monotonic()
    asked = Slow(recipe, {}, trial.out / "journal.sqlite")
    state = Supervisor(list_runs(recipe)[0], folder.path, [], asked, None, lambda *_: "", lambda: 1).follow()
    assert (state.state, time.monotonic() - started < PATIENCE / 2) == ("done", True)


@pytest.mark.extended
def test_only_some_runs_can_be_chosen(trial: Trial) -> None:
    path = trial.write(seeds=[42, 43], sweep={"method": ["rubric-rl", "length-matched"]})
    train_policies(TrainConfig(path, only=("43",)))
    train_policies(TrainConfig(path, only=("length-matched-seed-42",)))
    assert trial.starts == ["rubric-rl-seed-43", "length-matched-seed-43", "length-matched-seed-42"]
    with pytest.raises(ConfigError, match="--only 44: no run has it; known: 42, rubric-rl, rubric-rl-seed-42, "):
        train_policies(TrainConfig(path, only=("44",)))


def test_methods_and_their_settings_are_shown_as_text_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["train", "--list", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == list(METHODS)
    assert run_cli(["train", "--show", "opsd", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["opsd"]["distillation"]["beta"] == 0.5
    assert run_cli(["train", "--show", "opsd"]) == 0
    assert capsys.readouterr().out.startswith("method: opsd\nrollouts: 485\nprompts: 128\n")


@pytest.mark.extended
def test_a_run_without_a_judge_shows_its_steps(trial: Trial) -> None:
    seen: list[tuple[int, int | None]] = []
    path = trial.write(method="opsd", judge=None, rollouts=3, validate="no")
    train_policies(TrainConfig(path), lambda progress: seen.append((progress.done, progress.total)))
    assert seen[-1] == (3, 3)


def test_a_fall_of_appropriateness_stops_the_run_at_the_predicted_validation(trial: Trial) -> None:
    trial.script["answers"] = ["good", "good", "bad", "bad", "bad"]
    trial.write(stop={"fall": 0.1, "after": 2}, rollouts=6)
    assert run_cli(["train", str(trial.path)]) == 1
    (run,) = json.loads((trial.out / "summary.json").read_text())["runs"]
    assert (run["state"], run["step"]) == ("stopped", 3)
    line = "appropriateness fell from 1.000 to 0.000 at step 2, 0.000 at step 3, by more than 0.1"
    assert run["reason"] == line
    state = json.loads((trial.out / "rubric-rl-seed-42/state.json").read_text())
    assert (state["state"], state["reason"]) == ("stopped", line)
    assert run_cli(["train", str(trial.path)]) == 1  # it would stop at once
    assert trial.starts == ["rubric-rl-seed-42"]


@pytest.mark.extended
def test_a_fall_that_recovers_does_not_stop_the_run(trial: Trial) -> None:
    trial.script["answers"] = ["good", "bad", "good", "bad", "good"]
    (run,) = trial.train(stop={"fall": 0.1, "after": 2}).runs
    assert (run.state, run.step) == ("done", 4)


@pytest.mark.extended
def test_a_budget_stops_the_run_if_the_judge_does_not_count_its_tokens(trial: Trial, judge: CountingJudge) -> None:
    judge.tokens = 0
    result = trial.train(prices="1,1", budget=0.5, prompts=1, responses=2)
    assert result.runs[0].reason == "the budget cannot be kept: a judge does not say how many tokens it uses"
    assert result.cost is None


def test_a_budget_stops_the_run_and_a_larger_one_goes_on(trial: Trial, judge: CountingJudge) -> None:
    judge.tokens = 100_000  # far more than planned: a validation of four calls costs 0.40 $
    (run,) = trial.train(prices="1,1", budget=0.5, prompts=1, responses=2).runs
    assert (run.state, run.reason) == ("stopped", "the budget of 0.5 $ is used up")
    assert run.step < 4
    starts = trial.starts
    (run,) = trial.train().runs
    assert (run.state, trial.starts) == ("stopped", starts)  # nothing more is spent
    (run,) = trial.train(budget=10.0).runs
    assert (run.state, run.step) == ("done", 4)


def test_the_trainer_s_own_line_is_the_error_and_the_same_command_goes_on(
    trial: Trial, capsys: pytest.CaptureFixture[str]
) -> None:
    trial.script["fail_at"] = 3
    assert run_cli(["train", str(trial.write())]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "prorubric: run rubric-rl-seed-42: the judge is gone"
    assert json.loads((trial.out / "rubric-rl-seed-42/state.json").read_text())["state"] == "failed"
    assert "the judge is gone" in (trial.out / "report.html").read_text()
    del trial.script["fail_at"]
    (run,) = trial.train().runs
    assert (run.state, run.step, len(run.validations)) == ("done", 4, 5)


@pytest.mark.extended
def test_a_trainer_that_crashes_is_reported_with_its_last_line(trial: Trial) -> None:
    trial.script["crash_at"] = 1
    with pytest.raises(ProRubricError) as failed:
        trial.train()
    said = "run rubric-rl-seed-42: the trainer ended with exit code 3 (Segmentation fault, says the trainer); see "
    assert str(failed.value).startswith(said)


@pytest.mark.extended
def test_a_judge_that_is_down_delays_the_curve_and_not_the_training(trial: Trial, judge: CountingJudge) -> None:
    judge.down.set()
    trial.script["waits_for_judge"] = False
    (run,) = trial.train().runs
    assert (run.state, run.step, run.validations) == ("done", 4, ())
    assert run.late == {step: f"step {step}: 2 answers of 2 could not be judged" for step in range(5)}
    judge.down.clear()
    (run,) = trial.train().runs
    assert (len(run.validations), run.late) == (5, {})
    assert trial.starts == ["rubric-rl-seed-42"]


def start(trial: Trial) -> "subprocess.Popen[str]":
    trial.script |= {"waits_for_judge": False, "seconds": 1.0}
    command = [sys.executable, "-m", "prorubric", "train", str(trial.write(rollouts=300))]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def read_step(trial: Trial) -> int:
    path = trial.out / "rubric-rl-seed-42/state.json"
    return int(json.loads(path.read_text())["step"]) if path.exists() else 0


@pytest.mark.extended
def test_ctrl_c_lets_the_rollout_finish_and_the_same_command_goes_on(trial: Trial) -> None:
    with start(trial) as running:
        wait_until(lambda: read_step(trial) >= 1)
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == 130
    state = json.loads((trial.out / "rubric-rl-seed-42/state.json").read_text())
    assert (state["state"], state["reason"]) == ("stopped", "interrupted")


@pytest.mark.extended
def test_a_trainer_ends_when_its_parent_is_killed(trial: Trial) -> None:
    with start(trial) as running:
        wait_until(lambda: read_step(trial) >= 1)
        running.kill()
    time.sleep(3)
    step = read_step(trial)
    time.sleep(3)
    assert read_step(trial) == step


@pytest.mark.extended
def test_two_commands_cannot_train_into_one_folder(trial: Trial) -> None:
    with start(trial) as running:
        wait_until(lambda: read_step(trial) >= 1)
        with pytest.raises(ProRubricError, match="out"):
            train_policies(TrainConfig(trial.path))
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == 130


def test_the_best_of_n_answers_are_kept_and_unknown_scores_never_win(trial: Trial, judge: CountingJudge) -> None:
    samples = trial.folder / "samples.jsonl"
    texts = {"t1": ["bad", "good one", "good two"], "t2": ["bad"], "t3": ["bad", "worse", "worst", "good but fourth"]}
    texts["elsewhere"] = ["good"]
    save_responses(
        samples, [Response(task_id=t, text=text, sample=k) for t, row in texts.items() for k, text in enumerate(row)]
    )
    best = {"samples": str(samples), "n": 3}
    (run,) = trial.train(method="best-of-n", best_of=best, held_out=0).runs
    assert (run.state, run.chosen, run.left_out, run.unknown) == ("done", 3, 0, 0)
    assert run.not_judged == {"more than 3 to its prompt": 1, "to a prompt that is not trained on": 1}
    kept = {found.task_id: found.text for found in load_responses(trial.out / run.name / "best.jsonl")}
    assert kept == {"t1": "good one", "t2": "bad", "t3": "bad"}
    assert judge.calls.total() == plan_training(trial.path).calls == 7


@pytest.fixture
def verl(trial: Trial) -> Trial:
    python = Path(trial.recipe["python"])
    python.write_text(python.read_text().replace("stand_in.py", "stand_in_verl.py"))
    trial.recipe |= {"trainer": "verl", "model": "Qwen/Qwen3-4B"}
    return trial


def test_verl_s_dumps_are_judged_like_any_other_answers(verl: Trial) -> None:
    verl.script["answers"] = ["bad", "good"]
    (run,) = verl.train().runs
    assert (run.state, [found.appropriateness for found in run.validations]) == ("done", [0.0, 1.0, 1.0, 1.0, 1.0])
    assert (verl.out / run.name / "rows.parquet").is_file()


@pytest.mark.extended
def test_verl_is_ended_by_a_rule_although_it_knows_no_stop_file(verl: Trial) -> None:
    verl.script |= {"answers": ["good", "bad"], "seconds": 2.0}
    (run,) = verl.train(stop={"fall": 0.1, "after": 2}, rollouts=100).runs
    assert (run.state, run.reason[:25]) == ("stopped", "appropriateness fell from")
    assert len(run.validations) < 100


def test_what_verl_cannot_train_is_refused_before_anything_is_written(verl: Trial) -> None:
    with pytest.raises(ConfigError, match="use TRL for this method: trainer: trl"):
        verl.train(method="opsd", prompts=2, mini_batch=1)
    assert not (verl.out / "plan.json").exists()
