"""Runs in a folder: deterministic, resumable, with a scheme of one's own, figures and a page; the last line is JSON."""

import json
import sys
from pathlib import Path

from prorubric.errors import ConfigError
from prorubric.lab.compare import CompareConfig, compare_schemes
from prorubric.lab.engine import LabConfig, make_runs
from prorubric.lab.read import ReadConfig, read_case
from prorubric.lab.run import Ground, RunConfig, train

OWN = "tests.lab.own_scheme:share_of_weight"
STEPS = 20


def run_twice(ground: Ground) -> dict[str, object]:
    runs = [train(RunConfig("prorubric", seed=seed, steps=2), ground, lambda step: None) for seed in (42, 42, 43)]
    first, again, other = (run.model_dump(exclude={"cpu_seconds", "seed"}) for run in runs)
    return {"same": first == again, "different": first != other}


def compare(folder: Path) -> dict[str, object]:
    config = CompareConfig(scheme=("additive", OWN), steps=STEPS, seeds=1, out=folder)
    told: list[tuple[int, str, int | None]] = []
    result = compare_schemes(config, lambda done, note, total=None: told.append((done, note, total)))
    files = {path: path.stat().st_mtime_ns for path in (folder / "runs").iterdir()}
    (folder / "runs" / f"additive-seed-42-steps-{STEPS}.json").unlink()
    base, runs = make_runs(LabConfig(scheme=("additive", OWN), steps=STEPS, seeds=1, out=folder), lambda *_: None)
    kept = {path: path.stat().st_mtime_ns for path in files}
    additive, own = (result.row(name) for name in ("additive", OWN))
    reading = read_case(ReadConfig(2, out=folder))
    assert additive is not None
    assert own is not None
    return {
        "g_before": base.sampled.g,
        "g_after": additive.g.mean,
        "c_after": additive.c.mean,
        "again": (runs[0].last.c, runs[0].last.g) == (additive.c.mean, additive.g.mean),
        "own": own.g.mean,
        "own_equals_additive": own.c.mean == additive.c.mean,
        "redone": sorted(path.name for path in files if files[path] != kept[path]),
        "told_last": told[-1],
        "page": (folder / "report.html").read_text()[:15],
        "svg": (folder / "report.html").read_text().count("<svg"),
        "figures": sorted(path.name for path in (folder / "figures").iterdir()),
        "audited": sorted(found.scheme for found in result.base.audit.forecast),
        "read": [answer.scheme for answer in reading.answers],
        "refused": refuse_other_world(folder),
    }


def refuse_other_world(folder: Path) -> str:
    try:
        make_runs(LabConfig(world="science-v1", scheme=("additive",), steps=1, seeds=1, out=folder), lambda *_: None)
    except ConfigError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    place = Path(sys.argv[1])
    found = compare(place)
    found |= run_twice(Ground("triage-v1", place / "base.pt"))
    sys.stdout.write(json.dumps(found))
