"""A judge that takes its time and whose verdicts are bits of a number in the response, so that a wrong reward shows.

It is as plain as HTTP allows, to leave the processor to the server under test. Run: python bench/serve_stub.py PORT
LATENCY_SECONDS ITEMS. It prints `ready` when it listens.
"""

import asyncio
import json
import re
import sys

_NUMBER = re.compile(rb"answer #(\d+)#")
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


def decide(number: int, items: int) -> list[bool]:
    """The verdicts on the response with this number."""
    bits = number * 0x9E3779B97F4A7C15
    return [bool(bits >> (index % 61) & 1) for index in range(items)]


def write_reply(number: int, items: int) -> bytes:
    verdicts = {str(index): verdict for index, verdict in enumerate(decide(number, items), 1)}
    message = {"role": "assistant", "content": json.dumps({"satisfied": verdicts})}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    body = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 2000, "completion_tokens": 200}}).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Stub(asyncio.Protocol):
    """One connection: a request at a time, each answered after the latency."""

    def __init__(self, latency: float, items: int) -> None:
        self._latency, self._items = latency, items
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer as soon as a request is whole."""
        self._received += data
        head, mark, body = self._received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not mark or length is None or len(body) < int(length[1]):
            return
        found = _NUMBER.search(body)
        assert found is not None
        reply = write_reply(int(found[1]), self._items)
        self._received = b""
        asyncio.get_running_loop().call_later(self._latency, self._transport.write, reply)


async def serve(port: int, latency: float, items: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Stub(latency, items), "127.0.0.1", port, backlog=512)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
