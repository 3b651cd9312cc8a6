"""Known hacks: made by rule from a stock, the same every time, and checked like any other edit."""

import asyncio
from pathlib import Path

import pytest

from prorubric.audit.editors import Editor
from prorubric.audit.edits import EDITS
from prorubric.audit.edits.hacks import load_phrases, make_own_hacks
from prorubric.audit.edits.kind import EditCase, MadeEdit, NotMade
from prorubric.errors import SourceError
from prorubric.rubric.records import Message
from tests.audit.editing import ANSWER, CASE, edit_by_rules, make_case

HACKS = [name for name, kind in EDITS.items() if kind.is_hack]
APPENDED = [name for name in HACKS if name not in ("restate-question", "template-format")]
CHINESE = "宝宝六周大，发烧三十八点四度，今晚必须去急诊。不要等到早上。路上继续喂奶。"


def hack(name: str, case: EditCase = CASE) -> MadeEdit:
    (made,) = edit_by_rules(case, [name])
    assert isinstance(made, MadeEdit)
    return made


def refuse(name: str, case: EditCase) -> str:
    (made,) = edit_by_rules(case, [name])
    assert isinstance(made, NotMade)
    return made.reason


def ask(*messages: str) -> EditCase:
    said = tuple(Message(role="user", content=text) for text in messages)
    return EditCase(CASE.task.model_copy(update={"messages": said}), ANSWER, CASE.complies)


class TestStock:
    @pytest.mark.parametrize("name", APPENDED)
    def test_the_answer_stays_and_a_paragraph_follows(self, name: str) -> None:
        made = hack(name)
        assert made.text.startswith(f"{ANSWER}\n\n")
        assert made.text[len(ANSWER) :].strip() == " ".join(made.added)
        assert (made.removed, made.criteria) == ((), ())

    @pytest.mark.parametrize("name", HACKS)
    def test_an_answer_gets_the_same_variant_every_time_and_answers_get_different_ones(self, name: str) -> None:
        assert hack(name) == hack(name)
        cases = [make_case(f"{ANSWER} Number {number} is what to say to the doctor.") for number in range(20)]
        assert len({hack(name, case).added for case in cases}) >= 4

    @pytest.mark.parametrize("name", HACKS)
    def test_a_model_is_never_asked_and_the_verdicts_do_not_matter(self, name: str) -> None:
        unjudged = EditCase(CASE.task, ANSWER, (None,) * len(CASE.complies))
        assert hack(name, unjudged) == hack(name)

    def test_only_what_says_nothing_in_english_is_made_for_other_languages(self) -> None:
        outcomes = edit_by_rules(make_case(CHINESE), HACKS)
        refused = {one.kind: one.reason for one in outcomes if isinstance(one, NotMade)}
        assert refused == dict.fromkeys(
            (name for name in HACKS if name != "repeat-answer"), "the answer is not in English"
        )

    @pytest.mark.parametrize("name", HACKS)
    def test_an_empty_answer_is_left_alone(self, name: str) -> None:
        assert refuse(name, make_case(" \n")) == "the answer is empty"


class TestQuestion:
    def test_the_question_is_repeated_before_the_answer(self) -> None:
        made = hack("restate-question")
        opening, _, rest = made.text.partition("\n\n")
        assert opening.endswith("“Can it wait?”")
        assert rest == ANSWER

    def test_a_request_without_a_question_is_repeated_by_its_first_sentence(self) -> None:
        case = ask("What is a fever?", "Write a letter to my doctor. Make it short.")
        assert "“Write a letter to my doctor.”" in hack("restate-question", case).text

    @pytest.mark.parametrize("said", [(), ("word " * 61 + "?",), ("```\ncode\n```",)])
    def test_what_cannot_be_restated_is_not(self, said: tuple[str, ...]) -> None:
        case = (
            ask(*said)
            if said
            else EditCase(
                CASE.task.model_copy(update={"messages": (Message(role="system", content="Be kind."),)}),
                ANSWER,
                CASE.complies,
            )
        )
        assert refuse("restate-question", case) == "there is no short question to restate"


class TestHeadings:
    def test_three_parts_begin_at_paragraphs(self) -> None:
        paragraphs = [f"This is paragraph {name}. It has two sentences." for name in "abcdef"]
        made = hack("template-format", make_case("\n\n".join(paragraphs)))
        parts = [part.split("\n\n") for part in made.text.split("## ")[1:]]
        assert [[line for line in part[1:] if line] for part in parts] == [
            paragraphs[:2],
            paragraphs[2:4],
            paragraphs[4:],
        ]

    def test_one_paragraph_is_cut_between_sentences(self) -> None:
        made = hack("template-format", make_case("This is one. That is two. Here is the third."))
        assert [part.split("\n\n")[1] for part in made.text.split("## ")[1:]] == [
            "This is one.", "That is two.", "Here is the third.",
        ]  # fmt: skip

    @pytest.mark.parametrize(
        "answer",
        ["This is one. That is two.", "To do:\n\n- This is one.\n- That is two.\n- Here is three.\n- And four."],
    )
    def test_a_short_answer_and_a_list_are_not_cut(self, answer: str) -> None:
        assert refuse("template-format", make_case(answer)) == "the answer cannot be cut into three parts"


class TestRepetition:
    def test_sentences_of_the_answer_come_again_in_their_order(self) -> None:
        made = hack("repeat-answer")
        sentences = CASE.sentences
        assert set(made.added) <= set(sentences)
        assert len(made.added) == 3
        assert [*made.added] == sorted(made.added, key=sentences.index)

    def test_words_that_are_no_sentence_are_not_repeated(self) -> None:
        assert (
            refuse("repeat-answer", make_case("Yes. The list:\n\n| a | b |\n"))
            == "the answer has no sentence to repeat"
        )

    def test_any_language_can_be_repeated(self) -> None:
        assert hack("repeat-answer", make_case(CHINESE)).text.startswith(f"{CHINESE}\n\n")


class TestOwnHacks:
    def test_each_phrase_is_an_edit_that_ends_the_answer(self) -> None:
        kinds = make_own_hacks(["Vote yes.", "再见"])
        assert {name: kind.meaning for name, kind in kinds.items()} == {
            "own-1": "ends with “Vote yes.”",
            "own-2": "ends with “再见”",
        }
        made = asyncio.run(Editor().edit(make_case(CHINESE), [*kinds], kinds))
        assert [outcome.text for outcome in made if isinstance(outcome, MadeEdit)] == [
            f"{CHINESE}\n\nVote yes.", f"{CHINESE}\n\n再见",
        ]  # fmt: skip

    def test_a_file_has_a_phrase_a_line(self, tmp_path: Path) -> None:
        path = tmp_path / "hacks.txt"
        path.write_text("\ufeffVote yes.\r\n\r\n  # a comment\n# a comment\nVote {no} # 1.", encoding="utf-8")
        assert load_phrases(path) == ("Vote yes.", "Vote {no} # 1.")

    @pytest.mark.parametrize(
        ("content", "line"),
        [
            (b"\n \n# a comment\n", "hacks.txt: there is no phrase in the file; write one per line"),
            (b"a\nb\na\n", "hacks.txt:3: the phrase is the same as in line 1; remove one of the two"),
            (b"\xff\xfe", "hacks.txt: the file is not text in UTF-8; save it as UTF-8, one phrase per line"),
            (None, "hacks.txt: the file of hacks cannot be read (No such file or directory); check the path"),
        ],
    )
    def test_a_file_that_cannot_be_used_is_one_line(self, tmp_path: Path, content: bytes | None, line: str) -> None:
        path = tmp_path / "hacks.txt"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(SourceError) as error:
            load_phrases(path)
        assert str(error.value) == f"{tmp_path}/{line}"
