"""A judge behind the misbehaving server; its verdicts are a fixed function of response and item, so that lies show."""

import asyncio
import hashlib
import json
import re
from collections.abc import Callable
from typing import Any, cast

from prorubric.judge.judge import CANARY
from prorubric.llm.model import Reply, Request
from tests.llm.server import BEHAVIOURS, Behaviour, Exchange, fail_half

_ANSWER = re.compile(r"<<<ANSWER ([0-9A-F]{16})\n(.*)\nANSWER \1>>>", re.DOTALL)
_ITEMS = re.compile(r"^\[\n(?:\{.*\},?\n)+\]", re.MULTILINE)


def truth(response: str, index: int) -> bool:
    """What an honest judge says of an item."""
    return hashlib.sha256(f"{response}/{index}".encode()).digest()[0] % 2 == 0


def read_question(exchange: Exchange) -> tuple[str, list[int]]:
    """The response and the indices that a request asks about."""
    text = exchange.question
    answer, items = _ANSWER.search(text), _ITEMS.search(text)
    assert answer is not None
    assert items is not None
    return answer[2], [row["index"] for row in json.loads(items[0])]


def judging(distort: Callable[[dict[str, Any]], Any] = lambda verdicts: {"satisfied": verdicts}) -> Behaviour:
    """Honest verdicts, written down in a way of one's own."""

    async def behave(exchange: Exchange) -> None:
        await asyncio.sleep(exchange.server.think_seconds)
        response, indices = read_question(exchange)
        written = distort({str(index): truth(response, index) for index in indices})
        await exchange.send_content(written if isinstance(written, str) else json.dumps(written))

    return behave


PROPER = f"{__name__}:Proper"


class Proper:
    """A judge that fills the schema of any question; an item that no answer can meet is false."""

    name = identity = "proper/1"

    async def complete(self, request: Request) -> Reply:
        schema = cast("dict[str, Any]", request.schema)
        question = request.messages[-1].content
        written = json.dumps(_fill(schema, question))
        if CANARY in question:
            name, items = next(iter(json.loads(written).items()))
            items[list(items)[-1]] = False if name == "satisfied" else 0
            written = json.dumps({name: items})
        read = sum(len(message.content) for message in request.messages)
        return Reply(written, prompt_tokens=read // 4, completion_tokens=len(written) // 4, finish="stop")

    async def close(self) -> None:
        pass


def _fill(schema: dict[str, Any], seed: str) -> Any:
    if schema["type"] == "object":
        return {key: _fill(inner, f"{seed}/{key}") for key, inner in schema["properties"].items()}
    number = hashlib.sha256(seed.encode()).digest()[0]
    if "enum" in schema:
        return schema["enum"][number % len(schema["enum"])]
    if schema["type"] == "integer":
        return schema["minimum"] + number % (schema["maximum"] - schema["minimum"] + 1)
    return number % 2 == 0 if schema["type"] == "boolean" else "because"


def drop_last(verdicts: dict[str, Any]) -> dict[str, Any]:
    return {"satisfied": dict(list(verdicts.items())[:-1])}


def contradict(verdicts: dict[str, Any]) -> str:
    first = next(iter(verdicts))
    pairs = [*verdicts.items(), (first, not verdicts[first])]
    return '{"satisfied": {' + ", ".join(f'"{key}": {json.dumps(value)}' for key, value in pairs) + "}}"


READABLE = {
    "judge": judging(),
    "judge with a fence": judging(lambda v: f"```json\n{json.dumps({'satisfied': v})}\n```"),
    "judge with prose": judging(lambda v: f"Let me see.\n{json.dumps({'satisfied': v})}\nThat is all."),
    "judge with an extra item": judging(lambda v: {"satisfied": {**v, "99": True}}),
    "judge in words": judging(lambda v: {"satisfied": {key: "yes" if value else "no" for key, value in v.items()}}),
    "judge with reasons": judging(lambda v: {k: {"reason": "so", "satisfied": value} for k, value in v.items()}),
    "judge with thinking": judging(lambda v: f"<think>All true?</think>{json.dumps({'satisfied': v})}"),
}
"""Replies that can be read whole."""

UNREADABLE = {
    "judge without the last item": judging(drop_last),
    "judge with a contradiction": judging(contradict),
    "judge counting from zero": judging(
        lambda v: {"satisfied": {str(int(key) - 1): value for key, value in v.items()}}
    ),
    "judge with the wrong type": judging(lambda v: {"satisfied": dict.fromkeys(v, "perhaps")}),
    "judge cut off": judging(lambda v: json.dumps({"satisfied": v})[:-9]),
    "judge with a list": judging(lambda v: {"satisfied": list(v.values())}),
    "judge refusing": judging(lambda _: "I cannot assist with that request."),
    "judge silent": judging(lambda _: ""),
}
"""Replies that leave at least one item open."""

BEHAVIOURS.update({**READABLE, **UNREADABLE})


async def half(exchange: Exchange) -> None:
    """Half of all calls fail, at random; the others are judged."""
    await (exchange.send_error(503) if exchange.server.random.random() < 0.5 else READABLE["judge"](exchange))


BEHAVIOURS["judge, half failing"] = half
assert fail_half in BEHAVIOURS.values()
