"""Cases: who asks about what, how severe it really is, and which findings are mentioned. A case is a row of arrays."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from prorubric.lab.world import ASK, Bools, Indices, World

SEVERITIES = 4


@dataclass(frozen=True)
class Cases:
    """Many cases. Axes: T cases, J findings, I items."""

    family_T: Indices
    level_T: Indices  # the right decision: the severity, or `ASK` if too few findings are mentioned
    truth_T_J: npt.NDArray[np.int8]  # +1 for a finding that is present, -1 for one that is absent
    told_T_J: Bools
    side_T_I: npt.NDArray[np.int8]
    """+1 for an item that really applies: usually as its finding suggests; when not, nothing shows it."""
    expert_T: Bools

    def __len__(self) -> int:
        return len(self.family_T)


def draw_cases(world: World, count: int, seed: int) -> Cases:
    """Draw cases: severity, then findings that depend on it, then which of them are mentioned."""
    spec = world.spec
    rng = np.random.default_rng([spec.seed, 2, seed])
    family = rng.integers(len(world.texts.families), size=count)
    severity = rng.integers(SEVERITIES, size=count)
    lean = world.bias_F_J[family] + world.slope_F_J[family] * (severity - (SEVERITIES - 1) / 2)[:, None]
    truth = np.where(rng.random(lean.shape) < 1 / (1 + np.exp(-lean)), 1, -1)
    thin = rng.random(count) < spec.thin_share
    side = truth[:, world.finding_I] * np.where(rng.random((count, len(world.finding_I))) < spec.unknowable, -1, 1)
    hidden = rng.random(lean.shape) < np.where(thin, spec.thin_hidden_share, spec.hidden_share)[:, None]
    return Cases(
        family_T=family,
        level_T=np.where(thin, ASK, severity),
        truth_T_J=truth.astype(np.int8),
        told_T_J=~hidden,
        side_T_I=side.astype(np.int8),
        expert_T=rng.random(count) < spec.expert_share,
    )


def encode_cases(world: World, cases: Cases) -> npt.NDArray[np.float32]:
    """What the policy sees: the family, the findings that are mentioned, how many are not, and who asks."""
    told = cases.truth_T_J * cases.told_T_J
    hidden = 1 - cases.told_T_J.mean(axis=1, keepdims=True)
    family = np.eye(len(world.texts.families))[cases.family_T]
    return np.hstack([family, told, hidden, cases.expert_T[:, None], ~cases.expert_T[:, None]]).astype(np.float32)


def render_case(world: World, cases: Cases, row: int) -> str:
    """What the person writes."""
    texts = world.texts
    told = [
        texts.findings[number][0 if cases.truth_T_J[row, number] > 0 else 1]
        for number in np.flatnonzero(cases.told_T_J[row])
    ]
    said = " ".join(f"{finding[0].upper()}{finding[1:]}." for finding in told) or texts.unsaid
    opening = texts.opening["expert" if cases.expert_T[row] else "lay"]
    return opening.format(family=texts.families[cases.family_T[row]], findings=said)
