"""The routes of a review."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from prorubric.view.app import make_app
from prorubric.view.config import ViewConfig

from .reviewing import make_task, save, write_run

MOVE = {"op": "move", "criterion": 2, "to": 2}


class Client:
    def __init__(self, path: Path, **options: Any) -> None:
        self._client = TestClient(make_app(path, config=ViewConfig(path, who="ana", **options)))

    def get(self, route: str, status: int = 200, **query: Any) -> Any:
        answer = self._client.get(f"/api/review/{route}", params=query)
        assert answer.status_code == status, answer.text
        return answer.json()

    def post(self, route: str, status: int = 200, **body: Any) -> Any:
        answer = self._client.post(f"/api/review/{route}", json={"file": "c.jsonl", "task": "knee", **body})
        assert answer.status_code == status, answer.text
        return answer.json()

    def read(self) -> Any:
        return self.get("task", file="c.jsonl", task="knee")


@pytest.fixture
def client(tmp_path: Path) -> Client:
    run = write_run(tmp_path / "run", [make_task()], {"knee": [{"criteria": [True, False, True, False]}]})
    found = Client(save(tmp_path / "c.jsonl"), verdicts=run)
    while found.get("progress", file="c.jsonl")["reading"]:
        pass
    return found


def test_a_task_has_its_checklist_its_dimensions_and_its_faults(client: Client) -> None:
    found = client.read()
    assert found["criteria"][0]["text"] == "Advises rest before training again"
    assert [(part["indices"], part["weight"], part["faults"]) for part in found["dimensions"]] == [
        ([1, 2], 8, []),
        ([3, 4], 6, []),
    ]
    assert (found["status"], found["undo"], found["redo"], found["steps"], found["impact"]) == (
        "open",
        None,
        None,
        [],
        None,
    )


def test_a_change_is_shown_with_its_faults_and_scores_before_it_is_saved(client: Client) -> None:
    before = client.read()
    shown = client.post("check", before=before["hash"], operation=MOVE)
    assert [part["weight"] for part in shown["dimensions"]] == [5, 9]
    (one,) = [scheme for scheme in shown["impact"]["schemes"] if scheme["scheme"] == "conjunctive"]
    assert (one["before"], one["after"]) == (pytest.approx(6 / 14), pytest.approx(5 / 14))
    reworded = {"op": "reword", "dimension": 1, "description": "Rest."}
    faults = client.post("check", before=before["hash"], operation=reworded)["dimensions"][0]["faults"]
    assert [fault["kind"] for fault in faults] == ["clause", "sentences", "generic"]
    refused = client.post("check", before=before["hash"], operation={"op": "merge", "dimension": 1, "into": 2})
    assert refused == {"refused": "a task has at least 2 dimensions; split one of them first"}
    assert client.read() == before


def test_steps_are_saved_undone_and_done_again(client: Client) -> None:
    start = client.read()
    moved = client.post("do", before=start["hash"], operation=MOVE, who="ben")
    assert (moved["undo"], moved["steps"][0]["who"], moved["steps"][0]["kind"]) == (MOVE, "ben", "do")
    assert moved["impact"]["schemes"][0]["scheme"] == "additive"
    undone = client.post("undo", before=moved["hash"])
    assert (undone["hash"], undone["redo"], undone["steps"][0]["who"]) == (start["hash"], MOVE, "ana")
    assert client.post("redo", before=undone["hash"])["hash"] == moved["hash"]


def test_a_stale_state_gets_a_409_with_the_state_that_is_there(client: Client) -> None:
    start = client.read()
    moved = client.post("do", before=start["hash"], operation=MOVE)
    for route in ("do", "undo", "redo"):
        more = {"operation": {"op": "accept"}} if route == "do" else {}
        refused = client.post(route, 409, before=start["hash"], **more)
        assert refused["error"].startswith("someone has changed this task since you opened it (ana, 20")
        assert refused["state"] == moved


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ({"operation": {"op": "merge", "dimension": 1, "into": 2}}, "task 'knee': a task has at least 2 dimensions"),
        ({"operation": {"op": "explode"}}, "operation"),
        ({"operation": MOVE, "task": "hip"}, "the file has no such task ('hip')"),
        ({"operation": MOVE, "file": "../secret.jsonl"}, "there is no such file below the folder"),
        ({"operation": MOVE, "file": "/etc/passwd"}, "there is no such file below the folder"),
        ({"operation": MOVE, "file": "\x00"}, "there is no such file below the folder"),
        ({"operation": MOVE, "file": "a" * 300}, "there is no such file below the folder"),
        ({"operation": MOVE, "file": "run/config.json", "task": "a"}, "there is no such file below the folder"),
        ({}, "operation: Field required"),
    ],
)
def test_what_cannot_be_done_is_one_line(client: Client, tmp_path: Path, body: Any, line: str) -> None:
    (tmp_path.parent / "secret.jsonl").write_text("{}")
    before = client.read()["hash"]
    error = client.post("do", 422, before=before, **body)["error"]
    assert line in error
    assert "\n" not in error


def test_a_file_that_is_compiled_again_is_read_again(client: Client, tmp_path: Path) -> None:
    before = client.read()["hash"]
    save(
        tmp_path / "c.jsonl",
        make_task(parts=(("Other", "Another text. Fails if not.", (1, 2, 3)), ("Last", "b", (4,)))),
    )
    answer = client.post("do", 409, before=before, operation=MOVE)
    assert [part["indices"] for part in answer["state"]["dimensions"]] == [[1, 2, 3], [4]]
    assert client.read()["dimensions"] == answer["state"]["dimensions"]


def test_files_that_compile_wrote_are_listed(tmp_path: Path) -> None:
    save(tmp_path / "plain.jsonl")
    (tmp_path / "deep").mkdir()
    save(tmp_path / "deep" / "c.jsonl")
    (tmp_path / "deep" / "c.manifest.json").write_text('{"verb": "compile"}')
    (tmp_path / "bad.manifest.json").write_text("{")
    (tmp_path / "checkpoints").mkdir()
    save(tmp_path / "checkpoints" / "c.jsonl")
    (tmp_path / "checkpoints" / "c.manifest.json").write_text('{"verb": "compile"}')
    assert Client(tmp_path).get("files") == {"files": ["deep/c.jsonl"], "who": "ana", "first": False}


def test_of_a_file_that_was_named_only_that_one_is_shown(tmp_path: Path) -> None:
    for name in ("plain", "other"):
        save(tmp_path / f"{name}.jsonl")
        (tmp_path / f"{name}.manifest.json").write_text('{"verb": "compile"}')
    client = Client(tmp_path / "plain.jsonl")
    assert client.get("files")["files"] == ["plain.jsonl"]
    assert "there is no such file" in client.get("progress", 422, file="other.jsonl")["error"]


def test_texts_that_utf8_cannot_hold_are_answered(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    save(path)
    path.write_text(path.read_text().replace("Rests the knee", "Rests \\ud800"))
    client = Client(path)
    while client.get("progress", file="c.jsonl")["reading"]:
        pass
    assert client.read()["dimensions"][0]["name"] == "Rests \ud800"
    assert client.post("do", before=client.read()["hash"], operation=MOVE)["dimensions"][0]["name"] == "Rests \ud800"
