"""Two compilations of the same tasks: how far they agree, and what became of every row."""

import asyncio
import math
import tracemalloc
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prorubric import Criterion, Message, ProtocolRubric, Rubric, Task, load_samples, save_tasks
from prorubric.compile.compare import Mean, adjusted_rand, balance, compare_tasks, describe_protocol
from prorubric.compile.compiler import Compiler

PLAIN = "The reader knows what to do."
CLAUSE = "The reader knows what to do. Fails if it waits."


def make_task(
    name: str,
    groups: Sequence[Sequence[int]] | None,
    weights: Sequence[float] = (1, 2, 3, 4),
    text: str = CLAUSE,
    word: str = "criterion",
) -> Task:
    rubric = Rubric(criteria=tuple(Criterion(text=f"{word} {i}", weight=w) for i, w in enumerate(weights)))
    parts = [{"name": "part", "description": text, "indices": group} for group in groups or ()]
    return Task(
        id=name,
        messages=(Message(role="user", content="question"),),
        rubric=rubric,
        protocol=ProtocolRubric.of(rubric, parts) if parts else None,
    )


def save(path: Path, *tasks: Task) -> Path:
    save_tasks(path, tasks)
    return path


def count_pairs(first: Sequence[int], second: Sequence[int]) -> float:
    """The index by its definition: every pair of things looked at on its own."""
    both = one = other = pairs = 0
    for i, j in combinations(range(len(first)), 2):
        same_first, same_second = first[i] == first[j], second[i] == second[j]
        pairs += 1
        both += same_first and same_second
        one += same_first
        other += same_second
    expected = one * other / pairs if pairs else 0.0
    highest = (one + other) / 2
    return 1.0 if highest == expected else (both - expected) / (highest - expected)


partitions = st.integers(1, 14).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n) for _ in range(2)])
)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([0, 0, 1, 1], [1, 1, 0, 0], 1.0),
        # Of 6 pairs 2 are together in each and none in both: (0 - 4/6) / (2 - 4/6).
        ([0, 0, 1, 1], [0, 1, 0, 1], -0.5),
        # 2 pairs together in the first, 1 in the second, 1 in both: (1 - 2/6) / (3/2 - 2/6).
        ([0, 0, 1, 1], [0, 0, 1, 2], 4 / 7),
        # Of 15 pairs 6 together in the first, 3 in the second, 2 in both: (2 - 18/15) / (9/2 - 18/15).
        ([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2], (2 - 18 / 15) / (4.5 - 18 / 15)),
        # One group holds everything, so that the other side says nothing: as by chance.
        ([0, 0, 0, 0], [0, 0, 1, 1], 0.0),
        ([0, 0, 0], [7, 7, 7], 1.0),
        ([0, 1, 2], [2, 0, 1], 1.0),
        ([0], [0], 1.0),
        ([], [], 1.0),
    ],
)
def test_the_index_has_its_hand_computed_values(first: list[int], second: list[int], expected: float) -> None:
    assert adjusted_rand(first, second) == pytest.approx(expected, abs=1e-15)


@given(partitions)
def test_the_index_is_what_counting_every_pair_gives(pair: tuple[list[int], list[int]]) -> None:
    assert adjusted_rand(*pair) == pytest.approx(count_pairs(*pair), abs=1e-12)


@given(partitions, st.permutations(range(5)))
def test_the_index_is_symmetric_and_blind_to_names(pair: tuple[list[int], list[int]], names: list[int]) -> None:
    first, second = pair
    value = adjusted_rand(first, second)
    assert adjusted_rand(second, first) == value
    assert adjusted_rand([names[label] for label in first], second) == value
    assert adjusted_rand(first, [names[label] for label in first]) == 1.0
    assert -1.0 <= value <= 1.0


@given(partitions)
def test_only_the_same_partition_has_the_index_one(pair: tuple[list[int], list[int]]) -> None:
    first, second = pair
    same = all((first[i] == first[j]) == (second[i] == second[j]) for i, j in combinations(range(len(first)), 2))
    assert (adjusted_rand(first, second) == 1.0) == same


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([5], None),
        ([3, 3], 1.0),
        ([2, 2, 2, 2, 2], 1.0),
        ([3, 1], (0.75 * math.log2(4 / 3) + 0.25 * 2)),
        ([8, 4, 4], 1.5 / math.log2(3)),
    ],
)
def test_balance_is_the_entropy_over_its_largest_value(shares: list[float], expected: float | None) -> None:
    found = balance(shares)
    assert found is None if expected is None else found == pytest.approx(expected, abs=1e-15)


@given(st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=5))
def test_balance_lies_between_0_and_1(shares: list[float]) -> None:
    assert 0.0 <= (balance(shares) or 0.0) <= 1.0


def test_one_compilation_is_described() -> None:
    task = make_task("t", [[1, 2, 3], [4]], weights=(1, -1, 1, 3))
    assert task.protocol is not None
    found = describe_protocol(task.protocol)
    assert (found.dimensions, found.weight_balance, found.failure_clauses, found.words) == (2, 1.0, 1.0, 10.0)
    assert found.size_balance == pytest.approx(0.8112781244591328)


def test_two_files_are_compared_task_by_task_and_in_the_mean(tmp_path: Path) -> None:
    a = [make_task("same", [[1, 2], [3, 4]]), make_task("other", [[1, 2], [3, 4]])]
    b = [make_task("other", [[1, 3], [2], [4]], text=PLAIN), make_task("same", [[3, 4], [1, 2]])]
    result = compare_tasks(save(tmp_path / "a.jsonl", *a), save(tmp_path / "b.jsonl", *b))
    # The second: 2 pairs together in A, 1 in B, none in both: (0 - 2/6) / (3/2 - 2/6).
    assert (result.compared, result.same_partition) == (2, 1)
    assert result.agreement == Mean(mean=(1 - 2 / 7) / 2, lowest=-2 / 7, highest=1.0, tasks=2)
    assert (result.only_in_a, result.only_in_b, result.left_out, result.examples) == (0, 0, {}, ())
    assert result.a.dimensions == Mean(mean=2.0, lowest=2.0, highest=2.0, tasks=2)
    assert (result.a.dimension_counts, result.b.dimension_counts) == ({"2": 2}, {"2": 1, "3": 1})
    assert result.b.failure_clauses == Mean(mean=0.5, lowest=0.0, highest=1.0, tasks=2)
    assert result.b.words == Mean(mean=8.0, lowest=6.0, highest=10.0, tasks=2)
    assert result.a.size_balance == Mean(mean=1.0, lowest=1.0, highest=1.0, tasks=2)
    assert result.a.weight_balance is not None
    assert result.a.weight_balance.mean == pytest.approx(0.8812908992306927)


def test_what_cannot_be_compared_is_left_out_with_its_reason(tmp_path: Path) -> None:
    two = [[1, 2], [3, 4]]
    a = [
        make_task("fine", two),
        make_task("only a", two),
        make_task("excluded in b", two),
        make_task("excluded in a", None),
        make_task("excluded in both", None),
        make_task("other weights", two),
        make_task("other words", two),
        make_task("twice in a", two),
        make_task("twice in a", [[1, 3], [2, 4]]),
        make_task("only a", two),
    ]
    b = [
        make_task("twice in b", two),
        make_task("fine", two),
        make_task("excluded in b", None),
        make_task("excluded in a", two),
        make_task("excluded in both", None),
        make_task("other weights", two, weights=(1, 2, 3, 5)),
        make_task("other words", two, word="condition"),
        make_task("twice in a", two),
        make_task("twice in b", two),
        make_task("only b", None),
    ]
    result = compare_tasks(save(tmp_path / "a.jsonl", *a), save(tmp_path / "b.jsonl", *b))
    assert (result.compared, result.same_partition, result.only_in_a, result.only_in_b) == (2, 2, 1, 2)
    assert result.left_out == {
        "the rubrics differ": 2,
        "the id appears again in A; the first was used": 2,
        "not compiled in B": 1,
        "not compiled in A": 1,
        "not compiled in A and B": 1,
        "the id appears again in B; the first was used": 1,
    }
    assert result.examples[:2] == (
        "task 'twice in b': the id appears again in B; the first was used",
        "task 'excluded in b': not compiled in B",
    )
    assert len(result.examples) == 5
    joined = result.compared + 5
    assert result.a.tasks == joined + result.only_in_a + 2
    assert result.b.tasks == joined + result.only_in_b + 1


def test_rows_that_cannot_be_read_are_counted_for_their_side(tmp_path: Path) -> None:
    a, b = save(tmp_path / "a.jsonl", make_task("t", [[1], [2, 3, 4]])), tmp_path / "b.jsonl"
    b.write_bytes(a.read_bytes() + b'{"id": "u"}\nnot json\n')
    result = compare_tasks(a, b)
    assert (result.compared, result.a.rejected, sum(result.b.rejected.values())) == (1, {}, 2)


def test_files_without_a_common_task_have_no_agreement(tmp_path: Path) -> None:
    a, b = save(tmp_path / "a.jsonl", make_task("t", [[1, 2, 3, 4]])), save(tmp_path / "b.jsonl", make_task("u", None))
    result = compare_tasks(a, b)
    assert (result.compared, result.agreement, result.only_in_a, result.only_in_b) == (0, None, 1, 1)
    assert (result.a.dimensions, result.a.dimension_counts) == (None, {})


def test_a_single_dimension_has_no_balance(tmp_path: Path) -> None:
    one = save(tmp_path / "a.jsonl", make_task("t", [[1, 2, 3, 4]]))
    result = compare_tasks(one, one)
    assert (result.compared, result.a.size_balance, result.a.weight_balance) == (1, None, None)
    assert result.agreement == Mean(mean=1.0, lowest=1.0, highest=1.0, tasks=1)


def test_more_groups_than_a_byte_counts_are_compared(tmp_path: Path) -> None:
    groups = [[index] for index in range(1, 301)]
    task = make_task("t", groups, weights=[1.0] * 300)
    path = save(tmp_path / "a.jsonl", task)
    assert compare_tasks(path, path).same_partition == 1


def test_rules_agree_little_with_dimensions_made_by_hand(tmp_path: Path) -> None:
    by_hand = list({answer.task.id: answer.task for answer in load_samples()}.values())
    by_rules = [asyncio.run(Compiler(None).compile(task)).task for task in by_hand]
    a, b = save(tmp_path / "a.jsonl", *by_rules), save(tmp_path / "b.jsonl", *by_hand)
    result = compare_tasks(a, b)
    assert result.agreement is not None
    assert (result.compared, result.a.failure_clauses) == (12, Mean(mean=1.0, lowest=1.0, highest=1.0, tasks=12))
    assert 0.0 < result.agreement.mean < 0.3


def test_memory_does_not_grow_with_the_texts_of_b(tmp_path: Path) -> None:
    long = Message(role="user", content="x" * 200_000)
    tasks = (make_task(f"t{i}", [[1, 2], [3, 4]]).model_copy(update={"messages": (long,)}) for i in range(100))
    path = save(tmp_path / "b.jsonl", *tasks)
    assert path.stat().st_size > 20_000_000
    tracemalloc.start()
    try:
        assert compare_tasks(path, path).compared == 100
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
