"""What a run of `judge` would take is told before it starts, without a call and without a folder."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from prorubric import SCHEMES, Response, save_responses, save_tasks
from prorubric.cli.app import run as run_program
from prorubric.judge.judge import JudgeConfig
from prorubric.llm.http import HttpConfig
from prorubric.verbs.judge import JudgeRunConfig, estimate_judging, judge_responses
from tests.aggregate.test_schemes import make_task
from tests.llm.server import MisbehavingServer
from tests.reward.judging import PROPER
from tests.thorough import parametrize_sparingly


@pytest.fixture
def files(tmp_path: Path) -> Path:
    tasks = [
        make_task([5, 3, -2, 1, 2, 2, 1], [[1, 3], [2, 4], [5, 6, 7]]).model_copy(
            update={"id": f"task {i}", "meta": {"rewritten": [f"restated {n} of task {i}" for n in range(7)]}}
        )
        for i in range(2)
    ]
    save_tasks(tmp_path / "tasks.jsonl", tasks)
    answers = [Response(task_id=f"task {i % 2}", text=f"answer {i % 5}", sample=i) for i in range(6)]
    save_responses(tmp_path / "responses.jsonl", answers)
    return tmp_path


def make_config(files: Path, **change: Any) -> JudgeRunConfig:
    settings = {"judge": PROPER, "out": files / "run", "http": HttpConfig(concurrency=4), **change}
    return JudgeRunConfig(str(files / "tasks.jsonl"), files / "responses.jsonl", **settings)


JUDGINGS = {
    "plain": JudgeConfig(),
    "in parts": JudgeConfig(max_items=2),
    "with a canary and three draws": JudgeConfig(canary=True, draws=3),
    "in parts with a canary and reasons": JudgeConfig(max_items=3, canary=True, reasons=True),
    "three votes in other orders": JudgeConfig(votes=3, permute=True, max_items=4, canary=True, reasons=True),
}


@parametrize_sparingly(("scheme", "judging"), list(product([*SCHEMES, "all", "auto"], JUDGINGS)), 4)
def test_as_many_calls_are_made_as_were_told(files: Path, scheme: str, judging: str) -> None:
    config = make_config(files, scheme=scheme, judging=JUDGINGS[judging])
    found = estimate_judging(config)
    assert not (files / "run").exists()
    result = judge_responses(config)
    assert result.unknown_verdicts == 0
    assert (found.responses, found.calls, found.cached) == (6, result.calls - result.cached, result.cached)
    assert estimate_judging(config).calls == 0


@pytest.mark.parametrize("scheme", ["additive", "all"])
def test_a_judge_of_probabilities_is_counted_as_well(files: Path, scheme: str) -> None:
    config = make_config(files, judge="lexical", scheme=scheme)
    found = estimate_judging(config)
    result = judge_responses(config)
    assert (found.calls, found.prompt_tokens, found.most_calls) == (result.calls - result.cached, 0, found.calls)


def test_tokens_and_money_follow_from_the_prompts_that_would_be_sent(files: Path) -> None:
    config = make_config(files, scheme="additive", prices="2,8")
    found = estimate_judging(config)
    result = judge_responses(config)
    assert (found.calls, found.prompt_tokens, found.completion_tokens) == (5, result.prompt_tokens, 5 * (8 + 6 * 7))
    assert found.cost == pytest.approx((found.prompt_tokens * 2 + found.completion_tokens * 8) / 1e6)
    assert (found.most_calls, found.most_completion_tokens) == (15, 15 * 1024)


def test_what_replies_left_open_is_still_to_be_asked(files: Path, judging_server: MisbehavingServer) -> None:
    judging_server.always = "judge without the last item"
    config = make_config(files, judge=judging_server.spec, scheme="additive", judging=JudgeConfig(reasks=0))
    judge_responses(config)
    more = make_config(files, judge=judging_server.spec, scheme="additive", judging=JudgeConfig(reasks=2))
    found = estimate_judging(more)
    assert (found.calls, found.cached, found.most_calls) == (5, 7, 10)


def test_a_price_that_is_not_known_is_not_zero(files: Path) -> None:
    assert estimate_judging(make_config(files)).cost is None


def test_a_limit_holds_for_the_estimate_too(files: Path) -> None:
    found = estimate_judging(make_config(files, scheme="additive", limit=2))
    assert (found.responses, found.calls) == (2, 2)


class TestProgram:
    def arguments(self, files: Path, judge: str, *more: str) -> list[str]:
        return ["judge", str(files / "tasks.jsonl"), str(files / "responses.jsonl"), "--judge", judge, *more]

    def test_a_dry_run_calls_nothing_and_writes_nothing(
        self, files: Path, judging_server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = sorted(files.rglob("*"))
        out = ("--out", str(files / "run"))
        assert run_program(self.arguments(files, judging_server.spec, *out, "--dry-run")) == 0
        shown = capsys.readouterr().out
        assert "6 responses, 0 rows rejected, schemes: additive, prorubric" in shown
        assert "price not known (--prices 0.15,0.60 sets it" in shown
        assert run_program(self.arguments(files, judging_server.spec, *out, "--dry-run", "--json")) == 0
        assert json.loads(capsys.readouterr().out)["calls"] == 10
        assert (judging_server.calls, sorted(files.rglob("*"))) == (0, before)

    def test_the_cost_is_told_before_and_after(
        self, files: Path, judging_server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        more = ("--out", str(files / "run"), "--scheme", "additive", "--prices", "1000000,0")
        assert run_program(self.arguments(files, judging_server.spec, *more)) == 0
        shown = capsys.readouterr()
        assert shown.err.startswith("6 responses: 5 calls to make, 1 question asked once already; about ")
        assert "35 + 15 tokens, about $35.00" in shown.out

    def test_a_judge_in_this_process_has_no_line_about_money(
        self, files: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_program(self.arguments(files, "lexical", "--out", str(files / "run"))) == 0
        assert capsys.readouterr().err == ""
