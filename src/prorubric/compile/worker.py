"""One of several processes of a run: `python -m prorubric.compile.worker SOCKET`, started by `processes`."""

import asyncio
import os
import socket
import sys

from prorubric.compile.processes import serve_shards
from prorubric.llm.together import collecting_rarely

if __name__ == "__main__":
    with collecting_rarely():
        asyncio.run(serve_shards(socket.socket(fileno=int(sys.argv[1]))))
    # The journal and the sockets are closed; to take the interpreter apart would keep the whole run waiting.
    os._exit(0)
