"""A judge beside people: exact figures on small tables, and the real table of physicians' labels."""

import json
from pathlib import Path
from typing import Any

import pytest

from prorubric import CalibrateConfig, JudgeConfig, Message, calibrate_judge
from prorubric.cli.app import run as run_program
from prorubric.datasets.people_labels import LabelledItem, load_labels
from prorubric.errors import SourceError
from prorubric.judge.agreement import Confusion, count_pairs
from tests.llm.asking import count_replies
from tests.llm.server import MisbehavingServer


class TestAgreement:
    def test_pairs_with_an_unknown_side_are_left_out(self) -> None:
        pairs = [(True, True), (True, False), (False, True), (False, False), (None, True), (True, None)]
        assert count_pairs(pairs) == Confusion(1, 1, 1, 1)

    def test_figures_are_the_ones_worked_out_by_hand(self) -> None:
        table = Confusion(both_true=20, only_first=5, only_second=10, both_false=15)
        assert table.accuracy == 0.7
        assert table.balanced_f1 == pytest.approx((40 / 55 + 30 / 45) / 2)
        assert table.kappa == pytest.approx((0.7 - 0.5) / 0.5)

    def test_perfect_agreement_is_one_and_perfect_disagreement_minus_one(self) -> None:
        assert (Confusion(5, 0, 0, 5).kappa, Confusion(5, 0, 0, 5).balanced_f1) == (1.0, 1.0)
        assert (Confusion(0, 5, 5, 0).kappa, Confusion(0, 5, 5, 0).balanced_f1) == (-1.0, 0.0)

    def test_a_class_that_never_occurs_has_no_balanced_f1_and_no_kappa(self) -> None:
        assert (Confusion(5, 0, 0, 0).balanced_f1, Confusion(5, 0, 0, 0).kappa) == (None, None)
        assert (Confusion().accuracy, Confusion().kappa, Confusion().balanced_f1) == (None, None, None)


def write_labels(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    return path


def make_row(criterion: str, labels: list[bool | None], **more: object) -> dict[str, object]:
    return {"prompt": "?", "response": "an answer", "criterion": criterion, "labels": labels, **more}


class TestCalibrate:
    @pytest.fixture
    def labels(self, tmp_path: Path) -> Path:
        rows = [
            make_row("one", [True, True], tags=["kind:a"]),
            make_row("two", [True, False], tags=["kind:a"]),
            make_row("three", [False, False], tags=["kind:b"]),
            make_row("four", [None, True], tags=["kind:b"]),
            make_row("five", [True, True]),
        ]
        return write_labels(tmp_path / "labels.jsonl", rows)

    def make_judge(self, tmp_path: Path, verdicts: dict[str, Any]) -> str:
        (tmp_path / "judge.jsonl").write_text(json.dumps({"reply": json.dumps({"satisfied": verdicts})}))
        return f"scripted:{tmp_path / 'judge.jsonl'}"

    def test_a_judge_is_counted_against_each_label_and_people_against_each_other(
        self, tmp_path: Path, labels: Path
    ) -> None:
        judge = self.make_judge(tmp_path, {"1": True, "2": True, "3": False, "4": True})
        found = calibrate_judge(CalibrateConfig(labels, judge=judge))
        assert (found.items, found.people, found.unknown) == (5, 2, 1)
        assert found.unknown_reasons == {"the reply names other items than those asked about": 1}
        # Against the labels of both: 4 hits, 2 misses none, one false alarm; the fifth has no verdict.
        assert (found.judge_agreement.pairs, found.judge_agreement.accuracy) == (7, 6 / 7)
        assert (found.human_agreement.pairs, found.human_agreement.accuracy) == (4, 3 / 4)
        assert (found.said_true, found.labelled_true) == (0.75, 6 / 9)

    def test_a_statement_that_does_not_apply_is_neither_true_nor_false(self, tmp_path: Path, labels: Path) -> None:
        judge = self.make_judge(tmp_path, {"1": True, "2": True, "3": False, "4": True, "5": "n/a"})
        found = calibrate_judge(CalibrateConfig(labels, judge=judge, judging=JudgeConfig(not_applicable=True)))
        assert (found.unknown, found.said_true) == (1, 0.75)
        assert found.unknown_reasons == {"the judge says that the statement does not apply": 1}

    def test_figures_come_by_tag_as_well(self, tmp_path: Path, labels: Path) -> None:
        judge = self.make_judge(tmp_path, {"1": True, "2": True, "3": False, "4": True, "5": True})
        found = calibrate_judge(CalibrateConfig(labels, judge=judge))
        assert {tag: both["judge"].accuracy for tag, both in found.by_tag.items()} == {"kind:a": 0.75, "kind:b": 1.0}

    def test_all_statements_about_one_response_are_one_call(self, tmp_path: Path, labels: Path) -> None:
        from prorubric.llm.journal import Journal

        judge = self.make_judge(tmp_path, {str(i): True for i in range(1, 6)})
        calibrate_judge(CalibrateConfig(labels, judge=judge, journal=tmp_path / "j.sqlite"))
        with Journal(tmp_path / "j.sqlite") as journal:
            assert count_replies(journal) == 1

    def test_a_dead_endpoint_stops_the_program_with_two_and_one_line(
        self, labels: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with MisbehavingServer() as server:
            server.always = "close before headers"
            assert run_program(["calibrate", str(labels), "--judge", server.spec, "--backoff-seconds", "0.01"]) == 2
        shown = capsys.readouterr().err.splitlines()[-1]
        assert shown.startswith(
            f"prorubric: 127.0.0.1:{server.port}: no answer in 3 attempts; last: the connection to "
        )

    def test_the_program_prints_the_table(
        self, tmp_path: Path, labels: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        judge = self.make_judge(tmp_path, {str(i): True for i in range(1, 6)})
        assert run_program(["calibrate", str(labels), "--judge", judge]) == 0
        printed = capsys.readouterr().out
        assert "judge against each label" in printed
        assert "people against each other" in printed

    def test_the_physicians_table_is_read_and_people_agree_as_counted(self, shared_data: Path) -> None:
        found = calibrate_judge(CalibrateConfig(shared_data / "kqa_dev/physician_labels.csv", judge="lexical"))
        assert (found.items, found.people, found.unknown) == (205, 3, 0)
        assert found.human_agreement.kappa == pytest.approx(0.771, abs=5e-4)
        assert found.human_agreement.balanced_f1 == pytest.approx(0.885, abs=5e-4)


class TestLabels:
    def test_a_row_is_read_with_its_labels_and_tags(self, tmp_path: Path) -> None:
        path = write_labels(tmp_path / "l.jsonl", [make_row("one", [True, None], tags=["x"])])
        assert list(load_labels(path)) == [
            LabelledItem((Message(role="user", content="?"),), "an answer", "one", (True, None), ("x",))
        ]

    def test_k_qa_s_entailment_is_true_and_the_rest_is_false(self, tmp_path: Path) -> None:
        (tmp_path / "k.csv").write_text(
            "Question,answer,claim,category_x,llm_x,label_0,label_1,label_2\nQ,A,C,Must_have,m,Entailment,Neutral,Contradiction\n"
        )
        found = list(load_labels(tmp_path / "k.csv"))
        asked = (Message(role="user", content="Q"),)
        assert found == [LabelledItem(asked, "A", "C", (True, False, False), ("category:Must_have", "model:m"))]

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"labels": []}, r"labels are not a list of true, false or null \(\[\]\); give one for each person"),
            ({"tags": 2**64}, r"tags are not a list of texts \(18446744073709551616\); give one, or leave them out"),
            ({"labels": ["yes"]}, r"labels are not a list of true, false or null \(\['yes'\]\)"),
            ({"labels": None}, r"labels are not a list of true, false or null \(None\)"),
            ({"criterion": " "}, "must be text"),
            ({"response": 3}, "must be text"),
        ],
    )
    def test_a_gold_standard_with_a_bad_row_is_refused_with_its_line(
        self, tmp_path: Path, change: dict[str, object], said: str
    ) -> None:
        path = write_labels(tmp_path / "l.jsonl", [make_row("one", [True]), {**make_row("two", [True]), **change}])
        with pytest.raises(SourceError, match=rf"l\.jsonl:2: .*{said}"):
            list(load_labels(path))

    def test_an_empty_file_is_nothing_to_compare_with(self, tmp_path: Path) -> None:
        (tmp_path / "l.jsonl").write_text("")
        with pytest.raises(SourceError, match="nothing to compare with"):
            calibrate_judge(CalibrateConfig(tmp_path / "l.jsonl", judge="lexical"))
