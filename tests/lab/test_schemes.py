import numpy as np
import pytest

from prorubric.aggregate.score import score
from prorubric.errors import ConfigError, SchemeError
from prorubric.lab.judges import judge_reading
from prorubric.lab.schemes import COMPARED, LabScheme, find_lab_scheme, make_scorer
from tests.lab.answering import answer, right_side

ROWS = list(range(60))


@pytest.fixture(scope="module")
def facts():
    said = [[("decide", row % 5), *((right_side(row, i), i) for i in range(row % 40))] for row in ROWS]
    return answer(*said, row=ROWS)


@pytest.mark.parametrize("name", [name for name in COMPARED if "-kl-" not in name and name != "length-matched"])
def test_a_scheme_scores_as_the_project_scores_one_answer_at_a_time(facts, name: str) -> None:
    values = make_scorer(find_lab_scheme(name), facts.lists)(facts, 0)
    from prorubric.aggregate.schemes import find_scheme

    readings = [judge_reading(facts, reading, 0) for reading in find_scheme(name).readings]
    for row in (0, 7, 31, 59):
        task = facts.lists.tasks[row]
        main = readings[0][row].tolist()
        width = {"criteria": len(task.rubric)}.get(find_scheme(name).readings[0], len(main))
        verdicts = [*main[:width], *(bool(reading[row, 0]) for reading in readings[1:])]
        assert values[row] == score(verdicts, task, name).value


def test_rows_of_a_comparison_are_read_from_their_names() -> None:
    assert find_lab_scheme("length-matched") == LabScheme("length-matched", "additive", halved=True)
    assert find_lab_scheme("additive-kl-0.005") == LabScheme("additive-kl-0.005", "additive", kl=0.005)
    assert find_lab_scheme("prorubric+appropriateness").base == "prorubric+appropriateness"
    assert len(COMPARED) == len(set(COMPARED)) == 21


def test_a_function_of_ones_own_gets_the_verdicts_and_the_task(facts) -> None:
    own = make_scorer(find_lab_scheme("tests.lab.own_scheme:share_of_weight"), facts.lists)(facts, 0)
    assert own == pytest.approx(make_scorer(find_lab_scheme("additive"), facts.lists)(facts, 0))
    dimensions = make_scorer(find_lab_scheme("tests.lab.own_scheme:by_dimension"), facts.lists)(facts, 0)
    assert set(np.unique(dimensions * 4)) <= {0.0, 1.0, 2.0, 3.0, 4.0}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("addditive", "the lab knows no scheme 'addditive'; known: additive, "),
        (
            "tests.lab.nowhere:f",
            "No module named 'tests.lab.nowhere'; give a scheme of your own as pkg.module:function",
        ),
        ("tests.lab.own_scheme:nobody", "has no attribute 'nobody'; give a scheme of your own as pkg.module:function"),
        ("tests.lab.own_scheme:NUMBER", "is no function; give one of verdicts and task that returns a number"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        find_lab_scheme(name)


def test_a_reward_that_is_no_number_stops_the_run(facts) -> None:
    scorer = make_scorer(find_lab_scheme("tests.lab.own_scheme:nothing"), facts.lists)
    with pytest.raises(SchemeError, match="nothing returned nan; return a finite number for every answer"):
        scorer(facts, 0)
