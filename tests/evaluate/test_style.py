"""Arena-Hard with style control, against a published table."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from prorubric.errors import RubricError
from prorubric.evaluate.style import Battle, Style, control_style, count_style

PLAIN = Style(100, 0, 0, 0)


def make_battles(model: str, won: int, lost: int, own: Style = PLAIN) -> list[Battle]:
    return [Battle(model, ("B>A", "A>B"), own, PLAIN)] * won + [Battle(model, ("A>B", "B>A"), own, PLAIN)] * lost


def test_markup_is_counted_outside_of_code_blocks() -> None:
    text = "# One\n- a\n- **b**\n1. c\n```python\n# no header\n- no item\n```\n## Two\n* d __e__ 2 ** 3\n```\n# open"
    assert count_style(text, 40) == Style(40, 2, 4, 2)


def test_without_differences_in_style_a_score_is_the_share_of_wins() -> None:
    found = control_style([*make_battles("a", 30, 10), *make_battles("b", 5, 5)])
    assert found.scores == pytest.approx({"a": 75.0, "b": 50.0}, abs=0.02)
    assert found.coefficients == {"tokens": 0.0, "headers": 0.0, "lists": 0.0, "bold": 0.0}
    assert (found.n, found.unread) == (50, 0)


def test_a_model_that_wins_by_length_alone_loses_its_lead() -> None:
    long, short = Style(300, 0, 0, 0), Style(33, 0, 0, 0)
    same = [*make_battles("terse", 30, 10, long), *make_battles("terse", 10, 30, short)]
    battles = [*same, *make_battles("wordy", 60, 20, long)]
    found = control_style(battles)
    assert found.coefficients["tokens"] > 0.3
    assert found.scores["wordy"] - found.scores["terse"] == pytest.approx(0, abs=0.5)


def test_a_model_that_never_loses_has_a_score() -> None:
    found = control_style([*make_battles("a", 20, 0), *make_battles("b", 0, 20)])
    assert 99 < found.scores["a"] <= 100
    assert 0 <= found.scores["b"] < 1


def test_the_order_of_battles_changes_nothing() -> None:
    generator = np.random.default_rng(0)
    battles = [
        replace(battle, own=Style(*map(int, generator.integers(1, 200, 4))))
        for battle in [*make_battles("a", 9, 6), *make_battles("b", 4, 7)]
    ]
    forth, back = control_style(battles), control_style(battles[::-1])
    assert forth.scores == pytest.approx(back.scores, abs=1e-9)


def test_unread_games_are_counted_and_nothing_to_fit_is_refused() -> None:
    unread = Battle("a", ("A>B", None), PLAIN, PLAIN)
    assert control_style([*make_battles("a", 1, 1), unread]).unread == 1
    with pytest.raises(RubricError, match=r"no question has two games that were read \(1 unread\)"):
        control_style([unread])


def test_a_published_table_is_reproduced_as_closely_as_its_answers_allow(shared_data: Path) -> None:
    folder, baseline = shared_data / "ko_arena_hard", "claude-3.7-sonnet"
    counts = {
        model: {question: Style(*own) for question, own in styles.items()}
        for model, styles in json.loads((folder / "style_counts.json").read_text(encoding="utf-8")).items()
    }
    with (folder / "style_control.csv").open(encoding="utf-8") as file:
        published = {row["model"]: float(row["score"]) for row in csv.DictReader(file)}
    battles = []
    for path in sorted((folder / "ensemble").iterdir()):
        for line in path.read_text(encoding="utf-8").strip().split("\n"):
            row = json.loads(line)
            model, question = row["model"], row["question_id"]
            if model in counts and model != baseline:
                first, second = (game["score"] for game in row["games"])
                own, other = counts[model][question], counts[baseline][question]
                battles.append(Battle(model, (first, second), own, other))
    found = control_style(battles, per_token=False)
    apart = [abs(score - published[model]) for model, score in found.scores.items() if model in published]
    assert len(apart) == 49
    assert median(apart) < 0.2
    assert max(apart) < 1.2
    assert found.coefficients["tokens"] > 1
