"""Find the response, and what names its task, in what trainers send: text, messages, prompt and response in one text.

Nothing is guessed. A text that neither starts with its prompt nor contains the prompt's end raises `ConfigError`: a
judge that is shown half a prompt as the response would reward the wrong text.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prorubric.errors import ConfigError, RubricError
from prorubric.judge.answer import View
from prorubric.rubric.records import Answer, Message
from prorubric.rubric.transcript import parse_transcript, parse_turn
from prorubric.text.show import shorten

STOP_TEXTS = (
    *("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "<|return|>"),
    *("</s>", "<eos>", "<end_of_turn>", "<pad>", "<｜end▁of▁sentence｜>"),
)
"""How chat templates end a turn: Qwen and SmolLM, Llama, Phi, gpt-oss, Mistral, Gemma, DeepSeek."""

_TAIL = 64
"""How many characters of a prompt's end are searched for if its beginning was cut off."""


def read_answer(response: Any, view: View) -> Answer:
    """A text as it is; of messages all turns, or the text of the last assistant turn, as the judge is to see them."""
    if isinstance(response, str):
        return response
    is_list = isinstance(response, Iterable) and not isinstance(response, bytes | Mapping)
    messages = list(response) if is_list else [response]
    if not is_list or not all(isinstance(message, Mapping | Message) for message in messages):
        raise ConfigError(f"the response is {shorten(repr(response))}; give its text, or a list of messages")
    try:
        if view == "full":
            return parse_transcript(messages)
        roles = [message.role if isinstance(message, Message) else message.get("role") for message in messages]
        said = [message for message, role in zip(messages, roles, strict=True) if role == "assistant"]
        # Without a turn of the assistant there is no answer, which the judge says.
        return parse_turn(said[-1]).content if said else parse_transcript(messages)
    except RubricError as error:
        raise error.turn_into(ConfigError, "the response") from None


def split_query(query: str, prompt: str) -> str:
    """The response in a decoded sequence: what follows the prompt.

    A prompt that was too long is cut on its left before generation, and decoding may change it a little; then the
    response is what follows the last 64 characters of the prompt, if they occur in the prompt once.
    """
    if query.startswith(prompt):
        return query[len(prompt) :]
    tail = prompt[-_TAIL:]
    start = query.find(tail) if tail.strip() and prompt.count(tail) == 1 else -1
    if start < 0:
        line = f"the query {shorten(query)!r} neither begins with its prompt nor contains the end of it"
        raise ConfigError(line, remedy="send query = prompt + response, with the same prompt in prompts")
    return query[start + len(tail) :]


def choose_reference(label: Any, metadata: Any) -> Any:
    """What names the task of a slime sample: its label, or its metadata if the label is missing or empty."""
    return metadata if label is None or (isinstance(label, str) and not label) else label


def drop_stop_texts(text: str, stops: Sequence[str] = STOP_TEXTS) -> str:
    """A response without the markers at its end, and without white space after them; the rest is unchanged."""
    end = len(text)
    while True:
        last = end
        while last and text[last - 1].isspace():
            last -= 1
        stop = next((stop for stop in stops if stop and text.endswith(stop, 0, last)), None)
        if stop is None:
            return text[:end]
        end = last - len(stop)
