"""The server under load: 64 connections for a minute, a judge of 100 ms; then the judge is killed and comes back.

Every reward is compared with what plain `score` gives. Options: --seconds N, --rate N (requests a second from all
connections together; 0 is as fast as they can), --only load|outage.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aggregate import make_task
from prorubric import Message, Task, save_tasks, score
from serve_stub import decide

ROOT = Path(__file__).parents[1]
CONNECTIONS, LATENCY, CRITERIA, SCHEME = 64, 0.1, 30, "additive"
WARM_UP_SECONDS = 5.0
PROMPT = "<|im_start|>user\nWhat would you do about this, and why?<|im_end|>\n<|im_start|>assistant\n"


@dataclass
class Tally:
    """What the clients saw."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    rewards: list[tuple[int, float]] = field(default_factory=list)
    """Numbers of responses with their rewards."""
    known_at: list[float] = field(default_factory=list)
    """When each known reward came, on the loop's clock."""


@dataclass
class Load:
    """How much is asked, until when."""

    url: str
    task: Task
    until: float
    pause: float
    """Seconds from one request of a connection to its next; 0 where each follows the last at once."""
    is_direct: bool = False
    """Ask the judge itself, to see what the machine adds by itself."""
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(10**9)))


def write_body(route: str, task: Task, text: str) -> dict[str, Any]:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    bodies: dict[str, dict[str, Any]] = {
        "/score": {"task": task.id, "response": text},
        "/openrlhf": {"query": [f"{PROMPT}{text}<|im_end|>"], "prompts": [PROMPT], "labels": [task.id]},
        "/slime": {"prompt": PROMPT, "response": text, "label": task.id},
        "/verify": {"responses_create_params": {}, "response": {"output": [said]}, "task_id": task.id},
    }
    return bodies[route]


def read_reward(route: str, body: Any) -> float:
    value = {
        "/score": lambda: body["value"],
        "/openrlhf": lambda: body["rewards"][0],
        "/slime": lambda: body,
        "/verify": lambda: body["reward"],
    }[route]()
    return float(value)


class Connection:
    """A connection that is kept, with no more HTTP than is needed: the processor is the server's."""

    def __init__(self, url: str) -> None:
        self._port = int(url.rpartition(":")[2])
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, route: str, body: Any) -> tuple[int, Any]:
        """Status and body of an answer."""
        data = json.dumps(body).encode()
        first = f"POST {route} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nContent-Type: application/json"
        head = f"{first}\r\nContent-Length: {len(data)}"
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(head.encode() + b"\r\n\r\n" + data)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        return int(answer[9:12]), json.loads(await reader.readexactly(length))

    def close(self) -> None:
        """Hang up; the next request opens a new one."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


async def ask(connection: Connection, load: Load, tally: Tally) -> None:
    loop = asyncio.get_running_loop()
    number = next(load.numbers)
    route = ("/score", "/openrlhf", "/slime", "/verify")[number % 4]
    text = f"answer #{number}# " + "This is what I would do. " * 70
    body = {"messages": [text]} if load.is_direct else write_body(route, load.task, text)
    began = loop.time()
    status, answer = await connection.post("/v1/chat/completions" if load.is_direct else route, body)
    tally.seconds.append(loop.time() - began)
    tally.statuses[str(status)] += 1
    if status == 200 and not load.is_direct:
        tally.known_at.append(loop.time())
        tally.rewards.append((number, read_reward(route, answer)))


async def keep_asking(load: Load, tally: Tally, worker: int) -> None:
    loop = asyncio.get_running_loop()
    connection = Connection(load.url)
    next_at = loop.time() + (load.pause or LATENCY) * worker / CONNECTIONS
    while loop.time() < load.until:
        await asyncio.sleep(max(0.0, next_at - loop.time()))
        next_at = max(next_at + load.pause, loop.time())
        try:
            await ask(connection, load, tally)
        except (OSError, asyncio.IncompleteReadError) as error:
            tally.statuses[type(error).__name__] += 1
            connection.close()
    connection.close()


async def run_load(load: Load) -> Tally:
    tally = Tally()
    await asyncio.gather(*(keep_asking(load, tally, worker) for worker in range(CONNECTIONS)))
    return tally


def count_wrong(tally: Tally, task: Task) -> int:
    """Rewards that are not what plain `score` gives, to the bit."""
    return sum(reward != score(decide(number, CRITERIA), task, SCHEME).value for number, reward in tally.rewards)


def start_stub(port: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "bench/serve_stub.py"), str(port), str(LATENCY), str(CRITERIA)]
    stub = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert stub.stdout is not None
    stub.stdout.readline()
    return stub


@contextmanager
def run_server(folder: Path, port: int) -> Iterator[tuple[str, int]]:
    """The server with its log in a file, as an operator has it."""
    told = ["--judge", f"http://127.0.0.1:{port}/v1#stub", "--tasks", str(folder / "tasks.jsonl"), "--scheme", SCHEME]
    limits = ["--concurrency", str(CONNECTIONS), "--retries", "2", "--port", "0", "--json"]
    with (folder / "log").open("w") as log:
        command = [sys.executable, "-m", "prorubric", "serve", *told, *limits]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder)
        assert server.stdout is not None
        try:
            yield json.loads(server.stdout.readline())["url"], server.pid
        finally:
            server.terminate()
            print(f"server ended with {server.wait(60)}")


def read_memory(pid: int) -> float:
    """Resident memory in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def read_cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def measure_load(urls: tuple[str, str], pid: int, task: Task, options: argparse.Namespace) -> None:
    loop = asyncio.get_running_loop()
    pause = CONNECTIONS / options.rate if options.rate else 0.0
    alone = await run_load(Load(urls[1], task, loop.time() + WARM_UP_SECONDS, pause or 0.5 * LATENCY, is_direct=True))
    await run_load(Load(urls[0], task, loop.time() + WARM_UP_SECONDS, pause))
    memory, cpu, began = read_memory(pid), read_cpu(pid), loop.time()
    tally = await run_load(Load(urls[0], task, loop.time() + options.seconds, pause))
    spent, wall = read_cpu(pid) - cpu, loop.time() - began
    count = len(tally.seconds)
    print(f"{count} requests in {wall:.0f} s over {CONNECTIONS} connections: {count / wall:.0f} a second")
    print(f"statuses {dict(tally.statuses)}, wrong rewards {count_wrong(tally, task)}")
    judge, p99 = print_latency("judge alone", alone), print_latency("server", tally)
    print(f"p99 is {p99 / LATENCY:.2f} x the judge's {LATENCY * 1000:.0f} ms and {p99 / judge:.2f} x its own p99")
    print(f"server CPU {spent / count * 1000:.2f} ms a request, {spent / wall:.0%} of a core")
    now = read_memory(pid)
    print(f"memory {memory:.1f} MB after warming up, {now:.1f} MB at the end: x {now / memory:.3f}")


def print_latency(name: str, tally: Tally) -> float:
    p50, p95, p99 = (float(np.quantile(tally.seconds, share)) * 1000 for share in (0.5, 0.95, 0.99))
    print(f"{name:12} p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms")
    return p99 / 1000


async def measure_outage(url: str, task: Task, stub: subprocess.Popen[str], port: int) -> subprocess.Popen[str]:
    """Kill the judge after 5 s, start it again after 5 more, and look 10 s longer."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    asking = asyncio.create_task(run_load(Load(url, task, began + 20, 0.5)))
    await asyncio.sleep(5)
    stub.kill()
    stub.wait()
    await asyncio.sleep(5)
    back = await asyncio.to_thread(start_stub, port)
    back_at = loop.time()
    tally = await asking
    after = [moment for moment in tally.known_at if moment > back_at]
    first = f"first reward {min(after) - back_at:.2f} s after its return, {len(after)} in all"
    print(f"judge killed at 5 s, back at {back_at - began:.1f} s: statuses {dict(tally.statuses)}")
    print(f"wrong rewards {count_wrong(tally, task)}; {first}")
    return back


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=0.0)
    parser.add_argument("--only", choices=["load", "outage"])
    options = parser.parse_args()
    question = (Message(role="user", content="I would like to know what to do about this, and why. " * 12),)
    task = make_task(0, np.random.default_rng(0)).model_copy(update={"id": "task", "messages": question})
    assert len(task.rubric) == CRITERIA
    port = 21_000 + os.getpid() % 10_000
    stub = start_stub(port)
    try:
        with (
            tempfile.TemporaryDirectory() as name,
            _saved(Path(name), task),
            run_server(Path(name), port) as (url, pid),
        ):
            if options.only != "outage":
                asyncio.run(measure_load((url, f"http://127.0.0.1:{port}"), pid, task, options))
            if options.only != "load":
                stub = asyncio.run(measure_outage(url, task, stub, port))
    finally:
        stub.kill()
        stub.wait()


@contextmanager
def _saved(folder: Path, task: Task) -> Iterator[None]:
    save_tasks(folder / "tasks.jsonl", [task])
    yield


if __name__ == "__main__":
    began = time.perf_counter()
    main()
    print(f"({time.perf_counter() - began:.0f} s in all)")
