"""Clients that mean harm, over real sockets: what they send half, slowly, twice or under a false name."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from prorubric import save_tasks
from prorubric.rubric.forms import render_task
from tests.reward.serving import PATIENCE, RunningServer, wait_until
from tests.reward.test_server import ASK, STRANGER, TASKS, ask_score, ask_verify, check_error

FEW_FILES = ("sh", "-c", 'ulimit -n 96 && exec "$0" "$@"')
PROMPTLY = 10.0
"""A thousand times what an answer takes on a calm machine."""


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tasks") / "tasks.jsonl"
    save_tasks(path, TASKS)
    return path


def serve(tasks: Path, folder: Path, *options: str, prefix: tuple[str, ...] = ()) -> RunningServer:
    told = ("--judge", "lexical", "--tasks", str(tasks), "--scheme", "additive")
    return RunningServer((*told, *options), folder, prefix=prefix)


@pytest.fixture(scope="module")
def server(tasks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with serve(tasks, tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture(scope="module")
def impatient(tasks: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    options = ("--header-seconds", "0.5", "--body-seconds", "1")
    with serve(tasks, tmp_path_factory.mktemp("impatient"), *options) as running:
        yield running


def connect(server: RunningServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def head(server: RunningServer, *lines: str, path: str = "/score", method: str = "POST") -> bytes:
    first = (f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "Content-Type: application/json")
    return "\r\n".join((*first, *lines, "", "")).encode()


def send(server: RunningServer, *parts: bytes) -> bytes:
    """Everything that comes back until the server hangs up."""
    with connect(server) as client:
        with suppress(ConnectionError):  # the server may hang up before it has read everything
            for part in parts:
                client.sendall(part)
        return read_all(client)


def read_all(client: socket.socket) -> bytes:
    received = b""
    try:
        while part := client.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return received


def is_refused(client: socket.socket, data: bytes) -> bool:
    try:
        client.sendall(data)
    except OSError:
        return True
    return False


@contextmanager
def flood(server: RunningServer, number: int, first_bytes: bytes) -> Iterator[list[socket.socket]]:
    """Many connections that send the beginning of a request and then nothing."""
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(server)) for _ in range(number)]
        for client in clients:
            with suppress(OSError):  # closed already, to make room
                client.sendall(first_bytes)
        yield clients


def check_serves(server: RunningServer) -> None:
    began = time.monotonic()
    assert server.post(*ask_score("an answer")).status == 200
    assert server.get("/health").status == 200
    assert time.monotonic() - began < PROMPTLY


class TestUnfinished:
    def test_half_sent_heads_keep_nobody_out_and_the_log_short(self, tasks: Path, tmp_path: Path) -> None:
        half = b"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
        with serve(tasks, tmp_path, "--header-seconds", "60", prefix=FEW_FILES) as server:
            with flood(server, 400, half):
                check_serves(server)
            check_serves(server)
            assert len(server.read_log()) < 10_000

    def test_half_sent_bodies_keep_nobody_out(self, tasks: Path, tmp_path: Path) -> None:
        with serve(tasks, tmp_path, "--response-limit", "8", "--body-seconds", "60", prefix=FEW_FILES) as server:
            half = head(server, "Content-Length: 1000") + b"{"
            with flood(server, 400, half):
                check_serves(server)
                assert server.get("/health").body["in_flight"] == 0
            assert len(server.read_log()) < 200_000

    def test_a_head_that_is_not_sent_in_time_is_a_408(self, impatient: RunningServer) -> None:
        with connect(impatient) as slow, connect(impatient) as silent:
            slow.sendall(b"GET /health HTTP/1.1\r\n")
            assert read_all(slow).startswith(b"HTTP/1.1 408 Request Timeout\r\n")
            assert read_all(silent) == b""
        with connect(impatient) as client:
            client.sendall(head(impatient, method="GET", path="/health"))
            assert client.recv(65536).startswith(b"HTTP/1.1 200 OK")
            wait_until(lambda: is_refused(client, b"G"))  # a letter now and then does not help

    def test_a_body_that_is_not_sent_in_time_is_a_408(self, impatient: RunningServer) -> None:
        with connect(impatient) as client:
            client.sendall(head(impatient, "Content-Length: 100") + b"{")
            answer = read_all(client)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"the body did not arrive within 1 s; send it faster, or raise --body-seconds" in answer

    def test_an_answer_that_nobody_reads_does_not_hold_its_connection(self, impatient: RunningServer) -> None:
        path, body = ask_verify("an answer")
        data = json.dumps({**body, "padding": "x" * 4_000_000}).encode()
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", impatient.port))
            client.sendall(head(impatient, f"Content-Length: {len(data)}", path=path) + data)
            assert client.recv(9) == b"HTTP/1.1 "
            wait_until(lambda: not is_connected(impatient, client.getsockname()[1]))

    def test_the_largest_unfinished_body_makes_room_for_others(self, tasks: Path, tmp_path: Path) -> None:
        limits = ("--body-limit", "40000", "--total-body-limit", "100000")
        with serve(tasks, tmp_path, *limits) as server, ExitStack() as stack:
            clients = [stack.enter_context(connect(server)) for _ in range(4)]
            for size, client in zip((10_000, 39_000, 30_000, 25_000), clients, strict=True):
                client.sendall(head(server, "Content-Length: 39500") + b" " * size)
            answer = read_all(clients[1])
            assert answer.startswith(b"HTTP/1.1 429 ")
            assert b"request bodies hold more than 100,000 bytes" in answer
            check_serves(server)
            many = server.post("/score", {"task": "task 0", "response": "x", "tokens": [1] * 10_000})
            check_error(many, 429, "request bodies hold more than 100,000 bytes")  # once they are values
            for client in (clients[0], clients[2], clients[3]):
                client.setblocking(False)
                with pytest.raises(BlockingIOError):
                    client.recv(1)


def is_connected(server: RunningServer, port: int) -> bool:
    """Whether the server still holds a connection from a port of this machine."""
    rows = [line.split()[1:4] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ends = [(int(here[-4:], 16), int(there[-4:], 16), state) for here, there, state in rows]
    return (server.port, port, "01") in ends


class TestTwoMeanings:
    """What one reader takes for one thing and another for another is refused."""

    @pytest.mark.parametrize("route", ASK)
    @pytest.mark.parametrize(
        ("before", "after", "reason"),
        [
            ('"@"', '1, "task": 2, "task": 3', "the key 'task' appears twice in one object; send it once"),
            ('"@"', '{"a": 1, "b": {"k": 1, "k": 1}}', "the key 'k' appears twice in one object; send it once"),
            ('"@"', '{"a": 1, "\\u0061": 2}', "the key 'a' appears twice"),
            ('"@"', "NaN", "NaN is not a number in JSON; send a finite one, or null"),
            ('"@"', "-Infinity", "-Infinity is not a number in JSON"),
            ('"@"', "[1e999]", "1e999 is not a number in JSON"),
            ('"@"', "9" * 5000, "an integer has thousands of digits; send it as text"),
            ('"@"', "[" * 300 + "]" * 300, "it is nested more than 250 levels deep; send it flatter"),
            ('"@"', '{"a":' * 900 + f"[{2**70}]" + "}" * 900, "it is nested more than 250 levels deep"),
            ('"@"', "[" * 100_000, "it is nested more than 250 levels deep"),
        ],
        ids=str,
    )
    def test_in_a_body(self, server: RunningServer, route: str, before: str, after: str, reason: str) -> None:
        path, body = ASK[route]("an answer")
        data = json.dumps({**body, "else": "@"}).replace(before, after)
        check_error(server.post(path, data.encode()), 422, f"the body: {reason}")

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig", "latin-1"])
    def test_in_another_encoding(self, server: RunningServer, encoding: str) -> None:
        path, body = ask_score("Grüße")
        answer = server.post(path, json.dumps(body, ensure_ascii=False).encode(encoding))
        check_error(answer, 422, "BOM" if encoding == "utf-8-sig" else "is not UTF-8; send JSON in UTF-8")

    @pytest.mark.parametrize("route", ASK)
    @pytest.mark.parametrize("place", ["text", "text twice", "extra_info", "rubric"])
    def test_in_a_task_that_is_carried_as_text(self, server: RunningServer, route: str, place: str) -> None:
        row: dict[str, Any] = render_task(STRANGER)
        text = json.dumps(row)[:-1] + ', "id": "another"}'
        rubric = json.dumps(row["rubric"]).replace('"weight"', '"weight": 9, "weight"')
        carried: dict[str, Any] = {
            "text": text,
            "text twice": json.dumps(text),
            "extra_info": {"extra_info": text},
            "rubric": {**row, "rubric": rubric},
        }
        check_error(
            server.post(*ASK[route]("an answer", carried[place])), 422, "appears twice in one object; send it once"
        )

    def test_a_number_that_no_float_holds_is_not_a_bug(self, tasks: Path, tmp_path: Path) -> None:
        length = ("--overlong-limit", "100", "--overlong-buffer", "50")
        with serve(tasks, tmp_path, *length) as server:
            for tokens in (2**63, 2**70, 10**400):
                answer = server.post("/score", {"task": "task 0", "response": "x", "tokens": tokens})
                check_error(answer, 422, "tokens")
                answer = server.post("/slime", {"label": "task 0", "response": "x", "response_length": tokens})
                check_error(answer, 422, "response_length: ")
                path, body = ask_verify("an answer")
                body["response"]["usage"] = {"output_tokens": tokens}
                check_error(server.post(path, body), 422, "the length of the response is not known")
                check_error(
                    server.post("/score", {"task": tokens, "response": "x", "tokens": 1}), 422, "no task matches"
                )
            assert server.list_events("bug") == []

    def test_in_the_length_of_a_body(self, server: RunningServer) -> None:
        data = json.dumps(ask_score("an answer")[1]).encode()
        chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)
        smuggled = head(server, path="/health", method="GET")
        for lines in (
            ("Content-Length: 5", "Transfer-Encoding: chunked"),
            ("Transfer-Encoding: chunked", "Content-Length: 5"),
        ):
            answer = send(server, head(server, *lines) + chunked + smuggled)
            assert answer.startswith(b"HTTP/1.1 400 ")
            assert answer.count(b"HTTP/1.1 ") == 1
            assert b"connection: close" in answer
        old = head(server, "Transfer-Encoding: chunked").replace(b"HTTP/1.1", b"HTTP/1.0")
        assert send(server, old + chunked).startswith(b"HTTP/1.1 400 ")
        assert send(server, head(server, "Transfer-Encoding: chunked", "Connection: close") + chunked).startswith(
            b"HTTP/1.1 200 "
        )
        for lines in (
            ("Content-Length: 5", "Content-Length: 6"),
            ("Content-Length: +5",),
            ("Transfer-Encoding: xchunked",),
        ):
            assert send(server, head(server, *lines) + chunked).startswith(b"HTTP/1.1 400 ")

    def test_in_the_encoding_of_a_body(self, server: RunningServer) -> None:
        path, body = ask_score("an answer")
        check_error(
            server.post(path, body, Content_Encoding="gzip"), 415, "the body is encoded as 'gzip'; send it as plain"
        )
        assert server.post(path, body, Content_Encoding="identity").status == 200


class TestNames:
    def test_a_page_that_gives_its_own_name_our_address_is_refused(self, server: RunningServer) -> None:
        port = server.port
        names = (
            "evil.example",
            f"evil.example:{port}",
            "127.0.0.1:1",
            f"127.0.0.1.evil.example:{port}",
            "localhost",
            "",
        )
        for name in names:
            check_error(
                server.post(*ask_score("an answer"), Host=name), 421, f"the host name {name!r} is not allowed; use"
            )
            assert server.get("/health", Host=name).status == 421
        for name in (f"127.0.0.1:{port}", f"LocalHost:{port}", f"[::1]:{port}"):
            assert server.post(*ask_score("an answer"), Host=name).status == 200

    def test_names_can_be_allowed(self, tasks: Path, tmp_path: Path) -> None:
        with serve(tasks, tmp_path, "--allow-host", "Rewards.example", "--allow-host", "proxy:81") as server:
            for name, status in {
                "rewards.example": 200,
                "rewards.example:443": 200,
                "proxy:81": 200,
                "proxy": 421,
            }.items():
                assert server.get("/health", Host=name).status == status

    def test_a_slash_too_many_leads_nowhere_else(self, server: RunningServer) -> None:
        path, body = ask_score("an answer")
        assert server.post(f"{path}/", body).status == 200
        for strange in (f"{path}//", f"/{path}", "/health/x/", "//evil.example/score"):
            answer = server.post(strange, body)
            assert (answer.status, "location" in answer.headers) == (404, False)


def test_a_refusal_does_not_say_where_the_servers_files_are(server: RunningServer, tasks: Path) -> None:
    answer = server.post(*ask_score("an answer", "no such task"))
    check_error(answer, 422, "no task matches 'no such task' (tasks.jsonl has 3 others); ")
    assert str(tasks.parent) not in answer.text


class TestCost:
    """What is cheap to send must be cheap to refuse."""

    def test_a_list_of_wrong_entries_is_refused_at_its_first(self, server: RunningServer) -> None:
        wrong = [1] * 50_000
        answer = server.post("/openrlhf", {"query": wrong, "prompts": wrong, "labels": [None] * 50_000})
        assert answer.body == {"error": "query.0: Input should be a valid string (got 1); 2 more"}
        answer = server.post("/score", {"task": "task 0", "responses": wrong})
        assert answer.body == {"error": "responses.0: Input should be a valid string (got 1)"}

    def test_an_object_of_thousands_of_keys_is_refused_whole(self, server: RunningServer) -> None:
        keys = {f"key {number}": 1 for number in range(1001)}
        check_error(server.post("/score", keys), 422, "the body: an object with 1,001 keys; send at most 1,000")

    def test_tiny_chunks_end_their_connection(self, server: RunningServer) -> None:
        opening = head(server, "Transfer-Encoding: chunked", "Connection: close")
        assert send(server, opening, b"1\r\n \r\n" * 50_000) == b""
        data = b" " * 100_000 + json.dumps(ask_score("an answer")[1]).encode()
        chunks = [data[at : at + 100] for at in range(0, len(data), 100)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
        assert send(server, opening, body + b"0\r\n\r\n").startswith(b"HTTP/1.1 200 OK")

    def test_a_large_head_is_refused_before_it_is_read(self, server: RunningServer) -> None:
        fields = [f"X-{number}: y" for number in range(20_000)]
        assert send(server, head(server, *fields)).startswith(b"HTTP/1.1 400 Bad Request")
