"""The folder of a run, and the process that trains in it, as far as they need no trainer."""

from pathlib import Path

import pytest

from prorubric import SAMPLE_TASKS, Response, load_tasks
from prorubric.errors import SourceError
from prorubric.files.read import read_rows
from prorubric.train import worker_trl
from prorubric.train.methods import METHODS, Sft
from prorubric.train.plan import count_steps
from prorubric.train.recipe import TrainRun
from prorubric.train.run_folder import Checkpoint, RunFolder, read_state
from prorubric.train.sft import make_rows, order_rows
from tests.train.training import write_run


def fill(path: Path, rollouts: int, every: int = 2) -> RunFolder:
    """A run of so many rollouts with a checkpoint now and then."""
    folder = RunFolder(path)
    for rollout in range(1, rollouts + 1):
        folder.save_rollout(rollout, [{"text": f"{rollout}"}])
        folder.add_step({"step": rollout})
        if rollout % every == 0:
            checkpoint = folder.checkpoints / f"checkpoint-{2 * rollout}"
            checkpoint.mkdir(parents=True)
            folder.seal_checkpoint(checkpoint, rollout, "all")
    return folder


def list_files(folder: RunFolder) -> list[str]:
    return sorted(str(path.relative_to(folder.path)) for path in folder.path.rglob("*") if path.is_file())


def test_what_is_newer_than_the_newest_complete_checkpoint_is_removed(tmp_path: Path) -> None:
    folder = fill(tmp_path, 5)
    (folder.checkpoints / "checkpoint-10").mkdir()
    with folder.steps.open("ab") as stream:
        stream.write(b'{"step": 6')
    assert folder.cut_back() == Checkpoint(folder.checkpoints / "checkpoint-8", 4)
    assert folder.steps.read_text() == "".join(f'{{"step":{step}}}\n' for step in range(1, 5))
    assert list_files(folder) == [
        "checkpoints/checkpoint-4/rollout.json",
        "checkpoints/checkpoint-8/rollout.json",
        *(f"rollouts/step-000{rollout}.jsonl.zst" for rollout in range(1, 5)),
        "steps.jsonl",
    ]
    assert not (folder.checkpoints / "checkpoint-10").exists()


def test_without_a_complete_checkpoint_a_run_starts_anew(tmp_path: Path) -> None:
    folder = fill(tmp_path, 3, every=9)
    (folder.checkpoints / "checkpoint-4").mkdir(parents=True)
    assert folder.cut_back() is None
    assert folder.steps.read_bytes() == b""
    assert list_files(folder) == ["steps.jsonl"]


@pytest.mark.parametrize(("keep", "left"), [("all", [2, 4, 6]), ("last", [6]), ((2,), [2, 6]), ((2, 4), [2, 4, 6])])
def test_older_checkpoints_go_when_a_newer_one_is_complete(tmp_path: Path, keep: object, left: list[int]) -> None:
    folder = fill(tmp_path, 5)
    (folder.checkpoints / "checkpoint-12").mkdir()
    assert [checkpoint.rollout for checkpoint in folder.find_checkpoints()] == [2, 4]
    folder.seal_checkpoint(folder.checkpoints / "checkpoint-12", 6, keep)  # type: ignore[arg-type]
    assert [checkpoint.rollout for checkpoint in folder.find_checkpoints()] == left
    assert len(list(folder.checkpoints.iterdir())) == len(left)


def test_a_rollout_is_read_back_as_it_was_kept(tmp_path: Path) -> None:
    RunFolder(tmp_path).save_rollout(12, [{"text": "Go.", "reward": None}, {"text": "", "reward": -0.5}])
    rows = [row.value for row in read_rows(tmp_path / "rollouts/step-0012.jsonl.zst")]
    assert rows == [{"text": "Go.", "reward": None}, {"text": "", "reward": -0.5}]


def test_a_run_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = write_run(tmp_path, "ruscarl", keep=[2, 4], stop="alarm", set={"trl": {"weight_decay": 0.2}})
    run = RunFolder(path).load_run()
    assert isinstance(run, TrainRun)
    assert (run.name, run.keep, run.stop_on_alarm, run.own) == ("ruscarl-seed-42", (2, 4), True, {"weight_decay": 0.2})
    assert run.settings.scaffold == METHODS["ruscarl"].scaffold
    assert run.reward
    assert run.reward.tasks == str(tmp_path / "tasks.jsonl")
    assert len(RunFolder(path).load_rows()) == 8


def test_a_folder_without_a_run_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SourceError, match=r"run\.json: not a run \(.*No such file"):
        RunFolder(tmp_path).load_run()
    assert worker_trl.main([str(tmp_path)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert read_state(tmp_path).reason == said[0]
    assert worker_trl.main([]) == 2


def test_a_run_that_is_done_is_not_trained_again(tmp_path: Path) -> None:
    path = write_run(tmp_path, "prorubric")
    RunFolder(path).save_state("done", 4)
    before = list_files(RunFolder(path))
    assert worker_trl.main([str(path)]) == 0
    assert list_files(RunFolder(path)) == before


def test_without_trl_a_training_says_how_to_install_it(tmp_path: Path) -> None:
    path = write_run(tmp_path, "prorubric")
    assert worker_trl.main([str(path)]) == 2
    assert "pip install '.[trl]'" in read_state(path).reason


def test_the_rows_of_the_paper_give_408_steps_an_epoch() -> None:
    settings = METHODS["sft"]
    assert settings.sft
    order = order_rows(26_162, settings.sft, 42)
    assert len(order) == 408 * 64 * 3
    assert len(order) // settings.sft.batch == count_steps(settings, 26_162) == 1_224
    epochs = [order[start : start + 26_112] for start in range(0, len(order), 26_112)]
    assert [len(set(epoch)) for epoch in epochs] == [26_112] * 3
    assert epochs[0] != epochs[1]


def test_the_order_of_rows_depends_on_the_seed_only() -> None:
    sft = Sft(batch=2, epochs=2)
    assert order_rows(5, sft, 42) == order_rows(5, sft, 42)
    assert order_rows(5, sft, 42) != order_rows(5, sft, 43)
    assert sorted({*order_rows(4, sft, 1)}) == [0, 1, 2, 3]


class Letters:
    """A tokenizer with one token for each character."""

    eos_token_id = 0

    def __call__(self, text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        assert not add_special_tokens
        return {"input_ids": [*map(ord, text)]}

    def apply_chat_template(self, messages: list[dict[str, str]], **options: object) -> dict[str, list[int]]:
        assert options["add_generation_prompt"]
        assert options["enable_thinking"] is False
        return self("".join(message["content"] for message in messages), add_special_tokens=False)


def test_a_row_is_learned_from_the_answer_on_and_left_out_if_it_is_too_long() -> None:
    task = next(iter(load_tasks(SAMPLE_TASKS)))
    prompt = [*map(ord, "".join(message.content for message in task.messages))]
    answers = [
        Response(task_id=task.id, text="Go."),
        Response(task_id=task.id, text="Go!!", sample=1),
        Response(task_id="another", text="Go."),
    ]
    limit = len(prompt) + 4
    made = make_rows(answers, {task.id: task}, Letters(), limit)
    mask = [0] * len(prompt) + [1] * 4
    assert made.rows == [{"input_ids": [*prompt, *map(ord, "Go."), 0], "completion_mask": mask}]
    assert made.left_out == [
        {
            "task_id": task.id,
            "sample": 1,
            "reason": f"{len(prompt) + 5:,} tokens, and row_limit is {len(prompt) + 4:,}",
        },
        {"task_id": "another", "sample": 0, "reason": "its task is not among the training tasks"},
    ]
