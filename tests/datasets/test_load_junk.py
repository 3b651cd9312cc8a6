"""Rows of every shape thrown at every source: a row becomes a task or a reject, and nothing else ever happens."""

import copy
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from prorubric import load_tasks
from prorubric.datasets.sources import FORMATS
from prorubric.errors import SourceError
from prorubric.files.json import parse_json, render_json
from prorubric.rubric.forms import parse_task, render_task
from tests.datasets.rows import ROWS, RUBRICHUB_SFT, read
from tests.thorough import few_or

# Keys that some source looks for, so that junk stands where a value is read.
KEYS = st.sampled_from(
    """
    id messages rubric protocol domain source reference meta prompt prompt_id rubrics Rubrics reward_model extra_info
    ideal_completions_data ideal_completion example_tags healthbench_prompt_id query question title description weight
    points score tags criterion criteria items rubric_item type text name dimension indices role content tier category
    importance verifier function parameters metric_config config other_properties initial_prompt case_id annotator
    ability data_source ground_truth task_id reference_answer checklist wieght protocoll difficulty
    """.split()
)
TEXTS = st.sampled_from(
    [
        "",
        " ",
        "\u200b",
        "\ud800",
        "Says no",
        "[]",
        "{}",
        "[1]",
        '"x"',
        '"[]"',
        "nan",
        "-inf",
        "1e999",
        "3",
        "[Hard Rule]",
        "Essential Criteria: ",
        "Points: -9, Item: ",
        "Points: 3, Item: Says no [Principle]",
        '[{"criterion": "Says no", "weight": 2}]',
        '{"verifier": "rule", "parameters": "{}"}',
        '[{"role": "user", "content": "Is it?"}]',
    ]
) | st.text(max_size=6)
SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([17, 10**20, -(10**20)]) | st.floats() | TEXTS
)
NESTED = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.lists(inner, max_size=2).map(json.dumps)
    ),
    max_leaves=8,
)
# Half of the time a bare value: where an object is expected, nothing breaks more than a number.
JUNK = st.booleans().flatmap(lambda bare: SCALARS if bare else NESTED)


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place inside a row."""
    if place:
        yield place
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*place, key))


@st.composite
def spoilt(draw: st.DrawFn, row: dict[str, Any]) -> dict[str, Any]:
    """A good row with junk in one to three places, or with places missing."""
    row = copy.deepcopy(row)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(sorted(places(row), key=str)))
        holder: Any = row
        for step in place[:-1]:
            holder = holder[step]
        if isinstance(holder, dict) and draw(st.integers(0, 4)) == 0:
            del holder[place[-1]]
        else:
            holder[place[-1]] = draw(JUNK)
        if not row:
            break
    return row


def junk_rows(name: str) -> st.SearchStrategy[dict[str, Any]]:
    good = [ROWS[name], RUBRICHUB_SFT] if name == "rubrichub" else [ROWS[name]]
    from_good = st.sampled_from(good).flatmap(spoilt)
    return st.integers(0, 3).flatmap(lambda die: from_good if die else st.dictionaries(KEYS, JUNK, max_size=5))


def write(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "junk.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FORMATS[1:])
@settings(max_examples=few_or(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_row_of_junk_is_a_reject_or_a_task_that_survives_a_file(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    rows = data.draw(st.lists(junk_rows(name), min_size=1, max_size=6))
    tasks, rejects = read(write(tmp_path_factory.getbasetemp(), rows), name)
    assert len(tasks) + len(rejects) == len(rows)
    assert all(math.isfinite(weight) and weight != 0 for task in tasks for weight in task.rubric.weights)
    assert [parse_task(parse_json(render_json(render_task(task)))) for task in tasks] == tasks


@settings(max_examples=few_or(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(rows=st.lists(st.sampled_from(FORMATS[1:]).flatmap(junk_rows), min_size=1, max_size=6))
def test_a_file_of_junk_is_recognised_or_refused(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    path = write(tmp_path_factory.getbasetemp(), rows)
    try:
        tasks, rejects = read(path)
    except SourceError:
        with pytest.raises(SourceError, match=r"(found no|null in every row).* a row that works: "):
            load_tasks(path)
    else:
        assert len(tasks) + len(rejects) == len(rows)


def looks_like_utf_16(content: bytes) -> bool:
    """Such a file is read by its byte order mark or refused as a whole."""
    return content[:2] in (b"\xff\xfe", b"\xfe\xff") or content[:4].count(0) >= 2


@settings(max_examples=few_or(200), deadline=None)
@given(lines=st.lists(st.binary(max_size=30).filter(lambda line: b"\n" not in line), max_size=6))
def test_any_bytes_in_a_line_are_a_reject_or_blank(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    assume(not lines or not looks_like_utf_16(b"\n".join(lines)))
    path = tmp_path_factory.getbasetemp() / "bytes.jsonl"
    path.write_bytes(b"\n".join(lines))
    tasks, rejects = read(path, "tasks")
    assert tasks == []
    assert {reject.line for reject in rejects} <= set(range(1, len(lines) + 1))
