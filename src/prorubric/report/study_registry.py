"""Every table and figure of a study, in the order of the page."""

from collections.abc import Callable
from typing import NamedTuple

from prorubric.report import study_audit, study_judges, study_tables, study_training
from prorubric.report.study_results import Made, StudyResults


class Generator(NamedTuple):
    """One table, with or without a figure. Its note is `study-NAME` in the notes of pages."""

    name: str
    title: str
    place: str
    """Where the paper has it."""
    make: Callable[[StudyResults], Made]


GENERATORS: tuple[Generator, ...] = (
    Generator("main", "Main results", "Table 2", study_tables.make_main),
    Generator("plane", "Coverage and appropriateness", "Figure 2", study_tables.make_plane),
    Generator("evidence-a", "Blind preference for the untrained policy", "Table 1a", study_judges.make_evidence),
    Generator("evidence-b", "What edits pay before training", "Table 1b", study_audit.make_evidence),
    Generator("ablations", "Medical ablations", "Table 3", study_tables.make_ablations),
    Generator("seeds-benchmarks", "Benchmarks by seed", "Table 8", study_tables.make_seeds_benchmarks),
    Generator("seeds-ablations", "Medical ablations by seed", "Table 9", study_tables.make_seeds_ablations),
    Generator("seeds-consensus", "Appropriateness by seed", "Table 12", study_tables.make_seeds_consensus),
    Generator("ablations-full", "Medical ablations under both judges", "Table 10", study_tables.make_full_ablations),
    Generator("cross-judge", "Ranking by another judge", "Table 11", study_tables.make_cross_judge),
    Generator("pairs", "Blind pairs", "Table 7", study_judges.make_pairs),
    Generator("equal-budget", "Blind pairs under an equal budget", "Figure 4b", study_judges.make_equal_budget),
    Generator("probe", "Appropriateness probe", "Table 14", study_judges.make_probe),
    Generator("probe-seeds", "Appropriateness probe by seed", "Table 15a, Figure 3c", study_judges.make_probe_seeds),
    Generator("incentive", "Incentive audit", "Table 13", study_audit.make_incentive),
    Generator("incentive-domains", "Incentive audit by domain", "Table 15b", study_audit.make_incentive_domains),
    Generator("placement", "Where added material sits", "Appendix D.5", study_audit.make_placement),
    Generator("dynamics", "Training dynamics", "Figure 5", study_training.make_dynamics),
    Generator("kl", "KL penalty", "Figure 3b", study_training.make_kl),
    Generator("equal-groups", "Groups with equal rewards", "Appendix D.2", study_training.make_equal_groups),
    Generator("training-length", "Length over the training", "Table 10", study_training.make_lengths),
    Generator("completions", "Completed dimensions", "Appendix D.2", study_training.make_completions),
    Generator("length", "Length and appropriateness", "Figures 3a and 4a", study_tables.make_length),
    Generator("disagreement", "Where the judges disagree", "Appendix D.2", study_judges.make_disagreement),
    Generator("physicians", "Judges against physicians", "Table 5", study_judges.make_physicians),
    Generator("sizes", "Sample sizes", "Table 6", study_tables.make_sizes),
)
