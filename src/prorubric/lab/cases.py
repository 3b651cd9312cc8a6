"""Cases: who asks about what, how severe it really is, and which findings are mentioned. A case is a row of arrays."""

import numpy as np
import numpy.typing as npt

from prorubric.lab.world import ASK, Bools, Indices, World

SEVERITIES = 4


class Cases:
    """Cases drawn from a world. Axes: T cases, J findings, I items."""

    def __init__(self, world: World, count: int, seed: int) -> None:
        spec, rng = world.spec, np.random.default_rng([world.spec.seed, 2, seed])
        self.family_T: Indices = rng.integers(len(world.texts.families), size=count)
        severity = rng.integers(SEVERITIES, size=count)
        slope = world.slope_F_J[self.family_T] * (severity - (SEVERITIES - 1) / 2)[:, None]
        lean = world.bias_F_J[self.family_T] + slope
        # +1 for a finding that is present, -1 for one that is absent.
        self.truth_T_J = np.where(rng.random(lean.shape) < 1 / (1 + np.exp(-lean)), 1, -1).astype(np.int8)
        thin = rng.random(count) < spec.thin_share
        # The right decision: the severity, or `ASK` if too few findings are mentioned.
        self.level_T: Indices = np.where(thin, ASK, severity)
        # +1 for an item that really applies: usually as its finding suggests; when not, nothing shows it.
        turned = rng.random((count, len(world.finding_I))) < spec.unknowable
        self.side_T_I = self.truth_T_J[:, world.finding_I] * np.where(turned, -1, 1).astype(np.int8)
        hidden_share = np.where(thin, spec.thin_hidden_share, spec.hidden_share)[:, None]
        self.told_T_J: Bools = rng.random(lean.shape) >= hidden_share
        self.expert_T: Bools = rng.random(count) < spec.expert_share

    def __len__(self) -> int:
        return len(self.family_T)


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
