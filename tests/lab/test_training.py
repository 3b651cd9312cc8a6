"""What needs torch runs with the lab's own Python; see tests/train/running.py."""

from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.train.running import run_in, trainers

pytestmark = trainers
SCRIPTS = Path(__file__).parent / "scripts"


@pytest.fixture(scope="module")
def learned() -> dict[str, dict[str, float]]:
    return run_in("lab", SCRIPTS / "learning.py")


def test_the_gradient_is_that_of_a_plain_loop_over_choices(learned: dict[str, dict[str, float]]) -> None:
    found = learned["gradient"]
    assert found["size_0.0"] > 0.01
    assert found["gap_0.0"] < 1e-5 * max(found["size_0.0"], 1)
    assert found["gap_0.04"] < 1e-5 * max(found["size_0.04"], 1)
    assert found["size_0.0"] != found["size_0.04"]


def test_sampled_moves_have_the_probabilities_that_the_update_sees(learned: dict[str, dict[str, float]]) -> None:
    found = learned["sampling"]
    assert found["logp_gap"] < 1e-4
    assert found["repeats"] == 0
    assert found["most_tokens"] == 12
    assert found["first_gap"] < 0.08
    assert found["greedy_twice"]


def test_two_arms_with_a_known_optimum_are_learned(learned: dict[str, dict[str, float]]) -> None:
    assert learned["two_arms"]["before"] < 0.6
    assert learned["two_arms"]["after"] > 0.97


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return run_in("lab", SCRIPTS / "training.py", tmp_path_factory.mktemp("lab"))


def test_the_same_seed_gives_the_same_run_and_another_does_not(trained: dict[str, object]) -> None:
    assert trained["same"]
    assert trained["different"]


def test_twenty_steps_move_coverage_up(trained: dict[str, float]) -> None:
    assert trained["g_after"] > trained["g_before"] + 0.02


def test_only_the_missing_run_is_made_again_and_gives_the_same(trained: dict[str, object]) -> None:
    assert trained["redone"] == ["additive-seed-42-steps-20.json"]
    assert trained["again"]


def test_a_scheme_of_ones_own_joins_the_tables_and_the_audit(trained: dict[str, object]) -> None:
    own = "tests.lab.own_scheme:share_of_weight"
    assert trained["audited"] == ["additive", own]
    assert trained["own_equals_additive"]
    assert trained["read"] == ["base", "additive", own]


def test_a_comparison_leaves_figures_and_one_page(trained: dict[str, object]) -> None:
    names = ["audit", "coverage", "curves", "length", "plane", "prediction"]
    assert trained["figures"] == [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
    assert trained["page"] == "<!doctype html>"
    assert trained["images"] == 6


def test_progress_is_told_in_steps(trained: dict[str, object]) -> None:
    assert trained["told_last"] == [40, "2 of 2 runs", 40]


def test_a_folder_of_another_world_is_refused(trained: dict[str, str]) -> None:
    assert (
        "holds a run of lab with another world (triage-v1, not science-v1); choose another --out" in trained["refused"]
    )


def test_a_rollout_is_used_for_two_updates_and_the_rate_warms_up(trained: dict[str, list[float]]) -> None:
    assert trained["rates"] == pytest.approx([3e-5, 3e-5, 6e-5, 6e-5])


def test_a_kl_weight_holds_the_policy_as_soon_as_it_has_moved(trained: dict[str, float]) -> None:
    # At the start policy and reference are the same, so that there is nothing to hold.
    assert trained["kl_first"] < 1e-7
    assert 2e-7 < trained["kl_weak"] < trained["kl_second"]


def test_length_costs_near_the_limit_and_half_of_it_is_the_limit_of_length_matched(
    trained: dict[str, list[dict[str, float]]],
) -> None:
    for found, limit in zip(trained["limits"], (800, 400), strict=True):
        assert found["size"] > 1
        assert found["gap"] < 1e-5
        assert found["score"] == 0.5
        # The move that reaches the limit is the last, and the longest move has 24 tokens.
        assert limit <= found["longest"] < limit + 24


def test_an_edited_function_is_trained_on_and_audited_again(trained: dict[str, dict[str, list[float]]]) -> None:
    (first, second), (before, after) = trained["edited"]["rewards"], trained["edited"]["effects"]
    assert first > 0
    assert second == pytest.approx(-2 * first)
    assert after == pytest.approx(-2 * before)


def test_a_folder_stays_usable_when_a_function_is_gone(trained: dict[str, dict[str, object]]) -> None:
    own = "tests.lab.own_scheme:share_of_weight"
    assert trained["edited"]["held"] == ["additive", "edited_scheme:pay", "graded", own]
    assert trained["edited"]["read_without"] == ["base", "additive", "edited_scheme:pay", "graded", own]


def test_trying_a_scheme_leaves_the_tables_of_a_comparison_alone(trained: dict[str, dict[str, object]]) -> None:
    assert trained["edited"]["summary_kept"]


def test_an_interrupt_ends_all_processes_at_once(trained: dict[str, dict[str, object]]) -> None:
    found = trained["interrupted"]
    assert found["code"] == 130
    assert found["said"] == "prorubric: stopped\n"
    assert found["left"] == []
    assert found["seconds"] < PATIENCE  # a run of 5000 steps takes longer
