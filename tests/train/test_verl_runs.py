"""verl from a recipe: rows in their order, the command and its refusals, scaffolds, and the answers of a validation."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from prorubric import SAMPLE_TASKS, load_tasks
from prorubric.datasets.load import load_responses
from prorubric.errors import ConfigError
from prorubric.files.write import write_json
from prorubric.rubric.base import render_config
from prorubric.rubric.records import Response
from prorubric.rubric.save import save_responses, save_tasks
from prorubric.train.methods import METHODS
from prorubric.train.plan import lay_rows
from prorubric.train.recipe import TrainRun, list_runs, load_recipe
from prorubric.train.scaffold import scaffold_counts
from prorubric.train.verl_files import check_lengths, collect_answers, cut_back, write_inputs
from prorubric.train.verl_settings import render_verl_command
from tests.train.running import run_in, trainers

KWARGS = "+reward.custom_reward_function.reward_kwargs"
COMMANDS = ["prorubric", "prorubric-kl-0.01", "length-matched", "ruscarl", "ruscarl-original"]
"""`test_verl` has the others, whose settings are the same but for the scheme."""


def make_run(folder: Path, **fields: Any) -> TrainRun:
    """The only run of a recipe."""
    given = {
        "method": "prorubric",
        "model": "org/policy",
        "tasks": "tasks.jsonl",
        "judge": "lexical",
        "trainer": "verl",
    }
    path = folder / "recipe.yaml"
    path.write_text(json.dumps({**given, **fields}), encoding="utf-8")  # YAML reads JSON
    (run,) = list_runs(load_recipe(path))
    return run


def lay_out(folder: Path, run: TrainRun, with_rows: bool = True) -> Path:
    """The folder of a run as the verb leaves it to the trainer: two tasks are held out."""
    tasks, out = list(load_tasks(SAMPLE_TASKS)), folder / run.name
    out.mkdir()
    save_tasks(folder / "held-out.jsonl", tasks[:2])
    save_tasks(folder / "tasks.jsonl", tasks[2:])
    write_json(out / "run.json", render_config(run))
    rows = lay_rows([task.id for task in tasks[2:]], run.settings, run.seed) if with_rows else ()
    (out / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return out


def read_ids(out: Path) -> list[str]:
    return [json.loads(line)["task_id"] for line in (out / "rows.jsonl").read_text().splitlines()]


def as_settings(command: list[str]) -> dict[str, str]:
    return dict(line.split("=", 1) for line in command if "=" in line and not line.startswith("--"))


# The command


def test_the_command_of_a_run_has_its_files_validations_checkpoints_and_machines(tmp_path: Path) -> None:
    run = make_run(
        tmp_path, processes=8, nodes=2, keep="last", seeds=[43], validate={"every": 20, "temperature": 0.7}, rollouts=60
    )
    command = render_verl_command(run, tmp_path / "run", "python3")
    assert command[:3] == ["python3", "-m", "verl.trainer.main_ppo"]
    wanted = {
        "data.train_files": f"{tmp_path}/run/rows.parquet",
        "data.val_files": f"{tmp_path}/run/held-out.parquet",
        "data.shuffle": "False",
        "data.filter_overlong_prompts": "False",
        "trainer.total_training_steps": "60",
        "trainer.total_epochs": "1",
        "trainer.val_before_train": "True",
        "trainer.test_freq": "20",
        "trainer.save_freq": "50",
        "trainer.validation_data_dir": f"{tmp_path}/run/verl-validation",
        "trainer.default_local_dir": f"{tmp_path}/run/checkpoints",
        "trainer.resume_mode": "auto",
        "trainer.max_actor_ckpt_to_keep": "1",
        "trainer.n_gpus_per_node": "8",
        "trainer.nnodes": "2",
        "trainer.experiment_name": "prorubric-seed-43",
        "actor_rollout_ref.rollout.val_kwargs.temperature": "0.7",
        "actor_rollout_ref.rollout.val_kwargs.do_sample": "True",
        "actor_rollout_ref.actor.optim.weight_decay": "0.01",
        "actor_rollout_ref.actor.optim.lr_warmup_steps": "10",
        "actor_rollout_ref.actor.clip_ratio_c": "3.0",
        f"{KWARGS}.tasks": f"{tmp_path}/tasks.jsonl",
        f"{KWARGS}.journal": f"{tmp_path}/journal.sqlite",
        f"{KWARGS}.monitor.out": f"{tmp_path}/run/steps.jsonl",
        f"{KWARGS}.judge_validation": "False",
        f"{KWARGS}.keep_rollouts": "True",
    }
    settings = as_settings(command)
    assert {key: settings[key] for key in wanted} == wanted
    assert len(settings) == len(command) - 3  # every setting once


def test_without_a_validation_verl_is_told_to_make_none(tmp_path: Path) -> None:
    settings = as_settings(render_verl_command(make_run(tmp_path, validate=False), tmp_path / "run"))
    assert settings["trainer.val_before_train"] == "False"
    assert settings["trainer.test_freq"] == "-1"
    assert settings["data.val_files"] == settings["data.train_files"]


def test_settings_of_the_user_come_last_and_replace_ours(tmp_path: Path) -> None:
    own = {"trainer.save_freq": 5, "actor_rollout_ref": {"rollout": {"name": "sglang"}}, "+mine.x": [1, "a b"]}
    command = render_verl_command(make_run(tmp_path, set={"verl": own}), tmp_path / "run")
    assert command[-3:] == ["++trainer.save_freq=5", "++actor_rollout_ref.rollout.name=sglang", "+mine.x=[1,'a b']"]
    assert not {"trainer.save_freq", "actor_rollout_ref.rollout.name"} & as_settings(command).keys()


def test_no_dual_clip_is_one_that_never_clips_and_a_device_takes_as_many_responses_as_it_is_told(
    tmp_path: Path,
) -> None:
    settings = as_settings(render_verl_command(make_run(tmp_path, dual_clip=None, per_device=3), tmp_path / "run"))
    assert settings["actor_rollout_ref.actor.clip_ratio_c"] == "1000000000.0"
    assert settings["actor_rollout_ref.actor.ppo_max_token_len_per_gpu"] == str(3 * (4096 + 8192))


@pytest.mark.parametrize("name", ["ruscarl", "ruscarl-original"])
def test_only_runs_with_scaffolds_name_an_agent_loop(tmp_path: Path, name: str) -> None:
    key = "actor_rollout_ref.rollout.agent.agent_loop_config_path"
    assert as_settings(render_verl_command(make_run(tmp_path, method=name), tmp_path / "run"))[key] == (
        f"{tmp_path}/run/agent-loops.yaml"
    )
    assert key not in as_settings(render_verl_command(make_run(tmp_path), tmp_path / "run"))


def test_sft_is_a_command_of_torchrun(tmp_path: Path) -> None:
    run = make_run(
        tmp_path, method="sft", sft={"data": "best.jsonl", "schedule": "cosine"}, validate=False, processes=4
    )
    command = render_verl_command(run, tmp_path / "run", "python3")
    assert command[:7] == [
        *("python3", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=4"),
        *("-m", "verl.trainer.sft_trainer"),
    ]
    assert as_settings(command) == {
        "data.train_files": f"{tmp_path}/run/rows.parquet",
        "data.messages_key": "messages",
        "data.custom_cls.path": "pkg://prorubric.train.verl_sft",
        "data.custom_cls.name": "AnswerDataset",
        "data.train_batch_size": "64",
        "data.max_length": "20000",
        "data.truncation": "error",
        "data.max_token_len_per_gpu": "20000",
        "model.path": "org/policy",
        "optim.lr": "1e-05",
        "optim.lr_warmup_steps_ratio": "0.05",
        "optim.lr_scheduler_type": "cosine",
        "optim.weight_decay": "0.1",
        "trainer.total_epochs": "3",
        "trainer.save_freq": "50",
        "trainer.default_local_dir": f"{tmp_path}/run/checkpoints",
        "trainer.resume_mode": "auto",
        "trainer.max_ckpt_to_keep": "null",
        "trainer.n_gpus_per_node": "4",
        "trainer.nnodes": "1",
        "trainer.seed": "42",
        "trainer.project_name": "prorubric",
        "trainer.experiment_name": "sft-seed-42",
        "trainer.logger": "[console]",
        "hydra.run.dir": f"{tmp_path}/run",
        "hydra.output_subdir": "null",
    }


SFT = {"method": "sft", "sft": {"data": "best.jsonl"}, "validate": False}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"method": "opsd"},
            "opsd-seed-42: verl's teacher sees the policy's prompt but not the rubric; "
            "use TRL for this method: trainer: trl",
        ),
        ({"method": "best-of-n"}, "best-of-n-seed-42: best-of-n does not train; it needs no trainer"),
        (
            {"model": "tiny"},
            "prorubric-seed-42: verl cannot load the policy tiny; "
            "give a name on the Hugging Face hub or a folder, or use TRL: trainer: trl",
        ),
        (
            {**SFT, "validate": {"limit": 3}},
            "sft-seed-42: verl's SFT trainer does not sample answers to validate; "
            "set validate: no, or use TRL: trainer: trl",
        ),
        (
            {**SFT, "sft": {"schedule": "linear"}},
            "sft-seed-42: verl has no schedule linear; choose constant or cosine, or use TRL: trainer: trl",
        ),
        (
            {**SFT, "processes": 3},
            "sft-seed-42: 64 rows do not divide among 3 processes; choose another sft.batch, processes or nodes",
        ),
    ],
    ids=["opsd", "best of n", "policy", "validation", "schedule", "processes"],
)
def test_what_verl_cannot_do_is_refused_in_one_line(tmp_path: Path, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        render_verl_command(make_run(tmp_path, **fields), tmp_path / "run")
    assert str(refused.value) == said


# In verl


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What verl makes of runs whose policy is a tokenizer."""
    folder = tmp_path_factory.mktemp("runs")
    small: dict[str, Any] = {"rollouts": 300, "prompts": 4, "mini_batch": 4}
    recipes: dict[str, dict[str, Any]] = {
        **{name: {"method": name, **(small if METHODS[name].scaffold else {})} for name in COMMANDS},
        "rows": {"rollouts": 3, "validate": {"every": 2}, "set": {"verl": {"trainer": {"save_freq": 7}}}},
        "small": {"method": "rubric-rl", "rollouts": 2, "prompts": 2, "mini_batch": 2, "responses": 2},
        "sft": {"method": "sft", "validate": False},
    }
    for name, fields in recipes.items():
        (folder / name).mkdir()
        more = {"sft": {"data": str(folder / name / "best.jsonl"), "row_limit": 300}} if name == "sft" else {}
        run = make_run(folder / name, **{"model": str(folder / "policy"), **fields, **more})
        if name == "sft":
            write_answers(folder / name, run)
        else:
            lay_out(folder / name, run, with_rows=len(fields) > 1)
    return {**run_in("verl", "verl_runs.py", folder), "folder": folder}


@trainers
@pytest.mark.parametrize("name", COMMANDS)
def test_verl_accepts_the_command_of_a_method(told: dict[str, Any], name: str) -> None:
    found, method = told["configs"][name], METHODS[name]
    assert found["passed"] == "[validate_config] All configuration checks passed successfully!"
    assert found["reward"]["scheme"] == method.scheme
    assert found["steps"] == [300, 50]


@trainers
def test_verl_reads_the_rows_in_their_order_and_goes_on_with_the_right_ones(told: dict[str, Any]) -> None:
    (out,) = (told["folder"] / "rows").glob("*/")
    wanted = read_ids(out)
    assert [name for batch in told["rows"]["ids"] for name in batch] == wanted
    assert [len(batch) for batch in told["rows"]["ids"]] == [64] * 3
    assert len(set(wanted)) == 10  # each prompt comes back many times
    assert told["rows"]["resumed"] == told["rows"]["ids"][2:]


def count_items(text: str) -> int:
    return sum(line.startswith("- ") and line.endswith((" point)", " points)")) for line in text.splitlines())


@trainers
@pytest.mark.parametrize("name", ["ruscarl", "ruscarl-original"])
def test_the_agent_loop_shows_as_many_criteria_as_the_formula_says(told: dict[str, Any], name: str) -> None:
    found = told["scaffolds"][name]
    tasks = {task.id: task for task in load_tasks(SAMPLE_TASKS)}
    criteria = len(tasks[found["task"]].rubric.criteria)
    for step in (1, 60, 75):
        counts = scaffold_counts(criteria, 8, step, 300)
        assert [count_items(one["shown"]) for one in found[str(step)]] == counts
        assert [one["answer"] for one in found[str(step)]] == [[40, 41, 2]] * 8
    assert sum(scaffold_counts(criteria, 8, 1, 300)) > 20


@trainers
def test_the_ids_in_the_loss_are_those_of_the_prompt_that_is_trained_on(told: dict[str, Any]) -> None:
    paper, original = told["scaffolds"]["ruscarl"], told["scaffolds"]["ruscarl-original"]
    assert all(one["same"] for one in paper["1"])
    assert {one["trained"] for one in original["1"]} == {original["plain"]["train"]}
    assert [one["same"] for one in original["1"]] == [False] * 7 + [True]
    assert paper["1"][0]["shown"].startswith("<|im_start|>user\n")
    assert original["1"][0]["shown"].startswith("<|im_start|>system\n")


@trainers
@pytest.mark.parametrize("name", ["ruscarl", "ruscarl-original"])
def test_validation_has_no_scaffold(told: dict[str, Any], name: str) -> None:
    (one,) = told["scaffolds"][name]["validation"]
    assert one["shown"] == one["trained"] == told["scaffolds"][name]["plain"]["validation"]


@trainers
def test_no_judge_is_asked_about_the_answers_of_a_validation(told: dict[str, Any]) -> None:
    assert told["rewards"]["validation"]["score"] == "nan"
    assert told["rewards"]["validation"]["tokens"] > 2
    assert told["rewards"]["steps"] == [1]


@trainers
def test_the_responses_of_a_step_are_kept_in_their_places(told: dict[str, Any]) -> None:
    (out,) = (told["folder"] / "small").glob("*/")
    kept, ids = told["rewards"]["kept"], read_ids(out)
    assert [(row["task_id"], row["place"], row["response"], row["text"], row["scaffold"]) for row in kept] == [
        (ids[place], place, number, f"Answer {number}.", 3) for place in (0, 1) for number in (0, 1)
    ]
    assert sorted(row["reward"] for row in kept) == sorted(told["rewards"]["scores"])
    assert all(row["verdicts"]["criteria"] for row in kept)


@trainers
def test_only_the_answer_is_learned_and_it_has_no_thoughts(told: dict[str, Any]) -> None:
    (out,) = (told["folder"] / "sft").glob("*/")
    chats = pq.read_table(out / "rows.parquet")["messages"].to_pylist()
    found = told["sft"]["rows"]
    texts = [
        "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in chat[:-1])
        + f"<|im_start|>assistant\n{chat[-1]['content']}<|im_end|>"
        for chat in chats
    ]
    assert [row["text"] for row in found] == [text for text in texts if text in {row["text"] for row in found}]
    assert 4 < len(found) < len(chats)  # longer rows are left out
    answers = {chat[-1]["content"] + "<|im_end|>" for chat in chats}
    assert {row["learned"] for row in found} <= answers
    assert all(row["positions"] for row in found)
    assert told["sft"]["nested"] == [True, 2]


@trainers
def test_the_rows_of_the_paper_make_1224_updates_on_one_card_and_on_eight(told: dict[str, Any]) -> None:
    assert told["sft"]["steps"] == [1224, 1224]
    assert told["sft"]["optim"] == [1e-5, 0.05, 0.1]


# Files


def test_rows_are_written_in_their_order_with_their_split_and_number(tmp_path: Path) -> None:
    run = make_run(tmp_path, rollouts=3, prompts=8, mini_batch=4)
    out = lay_out(tmp_path, run)
    write_inputs(run, out)
    rows = pq.read_table(out / "rows.parquet").to_pylist()
    assert [row["extra_info"]["id"] for row in rows] == read_ids(out)
    assert len(rows) == 24
    assert [(row["extra_info"]["split"], row["extra_info"]["index"]) for row in rows[-2:]] == [
        ("train", 22),
        ("train", 23),
    ]
    assert "agent_name" not in rows[0]
    held_out = pq.read_table(out / "held-out.parquet").to_pylist()
    assert [(row["extra_info"]["id"], row["extra_info"]["split"]) for row in held_out] == [
        (task.id, "test") for task in list(load_tasks(SAMPLE_TASKS))[:2]
    ]
    assert not (out / "agent-loops.yaml").exists()


def test_only_rows_to_train_on_name_the_loop_that_shows_scaffolds(tmp_path: Path) -> None:
    run = make_run(tmp_path, method="ruscarl", rollouts=2, prompts=4, mini_batch=4)
    out = lay_out(tmp_path, run)
    write_inputs(run, out)
    assert pq.read_table(out / "rows.parquet")["agent_name"].to_pylist() == ["prorubric_scaffold"] * 8
    assert "agent_name" not in pq.read_schema(out / "held-out.parquet").names
    assert json.loads((out / "agent-loops.yaml").read_text()) == [
        {
            "name": "prorubric_scaffold",
            "_target_": "prorubric.train.verl_scaffold.ScaffoldLoop",
            "folder": str(out),
        }
    ]


def write_answers(folder: Path, run: TrainRun) -> Path:
    """Two answers to every task, and one to a task that nobody knows."""
    out = lay_out(folder, run)
    answers = [
        Response(task_id=name, text=f"{name} {n}", sample=n) for name in dict.fromkeys(read_ids(out)) for n in (0, 1)
    ]
    save_responses(folder / "best.jsonl", [*answers, Response(task_id="nobody's", text="no")])
    write_inputs(run, out)
    return out


def test_answers_for_sft_are_conversations_in_an_order_of_the_seed(tmp_path: Path) -> None:
    orders = []
    for seed in (42, 43):
        folder = tmp_path / str(seed)
        folder.mkdir()
        sft = {"data": str(folder / "best.jsonl")}
        out = write_answers(folder, make_run(folder, method="sft", sft=sft, validate=False, seeds=[seed]))
        rows = pq.read_table(out / "rows.parquet")["messages"].to_pylist()
        orders.append([row[-1]["content"] for row in rows])
        tasks = {task.id: task for task in load_tasks(folder / "tasks.jsonl")}
        for row in rows:
            task = tasks[row[-1]["content"].split()[0]]
            assert row[:-1] == [message.model_dump() for message in task.messages]
            assert row[-1]["role"] == "assistant"
    assert len(orders[0]) == 20
    assert sorted(orders[0]) == sorted(orders[1])
    assert orders[0] != orders[1]


def test_answers_to_other_tasks_are_refused(tmp_path: Path) -> None:
    run = make_run(tmp_path, method="sft", sft={"data": str(tmp_path / "best.jsonl")}, validate=False)
    out = lay_out(tmp_path, run)
    save_responses(tmp_path / "best.jsonl", [Response(task_id="nobody's", text="no")])
    with pytest.raises(Exception, match="no answer belongs to any of the tasks; check that the ids are the same"):
        write_inputs(run, out)


class Words:
    """A tokenizer whose tokens are words."""

    def apply_chat_template(self, messages: list[Mapping[str, str]], **_: Any) -> str:
        return " ".join(message["content"] for message in messages)

    def __call__(self, text: str, **_: Any) -> dict[str, list[str]]:
        return {"input_ids": text.split()}


def test_prompts_above_the_limit_are_refused_with_the_first_and_their_number(tmp_path: Path) -> None:
    run = make_run(tmp_path, rollouts=2, prompts=10, mini_batch=10, prompt_limit=140)
    out = lay_out(tmp_path, run)
    sizes = {
        task.id: sum(len(message.content.split()) for message in task.messages)
        for name in ("tasks.jsonl", "held-out.jsonl")
        for task in load_tasks(tmp_path / name)
    }
    long = [(name, size) for name, size in sizes.items() if size > 140]
    assert 1 < len(long) < 12
    with pytest.raises(ConfigError) as refused:
        check_lengths(run, out, Words())
    assert str(refused.value) == (
        f"prorubric-seed-42: {len(long)} prompts of more than 140 tokens, the first is {long[0][0]} with {long[0][1]}; "
        "leave these tasks out, or raise prompt_limit"
    )
    check_lengths(
        make_run(tmp_path, rollouts=2, prompts=10, mini_batch=10, prompt_limit=max(sizes.values())), out, Words()
    )


def test_a_prompt_has_to_fit_with_its_whole_scaffold(tmp_path: Path) -> None:
    fields: dict[str, Any] = {"rollouts": 2, "prompts": 10, "mini_batch": 10, "prompt_limit": 260, "validate": False}
    plain = make_run(tmp_path, **fields)
    out = lay_out(tmp_path, plain)
    check_lengths(plain, out, Words())
    with pytest.raises(ConfigError, match="10 prompts of more than 260 tokens"):
        check_lengths(make_run(tmp_path, method="ruscarl", **fields), out, Words())


def test_a_resumed_run_keeps_the_records_up_to_its_newest_checkpoint(tmp_path: Path) -> None:
    steps = tmp_path / "steps.jsonl"
    assert cut_back(tmp_path) == 0
    lines = [json.dumps({"step": step}) + "\n" for step in (1, 2, 3, 4)]
    steps.write_text("".join(lines) + '{"step": 5')
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "rollouts").mkdir()
    for step in (3, 4):
        (tmp_path / f"rollouts/step-{step:04d}.jsonl.zst").touch()
    (tmp_path / "checkpoints/latest_checkpointed_iteration.txt").write_text("3")
    assert cut_back(tmp_path) == 3
    assert steps.read_text() == "".join(lines[:3])
    assert [path.name for path in (tmp_path / "rollouts").iterdir()] == ["step-0003.jsonl.zst"]


# Validation


def write_dump(out: Path, step: int, answers: Mapping[str, str], end: str = "\n") -> None:
    (out / "verl-validation").mkdir(exist_ok=True)
    rows = [
        {"input": "…", "output": text, "gts": name, "score": float("nan"), "step": step, "tokens": len(text.split())}
        for name, text in answers.items()
    ]
    path = out / "verl-validation" / f"{step}.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + end, encoding="utf-8")


def test_verls_files_become_answers_once_and_only_of_the_validations_of_the_recipe(tmp_path: Path) -> None:
    run = make_run(tmp_path, rollouts=5, prompts=4, mini_batch=4, validate={"every": 2})
    out = lay_out(tmp_path, run)
    first, second = (task.id for task in load_tasks(tmp_path / "held-out.jsonl"))
    for step in (0, 2, 3, 5):  # after a resume from rollout 3 verl validates there too
        write_dump(out, step, {second: f"two {step}", first: f"one more {step}"})
    assert collect_answers(run, out) == [0, 2, 5]
    answers = list(load_responses(out / "validation/step-0002/answers.jsonl"))
    assert [(one.task_id, one.text, one.sample, one.tokens) for one in answers] == [
        (first, "one more 2", 0, 3),
        (second, "two 2", 0, 2),
    ]
    write_dump(out, 2, {second: "other", first: "other"})
    assert collect_answers(run, out) == []
    assert "other" not in (out / "validation/step-0002/answers.jsonl").read_text()


def test_a_file_that_verl_is_still_writing_is_left_for_later_until_the_run_ends(tmp_path: Path) -> None:
    run = make_run(tmp_path, rollouts=4, prompts=4, mini_batch=4, validate={"every": 2})
    out = lay_out(tmp_path, run)
    first, second = (task.id for task in load_tasks(tmp_path / "held-out.jsonl"))
    write_dump(out, 0, {second: "two", first: "half"}, end="")
    assert collect_answers(run, out) == []
    assert collect_answers(run, out, ended=True) == [0]
    (answer,) = load_responses(out / "validation/step-0000/answers.jsonl")
    assert answer.task_id == second


def test_a_run_without_validations_has_no_answers(tmp_path: Path) -> None:
    run = make_run(tmp_path, validate=False, rollouts=2, prompts=4, mini_batch=4)
    assert collect_answers(run, lay_out(tmp_path, run)) == []
