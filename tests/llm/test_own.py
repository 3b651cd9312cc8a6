"""Models that the user wrote: a mistake in one becomes one line with its place."""

import asyncio
import sys
from pathlib import Path

import pytest

from prorubric import SAMPLE_TASKS, Message, make_model
from prorubric.errors import ConfigError, ModelError, UnjudgedError
from prorubric.llm.make import FORMS
from prorubric.llm.model import Failure, Model, Reply, Request, YesNoModel
from tests.cli.program import run_program

KNOWN = f"known forms: {FORMS}"

MODULE = """
from prorubric.errors import UnjudgedError
from prorubric.llm.model import Failure, Reply


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


class Leaves(Text):
    def __init__(self):
        raise SystemExit("no gpu")


class Wants(Text):
    def __init__(self, path):
        self.path = path


class Mistyped(Text):
    def __init__(self):
        len(5)


class Nameless(Text):
    @property
    def name(self):
        raise RuntimeError("no name yet")


class Says(Text):
    answer = None

    async def complete(self, request):
        return self.answer


class Plain(Text):
    def complete(self, request):
        return Reply("Yes.")

    def close(self):
        return 5


class PlainSure(Sure):
    def probabilities(self, conversation, response, statements):
        return [1.0]


class VagueSure(Sure):
    async def probabilities(self, conversation, response, statements):
        return {"one": 1.0}


class Sharp(Sure):
    async def probabilities(self, conversation, response, statements):
        return (1.0,)


class Exits(Text):
    async def complete(self, request):
        raise SystemExit

    async def close(self):
        raise OSError("the file is gone")


import asyncio


class Cancels(Text):
    async def complete(self, request):
        raise asyncio.CancelledError


class Fussy(Text):
    def __init__(self):
        raise ValueError("no key in the file")
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "bad.py").write_text("raise KeyError('HOME')\n")
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "needy.py").write_text("import no_such_library\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("mine", "bad", "leaving", "needy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def ask(spec: str, text: str) -> object:
    model = make_model(spec)
    assert isinstance(model, Model)
    return asyncio.run(model.complete(Request((Message(role="user", content=text),))))


def test_what_a_model_raises_is_one_line_with_its_place_and_its_cause() -> None:
    with pytest.raises(ModelError) as caught:
        ask("mine:Text", "hello")
    said = "mine raised ZeroDivisionError: division by zero (mine.py, line 12); return a Failure for a call that fails"
    assert str(caught.value) == said
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_failure_that_it_returns_stays_a_failure() -> None:
    assert ask("mine:Text", "no luck") == Failure("timeout", "too late")


@pytest.mark.parametrize("spec", ["mine:Sure", "mine:Both"])
def test_a_model_of_probabilities_is_held_to_the_same(spec: str) -> None:
    model = make_model(spec)
    assert isinstance(model, YesNoModel)
    with pytest.raises(
        ModelError, match=r"raised IndexError: list index out of range \(mine\.py, line 24\); raise UnjudgedError for"
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
        ("leaving:Text", "the model 'leaving:Text' cannot be imported: SystemExit: 3 (leaving.py, line 2)"),
        ("mine:Leaves", "the model 'mine:Leaves' cannot be imported: SystemExit: no gpu (mine.py, line 41)"),
        (
            "mine:Wants",
            "the model 'mine:Wants' cannot be imported: TypeError: Wants.__init__() missing 1 required positional "
            "argument: 'path'; name a class that takes no arguments, or an object",
        ),
        (
            "mine:Mistyped",
            "the model 'mine:Mistyped' cannot be imported: TypeError: object of type 'int' has no len() "
            "(mine.py, line 51)",
        ),
        ("mine:Nameless", "the model 'mine:Nameless' cannot be imported: RuntimeError: no name yet (mine.py, line 57)"),
        (
            "mine:Text.name",
            f"the model 'mine:Text.name' cannot be imported (module 'mine' has no attribute 'Text.name'); {KNOWN}",
        ),
        ("needy:Text", f"the model 'needy:Text' cannot be imported (No module named 'no_such_library'); {KNOWN}"),
        (
            "no_such_module:Text",
            "the model 'no_such_module:Text' cannot be imported (No module named 'no_such_module'; is its folder on "
            f"PYTHONPATH?); {KNOWN}",
        ),
        (
            "no_such.module:Text",
            "the model 'no_such.module:Text' cannot be imported (No module named 'no_such'; is its folder on "
            f"PYTHONPATH?); {KNOWN}",
        ),
        ("mine:Broken", "the model 'mine:Broken' cannot be imported: RuntimeError: no weights here (mine.py, line 36)"),
    ],
)
def test_a_module_or_a_class_that_raises_is_refused_with_its_place(spec: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_model(spec)
    assert str(caught.value) == said


@pytest.mark.parametrize("field", ["name", "identity"])
@pytest.mark.parametrize(
    ("value", "shown"), [("", "'' (str)"), (" \n", "' \\n' (str)"), (None, "NoneType"), (5, "5 (int)")]
)
def test_a_model_without_a_name_or_an_identity_is_refused(
    field: str, value: object, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"mine.Text.{field}", value)
    with pytest.raises(ConfigError) as caught:
        make_model("mine:Text")
    said = f"the model 'mine:Text': its {field} is {shown}; it must be a text that is not empty"
    assert str(caught.value) == said


@pytest.mark.parametrize(
    "answer", [Reply(""), Reply("Yes.", 7, 3, "stop"), Reply("half \ud83d"), Failure("timeout", "too late")]
)
def test_a_reply_and_a_failure_come_as_they_are(answer: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mine.Says.answer", answer)
    assert ask("mine:Says", "hello") is answer


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (None, "mine answered with NoneType; return a Reply or a Failure"),
        ("Yes.", "mine answered with str; return a Reply or a Failure"),
        (Reply(None), "mine: the text of its Reply is NoneType; it must be a str"),  # type: ignore[arg-type]
        (Reply(b"Yes."), "mine: the text of its Reply is bytes; it must be a str"),  # type: ignore[arg-type]
        (Reply("", -1), "mine: the prompt_tokens of its Reply is -1 (int); it must be an int of 0 or more"),
        (Reply("", True), "mine: the prompt_tokens of its Reply is True (bool); it must be an int of 0 or more"),
        (
            Reply("", 0, 2.0),  # type: ignore[arg-type]
            "mine: the completion_tokens of its Reply is 2.0 (float); it must be an int of 0 or more",
        ),
        (
            Reply("", 0, None),  # type: ignore[arg-type]
            "mine: the completion_tokens of its Reply is NoneType; it must be an int of 0 or more",
        ),
        (Reply("", finish=1), "mine: the finish of its Reply is 1 (int); it must be a str or None"),  # type: ignore[arg-type]
    ],
)
def test_any_other_answer_is_refused(answer: object, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mine.Says.answer", answer)
    with pytest.raises(ModelError) as caught:
        ask("mine:Says", "hello")
    assert str(caught.value) == said


def test_a_method_that_is_not_async_is_refused() -> None:
    model, sure = make_model("mine:Plain"), make_model("mine:PlainSure")
    assert isinstance(sure, YesNoModel)
    with pytest.raises(ModelError) as asked:
        ask("mine:Plain", "hello")
    with pytest.raises(ModelError) as judged:
        asyncio.run(sure.probabilities("", "short", ["one"]))
    with pytest.raises(ModelError) as closed:
        asyncio.run(model.close())
    assert [str(caught.value) for caught in (asked, judged, closed)] == [
        "mine: its complete is not async, it gave Reply; write async def complete",
        "sure: its probabilities is not async, it gave list; write async def probabilities",
        "mine: its close is not async, it gave int; write async def close",
    ]


def test_probabilities_are_a_list() -> None:
    vague, sharp = make_model("mine:VagueSure"), make_model("mine:Sharp")
    assert isinstance(vague, YesNoModel)
    assert isinstance(sharp, YesNoModel)
    with pytest.raises(ModelError, match=r"^sure gave dict for probabilities; return a list, one for each statement$"):
        asyncio.run(vague.probabilities("", "short", ["one"]))
    assert asyncio.run(sharp.probabilities("", "short", ["one"])) == [1.0]


def test_a_model_that_exits_or_cannot_be_closed_is_blamed_for_it() -> None:
    model = make_model("mine:Exits")
    with pytest.raises(ModelError) as asked:
        ask("mine:Exits", "hello")
    with pytest.raises(ModelError) as closed:
        asyncio.run(model.close())
    assert [str(caught.value) for caught in (asked, closed)] == [
        "mine raised SystemExit (mine.py, line 92); return a Failure for a call that fails",
        "mine raised OSError: the file is gone (mine.py, line 95); its close must not raise",
    ]


def test_a_model_that_closes_well_is_closed() -> None:
    for name in ("Text", "Sure", "Both"):
        asyncio.run(make_model(f"mine:{name}").close())


@pytest.mark.parametrize(
    "command",
    [
        ["compile", str(SAMPLE_TASKS), "--generator", "mine:Text", "--out", "out.jsonl"],
        ["judge", str(SAMPLE_TASKS), "answers.jsonl", "--judge", "mine:Sure", "--scheme", "additive", "--out", "run"],
    ],
)
def test_on_the_command_line_it_is_one_line_without_a_traceback(module: Path, command: list[str]) -> None:
    (module / "answers.jsonl").write_text('{"task_id": "science-irreversible-piston", "response": "275 K"}\n')
    done = run_program(*command, cwd=module)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert done.stderr.splitlines()[-1].startswith("prorubric: ")
    assert "(mine.py, line " in done.stderr


def test_a_cancellation_that_we_did_not_ask_for_is_a_bug_like_any_other() -> None:
    with pytest.raises(ModelError, match=r"mine raised CancelledError \(mine\.py, line \d+\); return a Failure"):
        ask("mine:Cancels", "hello")


def test_a_cancellation_of_ours_stays_one() -> None:
    async def cancel() -> None:
        model = make_model("mine:Says")
        assert isinstance(model, Model)
        running = asyncio.create_task(model.complete(Request((Message(role="user", content="x"),))))
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())


def test_an_error_of_any_kind_in_a_constructor_has_its_place() -> None:
    with pytest.raises(
        ConfigError, match=r"^the model 'mine:Fussy' cannot be imported: ValueError: no key in the file \("
    ):
        make_model("mine:Fussy")
