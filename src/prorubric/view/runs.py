"""The run folders below a root: which verb wrote each, how far it is, what it cost, and where its report is.

Nothing is written here, and a folder that cannot be read is listed with the reason. Whether a run is still going
shows in its lock, which is looked up and never taken: a run that starts at this moment must not be refused for that.
"""

import base64
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import Any, Literal

from prorubric.errors import ProRubricError, SourceError
from prorubric.files.json import parse_json
from prorubric.files.read import count_rows
from prorubric.llm.accounting import Usage, estimate_cost, load_prices
from prorubric.rubric.base import Record
from prorubric.runs.folder import CONFIG, JOURNAL, SUMMARY, read_setting
from prorubric.runs.verdicts import VERDICTS
from prorubric.train.recipe import load_recipe
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

_COUNT_REPLIES = """SELECT json_extract(meta, '$.model'), count(*), sum(prompt_tokens), sum(completion_tokens),
    sum(prompt_tokens = 0) FROM replies GROUP BY 1"""
_INPUTS = ("benchmarks", "recipe", "study", "tasks")
"""Options that say what a run is about."""

RunState = Literal["running", "done", "stopped", "unfinished", "unreadable"]


class RunProgress(Record):
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
    changed: float | None = None
    """When something was last written, in seconds since 1970; None if that cannot be told."""
    calls: int | None = None
    """Questions to models, or the replies so far."""
    cost: float | None = None
    """US dollars, or what the replies so far cost; None if it is not known."""
    progress: RunProgress | None = None
    has_report: bool


class Listing(Record):
    """Every run below the root."""

    root: str
    runs: tuple[RunCard, ...]
    is_cut: bool
    """True if there are more folders than are looked at."""
    closed: tuple[str, ...]
    """Folders that could not be looked into."""


def walk_folders(
    root: Path, on_error: Callable[[OSError], object] = lambda _: None
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """The folders below a root with the names in them, without those that hold no runs."""
    for place, folders, files in os.walk(root, onerror=on_error):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED)
        yield Path(place), folders, files


class Library:
    """The runs below a root, by ids that can be part of a URL."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def list_runs(self) -> Listing:
        """Every run, the latest first."""
        held, looked = _list_held_locks(), 0
        runs, closed = list[RunCard](), list[str]()
        for folder, _, _ in walk_folders(self.root, lambda error: closed.append(_show(error.filename))):
            looked += 1
            if looked > _MOST_FOLDERS:
                break
            try:
                is_run = (folder / CONFIG).is_file()
            except OSError:
                closed.append(_show(folder))
                continue
            if is_run and (card := self._describe(folder, held)) is not None:
                runs.append(card)
        runs.sort(key=lambda card: card.changed or 0.0, reverse=True)
        return Listing(
            root=_show(self.root), runs=tuple(runs), is_cut=looked > _MOST_FOLDERS, closed=tuple(dict.fromkeys(closed))
        )

    def find(self, run: str) -> Path:
        """The folder of an id; `SourceError` if there is none below the root."""
        with suppress(ValueError, OSError):  # no base64, or no name of a folder
            name = os.fsdecode(base64.urlsafe_b64decode(run + "=" * (-len(run) % 4)))
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
        """A run; None if the folder was not written by a verb of ours. One that cannot be read has the reason."""
        name = folder.relative_to(self.root).as_posix()
        about: dict[str, Any] = {
            "id": base64.urlsafe_b64encode(os.fsencode(name)).decode().rstrip("="),
            "path": _show(name if name != "." else folder.name),
        }
        try:
            return _read_card(folder, held, about)
        except OSError as error:
            reason = f"{error.filename or folder}: {error.strerror or error}"
        except ProRubricError as error:  # without what to do about it, which is for those who write a run
            reason = f"{error.place}: {error.kind}"
        return RunCard(**about, verb="?", page=None, state="unreadable", reason=_show(reason), has_report=False)


def _read_card(folder: Path, held: frozenset[int] | None, about: Mapping[str, Any]) -> RunCard | None:
    setting = read_setting(folder)
    verb = setting.get("verb")
    if not isinstance(verb, str):
        return None
    options = setting.get("config", {})
    written = next((path for path in (folder / SUMMARY, folder / "run.json") if path.is_file()), None)
    stamp = written.stat() if written else None
    summary = _parse_summary(written, stamp.st_mtime_ns, stamp.st_size) if written and stamp else {}
    state, reason = _tell_state(folder, summary, held)
    calls, cost, progress = summary.get("calls"), summary.get("cost"), None
    for name, value in (("calls", calls), ("cost", cost)):
        if not isinstance(value, int | float | None):
            raise SourceError(f"{name} is not a number", place=written)
    if state == "running":
        used = read_journal(folder / JOURNAL)
        calls = None if used is None else sum(usage.calls for usage in used)
        cost = None if used is None else add_costs(used, folder, options)
        progress = _measure_progress(folder, verb, options)
    return RunCard(
        **about,
        verb=verb,
        page=_PAGES.get(verb),
        state=state,
        reason=_show(reason),
        judge=_join(setting.get("judge") or options.get("judge")),
        about=_join(next((options[name] for name in _INPUTS if options.get(name)), None)),
        changed=_find_last_change(folder),
        calls=calls,
        cost=cost,
        progress=progress,
        has_report=(folder / REPORT).is_file(),
    )


def find_rows(folder: Path, name: str) -> Path | None:
    """A file of rows: whole, or what a running run has written so far."""
    for _ in range(2):  # a run that ends at this moment renames the file
        if (folder / name).is_file():
            return folder / name
        with suppress(FileNotFoundError):
            return max(folder.glob(f".{name}.partial-*"), key=lambda path: path.stat().st_mtime, default=None)
    return None


def read_journal(journal: Path) -> list[Usage] | None:
    """The replies in a journal by model, while another process may be writing it; None if it cannot be read."""
    if not journal.is_file():
        return None
    try:
        with closing(sqlite3.connect(f"{journal.resolve().as_uri()}?mode=ro", uri=True, timeout=1)) as opened:
            rows = opened.execute(_COUNT_REPLIES).fetchall()
    except sqlite3.Error:
        return None
    return [
        Usage(model=str(model), calls=calls, prompt_tokens=prompt, completion_tokens=completion, unmetered=without)
        for model, calls, prompt, completion, without in rows
    ]


def add_costs(used: Iterable[Usage], folder: Path, options: Mapping[str, Any]) -> float | None:
    """What replies cost, by the prices that the run was given; only models behind an address are paid for.

    A training has its prices in the copy of its recipe.
    """
    recipe = next(iter(folder.glob("recipe.*")), None) if "recipe" in options else None
    try:
        prices = load_recipe(recipe, options.get("set") or ()).prices if recipe else options.get("prices")
        table = load_prices(str(prices) if prices else None)
    except ProRubricError:
        return None
    costs = [estimate_cost(usage, table) for usage in used if usage.model.startswith("http")]
    return None if None in costs else sum(cost or 0.0 for cost in costs)


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
        raise SourceError(f"not JSON ({error})", place=path) from None
    if not isinstance(found, dict):
        raise SourceError("not a summary", place=path)
    kept = {name: found.get(name) for name in ("stopped", "unfinished", "calls", "cost")}
    states = [run.get("state") for run in found.get("runs") or () if isinstance(run, dict)]
    return {**kept, "runs": [state for state in states if isinstance(state, str)]}


def _tell_state(folder: Path, summary: Mapping[str, Any], held: frozenset[int] | None) -> tuple[RunState, str]:
    """The state of a run, and why it is not done."""
    is_held = False
    if held is None:
        is_held = not summary and time.time() - _find_last_change(folder) < _QUIET_SECONDS
    else:
        with suppress(FileNotFoundError):
            is_held = (folder / ".lock").stat().st_ino in held
    if is_held:
        return "running", ""
    if not summary:
        return "unfinished", "it ended early; run the same command again to finish it"
    if summary["stopped"]:
        return "stopped", str(summary["stopped"])
    if summary["unfinished"]:
        return "unfinished", "some calls failed; run the same command again to repeat them"
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


def _measure_progress(folder: Path, verb: str, options: Mapping[str, Any]) -> RunProgress | None:
    if verb == "train":
        planned, done = dict[str, int](), 0
        with suppress(OSError, ValueError, KeyError, TypeError):  # a plan that is not there, or not one of ours
            runs = parse_json((folder / "plan.json").read_bytes())["runs"]
            planned = {str(run["name"]): int(run["steps"]) for run in runs}
        for name in planned:
            with suppress(ProRubricError):
                done += read_state(folder / name).step
        return RunProgress(done=done, total=sum(planned.values()), what="steps") if planned else None
    if verb not in ("judge", "evaluate"):
        return None
    with suppress(FileNotFoundError):  # a run that ends at this moment renames the file
        if (rows := find_rows(folder, VERDICTS)) is not None:
            judged = rows.read_bytes().count(b"\n")
            return RunProgress(done=judged, total=_count_expected(verb, options), what="answers judged")
    return None


def _count_expected(verb: str, options: Mapping[str, Any]) -> int | None:
    """How many answers a run will judge; None if that cannot be told."""
    if verb != "judge":
        return None
    counts = [options["limit"]] if isinstance(options.get("limit"), int) else []
    with suppress(ProRubricError, OSError):
        counts.append(count_rows(Path(str(options.get("responses")))))
    return min((count for count in counts if count is not None), default=None)


def _join(value: object) -> str:
    return _show(", ".join(map(str, value)) if isinstance(value, list | tuple) else value or "")


def _show(value: object) -> str:
    """A text that any page can show: names of files need not be UTF-8."""
    return str(value).encode("utf-8", "replace").decode()
