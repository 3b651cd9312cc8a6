"""A real server in a process of its own, and a client that speaks plain HTTP to it."""

import asyncio
import http.client
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tests.cli.forking import ForkedProgram
from tests.cli.program import PROGRAM, make_environment, start_program
from tests.llm.server import BEHAVIOURS, Exchange, MisbehavingServer
from tests.patience import PATIENCE
from tests.reward.judging import READABLE

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)


@dataclass
class RunningServer:
    """`prorubric serve` with its log in a file, so that nobody has to read along."""

    options: tuple[str, ...]
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()
    """A command that runs the server, as with fewer open files."""
    url: str = ""

    def __enter__(self) -> Self:
        self._log = (self.folder / "log.jsonl").open("w+b")
        listening, told = os.pipe()
        with os.fdopen(listening, "rb") as out:
            self.process = self._start(told)
            os.close(told)
            first = out.readline()
        assert first, self.read_log()
        self.started = json.loads(first)
        self.url, self.port = self.started["url"], self.started["port"]
        return self

    def _start(self, out: int) -> subprocess.Popen[bytes] | ForkedProgram:
        arguments = ("serve", "--port", "0", "--json", *self.options)
        if not self.prefix:
            return start_program(*arguments, cwd=ROOT, out=out, err=self._log.fileno(), **self.environment)
        return subprocess.Popen(
            [*self.prefix, *PROGRAM, *arguments],
            cwd=ROOT,
            env=make_environment(**self.environment),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=self._log,
        )

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self._log.close()

    def read_log(self) -> str:
        return (self.folder / "log.jsonl").read_text(encoding="utf-8")

    def list_events(self, event: str) -> list[dict[str, Any]]:
        lines = self.read_log().splitlines(keepends=True)
        rows = [json.loads(line) for line in lines if line.endswith("\n")]  # the last may be half written
        return [row for row in rows if row["event"] == event]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and give the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, None, headers)

    def post(self, path: str, body: Any, **headers: str) -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", path, data, {"Content-Type": "application/json", **headers})

    def ask(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            fields = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, fields)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read().decode())
        finally:
            connection.close()

    def count(self, metric: str) -> float:
        """One value of /metrics, by its name with labels."""
        lines = self.get("/metrics").text.splitlines()
        return next((float(line.rpartition(" ")[2]) for line in lines if line.rpartition(" ")[0] == metric), 0.0)


class JudgeAt(MisbehavingServer):
    """The misbehaving server at a port of our choice, so that it can come back where it was."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.port = port
        self.always = "judge"

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=512)
        self.port = self._server.sockets[0].getsockname()[1]


HELD = "judge when told"


async def judge_when_told(exchange: Exchange) -> None:
    """A call is held for as long as its server's `always` says so, and judged then."""
    while exchange.server.always == HELD:
        await asyncio.sleep(0.01)
    await READABLE["judge"](exchange)


BEHAVIOURS[HELD] = judge_when_told


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)
