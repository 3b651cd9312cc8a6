"""A real HTTP server on loopback that misbehaves on command, one behaviour per call.

`server.script("429", "ok")` queues behaviours; `server.always` is what it does when the queue is empty. It counts what
a client must not do: too many calls at once, too many connections, connections left open. `python -m tests.llm.server`
runs the well-behaved one alone and prints its port.
"""

import asyncio
import gzip
import json
import random
import threading
import time
import zlib
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from html import escape
from typing import Any, Self
from urllib.parse import quote

from tests.patience import PATIENCE

HANG_SECONDS = 2 * PATIENCE


@dataclass
class Exchange:
    """One request and the way back."""

    server: "MisbehavingServer"
    headers: dict[str, str]
    body: dict[str, Any]
    writer: asyncio.StreamWriter
    arrived: float = field(default_factory=time.monotonic)
    behaviour: str = ""
    sent: int = 0
    """Bytes of the body of its answer."""

    @property
    def question(self) -> str:
        return str(self.body["messages"][-1]["content"])

    async def send(
        self, status: int, body: bytes, headers: dict[str, str] | None = None, *, length: int | None = None
    ) -> None:
        self.sent = len(body)
        lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(body) if length is None else length}"]
        fields = {"Content-Type": "application/json", **(headers or {})}
        lines += [f"{name}: {value}" for name, value in fields.items()]
        self.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await self.writer.drain()

    async def send_error(self, status: int, text: str = "as told", headers: dict[str, str] | None = None) -> None:
        await self.send(status, json.dumps({"error": {"message": text}}).encode(), headers)

    async def send_message(self, message: dict[str, Any], **fields: Any) -> None:
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
        reply = {"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 3}, **fields}
        await self.send(200, json.dumps(reply).encode())

    async def send_content(self, content: Any) -> None:
        await self.send_message({"content": content})

    def reset(self) -> None:
        self.writer.transport.abort()


Behaviour = Callable[[Exchange], Awaitable[None]]


async def answer(exchange: Exchange) -> None:
    if exchange.server.think_seconds:
        await asyncio.sleep(exchange.server.think_seconds)
    await exchange.send_content(f"re: {exchange.question}")


def fail_with(status: int) -> Behaviour:
    return lambda exchange: exchange.send_error(status)


async def throttle_for_a_moment(exchange: Exchange) -> None:
    await exchange.send_error(429, "slow down", {"Retry-After": "0.3"})


async def throttle_for_a_second(exchange: Exchange) -> None:
    await exchange.send_error(429, "slow down", {"Retry-After": "1"})


async def throttle_until_a_date(exchange: Exchange) -> None:
    # A date has whole seconds: two ahead are between one and two.
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)
    await exchange.send_error(429, "slow down", {"Retry-After": moment})


async def throttle_for_a_day(exchange: Exchange) -> None:
    await exchange.send_error(429, "come back tomorrow", {"Retry-After": "86400"})


async def throttle_for_an_hour(exchange: Exchange) -> None:
    await exchange.send_error(429, "slow down", {"Retry-After": "3600"})


async def answer_when_let_go(exchange: Exchange) -> None:
    await exchange.server.gate.wait()
    await answer(exchange)


async def fail_when_let_go(exchange: Exchange) -> None:
    await exchange.server.gate.wait()
    await exchange.send_error(503)


async def reject_schema_when_let_go(exchange: Exchange) -> None:
    await exchange.server.gate.wait()
    await reject_schema(exchange)


async def hang(exchange: Exchange) -> None:
    await asyncio.sleep(HANG_SECONDS)


async def drip(exchange: Exchange) -> None:
    await exchange.send(200, b"", length=1_000)
    while True:
        exchange.writer.write(b" ")
        await exchange.writer.drain()
        await asyncio.sleep(0.02)


async def reset_in_the_body(exchange: Exchange) -> None:
    await exchange.send(200, b'{"choices": [', length=1_000)
    await asyncio.sleep(0.02)
    exchange.reset()


async def reset_before_headers(exchange: Exchange) -> None:
    exchange.reset()


async def close_before_headers(exchange: Exchange) -> None:
    exchange.writer.close()


async def close_in_the_body(exchange: Exchange) -> None:
    await exchange.send(200, b'{"choices": [', length=1_000)
    exchange.writer.close()


async def talk_garbage(exchange: Exchange) -> None:
    exchange.writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
    await exchange.writer.drain()
    exchange.writer.close()


async def reject_schema(exchange: Exchange) -> None:
    kind = exchange.body.get("response_format", {}).get("type")
    await (exchange.send_error(400, "response_format.type json_schema") if kind == "json_schema" else answer(exchange))


async def reject_formats(exchange: Exchange) -> None:
    kind = exchange.body.get("response_format", {}).get("type")
    await (exchange.send_error(422, f"Unsupported: {kind}") if kind else answer(exchange))


async def crash_on_formats(exchange: Exchange) -> None:
    kind = exchange.body.get("response_format", {}).get("type")
    await (exchange.send_error(500, "failed to build a Grammar") if kind else answer(exchange))


def refuse_field(name: str, *, in_words: bool = False) -> Behaviour:
    """An endpoint that refuses one field of the request as OpenAI does for some models, or without saying which."""

    async def behave(exchange: Exchange) -> None:
        if name not in exchange.body:
            await answer(exchange)
            return
        newer = "; use 'max_completion_tokens' instead" if name == "max_tokens" else ""
        error: dict[str, Any] = {"message": f"Unsupported parameter: '{name}'{newer}"}
        if not in_words:
            error |= {"type": "invalid_request_error", "param": name, "code": "unsupported_parameter"}
        await exchange.send(400, json.dumps({"error": error}).encode())

    return behave


async def refuse_long_replies(exchange: Exchange) -> None:
    said = f"max_tokens is too large: {exchange.body['max_tokens']}. This model supports at most 512 completion tokens"
    error = {"message": said, "type": "invalid_request_error", "param": "max_tokens", "code": None}
    await exchange.send(400, json.dumps({"error": error}).encode())


async def forbid_extra_fields(exchange: Exchange) -> None:
    extra = [name for name in ("response_format", "seed") if name in exchange.body]
    if not extra:
        await answer(exchange)
        return
    detail = [{"type": "extra_forbidden", "loc": ["body", extra[0]], "msg": "Extra inputs are not permitted"}]
    await exchange.send(422, json.dumps({"detail": detail}).encode())


@cache
def pack_zeros(megabytes: int) -> bytes:
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join(packer.compress(bytes(1024 * 1024)) for _ in range(megabytes)) + packer.flush()


async def pack_much(exchange: Exchange) -> None:
    await exchange.send(200, pack_zeros(exchange.server.megabytes), {"Content-Encoding": "gzip"})


async def pack(exchange: Exchange) -> None:
    body = json.dumps({"choices": [{"message": {"content": "Yes."}}]}).encode()
    await exchange.send(200, gzip.compress(body), {"Content-Encoding": "gzip"})


async def never_end(exchange: Exchange) -> None:
    exchange.writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        exchange.writer.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
        await exchange.writer.drain()


async def echo_parts(exchange: Exchange) -> None:
    middle = len(exchange.question) // 2
    error = {"message": f"cannot read {exchange.question[middle : middle + 40]}", "type": "bad_request", "code": "c7"}
    await exchange.send(400, json.dumps({"error": error}).encode())


async def echo_key(exchange: Exchange) -> None:
    await exchange.send_error(400, f"bad header: {exchange.headers.get('authorization')}")


async def echo_key_and_refuse(exchange: Exchange) -> None:
    await exchange.send_error(401, f"Incorrect API key: {exchange.headers.get('authorization')}")


async def echo_key_in_reply(exchange: Exchange) -> None:
    await exchange.send_content(f"you sent {exchange.headers.get('authorization')}")


async def echo_prompt(exchange: Exchange) -> None:
    await exchange.send_error(422, f"cannot read {exchange.question!r}")


async def echo_all_as_a_good_error(exchange: Exchange) -> None:
    said = f"no model for {exchange.question} and {exchange.headers.get('authorization')}"
    await exchange.send(200, json.dumps({"error": {"message": said}}).encode())


async def echo_all_on_a_page(exchange: Exchange) -> None:
    said = escape(f"{exchange.question} and {exchange.headers.get('authorization')}")
    await exchange.send(200, f"<html>no gateway for {said}".encode(), {"Content-Type": "text/html"})


async def answer_anew(exchange: Exchange) -> None:
    await exchange.send_content(f"reply {exchange.server.exchanges.index(exchange)}")


async def answer_anew_when_let_go(exchange: Exchange) -> None:
    await exchange.server.gate.wait()
    await answer_anew(exchange)


async def fail_half(exchange: Exchange) -> None:
    await (exchange.send_error(503) if exchange.server.random.random() < 0.5 else answer(exchange))


BEHAVIOURS: dict[str, Behaviour] = {
    "ok": answer,
    **{str(status): fail_with(status) for status in (400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 425, 429)},
    **{str(status): fail_with(status) for status in (500, 502, 503, 529)},
    "429 for a moment": throttle_for_a_moment,
    "429 for a second": throttle_for_a_second,
    "429 until a date": throttle_until_a_date,
    "429 for a day": throttle_for_a_day,
    "429 for an hour": throttle_for_an_hour,
    "ok when let go": answer_when_let_go,
    "503 when let go": fail_when_let_go,
    "rejects json_schema when let go": reject_schema_when_let_go,
    "moved": lambda exchange: exchange.send(308, b"", {"Location": "https://elsewhere.example/v1"}),
    "moved, with the prompt": lambda exchange: exchange.send(
        307, b"", {"Location": f"https://elsewhere.example/v1?q={quote(exchange.question)}"}
    ),
    "hang": hang,
    "drip": drip,
    "reset in the body": reset_in_the_body,
    "reset before headers": reset_before_headers,
    "close before headers": close_before_headers,
    "close in the body": close_in_the_body,
    "garbage": talk_garbage,
    "empty body": lambda exchange: exchange.send(200, b""),
    "html": lambda exchange: exchange.send(200, b"<html><body>Bad gateway", {"Content-Type": "text/html"}),
    "invalid utf-8": lambda exchange: exchange.send(200, b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'),
    "truncated json": lambda exchange: exchange.send(200, b'{"choices": [{"message": {"content": "tru'),
    "deep json": lambda exchange: exchange.send(200, b"[" * 200_000),
    "a list": lambda exchange: exchange.send(200, b"[]"),
    "no choices": lambda exchange: exchange.send(200, b'{"choices": []}'),
    "missing choices": lambda exchange: exchange.send(200, b'{"object": "error"}'),
    "no message": lambda exchange: exchange.send(200, b'{"choices": [{"index": 0}]}'),
    "a null choice": lambda exchange: exchange.send(200, b'{"choices": [null]}'),
    "number content": lambda exchange: exchange.send_content(5),
    "null content": lambda exchange: exchange.send_content(None),
    "parts content": lambda exchange: exchange.send_content([{"type": "text", "text": "one, "}, {"text": "two"}, {}]),
    "refusal": lambda exchange: exchange.send_message({"content": None, "refusal": "I cannot help with that."}),
    "thinking only": lambda exchange: exchange.send_content("<think>Let me see. The answer is"),
    "thinking first": lambda exchange: exchange.send_content("<think>\nHm, {}.\n</think>\n\nYes."),
    "stray thinking": lambda exchange: exchange.send_content("Let me see.</think>Yes."),
    "reasoning content": lambda exchange: exchange.send_message({"content": "Yes.", "reasoning_content": "Hm."}),
    "lone surrogate": lambda exchange: exchange.send_content("half \ud83d of a pair, \x00"),
    "wrong type": lambda exchange: exchange.send(
        200, b'{"choices": [{"message": {"content": "Yes."}}]}', {"Content-Type": "application/octet-stream"}
    ),
    "odd usage": lambda exchange: exchange.send_message({"content": "Yes."}, usage={"prompt_tokens": "many"}),
    "no usage": lambda exchange: exchange.send_message({"content": "Yes."}, usage=None),
    "rejects json_schema": reject_schema,
    "rejects formats": reject_formats,
    "crashes on formats": crash_on_formats,
    "refuses max_tokens": refuse_field("max_tokens"),
    "refuses max_tokens in words": refuse_field("max_tokens", in_words=True),
    "refuses temperature": refuse_field("temperature"),
    "refuses top_k in words": refuse_field("top_k", in_words=True),
    "refuses chat_template_kwargs": refuse_field("chat_template_kwargs"),
    "refuses long replies": refuse_long_replies,
    "forbids extra fields": forbid_extra_fields,
    "no credit": lambda exchange: exchange.send(
        429, b'{"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}'
    ),
    "gzip": pack,
    "much gzip": pack_much,
    "broken gzip": lambda exchange: exchange.send(200, b"\x1f\x8b\x08 bytes", {"Content-Encoding": "gzip"}),
    "brotli": lambda exchange: exchange.send(200, b"bytes", {"Content-Encoding": "br"}),
    "endless": never_end,
    "echoes parts of the prompt": echo_parts,
    "echoes the key": echo_key,
    "echoes the key and refuses": echo_key_and_refuse,
    "echoes the key in a reply": echo_key_in_reply,
    "echoes the prompt": echo_prompt,
    "a good error": lambda exchange: exchange.send(
        200, b'{"error": {"message": "the model is\\n loading", "code": 7}}'
    ),
    "a good error in text": lambda exchange: exchange.send(200, b'{"error": "no GPU is free", "choices": []}'),
    "a good error without words": lambda exchange: exchange.send(200, b'{"error": {"code": 7}, "choices": []}'),
    "a notice": lambda exchange: exchange.send(200, b"no healthy upstream\n", {"Content-Type": "text/plain"}),
    "plain text": lambda exchange: exchange.send(200, b"Yes.\nThe patient is told.", {"Content-Type": "text/plain"}),
    "a stream": lambda exchange: exchange.send(200, b'data: {"choices": [{"delta": {"content": "Yes."}}]}\n\n'),
    "echoes all as a good error": echo_all_as_a_good_error,
    "echoes all on a page": echo_all_on_a_page,
    "half fail": fail_half,
    "a new reply": answer_anew,
    "a new reply when let go": answer_anew_when_let_go,
}


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE) -> bool:
    """True as soon as a condition holds; False where it does not in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


class MisbehavingServer:
    """The server, in a thread of its own. A context manager; `port` is known inside."""

    def __init__(self) -> None:
        self.always = "ok"
        self.think_seconds = 0.0
        self.megabytes = 1
        self.random = random.Random(0)
        self.port = 0
        self.exchanges: list[Exchange] = []
        self.connections = 0
        self.open_connections = 0
        self.in_flight = 0
        self.peak = 0
        self.gate = asyncio.Event()
        self._script: deque[str] = deque()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def spec(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1#test-model"

    @property
    def calls(self) -> int:
        return len(self.exchanges)

    def script(self, *behaviours: str) -> None:
        self._script.extend(behaviours)

    def let_go(self) -> None:
        self._loop.call_soon_threadsafe(self.gate.set)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=512)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        self._server.close()
        await self._let_the_loop_turn()  # a connection just accepted becomes one of ours
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:  # a task cancelled before its first step closed nothing
            writer.transport.abort()
        await self._let_the_loop_turn()

    @staticmethod
    async def _let_the_loop_turn() -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        task = self._loop.create_task(self._serve_connection(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_connections += 1
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                while not writer.is_closing():
                    await self._serve_call(reader, writer)
        finally:
            self.open_connections -= 1
            writer.transport.abort()
            self._writers.discard(writer)

    async def _serve_call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[1:]
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        exchange = Exchange(self, headers, json.loads(body), writer)
        exchange.behaviour = self._script.popleft() if self._script else self.always
        self.exchanges.append(exchange)
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        gone = asyncio.ensure_future(reader.read(1))  # a client that hangs up ends the call
        doing = asyncio.ensure_future(BEHAVIOURS[exchange.behaviour](exchange))
        try:
            await asyncio.wait({gone, doing}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise ConnectionResetError
            doing.result()
        finally:
            self.in_flight -= 1
            for task in (gone, doing):
                task.cancel()
            await asyncio.gather(gone, doing, return_exceptions=True)


if __name__ == "__main__":
    with MisbehavingServer() as alone:
        print(alone.port, flush=True)  # noqa: T201
        while True:
            time.sleep(60)
