import asyncio
from pathlib import Path

import pytest

from prorubric import Response, save_responses
from prorubric.audit.config import AuditConfig
from prorubric.audit.setting import add_dimensions, choose_tasks, find_answers, keep_judgeable, need_dimensions
from prorubric.datasets.rejects import Reject, Rejects
from prorubric.errors import ConfigError, SchemeError
from prorubric.llm.scripted import ScriptedModel
from tests.audit.judges import Writer
from tests.audit.shapes import make_tasks

TASKS = {task.id: task for task in make_tasks("presence")}


class TestLimit:
    def test_no_limit_takes_all(self) -> None:
        assert choose_tasks(TASKS, None) is choose_tasks(TASKS, 12) is TASKS

    def test_the_choice_depends_on_the_ids_alone(self) -> None:
        turned = dict(reversed(TASKS.items()))
        assert list(choose_tasks(TASKS, 5)) == list(choose_tasks(turned, 5))[::-1]

    def test_it_keeps_the_order_of_the_file(self) -> None:
        chosen = list(choose_tasks(TASKS, 5))
        assert chosen == [name for name in TASKS if name in chosen]
        assert len(chosen) == 5


class TestDimensions:
    def test_a_task_that_gets_none_is_left_out_with_the_reason(self) -> None:
        bare = {name: task.model_copy(update={"protocol": None}) for name, task in list(TASKS.items())[:2]}
        rejects = Rejects()
        config = AuditConfig("tasks.jsonl", generator="prose")
        prose = ScriptedModel(lambda _: "There are many aspects to this.")
        ready, _ = asyncio.run(add_dimensions({**TASKS, **bare}, prose, config, rejects))
        assert list(ready) == list(TASKS)[2:]
        assert rejects.count == 2
        assert rejects.show()[0].startswith("tasks.jsonl: task 'basil' got no dimensions (")

    def test_the_order_of_the_file_stays(self) -> None:
        bare = {name: task.model_copy(update={"protocol": None}) for name, task in list(TASKS.items())[:2]}
        ready, maker = asyncio.run(add_dimensions({**TASKS, **bare}, None, AuditConfig("tasks.jsonl"), Rejects()))
        assert list(ready) == list(TASKS)
        assert (
            maker == "the file's own for 10, rules (runs of neighbouring criteria, no model; the weak baseline) for 2"
        )


class TestAnswers:
    def test_given_answers_are_paired_with_their_tasks(self, tmp_path: Path) -> None:
        save_responses(tmp_path / "r.jsonl", [Response(task_id="cat", text="b", sample=1)])
        config = AuditConfig("tasks.jsonl", tmp_path / "r.jsonl")
        cases, source = asyncio.run(find_answers(TASKS, TASKS, None, config, Rejects()))
        assert [(case.task.id, case.response.text) for case in cases] == [("cat", "b")]
        assert source == "given"

    def test_checklists_that_cannot_be_stated_give_no_composed_answer(self) -> None:
        short = {name: task for name, task in TASKS.items() if name == "cat"}
        rubric = short["cat"].rubric.model_copy(update={"criteria": short["cat"].rubric.criteria[:1]})
        lacking = {"cat": short["cat"].model_copy(update={"rubric": rubric})}
        with pytest.raises(ConfigError, match=r"there is no answer to audit; .*give a file of answers"):
            asyncio.run(find_answers(lacking, lacking, None, AuditConfig("tasks.jsonl"), Rejects()))

    def test_a_model_that_fails_leaves_a_reject_for_each_task(self) -> None:
        rejects = Rejects()
        config = AuditConfig("tasks.jsonl", answers_from="writer", samples=1)
        cases, source = asyncio.run(find_answers(TASKS, TASKS, Writer(), config, rejects))
        assert (len(cases), source, rejects.count) == (11, "sampled from tests/Writer", 1)

    def test_where_no_answer_can_be_read_the_line_says_why_and_not_what_is_wrong_with_a_task(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "r.jsonl").write_text('{"id": "cat", "text": "b"}\n')
        rejects = Rejects()
        rejects.add(Reject("tasks.jsonl", 3, "not JSON"))
        config = AuditConfig("tasks.jsonl", tmp_path / "r.jsonl")
        with pytest.raises(ConfigError, match=r"there is no answer to audit; .*r\.jsonl:1: no response \(among id, "):
            asyncio.run(find_answers(TASKS, TASKS, None, config, rejects))

    def test_answers_to_tasks_that_are_not_audited_are_no_fault(self, tmp_path: Path) -> None:
        given = [Response(task_id=name, text="b") for name in ("cat", "nobody", list(TASKS)[-1])]
        save_responses(tmp_path / "r.jsonl", given)
        rejects = Rejects()
        config = AuditConfig("tasks.jsonl", tmp_path / "r.jsonl")
        cases, _ = asyncio.run(find_answers({"cat": TASKS["cat"]}, TASKS, None, config, rejects))
        assert [case.task.id for case in cases] == ["cat"]
        (reject,) = rejects.show()
        assert (
            reject
            == f"{tmp_path / 'r.jsonl'}:2: no task is called 'nobody'; the tasks are {', '.join([*TASKS][:3])}, …"
        )


class TestSchemes:
    def test_a_task_that_no_sum_can_be_had_of_is_a_reject_and_the_others_stay(self) -> None:
        criteria = tuple(c.model_copy(update={"weight": -3.0}) for c in TASKS["cat"].rubric.criteria)
        rubric = TASKS["cat"].rubric.model_copy(update={"criteria": criteria})
        tasks = TASKS | {"cat": TASKS["cat"].model_copy(update={"rubric": rubric})}
        rejects = Rejects()
        kept, schemes, _ = keep_judgeable(tasks, "additive", "tasks.jsonl", rejects)
        assert (kept.keys(), schemes, rejects.count) == (TASKS.keys() - {"cat"}, ("additive",), 1)
        assert "positive" in rejects.show()[0]

    def test_a_scheme_that_fits_no_task_is_refused(self) -> None:
        with pytest.raises(SchemeError):
            keep_judgeable({"cat": TASKS["cat"].model_copy(update={"protocol": None})}, "prorubric", "t", Rejects())

    @pytest.mark.parametrize(
        ("names", "needed"),
        [("additive", False), ("additive, implicit", False), ("additive,k1", True), ("prorubric", True),
         ("additive+appropriateness", True), ("all", True)],
    )  # fmt: skip
    def test_dimensions_are_made_only_where_somebody_reads_them(self, names: str, needed: bool) -> None:
        assert need_dimensions(names) is needed
