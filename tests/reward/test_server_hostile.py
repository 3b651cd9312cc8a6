"""Clients that mean harm, over real sockets: what they send half, slowly, twice or under a false name."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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


def connect(server: RunningServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def head(server: RunningServer, *lines: str, path: str = "/score", method: str = "POST") -> bytes:
    first = (f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "Content-Type: application/json")
    return "\r\n".join((*first, *lines, "", "")).encode()


def send(server: RunningServer, *parts: bytes) -> bytes:
    """Everything that comes back until the server hangs up; nothing after the first answer is kept waiting for."""
    with connect(server) as client:
        for part in parts:
            client.sendall(part)
        client.shutdown(socket.SHUT_WR)
        return read_all(client)


def read_all(client: socket.socket) -> bytes:
    received = b""
    try:
        while part := client.recv(65536):
            received += part
    except ConnectionResetError:
        pass
    return received


@contextmanager
def flood(server: RunningServer, number: int, first_bytes: bytes) -> Iterator[list[socket.socket]]:
    """Many connections that send the beginning of a request and then nothing."""
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(server)) for _ in range(number)]
        for client in clients:
            try:
                client.sendall(first_bytes)
            except OSError:
                pass  # closed already, to make room
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
        with serve(tasks, tmp_path, "--limit", "8", "--body-seconds", "60", prefix=FEW_FILES) as server:
            half = head(server, "Content-Length: 1000") + b"{"
            with flood(server, 400, half):
                check_serves(server)
                assert server.get("/health").body["in_flight"] == 0
            assert len(server.read_log()) < 200_000

    def test_a_head_that_is_not_sent_in_time_is_a_408(self, tasks: Path, tmp_path: Path) -> None:
        with serve(tasks, tmp_path, "--header-seconds", "0.5") as server:
            with connect(server) as slow, connect(server) as silent:
                slow.sendall(b"GET /health HTTP/1.1\r\n")
                assert read_all(slow).startswith(b"HTTP/1.1 408 Request Timeout\r\n")
                assert read_all(silent) == b""
            with connect(server) as client:  # a letter now and then does not help
                client.sendall(head(server, method="GET", path="/health"))
                assert client.recv(65536).startswith(b"HTTP/1.1 200 OK")
                end = time.monotonic() + PATIENCE
                with pytest.raises(OSError):  # noqa: PT011 - reset or broken pipe, as it happens
                    while time.monotonic() < end:
                        client.sendall(b"G")
                        time.sleep(0.05)

    def test_a_body_that_is_not_sent_in_time_is_a_408(self, tasks: Path, tmp_path: Path) -> None:
        with serve(tasks, tmp_path, "--body-seconds", "0.5") as server, connect(server) as client:
            client.sendall(head(server, "Content-Length: 100") + b"{")
            answer = read_all(client)
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"the body did not arrive within 0.5 s; send it faster, or raise --body-seconds" in answer

    def test_the_largest_unfinished_body_makes_room_for_others(self, tasks: Path, tmp_path: Path) -> None:
        with serve(tasks, tmp_path, "--body-limit", "40000", "--total-body-limit", "100000") as server:
            with ExitStack() as stack:
                clients = [stack.enter_context(connect(server)) for _ in range(4)]
                for size, client in zip((10_000, 30_000, 39_000, 39_000), clients, strict=True):
                    client.sendall(head(server, "Content-Length: 39500") + b" " * size)
                answers = [read_all(clients[2])] if clients[2].recv(1, socket.MSG_PEEK) else []
                assert answers[0].startswith(b"HTTP/1.1 429 ")
                assert b"bodies of requests hold more than 100,000 bytes" in answers[0]
                check_serves(server)
                for client in (clients[0], clients[1], clients[3]):
                    client.setblocking(False)
                    with pytest.raises(BlockingIOError):
                        client.recv(1)

    def test_an_answer_that_nobody_takes_does_not_hold_its_connection(self, tasks: Path, tmp_path: Path) -> None:
        path, body = ask_verify("an answer")
        data = json.dumps({**body, "padding": "x" * 4_000_000}).encode()
        with serve(tasks, tmp_path, "--body-seconds", "1", prefix=FEW_FILES) as server, ExitStack() as stack:
            for _ in range(3):
                client = stack.enter_context(socket.socket())
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.connect(("127.0.0.1", server.port))
                client.sendall(head(server, f"Content-Length: {len(data)}", path=path) + data)
            wait_until(lambda: count_sockets(server) == 1)  # its listener alone


def count_sockets(server: RunningServer) -> int:
    """Connections and listeners of a server's process at its port."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(int(row[1].rpartition(":")[2], 16) == server.port and row[3] in ("01", "0A", "08") for row in rows)
