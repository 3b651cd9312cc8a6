"""Whole evaluations against a real server that is policies and judge: figures that were worked out by hand."""

import csv
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prorubric.cli.app import run as run_program
from prorubric.errors import ConfigError, MissingExtraError, ProRubricError
from prorubric.evaluate.judging import PROBE_NAMES
from prorubric.evaluate.records import Policy
from prorubric.judge.judge import JudgeConfig
from prorubric.llm.http import HttpConfig
from prorubric.rubric.records import Criterion, Message, Rubric, Task
from prorubric.rubric.save import save_tasks
from prorubric.verbs.evaluate import (
    EvaluateConfig,
    EvaluationResult,
    estimate_evaluation,
    evaluate_policies,
    load_suite,
)
from tests.cli.program import run_python, start_program
from tests.llm.server import MisbehavingServer, wait_until
from tests.patience import PATIENCE
from tests.verbs.evaluating import (
    CANARY,
    SECRET,
    write_arena,
    write_healthbench,
    write_medqa,
    write_meta,
    write_writing_and_research,
)


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer() as running:
        running.always = "evaluate"
        yield running


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write_healthbench(tmp_path / "data")
    write_medqa(tmp_path / "data")
    return tmp_path / "data"


def name_model(server: MisbehavingServer, model: str) -> str:
    return f"http://127.0.0.1:{server.port}/v1#{model}"


def make_config(data: Path, server: MisbehavingServer, *benchmarks: str, **options: Any) -> EvaluateConfig:
    policies = {"full": "writes-rest-drink", "half": "writes-rest"}
    given = {
        "policy": tuple(Policy(name, name_model(server, model)) for name, model in policies.items()),
        "judge": name_model(server, "judge"),
        "data_dir": data,
        "out": data.parent / "run",
        "resamples": 100,
        "http": HttpConfig(retries=0),
    }
    return EvaluateConfig(benchmarks or ("healthbench",), **{**given, **options})


def read(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text().splitlines()]


def means(result: EvaluationResult) -> dict[str, dict[str, float | None]]:
    assert result.comparisons is not None
    return {table.benchmark: {arm.policy: arm.mean for arm in table.arms} for table in result.comparisons.tables}


def test_scores_and_differences_are_those_of_the_words_that_policies_write(
    data: Path, server: MisbehavingServer
) -> None:
    result = evaluate_policies(make_config(data, server, "healthbench", "healthbench-consensus", "medqa"))
    assert means(result) == {
        "healthbench": {"full": 100.0, "half": 50.0},
        "healthbench-consensus": {"full": 100.0, "half": 0.0},
        "medqa": {"full": 25.0, "half": 25.0},
    }
    assert result.comparisons is not None
    [difference] = result.comparisons.tables[0].differences
    assert (difference.first, difference.second, difference.mean) == ("half", "full", -50.0)
    assert (result.unfinished, result.answers) == ((), 16)


def test_a_full_run_of_healthbench_pays_for_the_consensus(data: Path, server: MisbehavingServer) -> None:
    evaluate_policies(make_config(data, server, "healthbench"))
    asked = server.calls
    result = evaluate_policies(make_config(data, server, "healthbench", "healthbench-consensus"))
    assert asked == 2 * 4 + 2 * 4 * 3
    assert (server.calls, means(result)["healthbench-consensus"]) == (asked, {"full": 100.0, "half": 0.0})


def test_a_prompt_that_several_benchmarks_share_is_answered_once(data: Path, server: MisbehavingServer) -> None:
    evaluate_policies(make_config(data, server, "healthbench", "probe-medical", "pairs-medical", only="answers"))
    assert server.calls == 8


def test_blind_pairs_ask_only_the_policies_that_are_compared(data: Path, server: MisbehavingServer) -> None:
    models = {"full": "writes-rest-drink", "half": "writes-rest", "other": "writes-drink"}
    policies = tuple(Policy(name, name_model(server, model)) for name, model in models.items())
    config = make_config(data, server, "pairs-medical", policy=policies, compare=(("full", "half"),))
    estimate = estimate_evaluation(config)
    evaluate_policies(config)
    assert {row["policy"] for row in read(config.out, "answers.jsonl")} == {"full", "half"}
    assert estimate.calls == server.calls


def test_pairs_and_probe_are_judged_by_what_the_judge_says_of_their_answers(
    data: Path, server: MisbehavingServer
) -> None:
    result = evaluate_policies(make_config(data, server, "probe-medical", "pairs-medical"))
    assert means(result) == {"probe-medical": {"full": 0.0, "half": 100.0}}
    assert result.comparisons is not None
    [pair] = result.comparisons.pairs
    assert (pair.policy, pair.other, pair.wins, pair.ties, pair.losses, pair.inconsistent) == (
        "half",
        "full",
        0,
        0,
        4,
        0,
    )
    assert [rate.criterion for rate in result.comparisons.probe] == [*PROBE_NAMES]


def test_what_the_judge_cannot_say_has_bounds_and_leaves_the_common_set_of_every_policy(
    data: Path, server: MisbehavingServer
) -> None:
    server.always = "mumble about drink"
    config = make_config(data, server, judging=JudgeConfig(reasks=0))
    result = evaluate_policies(config)
    rows = read(config.out, "scores.jsonl")
    assert {(row["policy"], row["value"], row["low"], row["high"]) for row in rows} == {
        ("full", None, 0.5, 1.0),
        ("half", None, 0.5, 1.0),
    }
    assert result.comparisons is not None
    [table] = result.comparisons.tables
    assert (table.pool, table.answered, table.common) == (4, 4, 0)
    assert [(arm.lost, arm.mean) for arm in table.arms] == [(4, None), (4, None)]
    assert result.unfinished == ()


def test_a_dead_judge_is_not_a_verdict_and_the_same_command_finishes(data: Path, server: MisbehavingServer) -> None:
    config = make_config(data, server)
    evaluate_policies(make_config(data, server, only="answers"))
    server.script("503")
    broken = evaluate_policies(config)
    [open_stage] = broken.unfinished
    assert (open_stage.stage, open_stage.open, broken.comparisons) == ("judging", 1, None)
    assert len(read(config.out, "scores.jsonl")) == 7
    before = server.calls
    whole = evaluate_policies(config)
    assert (server.calls - before, whole.unfinished) == (1, ())
    assert means(whole) == {"healthbench": {"full": 100.0, "half": 50.0}}


def test_an_answer_is_open_once_however_many_calls_on_it_failed(data: Path, server: MisbehavingServer) -> None:
    one = {"policy": (Policy("half", name_model(server, "writes-rest")),), "limit": 1}
    evaluate_policies(make_config(data, server, only="answers", **one))
    server.script("503", "500", "html")
    [stage] = evaluate_policies(make_config(data, server, **one)).unfinished
    assert (stage.open, stage.reasons) == (1, {"no reply: HTTP 503": 1, "no reply: HTTP 500": 1, "no reply: reply": 1})


def test_judging_does_not_begin_before_every_answer_is_there(data: Path, server: MisbehavingServer) -> None:
    server.script("503")
    broken = evaluate_policies(make_config(data, server))
    assert [(stage.stage, stage.open) for stage in broken.unfinished] == [("answers", 1)]
    assert {exchange.body["model"] for exchange in server.exchanges} == {"writes-rest-drink", "writes-rest"}
    whole = evaluate_policies(make_config(data, server))
    assert (whole.unfinished, means(whole)["healthbench"]) == ((), {"full": 100.0, "half": 50.0})


def test_a_prompt_that_a_policy_refuses_is_its_failure(data: Path, server: MisbehavingServer) -> None:
    server.script("400")
    config = make_config(data, server, policy=(Policy("full", name_model(server, "writes-rest-drink")),))
    result = evaluate_policies(config)
    assert result.comparisons is not None
    [arm] = result.comparisons.tables[0].arms
    assert (arm.mean, arm.failures) == (75.0, {"empty": 1})


def test_an_endpoint_that_refuses_every_prompt_has_not_answered(data: Path, server: MisbehavingServer) -> None:
    server.always = "400"
    result = evaluate_policies(make_config(data, server, "medqa"))
    [stage] = result.unfinished
    assert (stage.stage, stage.open, result.answers, result.comparisons) == ("answers", 8, 0, None)
    assert {reason.partition(":")[0] for reason in stage.reasons} == {
        "full refuses every prompt",
        "half refuses every prompt",
    }
    server.always = "evaluate"
    assert means(evaluate_policies(make_config(data, server, "medqa"))) == {"medqa": {"full": 25.0, "half": 25.0}}


@pytest.mark.parametrize("calls", [3, 20])
def test_a_run_that_is_killed_is_finished_by_the_same_command(
    data: Path, server: MisbehavingServer, calls: int
) -> None:
    server.think_seconds = 0.02
    told = ["evaluate", "healthbench", "--data-dir", str(data), "--out", str(data.parent / "run"), "--concurrency", "2"]
    told += ["--policy", f"full={name_model(server, 'writes-rest-drink')}"]
    told += ["--policy", f"half={name_model(server, 'writes-rest')}", "--judge", name_model(server, "judge")]
    program = start_program(*told, cwd=data.parent, PRORUBRIC_API_KEY="")
    assert wait_until(lambda: server.calls > calls)
    program.send_signal(signal.SIGKILL)
    program.communicate(timeout=PATIENCE)
    assert wait_until(lambda: server.open_connections == 0)
    server.think_seconds = 0.0
    config = make_config(data, server, http=HttpConfig(concurrency=2))
    result = evaluate_policies(config)
    assert means(result) == {"healthbench": {"full": 100.0, "half": 50.0}}
    assert server.calls <= 8 + 24 + 2 * 2  # the kill may cost the calls that were under way
    again = evaluate_policies(make_config(data, server, out=data.parent / "whole"))
    assert again.comparisons == result.comparisons


def test_a_budget_stops_with_what_was_paid_for_and_a_larger_one_goes_on(data: Path, server: MisbehavingServer) -> None:
    stopped = evaluate_policies(make_config(data, server, max_calls=10))
    assert (stopped.stopped, stopped.comparisons, server.calls) == ("--max-calls 10 is reached", None, 10)
    whole = evaluate_policies(make_config(data, server))
    assert (whole.stopped, server.calls) == ("", 32)


def test_an_estimate_has_the_calls_of_each_benchmark_and_makes_none(data: Path, server: MisbehavingServer) -> None:
    config = make_config(data, server, "healthbench", "healthbench-consensus", "medqa", "pairs-medical")
    judge = name_model(server, "judge")
    found = estimate_evaluation(config)
    calls = {name: part.calls for name, part in found.parts.items() if part.calls}
    assert calls == {
        f"healthbench: answers of {name_model(server, 'writes-rest-drink')}": 4,
        f"healthbench: answers of {name_model(server, 'writes-rest')}": 4,
        f"healthbench: {judge}": 2 * 4 * 3,
        f"medqa: answers of {name_model(server, 'writes-rest-drink')}": 4,
        f"medqa: answers of {name_model(server, 'writes-rest')}": 4,
        f"pairs-medical: {judge}": 4 * 2,
    }
    assert (server.calls, config.out.exists()) == (0, False)
    result = evaluate_policies(config)
    assert server.calls == found.calls == result.calls - result.cached
    assert estimate_evaluation(config).calls == 0


def test_an_estimate_counts_judges_that_write_text_and_those_that_are_asked_twice(
    data: Path, server: MisbehavingServer
) -> None:
    write_arena(data)
    config = make_config(data, server, "arena-hard-v2", repeat_judging=3)
    found = estimate_evaluation(config)
    assert found.calls == 2 * 4 + 2 * 4 * 2 + 3 * 2
    assert found.parts[f"arena-hard-v2: {name_model(server, 'judge')}"].completion_tokens == 22 * 800
    evaluate_policies(config)
    assert server.calls == found.calls


@pytest.mark.parametrize(
    ("benchmarks", "options", "calls"),
    [
        (("pairs-medical", "pairs-medical-2048"), {}, 2 * (8 + 8)),  # other answers, so other games
        (("probe-medical", "healthbench"), {"profile": "upstream"}, 8 + 8 * 4 + 8 * 3),
        (("pairs-medical",), {"samples": 3}, 8 + 8),
        (("healthbench",), {"samples": 3}, 24 + 24 * 3),
        (("healthbench",), {"only": "answers"}, 8),
        (("healthbench",), {"only": "report"}, 0),
    ],
)
def test_an_estimate_counts_what_the_run_would_ask(
    data: Path, server: MisbehavingServer, benchmarks: tuple[str, ...], options: dict[str, Any], calls: int
) -> None:
    assert estimate_evaluation(make_config(data, server, *benchmarks, **options)).calls == calls


def test_a_prompt_of_two_benchmarks_is_sampled_with_the_published_settings(
    data: Path, server: MisbehavingServer
) -> None:
    evaluate_policies(make_config(data, server, "probe-medical", "healthbench", profile="upstream", only="answers"))
    assert {exchange.body["temperature"] for exchange in server.exchanges} == {0.5}
    assert server.calls == 8


def test_the_page_says_what_a_benchmark_leaves_out(data: Path, server: MisbehavingServer) -> None:
    path = data / "healthbench" / "2025-05-07-06-14-12_oss_eval.jsonl"
    first, rest = path.read_text().split("\n", 1)
    path.write_text(json.dumps({**json.loads(first), "rubrics": json.loads(first)["rubrics"][2:]}) + "\n" + rest)
    result = evaluate_policies(make_config(data, server))
    assert result.left_out == {"healthbench": {"no positive points": 1}}
    assert "healthbench, no positive points" in (data.parent / "run" / "report.html").read_text()


def test_no_protected_text_is_in_the_folder(data: Path, server: MisbehavingServer) -> None:
    config = make_config(data, server, "healthbench", "probe-medical", "pairs-medical")
    evaluate_policies(config)
    held = b"".join(path.read_bytes() for path in config.out.rglob("*") if path.is_file())
    assert b"healthbench/p0" in held
    for text in (CANARY, SECRET, "says the word"):
        assert text.encode() not in held


def test_no_text_of_gpqa_is_in_the_folder(data: Path, server: MisbehavingServer) -> None:
    names = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
    row = {"Record ID": "rec1", "Question": f"What does a {SECRET} weigh?", "Canary String": CANARY}
    row |= {name: f"{SECRET} option {place}" for place, name in enumerate(names)} | {"High-level domain": "Physics"}
    (data / "gpqa").mkdir()
    with (data / "gpqa" / "gpqa_diamond.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, [*row])
        writer.writeheader()
        writer.writerow(row)
    config = make_config(data, server, "gpqa-diamond")
    evaluate_policies(config)
    held = b"".join(path.read_bytes() for path in config.out.rglob("*") if path.is_file())
    assert (server.calls, b"gpqa-diamond/rec1" in held) == (2 * 4, True)
    for text in (CANARY, SECRET, "What does a"):
        assert text.encode() not in held


def test_names_of_policies_and_judges_are_no_mark_up_on_the_page(data: Path, server: MisbehavingServer) -> None:
    policies = (
        Policy("<script>alert(1)</script>", name_model(server, "writes-rest")),
        Policy("<b>x</b>", name_model(server, "writes-drink"), group="<i>g</i>", seed=1),
    )
    judges = (name_model(server, "<u>one</u>"), name_model(server, "two"))
    benchmarks = ("healthbench", "pairs-medical", "probe-medical", "medqa")
    config = make_config(data, server, *benchmarks, policy=policies, judge=judges)
    evaluate_policies(config)
    for path in (config.out / "report.html", *(config.out / "figures").iterdir()):
        text = path.read_text()
        assert "&lt;" in text
        for name in ("<script>alert", "<b>x", "<i>g", "<u>one"):
            assert name not in text


def test_answers_come_from_files_too_and_a_missing_one_leaves_the_common_set(
    data: Path, server: MisbehavingServer
) -> None:
    rows = [{"id": f"p{number}", "answer": "Please rest and drink."} for number in range(3)]
    rows.append({"id": "p9", "answer": "Of another benchmark."})
    path = data.parent / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    policies = (Policy("file", str(path)), Policy("half", name_model(server, "writes-rest")))
    result = evaluate_policies(make_config(data, server, policy=policies))
    assert result.comparisons is not None
    [table] = result.comparisons.tables
    assert ({arm.policy: arm.mean for arm in table.arms}, table.common) == ({"file": 100.0, "half": 50.0}, 3)
    assert (result.rejected, "no item is called 'p9'" in result.rejects[0]) == (1, True)


def test_items_without_two_answers_are_counted_with_the_pairs(data: Path, server: MisbehavingServer) -> None:
    path = data.parent / "answers.jsonl"
    path.write_text('{"id": "p0", "answer": "Please rest and drink a lot of water. Answer: A"}\n')
    policies = (Policy("half", name_model(server, "writes-rest")), Policy("file", str(path)))
    result = evaluate_policies(make_config(data, server, "pairs-medical", policy=policies))
    assert result.comparisons is not None
    [pair] = result.comparisons.pairs
    assert (pair.wins, pair.n, pair.unread, pair.unanswered) == (1, 1, 0, 3)
    assert "W 1 T 0 I 0 L 0, 3 unanswered" in (data.parent / "run" / "report.html").read_text()


def test_a_file_without_an_answer_to_any_item_is_refused_before_a_call(data: Path, server: MisbehavingServer) -> None:
    path = data.parent / "answers.jsonl"
    path.write_text('{"id": "p9", "answer": "Of another benchmark."}\n')
    policies = (Policy("half", name_model(server, "writes-rest")), Policy("file", str(path)))
    with pytest.raises(ProRubricError) as refused:
        evaluate_policies(make_config(data, server, policy=policies))
    assert str(refused.value) == f"{path}: no row answers an item (such as healthbench/p0); check the ids"
    assert server.calls == 0


def test_the_program_says_which_rows_and_policies_are_left_out_and_prints_names_as_they_are(
    data: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    path = data.parent / "answers.jsonl"
    path.write_text('{"id": "p0", "answer": "Please rest."}\n{"id": "p9", "answer": "Of another benchmark."}\n')
    server.always = "mumble about drink"
    told = ["evaluate", "healthbench", "medqa", "--data-dir", str(data), "--out", str(data.parent / "run")]
    told += ["--policy", f"new[red]={name_model(server, 'writes-rest')}", "--policy", f"file={path}"]
    told += ["--judge", name_model(server, "judge"), "--reasks", "0", "--repeat-judging", "2"]
    assert run_program(told) == 1  # no item has a value for both policies
    said = capsys.readouterr().out
    assert "1 row of answers not used: no item has this id (1)" in said
    assert "no item is called 'p9'" in said
    assert "without an answer to any of these items: file" in said
    assert "\nnew[red]" in said
    assert "file − new[red]" in said
    assert "changed its mind on – of 0 answers that it judged twice" in said


def test_policies_and_benchmarks_can_be_added_to_a_folder_and_the_sampling_cannot_change(
    data: Path, server: MisbehavingServer
) -> None:
    config = make_config(data, server, policy=(Policy("full", name_model(server, "writes-rest-drink")),))
    evaluate_policies(config)
    asked = server.calls
    both = evaluate_policies(make_config(data, server, "healthbench", "medqa"))
    assert (server.calls - asked, set(means(both))) == (4 + 12 + 8, {"healthbench", "medqa"})
    with pytest.raises(ConfigError, match="holds a run of evaluate with another samples"):
        evaluate_policies(make_config(data, server, samples=2))
    moved = (Policy("full", name_model(server, "writes-panic")),)
    with pytest.raises(ConfigError, match=r"holds a run of evaluate with another policy full \(.*, not .*\)"):
        evaluate_policies(make_config(data, server, policy=moved))


def test_no_table_of_an_earlier_run_stays_in_the_folder(data: Path, server: MisbehavingServer) -> None:
    config = make_config(data, server, "medqa", "pairs-medical")
    evaluate_policies(config)
    assert {"tables/pairs.csv", "figures/pairs.svg"} <= {
        str(path.relative_to(config.out)) for path in config.out.rglob("*")
    }
    evaluate_policies(make_config(data, server, "medqa"))
    assert [*config.out.rglob("pairs.*")] == []


def test_comparing_again_makes_no_call_and_gives_the_same(data: Path, server: MisbehavingServer) -> None:
    first = evaluate_policies(make_config(data, server))
    asked = server.calls
    again = evaluate_policies(make_config(data, server, only="report"))
    assert (again.comparisons, server.calls) == (first.comparisons, asked)


def test_a_folder_with_open_calls_is_not_compared(data: Path, server: MisbehavingServer) -> None:
    evaluate_policies(make_config(data, server, only="answers"))
    server.script("503")
    evaluate_policies(make_config(data, server))
    with pytest.raises(ConfigError, match="holds no finished run"):
        evaluate_policies(make_config(data, server, only="report"))
    evaluate_policies(make_config(data, server, only="judging"))
    again = evaluate_policies(make_config(data, server, only="report"))
    assert means(again) == {"healthbench": {"full": 100.0, "half": 50.0}}


def test_some_of_what_a_folder_has_can_be_compared(data: Path, server: MisbehavingServer) -> None:
    judges = (name_model(server, "judge"), name_model(server, "other"))
    evaluate_policies(make_config(data, server, "healthbench", "probe-medical", "pairs-medical", judge=judges))
    asked, policies = server.calls, (Policy("full", name_model(server, "writes-rest-drink")),)
    some = evaluate_policies(make_config(data, server, only="report", policy=policies))
    assert (means(some), server.calls) == ({"healthbench": {"full": 100.0}}, asked)
    assert some.comparisons is not None
    assert (some.comparisons.pairs, some.comparisons.probe, some.comparisons.ranks) == ((), (), ())


def test_a_suite_is_read_from_a_file_and_options_win(
    data: Path, server: MisbehavingServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "suite.yaml"
    suite = {
        "benchmarks": ["medqa"],
        "policy": [{"name": "full", "spec": name_model(server, "writes-rest"), "group": "new", "seed": 1}],
        "data_dir": str(data),
        "out": str(tmp_path / "run"),
        "sampling": {"temperature": 0.5, "top_k": 10},
    }
    path.write_text(json.dumps(suite))
    assert load_suite(path).sampling.top_k == 10
    assert run_program(["evaluate", str(path), "--json", "--limit", "3"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["answers"], result["comparisons"]["tables"][0]["pool"]) == (3, 3)
    sent = server.exchanges[-1].body
    assert (sent["temperature"], sent["top_k"], sent["max_tokens"]) == (0.5, 10, 8192)


def test_a_suite_says_where_files_are_and_its_judge_is_estimated(
    data: Path, server: MisbehavingServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, answers = tmp_path / "suite.yaml", tmp_path / "answers.jsonl"
    answers.write_text('{"id": "p0", "answer": "Please rest."}\n')
    suite = {"benchmarks": "healthbench", "policy": f"file={answers}", "judge": name_model(server, "judge")}
    path.write_text(json.dumps(suite | {"data_dir": str(data), "out": str(tmp_path / "run")}))
    assert run_program(["evaluate", str(path), "--list", "--json"]) == 0
    assert str(data / "medqa") in capsys.readouterr().out
    assert run_program(["evaluate", str(path)]) == 0
    assert "evaluation: about 3 calls to make" in capsys.readouterr().err


@pytest.mark.parametrize("groups", [{"a": ("A", 1), "b": ("A", 2)}, {"a": ("A", 1), "b": ("B", 2)}])
def test_blind_pairs_need_two_policies_that_can_be_paired(
    data: Path, server: MisbehavingServer, groups: dict[str, tuple[str, int]]
) -> None:
    policies = tuple(Policy(name, name_model(server, "writes-rest"), *of) for name, of in groups.items())
    with pytest.raises(
        ConfigError, match="needs two policies to compare; name two policies or groups, with the same seeds"
    ):
        evaluate_policies(make_config(data, server, "pairs-medical", policy=policies))
    assert server.calls == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"benchmarks": ()}, "no benchmark is named; prorubric evaluate --list shows them"),
        ({"benchmarks": ("medqua",)}, "unknown benchmark ('medqua')"),
        ({"benchmarks": ("gpqa-diamond",)}, "gpqa-diamond: a file is missing"),
        ({"judge": None}, "healthbench needs a judge"),
        ({"policy": ()}, "healthbench needs a policy"),
        ({"benchmarks": ("pairs-medical",), "policy": ("one=lexical",)}, "pairs-medical needs two policies to compare"),
        ({"policy": ("one=lexical",)}, "gives probabilities and does not write text"),
        ({"policy": ("one=missing.jsonl",)}, "missing.jsonl: no such file"),
        ({"policy": ("lexical",)}, "the policy 'lexical' has no name"),
        ({"compare": ("full:nobody",)}, "there is no policy 'nobody' to compare"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_before_a_call(
    data: Path, server: MisbehavingServer, options: dict[str, Any], said: str
) -> None:
    names = options.pop("benchmarks", ("healthbench",))
    with pytest.raises(ProRubricError) as refused:
        evaluate_policies(EvaluateConfig(names, **{**_options(data, server), **options}))
    assert said in str(refused.value)
    assert (server.calls, (data.parent / "run").exists()) == (0, False)


def _options(data: Path, server: MisbehavingServer) -> dict[str, Any]:
    policies = (f"full={name_model(server, 'writes-rest')}", f"half={name_model(server, 'writes-drink')}")
    return {"policy": policies, "judge": name_model(server, "judge"), "data_dir": data, "out": data.parent / "run"}


def test_a_judge_is_asked_twice_about_some_answers_to_see_whether_it_repeats_itself(
    data: Path, server: MisbehavingServer
) -> None:
    result = evaluate_policies(make_config(data, server, repeat_judging=2))
    assert server.calls == 8 + 24 + 2 * 3
    assert result.comparisons is not None
    [again] = result.comparisons.repeats
    assert (again.repeated.items, again.repeated.flipped) == (2, 0)


@pytest.mark.xdist_group("ray")
def test_ray_gives_the_same_files_as_this_process(data: Path, server: MisbehavingServer) -> None:
    benchmarks = ("healthbench", "medqa", "pairs-medical")
    evaluate_policies(make_config(data, server, *benchmarks))
    asked = server.calls
    evaluate_policies(make_config(data, server, *benchmarks, out=data.parent / "ray", engine="ray"))
    for name in ("answers.jsonl", "verdicts.jsonl", "scores.jsonl", "games.jsonl", "comparisons.json"):
        assert (data.parent / "ray" / name).read_bytes() == (data.parent / "run" / name).read_bytes()
    assert server.calls == 2 * asked


def test_the_program_prints_tables_and_ends_with_one_if_a_call_failed(
    data: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ["evaluate", "healthbench", "pairs-medical", "--data-dir", str(data), "--out", str(data.parent / "run")]
    told += ["--policy", f"full={name_model(server, 'writes-rest-drink')}", "--retries", "0"]
    told += ["--policy", f"half={name_model(server, 'writes-rest')}", "--judge", name_model(server, "judge")]
    server.script("503")
    assert run_program(told) == 1
    said = capsys.readouterr().out
    assert "unfinished answers: 1 answer open" in said
    assert run_program(told) == 0
    said = capsys.readouterr().out
    assert "pool 4 → answered 4 → judged 4 → in common 4" in said
    assert "half − full   -50.0" in said
    assert "half against full: 0 won, 0 tied, 0 inconsistent, 4 lost" in said


def test_the_list_says_for_every_file_where_it_is_looked_for_and_how_to_get_it(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_program(["evaluate", "--list"]) == 0
    assert "data/medqa/phrases_no_exclude_test.jsonl: " in capsys.readouterr().out
    assert run_program(["evaluate", "--list", "--data-dir", str(data)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "medqa 1,273 MIT phrases_no_exclude_test.jsonl another file" in said
    assert "gpqa/gpqa_diamond.csv: dataset.zip of idavidrein/gpqa on GitHub" in said


def test_scores_by_tag_are_in_the_tables(data: Path, server: MisbehavingServer) -> None:
    config = make_config(data, server)
    result = evaluate_policies(config)
    assert result.comparisons is not None
    tags = {(row.policy, row.tag): (row.mean, row.n) for row in result.comparisons.tags}
    assert tags["half", "theme:hedging"] == (50.0, 4)
    assert tags["half", "level:cluster"] == (0.0, 4)
    assert tags["half", "level:example"] == (100.0, 4)
    assert "healthbench," in (config.out / "tables/tags.csv").read_text()


def test_arena_hard_is_scored_with_and_without_style_control(data: Path, server: MisbehavingServer) -> None:
    write_arena(data)
    result = evaluate_policies(make_config(data, server, "arena-hard-v2", style_control=True))
    assert means(result) == {"arena-hard-v2": {"full": 100.0, "half": 0.0}}
    assert result.comparisons is not None
    [style] = result.comparisons.style
    assert (style.found.n, style.found.scores["full"] > style.found.scores["half"]) == (8, True)


def test_a_judge_whose_games_cannot_be_read_has_no_style_control(data: Path, server: MisbehavingServer) -> None:
    write_arena(data)
    evaluate_policies(make_config(data, server, "arena-hard-v2", only="answers"))
    server.always = "refusal"
    result = evaluate_policies(make_config(data, server, "arena-hard-v2", style_control=True))
    assert result.comparisons is not None
    assert ([arm.lost for arm in result.comparisons.tables[0].arms], result.comparisons.style) == ([4, 4], ())


def test_a_policy_can_be_called_baseline_on_arena_hard(data: Path, server: MisbehavingServer) -> None:
    write_arena(data)
    models = {"new": "writes-rest-drink", "baseline": "writes-rest"}
    policies = tuple(Policy(name, name_model(server, model)) for name, model in models.items())
    result = evaluate_policies(make_config(data, server, "arena-hard-v2", policy=policies))
    assert result.comparisons is not None
    assert [(row.policy, row.other, row.wins, row.losses) for row in result.comparisons.pairs] == [
        ("new", "the published baseline", 4, 0),
        ("baseline", "the published baseline", 0, 4),
    ]


def test_an_empty_answer_to_arena_hard_loses_without_a_judge_and_is_counted(
    data: Path, server: MisbehavingServer
) -> None:
    write_arena(data)
    path = data.parent / "answers.jsonl"
    texts = ["This answer is longer than the baseline.", "", " ", "This one is longer too, and was cut"]
    rows = [{"id": f"q{number}", "answer": text} for number, text in enumerate(texts)]
    rows[3]["finish"] = "length"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = evaluate_policies(make_config(data, server, "arena-hard-v2", policy=(Policy("file", str(path)),)))
    assert result.comparisons is not None
    [arm] = result.comparisons.tables[0].arms
    # Two games won, which count once each, on two questions; two lost, which count three times, on the others.
    assert (server.calls, arm.mean, arm.failures) == (4, 25.0, {"cut off": 1, "empty": 2})


def test_a_judge_is_compared_with_physicians_without_a_policy(data: Path, server: MisbehavingServer) -> None:
    write_meta(data)
    result = evaluate_policies(make_config(data, server, "healthbench-meta", policy=()))
    assert (server.calls, result.comparisons is not None) == (4, True)
    [found] = result.comparisons.labels  # type: ignore[union-attr]
    # The judge says yes, yes, no, no; the physicians yes/yes, yes/no, no/no, no/no.
    assert (found.rows, found.unknown) == (4, 0)
    true, false = 2 * 3 / (2 * 3 + 1), 2 * 4 / (2 * 4 + 1)
    assert found.pooled == pytest.approx((true + false) / 2)


def test_logs_for_inspect_need_their_extra_before_anything_is_asked(
    data: Path, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "inspect_ai", None)
    with pytest.raises(MissingExtraError, match=r"--inspect-log needs the extra \[eval\]; install prorubric with it"):
        evaluate_policies(make_config(data, server, inspect_log=True))
    assert (server.calls, (data.parent / "run").exists()) == (0, False)


def test_a_tasks_file_of_your_own_is_a_benchmark_and_its_prompts_serve_pairs_and_probe(
    data: Path, server: MisbehavingServer
) -> None:
    tasks = [
        Task(
            id=f"t{number}",
            messages=(Message(role="user", content=f"Complaint {number}."),),
            rubric=Rubric(
                criteria=(
                    Criterion(text="The answer says the word rest.", weight=3.0),
                    Criterion(text="The answer says the word drink.", weight=1.0),
                )
            ),
        )
        for number in range(3)
    ]
    path = data.parent / "own.jsonl"
    save_tasks(path, tasks)
    server.always = "judge words"
    result = evaluate_policies(make_config(data, server, f"tasks:{path}", f"probe:{path}", f"pairs:{path}"))
    assert means(result)[f"tasks:{path}"] == {"full": 100.0, "half": 75.0}
    assert sum(exchange.body["model"].startswith("writes") for exchange in server.exchanges) == 6
    assert result.comparisons is not None
    assert [(pair.wins, pair.losses) for pair in result.comparisons.pairs] == [(0, 3)]


def write_answers(path: Path, *rows: str) -> str:
    path.write_text("".join(row + "\n" for row in rows))
    return str(path)


def test_names_are_printed_as_they_are_and_equal_scores_are_said_to_be_equal(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = [json.dumps({"id": f"p{number}", "answer": "Please rest."}) for number in range(4)]
    path = write_answers(data.parent / "a.jsonl", *good)
    told = ["evaluate", "healthbench", "--data-dir", str(data), "--judge", "lexical", "--resamples", "100"]
    told += ["--policy", f"[/red]={path}", "--policy", f"[b]x={path}", "--out", str(data.parent / "run")]
    assert run_program(told) == 0
    said = capsys.readouterr().out
    assert "[b]x − [/red]" in said
    assert "[b]x and [/red] have the same score on each of the 4 items of healthbench by lexical." in said


def test_tables_and_figures_of_an_earlier_comparison_do_not_stay(data: Path, server: MisbehavingServer) -> None:
    config = make_config(data, server)
    evaluate_policies(config)
    assert (config.out / "tables" / "differences.csv").exists()
    evaluate_policies(make_config(data, server, policy=config.policy[:1]))
    left = sorted(path.name for folder in ("tables", "figures") for path in (config.out / folder).glob("differences*"))
    assert left == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "a="}, "the policy 'a=' has no model or file"),
        ({"policy": "=a"}, "the policy '=a' has no name"),
        ({"compare": "a"}, "compare takes two names at a time, not 'a'"),
        ({"compare": [["a", "b", "c"]]}, "compare takes two names at a time"),
    ],
)
def test_what_a_policy_or_a_comparison_lacks_is_said(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        EvaluateConfig(("medqa",), **options)


def test_rows_of_answers_that_are_not_used_are_printed_and_unreadable_ones_end_with_one(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = [json.dumps({"id": f"p{number}", "answer": "Please rest."}) for number in range(4)]
    told = ["evaluate", "healthbench", "--data-dir", str(data), "--judge", "lexical", "--resamples", "100"]

    def run(name: str, *rows: str) -> tuple[int, str]:
        policy = f"a={write_answers(data.parent / f'{name}.jsonl', *rows)}"
        return run_program([*told, "--policy", policy, "--out", str(data.parent / name)]), capsys.readouterr().out

    code, said = run("more", *good, good[0], '{"id": "x9", "answer": "Rest."}')
    assert (code, "2 rows of answers not used: more answers than are needed (1), no item has this id (1)" in said) == (
        0,
        True,
    )
    code, said = run("cut", *good[:3], good[3][:-5])
    assert (code, "1 row of answers not used: not JSON (1)" in said, "answered 3" in said) == (1, True, True)
    assert run("wrong", '{"id": "x9", "answer": "Rest."}')[0] == 2


def test_a_dry_run_counts_what_writing_and_research_ask_for(data: Path, server: MisbehavingServer) -> None:
    write_writing_and_research(data)
    config = make_config(data, server, "writingbench", "researchqa", judge="tests.reward.judging:Proper")
    found = estimate_evaluation(config)
    # Two policies answer four prompts; a mark takes a call, and nine questions take two.
    assert found.calls == 2 * 4 + 2 * 2 * 5 + 2 * 2 * 2
    result = evaluate_policies(config)
    assert (result.calls - result.cached, result.unfinished) == (found.calls, ())
    assert result.comparisons is not None
    assert [(table.benchmark, table.common) for table in result.comparisons.tables] == [
        ("writingbench", 2),
        ("researchqa", 2),
    ]


def test_settings_that_an_endpoint_does_not_take_are_named(
    data: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.always = "refuses top_k in words"
    spec = name_model(server, "writes-rest")
    told = ["evaluate", "medqa", "--data-dir", str(data), "--out", str(data.parent / "run"), "--policy", f"one={spec}"]
    assert run_program(told) == 0
    assert f"{spec} does not take top_k; its requests were sent without" in " ".join(capsys.readouterr().out.split())
    assert json.loads((data.parent / "run/summary.json").read_text())["not_taken"] == {spec: ["top_k"]}


@pytest.mark.parametrize("place", ["compare_scores", "write_evaluation_tables", "write_evaluation_page"])
def test_a_run_killed_after_judging_is_finished_without_a_call(
    data: Path, server: MisbehavingServer, place: str
) -> None:
    told = ["prorubric", "evaluate", "healthbench", "--data-dir", str(data), "--out", str(data.parent / "run")]
    told += ["--policy", f"full={name_model(server, 'writes-rest-drink')}", "--resamples", "100", "--retries", "0"]
    told += ["--policy", f"half={name_model(server, 'writes-rest')}", "--judge", name_model(server, "judge")]
    dying = (
        "import os, signal, sys, prorubric.verbs.evaluate as place; "
        f"place.{place} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL); "
        f"from prorubric.cli.app import main; sys.argv = {told!r}; main()"
    )
    assert run_python("-c", dying, cwd=data.parent).returncode == -signal.SIGKILL
    assert not (data.parent / "run/report.html").exists()
    asked = server.calls
    result = evaluate_policies(make_config(data, server))
    assert (asked, server.calls) == (8 + 24, asked)
    assert means(result) == {"healthbench": {"full": 100.0, "half": 50.0}}
    assert (data.parent / "run/report.html").exists()
