"""Records as keys of a cache, by identity: a task is large and not hashable, and many responses share one."""

from typing import Generic, TypeVar

ObjectT = TypeVar("ObjectT")


class ByIdentity(Generic[ObjectT]):
    """Equals itself only. It keeps its object alive, so that the identity is not given to another."""

    __slots__ = ("object",)

    def __init__(self, wrapped: ObjectT) -> None:
        self.object = wrapped

    def __hash__(self) -> int:
        return id(self.object)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and other.object is self.object
