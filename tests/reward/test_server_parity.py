"""Two hundred pairs through every route: to the bit what plain `score` gives, and a 503 where that is unknown."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from prorubric.rubric.forms import render_task
from tests.reward.serving import RunningServer
from tests.reward.test_server import READ
from tests.train.parity import Pair, expect, load_pairs, render_rewards, reward_options, write_pairs

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


@pytest.mark.parametrize("carried", [False, True], ids=["by id", "carried"])
@pytest.mark.parametrize("route", ASK)
async def test_every_route_gives_the_same_reward_to_the_bit(
    served: tuple[RunningServer, str, list[Pair]], route: str, carried: bool
) -> None:
    server, scheme, pairs = served
    turns = asyncio.Semaphore(_AT_ONCE)

    async def ask(session: aiohttp.ClientSession, pair: Pair) -> float | None:
        body = ASK[route](pair, render_task(pair.task) if carried else pair.task.id)
        async with turns, session.post(server.url + route, json=body) as response:
            if response.status == 503:
                return None
            assert response.status == 200, await response.text()
            return float(READ[route](await response.json()))

    async with aiohttp.ClientSession() as session:
        found = await asyncio.gather(*(ask(session, pair) for pair in pairs))
    assert render_rewards(found) == expect(pairs, scheme)
