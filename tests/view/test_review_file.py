"""The queue and the progress of a review."""

from pathlib import Path
from typing import Any

import pytest

from prorubric.errors import RubricError, SourceError
from prorubric.view.review import parse_operation
from prorubric.view.review_file import Queue, QueueFilter, ReviewFile

from .reviewing import PARTS, make_task, save

SPOILED = ((PARTS[0][0], "Mentions rest for the knee.", PARTS[0][2]), PARTS[1])
CROSSED = ((*PARTS[0][:2], (1, 3)), (*PARTS[1][:2], (2, 4)))
REPAIRED = {"compile": {"state": "repaired", "generator": "m"}}
VERIFIED = {"compile": {"state": "kept", "verification": {"dimensions": [{"demand dropped": [2]}, {}]}}}


@pytest.fixture
def review(tmp_path: Path) -> ReviewFile:
    tasks = [
        make_task("good"),
        make_task("spoiled", SPOILED),
        make_task("repaired", meta=REPAIRED),
        make_task("verified", meta=VERIFIED),
        make_task("raw", ()),
    ]
    path = save(tmp_path / "c.jsonl", *tasks)
    with path.open("a") as stream:
        stream.write("{\n")
    other = save(tmp_path / "other.jsonl", make_task("good", CROSSED), make_task("spoiled", SPOILED))
    return ReviewFile(path, other=other).wait()


def take(review: ReviewFile, name: str, **operation: Any) -> None:
    review.do(name, review.find(name).state.hash, parse_operation(operation), "ana")


def ids(found: Queue) -> list[str]:
    return [row.id for row in found.rows]


def ask(review: ReviewFile, **wanted: Any) -> list[str]:
    return ids(review.list_queue(QueueFilter(**wanted)))


class TestQueue:
    def test_it_is_in_the_order_of_the_file_and_leaves_out_what_has_no_dimensions(self, review: ReviewFile) -> None:
        assert ask(review) == ["good", "spoiled", "repaired", "verified"]

    def test_tasks_with_faults_come_by_how_many_they_have(self, review: ReviewFile) -> None:
        assert ask(review, by="fault") == ["spoiled", "verified"]
        assert ask(review, by="fault", kind="demand dropped") == ["verified"]
        assert review.list_queue(QueueFilter(by="fault")).rows[0].faults == ("clause", "sentences")

    def test_a_fault_that_was_corrected_leaves_the_queue(self, review: ReviewFile) -> None:
        take(review, "spoiled", op="reword", dimension=1, description=PARTS[0][1])
        take(review, "verified", op="reword", dimension=1, description=SPOILED[0][1] + " Fails if it does not rest.")
        assert ask(review, by="fault") == []

    def test_repaired_tasks_have_a_queue(self, review: ReviewFile) -> None:
        assert ask(review, by="repaired") == ["repaired"]

    def test_tasks_on_which_two_compilations_disagree_come_first(self, review: ReviewFile) -> None:
        (row,) = review.list_queue(QueueFilter(by="disagreement")).rows
        assert (row.id, row.agreement) == ("good", -0.5)
        names = [PARTS[0][0], PARTS[1][0], PARTS[0][0], PARTS[1][0]]
        assert (review.find_other("good"), review.find_other("repaired")) == (names, None)

    def test_a_sample_says_what_share_of_the_file_would_be_accepted(self, review: ReviewFile) -> None:
        drawn = ask(review, by="sample", n=3)
        assert len(drawn) == 3
        assert drawn == ask(review, by="sample", n=3)
        assert any(drawn != ask(review, by="sample", n=3, seed=seed) for seed in range(1, 9))
        take(review, drawn[0], op="accept")
        take(review, drawn[1], op="reject", reason="no")
        found = review.list_queue(QueueFilter(by="sample", n=3, status="open"))
        assert ids(found) == drawn[2:]
        assert found.sample is not None
        assert (found.sample.n, found.sample.decided, found.sample.accepted) == (3, 2, 1)
        assert (found.sample.low, found.sample.high) == (
            pytest.approx(0.0945, abs=1e-4),
            pytest.approx(0.9055, abs=1e-4),
        )

    def test_it_is_filtered_by_status_and_by_words(self, review: ReviewFile) -> None:
        take(review, "good", op="accept")
        take(review, "spoiled", op="move", criterion=2, to=2)
        take(review, "repaired", op="note", text="look again")
        assert ask(review, status="accepted") == ["good"]
        assert ask(review, status="open") == ["spoiled", "repaired", "verified"]
        assert ask(review, status="changed") == ["spoiled"]
        assert ask(review, status="noted") == ["repaired"]
        assert ask(review, text="KNEE veri") == ["verified"]
        assert ask(review, text="what NOW? good") == ["good"]

    def test_it_comes_in_pages(self, review: ReviewFile) -> None:
        found = review.list_queue(QueueFilter(offset=1, limit=2))
        assert (found.total, ids(found)) == (4, ["spoiled", "repaired"])


class TestProgress:
    def test_everything_is_counted(self, review: ReviewFile) -> None:
        take(review, "good", op="accept")
        take(review, "spoiled", op="reject", reason="no")
        take(review, "repaired", op="move", criterion=2, to=2)
        found = review.describe_progress()
        assert (found.tasks, found.open, found.accepted, found.rejected, found.changed) == (4, 2, 1, 1, 1)
        assert (found.without_dimensions, found.repaired, found.steps) == (1, 1, {"ana": 3})
        assert found.faults == {"clause": 1, "sentences": 1, "demand dropped": 1}
        assert sum(found.unreadable.values()) == 1
        assert (found.unapplied, found.reading) == (0, False)

    def test_steps_that_no_longer_fit_are_counted(self, review: ReviewFile) -> None:
        take(review, "good", op="accept")
        take(review, "spoiled", op="accept")
        again = ReviewFile(save(review.tasks, make_task("good", CROSSED))).wait()
        assert again.describe_progress().unapplied == 2
        assert len(again.find("good").unapplied) == 1


class TestRefusals:
    def test_a_file_that_does_not_exist(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match="no such file"):
            ReviewFile(tmp_path / "c.jsonl")

    def test_a_file_that_cannot_be_read_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "c.jsonl").write_text("7\n")
        with pytest.raises(SourceError, match=r"c\.jsonl"):
            ReviewFile(tmp_path / "c.jsonl").wait()

    def test_a_task_that_is_not_there(self, review: ReviewFile) -> None:
        with pytest.raises(RubricError, match="the file has no such task"):
            review.find("hip")

    @pytest.mark.parametrize("kind", ["undo", "redo"])
    def test_there_is_nothing_to_undo(self, review: ReviewFile, kind: str) -> None:
        with pytest.raises(RubricError, match=f"there is nothing to {kind}"):
            getattr(review, kind)("good", review.find("good").state.hash, "ana")


def test_undo_and_redo_are_steps_of_their_own(review: ReviewFile) -> None:
    start = review.find("good").state.hash
    take(review, "good", op="move", criterion=2, to=2)
    moved = review.find("good").state.hash
    assert review.undo("good", moved, "ben").state.hash == start
    history = review.redo("good", start, "ana")
    assert history.state.hash == moved
    assert [(step.who, step.kind, step.operation.op) for step in history.steps] == [
        ("ana", "do", "move"),
        ("ben", "undo", "move"),
        ("ana", "redo", "move"),
    ]
