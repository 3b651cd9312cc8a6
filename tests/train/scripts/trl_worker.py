"""Trainings with TRL as `python -m prorubric.train.worker_trl` does them, some of them killed.

TRL takes long to import, so it is imported once and every training is a fork: a process that can be killed. The last
line has the exit codes; the rest is in the folders.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trl
from tests.train.scripts.trl_methods import save_outspoken_policy
from tests.train.training import write_run

import datasets
from prorubric import SAMPLE_TASKS, Response, load_tasks
from prorubric.rubric.save import save_responses
from prorubric.train import worker_trl
from prorubric.train.policies import keep_policy
from prorubric.train.run_folder import RunFolder

TASKS = list(load_tasks(SAMPLE_TASKS))
LOADED = (trl.GRPOTrainer, trl.SFTTrainer, datasets.Dataset)
MOMENTS: tuple[tuple[str, int], ...] = (
    ("steps.jsonl", 1),  # before there is a checkpoint
    ("checkpoints/checkpoint-4", 0),  # while it is written
    ("rollouts/step-0003.jsonl.zst", 0),
    ("validation/step-0004/answers.jsonl", 0),  # before the checkpoint that belongs to it
    ("checkpoints/checkpoint-12", 0),
)
"""When a run of six rollouts is killed: once a file has so many lines."""


def start(folder: Path, work: Callable[[], int]) -> int:
    """Fork; the child's output goes to a file."""
    if child := os.fork():
        return child
    log = os.open(folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ["JUDGE_LOG"] = str(folder / "judged.txt")
    code = 1
    try:
        code = work()
    finally:
        sys.stdout.flush()
        os._exit(code)


def run(folder: Path) -> int:
    """Train to the end; gives the exit code."""
    child = start(folder, lambda: worker_trl.main([str(folder)]))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_at(folder: Path, name: str, lines: int) -> int:
    """Train until a file is there, then kill the training; gives how that ended."""
    child, watched = start(folder, lambda: worker_trl.main([str(folder)])), folder / name
    while not (watched.exists() and (not lines or watched.read_bytes().count(b"\n") >= lines)):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def write_grpo(folder: Path, method: str = "prorubric", **given: Any) -> Path:
    options = {"judge": "tests.train.scripts.trl_judges:LoggedJudge", "max_unknown": 1, **given}
    return write_run(folder, method, TASKS[:5], TASKS[5:8], **options)


def write_answers(folder: Path) -> Path:
    """Answers to three tasks, a longer one that does not fit, and one to a task that is held out."""
    folder.mkdir()
    texts = [f"Answer {number} to it. Go now." for number in range(9)]
    rows = [Response(task_id=TASKS[number % 3].id, text=text, sample=number) for number, text in enumerate(texts)]
    rows += [Response(task_id=TASKS[0].id, text="long " * 900), Response(task_id=TASKS[5].id, text="Held out.")]
    save_responses(folder / "answers.jsonl", rows)
    return folder / "answers.jsonl"


def write_sft(folder: Path, answers: Path, policy: str) -> Path:
    sft = {"data": str(answers), "batch": 2, "epochs": 2, "row_limit": 1000}
    return write_run(folder, "sft", TASKS[:5], TASKS[5:8], model=policy, sft=sft, rate=1e-2, every=3)


def save_thinking_policy(folder: Path) -> str:
    """The tiny policy with a template that writes an empty think block where Qwen3's does."""
    policy = Path(keep_policy("tiny", folder))
    template = policy / "chat_template.jinja"
    text = template.read_text()
    empty = "{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"
    template.write_text(text.replace("assistant\n{% endif %}", f"assistant\n{empty}{{% endif %}}"))
    return str(policy)


def show_labels(folder: Path) -> int:
    """Write what the first row of a run of `sft` teaches, and the texts of the sequence."""
    _, trainer = worker_trl._make_sft(worker_trl._Parts(RunFolder(folder).load_run(), RunFolder(folder)))
    batch = next(iter(trainer.get_train_dataloader()))
    tokenizer, said = trainer.processing_class, []
    for ids, labels in zip(batch["input_ids"], batch["labels"], strict=True):
        said.append([tokenizer.decode(ids), tokenizer.decode(labels[labels != -100])])
    (folder / "labels.json").write_text(json.dumps({"said": said, "rows": len(trainer.train_dataset)}))
    return 0


def main() -> None:
    folder = Path(sys.argv[1])
    codes: dict[str, Any] = {}
    six = {"rollouts": 6, "shadow": ["additive"], "shadow_every": 3}
    whole, killed, stopped = (write_grpo(folder / name, **six) for name in ("whole", "killed", "stopped"))
    codes["whole"] = run(whole)
    codes["killed"] = [*(kill_at(killed, *moment) for moment in MOMENTS), run(killed)]
    (stopped / "stop").write_text("the budget is used up\n")
    codes["stopped"] = run(stopped)
    (stopped / "state.json").rename(stopped / "state-then.json")
    codes["resumed"] = run(stopped)
    codes["again"] = run(stopped)
    codes["kl"] = run(write_grpo(folder / "kl", "rubric-rl-kl-0.04", validate=None, keep="last", every=1))
    gamed = {"judge": "tests.train.scripts.trl_judges:GamedJudge", "shadow": ["additive"], "stop": "alarm"}
    small = {"rollouts": 40, "prompts": 1, "responses": 2, "every": 50, "response_limit": 2, "validate": None}
    codes["alarm"] = run(write_grpo(folder / "alarm", **gamed, **small))
    codes["long"] = run(write_grpo(folder / "long", prompt_limit=80))
    codes["own"] = run(write_grpo(folder / "own", set={"trl": {"learning_rat": 1}}))
    codes["no-model"] = run(write_grpo(folder / "no-model", model=str(folder / "nowhere")))
    codes["ruscarl"] = run(write_grpo(folder / "ruscarl", "ruscarl-original"))
    opsd = {"judge": None, "responses": 1, "prompts": 4, "mini_batch": 2, "distillation": {"clip_mode": "none"}}
    opsd["model"] = str(save_outspoken_policy(folder / "outspoken"))
    whole, killed = (
        write_run(folder / name, "opsd", TASKS[:3], TASKS[5:7], **opsd) for name in ("opsd", "opsd-killed")
    )
    codes["opsd"] = run(whole)
    codes["opsd killed"] = [kill_at(killed, "steps.jsonl", 3), run(killed)]
    answers, policy = write_answers(folder / "answers"), save_thinking_policy(folder / "policy")
    sft, sft_killed = (write_sft(folder / name, answers, policy) for name in ("sft", "sft-killed"))
    codes["sft"] = run(sft)
    codes["sft killed"] = [kill_at(sft_killed, "steps.jsonl", 4), run(sft_killed)]
    labels = write_sft(folder / "labels", answers, policy)
    codes["labels"] = os.waitstatus_to_exitcode(os.waitpid(start(labels, lambda: show_labels(labels)), 0)[1])
    print(json.dumps(codes))  # noqa: T201 - the line that the test reads


if __name__ == "__main__":
    main()
