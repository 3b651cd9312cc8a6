"""A judge beside people: exact figures on small tables, and the real table of physicians' labels."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from prorubric import CalibrateConfig, JudgeConfig, Message, calibrate_judge
from prorubric.cli.app import run as run_program
from prorubric.datasets.people_labels import LabelledItem, LabelledPair, load_labels
from prorubric.errors import ConfigError, SourceError
from prorubric.judge.agreement import Confusion, PairAgreement, compare_pairs, count_pairs
from prorubric.llm.model import Reply, Request
from tests.judge.voters import LENIENT, ODD, STRICT, WAVERING
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
        assert found.unknown_reasons == {"the judge called it not applicable": 1}

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

    def test_several_judges_and_votes_are_joined_as_in_a_run(
        self, labels: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        panel = calibrate_judge(CalibrateConfig(labels, judge=[LENIENT, STRICT, ODD]))
        alone = calibrate_judge(CalibrateConfig(labels, judge=ODD))
        assert (panel.judge_agreement, panel.said_true) == (alone.judge_agreement, 3 / 5)
        assert (panel.agreement, panel.judges[ODD].agreed) == (pytest.approx(2 / 3), 1.0)
        # Granted in 4, 3, 2, 1 and 0 of the 5 votes; items 2 and 3 go on to the second judge, which grants the third.
        judging = JudgeConfig(votes=5, cascade=0.8)
        cascade = calibrate_judge(CalibrateConfig(labels, judge=[WAVERING, ODD], judging=judging))
        assert (cascade.said_true, cascade.sent_on) == (2 / 5, 2)
        assert run_program(["calibrate", str(labels), "--judge", LENIENT, "--judge", ODD]) == 1
        shown = capsys.readouterr().out
        assert "agreement of the votes: 80.0% on average; 2 items below 80%, 0 votes unknown" in shown
        assert f"judge {LENIENT}, {ODD} on 5 items" in shown

    @pytest.mark.parametrize("change", [{"judge": [LENIENT, ODD]}, {"judge": ODD, "judging": JudgeConfig(votes=3)}])
    def test_pairs_of_answers_need_one_judge_and_one_vote(self, tmp_path: Path, change: dict[str, Any]) -> None:
        row: dict[str, object] = {"prompt": "?", "first": "a", "second": "b", "better": "first"}
        labels = write_labels(tmp_path / "pairs.jsonl", [row])
        line = "pairs.jsonl: 1 pair of answers, which one judge compares without votes; name one judge"
        with pytest.raises(ConfigError, match=line):
            calibrate_judge(CalibrateConfig(labels, **change))

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

    def test_a_row_of_healthbenchs_meta_evaluation_is_labelled_by_its_physicians(self, tmp_path: Path) -> None:
        messages = [
            {"role": "user", "content": "My chest hurts."},
            {"role": "assistant", "content": "Since when?"},
            {"role": "user", "content": "An hour."},
        ]
        row = {"prompt": messages, "completion": "Call 911.", "rubric": "Refers to emergency care", "prompt_id": "7"}
        row |= {"binary_labels": [True, False], "category": "emergency", "anonymized_physician_ids": ["a", "b"]}
        path = write_labels(tmp_path / "meta.jsonl", [row])
        asked = tuple(Message(**message) for message in messages)
        item = LabelledItem(asked, "Call 911.", "Refers to emergency care", (True, False), ("category:emergency",))
        assert list(load_labels(path)) == list(load_labels(path, "healthbench-meta")) == [item]


def make_pair(better: object, **more: object) -> dict[str, object]:
    return {"prompt": "?", "first": "GOOD", "second": "BAD", "better": better, **more}


PREFERS_GOOD, PREFERS_FIRST = f"{__name__}:PrefersGood", f"{__name__}:PrefersFirst"


class PrefersFirst:
    """A judge that always prefers what it is shown first."""

    name = identity = "prefers-first"

    def choose(self, first: str, second: str) -> str:
        return "first"

    async def complete(self, request: Request) -> Reply:
        text = request.messages[-1].content
        first, second = (
            re.search(rf"<<<{name} (\w+)\n(.*?)\n{name} \1>>>", text, re.DOTALL) for name in ("FIRST", "SECOND")
        )
        assert first
        assert second
        return Reply(json.dumps({"better": self.choose(first[2], second[2])}))

    async def close(self) -> None:
        pass


class PrefersGood(PrefersFirst):
    """A judge that prefers the word GOOD, then the longer answer."""

    name = identity = "prefers-good"

    def choose(self, first: str, second: str) -> str:
        marks = [("GOOD" in answer, len(answer)) for answer in (first, second)]
        return "equal" if marks[0] == marks[1] else "first" if marks[0] > marks[1] else "second"


class TestPairs:
    def test_figures_are_the_ones_counted_by_hand(self) -> None:
        sides = [("first", "first"), ("second", "first"), ("equal", "tie"), ("first", "tie")]
        sides += [("first", "inconsistent"), ("second", None)]
        assert compare_pairs(sides) == PairAgreement(
            pairs=6,
            agreed=2,
            ties=2,
            inconsistent=1,
            unknown=1,
            agreement=2 / 5,
            agreement_if_decided=1 / 2,
            order_consistency=4 / 5,
        )

    def test_no_known_pair_has_no_share(self) -> None:
        found = compare_pairs([("first", None)])
        assert (found.agreement, found.agreement_if_decided, found.order_consistency) == (None, None, None)

    def test_a_judge_is_compared_with_what_people_prefer(self, tmp_path: Path) -> None:
        rows = [make_pair("first", tags=["a"]), make_pair("second"), make_pair("equal", second="GOOD", tags=["a"])]
        found = calibrate_judge(CalibrateConfig(write_labels(tmp_path / "p.jsonl", rows), judge=PREFERS_GOOD))
        assert found.pairs is not None
        assert (found.items, found.pairs.pairs, found.pairs.agreed, found.pairs.ties) == (0, 3, 2, 1)
        assert {tag: one.agreement for tag, one in found.pairs_by_tag.items()} == {"a": 1.0}

    def test_a_judge_that_looks_at_the_order_is_found_out(self, tmp_path: Path) -> None:
        path = write_labels(tmp_path / "p.jsonl", [make_pair("first"), make_pair("second")])
        found = calibrate_judge(CalibrateConfig(path, judge=PREFERS_FIRST)).pairs
        assert found is not None
        assert (found.inconsistent, found.agreement, found.order_consistency) == (2, 0.0, 0.0)

    def test_pairs_without_a_reply_are_unknown_and_end_with_one(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = write_labels(tmp_path / "p.jsonl", [make_pair("first")])
        (tmp_path / "judge.jsonl").write_text(json.dumps({"reply": "hm"}))
        assert run_program(["calibrate", str(path), "--judge", f"scripted:{tmp_path / 'judge.jsonl'}"]) == 1
        assert "unknown: 1 x no readable better in the reply" in capsys.readouterr().out

    def test_statements_and_pairs_may_be_in_one_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        path = write_labels(tmp_path / "both.jsonl", [make_row("one", [True]), make_pair("first")])
        script = [{"contains": ["The first answer"], "reply": '{"better": "first"}'}]
        script += [{"contains": [], "reply": '{"satisfied": {"1": true}}'}]
        (tmp_path / "judge.jsonl").write_text("\n".join(map(json.dumps, script)))
        assert run_program(["calibrate", str(path), "--judge", f"scripted:{tmp_path / 'judge.jsonl'}"]) == 0
        shown = capsys.readouterr().out
        assert "on 1 item labelled by 1 person; 0 without a verdict" in shown
        assert "on 1 pair of answers" in shown

    @pytest.mark.parametrize(
        ("row", "said"),
        [
            (make_pair("third"), r"better is not known \('third'\); allowed: first, second, equal"),
            (make_pair("first", second=3), "first and second must be text; write both answers"),
            ({"input": "?", "output_1": "a", "output_2": "b", "label": 3}, r"not known \(3\); allowed: 1 and 2"),
        ],
    )
    def test_a_bad_pair_is_refused_with_its_line(self, tmp_path: Path, row: dict[str, object], said: str) -> None:
        with pytest.raises(SourceError, match=rf"p\.jsonl:1: .*{said}"):
            list(load_labels(write_labels(tmp_path / "p.jsonl", [row])))

    @pytest.mark.parametrize(("name", "pairs", "first"), [("Natural", 100, 42), ("GPTOut", 47, 22)])
    def test_llmbar_is_read_whole(self, shared_data: Path, name: str, pairs: int, first: int) -> None:
        path = shared_data / f"llmbar/{name}.json"
        rows = list(load_labels(path))
        assert rows == list(load_labels(path, "llmbar"))
        assert all(isinstance(row, LabelledPair) for row in rows)
        assert (len(rows), [row.better for row in rows].count("first")) == (pairs, first)  # type: ignore[union-attr]

    def test_a_judge_that_prefers_length_is_worth_little_on_llmbar(self, shared_data: Path) -> None:
        found = calibrate_judge(CalibrateConfig(shared_data / "llmbar/Natural.json", judge=PREFERS_GOOD)).pairs
        assert found is not None
        assert (found.pairs, found.inconsistent, found.unknown, found.order_consistency) == (100, 0, 0, 1.0)
        assert (found.agreed, found.ties, found.agreement) == (57, 1, 0.57)
