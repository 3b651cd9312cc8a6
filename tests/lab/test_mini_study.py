"""The mini as a study: cut to its shortest without a trainer, and with one, killed in every stage and not at all."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from prorubric.datasets.load import load_tasks
from prorubric.files.read import count_rows, read_rows
from prorubric.files.settings import read_settings
from prorubric.lab.checklist import make_checklists
from prorubric.lab.demos import write_demos
from prorubric.lab.mini import write_mini
from prorubric.lab.results import HELD_OUT_SEED
from prorubric.lab.world import make_world
from prorubric.rubric.records import Response
from prorubric.rubric.save import save_responses
from prorubric.verbs.study import run_study
from prorubric.verbs.study_file import StudyConfig
from prorubric.verbs.study_plan import plan_study
from tests.patience import PATIENCE
from tests.train.running import ROOT, find_python, list_variables, trainers

SHORT = ROOT / "studies/mini-short.yaml"
OUT = Path("runs/study")


def write_study(folder: Path, **changes: Any) -> Path:
    """The study that `make mini` runs, with parts of its parts changed."""
    study = read_settings(SHORT, "study", "")
    for part, own in changes.items():
        study[part] = own if part == "arms" else {**study[part], **own}
    path = folder / "study.yaml"
    path.write_text(json.dumps(study))
    return path


def test_the_mini_without_a_trainer_is_judged_audited_evaluated_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_mini(tmp_path / "mini", training=12, held_out=3, demos=128)
    world, cases = make_world("triage-v1"), make_checklists("triage-v1", 3, HELD_OUT_SEED).cases
    tasks = [*load_tasks(tmp_path / "mini/held-out.jsonl")]
    both = ("held-out/", "consensus/")
    for name, seed, files in (("base", 3, both), ("other", 4, both), ("audited", 3, ("",))):
        texts = [*map(world.moves.render, write_demos(world, cases, seed))]
        rows = ((f"{file}{task.id}", text) for file in files for task, text in zip(tasks, texts, strict=True))
        save_responses(tmp_path / f"{name}.jsonl", (Response(task_id=task, text=text) for task, text in rows))
    policies = [{"name": "Base", "spec": "base.jsonl"}, {"name": "Other", "spec": "other.jsonl"}]
    audit = {"limit": 3, "responses": "audited.jsonl"}
    study = write_study(tmp_path, arms={}, evaluate={"policy": policies}, audit=audit)
    plan = plan_study(StudyConfig(study))
    result = run_study(StudyConfig(study))
    [planned], [domain] = plan.domains, result.domains
    assert (result.unfinished, planned.missing) == ((), {})
    assert domain.audit is not None
    assert domain.evaluation is not None
    assert planned.evaluate is not None
    # Two judges read six answers for two files and four times for the probe, and compare three pairs in two orders.
    made = domain.evaluation.calls - domain.evaluation.cached
    assert made == planned.evaluate.calls == 2 * (6 * (1 + 1 + 4) + 3 * 2)
    assert result.report is not None
    assert Path(result.report.page).is_file()


def start_study(folder: Path) -> "subprocess.Popen[str]":
    command = [str(find_python("trl")), "-m", "prorubric", "study", "study.yaml"]
    with (folder / "said.txt").open("a") as said:
        return subprocess.Popen(
            command, cwd=folder, env=list_variables(), stdout=said, stderr=said, text=True, start_new_session=True
        )


def finish_study(folder: Path) -> None:
    assert start_study(folder).wait(10 * PATIENCE) == 0, (folder / "said.txt").read_text()[-3000:]


def kill_when(folder: Path, is_time: Callable[[], bool]) -> None:
    """Start the study and kill it, with the trainer that it may have started, at a moment."""
    program, end = start_study(folder), time.monotonic() + 10 * PATIENCE
    while not is_time():
        assert program.poll() is None, f"it ended before: {(folder / 'said.txt').read_text()[-3000:]}"
        assert time.monotonic() < end
        time.sleep(0.02)
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
    for pid in (program.pid, *map(int, children)):
        os.kill(pid, signal.SIGKILL)
    program.wait(PATIENCE)


def has_steps(run: Path, steps: int) -> bool:
    return (run / "steps.jsonl").exists() and len((run / "steps.jsonl").read_bytes().splitlines()) >= steps


def read_results(folder: Path) -> dict[str, Any]:
    """Every file of results by its name, with rows of files that are written as replies come in sorted."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if not path.is_file() or not is_result(name):
            continue
        if path.name == "model.safetensors" or path.suffix in (".csv", ".tex", ".svg"):
            found[name] = path.read_bytes()
        else:
            found[name] = sorted(json.dumps(drop_times(row.value), sort_keys=True) for row in read_rows(path))
    return found


def is_result(name: str) -> bool:
    """Not the times, places and logs of a run, its journal, which may hold more, nor pages, which show times."""
    return name.endswith((".jsonl", ".jsonl.zst", ".csv", ".tex", ".svg", "model.safetensors"))


def drop_times(row: Any) -> Any:
    return {key: value for key, value in row.items() if "seconds" not in key} if isinstance(row, dict) else row


def list_asked(run: Path) -> Iterable[tuple[str, str]]:
    """The case and the text of every answer that a judge was asked about."""
    for path in (*run.glob("rollouts/*"), *run.glob("validation/*/answers.jsonl")):
        for row in read_rows(path):
            yield f"{path.parents[1].name}{row.value['task_id']}", row.value.get("text", row.value.get("response"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_folder(tmp_path_factory.mktemp("whole"))
    finish_study(folder)
    return folder


def make_folder(folder: Path) -> Path:
    write_mini(folder / "mini", training=16, held_out=4, demos=1280)
    arms = read_settings(SHORT, "study", "")["arms"]
    train = {"rollouts": 6, "prompts": 4, "mini_batch": 2, "per_device": 16, "response_limit": 30, "every": 2}
    base = {**arms["Base"], "every": 8, "keep": "all"}
    write_study(
        folder,
        arms={"Base": base, "RuscaRL": {"method": "ruscarl", "after": "Base"}},
        train=train,
        audit={"limit": 2},
        evaluate={"sampling": {"temperature": 1.0, "top_p": 1.0, "top_k": None, "max_tokens": 30}},
    )
    return folder


@trainers
def test_a_study_that_is_killed_in_every_stage_ends_as_one_that_is_not(whole: Path, tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    out = folder / OUT
    base, arm = out / "train/Base/sft-seed-42", out / "train/RuscaRL/ruscarl-seed-42"
    kill_when(folder, lambda: has_steps(base, 10))
    kill_when(folder, lambda: has_steps(arm, 3))
    kill_when(folder, (out / "audit/journal.sqlite").exists)
    assert not (out / "audit/summary.json").exists()
    kill_when(folder, (out / "evaluate/journal.sqlite").exists)
    states = [json.loads((run / "state.json").read_text()) for run in (base, arm)]
    assert [(state["state"], state["step"]) for state in states] == [("done", 20), ("done", 6)]
    assert not (out / "evaluate/summary.json").exists()
    finish_study(folder)
    found, expected = read_results(out), read_results(whole / OUT)
    assert [*found] == [*expected]
    assert [name for name in expected if found[name] != expected[name]] == []
    assert len(expected) > 30


@trainers
def test_the_calls_are_those_of_the_plan(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(whole)
    study = json.loads((whole / "study.yaml").read_text())
    study["out"] = "runs/planned"
    (whole / "planned.json").write_text(json.dumps(study))
    [planned] = plan_study(StudyConfig(whole / "planned.json")).domains
    done = json.loads((whole / OUT / "summary.json").read_text())["domains"][0]
    asked = [*list_asked(whole / OUT / "train/RuscaRL/ruscarl-seed-42")]
    assert len(asked) == planned.arms["RuscaRL"].calls == 6 * 4 * 8 + 4 * 4
    assert done["arms"]["RuscaRL"]["calls"] == len({*asked})  # the same answer is judged once
    assert planned.evaluate is not None
    evaluation = done["evaluation"]
    repeated = evaluation["repeated"] - planned.evaluate.repeated
    assert evaluation["calls"] - evaluation["cached"] == planned.evaluate.calls - repeated
    assert count_rows(whole / "mini/held-out.jsonl") == 4
