"""A generator that takes its time and always gives the same sound grouping of 12 items: for bench/compile.py.

Run: python bench/compile_stub.py PORT LATENCY_SECONDS. It prints `ready` when it listens. A bare loop over sockets: at
thousands of calls a second, on few cores, the stub must not be what is measured. Every answer takes the same time, so
that what is due stands in a queue.
"""

import json
import selectors
import socket
import sys
import time
from collections import deque

ITEMS = 12
_MOST_BYTES = 1 << 18
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


class Stub:
    """Connections with a request at a time, each answered after the latency."""

    def __init__(self, listener: socket.socket, latency: float) -> None:
        self._listener, self._latency, self._reply = listener, latency, make_reply()
        self._due: deque[tuple[float, socket.socket]] = deque()
        self._begun: dict[socket.socket, bytes] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)

    def serve(self) -> None:
        """Answer until somebody ends this process."""
        while True:
            wait = max(0.0, self._due[0][0] - time.monotonic()) if self._due else None
            for ready, _ in self._selector.select(wait):
                if ready.fileobj is self._listener:
                    self._selector.register(self._listener.accept()[0], selectors.EVENT_READ)
                elif isinstance(ready.fileobj, socket.socket):
                    self._receive(ready.fileobj)
            self._answer()

    def _receive(self, client: socket.socket) -> None:
        try:
            got = client.recv(_MOST_BYTES)
        except OSError:
            got = b""
        if not got:
            self._selector.unregister(client)
            client.close()
            return
        data = self._begun.pop(client, b"") + got
        if _is_whole(data):
            self._due.append((time.monotonic() + self._latency, client))
        else:
            self._begun[client] = data

    def _answer(self) -> None:
        now = time.monotonic()
        while self._due and self._due[0][0] <= now:
            client = self._due.popleft()[1]
            if client.fileno() >= 0:
                client.sendall(self._reply)


def _is_whole(data: bytes) -> bool:
    head, end, body = data.partition(b"\r\n\r\n")
    if not end:
        return False
    length = head[head.lower().index(b"content-length:") + 15 :].partition(b"\r\n")[0]
    return len(body) >= int(length)


if __name__ == "__main__":
    with socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1024) as listener:
        print("ready", flush=True)
        Stub(listener, float(sys.argv[2])).serve()
