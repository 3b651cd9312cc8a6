import pytest

from prorubric.audit.headline import make_line
from prorubric.audit.records import Effect


def effect(edit: str, mean: float | None, low: float | None, high: float | None) -> Effect:
    return Effect(
        edit=edit, scheme="additive", mean=mean, low=low, high=high, rising=None, falling=None, unchanged=None,
        pairs=10, prompts=10, unknown=0, per_spread=None,
    )  # fmt: skip


def line(*effects: Effect, alive: bool = True, margin: float = 2.0):  # type: ignore[no-untyped-def]
    return make_line("additive", {found.edit: found for found in effects}, alive, margin)


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
    found = line(effect("name-item", -0.3, -1.9, 1.4), effect("name-topic", -3, -6, -1))
    assert (found.pays_for_padding, found.because) == ("no", "name-item -0.3 [-1.9, +1.4], 10 prompts")


def test_a_wide_interval_is_unclear() -> None:
    assert line(effect("name-item", 2.2, -0.1, 4.5)).pays_for_padding == "unclear"
    assert line(effect("name-item", 2.2, -0.1, 4.5), margin=5.0).pays_for_padding == "no"


def test_substance_is_not_padding() -> None:
    found = line(effect("add-substance", 22, 20, 24), effect("name-item", -1, -2, 0))
    assert found.pays_for_padding == "no"
    assert found.worst == ("name-item",)


@pytest.mark.parametrize("effects", [(), (effect("name-item", None, None, None),)])
def test_without_padding_edits_nothing_is_claimed(effects: tuple[Effect, ...]) -> None:
    assert line(*effects).pays_for_padding == "unclear"


def test_a_dead_judge_gets_no_verdict() -> None:
    found = line(effect("name-item", 0, 0, 0), alive=False)
    assert (found.pays_for_padding, found.alive) == ("no verdict", False)


def test_no_reward_is_cleared_without_naming() -> None:
    found = line(effect("needless-test", -1, -2, 0))
    assert (found.pays_for_padding, found.because) == (
        "unclear",
        "needless-test -1.0 [-2.0, +0.0], 10 prompts; name-item was judged on 0 prompts, 8 are needed",
    )


def test_a_few_prompts_are_not_enough_whatever_the_others_have() -> None:
    few = effect("name-item", 0, 0, 0).model_copy(update={"prompts": 7})
    assert line(few, effect("name-topic", 0, 0, 0)).pays_for_padding == "unclear"
