"""Earlier versions of files, read with git from the repository of the current folder. Nothing there is changed.

Git gets names from the root of the repository: in a hook it sets variables that make it misread relative ones.
"""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from prorubric.errors import ConfigError, SourceError


@dataclass(frozen=True)
class Base:
    """A commit to compare files with."""

    commit: str
    root: Path
    renamed: Mapping[str, str]
    """Names of files in the commit, by their names today; both from the root."""

    def read(self, path: Path) -> tuple[Path, bytes] | None:
        """The name and the content of a file in the commit, or None if it is not there."""
        today = os.path.relpath(path.resolve(), self.root)
        name = self.renamed.get(today, today)
        if not _run_git("ls-tree", "-z", "--full-tree", self.commit, "--", name):
            return None
        earlier = path if name == today else Path(os.path.relpath(self.root / name))
        return earlier, _run_git("cat-file", "blob", f"{self.commit}:{name}")

    def list_deleted(self, pattern: str) -> list[str]:
        """Files of the commit that match a pattern and are gone, not renamed; seen from the current folder."""
        options = ("--name-only", "--diff-filter=D", "--find-renames", "-z")
        listed = _run_git("diff", *options, self.commit, "--", f":(glob){pattern}")
        return [os.path.relpath(self.root / name) for name in os.fsdecode(listed).split("\0") if name]


def find_base(name: str) -> Base | None:
    """The commit where this branch and `name` parted; None before the first commit."""
    try:
        root = Path(os.fsdecode(_run_git("rev-parse", "--show-toplevel")).removesuffix("\n"))
        if not _run_git("rev-list", "--max-count=1", "--ignore-missing", "HEAD"):
            return None
        commit = _run_git("merge-base", "--", name, "HEAD").decode().strip()
    except SourceError as error:
        said = error.detail or "no commit in common with HEAD"
        remedy = "in CI, check out the whole history (fetch-depth: 0)"
        if "not a git repository" in said:
            said, remedy = "this folder is not in a git repository", "run the check inside the repository"
        elif "dubious ownership" in said:
            remedy = "if you trust it, list it in git's setting safe.directory"
        raise ConfigError(said, remedy=remedy, place=f"--base {name}") from None
    listed = _run_git("diff", "--name-status", "--diff-filter=R", "--find-renames", "-z", commit)
    parts = iter(os.fsdecode(listed).split("\0")[:-1])  # of each: R and how alike they are, the old and the new name
    return Base(commit, root, {new: old for _, old, new in zip(parts, parts, parts, strict=True)})


def _run_git(*arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=False)  # noqa: S603, S607
    except FileNotFoundError:
        raise ConfigError("--base needs git; install it, or leave --base out") from None
    if done.returncode:
        raise SourceError(f"git {arguments[0]} failed", done.stderr.decode(errors="replace").strip().partition("\n")[0])
    return done.stdout
