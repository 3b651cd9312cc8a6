"""`plain`: rubric files as people write them, in every combination of their names."""

import csv
import json
from datetime import date
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from prorubric import Task, load_tasks
from prorubric.datasets.sources.plain import EXAMPLE, EXAMPLE_TABLE
from prorubric.errors import SourceError
from prorubric.rubric.forms import render_task
from tests.datasets.rows import read, read_one, reject_one, write_jsonl

PROMPTS = ("prompt", "question", "query", "messages")
RUBRICS = ("rubric", "rubrics", "criteria", "checklist")
TEXTS = ("criterion", "text", "description", None)
"""How a criterion calls its text; None for criteria that are texts themselves."""
WEIGHTS = ("weight", "points", None)
NAMES = ("id", None)
SHAPES = [shape for shape in product(PROMPTS, RUBRICS, TEXTS, WEIGHTS, NAMES) if shape[2] or not shape[3]]

CRITERIA = [("Says: no", 3), ("Sells something", -2)]


def make_row(shape: tuple[str | None, ...], number: int) -> dict[str, Any]:
    prompt, rubric, text, weight, name = shape
    asked = f"Is {number} safe?"
    entries: list[Any] = [
        {text: words, **({weight: points} if weight else {})} if text else words for words, points in CRITERIA
    ]
    row = {str(prompt): [{"role": "user", "content": asked}] if prompt == "messages" else asked, str(rubric): entries}
    return {**({name: f"t{number}"} if name else {}), **row}


def write_file(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        return write_jsonl(path, *rows)
    path.write_text(json.dumps(rows) if path.suffix == ".json" else yaml.safe_dump(rows), encoding="utf-8")
    return path


def check(tasks: list[Task], shape: tuple[str | None, ...]) -> None:
    assert [[(m.role, m.content) for m in task.messages] for task in tasks] == [
        [("user", "Is 1 safe?")],
        [("user", "Is 2 safe?")],
    ]
    weights = [(text, weight if shape[3] else 1) for text, weight in CRITERIA]
    assert [[(c.text, c.weight, c.tags) for c in task.rubric.criteria] for task in tasks] == [
        [(text, weight, ()) for text, weight in weights]
    ] * 2
    assert [task.id for task in tasks] == ["t1", "t2"] if shape[4] else len({task.id for task in tasks}) == 2
    assert [(task.source, task.meta) for task in tasks] == [(None, {})] * 2


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".yaml"])
def test_every_combination_of_names_is_read_without_a_format(tmp_path: Path, suffix: str) -> None:
    for shape in SHAPES:
        path = write_file(tmp_path / f"t{suffix}", [make_row(shape, 1), make_row(shape, 2)])
        check(list(load_tasks(path, strict=True)), shape)
    assert len(SHAPES) == 4 * 4 * (3 * 3 + 1) * 2


@pytest.mark.parametrize("shuffled", [False, True])
def test_every_combination_of_columns_is_read_from_a_table(tmp_path: Path, shuffled: bool) -> None:
    shapes = list(product(PROMPTS[:3], RUBRICS, (*TEXTS[:3], "rubric column"), WEIGHTS, NAMES))
    for shape in shapes:
        prompt, rubric, text, weight, name = shape
        rows = [
            {
                **({name: f"t{number}"} if name else {}),
                prompt: f"Is {number} safe?",
                rubric if text == "rubric column" else text: words,
                **({weight: points} if weight else {}),
            }
            for number in (1, 2)
            for words, points in CRITERIA
        ]
        if shuffled:
            rows = [rows[0], rows[2], rows[1], rows[3]]
        with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        check(list(load_tasks(tmp_path / "t.csv", strict=True)), shape)


class TestText:
    @pytest.mark.parametrize(
        ("entry", "text", "tags"),
        [
            ({"explanation": "It names a cause."}, "Depth: It names a cause.", ()),
            ({"details": " With numbers ", "axis": "a"}, "Depth: With numbers", ("axis:a",)),
            ({"Explanation": "A", "details": "B"}, "Depth: A: B", ()),
            ({"explanation": ""}, "Depth", ()),
            ({"explanation": ["A", "B"]}, "Depth", ('explanation:["A","B"]',)),
        ],
    )
    def test_an_explanation_joins_the_text(
        self, tmp_path: Path, entry: dict[str, Any], text: str, tags: tuple[str, ...]
    ) -> None:
        row = {"prompt": "?", "rubric": [{"criterion": "Depth:" if text != "Depth" else "Depth", **entry}]}
        criterion = read_one(tmp_path, row).rubric.criteria[0]
        assert (criterion.text, criterion.tags) == (text, tags)

    @pytest.mark.parametrize(
        ("levels", "highest"),
        [
            ({"1": "Names none", "2": "Names two"}, "Names two"),
            ({"5": "Names two", "1": "Names none"}, "Names two"),
            (["Names none", "Names two"], "Names two"),
            ({"poor": "Names none", "good": "Names two"}, "Names two"),
        ],
    )
    def test_the_highest_level_joins_the_text_and_all_levels_are_a_tag(
        self, tmp_path: Path, levels: Any, highest: str
    ) -> None:
        criterion = read_one(
            tmp_path, {"prompt": "?", "rubric": [{"criterion": "Depth", "levels": levels}]}
        ).rubric.criteria[0]
        assert criterion.text == f"Depth\nHolds if the answer reaches this level: {highest}"
        named = levels if isinstance(levels, dict) else {"1": "Names none", "2": "Names two"}
        assert [json.loads(tag.removeprefix("levels:")) for tag in criterion.tags] == [named]

    def test_levels_that_are_not_described_stay_a_tag(self, tmp_path: Path) -> None:
        row = {"prompt": "?", "rubric": [{"criterion": "Depth", "levels": 5}]}
        assert read_one(tmp_path, row).rubric.criteria[0].tags == ("levels:5",)

    def test_columns_of_a_table_join_the_text_and_decide_the_sign(self, tmp_path: Path) -> None:
        (tmp_path / "t.csv").write_text(
            "prompt,criterion,explanation,weight,polarity\n?,Depth,Names a cause,2,negative\n"
        )
        [task] = load_tasks(tmp_path / "t.csv", strict=True)
        assert [(c.text, c.weight, c.tags) for c in task.rubric.criteria] == [("Depth: Names a cause", -2.0, ())]


class TestFlags:
    @pytest.mark.parametrize(
        ("flag", "weight"),
        [
            ({"is_positive": True}, 2.0),
            ({"is_positive": False}, -2.0),
            ({"is_positive": "false"}, -2.0),
            ({"polarity": "Negative"}, -2.0),
            ({"polarity": "positive"}, 2.0),
            ({"pitfall": True}, -2.0),
            ({"is_pitfall": 0}, 2.0),
            ({"negative": "yes"}, -2.0),
            ({"negative": True, "polarity": "negative"}, -2.0),
            ({"is_positive": None}, 2.0),
        ],
    )
    def test_a_flag_decides_the_sign(self, tmp_path: Path, flag: dict[str, Any], weight: float) -> None:
        row = {"prompt": "?", "rubric": [{"criterion": "Sells", "weight": 2, **flag}]}
        criterion = read_one(tmp_path, row).rubric.criteria[0]
        assert (criterion.weight, criterion.tags) == (weight, ())

    def test_without_weights_a_flag_makes_a_penalty_of_1(self, tmp_path: Path) -> None:
        row = {"prompt": "?", "rubric": [{"criterion": "Says no"}, {"criterion": "Sells", "polarity": "negative"}]}
        assert read_one(tmp_path, row).rubric.weights == (1.0, -1.0)

    def test_a_negative_weight_and_a_flag_that_says_bad_agree(self, tmp_path: Path) -> None:
        row = {"prompt": "?", "rubric": [{"criterion": "Sells", "weight": -2, "is_positive": False}]}
        assert read_one(tmp_path, row).rubric.weights == (-2.0,)

    @pytest.mark.parametrize(
        ("entry", "said"),
        [
            (
                {"weight": -2, "is_positive": True},
                "criterion 1: a flag says good and the weight says bad (-2 for 'Sells'); correct one of them",
            ),
            (
                {"weight": 2, "is_positive": True, "polarity": "negative"},
                "criterion 1: the flags contradict each other (polarity and is_positive); keep one of them",
            ),
            (
                {"weight": 2, "polarity": "mixed"},
                "criterion 1: polarity cannot be read ('mixed'); give positive or negative",
            ),
            (
                {"weight": 2, "is_positive": "maybe"},
                "criterion 1: is_positive cannot be read ('maybe'); give true or false",
            ),
        ],
    )
    def test_flags_that_contradict_or_cannot_be_read_are_rejects(
        self, tmp_path: Path, entry: dict[str, Any], said: str
    ) -> None:
        assert reject_one(tmp_path, {"prompt": "?", "rubric": [{"criterion": "Sells", **entry}]}).endswith(
            f":1: {said}"
        )

    def test_a_field_of_the_same_name_that_is_no_flag_is_a_tag(self, tmp_path: Path) -> None:
        row = {"prompt": "?", "rubric": [{"criterion": "Says no", "pitfall": "Says maybe"}]}
        criterion = read_one(tmp_path, row).rubric.criteria[0]
        assert (criterion.weight, criterion.tags) == (1.0, ("pitfall:Says maybe",))


class TestWeights:
    def test_a_score_is_kept_as_a_tag_and_never_taken_for_a_weight(self, tmp_path: Path) -> None:
        row = {"prompt": "?", "rubric": [{"criterion": "a", "score": 5}, {"criterion": "b", "score": 0}]}
        criteria = read_one(tmp_path, row).rubric.criteria
        assert [(c.weight, c.tags) for c in criteria] == [(1.0, ("score:5",)), (1.0, ("score:0",))]

    def test_weights_on_some_criteria_only_are_refused(self, tmp_path: Path) -> None:
        row = {"prompt": "?", "rubric": [{"criterion": "a", "weight": 5}, {"criterion": "b"}]}
        assert "criterion 2: the weight is missing ('b'); give one of weight, points" in reject_one(tmp_path, row)

    @pytest.mark.parametrize("key", ["wieght", "weigth", "weights", "point"])
    def test_a_misspelt_weight_is_refused_and_not_read_as_1(self, tmp_path: Path, key: str) -> None:
        said = reject_one(tmp_path, {"prompt": "?", "rubric": [{"criterion": "a", key: 5}]})
        assert f"looks like a misspelt weight ({key!r}); call it weight" in said

    @pytest.mark.parametrize(
        "rubric",
        [
            [{"criterion": "a", "importance": 5}, {"criterion": "b", "importance": -5}],
            {"items": [{"criterion": "b", "importance": "-5"}]},
            [{"name": "D", "criteria": ["a", {"text": "b", "importance": -5.0}]}],
        ],
    )
    def test_a_penalty_under_an_unknown_name_is_refused_and_not_read_as_1(self, tmp_path: Path, rubric: Any) -> None:
        said = reject_one(tmp_path, {"prompt": "?", "rubric": rubric})
        assert said.endswith(
            ":1: the criteria have no weight, and another field has negative numbers ('importance': -5); "
            "rename it to weight if it is one, else drop it"
        )

    def test_next_to_weights_a_negative_number_is_a_tag(self, tmp_path: Path) -> None:
        row = {"prompt": "?", "rubric": [{"criterion": "a", "weight": 2, "score": -5}]}
        assert read_one(tmp_path, row).rubric.criteria[0].tags == ("score:-5",)

    def test_two_names_of_the_weight_are_refused(self, tmp_path: Path) -> None:
        said = reject_one(tmp_path, {"prompt": "?", "rubric": [{"criterion": "a", "weight": 5, "points": -5}]})
        assert said.endswith(":1: a criterion has two weights (weight and points); keep the one that is its weight")

    def test_tiers_stand_in_for_weights(self, tmp_path: Path) -> None:
        row = {"prompt": "?", "rubric": ["[Hard Rule] a", {"text": "b", "importance": "Optional"}]}
        assert read_one(tmp_path, row).rubric.weights == (1.0, 0.3)

    def test_an_object_may_give_weights_by_text(self, tmp_path: Path) -> None:
        (tmp_path / "t.yaml").write_text("prompt: Is it safe?\nrubric:\n  Says no: 3\n  Sells something: -2\n")
        (task,) = load_tasks(tmp_path / "t.yaml", strict=True)
        assert [(c.text, c.weight) for c in task.rubric.criteria] == [("Says no", 3.0), ("Sells something", -2.0)]


class TestWhatElseARowSays:
    def test_fields_of_a_row_are_kept_in_meta(self, tmp_path: Path) -> None:
        row = {"prompt": "?", "rubric": ["a"], "difficulty": 3, "by": {"who": "Ann"}, "meta": {"year": 2026}, "x": None}
        assert read_one(tmp_path, row).meta == {"year": 2026, "difficulty": 3, "by": {"who": "Ann"}}

    def test_a_second_name_of_the_same_field_is_kept_in_meta(self, tmp_path: Path) -> None:
        task = read_one(tmp_path, {"prompt": "a", "question": "a", "rubric": ["c"], "id": 1, "task_id": 2})
        assert (task.id, task.messages[0].content, task.meta) == ("1", "a", {"question": "a", "task_id": 2})

    @pytest.mark.parametrize(
        ("extra", "said"),
        [
            ({"question": "b"}, "two fields could be the prompt (prompt and question); keep one of them"),
            ({"criteria": ["b"]}, "two fields could be the rubric (rubric and criteria); keep one of them"),
        ],
    )
    def test_two_prompts_or_two_rubrics_are_refused(self, tmp_path: Path, extra: dict[str, Any], said: str) -> None:
        assert reject_one(tmp_path, {"prompt": "a", "rubric": ["c"], **extra}).endswith(f":1: {said}")

    def test_fields_of_a_criterion_are_kept_as_tags(self, tmp_path: Path) -> None:
        entry = {"criterion": "a", "weight": 2, "tags": ["x"], "axis": "safety", "note": {"n": 1}, "text": "b"}
        (criterion,) = read_one(tmp_path, {"prompt": "?", "rubric": [entry]}).rubric.criteria
        assert (criterion.text, criterion.tags) == ("a", ("x", "axis:safety", 'note:{"n":1}', "text:b"))

    def test_fields_of_a_dimension_are_kept_with_each_of_its_criteria(self, tmp_path: Path) -> None:
        dimension = {"name": "Form", "weight": 2, "owner": "Ann", "items": ["a", {"text": "b", "axis": "tone"}]}
        criteria = read_one(tmp_path, {"prompt": "?", "rubric": [dimension]}).rubric.criteria
        assert [(c.weight, c.tags) for c in criteria] == [
            (2.0, ("owner:Ann", "dimension:Form")),
            (2.0, ("axis:tone", "owner:Ann", "dimension:Form")),
        ]

    def test_domain_source_reference_and_dimensions_have_their_own_place(self, tmp_path: Path) -> None:
        row = {
            "prompt": "?",
            "rubric": ["a"],
            "domain": "law",
            "source": "by hand",
            "reference_answer": "No.",
            "protocol": [{"name": "n", "description": "d", "indices": [1]}],
        }
        task = read_one(tmp_path, row)
        assert (task.domain, task.source, task.reference, task.meta) == ("law", "by hand", "No.", {})
        assert task.protocol is not None
        assert task.protocol.dimensions[0].weight == 1.0

    def test_a_misspelt_protocol_is_refused_and_not_kept_as_meta(self, tmp_path: Path) -> None:
        said = reject_one(tmp_path, {"prompt": "?", "rubric": ["a"], "protocoll": []})
        assert said.endswith(":1: unknown key ('protocoll'); did you mean protocol?")

    def test_a_field_that_meta_has_as_well_is_refused(self, tmp_path: Path) -> None:
        said = reject_one(tmp_path, {"prompt": "?", "rubric": ["a"], "n": 1, "meta": {"n": 2}})
        assert said.endswith(":1: a key is both in the row and in its meta ('n'); keep one")

    def test_what_json_does_not_hold_is_kept_as_text(self, tmp_path: Path) -> None:
        path = tmp_path / "t.jsonl"
        path.write_text('{"prompt": "?", "rubric": ["a"], "n": 18446744073709551616, "x": [NaN, Infinity], "y": NaN}')
        (task,) = load_tasks(path, strict=True)
        assert task.meta == {"n": "18446744073709551616", "x": ["NaN", "Infinity"], "y": "NaN"}

    def test_types_of_parquet_that_json_does_not_know_are_kept_as_text(self, tmp_path: Path) -> None:
        row = {
            "id": pa.array([2**64 - 1], pa.uint64()),
            "prompt": ["?"],
            "rubric": [[{"criterion": "a", "weight": Decimal("1.5"), "day": date(2026, 1, 2)}]],
            "n": pa.array([2**64 - 1], pa.uint64()),
            "decimal": [Decimal(10) ** 30],
            "bytes": [b"\xff"],
            "day": [date(2026, 1, 2)],
        }
        pq.write_table(pa.table(row), tmp_path / "t.parquet")
        (task,) = load_tasks(tmp_path / "t.parquet", strict=True)
        (criterion,) = task.rubric.criteria
        assert (task.id, criterion.weight, criterion.tags) == (str(2**64 - 1), 1.5, ("day:2026-01-02",))
        assert task.meta == {"n": str(2**64 - 1), "decimal": "1" + "0" * 30, "bytes": r"b'\xff'", "day": "2026-01-02"}

    def test_capitals_and_spaces_in_names_do_not_matter(self, tmp_path: Path) -> None:
        row = {"Question": "?", "Rubric ": [{"Criterion": "a", "Weight": 2}], "ID": 7, "Level": "B"}
        task = read_one(tmp_path, row)
        assert (task.id, task.rubric.weights, task.meta) == ("7", (2.0,), {"Level": "B"})


class TestIds:
    @pytest.mark.parametrize(("given", "name"), [("a", "a"), (7, "7"), (7.0, "7"), (2**70, str(2**70)), ("007", "007")])
    def test_a_name_is_text_or_a_whole_number(self, tmp_path: Path, given: object, name: str) -> None:
        assert read_one(tmp_path, {"id": given, "prompt": "?", "rubric": ["a"]}).id == name

    @pytest.mark.parametrize("given", [1.5, True, ["a"], {"a": 1}])
    def test_any_other_name_is_refused(self, tmp_path: Path, given: object) -> None:
        said = reject_one(tmp_path, {"id": given, "prompt": "?", "rubric": ["a"]})
        assert said.endswith(f"the id is not a name ({given!r}); give text or a whole number")

    @pytest.mark.parametrize("given", [None, ""])
    def test_a_row_without_a_name_is_named_by_its_content(self, tmp_path: Path, given: object) -> None:
        rows = [{"id": given, "prompt": "?", "rubric": rubric} for rubric in (["a"], ["b"], ["a"])]
        first, second, third = (read_one(tmp_path, row).id for row in rows)
        assert first == third != second


IN_QUOTES = "put a cell that contains ',' in double quotes"


class TestTables:
    def read(self, folder: Path, text: str) -> tuple[list[dict[str, Any]], list[str]]:
        (folder / "t.csv").write_text(text, encoding="utf-8")
        tasks, rejects = read(folder / "t.csv")
        return [dict(render_task(task)) for task in tasks], [str(reject) for reject in rejects]

    def test_columns_that_differ_within_a_task_are_tags_and_the_others_meta(self, tmp_path: Path) -> None:
        text = "id,prompt,criterion,axis,team\n1,p,a,tone,x\n1,p,b,,x\n2,q,c,tone,y\n"
        first, second = self.read(tmp_path, text)[0]
        assert [c["tags"] for c in (*first["rubric"], *second["rubric"])] == [["axis:tone"], [], ["axis:tone"]]
        assert (first["meta"], second["meta"]) == ({"team": "x"}, {"team": "y"})

    def test_with_an_id_the_prompt_need_not_be_repeated(self, tmp_path: Path) -> None:
        (task,), rejects = self.read(tmp_path, "id,prompt,criterion\n1,p,a\n1,,b\n")
        assert ([c["criterion"] for c in task["rubric"]], rejects) == (["a", "b"], [])

    def test_a_list_in_a_cell_is_a_whole_rubric(self, tmp_path: Path) -> None:
        (task,), rejects = self.read(tmp_path, 'prompt,rubric,weight\np,"[""a"", {""text"": ""b""}]",9\n')
        assert ([c["criterion"] for c in task["rubric"]], task["meta"], rejects) == (["a", "b"], {"weight": "9"}, [])

    def test_lists_in_several_cells_of_a_task_are_joined_and_keep_what_differs(self, tmp_path: Path) -> None:
        text = 'id,prompt,rubric,by\n1,p,"[""a"", {""text"": ""b""}]",Ann\n1,p,"[""c""]",Bob\n'
        (task,), _ = self.read(tmp_path, text)
        found = [(c["criterion"], c["tags"]) for c in task["rubric"]]
        assert found == [("a", ["by:Ann"]), ("b", ["by:Ann"]), ("c", ["by:Bob"])]

    @pytest.mark.parametrize("text", ['"Quoted"', '{"a": 1}', "[Draft] Says no", "12"])
    def test_text_that_looks_like_json_is_text(self, tmp_path: Path, text: str) -> None:
        cell = text.replace('"', '""')
        (task,), _ = self.read(tmp_path, f'prompt,criterion\np,"{cell}"\n')
        assert [c["criterion"] for c in task["rubric"]] == [text]

    def test_tags_are_in_the_order_of_the_columns(self, tmp_path: Path) -> None:
        columns = [f"c{number}" for number in range(30)]
        rows = [",".join(["1", "p", name, *(f"{name}{column}" for column in columns)]) for name in ("x", "y")]
        (task,), _ = self.read(tmp_path, "\n".join([",".join(["id", "prompt", "criterion", *columns]), *rows]))
        assert task["rubric"][0]["tags"] == [f"{column}:x{column}" for column in columns]

    def test_an_id_with_two_prompts_is_refused_with_both_lines(self, tmp_path: Path) -> None:
        tasks, (said,) = self.read(tmp_path, "id,prompt,criterion\n1,p,a\n1,q,b\n2,p,c\n")
        assert [task["id"] for task in tasks] == ["2"]
        line = f"{tmp_path / 't.csv'}:2: two prompts have the same id (line 3, id '1'); give each prompt its own id"
        assert said == line

    @pytest.mark.parametrize(
        ("record", "said"),
        [
            (",p,a,1", "the id is empty; fill it in, or remove the row"),
            ("1,p,,1", "the criterion is empty; fill it in, or remove the row"),
            ("1,p,a,x", "criterion 1: the weight is not a number ('x'); give a number other than 0"),
            ("1,p,a,99999999999999999999e999", "criterion 1: Criterion: weight: weight must be finite and not 0"),
            ("1,,a,1", "no prompt; give one under prompt, question, query, messages"),
        ],
    )
    def test_a_record_that_cannot_be_read_is_a_reject_with_its_line(
        self, tmp_path: Path, record: str, said: str
    ) -> None:
        tasks, (reject,) = self.read(tmp_path, f"id,prompt,criterion,weight\n2,q,b,1\n{record}\n")
        assert [task["id"] for task in tasks] == ["2"]
        assert reject.startswith(f"{tmp_path / 't.csv'}:3: {said}")

    @pytest.mark.parametrize(
        ("record", "said"),
        [
            (
                "1,p,b, or c,2",
                "wrong number of cells (5 under 4 column names); put a cell that contains ',' in double quotes",
            ),
            ("1,p,,2", "the criterion is empty; fill it in, or remove the row"),
            (",,b,2", "the id is empty; fill it in, or remove the row"),
            (",p,b,2", "the id is empty; fill it in, or remove the row"),
        ],
    )
    def test_a_task_is_rejected_whole_where_a_record_of_it_cannot_be_read(
        self, tmp_path: Path, record: str, said: str
    ) -> None:
        tasks, rejects = self.read(tmp_path, f"id,prompt,criterion,weight\n2,q,a,1\n1,p,a,1\n{record}\n2,q,c,3\n")
        assert [task["id"] for task in tasks] == ["2"]
        assert rejects == [f"{tmp_path / 't.csv'}:3: line 4 of this task: {said}"]

    @pytest.mark.parametrize(
        ("header", "missing"),
        [
            ("prompt,weight", "found no criterion (called criterion, description, text) among prompt, weight"),
            ("id,criterion", "found no prompt (called prompt, question, query, messages) among criterion, id"),
        ],
    )
    def test_a_table_without_a_column_is_refused_with_a_table_that_works(
        self, tmp_path: Path, header: str, missing: str
    ) -> None:
        (tmp_path / "t.csv").write_text(f"{header}\n1,2\n")
        with pytest.raises(SourceError) as caught:
            load_tasks(tmp_path / "t.csv")
        assert str(caught.value).startswith(f"{tmp_path / 't.csv'}: {missing}; {EXAMPLE_TABLE}; for another layout")


@pytest.mark.parametrize(
    ("row", "missing"),
    [
        ({"prompt": "?", "uid": 1}, "no rubric (called rubric, rubrics, criteria, checklist) among prompt, uid"),
        ({"rubric": ["a"], "input": "?"}, "no prompt (called prompt, question, query, messages) among input, rubric"),
    ],
)
def test_a_file_that_lacks_a_field_is_told_which_and_shown_a_row(
    tmp_path: Path, row: dict[str, Any], missing: str
) -> None:
    path = write_jsonl(tmp_path / "t.jsonl", row)
    with pytest.raises(SourceError) as caught:
        load_tasks(path)
    assert str(caught.value).startswith(f"{path}: found {missing}; {EXAMPLE}; for another layout, ")


def test_a_field_that_is_null_is_named(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "t.jsonl", {"prompt": "?", "rubric": None})
    with pytest.raises(SourceError) as caught:
        load_tasks(path)
    assert str(caught.value).startswith(f"{path}: rubric is null in every row; {EXAMPLE}")
    _, (reject,) = read(write_jsonl(path, {"prompt": "?", "rubric": ["a"]}, {"prompt": None, "rubric": ["a"]}))
    assert str(reject) == f"{path}:2: prompt is null; give one under prompt, question, query, messages"


def test_the_example_row_is_read(tmp_path: Path) -> None:
    task = read_one(tmp_path, json.loads(EXAMPLE.removeprefix("a row that works: ")))
    assert (task.messages[0].content, task.rubric.weights) == ("How do I boil an egg?", (3.0,))


def test_the_example_table_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("prompt,criterion,weight\nHow do I boil an egg?,Says how long,3\n")
    assert all(line in EXAMPLE_TABLE for line in (tmp_path / "t.csv").read_text().splitlines())
    (task,) = load_tasks(tmp_path / "t.csv", strict=True)
    assert (task.messages[0].content, task.rubric.weights) == ("How do I boil an egg?", (3.0,))


def test_an_object_under_check_is_a_check_and_anything_else_a_tag(tmp_path: Path) -> None:
    rubric = [
        {"criterion": "Is short", "weight": 2, "check": {"max_words": 50}},
        {"criterion": "Is JSON", "weight": 1, "Check": '{"json": true}'},
        {"criterion": "Is polite", "weight": 1, "check": "by hand"},
    ]
    criteria = read_one(tmp_path, {"prompt": "?", "rubric": rubric}).rubric.criteria
    assert [criterion.check and criterion.check.rules for criterion in criteria] == [
        {"max_words": 50},
        {"json": True},
        None,
    ]
    assert [criterion.tags for criterion in criteria] == [(), (), ("check:by hand",)]
    grouped = [{"name": "Form", "weight": 2, "criteria": rubric[:1]}]
    (one,) = read_one(tmp_path, {"prompt": "?", "rubric": grouped}).rubric.criteria
    assert (one.weight, one.tags, one.check) == (4.0, ("dimension:Form",), criteria[0].check)


def test_a_check_that_is_misspelt_is_refused_by_its_criterion(tmp_path: Path) -> None:
    rubric = [{"criterion": "Is short", "check": {"maxwords": 50}}]
    line = "criterion 1: Check: no check has this name ('maxwords'); did you mean max_words?"
    assert reject_one(tmp_path, {"prompt": "?", "rubric": rubric}, "plain").endswith(line)


def test_a_table_may_have_a_column_of_checks(tmp_path: Path) -> None:
    lines = ["prompt,criterion,weight,check", '?,Is short,3,"{""max_words"": 50}"', "?,Is polite,2,"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    (task,) = load_tasks(tmp_path / "t.csv", strict=True)
    assert [criterion.check and criterion.check.rules for criterion in task.rubric.criteria] == [
        {"max_words": 50},
        None,
    ]
