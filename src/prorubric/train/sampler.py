"""Answers sampled from a small Llama on a CPU, several times as fast as transformers' `generate`.

With a model of a few hundred thousand parameters nearly all of `generate` is overhead. This loop keeps the keys and
values of all rows in one block, and drops rows that have ended, so the longest answer does not pay for the others.
Chances are the same: tests compare them with those of the model itself. It draws from torch's own random state.

The trainer pads every prompt and every answer to the longest of the rollout; `TrimmedScores` passes those of similar
length through the model together instead.
"""

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

from prorubric.train.adapter import load_trainer

_KEPT_SHARE = 0.8
"""Finished rows are dropped once fewer than this share is still running."""
_PARTS = 4
"""Rows of similar length that are scored together are a quarter of a batch."""

_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX, _NEVER = -1, -4, -8, 2**31 - 1  # of malloc.h


class Sampled(NamedTuple):
    """Answers as ids, each with its end token unless the limit came first, and the log-probability of each id."""

    ids: list[list[int]]
    logprobs: list[list[float]]


class _Block:
    """The running rows: their mask, and keys and values by layer."""

    def __init__(self, torch: Any, model: Any, mask: Any, room: int) -> None:
        config = model.config
        heads = config.num_key_value_heads
        self.torch, self.model, self.heads = torch, model, config.num_attention_heads
        size = config.head_dim or config.hidden_size // config.num_attention_heads
        rows, self.length = len(mask), 0
        self.mask = torch.zeros(rows, room, dtype=torch.bool)
        self.mask[:, : mask.shape[1]] = mask
        self.mask[:, mask.shape[1] :] = True
        self.kept = [torch.zeros(2, rows, heads, room, size) for _ in model.model.layers]

    def select(self, rows: Any) -> None:
        self.mask = self.mask[rows]
        self.kept = [kept[:, rows] for kept in self.kept]

    def read(self, ids: Any, positions: Any) -> Any:
        """The scores of the next token after these ids, which come behind what was read before."""
        torch, inner = self.torch, self.model.model
        functional = torch.nn.functional
        (rows, width), start = ids.shape, self.length
        self.length = end = start + width
        hidden = inner.embed_tokens(ids)
        cos, sin = (part[:, None] for part in inner.rotary_emb(hidden, positions))
        visible = self.mask[:, None, None, :end]
        if width > 1:
            visible = visible & torch.ones(width, end, dtype=torch.bool).tril(start)
            # A row of padding looks at itself: attention to nothing is not a number.
            visible = visible | torch.eye(width, end, dtype=torch.bool)
        for layer, kept in zip(inner.layers, self.kept, strict=True):
            attention, normed = layer.self_attn, layer.input_layernorm(hidden)
            query, key, value = (
                part(normed).view(rows, width, -1, kept.shape[-1]).transpose(1, 2)
                for part in (attention.q_proj, attention.k_proj, attention.v_proj)
            )
            kept[0, :, :, start:end], kept[1, :, :, start:end] = _turn(torch, key, cos, sin), value
            mixed = functional.scaled_dot_product_attention(
                _turn(torch, query, cos, sin),
                kept[0, :, :, :end],
                kept[1, :, :, :end],
                attn_mask=visible,
                enable_gqa=kept.shape[2] != self.heads,
            )
            hidden = hidden + attention.o_proj(mixed.transpose(1, 2).reshape(rows, width, -1))
            hidden = hidden + layer.mlp(layer.post_attention_layernorm(hidden))
        return self.model.lm_head(inner.norm(hidden[:, -1]))


def sample_policy(
    model: Any, prompts: Sequence[Sequence[int]], *, limit: int, temperature: float, ends: Sequence[int]
) -> Sampled:
    """One answer to each prompt, of at most `limit` tokens; at temperature 0 the likeliest token each time."""
    torch = load_trainer("torch", "Sampling", "trl")
    with torch.inference_mode():
        longest, count = max(map(len, prompts)), len(prompts)
        ids = torch.tensor([[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts])
        mask = torch.tensor([[False] * (longest - len(prompt)) + [True] * len(prompt) for prompt in prompts])
        block, positions = _Block(torch, model, mask, longest + limit), (mask.cumsum(1) - 1).clamp(min=0)
        made, chances = torch.zeros(count, limit, dtype=torch.long), torch.zeros(count, limit)
        sizes, rows, is_end = torch.full((count,), limit), torch.arange(count), torch.tensor([*ends])
        going = torch.ones(count, dtype=torch.bool)
        for place in range(limit):
            scores = torch.log_softmax(block.read(ids, positions) / (temperature or 1.0), dim=1)
            token = _draw(torch, scores.exp()) if temperature else scores.argmax(1, keepdim=True)
            # Rows that have ended and are not dropped yet write behind their end, where nothing is read.
            made[rows, place], chances[rows, place] = token[:, 0], scores.gather(1, token)[:, 0]
            ended = torch.isin(token[:, 0], is_end) & going
            sizes[rows[ended]] = place + 1
            going &= ~ended
            if not going.any():
                break
            ids, positions = token, positions[:, -1:] + 1
            if going.float().mean() < _KEPT_SHARE:
                block.select(going)
                rows, ids, positions = rows[going], ids[going], positions[going]
                going = going[going]
    pairs = zip(made.tolist(), chances.tolist(), sizes.tolist(), strict=True)
    cut = [(row[:size], logprobs[:size]) for row, logprobs, size in pairs]
    return Sampled([row for row, _ in cut], [logprobs for _, logprobs in cut])


class SampledRollout:
    """The `rollout_func` of a policy that is sampled here."""

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
        """The ids of the prompts and of one answer to each; TRL has repeated the prompts of a group."""
        prompt_ids = trainer._tokenize_prompts(prompts)[0]
        return {"prompt_ids": prompt_ids, "completion_ids": generate(trainer, prompt_ids), "logprobs": None}


class TrimmedScores:
    """A base for a `GRPOTrainer` of text: rows of similar length are scored together, without most padding."""

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Any, attention_mask: Any, logits_to_keep: int, *args: Any, **options: Any
    ) -> tuple[Any, Any, Any]:
        score: Any = super()._get_per_token_logps_and_entropies  # type: ignore[misc]  # the trainer's
        before = input_ids.shape[1] - logits_to_keep
        asked, sizes = attention_mask[:, :before].sum(1), attention_mask[:, before:].sum(1)
        logps = entropies = input_ids.new_zeros(len(input_ids), logits_to_keep, dtype=model.dtype)
        auxiliary = None
        for rows in (asked + sizes).argsort().chunk(_PARTS):
            start, kept = before - int(asked[rows].max()), max(1, int(sizes[rows].max()))
            shown = (part[rows, start : before + kept] for part in (input_ids, attention_mask))
            scored, spread, auxiliary = score(model, *shown, kept, *args, **options)
            logps = logps.index_put(_grid(rows, kept), scored)
            entropies = entropies if spread is None else entropies.index_put(_grid(rows, kept), spread)
        return logps, entropies, auxiliary


def _grid(rows: Any, width: int) -> tuple[Any, Any]:
    """The places of the first columns of some rows."""
    return rows[:, None], rows.new_tensor(range(width))[None]


def generate(trainer: Any, prompt_ids: Sequence[Sequence[int]]) -> list[list[int]]:
    """Answers under the settings of one of TRL's trainers that generate."""
    model = trainer.accelerator.unwrap_model(trainer.model_wrapped)
    args, was_training = trainer.args, model.training
    model.eval()
    options = {"limit": args.max_completion_length, "temperature": args.temperature, "ends": trainer.eos_token_ids}
    answers = sample_policy(model, prompt_ids, **options).ids
    model.train(was_training)
    return answers


def is_sampled_here(model: Any) -> bool:
    """True for the policies of the lab, which say in their config what they are."""
    return getattr(model, "mini_world", None) is not None


def keep_freed_memory() -> None:
    """Let glibc keep what is freed: every update of a small model asks for the same hundred megabytes again.

    Given back to the system each time, they cost a tenth of the time in page faults. Other libraries are left alone.
    """
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        for option, value in ((_MMAP_MAX, 0), (_TRIM_THRESHOLD, _NEVER), (_ARENA_MAX, 1)):
            set_option(option, value)


def _draw(torch: Any, chances: Any) -> Any:
    """The first token at which the running sum of the chances passes a uniform draw: one a row, and not one a token."""
    reached = chances.cumsum(1)
    drawn = torch.searchsorted(reached, torch.rand(len(chances), 1) * reached[:, -1:], right=True)
    return drawn.clamp(max=chances.shape[1] - 1)


def _turn(torch: Any, part: Any, cos: Any, sin: Any) -> Any:
    """Rotary position embedding, in the halves that transformers uses."""
    half = part.shape[-1] // 2
    return part * cos + torch.cat((-part[..., half:], part[..., :half]), dim=-1) * sin
