"""Runs the real `vf-eval` against an endpoint whose answers are known, and tells what its traces hold.

    python verifiers_eval.py PAIRS FOLDER ARGUMENTS…

Each prompt is answered with its pairs' responses in turn, streamed where that is asked for. A harness that offers tools
gets the first turn of the pair's transcript first, and the response once it has sent the result of the call. `vf-eval`
runs in FOLDER; `uv`, which its programs ask for, is a script there that answers with this environment, so that nothing
is downloaded.
"""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

from aiohttp import web
from tests.train.parity import load_pairs, make_messages

ROOT = Path(__file__).parents[3]
UV = """#!/bin/sh
case "$*" in
  *--help) echo --script ;;
  "python find "*) echo {python} ;;
esac
"""


class Policy:
    """An OpenAI-compatible endpoint that says what it is told to."""

    def __init__(self, folder: Path) -> None:
        said = defaultdict(list)
        for pair in load_pairs(folder):
            said["\n".join(message.content for message in pair.task.messages)].append(pair)
        self._turns: dict[str, Iterator[Any]] = {prompt: cycle(pairs) for prompt, pairs in said.items()}
        self._pairs = said
        self.port = 0

    def start(self) -> None:
        ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True).start()
        assert ready.wait(60)

    async def _serve(self, ready: threading.Event) -> None:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._complete)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        ready.set()
        await asyncio.Event().wait()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        messages, is_first = body["messages"], body.get("tools")
        calls = [place for place, message in enumerate(messages) if message.get("tool_calls")]
        prompt = "\n".join(message["content"] for message in messages[: calls[0] if calls else None])
        if calls:
            given = json.loads(messages[calls[0]]["tool_calls"][0]["function"]["arguments"])
            pair = next(pair for pair in self._pairs[prompt] if pair.sample == given["sample"])
        else:
            pair = next(self._turns[prompt])
        usage = {"prompt_tokens": 1, "completion_tokens": pair.tokens, "total_tokens": pair.tokens + 1}
        about = {"id": "x", "created": 0, "model": body["model"]}
        message = make_messages(pair)[0] if is_first else {"role": "assistant", "content": pair.text}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return web.json_response({**about, "object": "chat.completion", "choices": [choice], "usage": usage})
        choices = [{"index": 0, "delta": message}, {"index": 0, "delta": {}, "finish_reason": "stop"}]
        chunks = [{"choices": [choice]} for choice in choices] + [{"choices": [], "usage": usage}]
        return await self._stream(request, [{**about, "object": "chat.completion.chunk", **chunk} for chunk in chunks])

    async def _stream(self, request: web.Request, chunks: list[dict[str, Any]]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for line in [*map(json.dumps, chunks), "[DONE]"]:
            await response.write(f"data: {line}\n\n".encode())
        return response


def make_surroundings(folder: Path) -> dict[str, str]:
    """The variables of `vf-eval`: our modules, a home of its own, and `uv` as it needs it."""
    tools = folder / "bin"
    tools.mkdir(parents=True, exist_ok=True)
    (tools / "uv").write_text(UV.format(python=sys.executable))
    (tools / "uv").chmod(0o755)
    modules = [ROOT, ROOT / "tests/train/scripts", ROOT / "examples/verifiers"]
    return {
        **os.environ,
        "HOME": str(folder),
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": ":".join(map(str, modules)),
        "POLICY_KEY": "none",
    }


def run(policy: Policy, folder: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    command = [
        str(Path(sys.executable).with_name("vf-eval")),
        *arguments,
        *("--no-push", "--no-rich", "--model", "stub", "--output-dir", str(folder / "outputs"), "--run.dir", "run"),
        *("--client.base-url", f"http://127.0.0.1:{policy.port}/v1", "--client.api-key-var", "POLICY_KEY"),
    ]
    return subprocess.run(
        command, cwd=folder, env=make_surroundings(folder), capture_output=True, text=True, check=False
    )


def read_traces(path: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [summarize(trace) for row in rows for trace in row["traces"]]


def summarize(trace: dict[str, Any]) -> dict[str, Any]:
    data, reward = trace["task"]["data"], trace["rewards"].get("rubric")
    return {
        "task": data["id"],
        "reply": trace["nodes"][-1]["message"]["content"],
        "reward": None if reward is None else reward["score"],
        "ok": trace["ok"],
        "errors": [f"{error['type']}: {error['message']}" for error in trace["errors"]],
        "metrics": trace["metrics"],
        "parts": trace["info"].get("reward"),
        "weights": [item["weight"] for item in data["row"]["rubric"]],
    }


def main(pairs: Path, folder: Path, arguments: list[str]) -> None:
    started = time.monotonic()
    policy = Policy(pairs)
    policy.start()
    done = run(policy, folder, arguments)
    said = {
        "code": done.returncode,
        "end": (done.stdout + done.stderr)[-2000:],
        "traces": read_traces(folder / "outputs/run/traces.jsonl"),
        "seconds": round(time.monotonic() - started, 1),
    }
    print(json.dumps(said))  # noqa: T201 - the line that the test reads


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
