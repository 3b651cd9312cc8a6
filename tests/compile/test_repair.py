"""The structural repair: what is dropped, where an omitted item goes, and what is left alone."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from prorubric.compile.check import find_faults
from prorubric.compile.draft import Draft, DraftDimension
from prorubric.compile.repair import counts_from_zero, is_whole_from_zero, repair_draft


def make_draft(*groups: Sequence[int]) -> Draft:
    return Draft(
        tuple(DraftDimension(f"Part {k}", f"Text {k}.", tuple(group), weight=k) for k, group in enumerate(groups, 1)),
        notes=("a note",),
    )


def repair(*groups: Sequence[int], n: int) -> tuple[list[tuple[int, ...]], tuple[str, ...]]:
    """The groups after the repair, and what was done."""
    repaired, repairs = repair_draft(make_draft(*groups), n)
    return [dimension.indices for dimension in repaired.dimensions], repairs


class TestDrop:
    def test_an_index_that_does_not_exist_is_dropped(self) -> None:
        assert repair([1, 9], [2, -3, 3], n=3) == (
            [(1,), (2, 3)],
            (
                "criterion 1: dropped index 9, which does not exist",
                "criterion 2: dropped index -3, which does not exist",
            ),
        )

    def test_of_a_doubled_index_the_first_place_counts(self) -> None:
        assert repair([3, 1], [2, 3], [1, 4], n=4) == (
            [(1, 3), (2,), (4,)],
            (
                "criterion 2: dropped index 3, which was assigned before",
                "criterion 3: dropped index 1, which was assigned before",
            ),
        )
        assert repair([1, 1], [2], n=2) == (
            [(1,), (2,)],
            ("criterion 1: dropped index 1, which was assigned before",),
        )

    def test_what_is_not_an_index_is_dropped(self) -> None:
        draft = make_draft([1], [2])
        draft = replace(draft, dimensions=(replace(draft.dimensions[0], unreadable=("'all'",)), draft.dimensions[1]))
        assert repair_draft(draft, 2) == (make_draft([1], [2]), ("criterion 1: dropped 'all', which is not an index",))

    def test_a_group_that_loses_everything_stays_empty(self) -> None:
        assert repair([1, 2], [1, 2], n=2)[0] == [(1, 2), ()]

    def test_a_stray_0_next_to_the_last_index_is_one_that_does_not_exist(self) -> None:
        assert repair([0, 1], [2, 3], n=3) == (
            [(1,), (2, 3)],
            ("criterion 1: dropped index 0, which does not exist",),
        )


class TestPlace:
    @pytest.mark.parametrize(
        ("groups", "n", "placed"),
        [
            (([1, 2], [4]), 4, [(1, 2, 3), (4,)]),  # as near to 2 as to 4: the lower one
            (([4], [1, 2]), 4, [(4,), (1, 2, 3)]),  # whatever the order of the groups
            (([1], [5]), 5, [(1, 2, 3), (4, 5)]),  # 3 is as near to 1 as to 5
            (([2], [4]), 4, [(1, 2, 3), (4,)]),
            (([2], [3]), 6, [(1, 2), (3, 4, 5, 6)]),
            (([3, 6], [5]), 7, [(1, 2, 3, 4, 6, 7), (5,)]),
            (([1], [10]), 10, [(1, 2, 3, 4, 5), (6, 7, 8, 9, 10)]),
        ],
    )
    def test_an_omitted_item_goes_to_the_group_with_the_nearest_index_that_was_assigned(
        self, groups: tuple[list[int], ...], n: int, placed: list[tuple[int, ...]]
    ) -> None:
        assert repair(*groups, n=n)[0] == placed

    def test_nearness_is_not_to_what_was_placed_a_moment_ago(self) -> None:
        # After 2, 3 and 4 had gone to the first group, 5 would be next to it; 9 is as near to 5 as 1 is.
        assert repair([1], [9], n=9)[0] == [(1, 2, 3, 4, 5), (6, 7, 8, 9)]
        assert repair([1], [8], n=8)[0] == [(1, 2, 3, 4), (5, 6, 7, 8)]

    def test_each_placement_is_told(self) -> None:
        assert repair([1], [4], n=5)[1] == (
            "criterion 1: given index 2, which was left out",
            "criterion 2: given index 3, which was left out",
            "criterion 2: given index 5, which was left out",
        )

    def test_nothing_is_placed_where_nothing_valid_was_assigned(self) -> None:
        assert repair([7], [8, 9], n=3) == (
            [(), ()],
            (
                "criterion 1: dropped index 7, which does not exist",
                "criterion 2: dropped index 8, which does not exist",
                "criterion 2: dropped index 9, which does not exist",
            ),
        )


class TestFromZero:
    @pytest.mark.parametrize(
        ("groups", "n", "counts", "whole"),
        [
            (([0, 1], [2]), 3, True, True),
            (([2, 0], [1]), 3, True, True),
            (([0], [2]), 3, True, False),
            (([0, 1, 1], [2]), 3, True, False),
            (([0], [9]), 3, True, False),
            (([0, 1], [2, 3]), 3, False, False),
            (([1, 2], [3]), 3, False, False),
            (([1], [2]), 3, False, False),
        ],
    )
    def test_which_drafts_count_from_0(self, groups: tuple[list[int], ...], n: int, counts: bool, whole: bool) -> None:
        draft = make_draft(*groups)
        assert (counts_from_zero(draft, n), is_whole_from_zero(draft, n)) == (counts, whole)

    def test_a_whole_one_is_read_one_higher(self) -> None:
        assert repair([3, 0], [2, 1], n=4) == (
            [(1, 4), (2, 3)],
            ("indices counted from 0 were read as counted from 1",),
        )

    def test_what_is_not_an_index_is_told_next_to_it(self) -> None:
        draft = make_draft([0], [1])
        draft = replace(draft, dimensions=(draft.dimensions[0], replace(draft.dimensions[1], unreadable=("None",))))
        assert repair_draft(draft, 2) == (
            make_draft([1], [2]),
            ("indices counted from 0 were read as counted from 1", "criterion 2: dropped None, which is not an index"),
        )


@st.composite
def valid_drafts(draw: st.DrawFn) -> tuple[Draft, int]:
    n = draw(st.integers(2, 20))
    order = draw(st.permutations(range(1, n + 1)))
    cuts = draw(st.lists(st.integers(1, n - 1), min_size=1, max_size=min(4, n - 1), unique=True).map(sorted))
    groups = [order[start:end] for start, end in zip([0, *cuts], [*cuts, n], strict=True)]
    return make_draft(*groups), n


@st.composite
def broken_drafts(draw: st.DrawFn) -> tuple[Draft, int]:
    n = draw(st.integers(2, 20))
    groups = draw(st.lists(st.lists(st.integers(-2, n + 3), max_size=8), min_size=1, max_size=6))
    draft = make_draft(*groups)
    unreadable = draw(st.lists(st.sampled_from(["'x'", "None"]), max_size=2).map(tuple))
    first, *others = draft.dimensions
    return replace(draft, dimensions=(replace(first, unreadable=unreadable), *others)), n


@given(case=valid_drafts())
def test_a_valid_draft_is_returned_unchanged(case: tuple[Draft, int]) -> None:
    draft, n = case
    assert find_faults(draft, n) == []
    assert repair_draft(draft, n) == (draft, ())


@given(case=broken_drafts())
def test_afterwards_every_item_is_there_once_if_any_assignment_was_valid(case: tuple[Draft, int]) -> None:
    draft, n = case
    mended = repair_draft(draft, n)[0]
    valid = is_whole_from_zero(draft, n) or any(1 <= i <= n for d in draft.dimensions for i in d.indices)
    placed = sorted(index for dimension in mended.dimensions for index in dimension.indices)
    assert placed == (list(range(1, n + 1)) if valid else [])
    assert all(dimension.unreadable == () for dimension in mended.dimensions) or mended == draft


@given(case=broken_drafts())
def test_the_texts_the_weights_and_the_notes_stay(case: tuple[Draft, int]) -> None:
    draft, n = case
    mended = repair_draft(draft, n)[0]
    assert mended.notes == draft.notes
    assert [(d.name, d.description, d.weight) for d in mended.dimensions] == [
        (d.name, d.description, d.weight) for d in draft.dimensions
    ]


@given(case=broken_drafts())
def test_what_was_validly_assigned_first_stays_where_it_was(case: tuple[Draft, int]) -> None:
    draft, n = case
    assume(not is_whole_from_zero(draft, n))
    mended = repair_draft(draft, n)[0]
    seen: set[int] = set()
    for before, after in zip(draft.dimensions, mended.dimensions, strict=True):
        first = {index for index in before.indices if 1 <= index <= n} - seen
        seen |= first
        assert first <= set(after.indices)


@given(case=broken_drafts())
def test_a_repair_is_told_exactly_where_something_changed_and_repairing_again_changes_nothing(
    case: tuple[Draft, int],
) -> None:
    draft, n = case
    repaired, repairs = repair_draft(draft, n)
    assert bool(repairs) == (repaired != draft)
    assert repair_draft(repaired, n) == (repaired, ())
