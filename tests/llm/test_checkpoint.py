"""The folder of a checkpoint as a policy: what it refuses, and that it replies as transformers itself does."""

import sys
from pathlib import Path
from typing import Any

import pytest

from prorubric.errors import MissingExtraError, ModelError
from prorubric.llm.make import make_model
from tests.train.running import run_in, trainers

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_in("trl", HERE / "checkpoint_asking.py", tmp_path_factory.mktemp("checkpoints"))


@pytest.mark.parametrize("present", [(), ("config.json",), ("model.safetensors",), ("adapter_model.safetensors",)])
def test_a_folder_without_settings_or_weights_is_refused_in_one_line(tmp_path: Path, present: tuple[str, ...]) -> None:
    for name in present:
        (tmp_path / name).write_text("{}")
    with pytest.raises(ModelError) as refused:
        make_model(str(tmp_path))
    assert str(refused.value) == f"{tmp_path}: no checkpoint in this folder; it needs config.json and weights"


def test_a_checkpoint_without_its_extra_is_refused_when_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_text("{}")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"the checkpoint of a policy needs the extra \[trl\]"):
        make_model(str(tmp_path))


@trainers
def test_greedy_replies_are_the_same_twice_and_those_of_transformers(asked: dict[str, Any]) -> None:
    first, second = asked["greedy"]
    assert first == second
    assert first["text"] == asked["own greedy"]
    assert (first["completion_tokens"], first["finish"]) == (12, "length")


@trainers
def test_a_reply_that_ends_by_itself_comes_without_its_thinking(asked: dict[str, Any]) -> None:
    assert asked["own taught"] == "<think>Is it the left one?</think>Rest."
    assert (asked["taught"]["text"], asked["taught"]["finish"]) == ("Rest.", "stop")


@trainers
def test_sampled_replies_are_those_of_transformers_with_the_seed_of_the_draw(asked: dict[str, Any]) -> None:
    assert asked["sampled"]["text"] == asked["again"]["text"] == asked["own sampled"]
    assert asked["other draw"]["text"] != asked["sampled"]["text"]
    assert asked["greedy"][0]["text"] != asked["sampled"]["text"]


@trainers
def test_replies_to_different_prompts_are_drawn_independently(asked: dict[str, Any]) -> None:
    one, two, again = asked["seeds"]
    assert one == again != two
    assert asked["other question"]["text"] != asked["sampled"]["text"]


@trainers
@pytest.mark.parametrize("name", ["top_k", "top_p", "min_p"])
def test_a_setting_that_leaves_one_token_makes_sampling_greedy(asked: dict[str, Any], name: str) -> None:
    assert asked["narrow"][name] == asked["own greedy"]


@trainers
def test_a_prompt_that_is_longer_than_the_context_is_refused(asked: dict[str, Any]) -> None:
    assert asked["long"] == {
        "kind": "reply",
        "reason": "the prompt has 5013 tokens, but the model accepts 4096",
        "attempts": 1,
        "status": 413,
        "is_refusal": True,
    }


@trainers
def test_a_reply_ends_where_the_context_does(asked: dict[str, Any]) -> None:
    found = asked["nearly full"]
    assert (found["prompt_tokens"], found["completion_tokens"], found["finish"]) == (4090, 6, "length")


@trainers
def test_a_conversation_that_the_template_does_not_take_is_refused(asked: dict[str, Any]) -> None:
    found = asked["picky"]
    assert (found["reason"], found["is_refusal"]) == ("the chat template does not take this conversation", True)


@trainers
@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("no tokenizer", "the checkpoint cannot be loaded (Couldn't instantiate the backend tokenizer"),
        ("no template", "its tokenizer has no chat template; save one with it"),
        ("cut off", "the checkpoint cannot be loaded (Error while deserializing header: "),
        ("not JSON", "the checkpoint cannot be loaded (It looks like the config file at "),
    ],
)
def test_files_that_are_missing_or_damaged_are_named_in_one_line(asked: dict[str, Any], name: str, fault: str) -> None:
    said = asked[name]["error"]
    assert said.startswith("ModelError: ")
    assert f"{name}: {fault}" in said
    assert "\n" not in said


@trainers
def test_a_copy_is_the_same_model_and_another_template_or_other_weights_are_not(asked: dict[str, Any]) -> None:
    found = asked["identities"]
    assert found["copy"] == found["tiny"]
    assert len({found["tiny"], found["taught"], found["other template"]}) == 3
