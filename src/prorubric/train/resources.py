"""Memory and time of a training as an order of magnitude, from the size of its policy.

Full fine-tuning with Adam and 32-bit master weights. The figures are formulas and not measurements; a running training
shows its measured rate.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from prorubric.rubric.base import Record
from prorubric.train.methods import Settings

_BYTES_OF_STATES, _BYTES_OF_WEIGHTS = 16, 2
_LOGIT_COPIES = 3
_FLOPS, _USED = 989e12, 0.35
"""Of one H100 at 16 bits, and the share of it that training reaches."""
_GENERATED_A_SECOND = 2_500
"""Tokens of one card; a guess for a policy of a few billion parameters."""
_IN_NAME = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s?([bm])(?![a-z])", re.IGNORECASE)

FORMULAS = (
    "states 16·N/W bytes, reference or teacher 2·N/W, sampler 2·N, activations 2·layers·hidden·tokens, "
    "logits 3·4·vocabulary·tokens of one sequence",
    f"training 8·N·tokens·4/3 ÷ (W·{_FLOPS / 1e12:.0f} TFLOP/s·{_USED}), "
    f"generation tokens ÷ (W·{_GENERATED_A_SECOND:,}/s)",
)
"""For N parameters on W cards."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The size of a policy."""

    parameters: float
    layers: int = 0
    hidden: int = 0
    vocabulary: int = 0
    generated: int = _GENERATED_A_SECOND
    """Tokens a second, on one card."""


_KNOWN = {
    "qwen3-4b": Shape(4.02e9, 36, 2560, 151_936),
    "qwen3-8b": Shape(8.19e9, 36, 4096, 151_936),
    "smollm2": Shape(0.135e9, 30, 576, 49_152),
    "tiny": Shape(0.0001e9, 2, 64, 1_000),
    "mini": Shape(0.28e6, 2, 96, 618, generated=7_000),  # measured on one core, training included
}


class Resources(Record):
    """What one run takes on each of its cards."""

    parameters: float
    gigabytes: float
    """Of memory on each card."""
    seconds_a_step: float
    """Training and generation."""
    hours: float
    """The whole run, without the judge."""


def find_shape(model: str) -> Shape | None:
    """The size of a policy from what is known of it: its folder, its name, or the figure in its name."""
    config = Path(model) / "config.json"
    if config.is_file():
        try:
            said = dict(json.loads(config.read_bytes()))
        except (ValueError, TypeError):
            return None
        if "mini_world" in said:
            return _KNOWN["mini"]
        layers, hidden, vocabulary = (
            int(said.get(name) or 0) for name in ("num_hidden_layers", "hidden_size", "vocab_size")
        )
        if not layers * hidden * vocabulary:
            return None
        inner = int(said.get("intermediate_size") or 4 * hidden)
        return Shape(layers * (4 * hidden**2 + 3 * hidden * inner) + vocabulary * hidden, layers, hidden, vocabulary)
    name = model.rstrip("/").rpartition("/")[2].lower()
    for known, shape in _KNOWN.items():
        if name == known or name.startswith((f"{known}-", f"{known}:")):
            return shape
    figure = _IN_NAME.search(name)
    return Shape(float(figure[1]) * (1e9 if figure[2] in "bB" else 1e6)) if figure else None


def estimate_resources(model: str, settings: Settings, cards: int, tokens: int, steps: int) -> Resources | None:
    """Memory and time of so many steps and tokens a response; None if the size of the policy is not known."""
    shape = find_shape(model)
    if shape is None or settings.kind == "best-of-n":
        return None
    row = settings.sft.row_limit if settings.sft else settings.prompt_limit + settings.response_limit
    has_second = settings.kl > 0 or settings.kind == "distillation"
    samples = settings.kind != "sft"
    size = (
        _BYTES_OF_STATES * shape.parameters / cards
        + _BYTES_OF_WEIGHTS * shape.parameters * (has_second / cards + samples)
        + 2 * shape.layers * shape.hidden * row
        + _LOGIT_COPIES * 4 * shape.vocabulary * row
    )
    trained = (settings.sft.batch if settings.sft else settings.prompts * settings.responses) * tokens
    seconds = 8 * shape.parameters * trained * 4 / 3 / (cards * _FLOPS * _USED)
    seconds += trained / (cards * shape.generated) * samples
    return Resources(
        parameters=shape.parameters,
        gigabytes=round(size / 1e9, 1),
        seconds_a_step=round(seconds, 1),
        hours=round(seconds * steps / 3600, 1),
    )
