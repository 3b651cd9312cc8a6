"""Stems meet where words are forms of one word, and lists are read as they are written."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from prorubric.text.words import are_english, find_content_words, is_unspaced, load_words, stem


@pytest.mark.parametrize(
    "family",
    [
        ["stop", "stops", "stopped", "stopping"],
        ["study", "studies", "studied"],
        ["breathe", "breathes", "breathing"],
        ["recommend", "recommendation", "recommendations"],
        ["class", "classes"],
        ["call", "calls", "calling"],
        ["bleed", "bleeds", "bleeding"],
        ["hypertension", "hypertensive"],
    ],
)
def test_the_usual_forms_of_a_word_meet(family: list[str]) -> None:
    assert len({stem(word) for word in family}) == 1


def test_short_words_and_what_is_too_long_for_a_word_stay() -> None:
    assert [stem("was"), stem("ing"), stem("s" * 31)] == ["was", "ing", "s" * 31]


def test_threads_get_the_stems_of_their_own_words() -> None:
    words = [f"{letter * 3}{ending}" for letter in "bcdfghjklm" for ending in ("ations", "ingly", "nesses")] * 20
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(stem.__wrapped__, words)) == [stem(word) for word in words]


def test_content_words_are_neither_stop_words_nor_words_of_rubrics() -> None:
    assert list(find_content_words("The response mentions that ibuprofen irritates the stomach.")) == [
        stem("ibuprofen"),
        stem("irritates"),
        stem("stomach"),
    ]


def test_a_word_list_is_read_without_its_comment() -> None:
    words = load_words("stop")
    assert "the" in words
    assert not any("#" in word or word != word.lower() for word in words)


@pytest.mark.parametrize("text", ["提到水", "水を飲む", "ให้ดื่มน้ำ", "ຢາ", "使用 Transformer 的 self-attention 机制"])
def test_a_script_without_spaces_between_words_is_known(text: str) -> None:
    assert is_unspaced(text)


@pytest.mark.parametrize(
    "text", ["", "Mentions rest", "Translates the greeting as 你好", "물을 마신다", "Пить воду", "→ 42"]
)
def test_other_texts_have_spaces_between_words(text: str) -> None:
    assert not is_unspaced(text)


@pytest.mark.parametrize(
    "texts",
    [
        ["Mentions ibuprofen", "Lists warning signs", "Explains dosing limits", "Names antibiotics"],
        ["Ranks surgery over medication for young patients", "Ranks medication over surgery for young patients"],
        ["→", "42"],
    ],
)
def test_a_terse_checklist_is_known_as_english(texts: list[str]) -> None:
    assert are_english(texts)


@pytest.mark.parametrize(
    "texts",
    [
        ["Nennt die Dosis", "Sagt, wie lange das Mittel hilft", "Rät zum Arzt"],
        ["Menciona la dosis del ibuprofeno", "Explica los riesgos para el estómago"],
        ["提到布洛芬的剂量", "说明用量"],
    ],
)
def test_a_checklist_in_another_language_is_known(texts: list[str]) -> None:
    assert not are_english(texts)
