import re
from pathlib import Path

import numpy as np
import pytest

from prorubric.aggregate.score import score
from prorubric.errors import ConfigError, SchemeError
from prorubric.lab.judges import judge_reading
from prorubric.lab.schemes import COMPARED, LabScheme, check_lab_scheme, find_lab_scheme, hash_own, make_scorer
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

    readings = [judge_reading(facts, reading.name, 0) for reading in find_scheme(name).readings]
    for row in (0, 7, 31, 59):
        task = facts.lists.tasks[row]
        main = readings[0][row].tolist()
        width = {"criteria": len(task.rubric)}.get(find_scheme(name).readings[0].name, len(main))
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
        ("addditive", "the lab has no scheme 'addditive'; known: additive, "),
        (
            "tests.lab.nowhere:f",
            "tests.lab.nowhere:f cannot be imported: ModuleNotFoundError: No module named 'tests.lab.nowhere'; give",
        ),
        ("tests.lab.own_scheme:nobody", "has no attribute 'nobody'; give your own scheme as pkg.module:function"),
        (
            "tests.lab.own_scheme:NUMBER",
            "is not a function; give one that takes verdicts and a task and returns a number",
        ),
        (".x:f", ".x:f cannot be imported: TypeError: "),
        (":f", ":f cannot be imported: ValueError: "),
        ("tests.lab.own_scheme:read_stars", "read_stars: its attribute reads is 'stars'; known readings: criteria, "),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        check_lab_scheme(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:\n", "broken:f cannot be imported: SyntaxError: invalid syntax (broken.py, line 1); give your own"),
        ("raise KeyError('HOME')\n", "broken:f cannot be imported: KeyError: 'HOME'; give your own scheme as"),
        (
            "raise SystemExit('no\\ngpu')\n",
            "broken:f cannot be imported: SystemExit: no gpu; give your own scheme",
        ),
    ],
)
def test_a_module_that_fails_while_it_is_imported_is_refused_in_one_line(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError) as raised:
        check_lab_scheme("broken:f")
    assert str(raised.value).startswith(message)
    assert "\n" not in str(raised.value)


def test_the_row_of_a_function_that_is_gone_can_still_be_read() -> None:
    assert find_lab_scheme("tests.lab.nowhere:f-kl-0.1") == LabScheme(
        "tests.lab.nowhere:f-kl-0.1", "tests.lab.nowhere:f", kl=0.1
    )


@pytest.mark.parametrize("name", ["nothing", "nothing_more"])
def test_a_reward_that_is_not_a_number_stops_the_run(facts, name: str) -> None:
    scorer = make_scorer(find_lab_scheme(f"tests.lab.own_scheme:{name}"), facts.lists)
    with pytest.raises(SchemeError) as raised:
        scorer(facts, 0)
    found = f"tests.lab.own_scheme:{name} returned nan for task 'triage-v1-0'; return a finite number for every answer"
    assert str(raised.value) == found


def test_a_function_that_raises_is_named_with_the_task_and_the_error(facts) -> None:
    scorer = make_scorer(find_lab_scheme("tests.lab.own_scheme:divide"), facts.lists)
    with pytest.raises(SchemeError) as raised:
        scorer(facts, 0)
    assert str(raised.value) == (
        "tests.lab.own_scheme:divide raised ZeroDivisionError: division by zero for task 'triage-v1-0'; "
        "fix the function"
    )


def test_a_partial_function_is_a_scheme(facts) -> None:
    check_lab_scheme("tests.lab.own_scheme:three_more")
    scored = make_scorer(find_lab_scheme("tests.lab.own_scheme:three_more"), facts.lists)(facts, 0)
    met = judge_reading(facts, "criteria", 0)
    assert scored.tolist() == [sum(met[row, : len(facts.lists.tasks[row].rubric)]) + 3.0 for row in ROWS]


def test_a_function_of_ones_own_is_known_by_the_files_it_is_written_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "written.py").write_text("PRICE = 1\n\ndef f(verdicts, task):\n    return PRICE\n")
    (tmp_path / "shown.py").write_text("from functools import partial\nfrom written import f\ng = partial(f)\n")
    first = [hash_own(name) for name in ("written:f", "written:f-kl-0.1", "shown:f", "shown:g")]
    assert first[0] == first[1]
    assert first[2] == first[3] != first[0]
    (tmp_path / "written.py").write_text("PRICE = 2\n\ndef f(verdicts, task):\n    return PRICE\n")
    assert all(
        hash_own(name) != before
        for name, before in zip(("written:f", "shown:f", "shown:g"), [first[0], *first[2:]], strict=True)
    )
    assert hash_own("additive") is None
    assert hash_own("builtins:max") is not None


def test_a_reading_that_the_labs_judge_does_not_know_is_refused(facts) -> None:
    with pytest.raises(SchemeError, match="the lab's judge does not know the reading 'redundancy'"):
        judge_reading(facts, "redundancy", 0)


def test_length_relative_to_the_group_and_dropout_work_as_in_the_reward(facts) -> None:
    own = "tests.aggregate.own_schemes:declared"
    group = answer([("decide", 1)], [("decide", 1), *((right_side(0, i), i) for i in range(30))], row=[0, 0])
    mean = group.tokens.mean()
    for name in ("focused(additive)", "dropout(prorubric)", "focused(dropout(additive))", f"focused({own})"):
        check_lab_scheme(name)
        scorer = make_scorer(find_lab_scheme(f"{name}-kl-0.01"), group.lists)
        reading = "dimensions" if "prorubric" in name else "criteria"
        task = group.lists.tasks[0]
        count = len(task.protocol) if reading == "dimensions" else len(task.rubric)
        verdicts = judge_reading(group, reading, 0)[:, :count].tolist()
        for step in (None, 4):
            expected = [
                score(row, task, name, length=tokens / mean, step=step).value
                for row, tokens in zip(verdicts, group.tokens.tolist(), strict=True)
            ]
            assert scorer(group, 0, step).tolist() == expected
    assert hash_own(f"dropout({own})") == hash_own(own)
    with pytest.raises(ConfigError, match=r"the lab has no scheme 'focused\(sum\)'"):
        find_lab_scheme("focused(sum)")


def test_an_edited_answer_is_compared_with_the_usual_length(facts) -> None:
    scorer = make_scorer(find_lab_scheme("focused(additive)"), facts.lists)
    plain = make_scorer(find_lab_scheme("additive"), facts.lists)(facts, 0)
    usual = np.full(len(ROWS), 50.0)
    assert scorer(facts, 0, usual_R=usual).tolist() == pytest.approx((plain / (1 + facts.tokens / 50 / 3)).tolist())
