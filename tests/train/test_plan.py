"""A plan counts every call of a training without a trainer, a socket or a token."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from prorubric import SAMPLE_TASKS, Criterion, Message, Rubric, Task, load_tasks, save_responses, save_tasks
from prorubric.errors import ConfigError, ProRubricError
from prorubric.rubric.records import Response
from prorubric.train import plan_training
from prorubric.train.methods import METHODS, Settings, Sft
from prorubric.train.plan import TaskFiles, count_steps, lay_rows, list_validations
from prorubric.train.recipe import list_runs, load_recipe

HTTP = "http://127.0.0.1:1/v1#judge"
SMALL = "rollouts: 4\nprompts: 2\nresponses: 3\nmini_batch: 1\n"

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_recipe(
        text: str = SMALL, *, method: str = "prorubric", judge: str = HTTP, tasks: Any = SAMPLE_TASKS
    ) -> Path:
        path = tmp_path / "try.yaml"
        path.write_text(f"method: {method}\nmodel: tiny\ntasks: {tasks}\njudge: {judge}\n{text}", encoding="utf-8")
        return path

    return write_recipe


@pytest.mark.parametrize(
    ("method", "more", "calls"),
    [
        ("rubric-rl", "", 4 * 2 * 3),
        ("prorubric", "", 4 * 2 * 3),
        ("graded", "", 4 * 2 * 3 * 2),
        ("graded", "judging: {draws: 5}\n", 4 * 2 * 3 * 5),
        ("prorubric+appropriateness", "", 4 * 2 * 3 * 2),
        ("prorubric", "judging: {votes: 3}\n", 4 * 2 * 3 * 3),
        ("prorubric", "shadow: [additive]\n", 4 * 2 * 3 * 2),
        ("prorubric", "shadow: [additive]\nshadow_every: 5\n", 24 + 5),
        ("rubric-rl", "shadow: [conjunctive]\nshadow_every: 5\n", 24),
        ("opsd", "distillation: yes\n", 0),
    ],
)
def test_calls_of_the_training_follow_from_the_method(write: Write, method: str, more: str, calls: int) -> None:
    plan = plan_training(write(f"{SMALL}{more}validate: no\n", method=method))
    assert [run.calls for run in plan.runs] == [calls]
    assert plan.calls == calls


def test_recipes_that_are_planned_together_read_each_file_once(write: Write, tmp_path: Path) -> None:
    path, held = tmp_path / "tasks.jsonl", tmp_path / "held-out.jsonl"
    save_tasks(path, load_tasks(SAMPLE_TASKS))
    save_tasks(held, [make_task("held")])
    more = f"{SMALL}validate: {{tasks: {held}, judge: lexical}}\n"
    recipes = [load_recipe(write(more, method=name, tasks=path)) for name in ("rubric-rl", "prorubric", "graded")]
    alone = [plan_training(recipe) for recipe in recipes]
    files = TaskFiles(recipes)
    first = plan_training(recipes[0], files=files)
    path.unlink()
    held.unlink()
    assert [first.calls, *(plan_training(recipe, files=files).calls for recipe in recipes[1:])] == [
        plan.calls for plan in alone
    ]


def test_a_recipe_does_not_suffer_from_what_another_one_needs(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    save_tasks(path, [make_task(f"t{number}") for number in range(4)])
    more = f"{SMALL}validate: no\n"
    recipes = [load_recipe(write(more, method=name, tasks=path)) for name in ("rubric-rl", "graded")]
    files = TaskFiles(recipes)
    assert plan_training(recipes[0], files=files).calls == 24
    with pytest.raises(ConfigError, match="4 tasks of 4 cannot be trained on"):
        plan_training(recipes[1], files=files)


def test_several_judges_are_all_asked(write: Write) -> None:
    plan = plan_training(write(SMALL + "validate: no\n", judge=f"[{HTTP}, {HTTP}2]"))
    assert plan.calls == 2 * 24


def test_a_judge_that_gives_probabilities_is_asked_once_for_all(write: Write) -> None:
    plan = plan_training(write(SMALL + "validate: no\njudging: {votes: 3}\n", method="rubric-rl", judge="lexical"))
    assert (plan.calls, plan.usual.cost) == (24, 0.0)


def test_criteria_in_small_portions_take_more_calls(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    save_tasks(path, [make_task(f"t{number}", criteria=5 + number) for number in range(4)])
    recipe = write(SMALL + "validate: no\njudging: {max_items: 4}\n", method="rubric-rl", tasks=path)
    rows = lay_rows([f"t{number}" for number in range(4)], list_runs(load_recipe(recipe))[0].settings, 42)
    portions = {f"t{number}": -(-(5 + number) // 4) for number in range(4)}
    assert plan_training(recipe).calls == sum(3 * portions[row["task_id"]] for row in rows)


def test_criteria_with_a_check_are_not_asked_about(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    save_tasks(path, [make_task("checked", check={"contains": "water"}), make_task("asked")])
    recipe = write(SMALL + "validate: no\nheld_out: 0\n", method="rubric-rl", tasks=path)
    rows = [row["task_id"] for row in lay_rows(["checked", "asked"], list_runs(load_recipe(recipe))[0].settings, 42)]
    assert plan_training(recipe).calls == 3 * rows.count("asked")


@pytest.mark.parametrize(
    ("more", "calls"),
    [
        ("validate: {limit: 2, every: 2}\n", 3 * 2 * 2),
        ("validate: {limit: 2, every: 3}\n", 3 * 2 * 2),
        ("validate: {limit: 2, every: 50}\n", 2 * 2 * 2),
        ("validate: {limit: 2, every: 2, dynamics: no}\n", 3 * 2),
        (f"validate: {{limit: 2, every: 2, judge: {HTTP}2}}\n", 3 * 2 * 2),
        (f"validate: {{limit: 2, every: 2, tasks: {SAMPLE_TASKS}, judge: {HTTP}2}}\n", 3 * 2 * 2),
        (f"validate: {{limit: 2, every: 2, tasks: {SAMPLE_TASKS}, criteria: tasks}}\n", 3 * 2),
    ],
)
def test_calls_of_validations_follow_from_prompts_times_and_judges(
    write: Write, more: str, calls: int, tmp_path: Path
) -> None:
    path = tmp_path / "tasks.jsonl"
    save_tasks(path, [compile_task(make_task(f"t{number}")) for number in range(30)])
    plan = plan_training(write(SMALL + more, tasks=path))
    assert (plan.runs[0].validation_calls, plan.calls) == (calls, 24 + calls)


def test_tasks_are_held_out_by_seed_and_not_trained_on(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    save_tasks(path, [make_task(f"t{number}") for number in range(50)])
    plan = plan_training(write(method="rubric-rl", tasks=path))
    assert (plan.tasks, plan.held_out) == (45, 5)
    assert plan_training(write(SMALL + "held_out: 20\n", method="rubric-rl", tasks=path)).held_out == 20
    with pytest.raises(ConfigError, match="no task is left to train on; lower held_out, or give more tasks"):
        plan_training(write(SMALL + "held_out: 50\n", method="rubric-rl", tasks=path))


def test_tasks_of_the_validation_file_are_left_out_of_training_and_counted(write: Write, tmp_path: Path) -> None:
    tasks = [make_task(f"t{number}") for number in range(10)]
    path, own = tmp_path / "tasks.jsonl", tmp_path / "own.jsonl"
    save_tasks(path, tasks)
    save_tasks(own, tasks[:3])
    plan = plan_training(write(SMALL + f"validate: {{tasks: {own}}}\n", method="rubric-rl", tasks=path))
    assert (plan.tasks, plan.held_out, plan.left_out) == (7, 3, {"in the validation file": 3})


def test_prompts_far_above_the_limit_are_left_out_and_counted(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    save_tasks(path, [make_task("long", prompt="word " * 400), make_task("short")])
    plan = plan_training(write(SMALL + "prompt_limit: 100\nheld_out: 0\n", method="rubric-rl", tasks=path))
    assert (plan.tasks, plan.left_out) == (1, {"prompt of more than 100 tokens at 4 characters each": 1})


def test_rows_that_cannot_be_read_and_taken_ids_are_left_out_and_counted(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    save_tasks(path, [make_task("one"), make_task("two"), make_task("one", prompt="Again?")])
    row = json.loads(path.read_text().splitlines()[0])
    row |= {"id": "weightless", "rubric": [{**row["rubric"][0], "weight": 0}]}
    with path.open("a") as stream:
        stream.write(json.dumps(row) + "\n{half")
    plan = plan_training(write(SMALL + "held_out: 0\n", method="rubric-rl", tasks=path))
    assert (plan.tasks, plan.left_out["rejected, the id is already taken"], sum(plan.left_out.values())) == (2, 1, 3)
    with pytest.raises(ProRubricError, match=r"tasks\.jsonl:3: the id is already taken"):
        plan_training(write(SMALL + f"validate: {{tasks: {path}}}\n", method="rubric-rl"))


def test_all_methods_of_a_sweep_leave_the_same_long_prompts_out(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "tasks.jsonl"
    save_tasks(path, [make_task("long", prompt="word " * 3600), make_task("short")])  # about 4,500 tokens
    recipe = write(SMALL + "held_out: 0\nsweep: {method: [rubric-rl, ruscarl]}\n", method="rubric-rl", tasks=path)
    assert plan_training(recipe).tasks == 1


def test_a_cascade_is_planned_as_the_most_it_can_ask(write: Write) -> None:
    more = SMALL + "judging: {cascade: 0.9, votes: 3}\nvalidate: no\n"
    plan = plan_training(write(more, method="rubric-rl", judge=f"[{HTTP}, {HTTP}2]"))
    assert (plan.calls, plan.is_exact) == (24 * (3 + 1), False)


def test_the_size_of_a_policy_that_does_not_say_it_is_not_known(write: Write, tmp_path: Path) -> None:
    for text in ("{", "[]", '{"text_config": {}}'):
        (tmp_path / "config.json").write_text(text)
        plan = plan_training(write(SMALL.replace("rollouts", f"sweep: {{model: [{tmp_path}]}}\nrollouts")))
        assert plan.runs[0].resources is None


def test_rows_fill_every_rollout_and_every_epoch_has_every_task_once() -> None:
    tasks = [f"t{number}" for number in range(10)]
    rows = list(lay_rows(tasks, Settings(rollouts=5, prompts=4, mini_batch=2), 42))
    assert [(row["step"], row["place"]) for row in rows] == [
        (step, place) for step in range(1, 6) for place in range(4)
    ]
    names = [row["task_id"] for row in rows]
    assert sorted(names[:10]) == sorted(names[10:]) == sorted(tasks)
    assert names[:10] != names[10:]


def test_all_methods_of_a_seed_have_the_same_rows_and_seeds_differ() -> None:
    tasks = [f"t{number}" for number in range(100)]
    laid = [list(lay_rows(tasks, METHODS[name], 42)) for name in ("rubric-rl", "prorubric", "ruscarl")]
    assert laid[0] == laid[1] == laid[2]
    assert len(laid[0]) == 300 * 64
    assert laid[0] != list(lay_rows(tasks, METHODS["prorubric"], 43))
    assert list(lay_rows(tasks[::-1], METHODS["prorubric"], 42)) == laid[0]


def test_sft_takes_the_paper_s_number_of_steps() -> None:
    assert count_steps(METHODS["sft"], 26_162) == 1_224
    assert count_steps(Settings(kind="sft", scheme=None, overlong=None, sft=Sft(batch=10, epochs=2)), 29) == 4


def test_sft_is_validated_by_its_updates_on_answers_to_training_tasks(write: Write, tmp_path: Path) -> None:
    path, answers = tmp_path / "tasks.jsonl", tmp_path / "answers.jsonl"
    save_tasks(path, [make_task(f"t{number}") for number in range(10)])
    save_responses(answers, (Response(task_id=f"t{number}", text="x") for number in range(10)))
    more = f"held_out: 1\nevery: 3\nsft: {{data: {answers}, batch: 2, epochs: 2}}\n"
    plan = plan_training(write(more, method="sft", tasks=path))
    # Nine answers are to training tasks: four batches an epoch, validated at 0, 3, 6 and 8.
    assert ([run.steps for run in plan.runs], plan.held_out, plan.validations) == ([8], 1, 4)
    with pytest.raises(ConfigError, match="9 rows to training tasks, and a batch has 64; lower"):
        plan_training(write(more.replace("batch: 2", "batch: 64"), method="sft", tasks=path))


def test_the_paper_s_run_takes_the_paper_s_calls_and_validations() -> None:
    (run,) = list_runs(load_recipe_of("prorubric"))
    assert run.settings.rollouts * run.settings.prompts * run.settings.responses == 153_600
    assert list_validations(run, 300) == [0, 50, 100, 150, 200, 250, 300]


def test_some_of_the_runs_can_be_planned(write: Write) -> None:
    path = write(SMALL + "seeds: [42, 43]\nvalidate: no\n")
    assert (plan_training(path).calls, plan_training(path, only=["43"]).calls) == (48, 24)
    assert [run.name for run in plan_training(path, only=["43"]).runs] == ["prorubric-seed-43"]


def test_best_of_n_judges_n_answers_to_each_prompt(write: Write, tmp_path: Path) -> None:
    path, samples = tmp_path / "tasks.jsonl", tmp_path / "samples.jsonl"
    save_tasks(path, [make_task("one"), make_task("two"), make_task("three")])
    made = [("one", 4), ("two", 1), ("unknown", 3)]
    save_responses(samples, (Response(task_id=name, text="x", sample=k) for name, n in made for k in range(n)))
    more = f"validate: no\nbest_of: {{samples: {samples}, n: 3}}\n"
    assert plan_training(write(more, method="best-of-n", tasks=path)).calls == 3 + 1


@pytest.mark.parametrize(
    ("method", "more", "said"),
    [
        ("prorubric", "", "tasks.jsonl: 2 tasks of 2 cannot be trained on (task 'one': prorubric needs dimensions and"),
        ("k1", "", "2 tasks of 2 cannot be trained on (task 'one': "),
        ("rewritten", "", "2 tasks of 2 cannot be trained on (task 'one': rewritten needs one restated text"),
        ("rubric-rl", "prices: 1,1\nbudget: 0.001\n", "the plan costs about "),
        (
            "rubric-rl",
            "budget: 9\n",
            "a budget is set, but the price of a judge is not known; give prices, as in prices: ",
        ),
        (
            "rubric-rl",
            "judging: {cascade: 0.9}\n",
            "judging.cascade needs two judges, the first of which knows how sure",
        ),
        (
            "rubric-rl",
            "held_out: 1\nvalidate: {criteria: tasks, scheme: focused(additive)}\n",
            "focused(additive) compares the length of an answer with the others in its group, but there is no group",
        ),
        (
            "rubric-rl",
            "held_out: 1\nvalidate: {criteria: tasks, scheme: prorubric}\n",
            "task 'two': prorubric needs dimensions and",
        ),
        ("sft", "", "sft.data is missing; name a file of responses"),
        ("best-of-n", "", "best_of.samples is missing; name a file of responses"),
    ],
)
def test_what_is_missing_is_said_in_one_line(write: Write, tmp_path: Path, method: str, more: str, said: str) -> None:
    path = tmp_path / "tasks.jsonl"
    save_tasks(path, [make_task("one"), make_task("two")])
    with pytest.raises(ProRubricError) as refused:
        plan_training(
            write(SMALL + (more if "held_out" in more else f"held_out: 0\n{more}"), method=method, tasks=path)
        )
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_lexical_cannot_reward_what_it_cannot_read(write: Write) -> None:
    with pytest.raises(ConfigError, match="judge lexical cannot reward prorubric: lexical compares words"):
        plan_training(write(judge="lexical"))


def test_money_has_a_low_and_a_high_case_and_grows_with_the_length_of_responses(write: Write) -> None:
    plan = plan_training(write(SMALL + "prices: 0.30,1.20\nvalidate: no\n"))
    assert (plan.low.response_tokens, plan.usual.response_tokens, plan.high.response_tokens) == (500, 1500, 8192)
    assert plan.usual.prompt_tokens - plan.low.prompt_tokens == plan.calls * 1000
    costs = [money.cost for money in (plan.low, plan.usual, plan.high)]
    assert costs == sorted(cost for cost in costs if cost is not None)
    usual = plan.usual
    assert usual.cost == pytest.approx((usual.prompt_tokens * 0.30 + usual.completion_tokens * 1.20) / 1e6)
    assert plan_training(write(SMALL)).usual.cost is None


def test_the_plan_opens_no_socket_and_imports_no_trainer(write: Write) -> None:
    program = (
        "import socket, sys\n"
        "def refuse(*_): raise SystemExit('a socket')\n"
        "socket.socket.connect = refuse\n"
        "from prorubric.train import plan_training\n"
        f"plan_training({str(write())!r})\n"
        "found = {'torch', 'trl', 'transformers', 'verl', 'datasets', 'ray'} & {*sys.modules}\n"
        "raise SystemExit(', '.join(found) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_rows_in_our_own_form_and_the_same_tasks_in_another_give_one_plan(write: Write, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in Path(SAMPLE_TASKS).read_text(encoding="utf-8").splitlines()]
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    first, second = plan_training(write()), plan_training(write(tasks=path))
    assert first == second
    assert first.tasks + first.held_out == len(list(load_tasks(SAMPLE_TASKS)))


def load_recipe_of(method: str) -> Any:
    from prorubric.train.recipe import Recipe

    return Recipe(method, "Qwen/Qwen3-4B", "tasks.jsonl", judge=HTTP)


def make_task(name: str, criteria: int = 5, prompt: str = "", check: Any = None) -> Task:
    items = [Criterion(text=f"Says {word} {name}.", weight=1.0, check=check) for word in _words(criteria)]
    return Task(
        id=name,
        messages=(Message(role="user", content=prompt or f"What of {name}?"),),
        rubric=Rubric(criteria=(*items,)),
    )


def _words(number: int) -> Sequence[str]:
    return [f"thing-{place}" for place in range(number)]


def compile_task(task: Task) -> Task:
    from prorubric.rubric.records import ProtocolRubric

    first, rest = [1, 2], list(range(3, len(task.rubric) + 1))
    parts = [
        {"name": "First", "description": "Both. Fails if one is missing.", "indices": first},
        {"name": "Rest", "description": "All. Fails if one is missing.", "indices": rest},
    ]
    return task.model_copy(update={"protocol": ProtocolRubric.of(task.rubric, parts)})
