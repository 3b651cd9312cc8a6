"""Every error that ProRubric raises on purpose, as one tree: catch broadly, recover narrowly.

    ProRubricError
    ├── RubricError      a record was given a value it cannot hold
    ├── SourceError      a file cannot be read, written or recognised
    │   └── RowError     one row of a file cannot be read
    ├── SchemeError      a scheme does not fit this task or these verdicts
    ├── ModelError       a model cannot be used at all: wrong key, no such model, no server
    ├── UnjudgedError    one response cannot be judged by this model; the judge makes it unknown
    │   └── NotAskedError  the run is stopping, so the model was not asked
    ├── BreakerError     too many rewards in a row are unknown; further training would be on noise
    ├── ConfigError      an option is not allowed
    ├── StaleError       what should be changed has been changed by someone else since it was read
    ├── StoppedError     a run used up its budget; the same command with a larger one continues
    ├── MissingExtraError  a feature needs an optional dependency
    └── InvalidValueError  raised by validators of records; the record turns it into one of the above

An error has fields, and its line is rendered from them: `place: kind (detail); remedy`. Code that counts or compares
errors uses the fields and never the line. All errors survive pickling between processes. On the command line they end
the program with exit code 2 and no traceback; any other exception is a bug and shows one.
"""

from typing import Self, TypeVar

ErrorT = TypeVar("ErrorT", bound="ProRubricError")


class ProRubricError(Exception):
    """The root: everything that ProRubric raises on purpose."""

    place: str
    """File, `file:line`, task, option or field: where the fault is, from the outside in. May be empty."""
    kind: str
    """What is wrong: a constant phrase that can be counted, or the whole message of an error that is never counted."""
    detail: str
    """What was found."""
    remedy: str
    """What is allowed, or what to do."""

    def __init__(self, kind: str, detail: str = "", *, remedy: str = "", place: object = "") -> None:
        super().__init__(*((kind, detail) if detail else (kind,)))  # unpickling calls this with `args`
        self.kind, self.detail, self.remedy, self.place = kind, detail, remedy, str(place)

    @property
    def message(self) -> str:
        """The line without the place."""
        found = f"{self.kind} ({self.detail})" if self.detail else self.kind
        return f"{found}; {self.remedy}" if self.remedy else found

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message

    def at(self, place: object) -> Self:
        """The same error with its place seen from further out: `criterion 3` becomes `tasks.jsonl:7: criterion 3`."""
        return self.turn_into(type(self), place)

    def turn_into(self, error: type[ErrorT], place: object = "") -> ErrorT:
        """The same fault as an error of another type, at a place further out."""
        steps = (step for step in (str(place), self.place) if step)
        return error(self.kind, self.detail, remedy=self.remedy, place=": ".join(steps))


class RubricError(ProRubricError):
    """A record was given a value that it cannot hold."""


class SourceError(ProRubricError):
    """A file cannot be read, written or recognised."""


class RowError(SourceError):
    """One row of a file cannot be read."""


class SchemeError(ProRubricError):
    """A scheme cannot be applied to this task, or the verdicts are not the ones it reads."""


class ModelError(ProRubricError):
    """A model cannot be used at all, and a retry would not help."""


class UnjudgedError(ProRubricError):
    """One response cannot be judged by this model; the judge makes it `Unknown` with this reason."""


class NotAskedError(UnjudgedError):
    """The model was not asked, because the run is stopping."""


class BreakerError(ProRubricError):
    """More rewards of a batch are unknown than allowed: the training stops rather than learn from the rest."""


class ConfigError(ProRubricError):
    """An option has a value that is not allowed."""


class StaleError(ProRubricError):
    """What should be changed has been changed by someone else since it was read."""


class StoppedError(ProRubricError):
    """A run used up its budget before it was complete."""


class InvalidValueError(ProRubricError, ValueError):
    """A validator refuses a value. Pydantic takes it for its own, and the record adds the field as the place."""


class MissingExtraError(ProRubricError):
    """A feature needs an optional dependency that is not installed."""

    @classmethod
    def of(cls, feature: str, extra: str) -> "MissingExtraError":
        """The line that tells the user what to install, in a checkout and in a release."""
        return cls(
            f"{feature} needs the extra [{extra}]; install prorubric with it: pip install '.[{extra}]' in a checkout"
        )
