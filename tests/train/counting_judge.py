"""A judge over HTTP that counts what it is asked; a test decides what it says, and may take it away."""

import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Decide = Callable[[str, str], bool]
"""Whether an item holds, from the whole prompt and the name of the model."""


class CountingJudge(ThreadingHTTPServer):
    """Answers every question in the form that its schema asks for."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, decide: Decide) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.decide, self.calls, self.down = decide, Counter[str](), threading.Event()
        self.tokens = 100
        """Of every prompt, as it says."""
        self.fail_after: int | None = None
        """How many calls it answers before it is down."""
        self.lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CountingJudge

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        judge = self.server
        with judge.lock:
            if judge.fail_after is not None and judge.calls.total() >= judge.fail_after:
                judge.down.set()
            if not judge.down.is_set():
                judge.calls[request["model"]] += 1
        if judge.down.is_set():
            self.send_error(503)
            return
        prompt = "\n".join(message["content"] for message in request["messages"])
        holds = judge.decide(prompt, request["model"])
        reply: dict[str, Any] = {"role": "assistant", "content": json.dumps(_fill(request, prompt, holds))}
        usage = {"prompt_tokens": judge.tokens, "completion_tokens": 10}
        body = json.dumps({"choices": [{"message": reply, "finish_reason": "stop"}], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def _fill(request: dict[str, Any], prompt: str, holds: bool) -> Any:
    """A reply in the form of the request's schema."""
    schema = request["response_format"]["json_schema"]["schema"]
    return _make(schema, holds)


def _make(schema: dict[str, Any], holds: bool) -> Any:
    if "properties" in schema:
        return {name: _make(inner, holds) for name, inner in schema["properties"].items()}
    if "enum" in schema:
        return schema["enum"][-1 if holds else 0]
    if schema.get("type") == "integer":
        return schema.get("maximum", 3) if holds else schema.get("minimum", 0)
    return holds if schema.get("type") == "boolean" else "because"


@contextmanager
def serve_judge(decide: Decide = lambda *_: True) -> Iterator[CountingJudge]:
    """A judge while the block runs."""
    judge = CountingJudge(decide)
    thread = threading.Thread(target=judge.serve_forever, daemon=True)
    thread.start()
    try:
        yield judge
    finally:
        judge.shutdown()
        judge.server_close()


def find_answer(prompt: str) -> str:
    """The answer that a prompt of the judge shows."""
    found = re.search(r"<<<ANSWER \w+\n(.*?)\nANSWER \w+>>>", prompt, re.DOTALL)
    return found[1] if found else ""
