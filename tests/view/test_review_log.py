"""`reviews.jsonl`: rows that survive a kill, writers that wait for each other."""

import json
import os
import resource
import signal
from pathlib import Path

import pytest

from prorubric.errors import SourceError, StaleError
from prorubric.view.review import parse_operation
from prorubric.view.review_file import ReviewFile
from prorubric.view.review_log import ReviewLog, name_reviews
from tests.cli.program import start_python
from tests.reward.serving import wait_until

from .reviewing import save

NOTE = parse_operation({"op": "note", "text": "a"})


def note(text: str) -> object:
    return parse_operation({"op": "note", "text": text})


def open_review(path: Path) -> ReviewFile:
    return ReviewFile(path).wait()


class TestRows:
    def test_a_row_says_who_did_what_when_and_between_which_states(self, tmp_path: Path) -> None:
        path = save(tmp_path / "c.jsonl")
        review = open_review(path)
        before = review.find("knee").state.hash
        after = review.do("knee", before, parse_operation({"op": "move", "criterion": 2, "to": 2}), "ana").state.hash
        row = json.loads((tmp_path / "c.reviews.jsonl").read_text())
        assert row.pop("when").endswith("+00:00")
        assert row == {
            "who": "ana",
            "task": "knee",
            "kind": "do",
            "operation": {"op": "move", "criterion": 2, "to": 2},
            "before": before,
            "after": after,
        }
        assert open_review(path).find("knee").state.hash == after

    @pytest.mark.parametrize("name", ["a.b.jsonl.gz", "a.b.parquet", "a.b.json"])
    def test_the_file_is_named_after_the_tasks(self, name: str) -> None:
        assert name_reviews(Path("x") / name) == Path("x/a.b.reviews.jsonl")

    @pytest.mark.parametrize("cut", [1, 20])
    def test_a_row_that_a_killed_process_left_is_cut_off(self, tmp_path: Path, cut: int) -> None:
        review = open_review(save(tmp_path / "c.jsonl"))
        for text in ("a", "b"):
            review.do("knee", review.find("knee").state.hash, note(text), "ana")
        whole = review.log.path.read_bytes()
        review.log.path.write_bytes(whole[:-cut])
        again = open_review(tmp_path / "c.jsonl")
        # A row that lacks only its line break is whole; half a row is not.
        assert again.find("knee").state.note == "a"
        again.log.hold().__enter__()
        assert again.find("knee").state.note == ("b" if cut == 1 else "a")

    def test_a_line_that_is_no_step_is_named(self, tmp_path: Path) -> None:
        path = save(tmp_path / "c.jsonl")
        review = open_review(path)
        review.do("knee", review.find("knee").state.hash, NOTE, "ana")
        with review.log.path.open("a") as stream:
            stream.write('{"who": 1}\n')
        with pytest.raises(SourceError, match=r"c\.reviews\.jsonl:2: .*correct or remove the line"):
            ReviewFile(path)

    def test_a_line_that_is_no_step_is_named_every_time(self, tmp_path: Path) -> None:
        review = open_review(save(tmp_path / "c.jsonl"))
        state = review.do("knee", review.find("knee").state.hash, NOTE, "ana").state.hash
        with review.log.path.open("a") as stream:
            stream.write('{"who": 1}\n')
        for _ in range(2):
            with pytest.raises(SourceError, match=r"c\.reviews\.jsonl:2: "):
                review.do("knee", state, note("b"), "ana")

    def test_a_row_for_which_there_is_no_room_is_an_error_and_not_a_step(self, tmp_path: Path) -> None:
        review = open_review(save(tmp_path / "c.jsonl"))
        state = review.do("knee", review.find("knee").state.hash, NOTE, "ana").state.hash
        usual = resource.getrlimit(resource.RLIMIT_FSIZE)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (review.log.path.stat().st_size + 10, usual[1]))
            with pytest.raises(OSError, match="File too large"):
                review.do("knee", state, note("b"), "ana")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        assert review.do("knee", state, note("c"), "ana").state.note == "c"
        assert open_review(tmp_path / "c.jsonl").find("knee").state.note == "c"

    def test_a_file_that_becomes_shorter_is_refused(self, tmp_path: Path) -> None:
        review = open_review(save(tmp_path / "c.jsonl"))
        review.do("knee", review.find("knee").state.hash, NOTE, "ana")
        review.log.path.write_text("")
        with pytest.raises(SourceError, match="has become shorter"):
            review.find("knee")


class TestWriters:
    def test_the_second_of_two_windows_is_told_and_sees_what_the_first_did(self, tmp_path: Path) -> None:
        path = save(tmp_path / "c.jsonl")
        first, second = open_review(path), open_review(path)
        before = first.find("knee").state.hash
        first.do("knee", before, note("first"), "ana")
        with pytest.raises(StaleError) as caught:
            second.do("knee", before, note("second"), "ben")
        assert caught.value.kind == "someone has changed this task since you opened it"
        assert caught.value.detail.startswith("ana, 20")
        assert second.find("knee").state.note == "first"
        assert len(second.log.path.read_text().splitlines()) == 1

    def test_processes_that_are_killed_while_writing_lose_nothing_that_was_confirmed(self, tmp_path: Path) -> None:
        path = save(tmp_path / "c.jsonl")
        script = (
            "import sys; from pathlib import Path; from prorubric.view.review_file import ReviewFile;"
            "from prorubric.view.review import parse_operation\n"
            "review, me = ReviewFile(Path(sys.argv[1])).wait(), sys.argv[2]\n"
            "for n in range(10_000):\n"
            "    try:\n"
            "        before = review.find('knee').state.hash\n"
            "        review.do('knee', before, parse_operation({'op': 'note', 'text': f'{me}-{n}'}), me)\n"
            "    except Exception as error:\n"
            "        if type(error).__name__ != 'StaleError': raise\n"
            "    else:\n"
            "        print(f'{me}-{n}', flush=True)\n"
        )
        said = {name: tmp_path / name for name in ("ana", "ben")}
        writers = []
        for name, file in said.items():
            with file.open("wb") as stream:
                writers.append(start_python("-c", script, str(path), name, out=stream.fileno()))
        wait_until(lambda: all(len(file.read_text().splitlines()) >= 5 for file in said.values()))
        for writer in writers:
            os.kill(writer.pid, signal.SIGKILL)
            writer.wait()
        confirmed = [line for file in said.values() for line in file.read_text().split("\n")[:-1]]
        log = ReviewLog(name_reviews(path))
        with log.hold():
            kept = [step.operation.text for step in log.steps["knee"]]  # type: ignore[union-attr]
        assert set(confirmed) <= set(kept)
        found = open_review(path).find("knee")
        assert (len(found.steps), found.unapplied) == (len(kept), [])
