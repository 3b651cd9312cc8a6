"""A Qwen3 of about 100,000 random parameters with a tokenizer trained on the sample pack: a policy for tests.

It writes noise, which is enough: what is tested is what trainers do with rewards, not what a model learns.
"""

from pathlib import Path
from typing import Any

from prorubric import SAMPLE_TASKS, load_tasks

_CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def save_tiny_policy(folder: Path) -> Path:
    """Write the model and its tokenizer, so that they can be loaded like any other."""
    make_tiny_tokenizer().save_pretrained(folder)
    make_tiny_model().save_pretrained(folder)
    return folder


def make_tiny_tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1000,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = [message.content for task in load_tasks(SAMPLE_TASKS) for message in task.messages]
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=_CHATML
    )


def make_tiny_model() -> Any:
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    return Qwen3ForCausalLM(
        Qwen3Config(
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
