"""Locks: a second process is kept out of a run, because both would pay for the same calls."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prorubric.errors import ConfigError

try:
    import fcntl
except ImportError:  # not a Unix
    fcntl = None  # type: ignore[assignment]


@contextmanager
def lock_path(path: Path, place: Path | None = None) -> Iterator[None]:
    """Hold a lock file. `place` is what the user knows it by, by default the folder. Without `fcntl`, does nothing."""
    if fcntl is None:
        yield
        return
    with path.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            known = place or path.parent
            wrong = f"another prorubric process is using this {'folder' if known.is_dir() else 'file'}"
            raise ConfigError(wrong, remedy="wait for it or choose another --out", place=known) from None
        # A process that finished between our opening and our locking may have removed the file that we hold.
        if not path.exists() or path.stat().st_ino != os.fstat(lock.fileno()).st_ino:
            raise ConfigError(f"{path}: another prorubric process has just finished here; try again")
        yield
