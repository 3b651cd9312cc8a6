"""The files of a compile run: how they are called, whose they are, and when they may be replaced.

What exists is replaced only where the user says so, or where a run was ended in the moment in which its files
appeared: the same command then finishes it. Two runs that would share a file are kept apart.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from prorubric.errors import ConfigError
from prorubric.files.lock import lock_path
from prorubric.files.write import split_suffix
from prorubric.verbs.compile_config import CompileConfig

_DECIDING = "tasks out format subset split limit strict generator group texts transform generation".split()


def check_outputs(config: CompileConfig) -> None:
    """Refuse to replace what exists, and to begin without a name for the files."""
    outputs = name_outputs(config)
    others = {path.resolve() for name, path in outputs.items() if name != "journal"}
    if outputs["journal"].resolve() in others:
        raise ConfigError(f"{outputs['journal']}: the journal would be replaced by the output; choose another name")
    may_replace = config.overwrite or _was_writing(outputs, config)
    for name, path in outputs.items():
        if path.resolve() == Path(config.tasks).resolve():
            what = "journal" if name == "journal" else "output"
            raise ConfigError(f"{path}: the {what} would replace the input; choose another name")
        if path.is_dir():
            raise ConfigError(f"{path}: is a folder; name a file")
        if name != "journal" and path.exists() and not may_replace:
            raise ConfigError(f"{path}: exists already; choose another name or pass --overwrite")


def name_outputs(config: CompileConfig) -> dict[str, Path]:
    """The files of a run, by what they hold."""
    if config.out is None:
        raise ConfigError("--out is missing; name the file to write, such as compiled.jsonl")
    named = _name_after(config.out)
    return {**named, "journal": config.journal or named["journal"]}


def find_journal(config: CompileConfig) -> Path | None:
    """Where the replies of a run are kept; None where neither it nor the output has a name yet."""
    return config.journal or (_name_after(config.out)["journal"] if config.out else None)


def _name_after(out: Path) -> dict[str, Path]:
    kind, compression = split_suffix(out)
    stem = out.with_name(out.name[: -len(kind + compression)])
    return {
        "tasks": out,
        "excluded": Path(f"{stem}.excluded.jsonl"),
        "rejects": Path(f"{stem}.rejects.jsonl"),
        "manifest": Path(f"{stem}.manifest.json"),
        "journal": Path(f"{stem}.journal.sqlite"),
    }


@contextmanager
def claim_outputs(config: CompileConfig) -> Iterator[dict[str, Path]]:
    """The files of a run that may begin; other runs are kept out of them meanwhile."""
    outputs = name_outputs(config)
    mark = _mark_of(outputs)
    _make_folder(mark.parent)
    with lock_path(mark, outputs["tasks"]):
        try:
            # Not before: another run may just have come to its end.
            check_outputs(config)
            yield outputs
        except BaseException:
            # Once its files appear, whatever ends a run leaves them for the same command to replace.
            if not _read(mark):
                mark.unlink(missing_ok=True)
            raise
        mark.unlink(missing_ok=True)


def announce_outputs(outputs: Mapping[str, Path], config: CompileConfig) -> None:
    """To be called when the files are about to appear."""
    _mark_of(outputs).write_text(_describe(config))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"{folder}: not a folder, and it cannot be created ({error.strerror}); choose another"
        ) from None


def _mark_of(outputs: Mapping[str, Path]) -> Path:
    """The file that is locked while a run goes on, and says whose files are about to appear.

    It is known by the manifest, as all files of a run are but the output: `a.jsonl` and `a.parquet` would share them.
    """
    return outputs["manifest"].with_name(f".{outputs['manifest'].name}.unfinished")


def _was_writing(outputs: Mapping[str, Path], config: CompileConfig) -> bool:
    return _read(_mark_of(outputs)) == _describe(config)


def _read(mark: Path) -> str:
    return mark.read_text() if mark.exists() else ""


def _describe(config: CompileConfig) -> str:
    """The run by all that decides on what its files hold, so that no other one passes for it."""
    settings = [getattr(config, name) for name in _DECIDING]
    return f"writing {sha256(repr(settings).encode()).hexdigest()}"
