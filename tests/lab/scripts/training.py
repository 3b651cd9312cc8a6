"""Runs in a folder: deterministic, resumable, with a scheme of one's own, figures and a page; the last line is JSON."""

import copy
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from prorubric.aggregate.advantages import group_advantages
from prorubric.errors import ConfigError
from prorubric.lab.schemes import find_lab_scheme, make_scorer
from prorubric.lab.training import Ground, roll_out, train_policy
from prorubric.lab.world import END
from prorubric.verbs.lab import LabCompareConfig, LabConfig, ReadConfig, compare_schemes, read_case, run_lab

OWN = "tests.lab.own_scheme:share_of_weight"
STEPS = 20


def run_twice(ground: Ground) -> dict[str, object]:
    runs = [train_policy("prorubric", ground, seed, 2) for seed in (42, 42, 43)]
    first, again, other = (run.model_dump(exclude={"cpu_seconds", "seed"}) for run in runs)
    return {"same": first == again, "different": first != other}


def compare(folder: Path) -> dict[str, object]:
    config = LabCompareConfig(scheme=("additive", OWN), steps=STEPS, seeds=1, out=folder)
    told: list[tuple[int, str, int | None]] = []
    result = compare_schemes(config, lambda now: told.append((now.done, now.note, now.total)))
    files = {path: path.stat().st_mtime_ns for path in (folder / "runs").iterdir()}
    (folder / "runs" / f"additive-seed-42-steps-{STEPS}.json").unlink()
    again = run_lab(LabConfig(scheme=("additive", OWN), steps=STEPS, seeds=1, out=folder))
    kept = {path: path.stat().st_mtime_ns for path in files}
    additive, own = (result.row(name) for name in ("additive", OWN))
    reading = read_case(ReadConfig(2, out=folder))
    assert additive is not None
    assert own is not None
    return {
        "g_before": again.base.sampled.g,
        "g_after": additive.g.mean,
        "c_after": additive.c.mean,
        "again": (again.runs[0].c, again.runs[0].g) == (additive.c.mean, additive.g.mean),
        "own": own.g.mean,
        "own_equals_additive": own.c.mean == additive.c.mean,
        "redone": sorted(path.name for path in files if files[path] != kept[path]),
        "told_last": told[-1],
        "page": (folder / "report.html").read_text()[:15],
        "images": (folder / "report.html").read_text().count("data:image/svg+xml"),
        "figures": sorted(path.name for path in (folder / "figures").iterdir()),
        "audited": sorted(found.scheme for found in result.base.audit.forecast),
        "read": [answer.scheme for answer in reading.answers],
        "refused": refuse_other_world(folder),
    }


def refuse_other_world(folder: Path) -> str:
    try:
        run_lab(LabConfig(world="science-v1", scheme=("additive",), steps=1, seeds=1, out=folder))
    except ConfigError as error:
        return str(error)
    return ""


def watch_updates(ground: Ground, scheme: str, steps: int) -> list[tuple[float, torch.Tensor]]:
    """Rate and weights after each update of a run."""
    seen: list[tuple[float, torch.Tensor]] = []

    def look(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        weights = [weight.detach().flatten() for group in optimizer.param_groups for weight in group["params"]]
        seen.append((optimizer.param_groups[0]["lr"], torch.cat(weights)))

    hook = register_optimizer_step_post_hook(look)
    train_policy(scheme, ground, steps=steps)
    hook.remove()
    return seen


def check_updates(ground: Ground) -> dict[str, object]:
    plain, held = watch_updates(ground, "additive", 2), watch_updates(ground, "additive-kl-0.4", 1)
    weak = watch_updates(ground, "additive-kl-0.05", 1)
    return {
        "rates": [rate for rate, _ in plain],
        "kl_first": float((plain[0][1] - held[0][1]).abs().max()),
        "kl_second": float((plain[1][1] - held[1][1]).abs().max()),
        "kl_weak": float((plain[1][1] - weak[1][1]).abs().max()),
    }


def check_length(ground: Ground, scheme: str, limit: int) -> dict[str, float]:
    """One rollout of a policy that goes on for long, under a reward that is the same for all: only length counts."""
    policy = copy.deepcopy(ground.base)
    with torch.no_grad():
        policy.out.bias[END] -= 8
    same = make_scorer(find_lab_scheme("tests.lab.own_scheme:constant"), ground.training)
    batch, score, _, _ = roll_out(policy, ground, find_lab_scheme(scheme), same, torch.Generator().manual_seed(5))
    tokens = ground.world.moves.tokens_M[batch.moves_R_L.numpy()].sum(axis=1)
    shrunk = 0.5 - 0.5 * np.clip((tokens - limit / 2) / (limit / 2), 0, 1)
    expected = group_advantages(shrunk, np.arange(64).repeat(8)).values
    return {
        "gap": float(np.abs(batch.advantage_R.numpy() - expected).max()),
        "size": float(np.abs(expected).max()),
        "score": score,
        "longest": int(tokens.max()),
    }


def edit_own_scheme(folder: Path, place: Path) -> dict[str, object]:
    """A function is tried, edited, tried again and thrown away, in the folder of a comparison."""
    sys.path.insert(0, str(place))
    summary = (folder / "summary.json").read_bytes()

    def write_and_run(price: float) -> tuple[float, float | None]:
        text = f"PRICE = {price}\n\ndef pay(verdicts, task):\n    return PRICE * sum(verdicts)\n"
        (place / "edited_scheme.py").write_text(text)
        result = run_lab(LabConfig(scheme=("edited_scheme:pay",), steps=1, seeds=1, out=folder))
        run = json.loads((folder / "runs" / "edited_scheme@pay-seed-42-steps-1.json").read_bytes())
        return run["rewards"][0], result.base.audit.effect("name-item", "edited_scheme:pay").mean

    first, second = write_and_run(1.0), write_and_run(-2.0)
    (place / "edited_scheme.py").unlink()
    del sys.modules["edited_scheme"]
    base = run_lab(LabConfig(scheme=("graded",), steps=1, seeds=1, out=folder)).base
    return {
        "rewards": [first[0], second[0]],
        "effects": [first[1], second[1]],
        "held": sorted(found.scheme for found in base.audit.forecast),
        "read_without": [answer.scheme for answer in read_case(ReadConfig(1, out=folder)).answers],
        "summary_kept": (folder / "summary.json").read_bytes() == summary,
    }


def interrupt(folder: Path) -> dict[str, object]:
    """Ctrl-C as a terminal sends it, to all processes at once, in the middle of the first of many runs."""
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    program = f"{start}from prorubric.cli.app import main; main()"
    options = ["--scheme", "additive", "--seeds", "6", "--steps", "5000", "--workers", "1", "--out", str(folder)]
    command = [sys.executable, "-c", program, "lab", "run", *options]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert running.stderr is not None
    heard = running.stderr.readline()
    while heard and "0 of 6 runs" not in heard:
        heard = running.stderr.readline()
    os.killpg(running.pid, signal.SIGINT)
    started = time.monotonic()
    said = running.stderr.read()
    code = running.wait()
    return {
        "code": code,
        "said": said,
        "seconds": time.monotonic() - started,
        "left": sorted(path.name for path in (folder / "runs").glob("*steps-5000*")),
    }


if __name__ == "__main__":
    place = Path(sys.argv[1])
    found = compare(place)
    ground = Ground("triage-v1", place / "base.pt")
    found |= run_twice(ground) | check_updates(ground)
    found["limits"] = [check_length(ground, "additive", 800), check_length(ground, "length-matched", 400)]
    shutil.copytree(place, place / "copy")
    found["edited"] = edit_own_scheme(place / "copy", place)
    found["interrupted"] = interrupt(place / "copy")
    sys.stdout.write(json.dumps(found))
