"""The folder of a run: which run it belongs to, what may change when it is run again, and who may write into it.

`config.json` names the verb that wrote the folder, every option, and the run's *identity*: the values that make it a
different run if they differ. A folder that holds other files, another verb or another identity is left alone. The
lock is taken before anything is written.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

from prorubric.errors import ConfigError
from prorubric.files.json import parse_json, render_json
from prorubric.files.lock import lock_path
from prorubric.files.write import hash_file, remove_partials, write_json
from prorubric.rubric.base import render_config
from prorubric.text.show import shorten

CONFIG, SUMMARY, JOURNAL = "config.json", "summary.json", "journal.sqlite"
TASKS, REJECTS = "tasks.jsonl", "rejects.jsonl"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run is, for its folder."""

    verb: str
    config: Any
    identity: Mapping[str, Any]
    """What makes it another run if it differs, by the name that a user knows it by."""
    inputs: Mapping[str, str | Path | None] = field(default_factory=dict)
    """The files it reads, by option. They are part of the identity, by their path and by their content."""
    files: Sequence[str] = ()
    """The names of its results."""
    grows: Sequence[str] = ()
    """Parts of the identity that may be larger than before; None means no limit. Of a mapping, entries may come and go,
    and those that stay must agree."""
    until_finished: Sequence[str] = ()
    """Parts of the identity that may differ until the run has finished; `content` is that of the inputs."""
    option: str = "--out"
    """What names the folder."""
    overwrite: bool | None = None
    """Whether to replace an earlier run; None if the verb has no --overwrite."""


@contextmanager
def claim_folder(folder: Path, setting: Setting) -> Iterator[Callable[..., None]]:
    """Hold a folder for one run, and give the function that begins it: earlier results go, `config.json` is written."""
    described = describe_run(setting)
    check_folder(folder, setting, described)  # before a lock is left in a folder that is not ours
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder}: not a folder; choose another {setting.option}")
    folder.mkdir(parents=True, exist_ok=True)

    def begin(**about: Any) -> None:
        for name in setting.files:
            (folder / name).unlink(missing_ok=True)
        write_json(folder / CONFIG, {**described, **about})

    with lock_path(folder / ".lock"):
        check_folder(folder, setting, described)  # another run may have finished here since
        remove_partials(*(folder / name for name in (CONFIG, *setting.files)))
        yield begin


def describe_run(setting: Setting) -> dict[str, Any]:
    """The content of `config.json`. It holds no key: keys live in the environment."""
    inputs: dict[str, dict[str, str | None] | None] = dict.fromkeys(setting.inputs)
    for name, given in setting.inputs.items():
        if given is not None:  # a file by its full path and a hash of its content; a dataset on the hub by its name
            path = Path(given)
            inputs[name] = {"path": str(path.resolve() if path.exists() else given), "sha256": hash_file(path)}
    described: dict[str, Any] = {
        "verb": setting.verb,
        "config": render_config(setting.config),
        "identity": {**setting.identity},
        "inputs": inputs,
        "versions": {"prorubric": version("prorubric"), "python": python_version()},
    }
    as_read_back: dict[str, Any] = parse_json(render_json(described))
    return as_read_back


def check_folder(folder: Path, setting: Setting, now: Mapping[str, Any]) -> None:
    """Raise `ConfigError` if the folder holds other files, or a run with another identity that is to be kept."""
    before, names = read_setting(folder), (CONFIG, *setting.files)
    found = next((name for name in names if os.path.lexists(folder / name)), None)
    if found and before.get("verb") != setting.verb:
        raise ConfigError(
            f"{folder}: holds files that are not a run of {setting.verb} ({found}); choose another {setting.option}"
        )
    if not found or setting.overwrite:
        return
    instead = f"choose another {setting.option}" + ("" if setting.overwrite is None else ", or pass --overwrite")
    if not isinstance(before.get("identity"), dict) or not isinstance(before.get("inputs"), dict):
        raise ConfigError(f"{folder / CONFIG}: does not say which run this is; {instead}")
    paths = [{name: (held or {}).get("path") for name, held in run["inputs"].items()} for run in (before, now)]
    old, new = paths[0] | before["identity"], paths[1] | now["identity"]
    loose = () if _is_finished(folder) else setting.until_finished
    for name, value in new.items():
        was = old.get(name)
        grew = name in setting.grows and was is not None and (value is None or _is_larger(value, was))
        if was != value and not grew and name not in loose:
            what, before_and_now = name, (was, value)
            if isinstance(was, dict) and isinstance(value, dict):  # say which part differs
                shared = [key for key in value if key in was]
                part = next(key for key in (*shared, *value, *was) if was.get(key) != value.get(key))
                what, before_and_now = f"{name} {part}", (was.get(part), value.get(part))
            # Of two paths, the ends tell them apart.
            differs = ", not ".join(str(one) if name in paths[1] else shorten(str(one)) for one in before_and_now)
            raise ConfigError(f"{folder}: holds a run of {setting.verb} with another {what} ({differs}); {instead}")
    for name, held in now["inputs"].items() if "content" not in loose else ():
        if held != before["inputs"].get(name):
            what = f"the content of {name} ({setting.inputs[name]})"
            raise ConfigError(f"{folder}: holds a run of {setting.verb}, and {what} has changed since; {instead}")


def _is_larger(value: Any, was: Any) -> bool:
    if isinstance(value, dict) and isinstance(was, dict):
        return all(was.get(name, part) == part for name, part in value.items())
    return bool(value > was)


def _is_finished(folder: Path) -> bool:
    """True if the folder has the summary of a run that was not stopped."""
    try:
        summary = parse_json((folder / SUMMARY).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(summary, dict) and not summary.get("stopped")


def read_setting(folder: Path) -> dict[str, Any]:
    """The `config.json` of a folder; empty if there is none. One that no run can have written is a `ConfigError`."""
    path = folder / CONFIG
    if not path.is_file():
        return {}
    try:
        found = parse_json(path.read_bytes())
    except (ValueError, RecursionError) as error:
        wrong = f"not JSON ({shorten(str(error))})"
        raise ConfigError(wrong, remedy="choose another --out", place=path) from None
    if not isinstance(found, dict) or not isinstance(found.get("config", {}), dict):
        raise ConfigError("not the settings of a run", remedy="choose another --out", place=path)
    return found
