"""`check_files` in real git repositories: what is new, what is gone, what got more hackable, and what it refuses."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from prorubric.datasets.samples import SAMPLE_RESPONSES, SAMPLE_TASKS
from prorubric.errors import ConfigError, SourceError
from prorubric.verbs.check import CheckConfig, check_files

CLEAN = [("Tells her to rest", 4), ("Explains the dose", 2), ("Asks about her age", 2)]


def make_row(name: str | None, criteria: list[tuple[str, float]], groups: list[list[int]] | None = None) -> str:
    row: dict[str, Any] = {
        "messages": [{"role": "user", "content": "What helps?"}],
        "rubric": [{"criterion": text, "weight": weight} for text, weight in criteria],
    }
    if name:
        row["id"], row["messages"][0]["content"] = name, f"What helps with {name}?"
    if groups:
        row["protocol"] = [{"name": "d", "description": "Fails if not.", "indices": group} for group in groups]
    return json.dumps(row) + "\n"


def git(*arguments: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one file of one clean task, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    git("init", "--quiet", "--initial-branch", "main")
    (tmp_path / "rubrics").mkdir()
    (tmp_path / "rubrics/a.jsonl").write_text(make_row("flu", CLEAN))
    git("add", ".")
    git("commit", "--quiet", "--message", "rubrics")
    return tmp_path


def write(*rows: str) -> None:
    Path("rubrics/a.jsonl").write_text("".join(rows))


def check(**options: Any) -> Any:
    return check_files(CheckConfig(("rubrics/a.jsonl",), base="HEAD", **options))


def test_a_file_as_it_was_has_no_change() -> None:
    result = check()
    assert (result.base, result.passed, result.more_hackable) == (git("rev-parse", "HEAD"), True, 0)
    assert result.files[0].changes == ()


def test_a_new_finding_fails_and_an_old_one_does_not() -> None:
    write(make_row("flu", [*CLEAN, ("Clarity", 2)]))
    result = check()
    assert [(change.kind, [one.check for one in change.new]) for change in result.files[0].changes] == [
        ("changed", ["unjudgeable"])
    ]
    assert (result.severities, result.passed) == ({"error": 1, "warning": 0, "note": 0}, False)
    git("commit", "--all", "--quiet", "--message", "unclear")
    write(make_row("flu", [("Says that she should drink", 2), *CLEAN, ("Clarity", 2)]))
    result = check()
    assert (result.severities["error"], result.gone, result.passed) == (0, 0, True)


def test_a_finding_that_is_gone_is_counted() -> None:
    write(make_row("flu", [*CLEAN, ("Clarity", 2)]))
    git("commit", "--all", "--quiet", "--message", "unclear")
    write(make_row("flu", CLEAN))
    result = check()
    assert ([one.check for one in result.files[0].changes[0].gone], result.gone) == (["unjudgeable"], 1)


def test_a_figure_that_rises_makes_a_task_more_hackable() -> None:
    write(make_row("flu", [*CLEAN, ("Mentions tea", 4), ("Mentions soup", 4)]))
    result = check()
    (change,) = result.files[0].changes
    assert change.rises == {"compensation": pytest.approx(0.75 - 0.5), "presence_share": pytest.approx(0.5)}
    assert (result.more_hackable, result.passed) == (1, True)


@pytest.mark.parametrize(("limit", "too_high"), [(0.5, 0), (0.49, 1)])
def test_a_rise_above_the_limit_fails(limit: float, too_high: int) -> None:
    write(make_row("flu", [*CLEAN, ("Mentions tea", 4), ("Mentions soup", 4)]))
    result = check(max_rise=limit)
    assert (result.too_high, result.passed) == (too_high, not too_high)


def test_dimensions_that_are_dropped_make_a_task_more_hackable() -> None:
    write(make_row("flu", CLEAN, groups=[[1, 2], [3]]))
    git("commit", "--all", "--quiet", "--message", "grouped")
    write(make_row("flu", CLEAN))
    assert check().files[0].changes[0].rises == {"compensation_grouped": pytest.approx(0.5 - 0.25)}


def test_tasks_that_were_added_and_removed_are_named_as_such() -> None:
    write(make_row("cold", CLEAN))
    changes = check().files[0].changes
    assert [(change.task_id, change.kind, change.line) for change in changes] == [
        ("cold", "added", 1),
        ("flu", "removed", 0),
    ]


def test_a_task_without_an_id_is_known_by_its_prompt() -> None:
    write(make_row(None, CLEAN))
    git("commit", "--all", "--quiet", "--message", "without ids")
    write(make_row(None, [*CLEAN, ("Mentions tea", 4)]))
    assert [change.kind for change in check().files[0].changes] == ["changed"]


def test_a_file_that_the_base_does_not_have_is_new() -> None:
    Path("rubrics/b.jsonl").write_text(make_row("cold", [*CLEAN, ("Clarity", 1)]))
    result = check_files(CheckConfig(("rubrics/*.jsonl",), base="HEAD"))
    assert [(file.path, file.is_new, len(file.changes)) for file in result.files] == [
        ("rubrics/a.jsonl", False, 0),
        ("rubrics/b.jsonl", True, 1),
    ]
    assert not result.passed


def test_the_base_is_the_commit_where_the_branches_parted() -> None:
    parted = git("rev-parse", "HEAD")
    git("checkout", "--quiet", "-b", "work")
    write(make_row("flu", [*CLEAN, ("Mentions tea", 4)]))
    git("commit", "--all", "--quiet", "--message", "tea")
    git("checkout", "--quiet", "main")
    write(make_row("flu", [("Clarity", 1)]))
    git("commit", "--all", "--quiet", "--message", "elsewhere")
    git("checkout", "--quiet", "work")
    result = check_files(CheckConfig(("rubrics/a.jsonl",), base="main"))
    assert (result.base, result.gone) == (parted, 0)


def test_a_row_that_cannot_be_read_is_an_error_and_one_of_the_base_is_counted() -> None:
    write("{\n", make_row("flu", CLEAN))
    result = check()
    assert result.files[0].rejects[0].startswith("rubrics/a.jsonl:1: not JSON")
    assert (result.severities["error"], result.passed) == (1, False)
    git("commit", "--all", "--quiet", "--message", "broken")
    write(make_row("flu", CLEAN))
    assert check().files[0].base_rejects == 1


def test_without_a_base_every_finding_counts_and_no_git_is_needed(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "a.jsonl").write_text(make_row("flu", [*CLEAN, ("Clarity", 2)]))
    monkeypatch.setenv("PATH", "")
    result = check_files(CheckConfig((str(elsewhere / "a.jsonl"),)))
    assert (result.base, result.severities["error"], result.more_hackable) == (None, 1, 0)
    with pytest.raises(ConfigError, match="--base needs git; install it, or leave --base out"):
        check()


def test_with_answers_it_says_what_naming_pays_before_and_after() -> None:
    Path("rubrics/a.jsonl").write_text(SAMPLE_TASKS.read_text())
    git("commit", "--all", "--quiet", "--message", "sample pack")
    rows = [json.loads(line) for line in SAMPLE_TASKS.read_text().splitlines()]
    for row in rows[:2]:
        row["rubric"][0]["weight"] = 1
        row["protocol"] = None
    write(*(json.dumps(row) + "\n" for row in rows))
    result = check(answers=SAMPLE_RESPONSES)
    (naming,) = result.files[0].naming
    assert (naming.scheme, naming.before.prompts, naming.after.prompts) == ("additive", 2, 2)
    assert naming.before.mean < naming.after.mean


def test_answers_to_other_tasks_give_no_figure() -> None:
    write(make_row("flu", [*CLEAN, ("Mentions tea", 4)]))
    assert check(answers=SAMPLE_RESPONSES).files[0].naming == ()


@pytest.mark.parametrize("name", ["rubrics", "rubrics/"])
def test_a_folder_is_refused_with_the_pattern_that_names_its_files(name: str) -> None:
    with pytest.raises(
        SourceError, match=re.escape("a folder; name its files with a pattern, such as 'rubrics/**/*.jsonl'")
    ):
        check_files(CheckConfig((name,)))


def test_a_base_outside_a_repository_is_refused_without_advice_about_ci(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Path.cwd() / "rubrics"
    write(make_row("flu", CLEAN))
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    with pytest.raises(
        ConfigError, match="--base main: this folder is not in a git repository; run the check inside the"
    ):
        check_files(CheckConfig((f"{place}/*.jsonl",), base="main"))


@pytest.mark.parametrize("name", ["rubrics/nothing.jsonl", "nothing/**/*.jsonl"])
def test_a_name_without_a_file_is_refused(name: str) -> None:
    with pytest.raises(SourceError, match="no such file, and no file matches it as a pattern; check the path"):
        check_files(CheckConfig((name,)))


def test_an_unknown_base_is_refused_in_one_line() -> None:
    with pytest.raises(ConfigError, match=r"^--base nowhere: .*; in CI, check out the whole history"):
        check_files(CheckConfig(("rubrics/a.jsonl",), base="nowhere"))


def test_a_file_without_a_readable_row_fails_and_the_others_are_checked() -> None:
    Path("rubrics/b.jsonl").write_text("not JSON\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "broken")
    result = check_files(CheckConfig(("rubrics/*.jsonl",), base="HEAD"))
    assert [(file.tasks, len(file.rejects), file.base_rejects) for file in result.files] == [(1, 0, 0), (0, 1, 1)]
    assert (result.severities["error"], result.passed) == (1, False)
    Path("rubrics/b.jsonl").write_text(make_row("cold", CLEAN))
    assert check_files(CheckConfig(("rubrics/b.jsonl",), base="HEAD")).passed


PADDED = [*CLEAN, ("Mentions tea", 4), ("Mentions soup", 4)]


def test_before_the_first_commit_everything_is_new(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("empty"))
    git("init", "--quiet")
    Path("a.jsonl").write_text(make_row("flu", [*CLEAN, ("Clarity", 2)]))
    git("add", ".")
    result = check_files(CheckConfig(("a.jsonl",), base="HEAD"))
    assert (result.base, result.files[0].is_new, result.severities["error"]) == (None, True, 1)


def test_a_file_that_was_renamed_is_compared_with_its_earlier_version() -> None:
    Path("rubrics/a.jsonl").write_text(make_row("flu", CLEAN) + make_row("cold", CLEAN) + make_row("cough", CLEAN))
    git("commit", "--all", "--quiet", "--message", "three")
    Path("moved").mkdir()
    git("mv", "rubrics/a.jsonl", "moved/ä b.jsonl")
    Path("moved/ä b.jsonl").write_text(make_row("flu", PADDED) + make_row("cold", CLEAN) + make_row("cough", CLEAN))
    result = check_files(CheckConfig(("moved/*.jsonl",), base="HEAD", max_rise=0.1))
    (file,) = result.files
    assert (file.path, file.renamed_from, file.is_new) == ("moved/ä b.jsonl", "rubrics/a.jsonl", False)
    assert ([change.kind for change in file.changes], result.too_high) == (["changed"], 1)


def test_a_file_that_was_deleted_is_named_with_its_tasks() -> None:
    Path("rubrics/b.jsonl").write_text(make_row("cold", CLEAN))
    git("add", ".")
    git("commit", "--quiet", "--message", "two")
    git("rm", "--quiet", "rubrics/a.jsonl")
    result = check_files(CheckConfig(("rubrics/**/*.jsonl",), base="HEAD"))
    assert [(file.path, file.tasks, [change.kind for change in file.changes]) for file in result.files] == [
        ("rubrics/b.jsonl", 1, []),
        ("rubrics/a.jsonl", 0, ["removed"]),
    ]
    git("rm", "--quiet", "rubrics/b.jsonl")
    assert len(check_files(CheckConfig(("rubrics/**/*.jsonl",), base="HEAD")).files) == 2


def test_the_base_is_read_from_any_folder_and_in_a_hook_of_a_worktree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(make_row("flu", PADDED))
    monkeypatch.chdir(tmp_path / "rubrics")
    assert check_files(CheckConfig(("a.jsonl",), base="HEAD")).more_hackable == 1
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))  # git sets it, and the root is then the current folder
    assert check().more_hackable == 1


def test_a_file_that_git_cannot_read_is_not_taken_for_a_new_one() -> None:
    blob = git("rev-parse", "HEAD:rubrics/a.jsonl")
    Path(f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    write(make_row("flu", PADDED))
    with pytest.raises(SourceError, match=r"^git \w+ failed \(fatal: unable to read "):
        check()


def test_the_tasks_of_a_file_that_cannot_be_read_are_not_called_removed() -> None:
    Path("rubrics/b.yaml").write_text("- id: cold\n  prompt: Hm?\n  rubric: [Tells her to rest, Clarity]\n")
    git("add", ".")
    git("commit", "--quiet", "--message", "yaml")
    Path("rubrics/b.yaml").write_text("- [: :\n")
    result = check_files(CheckConfig(("rubrics/b.yaml",), base="HEAD"))
    assert (len(result.files[0].rejects), result.files[0].changes, result.gone) == (1, (), 0)


def test_a_task_whose_check_calls_python_is_counted_and_not_run() -> None:
    rows = [json.loads(line) for line in SAMPLE_TASKS.read_text().splitlines()]
    rows[0]["rubric"][0]["check"] = {"python": "nowhere:function"}
    write(*(json.dumps(row) + "\n" for row in rows))
    git("commit", "--all", "--quiet", "--message", "sample pack")
    for row in rows[:2]:
        row["rubric"][1]["weight"] = 1
    write(*(json.dumps(row) + "\n" for row in rows))
    (file,) = check(answers=SAMPLE_RESPONSES).files
    assert (file.unmeasured, [one.after.prompts for one in file.naming]) == (1, [1, 1])
