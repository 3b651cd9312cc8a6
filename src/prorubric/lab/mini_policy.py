"""The policy `mini:WORLD`: a language model of 0.28 million random parameters for a world's sentences.

A token is a clause: a piece of a template, an item, a finding, a whole short sentence; other words of the world are
separate tokens, and anything else is one unknown token. Tokens are joined by spaces. The case that a
prompt names at its end is not shown to the policy. It knows nothing before it has been trained on demonstrations.
"""

import re
from typing import Any

from prorubric.lab.language import CASE
from prorubric.lab.world import World, make_world
from prorubric.train.adapter import load_trainer

PREFIX = "mini:"
SIZES = {"hidden_size": 96, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4}
"""0.28 million parameters: enough to imitate the demonstrations, and 300 steps take minutes on one core."""
_MOST_TOKENS = 2048  # prompt and answer; a prompt with a whole checklist in it has some 400
_SPECIAL = ("<|pad|>", "<|end|>", "<|unknown|>", "<|system|>", "<|user|>", "<|assistant|>")
_CHAT = (
    "{% for message in messages %}<|{{ message.role }}|> {{ message.content }}"
    "{% if message.role == 'assistant' %} <|end|>{% endif %} {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_SLOT = re.compile(r"(\S*)\{(\w+)\}(\S*)")
_FEATURE = "A policy"


def list_clauses(world: World) -> list[str]:
    """Every clause of a world, in a fixed order."""
    texts = world.texts
    items, findings = [*texts.part_of_item], [finding for pair in texts.findings for finding in pair]
    values = {
        "item": items,
        "other": items,
        "Item": [_capitalise(item) for item in items],
        "finding": findings,
        "findings": [*(f"{_capitalise(finding)}." for finding in findings), texts.unsaid],
        "family": texts.families,
        "test": [*texts.tests, *texts.risky_tests],
        "question": texts.questions,
    }
    # A sentence without a place to fill in is a template too.
    templates = [
        *texts.opening.values(),
        *(texts.name, texts.explain_for, texts.explain_against, texts.test),
        *(*texts.decisions, *texts.questions, *texts.manner.values(), *texts.filler),
        *(*(said for said, _ in texts.asides.values()), *(part.topic for part in texts.parts)),
        *(texts.presence, texts.substantive, texts.compound, texts.test_criterion, texts.test_penalty),
        *(texts.question_criterion, *texts.decision_criteria, *texts.manner_criterion.values()),
        *(criterion for _, criterion in texts.asides.values()),
    ]
    found: dict[str, None] = {}
    for template in templates:
        end = 0
        for slot in _SLOT.finditer(template):
            found[template[end : slot.start()].strip()] = None
            found |= dict.fromkeys(f"{slot[1]}{value}{slot[3]}" for value in values[slot[2]])
            end = slot.end()
        found[template[end:].strip()] = None
    return [clause for clause in found if clause]


def _capitalise(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def make_mini_tokenizer(world_name: str) -> Any:
    """Its tokenizer, with a chat template."""
    parts = load_trainer("tokenizers", _FEATURE, "trl")
    clauses = list_clauses(make_world(world_name))
    words = dict.fromkeys(word for clause in clauses for word in clause.split())
    entries = dict.fromkeys((*_SPECIAL, *clauses, *words))
    tokenizer = parts.Tokenizer(
        parts.models.WordLevel({text: number for number, text in enumerate(entries)}, unk_token="<|unknown|>")  # noqa: S106
    )
    tokenizer.normalizer = parts.normalizers.Replace(parts.Regex(rf" \[{CASE}\]"), "")
    several = sorted((clause for clause in clauses if " " in clause), key=len, reverse=True)
    longest = parts.Regex(rf"(?<!\S)(?:{'|'.join(map(re.escape, several))})(?!\S)|\S+")  # or else one word
    tokenizer.pre_tokenizer = parts.pre_tokenizers.Split(longest, "removed", invert=True)
    special = {"pad_token": _SPECIAL[0], "eos_token": _SPECIAL[1], "unk_token": _SPECIAL[2]}
    made = load_trainer("transformers", _FEATURE, "trl").PreTrainedTokenizerFast
    return made(
        tokenizer_object=tokenizer,
        chat_template=_CHAT,
        additional_special_tokens=[*_SPECIAL[3:]],
        clean_up_tokenization_spaces=False,
        **special,
    )


def make_mini_model(world_name: str, vocabulary: int) -> Any:
    """Its model, always with the same weights."""
    torch, transformers = (load_trainer(name, _FEATURE, "trl") for name in ("torch", "transformers"))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = transformers.LlamaConfig(
            vocab_size=vocabulary,
            **SIZES,
            max_position_embeddings=_MOST_TOKENS,
            tie_word_embeddings=True,
            bos_token_id=None,
            eos_token_id=1,
            pad_token_id=0,
        )
        config.mini_world = world_name
        return transformers.LlamaForCausalLM(config)


def make_mini(name: str) -> tuple[Any, Any]:
    """The model and the tokenizer of `mini:WORLD`."""
    world = name.removeprefix(PREFIX)
    tokenizer = make_mini_tokenizer(world)
    return make_mini_model(world, len(tokenizer)), tokenizer
