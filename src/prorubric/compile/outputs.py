"""The files of a compile run, named after its output, and when they may be replaced.

Existing files are replaced only with --overwrite, or if a run was killed while its files appeared: the same command
then finishes it. A second run that would share a file is kept out.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prorubric.errors import ConfigError
from prorubric.files.lock import lock_path
from prorubric.files.write import remove_partials, split_suffix


@dataclass(frozen=True, slots=True)
class CompileOutputs:
    """The files of one run."""

    tasks: Path
    excluded: Path
    rejects: Path
    manifest: Path
    journal: Path
    identity: str
    """Everything that decides what the files hold, as a hash."""

    @classmethod
    def of(cls, out: Path, journal: Path | None, identity: str) -> "CompileOutputs":
        """Name the files after the output."""
        stem = str(out)[: -len("".join(split_suffix(out)))]
        names = (".excluded.jsonl", ".rejects.jsonl", ".manifest.json", ".journal.sqlite")
        excluded, rejects, manifest, own_journal = (Path(f"{stem}{name}") for name in names)
        return cls(out, excluded, rejects, manifest, journal or own_journal, identity)

    @property
    def paths(self) -> dict[str, Path]:
        """Every file by what it holds."""
        return {name: getattr(self, name) for name in ("tasks", "excluded", "rejects", "manifest", "journal")}

    @property
    def mark(self) -> Path:
        """The file that is locked during a run, and holds its identity while its files appear.

        It is named after the manifest, because `a.jsonl` and `a.parquet` share all files but the output.
        """
        return self.manifest.with_name(f".{self.manifest.name}.unfinished")

    def check(self, source: str, overwrite: bool) -> None:
        """Raise `ConfigError` if the files of this run would replace its input or existing files."""
        others = {path.resolve() for name, path in self.paths.items() if name != "journal"}
        if self.journal.resolve() in others:
            raise ConfigError(f"{self.journal}: the journal would be replaced by the output; choose another name")
        may_replace = overwrite or (self.mark.exists() and self.mark.read_text() == self.identity)
        for name, path in self.paths.items():
            if path.resolve() == Path(source).resolve():
                what = "journal" if name == "journal" else "output"
                raise ConfigError(f"{path}: the {what} would replace the input; choose another name")
            if path.is_dir():
                raise ConfigError(f"{path}: is a folder; name a file")
            if name != "journal" and path.exists() and not may_replace:
                raise ConfigError(f"{path}: already exists; choose another name or pass --overwrite")

    @contextmanager
    def claim(self, source: str, overwrite: bool) -> Iterator[None]:
        """Hold the files for one run."""
        folder = self.mark.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = f"not a folder, and it cannot be created ({error.strerror})"
            raise ConfigError(f"{folder}: {reason}; choose another") from None
        with lock_path(self.mark, self.tasks):
            try:
                self.check(source, overwrite)  # only now: another run may just have finished here
                remove_partials(*self.paths.values())
                yield
            except BaseException:
                # Once the files of a run appear, the same command may replace them, however the run ended.
                if self.mark.exists() and not self.mark.read_text():
                    self.mark.unlink()
                raise
            self.mark.unlink(missing_ok=True)

    def announce(self) -> None:
        """Call this just before the files appear."""
        self.mark.write_text(self.identity)
