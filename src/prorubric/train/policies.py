"""Policies to train, by name: whatever transformers loads, and four kinds that it cannot load by their name.

`smollm2` and `gguf:PATH` are GGUF files, `tiny` is a Qwen3 of about 100,000 random parameters with a tokenizer trained
on the sample pack: it writes noise, which is enough to see what a trainer does. `mini:WORLD` is a Llama with the words
of one of the lab's worlds. A policy that cannot be loaded is a `ModelError` in one line.
"""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from prorubric.datasets.load import load_tasks
from prorubric.datasets.samples import SAMPLE_TASKS
from prorubric.errors import ModelError
from prorubric.llm.local import find_weights
from prorubric.text.show import shorten
from prorubric.train.adapter import load_trainer

_CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_FEATURE = "A policy"
_MINI = "mini:"


def load_policy(name: str) -> tuple[Any, Any]:
    """A model in 32 bits and its tokenizer."""
    if name == "tiny":
        return make_tiny_model(), make_tiny_tokenizer()
    if name.startswith(_MINI):
        made: tuple[Any, Any] = import_module("prorubric.lab.mini_policy").make_mini(name)  # the lab is built on this
        return made
    transformers = load_trainer("transformers", _FEATURE, "trl")
    options: dict[str, Any] = {}
    if _is_gguf(name):
        path = find_weights(name)
        name, options = str(path.parent), {"gguf_file": path.name}
    tokenizer = load_tokenizer(name, **options)
    if options:
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    torch = load_trainer("torch", _FEATURE, "trl")
    return transformers.AutoModelForCausalLM.from_pretrained(name, dtype=torch.float32, **options), tokenizer


def load_tokenizer(name: str, **options: Any) -> Any:
    """The tokenizer of a policy that transformers can load."""
    transformers = load_trainer("transformers", _FEATURE, "trl")
    try:
        return transformers.AutoTokenizer.from_pretrained(name, **options)
    except (OSError, ValueError) as error:
        raise ModelError(
            f"the policy {name} cannot be loaded",
            shorten(" ".join(str(error).split()), 200),
            remedy="give a name on the Hugging Face hub, a folder, gguf:PATH, smollm2, mini:WORLD or tiny",
        ) from None


def keep_policy(name: str, folder: Path) -> str:
    """The name by which transformers loads a policy; one that it cannot load by its name is written to `folder`."""
    if name != "tiny" and not name.startswith(_MINI) and not _is_gguf(name):
        return name
    kept = folder / name.removeprefix("gguf:").replace(os.sep, "-").replace(":", "-")
    if not kept.is_dir():
        partial = kept.with_name(f".{kept.name}.partial-{os.getpid()}")
        for part in reversed(load_policy(name)):
            part.save_pretrained(partial)
        partial.rename(kept)
    return str(kept)


def _is_gguf(name: str) -> bool:
    return name == "smollm2" or name.startswith(("gguf:", "hf:"))


def make_tiny_tokenizer() -> Any:
    """The tokenizer of `tiny`: byte-level BPE with 1,000 entries."""
    bpe = load_trainer("tokenizers", _FEATURE, "trl")
    bytes_of = bpe.pre_tokenizers.ByteLevel
    tokenizer = bpe.Tokenizer(bpe.models.BPE())
    tokenizer.pre_tokenizer = bytes_of(add_prefix_space=False)
    tokenizer.decoder = bpe.decoders.ByteLevel()
    trainer = bpe.trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=bytes_of.alphabet(),
        show_progress=False,
    )
    texts = [message.content for task in load_tasks(SAMPLE_TASKS) for message in task.messages]
    tokenizer.train_from_iterator(texts, trainer)
    special = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    made = load_trainer("transformers", _FEATURE, "trl").PreTrainedTokenizerFast
    return made(tokenizer_object=tokenizer, chat_template=_CHATML, **special)


def make_tiny_model() -> Any:
    """The model of `tiny`, always with the same weights."""
    torch, transformers = (load_trainer(name, _FEATURE, "trl") for name in ("torch", "transformers"))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return transformers.Qwen3ForCausalLM(
            transformers.Qwen3Config(
                vocab_size=1000,
                hidden_size=64,
                intermediate_size=128,
                num_hidden_layers=2,
                num_attention_heads=4,
                num_key_value_heads=2,
                head_dim=16,
                max_position_embeddings=4096,
                tie_word_embeddings=True,
                eos_token_id=2,
                pad_token_id=0,
            )
        )
