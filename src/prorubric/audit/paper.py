"""The figures of the paper behind the project, for reports that compare ours with them.

Source: "Scoring Higher, Answering Worse: Mitigating Reward Hacking in Rubric-Based RL via Protocol-Level Rubrics". They
come from the paper's own model, prompts and judge: a comparison, not a target.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

from prorubric.aggregate.bootstrap import MeanInterval
from prorubric.audit.edits import EDITS
from prorubric.files.json import parse_json

_FILE = Path(__file__).parent / "paper_results.json"


@lru_cache(maxsize=1)
def load_paper() -> dict[str, Any]:
    """All figures, as the file groups them."""
    figures: dict[str, Any] = parse_json(_FILE.read_bytes())
    return figures


def _medicine() -> dict[str, Any]:
    figures: dict[str, Any] = load_paper()["incentive_audit_by_domain"]["medicine"]
    return figures


def find_paper_effect(edit: str, scheme: str) -> MeanInterval:
    """What the paper measured for an edit under a scheme, in medicine; empty if it has no such figure."""
    audit, scheme_key = load_paper()["incentive_audit"], _rename(scheme)
    key = EDITS[edit].paper if edit in EDITS else ""
    # The figures by domain are of the sum.
    mean = audit.get(key, {}).get(scheme_key, _medicine().get(key) if scheme == "additive" else None)
    return MeanInterval(mean, *audit.get(f"{key}_ci95", {}).get(scheme_key, ()))


def find_paper_share(scheme: str) -> float | None:
    """Naming as a share of substance in the paper's medicine."""
    return _medicine().get(f"naming_share_{_rename(scheme)}")


def find_paper_redundancy(edit: str) -> float | None:
    """How far an edit moved the redundancy criterion in the paper's medicine, in points."""
    return _medicine().get(EDITS[edit].paper_redundancy) if edit in EDITS else None


def _rename(scheme: str) -> str:
    return scheme.replace("+", "_plus_").replace("-", "_")
