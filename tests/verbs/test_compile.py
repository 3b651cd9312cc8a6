"""A whole file through the compiler: what is written where, in which order, and what a second run does."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import prorubric.compile as compile_module
from prorubric import CompileConfig, compile_rubrics, load_tasks, save_tasks
from prorubric.cli.app import run as run_program
from prorubric.compile import outputs
from prorubric.compile.compiler import GeneratorConfig
from prorubric.errors import ConfigError, ModelError, SourceError, StoppedError
from prorubric.llm.http import HttpConfig
from prorubric.rubric.forms import render_task
from tests.compile.generating import make_tasks
from tests.llm.server import MisbehavingServer

FAST = HttpConfig(concurrency=8, retries=1, backoff_seconds=0.01)


def make_config(folder: Path, server: MisbehavingServer | None = None, **options: object) -> CompileConfig:
    generator = {"generator": server.spec} if server else {}
    settings = {"http": FAST, **generator, **options}
    return CompileConfig(str(folder / "tasks.jsonl"), out=folder / "out.jsonl", **settings)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_tasks(tmp_path / "tasks.jsonl", make_tasks(30))
    return tmp_path


def test_every_task_comes_out_in_order_with_its_dimensions_and_lineage(folder: Path, server: MisbehavingServer) -> None:
    result = compile_rubrics(make_config(folder, server))
    made = list(load_tasks(folder / "out.jsonl"))
    assert [task.id for task in made] == [task.id for task in make_tasks(30)]
    assert [task.rubric for task in made] == [task.rubric for task in make_tasks(30)]
    assert [len(task.protocol or ()) for task in made] == [2] * 30
    assert made[0].meta["compile"] == {
        "state": "kept",
        "generator": server.spec,
        "prompt": "general",
        "prompt_sha256": json.loads((folder / "out.manifest.json").read_text())["prompts"]["group"]["general"],
        "attempts": 1,
        "generator_weights": [1.0, 1.0],
    }
    assert (result.read, result.kept, result.repaired, result.excluded, result.rejected) == (30, 30, 0, 0, 0)
    assert (result.calls, result.cached, server.calls, result.attempts) == (30, 0, 30, {"1": 30})
    assert result.dimensions == {"2": 30}
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")) == [
        "out.journal.sqlite",
        "out.jsonl",
        "out.manifest.json",
        "tasks.jsonl",
    ]


def test_the_generator_is_asked_greedily_for_at_most_3000_tokens(folder: Path, server: MisbehavingServer) -> None:
    compile_rubrics(make_config(folder, server))
    assert {(e.body["temperature"], e.body["max_tokens"]) for e in server.exchanges} == {(0.0, 3000)}


def test_a_finished_output_is_not_replaced_unless_asked(folder: Path, server: MisbehavingServer) -> None:
    first = compile_rubrics(make_config(folder, server))
    with pytest.raises(ConfigError, match=r"out\.jsonl: already exists; choose another name or pass --overwrite"):
        compile_rubrics(make_config(folder, server))
    again = compile_rubrics(make_config(folder, server, overwrite=True))
    assert (again.calls, again.cached, server.calls) == (30, 30, 30)
    assert again.sha256 == first.sha256


def test_an_outage_excludes_tasks_with_the_reason_and_a_second_run_asks_only_for_those(
    folder: Path, server: MisbehavingServer
) -> None:
    server.script(*["groups"] * 10)
    server.always = "500"
    first = compile_rubrics(make_config(folder, server))
    assert (first.kept, first.excluded, first.failed_calls) == (10, 20, {"http": 20})
    assert first.reasons == {"no reply from the generator": 20}
    excluded = list(load_tasks(folder / "out.excluded.jsonl"))
    assert {task.meta["compile"]["reason"] for task in excluded} == {"no reply from the generator"}  # type: ignore[index,call-overload]
    assert all("500" in str(task.meta["compile"]) for task in excluded)
    server.always = "groups"
    again = compile_rubrics(make_config(folder, server, overwrite=True))
    assert (again.kept, again.excluded, again.cached) == (30, 0, 10)
    assert not (folder / "out.excluded.jsonl").exists()


def test_a_wrong_key_ends_the_run_and_leaves_no_output(folder: Path, server: MisbehavingServer) -> None:
    server.always = "401"
    with pytest.raises(ModelError, match="401"):
        compile_rubrics(make_config(folder, server))
    assert not [path for path in folder.iterdir() if path.name.startswith(("out.jsonl", ".out.jsonl.partial"))]


def test_rows_that_cannot_be_read_and_repeated_ids_are_rejected_with_their_lines(folder: Path) -> None:
    rows = [json.dumps(render_task(task)) for task in make_tasks(3)]
    (folder / "tasks.jsonl").write_text("\n".join([rows[0], "{", rows[1], rows[0], rows[2]]) + "\n")
    result = compile_rubrics(make_config(folder, generator="rules"))
    assert (result.read, result.kept, result.rejected) == (5, 3, 2)
    rejects = [json.loads(line) for line in (folder / "out.rejects.jsonl").read_text().splitlines()]
    assert [row["line"] for row in rejects] == [4, 2] or [row["line"] for row in rejects] == [2, 4]
    assert any("the id is already taken" in row["reason"] for row in rejects)


def test_a_task_with_one_criterion_is_excluded_without_a_call(folder: Path, server: MisbehavingServer) -> None:
    task = make_tasks(1)[0]
    short = task.model_copy(update={"rubric": type(task.rubric)(criteria=task.rubric.criteria[:1])})
    save_tasks(folder / "tasks.jsonl", [short])
    result = compile_rubrics(make_config(folder, server))
    assert (result.excluded, result.reasons, server.calls) == (1, {"fewer than two criteria": 1}, 0)


def test_rules_exclude_tasks_in_a_script_without_spaces_and_count_them(shared_data: Path, tmp_path: Path) -> None:
    config = CompileConfig(
        str(shared_data / "deep_research_bench/criteria.jsonl"), out=tmp_path / "out.jsonl", generator="rules"
    )
    result = compile_rubrics(config)
    assert (result.kept, result.excluded) == (50, 50)
    assert result.reasons == {"rules cannot read a script without spaces between words": 50}


def test_rules_need_no_model_and_no_journal(folder: Path) -> None:
    result = compile_rubrics(make_config(folder, generator="rules"))
    assert (result.kept, result.calls) == (30, 0)
    assert not (folder / "out.journal.sqlite").exists()
    made = next(iter(load_tasks(folder / "out.jsonl")))
    assert made.meta["compile"] == {"state": "kept", "generator": "rules/5", "attempts": 1}


def test_transforms_alone_make_no_calls_and_need_no_generator(folder: Path) -> None:
    compile_rubrics(make_config(folder, generator="rules"))
    config = CompileConfig(str(folder / "out.jsonl"), out=folder / "baked.jsonl", transform=("raw-and",))
    result = compile_rubrics(config)
    assert (result.kept, result.calls, result.generator) == (30, 0, "")
    made = next(iter(load_tasks(folder / "baked.jsonl")))
    assert made.protocol is not None
    assert made.protocol.dimensions[0].description.startswith("All of the following must hold together")


def test_a_transform_that_cannot_be_done_excludes_the_task(folder: Path) -> None:
    result = compile_rubrics(make_config(folder, transform=("raw-and",)))
    reason = "raw-and needs dimensions and the task has none; compile them first"
    assert (result.kept, result.excluded, result.reasons) == (0, 30, {reason: 30})


def test_only_tasks_without_dimensions_are_grouped_where_that_is_asked_for(
    folder: Path, server: MisbehavingServer
) -> None:
    compile_rubrics(make_config(folder, generator="rules"))
    done = list(load_tasks(folder / "out.jsonl"))
    save_tasks(folder / "tasks.jsonl", [*done[:20], *make_tasks(30)[20:]])
    result = compile_rubrics(make_config(folder, server, group="missing", overwrite=True))
    assert (result.kept, server.calls) == (30, 10)
    assert list(load_tasks(folder / "out.jsonl"))[:20] == done[:20]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "--generator is missing; name a model, or rules"),
        ({"generator": "rules", "texts": ("k1",)}, "--texts k1 needs a model that writes them"),
        ({"group": "none"}, "there is nothing to do; name --texts or --transform"),
        ({"transform": ("raw-and",), "engine": "ray"}, "--engine ray spreads the calls to a model"),
        ({"generator": "rules", "engine": "ray"}, "--engine ray spreads the calls to a model"),
        (
            {"transform": ("weighted", "rewritten")},
            "weighted,rewritten: weighted drops criteria that rewritten needs; name",
        ),
        ({"transform": ("appropriateness", "appropriateness")}, ": appropriateness is applied already; name each once"),
        (
            {"transform": ("raw-and", "no-failure")},
            "no-failure and raw-and both write the descriptions; name each",
        ),
        (
            {"transform": ("appropriateness", "raw-and")},
            "raw-and would change the appropriateness text; name",
        ),
        ({"generator": "lexical"}, "lexical/3 gives probabilities and does not write text"),
        ({"generator": "nothing"}, "no generator is called 'nothing'; known forms: rules"),
        ({"generator": "gpt-4o"}, "https://api.openai.com/v1#gpt-4o, with its key in PRORUBRIC_API_KEY$"),
        ({"generator": "rules", "generation": GeneratorConfig(prompt_file=Path("none.txt"))}, "none.txt: the prompt"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_is_done(
    folder: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        compile_rubrics(make_config(folder, **options))
    assert not list(folder.glob("out*"))


def test_an_empty_file_is_refused(folder: Path) -> None:
    (folder / "tasks.jsonl").write_text("\n")
    with pytest.raises(SourceError, match=r"tasks\.jsonl: "):
        compile_rubrics(make_config(folder, generator="rules"))
    assert not (folder / "out.jsonl").exists()


def test_an_output_that_is_the_input_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="the output would replace the input"):
        compile_rubrics(CompileConfig(str(folder / "tasks.jsonl"), out=folder / "tasks.jsonl", generator="rules"))


@pytest.mark.parametrize("suffix", ["jsonl.zst", "jsonl.gz", "parquet", "json"])
def test_every_kind_of_file_works_for_the_output(folder: Path, suffix: str) -> None:
    config = CompileConfig(str(folder / "tasks.jsonl"), out=folder / f"made.{suffix}", generator="rules")
    result = compile_rubrics(config)
    assert [task.id for task in load_tasks(config.out)] == [task.id for task in make_tasks(30)]
    assert result.files == {"tasks": str(config.out), "manifest": str(folder / "made.manifest.json")}


def test_a_transform_is_set_into_a_task_once(folder: Path) -> None:
    compile_rubrics(make_config(folder, generator="rules"))
    first = CompileConfig(str(folder / "out.jsonl"), out=folder / "once.jsonl", transform=("appropriateness",))
    assert compile_rubrics(first).kept == 30
    again = CompileConfig(str(folder / "once.jsonl"), out=folder / "twice.jsonl", transform=("appropriateness",))
    result = compile_rubrics(again)
    assert (result.kept, result.reasons) == (0, {"appropriateness is applied already": 30})
    assert result.dimensions == {}


def test_what_no_failure_found_is_counted(folder: Path) -> None:
    compile_rubrics(make_config(folder, generator="rules"))
    config = CompileConfig(str(folder / "out.jsonl"), out=folder / "bare.jsonl", transform=("no-failure",))
    result = compile_rubrics(config)
    dimensions = sum(int(count) * tasks for count, tasks in result.dimensions.items())
    assert result.failure_sentences == {"matched": dimensions, "removed": dimensions, "restored": 0}


def test_rows_without_a_criterion_of_the_subset_are_accounted_for(folder: Path) -> None:
    tasks = make_tasks(3)
    tagged = tasks[0].rubric.criteria[0].model_copy(update={"tags": ("level:cluster",)})
    rubric = type(tasks[0].rubric)(criteria=(tagged, tagged))
    save_tasks(folder / "tasks.jsonl", [tasks[0].model_copy(update={"rubric": rubric}), *tasks[1:]])
    result = compile_rubrics(make_config(folder, generator="rules", subset="consensus"))
    assert (result.read, result.kept, result.left_out) == (3, 1, {"no criterion of the subset consensus": 2})


def test_a_generator_that_never_answers_ends_the_run_with_the_reason(folder: Path, server: MisbehavingServer) -> None:
    save_tasks(folder / "tasks.jsonl", make_tasks(200))
    server.script(*["groups"] * 5)
    server.always = "500"
    # Of calls at once, another may fail before the run ends.
    with pytest.raises(ModelError, match=r"no reply to 5\d calls in a row; last: HTTP 500: as told"):
        compile_rubrics(make_config(folder, server))
    assert server.calls < 200
    server.always = "groups"
    seen = server.calls
    assert compile_rubrics(make_config(folder, server)).kept == 200
    assert server.calls - seen == 195


def test_a_generator_of_ones_own_that_returns_text_is_told_what_to_return(folder: Path) -> None:
    with pytest.raises(ModelError, match="answered with str; return a Reply or a Failure"):
        compile_rubrics(make_config(folder, generator="tests.compile.generating:TextOnly"))


def test_a_generator_that_is_gone_ends_a_run_that_only_asks_for_texts(folder: Path, server: MisbehavingServer) -> None:
    save_tasks(folder / "tasks.jsonl", make_tasks(200))
    server.always = "500"
    with pytest.raises(ModelError, match=r"no reply to 8 calls in a row; last: HTTP 500: as told"):
        compile_rubrics(make_config(folder, server, group="none", texts=("k1",)))
    assert server.calls < 100


def test_a_generator_without_an_endpoint_that_never_answers_ends_the_run_too(folder: Path) -> None:
    save_tasks(folder / "tasks.jsonl", make_tasks(60))
    (folder / "silent.jsonl").touch()
    with pytest.raises(ModelError, match=r"the last 50 tasks got no reply \(the script has no reply to this prompt\)"):
        compile_rubrics(make_config(folder, generator=f"scripted:{folder / 'silent.jsonl'}"))


def test_an_endpoint_that_cannot_be_reached_ends_the_run_with_two_and_one_line(
    folder: Path, server: MisbehavingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.always = "close before headers"
    arguments = ["compile", str(folder / "tasks.jsonl"), "--generator", server.spec, "--out", str(folder / "out.jsonl")]
    assert run_program([*arguments, "--backoff-seconds", "0.01"]) == 2
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 2  # the first says what the run will cost
    assert shown[1].startswith(f"prorubric: 127.0.0.1:{server.port}: no answer in 3 attempts; last: the connection to ")
    server.always = "groups"
    assert run_program(arguments) == 0


def test_a_text_that_got_no_reply_has_the_words_of_the_failed_call(folder: Path, server: MisbehavingServer) -> None:
    server.script("ok")
    server.always = "500"
    result = compile_rubrics(make_config(folder, server, group="none", transform=("k1",)))
    assert (result.excluded, result.reasons) == (30, {"no text for k1": 30})
    assert result.failures == {"HTTP 500: as told": 30}


def test_many_kinds_of_failures_are_counted_to_the_last(folder: Path, server: MisbehavingServer) -> None:
    for status in ("500", "500", "502", "503", "529", "408", "409", "425"):
        server.script(status, "groups")
    result = compile_rubrics(make_config(folder, server, http=HttpConfig(concurrency=1, retries=0)))
    assert list(result.failures.items())[0::5] == [("HTTP 500: as told", 2), ("other reasons", 2)]
    assert sum(result.failures.values()) == 8


def test_questions_that_the_generator_refuses_end_no_run_however_many(folder: Path, server: MisbehavingServer) -> None:
    save_tasks(folder / "tasks.jsonl", make_tasks(80))
    server.script(*["400"] * 70)
    server.always = "groups"
    result = compile_rubrics(make_config(folder, server, http=HttpConfig(concurrency=1, retries=0)))
    assert (result.kept, result.reasons) == (10, {"the generator refuses the question": 70})


def test_a_generator_named_with_a_transform_groups_what_has_no_dimensions(folder: Path) -> None:
    compile_rubrics(make_config(folder, generator="rules"))
    done = list(load_tasks(folder / "out.jsonl"))
    save_tasks(folder / "tasks.jsonl", [*done[:20], *make_tasks(30)[20:]])
    result = compile_rubrics(make_config(folder, generator="rules", transform=("raw-and",), overwrite=True))
    assert (result.kept, result.attempts) == (30, {"1": 10})


def test_a_transform_whose_text_cannot_be_written_excludes_only_the_tasks_without_it(folder: Path) -> None:
    tasks = make_tasks(3)
    ready = tasks[0].model_copy(update={"meta": {"k1": {"name": "All", "description": "All holds. Fails if not."}}})
    save_tasks(folder / "tasks.jsonl", [ready, *tasks[1:]])
    result = compile_rubrics(make_config(folder, transform=("k1",)))
    reason = "no text k1, and no model to write it; name one with --generator"
    assert (result.kept, result.reasons) == (1, {reason: 2})


class TestSecondCommand:
    """What a transform has done is known to the next command."""

    def bake(self, folder: Path, name: str, *, of: str = "out.jsonl", **options: object) -> tuple[int, dict[str, int]]:
        options = options or {"transform": (name,)}
        config = CompileConfig(folder / of, out=folder / f"{name}.jsonl", **options)  # type: ignore[arg-type]
        result = compile_rubrics(config)
        return result.kept, result.reasons

    @pytest.mark.parametrize(
        ("first", "second", "reason"),
        [
            ("appropriateness", "raw-and", "raw-and would change the appropriateness text"),
            ("raw-and", "no-failure", "no-failure and raw-and both write the descriptions"),
            ("k1-mechanical", "raw-and", "raw-and and k1-mechanical both write the descriptions"),
            ("no-failure", "appropriateness", None),
        ],
    )
    def test_the_order_that_one_command_keeps_is_kept_by_two(
        self, folder: Path, first: str, second: str, reason: str | None
    ) -> None:
        compile_rubrics(make_config(folder, generator="rules"))
        assert self.bake(folder, first) == (30, {})
        wanted = (30, {}) if reason is None else (0, {reason: 30})
        assert self.bake(folder, second, of=f"{first}.jsonl") == wanted

    def test_new_dimensions_are_not_said_to_be_those_of_a_transform(self, folder: Path) -> None:
        compile_rubrics(make_config(folder, generator="rules"))
        self.bake(folder, "raw-and")
        assert self.bake(folder, "anew", of="raw-and.jsonl", generator="rules") == (30, {})
        assert list(load_tasks(folder / "anew.jsonl")) == list(load_tasks(folder / "out.jsonl"))
        assert self.bake(folder, "again", of="anew.jsonl", transform=("raw-and",)) == (30, {})

    def test_the_fixed_criterion_is_never_grouped_with_the_others(self, folder: Path) -> None:
        compile_rubrics(make_config(folder, generator="rules"))
        self.bake(folder, "appropriateness")
        reason = "appropriateness is applied already; compile the file it was made from"
        assert self.bake(folder, "anew", of="appropriateness.jsonl", generator="rules") == (0, {reason: 30})

    def test_what_no_failure_found_is_counted_by_the_run_that_sets_it_in(self, folder: Path) -> None:
        compile_rubrics(make_config(folder, generator="rules"))
        self.bake(folder, "no-failure")
        config = CompileConfig(folder / "no-failure.jsonl", out=folder / "more.jsonl", transform=("appropriateness",))
        assert compile_rubrics(config).failure_sentences == {}


class TestReplacing:
    """Nothing is replaced that a run did not make and leave behind itself."""

    def test_a_run_that_failed_leaves_no_leave_to_replace(self, folder: Path, server: MisbehavingServer) -> None:
        server.always = "401"
        with pytest.raises(ModelError, match="401"):
            compile_rubrics(make_config(folder, server))
        (folder / "out.jsonl").write_text("precious")
        with pytest.raises(ConfigError, match=r"out\.jsonl: already exists"):
            compile_rubrics(make_config(folder, generator="rules"))
        assert (folder / "out.jsonl").read_text() == "precious"

    def test_a_failed_run_with_overwrite_does_not_open_the_way_for_the_next_without(
        self, folder: Path, server: MisbehavingServer
    ) -> None:
        compile_rubrics(make_config(folder, generator="rules"))
        before = (folder / "out.jsonl").read_bytes()
        server.always = "401"
        with pytest.raises(ModelError, match="401"):
            compile_rubrics(make_config(folder, server, overwrite=True))
        with pytest.raises(ConfigError, match=r"out\.jsonl: already exists"):
            compile_rubrics(make_config(folder, generator="rules"))
        assert (folder / "out.jsonl").read_bytes() == before

    @pytest.mark.parametrize("name", ["out.jsonl", "out.manifest.json", "out.excluded.jsonl", "out.rejects.jsonl"])
    def test_a_journal_that_is_one_of_the_outputs_is_refused(
        self, folder: Path, server: MisbehavingServer, name: str
    ) -> None:
        with pytest.raises(ConfigError, match="the journal would be replaced by the output; choose another name"):
            compile_rubrics(make_config(folder, server, journal=folder / name))
        assert server.calls == 0

    @pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
    def test_a_run_that_ends_while_its_files_appear_is_finished_by_the_same_command_only(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException | type[BaseException]
    ) -> None:
        def end(*_: object) -> None:
            raise error

        with monkeypatch.context() as patch:
            patch.setattr("prorubric.verbs.compile.write_json", end)
            with pytest.raises((KeyboardInterrupt, OSError)):
                compile_rubrics(make_config(folder, generator="rules"))
        assert (folder / "out.jsonl").exists()
        with pytest.raises(ConfigError, match=r"out\.jsonl: already exists"):
            compile_rubrics(make_config(folder, generator="rules", limit=3))
        assert compile_rubrics(make_config(folder, generator="rules")).kept == 30
        assert not list(folder.glob(".*"))

    def test_the_files_are_looked_at_once_no_other_process_can_write_them(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another run comes to its end between our first look and our lock."""
        real = outputs.lock_path

        @contextmanager
        def lock_late(*places: Path) -> Iterator[None]:
            (folder / "out.jsonl").write_text("of another run")
            with real(*places):
                yield

        monkeypatch.setattr(outputs, "lock_path", lock_late)
        with pytest.raises(ConfigError, match=r"out\.jsonl: already exists"):
            compile_rubrics(make_config(folder, generator="rules"))
        assert (folder / "out.jsonl").read_text() == "of another run"

    def test_a_folder_in_the_place_of_a_file_is_refused_before_a_call(
        self, folder: Path, server: MisbehavingServer
    ) -> None:
        (folder / "out.jsonl").mkdir()
        with pytest.raises(ConfigError, match=r"out\.jsonl: is a folder; name a file"):
            compile_rubrics(make_config(folder, server, overwrite=True))
        config = CompileConfig(folder / "tasks.jsonl", out=folder / "tasks.jsonl" / "x.jsonl", generator="rules")
        with pytest.raises(ConfigError, match=r"tasks\.jsonl: not a folder, and it cannot be created"):
            compile_rubrics(config)
        assert server.calls == 0

    def test_a_run_is_over_when_nothing_but_its_files_is_left(self, folder: Path) -> None:
        compile_rubrics(make_config(folder, generator="rules"))
        assert sorted(path.name for path in folder.iterdir()) == ["out.jsonl", "out.manifest.json", "tasks.jsonl"]


def test_only_the_first_tasks_are_done_where_a_limit_is_given(folder: Path, server: MisbehavingServer) -> None:
    result = compile_rubrics(make_config(folder, server, limit=7))
    assert (result.kept, server.calls) == (7, 7)
    assert [task.id for task in load_tasks(folder / "out.jsonl")] == [task.id for task in make_tasks(7)]
    whole = compile_rubrics(make_config(folder, server, overwrite=True))
    assert (whole.kept, whole.cached, server.calls) == (30, 7, 30)


def test_a_prompt_file_is_read_once_before_the_first_call(folder: Path, server: MisbehavingServer) -> None:
    prompt = folder / "mine.txt"
    ours = (Path(compile_module.__file__).parent / "prompts" / "group.txt").read_text()
    prompt.write_text(ours.replace("[closing]", "[closing]\nThink of the runner."))
    config = make_config(folder, server, generation=GeneratorConfig(prompt_file=prompt))
    removed: list[None] = []

    def remove(_: object) -> None:
        """From the first result on the file is gone."""
        if not removed:
            removed.append(prompt.unlink())

    assert compile_rubrics(config, remove).kept == 30
    assert all("Think of the runner." in e.body["messages"][1]["content"] for e in server.exchanges)


def test_a_budget_ends_the_run_and_a_larger_one_goes_on(folder: Path, server: MisbehavingServer) -> None:
    with pytest.raises(StoppedError, match=r"--max-calls 7 is reached; what was paid for is in the journal"):
        compile_rubrics(make_config(folder, server, max_calls=7))
    assert server.calls == 7
    assert sorted(path.name for path in folder.glob("out*")) == ["out.journal.sqlite"]
    result = compile_rubrics(make_config(folder, server, max_calls=30))
    assert (result.kept, result.cached, result.stopped, server.calls) == (30, 7, "", 30)
