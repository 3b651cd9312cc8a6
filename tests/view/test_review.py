"""Operations of a review: what each makes of the dimensions, what is refused, and that all can be taken back."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prorubric.compile.check import find_faults
from prorubric.compile.draft import Draft, DraftDimension
from prorubric.errors import RubricError
from prorubric.rubric.records import Task
from prorubric.view.review import (
    History,
    Operation,
    Reviewed,
    Step,
    apply_operation,
    fold,
    invert,
    list_faults,
    parse_operation,
    render_operation,
    try_operation,
)
from tests.strategies import tasks, texts
from tests.thorough import few_or

from .reviewing import CRITERIA, PARTS, make_task


def do(state: Reviewed, **operation: Any) -> Reviewed:
    return try_operation(state, parse_operation(operation))


def groups(state: Reviewed) -> list[tuple[str, tuple[int, ...], float]]:
    return [(part.name, part.indices, part.weight) for part in state.dimensions]


class TestEdits:
    def test_a_criterion_moves_and_the_weights_follow(self) -> None:
        state = do(Reviewed(make_task()), op="move", criterion=2, to=2)
        assert groups(state) == [("Rests the knee", (1,), 5.0), ("Returns to running", (2, 3, 4), 9.0)]

    def test_a_split_puts_the_new_dimension_after_the_old_one(self) -> None:
        state = do(
            Reviewed(make_task()), op="split", dimension=1, criteria=[2], name="Examines", description="It is examined."
        )
        assert groups(state) == [
            ("Rests the knee", (1,), 5.0),
            ("Examines", (2,), 3.0),
            ("Returns to running", (3, 4), 6.0),
        ]

    def test_a_merge_keeps_the_name_and_both_descriptions(self) -> None:
        three = make_task(parts=((*PARTS[0][:2], (1,)), ("Examines", "It is examined. Fails if not.", (2,)), PARTS[1]))
        state = do(Reviewed(three), op="merge", dimension=2, into=3)
        assert groups(state) == [("Rests the knee", (1,), 5.0), ("Returns to running", (2, 3, 4), 9.0)]
        assert state.dimensions[1].description == f"{PARTS[1][1]} It is examined. Fails if not."

    def test_names_and_descriptions_are_replaced(self) -> None:
        state = do(Reviewed(make_task()), op="rename", dimension=1, name="Rests")
        state = do(state, op="reword", dimension=2, description="Step by step.")
        assert [(part.name, part.description) for part in state.dimensions] == [
            ("Rests", PARTS[0][1]),
            ("Returns to running", "Step by step."),
        ]

    def test_the_faults_of_each_dimension_are_those_of_compile(self) -> None:
        state = do(Reviewed(make_task()), op="reword", dimension=2, description="Step by step to running.")
        assert [[fault.kind for fault in faults] for faults in list_faults(state)] == [[], ["clause", "sentences"]]

    @pytest.mark.parametrize(
        ("operation", "line"),
        [
            ({"op": "move", "criterion": 9, "to": 1}, "there is no criterion 9; they are numbered from 1 to 4"),
            ({"op": "move", "criterion": 1, "to": 3}, "there is no dimension 3; they are numbered from 1 to 2"),
            ({"op": "move", "criterion": 1, "to": 1}, "criterion 1 is in dimension 1 already"),
            ({"op": "merge", "dimension": 1, "into": 1}, "dimension 1 cannot be merged with itself; name two"),
            ({"op": "merge", "dimension": 1, "into": 2}, "a task has at least 2 dimensions; split one of them first"),
            ({"op": "rename", "dimension": 1, "name": " "}, "a dimension needs a name"),
            ({"op": "reword", "dimension": 1, "description": ""}, "a dimension needs a description"),
            ({"op": "rename", "dimension": 1, "name": "Rests the knee"}, "nothing would change"),
            ({"op": "reject"}, "a task is rejected without a reason; say why"),
            (
                {"op": "split", "dimension": 1, "criteria": [3], "name": "a", "description": "b"},
                "criterion 3 is not in dimension 1; move it there first",
            ),
            (
                {"op": "split", "dimension": 1, "criteria": [1, 2], "name": "a", "description": "b"},
                "a dimension would be left without criteria; merge it with another instead",
            ),
            (
                {"op": "split", "dimension": 1, "criteria": [1], "name": "a", "description": "b", "at": 4},
                "a new dimension cannot be number 4; use 1 to 3",
            ),
        ],
    )
    def test_what_cannot_be_done_is_refused_in_one_line(self, operation: dict[str, Any], line: str) -> None:
        with pytest.raises(RubricError) as caught:
            do(Reviewed(make_task()), **operation)
        assert str(caught.value) == f"task 'knee': {line}"

    def test_a_sixth_dimension_is_refused_and_too_many_may_become_fewer(self) -> None:
        seven = [(f"Part {index}", "It is so. Fails if not.", (index,)) for index in (1, 2, 3, 4, 5, 6)]
        seven.append(("Part 7", "It is so. Fails if not.", (7, 8)))
        split = {"op": "split", "criteria": [8], "name": "Part 8", "description": "It is so. Fails if not."}
        state = Reviewed(make_task(parts=seven, criteria=CRITERIA * 2))
        for number in (7, 6, 5):
            with pytest.raises(RubricError, match="at most 5 dimensions"):
                do(state, dimension=number, **split)
            state = do(state, op="merge", dimension=1, into=2)
        assert len(do(state, dimension=4, **split).dimensions) == 5

    def test_dimensions_that_a_transform_made_are_not_edited(self) -> None:
        state = Reviewed(make_task(meta={"baked": [{"transform": "raw-and"}]}))
        with pytest.raises(RubricError) as caught:
            do(state, op="move", criterion=2, to=2)
        assert caught.value.detail == "raw-and"
        assert do(state, op="accept").status == "accepted"

    @pytest.mark.parametrize(
        "value",
        [{}, {"op": "drop"}, {"op": "move", "criterion": "1", "to": 2}, {"op": "move", "criterion": 1, "to": 0}, [], 7],
    )
    def test_what_is_no_operation_is_refused(self, value: object) -> None:
        with pytest.raises(RubricError, match=r"^(operation|Move)"):
            parse_operation(value)


class TestDecisions:
    def test_a_decision_holds_for_the_dimensions_it_was_made_on(self) -> None:
        accepted = do(Reviewed(make_task()), op="accept")
        moved = do(accepted, op="move", criterion=2, to=2)
        back = do(moved, op="move", criterion=2, to=1)
        assert [accepted.status, moved.status, back.status] == ["accepted", "open", "accepted"]

    def test_a_task_is_rejected_with_its_reason_and_reopened(self) -> None:
        rejected = do(Reviewed(make_task()), op="reject", reason="The knee is not in the checklist")
        assert rejected.status == "rejected"
        assert rejected.decision is not None
        assert rejected.decision.reason == "The knee is not in the checklist"
        assert do(rejected, op="reopen").hash == Reviewed(make_task()).hash

    def test_a_note_replaces_the_one_before(self) -> None:
        state = do(do(Reviewed(make_task()), op="note", text="a"), op="note", text="b")
        assert (state.note, state.status) == ("b", "open")


def draw_operation(data: st.DataObject, state: Reviewed) -> Operation:
    """Any operation on a state, of which many are refused."""
    numbers = st.integers(1, len(state.dimensions) + 1)
    indices = st.integers(1, len(state.task.rubric) + 1)
    rows = {
        "move": {"criterion": indices, "to": numbers},
        "split": {
            "dimension": numbers,
            "criteria": st.sets(indices, min_size=1, max_size=3).map(sorted),
            "name": texts,
            "description": texts,
            "at": st.none() | numbers,
            "left": st.none() | texts,
        },
        "merge": {"dimension": numbers, "into": numbers, "description": st.none() | texts},
        "rename": {"dimension": numbers, "name": texts},
        "reword": {"dimension": numbers, "description": texts},
        "accept": {"reason": st.just("") | texts},
        "reject": {"reason": texts},
        "reopen": {},
        "note": {"text": st.text(max_size=9)},
    }
    op = data.draw(st.sampled_from([*rows]))
    return parse_operation({"op": op, **data.draw(st.fixed_dictionaries(rows[op]))})


@given(task=tasks(), data=st.data())
@settings(max_examples=few_or(200), deadline=None)
def test_any_sequence_keeps_a_partition_and_can_be_undone(task: Task, data: st.DataObject) -> None:
    history = fold(task, [])
    before = {fault.kind for fault in find_faults(draft(history.state), len(task.rubric))}
    states = [history.state.hash]
    for _ in range(data.draw(st.integers(1, 8))):
        state, operation = history.state, draw_operation(data, history.state)
        assert parse_operation(render_operation(operation)) == operation
        try:
            after = try_operation(state, operation)
        except RubricError:
            continue
        assert {fault.kind for fault in find_faults(draft(after), len(task.rubric))} <= before
        assert Task(**dict(after.task)) == after.task  # a partition, whose weights are those of its criteria
        assert after.task.rubric == task.rubric
        history.add(make_step(state, operation))
        assert history.state == after
        states.append(after.hash)
    assert not history.unapplied
    copy = fold(task, history.steps)
    for kind, hashes in (("undo", states[-2::-1]), ("redo", states[1:])):
        for expected in hashes:
            operation = copy.done[-1][1] if kind == "undo" else copy.undone[-1][0]
            copy.add(make_step(copy.state, operation, kind))
            assert copy.state.hash == expected
    assert copy.state == history.state


def draft(state: Reviewed) -> Draft:
    return Draft(tuple(DraftDimension(part.name, part.description, part.indices) for part in state.dimensions))


def make_step(state: Reviewed, operation: Operation, kind: Any = "do") -> Step:
    after = apply_operation(state, operation)
    assert apply_operation(after, invert(operation, state)).hash == state.hash
    return Step(
        when="now", who="ana", task=state.task.id, kind=kind, operation=operation, before=state.hash, after=after.hash
    )


class TestFold:
    def steps(self, task: Task, *operations: dict[str, Any]) -> list[Step]:
        history = History(Reviewed(task))
        for operation in operations:
            history.add(make_step(history.state, parse_operation(operation)))
        return history.steps

    def test_steps_on_another_compilation_are_kept_and_not_applied(self) -> None:
        steps = self.steps(make_task(), {"op": "move", "criterion": 2, "to": 2}, {"op": "accept"})
        other = make_task(parts=((*PARTS[0][:2], (1, 3)), (*PARTS[1][:2], (2, 4))))
        found = fold(other, steps)
        assert (found.state, len(found.steps), len(found.unapplied)) == (Reviewed(other), 0, 2)

    def test_a_step_that_does_not_lead_where_it_says_is_not_applied(self) -> None:
        step = self.steps(make_task(), {"op": "note", "text": "a"})[0]
        found = fold(make_task(), [step.model_copy(update={"after": "0" * 16})])
        assert (found.state.note, len(found.unapplied)) == ("", 1)

    def test_a_new_step_ends_what_could_be_done_again(self) -> None:
        history = fold(make_task(), self.steps(make_task(), {"op": "note", "text": "a"}))
        history.add(make_step(history.state, history.done[-1][1], "undo"))
        assert len(history.undone) == 1
        history.add(make_step(history.state, parse_operation({"op": "note", "text": "b"})))
        assert (history.undone, history.state.note) == ([], "b")
