"""The paper's figures agree with each other, where one of them follows from others."""

from statistics import fmean, stdev

import pytest

from prorubric.audit.paper import load_paper

_ROUNDED = 0.11
"""Seeds are printed with one digit, and so are means and standard deviations."""


@pytest.mark.parametrize("method", load_paper()["per_seed_ablations_4b"])
@pytest.mark.parametrize("measure", ["c_pro", "c_lite", "g_lite"])
def test_means_and_standard_deviations_of_the_ablations_follow_from_their_seeds(method: str, measure: str) -> None:
    seeds, printed = load_paper()["per_seed_ablations_4b"][method][measure], load_paper()["medical_ablations_4b_full"]
    assert fmean(seeds) == pytest.approx(printed[method][measure], abs=_ROUNDED)
    assert stdev(seeds) == pytest.approx(printed[method][f"{measure}_std"], abs=_ROUNDED)


@pytest.mark.parametrize("method", ["additive", "prorubric"])
@pytest.mark.parametrize("benchmark", load_paper()["per_seed_domains_4b"])
def test_standard_deviations_of_the_benchmarks_follow_from_their_seeds(benchmark: str, method: str) -> None:
    printed = load_paper()["per_seed_domains_4b"][benchmark]
    assert stdev(printed[method]) == pytest.approx(printed[f"{method}_std"], abs=_ROUNDED)


def test_both_tables_of_ablations_have_the_same_standard_deviations() -> None:
    full, small = load_paper()["medical_ablations_4b_full"], load_paper()["medical_ablations_4b"]
    trained = {name: own["c_std"] for name, own in small.items() if name != "base"}
    assert {name: full[name]["c_pro_std"] for name in trained} == trained
    several = [name for name, own in full.items() if own["n_seeds"] > 1]
    assert [name for name in several if "c_pro_std" not in full[name]] == []
