"""Every error that ProRubric raises on purpose, as one tree: catch broadly, recover narrowly.

    ProRubricError
    ├── RubricError      a record was given a value it cannot hold
    ├── SourceError      a file cannot be read, written or recognised
    │   └── RowError     one row of a file is not what it should be (strict loading)
    ├── SchemeError      a scheme does not fit this task or these verdicts
    ├── ModelError       a model cannot be used at all: wrong key, no such model, nothing listens
    ├── UnjudgedError    one response cannot be judged by this model; the judge makes it unknown
    ├── BreakerError     too many rewards in a row are unknown; training on would be training on noise
    ├── ConfigError      an option is not allowed
    ├── StoppedError     a run used up its budget; the same command with a larger one goes on
    └── MissingExtraError  a feature needs an optional dependency

A message is one line: where, what was found, what is allowed, what to do. Each error carries nothing but that
line, so that all of them survive pickling between processes. On the command line they end the program with
exit code 2 and no traceback; any other exception is a bug and shows one.
"""


class ProRubricError(Exception):
    """The root: everything that ProRubric raises on purpose."""


class RubricError(ProRubricError):
    """A record was given a value that it cannot hold."""


class SourceError(ProRubricError):
    """A file cannot be read, written or recognised."""


class RowError(SourceError):
    """One row of a file is not what it should be."""


class SchemeError(ProRubricError):
    """A scheme cannot be applied to this task, or the verdicts are not the ones it reads."""


class ModelError(ProRubricError):
    """A model cannot be used at all; no retry would mend it."""


class UnjudgedError(ProRubricError):
    """One response cannot be judged by this model; the judge makes it `Unknown` with this reason."""


class BreakerError(ProRubricError):
    """More rewards of a batch are unknown than allowed: the training stops rather than learn from the rest."""


class ConfigError(ProRubricError):
    """An option has a value that is not allowed."""


class StoppedError(ProRubricError):
    """A run used up its budget before it was complete."""


class MissingExtraError(ProRubricError):
    """A feature needs an optional dependency that is not installed."""

    @classmethod
    def of(cls, feature: str, extra: str) -> "MissingExtraError":
        """The one line that tells the user what to install, for a checkout and a release alike."""
        return cls(
            f"{feature} needs the extra [{extra}]; install prorubric with it: pip install '.[{extra}]' in a checkout"
        )
