"""The figures of the paper behind the project, so that a report can print them beside ours.

Source: "Scoring Higher, Answering Worse: Mitigating Reward Hacking in Rubric-Based RL via Protocol-Level Rubrics". They
are of the paper's own model, prompts and judge: something to compare with, nothing to be met.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any

from prorubric.audit.statistics import Estimate
from prorubric.files.json import parse_json

_FILE = Path(__file__).parent / "paper_results.json"
# Edits by our names and by the paper's.
_EDITS = {
    "name-item": "name_item",
    "name-topic": "name_topic",
    "in-part": "satisfy_in_part",
    "needless-test": "needless_test",
    "drop-key-advice": "drop_key_advice",
    "paraphrase": "paraphrase",
}


@lru_cache(maxsize=1)
def load_paper() -> dict[str, Any]:
    """All figures, as the file groups them."""
    figures: dict[str, Any] = parse_json(_FILE.read_bytes())
    return figures


def find_paper_effect(edit: str, scheme: str) -> Estimate:
    """What the paper measured for an edit under a scheme, in medicine; empty where it has no such figure."""
    audit, name = load_paper()["incentive_audit"], _rename(scheme)
    mean = audit.get(_EDITS.get(edit, ""), {}).get(name)
    if edit == "add-substance" and scheme == "additive":
        mean = load_paper()["incentive_audit_by_domain"]["medicine"]["add_substance"]
    low, high = audit["name_item_ci95"].get(name, (None, None)) if edit == "name-item" else (None, None)
    return Estimate(mean, low, high)


def find_paper_share(scheme: str) -> float | None:
    """Naming as a share of substance in the paper's medicine."""
    share: float | None = load_paper()["incentive_audit_by_domain"]["medicine"].get(f"naming_share_{_rename(scheme)}")
    return share


def find_paper_redundancy(edit: str) -> float | None:
    """How far an edit moved the redundancy criterion in the paper's medicine, in points."""
    key = {"name-item": "redundancy_change_name", "add-substance": "redundancy_change_substance"}.get(edit, "")
    change: float | None = load_paper()["incentive_audit_by_domain"]["medicine"].get(key)
    return change


def _rename(scheme: str) -> str:
    return scheme.replace("+", "_plus_").replace("-", "_")
