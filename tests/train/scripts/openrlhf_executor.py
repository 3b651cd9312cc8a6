"""Responses through OpenRLHF's own `SingleTurnAgentExecutor`; only the policy behind it is made up.

    python openrlhf_executor.py PAIRS REWARD [SCHEME]

REWARD is a URL or a .py file, as in OpenRLHF's `--reward.remote_url`. Rewards come out as the executor gives them to
the trainer, None where it has none.
"""

import asyncio
import importlib.util
import json
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from tests.train.parity import Pair, load_pairs, render_rewards

END = 256


class ByteTokenizer:
    """A token a byte, and one that ends a turn; called and decoded as a Hugging Face tokenizer is."""

    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        return {"input_ids": np.array([list(text.encode())])}

    def decode(self, ids: list[int], **_: Any) -> str:
        texts, run = [], bytearray()
        for token in ids:
            if token == END:
                texts.append(run.decode() + "<|im_end|>")
                run = bytearray()
            else:
                run.append(token)
        return "".join([*texts, run.decode()])


class OneAnswer:
    """An engine that has one thing to say."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def generate(self, prompt: list[int], params: Any, **_: Any) -> Any:
        said = SimpleNamespace(token_ids=[*self._text.encode(), END], finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[said])


def load_executor() -> Any:
    """The real module without the package around it, whose import asks for torch and a mathematics library."""
    found = importlib.util.find_spec("openrlhf")
    assert found is not None
    for name in ("openrlhf", "openrlhf.utils"):
        package = ModuleType(name)
        package.__path__ = [str(Path(place, *name.split(".")[1:])) for place in found.submodule_search_locations or ()]
        sys.modules[name] = package
    return importlib.import_module("openrlhf.utils.agent").SingleTurnAgentExecutor


def render_prompt(pair: Pair) -> str:
    turns = [f"<|im_start|>{message.role}\n{message.content}<|im_end|>\n" for message in pair.task.messages]
    return "".join(turns) + "<|im_start|>assistant\n"


async def run_all(reward: str, pairs: list[Pair]) -> list[dict[str, Any]]:
    executor = load_executor()(reward)
    params = SimpleNamespace(max_tokens=65_536, logprobs=None)

    async def run(pair: Pair) -> dict[str, Any]:
        engine = OneAnswer(pair.text)
        return await executor.execute(render_prompt(pair), pair.task.id, params, 262_144, ByteTokenizer(), engine)

    return await asyncio.gather(*map(run, pairs))


def first(value: Any) -> Any:
    return None if value is None else value[0]


def main(folder: Path, reward: str) -> None:
    started = time.monotonic()
    outputs = asyncio.run(run_all(reward, load_pairs(folder)))
    said = {
        "rewards": render_rewards([first(output["reward"]) for output in outputs]),
        "scores": render_rewards([first(output["scores"]) for output in outputs]),
        "logs": [{name: first(value) for name, value in output["extra_logs"].items()} for output in outputs],
        "seconds": round(time.monotonic() - started, 1),
    }
    print(json.dumps(said))  # noqa: T201 - the line that the test reads


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
