"""What the paper behind the project printed for a benchmark, for tables that show ours next to it.

Its figures come from its own models, prompts and judges: a comparison, not a target.
"""

from collections.abc import Mapping
from typing import Any

from prorubric.audit.paper import load_paper


def find_paper_scores(method: str, benchmark: str) -> dict[str, float]:
    """By model of the paper, the score of a method of this name; empty if the paper has none. `average` is one too."""
    key, name = (text.lower().replace("-", "_").replace(" ", "_") for text in (method, benchmark))
    figures = load_paper()
    if name == "healthbench_consensus":
        # The ablations call the plain sum by its scheme.
        scheme = "additive" if key == "rubric_rl" else key
        small = figures["medical_ablations_4b"].get(scheme, {}).get("c")
        found = {"Qwen3-4B": small, "Qwen3-8B": figures["consensus_8b"].get(scheme)}
    else:
        found = {model: rows.get(key, {}).get(name) for model, rows in figures["main_results"].items()}
    return {model: value for model, value in found.items() if value is not None}


def find_paper_agreement(theme: str) -> Mapping[str, float]:
    """Balanced F1 of a theme in the paper, by judge, and of its physicians; empty if it has no such theme."""
    figures: dict[str, Any] = load_paper()["judge_agreement_balanced_f1"]
    key = theme.lower().replace("-", "_").replace(" ", "_")
    if key not in figures["themes"]:
        return {}
    place = figures["themes"].index(key)
    columns = {name: values[place] for name, values in figures.items() if name not in ("themes", "n_criteria")}
    return {name: value for name, value in columns.items() if value is not None}
