"""A process that has loaded the program once and forks it for every run: most of a short run is loading modules.

What runs is the real program with its own file descriptors, working folder, environment and exit code; only its modules
are there already.
"""

import atexit
import io
import json
import os
import socket
import subprocess
import sys
import traceback
from functools import cache
from importlib import import_module
from pathlib import Path

_VERBS = ("lint", "convert", "compile", "judge", "score", "audit", "calibrate", "demo")


class ForkServer:
    """The other end of the process that forks."""

    def __init__(self, environment: dict[str, str]) -> None:
        ours, theirs = socket.socketpair()
        self._socket = ours
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(theirs.fileno())],
            cwd=Path(__file__).parents[2],
            env=environment,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()

    def run(self, arguments: list[str], cwd: Path, environment: dict[str, str], files: list[int]) -> int:
        """Run the program with these as its standard input, output and error; gives its exit code."""
        request = json.dumps([arguments, str(cwd), environment]).encode("utf-8", "surrogateescape")
        socket.send_fds(self._socket, [len(request).to_bytes(8)], files)
        self._socket.sendall(request)
        return int.from_bytes(self._socket.recv(8), signed=True)


@cache
def get_fork_server(owner: int) -> ForkServer:
    """The server of this process; `owner` is its pid, since a fork must not share it."""
    from tests.cli.program import make_environment

    assert owner == os.getpid()
    return ForkServer(make_environment())


def _serve(control: socket.socket) -> None:
    for verb in _VERBS:
        import_module(f"prorubric.cli.{verb}")
    while True:
        head, files, _, _ = socket.recv_fds(control, 8, 3)
        if not head:
            return
        request = b""
        while len(request) < int.from_bytes(head):
            request += control.recv(int.from_bytes(head) - len(request))
        child = os.fork()
        if child == 0:
            control.close()
            _run(*json.loads(request), files)
        for file in files:
            os.close(file)
        control.sendall(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]).to_bytes(8, signed=True))


def _run(arguments: list[str], cwd: str, environment: dict[str, str], files: list[int]) -> None:
    """Become the program; never returns."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, max(files) + 1)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8")
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    for number, name in ((1, "stdout"), (2, "stderr")):
        raw = io.BufferedWriter(io.FileIO(number, "wb", closefd=False))
        errors = "strict" if number == 1 else "backslashreplace"
        wrapper = io.TextIOWrapper(raw, encoding=encoding, errors=errors, line_buffering=number == 2 or os.isatty(1))
        setattr(sys, name, wrapper)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.path.insert(0, cwd)
    sys.argv = ["prorubric", *arguments]
    code: object = 0
    try:
        import_module("prorubric.__main__").main()
    except SystemExit as error:
        code = error.code
    except BaseException:  # noqa: BLE001 - what a program that is not forked does with it
        traceback.print_exc()
        code = 1
    finally:
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code if isinstance(code, int) else 0 if code is None else 1)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
