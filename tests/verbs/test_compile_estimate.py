"""What a run would take is told before it starts, without a call."""

import json
from pathlib import Path

import pytest

from prorubric import CompileConfig, compile_rubrics, save_tasks
from prorubric.compile.compiler import GeneratorConfig
from prorubric.llm.http import HttpConfig
from prorubric.llm.journal import Journal
from prorubric.llm.model import Failure, Outcome, Request
from prorubric.verbs.compile import CompileEstimate, estimate_compile
from tests.compile.generating import make_tasks
from tests.llm.asking import count_replies
from tests.llm.server import MisbehavingServer

PRICES = {"test-model": {"prompt": 2.0, "completion": 8.0, "date": "2026-11-05"}}


@pytest.fixture
def config(tmp_path: Path, server: MisbehavingServer) -> CompileConfig:
    save_tasks(tmp_path / "tasks.jsonl", make_tasks(10))
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    return CompileConfig(
        str(tmp_path / "tasks.jsonl"),
        out=tmp_path / "out.jsonl",
        generator=server.spec,
        prices=tmp_path / "prices.json",
        http=HttpConfig(concurrency=4),
    )


def change(config: CompileConfig, **options: object) -> CompileConfig:
    return CompileConfig(**{**vars(config), **options})  # type: ignore[arg-type]


def test_calls_tokens_and_money_follow_from_the_prompts_that_would_be_sent(
    config: CompileConfig, server: MisbehavingServer, tmp_path: Path
) -> None:
    found = estimate_compile(config)
    assert server.calls == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["prices.json", "tasks.jsonl"]
    compile_rubrics(config)
    sent = sum(sum(len(m["content"]) for m in e.body["messages"]) // 4 for e in server.exchanges)
    assert (found.tasks, found.calls, found.cached, found.most_calls) == (10, 10, 0, 30)
    assert (found.prompt_tokens, found.completion_tokens) == (sent, 7000)
    assert found.cost == pytest.approx((sent * 2.0 + 7000 * 8.0) / 1e6)
    assert found.most_completion_tokens == 30 * 3000
    assert found.most_prompt_tokens == 3 * sent + 20 * 3000


def test_what_the_journal_has_is_not_counted_again(config: CompileConfig) -> None:
    compile_rubrics(config)
    found = estimate_compile(change(config, overwrite=True))
    assert (found.calls, found.cached, found.cost) == (0, 10, 0.0)


def test_each_text_is_a_question_of_its_own(config: CompileConfig) -> None:
    found = estimate_compile(change(config, texts=("k1", "rewritten", "labels", "required")))
    assert (found.calls, found.completion_tokens) == (50, 10 * (700 + 250 + 1000 + 200 + 200))


def test_short_replies_bound_the_estimate(config: CompileConfig) -> None:
    found = estimate_compile(change(config, generation=GeneratorConfig(max_tokens=100, reasks=0)))
    assert (found.completion_tokens, found.most_completion_tokens, found.most_calls) == (1000, 1000, 10)


def test_rules_cost_nothing_and_a_price_that_is_not_known_is_not_zero(config: CompileConfig) -> None:
    rules = estimate_compile(change(config, generator="rules"))
    assert (rules.calls, rules.prompt_tokens, rules.tasks, rules.cost) == (0, 0, 10, 0.0)
    unknown: CompileEstimate = estimate_compile(change(config, prices=None))
    assert unknown.cost is None


def test_the_estimate_leaves_an_existing_journal_as_it_was(config: CompileConfig, tmp_path: Path) -> None:
    compile_rubrics(config)
    estimate_compile(change(config, overwrite=True))
    with Journal(tmp_path / "out.journal.sqlite") as journal:
        assert count_replies(journal) == 10


def test_retries_of_a_reply_in_the_journal_are_still_to_come(config: CompileConfig, server: MisbehavingServer) -> None:
    server.script(*["thinking first"] * 10)
    server.always = "groups"
    compile_rubrics(change(config, generation=GeneratorConfig(reasks=0)))
    found = estimate_compile(change(config, overwrite=True))
    assert (found.calls, found.cached, found.most_calls) == (10, 10, 20)
    seen = len(server.exchanges)
    result = compile_rubrics(change(config, overwrite=True))
    sent = sum(sum(len(m["content"]) for m in e.body["messages"]) // 4 for e in server.exchanges[seen:])
    assert (result.calls - result.cached, found.prompt_tokens) == (10, sent)


def test_a_task_that_would_be_rejected_and_a_question_that_comes_twice_cost_nothing(
    config: CompileConfig, server: MisbehavingServer
) -> None:
    tasks = make_tasks(10)
    same = [task.model_copy(update={"id": f"other-{task.id}"}) for task in tasks[:4]]
    save_tasks(Path(config.tasks), [*tasks, *tasks[:3], *same])
    found = estimate_compile(config)
    assert (found.tasks, found.rejected, found.calls, found.cached) == (14, 3, 10, 4)
    result = compile_rubrics(config)
    assert (result.kept, result.rejected, server.calls) == (14, 3, 10)


def test_a_limit_holds_for_the_estimate_too(config: CompileConfig) -> None:
    found = estimate_compile(change(config, limit=4))
    assert (found.tasks, found.calls) == (4, 4)


def test_texts_are_not_counted_for_tasks_that_would_be_excluded_before(config: CompileConfig) -> None:
    tasks = make_tasks(5)
    short = [task.model_copy(update={"rubric": type(task.rubric)(criteria=task.rubric.criteria[:1])}) for task in tasks]
    save_tasks(Path(config.tasks), short)
    assert estimate_compile(change(config, texts=("k1", "labels"))).calls == 0


class Once:
    """A model of the user's own that cannot be used when it was closed."""

    name = identity = "once"
    is_closed = False

    async def complete(self, request: Request) -> Outcome:
        return Failure("reply", "closed" if self.is_closed else "open")

    async def close(self) -> None:
        self.is_closed = True


ONCE = Once()


def test_an_object_of_the_users_own_is_left_open_for_the_run(config: CompileConfig) -> None:
    estimate_compile(change(config, generator=f"{__name__}:ONCE"))
    assert not ONCE.is_closed


def test_an_empty_file_is_left_empty(config: CompileConfig, tmp_path: Path) -> None:
    (tmp_path / "empty.sqlite").touch()
    assert estimate_compile(change(config, journal=tmp_path / "empty.sqlite")).calls == 10
    assert (tmp_path / "empty.sqlite").stat().st_size == 0
