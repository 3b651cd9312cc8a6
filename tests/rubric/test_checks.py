"""Checks decide without a judge: each rule exactly, what is refused on entry, and nothing that could hang."""
# ruff: noqa: E501 - messages are quoted whole

import sys
import time
from pathlib import Path

import pytest

from prorubric import Criterion, Message, Rubric, Task
from prorubric.errors import ConfigError, RubricError
from prorubric.rubric.checks import Check, import_function, run_check
from prorubric.rubric.forms import parse_task, render_task
from prorubric.rubric.lint import lint_task
from prorubric.rubric.verdict import Unknown

SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "doses": {"type": "array", "items": {"type": "integer"}},
    },
    "additionalProperties": False,
}

HELD = [
    ({"regex": r"\bdose\b"}, "One dose.", True),
    ({"regex": r"\bdose\b"}, "Doses.", False),
    ({"regex": "(?i)DOSE"}, "one dose", True),
    ({"regex": "^b$"}, "a\nb", False),
    ({"regex": "(?m)^b$"}, "a\nb", True),
    ({"regex": "."}, "\ud800", True),
    ({"contains": "Straße"}, "in der STRASSE", True),
    ({"contains": ["ice", "water"]}, "Ice cold water", True),
    ({"contains": ["ice", "water"]}, "Ice", False),
    ({"max_words": 3}, "- don't stop; well-known", True),
    ({"max_words": 2}, "- don't stop; well-known", False),
    ({"min_words": 4}, "这是水吗", True),
    ({"min_words": 5}, "这是水吗", False),
    ({"min_words": 1}, "", False),
    ({"max_words": 0}, "* — …", True),
    ({"max_sentences": 2}, "# Rest\n\nStay in bed, e.g. today. Drink.\n\n| a | b |\n", True),
    ({"max_sentences": 1}, "# Rest\n\nStay in bed, e.g. today. Drink.\n\n| a | b |\n", False),
    ({"min_sentences": 3}, "- One\n- Two\n- Three\n", True),
    ({"json": True}, ' {"a": [1, 2.5, null]}\n', True),
    ({"json": True}, "```json\n{}\n```", False),
    ({"json": True}, "NaN", False),
    ({"json": True}, "[" * 100_000, False),
    ({"json": SCHEMA}, '{"name": "Ada", "doses": [1, 2]}', True),
    ({"json": SCHEMA}, '{"name": "A"}', False),
    ({"json": SCHEMA}, '{"name": "Ada", "doses": [1.5]}', False),
    ({"json": SCHEMA}, '{"name": "Ada", "age": 3}', False),
    ({"json": SCHEMA}, '{"doses": []}', False),
    ({"json": SCHEMA}, "[]", False),
    ({"json": {"enum": [1, "a"]}}, "true", False),
    ({"json": {"type": ["integer", "null"], "minimum": 0, "maximum": 10}}, "11", False),
    ({"json": {"type": ["integer", "null"], "minimum": 0}}, "null", True),
    ({"json": {"type": "array", "minItems": 1, "maxItems": 2}}, "[1, 2, 3]", False),
    ({"min_words": 2, "max_words": 3}, "one two", True),
    ({"min_words": 2, "max_words": 3}, "one", False),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "answer", "holds"), HELD)
def test_a_check_holds_if_all_its_rules_are_kept(rules: dict[str, object], answer: str, holds: bool) -> None:
    assert run_check(Check(**rules), answer, python=False)[0] is holds


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        ({"regex": "["}, "regex: not a regular expression of RE2 (missing ]: [); RE2 has no look-around"),
        ({"regex": "(?=a)"}, "regex: not a regular expression of RE2 (invalid perl operator: (?=); RE2 has no look-around"),
        ({"regexp": "a"}, "no check has this name ('regexp'); did you mean regex?"),
        ({"max_words": -1}, "max_words: Input should be greater than or equal to 0 (got -1)"),
        ({"max_words": True}, "max_words: Input should be a valid integer (got True)"),
        ({"min_words": 5, "max_words": 3}, "the minimum is above the maximum (5 and 3 words)"),
        ({"contains": []}, "contains: a text to look for is blank (got []); give a text, or a list of texts"),
        ({"contains": ["a", " "]}, "contains: a text to look for is blank (got ['a', ' ']); give a text, or a list of texts"),
        ({"json": False}, "json: json is neither true nor a schema (got False); write true, or a JSON schema"),
        ({"json": {"typ": "object"}}, "json: the schema has an unknown keyword ('typ'); did you mean type?"),
        ({"json": {"items": {"type": "text"}}}, "json: a keyword of the schema has a wrong value (type: 'text')"),
        ({"json": {"type": 3}}, "json: a keyword of the schema has a wrong value (type: 3)"),
        ({"python": "os.system"}, "python: not the name of a function (got 'os.system'); write pkg.module:function"),
    ],
)  # fmt: skip
def test_a_check_that_cannot_be_run_is_refused_on_entry_in_one_line(rules: dict[str, object], line: str) -> None:
    row = {"id": "t", "messages": [{"role": "user", "content": "?"}]}
    rubric = [{"criterion": "a", "weight": 1}, {"criterion": "b", "weight": 1, "check": rules}]
    with pytest.raises(RubricError) as refused:
        parse_task({**row, "rubric": rubric})
    assert str(refused.value) == f"criterion 2: Check: {line}"


@pytest.mark.parametrize("rules", [{}, {"regex": None}, [], "regex", 3])
def test_a_check_needs_a_rule(rules: object) -> None:
    with pytest.raises(RubricError, match="give at least one of regex, contains, max_words"):
        Criterion(text="a", weight=1.0, check=rules)  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*a){12}b"])
def test_a_pattern_that_others_hang_on_takes_time_in_proportion_to_the_answer(pattern: str) -> None:
    check = Check(regex=pattern)
    begun = time.process_time()
    assert run_check(check, "a" * 100_000 + "!", python=False)[0] is False
    assert time.process_time() - begun < 5


MODULE = """
def is_short(answer):
    return len(answer) < 10

def count(answer):
    return len(answer)

def fail(answer):
    raise KeyError("dose")

limit = 10
"""


@pytest.fixture
def own_checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_checks.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    import_function.cache_clear()
    sys.modules.pop("own_checks", None)
    return "own_checks"


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("is_short", True),
        ("count", Unknown("the check own_checks:count gave 4, not true or false")),
        ("fail", Unknown("the check own_checks:fail raised KeyError: 'dose'")),
    ],
)
def test_a_function_decides_or_the_verdict_is_unknown_with_its_reason(
    own_checks: str, name: str, verdict: bool | Unknown
) -> None:
    assert run_check(Check(python=f"{own_checks}:{name}"), "Rest", python=True)[0] == verdict


def test_a_function_is_not_called_unless_that_is_allowed(own_checks: str) -> None:
    said, _ = run_check(Check(python=f"{own_checks}:is_short"), "Rest", python=False)
    assert said == Unknown(
        "the check own_checks:is_short was not called: functions that a file names need python_checks"
    )
    assert own_checks not in sys.modules


def test_a_rule_that_is_broken_decides_though_a_function_fails(own_checks: str) -> None:
    check = Check(python=f"{own_checks}:fail", min_words=2)
    assert run_check(check, "Rest", python=True) == (False, "check: min_words 2 does not hold")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("no_such_module:f", "the check 'no_such_module:f' cannot be imported (No module named 'no_such_module'; is its folder on PYTHONPATH?)"),
        ("own_checks:limit", "the check 'own_checks:limit' is not a function (int)"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("own_checks")
def test_a_function_that_cannot_be_imported_is_refused(name: str, line: str) -> None:
    with pytest.raises(ConfigError) as refused:
        import_function(name)
    assert str(refused.value) == line


def test_a_check_is_written_as_it_was_read() -> None:
    rules = {"contains": ["a", "b"], "min_words": 1, "json": SCHEMA}
    criterion = {"criterion": "Is JSON", "weight": 2, "tags": [], "check": rules}
    row = {"id": "t", "messages": [{"role": "user", "content": "?"}], "rubric": [criterion]}
    task = parse_task(row)
    assert render_task(task) == row
    assert Task.model_validate_json(task.model_dump_json()) == task


def test_a_short_text_is_no_fault_if_a_check_decides() -> None:
    def find(check: Check | None) -> list[str]:
        rubric = Rubric(criteria=(Criterion(text="JSON", weight=1.0, check=check),))
        task = Task(id="t", messages=(Message(role="user", content="?"),), rubric=rubric)
        return [finding.check for finding in lint_task(task).findings]

    assert (find(None), find(Check(json=True))) == (["unjudgeable"], [])
