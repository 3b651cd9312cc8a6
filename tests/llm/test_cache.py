"""Cached models: what is asked once, what is asked again, what is kept."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prorubric.errors import ModelError, UnjudgedError
from prorubric.llm.accounting import Usage
from prorubric.llm.cache import CachedModel, CachedYesNo
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.journal import Journal
from prorubric.llm.lexical import LexicalModel
from prorubric.llm.make import keep_model
from prorubric.llm.model import Failure, Model, Outcome, Reply, Request, YesNoModel
from tests.llm.asking import QUICK, ask_all, count_replies, eventually, make_request, make_requests, run
from tests.llm.server import MisbehavingServer


def ask_cached(server: MisbehavingServer, journal: Journal, requests: list[Request]) -> list[Outcome]:
    async def work() -> list[Outcome]:
        cached = CachedModel(HttpModel(server.spec, HttpConfig(**QUICK)), journal)
        outcomes = await ask_all(cached, requests)
        await cached.close()
        return outcomes

    return run(work())


def test_a_question_is_asked_once_and_answered_from_the_journal_then(
    server: MisbehavingServer, journal: Journal
) -> None:
    first, second = (ask_cached(server, journal, make_requests(5)) for _ in range(2))
    assert second == [replace(reply, cached=True) for reply in first if isinstance(reply, Reply)]
    assert server.calls == 5


def test_a_retry_never_reads_the_reply_that_it_retries(server: MisbehavingServer, journal: Journal) -> None:
    server.script("thinking only", "thinking first")
    [bad] = ask_cached(server, journal, [make_request(draw=0)])
    [good] = ask_cached(server, journal, [make_request(draw=1)])
    assert (bad, good) == (Reply("", 7, 3, "stop"), Reply("Yes.", 7, 3, "stop"))


def test_a_failure_is_never_kept(server: MisbehavingServer, journal: Journal) -> None:
    server.script("400")
    assert ask_cached(server, journal, [make_request()]) == [Failure("http", "HTTP 400: as told", 1, 400)]
    assert count_replies(journal) == 0
    assert ask_cached(server, journal, [make_request()]) == [Reply("re: Is it met?", 7, 3, "stop")]


def test_the_same_question_at_once_makes_one_call(server: MisbehavingServer, journal: Journal) -> None:
    server.think_seconds = 0.05
    outcomes = ask_cached(server, journal, [make_request()] * 10)
    assert [outcome.cached for outcome in outcomes if isinstance(outcome, Reply)] == [False] + [True] * 9
    assert server.calls == 1


def test_the_same_question_at_once_shares_a_failure(server: MisbehavingServer, journal: Journal) -> None:
    server.always = "400"
    assert ask_cached(server, journal, [make_request()] * 10) == [Failure("http", "HTTP 400: as told", 1, 400)] * 10
    assert server.calls == 1


def test_when_the_one_that_asks_is_cancelled_the_next_one_asks(server: MisbehavingServer, journal: Journal) -> None:
    async def work() -> list[Outcome]:
        cached = CachedModel(HttpModel(server.spec, HttpConfig(**QUICK)), journal)
        tasks = [asyncio.create_task(cached.complete(make_request())) for _ in range(4)]
        assert await eventually(lambda: server.in_flight == 1)
        tasks[0].cancel()
        tasks[2].cancel()
        await asyncio.wait(tasks)
        await cached.close()
        return [tasks[1].result(), tasks[3].result()]

    server.script("hang")
    asked, shared = run(work())
    assert asked == Reply("re: Is it met?", 7, 3, "stop")
    assert shared == Reply("re: Is it met?", 7, 3, "stop", cached=True)
    assert server.calls == 2


def test_a_model_that_cannot_be_used_says_so_to_all_who_wait(server: MisbehavingServer, journal: Journal) -> None:
    async def work() -> list[type]:
        cached = CachedModel(HttpModel(server.spec, HttpConfig(**QUICK)), journal)
        tasks = [asyncio.create_task(cached.complete(make_request())) for _ in range(3)]
        await asyncio.wait(tasks)
        await cached.close()
        return [type(task.exception()) for task in tasks]

    server.always = "404"
    assert run(work()) == [ModelError] * 3


def test_a_cached_model_is_the_model_behind_it(journal: Journal) -> None:
    model = HttpModel("http://host/v1#m")
    cached = CachedModel(model, journal)
    assert isinstance(cached, Model)
    assert (cached.name, cached.identity) == (model.name, model.identity)


def test_no_prompt_is_in_the_file(server: MisbehavingServer, tmp_path: Path) -> None:
    server.always = "thinking first"
    with Journal(tmp_path / "journal.sqlite") as journal:
        ask_cached(server, journal, [make_request("the patient is called Ada")])
        kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"Yes." in kept
    assert b"Ada" not in kept


def test_a_call_goes_out_only_when_the_reply_that_made_room_for_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a run that is killed has paid for no more replies than it may have calls in flight without keeping them."""
    begun, open_calls = 0, []
    post = HttpModel._post

    async def ask(server: MisbehavingServer, journal: Journal) -> None:
        async def watch(model: HttpModel, call: Any) -> Any:
            nonlocal begun
            begun += 1
            open_calls.append(begun - count_replies(journal))
            return await post(model, call)

        monkeypatch.setattr(HttpModel, "_post", watch)
        model = CachedModel(HttpModel(server.spec, HttpConfig(concurrency=4)), journal)
        await ask_all(model, make_requests(60))
        await model.close()

    with MisbehavingServer() as server, Journal(tmp_path / "journal.sqlite") as journal:
        asyncio.run(ask(server, journal))
    assert (len(open_calls), max(open_calls)) == (60, 4)


class Counting:
    name = identity = "counting"

    def __init__(self) -> None:
        self.asked = 0

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        self.asked += 1
        return [0.1 + len(statement) / 100 for statement in statements]

    async def close(self) -> None:
        pass


def test_a_probability_is_asked_for_once_and_comes_back_exactly(tmp_path: Path) -> None:
    counting, usage, found = Counting(), Usage(), []
    for _ in range(2):
        with Journal(tmp_path / "j.sqlite") as journal:
            model = keep_model(counting, journal, usage)
            assert isinstance(model, YesNoModel)
            found.append(run(model.probabilities("c", "r", ["one", "three"])))
    assert found == [[0.13, 0.15000000000000002]] * 2
    assert (counting.asked, usage.calls, usage.cached) == (1, 2, 1)


@pytest.mark.parametrize(
    "change", [("x", "r", ["one"]), ("c", "x", ["one"]), ("c", "r", ["x"]), ("c", "r", ["one", "two"])]
)
def test_another_question_about_a_response_is_asked_anew(journal: Journal, change: tuple[str, str, list[str]]) -> None:
    counting = Counting()
    model = CachedYesNo(counting, journal, Usage())
    for question in (("c", "r", ["one"]), change):
        run(model.probabilities(*question))
    assert counting.asked == 2


@pytest.mark.parametrize("given", ["not judged", [0.5], [0.5, 7], [0.5, True]])
def test_a_response_that_is_not_judged_is_a_failed_call_and_is_not_kept(
    journal: Journal, given: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> object:
        if isinstance(given, str):
            raise UnjudgedError(given)
        return given

    counting, usage = Counting(), Usage()
    monkeypatch.setattr(counting, "probabilities", fail)
    model = CachedYesNo(counting, journal, usage)
    for _ in range(2):
        with pytest.raises(UnjudgedError):
            run(model.probabilities("c", "r", ["one", "two"]))
    assert count_replies(journal) == 0
    assert (usage.calls, usage.cached, usage.failures) == (2, 0, {"reply": 2})


class Drawn(LexicalModel):
    """Gives a fixed value, after something else has happened."""

    def __init__(self, value: float, first: Coroutine[Any, Any, Any] | None = None) -> None:
        super().__init__()
        self.value, self.first = value, first

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        if self.first is not None:
            await self.first
        return [self.value] * len(statements)


def test_probabilities_that_another_process_has_kept_meanwhile_are_used(tmp_path: Path) -> None:
    path, question = tmp_path / "journal.sqlite", ("c", "r", ["s"])
    with Journal(path) as journal, Journal(path) as another:
        others = CachedYesNo(Drawn(0.25), another, Usage()).probabilities(*question)
        ours = CachedYesNo(Drawn(0.75, others), journal, Usage())
        assert run(ours.probabilities(*question)) == [0.25]
