"""A training as it goes: the curves of each of its runs, the alarm, where the second opinion was highest, the cost."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prorubric.errors import ProRubricError
from prorubric.files.json import parse_json
from prorubric.files.read import read_rows
from prorubric.reward.monitor import load_steps
from prorubric.runs.folder import JOURNAL, SUMMARY, read_setting
from prorubric.train.run_folder import STEPS, VALIDATION, read_state
from prorubric.train.validate import load_validated
from prorubric.view.runs import add_costs, read_journal

_CURVES = ("reward", "score", "coverage", "appropriateness", "dimension_rate", "tokens", "characters")
_SHARES = ("equal_groups", "unknown_rate", "unknown_groups", "equal_dimensions", "addressed_rate", "overlong")
_SECOND = "appropriateness"


def describe_training(folder: Path, *, is_running: bool) -> dict[str, Any]:
    """Every run of a recipe: state, steps, curves, alarms, peak."""
    plan = _read_json(folder / "plan.json")
    summary = _read_json(folder / SUMMARY)
    planned = [run for run in plan.get("runs") or () if isinstance(run, dict)]
    calls, cost = summary.get("calls"), summary.get("cost")
    if calls is None and (used := read_journal(folder / JOURNAL)) is not None:
        calls, cost = sum(usage.calls for usage in used), add_costs(used, folder, read_setting(folder)["config"])
    expected = (plan.get("usual") or {}).get("cost") if isinstance(plan.get("usual"), dict) else None
    return {
        "runs": [_describe_run(folder / str(run.get("name")), run, is_running) for run in planned],
        "calls": calls,
        "planned_calls": plan.get("calls"),
        "cost": cost,
        "planned_cost": expected,
        "departures": plan.get("departures") or [],
    }


def _describe_run(folder: Path, planned: dict[str, Any], is_running: bool) -> dict[str, Any]:
    about = {name: planned.get(name) for name in ("name", "method", "seed", "steps")}
    nothing: dict[str, Any] = {
        "at": [],
        "curves": {},
        "validations": [],
        "alarms": [],
        "peak": None,
        "unknown": 0,
        "responses": 0,
    }
    try:
        state = read_state(folder)
        validations = [one for path in sorted(folder.glob(f"{VALIDATION}/step-*")) if (one := load_validated(path))]
        found = _read_steps(folder / STEPS)
    except ProRubricError as error:
        return {**about, **nothing, "state": "unreadable", "step": 0, "reason": str(error)}
    known = [(one.step, one.appropriateness) for one in validations]
    return {
        **about,
        **nothing,
        **found,
        # A process that was killed cannot say so.
        "state": "interrupted" if state.state == "running" and not is_running else state.state,
        "step": state.step,
        "reason": state.reason,
        "validations": [one.model_dump(mode="json") for one in validations],
        "peak": _find_peak(known if validations else zip(found["at"], found["curves"].get(_SECOND, ()), strict=False)),
    }


def _read_steps(path: Path) -> dict[str, Any]:
    """The curves of a run; one without a reward has its loss."""
    rows = [row.value for row in read_rows(path) if row.value] if path.is_file() else []
    if rows and "loss" in rows[0]:
        return {"at": [row.get("step") for row in rows], "curves": {"loss": [row.get("loss") for row in rows]}}
    steps = load_steps(path)
    curves = {name: [getattr(one, name) for one in steps] for name in (*_CURVES, *_SHARES)}
    for name in dict.fromkeys(name for one in steps for name in one.shadow):
        curves[f"shadow: {name}"] = [one.shadow.get(name) for one in steps]
    return {
        "at": [one.step for one in steps],
        "curves": {name: values for name, values in curves.items() if any(value is not None for value in values)},
        "alarms": [{"step": one.step, "text": str(alarm)} for one in steps for alarm in one.alarms][:1],
        "unknown": sum(one.unknown for one in steps),
        "responses": sum(one.responses for one in steps),
    }


def _find_peak(curve: Iterable[tuple[int, float | None]]) -> dict[str, Any] | None:
    """Where the second opinion was highest; of several such steps the first."""
    known = [(value, step) for step, value in curve if value is not None]
    if not known:
        return None
    value, step = max(known, key=lambda pair: (pair[0], -pair[1]))
    return {"step": step, "value": value, "last": known[-1][0], "last_step": known[-1][1]}


def _read_json(path: Path) -> dict[str, Any]:
    """A small file that another process may be writing at this moment; empty if it cannot be read."""
    try:
        found = parse_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
