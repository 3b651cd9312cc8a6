"""A recipe file becomes runs, and what is wrong with it is said in one line."""

from pathlib import Path
from typing import Any

import pytest

from prorubric.errors import ConfigError, SourceError
from prorubric.files.json import parse_json, render_json
from prorubric.reward.reward import Overlong
from prorubric.rubric.base import render_config
from prorubric.train.methods import METHODS, Settings
from prorubric.train.recipe import Recipe, StopRule, TrainRun, Validation, list_departures, list_runs, load_recipe

NEEDED = "method: prorubric\nmodel: Qwen/Qwen3-4B\ntasks: tasks.jsonl\njudge: lexical\n"


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write_recipe(text: str, name: str = "try.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write_recipe


def test_four_fields_are_enough_and_the_rest_is_the_method_s(write: Any) -> None:
    recipe = load_recipe(write(NEEDED))
    (run,) = list_runs(recipe)
    assert (run.name, run.seed, run.trainer, recipe.out) == ("prorubric-seed-42", 42, "trl", Path("runs/try"))
    assert run.settings == METHODS["prorubric"]
    assert run.reward is not None
    assert run.reward.overlong == Overlong(limit=8192, buffer=4096, factor=0.5)
    assert list_departures(recipe) == ["trainer TRL (paper: verl)", "seeds 42 (paper: 42, 43, 44)"]


def test_toml_says_the_same(write: Any) -> None:
    text = 'method = "prorubric"\nmodel = "Qwen/Qwen3-4B"\ntasks = "tasks.jsonl"\njudge = "lexical"\nrate = 2e-6\n'
    assert load_recipe(write(text, "try.toml")) == load_recipe(write(NEEDED + "rate: 2e-6\n"))


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("rate: 1e-6", "rate", 1e-6),
        ("rate: 1.5E-6", "rate", 1.5e-6),
        ("overlong: no", "overlong", None),
        ("overlong: off", "overlong", None),
        ("overlong: false", "overlong", None),
        ("overlong: yes", "overlong", METHODS["prorubric"].overlong),
    ],
)
def test_numbers_and_words_that_yaml_is_known_for_mean_what_they_say(
    write: Any, line: str, field: str, value: object
) -> None:
    (run,) = list_runs(load_recipe(write(NEEDED + line + "\n")))
    assert getattr(run.settings, field) == value


def test_validation_can_be_left_out_and_stop_can_be_a_word(write: Any) -> None:
    recipe = load_recipe(write(NEEDED + "validate: no\nstop: alarm\n"))
    assert (recipe.validate, recipe.stop) == (None, StopRule(alarm=True))
    assert load_recipe(write(NEEDED + "stop: {fall: 0.1}\n")).stop == StopRule(fall=0.1, after=2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (NEEDED + "rolouts: 4\n", "a recipe has no field 'rolouts'; did you mean rollouts?"),
        (NEEDED.replace("prorubric", "prorubrc"), "no method is called 'prorubrc'; did you mean prorubric? known: "),
        (NEEDED.replace("judge: lexical\n", ""), "judge is missing; prorubric rewards responses: name a judge, "),
        (
            NEEDED.replace("model: Qwen/Qwen3-4B\n", ""),
            "model is missing; a recipe needs method, model, tasks and judge",
        ),
        (NEEDED + "prompts: 63\n", "63 prompts do not divide into mini-batches of 32; choose another prompts or "),
        (NEEDED + "rate: fast\n", "rate: Input should be a valid number"),
        (NEEDED + "kl: true\n", "kl is true; put a word in quotes, and give a number as digits"),
        (NEEDED + "sweep: {klo: [0]}\n", "sweep: 'klo' is not a setting; did you mean kl? "),
        (NEEDED + "sweep: {kl: []}\n", "sweep: kl has no values; give a list of values"),
        (NEEDED + "seeds: [42, 42]\n", "two runs are called prorubric-seed-42; name each seed and each value of a "),
        (NEEDED + "validate: {limits: 4}\n", "validate has no field 'limits'; did you mean limit?"),
        (NEEDED + "overlong: {bufer: 1}\n", "overlong has no field 'bufer'; did you mean buffer?"),
        (NEEDED + "judging: {vote: 3}\n", "judging has no field 'vote'; did you mean votes?"),
        (NEEDED + "validate: no\nstop: {fall: 0.1}\n", "stop.fall needs validations; set validate and held_out, or "),
        ("method: [", "not readable as yaml"),
        ("just text\n", "not a recipe; write one field per line, for example method: prorubric"),
    ],
)
def test_a_recipe_that_cannot_be_run_is_refused_in_one_line(write: Any, text: str, said: str) -> None:
    path = write(text)
    with pytest.raises((ConfigError, SourceError)) as refused:
        list_runs(load_recipe(path))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_place_of_a_fault_is_the_file(write: Any) -> None:
    path = write(NEEDED + "rolouts: 4\n")
    with pytest.raises(ConfigError, match=r"try\.yaml: a recipe has no field"):
        load_recipe(path)
    with pytest.raises(SourceError, match=r"nothing\.yaml: No such file or directory; give a recipe in YAML or TOML"):
        load_recipe(path.with_name("nothing.yaml"))


def test_changes_win_over_the_file_and_reach_into_parts(write: Any) -> None:
    path = write(NEEDED.replace("prorubric", "ruscarl") + "rollouts: 100\nvalidate: {limit: 20}\n")
    recipe = load_recipe(path, ["rollouts=4", "scaffold.alpha=10", "validate.every=2", "overlong=no"])
    (run,) = list_runs(recipe)
    assert (run.settings.rollouts, run.settings.overlong) == (4, None)
    assert run.settings.scaffold is not None
    assert (run.settings.scaffold.alpha, run.settings.scaffold.start) == (10.0, 0.2)
    assert recipe.validate == Validation(limit=20, every=2)
    assert run.validate_every == 2
    with pytest.raises(ConfigError, match="--set rollouts: a change looks like field=value"):
        load_recipe(path, ["rollouts"])


def test_seeds_and_a_sweep_make_their_product_seed_by_seed(write: Any) -> None:
    recipe = load_recipe(write(NEEDED + "seeds: [42, 43]\nsweep: {method: [prorubric, rubric-rl], kl: [0, 0.01]}\n"))
    runs = list_runs(recipe)
    assert [run.name for run in runs] == [
        f"{method}-kl-{kl}-seed-{seed}"
        for seed in (42, 43)
        for method in ("prorubric", "rubric-rl")
        for kl in (0, 0.01)
    ]
    assert [run.settings.kl for run in runs[:4]] == [0, 0.01, 0, 0.01]
    assert "rubric-rl: kl 0.01 (paper: 0.0)" in list_departures(recipe)


def test_a_method_may_be_a_base_with_its_own_fields(write: Any) -> None:
    text = NEEDED.replace("method: prorubric", "method: {base: prorubric, kl: 0.02, scheme: raw-and}")
    (run,) = list_runs(load_recipe(write(text)))
    assert (run.method, run.settings.kl, run.settings.scheme) == ("prorubric", 0.02, "raw-and")


def test_your_own_scheme_is_a_method(write: Any) -> None:
    own = "tests.aggregate.own_schemes:half_the_mark"
    (run,) = list_runs(load_recipe(write(NEEDED.replace("prorubric", own))))
    assert run.settings == Settings(scheme=own)
    assert run.name == "tests.aggregate.own_schemes-half_the_mark-seed-42"


def test_methods_without_a_reward_need_no_judge(write: Any) -> None:
    for method in ("opsd", "sft"):
        text = NEEDED.replace("method: prorubric", f"method: {method}").replace("judge: lexical\n", "")
        (run,) = list_runs(load_recipe(write(text)))
        assert run.reward is None


def test_the_trainer_s_own_settings_are_departures(write: Any) -> None:
    recipe = load_recipe(write(NEEDED + "set: {trl: {use_vllm: true}}\n"))
    assert list_runs(recipe)[0].own == {"use_vllm": True}
    assert "set.trl.use_vllm yes" in list_departures(recipe)


def test_a_run_survives_its_file(write: Any) -> None:
    for method in ("prorubric", "ruscarl", "opsd", "sft", "best-of-n"):
        (run,) = list_runs(load_recipe(write(NEEDED.replace("method: prorubric", f"method: {method}"))))
        assert TrainRun(**parse_json(render_json(render_config(run)))) == run


def test_a_recipe_is_a_record() -> None:
    assert Recipe("prorubric", "tiny", "tasks.jsonl", judge="lexical").seeds == (42,)


def test_without_held_out_tasks_there_is_no_validation(write: Any) -> None:
    assert load_recipe(write(NEEDED + "held_out: 0\n")).validate is None
    kept = load_recipe(write(NEEDED + "held_out: 0\nvalidate: {tasks: own.jsonl}\n"))
    assert kept.validate == Validation(tasks="own.jsonl")
