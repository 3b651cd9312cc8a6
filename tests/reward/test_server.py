"""The server over real sockets, with a judge behind the misbehaving server: the right reward, or none and a reason."""

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prorubric import RewardConfig, Task, save_tasks, score
from prorubric.errors import ConfigError
from prorubric.rubric.forms import render_task
from prorubric.train.openrlhf import make_reward_func
from prorubric.train.slime import make_custom_rm
from tests.aggregate.test_schemes import make_task
from tests.llm.server import MisbehavingServer
from tests.reward.judging import truth
from tests.reward.serving import Answer, JudgeAt, RunningServer, wait_until
from tests.thorough import few_or

TASKS = [make_task([5, 3, -2, 1], [[1, 3], [2, 4]]).model_copy(update={"id": f"task {i}"}) for i in range(3)]
STRANGER = make_task([2, -1, 4], [[1, 2], [3]]).model_copy(update={"id": "a stranger"})
SCHEME = "conjunctive"
PROMPT = "<|im_start|>user\nWhat should I do about it, and when?<|im_end|>\n<|im_start|>assistant\n"
HASTE = ("--retries", "1", "--backoff-seconds", "0.01", "--concurrency", "8", "--scheme", SCHEME)


def expect(text: str, task: Task = TASKS[0]) -> float:
    value = score([truth(text, index) for index in range(1, len(task.rubric) + 1)], task, SCHEME).value
    assert value is not None
    return value


def ask_score(text: str, task: Any = "task 0") -> tuple[str, dict[str, Any]]:
    return "/score", {"task": task, "response": text}


def ask_openrlhf(text: str, task: Any = "task 0") -> tuple[str, dict[str, Any]]:
    return "/openrlhf", {"query": [f"{PROMPT}{text}<|im_end|>"], "prompts": [PROMPT], "labels": [task]}


def ask_slime(text: str, task: Any = "task 0") -> tuple[str, dict[str, Any]]:
    return "/slime", {"prompt": PROMPT, "response": f"{text}<|im_end|>", "label": task}


def ask_verify(text: str, task: Any = "task 0") -> tuple[str, dict[str, Any]]:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    row = {"responses_create_params": {"input": "What should I do?"}, "response": {"output": [said]}}
    return "/verify", {**row, "task_id": task}


def answered(response: Any) -> dict[str, Any]:
    return {**ask_verify("x")[1], "response": response}


def said(content: Any) -> dict[str, Any]:
    return answered({"output": [{"type": "message", "role": "assistant", "content": content}]})


ASK = {"/score": ask_score, "/openrlhf": ask_openrlhf, "/slime": ask_slime, "/verify": ask_verify}
READ = {
    "/score": lambda body: body["value"],
    "/openrlhf": lambda body: body["rewards"][0],
    "/slime": lambda body: body,
    "/verify": lambda body: body["reward"],
}
every_route = pytest.mark.parametrize("route", ASK)


@pytest.fixture(scope="module")
def the_judge() -> Iterator[MisbehavingServer]:
    with MisbehavingServer() as running:
        yield running


@pytest.fixture
def judge(the_judge: MisbehavingServer) -> MisbehavingServer:
    the_judge.always, the_judge.think_seconds = "judge", 0.0
    return the_judge


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tasks") / "tasks.jsonl"
    save_tasks(path, TASKS)
    return path


@pytest.fixture(scope="module")
def server(
    the_judge: MisbehavingServer, tasks: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    options = ("--judge", the_judge.spec, "--tasks", str(tasks), *HASTE, "--timeout-seconds", "20")
    with RunningServer(options, tmp_path_factory.mktemp("server")) as running:
        yield running


def start(judge: MisbehavingServer, tasks: Path, folder: Path, *options: str, **environment: str) -> RunningServer:
    return RunningServer(("--judge", judge.spec, "--tasks", str(tasks), *HASTE, *options), folder, environment)


def check_error(answer: Answer, status: int, text: str) -> None:
    """A refusal is one line of JSON that says what is wrong."""
    assert (answer.status, answer.headers["content-type"]) == (status, "application/json")
    assert text in answer.body["error"]
    assert "\n" not in answer.body["error"]


class TestRewards:
    @every_route
    @pytest.mark.parametrize("text", ["answer 1", "answer 2", "", 'Grüße 🩺\nTwo lines \\ "quoted"'])
    def test_a_task_is_named_by_its_id(
        self, server: RunningServer, judge: MisbehavingServer, route: str, text: str
    ) -> None:
        answer = server.post(*ASK[route](text, "task 1"))
        assert (answer.status, READ[route](answer.body)) == (200, expect(text, TASKS[1]))

    @every_route
    @pytest.mark.parametrize("form", ["object", "text", "row"])
    def test_a_task_is_carried(self, server: RunningServer, judge: MisbehavingServer, route: str, form: str) -> None:
        row: dict[str, Any] = render_task(STRANGER)
        # NeMo Gym's request is a row itself.
        inner = row if route == "/verify" else {"task_id": row, "else": 1}
        carried = {"object": row, "text": json.dumps(row), "row": inner}[form]
        answer = server.post(*ASK[route]("answer 3", carried))
        assert (answer.status, READ[route](answer.body)) == (200, expect("answer 3", STRANGER))

    def test_score_says_how_the_reward_came_about(self, server: RunningServer, judge: MisbehavingServer) -> None:
        body = server.post(*ask_score("answer 1")).body
        value = expect("answer 1")
        assert (body["value"], body["low"], body["high"]) == (value, value, value)
        assert body["parts"]["verdicts"] == {"criteria": [truth("answer 1", index) for index in range(1, 5)]}
        assert (body["parts"]["task_id"], body["parts"]["scheme"], body["parts"]["characters"]) == ("task 0", SCHEME, 8)

    def test_score_takes_several_responses_and_keeps_their_order(
        self, server: RunningServer, judge: MisbehavingServer
    ) -> None:
        texts = [f"answer {i}" for i in range(20)]
        body = server.post("/score", {"task_id": "task 2", "responses": texts}).body
        assert [reward["value"] for reward in body["rewards"]] == [expect(text, TASKS[2]) for text in texts]
        assert len({reward["value"] for reward in body["rewards"]}) > 1

    def test_openrlhf_takes_a_batch_and_keeps_its_order(self, server: RunningServer, judge: MisbehavingServer) -> None:
        texts = [f"answer {i}" for i in range(20)]
        body = {
            "query": [f"{PROMPT}{text}" for text in texts],
            "prompts": [PROMPT] * 20,
            "labels": [f"task {i % 3}" for i in range(20)],
        }
        values = [expect(text, TASKS[i % 3]) for i, text in enumerate(texts)]
        assert server.post("/openrlhf", body).body == {"rewards": values, "scores": values, "extra_logs": {}}

    def test_openrlhf_may_cut_a_prompt_on_its_left(self, server: RunningServer, judge: MisbehavingServer) -> None:
        prompt = "Once upon a time, long before all of this. " * 9 + PROMPT
        body = {"query": [prompt[300:] + "answer 7<|im_end|>"], "prompts": [prompt], "labels": ["task 0"]}
        assert server.post("/openrlhf", body).body["rewards"] == [expect("answer 7")]

    def test_a_query_without_its_prompt_is_refused(self, server: RunningServer, judge: MisbehavingServer) -> None:
        body = {"query": ["an answer alone"], "prompts": [PROMPT], "labels": ["task 0"]}
        check_error(server.post("/openrlhf", body), 422, "neither begins with its prompt nor contains the end of it")

    def test_slime_may_name_the_task_in_the_metadata(self, server: RunningServer, judge: MisbehavingServer) -> None:
        for label in ({}, {"label": None}, {"label": ""}):
            body = {"prompt": [], "response": "answer 5", "metadata": {"task_id": "task 1", "rm_type": "remote_rm"}}
            assert server.post("/slime", {**body, **label}).text == json.dumps(expect("answer 5", TASKS[1]))

    def test_verify_gives_the_request_back_with_its_reward(
        self, server: RunningServer, judge: MisbehavingServer
    ) -> None:
        path, body = ask_verify("answer 4")
        body |= {"agent_ref": {"name": "simple_agent"}, "numbers": [1, 2.5, None, 2**70], "text": "half \ud83d"}
        assert server.post(path, body).body == {**body, "reward": expect("answer 4")}

    def test_verify_judges_what_the_assistant_said_last(self, server: RunningServer, judge: MisbehavingServer) -> None:
        path, body = ask_verify("answer 6")
        first = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]}
        call = {"type": "function_call", "name": "look", "arguments": "{}", "call_id": "1"}
        result = {"type": "function_call_output", "call_id": "1", "output": "nothing"}
        thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
        body["response"]["output"] = [first, call, result, thought, *body["response"]["output"]]
        body["verifier_metadata"] = {"task_id": body.pop("task_id")}
        assert server.post(path, body).body["reward"] == expect("answer 6")

    def test_a_response_that_says_nothing_is_judged_as_an_empty_one(
        self, server: RunningServer, judge: MisbehavingServer
    ) -> None:
        for output in ([], [{"type": "reasoning", "summary": []}]):
            assert server.post("/verify", answered({"output": output})).body["reward"] == expect("")
        for content in ("", [], [{"type": "output_text", "text": ""}]):
            assert server.post("/verify", said(content)).body["reward"] == expect("")

    def test_nemo_gym_may_begin_a_session(self, server: RunningServer) -> None:
        answer = server.post("/seed_session", {"responses_create_params": {"input": "?"}, "task_id": "task 0"})
        assert (answer.status, answer.body) == (200, {})

    async def test_many_at_once_all_get_their_own(self, server: RunningServer, judge: MisbehavingServer) -> None:
        judge.think_seconds = 0.01
        async with aiohttp.ClientSession() as session:

            async def ask(number: int) -> tuple[Any, float]:
                route = [*ASK][number % 4]
                path, body = ASK[route](f"answer {number}")
                async with session.post(server.url + path, json=body) as response:
                    response.raise_for_status()
                    return READ[route](await response.json()), expect(f"answer {number}")

            for got, expected in await asyncio.gather(*map(ask, range(300))):
                assert got == expected


class TestUnknown:
    @every_route
    @pytest.mark.parametrize("fault", ["judge silent", "judge refusing", "503", "empty body", "reset before headers"])
    def test_an_unknown_reward_is_no_number_and_the_same_request_succeeds_later(
        self, server: RunningServer, judge: MisbehavingServer, route: str, fault: str
    ) -> None:
        text = f"{route} {fault}"
        judge.always = fault
        answer = server.post(*ASK[route](text))
        check_error(answer, 503, "1 of 1 rewards unknown; first: ")
        assert answer.headers["retry-after"] == "5"
        (unknown,) = answer.body["unknown"]
        assert (unknown["index"], unknown["task"], unknown["low"], unknown["high"]) == (0, "task 0", 0.0, 1.0)
        assert len(unknown["reasons"][0]) > 5
        judge.always = "judge"
        again = server.post(*ASK[route](text))
        assert (again.status, READ[route](again.body)) == (200, expect(text))

    def test_one_unknown_reward_of_several_is_told_apart_from_the_known_ones(
        self, server: RunningServer, judge: MisbehavingServer
    ) -> None:
        # An answer that fails both groups for sure needs no verdict on the rest.
        judge.always = "judge without the last item"
        texts = [f"part {i}" for i in range(12)]
        answer = server.post("/score", {"task": "task 0", "responses": texts})
        assert answer.status == 503
        values = [reward["value"] for reward in answer.body["rewards"]]
        for text, reward in zip(texts, answer.body["rewards"], strict=True):
            assert reward["value"] in (None, expect(text))
            assert reward["low"] <= expect(text) <= reward["high"]
        assert [row["index"] for row in answer.body["unknown"]] == [i for i, v in enumerate(values) if v is None]
        assert 0 < values.count(None) < 12

    def test_a_judge_that_cannot_be_used_is_a_502_until_it_can(
        self, server: RunningServer, judge: MisbehavingServer
    ) -> None:
        judge.always = "401"
        check_error(server.post(*ask_slime("answer 1")), 502, "the judge cannot be used: ")
        assert server.get("/health").body["judge"] == "failing"
        judge.always = "judge"
        assert server.post(*ask_slime("answer 1")).body == expect("answer 1")
        assert server.get("/health").body["judge"] == "answering"

    def test_a_judge_that_dies_and_comes_back_leaves_no_wrong_reward(self, tasks: Path, tmp_path: Path) -> None:
        with JudgeAt(0) as first:
            port, spec = first.port, first.spec
            running = RunningServer(("--judge", spec, "--tasks", str(tasks), *HASTE), tmp_path)
            running.__enter__()
        try:
            outcomes: list[tuple[str, Answer]] = []
            stop = threading.Event()

            def keep_asking(worker: int) -> None:
                number = 0
                while not stop.is_set():
                    text = f"answer {worker}.{number}"
                    outcomes.append((text, running.post(*ask_openrlhf(text))))
                    number += 1

            with ThreadPoolExecutor(4) as pool:
                workers = [pool.submit(keep_asking, worker) for worker in range(4)]
                try:
                    wait_until(lambda: sum(answer.status == 503 for _, answer in outcomes) >= 8)
                    for _ in range(2):
                        with JudgeAt(port):
                            known = sum(answer.status == 200 for _, answer in outcomes)
                            wait_until(lambda: sum(a.status == 200 for _, a in outcomes) >= known + 20)  # noqa: B023
                        failed = sum(answer.status == 503 for _, answer in outcomes)
                        wait_until(lambda: sum(a.status == 503 for _, a in outcomes) >= failed + 8)  # noqa: B023
                finally:
                    stop.set()
                for worker in workers:
                    worker.result()
            assert {answer.status for _, answer in outcomes} == {200, 503}
            for text, answer in outcomes:
                if answer.status == 200:
                    assert answer.body["rewards"] == [expect(text)]
        finally:
            running.__exit__()


class TestBadRequests:
    @pytest.mark.parametrize(
        ("path", "body", "reason"),
        [
            ("/score", {"task": "task 0"}, "give either response or responses, and not both"),
            ("/score", {"response": "x"}, "task: Field required"),
            ("/score", {"task": "no such", "response": "x"}, "no task matches 'no such'"),
            ("/score", {"task": 7, "response": "x"}, "no task matches 7"),
            ("/score", {"task": True, "response": "x"}, "task: does not name a task; give the id of a task"),
            ("/score", {"task": "task 0", "response": 5}, "response: Input should be a valid string (got 5)"),
            ("/score", {"task": "task 0", "response": "x", "token": 5}, "token: Extra inputs are not permitted"),
            ("/score", {"task": "task 0", "responses": ["x"], "tokens": [1, 2]}, "1 response, but 2 numbers of to"),
            ("/score", {"task": "task 0", "responses": ["x"], "tokens": 1}, "tokens is one number with response"),
            ("/score", {"task": {"id": "t", "messages": [], "rubric": []}, "response": "x"}, "the task in the row"),
            ("/score", ["task 0"], "the body: Input should be a valid dictionary"),
            ("/score", b"", "the body: Field required"),
            ("/score", b"{", "the body is not JSON"),
            ("/score", b"\xff\xfe", "the body"),
            ("/score", b"[" * 100_000, "the body"),
            ("/openrlhf", {"query": ["x"], "prompts": [], "labels": []}, "have 1, 0 and 0 entries; give the same"),
            ("/openrlhf", {"query": ["x"], "prompts": ["x"], "labels": [None]}, "labels.0: does not name a task"),
            ("/openrlhf", {"query": "x", "prompts": "x", "labels": "task 0"}, "query: Input should be a valid list"),
            ("/slime", {"prompt": "x", "response": "x"}, "no task matches None"),
            ("/slime", {"prompt": "x", "label": "task 0"}, "response: Field required"),
            ("/verify", {"response": {}}, "responses_create_params: Field required"),
            ("/verify", {"responses_create_params": {}, "response": {"output": []}}, "no task matches"),
            ("/verify", answered({}), "response.output: Field required"),
            ("/verify", answered({"outputs": []}), "response.output: Field required"),
            ("/verify", answered({"output": None}), "response.output: Input should be a valid list (got None)"),
            ("/verify", answered({"output": "x"}), "response.output: Input should be a valid list (got 'x')"),
            ("/verify", said(None), "the content of the last message is None; give a text, or a list of parts"),
            ("/verify", said([{"txt": "x"}]), "a part of the last message is {'txt': 'x'}; give it a text"),
        ],
    )  # fmt: skip
    def test_one_line_says_what_is_wrong(
        self, server: RunningServer, judge: MisbehavingServer, path: str, body: Any, reason: str
    ) -> None:
        before = judge.calls
        answer = server.post(path, body)
        assert answer.status in (400, 422)
        check_error(answer, answer.status, reason)
        assert judge.calls == before

    def test_a_page_in_a_browser_cannot_ask_behind_its_readers_back(
        self, server: RunningServer, judge: MisbehavingServer
    ) -> None:
        before = judge.calls
        body = json.dumps(ask_score("x")[1]).encode()
        answer = server.ask("POST", "/score", body, {"Content-Type": "text/plain", "Origin": "http://evil.example"})
        check_error(answer, 422, "send it with the header Content-Type: application/json")
        assert (judge.calls, [name for name in answer.headers if name.startswith("access-control")]) == (before, [])

    @pytest.mark.parametrize(("method", "path", "status"), [("GET", "/score", 405), ("POST", "/", 404)])
    def test_a_wrong_route_says_where_rewards_are(
        self, server: RunningServer, method: str, path: str, status: int
    ) -> None:
        check_error(server.ask(method, path, None, {}), status, "rewards")

    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["task 0"]),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
        max_leaves=8,
    )
    keys = st.sampled_from(
        "task task_id response responses tokens validation query prompts labels prompt label metadata "
        "responses_create_params response_length output verifier_metadata rubric".split()
    )

    @settings(max_examples=few_or(150))
    @given(
        route=st.sampled_from([*ASK]),
        change=st.dictionaries(keys, json_values, max_size=3),
        keep=st.booleans(),
        cut=st.integers(0, 40) | st.none(),
    )
    def test_no_body_breaks_the_server(
        self, server: RunningServer, route: str, change: dict[str, Any], keep: bool, cut: int | None
    ) -> None:
        path, body = ASK[route]("answer")
        data = json.dumps({**(body if keep else {}), **change}).encode()
        answer = server.post(path, data if cut is None else data[:cut])
        assert answer.status in (200, 400, 422, 503), answer.text
        if answer.status != 200:
            assert next(iter(answer.body)) == "error"
            assert "\n" not in answer.body["error"]

    def test_none_of_that_was_a_bug(self, server: RunningServer) -> None:
        assert server.list_events("bug") == []
        assert {row["status"] for row in server.list_events("request")} <= {200, 400, 404, 405, 422, 502, 503}


class TestWatching:
    def test_health_says_whether_the_judge_answers(self, judge: MisbehavingServer, tasks: Path, tmp_path: Path) -> None:
        with start(judge, tasks, tmp_path) as server:
            assert server.get("/health").body == {
                "status": "ok",
                "judge": "not asked yet",
                "judge_answered_seconds_ago": None,
                "in_flight": 0,
                "limit": 1024,
            }
            server.post(*ask_score("answer"))
            healthy = server.get("/health").body
            assert (healthy["judge"], healthy["judge_answered_seconds_ago"] >= 0) == ("answering", True)
            judge.always = "503"
            server.post(*ask_score("another answer"))
            failing = server.get("/health")
            assert (failing.status, failing.body["judge"]) == (200, "failing")

    def test_metrics_count_what_happened(self, judge: MisbehavingServer, tasks: Path, tmp_path: Path) -> None:
        with start(judge, tasks, tmp_path) as server:
            for number in range(3):
                server.post(*ask_slime(f"answer {number}"))
            server.post("/score", {"task": "task 0", "responses": ["a", "b"]})
            server.post("/slime", {})
            judge.always = "503"
            server.post(*ask_slime("unknown"))
            wait_until(lambda: server.count('prorubric_requests_total{route="/slime",status="503"}') == 1)
            assert server.count('prorubric_requests_total{route="/slime",status="200"}') == 3
            assert server.count('prorubric_requests_total{route="/slime",status="422"}') == 1
            assert server.count('prorubric_rewards_total{route="/score"}') == 2
            assert server.count('prorubric_unknown_rewards_total{route="/slime"}') == 1
            assert server.count('prorubric_request_seconds_count{route="/slime"}') == 5
            assert server.count('prorubric_request_seconds_bucket{le="+Inf",route="/slime"}') == 5
            assert server.count("prorubric_judge_calls_total") == 6
            assert server.count('prorubric_judge_failures_total{kind="http"}') == 1
            assert server.count("prorubric_judge_retries_total") == 1
            assert server.count('prorubric_judge_tokens_total{kind="prompt"}') == 35
            assert server.count("prorubric_requests_in_flight") == 0
            assert server.count("prorubric_responses_in_flight") == 0

    def test_metrics_are_written_as_prometheus_reads_them(
        self, server: RunningServer, judge: MisbehavingServer
    ) -> None:
        server.post(*ask_slime("answer"))
        answer = server.get("/metrics")
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert answer.text.endswith("\n")
        kinds: dict[str, str] = {}
        for line in answer.text.splitlines():
            if line.startswith("# TYPE "):
                name, kind = line.removeprefix("# TYPE ").split()
                assert name not in kinds
                kinds[name] = kind
            elif not line.startswith("# HELP "):
                sample = re.fullmatch(r'([a-z_]+)(?:\{(?:[a-z]+="[^"\\]*",?)+\})? (\d+(?:\.\d+)?(?:e-?\d+)?)', line)
                assert sample is not None, line
                family = re.sub("_(bucket|sum|count)$", "", sample[1]) if sample[1] not in kinds else sample[1]
                assert kinds[family] in ("counter", "gauge", "histogram")
                assert kinds[family] != "counter" or family.endswith("_total")
        found = re.findall(r'_seconds_bucket\{le="([^"]+)",route="/slime"\} (\d+)', answer.text)
        bounds, counts = [float(bound) for bound, _ in found], [int(number) for _, number in found]
        assert (sorted(bounds), sorted(counts), bounds[-1]) == (bounds, counts, float("inf"))

    def test_the_documentation_names_every_route_with_an_example(self, server: RunningServer) -> None:
        document = server.get("/openapi.json").body
        assert {*ASK, "/health", "/metrics"} <= document["paths"].keys()
        for route in ASK:
            post = document["paths"][route]["post"]
            (name,) = [post["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]]
            (example, *_) = document["components"]["schemas"][name]["examples"]
            assert {"200", "401", "413", "422", "429", "502", "503", "504"} <= post["responses"].keys()
            refused = server.post(route, example)
            check_error(refused, 422, "no task matches")

    def test_no_page_is_served_that_would_load_scripts_from_elsewhere(self, server: RunningServer) -> None:
        assert [server.get(path).status for path in ("/docs", "/redoc", "/docs/oauth2-redirect")] == [404] * 3

    def test_the_log_has_a_line_of_json_a_request_and_nothing_that_was_said(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path
    ) -> None:
        with start(judge, tasks, tmp_path) as server:
            for ask in ASK.values():
                server.post(*ask("a secret answer"))
            judge.always = "judge with the wrong type"
            server.post(*ask_score("a secret failure"))
            server.post("/score", {"task": "a secret name", "response": "a secret answer"})
            server.post("/a-secret-path?of=mine", {})
            server.get("/health")
            assert server.stop() == 0
            lines = server.list_events("request")
            assert [(line["route"], line["status"]) for line in lines] == [
                *((route, 200) for route in ASK), ("/score", 503), ("/score", 422), ("other", 404)
            ]  # fmt: skip
            assert [line.get("unknown") for line in lines] == [0, 0, 0, 0, 1, None, None]
            assert "secret" not in server.read_log()
            assert len(server.list_events("started")) == len(server.list_events("stopped")) == 1

    def test_the_log_has_texts_and_reasons_where_they_are_asked_for(
        self, judge: MisbehavingServer, tasks: Path, tmp_path: Path
    ) -> None:
        with start(judge, tasks, tmp_path, "--log-text") as server:
            judge.always = "judge silent"
            server.post(*ask_slime("an answer"))
            server.stop()
            (line,) = server.list_events("request")
            assert (line["texts"], line["reasons"]) == (["an answer"], [["the reply is empty"]])


FULFILLED = "criterion 0, said as it stands"
Numbered = tuple[RunningServer, RewardConfig]


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Numbered]:
    folder = tmp_path_factory.mktemp("numbered")
    save_tasks(folder / "tasks.jsonl", [TASKS[0].model_copy(update={"id": str(number)}) for number in range(2)])
    config = RewardConfig("lexical", tasks=str(folder / "tasks.jsonl"), scheme="additive")
    told = ("--judge", "lexical", "--tasks", str(config.tasks), "--scheme", "additive")
    with RunningServer(told, folder) as running:
        yield running, config


class TestTwoForms:
    """A trainer may be given the URL or the function in Python: both take the same labels for the same tasks."""

    @pytest.mark.parametrize("label", ["1", 1, 0, {"task_id": 1}])
    async def test_a_label_that_means_a_task_gets_the_same_reward(self, numbered: Numbered, label: Any) -> None:
        server, config = numbered
        value = await ask_function(config, label)
        assert server.post(*ask_slime(FULFILLED, label)).body == value == 5 / 9
        _, body = ask_openrlhf(FULFILLED, label)
        assert make_reward_func(config)(body["query"], body["prompts"], body["labels"])["rewards"] == [value]
        assert server.post("/openrlhf", body).body["rewards"] == [value]

    @pytest.mark.parametrize("label", [True, 1.0, None, "", {}, [], "2", 2])
    async def test_a_label_that_means_none_is_refused(self, numbered: Numbered, label: Any) -> None:
        server, config = numbered
        assert server.post(*ask_slime(FULFILLED, label)).status == 422
        with pytest.raises(ConfigError, match="no task matches"):
            await ask_function(config, label)
        _, body = ask_openrlhf(FULFILLED, label)
        assert server.post("/openrlhf", body).status == 422
        with pytest.raises(ConfigError, match="no task matches"):
            make_reward_func(config)(body["query"], body["prompts"], body["labels"])

    @pytest.mark.parametrize("label", [None, ""])
    async def test_slime_without_a_label_means_the_task_of_its_metadata(self, numbered: Numbered, label: Any) -> None:
        server, config = numbered
        metadata = {"task_id": 1}
        body = {**ask_slime(FULFILLED, label)[1], "metadata": metadata}
        assert server.post("/slime", body).body == await ask_function(config, label, metadata) == 5 / 9


async def ask_function(config: RewardConfig, label: Any, metadata: Any = None) -> float:
    text = ask_slime(FULFILLED)[1]["response"]
    sample: Any = SimpleNamespace(
        response=text, response_length=3, label=label, metadata=metadata or {}, remove_sample=False
    )
    return float(await make_custom_rm(config)(None, sample))


@pytest.fixture(scope="module")
def shaped(
    the_judge: MisbehavingServer, tasks: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningServer]:
    options = ("--overlong-limit", "100", "--overlong-buffer", "40", "--overlong-factor", "0.5")
    with start(the_judge, tasks, tmp_path_factory.mktemp("shaped"), *options) as running:
        yield running


class TestOverlong:
    def test_length_costs_and_validation_does_not(self, shaped: RunningServer, judge: MisbehavingServer) -> None:
        body = {"task": "task 0", "responses": ["answer 1"] * 3, "tokens": [60, 80, 100]}
        found = [reward["value"] for reward in shaped.post("/score", body).body["rewards"]]
        assert found == [expect("answer 1") - lost for lost in (0.0, 0.25, 0.5)]
        found = [reward["value"] for reward in shaped.post("/score", {**body, "validation": True}).body["rewards"]]
        assert found == [expect("answer 1")] * 3

    def test_bounds_are_those_of_the_reward(self, shaped: RunningServer, judge: MisbehavingServer) -> None:
        judge.always = "judge silent"
        body = shaped.post("/score", {"task": "task 0", "response": "x", "tokens": 80}).body
        assert (body["unknown"][0]["low"], body["unknown"][0]["high"]) == (-0.25, 0.75)

    def test_nemo_gym_and_slime_may_send_the_length(self, shaped: RunningServer, judge: MisbehavingServer) -> None:
        path, body = ask_verify("answer 1")
        body["response"]["usage"] = {"input_tokens": 7, "output_tokens": 80}
        assert shaped.post(path, body).body["reward"] == expect("answer 1") - 0.25
        assert (
            shaped.post("/slime", {**ask_slime("answer 1")[1], "response_length": 100}).body == expect("answer 1") - 0.5
        )

    @pytest.mark.parametrize("route", ["/openrlhf", "/slime", "/score", "/verify"])
    def test_without_a_length_there_is_no_reward(
        self, shaped: RunningServer, judge: MisbehavingServer, route: str
    ) -> None:
        check_error(shaped.post(*ASK[route]("answer 1")), 422, "overlong is set and the length")
        note = shaped.list_events("note")[0]["text"]
        assert "OpenRLHF sends none" in note
        assert "/slime needs response_length" in note


@pytest.mark.parametrize(("scheme", "notes"), [("prorubric", 1), ("additive", 0)])
def test_the_log_warns_of_a_scheme_that_lexical_cannot_read(
    tasks: Path, tmp_path: Path, scheme: str, notes: int
) -> None:
    with RunningServer(("--judge", "lexical", "--tasks", str(tasks), "--scheme", scheme), tmp_path) as running:
        assert running.get("/health").status == 200
        found = [event["text"] for event in running.list_events("note")]
    assert len(found) == notes
    assert all("prorubric: lexical compares words and cannot read their texts" in text for text in found)
