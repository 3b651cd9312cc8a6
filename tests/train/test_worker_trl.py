"""Training with the real TRL in processes that are killed, stopped and resumed, on a tiny policy."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from prorubric import SAMPLE_TASKS, load_tasks
from prorubric.datasets.load import load_responses
from prorubric.files.read import read_rows
from prorubric.reward.monitor import load_steps
from prorubric.train.methods import METHODS
from prorubric.train.run_folder import read_state
from prorubric.train.scaffold import scaffold_counts
from tests.patience import PATIENCE
from tests.reward.serving import HELD, JudgeAt, wait_until
from tests.train.running import ROOT, find_python, list_variables, run_in, trainers
from tests.train.training import write_run

pytestmark = trainers

TASKS = list(load_tasks(SAMPLE_TASKS))
GRPO = "prorubric-seed-42"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("runs")
    return folder, run_in("trl", "trl_worker.py", folder, seconds=20 * PATIENCE)


def list_written(run: Path, last: str) -> dict[str, bytes]:
    """What has to be the same however often a run was interrupted."""
    patterns = ("steps.jsonl", "rollouts/*", "validation/*/answers.jsonl", f"checkpoints/{last}/model.safetensors")
    return {str(path.relative_to(run)): path.read_bytes() for pattern in patterns for path in run.glob(pattern)}


def test_a_run_writes_the_files_that_are_documented(runs: tuple[Path, dict[str, Any]]) -> None:
    folder, codes = runs
    run = folder / "whole" / GRPO
    assert codes["whole"] == 0
    assert json.loads((run / "state.json").read_text()) == {"state": "done", "step": 6, "reason": ""}
    assert sorted(list_written(run, "checkpoint-12")) == [
        "checkpoints/checkpoint-12/model.safetensors",
        *(f"rollouts/step-000{rollout}.jsonl.zst" for rollout in range(1, 7)),
        "steps.jsonl",
        *(f"validation/step-000{rollout}/answers.jsonl" for rollout in (0, 2, 4, 6)),
    ]
    assert sorted(path.name for path in (run / "checkpoints").glob("checkpoint-*")) == [
        "checkpoint-12",
        "checkpoint-4",
        "checkpoint-8",
    ]
    weights = [(run / f"checkpoints/checkpoint-{update}/model.safetensors").read_bytes() for update in (4, 8, 12)]
    weights.append((folder / "whole/policies/tiny/model.safetensors").read_bytes())
    assert len(set(weights)) == 4


def test_a_step_is_a_rollout_and_its_responses_are_those_of_its_rows(runs: tuple[Path, dict[str, Any]]) -> None:
    run = runs[0] / "whole" / GRPO
    steps = load_steps(run / "steps.jsonl")
    assert [(step.step, step.responses, step.groups) for step in steps] == [(number, 8, 2) for number in range(1, 7)]
    # Every third response is judged for the shadow, and the judge is silent now and then.
    known = [step.shadow_known["additive"] for step in steps]
    assert all(0 < found <= due for found, due in zip(known, (3, 3, 2, 3, 3, 2), strict=True))
    planned = [row.value["task_id"] for row in read_rows(run / "rows.jsonl") if row.value]
    for step in steps:
        rows = [row.value for row in read_rows(run / f"rollouts/step-000{step.step}.jsonl.zst") if row.value]
        places = [(place, response) for place in range(2) for response in range(4)]
        assert [(row["place"], row["response"]) for row in rows] == places
        due = planned[2 * step.step - 2 : 2 * step.step]
        assert [row["task_id"] for row in rows] == [task_id for task_id in due for _ in range(4)]
        known = [row["reward"] for row in rows if row["reward"] is not None]
        assert len(rows) - len(known) == step.unknown
        assert sum(known) / len(known) == pytest.approx(step.reward)
        assert all(row["text"] and 1 <= row["tokens"] <= 16 and row["verdicts"] for row in rows)


def test_held_out_prompts_are_answered_at_step_0_at_every_checkpoint_and_at_the_end(
    runs: tuple[Path, dict[str, Any]],
) -> None:
    run = runs[0] / "whole" / GRPO
    texts = {}
    for step in (0, 2, 4, 6):
        answers = list(load_responses(run / f"validation/step-000{step}/answers.jsonl"))
        assert [answer.task_id for answer in answers] == [task.id for task in TASKS[5:8]]
        assert all(answer.sample == 0 and 1 <= (answer.tokens or 0) <= 16 for answer in answers)
        texts[step] = [answer.text for answer in answers]
    assert texts[0] != texts[6]


def test_a_run_that_is_killed_five_times_ends_as_one_that_was_not(runs: tuple[Path, dict[str, Any]]) -> None:
    folder, codes = runs
    assert codes["killed"] == [-9] * 5 + [0]
    whole, killed = (list_written(folder / name / GRPO, "checkpoint-12") for name in ("whole", "killed"))
    assert killed.keys() == whole.keys()
    assert [name for name in whole if whole[name] != killed[name]] == []


def test_no_reply_is_paid_for_twice(runs: tuple[Path, dict[str, Any]]) -> None:
    whole, killed = ((runs[0] / name / GRPO / "judged.txt").read_text().split() for name in ("whole", "killed"))
    assert len(whole) > 48
    assert sorted(killed) == sorted(whole)


def test_a_stop_file_ends_a_run_after_its_rollout_with_a_checkpoint(runs: tuple[Path, dict[str, Any]]) -> None:
    folder, codes = runs
    run = folder / "stopped" / GRPO
    assert (codes["stopped"], codes["resumed"], codes["again"]) == (0, 0, 0)
    said = json.loads((run / "state-then.json").read_text())
    assert said == {"state": "stopped", "step": 1, "reason": "the budget is used up"}
    assert (run / "checkpoints/checkpoint-2/rollout.json").exists()
    assert list_written(run, "checkpoint-12") == list_written(folder / "whole" / GRPO, "checkpoint-12")


def test_a_reference_policy_is_loaded_for_kl_and_only_the_last_checkpoint_kept(
    runs: tuple[Path, dict[str, Any]],
) -> None:
    folder, codes = runs
    run = folder / "kl/rubric-rl-kl-0.04-seed-42"
    assert codes["kl"] == 0
    assert [path.name for path in (run / "checkpoints").glob("checkpoint-*")] == ["checkpoint-8"]
    state = json.loads((run / "checkpoints/checkpoint-8/trainer_state.json").read_text())
    assert any(log.get("kl", 0) > 0 for log in state["log_history"])
    assert not (run / "validation").exists()


def test_an_alarm_ends_a_run_if_the_recipe_says_so(runs: tuple[Path, dict[str, Any]]) -> None:
    folder, codes = runs
    assert codes["alarm"] == 0
    state = read_state(folder / "alarm" / GRPO)
    assert (state.state, 20 <= state.step < 40) == ("stopped", True)
    assert "the score has risen by" in state.reason


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("long", "task 'medicine-infant-fever': the prompt has "),
        ("own", "set.trl: GRPOConfig has no field 'learning_rat'; did you mean learning_rate?"),
        ("no-model", "the policy "),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_line(runs: tuple[Path, dict[str, Any]], name: str, said: str) -> None:
    folder, codes = runs
    run = folder / name / GRPO
    assert codes[name] == 2
    state = read_state(run)
    assert (state.state, state.step) == ("failed", 0)
    assert state.reason.startswith(said)
    assert (run / "log.txt").read_text().splitlines()[-1] == state.reason
    assert "Traceback" not in (run / "log.txt").read_text()
    assert not (run / "judged.txt").exists()


def test_too_long_prompts_are_counted(runs: tuple[Path, dict[str, Any]]) -> None:
    reason = read_state(runs[0] / "long" / GRPO).reason
    assert reason.endswith("prompt_limit is 80, and 4 more are too long; leave these tasks out or raise prompt_limit")


def test_scaffolds_are_shown_in_training_and_counted(runs: tuple[Path, dict[str, Any]]) -> None:
    folder, codes = runs
    run = folder / "ruscarl/ruscarl-original-seed-42"
    assert codes["ruscarl"] == 0
    tasks = {task.id: task for task in TASKS}
    scaffold = METHODS["ruscarl-original"].scaffold
    assert scaffold
    for step in range(1, 5):
        rows = [row.value for row in read_rows(run / f"rollouts/step-000{step}.jsonl.zst") if row.value]
        sizes = [len(tasks[row["task_id"]].rubric.criteria) for row in rows]
        expected = [scaffold_counts(size, 4, step, 4, scaffold)[place % 4] for place, size in enumerate(sizes)]
        assert [row["scaffold"] for row in rows] == expected
        assert (max(expected) > 0) is (step == 1)


def test_self_distillation_needs_no_judge_and_its_loss_falls(runs: tuple[Path, dict[str, Any]]) -> None:
    folder, codes = runs
    run = folder / "opsd/opsd-seed-42"
    assert codes["opsd"] == 0
    steps = [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]
    assert [step["step"] for step in steps] == [1, 2, 3, 4]
    assert 0 < steps[-1]["loss"] < steps[0]["loss"]
    assert not (folder / "opsd/journal.sqlite").exists()


def test_self_distillation_that_is_killed_ends_as_one_that_was_not(runs: tuple[Path, dict[str, Any]]) -> None:
    folder, codes = runs
    assert codes["opsd killed"] == [-9, 0]
    whole, killed = (list_written(folder / name / "opsd-seed-42", "checkpoint-8") for name in ("opsd", "opsd-killed"))
    assert len(whole) == 5
    assert killed == whole


def test_sft_trains_on_the_answers_that_fit_in_whole_batches(runs: tuple[Path, dict[str, Any]]) -> None:
    folder, codes = runs
    run = folder / "sft/sft-seed-42"
    assert codes["sft"] == 0
    assert json.loads((run / "state.json").read_text())["step"] == 8
    steps = [json.loads(line) for line in (run / "steps.jsonl").read_text().splitlines()]
    assert [step["step"] for step in steps] == list(range(1, 9))
    assert steps[-1]["loss"] < steps[0]["loss"]
    left_out = [row.value for row in read_rows(run / "left-out.jsonl") if row.value]
    assert [(row["task_id"], row["sample"]) for row in left_out] == [(TASKS[0].id, 0), (TASKS[5].id, 0)]
    assert left_out[0]["reason"].endswith("tokens, and row_limit is 1,000")
    assert left_out[1]["reason"] == "its task is not among the training tasks"
    assert [path.parent.name for path in sorted(run.glob("validation/*/answers.jsonl"))] == [
        "step-0000",
        "step-0003",
        "step-0006",
        "step-0008",
    ]


def test_sft_that_is_killed_ends_as_one_that_was_not(runs: tuple[Path, dict[str, Any]]) -> None:
    folder, codes = runs
    assert codes["sft killed"] == [-9, 0]
    whole, killed = (list_written(folder / name / "sft-seed-42", "checkpoint-8") for name in ("sft", "sft-killed"))
    assert len(whole) == 6
    assert killed == whole


def test_sft_teaches_the_answer_and_its_end_and_nothing_else(runs: tuple[Path, dict[str, Any]]) -> None:
    folder, codes = runs
    assert codes["labels"] == 0
    shown = json.loads((folder / "labels/sft-seed-42/labels.json").read_text())
    assert shown["rows"] == 16
    for sequence, learned in shown["said"]:
        assert learned.startswith("Answer ")
        assert learned.endswith(" to it. Go now.<|im_end|>")
        prompt = sequence.partition(learned)[0]
        # The policy is never asked to think, so its prompt has the empty block, as in every other method.
        assert prompt.endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")
        assert sequence.count(learned) == 1


def test_a_judge_that_dies_ends_the_run_in_one_line_and_the_same_command_finishes_it(tmp_path: Path) -> None:
    http = {"concurrency": 4, "retries": 0}
    with JudgeAt(0) as judge:
        run = write_run(tmp_path, "prorubric", TASKS[:5], judge=judge.spec, http=http, every=1)
        judge.script(*["judge"] * 16)
        judge.always = HELD
        command = [str(find_python("trl")), "-m", "prorubric.train.worker_trl", str(run)]
        with (tmp_path / "out.txt").open("wb") as out:
            child = subprocess.Popen(command, cwd=ROOT, env=list_variables(), stdout=out, stderr=out)
        wait_until(lambda: judge.calls > 16, 10 * PATIENCE)
        port = judge.port
    assert child.wait(PATIENCE) == 2
    state = read_state(run)
    assert (state.state, state.step) == ("failed", 2)
    said = (tmp_path / "out.txt").read_text()
    assert said.splitlines()[-1] == state.reason
    assert f"127.0.0.1:{port}" in state.reason
    assert "Traceback" not in said
    assert (run / "checkpoints/checkpoint-4/rollout.json").exists()
    with JudgeAt(port) as judge:
        done = subprocess.run(command, cwd=ROOT, env=list_variables(), capture_output=True, text=True, check=False)
        assert (done.returncode, judge.calls) == (0, 16)
    assert [step.step for step in load_steps(run / "steps.jsonl")] == [1, 2, 3, 4]
    assert read_state(run).state == "done"
