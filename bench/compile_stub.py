"""A generator that takes its time and always gives the same sound grouping of 12 items: for bench/compile.py.

Run: python bench/compile_stub.py PORT LATENCY_SECONDS. It prints `ready` when it listens. A bare protocol and no
framework: at thousands of calls a second the stub must not be what is measured.
"""

import asyncio
import json
import sys

ITEMS = 12
_DESCRIPTION = (
    "The runner knows after reading whether resting the injured knee is enough, and why that follows from the pain. "
    "The advice on training fits the injury. Fails if the decision on rest is wrong, however much else is there."
)


def make_reply() -> bytes:
    thirds = [range(start, start + ITEMS // 3) for start in range(1, ITEMS + 1, ITEMS // 3)]
    rows = [
        {"name": f"Part {i}", "description": _DESCRIPTION, "weight": 12, "atomic_indices": [*indices]}
        for i, indices in enumerate(thirds, 1)
    ]
    message = {"role": "assistant", "content": json.dumps({"criteria": rows})}
    usage = {"prompt_tokens": 1500, "completion_tokens": 300, "total_tokens": 1800}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    body = json.dumps({"id": "stub", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


class Stub(asyncio.Protocol):
    """One connection: a request at a time, answered after the latency."""

    def __init__(self, reply: bytes, latency: float) -> None:
        self._reply, self._latency = reply, latency
        self._data = bytearray()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where answers go."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer when the whole request is there."""
        self._data += data
        head = self._data.find(b"\r\n\r\n")
        if head < 0:
            return
        length = int(self._data[:head].lower().split(b"content-length:")[1].split(b"\r\n")[0])
        if len(self._data) >= head + 4 + length:
            self._data.clear()
            asyncio.get_running_loop().call_later(self._latency, self._answer)

    def _answer(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(self._reply)


async def serve(port: int, latency: float) -> None:
    reply = make_reply()
    await asyncio.get_running_loop().create_server(lambda: Stub(reply, latency), "127.0.0.1", port, backlog=1024)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2])))
