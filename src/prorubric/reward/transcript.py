"""What a policy said, and to which task, out of what trainers send: prompt and response in one, markers of the end.

Nothing is guessed. A text that does not begin with its prompt, and does not hold the prompt's end either, is refused
with `ConfigError`: a judge that is shown half a prompt as the response would give a reward for the wrong text.
"""

from collections.abc import Sequence
from typing import Any

from prorubric.errors import ConfigError
from prorubric.text.show import shorten

STOP_TEXTS = (
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|end|>",
    "<|return|>",
    "</s>",
    "<eos>",
    "<end_of_turn>",
    "<pad>",
    "<｜end▁of▁sentence｜>",
)
"""How chat templates end a turn: Qwen and SmolLM, Llama, Phi, gpt-oss, Mistral, Gemma, DeepSeek."""

_TAIL = 64
"""So many characters of a prompt's end are looked for where its beginning was cut off."""


def split_query(query: str, prompt: str) -> str:
    """The response in a decoded sequence: what follows the prompt.

    A prompt that was too long is cut on its left before it is generated from, and decoding may write it a little
    differently; then the response is what follows the last 64 characters of the prompt, if the prompt holds these once.
    """
    if query.startswith(prompt):
        return query[len(prompt) :]
    tail = prompt[-_TAIL:]
    start = query.find(tail) if tail.strip() and prompt.count(tail) == 1 else -1
    if start < 0:
        raise ConfigError(
            f"the query {shorten(query)!r} neither begins with its prompt nor holds the end of it; "
            "send query = prompt + response, with the same prompt in prompts"
        )
    return query[start + len(tail) :]


def choose_reference(label: Any, metadata: Any) -> Any:
    """What names the task of a slime sample: its label, or its metadata where the label is missing or empty."""
    return metadata if label is None or (isinstance(label, str) and not label) else label


def drop_stop_texts(text: str, stops: Sequence[str] = STOP_TEXTS) -> str:
    """A response without the markers at its end, and without white space after them; the rest stays as it is."""
    end = len(text)
    while True:
        last = end
        while last and text[last - 1].isspace():
            last -= 1
        stop = next((stop for stop in stops if stop and text.endswith(stop, 0, last)), None)
        if stop is None:
            return text[:end]
        end = last - len(stop)
