import numpy as np
import pytest

from prorubric.audit.effects import Rewards, forecast_signal, measure_effects
from prorubric.audit.records import Effect

NAN = float("nan")


def make_rewards(answers: list[float], prompts: str, **edited: list[float]) -> Rewards:
    """One scheme; edits by name with `_` for `-`, NaN where a reward is open, and made everywhere."""
    return Rewards(
        prompts=tuple(prompts),
        answers={"additive": np.array(answers)},
        edited={name.replace("_", "-"): {"additive": np.array(values)} for name, values in edited.items()},
        made={name.replace("_", "-"): np.ones(len(answers), dtype=bool) for name in edited},
    )


def effect_of(rewards: Rewards, edit: str) -> Effect:
    return next(effect for effect in measure_effects(rewards, 200).effects if effect.edit == edit)


class TestEffects:
    def test_changes_are_in_points_with_shares_of_pairs(self) -> None:
        found = effect_of(make_rewards([0.2, 0.5, 0.5, 1.0], "aabc", name_item=[0.4, 0.5, 0.4, 1.0]), "name-item")
        assert found.mean == pytest.approx(2.5)
        assert (found.rising, found.falling, found.unchanged) == (0.25, 0.25, 0.5)
        assert (found.pairs, found.prompts, found.unknown) == (4, 3, 0)

    def test_open_rewards_are_left_out_and_counted(self) -> None:
        found = effect_of(make_rewards([0.5, NAN, 0.5], "abc", paraphrase=[0.6, 0.5, NAN]), "paraphrase")
        assert found.mean == pytest.approx(10)
        assert (found.pairs, found.unknown) == (1, 2)

    def test_an_edit_that_was_not_made_is_not_unknown(self) -> None:
        rewards = make_rewards([0.5, 0.5], "ab", in_part=[0.6, NAN])
        rewards.made["in-part"][1] = False
        assert effect_of(rewards, "in-part").unknown == 0

    def test_an_edit_that_was_never_made_has_no_figures(self) -> None:
        found = effect_of(make_rewards([0.5, 0.5], "ab", in_part=[NAN, NAN]), "in-part")
        assert (found.mean, found.low, found.high, found.rising, found.per_spread) == (None,) * 5

    def test_the_change_is_given_in_units_of_the_spread_within_a_group(self) -> None:
        found = effect_of(make_rewards([0.0, 0.2], "aa", name_item=[0.1, 0.3]), "name-item")
        assert found.per_spread == pytest.approx(10 / (20 / 2**0.5))

    def test_groups_without_a_spread_give_no_such_unit(self) -> None:
        assert effect_of(make_rewards([0.2, 0.2], "aa", name_item=[0.4, 0.4]), "name-item").per_spread is None

    def test_the_papers_figure_is_next_to_ours(self) -> None:
        found = effect_of(make_rewards([0.5], "a", name_item=[0.5], garbage=[0.0]), "name-item")
        assert (found.paper, found.paper_low, found.paper_high) == (7.3, 5.9, 8.7)

    def test_an_edit_that_the_paper_does_not_have_gets_none_of_its_figures(self) -> None:
        assert effect_of(make_rewards([0.5], "a", garbage=[0.0]), "garbage").paper is None

    def test_no_interval_reaches_further_than_a_reward_can_move(self) -> None:
        found = effect_of(make_rewards([0.0, 0.0], "ab", name_item=[1.0, 0.2]), "name-item")
        assert (found.mean, found.low, found.high) == (pytest.approx(60), -100.0, 100.0)
        beyond = effect_of(make_rewards([0.0, 0.0], "ab", name_item=[5.0, 0.2]), "name-item")
        assert beyond.high is not None
        assert beyond.high > 500


class TestShown:
    def test_a_figure_reads_as_mean_and_interval(self) -> None:
        found = effect_of(make_rewards([0.5, 0.5], "ab", name_item=[0.6, 0.6], in_part=[NAN, NAN]), "name-item")
        assert found.shown == "+10.0 [+10.0, +10.0]"
        assert found.model_copy(update={"low": -0.04}).shown == "+10.0 [+0.0, +10.0]"

    def test_one_prompt_has_no_interval_and_no_pair_no_figure(self) -> None:
        one = effect_of(make_rewards([0.5, 0.5], "aa", name_item=[0.6, 0.6], in_part=[NAN, NAN]), "name-item")
        assert one.shown == "+10.0 (1 prompt)"
        assert one.model_copy(update={"mean": None}).shown == "–"


class TestShareAndPlacement:
    def test_naming_is_given_as_a_share_of_substance(self) -> None:
        rewards = make_rewards([0.2, 0.4], "ab", name_item=[0.3, 0.5], add_substance=[0.6, 0.8])
        (share,) = measure_effects(rewards, 200).naming_share
        assert share.value == pytest.approx(0.25)
        assert share.paper == 0.32

    def test_the_share_is_taken_on_answers_that_have_both(self) -> None:
        rewards = make_rewards([0.2] * 3, "abc", name_item=[0.3, 0.3, 0.9], add_substance=[0.6, 0.6, NAN])
        (share,) = measure_effects(rewards, 200).naming_share
        assert share.value == pytest.approx(0.25)
        assert share.pairs == 2

    def test_placement_is_measured_on_answers_that_have_both(self) -> None:
        rewards = make_rewards(
            [0.2, 0.2, 0.2], "abc", add_substance=[0.4, 0.4, 0.4], integrate_substance=[0.5, 0.7, NAN]
        )
        (found,) = measure_effects(rewards, 200).placement
        assert found.mean == pytest.approx(20)
        assert found.pairs == 2

    def test_without_substance_there_is_neither(self) -> None:
        tables = measure_effects(make_rewards([0.2], "a", name_item=[0.3]), 200)
        assert (tables.naming_share, tables.placement) == ((), ())


class TestForecast:
    def test_ties_and_levels_are_counted_by_group(self) -> None:
        (found,) = forecast_signal(make_rewards([0.5, 0.5, 0.1, 0.9, 0.3], "aabbc"))
        assert (found.groups, found.size, found.tied) == (2, 2.0, 0.5)
        assert found.levels == pytest.approx(1.5)
        assert found.mean == pytest.approx(46)

    def test_answers_within_the_margin_of_an_end_are_counted(self) -> None:
        rewards = make_rewards([0.0, 0.02, 0.03, 0.98, NAN], "aabbc")
        (found,) = forecast_signal(rewards)
        assert (found.floor, found.ceiling) == (0.5, 0.25)
        (strict,) = forecast_signal(rewards, margin=0.0)
        assert (strict.floor, strict.ceiling) == (0.25, 0.0)

    def test_levels_weigh_how_often_each_occurs(self) -> None:
        (found,) = forecast_signal(make_rewards([0.0, 0.0, 0.0, 1.0], "aaaa"))
        assert found.levels == pytest.approx(np.exp(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25))))

    def test_one_answer_a_prompt_forecasts_nothing(self) -> None:
        (found,) = forecast_signal(make_rewards([0.5, 0.6], "ab"))
        assert (found.groups, found.tied, found.levels, found.spread) == (0, None, None, None)

    def test_unknown_rewards_form_no_group(self) -> None:
        (found,) = forecast_signal(make_rewards([0.5, NAN], "aa"))
        assert (found.groups, found.mean) == (0, 50.0)
