"""A control set into the task is the same control: same score to the last bit, same texts before the judge.

There is no tolerance anywhere here. Both ways end in one formula over the same weights, terms are added in ascending
order wherever they stand, and a term of weight 0 that is dropped would have added 0.
"""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from prorubric import Criterion, Rubric, Task, load_samples, score
from prorubric.aggregate.plan import make_scoring_plan
from prorubric.aggregate.schemes import find_scheme
from prorubric.compile.bake import Transform, bake
from prorubric.compile.compiler import Compiled, Compiler
from prorubric.compile.work import CompilePlan, CompileWorker
from prorubric.errors import SchemeError
from prorubric.judge.readings import Item, list_items
from prorubric.judge.texts import APPROPRIATENESS_TEXT
from prorubric.rubric.labels import relabel
from prorubric.rubric.verdict import Verdict
from prorubric.text.failures import remove_failure_clauses
from tests.aggregate.test_schemes import make_task, verdicts_for
from tests.llm.asking import run
from tests.strategies import tasks, texts
from tests.thorough import few_or

CONTROLS: list[tuple[str, tuple[Transform, ...], str]] = [
    ("raw-and", ("raw-and",), "prorubric"),
    ("prorubric-no-failure", ("no-failure",), "prorubric"),
    ("k1", ("k1",), "prorubric"),
    ("k1", ("k1-mechanical",), "prorubric"),
    ("weighted", ("weighted",), "additive"),
    ("rewritten", ("rewritten",), "additive"),
    ("additive+appropriateness", ("appropriateness",), "additive"),
    ("conjunctive+appropriateness", ("appropriateness",), "conjunctive"),
    ("prorubric+appropriateness", ("appropriateness",), "prorubric"),
    ("raw-and+appropriateness", ("raw-and", "appropriateness"), "prorubric"),
    ("prorubric-no-failure+appropriateness", ("no-failure", "appropriateness"), "prorubric"),
    ("k1+appropriateness", ("k1", "appropriateness"), "prorubric"),
    ("k1+appropriateness", ("k1-mechanical", "appropriateness"), "prorubric"),
    ("rewritten+appropriateness", ("rewritten", "appropriateness"), "additive"),
    ("weighted+appropriateness", ("appropriateness", "weighted"), "additive"),
]

DESCRIPTIONS = st.sampled_from(
    [
        "The parent knows after the first lines that the baby goes in tonight. Fails if it waits.",
        "Acts now. Fails if it waits for the morning or for medicine.",
        "Nothing here says what voids it. It is long enough, though.",
    ]
)


@st.composite
def full_tasks(draw: st.DrawFn) -> Task:
    """A task with everything that any control needs."""
    task = draw(tasks())
    assert task.protocol is not None
    dimensions = tuple(d.model_copy(update={"description": draw(DESCRIPTIONS)}) for d in task.protocol.dimensions)
    meta: dict[str, Any] = {key: value for key, value in task.meta.items() if key not in ("k1", "baked")}
    meta["rewritten"] = [draw(texts) for _ in task.rubric.criteria]
    meta["k1"] = {"name": draw(texts), "description": draw(texts)}
    protocol = task.protocol.model_copy(update={"dimensions": dimensions})
    return task.model_copy(update={"protocol": protocol, "meta": meta})


def choose_text(task: Task, names: Sequence[Transform]) -> Task:
    """The task as a control takes it: of a text that is made for K=1 the scheme would not read that of the rules."""
    meta = {key: value for key, value in task.meta.items() if key != "k1" or "k1" in names}
    return task.model_copy(update={"meta": meta})


def translate(verdicts: Sequence[Verdict], task: Task, names: Sequence[Transform]) -> list[Verdict]:
    """The same verdicts for the baked task, from which `weighted` has dropped criteria."""
    if "weighted" not in names:
        return [*verdicts]
    weights = [relabel(criterion, "here") for criterion in task.rubric.criteria]
    counted = [*weights, *[1.0] * (len(verdicts) - len(weights))]
    return [verdict for verdict, weight in zip(verdicts, counted, strict=True) if weight]


def read_items(task: Task, scheme: str) -> list[Item]:
    return [item for reading in find_scheme(scheme).readings for item in list_items(task, reading)]


# Drawing a task takes far longer than baking it, so every control is tried on every task that is drawn.
@given(data=st.data())
@settings(max_examples=few_or(150))
def test_the_baked_task_scores_what_the_control_scores_to_the_last_bit(data: st.DataObject) -> None:
    drawn = data.draw(full_tasks())
    for scheme, names, base in CONTROLS:
        note(f"{scheme}: {names}")
        task = choose_text(drawn, names)
        baked = bake(task, names)
        for unknowns in (False, True):
            verdicts = data.draw(verdicts_for(make_scoring_plan(task, scheme), unknowns))
            wanted, found = score(verdicts, task, scheme), score(translate(verdicts, task, names), baked, base)
            assert (found.value, found.low, found.high) == (wanted.value, wanted.low, wanted.high)


@given(drawn=full_tasks())
@settings(max_examples=few_or(150))
def test_the_judge_reads_the_same_texts(drawn: Task) -> None:
    for scheme, names, base in CONTROLS:
        note(f"{scheme}: {names}")
        task = choose_text(drawn, names)
        wanted, found = read_items(task, scheme), read_items(bake(task, names), base)
        if "weighted" not in names:
            assert [(item.text, item.weight) for item in found] == [(item.text, item.weight) for item in wanted]
            assert [item.index for item in found] == list(range(1, len(found) + 1))
            continue
        # The judge of the control reads criteria that weigh nothing as well, and is shown the weights from before.
        counted = translate(range(len(wanted)), task, names)
        assert [item.text for item in found] == [wanted[int(position)].text for position in counted]  # type: ignore[arg-type]
        assert [item.weight for item in found if item.text != APPROPRIATENESS_TEXT] == [
            weight for weight in (relabel(criterion, "here") for criterion in task.rubric.criteria) if weight
        ]


@given(task=full_tasks())
@settings(max_examples=few_or(100))
def test_a_baked_task_is_a_task_that_a_file_can_hold_and_the_one_it_was_made_of_is_unchanged(task: Task) -> None:
    before = task.model_dump_json()
    for _, names, _ in CONTROLS:
        note(str(names))
        baked = bake(task, names)
        assert task.model_dump_json() == before
        assert Task.model_validate_json(baked.model_dump_json()) == baked
        kept = {key: value for key, value in baked.meta.items() if key != "baked"}
        assert kept == task.meta
        told = baked.meta["baked"]
        assert isinstance(told, list)
        assert [one["transform"] for one in told if isinstance(one, dict)] == [*names]
        same = {"rubric": task.rubric, "protocol": task.protocol, "meta": task.meta}
        assert baked.model_copy(update=same) == task


class TestLineage:
    TASK = make_task(
        [5, 3, -2, 4, 1], [[1, 3], [2, 4, 5]], ["critical", "formatting", "normal", "needless", "duplicate"]
    )

    def about(self, task: Task, name: Transform) -> dict[str, Any]:
        told = bake(task, (name,)).meta["baked"]
        assert isinstance(told, list)
        assert isinstance(told[-1], dict)
        return told[-1]

    def test_criteria_that_weigh_nothing_leave_the_rubric_and_stay_on_record(self) -> None:
        baked = bake(self.TASK, ("weighted",))
        assert [(c.text, c.weight) for c in baked.rubric.criteria] == [
            ("criterion 0", 15.0),
            ("criterion 2", -2.0),
            ("criterion 3", -4.0),
        ]
        assert baked.protocol is None
        assert self.about(self.TASK, "weighted") == {
            "transform": "weighted",
            "weights": [5.0, 3.0, -2.0, 4.0, 1.0],
            "dropped": [
                {
                    "index": 2,
                    "criterion": "criterion 1",
                    "weight": 3.0,
                    "tags": ["label:formatting"],
                    "label": "formatting",
                },
                {
                    "index": 5,
                    "criterion": "criterion 4",
                    "weight": 1.0,
                    "tags": ["label:duplicate"],
                    "label": "duplicate",
                },
            ],
            "dimensions": [
                {"name": "dimension 0", "description": "holds", "indices": [1, 3]},
                {"name": "dimension 1", "description": "holds", "indices": [2, 4, 5]},
            ],
        }

    def test_the_score_of_weighted_by_hand(self) -> None:
        baked = bake(self.TASK, ("weighted",))
        assert score([True, False, True], baked, "additive").value == (15 - 4) / 15

    def test_descriptions_are_kept_and_what_was_removed_is_counted(self) -> None:
        clear = "The parent knows after the first lines that the baby goes in. Fails if it waits. It fails if not."
        short = "Acts now. Fails if it waits."
        assert self.TASK.protocol is not None
        first, second = self.TASK.protocol.dimensions
        dimensions = (
            first.model_copy(update={"description": clear}),
            second.model_copy(update={"description": short}),
        )
        protocol = self.TASK.protocol.model_copy(update={"dimensions": dimensions})
        task = self.TASK.model_copy(update={"protocol": protocol})
        assert self.about(task, "no-failure") == {
            "transform": "no-failure",
            "descriptions": [clear, short],
            "matched": [2, 1],
            "removed": [2, 0],
            "restored": [2],
        }
        baked = bake(task, ("no-failure",)).protocol
        assert baked is not None
        assert [dimension.description for dimension in baked.dimensions] == [
            "The parent knows after the first lines that the baby goes in.",
            short,
        ]

    def test_raw_and_keeps_names_groups_and_the_old_descriptions(self) -> None:
        assert self.about(self.TASK, "raw-and") == {"transform": "raw-and", "descriptions": ["holds", "holds"]}
        baked = bake(self.TASK, ("raw-and",)).protocol
        assert baked is not None
        assert [(d.name, d.indices) for d in baked.dimensions] == [("dimension 0", (1, 3)), ("dimension 1", (2, 4, 5))]
        assert baked.dimensions[0].description.splitlines()[1:] == [
            "- (must hold) criterion 0",
            "- (must not occur) criterion 2",
        ]

    def test_one_dimension_keeps_the_old_ones(self) -> None:
        old = [
            {"name": "dimension 0", "description": "holds", "indices": [1, 3]},
            {"name": "dimension 1", "description": "holds", "indices": [2, 4, 5]},
        ]
        assert self.about(self.TASK, "k1-mechanical") == {"transform": "k1-mechanical", "dimensions": old}
        task = self.TASK.model_copy(update={"meta": {"k1": {"name": "All", "description": "It holds."}}})
        assert self.about(task, "k1") == {"transform": "k1", "dimensions": old}
        assert self.about(task.model_copy(update={"protocol": None}), "k1") == {"transform": "k1", "dimensions": []}
        baked = bake(task, ("k1",)).protocol
        assert baked is not None
        assert [(d.name, d.description, d.indices, d.weight) for d in baked.dimensions] == [
            ("All", "It holds.", (1, 2, 3, 4, 5), 15.0)
        ]

    def test_restated_criteria_keep_the_old_texts(self) -> None:
        task = self.TASK.model_copy(update={"meta": {"rewritten": ["a", "b", "c", "d", "e"]}})
        assert self.about(task, "rewritten") == {
            "transform": "rewritten",
            "criteria": [f"criterion {number}" for number in range(5)],
        }
        baked = bake(task, ("rewritten",))
        assert [(c.text, c.weight, c.tags) for c in baked.rubric.criteria] == [
            (text, c.weight, c.tags) for text, c in zip("abcde", self.TASK.rubric.criteria, strict=True)
        ]

    def test_the_fixed_criterion_weighs_the_mean_of_the_dimensions(self) -> None:
        baked = bake(self.TASK, ("appropriateness",))
        added = baked.rubric.criteria[-1]
        assert (added.text, added.weight) == (APPROPRIATENESS_TEXT, 15 / 2)
        assert baked.rubric.criteria[:-1] == self.TASK.rubric.criteria
        assert baked.protocol is not None
        last = baked.protocol.dimensions[-1]
        assert (f"{last.name}: {last.description}", last.indices, last.weight) == (APPROPRIATENESS_TEXT, (6,), 7.5)

    def test_after_one_for_all_it_still_weighs_the_mean_of_what_there_was(self) -> None:
        baked = bake(self.TASK, ("k1-mechanical", "appropriateness"))
        assert baked.rubric.criteria[-1].weight == 15 / 2

    def test_several_are_told_in_order(self) -> None:
        told = bake(self.TASK, ("raw-and", "appropriateness", "weighted")).meta["baked"]
        assert isinstance(told, list)
        assert [one["transform"] for one in told if isinstance(one, dict)] == ["raw-and", "appropriateness", "weighted"]


class TestRefusals:
    PLAIN = make_task([5, 3])

    @pytest.mark.parametrize("name", ["raw-and", "no-failure", "k1-mechanical", "appropriateness"])
    def test_without_dimensions(self, name: Transform) -> None:
        with pytest.raises(SchemeError, match=f"^task 't': {name} needs dimensions and the task has none; compile"):
            bake(self.PLAIN, (name,))

    @pytest.mark.parametrize(
        "one", [None, "text", {"name": "a"}, {"name": "a", "description": 5}, {"name": "a", "description": " "}]
    )
    def test_without_a_text_for_one(self, one: Any) -> None:
        task = self.PLAIN.model_copy(update={"meta": {"k1": one}})
        with pytest.raises(SchemeError, match=r"^task 't': k1 needs a text that is made for it; compile with --texts"):
            bake(task, ("k1",))

    @pytest.mark.parametrize("restated", [None, ["a"], ["a", " "], ["a", 5]])
    def test_without_a_restated_text_for_each(self, restated: Any) -> None:
        task = self.PLAIN.model_copy(update={"meta": {"rewritten": restated}})
        with pytest.raises(SchemeError, match=r"^task 't': rewritten needs one restated text for each of the 2"):
            bake(task, ("rewritten",))

    def test_without_labels(self) -> None:
        bare = Rubric(criteria=(Criterion(text="a", weight=1),))
        with pytest.raises(SchemeError, match=r"^task 't', criterion 1: weighted needs one label on every criterion"):
            bake(self.PLAIN.model_copy(update={"rubric": bare}), ("weighted",))

    def test_where_nothing_positive_is_left(self) -> None:
        task = make_task([5, 3, -1], labels=["needless", "formatting", "normal"])
        with pytest.raises(SchemeError, match=r"^task 't': weighted leaves no criterion with a positive weight"):
            bake(task, ("weighted",))

    def test_where_a_weight_becomes_infinite(self) -> None:
        task = make_task([1e308], labels=["critical"])
        with pytest.raises(SchemeError, match=r"criterion 1: weighted makes the weight larger than a float can be"):
            bake(task, ("weighted",))

    @given(task=tasks(positive=False, with_protocol=None))
    @settings(max_examples=few_or(150))
    def test_what_the_scheme_refuses_cannot_be_baked_and_the_other_way_round(self, task: Task) -> None:
        for scheme, names, base in [control for control in CONTROLS[:6] if control[1] != ("k1",)]:
            note(f"{scheme}: {names}")
            try:
                make_scoring_plan(task, scheme)
                read_items(task, scheme)
            except SchemeError:
                # Of an all-negative rubric a sum is not defined; that it stays so is for the scheme to say.
                with pytest.raises(SchemeError):
                    make_scoring_plan(bake(task, names), base)
            else:
                make_scoring_plan(bake(task, names), base)


def test_the_samples_lose_nothing_but_their_failure_sentences() -> None:
    for answer in load_samples():
        assert answer.task.protocol is not None
        baked = bake(answer.task, ("no-failure",)).protocol
        assert baked is not None
        for before, after in zip(answer.task.protocol.dimensions, baked.dimensions, strict=True):
            assert after.description == remove_failure_clauses(before.description).text
            assert before.description.startswith(after.description)
            assert "Fails if" not in after.description


def test_a_plan_bakes_in_its_order_and_a_refusal_excludes_the_task() -> None:
    def process(task: Task, *transforms: Transform) -> Compiled:
        return run(CompileWorker(Compiler(None), CompilePlan("none", transforms=transforms)).run(task))

    task = make_task([5, 3], [[1], [2]])
    done = process(task, "raw-and", "appropriateness")
    assert (done.state, done.task) == ("kept", bake(task, ("raw-and", "appropriateness")))
    refused = process(task, "weighted", "raw-and")
    assert (refused.state, refused.reason) == (
        "excluded",
        "weighted drops criteria that raw-and needs",
    )
    assert refused.task.rubric == task.rubric
    assert refused.task.protocol == task.protocol
