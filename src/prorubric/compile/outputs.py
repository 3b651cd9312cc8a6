"""The files of a compile run: how they are called, whose they are, and when they may be replaced.

What exists is replaced only where the user says so, or where a run was killed in the moment in which its files
appeared: the same command then finishes it. Two runs that would share a file are kept apart.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from prorubric.compile.config import CompileConfig
from prorubric.errors import ConfigError
from prorubric.rubric.files import lock_path, split_suffix

_WRITING = "writing"


def check_outputs(config: CompileConfig) -> dict[str, Path]:
    """The files of a run; refuses to replace what exists, and to begin without a name for them."""
    if config.out is None:
        raise ConfigError("--out is missing; name the file to write, such as compiled.jsonl")
    named = _name_outputs(config.out)
    outputs = {**named, "journal": config.journal or named["journal"]}
    # What a run that was killed in that moment has left is its own to replace.
    is_unfinished = _was_writing(outputs["manifest"])
    if outputs["journal"].resolve() in {path.resolve() for name, path in outputs.items() if name != "journal"}:
        raise ConfigError(f"{outputs['journal']}: the journal would be replaced by the output; choose another name")
    for name, path in outputs.items():
        if path.resolve() == Path(config.tasks).resolve():
            what = "journal" if name == "journal" else "output"
            raise ConfigError(f"{path}: the {what} would replace the input; choose another name")
        if name != "journal" and path.exists() and not config.overwrite and not is_unfinished:
            raise ConfigError(f"{path}: exists already; choose another name or pass --overwrite")
    return outputs


def find_journal(config: CompileConfig) -> Path | None:
    """Where the replies of a run are kept; None where neither it nor the output has a name yet."""
    return config.journal or (_name_outputs(config.out)["journal"] if config.out else None)


def _name_outputs(out: Path) -> dict[str, Path]:
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
def claim_outputs(outputs: Mapping[str, Path]) -> Iterator[None]:
    """Keep other runs out of these files."""
    mark, was_writing = _mark_of(outputs["manifest"]), _was_writing(outputs["manifest"])
    mark.parent.mkdir(parents=True, exist_ok=True)
    with lock_path(mark, outputs["tasks"]):
        try:
            yield
        except BaseException:
            # Only a run that is killed while its files appear leaves them to be replaced.
            if not was_writing:
                mark.unlink(missing_ok=True)
            raise
        mark.unlink(missing_ok=True)


def announce_outputs(outputs: Mapping[str, Path]) -> None:
    """To be called when the files are about to appear."""
    _mark_of(outputs["manifest"]).write_text(_WRITING)


def _mark_of(manifest: Path) -> Path:
    """The file that is locked while a run goes on, and says whether its files are about to appear.

    It is known by the manifest, as all files of a run are but the output: `a.jsonl` and `a.parquet` would share them.
    """
    return manifest.with_name(f".{manifest.name}.unfinished")


def _was_writing(manifest: Path) -> bool:
    try:
        return _mark_of(manifest).read_text() == _WRITING
    except OSError:
        return False
