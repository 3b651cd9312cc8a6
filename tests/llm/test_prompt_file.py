"""Prompt files: sections and placeholders, and one line about each thing that is wrong with them."""

from pathlib import Path

import pytest

from prorubric.errors import ConfigError
from prorubric.llm.prompt_file import check_placeholders, check_sections, fill_section, read_prompt, split_sections

TEXT = "[instructions]\nBe strict.\n\nVery.\n[items]\nThe items:\n{{items}}\n\n[closing]  \nReply.\n"


def refuse(text: str, place: Path = Path("mine.txt")) -> str:
    """What a broken prompt is refused with."""
    with pytest.raises(ConfigError) as caught:
        check_all(text, place)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{place}: ")
    return message.removeprefix(f"{place}: ")


def check_all(text: str, place: Path) -> None:
    sections = split_sections(text, place)
    check_sections(place, "binary", sections, ("instructions", "items", "closing"))
    check_placeholders(place, sections, ("items",))


def test_a_byte_order_mark_is_not_part_of_a_prompt(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    assert read_prompt(tmp_path / "mine.txt") == TEXT


def test_sections_are_found_by_their_names_without_the_space_around_them() -> None:
    assert split_sections(TEXT) == {
        "instructions": "Be strict.\n\nVery.",
        "items": "The items:\n{{items}}",
        "closing": "Reply.",
    }
    check_all(TEXT, Path("mine.txt"))


def test_a_name_in_brackets_within_a_line_is_text() -> None:
    assert split_sections("[closing]\nsee [items] there\n - [1]") == {"closing": "see [items] there\n - [1]"}


def test_lines_may_end_as_on_windows(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_bytes(TEXT.replace("\n", "\r\n").encode())
    assert split_sections(read_prompt(path)) == split_sections(TEXT)


@pytest.mark.parametrize("section", ["instructions", "items", "closing"])
def test_a_missing_or_empty_section_is_refused(section: str) -> None:
    reason = f"the section [{section}] is missing; a binary prompt has instructions, items, closing"
    assert refuse(TEXT.replace(f"[{section}]", "[other]")) == reason
    body = split_sections(TEXT)[section]
    assert refuse(TEXT.replace(body, "")) == reason


def test_a_section_that_comes_twice_is_refused() -> None:
    assert refuse(f"{TEXT}\n[items]\n{{{{items}}}}") == "the section [items] appears twice; join the two"


def test_text_in_front_of_the_first_section_is_refused() -> None:
    long = "You are a grader who\nreads with care and never guesses."
    assert refuse(f"{long}\n{TEXT}") == (
        "'You are a grader who reads with care an…' is before the first section; move it into [instructions]"
    )


@pytest.mark.parametrize("wrong", ["", "{{items}} and {{items}}", "{{item}}", "{{items}} {{response}}", "{items}"])
def test_a_section_without_its_placeholder_or_with_another_is_refused(wrong: str) -> None:
    assert refuse(TEXT.replace("{{items}}", wrong)) == (
        "the section [items] must contain {{items}} once and no other placeholder"
    )


@pytest.mark.parametrize("section", ["instructions", "closing"])
def test_a_placeholder_that_nothing_fills_is_refused(section: str) -> None:
    assert refuse(TEXT.replace(f"[{section}]", f"[{section}]\nGiven {{{{response}}}}")) == (
        f"the section [{section}] contains {{{{response}}}}, which nothing fills; remove it"
    )


def test_a_file_that_cannot_be_read_is_refused_in_one_line(tmp_path: Path) -> None:
    binary = tmp_path / "binary.txt"
    binary.write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "none.txt", tmp_path, binary):
        with pytest.raises(ConfigError) as caught:
            read_prompt(path)
        assert str(caught.value).startswith(f"{path}: the prompt file cannot be read (")
        assert "\n" not in str(caught.value)


def test_a_placeholder_is_filled_with_text_that_may_look_like_one() -> None:
    sections = split_sections(TEXT)
    assert fill_section(sections, "items", "{{items}} \\1 {{response}}") == ("The items:\n{{items}} \\1 {{response}}")
