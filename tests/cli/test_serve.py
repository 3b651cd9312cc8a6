"""`prorubric serve` at the command line: what it says when it starts, and what keeps it from starting."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from prorubric.cli.app import run
from prorubric.datasets.samples import SAMPLE_TASKS
from tests.cli.program import run_program, start_program
from tests.patience import PATIENCE

SERVE = ("serve", "--judge", "lexical", "--tasks", str(SAMPLE_TASKS))


def start_and_stop(
    *options: str, cwd: Path, serve: Sequence[str] = SERVE, number: int = signal.SIGTERM
) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a server that is stopped as soon as it says where it listens."""
    listening, told = os.pipe()
    with tempfile.TemporaryFile() as log:
        process = start_program(*serve, "--port", "0", *options, cwd=cwd, out=told, err=log.fileno())
        os.close(told)
        with os.fdopen(listening, encoding="utf-8") as out:
            first = out.readline()
            process.send_signal(number)
            rest = out.read()
        code = process.wait(PATIENCE)
        log.seek(0)
        return code, first + rest, log.read().decode()


class TestStart:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_it_says_in_one_line_where_it_listens_and_ends_with_0(self, number: int, tmp_path: Path) -> None:
        code, out, errors = start_and_stop(cwd=tmp_path, number=number)
        line = r"http://127\.0\.0\.1:\d+  prorubric, 12 tasks, judge: lexical \(word overlap, no model: [^\n]+\)\n"
        assert code == 0
        assert re.fullmatch(line, out)
        assert [json.loads(row)["event"] for row in errors.splitlines()] == ["note", "started", "stopping", "stopped"]

    def test_json_is_one_record_and_nothing_else(self, tmp_path: Path) -> None:
        code, out, _ = start_and_stop("--json", cwd=tmp_path)
        found = json.loads(out)
        port = found.pop("port")
        assert code == 0
        assert port > 0
        assert found == {
            "url": f"http://127.0.0.1:{port}",
            "host": "127.0.0.1",
            "judge": "lexical",
            "scheme": "prorubric",
            "tasks": 12,
            "routes": ["/score", "/openrlhf", "/slime", "/verify"],
            "token": False,
        }

    def test_without_a_file_every_request_has_to_carry_its_task(self, tmp_path: Path) -> None:
        code, out, _ = start_and_stop("--json", cwd=tmp_path, serve=SERVE[:3])
        assert (code, json.loads(out)["tasks"]) == (0, 0)


class TestMisuse:
    @pytest.mark.parametrize(
        ("options", "line"),
        [
            (["--host", "0.0.0.0"], "prorubric: --host 0.0.0.0 is not loopback, so anyone could ask; put a token"),
            (["--scheme", "weihgted"], "prorubric: no scheme is called 'weihgted'"),
            (["--judge", "gpt"], "prorubric: no model is called 'gpt'; known forms: "),
            (["--tasks", "gone.jsonl"], "prorubric: gone.jsonl: no such file; check the path"),
            (["--port", "70000"], "prorubric serve: --port: Input should be less than or equal to 65535"),
            (["--response-limit", "0"], "prorubric serve: --response-limit: Input should be greater than"),
            (["--answer-seconds", "inf"], "prorubric serve: --answer-seconds: Input should be a finite number"),
            (["--overlong-limit", "9"], "prorubric: overlong responses need both --overlong-limit and "),
            (["--host", "no.such.host.invalid"], "prorubric: --host no.such.host.invalid is not loopback"),
        ],
    )  # fmt: skip
    def test_it_is_one_line_and_exit_code_2(
        self,
        options: list[str],
        line: str,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
    ) -> None:
        monkeypatch.delenv("PRORUBRIC_TOKEN", raising=False)
        monkeypatch.chdir(tmp_path)
        named = dict(zip(SERVE[1::2], SERVE[2::2], strict=True)) | {options[0]: options[1]}
        assert run(["serve", *(word for pair in named.items() for word in pair)]) == 2
        printed = capsys.readouterr()
        assert (printed.out, printed.err.count("\n"), printed.err[: len(line)]) == ("", 1, line)

    def test_a_port_that_is_taken_is_one_line(self, tmp_path: Path) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            done = run_program(*SERVE, "--port", str(port), cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        line = f"port {port} of 127.0.0.1 is in use; choose another --port, or 0 for a free one"
        assert done.stderr == f"prorubric: {line}\n"

    def test_an_address_of_another_machine_is_one_line(self, tmp_path: Path) -> None:
        done = run_program(*SERVE, "--host", "192.0.2.7", cwd=tmp_path, PRORUBRIC_TOKEN="x" * 20)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "prorubric: cannot listen on 192.0.2.7:8741 (Cannot assign requested address)\n"

    @pytest.mark.parametrize("missing", ["fastapi", "uvicorn", "prometheus_client"])
    def test_without_the_extra_it_says_what_to_install(self, missing: str, tmp_path: Path) -> None:
        code = (
            f"import sys; sys.modules['{missing}'] = None; from prorubric.cli.app import run; sys.exit(run({[*SERVE]}))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        line = (
            "prorubric serve needs the extra [serve]; install prorubric with it: pip install '.[serve]' in a checkout"
        )
        assert done.stderr == f"prorubric: {line}\n"

    def test_help_explains_every_option(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(["serve", "--help"]) == 0
        shown = capsys.readouterr().out
        for option in (
            "--judge",
            "--tasks",
            "--scheme",
            "--host",
            "--port",
            "--response-limit",
            "--body-limit",
            "--json",
        ):
            assert option in shown
        assert shown.count("--timeout-seconds") == 1
