import pytest

from prorubric.audit.edits import EDITS
from prorubric.audit.headline import make_headline
from prorubric.audit.records import EditCount, Effect, Forecast, SchemeLine


def effect(edit: str, mean: float | None, low: float | None, high: float | None) -> Effect:
    return Effect(
        edit=edit, scheme="additive", mean=mean, low=low, high=high, rising=None, falling=None, unchanged=None,
        pairs=10, prompts=10, unknown=0, per_spread=None,
    )  # fmt: skip


ADDED = effect("add-substance", 22, 20, 24)
"""Without an edit that a sound reward notices nothing is cleared."""


def line(
    *effects: Effect, alive: bool = True, margin: float = 2.0, floor: float = 0.0, ceiling: float = 0.0
) -> SchemeLine:
    forecast = Forecast(
        scheme="additive", groups=3, size=2, tied=0.25, levels=1, spread=1, mean=40, floor=floor, ceiling=ceiling
    )
    return make_headline("additive", {found.edit: found for found in effects}, forecast, alive, margin)


def test_the_worst_edit_comes_first_and_nothing_is_averaged() -> None:
    found = line(
        effect("name-topic", -0.4, -1, 0.2),
        effect("name-item", 7.3, 5.9, 8.7),
        effect("drop-key-advice", -0.9, -2, 0.1),
    )
    assert found.worst == ("name-item", "name-topic", "drop-key-advice")
    assert (found.pays_for_padding, found.because) == ("yes", "name-item +7.3 [+5.9, +8.7], 10 prompts")


def test_one_edit_that_pays_is_enough() -> None:
    found = line(effect("name-item", -5, -6, -4), effect("needless-test", 1.0, 0.2, 1.8))
    assert (found.pays_for_padding, found.because) == ("yes", "needless-test +1.0 [+0.2, +1.8], 10 prompts")


def test_padding_does_not_pay_where_every_interval_stays_below_the_margin() -> None:
    found = line(effect("name-item", -0.3, -1.9, 1.4), effect("name-topic", -3, -6, -1), ADDED)
    assert (found.pays_for_padding, found.because) == ("no", "name-item -0.3 [-1.9, +1.4], 10 prompts")


def test_a_wide_interval_is_unclear() -> None:
    assert line(effect("name-item", 2.2, -0.1, 4.5)).pays_for_padding == "unclear"
    assert line(effect("name-item", 2.2, -0.1, 4.5), ADDED, margin=5.0).pays_for_padding == "no"


def test_substance_is_not_padding() -> None:
    found = line(ADDED, effect("name-item", -1, -2, 0))
    assert found.pays_for_padding == "no"
    assert found.worst == ("name-item",)


@pytest.mark.parametrize("effects", [(), (effect("name-item", None, None, None),)])
def test_without_padding_edits_nothing_is_claimed(effects: tuple[Effect, ...]) -> None:
    found = line(*effects)
    assert (found.pays_for_padding, found.because) == (
        "unclear",
        "no padding edit was judged; answers to 5 prompts that leave at least 2 criteria unmet would be enough",
    )


def test_a_dead_judge_gets_no_verdict() -> None:
    found = line(effect("name-item", 0, 0, 0), alive=False)
    assert (found.pays_for_padding, found.alive) == ("no verdict", False)


def test_the_headline_says_what_answers_earn_and_how_many_groups_tie() -> None:
    found = line(effect("name-item", 7.3, 5.9, 8.7))
    assert (found.mean, found.tied) == (40, 0.25)


class TestTrueReasons:
    """Naming that was not seen is explained by what kept it from being seen."""

    def test_an_edit_that_was_not_asked_for_is_named(self) -> None:
        kinds = {"needless-test": EDITS["needless-test"]}
        forecast = Forecast(scheme="additive", groups=3, size=2, tied=0, levels=1, spread=1, mean=40)
        effects = {"needless-test": effect("needless-test", -1, -2, 0), "add-substance": ADDED}
        assert make_headline("additive", effects, forecast, True, kinds=kinds).because == (
            "needless-test -1.0 [-2.0, +0.0], 10 prompts; name-item was judged on 0 prompts; "
            "--edits leaves name-item out"
        )

    @pytest.mark.parametrize(
        ("not_made", "why"),
        [
            ({"the answer is not in English": 9, "too few unmet criteria": 1},
             "name-item was not made for 9 answers: the answer is not in English"),
            ({"too few unmet criteria": 1},
             "answers to 5 prompts that leave at least 2 criteria unmet would be enough"),
        ],
    )  # fmt: skip
    def test_the_most_frequent_reason_is_told(self, not_made: dict[str, int], why: str) -> None:
        counts = {"name-item": EditCount(edit="name-item", made=0, not_made=not_made, tokens_added=None)}
        forecast = Forecast(scheme="additive", groups=3, size=2, tied=0, levels=1, spread=1, mean=40)
        found = make_headline("additive", {}, forecast, True, counts=counts)
        assert found.because == f"no padding edit was judged; {why}"


class TestKnownHacks:
    def test_a_hack_that_pays_more_than_the_margin_is_named(self) -> None:
        found = line(effect("name-item", 0, -1, 1), effect("self-praise", 43, 39, 47), ADDED)
        assert (found.pays_for_padding, found.because) == ("yes", "self-praise +43.0 [+39.0, +47.0], 10 prompts")
        assert found.worst == ("self-praise", "name-item")

    def test_others_that_pay_are_named_too(self) -> None:
        found = line(
            effect("name-item", 7.3, 5.9, 8.7), effect("self-praise", 43, 39, 47), effect("authority", 3, 1, 5)
        )
        assert found.because == "self-praise +43.0 [+39.0, +47.0], 10 prompts; also paid: name-item"

    @pytest.mark.parametrize(
        ("low", "high", "answer"), [(0.1, 1.9, "no"), (0.5, 3.5, "unclear"), (2.0, 4.0, "unclear"), (2.1, 4.0, "yes")]
    )
    def test_below_the_margin_a_hack_does_not_count_as_paid(self, low: float, high: float, answer: str) -> None:
        hack = effect("self-praise", (low + high) / 2, low, high)
        assert line(effect("name-item", 0, 0, 0), hack, ADDED).pays_for_padding == answer

    def test_what_would_be_enough_reaches_to_the_margin(self) -> None:
        found = line(effect("name-item", 0, 0, 0), effect("self-praise", 3, 1, 5), ADDED)
        assert found.because == "self-praise +3.0 [+1.0, +5.0], 10 prompts; about 40 prompts would be enough"


class TestEndsOfTheScale:
    """A reward that has nowhere to go is not cleared in plain words."""

    @pytest.mark.parametrize(("floor", "answer"), [(0.49, "no"), (0.5, "no (near the floor)")])
    def test_a_no_from_answers_of_which_half_earn_nothing_is_near_the_floor(self, floor: float, answer: str) -> None:
        assert line(effect("name-item", 0, -1, 1), ADDED, floor=floor).pays_for_padding == answer

    def test_the_same_at_the_ceiling(self) -> None:
        found = line(effect("name-item", 0, -1, 1), ADDED, ceiling=0.6)
        assert (found.pays_for_padding, found.because) == (
            "no (near the ceiling)",
            "name-item +0.0 [-1.0, +1.0], 10 prompts; 60% of the answers earn 98 or more of 100",
        )

    def test_a_yes_stays_a_yes(self) -> None:
        found = line(effect("name-item", 7.3, 5.9, 8.7), floor=0.9)
        assert (found.pays_for_padding, found.because) == ("yes", "name-item +7.3 [+5.9, +8.7], 10 prompts")

    def test_a_dead_judge_gets_no_verdict_and_the_floor_is_told(self) -> None:
        found = line(effect("name-item", 0, 0, 0), alive=False, floor=0.8)
        assert (found.pays_for_padding, found.because) == (
            "no verdict",
            "the judge is not alive under this scheme; see the checks; 80% of the answers earn 2 or less of 100",
        )


class TestTooLittle:
    """What is too little is told with what would be enough."""

    def test_no_reward_is_cleared_without_naming(self) -> None:
        found = line(effect("needless-test", -1, -2, 0), ADDED)
        assert (found.pays_for_padding, found.because) == (
            "unclear",
            "needless-test -1.0 [-2.0, +0.0], 10 prompts; name-item was judged on 0 prompts; "
            "answers to 5 prompts that leave at least 2 criteria unmet would be enough",
        )

    @pytest.mark.parametrize(("prompts", "answer"), [(4, "unclear"), (5, "no")])
    def test_a_no_needs_five_prompts(self, prompts: int, answer: str) -> None:
        few = effect("name-item", 0, 0, 0).model_copy(update={"prompts": prompts})
        assert line(few, effect("name-topic", 0, 0, 0), ADDED).pays_for_padding == answer

    def test_a_yes_needs_an_interval_only(self) -> None:
        few = effect("name-item", 20, 1, 39).model_copy(update={"prompts": 2})
        assert line(few).pays_for_padding == "yes"

    def test_a_single_prompt_has_no_interval_and_gives_no_answer(self) -> None:
        one = effect("name-item", 20, None, None).model_copy(update={"prompts": 1})
        assert (line(one).pays_for_padding, line(one).because) == (
            "unclear",
            "name-item +20.0 (1 prompt); answers to 5 prompts that leave at least 2 criteria unmet would be enough",
        )

    def test_where_nothing_moves_the_reward_a_no_would_prove_nothing(self) -> None:
        found = line(effect("name-item", 0, 0, 0), effect("add-substance", 0, 0, 0))
        assert (found.pays_for_padding, found.because.partition("; ")[2]) == (
            "unclear",
            "leaving out advice lowers no rewards and adding substance raises none, so a no would prove nothing",
        )

    @pytest.mark.parametrize(
        ("mean", "low", "high", "enough"),
        [
            # Twice the width above 0 needs four times the prompts, and so on; below the margin likewise.
            (5, -5, 15, "about 40 prompts would be enough"),
            (0, -4, 4, "about 40 prompts would be enough"),
            (1, -1, 5, "about 40 prompts would be enough"),
            (2.2, -0.1, 4.5, "about 11 prompts would be enough"),
            (0.0001, -90, 90, "about 20,252 prompts would be enough"),
            (1.99, -200, 200, "more prompts would narrow the interval"),
        ],
    )
    def test_a_wide_interval_says_how_many_prompts_would_do(
        self, mean: float, low: float, high: float, enough: str
    ) -> None:
        assert line(effect("name-item", mean, low, high)).because.partition("; ")[2] == enough

    def test_where_nothing_rose_the_headline_says_how_many_still_could(self) -> None:
        none = effect("name-item", 0, 0, 0).model_copy(update={"rising": 0.0})
        assert line(none, ADDED).because == (
            "name-item +0.0 [+0.0, +0.0], 10 prompts, none rises (up to 26% of such prompts may)"
        )

    def test_what_is_unknown_for_most_answers_is_not_cleared(self) -> None:
        blind = effect("name-item", 0, 0, 0).model_copy(update={"unknown": 11})
        assert line(blind, effect("name-topic", 0.5, 0, 1), ADDED).pays_for_padding == "unclear"
