import asyncio

import pytest

from prorubric.audit.config import AuditConfig
from prorubric.audit.prepare import add_dimensions, choose_tasks, keep_judgeable, need_dimensions
from prorubric.datasets.rejects import Rejects
from prorubric.errors import SchemeError
from prorubric.llm.scripted import ScriptedModel
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
    def test_a_task_that_gets_none_is_left_out_with_the_reason(self, rejects: Rejects) -> None:
        bare = {name: task.model_copy(update={"protocol": None}) for name, task in list(TASKS.items())[:2]}
        config = AuditConfig("tasks.jsonl", generator="prose")
        prose = ScriptedModel(lambda _: "There are many aspects to this.")
        ready, _ = asyncio.run(add_dimensions({**TASKS, **bare}, prose, config, rejects))
        assert list(ready) == list(TASKS)[2:]
        assert rejects.count == 2
        assert rejects.show()[0].startswith("tasks.jsonl: task 'basil' got no dimensions (")

    def test_the_order_of_the_file_stays(self, rejects: Rejects) -> None:
        bare = {name: task.model_copy(update={"protocol": None}) for name, task in list(TASKS.items())[:2]}
        ready, maker = asyncio.run(add_dimensions({**TASKS, **bare}, None, AuditConfig("tasks.jsonl"), rejects))
        assert list(ready) == list(TASKS)
        assert maker == "the file's own for 10, rules (a baseline without a model) for 2"


class TestSchemes:
    def test_a_task_that_no_sum_can_be_had_of_is_a_reject_and_the_others_stay(self, rejects: Rejects) -> None:
        criteria = tuple(c.model_copy(update={"weight": -3.0}) for c in TASKS["cat"].rubric.criteria)
        rubric = TASKS["cat"].rubric.model_copy(update={"criteria": criteria})
        tasks = TASKS | {"cat": TASKS["cat"].model_copy(update={"rubric": rubric})}
        kept, schemes, _ = keep_judgeable(tasks, "additive", "tasks.jsonl", rejects)
        assert (kept.keys(), schemes, rejects.count) == (TASKS.keys() - {"cat"}, ("additive",), 1)
        assert "positive" in rejects.show()[0]

    def test_a_scheme_that_fits_no_task_is_refused(self, rejects: Rejects) -> None:
        with pytest.raises(SchemeError):
            keep_judgeable({"cat": TASKS["cat"].model_copy(update={"protocol": None})}, "prorubric", "t", rejects)

    @pytest.mark.parametrize(
        ("names", "needed"),
        [("additive", False), ("additive, implicit", False), ("additive,k1", True), ("prorubric", True),
         ("additive+appropriateness", True), ("all", True)],
    )  # fmt: skip
    def test_dimensions_are_made_only_where_somebody_reads_them(self, names: str, needed: bool) -> None:
        assert need_dimensions(names) is needed
