"""Worlds beside each other: what a rubric pays for, how far `c` fell under the sum, and the paper's figures for both.

Each world is a folder of runs of its own, made by the same code with another rubric shape.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from prorubric.audit.paper import load_paper
from prorubric.errors import RubricError, SourceError
from prorubric.files.json import parse_json
from prorubric.lab.results import BaseResult, RunResult
from prorubric.lab.statistics import Correlation, Spread, correlate
from prorubric.lab.texts import load_texts
from prorubric.lab.world import find_world
from prorubric.rubric.base import Record, config_record

ADDITIVE, PRORUBRIC = "additive", "prorubric"


@config_record
class WorldsConfig:
    """Which folders to set beside each other."""

    folders: Annotated[tuple[Path, ...], Field(min_length=1)]
    """Run folders, one for each world."""
    _: KW_ONLY


class WorldRow(Record):
    """One world; all in points of 100."""

    world: str
    domain: str
    naming_share: float | None
    """What naming earns under the sum, as a share of what substance earns."""
    fall: Spread
    """`c` under additive minus `c` of the untrained policy."""
    lead: Spread | None
    """`c` under ProRubric minus `c` under additive, seed by seed."""
    paper_naming_share: float | None
    paper_fall: float | None
    paper_lead: float | None


class WorldsResult(Record):
    """Several worlds."""

    worlds: tuple[WorldRow, ...]
    pays_and_falls: Correlation
    """Over worlds, of the naming share and how far `c` fell; with three of them little more than an order."""


def compare_worlds(config: WorldsConfig) -> WorldsResult:
    """Read the folders and set them beside each other."""
    rows = tuple(_make_row(folder) for folder in config.folders)
    shares = {row.world: row.naming_share for row in rows if row.naming_share is not None}
    return WorldsResult(worlds=rows, pays_and_falls=correlate(shares, {row.world: -row.fall.mean for row in rows}))


def load_runs(folder: Path) -> tuple[BaseResult, list[RunResult]]:
    """Everything that a run folder holds, by seed."""
    place = folder / "base.json"
    if not place.is_file():
        raise SourceError(f"{folder} holds no runs of the lab; make some with: prorubric lab run --out {folder}")
    found = sorted((folder / "runs").glob("*.json"))
    try:
        base = BaseResult(**parse_json(place.read_bytes()))
        runs = [RunResult(**parse_json(path.read_bytes())) for path in found]
    except RubricError as error:
        raise SourceError(
            f"{folder} was written by another version ({error}); make it again with: prorubric lab run --out {folder}"
        ) from None
    return base, sorted(runs, key=lambda run: run.seed)


def _make_row(folder: Path) -> WorldRow:
    base, runs = load_runs(folder)
    most = max((run.steps for run in runs), default=0)
    ends = {(run.scheme, run.seed): 100 * run.last.c for run in runs if run.steps == most}
    additive = {seed: c for (scheme, seed), c in ends.items() if scheme == ADDITIVE}
    if not additive:
        raise SourceError(f"{folder} holds no run of additive; make one with: prorubric lab run --out {folder}")
    leads = [ends[PRORUBRIC, seed] - c for seed, c in additive.items() if (PRORUBRIC, seed) in ends]
    domain = load_texts(find_world(base.world).texts).domain
    share = next((found.value for found in base.audit.naming_share if found.scheme == ADDITIVE), None)
    return WorldRow(
        world=base.world,
        domain=domain,
        naming_share=share,
        fall=Spread.of([c - 100 * base.sampled.c for c in additive.values()]),
        lead=Spread.of(leads) if leads else None,
        paper_naming_share=load_paper()["incentive_audit_by_domain"].get(domain, {}).get("naming_share_additive"),
        paper_fall=_paper_mean(domain, ADDITIVE),
        paper_lead=_paper_lead(domain),
    )


def _paper_changes(domain: str, scheme: str) -> Sequence[float]:
    changes: Sequence[float] = load_paper()["probe_change_from_base"].get(domain, {}).get(scheme, ())
    return changes


def _paper_mean(domain: str, scheme: str) -> float | None:
    changes = _paper_changes(domain, scheme)
    return float(np.mean(changes)) if changes else None


def _paper_lead(domain: str) -> float | None:
    additive, prorubric = _paper_mean(domain, ADDITIVE), _paper_mean(domain, PRORUBRIC)
    return None if additive is None or prorubric is None else prorubric - additive
