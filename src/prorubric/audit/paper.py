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
_ARMS = {
    "additive": "additive",
    "raw-and": "raw_and",
    "prorubric": "prorubric",
    "prorubric-no-failure": "prorubric_no_failure_clauses",
    "graded": "graded",
    "k1": "k1",
    "implicit": "implicit",
    "weighted": "weighted",
    "rewritten": "rewritten",
    "additive+appropriateness": "additive_plus_appropriateness",
    "prorubric+appropriateness": "prorubric_plus_appropriateness",
    "implicit+appropriateness": "implicit_plus_appropriateness",
}
"""By scheme, the arm that the paper trains with it."""


@lru_cache(maxsize=1)
def load_paper() -> dict[str, Any]:
    """All figures, as the file groups them."""
    figures: dict[str, Any] = parse_json(_FILE.read_bytes())
    return figures


def _medicine() -> dict[str, Any]:
    figures: dict[str, Any] = load_paper()["incentive_audit_by_domain"]["medicine"]
    return figures


def find_paper_arm(scheme: str) -> str:
    """The arm that the paper trains with a scheme, by its name among the figures; empty if there is none."""
    return _ARMS.get(scheme, "")


def find_paper_effect(edit: str, scheme: str) -> MeanInterval:
    """What the paper measured for an edit under a scheme, in medicine; empty if it has no such figure."""
    audit, scheme_key = load_paper()["incentive_audit"], find_paper_arm(scheme)
    key = EDITS[edit].paper if edit in EDITS else ""
    # The figures by domain are of the sum.
    mean = audit.get(key, {}).get(scheme_key, _medicine().get(key) if scheme == "additive" else None)
    return MeanInterval(mean, *audit.get(f"{key}_ci95", {}).get(scheme_key, ()))


def find_paper_share(scheme: str) -> float | None:
    """Naming as a share of substance in the paper's medicine."""
    return _medicine().get(f"naming_share_{find_paper_arm(scheme)}")


def find_paper_redundancy(edit: str) -> float | None:
    """How far an edit moved the redundancy criterion in the paper's medicine, in points."""
    return _medicine().get(EDITS[edit].paper_redundancy) if edit in EDITS else None
