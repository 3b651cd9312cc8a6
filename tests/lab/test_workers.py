"""What of a folder is kept and what is made again, as far as that can be told without torch."""

import subprocess
import sys
from pathlib import Path

import pytest

from prorubric.files.write import write_json
from prorubric.lab.results import BaseResult
from prorubric.lab.schemes import hash_own
from prorubric.lab.workers import LabFolder
from tests.compile.running import is_running
from tests.lab.results import make_base, make_run, write_folder
from tests.llm.server import wait_until

OWN, OTHER = "tests.lab.own_scheme:share_of_weight", "tests.lab.own_scheme:constant"


@pytest.fixture(scope="module")
def base() -> BaseResult:
    return make_base(["additive", OWN])


@pytest.mark.parametrize(
    ("scheme", "source", "made"),
    [("additive", None, True), (OWN, hash_own(OWN), True), (OWN, "another", False), (OWN, None, False)],
)
def test_a_run_of_a_function_as_it_was_before_is_not_one_of_the_function_as_it_is(
    scheme: str, source: str | None, made: bool, base: BaseResult, tmp_path: Path
) -> None:
    run = make_run(scheme, 42, {0: 0.6, 20: 0.4}, source=source).model_dump(mode="json")
    if source is None:
        del run["source"]  # as files were written before they had it
    folder = LabFolder(write_folder(tmp_path / "lab", base, []), "triage-v1", 20)
    write_json(folder.path / "runs" / f"{scheme.replace(':', '@')}-seed-42-steps-20.json", run)
    assert folder.is_made(scheme, 42) is made
    assert not folder.is_made(scheme, 43)


def test_an_audit_holds_for_the_function_that_it_was_made_of(base: BaseResult) -> None:
    assert base.has_audit("additive")
    assert not base.has_audit("prorubric")
    assert not base.has_audit(OWN)
    assert not base.model_copy(update={"sources": {OWN: "another"}}).has_audit(OWN)
    assert base.model_copy(update={"sources": {OWN: hash_own(OWN)}}).has_audit(OWN)


def test_a_new_audit_joins_what_is_held_and_takes_the_place_of_what_has_its_name(base: BaseResult) -> None:
    held = base.model_copy(update={"sources": {OWN: "old", "gone:f": "kept"}})
    made = make_base([OWN, OTHER], c=0.1).model_copy(update={"sources": {OWN: "new", OTHER: "new"}})
    joined = held.with_audit(made)
    assert [found.scheme for found in joined.audit.forecast] == ["additive", OWN, OTHER]
    assert joined.audit.effect("name-item", "additive") is held.audit.effect("name-item", "additive")
    assert joined.audit.effect("name-item", OWN) is made.audit.effect("name-item", OWN)
    assert len(joined.audit.effects) == len({(cell.edit, cell.scheme) for cell in joined.audit.effects}) == 3 * 7
    assert joined.sources == {OWN: "new", OTHER: "new", "gone:f": "kept"}
    assert joined.sampled == held.sampled


def test_no_worker_outlives_a_killed_run() -> None:
    program = """
import time
from prorubric.lab.workers import open_pool
with open_pool(2) as pool:
    running = [pool.submit(time.sleep, 3600) for _ in range(2)]
    print(*pool._processes, flush=True)
    running[0].result()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as run:
        assert run.stdout is not None
        workers = [int(process) for process in run.stdout.readline().split()]
        assert [is_running(process) for process in workers] == [True, True]
        run.kill()
    assert wait_until(lambda: not any(map(is_running, workers)))
