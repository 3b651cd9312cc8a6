"""What the pages are told about runs: exact values, from runs that scripted judges made."""

import asyncio
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from prorubric import (
    Criterion,
    JudgeConfig,
    JudgeRunConfig,
    Message,
    Response,
    Rubric,
    Task,
    judge_responses,
    save_responses,
    save_tasks,
)
from prorubric.files.lock import lock_path
from prorubric.llm.journal import Journal
from prorubric.llm.model import Reply
from prorubric.verbs.evaluate import EvaluateConfig, evaluate_policies
from prorubric.view.answers import AnswerIndex
from prorubric.view.app import make_app
from prorubric.view.ask import make_typed_task
from prorubric.view.config import ViewConfig
from prorubric.view.routes import Shelf
from tests.view.folders import HOSTILE, LENIENT, STRICT, copy_run, make_training, name_run, spoil

STRICT_RUN, LENIENT_RUN, PANEL = map(name_run, ("judged/strict", "judged/lenient<b>", "panel"))


@pytest.fixture(scope="module")
def client(runs: Path) -> Iterator[TestClient]:
    with TestClient(make_app(runs, config=ViewConfig(judge=f"scripted:{runs.parent / 'inputs' / STRICT}"))) as client:
        yield client


@pytest.fixture(scope="module")
def twofold(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    """An evaluation by two judges on two benchmarks that have the same prompt."""
    root = tmp_path_factory.mktemp("twofold")
    for name, texts in (("one", ["Names the danger."]), ("two", ["Names a drug.", "Names a dose."])):
        rubric = Rubric(criteria=tuple(Criterion(text=text, weight=1.0) for text in texts))
        task = Task(id="fever", messages=(Message(role="user", content="A fever."),), rubric=rubric)
        save_tasks(root / name / "fever.jsonl", [task])
    save_responses(root / "new.jsonl", [Response(task_id="fever/fever", text="Names the danger.")])
    (root / "no.jsonl").write_text(json.dumps({"reply": '{"satisfied": {"1": false, "2": false}}'}) + "\n")
    config = EvaluateConfig(
        tuple(f"tasks:{root / name / 'fever.jsonl'}" for name in ("one", "two")),
        policy=(f"new={root / 'new.jsonl'}",),  # type: ignore[arg-type]
        judge=("lexical", f"scripted:{root / 'no.jsonl'}"),
        out=root / "two",
        resamples=20,
    )
    evaluate_policies(config)
    return TestClient(make_app(root, config=ViewConfig()))


def ask(client: TestClient, path: str, **query: Any) -> Any:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def list_tasks(found: Any) -> list[tuple[str, int]]:
    return [(row["task"], row["sample"]) for row in found["rows"]]


class TestListing:
    def test_every_run_is_listed_with_its_verb_and_how_it_ended(self, client: TestClient) -> None:
        found = {run["path"]: run for run in ask(client, "/api/runs")["runs"]}
        assert {path: (run["verb"], run["page"], run["state"]) for path, run in found.items()} == {
            "judged/strict": ("judge", "answers", "done"),
            "judged/lenient<b>": ("judge", "answers", "done"),
            "panel": ("judge", "answers", "done"),
            "evaluated": ("evaluate", "answers", "done"),
            "trained": ("train", "training", "unfinished"),
        }
        assert found["evaluated"]["has_report"]
        assert found["judged/strict"]["calls"] == 12
        assert found["judged/strict"]["judge"].endswith(STRICT)

    def test_a_run_that_is_going_on_is_told_by_its_lock_and_shows_how_far_it_is(
        self, runs: Path, tmp_path: Path
    ) -> None:
        folder = copy_run(runs / "judged/strict", tmp_path / "going")
        (folder / "summary.json").unlink()
        rows = (folder / "verdicts.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "verdicts.jsonl").unlink()
        (folder / ".verdicts.jsonl.partial-1").write_bytes(b"".join(rows[:2]) + rows[2][:20])
        client = TestClient(make_app(tmp_path, config=ViewConfig()))
        assert ask(client, "/api/runs")["runs"][0]["state"] == "unfinished"
        with lock_path(folder / ".lock"):
            [run] = ask(client, "/api/runs")["runs"]
            answers = ask(client, f"/api/run/{name_run('going')}/answers")
        assert (run["state"], run["progress"]) == ("running", {"done": 2, "total": 6, "what": "answers judged"})
        assert run["calls"] == 12
        assert list_tasks(answers) == [("fever", 0), ("fever", 1)]

    def test_a_folder_that_cannot_be_read_is_listed_with_the_reason(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text("{", encoding="utf-8")
        [run] = ask(TestClient(make_app(tmp_path, config=ViewConfig())), "/api/runs")["runs"]
        assert run["state"] == "unreadable"
        assert "not JSON" in run["reason"]

    def test_a_run_that_cannot_be_read_does_not_hide_the_others(self, runs: Path, tmp_path: Path) -> None:
        for name in ("good", "bad"):
            copy_run(runs / "judged/strict", tmp_path / name)
        (tmp_path / "bad/summary.json").write_text('{"calls": "many"}')
        found = ask(TestClient(make_app(tmp_path, config=ViewConfig())), "/api/runs")["runs"]
        states = {run["path"]: (run["state"], run["reason"]) for run in found}
        assert states["good"] == ("done", "")
        assert states["bad"][0] == "unreadable"
        assert states["bad"][1] == f"{tmp_path / 'bad/summary.json'}: calls is not a number"

    def test_a_folder_whose_name_is_not_utf8_is_listed_and_opened(self, runs: Path, tmp_path: Path) -> None:
        copy_run(runs / "judged/strict", tmp_path / os.fsdecode(b"\xff"))
        client = TestClient(make_app(tmp_path, config=ViewConfig()))
        [run] = ask(client, "/api/runs")["runs"]
        assert run["path"] == "?"
        assert ask(client, f"/api/run/{run['id']}/answers")["found"] == 6

    def test_folders_that_may_not_be_looked_into_are_named(
        self, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("closed", "open", "half-closed"):
            copy_run(runs / "judged/strict", tmp_path / name)
        look, is_file = os.scandir, Path.is_file

        def refuse(path: Any) -> Any:
            if Path(path).name == "closed":
                raise PermissionError(13, "Permission denied", str(path))
            return look(path)

        def refuse_file(path: Path) -> bool:
            if path.parent.name == "half-closed":
                raise PermissionError(13, "Permission denied", str(path))
            return is_file(path)

        monkeypatch.setattr(os, "scandir", refuse)
        monkeypatch.setattr(Path, "is_file", refuse_file)
        found = ask(TestClient(make_app(tmp_path, config=ViewConfig())), "/api/runs")
        assert [run["path"] for run in found["runs"]] == ["open"]
        assert found["closed"] == [str(tmp_path / name) for name in ("closed", "half-closed")]

    def test_what_a_running_run_has_cost_is_what_its_replies_cost(self, runs: Path, tmp_path: Path) -> None:
        folder = copy_run(runs / "judged/strict", tmp_path / "run")
        (folder / "summary.json").unlink()
        (folder / "journal.sqlite").unlink()
        with Journal(folder / "journal.sqlite") as journal:
            for number in range(3):
                reply = Reply("yes", prompt_tokens=1000, completion_tokens=100)
                journal.put(str(number), reply, {"model": "http://host/v1#m"})
        setting = json.loads((folder / "config.json").read_text())
        client = TestClient(make_app(tmp_path, config=ViewConfig()))
        with lock_path(folder / ".lock"):
            for prices, cost in (("2,10", 3 * (1000 * 2 + 100 * 10) / 1e6), (None, None)):
                setting["config"]["prices"] = prices
                (folder / "config.json").write_text(json.dumps(setting))
                [run] = ask(client, "/api/runs")["runs"]
                assert (run["calls"], run["cost"]) == (3, pytest.approx(cost) if cost else None)

    @pytest.mark.parametrize(("changes", "cost"), [([], 3 * (1000 * 2 + 100 * 10) / 1e6), (["prices=1,0"], 0.003)])
    def test_what_a_running_training_has_cost_is_by_the_prices_of_its_recipe(
        self, tmp_path: Path, changes: list[str], cost: float
    ) -> None:
        folder = tmp_path / "run"
        make_training(folder)
        (folder / "recipe.yaml").write_text("method: prorubric\nmodel: tiny\ntasks: t.jsonl\njudge: x\nprices: 2,10\n")
        setting = json.loads((folder / "config.json").read_text())
        setting["config"]["set"] = changes
        (folder / "config.json").write_text(json.dumps(setting))
        with Journal(folder / "journal.sqlite") as journal:
            for number in range(3):
                reply = Reply("yes", prompt_tokens=1000, completion_tokens=100)
                journal.put(str(number), reply, {"model": "http://host/v1#m"})
        client = TestClient(make_app(tmp_path, config=ViewConfig()))
        with lock_path(folder / ".lock"):
            [run] = ask(client, "/api/runs")["runs"]
            shown = ask(client, f"/api/run/{name_run('run')}/training")
        assert [(one["calls"], one["cost"]) for one in (run, shown)] == [(3, pytest.approx(cost))] * 2

    @pytest.mark.parametrize("verb", ["audit", "study", "lab"])
    def test_the_page_of_a_run_without_answers_is_reached_through_its_report(self, tmp_path: Path, verb: str) -> None:
        folder = tmp_path / "made"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"verb": verb, "config": {}}))
        (folder / "summary.json").write_text("{}")
        (folder / "report.html").write_text("<h1>What it found</h1>")
        client = TestClient(make_app(tmp_path, config=ViewConfig()))
        [run] = ask(client, "/api/runs")["runs"]
        assert (run["verb"], run["state"], run["page"], run["has_report"]) == (verb, "done", None, True)
        assert client.get(f"/report/{run['id']}").text == "<h1>What it found</h1>"

    def test_a_config_of_something_else_is_no_run(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
        assert ask(TestClient(make_app(tmp_path, config=ViewConfig())), "/api/runs")["runs"] == []

    def test_a_link_in_the_place_of_a_report_does_not_lead_out_of_the_folder(self, tmp_path: Path) -> None:
        (tmp_path / "runs").mkdir()
        (tmp_path / "runs/config.json").write_text('{"verb": "audit"}', encoding="utf-8")
        (tmp_path / "secret").write_text("secret", encoding="utf-8")
        (tmp_path / "runs/report.html").symlink_to(tmp_path / "secret")
        answer = TestClient(make_app(tmp_path / "runs", config=ViewConfig())).get(f"/report/{name_run('.')}")
        assert (answer.status_code, answer.json()) == (404, {"error": "this run has no report"})

    @pytest.mark.parametrize("path", ["..", "../inputs", "/etc", "judged", "\x00", "a" * 300])
    def test_an_id_cannot_lead_out_of_the_folder_or_to_what_is_no_run(self, client: TestClient, path: str) -> None:
        for page in ("", "/answers", "/training"):
            assert client.get(f"/api/run/{name_run(path)}{page}").status_code == 422
        assert client.get(f"/report/{name_run(path)}").status_code == 422

    def test_an_id_that_is_no_base64_is_refused_in_one_line(self, client: TestClient) -> None:
        assert client.get("/api/run/%ff!").json() == {"error": "no such run; go back to the list of runs"}


class TestAnswers:
    def test_the_list_has_counts_means_and_snippets(self, client: TestClient) -> None:
        found = ask(client, f"/api/run/{STRICT_RUN}/answers")
        about = found["about"]
        assert (about["answers"], about["tasks"], about["verdicts"], about["unknown"]) == (6, 3, 18, 2)
        assert about["schemes"] == ["additive", "prorubric"]
        assert about["means"]["prorubric"] == {"value": 1.0, "known": 6}
        assert about["means"]["additive"]["known"] == 5
        assert about["notes"] == []
        first = found["rows"][0]
        assert first["answer"].startswith("Go to the doctor now")
        assert first["question"] == spoil("My child has a fever. What now?")[:220]
        assert (first["met"], first["verdicts"], first["unknown"]) == (1, 3, 0)

    @pytest.mark.parametrize(
        ("wanted", "rows"),
        [
            ({"task": "FEV"}, [("fever", 0), ("fever", 1)]),
            ({"text": "doctor rash"}, [("rash", 0)]),
            ({"text": "no such word"}, []),
            ({"verdict": "unknown"}, [("rash", 1)]),
            ({"criterion": "rash danger"}, [("rash", 0), ("rash", 1)]),
            ({"criterion": "danger", "verdict": "unknown"}, [("rash", 1)]),
            ({"criterion": "danger", "verdict": "met", "task": "fever"}, []),
            ({"verdict": "met", "task": "rash"}, [("rash", 0), ("rash", 1)]),
            ({"sort": "unknown", "task": "rash"}, [("rash", 1), ("rash", 0)]),
            ({"first": "additive", "second": "additive"}, []),
        ],
    )
    def test_filters_keep_what_fits(self, client: TestClient, wanted: dict[str, str], rows: list[Any]) -> None:
        assert list_tasks(ask(client, f"/api/run/{STRICT_RUN}/answers", **wanted)) == rows

    def test_answers_that_two_schemes_pay_differently_come_with_the_largest_difference_first(
        self, client: TestClient
    ) -> None:
        found = ask(client, f"/api/run/{LENIENT_RUN}/answers", first="additive", second="prorubric")
        apart = [row["scores"]["additive"][0] - row["scores"]["prorubric"][0] for row in found["rows"]]
        assert apart == [1.0, 1.0, 1.0]

    def test_a_wrong_verdict_or_page_is_refused_in_one_line(self, client: TestClient) -> None:
        answer = client.get(f"/api/run/{STRICT_RUN}/answers", params={"verdict": "perhaps"})
        assert (answer.status_code, answer.json()) == (
            422,
            {"error": "verdict: allowed are met, unmet, unknown, n/a"},
        )
        assert client.get(f"/api/run/{STRICT_RUN}/answers", params={"page": -1}).status_code == 422

    def test_one_answer_has_items_verdicts_reasons_and_what_each_scheme_pays(self, client: TestClient) -> None:
        found = ask(client, f"/api/run/{LENIENT_RUN}/answer/0")
        criteria, dimensions = found["readings"]
        item = criteria["items"][0]
        assert (item["verdict"], item["weight"], item["members"]) == (True, 3.0, [1])
        assert item["reason"] == spoil("because")
        assert item["evidence"] == {"quote": "go to the doctor NOW", "founded": True}
        assert criteria["items"][1]["evidence"]["founded"] is False
        assert dimensions["items"][0]["verdict"] is False
        paid = {one["scheme"]: one.get("value", one.get("why_not")) for one in found["paid"]}
        assert (paid["additive"], paid["prorubric"], paid["conjunctive"]) == (1.0, 0.0, 1.0)
        assert paid["graded"] == "needs verdicts on levels"
        assert (found["previous"], found["next"], found["place"]) == (None, 1, 1)

    def test_what_the_judge_quotes_is_marked_in_the_answer_and_nothing_else(self, client: TestClient) -> None:
        [turn] = ask(client, f"/api/run/{LENIENT_RUN}/answer/0")["response"]["turns"]
        assert [piece["text"] for piece in turn["pieces"] if piece["quotes"]] == ["Go to the doctor now"]
        assert "".join(piece["text"] for piece in turn["pieces"]).endswith(HOSTILE.format("Go"))

    def test_next_and_previous_are_those_of_the_filter(self, client: TestClient) -> None:
        found = ask(client, f"/api/run/{STRICT_RUN}/answer/2", text="doctor")
        assert (found["previous"], found["next"], found["place"], found["found"]) == (0, 4, 2, 3)

    def test_without_the_file_of_responses_the_page_says_so_and_shows_the_verdicts(
        self, runs: Path, tmp_path: Path
    ) -> None:
        folder = copy_run(runs / "judged/strict", tmp_path / "run")
        setting = json.loads((folder / "config.json").read_text())
        setting["inputs"]["responses"]["path"] = "/nowhere/responses.jsonl"
        (folder / "config.json").write_text(json.dumps(setting))
        client = TestClient(make_app(tmp_path, config=ViewConfig()))
        found = ask(client, f"/api/run/{name_run('run')}/answers")
        assert found["about"]["notes"] == ["The answers are not shown: /nowhere/responses.jsonl no longer exists."]
        assert found["rows"][0]["answer"] is None
        assert ask(client, f"/api/run/{name_run('run')}/answer/0")["response"] is None

    def test_responses_that_have_changed_since_are_pointed_out(self, runs: Path, tmp_path: Path) -> None:
        folder = copy_run(runs / "judged/strict", tmp_path / "run")
        other = tmp_path / "other.jsonl"
        other.write_text('{"task_id": "fever", "response": "Another."}\n')
        setting = json.loads((folder / "config.json").read_text())
        setting["inputs"]["responses"]["path"] = str(other)
        (folder / "config.json").write_text(json.dumps(setting))
        found = ask(TestClient(make_app(tmp_path, config=ViewConfig())), f"/api/run/{name_run('run')}/answers")
        assert found["about"]["notes"] == [
            f"{other} has changed since it was judged: the answers shown may not be those judged."
        ]

    def test_a_run_that_was_made_again_is_read_again(self, runs: Path, tmp_path: Path) -> None:
        folder = copy_run(runs / "judged/strict", tmp_path / "run")
        client = TestClient(make_app(tmp_path, config=ViewConfig()))
        assert ask(client, f"/api/run/{name_run('run')}/answers")["found"] == 6
        rows = (folder / "verdicts.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "verdicts.jsonl").write_bytes(b"".join(rows[:4]))
        assert ask(client, f"/api/run/{name_run('run')}/answers")["found"] == 4

    def test_an_evaluation_has_the_items_of_its_benchmark_with_policies(self, client: TestClient, runs: Path) -> None:
        found = ask(client, f"/api/run/{name_run('evaluated')}/answers", policy="new", text="fever")
        [row] = found["rows"]
        assert (row["policy"], row["task"], row["verdicts"]) == ("new", "tasks/fever", 2)
        assert found["about"]["policies"] == ["new", "old"]
        detail = ask(client, f"/api/run/{name_run('evaluated')}/answer/{row['number']}")
        assert detail["readings"][0]["items"][1]["text"] == "Recommends antibiotics."
        assert [one["scheme"] for one in detail["paid"]] == ["score"]

    def test_benchmarks_that_share_prompts_show_criteria_of_their_own(self, twofold: TestClient) -> None:
        found = {}
        for row in ask(twofold, f"/api/run/{name_run('two')}/answers", judge="lexical")["rows"]:
            detail = ask(twofold, f"/api/run/{name_run('two')}/answer/{row['number']}")
            found[Path(row["benchmark"]).parent.name] = [item["text"] for item in detail["readings"][0]["items"]]
        assert found == {"one": ["Names the danger."], "two": ["Names a drug.", "Names a dose."]}

    def test_tasks_that_cannot_be_read_are_told_every_time(self, runs: Path, tmp_path: Path) -> None:
        folder = copy_run(runs / "judged/strict", tmp_path / "run")
        rows = (folder / "tasks.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "tasks.jsonl").write_bytes(rows[0] + b"{\n" + rows[1])
        client = TestClient(make_app(tmp_path, config=ViewConfig()))
        for _ in range(2):
            found = ask(client, f"/api/run/{name_run('run')}/answers", text="doctor")
            assert found["about"]["notes"] == ["tasks.jsonl: 1 row could not be read (line 2: not JSON)."]
            assert found["found"] == 3
        detail = ask(client, f"/api/run/{name_run('run')}/answer/4")
        assert detail["task_record"] is None
        assert detail["notes"][1].startswith("The question and the criteria are not shown: no task is called 'cough ")

    @pytest.mark.parametrize(
        ("name", "line", "fault"),
        [
            ("verdicts.jsonl", b'{"task_id": "fever", "sam', "line 1: not JSON"),
            ("verdicts.jsonl", b"[1, 2]", "line 1: not a row of this file"),
            ("verdicts.jsonl", b'{"sample": 0, "verdicts": {}}', "line 1: task_id is missing"),
            (
                "verdicts.jsonl",
                b'{"task_id": "a", "sample": 0, "verdicts": {"x": []}}',
                "line 1: no reading is called 'x'",
            ),
            (
                "verdicts.jsonl",
                b'{"task_id": "a", "sample": 0, "verdicts": {"criteria": ["so"]}}',
                "line 1: a verdict is 'so'",
            ),
            ("scores.jsonl", b'{"task_id": "fever", "sample": 0}', "line 1: scores is missing"),
        ],
    )
    def test_a_row_that_cannot_be_read_is_told_and_the_others_are_shown(
        self, runs: Path, tmp_path: Path, name: str, line: bytes, fault: str
    ) -> None:
        folder = copy_run(runs / "judged/strict", tmp_path / "run")
        (folder / name).write_bytes(line + b"\n" + (folder / name).read_bytes())
        client = TestClient(make_app(tmp_path, config=ViewConfig()))
        found = ask(client, f"/api/run/{name_run('run')}/answers")
        [note] = found["about"]["notes"]
        assert note.startswith(f"{name}: 1 row could not be read ({fault}")
        assert found["found"] == 6

    def test_a_last_row_without_a_line_break_counts_and_half_a_row_is_told(self, runs: Path, tmp_path: Path) -> None:
        folder = copy_run(runs / "judged/strict", tmp_path / "run")
        rows = (folder / "verdicts.jsonl").read_bytes()
        client = TestClient(make_app(tmp_path, config=ViewConfig()))
        (folder / "verdicts.jsonl").write_bytes(rows.rstrip())
        found = ask(client, f"/api/run/{name_run('run')}/answers")
        assert (found["found"], found["about"]["notes"]) == (6, [])
        (folder / "verdicts.jsonl").write_bytes(rows[:-20])
        found = ask(client, f"/api/run/{name_run('run')}/answers")
        assert (found["found"], found["about"]["notes"]) == (
            5,
            ["verdicts.jsonl: 1 row could not be read (line 6: not JSON)."],
        )

    def test_text_that_utf8_cannot_hold_is_shown(self, runs: Path, tmp_path: Path) -> None:
        folder = copy_run(runs / "judged/strict", tmp_path / "run")
        rows = (folder / "tasks.jsonl").read_bytes()
        (folder / "tasks.jsonl").write_bytes(rows.replace(b"My child has a fever", b"My \\ud800 has a fever"))
        client = TestClient(make_app(tmp_path, config=ViewConfig()))
        detail = ask(client, f"/api/run/{name_run('run')}/answer/0")
        assert detail["notes"] == []
        assert detail["task_record"]["messages"][0]["content"].startswith("My \ud800 has a fever")

    @pytest.mark.parametrize("order", ["additive", "-additive"])
    def test_answers_without_a_score_come_last_in_either_order(self, runs: Path, tmp_path: Path, order: str) -> None:
        folder = copy_run(runs / "judged/lenient<b>", tmp_path / "run")
        rows = (folder / "scores.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "scores.jsonl").write_bytes(b"".join(rows[1:]))
        client = TestClient(make_app(tmp_path, config=ViewConfig()))
        assert list_tasks(ask(client, f"/api/run/{name_run('run')}/answers", sort=order))[-1] == ("fever", 0)

    def test_a_task_to_try_is_that_of_its_benchmark(self, twofold: TestClient) -> None:
        tasks = ask(twofold, f"/api/run/{name_run('two')}/tasks")
        shown = [
            ask(twofold, f"/api/run/{name_run('two')}/task", name=one["id"], benchmark=one["benchmark"])["criteria"]
            for one in tasks
        ]
        assert [len(criteria) for criteria in shown] == [1, 2]


class TestComparison:
    def test_tasks_that_are_the_same_are_not_read_one_by_one(
        self, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("one", "two"):
            folder = copy_run(runs / "judged/strict", tmp_path / name)
            setting = json.loads((folder / "config.json").read_text())
            del setting["inputs"]["tasks"]  # a folder that does not say what it read
            (folder / "config.json").write_text(json.dumps(setting))
        client, read = TestClient(make_app(tmp_path, config=ViewConfig())), list[str]()
        monkeypatch.setattr(AnswerIndex, "find_task", lambda _, name, __: read.append(name))
        for other in ("one", "two"):
            found = ask(client, "/api/compare", a=name_run("one"), b=name_run(other))
            assert (found["about"]["answers"], found["about"]["different"], read) == (6, 0, [])

    def test_next_and_previous_are_those_of_the_list(self, client: TestClient) -> None:
        sides = {"a": STRICT_RUN, "b": LENIENT_RUN}
        listed = [row["number"] for row in ask(client, "/api/compare", **sides, different=True)["rows"]]
        assert listed != sorted(listed)
        found = ask(client, f"/api/compare/{listed[1]}", **sides, different=True)
        assert (found["previous"], found["next"]) == (listed[0], listed[2])
        assert (found["place"], found["found"]) == (2, len(listed))

    def test_two_runs_are_compared_verdict_by_verdict(self, client: TestClient) -> None:
        about = ask(client, "/api/compare", a=STRICT_RUN, b=LENIENT_RUN)["about"]
        # Of the 18 verdicts the first criterion of three answers and all six dimensions differ, two are unknown.
        assert (about["answers"], about["items"], about["different"], about["open"]) == (6, 16, 9, 2)
        assert about["schemes"]["prorubric"] == {"first": 1.0, "second": 0.0, "known": 6}

    def test_filters_by_disagreement_and_by_what_a_scheme_pays(self, client: TestClient) -> None:
        query = {"a": STRICT_RUN, "b": LENIENT_RUN}
        assert ask(client, "/api/compare", **query, scheme="additive")["found"] == 3
        assert ask(client, "/api/compare", **query, different="1", task="fever")["found"] == 2
        first = ask(client, "/api/compare", **query)["rows"][0]
        assert (first["task"], first["sample"], first["different"]) == ("fever", 0, 2)

    def test_one_answer_has_both_sides(self, client: TestClient) -> None:
        found = ask(client, "/api/compare/0", a=STRICT_RUN, b=LENIENT_RUN)
        said = [[item["verdict"] for item in found[side]["readings"][0]["items"]] for side in ("first", "second")]
        assert said == [[False, False], [True, False]]

    def test_two_judges_of_a_panel_are_compared_with_scores_of_their_own(self, client: TestClient) -> None:
        judges = ask(client, f"/api/run/{PANEL}/answers")["about"]["judges"]
        found = ask(client, "/api/compare", a=PANEL, b=PANEL, judge_a=judges[0], judge_b=judges[1], scheme="additive")
        assert (found["found"], found["about"]["different"]) == (3, 3)
        assert {row["scores"]["additive"][0] - row["scores"]["additive"][1] for row in found["rows"]} == {-1.0}
        [disputed] = {row["disputed"] for row in ask(client, f"/api/run/{PANEL}/answers", disputed=1)["rows"]}
        assert disputed == 1

    def test_runs_on_other_versions_of_a_task_are_compared_by_the_texts_of_items(self, tmp_path: Path) -> None:
        inputs = tmp_path / "inputs"
        made = {"a": ["Names the danger.", "Names a drug."], "b": ["Names a dose.", "Names the danger."]}
        for name, texts in made.items():
            rubric = Rubric(criteria=tuple(Criterion(text=text, weight=1.0) for text in texts))
            task = Task(id="fever", messages=(Message(role="user", content="A fever."),), rubric=rubric)
            save_tasks(inputs / f"{name}.jsonl", [task])
            save_responses(inputs / f"to-{name}.jsonl", [Response(task_id="fever", text=texts[0], model=name)])
            paths = (str(inputs / f"{name}.jsonl"), inputs / f"to-{name}.jsonl")
            judge_responses(JudgeRunConfig(*paths, judge="lexical", scheme="additive", out=tmp_path / name))
        client = TestClient(make_app(tmp_path, config=ViewConfig()))
        sides = {"a": name_run("a"), "b": name_run("b")}
        found = ask(client, "/api/compare", **sides)
        # Of three items only the danger is in both: named in the first answer, not in the second.
        assert [found["about"][name] for name in ("items", "different", "open")] == [1, 1, 2]
        assert found["notes"] == [
            "The runs have different versions of the tasks of 1 answer: items with the same text are compared.",
            "The runs judged different files of answers: verdicts can differ because the answers do.",
        ]
        pair = ask(client, "/api/compare/0", **sides)
        shown = [
            [(i["text"], i["verdict"]) for i in pair[side]["readings"][0]["items"]] for side in ("first", "second")
        ]
        none = {"unknown": "this run has no such item"}
        assert shown == [
            [("Names the danger.", True), ("Names a drug.", False), ("Names a dose.", none)],
            [("Names the danger.", False), ("Names a drug.", none), ("Names a dose.", True)],
        ]

    def test_an_evaluation_by_several_judges_is_compared_judge_by_judge(self, twofold: TestClient) -> None:
        sides = {"a": name_run("two"), "b": name_run("two")}
        about = ask(twofold, "/api/compare", **sides)["about"]
        # Two answers by two judges, three criteria by each.
        assert [about[name] for name in ("answers", "items", "different")] == [4, 6, 0]
        one, other = about["judges_a"]
        chosen = ask(twofold, "/api/compare", **sides, judge_a=one, judge_b=other)["about"]
        assert [chosen[name] for name in ("answers", "items", "different")] == [2, 3, 1]

    def test_a_judge_that_the_run_does_not_have_is_refused(self, client: TestClient) -> None:
        answer = client.get("/api/compare", params={"a": PANEL, "b": PANEL, "judge_a": "nobody"})
        assert answer.json() == {"error": "no judge of this run is called 'nobody'; choose one from the list"}
        assert client.get("/api/compare/99", params={"a": PANEL, "b": PANEL}).status_code == 404


class TestTraining:
    def test_curves_alarm_and_peak_of_the_second_opinion(self, client: TestClient) -> None:
        [run] = ask(client, f"/api/run/{name_run('trained')}/training")["runs"]
        assert run["peak"] == {"step": 10, "value": 0.8, "last": 0.4, "last_step": 30}
        assert run["at"] == list(range(1, 31))
        assert run["curves"]["shadow: conjunctive"] == [0.2] * 30
        assert [alarm["step"] for alarm in run["alarms"]] == [30]
        assert (run["state"], run["unknown"], run["responses"]) == ("stopped", 30, 240)

    def test_steps_that_arrive_are_there_at_the_next_look(self, runs: Path, tmp_path: Path) -> None:
        folder = copy_run(runs / "trained", tmp_path / "trained")
        client = TestClient(make_app(tmp_path, config=ViewConfig()))
        [steps] = folder.glob("*/steps.jsonl")
        lines = steps.read_bytes().splitlines(keepends=True)
        steps.write_bytes(b"".join(lines[:5]) + lines[5][:30])
        (steps.parent / "state.json").write_text('{"state": "running", "step": 5}')
        path = f"/api/run/{name_run('trained')}"
        assert ask(client, f"{path}/training")["runs"][0]["state"] == "interrupted"
        with lock_path(folder / ".lock"):
            [run] = ask(client, f"{path}/training")["runs"]
            assert (run["state"], run["at"]) == ("running", [1, 2, 3, 4, 5])
            assert ask(client, path)["progress"] == {"done": 5, "total": 100, "what": "steps"}
            steps.write_bytes(b"".join(lines[:6]))
            assert ask(client, f"{path}/training")["runs"][0]["at"][-1] == 6


class TestAsking:
    def send(self, client: TestClient, path: str, **body: Any) -> Any:
        return client.post(f"/api/ask/{path}", json=body)

    def test_an_answer_is_judged_again_and_the_run_stays_as_it_is(self, client: TestClient, runs: Path) -> None:
        before = (runs / "judged/lenient<b>/verdicts.jsonl").read_bytes()
        found = self.send(client, "again", run=LENIENT_RUN, number=0).json()
        said = [[item["verdict"] for item in reading["items"]] for reading in found["readings"]]
        assert said == [[False, False], [True]]
        assert {one["scheme"]: one.get("value") for one in found["paid"]}["prorubric"] == 1.0
        assert (runs / "judged/lenient<b>/verdicts.jsonl").read_bytes() == before

    def test_one_item_is_judged_again(self, client: TestClient) -> None:
        found = self.send(client, "again", run=LENIENT_RUN, number=0, reading="dimensions", item=1).json()
        [item] = found["readings"][0]["items"]
        assert (item["index"], item["verdict"]) == (1, True)
        assert item["text"].startswith("Safety")

    def test_one_item_comes_with_its_own_reason_and_quotation(self, runs: Path, tmp_path: Path) -> None:
        said = {"reason": "no word of it", "quote": "take antibiotics", "satisfied": False}
        (tmp_path / "judge.jsonl").write_text(json.dumps({"reply": json.dumps({"satisfied": {"2": said}})}) + "\n")
        judging = JudgeConfig(reasons=True, evidence=True, reasks=0)
        config = ViewConfig(judge=f"scripted:{tmp_path / 'judge.jsonl'}", judging=judging)
        with TestClient(make_app(runs, config=config)) as client:
            found = self.send(client, "again", run=LENIENT_RUN, number=0, reading="criteria", item=2).json()
        [item] = found["readings"][0]["items"]
        assert (item["index"], item["text"], item["weight"]) == (2, "Recommends antibiotics.", -1.0)
        assert (item["reason"], item["evidence"]["quote"]) == ("no word of it", "take antibiotics")

    @pytest.mark.parametrize("item", [-1, 0, 2])
    def test_an_item_that_the_task_does_not_have_is_refused(self, client: TestClient, item: int) -> None:
        answer = self.send(client, "again", run=LENIENT_RUN, number=0, reading="dimensions", item=item)
        assert (answer.status_code, answer.json()["error"]) == (422, "item: dimensions has 1 items")

    def test_one_item_is_asked_of_every_judge_that_is_named(self, runs: Path) -> None:
        names = tuple(f"scripted:{runs.parent / 'inputs' / name}" for name in (STRICT, LENIENT))
        with TestClient(make_app(runs, config=ViewConfig(judge=names))) as client:
            found = self.send(client, "again", run=PANEL, number=0, reading="criteria", item=1).json()
        [item] = found["readings"][0]["items"]
        assert item["judges"] == {names[0]: False, names[1]: True}

    def test_a_run_is_not_read_on_the_loop_that_serves_other_pages(
        self, client: TestClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened, look = list[bool](), Shelf.open_index

        def note(shelf: Shelf, run: str) -> Any:
            try:
                asyncio.get_running_loop()
                opened.append(False)
            except RuntimeError:
                opened.append(True)
            return look(shelf, run)

        monkeypatch.setattr(Shelf, "open_index", note)
        self.send(client, "again", run=STRICT_RUN, number=0)
        self.send(client, "play", run=STRICT_RUN, task="fever", answer="Wait.")
        assert opened == [True, True]

    def test_a_weight_is_read_with_either_minus_and_a_bar_may_be_part_of_the_text(self) -> None:
        criteria = make_typed_task("Why?", "\u22122 | No drugs.\n\n 0.5|Rest.\nUses a | b.").rubric.criteria
        assert [(one.text, one.weight) for one in criteria] == [
            ("No drugs.", -2.0),
            ("Rest.", 0.5),
            ("Uses a | b.", 1.0),
        ]

    def test_a_pasted_answer_is_judged_under_everything_that_the_task_allows(self, client: TestClient) -> None:
        found = self.send(client, "play", run=STRICT_RUN, task="fever", answer="Wait and see.").json()
        assert {"criteria", "dimensions", "groups"} <= {reading["name"] for reading in found["readings"]}
        typed = {
            "question": "Rash?",
            "criteria": "Says wait.\n-2 | Recommends antibiotics.\n",
            "answer": "Wait and see.",
        }
        items = self.send(client, "play", **typed).json()["readings"][0]["items"]
        assert [(item["text"], item["weight"]) for item in items] == [
            ("Says wait.", 1.0),
            ("Recommends antibiotics.", -2.0),
        ]

    @pytest.mark.parametrize(
        ("body", "line"),
        [
            ({"question": "Why?", "criteria": "", "answer": "So."}, "Rubric: a rubric needs at least 1 criterion"),
            ({"question": "Why?", "criteria": "Says so.\n0 | No.", "answer": "So."}, "line 2 of the criteria: "),
            ({"question": "", "criteria": "Says so.", "answer": "So."}, "the conversation is empty"),
            ({"answer": "So.", "run": STRICT_RUN, "task": "nothing"}, "no task is called 'nothing' in this run"),
            ({"question": "Why?", "criteria": "Says so.", "answer": "x" * 200_001}, "more than 200,000 characters"),
        ],
    )
    def test_what_cannot_be_judged_is_refused_in_one_line(
        self, client: TestClient, body: dict[str, str], line: str
    ) -> None:
        answer = self.send(client, "play", **body)
        assert answer.status_code == 422
        assert line in answer.json()["error"]

    def test_without_a_judge_nothing_is_asked(self, runs: Path) -> None:
        client = TestClient(make_app(runs, config=ViewConfig()))
        answer = self.send(client, "again", run=STRICT_RUN, number=0)
        assert answer.status_code == 409
        assert "start prorubric view with --judge" in answer.json()["error"]


def test_a_fault_of_the_program_is_one_line_and_does_not_end_the_server(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(shelf: Shelf, run: str) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(Shelf, "open_index", fail)
    client = TestClient(make_app(runs, config=ViewConfig()), raise_server_exceptions=False)
    answer = client.get(f"/api/run/{STRICT_RUN}/answers")
    assert answer.status_code == 500
    assert answer.json()["error"].startswith("prorubric view failed (ZeroDivisionError); the terminal")


def test_a_filter_over_many_answers_takes_a_fraction_of_a_second(tmp_path: Path) -> None:
    """The benchmark measures it; here only what would be felt at once fails."""
    from bench.view import make_run

    make_run(tmp_path / "large", tasks=2_000, criteria=10)
    client = TestClient(make_app(tmp_path, config=ViewConfig()))
    path = f"/api/run/{name_run('large')}/answers"
    assert ask(client, path)["about"]["verdicts"] == 20_000
    begun = time.monotonic()
    assert ask(client, path, text="answer 1999")["found"] == 1
    assert time.monotonic() - begun < 3
