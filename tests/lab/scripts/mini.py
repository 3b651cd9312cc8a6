"""The policy of the mini in TRL's environment: its tokenizer, its sampler next to transformers, and short trainings.

Its argument is a folder. The last line is JSON.
"""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from trl.experimental.sdft.sdft_trainer import DemonstrationTeacherContextBuilder

from prorubric.files.read import read_rows
from prorubric.files.write import write_json
from prorubric.lab.cases import Cases, render_case
from prorubric.lab.checklist import make_checklists
from prorubric.lab.demos import write_demos
from prorubric.lab.language import make_language
from prorubric.lab.mini import write_mini
from prorubric.lab.mini_policy import make_mini, make_mini_tokenizer
from prorubric.lab.world import END, WORLDS, make_world
from prorubric.rubric.base import render_config
from prorubric.train import worker_trl
from prorubric.train.recipe import list_runs, load_recipe
from prorubric.train.run_folder import RunFolder
from prorubric.train.sampler import Sampled, TrimmedScores, generate, sample_policy
from prorubric.train.trl import encode_prompt

FEW = 50
END_TOKEN = 1


def check_tokens() -> dict[str, Any]:
    """By world: whether texts come back, unknown tokens, and tokens a prompt and an answer."""
    found = {}
    for name in WORLDS:
        tokenizer, world, cases = make_mini_tokenizer(name), make_world(name), Cases(make_world(name), FEW, 7)
        texts = [world.moves.render(row) for row in write_demos(world, cases, 7)]
        texts += [criterion.text for task in make_checklists(name, FEW, 7).tasks for criterion in task.rubric.criteria]
        ids = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        asked = [render_case(world, cases, row) for row in range(FEW)]
        plain = [encode_prompt(tokenizer, [{"role": "user", "content": text}]) for text in asked]
        named = [
            encode_prompt(tokenizer, [{"role": "user", "content": f"{text} [{name}-{row}-of-50-draw-7]"}])
            for row, text in enumerate(asked)
        ]
        found[name] = {
            "same": all(tokenizer.decode(row) == text for row, text in zip(ids, texts, strict=True)),
            "unknown": sum(row.count(tokenizer.unk_token_id) for row in (*ids, *plain)),
            "case_is_hidden": plain == named,
            "prompt": sum(map(len, plain)) / FEW,
            "answer": sum(map(len, ids[:FEW])) / FEW,
            "entries": len(tokenizer),
        }
    return found


def make_prompts(tokenizer: Any, count: int) -> list[list[int]]:
    world = make_world("triage-v1")
    cases = Cases(world, count, 8)
    texts = (render_case(world, cases, row) for row in range(count))
    return [encode_prompt(tokenizer, [{"role": "user", "content": text}]) for text in texts]


def find_gap(model: Any, prompts: list[list[int]], sampled: Sampled) -> float:
    """The largest difference to the log-probabilities that the model itself gives."""
    worst = 0.0
    for prompt, ids, logprobs in zip(prompts, sampled.ids, sampled.logprobs, strict=True):
        with torch.no_grad():
            scores = model(torch.tensor([prompt + ids])).logits[0, len(prompt) - 1 : -1].log_softmax(-1)
        own = scores[torch.arange(len(ids)), torch.tensor(ids)]
        worst = max(worst, float((own - torch.tensor(logprobs)).abs().max()))
    return worst


class PaddedScores:
    """What TRL does: every answer is as long as the longest."""

    def __init__(self) -> None:
        self.tokens = 0

    def _get_per_token_logps_and_entropies(
        self, model: Any, ids: Any, mask: Any, keep: int, batch_size: int | None = None
    ) -> tuple[Any, Any, None]:
        self.tokens += ids.numel()
        scores = model(input_ids=ids, attention_mask=mask).logits[:, -keep - 1 : -1].log_softmax(-1)
        spread = -(scores.exp() * scores).sum(-1)
        return scores.gather(2, ids[:, -keep:, None])[..., 0], spread, None


class Trimmed(TrimmedScores, PaddedScores):
    """The same, trimmed."""


def check_scores() -> dict[str, Any]:
    """Log-probabilities, entropies and gradients with the padding and without."""
    model, _ = make_mini("mini:triage-v1")
    torch.manual_seed(1)
    sizes, before = torch.randint(1, 60, (24,)), 9
    mask = torch.ones(24, before + 60, dtype=torch.long)
    mask[:, before:] = torch.arange(60) < sizes[:, None]
    mask[::2, :3] = 0
    ids, counted = torch.randint(6, 600, mask.shape) * mask, mask[:, before:]
    found = []
    for scorer in (PaddedScores(), Trimmed()):
        model.zero_grad()
        logps, entropies, _ = scorer._get_per_token_logps_and_entropies(model, ids, mask, 60, batch_size=None)
        ((logps + 0.1 * entropies) * counted).sum().backward()
        gradient = torch.cat([part.grad.flatten() for part in model.parameters()])
        found.append((logps.detach() * counted, entropies.detach() * counted, gradient, scorer.tokens))
    gaps = [float((one - other).abs().max()) for one, other in zip(found[0][:3], found[1][:3], strict=True)]
    return {"gaps": gaps, "gradient": float(found[0][2].abs().max()), "tokens": [part[3] for part in found]}


def check_sampler() -> dict[str, Any]:
    model, tokenizer = make_mini("mini:triage-v1")
    model.eval()
    with torch.no_grad():
        model.model.embed_tokens.weight *= 4  # chances that differ more than those of random weights
    prompts = make_prompts(tokenizer, FEW)
    torch.manual_seed(0)
    # Many ends, so lengths differ and rows are dropped at different times.
    ends = [END_TOKEN, *range(200, 240)]
    sampled = sample_policy(model, prompts, limit=40, temperature=1.0, ends=ends)
    greedy = sample_policy(model, prompts, limit=12, temperature=0.0, ends=[END_TOKEN])
    longest = max(map(len, prompts))
    padded = torch.tensor([[0] * (longest - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    theirs = model.generate(
        input_ids=padded, attention_mask=mask, max_new_tokens=12, do_sample=False, pad_token_id=0, eos_token_id=1
    )[:, longest:].tolist()
    theirs = [row[: row.index(END_TOKEN) + 1] if END_TOKEN in row else row for row in theirs]
    drawn = sample_policy(model, [prompts[0]] * 4000, limit=1, temperature=0.7, ends=ends)
    with torch.no_grad():
        chances = (model(torch.tensor([prompts[0]])).logits[0, -1] / 0.7).softmax(-1)
    counts = torch.bincount(torch.tensor(drawn.ids)[:, 0], minlength=len(chances)) / 4000
    spread = (chances * (1 - chances) / 4000).sqrt().clamp(min=1 / 4000)
    sizes = [len(row) for row in sampled.ids]
    return {
        "gap": find_gap(model, prompts, sampled),
        "sizes": sorted({*sizes}),
        "ended": all(row[-1] in ends or len(row) == 40 for row in sampled.ids),
        "ended_once": all(token not in ends for row in sampled.ids for token in row[:-1]),
        "greedy_is_theirs": greedy.ids == theirs,
        "spreads_off": float(((counts - chances).abs() / spread).max()),
    }


def train(folder: Path, recipe: Path, *changes: str) -> list[Path]:
    """Train the runs of a recipe as the worker does; the folder of each."""
    loaded, made = load_recipe(recipe, changes), []
    for run in list_runs(loaded):
        path = folder / run.name
        path.mkdir(parents=True)
        tasks = folder / "tasks.jsonl"
        if not tasks.exists():
            tasks.write_bytes(Path(loaded.tasks).read_bytes())
        places = {"tasks": str(tasks.absolute()), "journal": folder.absolute() / "journal.sqlite"}
        reward = run.reward and replace(run.reward, **places)
        write_json(path / "run.json", render_config(replace(run, reward=reward)))
        names = [row.value["id"] for row in read_rows(tasks)]
        size = run.settings.prompts
        rows = (
            {"step": number // size + 1, "place": number % size, "task_id": names[number % len(names)]}
            for number in range(run.settings.rollouts * size)
        )
        (path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        worker_trl.train_folder(path)
        made.append(path)
    return made


def check_training(folder: Path) -> dict[str, Any]:
    """A base on 1,280 demonstrations, then two steps of an arm of each kind."""
    write_mini(folder, training=8, held_out=4, demos=1280)
    os.chdir(folder)
    (base,) = train(Path("runs/base"), Path("base.yaml"))
    small = ("rollouts=2", "prompts=4", "mini_batch=2", "per_device=16", "response_limit=40", "validate=no", "every=1")
    shown = watch_prompts()
    arms = train(Path("runs/arms"), Path("arms.yaml"), *small, "sweep.method=[rubric-rl, prorubric, ruscarl]")
    language, found = make_language("triage-v1"), {}
    for arm in arms:
        rows = [row.value for path in sorted(arm.glob("rollouts/*")) for row in read_rows(path)]
        said = [sentence for row in rows for sentence in language.parse(row["text"])]
        found[arm.name] = {
            "rows": len(rows),
            "rewarded": sum(row["reward"] is not None for row in rows),
            "read": sum(sentence.move != END for sentence in said) / len(said),
            "state": json.loads((arm / "state.json").read_text())["state"],
        }
    others = ("prompts=4", "mini_batch=2", "rollouts=2", "every=1", "validate=no", "sweep={}", "response_limit=40")
    distil = ("method=opsd", "responses=1", "per_device=2")
    supervise = ("method=sft", "sft.data=best.jsonl", "sft.batch=4", "sft.epochs=1", "per_device=4", "rate=2e-3")
    for name, changes in {"opsd": distil, "sft": supervise}.items():
        (path,) = train(Path(f"runs/{name}"), Path("arms.yaml"), *others, *changes)
        steps = [row.value for row in read_rows(path / "steps.jsonl")]
        state = json.loads((path / "state.json").read_text())["state"]
        found[path.name] = {"steps": [row["step"] for row in steps if row["loss"] > 0], "state": state}
    return {"base": [path.rollout for path in RunFolder(base).find_checkpoints()], "arms": found, "shown": shown}


def watch_prompts() -> dict[str, list[int]]:
    """Tokens of the prompts that the policy answers with a scaffold, and of what a teacher reads, as both go on."""
    shown: dict[str, list[int]] = {"answered": [], "taught": []}
    build = DemonstrationTeacherContextBuilder.build

    def answer(trainer: Any, prompt_ids: Sequence[Sequence[int]]) -> list[list[int]]:
        shown["answered"] += map(len, prompt_ids)
        return generate(trainer, prompt_ids)

    def teach(self: Any, prompts: Any, contexts: Any, *rest: Any) -> Any:
        made = build(self, prompts, contexts, *rest)
        shown["taught"] += made["teacher_attention_mask"].sum(1).tolist()
        return made

    worker_trl.generate = answer
    DemonstrationTeacherContextBuilder.build = teach
    return shown


if __name__ == "__main__":
    said = {
        "tokens": check_tokens(),
        "sampler": check_sampler(),
        "scores": check_scores(),
        "training": check_training(Path(sys.argv[1])),
    }
    sys.stdout.write(json.dumps(said) + "\n")
