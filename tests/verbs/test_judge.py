"""Whole runs against a real server that misbehaves: the right verdict or `Unknown`, no wrong value, no lost row."""

import csv
import gc
import json
import random
import signal
import sqlite3
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from prorubric import (
    Message,
    ProRubricError,
    Response,
    Task,
    Turn,
    Unknown,
    load_tasks,
    save_responses,
    save_tasks,
    score,
)
from prorubric.cli.app import run as run_program
from prorubric.errors import ConfigError, ModelError, SchemeError, SourceError
from prorubric.judge.judge import JudgeConfig
from prorubric.llm.http import HttpConfig
from prorubric.runs.verdicts import StoredVerdicts, read_verdicts
from prorubric.verbs.judge import JudgeResult, JudgeRunConfig, judge_responses
from prorubric.verbs.score import ScoreConfig, score_run
from tests.aggregate.test_schemes import make_task
from tests.cli.forking import ForkedProgram
from tests.cli.program import start_program
from tests.llm.server import MisbehavingServer
from tests.patience import PATIENCE
from tests.reward.judging import PROPER, READABLE, UNREADABLE, truth

# Faults of the wire, after which a retry gets through.
PASSING = [
    "408", "429", "429 for a second", "500", "502", "503", "reset in the body", "reset before headers",
    "close in the body", "garbage", "empty body", "html", "invalid utf-8", "truncated json", "no choices",
    "null content", "rejects json_schema", "rejects formats", "lone surrogate", "thinking only", "refusal",
]  # fmt: skip


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer() as running:
        running.always = "judge"
        yield running


@pytest.fixture
def files(tmp_path: Path) -> Path:
    tasks = [make_task([5, 3, -2, 1], [[1, 3], [2, 4]]).model_copy(update={"id": f"task {i}"}) for i in range(3)]
    save_tasks(tmp_path / "tasks.jsonl", tasks)
    responses = [Response(task_id=f"task {i % 3}", text=f"answer {i}", sample=i) for i in range(12)]
    save_responses(tmp_path / "responses.jsonl", responses)
    return tmp_path


def make_config(files: Path, server: MisbehavingServer, **change: object) -> JudgeRunConfig:
    quick = HttpConfig(timeout_seconds=2.0, retries=2, backoff_seconds=0.01, concurrency=4)
    settings = {"judge": server.spec, "out": files / "run", "scheme": "additive,conjunctive", "http": quick, **change}
    return JudgeRunConfig(str(files / "tasks.jsonl"), files / "responses.jsonl", **settings)  # type: ignore[arg-type]


def make_offline_config(files: Path) -> JudgeRunConfig:
    paths = (str(files / "tasks.jsonl"), files / "responses.jsonl")
    return JudgeRunConfig(*paths, judge="lexical", out=files / "run", scheme="additive")


def check_rows(files: Path, result: JudgeResult) -> list[StoredVerdicts]:
    """Every response has its row, in order, and no known verdict is wrong."""
    rows = list(read_verdicts(files / "run"))
    assert [row.sample for row in rows] == list(range(12))
    for row in rows:
        for index, verdict in enumerate(row.verdicts["criteria"], 1):
            assert isinstance(verdict, Unknown) or verdict == truth(f"answer {row.sample}", index)
    unknown = sum(isinstance(verdict, Unknown) for row in rows for verdict in row.verdicts["criteria"])
    assert result.unknown_verdicts == unknown
    return rows


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.005)


def test_a_run_judges_each_response_once_and_scores_it_under_every_scheme(
    files: Path, server: MisbehavingServer
) -> None:
    result = judge_responses(make_config(files, server))
    rows = check_rows(files, result)
    assert (server.calls, result.calls, result.unknown_verdicts) == (12, 12, 0)
    tasks = {task.id: task for task in load_tasks(files / "tasks.jsonl")}
    stored = [json.loads(line) for line in (files / "run/scores.jsonl").read_text().splitlines()]
    for row, scores in zip(rows, stored, strict=True):
        for name in ("additive", "conjunctive"):
            assert scores["scores"][name]["value"] == score(row.verdicts["criteria"], tasks[row.task_id], name).value


def save_transcripts(folder: Path) -> None:
    """One long transcript, one short one, one text."""
    turns = tuple(Turn(role="assistant" if n % 2 else "user", content=f"turn {n} " * 10) for n in range(1, 10))
    responses = [
        Response(task_id="task 0", messages=turns),
        Response(task_id="task 0", messages=turns[:3], sample=1),
        Response(task_id="task 1", text="answer 2"),
    ]
    save_responses(folder / "responses.jsonl", responses)


def test_transcripts_are_counted_with_what_the_judge_saw_of_them(
    files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    save_transcripts(files)
    told = ["judge", str(files / "tasks.jsonl"), str(files / "responses.jsonl"), "--judge", server.spec]
    told += ["--scheme", "additive", "--rows", "0"]
    run_program([*told, "--out", str(files / "last")])
    assert "\n2 transcripts: the judge saw the last turn of each; --view full shows it all turns\n" in (
        capsys.readouterr().out
    )
    run_program([*told, "--out", str(files / "full"), "--view", "full", "--max-transcript-characters", "400"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:4] == [
        "2 transcripts: the judge saw all turns of 1",
        "1 transcript cut, 4 turns left out; --max-transcript-characters allows more",
    ]
    summary = json.loads((files / "full/summary.json").read_text())
    counted = {name: summary[name] for name in ("transcripts", "view", "cut_transcripts", "turns_left_out")}
    assert counted == {"transcripts": 2, "view": "full", "cut_transcripts": 1, "turns_left_out": 4}
    rows = [json.loads(line) for line in (files / "full/verdicts.jsonl").read_text().splitlines()]
    assert [row.get("turns_left_out") for row in rows] == [4, None, None]


def test_a_folder_keeps_to_its_view(files: Path, server: MisbehavingServer) -> None:
    save_transcripts(files)
    judge_responses(make_config(files, server))
    with pytest.raises(ConfigError, match=r"with another view \(last, not full\); choose another --out$"):
        judge_responses(make_config(files, server, judging=JudgeConfig(view="full")))


def test_running_again_makes_no_call_and_gives_the_same(files: Path, server: MisbehavingServer) -> None:
    first = judge_responses(make_config(files, server))
    before = (files / "run/verdicts.jsonl").read_bytes()
    again = judge_responses(make_config(files, server))
    assert (server.calls, again.cached, again.schemes) == (12, 12, first.schemes)
    assert (files / "run/verdicts.jsonl").read_bytes() == before


def test_damaged_replies_are_asked_for_again_and_the_verdicts_stay(
    files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    judge_responses(make_config(files, server))
    before = (files / "run/verdicts.jsonl").read_bytes()
    with sqlite3.connect(files / "run/journal.sqlite") as journal:
        journal.execute("UPDATE replies SET text = CAST(replace(text, 'a', 'b') AS BLOB) WHERE rowid <= 5")
    journal.close()
    assert run_program(TestProgram().arguments(files, server)) == 0
    assert "damaged in the journal and asked for again: 5" in capsys.readouterr().out
    assert (files / "run/verdicts.jsonl").read_bytes() == before
    assert (server.calls, json.loads((files / "run/summary.json").read_text())["damaged"]) == (17, 5)


def test_a_folder_of_another_judge_or_of_other_files_is_left_alone(files: Path, server: MisbehavingServer) -> None:
    judge_responses(make_config(files, server))
    before = (files / "run/config.json").read_bytes()
    other = server.spec.replace("test-model", "other-model")
    for change in ({"judge": other}, {"judging": JudgeConfig(canary=True)}, {"judge": "lexical"}):
        with pytest.raises(ConfigError, match="holds a run of judge with another"):
            judge_responses(make_config(files, server, **change))
    assert (server.calls, (files / "run/config.json").read_bytes()) == (12, before)


def test_a_folder_goes_on_with_more_reasks_and_asks_only_for_what_is_open(
    files: Path, server: MisbehavingServer
) -> None:
    server.always = "judge without the last item"
    first = judge_responses(make_config(files, server, judging=JudgeConfig(reasks=0)))
    server.always = "judge"
    again = judge_responses(make_config(files, server, judging=JudgeConfig(reasks=1)))
    assert (first.unknown_verdicts, again.unknown_verdicts, again.cached, server.calls) == (12, 0, 12, 24)
    with pytest.raises(ConfigError, match="holds a run of judge with another reasks"):
        judge_responses(make_config(files, server, judging=JudgeConfig(reasks=0)))
    with pytest.raises(ConfigError, match="holds a run of judge with another canary"):
        judge_responses(make_config(files, server, judging=JudgeConfig(reasks=2, canary=True)))


def test_levels_are_not_paid_for_again_with_more_reasks(files: Path, server: MisbehavingServer) -> None:
    first, again = (
        judge_responses(make_config(files, server, judge=PROPER, scheme="graded", judging=JudgeConfig(reasks=reasks)))
        for reasks in (2, 5)
    )
    assert (first.calls, first.cached, first.unknown_verdicts) == (24, 0, 0)
    assert (again.calls, again.cached, again.schemes) == (24, 24, first.schemes)


def test_a_folder_with_files_of_its_own_is_left_alone(files: Path, server: MisbehavingServer) -> None:
    tasks = (files / "tasks.jsonl").read_bytes()
    with pytest.raises(ConfigError, match="not a run of judge"):
        judge_responses(make_config(files, server, out=files))
    assert ((files / "tasks.jsonl").read_bytes(), server.calls) == (tasks, 0)


@pytest.mark.parametrize("held", ["[1]", "{bad", '{"verb": "judge", "config": []}'])
def test_settings_that_are_damaged_are_left_alone_in_one_line(
    held: str, files: Path, server: MisbehavingServer
) -> None:
    (files / "run").mkdir()
    (files / "run/config.json").write_text(held)
    with pytest.raises(ConfigError, match=r"config\.json: not .*; choose another --out$"):
        judge_responses(make_config(files, server))
    assert ((files / "run/config.json").read_text(), server.calls) == (held, 0)


def test_another_judge_with_the_same_journal_is_asked_anew(files: Path, server: MisbehavingServer) -> None:
    judge_responses(make_config(files, server, journal=files / "j.sqlite"))
    other = server.spec.replace("test-model", "other-model")
    judge_responses(make_config(files, server, judge=other, out=files / "two", journal=files / "j.sqlite"))
    assert server.calls == 24


def test_costs_are_not_forgotten_when_a_run_goes_on(files: Path, server: MisbehavingServer) -> None:
    (files / "prices.json").write_text('{"test-model": {"prompt": 1000000, "completion": 0, "date": "2026-01-01"}}')
    first = judge_responses(make_config(files, server, prices=files / "prices.json"))
    again = judge_responses(make_config(files, server, prices=files / "prices.json"))
    assert (first.cost, first.cost_with_journal) == (84.0, 84.0)
    assert (again.cost, again.cost_with_journal, again.prompt_tokens) == (0.0, 84.0, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"judge": "nobody"},
        {"responses": Path("nowhere.jsonl")},
        {"judging": JudgeConfig(prompt_file={"binary": Path("nowhere.txt")})},
    ],
)
def test_misuse_leaves_no_folder_behind(files: Path, server: MisbehavingServer, change: dict[str, object]) -> None:
    from dataclasses import replace

    with pytest.raises(ProRubricError):
        judge_responses(replace(make_config(files, server), **change))  # type: ignore[arg-type]
    assert not (files / "run").exists()


@pytest.mark.parametrize("scheme", ["k1", "rewritten", "prorubric", "graded", "additive+appropriateness"])
def test_a_scheme_that_the_tasks_cannot_be_judged_under_is_refused_before_a_call(
    files: Path, server: MisbehavingServer, scheme: str
) -> None:
    bare = [task.model_copy(update={"protocol": None}) for task in load_tasks(files / "tasks.jsonl")]
    save_tasks(files / "tasks.jsonl", bare)
    with pytest.raises(SchemeError, match="task 'task 0'"):
        judge_responses(make_config(files, server, scheme=f"additive,{scheme}"))
    assert server.calls == 0


def test_all_works_on_tasks_without_dimensions(files: Path, server: MisbehavingServer) -> None:
    bare = [task.model_copy(update={"protocol": None}) for task in load_tasks(files / "tasks.jsonl")]
    save_tasks(files / "tasks.jsonl", bare)
    result = judge_responses(make_config(files, server, judge="lexical", scheme="all"))
    assert list(result.schemes) == ["additive", "implicit", "weighted", "licensed", "required-first", "veto"]
    assert "k1" in result.left_out


def test_samples_that_come_twice_are_rejected(files: Path, server: MisbehavingServer) -> None:
    save_responses(files / "responses.jsonl", [Response(task_id="task 0", text=text) for text in ("a", "b")])
    result = judge_responses(make_config(files, server))
    assert (result.responses, result.rejected) == (1, 1)
    assert "sample 0 of 'task 0' came before" in (files / "run/rejects.jsonl").read_text()


def test_answers_without_a_sample_are_numbered_and_their_other_keys_kept(files: Path) -> None:
    rows = [{"id": "task 0", "completion": f"answer {number}", "checkpoint": number} for number in range(3)]
    (files / "responses.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = judge_responses(make_offline_config(files))
    stored = [json.loads(line) for line in (files / "run/verdicts.jsonl").read_text().splitlines()]
    assert [(row["sample"], row["meta"]) for row in stored] == [(number, {"checkpoint": number}) for number in range(3)]
    assert (result.responses, result.rejected, result.unanswered) == (3, 0, 2)


def test_tasks_without_an_answer_are_counted_on_the_terminal(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_responses(files / "responses.jsonl", [Response(task_id="task 1", text="x")])
    paths = [str(files / "tasks.jsonl"), str(files / "responses.jsonl")]
    assert run_program(["judge", *paths, "--judge", "lexical", "--out", str(files / "run")]) == 0
    assert "\n2 tasks without a response\n" in capsys.readouterr().out


@pytest.mark.parametrize("sample", [2**32 - 1, 2**62, 2**63 - 1])
def test_a_sample_of_any_number_takes_no_memory(files: Path, sample: int) -> None:
    responses = [Response(task_id="task 0", text="x", sample=number) for number in (sample, 0, sample)]
    save_responses(files / "responses.jsonl", responses)
    tracemalloc.start()
    result = judge_responses(make_offline_config(files))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (result.responses, result.rejected) == (2, 1)
    assert f"sample {sample} of 'task 0' came before" in result.rejects[0]
    assert peak < 100_000_000


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            '{"task_id": "task 0", "text": "x"}',
            "{path}:1: no response (among task_id, text); call it response, completion",
        ),
        (
            '{"task_id": "nobody", "response": "x"}',
            "{path}:1: no task is called 'nobody'; the tasks are task 0, task 1, task 2; a row",
        ),
        ("", "the file is empty"),
    ],
)
def test_where_no_answer_could_be_read_the_line_says_why(files: Path, text: str, reason: str) -> None:
    path = files / "responses.jsonl"
    path.write_text(text)
    with pytest.raises(SourceError) as caught:
        judge_responses(make_offline_config(files))
    assert not (files / "run").exists()
    assert str(caught.value).startswith(f"{path}: no response could be judged; {reason.format(path=path)}")
    assert str(caught.value).endswith('a row that works: {"task_id": "fever", "response": "Go in now."}')


def test_verdicts_that_cannot_be_read_are_counted_together(files: Path, server: MisbehavingServer) -> None:
    server.always = "judge with the wrong type"
    result = judge_responses(make_config(files, server, scheme="additive"))
    assert result.unknown_reasons == {"the verdict is 'perhaps'": 48}


def test_questions_that_come_twice_in_a_run_are_told_apart_from_an_earlier_run(
    files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    save_responses(files / "responses.jsonl", [Response(task_id="task 0", text="a", sample=i) for i in range(12)])
    first = judge_responses(make_config(files, server))
    assert (server.calls, first.calls, first.cached, first.repeated) == (1, 12, 11, 11)
    again = judge_responses(make_config(files, server))
    assert (server.calls, again.calls, again.cached, again.repeated) == (1, 12, 12, 0)
    assert run_program([*TestProgram().arguments(files, server)]) == 0
    assert "0 calls" in capsys.readouterr().out


def test_a_run_works_where_a_loop_is_running(files: Path, server: MisbehavingServer) -> None:
    import asyncio

    async def notebook() -> JudgeResult:
        return judge_responses(make_config(files, server))

    assert asyncio.run(notebook()).responses == 12


def test_a_second_process_is_kept_out_of_a_folder(files: Path, server: MisbehavingServer) -> None:
    from prorubric.files.lock import lock_path

    judge_responses(make_config(files, server))
    held = {name: (files / "run" / name).read_bytes() for name in ("config.json", "tasks.jsonl")}
    (files / "run/summary.json").unlink()  # as if it were still running
    save_tasks(files / "tasks.jsonl", list(load_tasks(files / "tasks.jsonl"))[:2])
    with (
        lock_path(files / "run" / ".lock"),
        pytest.raises(ConfigError, match="another prorubric process is using this folder"),
    ):
        judge_responses(make_config(files, server, scheme="additive"))
    assert {name: (files / "run" / name).read_bytes() for name in held} == held


def test_a_hopeless_error_is_one_line_with_several_readings_too(
    files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.always = "401"
    for scheme in ("additive,prorubric", "graded"):
        arguments = [*TestProgram().arguments(files, server)[:-1], scheme]
        assert run_program(arguments) == 2
        estimate, error = capsys.readouterr().err.splitlines()
        assert estimate.startswith("12 responses: ")
        assert error.startswith("prorubric: ")


@pytest.mark.parametrize("fault", PASSING)
def test_a_passing_fault_of_the_wire_never_makes_a_wrong_verdict(
    files: Path, server: MisbehavingServer, fault: str
) -> None:
    server.script(fault, fault)
    result = judge_responses(make_config(files, server))
    check_rows(files, result)
    assert result.unknown_verdicts == 0


@pytest.mark.parametrize("fault", sorted(READABLE))
def test_a_reply_that_can_be_read_is_read(files: Path, server: MisbehavingServer, fault: str) -> None:
    server.always = fault
    result = judge_responses(make_config(files, server))
    check_rows(files, result)
    assert (result.unknown_verdicts, server.calls) == (0, 12)


@pytest.mark.parametrize("fault", sorted(UNREADABLE))
def test_a_reply_that_leaves_items_open_is_fixed_by_asking_again(
    files: Path, server: MisbehavingServer, fault: str
) -> None:
    server.script(*[fault] * 12)
    result = judge_responses(make_config(files, server))
    check_rows(files, result)
    assert result.unknown_verdicts == 0


@pytest.mark.parametrize("fault", sorted(UNREADABLE))
def test_what_stays_open_is_unknown_and_counted_with_its_reason(
    files: Path, server: MisbehavingServer, fault: str
) -> None:
    server.always = fault
    result = judge_responses(make_config(files, server))
    check_rows(files, result)
    assert result.unknown_verdicts > 0
    assert sum(result.unknown_reasons.values()) == result.unknown_verdicts


@pytest.mark.parametrize(
    "fault",
    ["400", "413", "422", "429", "500", "503", "hang", "drip", "reset in the body", "html", "no choices", "garbage"],
)
def test_a_lasting_fault_makes_every_verdict_unknown_and_loses_no_row(
    files: Path, server: MisbehavingServer, fault: str
) -> None:
    server.script("judge")
    server.always = fault
    hurried = HttpConfig(timeout_seconds=0.5, retries=1, backoff_seconds=0.01, concurrency=12)
    result = judge_responses(make_config(files, server, http=hurried))
    check_rows(files, result)
    assert (result.unknown_verdicts, sum(result.failed_calls.values())) == (44, 11)
    assert [summary.unknown for summary in result.schemes.values()] == [11, 11]


@pytest.mark.parametrize("fault", ["close before headers", "hang", "503", "html"])
def test_a_dead_endpoint_stops_the_program_with_two_and_the_next_run_goes_on(
    files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    haste = ("--concurrency", "2", "--timeout-seconds", "0.5", "--backoff-seconds", "0.01", "--retries", "1")
    arguments = TestProgram().arguments(files, server, *haste)
    server.script(*["judge"] * 3)
    config = make_config(files, server, scheme="additive")
    tasks = (files / "responses.jsonl").read_text().splitlines(keepends=True)
    (files / "responses.jsonl").write_text("".join(tasks[:3]))
    judge_responses(replace(config, out=files / "first", journal=files / "journal.sqlite"))
    (files / "responses.jsonl").write_text("".join(tasks))
    server.always = fault
    shared = ("--journal", str(files / "journal.sqlite"))
    assert run_program([*arguments, *shared]) == 2
    shown = capsys.readouterr()
    estimate, said = shown.err.splitlines()
    assert (shown.out, said.startswith(f"prorubric: 127.0.0.1:{server.port}: no ")) == ("", True), estimate
    assert not (files / "run/verdicts.jsonl").exists()
    server.always = "judge"
    assert run_program([*arguments, *shared]) == 0
    assert "\n9 calls (0 failed, " in capsys.readouterr().out


@pytest.mark.parametrize("fault", ["echoes the prompt", "echoes parts of the prompt"])
def test_an_endpoint_that_repeats_the_prompt_gets_nothing_of_it_into_a_file(
    files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    answers = [Response(task_id=f"task {i}", text="Quokkas wear tiny umbrellas. " * 40, sample=0) for i in range(3)]
    save_responses(files / "responses.jsonl", answers)
    server.always = fault
    assert run_program(TestProgram().arguments(files, server)) == 1
    shown = capsys.readouterr()
    written = b"".join(path.read_bytes() for path in (files / "run").iterdir())
    assert b"its message is not shown, it may repeat the prompt" in written
    said = written.decode("utf-8", "replace") + shown.out + shown.err
    assert not any(word in said for word in ("Quokkas", "umbrellas", "tiny", "wear"))


def test_half_of_all_calls_failing_costs_retries_and_no_verdict(files: Path, server: MisbehavingServer) -> None:
    server.always = "judge, half failing"
    patient = HttpConfig(timeout_seconds=5.0, retries=12, backoff_seconds=0.005, backoff_cap_seconds=0.02)
    result = judge_responses(make_config(files, server, http=patient))
    check_rows(files, result)
    assert result.unknown_verdicts == 0
    assert result.retries > 0


@pytest.mark.parametrize("fault", ["401", "403", "404"])
def test_what_no_retry_can_fix_stops_the_run_at_once(files: Path, server: MisbehavingServer, fault: str) -> None:
    server.always = fault
    with pytest.raises(ModelError):
        judge_responses(make_config(files, server))
    # The calls under way, and those that were let through in the moment before the run stopped.
    assert server.calls <= 8
    assert not (files / "run/verdicts.jsonl").exists()


def test_a_key_is_in_no_file_of_a_run(files: Path, server: MisbehavingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRORUBRIC_API_KEY", "sk-very-secret-key-0123456789")
    judge_responses(make_config(files, server))
    assert server.exchanges[0].headers["authorization"] == "Bearer sk-very-secret-key-0123456789"
    assert not any(b"very-secret" in path.read_bytes() for path in (files / "run").iterdir())


def test_two_readings_are_two_calls_and_the_same_reading_is_one(files: Path, server: MisbehavingServer) -> None:
    result = judge_responses(make_config(files, server, scheme="additive,weighted,prorubric,prorubric"))
    assert (server.calls, list(result.schemes)) == (24, ["additive", "weighted", "prorubric"])


def test_all_leaves_out_what_the_tasks_do_not_allow_and_says_why(files: Path, server: MisbehavingServer) -> None:
    result = judge_responses(make_config(files, server, judge=PROPER, scheme="all"))
    assert result.left_out == dict.fromkeys(
        ("rewritten", "rewritten+appropriateness"),
        "there are tasks without restated criteria; write them with prorubric compile --texts rewritten",
    )
    assert len(result.schemes) == 26


class TestDefaultSchemes:
    def test_they_are_the_sum_and_prorubric(self, files: Path, server: MisbehavingServer) -> None:
        result = judge_responses(make_config(files, server, scheme="auto"))
        assert (list(result.schemes), result.left_out, server.calls) == (["additive", "prorubric"], {}, 24)
        assert JudgeRunConfig("t", Path("r"), judge="lexical").scheme == "auto"

    def test_without_dimensions_the_sum_is_left_and_it_says_what_to_do(
        self, files: Path, server: MisbehavingServer
    ) -> None:
        first, *others = load_tasks(files / "tasks.jsonl")
        save_tasks(files / "tasks.jsonl", [first.model_copy(update={"protocol": None}), *others])
        result = judge_responses(make_config(files, server, scheme="auto"))
        assert (list(result.schemes), server.calls) == (["additive"], 12)
        assert result.left_out == {"prorubric": "there are tasks without dimensions; make them with prorubric compile"}

    def test_a_judge_of_words_is_not_asked_for_what_it_cannot_read(
        self, files: Path, server: MisbehavingServer
    ) -> None:
        for scheme, read in (
            ("auto", ["additive", "conjunctive"]),
            ("all", ["additive", "conjunctive", "implicit", "weighted", "licensed", "required-first", "veto"]),
        ):
            result = judge_responses(make_config(files, server, judge="lexical", scheme=scheme, out=files / scheme))
            assert (list(result.schemes), result.unread) == (read, {})
            assert result.left_out["prorubric"].startswith("lexical compares words and cannot read")

    def test_a_scheme_that_is_named_though_words_cannot_read_it_is_warned_of(
        self, files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        config = make_config(files, server, judge="lexical", scheme="additive,prorubric")
        assert [*judge_responses(config).unread] == ["prorubric"]
        arguments = TestProgram().arguments(files, server)
        arguments[arguments.index(server.spec)] = "lexical"
        assert run_program([*arguments[:-1], "additive,prorubric"]) == 0
        shown = capsys.readouterr().out
        assert "warning: the scores under prorubric mean nothing: lexical compares words" in shown


def test_only_the_first_responses_are_judged_with_a_limit_and_the_others_later(
    files: Path, server: MisbehavingServer
) -> None:
    first = judge_responses(make_config(files, server, limit=5))
    assert (first.responses, server.calls) == (5, 5)
    whole = judge_responses(make_config(files, server))
    assert (whole.responses, whole.cached, server.calls) == (12, 5, 12)


@pytest.mark.parametrize(
    ("limit", "kept", "said"),
    [
        (2, 12, r"run: holds a run of judge with another limit \(None, not 2\); choose another --out$"),
        (
            None,
            3,
            r"run: holds a run of judge, and the content of responses \(\S+responses.jsonl\) has changed since; ",
        ),
    ],
)
def test_a_finished_run_is_not_replaced_by_a_smaller_one_and_an_interrupted_run_goes_on(
    files: Path, limit: int | None, kept: int, said: str
) -> None:
    config = make_offline_config(files)
    judge_responses(config)
    before = (files / "run/verdicts.jsonl").read_bytes()
    lines = (files / "responses.jsonl").read_text().splitlines(keepends=True)
    (files / "responses.jsonl").write_text("".join(lines[:kept]))
    with pytest.raises(ConfigError, match=said):
        judge_responses(replace(config, limit=limit))
    assert (files / "run/verdicts.jsonl").read_bytes() == before
    (files / "run/summary.json").unlink()
    assert judge_responses(replace(config, limit=limit)).responses == (limit or kept)


def test_a_scheme_that_does_not_fit_is_refused_before_a_call(files: Path, server: MisbehavingServer) -> None:
    with pytest.raises(SchemeError, match="no scheme is called 'sum'"):
        judge_responses(make_config(files, server, scheme="additive,sum"))
    assert (server.calls, (files / "run").exists()) == (0, False)


def test_responses_to_no_task_and_bad_rows_are_rejects_and_the_rest_is_judged(
    files: Path, server: MisbehavingServer
) -> None:
    with (files / "responses.jsonl").open("a") as stream:
        stream.write('{"task_id": "nobody", "response": "x"}\n{oops\n')
    with (files / "tasks.jsonl").open("a") as stream:
        stream.write((files / "tasks.jsonl").read_text().splitlines()[0] + "\n")
    result = judge_responses(make_config(files, server))
    check_rows(files, result)
    assert result.rejected == 3
    assert "the id is already taken (got 'task 0'); give each task its own" in result.rejects[0]
    assert "no task is called 'nobody'" in result.rejects[1]


def test_a_file_without_tasks_is_refused(files: Path, server: MisbehavingServer) -> None:
    (files / "tasks.jsonl").write_text('{"id": "a"}\n')
    with pytest.raises(ConfigError, match="no task could be read"):
        judge_responses(make_config(files, server, format="tasks"))


def test_two_runs_can_share_a_journal(files: Path, server: MisbehavingServer) -> None:
    for name in ("one", "two"):
        judge_responses(make_config(files, server, out=files / name, journal=files / "shared.sqlite"))
    assert server.calls == 12


def test_the_layout_says_how_much_of_the_prompts_a_server_can_share(files: Path, server: MisbehavingServer) -> None:
    task = next(iter(load_tasks(files / "tasks.jsonl")))
    save_tasks(files / "tasks.jsonl", [task])
    save_responses(
        files / "responses.jsonl", (Response(task_id=task.id, text=f"answer {i}", sample=i) for i in range(12))
    )
    shared = [
        judge_responses(
            make_config(files, server, out=files / layout, judging=JudgeConfig(layout=layout))
        ).shareable_prompt_tokens  # type: ignore[arg-type]
        for layout in ("paper", "prefix-first")
    ]
    assert 0 < shared[0] < shared[1]


class TestRescoring:
    def test_stored_verdicts_give_the_same_scores_without_a_call(self, files: Path, server: MisbehavingServer) -> None:
        result = judge_responses(make_config(files, server))
        before = (files / "run/scores.jsonl").read_bytes()
        again = score_run(ScoreConfig(files / "run", scheme="additive,conjunctive"))
        assert (again.schemes, server.calls) == (result.schemes, 12)
        assert (files / "run/scores.jsonl").read_bytes() == before

    def test_a_scheme_on_the_same_verdicts_can_be_added_later(self, files: Path, server: MisbehavingServer) -> None:
        judge_responses(make_config(files, server))
        schemes = ["additive", "conjunctive", "weighted", "licensed", "required-first", "veto"]
        assert list(score_run(ScoreConfig(files / "run")).schemes) == schemes

    def test_stored_verdicts_that_do_not_apply_leave_the_score_and_are_written_with_it(
        self, files: Path, server: MisbehavingServer
    ) -> None:
        judge_responses(make_config(files, server))
        rows = [json.loads(line) for line in (files / "run/verdicts.jsonl").read_text().splitlines()]
        count = len(rows[0]["verdicts"]["criteria"])
        rows[0]["verdicts"]["criteria"] = [True, *[{"not_applicable": "not asked"}] * (count - 1)]
        rows[1]["verdicts"]["criteria"] = [{"not_applicable": "not asked"}] * count
        (files / "run/verdicts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        again = score_run(ScoreConfig(files / "run", scheme="additive", out=files / "scores.jsonl"))
        assert again.schemes["additive"].unknown == 1
        written = [json.loads(line)["scores"]["additive"] for line in (files / "scores.jsonl").read_text().splitlines()]
        left, why = [*range(1, count + 1)], "every item with a positive weight is not applicable"
        assert (written[0]["value"], written[0]["not_applicable"], written[0]["reason"]) == (1.0, left[1:], "")
        assert (written[1]["value"], written[1]["not_applicable"], written[1]["reason"]) == (None, left, why)

    def test_a_scheme_without_its_verdicts_is_refused(self, files: Path, server: MisbehavingServer) -> None:
        judge_responses(make_config(files, server))
        with pytest.raises(SchemeError, match="prorubric needs verdicts on dimensions, the run has criteria"):
            score_run(ScoreConfig(files / "run", scheme="prorubric"))

    def test_a_file_that_exists_is_replaced_only_on_demand(
        self, files: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        judge_responses(make_offline_config(files))
        answers = files / "responses.jsonl"
        before = answers.read_bytes()
        arguments = ["score", str(files / "run"), "--out", str(answers)]
        assert run_program(arguments) == 2
        said = f"{answers}: already exists; choose another name or pass --overwrite\n"
        assert capsys.readouterr().err == f"prorubric: {said}"
        assert answers.read_bytes() == before
        assert run_program([*arguments, "--overwrite"]) == 0
        assert list(json.loads(answers.read_text().splitlines()[0])) == ["task_id", "sample", "scores"]

    @pytest.mark.parametrize(
        "name", ["verdicts.jsonl", "config.json", "tasks.jsonl", "scores.csv", "rejects.jsonl", "journal.sqlite"]
    )
    def test_what_the_run_wrote_is_never_replaced(self, files: Path, name: str) -> None:
        judge_responses(make_offline_config(files))
        before = {path.name: path.read_bytes() for path in (files / "run").iterdir()}
        (files / "link").symlink_to(files / "run")
        for folder in ("run", "link"):
            with pytest.raises(ConfigError, match=f"{name}: belongs to the run; choose another name$"):
                score_run(ScoreConfig(files / "run", out=files / folder / name, overwrite=True))
        assert {path.name: path.read_bytes() for path in (files / "run").iterdir()} == before

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("s.txt", "allowed: .csv, .jsonl, .ndjson, .json, .parquet, "),
            ("s.csv.gz", "csv is written without compression; choose another name"),
        ],
    )
    def test_a_name_that_cannot_be_written_says_what_can(self, files: Path, name: str, said: str) -> None:
        judge_responses(make_offline_config(files))
        with pytest.raises(ProRubricError, match=said):
            score_run(ScoreConfig(files / "run", out=files / name))


class TestTables:
    def test_rows_have_a_score_under_each_scheme_or_none(self, files: Path, server: MisbehavingServer) -> None:
        server.script("400")
        slow = HttpConfig(retries=0, concurrency=1)
        result = judge_responses(make_config(files, server, http=slow))
        rows = result.to_rows()
        stored = [json.loads(line) for line in (files / "run/scores.jsonl").read_text().splitlines()]
        assert rows == [
            {"task_id": row["task_id"], "sample": row["sample"]}
            | {name: found["value"] for name, found in row["scores"].items()}
            for row in stored
        ]
        assert (rows[0]["additive"], sum(row["additive"] is None for row in rows)) == (None, 1)
        assert score_run(ScoreConfig(files / "run", scheme="additive,conjunctive")).to_rows() == rows

    def test_the_sheet_of_a_run_is_the_rows_with_an_empty_cell_for_an_unknown_score(
        self, files: Path, server: MisbehavingServer
    ) -> None:
        server.script("400")
        result = judge_responses(make_config(files, server, http=HttpConfig(retries=0, concurrency=1)))
        again = score_run(ScoreConfig(files / "run", scheme="additive,conjunctive", out=files / "scores.csv"))
        assert again.schemes == result.schemes
        with (files / "run/scores.csv").open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert (files / "scores.csv").read_bytes() == (files / "run/scores.csv").read_bytes()
        assert rows == [
            {name: "" if value is None else str(value) for name, value in row.items()} for row in result.to_rows()
        ]

    def test_the_worst_come_first_and_an_unknown_one_by_its_lower_bound(
        self, files: Path, server: MisbehavingServer
    ) -> None:
        server.script("400")
        result = judge_responses(
            make_config(files, server, scheme="additive,prorubric", http=HttpConfig(retries=0, concurrency=1))
        )
        worst = result.list_worst(12)
        assert result.order == ["prorubric", "additive"]
        lows = [(one.scores["prorubric"].low, one.scores["additive"].low) for one in worst]
        assert lows == sorted(lows)
        assert [one.sample for one in result.list_worst(3)] == [one.sample for one in worst[:3]]

    def test_a_notebook_shows_means_and_the_worst_with_every_text_escaped(
        self, files: Path, server: MisbehavingServer
    ) -> None:
        task = next(iter(load_tasks(files / "tasks.jsonl"))).model_copy(update={"id": "<b>bold</b>"})
        save_tasks(files / "tasks.jsonl", [task])
        save_responses(files / "responses.jsonl", [Response(task_id=task.id, text="answer")])
        shown = judge_responses(make_config(files, server))._repr_html_()
        assert "<td>&lt;b&gt;bold&lt;/b&gt;</td><td>0</td>" in shown
        assert shown.count("<table>") == 2

    @pytest.mark.parametrize("name", ["scores.csv", "run.jsonl"])
    def test_a_run_folder_that_is_named_like_a_file_is_refused(
        self, files: Path, server: MisbehavingServer, name: str
    ) -> None:
        with pytest.raises(ConfigError, match=rf"--out \S+{name} is a folder, with scores\.csv"):
            make_config(files, server, out=files / name)

    def test_the_program_shows_as_many_rows_as_it_is_asked_for(
        self, files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for arguments in (
            TestProgram().arguments(files, server),
            ["score", str(files / "run"), "--scheme", "additive"],
        ):
            for rows, shown in (("3", 3), ("0", 0), ("99", 12)):
                assert run_program([*arguments, "--rows", rows]) == 0
                lines = capsys.readouterr().out.splitlines()
                assert (
                    sum(line.startswith("task ") and line.split()[-1].startswith(("0.", "1.")) for line in lines)
                    == shown
                )
                assert (f"lowest {shown} of 12 responses, by additive:" in lines) is (shown > 0)
            assert run_program([*arguments, "--rows", "-1"]) == 2
            assert "rows" in capsys.readouterr().err


class TestProgram:
    def arguments(self, files: Path, server: MisbehavingServer, *more: str) -> list[str]:
        return [
            "judge", str(files / "tasks.jsonl"), str(files / "responses.jsonl"), "--judge", server.spec,
            "--out", str(files / "run"), "--scheme", "additive", *more,
        ]  # fmt: skip

    def test_a_clean_run_ends_with_zero(
        self, files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_program(self.arguments(files, server)) == 0
        assert "12 responses, 0 rows rejected, 48 verdicts" in capsys.readouterr().out

    def test_unknown_verdicts_end_it_with_one(
        self, files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        server.always = "judge without the last item"
        assert run_program(self.arguments(files, server, "--reasks", "0")) == 1
        assert "12 verdicts unknown" in capsys.readouterr().out

    def test_the_hint_about_open_verdicts_can_be_followed(
        self, files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        server.always = "judge without the last item"
        assert run_program(self.arguments(files, server, "--reasks", "0")) == 1
        hint = "run the same command with --reasks 1 to ask again only for these"
        assert hint in capsys.readouterr().out
        server.always = "judge"
        assert run_program(self.arguments(files, server, "--reasks", "1")) == 0
        assert "12 calls (0 failed, 0 retries), 12 replies of earlier runs" in capsys.readouterr().out

    def test_calls_that_failed_are_made_again_by_the_same_command(
        self, files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        server.script("400")
        assert run_program(self.arguments(files, server, "--concurrency", "1")) == 1
        assert "run the same command again to repeat only the failed calls" in capsys.readouterr().out
        assert run_program(self.arguments(files, server)) == 0
        assert "1 call (0 failed, 0 retries), 11 replies of earlier runs" in capsys.readouterr().out

    def test_a_longer_reply_than_the_endpoint_writes_ends_it_with_two_and_what_to_lower(
        self, files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        server.always = "refuses long replies"
        assert run_program(self.arguments(files, server)) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert shown.err.splitlines()[-1].startswith(f"prorubric: {server.spec}: HTTP 400 invalid_request_error (max_")
        assert shown.err.endswith("; lower --max-tokens\n")

    def test_a_wrong_key_ends_it_with_two_and_one_line(
        self, files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        server.always = "401"
        assert run_program(self.arguments(files, server)) == 2
        shown = capsys.readouterr()
        assert (shown.out, [line.split(":")[0] for line in shown.err.splitlines()]) == (
            "",
            ["12 responses", "prorubric"],
        )

    def test_json_is_all_there_is_on_stdout(
        self, files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_program(self.arguments(files, server, "--json")) == 0
        assert json.loads(capsys.readouterr().out)["responses"] == 12

    def test_scores_can_be_printed_again(
        self, files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run_program(self.arguments(files, server))
        capsys.readouterr()
        assert run_program(["score", str(files / "run"), "--scheme", "additive", "--json"]) == 0
        assert list(json.loads(capsys.readouterr().out)["schemes"]) == ["additive"]


class TestBudget:
    """A run that has used up its budget keeps what is complete, and goes on with a larger one."""

    def test_no_more_calls_are_made_than_allowed_and_the_rest_later(
        self, files: Path, server: MisbehavingServer
    ) -> None:
        first = judge_responses(make_config(files, server, max_calls=5))
        assert (first.stopped, first.responses, server.calls) == ("--max-calls 5 is reached", 5, 5)
        assert (first.calls, first.failed_calls) == (5, {})
        assert [row.sample for row in read_verdicts(files / "run")] == [0, 1, 2, 3, 4]
        assert json.loads((files / "run/summary.json").read_text())["stopped"] == "--max-calls 5 is reached"
        whole = judge_responses(make_config(files, server, max_calls=7))
        assert (whole.stopped, whole.responses, whole.cached, server.calls) == ("", 12, 5, 12)

    def test_what_was_not_asked_is_not_a_failed_call_of_a_model_of_probabilities(self, files: Path) -> None:
        result = judge_responses(replace(make_offline_config(files), max_calls=4))
        assert (result.stopped, result.responses) == ("--max-calls 4 is reached", 4)
        assert (result.calls, result.failed_calls) == (4, {})

    def test_replies_from_the_journal_are_free(self, files: Path, server: MisbehavingServer) -> None:
        judge_responses(make_config(files, server))
        again = judge_responses(make_config(files, server, max_calls=1))
        assert (again.stopped, again.responses, server.calls) == ("", 12, 12)

    def test_a_run_stops_when_the_money_is_spent(self, files: Path, server: MisbehavingServer) -> None:
        # Every reply of this server counts 7 prompt tokens.
        config = make_config(files, server, prices="1000000,0", max_cost=20.0, http=HttpConfig(concurrency=1))
        result = judge_responses(config)
        assert result.stopped == "--max-cost 20 is reached"
        assert 3 <= server.calls <= 5  # the calls that had begun are finished
        assert result.cost == 7.0 * server.calls

    def test_a_price_that_is_not_known_is_refused_before_a_call(self, files: Path, server: MisbehavingServer) -> None:
        with pytest.raises(ConfigError, match=r"--max-cost needs the price of .*; set it with --prices"):
            judge_responses(make_config(files, server, max_cost=1.0))
        assert (server.calls, (files / "run").exists()) == (0, False)

    def test_the_program_ends_with_one_and_says_how_to_go_on(
        self, files: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run_program([*TestProgram().arguments(files, server), "--max-calls", "2"]) == 1
        said = capsys.readouterr().out
        assert "stopped: --max-calls 2 is reached; the same command with a larger budget continues" in said


@pytest.mark.xdist_group("ray")
def test_ray_gives_the_same_files_as_this_process(files: Path, server: MisbehavingServer) -> None:
    judge_responses(make_config(files, server))
    judge_responses(make_config(files, server, out=files / "ray", engine="ray"))
    for name in ("verdicts.jsonl", "scores.jsonl", "scores.csv", "tasks.jsonl"):
        assert (files / "ray" / name).read_bytes() == (files / "run" / name).read_bytes()
    assert server.calls == 24


class TestStops:
    """A run that is ended in the middle is finished by running it again, with exactly the missing calls."""

    COUNT = 200

    @pytest.fixture
    def many(self, files: Path) -> Path:
        answers = (Response(task_id=f"task {i % 3}", text=f"answer {i}", sample=i) for i in range(self.COUNT))
        save_responses(files / "responses.jsonl", answers)
        return files

    def start(self, files: Path, server: MisbehavingServer) -> ForkedProgram:
        arguments = TestProgram().arguments(files, server, "--concurrency", "4")
        return start_program(*arguments, cwd=files, PRORUBRIC_API_KEY="")

    @pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
    def test_a_run_that_is_ended_loses_at_most_the_calls_in_flight(
        self, many: Path, server: MisbehavingServer, sign: signal.Signals
    ) -> None:
        server.think_seconds = 0.02
        rng = random.Random(int(sign))
        for _ in range(3):
            program = self.start(many, server)
            seen = server.calls
            enough = seen + rng.randrange(5, 40)
            wait_until(lambda: server.calls > enough)  # noqa: B023 - called at once
            program.send_signal(sign)
            program.communicate(timeout=PATIENCE)
            assert program.returncode == (-9 if sign == signal.SIGKILL else 130)
            if sign == signal.SIGKILL:
                assert not (many / "run/verdicts.jsonl").exists()
            else:  # what is complete is there, and the summary says that it is not all
                held = [row.sample for row in read_verdicts(many / "run")]
                summary = json.loads((many / "run/summary.json").read_text())
                assert (summary["stopped"], summary["responses"]) == ("interrupted", len(held))
                assert 0 < len(held) < self.COUNT
                assert held == sorted(held)
        wait_until(lambda: server.open_connections == 0)
        interrupted = server.calls
        program = self.start(many, server)
        program.communicate(timeout=PATIENCE)
        assert program.returncode == 0
        # Each stop can cost the four calls that were under way, no more.
        assert self.COUNT <= server.calls <= self.COUNT + 3 * 4
        assert interrupted < self.COUNT
        assert len(list(read_verdicts(many / "run"))) == self.COUNT


def test_a_run_fills_its_window_and_no_more(files: Path, server: MisbehavingServer) -> None:
    """Not a benchmark: 12 calls of 0.1 s, 4 at once, cannot take less than 0.3 s."""
    server.think_seconds = 0.1
    started = time.monotonic()
    judge_responses(make_config(files, server))
    assert time.monotonic() - started >= 0.3
    assert server.peak == 4


def test_a_task_of_several_turns_is_shown_whole(files: Path, server: MisbehavingServer) -> None:
    first = next(iter(load_tasks(files / "tasks.jsonl")))
    turns = tuple(Message(role=role, content=f"turn {i}") for i, role in enumerate(("user", "assistant", "user")))  # type: ignore[arg-type]
    save_tasks(files / "tasks.jsonl", [Task(**{**dict(first), "messages": turns})])
    save_responses(files / "responses.jsonl", [Response(task_id=first.id, text="answer 0")])
    judge_responses(make_config(files, server))
    assert "user: turn 0\n\nassistant: turn 1\n\nuser: turn 2" in server.exchanges[0].question


def test_lexical_leaves_the_chinese_half_of_a_file_unknown_and_counts_why(shared_data: Path, tmp_path: Path) -> None:
    tasks = list(load_tasks(shared_data / "deep_research_bench/criteria.jsonl"))
    save_tasks(tmp_path / "tasks.jsonl", tasks)
    save_responses(tmp_path / "responses.jsonl", [Response(task_id=task.id, text="It depends.") for task in tasks])
    result = judge_responses(make_offline_config(tmp_path))
    reason = "lexical cannot read a script without spaces between words, such as Chinese; judge with a model"
    assert (result.unknown_verdicts, result.unknown_reasons) == (1271, {reason: 1271})


def test_what_was_loaded_before_a_run_is_left_out_of_garbage_collection_only_while_it_runs(files: Path) -> None:
    config = make_offline_config(files)
    frozen: list[int] = []
    gc.unfreeze()  # another test may have frozen what there was
    judge_responses(config, lambda _: frozen.append(gc.get_freeze_count()))
    assert min(frozen) > 0
    assert gc.get_freeze_count() == 0
