"""Real runs for the app: judged by scripts and by words, evaluated, trained; every text tries to become markup."""

import base64
import json
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

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
from prorubric.files.write import write_json
from prorubric.reward.server.config import ServerOptions, list_hosts
from prorubric.reward.server.listen import bind
from prorubric.rubric.records import ProtocolRubric
from prorubric.verbs.evaluate import EvaluateConfig, evaluate_policies
from prorubric.view.app import make_app
from prorubric.view.config import ViewConfig
from prorubric.view.gate import ViewGate
from tests.patience import PATIENCE
from tests.train.recipe_folder import TASKS, RecipeFolder

HOSTILE = "<img src=x onerror=\"window.hacked='{}'\"><script>window.hacked=1</script>"
STRICT, LENIENT = "strict.jsonl", "lenient<b>.jsonl"


def spoil(text: str) -> str:
    """A text with markup that tells where it got through."""
    return f"{text} {HOSTILE.format(text.split(maxsplit=1)[0])}"


def make_tasks() -> list[Task]:
    made = []
    for name in ("fever", "rash", "cough"):
        rubric = Rubric(
            criteria=(
                Criterion(text=spoil(f"{name} names the danger"), weight=3.0, tags=(spoil("tag"),)),
                Criterion(text="Recommends antibiotics.", weight=-1.0),
            )
        )
        parts = [{"name": spoil("Safety"), "description": spoil("Says when to go. Fails if not."), "indices": (1, 2)}]
        made.append(
            Task(
                id=spoil(name) if name == "cough" else name,
                messages=(Message(role="user", content=spoil(f"My child has a {name}. What now?")),),
                rubric=rubric,
                protocol=ProtocolRubric.of(rubric, parts),
                domain=spoil("medicine"),
                source=spoil("source"),
                reference=spoil("reference"),
            )
        )
    return made


def make_runs(root: Path) -> Path:
    """Every kind of run, below one folder."""
    inputs, root = root / "inputs", root / "runs"
    tasks = make_tasks()
    save_tasks(inputs / "tasks.jsonl", tasks)
    answers = [
        Response(task_id=task.id, sample=n, text=spoil(text), model=spoil("model"))
        for task in tasks
        for n, text in enumerate(("Go to the doctor now, it may be dangerous.", "Wait and see."))
    ]
    save_responses(inputs / "responses.jsonl", answers)
    for name, met in ((STRICT, False), (LENIENT, True)):
        _write_script(inputs / name, met)
    judging = JudgeConfig(reasons=True, evidence=True, reasks=0)
    paths = (str(inputs / "tasks.jsonl"), inputs / "responses.jsonl")
    for name in (STRICT, LENIENT):
        judge = f"scripted:{inputs / name}"
        out = root / "judged" / name.partition(".")[0]
        judge_responses(JudgeRunConfig(*paths, judge=judge, out=out, scheme="additive,prorubric", judging=judging))
    panel = tuple(f"scripted:{inputs / name}" for name in (STRICT, LENIENT))
    judge_responses(JudgeRunConfig(*paths, judge=panel, out=root / "panel", scheme="additive", judging=judging))
    _evaluate(inputs, root / "evaluated")
    make_training(root / "trained", spoil("alarm"))
    return root


def _write_script(path: Path, met: bool) -> None:
    """A judge that quotes; on the dimension it says the opposite, and of the rash nothing that can be read."""

    def reply(**said: Any) -> str:
        return json.dumps({"satisfied": said})

    item = {"reason": spoil("because"), "quote": "go to the doctor NOW", "satisfied": met}
    second = {"reason": "no word of it", "quote": "take antibiotics", "satisfied": False}
    rules = [
        {"contains": ["Says when to go"], "reply": reply(**{"1": {**item, "satisfied": not met}})},
        {"contains": ["has a rash", "Wait and see"], "reply": "I cannot say."},
        {"contains": ["Wait and see"], "reply": reply(**{"1": {**item, "satisfied": False}, "2": second})},
        {"reply": reply(**{"1": item, "2": second})},
    ]
    path.write_text("".join(json.dumps(rule) + "\n" for rule in rules), encoding="utf-8")


def _evaluate(inputs: Path, out: Path) -> None:
    for name, words in (("new", "names the danger"), ("old", "wait")):
        rows = [Response(task_id=f"tasks/{task.id}", text=spoil(words)) for task in make_tasks()]
        save_responses(inputs / f"{name}.jsonl", rows)
    policies = tuple(f"{name}={inputs / name}.jsonl" for name in ("new", "old"))
    benchmark = f"tasks:{inputs / 'tasks.jsonl'}"
    evaluate_policies(EvaluateConfig((benchmark,), policy=policies, judge="lexical", out=out, resamples=20))  # type: ignore[arg-type]


def make_training(out: Path, reason: str = "the alarm was raised") -> None:
    """A training in which the second opinion falls while the score rises."""
    folder = RecipeFolder(out)
    [run] = folder.plan(TASKS)
    alarm = {"step": 30, "proxy": "the score", "other": "appropriateness", "rise": 0.2, "fall": 0.1, "since": 1}
    folder.steps(
        run,
        [
            {"reward": n / 40, "score": n / 40, "appropriateness": 0.8 - abs(n - 10) / 50, "tokens": 100.0 + n}
            | {"shadow": {"conjunctive": 0.2}, "shadow_known": {"conjunctive": 8}, "unknown": 1}
            | ({"alarms": (alarm,)} if n == 30 else {})
            for n in range(1, 31)
        ],
    )
    folder.state(run, "stopped", 30, reason)
    write_json(
        out / "config.json", {"verb": "train", "config": {"recipe": "recipe.yaml"}, "identity": {}, "inputs": {}}
    )
    (out / ".lock").touch()


def name_run(path: str) -> str:
    """The id of a run."""
    return base64.urlsafe_b64encode(path.encode()).decode().rstrip("=")


@contextmanager
def serve(root: Path, *, token: str | None = None, **options: Any) -> Iterator[str]:
    """The app on a free port of this machine; gives its address."""
    config = ViewConfig(root, open=False, **options)
    listener: socket.socket = bind("127.0.0.1", 0)
    port = int(listener.getsockname()[1])
    gate = ViewGate(make_app(root, config=config), hosts=list_hosts(ServerOptions(port=port), port), token=token)
    server = uvicorn.Server(uvicorn.Config(gate, lifespan="off", log_config=None, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    end = time.monotonic() + PATIENCE
    while not server.started and time.monotonic() < end:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()


def copy_run(run: Path, to: Path) -> Path:
    """A run that a test may change."""
    shutil.copytree(run, to)
    return to
