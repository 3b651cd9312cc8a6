"""Benchmarks as tasks of the real Inspect, and evaluations as its logs, with figures worked out by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

from prorubric.evaluate.benchmarks.registry import find_benchmark, load_benchmark
from tests.evaluate.benchmarks import published
from tests.train.running import run_in, trainers

pytestmark = trainers

HERE = Path(__file__).parent
JUDGE = "tests.evaluate.inspect_judge:JUDGE"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = published.write_all(tmp_path_factory.mktemp("data"), (1, 2, 3))
    published.write(folder, published.HARD, [published.healthbench(9)])
    return folder


@pytest.fixture(scope="module")
def tasks(data: Path) -> dict[str, Any]:
    return run_in("inspect", HERE / "inspect_tasks.py", data, JUDGE, data / "logs")


@pytest.fixture(scope="module")
def logged(data: Path) -> dict[str, Any]:
    rows = [{"task_id": f"p{number}", "response": "I did it."} for number in (1, 2, 3)]
    rows[2] |= {"response": "I did", "meta": {"finish": "length"}}
    choices = load_benchmark(find_benchmark("medqa"), data).items
    rows += [{"task_id": item.id, "response": f"Answer: {letter}"} for item, letter in zip(choices, "CAC", strict=True)]
    answers = data / "answers.jsonl"
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return run_in("inspect", HERE / "inspect_logs.py", data, JUDGE, answers, data / "run")


def list_scores(log: dict[str, Any]) -> dict[str, tuple[float | None, str | None]]:
    return {name: (sample["value"], sample["reason"]) for name, sample in log["samples"].items()}


def test_every_benchmark_that_scores_one_answer_at_a_time_is_a_task(tasks: dict[str, Any]) -> None:
    assert tasks["tasks"] == [
        *("healthbench", "healthbench-hard", "healthbench-consensus", "medqa", "gpqa-diamond", "writingbench"),
        *("creative-v3", "arena-hard-v2", "researchqa"),
        *("probe-medical", "probe-chat", "probe-science", "probe-writing"),
    ]


def test_a_task_without_its_judge_or_its_file_is_refused_in_one_line(tasks: dict[str, Any], data: Path) -> None:
    judge, file = tasks["refused"]
    assert judge == "healthbench needs a judge; name one with -T judge=http://host:port/v1#name"
    assert file.startswith(f"healthbench: a file is missing (looked for {data / 'none' / published.OSS_EVAL}")


def test_what_the_judge_left_open_is_unscored_with_its_reason_and_bounds(tasks: dict[str, Any]) -> None:
    found = tasks["healthbench"]
    assert (found["task"], found["status"], found["counts"]) == ("prorubric/healthbench", "success", [2, 1])
    assert list_scores(found) == {
        "healthbench/p1 1": (1.0, None),
        "healthbench/p2 1": (None, "grader_failed"),
        "healthbench/p3 1": (1.0, "cut_off"),
    }
    unknown = found["samples"]["healthbench/p2 1"]
    assert unknown["explanation"] == "without a verdict: 1 unreadable; worth 0 to 1"
    assert [unknown["metadata"][name] for name in ("low", "high", "unknown")] == [0.0, 1.0, {"unreadable": 1}]
    assert found["metrics"] == {"mean": 1.0, "stderr": 0.0}


def test_the_consensus_has_only_its_own_criteria(tasks: dict[str, Any]) -> None:
    assert list_scores(tasks["healthbench-consensus"])["healthbench/p1 1"] == (0.5, None)


def test_a_failed_call_of_the_judge_is_an_error_and_not_a_score(tasks: dict[str, Any]) -> None:
    found = tasks["healthbench-hard"]
    assert (found["status"], found["samples"]) == ("error", {})
    assert found["error"] == f"{JUDGE}: no verdict on healthbench/p9 (no reply: reply)"


def test_multiple_choice_needs_no_judge_and_an_answer_without_a_letter_is_wrong(tasks: dict[str, Any]) -> None:
    found = tasks["medqa"]
    assert sorted(list_scores(found).values(), key=str) == [
        (0.0, "invalid_response_format"),
        (1.0, None),
        (1.0, None),
    ]
    assert found["metrics"]["mean"] == pytest.approx(2 / 3)


def test_a_benchmark_with_four_answers_to_an_item_has_four_epochs(tasks: dict[str, Any]) -> None:
    found = tasks["gpqa-diamond"]
    assert len(found["samples"]) == 12
    assert {name: value for name, (value, _) in list_scores(found).items() if "rec1" in name} == {
        f"gpqa-diamond/rec1 {epoch}": 1.0 for epoch in (1, 2, 3, 4)
    }
    assert found["metrics"]["mean"] == pytest.approx(1 / 3)


def test_games_against_a_baseline_are_weighted_by_their_rows(tasks: dict[str, Any]) -> None:
    found = tasks["arena-hard-v2"]
    assert [score for score, _ in list_scores(found).values()] == [1.0, 0.0, 0.0]
    assert found["metrics"]["mean"] == 6 / (6 + 2 + 2)


def test_a_benchmark_of_which_nothing_is_scored_has_no_mean(tasks: dict[str, Any]) -> None:
    found = tasks["writingbench"]  # the judge gives no marks
    assert (found["status"], found["counts"], found["metrics"]["mean"]) == ("success", [0, 3], None)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("medqa", [0.7, 0.8, 20, 8192]),
        ("gpqa-diamond", [0.5, None, None, 2048]),
        ("healthbench", [0.5, None, None, 1024]),
    ],
)
def test_policies_are_sampled_with_the_settings_of_the_benchmark(
    tasks: dict[str, Any], name: str, settings: list[Any]
) -> None:
    assert tasks[name]["settings"] == settings


def test_the_logs_of_an_evaluation_have_its_scores(logged: dict[str, Any]) -> None:
    choice, judged = sorted(logged["logs"].values(), key=lambda log: str(log["task"]), reverse=True)
    assert (judged["task"], judged["model"], judged["status"]) == ("prorubric/healthbench", "my policy", "success")
    assert {name: value for log in (choice, judged) for name, (value, _) in list_scores(log).items()} == {
        f"{row['item']} 1": row["value"] for row in logged["scores"]
    }
    assert list_scores(judged) == {
        "healthbench/p1 1": (1.0, None),
        "healthbench/p2 1": (None, "grader_failed"),
        "healthbench/p3 1": (1.0, "cut_off"),
    }
    assert (judged["counts"], judged["metrics"]) == ([2, 1], {"mean": 1.0, "stderr": 0.0})
    assert judged["samples"]["healthbench/p1 1"]["metadata"]["verdicts"] == [True, False]
    assert (choice["counts"], choice["metrics"]["mean"]) == ([3, 0], pytest.approx(2 / 3))


def test_both_kinds_of_logs_name_the_scores_alike(tasks: dict[str, Any], logged: dict[str, Any]) -> None:
    assert [log["scores"] for log in (tasks["healthbench"], *logged["logs"].values())] == [["score"]] * 3


def test_inspect_lists_the_logs_of_an_evaluation(logged: dict[str, Any]) -> None:
    assert logged["listed"] == sorted(logged["logs"])
    assert [name.rpartition("-")[0] for name in logged["listed"]] == ["healthbench-my-policy", "medqa-my-policy"]


def test_a_log_names_protected_texts_by_their_ids_only(logged: dict[str, Any]) -> None:
    judged, choice = (logged["logs"][name] for name in logged["listed"])
    shown = [(sample["input"], sample["answer"], sample["stop"]) for sample in judged["samples"].values()]
    assert shown == [
        ("healthbench/p1", "I did it.", "stop"),
        ("healthbench/p2", "I did it.", "stop"),
        ("healthbench/p3", "I did", "max_tokens"),
    ]
    assert not [text for text in ("remedy", "Says fact", published.CANARY) if text in judged["text"]]
    assert "Which drug treats case 1?" in choice["text"]
