"""`rar`: Rubrics as Rewards, whose pitfalls carry a minus in two senses."""

import json
from pathlib import Path
from typing import Any

import pytest

from prorubric import Criterion, load_tasks
from prorubric.errors import ConfigError, RowError
from prorubric.rubric.lint import lint_task
from prorubric.text.pitfalls import UNDECIDED_TAG
from tests.datasets.rows import HEALTHBENCH, RAR, read_one, reject_one, write_jsonl


def weigh(folder: Path, description: str, weight: object = None) -> Criterion:
    """The criterion that one description becomes."""
    entry = {"title": "Title", "description": description, "weight": weight}
    return read_one(folder, {**RAR, "rubric": [entry]}).rubric.criteria[0]


def test_a_row_is_read_with_all_it_says(tmp_path: Path) -> None:
    task = read_one(tmp_path, {**RAR, "id": 12, "domain": "medicine"})
    assert (task.id, task.domain, task.source, task.reference) == ("12", "medicine", "rar", "Gout.")
    assert task.meta == {"question_source": "an exam"}


def test_a_row_without_an_id_is_named_by_its_content(tmp_path: Path) -> None:
    assert read_one(tmp_path, RAR).id == read_one(tmp_path, {**RAR, "reference_answer": None}).id


@pytest.mark.parametrize(
    ("prefix", "weight"),
    [
        ("Essential Criteria: ", 1.0),
        ("Important Criteria: ", 0.7),
        ("Optional Criteria: ", 0.3),
        ("Pitfall Criteria: ", -0.9),
        ("Essential: ", 1.0),
        ("important criterion: ", 0.7),
        ("[Optional] ", 0.3),
    ],
)
def test_the_tier_before_the_text_gives_the_weight_and_leaves_the_text(
    tmp_path: Path, prefix: str, weight: float
) -> None:
    criterion = weigh(tmp_path, f"{prefix}Recommends surgery at once")
    assert (criterion.text, criterion.weight) == ("Recommends surgery at once", weight)


def test_tier_and_title_are_kept_as_tags(tmp_path: Path) -> None:
    assert weigh(tmp_path, "Important Criteria: Names the joint").tags == ("title:Title", "tier:important")


@pytest.mark.parametrize(("number", "weight"), [(5, 5.0), (2.5, 2.5), ("4", 4.0)])
def test_a_number_wins_over_the_tier(tmp_path: Path, number: object, weight: float) -> None:
    assert weigh(tmp_path, "Optional Criteria: Names the joint", number).weight == weight


@pytest.mark.parametrize(
    "text",
    [
        "Recommends surgery at once",
        "Fails to ask for the other knee",
        "Does not mention the other knee",
        "Incorrectly names the joint",
    ],
)
@pytest.mark.parametrize("number", [-1, 1, None])
def test_a_pitfall_that_describes_the_mistake_weighs_negative(tmp_path: Path, text: str, number: int | None) -> None:
    assert weigh(tmp_path, f"Pitfall Criteria: {text}", number).weight == (-0.9 if number is None else -1.0)


@pytest.mark.parametrize(
    "text",
    [
        "The response should not imply that surgery is needed",
        "Must not recommend surgery",
        "Avoids recommending surgery",
        "Refrains from naming a dose",
    ],
)
@pytest.mark.parametrize("number", [-2, 2, None])
def test_a_pitfall_that_states_a_duty_weighs_positive(tmp_path: Path, text: str, number: int | None) -> None:
    assert weigh(tmp_path, f"Pitfall Criteria: {text}", number).weight == (0.9 if number is None else 2.0)


def test_a_negative_weight_without_a_tier_is_read_as_a_pitfall(tmp_path: Path) -> None:
    assert weigh(tmp_path, "The response should not imply surgery", -3).weight == 3.0
    assert weigh(tmp_path, "Recommends surgery", -3).weight == -3.0


def test_a_duty_that_is_not_a_pitfall_keeps_its_weight(tmp_path: Path) -> None:
    assert weigh(tmp_path, "Essential Criteria: The response should name the joint", 5).weight == 5.0


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_the_rubric_may_be_json_text(tmp_path: Path, layers: int) -> None:
    rubric: Any = RAR["rubric"]
    for _ in range(layers):
        rubric = json.dumps(rubric)
    assert read_one(tmp_path, {**RAR, "rubric": rubric}).rubric.weights == (5.0,)


def test_the_question_may_be_called_prompt(tmp_path: Path) -> None:
    row = {"prompt": "What is wrong?", "rubric": RAR["rubric"]}
    task = read_one(tmp_path, row)
    assert (task.source, task.messages[0].content, task.reference) == ("rar", "What is wrong?", None)


def test_a_criterion_without_weight_or_tier_is_a_reject(tmp_path: Path) -> None:
    row = {**RAR, "rubric": [*RAR["rubric"], {"title": "Joint", "description": "Names the joint"}]}
    assert "criterion 2: the weight is missing ('Names the joint')" in reject_one(tmp_path, row)


@pytest.mark.parametrize("number", [0, "0", "nan", float("inf")])
def test_a_pitfall_of_no_size_is_a_reject(tmp_path: Path, number: object) -> None:
    row = {**RAR, "rubric": [{"description": "Pitfall Criteria: Recommends surgery", "weight": number}]}
    assert "weight must be finite and not 0" in reject_one(tmp_path, row)


class TestUndecided:
    def test_a_pitfall_that_may_mean_either_stays_negative_and_is_marked(self, tmp_path: Path) -> None:
        entry = {"title": "Title", "description": "Pitfall Criteria: Does not recommend surgery", "weight": -1}
        [task] = load_tasks(write_jsonl(tmp_path / "t.jsonl", {**RAR, "rubric": [entry]}))
        [criterion] = task.rubric.criteria
        assert (criterion.weight, criterion.tags) == (-1.0, ("title:Title", "tier:pitfall", UNDECIDED_TAG))

    def test_lint_shows_it(self, tmp_path: Path) -> None:
        entry = {"title": "T", "description": "Pitfall Criteria: Does not recommend surgery", "weight": -1}
        [task] = load_tasks(write_jsonl(tmp_path / "t.jsonl", {**RAR, "rubric": [*RAR["rubric"], entry]}))
        assert [(found.check, found.criteria, found.message) for found in lint_task(task).findings] == [
            (
                "polarity",
                (2,),
                "criterion 2 (-1, 'Does not recommend surgery') may describe a mistake or ask to avoid one, "
                "so its sign is a guess; reword it",
            )
        ]

    def test_strict_refuses_it(self, tmp_path: Path) -> None:
        entry = {"title": "T", "description": "Pitfall Criteria: Does not recommend surgery", "weight": -1}
        path = write_jsonl(tmp_path / "t.jsonl", {**RAR, "rubric": [entry]})
        with pytest.raises(
            RowError, match="criterion 1: the wording does not say whether the behaviour is good or bad"
        ):
            list(load_tasks(path, strict=True))


class TestTiers:
    def test_the_paper_gives_each_tier_its_weight_whatever_the_file_says(self, tmp_path: Path) -> None:
        texts = ["Essential Criteria: a b", "Important: c d", "Optional: e f", "Pitfall: Omits g", "Pitfall: Avoids h"]
        rubric = [{"title": "T", "description": text, "weight": 5 - i} for i, text in enumerate(texts)]
        path = write_jsonl(tmp_path / "t.jsonl", {**RAR, "rubric": rubric})
        [task] = load_tasks(path, tiers=True, strict=True)
        assert task.rubric.weights == (1.0, 0.7, 0.3, -0.9, 0.9)

    def test_a_criterion_without_a_tier_is_a_reject(self, tmp_path: Path) -> None:
        rubric = [{"title": "T", "description": "Names the joint", "weight": 5}]
        path = write_jsonl(tmp_path / "t.jsonl", {**RAR, "rubric": rubric})
        with pytest.raises(RowError, match=r"criterion 1: no tier .'Names the joint'.; begin it with Essential"):
            list(load_tasks(path, tiers=True, strict=True))

    def test_other_formats_have_no_tiers(self, tmp_path: Path) -> None:
        path = write_jsonl(tmp_path / "t.jsonl", HEALTHBENCH)
        with pytest.raises(
            ConfigError, match=r"^--tiers is for the format rar, and this is healthbench; leave it out$"
        ):
            load_tasks(path, tiers=True)
