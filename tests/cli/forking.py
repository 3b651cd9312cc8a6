"""A process that has loaded the program once and forks it for every run: most of a short run is loading modules.

What runs is the real program with its own file descriptors, working folder, environment and exit code; only its modules
are there already. Python code that uses the package (`python -c`, `python -m`, `python -`) is run in the same way. All
workers of a test run share one such process: the first to come up, which is xdist's controller, starts it and names its
socket in the environment.
"""

import atexit
import gc
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Self

ADDRESS = "PRORUBRIC_TEST_FORKS"
"""The environment variable with the path of the socket."""

_VERBS = ("lint", "check", "convert", "compile", "judge", "score", "audit", "calibrate", "demo", "serve")
_ALSO_LOADED = (
    "aiohttp",
    "pandas",
    "prorubric.files.arrow",
    "prorubric.reward.server.app",
    "prorubric.reward.server.listen",
)


class ForkServer:
    """The process that forks; it ends with whoever started it, because its standard input does."""

    def __init__(self) -> None:
        from tests.cli.program import make_environment

        self._folder = tempfile.TemporaryDirectory(prefix="forks-")
        self.path = str(Path(self._folder.name) / "socket")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self.path)
            listener.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(listener.fileno())],
                cwd=Path(__file__).parents[2],
                env=make_environment(),
                stdin=subprocess.PIPE,
                pass_fds=[listener.fileno()],
            )

    def stop(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._folder.cleanup()


def find_fork_server() -> str:
    """The path of the socket of this test run; a run without workers starts its own process on first use."""
    return os.environ.get(ADDRESS) or _start_own(os.getpid())


@cache
def _start_own(owner: int) -> str:
    assert owner == os.getpid()
    server = ForkServer()
    atexit.register(server.stop)
    return server.path


class ForkedProgram:
    """One run of `prorubric` or `python`: its pid and its end, under the names of `subprocess.Popen`."""

    def __init__(
        self,
        arguments: list[str],
        cwd: Path,
        environment: dict[str, str],
        files: list[int],
        program: str = "prorubric",
    ) -> None:
        """Start it with `files` as its standard input, output and error."""
        self.returncode: int | None = None
        self.stderr: IO[bytes] | None = None
        self._control = socket.socket(socket.AF_UNIX)
        self._control.connect(find_fork_server())
        request = json.dumps([[program, *arguments], str(cwd), environment]).encode("utf-8", "surrogateescape")
        socket.send_fds(self._control, [len(request).to_bytes(8)], files)
        self._control.sendall(request)
        self.pid = self._receive()

    def _receive(self) -> int:
        said = self._control.recv(8, socket.MSG_WAITALL)
        assert len(said) == 8, "the process that forks the program has ended"
        return int.from_bytes(said, signed=True)

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[None, bytes]:
        said = b""
        if self.stderr is not None and not self.stderr.closed:
            with self.stderr:
                said = self.stderr.read()
        self.wait(timeout)
        return None, said

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._control], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("prorubric", timeout or 0.0)
            self.returncode = self._receive()
            self._control.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()


def run_here() -> None:
    """What a command that stands for `prorubric` or `python` does: start it with its own files, and end as it ends.

    It passes signals on.
    """
    program = ForkedProgram(sys.argv[1:], Path.cwd(), dict(os.environ), [0, 1, 2], Path(sys.argv[0]).name)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: program.send_signal(number))
    sys.exit(program.wait())


def _serve(listener: socket.socket) -> None:
    for name in (*(f"prorubric.cli.{verb}" for verb in _VERBS), *_ALSO_LOADED):
        import_module(name)
    gc.collect()
    gc.freeze()
    while True:
        ready, _, _ = select.select([0, listener], [], [])
        if 0 in ready:
            return
        control, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _keep(control)
        control.close()
        _reap()


def _reap() -> None:
    """Forget those who have ended; what they used is then ours in the accounts of the system."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def _keep(control: socket.socket) -> None:
    """Fork the program that a client asks for, and tell it the pid and in the end the exit code; never returns.

    The program does not outlive its client.
    """
    head, files, _, _ = socket.recv_fds(control, 8, 3)
    request = json.loads(control.recv(int.from_bytes(head), socket.MSG_WAITALL)) if head else None
    if request is None:
        os._exit(1)
    woken, waker = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for end in (control, woken, waker):
            end.close()
        _run(*request, files)
    for file in files:
        os.close(file)
    try:
        control.sendall(child.to_bytes(8))
        if control in select.select([control, woken], [], [])[0]:
            os.kill(child, signal.SIGKILL)
        control.sendall(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]).to_bytes(8, signed=True))
    finally:
        os._exit(0)


def _run(command: list[str], cwd: str, environment: dict[str, str], files: list[int]) -> None:
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
    sys.argv = command
    code: object = 0
    try:
        if command[0] == "prorubric":
            import_module("prorubric.__main__").main()
        else:
            _run_python(command[1:])
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


def _run_python(arguments: list[str]) -> None:
    """What `python` does with a module, with code, or with code that it is sent."""
    how, *rest = arguments
    if how == "-m":
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
        return
    assert how in ("-c", "-"), f"python {how} is not forked"
    code = rest.pop(0) if how == "-c" else sys.stdin.read()
    sys.argv = [how, *rest]
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
