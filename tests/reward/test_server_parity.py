"""Two hundred pairs through every route: to the bit what plain `score` gives, and a 503 where that is unknown."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from prorubric.rubric.forms import render_task
from tests.reward.serving import RunningServer
from tests.reward.test_server import READ
from tests.thorough import parametrize_sparingly
from tests.train.parity import (
    Pair,
    expect,
    expect_transcripts,
    load_pairs,
    make_messages,
    render_rewards,
    reward_options,
    write_pairs,
)

_SHARED = Path(__file__).parents[3] / "shared/data"
_AT_ONCE = 16


def chat(pair: Pair) -> str:
    """A prompt as a chat template writes it."""
    turns = [f"<|im_start|>{message.role}\n{message.content}<|im_end|>\n" for message in pair.task.messages]
    return "".join(turns) + "<|im_start|>assistant\n"


def ask_openrlhf(pair: Pair, reference: Any) -> dict[str, Any]:
    prompt = chat(pair)
    return {"query": [f"{prompt}{pair.text}<|im_end|>"], "prompts": [prompt], "labels": [reference]}


def ask_verify(pair: Pair, reference: Any) -> dict[str, Any]:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": pair.text}]}
    question = [message.model_dump() for message in pair.task.messages]
    return {"responses_create_params": {"input": question}, "response": {"output": [said]}, "task_id": reference}


ASK: Mapping[str, Callable[[Pair, Any], dict[str, Any]]] = {
    "/score": lambda pair, reference: {"task": reference, "response": pair.text},
    "/openrlhf": ask_openrlhf,
    "/slime": lambda pair, reference: {"prompt": chat(pair), "response": f"{pair.text}<|im_end|>", "label": reference},
    "/verify": ask_verify,
}


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Pair]]:
    folder = tmp_path_factory.mktemp("parity")
    write_pairs(folder, _SHARED if _SHARED.is_dir() else None)
    return folder, load_pairs(folder)


@pytest.fixture(scope="module", params=["prorubric", "additive"])
def served(
    request: pytest.FixtureRequest, pairs: tuple[Path, list[Pair]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningServer, str, list[Pair]]]:
    options = reward_options(pairs[0], request.param)
    told = ("--judge", options["judge"], "--tasks", options["tasks"], "--scheme", request.param)
    with RunningServer(told, tmp_path_factory.mktemp("server")) as server:
        yield server, request.param, pairs[1]


EVERY = parametrize_sparingly("step", [8, 1], 2)
"""One pair of eight, or all of them."""


@EVERY
@pytest.mark.parametrize("carried", [False, True], ids=["by id", "carried"])
@pytest.mark.parametrize("route", ASK)
async def test_every_route_gives_the_same_reward_to_the_bit(
    served: tuple[RunningServer, str, list[Pair]], route: str, carried: bool, step: int
) -> None:
    server, scheme, pairs = served[0], served[1], served[2][::step]
    bodies = [ASK[route](pair, render_task(pair.task) if carried else pair.task.id) for pair in pairs]
    assert render_rewards(await ask_all(server, route, bodies)) == expect(pairs, scheme)


async def ask_all(server: RunningServer, route: str, bodies: Sequence[dict[str, Any]]) -> list[float | None]:
    """The rewards that a route gives, None where it says that one is unknown."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def ask(session: aiohttp.ClientSession, body: dict[str, Any]) -> float | None:
        async with turns, session.post(server.url + route, json=body) as response:
            if response.status == 503:
                return None
            assert response.status == 200, await response.text()
            return float(READ[route](await response.json()))

    async with aiohttp.ClientSession() as session:
        return await asyncio.gather(*(ask(session, body) for body in bodies))


def list_output(pair: Pair) -> list[dict[str, Any]]:
    """A transcript in the form of the Responses API, with a thought that is not judged."""
    first, result, question, last = make_messages(pair)
    call = first["tool_calls"][0]
    return [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": first["content"]}]},
        {"type": "function_call", "call_id": call["id"], **call["function"], "id": "fc_1"},
        {"type": "function_call_output", "call_id": call["id"], "output": result["content"]},
        {"type": "message", **question},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": last["content"]}]},
    ]


@pytest.fixture(scope="module", params=["full", "last"])
def viewing(
    request: pytest.FixtureRequest, pairs: tuple[Path, list[Pair]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[RunningServer, str, list[Pair]]]:
    options = reward_options(pairs[0])
    told = ("--judge", options["judge"], "--tasks", options["tasks"], "--view", request.param)
    with RunningServer(told, tmp_path_factory.mktemp("server")) as server:
        yield server, request.param, pairs[1]


@EVERY
@pytest.mark.parametrize("route", ["/score", "/verify"])
async def test_a_transcript_gets_the_same_reward_to_the_bit(
    viewing: tuple[RunningServer, str, list[Pair]], route: str, step: int
) -> None:
    server, view, pairs = viewing[0], viewing[1], viewing[2][::step]
    bodies = [
        {"task": pair.task.id, "response": make_messages(pair)}
        if route == "/score"
        else {**ask_verify(pair, pair.task.id), "response": {"output": list_output(pair)}}
        for pair in pairs
    ]
    wanted = expect_transcripts(pairs) if view == "full" else expect(pairs)
    assert render_rewards(await ask_all(server, route, bodies)) == wanted


def test_a_transcript_that_cannot_be_judged_is_refused(viewing: tuple[RunningServer, str, list[Pair]]) -> None:
    server, view, pairs = viewing
    image = [{"role": "assistant", "content": [{"type": "image_url"}]}]
    answer = server.post("/score", {"task": pairs[0].task.id, "responses": ["a text", image]})
    place = "the response: turn 1" if view == "full" else "the response"
    said = f"task {pairs[0].task.id!r}: {place}: a part cannot be judged (type image_url); leave out what is not text"
    assert (answer.status, answer.body) == (422, {"error": said})
    searched = {**ask_verify(pairs[0], pairs[0].task.id), "response": {"output": [{"type": "web_search_call"}]}}
    assert server.post("/verify", searched).status == (422 if view == "full" else 200)
