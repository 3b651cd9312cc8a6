"""Mappings: rows of any shape, nothing lost in silence, and one proposed from the first rows of a file."""

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from prorubric import Task, load_tasks
from prorubric.datasets.listed import split_listed
from prorubric.datasets.mapped import MappedSource
from prorubric.datasets.mapping import MAPPINGS, load_built_in, load_mapping, make_mapping
from prorubric.datasets.suggest import suggest_mapping
from prorubric.errors import ConfigError, RubricError, SourceError
from tests.datasets.rows import ROWS, read, read_one, write_jsonl

SIMPLE: dict[str, Any] = {"prompt": "ask", "criteria": "checks", "text": "what", "weight": "worth"}

MADE_UP: dict[str, Any] = {
    "uid": "a1",
    "payload": {"user_request": "Plan a trip to Oslo", "lang": "en"},
    "grading": {
        "must_have": [{"label": "Names a hotel in the city", "pts": 3, "why": "They need to sleep"}],
        "penalties": [{"label": "Suggests a closed museum", "pts": -2, "why": "It is of no use"}],
    },
}


LEVELS = {"1": "Muddled", "5": "Clear"}
AT_BEST = "clarity\nHolds if the answer reaches this level: Clear", 1.0
SHAPES: list[Any] = [
    (
        {"sections": [{"Title": "Facts", "share": 0.5, "items": [{"text": "States the fee", "pts": 3}]}]},
        {
            "criteria": "sections.*.items",
            "text": "text",
            "weight": ["pts", "/sections.{key}.share"],
            "group": "/sections.{key}.Title",
        },
        [("States the fee", 1.5)],
    ),
    (
        {"plan": {"facts": ["States the fee"], "pitfalls": ["Is rude to them"]}},
        {"criteria": "plan.*", "group": "{key}", "polarity": {"at": "={key}", "bad": ["pitfalls"]}},
        [("States the fee", 1.0), ("Is rude to them", -1.0)],
    ),
    (
        {"facts": [{"what": "States the fee", "n": 2}], "pitfalls": [{"what": "Is rude to them", "n": 1}]},
        {
            "criteria": ["facts", {"at": "pitfalls", "polarity": "negative"}],
            "text": "what",
            "weight": "n",
            "group": "{key}",
        },
        [("States the fee", 2.0), ("Is rude to them", -1.0)],
    ),
    (
        {"scoring": {"clarity": LEVELS, "tone": LEVELS}},
        {"criteria": "scoring.*", "text": "={key}", "levels": ".", "met": "5"},
        [AT_BEST, (AT_BEST[0].replace("clarity", "tone"), 1.0)],
    ),
    (
        {"scoring": {"clarity": {"description": "How clear it is", "levels": LEVELS}, "tone": {"levels": LEVELS}}},
        {"criteria": "scoring.*", "text": ["={key}", "description"], "levels": "levels", "met": "5"},
        [
            (AT_BEST[0].replace("clarity", "clarity: How clear it is"), 1.0),
            (AT_BEST[0].replace("clarity", "tone"), 1.0),
        ],
    ),
    (
        {"grading_notes": json.dumps([{"what": "States the fee", "pts": 3}])},
        {"criteria": "grading_notes", "text": "what", "weight": "pts"},
        [("States the fee", 3.0)],
    ),
    (
        {"gold": "Dear bank", "notes": json.dumps(["States the fee", "Is short enough"])},
        {"criteria": "notes", "reference": "gold"},
        [("States the fee", 1.0), ("Is short enough", 1.0)],
    ),
    (
        {"points": {"States what the fee is": 2, "Is rude to the reader": -1}},
        {"criteria": "points.*", "text": "={key}", "weight": "."},
        [("States what the fee is", 2.0), ("Is rude to the reader", -1.0)],
    ),
    (
        {"rubric": [{"name": "Tone", "description": "Is kind to them", "importance": "must"}]},
        {"criteria": "rubric", "text": ["name", "description"], "weight": "importance", "words": {"must": 3.0}},
        [("Tone: Is kind to them", 3.0)],
    ),
    (
        {"rubric_texts": ["States the fee", "Is kind"], "rubric_shares": [0.75, 0.25]},
        {"criteria": "rubric_texts", "weight": "/rubric_shares.{index}"},
        [("States the fee", 0.75), ("Is kind", 0.25)],
    ),
    (
        {
            "spec": {
                "rules": [{"rule": "States the fee", "scoreIfTrue": 2}, {"rule": "Is very rude", "scoreIfTrue": -1}]
            }
        },
        {"criteria": "spec.rules", "text": "rule", "weight": "scoreIfTrue"},
        [("States the fee", 2.0), ("Is very rude", -1.0)],
    ),
    (
        {"grading": "- [ ] States the fee\n- [x] Is kind"},
        {"criteria": "grading"},
        [("States the fee", 1.0), ("Is kind", 1.0)],
    ),
    (
        {"rubric": [{"name": "Tone", "scale": [{"score": 1, "text": "Is rude"}, {"score": 2, "text": "Is kind"}]}]},
        {"criteria": "rubric", "text": "name", "levels": "scale.*.text", "met": "1"},
        [("Tone\nHolds if the answer reaches this level: Is kind", 1.0)],
    ),
]


def parse(row: dict[str, Any], **fields: Any) -> Task:
    return MappedSource(make_mapping(fields, "here")).parse(row)


def describe(task: Task) -> list[tuple[str, float, tuple[str, ...]]]:
    return [(c.text, c.weight, c.tags) for c in task.rubric.criteria]


@pytest.mark.parametrize("name", sorted(MAPPINGS))
def test_a_row_of_each_mapping_is_recognised_by_itself(tmp_path: Path, name: str) -> None:
    stream = load_tasks(write_jsonl(tmp_path / "rows.jsonl", ROWS[name]), strict=True)
    assert (len(list(stream)), stream.source.NAME if stream.source else None) == (1, name)


@pytest.mark.parametrize("name", sorted(MAPPINGS))
def test_the_mappings_that_come_along_use_every_field_of_their_rows(tmp_path: Path, name: str) -> None:
    stream = load_tasks(write_jsonl(tmp_path / "rows.jsonl", ROWS[name]), strict=True)
    list(stream)
    assert dict(stream.unused) == {}


class TestBuiltIn:
    def test_weights_of_dimensions_and_criteria_are_multiplied(self, tmp_path: Path) -> None:
        assert describe(read_one(tmp_path, ROWS["deepresearch"])) == [
            ("Cold climates: Says how they do at -15 °C.", 0.6, ("dimension:insight",)),
            ("Structure: Has a summary.", 0.4 * 0.75, ("dimension:readability",)),
            ("Tables: Compares in a table.", 0.4 * 0.25, ("dimension:readability",)),
        ]

    def test_criteria_that_are_sentences_weigh_one_each(self, tmp_path: Path) -> None:
        task = read_one(tmp_path, ROWS["vitabench"])
        assert describe(task) == [("Noodles are ordered", 1.0, ()), ("Nothing fried is ordered", 1.0, ())]
        assert task.messages[0].content == "Order noodles."

    def test_a_criterion_with_levels_holds_at_the_best_one_and_keeps_the_others(self, tmp_path: Path) -> None:
        task = read_one(tmp_path, ROWS["rubriceval"])
        assert task.rubric.criteria[0].text == "Wit\nHolds if the answer reaches this level: Makes one laugh."
        assert task.meta["levels"] == {
            "1": {"excellent": "Makes one laugh.", "good": "Makes one smile.", "poor": "Dull."}
        }
        assert (task.reference, task.id) == ("Boaty.", "4")

    def test_levels_may_be_fields_of_their_own(self, tmp_path: Path) -> None:
        task = read_one(tmp_path, ROWS["writingbench"])
        text = "Structure: Is it complete?\nHolds if the answer reaches this level: Whole."
        assert describe(task) == [(text, 1.0, ())]
        assert task.meta["levels"] == {"1": {"1-2": "No.", "5-6": "Half.", "9-10": "Whole."}}

    def test_leaves_of_a_tree_share_the_weight_of_their_parents_and_say_what_they_are_part_of(
        self, tmp_path: Path
    ) -> None:
        assert describe(read_one(tmp_path, ROWS["paperbench"])) == [
            (
                "It is downloaded.\nPart of: The data is there.",
                0.25,
                ("id:a1", "task_category:Code", "dimension:The data is there."),
            ),
            ("It is split.\nPart of: The data is there.", 0.5, ("id:a2", "dimension:The data is there.")),
            ("The model is trained.", 0.25, ("id:b", "dimension:2")),
        ]

    def test_json_in_strings_is_opened_even_twice(self, tmp_path: Path) -> None:
        task = read_one(tmp_path, ROWS["advancedif"])
        assert [c.text for c in task.rubric.criteria] == ["Is it a haiku?", "Is it about rain?"]
        assert [m.role for m in task.messages] == ["system", "user"]

    def test_prbench_takes_the_weight_of_the_class_and_not_a_stale_one(self, tmp_path: Path) -> None:
        task = read_one(tmp_path, ROWS["prbench"])
        assert task.rubric.weights == (9.0, -6.0)
        assert [(m.role, m.content) for m in task.messages] == [
            ("user", "How do I value a lease?"),
            ("assistant", "Which standard?"),
            ("user", "Reference text 1:\nA note.\n\nIFRS 16."),
        ]

    def test_words_stand_for_weights(self, tmp_path: Path) -> None:
        assert describe(read_one(tmp_path, ROWS["profbench"])) == [
            ("Gives the estimate.", 4.0, ("criterion_type:Reasoning",))
        ]

    def test_a_list_next_to_the_criteria_gives_their_tags(self, tmp_path: Path) -> None:
        task = read_one(tmp_path, ROWS["infobench"])
        assert [c.tags for c in task.rubric.criteria] == [
            ("question_label:Content",),
            ("question_label:Number", "question_label:Format"),
        ]
        assert task.messages[0].content == "Write a slogan of five words.\n\nFor tea."

    def test_a_question_that_passes_with_no_is_a_behaviour_to_avoid(self, tmp_path: Path) -> None:
        row = ROWS["multichallenge"]
        assert read_one(tmp_path, row).rubric.weights == (-1.0,)
        assert read_one(tmp_path, {**row, "PASS_CRITERIA": "YES"}).rubric.weights == (1.0,)

    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("wildchecklists", [("Is it a haiku?", 100.0), ("Is snow the topic?", 90.0)]),
            (
                "frontierscience",
                [("Names the side reaction.", 1.0), ("Gives a control\nthat rules out water.", 0.5)],
            ),
            ("openrubrics", [("The response is two lines long.", 1.0), ("The response sounds warm.", 0.7)]),
            ("plawbench", [("结论正确。", 5.0)]),
        ],
    )
    def test_rubrics_in_prose_are_split(self, tmp_path: Path, name: str, expected: list[tuple[str, float]]) -> None:
        assert [(c.text, c.weight) for c in read_one(tmp_path, ROWS[name]).rubric.criteria] == expected

    def test_a_reference_without_items_is_not_taken_for_a_rubric(self, tmp_path: Path) -> None:
        row = {**ROWS["frontierscience"], "answer": "42 kJ/mol"}
        tasks, rejects = read(write_jsonl(tmp_path / "rows.jsonl", row))
        assert (tasks, [r.kind for r in rejects]) == ([], ["the rubric is text without items"])

    def test_the_system_prompt_is_a_message_of_its_own(self, tmp_path: Path) -> None:
        messages = read_one(tmp_path, ROWS["biggen"]).messages
        assert [(m.role, m.content) for m in messages] == [
            ("system", "You plan trips."),
            ("user", "Plan a day in Oslo."),
        ]


class TestRealFiles:
    @pytest.mark.parametrize(
        ("file", "tasks", "criteria"),
        [
            ("deep_research_bench/criteria.jsonl", 100, 2517),
            ("researchqa/valid.json", 703, 5230),
            ("vitabench/delivery_en.json", 100, 735),
            ("writingbench/benchmark_all.jsonl", 1000, 5000),
            ("paperbench/rice.json", 1, 361),
            ("paperbench/all-in-one.json", 1, 174),
        ],
    )
    def test_every_task_and_criterion_is_read(self, shared_data: Path, file: str, tasks: int, criteria: int) -> None:
        found = list(load_tasks(shared_data / file, strict=True))
        assert (len(found), sum(len(task.rubric) for task in found)) == (tasks, criteria)

    @pytest.mark.parametrize("file", ["deep_research_bench/criteria.jsonl", "paperbench/rice.json"])
    def test_shares_add_up_to_one(self, shared_data: Path, file: str) -> None:
        assert all(
            sum(task.rubric.weights) == pytest.approx(1, abs=1e-9)
            for task in load_tasks(shared_data / file, strict=True)
        )

    def test_a_row_without_a_prompt_is_the_only_reject_of_rubriceval(self, shared_data: Path) -> None:
        tasks, rejects = read(shared_data / "rubriceval/hard.json")
        assert (len(tasks), [r.kind for r in rejects]) == (118, ["prompt: nothing at instruction"])


class TestMapping:
    def test_flags_turn_weights_negative(self) -> None:
        row = {"ask": "Why?", "checks": [{"what": "Lies", "good": False}, {"what": "Explains", "good": True}]}
        task = parse(row, prompt="ask", criteria="checks", text="what", polarity={"at": "good", "bad": [False]})
        assert task.rubric.weights == (-1.0, 1.0)

    def test_words_for_polarity_are_compared_without_case(self) -> None:
        row = {
            "ask": "Why?",
            "checks": [{"what": "Lies", "kind": "Pitfall", "worth": 2}, {"what": "Explains", "worth": 1}],
        }
        task = parse(row, **SIMPLE, polarity={"at": "kind", "bad": ["pitfall"]})
        assert task.rubric.weights == (-2.0, 1.0)

    def test_wording_decides_what_a_minus_means_and_marks_what_it_cannot_decide(self) -> None:
        texts = ["Does not mention sepsis", "Does not suggest delaying fluids", "Does not use a calculator", "Is rude"]
        row = {"ask": "Why?", "checks": [{"what": text, "worth": -1} for text in texts]}
        criteria = parse(row, **SIMPLE, polarity="wording").rubric.criteria
        assert [c.weight for c in criteria] == [-1.0, 1.0, -1.0, -1.0]
        assert [c.tags for c in criteria] == [(), (), ("polarity:undecided",), ()]

    def test_an_undecided_polarity_is_a_reject_where_reading_is_strict(self, tmp_path: Path) -> None:
        row = {"ask": "Why?", "checks": [{"what": "Does not use a calculator", "worth": -1}]}
        path = write_jsonl(tmp_path / "rows.jsonl", row)
        options = ["prompt=ask", "criteria=checks", "text=what", "weight=worth", "polarity=wording"]
        assert len(list(load_tasks(path, map=options))) == 1
        with pytest.raises(SourceError, match="criterion 1: the wording does not say whether"):
            list(load_tasks(path, map=options, strict=True))

    def test_groups_become_dimensions_if_asked(self) -> None:
        row = {"ask": "Why?", "checks": {"style": [{"what": "Short"}], "truth": [{"what": "True"}, {"what": "Cited"}]}}
        task = parse(row, prompt="ask", criteria="checks.*", text="what", group="{key}", dimensions=True)
        assert task.protocol is not None
        assert [(d.name, d.indices) for d in task.protocol.dimensions] == [("style", (1,)), ("truth", (2, 3))]
        assert task.protocol.dimensions[1].description == (
            "All of the following must hold: True; Cited. Fails if any of them does not hold."
        )

    def test_a_criterion_without_a_group_makes_no_dimensions_in_silence(self) -> None:
        row = {"ask": "Why?", "checks": [{"what": "a b", "part": "style"}, {"what": "c d"}]}
        with pytest.raises(RubricError, match="criterion 2: the criterion has no group"):
            parse(row, prompt="ask", criteria="checks", text="what", group="part", dimensions=True)

    def test_a_weight_that_is_true_is_not_a_number(self) -> None:
        with pytest.raises(RubricError, match=r"the weight at worth is not a number \(True\)"):
            parse({"ask": "Why?", "checks": [{"what": "a b", "worth": True}]}, **SIMPLE)

    def test_shares_of_a_flat_list_add_up_to_one(self) -> None:
        row = {"ask": "Why?", "checks": [{"what": "a b", "worth": 3}, {"what": "c d", "worth": 1}]}
        assert parse(row, **SIMPLE, shares=True).rubric.weights == (0.75, 0.25)

    SECTIONS: ClassVar[dict[str, Any]] = {
        "ask": "Why?",
        "parts": [
            {"title": "Law", "share": 0.75, "checks": [{"what": "Cites it", "share": 1}]},
            {
                "title": "Tone",
                "share": 0.25,
                "checks": [{"what": "Is calm", "share": 0.5}, {"what": "Is kind", "share": 0.5}],
            },
        ],
    }

    def test_the_key_of_a_list_leads_back_to_the_same_entry(self) -> None:
        task = parse(
            self.SECTIONS,
            prompt="ask",
            criteria="parts.*.checks",
            text="what",
            weight=["share", "/parts.{key}.share"],
            group="/parts.{key}.title",
        )
        assert describe(task) == [
            ("Cites it", 0.75, ("dimension:Law",)),
            ("Is calm", 0.125, ("dimension:Tone",)),
            ("Is kind", 0.125, ("dimension:Tone",)),
        ]

    def test_a_tree_with_several_roots_shares_among_them_and_keeps_what_it_does_not_use(self) -> None:
        fields = {"prompt": "ask", "criteria": "parts", "text": "what", "weight": "share", "children": "checks"}
        source = MappedSource(make_mapping({**fields, "shares": True}, "here"))
        assert describe(source.parse(self.SECTIONS)) == [
            ("Cites it", 0.75, ("title:Law",)),
            ("Is calm", 0.125, ("title:Tone",)),
            ("Is kind", 0.125, ("title:Tone",)),
        ]
        assert dict(source.unused) == {"criteria: title": 3}

    def test_fields_next_to_the_lists_of_criteria_are_kept_and_counted(self) -> None:
        source = MappedSource(make_mapping({"prompt": "ask", "criteria": "parts.*.checks", "text": "what"}, "here"))
        task = source.parse(self.SECTIONS)
        assert task.meta == {
            "parts.0.title": "Law",
            "parts.0.share": 0.75,
            "parts.1.title": "Tone",
            "parts.1.share": 0.25,
        }
        assert dict(source.unused) == {"parts.*.title": 1, "parts.*.share": 1, "criteria: share": 3}

    def test_the_rows_of_a_table_that_are_criteria_become_one_task_for_each_id(self, tmp_path: Path) -> None:
        path = tmp_path / "tickets.csv"
        lines = ("ticket,said,check,worth,by", "T1,Late?,Says when,3,ann", "T2,Lost?,Says where,1,bob")
        path.write_text("\n".join((*lines, "T1,Late?,Says sorry,2,bob\n")))
        mapping = ("id=ticket", "prompt=said", "criteria=.", "text=check", "weight=worth")
        stream = load_tasks(path, map=mapping, strict=True)
        assert [(task.id, describe(task)) for task in stream] == [
            ("T1", [("Says when", 3.0, ("by:ann",)), ("Says sorry", 2.0, ("by:bob",))]),
            ("T2", [("Says where", 1.0, ("by:bob",))]),
        ]

    def test_a_task_of_a_table_is_rejected_if_one_of_its_rows_is(self, tmp_path: Path) -> None:
        path, rejects = tmp_path / "tickets.csv", list[Any]()
        path.write_text("id,said,check\na,One?,Says so\nb,Two?,Says it\na,One?\nb,Three?,Says why\nc,Four?,Says how\n")
        stream = load_tasks(path, map=("id=id", "prompt=said", "criteria=.", "text=check"), on_reject=rejects.append)
        assert [task.id for task in stream] == ["c"]
        assert [(reject.line, reject.kind) for reject in rejects] == [
            (2, "wrong number of cells"),
            (3, "two prompts have the same id"),
        ]

    def test_rows_of_jsonl_that_are_criteria_are_joined_as_those_of_a_table(self, tmp_path: Path) -> None:
        rows = [
            {"said": said, "check": check} for said, check in (("Late?", "a b"), ("Lost?", "c d"), ("Late?", "e f"))
        ]
        stream = load_tasks(
            write_jsonl(tmp_path / "rows.jsonl", *rows), map=("prompt=said", "criteria=.", "text=check")
        )
        assert [(task.messages[0].content, [c.text for c in task.rubric.criteria]) for task in stream] == [
            ("Late?", ["a b", "e f"]),
            ("Lost?", ["c d"]),
        ]

    def test_criteria_in_several_places_have_their_own_parts(self) -> None:
        row = {
            "ask": "Why?",
            "dims": [{"criteria": [{"what": "Explains", "pts": 2}]}, {"criteria": [{"what": "Is brief", "pts": 1}]}],
            "pitfalls": [{"label": "Is rude", "cost": 3}, "Lies"],
        }
        pitfalls = {"at": "pitfalls", "text": "label", "weight": "cost", "polarity": "negative", "group": "=avoid"}
        task = parse(row, prompt="ask", criteria=["dims.*.criteria", pitfalls], text="what", weight="pts")
        assert describe(task) == [
            ("Explains", 2.0, ()),
            ("Is brief", 1.0, ()),
            ("Is rude", -3.0, ("dimension:avoid",)),
            ("Lies", -1.0, ("dimension:avoid",)),
        ]
        assert task.meta == {}

    def test_several_places_as_pairs_give_their_names_to_groups(self, tmp_path: Path) -> None:
        path = write_jsonl(tmp_path / "rows.jsonl", {"ask": "Why?", "truth": ["Cites"], "style": "Is brief"})
        (task,) = load_tasks(path, map=("prompt=ask", "criteria=truth+style", "group={key}"), strict=True)
        assert describe(task) == [("Cites", 1.0, ("dimension:truth",)), ("Is brief", 1.0, ("dimension:style",))]

    def test_an_unknown_field_of_a_place_is_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"no such field \('wieght'\); did you mean weight\?"):
            make_mapping({"prompt": "ask", "criteria": [{"at": "checks", "wieght": "w"}]}, "here")

    def test_criteria_by_name_take_their_names_and_numbers_as_texts_and_weights(self) -> None:
        row = {"ask": "Why?", "points": {"Says. why": 2, "Is rude": -1}, "notes": {"tone": "Is calm", "form": ""}}
        weighed = {"at": "points.*", "text": "={key}", "weight": "."}
        task = parse(row, prompt="ask", criteria=[weighed, "notes.*"], text=["={key}", "."])
        assert describe(task) == [("Says. why", 2.0, ()), ("Is rude", -1.0, ()), ("tone: Is calm", 1.0, ())]

    def test_numbered_columns_are_criteria_with_weights_in_other_columns(self) -> None:
        row = {"ask": "Why?", "crit_1": "Cites", "w_1": "3 pts", "crit_2": "Is brief", "w_2": "40%"}
        source = MappedSource(make_mapping({"prompt": "ask", "criteria": "crit_*", "weight": "/w_{key}"}, "here"))
        assert describe(source.parse(row)) == [("Cites", 3.0, ()), ("Is brief", 40.0, ())]
        assert dict(source.unused) == {}

    @pytest.mark.parametrize("levels", [".", ["1", "5"], "*"])
    def test_a_criterion_may_be_its_levels_and_holds_at_the_highest(self, levels: Any) -> None:
        row = {"ask": "Why?", "rubric": {"clarity": {"5": "Is clear", "1": "Is muddled"}}}
        source = MappedSource(
            make_mapping({"prompt": "ask", "criteria": "rubric.*", "text": "={key}", "levels": levels}, "here")
        )
        task = source.parse(row)
        assert describe(task) == [("clarity\nHolds if the answer reaches this level: Is clear", 1.0, ())]
        assert task.meta == {"levels": {"1": {"5": "Is clear", "1": "Is muddled"}}}
        assert dict(source.unused) == {}

    def test_the_key_of_a_list_of_criteria_can_say_what_is_bad(self) -> None:
        row = {"ask": "Why?", "checks": {"must": ["Cites"], "avoid": ["Is rude"]}}
        task = parse(row, prompt="ask", criteria="checks.*", polarity={"at": "={key}", "bad": ["avoid"]})
        assert task.rubric.weights == (1.0, -1.0)

    def test_rows_inside_one_object_are_tasks_with_what_stands_next_to_them(self, tmp_path: Path) -> None:
        path, rejects = tmp_path / "rows.json", list[Any]()
        path.write_text(
            json.dumps(
                {"team": "us", "cases": {"a": {"ask": "Why?", "checks": ["Says why"]}, "b": 3, "c": {"ask": "How?"}}}
            )
        )
        mapping = ("rows=cases", "id=key", "prompt=ask", "criteria=checks")
        tasks = list(load_tasks(path, map=mapping, on_reject=rejects.append))
        assert [(task.id, task.meta) for task in tasks] == [("a", {"team": "us"})]
        assert [(reject.line, reject.kind) for reject in rejects] == [
            (2, "no row at cases"),
            (3, "there are no criteria"),
        ]

    def test_a_question_mark_makes_any_path_optional_and_a_column_may_end_in_one(self) -> None:
        mapping = make_mapping(
            {"prompt": ["context?", "ask?"], "criteria": "checks", "text": ["what", "more?"], "reference": "Sure?"},
            "here",
        )
        source = MappedSource(mapping)
        task = source.parse({"ask": "Why?", "checks": [{"what": "a b"}, {"what": "c d", "more": "e"}], "Sure?": "Yes"})
        assert [c.text for c in task.rubric.criteria] == ["a b", "c d: e"]
        assert (task.messages[0].content, task.reference, dict(source.unused)) == ("Why?", "Yes", {})

    def test_words_may_be_pairs(self) -> None:
        mapping = load_mapping(("prompt=ask", "criteria=checks", "weight=worth", "words=high:3+must have:5"))
        assert mapping.words == {"high": 3.0, "must have": 5.0}
        with pytest.raises(
            ConfigError, match=r"words: not a word with its weight \('high'\); give pairs such as high:3"
        ):
            load_mapping(("prompt=ask", "criteria=checks", "words=high"))

    def test_an_empty_constant_is_not_a_prompt(self) -> None:
        with pytest.raises(ConfigError, match="the prompt is an empty constant; write it after the ="):
            make_mapping({"prompt": "=", "criteria": "checks"}, "here")

    def test_a_constant_is_a_prompt_where_the_file_has_none(self) -> None:
        task = parse({"checks": ["Says why"]}, prompt="=Reproduce the paper.", criteria="checks")
        assert task.messages[0].content == "Reproduce the paper."

    def test_what_is_not_used_is_kept_and_counted(self) -> None:
        source = MappedSource(make_mapping(SIMPLE, "here"))
        row = {
            "ask": "Why?",
            "context": "A long story.",
            "nested": {"score": 3},
            "empty": "",
            "checks": [{"what": "Says why", "worth": 1, "score": 5}, {"what": "Says how", "worth": 1}],
        }
        task = source.parse(row)
        assert dict(source.unused) == {"context": 1, "nested": 1, "criteria: score": 1}
        assert task.meta == {"context": "A long story.", "nested": {"score": 3}}
        assert task.rubric.criteria[0].tags == ("score:5",)
        assert task.rubric.weights == (1.0, 1.0)  # a score is what an answer got, and never a weight

    def test_what_is_dropped_is_not_kept_and_counted_by_itself(self) -> None:
        source = MappedSource(make_mapping({**SIMPLE, "drop": ["context"]}, "here"))
        task = source.parse({"ask": "Why?", "context": "x", "checks": [{"what": "Says why", "worth": 1}]})
        assert (task.meta, dict(source.unused), dict(source.dropped)) == ({}, {}, {"context": 1})

    def test_a_part_of_an_object_that_is_used_leaves_the_rest_of_it(self) -> None:
        source = MappedSource(make_mapping({"prompt": "q.text", "criteria": "q.checks"}, "here"))
        task = source.parse({"q": {"text": "Why?", "checks": ["Says why"], "author": "me"}})
        assert (dict(source.unused), task.meta) == ({"q.author": 1}, {"q.author": "me"})

    @pytest.mark.parametrize(
        ("row", "expected"),
        [
            ({"checks": [{"what": "a", "worth": 1}]}, "prompt: nothing at ask (among checks); correct the path"),
            ({"ask": "Why?", "x": 1}, "there are no criteria (at checks); correct the path in criteria"),
            ({"ask": "Why?", "checks": [{"worth": 1}]}, "criterion 1: no text (at what among worth); correct text"),
            (
                {"ask": "Why?", "checks": [{"what": "a b", "worth": "much"}]},
                "criterion 1: the weight at worth is not a number ('much'); give a number, or set words",
            ),
        ],
    )
    def test_a_path_that_leads_nowhere_is_named(self, row: dict[str, Any], expected: str) -> None:
        with pytest.raises(RubricError) as caught:
            parse(row, **SIMPLE)
        assert str(caught.value) == expected

    def test_an_unknown_field_gets_the_nearest_name(self) -> None:
        with pytest.raises(ConfigError, match=r"here: .*no such field \('promt'\); did you mean prompt\?"):
            make_mapping({"promt": "ask", "criteria": "checks"}, "here")
        with pytest.raises(
            ConfigError, match=r"--map wieght=w: a mapping has no field 'wieght'; did you mean weight\?"
        ):
            load_mapping(("wieght=w",))

    @pytest.mark.parametrize(
        ("pairs", "expected"),
        [
            (("prompt=ask",), "a mapping needs criteria"),
            (("prompt=ask", "criteria=checks", "shares=perhaps"), "shares: Input should be a valid boolean"),
        ],
    )
    def test_pairs_that_are_wrong_or_too_few_are_refused(self, pairs: tuple[str, ...], expected: str) -> None:
        with pytest.raises(ConfigError, match=expected):
            load_mapping(pairs)

    def test_pairs_change_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "mapping.yaml"
        path.write_text("prompt: ask\ncriteria: checks\ntext: what\n")
        mapping = load_mapping(("text=name+details", str(path)))
        assert (mapping.prompt, mapping.text) == (("ask",), ("name", "details"))

    def test_a_mapping_and_a_format_exclude_each_other(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="--map describes the layout, and --format rar names another"):
            load_tasks(write_jsonl(tmp_path / "rows.jsonl", ROWS["rar"]), "rar", map=["prompt=question"])

    def test_a_missing_mapping_file_is_one_clear_line(self) -> None:
        with pytest.raises(ConfigError, match=r"--map nowhere.yaml: no such file; give a mapping file, or pairs"):
            load_mapping(("nowhere.yaml",))

    def test_every_mapping_that_comes_along_can_be_loaded(self) -> None:
        assert len(MAPPINGS) >= 17
        assert all(load_built_in(name).fits for name in MAPPINGS)


class TestListed:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("1. First\n2. Second", [("First", 1.0), ("Second", 1.0)]),
            ("- First\n- Second\n  and more", [("First", 1.0), ("Second\n  and more", 1.0)]),
            ("Points: 2, Item: First\nPoints: -1.5, Item: Second", [("First", 2.0), ("Second", -1.5)]),
            ("1) Points: 2, Item: First\n2) Points: 3; Criterion: Second", [("First", 2.0), ("Second", 3.0)]),
            ("总分：5分\n1.（+3分）甲\n2.（+2分）乙", [("甲", 3.0), ("乙", 2.0)]),
            ("Uses 1.5 mg\nNames the drug", [("Uses 1.5 mg", 1.0), ("Names the drug", 1.0)]),
            ("1. Gives the dose,\n1.5 mg a day", [("Gives the dose,\n1.5 mg a day", 1.0)]),
        ],
    )
    def test_items_are_told_apart(self, text: str, expected: list[tuple[str, float]]) -> None:
        assert split_listed(text) == expected


class TestSuggest:
    def test_a_shape_nobody_prepared_for_is_read(self, tmp_path: Path) -> None:
        path = write_jsonl(tmp_path / "rows.jsonl", MADE_UP, {**MADE_UP, "uid": "a2"})
        found = suggest_mapping(path)
        assert found.fields == {
            "id": "uid",
            "prompt": "payload.user_request",
            "criteria": "grading.*",
            "text": "label",
            "weight": "pts",
            "group": "{key}",
        }
        assert describe(found.tasks[0]) == [
            ("Names a hotel in the city", 3.0, ("why:They need to sleep", "dimension:must_have")),
            ("Suggests a closed museum", -2.0, ("why:It is of no use", "dimension:penalties")),
        ]
        assert found.unused == {"criteria: why": 4, "payload.lang": 2}

    @pytest.mark.parametrize(
        ("file", "expected"),
        [
            ("deep_research_bench/criteria.jsonl", {"criteria": "criterions.*", "group": "{key}"}),
            ("vitabench/delivery_en.json", {"prompt": "instructions"}),
            ("rubriceval/hard.json", {"levels": "performance_to_description", "weight": "weight"}),
            ("paperbench/rice.json", {"children": "sub_tasks", "shares": True}),
            ("scholarqa/test_configs_snippets.json", {"criteria": "metric_config.config.other_properties"}),
        ],
    )
    def test_real_files_are_read_as_proposed(self, shared_data: Path, file: str, expected: dict[str, Any]) -> None:
        found = suggest_mapping(shared_data / file)
        assert found.tasks
        assert found.fields.items() >= expected.items()

    def test_shares_of_groups_are_found(self, shared_data: Path) -> None:
        found = suggest_mapping(shared_data / "deep_research_bench/criteria.jsonl")
        assert found.fields["weight"] == ["weight", "/dimension_weight.{key}"]

    def test_a_rubric_in_prose_is_found_by_its_items_whatever_it_is_called(self, tmp_path: Path) -> None:
        rows = [
            {
                "case": {"customer_message": "My parcel is late."},
                "scoring": "1. Apologises\n2. Gives a link",
                "by": "me",
            },
            {
                "case": {"customer_message": "Can I return it?"},
                "scoring": "1. States the rule\n2. Is kind",
                "by": "you",
            },
        ]
        found = suggest_mapping(write_jsonl(tmp_path / "rows.jsonl", *rows))
        assert found.fields == {"prompt": "case.customer_message", "criteria": "scoring"}
        assert [c.text for c in found.tasks[1].rubric.criteria] == ["States the rule", "Is kind"]

    @pytest.mark.parametrize(("rubric", "expected", "criteria"), SHAPES)
    def test_criteria_are_found_by_their_shape(
        self, tmp_path: Path, rubric: Any, expected: dict[str, Any], criteria: list[tuple[str, float]]
    ) -> None:
        rows = [{"body": f"Write a letter to the {whom} about fees.", **rubric} for whom in ("bank", "shop")]
        found = suggest_mapping(write_jsonl(tmp_path / "rows.jsonl", *rows))
        assert found.fields == {"prompt": "body", **expected}
        assert [(c.text, c.weight) for c in found.tasks[1].rubric.criteria] == criteria
        assert (found.note, found.rejected) == (None, {})

    @pytest.mark.parametrize(
        ("lines", "expected", "criteria"),
        [
            (
                ("question,criterion_1,criterion_2", "How long?,Says how long,Is brief", "How hot?,Says how hot,"),
                {"prompt": "question", "criteria": "criterion_*"},
                [("Says how hot", 1.0)],
            ),
            (
                ("question,crit1,w1,crit2,w2", "How?,Says how,3,Is brief,1", "Why?,Says why,2,Is kind,1"),
                {"prompt": "question", "criteria": "crit*", "weight": "/w{key}"},
                [("Says why", 2.0), ("Is kind", 1.0)],
            ),
            (
                (
                    "Question,Accuracy,Style",
                    "How long?,Says how long,Is short and clear",
                    "How?,Says how it is,Is brief",
                ),
                {"prompt": "Question", "criteria": ["Accuracy", "Style"], "group": "{key}"},
                [("Says how it is", 1.0), ("Is brief", 1.0)],
            ),
            (
                (
                    "ticket,said,check,worth",
                    "T1,Where is it now?,Says where it is,3",
                    "T2,When is it there?,Says when,2",
                    "T2,When is it there?,Says sorry for it,1",
                ),
                {"id": "ticket", "prompt": "said", "criteria": ".", "text": "check", "weight": "worth"},
                [("Says when", 2.0), ("Says sorry for it", 1.0)],
            ),
            (
                (
                    "case no,customer says,do 1,do 2,dont 1",
                    "1,It is late.,Says when,Says why,Is rude",
                    "2,It is lost.,Says where,Says sorry,Blames the customer",
                ),
                {
                    "id": "case no",
                    "prompt": "customer says",
                    "criteria": ["do *", {"at": "dont 1", "polarity": "negative"}],
                },
                [("Says where", 1.0), ("Says sorry", 1.0), ("Blames the customer", -1.0)],
            ),
            (
                (
                    "Scenario,Requirement,Is negative",
                    "Explain it to me.,Uses an example,no",
                    "Write a poem.,Has rhymes,no",
                    "Write a poem.,Is in prose,yes",
                ),
                {
                    "prompt": "Scenario",
                    "criteria": ".",
                    "text": "Requirement",
                    "polarity": {"at": "Is negative", "bad": ["yes"]},
                },
                [("Has rhymes", 1.0), ("Is in prose", -1.0)],
            ),
            (
                ("question,rubric", "How?,Says how; Is brief", "Why?,Says why; Is kind; Cites"),
                {"prompt": "question", "criteria": "rubric", "split_at": ";"},
                [("Says why", 1.0), ("Is kind", 1.0), ("Cites", 1.0)],
            ),
        ],
    )
    def test_columns_of_a_table_are_criteria_or_their_parts(
        self, tmp_path: Path, lines: tuple[str, ...], expected: dict[str, Any], criteria: list[tuple[str, float]]
    ) -> None:
        path = tmp_path / "rows.csv"
        path.write_text("\n".join(lines) + "\n")
        found = suggest_mapping(path)
        assert found.fields == expected
        assert [(c.text, c.weight) for c in found.tasks[1].rubric.criteria] == criteria

    def test_a_rubric_without_a_prompt_leaves_one_line_to_write(self, tmp_path: Path) -> None:
        path = tmp_path / "rubric.json"
        path.write_text(json.dumps({"clarity": {"1": "Muddled", "5": "Clear"}, "tone": {"1": "Rude", "5": "Kind"}}))
        found = suggest_mapping(path)
        assert found.fields == {"prompt": "=", "criteria": "*", "text": "={key}", "levels": ".", "met": "5"}
        assert found.note == "no field looks like a prompt"
        (task,) = load_tasks(path, map=["prompt==Why?", "criteria=*", "text=={key}", "levels=.", "met=5"], strict=True)
        assert [c.text for c in task.rubric.criteria] == [
            "clarity\nHolds if the answer reaches this level: Clear",
            "tone\nHolds if the answer reaches this level: Kind",
        ]

    def test_columns_of_levels_are_levels_and_not_prompts(self, tmp_path: Path) -> None:
        path = tmp_path / "teacher.csv"
        path.write_text("Trait,Excellent (4),Poor (1),Max pts\nOrder,Clear from start to end,None at all,4\n")
        path.write_text(path.read_text() + "Evidence,Cites two sources,Cites nothing at all,2\n")
        found = suggest_mapping(path)
        assert found.fields == {
            "prompt": "=",
            "criteria": ".",
            "text": "Trait",
            "weight": "Max pts",
            "levels": ["Excellent (4)", "Poor (1)"],
            "met": "Excellent (4)",
        }
        assert [c.weight for c in found.tasks[0].rubric.criteria] == [4.0, 2.0]

    def test_rows_inside_an_object_are_found(self, tmp_path: Path) -> None:
        path = tmp_path / "rows.json"
        cases = {name: {"question": f"Why {name}?", "checks": ["Says why", "Is brief"]} for name in ("red", "blue")}
        path.write_text(json.dumps({"version": 2, "cases": cases}))
        found = suggest_mapping(path)
        assert found.fields == {"rows": "cases", "id": "key", "prompt": "question", "criteria": "checks"}
        assert [task.id for task in found.tasks] == ["red", "blue"]
        assert found.unused == {"version": 2}

    def test_a_file_without_criteria_gets_a_skeleton_with_what_the_rows_hold(self, tmp_path: Path) -> None:
        row = {"prompt": "Why?", "answer": "So.", "scores": [{"by": 3}]}
        found = suggest_mapping(write_jsonl(tmp_path / "rows.jsonl", row))
        assert (found.fields, found.tasks) == ({"prompt": "prompt"}, ())
        assert found.note == "no field looks like a list of criteria"
        assert found.places == {
            "prompt": "text, about 1 word, 1 different",
            "answer": "text, about 1 word, 1 different",
            "scores": "list with by",
            "scores.*.by": "number",
        }

    def test_what_is_proposed_can_be_used_as_a_file(self, tmp_path: Path) -> None:
        path, mapping = write_jsonl(tmp_path / "rows.jsonl", MADE_UP), tmp_path / "mapping.json"
        mapping.with_suffix(".yaml").write_text(json.dumps(suggest_mapping(path).fields))
        assert len(list(load_tasks(path, map=[str(mapping.with_suffix(".yaml"))], strict=True))) == 1


def test_points_behind_the_items_of_a_text_are_their_weights_with_their_signs() -> None:
    text = "1. Calls a doctor (5 points)\n2. Names a dose [1.5 pts].\n3. Frightens the parent (-2 points)"
    assert split_listed(text) == [("Calls a doctor", 5.0), ("Names a dose", 1.5), ("Frightens the parent", -2.0)]
    assert split_listed("- Beats them (3 points)\n- Names the coach") == [
        ("Beats them (3 points)", 1.0),
        ("Names the coach", 1.0),
    ]


def test_criteria_by_name_do_not_take_in_what_stands_next_to_them(tmp_path: Path) -> None:
    rows = [
        {
            "example": {"id": f"x{number}", "input": {"messages": [{"role": "user", "content": f"How do I {what}?"}]}},
            "grading": {"must": [f"Says how to {what}", "Warns of the risks"], "nice": ["Offers more help"]},
        }
        for number, what in enumerate(("reset a router", "change a tyre"))
    ]
    found = suggest_mapping(write_jsonl(tmp_path / "rows.jsonl", *rows))
    assert found.fields == {"prompt": "example.input.messages", "criteria": "grading.*", "group": "{key}"}
    assert [criterion.text for criterion in found.tasks[0].rubric.criteria] == [
        "Says how to reset a router",
        "Warns of the risks",
        "Offers more help",
    ]
