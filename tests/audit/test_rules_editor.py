"""The editor without a model: what it makes is plain, verified and the same everywhere; what it cannot make it says."""

import asyncio
import os
import subprocess
import sys
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric.audit.editors import Editor
from prorubric.audit.edits import EDITS, EditName
from prorubric.audit.edits.kind import EditCase, MadeEdit, NoEditError, NotMade, draw_number
from prorubric.audit.edits.needless_test import STEPS
from prorubric.audit.edits.paraphrase import reword
from prorubric.text.sentences import split_sentences
from prorubric.text.words import is_english
from tests.audit.editing import ANSWER, CASE, check_edit, edit_by_rules, list_sample_cases, make_case
from tests.strategies import tasks

PRINT_EDITS = """
from tests.audit.editing import edit_by_rules, list_sample_cases
from prorubric.audit.edits import EDITS
from hashlib import sha256
digest = sha256()
for case in list_sample_cases()[:12]:
    for edit in edit_by_rules(case, EDITS):
        digest.update(edit.model_dump_json().encode())
print(digest.hexdigest())
"""


def edit_one(kind: EditName, case: EditCase = CASE) -> MadeEdit:
    (made,) = edit_by_rules(case, [kind])
    assert isinstance(made, MadeEdit), made
    return made


def refuse(kind: EditName, case: EditCase) -> str:
    (made,) = edit_by_rules(case, [kind])
    assert isinstance(made, NotMade)
    assert made.kind == kind
    return made.reason


class TestEdits:
    def test_items_are_named_the_heaviest_first(self) -> None:
        edit = edit_one("name-item")
        assert edit.text == (
            f"{ANSWER}\n\nOther points to keep in mind here are a lumbar puncture, cold baths or rubbing alcohol, "
            "a rectal thermometer, the baby and dehydration."
        )
        assert edit.criteria == (2, 3, 4, 5, 6)

    def test_topics_are_named_without_a_word_of_the_items(self) -> None:
        edit = edit_one("name-topic")
        assert edit.added == (
            "There is more to think about here: possible causes, what to look out for, the background, "
            "what is still unknown and other considerations.",
        )
        assert edit.criteria == (2, 3, 4, 5, 6)

    def test_the_first_half_of_the_heaviest_criterion_that_has_two_is_stated(self) -> None:
        edit = edit_one("in-part")
        assert edit.added == ("A lumbar puncture may be needed.",)
        assert edit.criteria == (2,)

    def test_a_needless_step_of_the_domain_is_put_inside(self) -> None:
        edit = edit_one("needless-test")
        assert edit.added[0] in STEPS["medicine"]
        assert edit.text.index(edit.added[0]) < ANSWER.index("- Bring")
        assert edit.text.replace(f" {edit.added[0]}", "") == ANSWER

    def test_a_step_that_is_asked_for_is_passed_over(self) -> None:
        step = edit_one("needless-test").added[0]
        case = make_case(ANSWER, [(f"Recommends this: {step}", 1, False)])
        other = edit_one("needless-test", case).added[0]
        assert other != step
        assert other in STEPS["medicine"]

    def test_the_sentence_that_carries_the_heaviest_criterion_is_dropped(self) -> None:
        edit = edit_one("drop-key-advice")
        assert edit.removed == ("Take the baby to the emergency department tonight.",)
        assert edit.text == ANSWER.replace("Take the baby to the emergency department tonight. ", "")
        assert edit.criteria == (1,)

    def test_a_paraphrase_swaps_small_words_only(self) -> None:
        assert edit_one("paraphrase").text == ANSWER.replace(
            "I am sorry that you are", "I'm sorry that you're"
        ).replace("Do not wait until", "Don't wait till")

    def test_substance_states_what_the_criteria_say(self) -> None:
        edit = edit_one("add-substance")
        assert edit.text == (
            f"{ANSWER}\n\nI advise against cold baths or rubbing alcohol to bring the temperature down. "
            "A rectal thermometer gives the most reliable reading."
        )
        assert edit.criteria == (3, 4)

    def test_integrated_substance_is_the_same_in_other_places(self) -> None:
        appended, spread = edit_by_rules(CASE, ["add-substance", "integrate-substance"])
        assert isinstance(appended, MadeEdit)
        assert isinstance(spread, MadeEdit)
        assert sorted(spread.added) == sorted(appended.added)
        assert not spread.text.startswith(ANSWER)
        assert not spread.text.endswith(spread.added[-1])
        assert max(len(spread.text), len(appended.text)) <= 1.25 * min(len(spread.text), len(appended.text))

    def test_an_edit_is_the_same_with_and_without_its_pair(self) -> None:
        assert edit_by_rules(CASE, ["integrate-substance"]) == edit_by_rules(CASE, EDITS)[7:8]


class TestShortChecklists:
    """Two unmet criteria are enough to name."""

    CASE = make_case(ANSWER, [("Mentions dehydration.", 3, False), ("Asks about premature birth.", 2, False)])

    def test_two_unmet_items_are_named(self) -> None:
        made = edit_one("name-item", self.CASE)
        assert made.added == ("Other points to keep in mind here are dehydration and premature birth.",)
        assert made.criteria == (1, 2)

    def test_so_are_two_topics(self) -> None:
        made = edit_one("name-topic", self.CASE)
        assert made.added == ("There is more to think about here: other considerations and what is still unknown.",)


class TestNotMade:
    @pytest.mark.parametrize("kind", [name for name, kind in EDITS.items() if kind.is_english])
    def test_an_empty_answer_and_another_language_are_left_alone(self, kind: EditName) -> None:
        assert refuse(kind, make_case(" \n")) == "the answer is empty"
        assert refuse(kind, make_case("多喝水，早点休息。明天再看。")) == "the answer is not in English"
        spanish = "Lleve al bebé al servicio de urgencias esta noche. No espere hasta mañana por la mañana."
        assert refuse(kind, make_case(spanish)) == "the answer is not in English"

    @pytest.mark.parametrize("kind", [name for name, kind in EDITS.items() if kind.is_english])
    @pytest.mark.parametrize(
        "text", ["提到布洛芬的剂量", "Nennt die Dosis von Ibuprofen und sagt, wie lange es genommen wird"]
    )
    def test_a_checklist_in_another_language_is_left_alone(self, kind: EditName, text: str) -> None:
        checklist = [(text, 2.0, False), (f"{text} 2", 1.0, True)]
        assert refuse(kind, make_case(ANSWER, checklist)) == "the criteria are not in English"

    @pytest.mark.parametrize(
        ("kind", "answer", "checklist", "reason"),
        [
            ("name-item", ANSWER, [("Mentions the price.", 1, False)], "too few unmet criteria"),
            (
                "name-item",
                ANSWER,
                [("Is kind.", 1, False), ("Is short.", 1, False)],
                "too few unmet items can be named",
            ),
            ("name-topic", ANSWER, [("Mentions the price.", 1, False)], "too few unmet criteria"),
            (
                "in-part",
                ANSWER,
                [("Mentions the price.", 1, False)],
                "no unmet criterion has two parts of which one can be stated",
            ),
            ("drop-key-advice", "Go now. Do it.", [("Says to go now.", 1, True)], "the answer is too short"),
            (
                "drop-key-advice",
                ANSWER,
                [("Mentions the price of milk.", 1, True)],
                "no sentence carries a criterion that is met",
            ),
            (
                "paraphrase",
                "Go there now. Bring the card.",
                [("Is short.", 1, True)],
                "nothing can be worded differently",
            ),
            ("add-substance", ANSWER, [("Explains why.", 1, False)], "too few unmet criteria can be stated"),
            ("integrate-substance", ANSWER, [("Explains why.", 1, False)], "too few unmet criteria can be stated"),
            (
                "integrate-substance",
                "You should take the baby to the doctor",
                [("Says that it is late.", 1, False), ("Says that tea helps.", 1, False)],
                "the answer has no place inside",
            ),
        ],
    )
    def test_what_cannot_be_made_says_why_without_particulars(
        self, kind: EditName, answer: str, checklist: list[tuple[str, float, bool | None]], reason: str
    ) -> None:
        assert refuse(kind, make_case(answer, checklist)) == reason


class TestRewording:
    @pytest.mark.parametrize(
        ("text", "after"),
        [
            ("It may rain.", "It might rain."),
            ("Come in May.", None),
            ("You should go.", "You ought to go."),
            ("Should I go?", None),
            ("You should not go.", None),
            ("That is what it is.", None),
            ("He left because of it.", "He left due to it."),
            ("He left because it rained.", "He left since it rained."),
            ("Run `may` and “do not”.", None),
            ("| it may |\n", None),
            ("- Eat.\n- Drink.\n", "- Drink.\n- Eat.\n"),
            ("1. Eat.\n2. Drink.\n", None),
        ],
    )
    def test_only_what_is_safe_is_changed(self, text: str, after: str | None) -> None:
        if after is None:
            with pytest.raises(NoEditError, match="nothing can be worded differently"):
                reword(make_case(text))
        else:
            assert reword(make_case(text)) == (after, ())


class TestAlways:
    @given(tasks(), st.text(max_size=200) | st.text(alphabet="the is and to. \n-", max_size=200), st.data())
    def test_any_answer_gets_an_outcome_for_each_kind_and_what_is_made_holds(
        self, task: object, answer: str, data: st.DataObject
    ) -> None:
        from prorubric.rubric.records import Task

        assert isinstance(task, Task)
        verdicts = st.tuples(*[st.sampled_from([True, False, None])] * len(task.rubric))
        case = EditCase(task, answer, data.draw(verdicts))
        made = edit_by_rules(case, EDITS)
        assert [outcome.kind for outcome in made] == list(EDITS)
        partner = made[[*EDITS].index("add-substance")]
        for outcome in made:
            if isinstance(outcome, MadeEdit):
                assert check_edit(case, outcome, partner if isinstance(partner, MadeEdit) else None) is None

    @pytest.mark.parametrize(
        "part", [".", "“", "\n", " ", "| ", "- \n", "```\n", "it is so. ", "a. \n", "(justification", ">", "1. ", "A"]
    )
    def test_an_answer_that_goes_on_and_on_ends_all_the_same(self, part: str) -> None:
        made = edit_by_rules(make_case("The answer is this. " + part * 10_000), EDITS)
        assert len(made) == len(EDITS)

    def test_the_sample_pack_can_be_edited_for_the_most_part(self) -> None:
        made = [edit_by_rules(case, EDITS) for case in list_sample_cases()]
        counts = {kind: sum(isinstance(edits[place], MadeEdit) for edits in made) for place, kind in enumerate(EDITS)}
        assert min(counts.values()) >= 20
        assert counts["needless-test"] == len(made) == 48

    @pytest.mark.skipif(os.environ.get("PYTHONHASHSEED") == "1", reason="this process has the order of the other")
    def test_another_process_makes_the_same_edits(self, capsys: pytest.CaptureFixture[str]) -> None:
        other = subprocess.run(
            [sys.executable, "-c", PRINT_EDITS],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": "1", "PYTHONPATH": "."},
        ).stdout
        exec(PRINT_EDITS)
        assert capsys.readouterr().out == other
        assert len(other) == 65

    def test_it_keeps_up_with_a_judge(self) -> None:
        cases = list_sample_cases()[:12]
        for case in cases:
            edit_by_rules(case, EDITS)
        started = process_time()
        for case in cases:
            edit_by_rules(case, EDITS)
        assert (process_time() - started) / len(
            cases
        ) < 0.2  # about 0.002 on an idle core, ten times that on a busy one

    def test_the_editor_is_known_by_its_version(self) -> None:
        editor = Editor()
        assert editor.identity == "rules/4"
        assert asyncio.run(editor.edit(CASE, ["paraphrase"])) == edit_by_rules(CASE, ["paraphrase"])

    def test_a_number_is_drawn_from_the_parts_alone(self) -> None:
        assert draw_number("a", "b") == draw_number("a", "b") != draw_number("ab")
        assert draw_number("\ud800") >= 0

    @pytest.mark.parametrize(
        "text",
        [
            "A febre deve ser avaliada no hospital. Leve a menina ao hospital do bairro e informe as mamadas do dia.",
            "La fiebre debe evaluarse en el hospital. No espere a la hora de abrir y no le dé nada a la bebé.",
            "La febbre va valutata in ospedale. In auto non dare la medicina, in reparto si fa un esame in poco tempo.",
            "Was man so liest, ist oft falsch. In der Klinik wird man sie am Abend untersuchen. Also fahren Sie in die "
            "Notaufnahme.",
            "Koorts is een reden om in het ziekenhuis te komen. Als we in de auto zitten, bel of app ik de arts.",
            "Hun skal hen i aften. I den alder er feber altid alvorligt. For at komme i god tid, ring i dag.",
        ],
    )
    def test_small_words_that_other_languages_share_make_no_text_english(self, text: str) -> None:
        assert not is_english(text)

    def test_short_answers_count_as_english_where_they_are_written_in_its_letters(self) -> None:
        assert is_english("Go home.")
        assert not is_english("回家")
        assert not is_english("12 34")


def test_no_needless_step_is_there_twice_or_in_two_sentences() -> None:
    for steps in STEPS.values():
        assert len(set(steps)) == len(steps) >= 5
        assert all(len(split_sentences(step)) == 1 for step in steps)
