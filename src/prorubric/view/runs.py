"""The run folders below a root: which verb wrote each, how far it is, what it cost, and where its report is.

Nothing is written here, and a folder that cannot be read is listed with the reason. Whether a run is still going
shows in its lock, which is looked up and never taken: a run that starts at this moment must not be refused for that.
"""

import base64
import os
import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import Any, Literal

from prorubric.errors import ProRubricError, SourceError
from prorubric.files.json import parse_json
from prorubric.files.read import count_rows
from prorubric.rubric.base import Record
from prorubric.runs.folder import CONFIG, JOURNAL, SUMMARY, read_setting
from prorubric.runs.verdicts import VERDICTS
from prorubric.train.run_folder import read_state

REPORT = "report.html"
_LOCKS = Path("/proc/locks")
_SKIPPED = ("checkpoints", "rollouts", "validation", "policies", "node_modules", "inspect", "__pycache__")
"""Folders that hold no runs and may hold many files."""
_MOST_FOLDERS = 20_000
_QUIET_SECONDS = 60
"""Without a list of locks: how long nothing may be written before a run counts as ended."""
_PAGES: Mapping[str, Literal["answers", "training"]] = {
    "judge": "answers",
    "demo": "answers",
    "evaluate": "answers",
    "train": "training",
}

_INPUTS = ("benchmarks", "recipe", "study", "tasks")
"""Options that say what a run is about."""

RunState = Literal["running", "done", "stopped", "unfinished", "unreadable"]


class Progress(Record):
    """How far a running run is."""

    done: int
    total: int | None = None
    what: str


class RunCard(Record):
    """What the list of runs shows of one."""

    id: str
    path: str
    """Below the root."""
    verb: str
    page: Literal["answers", "training"] | None
    """The page that shows it, besides its report."""
    state: RunState
    reason: str = ""
    judge: str = ""
    about: str = ""
    """What it read: a tasks file, benchmarks, a recipe."""
    changed: float
    """When something was last written, in seconds since 1970."""
    calls: int | None = None
    """Questions to models, or the replies so far."""
    cost: float | None = None
    """US dollars; None if it is not known."""
    progress: Progress | None = None
    has_report: bool


class Listing(Record):
    """Every run below the root."""

    root: str
    runs: tuple[RunCard, ...]
    is_cut: bool
    """True if there are more folders than are looked at."""


class Library:
    """The runs below a root, by ids that can be part of a URL."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def list_runs(self) -> Listing:
        """Every run, the latest first."""
        held, runs, looked = _list_held_locks(), [], 0
        for place, folders, _ in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
            looked += 1
            if looked > _MOST_FOLDERS:
                break
            folder = Path(place)
            if (folder / CONFIG).is_file() and (card := self._describe(folder, held)) is not None:
                runs.append(card)
        runs.sort(key=lambda card: card.changed, reverse=True)
        return Listing(root=str(self.root), runs=tuple(runs), is_cut=looked > _MOST_FOLDERS)

    def find(self, run: str) -> Path:
        """The folder of an id; `SourceError` if there is none below the root."""
        with suppress(ValueError, OSError):  # no base64, or no name of a folder
            name = base64.urlsafe_b64decode(run + "=" * (-len(run) % 4)).decode()
            folder = (self.root / name).resolve()
            if folder.is_relative_to(self.root) and (folder / CONFIG).is_file():
                return folder
        raise SourceError("no such run", remedy="go back to the list of runs")

    def find_report(self, run: str) -> Path | None:
        """The page of a run; None if it has none, also if a link in its place leads out of the root."""
        path = (self.find(run) / REPORT).resolve()
        return path if path.is_relative_to(self.root) and path.is_file() else None

    def describe(self, run: str) -> RunCard:
        """One run."""
        card = self._describe(self.find(run), _list_held_locks())
        if card is None:
            raise SourceError("no such run", remedy="go back to the list of runs")
        return card

    def _describe(self, folder: Path, held: frozenset[int] | None) -> RunCard | None:
        """A run; None if the folder was not written by a verb of ours."""
        name = folder.relative_to(self.root).as_posix()
        card: dict[str, Any] = {
            "id": base64.urlsafe_b64encode(name.encode()).decode().rstrip("="),
            "path": name if name != "." else folder.name,
            "changed": _find_last_change(folder),
            "has_report": (folder / REPORT).is_file(),
        }
        try:
            setting = read_setting(folder)
            paths = [path for path in (folder / SUMMARY, folder / "run.json") if path.is_file()]
            stamps = [(path.stat().st_mtime_ns, path.stat().st_size) for path in paths[:1]]
            summary = _parse_summary(paths[0], *stamps[0]) if paths else {}
        except (ProRubricError, OSError) as error:
            return RunCard(**card, verb="?", page=None, state="unreadable", reason=str(error))
        verb = setting.get("verb")
        if not isinstance(verb, str):
            return None
        options = setting.get("config", {})
        state, reason = _tell_state(folder, summary, held)
        is_running = state == "running"
        progress = _measure_progress(folder, verb, options) if is_running else None
        return RunCard(
            **card,
            verb=verb,
            page=_PAGES.get(verb),
            state=state,
            reason=reason,
            judge=_join(setting.get("judge") or options.get("judge")),
            about=_join(next((options[name] for name in _INPUTS if options.get(name)), None)),
            calls=summary.get("calls") if not is_running else count_replies(folder / JOURNAL),
            cost=summary.get("cost"),
            progress=progress,
        )


def find_rows(folder: Path, name: str) -> Path | None:
    """A file of rows: whole, or what a running run has written so far."""
    if (folder / name).is_file():
        return folder / name
    return max(folder.glob(f".{name}.partial-*"), key=lambda path: path.stat().st_mtime, default=None)


def count_replies(journal: Path) -> int | None:
    """The replies in a journal, which another process may be writing; None if there is none that can be read."""
    if not journal.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{journal.resolve().as_uri()}?mode=ro", uri=True, timeout=1)) as opened:
            return int(opened.execute("SELECT count(*) FROM replies").fetchone()[0])
    except sqlite3.Error:
        return None


def _find_last_change(folder: Path) -> float:
    """When a file was last written; one that a run moves or removes at this moment is passed over."""
    last = 0.0
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            found = path.stat()
            last = max(last, found.st_mtime) if S_ISREG(found.st_mode) else last
    return last


@lru_cache(maxsize=1024)
def _parse_summary(path: Path, *_: int) -> dict[str, Any]:
    """The few parts of a summary that the list shows; the rest can be large."""
    try:
        found = parse_json(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{path}: not JSON ({error})") from None
    if not isinstance(found, dict):
        raise SourceError(f"{path}: not a summary")
    kept = {name: found.get(name) for name in ("stopped", "unfinished", "calls", "cost")}
    states = [run.get("state") for run in found.get("runs") or () if isinstance(run, dict)]
    return {**kept, "runs": [state for state in states if isinstance(state, str)]}


def _tell_state(folder: Path, summary: Mapping[str, Any], held: frozenset[int] | None) -> tuple[RunState, str]:
    """The state of a run, and why it is not done."""
    lock = folder / ".lock"
    if held is None:
        is_held = not summary and time.time() - _find_last_change(folder) < _QUIET_SECONDS
    else:
        is_held = lock.exists() and lock.stat().st_ino in held
    if is_held:
        return "running", ""
    if not summary:
        return "unfinished", "it ended before it was done; the same command finishes it"
    if summary["stopped"]:
        return "stopped", str(summary["stopped"])
    if summary["unfinished"]:
        return "unfinished", "some calls failed; the same command makes them again"
    ended = [state for state in summary["runs"] if state in ("stopped", "failed", "running", "new")]
    return ("stopped", f"{len(ended)} of {len(summary['runs'])} runs did not end") if ended else ("done", "")


def _list_held_locks() -> frozenset[int] | None:
    """The inodes of files that a process holds a lock on; None where the system does not list them."""
    try:
        lines = _LOCKS.read_text(encoding="ascii").splitlines()
        return frozenset(
            int(line.split()[5].rpartition(":")[2]) for line in lines if "FLOCK" in line and "->" not in line
        )
    except (OSError, ValueError, IndexError):
        return None


def _measure_progress(folder: Path, verb: str, options: Mapping[str, Any]) -> Progress | None:
    if verb == "train":
        planned, done = dict[str, int](), 0
        with suppress(OSError, ValueError, KeyError, TypeError):  # a plan that is not there, or not one of ours
            runs = parse_json((folder / "plan.json").read_bytes())["runs"]
            planned = {str(run["name"]): int(run["steps"]) for run in runs}
        for name in planned:
            with suppress(ProRubricError):
                done += read_state(folder / name).step
        return Progress(done=done, total=sum(planned.values()), what="steps") if planned else None
    rows, total = find_rows(folder, VERDICTS), options.get("limit")
    if rows is None or verb not in ("judge", "evaluate"):
        return None
    if verb == "judge" and total is None:
        with suppress(ProRubricError, OSError):
            total = count_rows(Path(options["responses"]))
    judged = rows.read_bytes().count(b"\n")
    return Progress(done=judged, total=total if verb == "judge" else None, what="answers judged")


def _join(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value or "")
