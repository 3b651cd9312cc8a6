"""The key leaves in one header and shows up nowhere else."""

import logging
import pickle
from pathlib import Path

import pytest

from prorubric.errors import ConfigError, ModelError
from prorubric.llm.cache import CachedModel
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.journal import Journal
from prorubric.llm.model import Reply
from tests.llm.asking import QUICK, ask, make_request, run
from tests.llm.server import MisbehavingServer

KEY = "sk-test/4b1d+8f0c2e6a97d35510"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("PRORUBRIC_API_KEY", KEY)
    return KEY


def test_the_key_is_sent_as_a_bearer(server: MisbehavingServer, key: str) -> None:
    ask(server)
    assert server.exchanges[0].headers["authorization"] == f"Bearer {key}"


def test_without_a_key_no_header_is_sent(server: MisbehavingServer) -> None:
    ask(server)
    assert "authorization" not in server.exchanges[0].headers


def test_the_key_may_come_from_another_variable(
    server: MisbehavingServer, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_KEY", "  other \n")
    ask(server, key_variable="OTHER_KEY")
    assert server.exchanges[0].headers["authorization"] == "Bearer other"


@pytest.mark.parametrize("value", ["two\nlines", "schlüssel", "bell\x07"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRORUBRIC_API_KEY", value)
    with pytest.raises(ConfigError) as caught:
        HttpModel("http://host/v1#m")
    assert value not in str(caught.value)


@pytest.mark.parametrize("behaviour", ["echoes the key", "echoes the key in a reply"])
def test_a_server_s_echo_of_the_key_is_scrubbed(server: MisbehavingServer, key: str, behaviour: str) -> None:
    server.always = behaviour
    outcome = repr(ask(server))
    assert key not in outcome
    assert "Bearer [key]" in outcome


def test_a_model_error_is_scrubbed_and_so_is_all_that_hangs_on_it(server: MisbehavingServer, key: str) -> None:
    server.always = "echoes the key and refuses"
    with pytest.raises(ModelError) as caught:
        run(HttpModel(server.spec, HttpConfig(**QUICK)).complete(make_request()))
    assert key.encode() not in pickle.dumps(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@pytest.mark.parametrize("placeholder", ["EMPTY", "ollama", "None", "x", "sk-"])
def test_a_placeholder_in_place_of_a_key_does_not_change_a_reply(
    server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch, placeholder: str
) -> None:
    monkeypatch.setenv("PRORUBRIC_API_KEY", placeholder)
    said = f"the list is {placeholder}"
    assert ask(server, make_request(said)) == [Reply(f"re: {said}", 7, 3, "stop")]


@pytest.mark.parametrize("short", ["sk-1234", "hunter", "hunter2", "p/w+d", "s3cr3t", "token-abc123"])
@pytest.mark.parametrize("behaviour", ["echoes the key", "echoes the key in a reply"])
def test_a_short_key_is_written_nowhere(
    server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, short: str, behaviour: str
) -> None:
    async def work() -> str:
        with Journal(tmp_path / "journal.sqlite") as journal:
            cached = CachedModel(HttpModel(server.spec, HttpConfig(**QUICK)), journal)
            outcome = await cached.complete(make_request())
            await cached.close()
            return f"{outcome} {b''.join(path.read_bytes() for path in tmp_path.iterdir())!r}"

    monkeypatch.setenv("PRORUBRIC_API_KEY", short)
    server.always = behaviour
    shown = run(work())
    assert "Bearer [key]" in shown
    assert short not in shown


def test_a_short_key_of_letters_is_found_as_a_word_only(
    server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRORUBRIC_API_KEY", "hunt")
    assert ask(server, make_request("hunter, hunt")) == [Reply("re: hunter, [key]", 7, 3, "stop")]


@pytest.mark.parametrize("spec", [f"http://host/v1#{KEY}", f"http://host/{KEY}#m", f"http://host/{KEY}", KEY])
def test_a_key_in_the_address_is_refused_without_being_shown(spec: str, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        HttpModel(spec)
    assert str(caught.value) == "the key in PRORUBRIC_API_KEY is part of the address or the body; remove it there"


def test_the_key_is_in_no_name_repr_log_or_journal(
    server: MisbehavingServer, key: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> str:
        model = HttpModel(server.spec, HttpConfig(**QUICK))
        with Journal(tmp_path / "journal.sqlite") as journal:
            cached = CachedModel(model, journal)
            for number in range(6):
                await cached.complete(make_request(f"question {number}"))
            kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        await model.close()
        return f"{model.name} {model.identity} {model!r} {vars(model)} {kept!r}"

    caplog.set_level(logging.DEBUG)
    server.script("echoes the key in a reply", "echoes the key", "503", "ok", "html")
    shown = run(work()) + caplog.text
    assert "you sent Bearer [key]" in shown
    assert key not in shown
