"""A model from one string."""

import asyncio
import json
from pathlib import Path

import pytest

from prorubric import Message, make_model
from prorubric.errors import ConfigError, SourceError
from prorubric.llm.accounting import Usage
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.journal import Journal
from prorubric.llm.lexical import LexicalModel
from prorubric.llm.make import keep_model
from prorubric.llm.model import Failure, Model, Reply, Request
from prorubric.llm.scripted import ScriptedModel
from tests.llm.asking import count_replies

READY = ScriptedModel(["ready"], name="ready")


class Fresh(ScriptedModel):
    def __init__(self) -> None:
        super().__init__(["fresh"], name="fresh")


def ask(model: object, text: str = "hello") -> object:
    assert isinstance(model, Model)
    return asyncio.run(model.complete(Request((Message(role="user", content=text),))))


def test_lexical_is_word_overlap() -> None:
    assert isinstance(make_model("lexical"), LexicalModel)


def test_an_address_is_an_endpoint() -> None:
    model = make_model("http://127.0.0.1:9/v1#name")
    assert isinstance(model, HttpModel)
    assert model.name == "http://127.0.0.1:9/v1#name"


@pytest.mark.parametrize(
    ("spec", "said"), [("tests.llm.test_make:READY", "ready"), ("tests.llm.test_make:Fresh", "fresh")]
)
def test_an_import_path_names_an_object_or_a_class(spec: str, said: str) -> None:
    reply = ask(make_model(spec))
    assert isinstance(reply, Reply)
    assert reply.text == said


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            "gpt-4o",
            "no model is called 'gpt-4o'; known forms: lexical, .*; a model behind an endpoint is "
            r"https://api\.openai\.com/v1#gpt-4o, with its key in PRORUBRIC_API_KEY$",
        ),
        ("deepseek-chat", "https://api.deepseek.com/v1#deepseek-chat, with its key in PRORUBRIC_API_KEY"),
        ("claude-sonnet-4-5", "https://api.anthropic.com/v1#claude-sonnet-4-5, with its key in PRORUBRIC_API_KEY"),
        ("llama3:8b", "https://host/v1#llama3:8b, with its key"),
        ("qwen2.5:7b", "https://host/v1#qwen2.5:7b, with its key"),
        ("meta-llama/Llama-3.1-8B-Instruct", "https://host/v1#meta-llama/Llama-3.1-8B-Instruct, with its key"),
        ("", "no model is called ''"),
        ("nowhere.at.all:thing", "cannot be imported"),
        ("json:nothing", "cannot be imported"),
        ("json:dumps", "neither a Model nor a YesNoModel"),
        ("http://127.0.0.1:9/v1", "#"),
        ("127.0.0.1:9/v1#name", "without http:// in front; write http://127.0.0.1:9/v1#name$"),
        ("127.0.0.1:9#name", "without http:// in front; write http://127.0.0.1:9/v1#name$"),
        ("host/v1", "without http:// in front; write http://host/v1#name$"),
        ("ftp://x/v1#y", "the model 'ftp://x/v1#y' is an address with ftp://; write http://x/v1#y$"),
        ("lexcial", r"no model is called 'lexcial'; known forms: .*checkpoint; did you mean lexical\?$"),
    ],
)
def test_a_string_that_names_nothing_is_refused_with_the_forms_that_do(spec: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        make_model(spec)


class TestScript:
    def test_the_first_rule_that_fits_answers(self, tmp_path: Path) -> None:
        rules = [
            {"contains": ["hello", "moon"], "reply": "both"},
            {"contains": ["hello"], "reply": "one"},
            {"reply": "none"},
        ]
        (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, rules)))
        model = make_model(f"scripted:{tmp_path / 's.jsonl'}")
        said = [ask(model, text) for text in ("hello moon", "hello sun", "bye")]
        assert [reply.text for reply in said if isinstance(reply, Reply)] == ["both", "one", "none"]

    def test_a_prompt_that_no_rule_answers_is_a_failure(self, tmp_path: Path) -> None:
        (tmp_path / "s.jsonl").write_text('{"contains": ["moon"], "reply": "x"}')
        found = ask(make_model(f"scripted:{tmp_path / 's.jsonl'}"))
        assert found == Failure("reply", "the script has no reply to this prompt")

    @pytest.mark.parametrize("row", ['{"reply": 3}', '{"contains": "x", "reply": "y"}', "{}", "[]", "{oops"])
    def test_a_row_that_is_not_a_rule_is_refused_with_its_line(self, tmp_path: Path, row: str) -> None:
        (tmp_path / "s.jsonl").write_text('{"reply": "x"}\n' + row)
        with pytest.raises(SourceError, match=r"s\.jsonl:2: not a rule"):
            make_model(f"scripted:{tmp_path / 's.jsonl'}")

    def test_a_missing_script_is_said_to_be_missing_whatever_its_name(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError) as caught:
            make_model(f"scripted:{tmp_path / 'nofile'}")
        assert str(caught.value) == f"{tmp_path / 'nofile'}: no such file; check the path"

    def test_another_script_under_the_same_name_is_another_model(self, tmp_path: Path) -> None:
        identities = set()
        for reply in ("x", "y"):
            (tmp_path / "s.jsonl").write_text(json.dumps({"reply": reply}))
            identities.add(make_model(f"scripted:{tmp_path / 's.jsonl'}").identity)
        assert len(identities) == 2


def test_an_opened_model_counts_and_keeps_its_replies(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"reply": "x"}')
    usage = Usage()
    with Journal(tmp_path / "j.sqlite") as journal:
        model = keep_model(make_model(f"scripted:{tmp_path / 's.jsonl'}", None, usage), journal, usage)
        for _ in range(3):
            ask(model)
        assert (usage.calls, usage.cached, usage.repeated, count_replies(journal)) == (3, 2, 2, 1)
    with Journal(tmp_path / "j.sqlite") as journal:
        ask(keep_model(make_model(f"scripted:{tmp_path / 's.jsonl'}", None, usage), journal, usage))
        assert (usage.calls, usage.cached, usage.repeated) == (4, 3, 2)


def test_a_single_reply_has_to_stand_in_a_list() -> None:
    with pytest.raises(ConfigError, match="put a single reply into a list"):
        ScriptedModel("yes")


def test_a_name_without_an_address_names_the_variable_that_was_chosen_for_the_key() -> None:
    with pytest.raises(ConfigError, match="with its key in MY_KEY"):
        make_model("gpt-4o", HttpConfig(key_variable="MY_KEY"))


def test_an_address_in_capitals_is_an_address() -> None:
    assert isinstance(make_model("HTTP://127.0.0.1:9/v1#name"), HttpModel)
