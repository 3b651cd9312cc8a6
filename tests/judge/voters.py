"""Judges that differ: by draw, by opinion, and one whose calls all fail."""

import json
from typing import Any, cast

from prorubric.errors import ModelError
from prorubric.llm.model import Failure, Outcome, Reply, Request

WAVERING, LENIENT, STRICT, ODD, FAILING, DEAD = (
    f"{__name__}:{name}" for name in ("Wavering", "Lenient", "Strict", "Odd", "Failing", "Dead")
)


class Lenient:
    """Grants every item."""

    @property
    def name(self) -> str:
        return f"voter/{type(self).__name__}"

    identity = name

    def grant(self, index: int, request: Request) -> bool:
        return True

    async def complete(self, request: Request) -> Outcome:
        [(key, inner)] = cast("dict[str, Any]", request.schema)["properties"].items()
        text = json.dumps({key: {index: self.grant(int(index), request) for index in inner["properties"]}})
        return Reply(text, prompt_tokens=10, completion_tokens=1)

    async def close(self) -> None:
        pass


class Strict(Lenient):
    """Grants nothing."""

    def grant(self, index: int, request: Request) -> bool:
        return False


class Odd(Lenient):
    """Grants items with an odd number."""

    def grant(self, index: int, request: Request) -> bool:
        return index % 2 == 1


class Wavering(Lenient):
    """Grants item n in all draws after the n-th."""

    def grant(self, index: int, request: Request) -> bool:
        return request.draw // 11 >= index


class Failing(Lenient):
    """Never replies."""

    async def complete(self, request: Request) -> Outcome:
        return Failure("timeout", "no answer in 60 s")


class Dead(Lenient):
    """Cannot be used at all."""

    async def complete(self, request: Request) -> Outcome:
        raise ModelError("voter/Dead: HTTP 401: a wrong key")


class DeadToo(Dead):
    """Cannot be used either."""
