"""A study that is killed while it compiles is finished by the same command, without a reply that is asked for twice."""

import json
import signal
from pathlib import Path

import pytest

from prorubric import save_tasks
from prorubric.llm.journal import Journal
from tests.cli.program import run_program, run_python, start_program
from tests.compile.generating import make_tasks
from tests.llm.asking import count_replies
from tests.llm.server import MisbehavingServer, wait_until

TASKS = 40
"""Of each of two domains."""
AT_ONCE = 4
OUT = Path("runs/study")


def write_study(folder: Path, server: MisbehavingServer) -> Path:
    folder.mkdir()
    for number, domain in enumerate(("first", "second")):
        save_tasks(folder / f"{domain}.jsonl", make_tasks(TASKS, start=number * TASKS))
    study = {
        "compile": {"generator": server.spec, "http": {"concurrency": AT_ONCE}},
        "domains": {domain: {"compile": {"tasks": f"{domain}.jsonl"}} for domain in ("first", "second")},
    }
    (folder / "study.yaml").write_text(json.dumps(study))
    return folder


def run_to_the_end(folder: Path) -> None:
    done = run_program("study", "study.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr


def kill_after(folder: Path, server: MisbehavingServer, replies: int) -> None:
    """Run the study, and kill it when it has so many more replies and waits for the next ones."""
    kept, calls = sum(count_kept(folder).values()), server.calls
    server.script(*["groups"] * replies)
    server.always = "hang"
    process = start_program("study", "study.yaml", cwd=folder)
    assert wait_until(lambda: server.calls == calls + replies + AT_ONCE)
    assert wait_until(lambda: sum(count_kept(folder).values()) == kept + replies)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    assert wait_until(lambda: server.in_flight == 0)
    server.always = "groups"


def count_kept(folder: Path) -> dict[str, int]:
    """The replies in the journal of each domain."""
    found = {}
    for path in sorted(folder.glob(f"{OUT}/*/compiled.journal.sqlite")):
        with Journal(path) as journal:
            found[path.parent.name] = count_replies(journal)
    return found


def read_results(folder: Path) -> dict[str, bytes]:
    """Every file but journals, the place of the study, and records of a run, which count what was in a journal."""
    names = {path.relative_to(folder / OUT): path for path in (folder / OUT).rglob("*") if path.is_file()}
    varying = (".sqlite", "config.json", ".manifest.json", "summary.json")
    return {str(name): path.read_bytes() for name, path in names.items() if not name.name.endswith(varying)}


@pytest.fixture
def folder(tmp_path: Path, server: MisbehavingServer) -> Path:
    return write_study(tmp_path / "killed", server)


@pytest.fixture
def whole(tmp_path: Path, server: MisbehavingServer) -> dict[str, bytes]:
    """The results of a study that was not killed."""
    folder = write_study(tmp_path / "whole", server)
    run_to_the_end(folder)
    assert server.calls == 2 * TASKS
    server.exchanges.clear()
    found = read_results(folder)
    assert {*found} == {"first/compiled.jsonl", "second/compiled.jsonl", "report.html", "study.yaml"}
    return found


def test_a_study_killed_in_each_domain_ends_as_one_that_is_not(
    folder: Path, server: MisbehavingServer, whole: dict[str, bytes]
) -> None:
    kill_after(folder, server, replies=15)
    assert count_kept(folder) == {"first": 15}
    kill_after(folder, server, replies=TASKS)
    assert count_kept(folder) == {"first": TASKS, "second": 15}
    assert [path.parent.name for path in (folder / OUT).rglob("compiled.jsonl")] == ["first"]
    run_to_the_end(folder)
    assert read_results(folder) == whole
    assert [exchange.behaviour for exchange in server.exchanges].count("groups") == 2 * TASKS
    run_to_the_end(folder)
    assert len(server.exchanges) == 2 * TASKS + 2 * AT_ONCE  # those that got no reply


DYING = """
import os, signal, sys
from prorubric.cli.app import main
from prorubric.verbs import compile

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

compile.write_json = die
sys.argv = ["prorubric", "study", "study.yaml", "--only", "compile"]
main()
"""


def test_a_study_killed_before_the_manifest_of_a_compiled_file_makes_it_again_without_a_call(
    folder: Path, server: MisbehavingServer, whole: dict[str, bytes]
) -> None:
    assert run_python("-c", DYING, cwd=folder).returncode == -signal.SIGKILL
    assert (folder / OUT / "first/compiled.jsonl").exists()
    assert not (folder / OUT / "first/compiled.manifest.json").exists()
    assert server.calls == TASKS
    run_to_the_end(folder)
    assert server.calls == 2 * TASKS
    assert read_results(folder) == whole
