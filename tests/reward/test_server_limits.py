"""What the server refuses and how it ends: size, number, time, strangers, signals."""

import asyncio
import json
import logging
import os
import signal
import socket
import sqlite3
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from starlette.exceptions import HTTPException

from prorubric import save_tasks
from prorubric.errors import ConfigError
from prorubric.reward.reward import RubricReward
from prorubric.reward.server.app import Service, make_app
from prorubric.reward.server.config import is_loopback, read_token
from prorubric.reward.server.gate import Places, ServerGate
from prorubric.reward.server.listen import bind
from prorubric.reward.server.log import set_up_logs
from prorubric.reward.server.metrics import Metrics
from prorubric.verbs.serve import ServeConfig, make_reward_config
from tests.llm.server import MisbehavingServer
from tests.reward.serving import HELD, PATIENCE, Answer, wait_until
from tests.reward.test_server import TASKS, ask_score, ask_slime, check_error, expect, start

TOKEN = "correct-horse-battery-staple"


@pytest.fixture
def judge() -> Iterator[MisbehavingServer]:
    with MisbehavingServer() as running:
        running.always = "judge"
        yield running


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.jsonl"
    save_tasks(path, TASKS)
    return path


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


class TestSize:
    def test_a_body_above_the_limit_is_refused_whether_its_size_is_said_or_not(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path
    ) -> None:
        with start(judge, tasks, tmp_path, "--body-limit", "2000") as server:
            for size in (2_000, 5_000_000):
                answer = server.post(*ask_score("x" * size))
                check_error(answer, 413, "the body is larger than 2,000 bytes")
            parts: Any = (b"x" * 1000 for _ in range(50))  # sent in chunks, without a length
            answer = server.ask("POST", "/score", parts, {"Content-Type": "application/json"})
            check_error(answer, 413, "the body is larger than 2,000 bytes")
            assert judge.calls == 0
            assert server.post(*ask_score("x" * 1900)).status == 200

    def test_more_responses_in_a_request_than_the_limit_are_refused_for_good(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path
    ) -> None:
        with start(judge, tasks, tmp_path, "--response-limit", "3") as server:
            body = {"task": "task 0", "responses": ["a", "b", "c", "d"]}
            check_error(server.post("/score", body), 422, "4 responses at once, but the limit is 3; send fewer")
            assert server.post("/score", {**body, "responses": ["a", "b", "c"]}).status == 200


class TestRoom:
    def test_no_more_than_the_limit_are_let_in_and_the_rest_are_told_when_to_come_back(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path, pool: ThreadPoolExecutor
    ) -> None:
        judge.always = HELD
        with start(judge, tasks, tmp_path, "--response-limit", "3", "--timeout-seconds", "600") as server:
            waiting = pool.submit(server.post, "/score", {"task": "task 0", "responses": ["a", "b"]})
            wait_until(lambda: judge.in_flight == 2)
            one_more = pool.submit(server.post, *ask_slime("c"))
            wait_until(lambda: judge.in_flight == 3)
            refused = server.post(*ask_score("d"))
            check_error(refused, 429, "3 responses are being judged or waiting and 1 more would be too many; ask again")
            assert refused.headers["retry-after"] == "1"
            health = server.get("/health").body
            assert (health["in_flight"], health["limit"]) == (3, 3)
            assert server.count("prorubric_responses_in_flight") == 3
            assert server.count("prorubric_requests_in_flight") == 2
            judge.always = "judge"
            assert waiting.result().status == one_more.result().status == 200
            assert server.post(*ask_slime("d")).body == expect("d")
            assert server.get("/health").body["in_flight"] == 0

    def test_several_responses_need_a_place_each(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path, pool: ThreadPoolExecutor
    ) -> None:
        judge.always = HELD
        with start(
            judge, tasks, tmp_path, "--response-limit", "3", "--timeout-seconds", "600", "--stop-seconds", "0.1"
        ) as server:
            pool.submit(server.post, *ask_slime("a"))
            wait_until(lambda: judge.in_flight == 1)
            refused = server.post("/score", {"task": "task 0", "responses": ["b", "c", "d"]})
            check_error(refused, 429, "2 responses are being judged or waiting and 2 more would be too many; ask again")
            assert refused.headers["retry-after"] == "1"
            assert (judge.calls, server.get("/health").body["in_flight"]) == (1, 1)

    def test_as_many_clients_as_places_are_never_refused(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path, pool: ThreadPoolExecutor
    ) -> None:
        with start(judge, tasks, tmp_path, "--response-limit", "4") as server:

            def keep_asking(worker: int) -> list[int]:
                return [server.post(*ask_slime(f"answer {worker}.{number}")).status for number in range(50)]

            assert list(pool.map(keep_asking, range(4))) == [[200] * 50] * 4

    def test_places_are_given_back_whatever_happens(self) -> None:
        places = Places(2)
        with pytest.raises(ZeroDivisionError), places.take(2):
            places.taken / 0
        with places.take(1), pytest.raises(HTTPException), places.take(2):
            raise AssertionError("there was no room")
        assert places.taken == 0


class TestTime:
    def test_a_request_that_takes_too_long_gets_a_504_and_stops_asking(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path
    ) -> None:
        judge.always = HELD
        with start(judge, tasks, tmp_path, "--answer-seconds", "2", "--timeout-seconds", "600") as server:
            check_error(server.post(*ask_score("a")), 504, "no reward within 2 s")
            wait_until(lambda: judge.in_flight == 0)
            judge.always = "judge"
            # The same limit holds for what follows, which a busy machine may need several times for.
            wait_until(lambda: server.post(*ask_slime("a")).text == json.dumps(expect("a")))

    def test_a_body_that_never_comes_holds_its_place_no_longer_than_that(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path
    ) -> None:
        with start(judge, tasks, tmp_path, "--answer-seconds", "0.5", "--response-limit", "1") as server:
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                head = f"POST /score HTTP/1.1\r\nHost: localhost:{server.port}\r\nContent-Length: 100\r\n\r\n{{"
                client.sendall(head.encode())
                assert client.recv(100).startswith(b"HTTP/1.1 504")
            wait_until(lambda: server.post(*ask_score("a")).status == 200)

    def test_whoever_hangs_up_stops_the_work_done_for_them(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path
    ) -> None:
        judge.always = HELD
        with start(judge, tasks, tmp_path, "--timeout-seconds", "600") as server:
            body = json.dumps(ask_score("a")[1]).encode()
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                fields = ("Content-Type: application/json", f"Content-Length: {len(body)}", "", "")
                head = "\r\n".join(("POST /score HTTP/1.1", f"Host: localhost:{server.port}", *fields))
                client.sendall(head.encode() + body)
                wait_until(lambda: judge.in_flight == 1)
            wait_until(lambda: judge.in_flight == 0)
            wait_until(lambda: server.get("/health").body["in_flight"] == 0)
            server.stop()
            assert [row["status"] for row in server.list_events("request")] == [499]


class TestStrangers:
    def test_with_a_token_nothing_but_health_is_served_without_it(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path
    ) -> None:
        with start(judge, tasks, tmp_path, PRORUBRIC_TOKEN=TOKEN) as server:
            assert server.started["token"] is True
            basic = b64encode(f"any:{TOKEN}".encode()).decode()
            wrong = b64encode(b"any:another-token-of-that-length").decode()
            for header in ("", "Bearer", "Bearer wrong", TOKEN, f"Bearer {TOKEN}x", f"Basic {wrong}", "Basic %%%"):
                answer = server.post(*ask_score("a"), Authorization=header)
                check_error(answer, 401, "the token is missing or wrong")
                assert answer.headers["www-authenticate"] == "Bearer"
            assert [server.get(path).status for path in ("/metrics", "/openapi.json", "/nowhere")] == [401] * 3
            assert judge.calls == 0
            assert server.get("/health").status == 200
            for header in (f"Bearer {TOKEN}", f"bearer  {TOKEN}", f"Basic {basic}"):
                assert server.post(*ask_score("a"), Authorization=header).status == 200
            assert server.get("/metrics", Authorization=f"Bearer {TOKEN}").status == 200
            assert TOKEN not in server.read_log() + server.get("/metrics", Authorization=f"Bearer {TOKEN}").text

    async def test_a_trainer_that_can_only_be_given_a_url_shows_the_token_there(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path
    ) -> None:
        with start(judge, tasks, tmp_path, "--token-variable", "MINE", MINE=TOKEN) as server:
            path, body = ask_slime("a")
            url = f"http://any:{TOKEN}@127.0.0.1:{server.port}{path}"
            async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
                assert (response.status, await response.json()) == (200, expect("a"))

    def test_off_loopback_it_serves_those_with_the_token(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path
    ) -> None:
        with start(judge, tasks, tmp_path, "--host", "0.0.0.0", PRORUBRIC_TOKEN=TOKEN) as server:
            assert server.post(*ask_score("a")).status == 401
            assert server.post(*ask_score("a"), Authorization=f"Bearer {TOKEN}").status == 200

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "gpu-1.example", ""])
    def test_off_loopback_without_a_token_is_refused(self, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PRORUBRIC_TOKEN", raising=False)
        with pytest.raises(ConfigError, match="is not loopback, so anyone could ask; put a token into"):
            read_token(ServeConfig(judge="lexical", host=host))

    @pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost"])
    def test_loopback_needs_no_token(self, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PRORUBRIC_TOKEN", raising=False)
        assert is_loopback(host)
        assert read_token(ServeConfig(judge="lexical", host=host)) is None

    @pytest.mark.parametrize("token", ["short", "fifteen-letters", "with a space in the middle", "ünicode-" * 4])
    def test_a_token_that_no_header_carries_or_anyone_guesses_is_refused(
        self, token: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PRORUBRIC_TOKEN", token)
        with pytest.raises(ConfigError, match="at least 16 printable ASCII characters") as caught:
            read_token(ServeConfig(judge="lexical"))
        assert token not in str(caught.value)

    def test_the_token_is_not_shown_by_its_record(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PRORUBRIC_TOKEN", TOKEN)
        assert TOKEN not in repr(read_token(ServeConfig(judge="lexical")))


class TestStopping:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_what_is_under_way_is_finished_first(
        self, number: int, judge: MisbehavingServer, tasks: Path, tmp_path: Path, pool: ThreadPoolExecutor
    ) -> None:
        judge.always = HELD
        with start(judge, tasks, tmp_path, "--stop-seconds", "500", "--timeout-seconds", "600") as server:
            asked = [pool.submit(server.post, *ask_slime(f"answer {i}")) for i in range(4)]
            wait_until(lambda: judge.in_flight == 4)
            server.process.send_signal(number)
            wait_until(lambda: server.list_events("stopping") != [])
            judge.always = "judge"
            assert server.process.wait(PATIENCE) == 0
            assert [row["under_way"] for row in server.list_events("stopping")] == [4]
            assert [answer.result().body for answer in asked] == [expect(f"answer {i}") for i in range(4)]
            with pytest.raises(ConnectionRefusedError):
                server.get("/health")
            assert server.list_events("stopped") != []

    def test_what_takes_too_long_gets_a_503(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path, pool: ThreadPoolExecutor
    ) -> None:
        judge.always = HELD
        with start(judge, tasks, tmp_path, "--stop-seconds", "0.5", "--timeout-seconds", "600") as server:
            asked = pool.submit(server.post, *ask_slime("answer"))
            wait_until(lambda: judge.in_flight == 1)
            assert server.stop() == 0
            check_error(asked.result(), 503, "the server is stopping")

    def test_a_second_interrupt_does_not_wait(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path, pool: ThreadPoolExecutor
    ) -> None:
        judge.always = HELD
        with start(judge, tasks, tmp_path, "--stop-seconds", "500", "--timeout-seconds", "600") as server:
            asked: Future[Answer] = pool.submit(server.post, *ask_slime("answer"))
            wait_until(lambda: judge.in_flight == 1)
            os.kill(server.process.pid, signal.SIGINT)
            wait_until(lambda: server.list_events("stopping") != [])  # two at once would be one
            os.kill(server.process.pid, signal.SIGINT)
            assert server.process.wait(PATIENCE) == 0
            assert asked.exception() is not None or asked.result().status >= 500


class TestJournal:
    def test_a_journal_that_cannot_keep_replies_is_the_servers_trouble_and_its_path_stays_here(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path
    ) -> None:
        path = tmp_path / "where-replies-are.journal"
        with start(judge, tasks, tmp_path, "--journal", str(path)) as server:
            refuse = "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
            run_sql(path, f"CREATE TRIGGER full BEFORE INSERT ON replies {refuse}")
            answer = server.post(*ask_slime("a"))
            assert (answer.status, answer.headers["retry-after"]) == (503, "5")
            assert answer.body == {"error": "the server cannot keep replies; its log says why"}
            run_sql(path, "DROP TRIGGER full")
            assert server.post(*ask_slime("a")).body == expect("a")
            (line,) = server.list_events("no journal")
            assert (line["level"], line["route"]) == ("error", "/slime")
            why = "the journal cannot keep a reply (database or disk is full); check the disk, or name another file"
            assert line["text"] == f"{path}: {why}"


def run_sql(path: Path, statement: str) -> None:
    connection = sqlite3.connect(path, timeout=PATIENCE)
    with connection:
        connection.execute(statement)
    connection.close()


@pytest.fixture
def logs() -> Iterator[Callable[..., None]]:
    """What sends the server's log to stderr, for one test."""
    loggers = [logging.getLogger(name) for name in ("prorubric.serve", "uvicorn.error", "asyncio")]
    before = [(logger.handlers, logger.propagate, logger.level) for logger in loggers]
    yield set_up_logs
    for logger, (handlers, propagate, level) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def test_markers_of_ones_own_replace_ours(judge: MisbehavingServer, tasks: Path, tmp_path: Path) -> None:
    with start(judge, tasks, tmp_path, "--stop-text", "[END]", "--stop-text", "<|stop|>") as server:
        for end in ("[END]", "<|stop|>", "[END]<|stop|>\n"):
            assert server.post("/slime", {"response": f"answer{end}", "label": "task 0"}).body == expect("answer")
        kept = "answer<|im_end|>"
        assert server.post("/slime", {"response": kept, "label": "task 0"}).body == expect(kept)


class TestForeignLogs:
    async def leak(self) -> None:
        """What asyncio says of a task that nobody waited for, and of a callback that failed."""

        async def fail() -> None:
            raise ValueError("a secret prompt")

        def call(text: str) -> None:
            raise ValueError(text)

        task = asyncio.create_task(fail())
        await asyncio.wait([task])
        del task
        asyncio.get_running_loop().call_soon(call, "a secret")
        await asyncio.sleep(0)
        logging.getLogger("uvicorn.error").warning("The body %r of %d bytes", "a secret", 7)
        logging.getLogger("asyncio").error(ValueError("a secret"))

    async def test_other_libraries_are_quoted_without_what_they_quote(
        self, capsys: pytest.CaptureFixture[str], logs: Callable[..., None]
    ) -> None:
        logs()
        await self.leak()
        text = capsys.readouterr().err
        rows = [json.loads(line) for line in text.splitlines()]
        assert [(row["source"], row["level"], row.get("error")) for row in rows] == [
            ("asyncio", "error", "ValueError"),
            ("asyncio", "error", "ValueError"),
            ("uvicorn.error", "warning", None),
            ("asyncio", "error", None),
        ]
        assert rows[0]["message"] == "Task exception was never retrieved"
        assert rows[1]["message"].startswith("Exception in callback ")
        assert [row["message"] for row in rows[2:]] == ["The body %r of %d bytes", "ValueError"]
        assert "secret" not in text

    async def test_all_of_it_is_there_where_texts_are_asked_for(
        self, capsys: pytest.CaptureFixture[str], logs: Callable[..., None]
    ) -> None:
        logs(log_text=True)
        await self.leak()
        messages = [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()]
        assert messages[2:] == ["The body 'a secret' of 7 bytes", "a secret"]
        assert ["secret" in message for message in messages] == [True] * 4


class BrokenReward(RubricReward):
    """A reward with a bug that only shows when it is asked."""

    async def rewards(self, requests: Any, *, validation: bool = False) -> list[Any]:
        raise ValueError(f"the answer was: {requests[0].text}")


class TestGate:
    async def test_a_bug_is_a_500_for_its_request_alone_and_its_message_is_not_logged(
        self, capsys: pytest.CaptureFixture[str], logs: Callable[..., None]
    ) -> None:
        logs()
        config, places = ServeConfig(judge="lexical"), Places(1)
        reward = BrokenReward(make_reward_config(config))
        metrics = Metrics(lambda: reward.usage, lambda: places.taken)
        gate = ServerGate(make_app(Service(reward, config, places, metrics)), config, places, metrics)
        messages = [{"type": "http.request", "body": json.dumps(ask_score("a secret")[1]).encode(), "more_body": False}]
        sent: list[Any] = []

        async def receive() -> Any:
            return messages.pop() if messages else await asyncio.Future()

        async def send(message: Any) -> None:
            await asyncio.sleep(0)
            sent.append(message)

        scope = {
            "type": "http",
            "http_version": "1.1",
            "path": "/score",
            "method": "POST",
            "query_string": b"",
            "root_path": "",
        }
        await gate({**scope, "headers": [(b"content-type", b"application/json")]}, receive, send)
        assert [message.get("status") for message in sent] == [500, None]
        assert sent[1]["body"] == b'{"error":"a bug in the server; its log says where"}'
        labels = {"route": "/score", "status": "500"}
        assert (places.taken, metrics.registry.get_sample_value("prorubric_requests_total", labels)) == (0, 1)
        rows = {row["event"]: row for row in map(json.loads, capsys.readouterr().err.splitlines())}
        assert (rows["bug"]["error"], rows["bug"]["route"], rows["request"]["status"]) == ("ValueError", "/score", 500)
        assert rows["bug"]["at"][-1].endswith(" rewards")
        assert "secret" not in json.dumps(rows)

    def test_answers_leave_at_once(self) -> None:
        # Sockets that are not known to be TCP keep Nagle's algorithm, and every answer waits 40 ms for it.
        with bind("127.0.0.1", 0) as listener:
            assert (listener.proto, listener.getsockname()[1] > 0) == (socket.IPPROTO_TCP, True)

    def test_overlong_needs_both_of_its_numbers(self) -> None:
        with pytest.raises(ConfigError, match="give both or neither"):
            make_reward_config(ServeConfig(judge="lexical", overlong_limit=100))
