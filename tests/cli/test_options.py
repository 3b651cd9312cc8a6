"""Options that the command line can only give as text, and options that verbs have in common."""

import json
import re
from pathlib import Path

import pytest

from prorubric import SAMPLE_TASKS, HttpConfig, load_tasks, save_tasks
from prorubric.cli.app import run
from prorubric.cli.options import read_http
from prorubric.datasets.samples import SAMPLE_RESPONSES
from prorubric.verbs.demo import DemoConfig


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"chat_template_kwargs": {"enable_thinking": "false"}}, {"chat_template_kwargs": {"enable_thinking": False}}),
        ({"top_k": "5", "name": "x", "none": "null"}, {"top_k": 5, "name": "x", "none": None}),
        ({}, {}),
    ],
)
def test_leaves_of_the_extra_body_are_read_as_json(given: dict[str, object], read: dict[str, object]) -> None:
    assert read_http(DemoConfig(http=HttpConfig(extra_body=given))).http.extra_body == read


VERBS = ["lint", "check", "convert", "compile", "judge", "score", "audit", "calibrate", "serve", "demo",
         "lab run", "lab compare", "lab read", "lab mini", "lab worlds"]  # fmt: skip


def read_help(verb: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert run([*verb.split(), "--help"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("verb", VERBS)
def test_only_flags_that_are_on_by_default_have_a_negative(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = set(re.findall(r"--(?:no|empty)-[\w-]+", read_help(verb, capsys)))
    assert found <= {"--no-show-weights", "--no-retry-on-text", "--no-figures"}


@pytest.mark.parametrize("verb", ["lint", "check", "convert", "compile", "judge", "audit"])
def test_verbs_that_read_tasks_take_the_same_options(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = read_help(verb, capsys)
    assert [name for name in ("--format", "--subset", "--split", "--tiers", "--strict") if name not in shown] == []


@pytest.mark.parametrize("verb", ["compile", "judge", "audit"])
def test_verbs_that_may_cost_money_take_the_same_options(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = read_help(verb, capsys)
    assert [name for name in ("--dry-run", "--limit", "--prices", "--journal") if name not in shown] == []


def test_a_flag_that_is_on_can_be_turned_off_and_a_list_be_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_tasks(tmp_path / "t.jsonl", load_tasks(SAMPLE_TASKS))
    arguments = ["compile", str(tmp_path / "t.jsonl"), "--generator", "rules", "--out", str(tmp_path / "o.jsonl")]
    assert run([*arguments, "--no-retry-on-text", "--text-checks", ""]) == 0
    made = json.loads((tmp_path / "o.manifest.json").read_bytes())["config"]["generation"]
    assert (made["retry_on_text"], made["text_checks"]) == (False, [])


@pytest.mark.parametrize("option", ["--prompt-file", "--prompt-file.binary"])
def test_a_prompt_of_the_user_is_named_alike_in_every_verb(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("no section")
    given = [str(SAMPLE_TASKS), str(SAMPLE_RESPONSES), "--judge", "lexical", "--out", str(tmp_path / "run")]
    assert run(["judge", *given, option, str(tmp_path / "mine.txt")]) == 2
    assert f"{tmp_path / 'mine.txt'}: 'no section' is before the first section" in capsys.readouterr().err
