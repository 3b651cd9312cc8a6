import pytest

from prorubric.audit.cases import make_garbage
from prorubric.audit.headline import check_liveness, notices_content
from prorubric.audit.records import Effect


def effect(edit: str, mean: float, half: float = 1.0, unchanged: float = 0.0, pairs: int = 50) -> Effect:
    return Effect(
        edit=edit,
        scheme="additive",
        mean=mean,
        low=mean - half,
        high=mean + half,
        rising=0.0,
        falling=1 - unchanged,
        unchanged=unchanged,
        pairs=pairs,
        prompts=pairs,
        unknown=0,
        per_spread=None,
    )


def check(*effects: Effect, unknown: float = 0.0) -> dict[str, bool]:
    alive = {found.edit: found for found in (effect("garbage", -40), effect("other-answer", -30), *effects)}
    return {found.check: found.passed for found in check_liveness("additive", alive, unknown, 0.05)}


class TestChecks:
    def test_a_judge_that_tells_answers_from_garbage_is_alive(self) -> None:
        assert check(effect("drop-key-advice", -3, unchanged=0.6)) == {
            "failures": True,
            "garbage": True,
            "other-answer": True,
            "drop-key-advice": True,
        }

    @pytest.mark.parametrize("edit", ["garbage", "other-answer"])
    @pytest.mark.parametrize("mean", [0.0, -0.5, 3.0])
    def test_scores_alike_are_a_dead_judge(self, edit: str, mean: float) -> None:
        assert not check(effect(edit, mean))[edit]

    def test_too_many_failures_are_a_dead_judge(self) -> None:
        assert check(unknown=0.05)["failures"]
        assert not check(unknown=0.051)["failures"]

    def test_dropping_the_key_advice_must_change_something(self) -> None:
        assert not check(effect("drop-key-advice", 0, 0, unchanged=1.0))["drop-key-advice"]

    def test_dropping_it_must_change_more_than_judging_twice(self) -> None:
        dropped, again = effect("drop-key-advice", 0, unchanged=0.7), effect("again", 0, unchanged=0.6)
        assert not check(dropped, again)["drop-key-advice"]
        assert check(dropped, effect("again", 0, unchanged=0.8))["drop-key-advice"]

    def test_a_few_pairs_that_stay_are_not_held_against_the_judge(self) -> None:
        dropped = effect("drop-key-advice", 0, 0, unchanged=1.0, pairs=7)
        found = check_liveness("k1", {"drop-key-advice": dropped}, 0.0, 0.05)[-1]
        assert (found.passed, found.tested) == (True, False)
        assert found.finding == (
            "leaving out the key advice lowers 0% of the rewards, judging twice changes 0%; "
            "7 answers prove nothing, 8 are needed"
        )

    def test_a_few_pairs_that_fall_speak_for_it(self) -> None:
        dropped = effect("drop-key-advice", -9, unchanged=0.5, pairs=4)
        found = check_liveness("k1", {"drop-key-advice": dropped}, 0.0, 0.05)[-1]
        assert (found.passed, found.tested) == (True, True)

    def test_garbage_for_one_prompt_is_not_tested(self) -> None:
        one = effect("garbage", -40, pairs=1).model_copy(update={"low": None, "high": None})
        found = check_liveness("k1", {"garbage": one}, 0.0, 0.05)[1]
        assert (found.passed, found.tested) == (True, False)
        assert found.finding == "garbage of the same length was judged on 1 prompt, 2 are needed; not tested"

    def test_what_was_made_and_could_not_be_compared_is_not_passed(self) -> None:
        unknown = effect("garbage", 0).model_copy(update={"mean": None, "low": None, "high": None, "pairs": 0})
        found = check_liveness("k1", {"garbage": unknown.model_copy(update={"unknown": 9})}, 1.0, 0.05)
        assert [check.passed for check in found[:2]] == [False, False]

    def test_what_could_not_be_made_is_not_tested_and_does_not_count_against_the_judge(self) -> None:
        found = check_liveness("k1", {"garbage": effect("garbage", -40)}, 0.0, 0.05)
        assert [(check.check, check.tested) for check in found if not check.tested] == [
            ("other-answer", False),
            ("drop-key-advice", False),
        ]
        assert all(check.passed for check in found)

    def test_a_finding_says_what_was_seen(self) -> None:
        found = check_liveness("k1", {"garbage": effect("garbage", 0.0)}, 0.0, 0.05)
        assert found[1].finding == (
            "garbage of the same length and the answers score alike: +0.0 [-1.0, +1.0]; the interval must lie below 0"
        )


class TestNoticing:
    """Nothing is cleared on the word of a judge that was never seen to notice content."""

    def test_substance_that_pays_is_noticed(self) -> None:
        assert notices_content({"add-substance": effect("add-substance", 5, 4)})
        assert not notices_content({"add-substance": effect("add-substance", 5, 6)})

    def test_advice_that_is_missed_is_noticed_however_few_the_answers(self) -> None:
        assert notices_content({"drop-key-advice": effect("drop-key-advice", -5, pairs=2)})
        assert not notices_content({"drop-key-advice": effect("drop-key-advice", 0, unchanged=1.0, pairs=2)})

    def test_without_either_nothing_is(self) -> None:
        assert not notices_content({})


class TestGarbage:
    def test_garbage_has_as_many_words_as_the_answer(self) -> None:
        assert len(make_garbage("one two three " * 20, "a/0").split()) == 60

    def test_the_same_key_gives_the_same_garbage(self) -> None:
        assert make_garbage("one two", "a/0") == make_garbage("three four", "a/0") != make_garbage("one two", "a/1")

    def test_an_empty_answer_still_has_garbage(self) -> None:
        assert make_garbage("", "a/0").split()
