"""Models of the user's own: what they do wrong is said in one line, with its place."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from prorubric import SAMPLE_TASKS, ConfigError, Message, ModelError, make_model
from prorubric.errors import UnjudgedError
from prorubric.llm.model import Failure, Model, Request, YesNoModel

MODULE = """
from prorubric.errors import UnjudgedError
from prorubric.llm.model import Failure


class Text:
    name = identity = "mine"

    async def complete(self, request):
        if "no luck" in request.messages[0].content:
            return Failure("timeout", "too late")
        return 1 / 0

    async def close(self):
        pass


class Sure:
    name = identity = "sure"

    async def probabilities(self, conversation, response, statements):
        if response == "long":
            raise UnjudgedError("too long")
        return [1.0][len(statements)]

    async def close(self):
        pass


class Both(Text, Sure):
    pass


class Broken:
    def __init__(self):
        raise RuntimeError("no weights\\nhere")
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "bad.py").write_text("raise KeyError('HOME')\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("mine", "bad"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def ask(spec: str, text: str) -> object:
    model = make_model(spec)
    assert isinstance(model, Model)
    return asyncio.run(model.complete(Request((Message(role="user", content=text),))))


def test_what_a_model_raises_is_one_line_with_its_place_and_its_cause() -> None:
    with pytest.raises(ModelError) as caught:
        ask("mine:Text", "hello")
    said = (
        "mine raised ZeroDivisionError: division by zero (mine.py, line 12); a call that fails has to return a Failure"
    )
    assert str(caught.value) == said
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_failure_that_it_returns_stays_a_failure() -> None:
    assert ask("mine:Text", "no luck") == Failure("timeout", "too late")


@pytest.mark.parametrize("spec", ["mine:Sure", "mine:Both"])
def test_a_model_of_probabilities_is_held_to_the_same(spec: str) -> None:
    model = make_model(spec)
    assert isinstance(model, YesNoModel)
    with pytest.raises(
        ModelError, match=r"raised IndexError: list index out of range \(mine\.py, line 24\); a response that cannot"
    ):
        asyncio.run(model.probabilities("", "short", ["one"]))
    with pytest.raises(UnjudgedError, match="too long"):
        asyncio.run(model.probabilities("", "long", ["one"]))


def test_a_model_does_what_the_object_does_and_no_more() -> None:
    kinds = {name: make_model(f"mine:{name}") for name in ("Text", "Sure", "Both")}
    assert [isinstance(model, Model) for model in kinds.values()] == [True, False, True]
    assert [isinstance(model, YesNoModel) for model in kinds.values()] == [False, True, True]
    assert [model.name for model in kinds.values()] == ["mine", "sure", "mine"]
    assert [model.identity for model in kinds.values()] == ["mine", "sure", "mine"]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("bad:Text", "the model 'bad:Text' cannot be imported: KeyError: 'HOME' (bad.py, line 1)"),
        ("mine:Broken", "the model 'mine:Broken' cannot be imported: RuntimeError: no weights here (mine.py, line 36)"),
    ],
)
def test_a_module_or_a_class_that_raises_is_refused_with_its_place(spec: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_model(spec)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    "command",
    [
        ["compile", str(SAMPLE_TASKS), "--generator", "mine:Text", "--out", "out.jsonl"],
        ["judge", str(SAMPLE_TASKS), "answers.jsonl", "--judge", "mine:Sure", "--scheme", "additive", "--out", "run"],
    ],
)
def test_on_the_command_line_it_is_one_line_without_a_traceback(module: Path, command: list[str]) -> None:
    (module / "answers.jsonl").write_text('{"task_id": "science-irreversible-piston", "response": "275 K"}\n')
    done = subprocess.run(
        [sys.executable, "-m", "prorubric", *command], cwd=module, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert done.stderr.splitlines()[-1].startswith("prorubric: ")
    assert "(mine.py, line " in done.stderr
