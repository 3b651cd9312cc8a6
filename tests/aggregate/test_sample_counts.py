"""On how many of the 12 sample prompts the focused answer scores above the padded one, under each scheme."""

from collections.abc import Callable
from itertools import groupby

import pytest

from prorubric import load_samples, score
from prorubric.aggregate.choose import score_readings
from prorubric.aggregate.gates import find_heaviest
from prorubric.datasets.samples import SampleAnswer
from prorubric.rubric.records import Task
from tests.aggregate.test_schemes import label

PROMPTS = [{answer.kind: answer for answer in group} for _, group in groupby(load_samples(), lambda a: a.task.id)]


def count_focused_first(scheme: str, prepare: Callable[[Task], Task] = lambda task: task) -> int:
    def value(answer: SampleAnswer) -> float:
        return score_readings(answer.verdicts, prepare(answer.task), [scheme])[scheme].low

    return sum(value(prompt["focused"]) > value(prompt["padded"]) for prompt in PROMPTS)


def require_heaviest(task: Task) -> Task:
    heaviest = find_heaviest(task)
    assert heaviest is not None
    return label(task, required=[heaviest + 1])


@pytest.mark.parametrize(
    ("scheme", "first"),
    [
        ("additive", 6),
        ("conjunctive", 6),
        ("weighted", 11),
        ("prorubric", 12),
        ("licensed", 10),
        ("required-first", 12),
        ("veto", 12),
        ("gated", 12),
    ],
)
def test_a_scheme_puts_the_focused_answer_first_on_this_many_prompts(scheme: str, first: int) -> None:
    assert len(PROMPTS) == 12
    assert count_focused_first(scheme) == first


def test_focused_puts_the_focused_answer_first_on_nine_prompts_under_the_sum() -> None:
    first = 0
    for prompt in PROMPTS:
        mean = sum(len(answer.response.text) for answer in prompt.values()) / len(prompt)
        values = {
            kind: score(
                answer.verdicts["criteria"], answer.task, "focused(additive)", length=len(answer.response.text) / mean
            ).low
            for kind, answer in prompt.items()
        }
        first += values["focused"] > values["padded"]
    assert first == 9


@pytest.mark.parametrize("scheme", ["licensed", "required-first", "veto"])
def test_with_the_heaviest_criterion_required_it_is_first_on_all(scheme: str) -> None:
    assert count_focused_first(scheme, require_heaviest) == 12
