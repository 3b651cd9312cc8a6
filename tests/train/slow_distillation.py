"""Self-distillation's loss from its definition, entry by entry, in exact sums: what the fast ones are compared to."""

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

OPTIONS: list[dict[str, Any]] = [
    {"beta": beta, "clip": clip, "clip_mode": clip_mode, "support": support, "top_k": top_k, "temperature": temperature}
    for beta, (clip_mode, clip), (support, top_k), temperature in product(
        (0.0, 0.1, 0.5, 1.0),
        (("token", 0.05), ("token", 1.0), ("element", 0.05), ("element", 1e-6), ("none", 0.05)),
        (("teacher", 5), ("student", 5), ("teacher", 1000), ("full", 5)),
        (1.0, 1.1),
    )
]
"""Every combination of options that changes the loss."""


def slow_loss(
    teacher: Sequence[Sequence[float]],
    student: Sequence[Sequence[float]],
    *,
    beta: float,
    clip: float,
    clip_mode: str,
    support: str,
    top_k: int,
    temperature: float,
) -> float:
    losses = []
    for rows in zip(teacher, student, strict=True):
        kept = list(range(len(rows[0])))
        if support != "full":
            leader = rows[0] if support == "teacher" else rows[1]
            kept = sorted(kept, key=lambda index: -leader[index])[:top_k]
        p, q = (normalise([math.exp(row[index] / temperature) for index in kept]) for row in rows)
        entries = [entry(a, b, beta) for a, b in zip(p, q, strict=True)]
        if clip_mode == "element":
            entries = [min(value, clip) for value in entries]
        loss = math.fsum(entries)
        losses.append(min(loss, clip) if clip_mode == "token" else loss)
    return math.fsum(losses) / len(losses)


def normalise(masses: list[float]) -> list[float]:
    total = math.fsum(masses)
    return [mass / total for mass in masses]


def entry(p: float, q: float, beta: float) -> float:
    if beta == 0:
        return p * math.log(p / q)
    if beta == 1:
        return q * math.log(q / p)
    m = beta * p + (1 - beta) * q
    return beta * p * math.log(p / m) + (1 - beta) * q * math.log(q / m)
