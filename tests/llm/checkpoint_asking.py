"""Ask checkpoints of small policies, and transformers itself, and say in one line of JSON what each replied.

Usage: checkpoint_asking.py FOLDER
"""

import asyncio
import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import transformers

from prorubric.errors import ProRubricError
from prorubric.llm.checkpoint import make_seed
from prorubric.llm.make import make_text_model
from prorubric.llm.model import Failure, Request
from prorubric.rubric.records import Message
from prorubric.train.policies import keep_policy, load_policy

QUESTION = "My ear hurts. What can I do?"
ASKED = Request((Message(role="user", content=QUESTION),), seed=5, draw=2)
SAID = "<think>Is it the left one?</think>Rest."
torch.set_num_threads(1)
folder = Path(sys.argv[1])


def ask(checkpoint: Path, text: str = QUESTION, **options: Any) -> dict[str, Any]:
    async def complete() -> dict[str, Any]:
        model = make_text_model(str(checkpoint))
        outcome = await model.complete(Request((Message(role="user", content=text),), **options))
        await model.close()
        return asdict(outcome) | ({"is_refusal": outcome.is_refusal} if isinstance(outcome, Failure) else {})

    try:
        return asyncio.run(complete())
    except ProRubricError as error:
        return {"error": f"{type(error).__name__}: {error}"}


def generate(checkpoint: Path, request: Request = ASKED, **options: Any) -> str:
    """The reply of transformers without anything of ours."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint)
    model = transformers.AutoModelForCausalLM.from_pretrained(checkpoint)
    messages = [{"role": "user", "content": QUESTION}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    shown = tokenizer(text, return_tensors="pt", add_special_tokens=False)
    torch.manual_seed(make_seed(request, text))
    made = model.generate(**shown, **options)
    return str(tokenizer.decode(made[0, shown["input_ids"].shape[1] :], skip_special_tokens=True))


def save_taught_policy(place: Path) -> Path:
    """A policy that answers the question with what it thinks, what it says, and the token that ends a turn."""
    model, tokenizer = load_policy("tiny")
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": QUESTION}], tokenize=False, add_generation_prompt=True
    )
    tokens = tokenizer(f"{prompt}{SAID}<|im_end|>", return_tensors="pt")["input_ids"]
    steps = torch.optim.AdamW(model.parameters(), lr=0.01)
    while (loss := model(input_ids=tokens, labels=tokens).loss) > 0.01:
        loss.backward()
        steps.step()
        steps.zero_grad()
    model.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


def change(name: str, damage: Callable[[Path], object]) -> Path:
    """A copy of the tiny policy in which something is not as it should be."""
    shutil.copytree(tiny, folder / name)
    damage(folder / name)
    return folder / name


def drop_template(place: Path) -> None:
    (place / "chat_template.jinja").unlink()


def make_picky(place: Path) -> None:
    (place / "chat_template.jinja").write_text("{{ raise_exception('no users, please') }}")


def repeat_to_fit(tokens: int) -> str:
    """A text that takes at most this many tokens with what the template adds."""
    count = make_counter()
    each = count("ear " * 200) - count("ear " * 100)
    return "ear " * (100 + 100 * (tokens - count("ear " * 100)) // each)


def make_counter() -> Callable[[str], int]:
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)

    def count(text: str) -> int:
        messages = [{"role": "user", "content": text}]
        return len(
            tokenizer(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)).input_ids
        )

    return count


tiny, taught = Path(keep_policy("tiny", folder)), save_taught_policy(folder / "taught")
sampled = {"temperature": 1.3, "top_p": 0.9, "top_k": 50, "min_p": 0.01}
short = {"max_tokens": 12}
loaded = {name: str(make_text_model(str(place)).identity) for name, place in {"tiny": tiny, "taught": taught}.items()}
found = {
    "greedy": [ask(tiny, **short), ask(tiny, **short)],
    "own greedy": generate(tiny, do_sample=False, max_new_tokens=12),
    "taught": ask(taught),
    "own taught": generate(taught, do_sample=False, max_new_tokens=64),
    "sampled": ask(tiny, **short, **sampled, seed=5, draw=2),
    "again": ask(tiny, **short, **sampled, seed=5, draw=2),
    "other draw": ask(tiny, **short, **sampled, seed=5, draw=3),
    "own sampled": generate(tiny, do_sample=True, max_new_tokens=12, **sampled),
    "other question": ask(tiny, "My ears hurt. What can I do?", **short, **sampled, seed=5, draw=2),
    "seeds": [make_seed(ASKED, text) for text in ("one", "two", "one")],
    "narrow": {
        name: ask(tiny, **short, temperature=1.5, **{name: value})["text"]
        for name, value in {"top_k": 1, "top_p": 1e-6, "min_p": 1.0}.items()
    },
    "long": ask(tiny, "ear " * 5000),
    "nearly full": ask(tiny, repeat_to_fit(4090), max_tokens=8192),
    "picky": ask(change("picky", make_picky)),
    "no tokenizer": ask(change("no tokenizer", lambda place: (place / "tokenizer.json").unlink())),
    "no template": ask(change("no template", drop_template)),
    "cut off": ask(change("cut off", lambda place: (place / "model.safetensors").write_bytes(b"\x08" * 100))),
    "not JSON": ask(change("not JSON", lambda place: (place / "config.json").write_text("{"))),
    "identities": {
        **loaded,
        "copy": make_text_model(str(change("copy", lambda _: None))).identity,
        "other template": make_text_model(str(change("template", drop_template))).identity,
    },
}
sys.stdout.write(json.dumps(found))
