"""A study composes the verbs: what each stage is told, in which order, and what a plan counts."""

import json
import re
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from prorubric.cli.app import run as run_program
from prorubric.errors import ConfigError, MissingExtraError, ProRubricError
from prorubric.evaluate.benchmarks import healthbench
from prorubric.files.lock import lock_path
from prorubric.lab.mini import write_mini
from prorubric.report.study_results import PAPER_ARMS, find_paper_key
from prorubric.rubric.records import Message
from prorubric.rubric.save import save_tasks
from prorubric.train.plan import plan_training
from prorubric.train.recipe import list_runs, load_recipe
from prorubric.train.run_folder import RunFolder
from prorubric.verbs.study import run_study
from prorubric.verbs.study_file import Assumed, StudyConfig, choose_parts, load_study
from prorubric.verbs.study_plan import DomainPlan, _assume_tasks, plan_study
from tests.aggregate.test_schemes import make_task
from tests.llm.server import MisbehavingServer
from tests.verbs.evaluating import write_healthbench

ROOT = Path(__file__).parents[2]


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    with MisbehavingServer() as running:
        running.always = "evaluate"
        yield running


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    prompts = [(Message(role="user", content=f"Question {number}?"),) for number in range(12)]
    made = make_task([5, 3, -2, 1])
    tasks = [made.model_copy(update={"id": prompt[0].content, "messages": prompt}) for prompt in prompts]
    save_tasks(tmp_path / "tasks.jsonl", tasks)
    write_healthbench(tmp_path / "data")
    return tmp_path


def write_study(folder: Path, **changes: Any) -> Path:
    study = {
        "title": "Two arms",
        "compile": {"tasks": "tasks.jsonl", "generator": "rules"},
        "train": {
            "model": "tiny",
            "judge": "lexical",
            "rollouts": 4,
            "prompts": 2,
            "mini_batch": 2,
            "responses": 2,
            "held_out": 2,
        },
        "arms": {
            "ProRubric": {"method": "prorubric", "after": "Sum", "judge": "scripted:judge.json"},
            "Sum": {"method": "rubric-rl", "seeds": [1, 2]},
        },
        "evaluate": {"benchmarks": ["healthbench"], "data_dir": "data", "judge": "lexical"},
        **changes,
    }
    (folder / "judge.json").write_text('{"contains": [], "reply": "{}"}\n')
    path = folder / "mine.yaml"
    path.write_text(json.dumps(study))
    return path


def test_a_plan_counts_every_stage_and_writes_nothing(folder: Path) -> None:
    plan = plan_study(StudyConfig(write_study(folder)))
    [domain] = plan.domains
    assert (domain.missing, domain.assumed) == ({}, False)
    assert {name: part.calls for name, part in domain.compile.items()} == {"compiled.jsonl": 0}
    assert list(domain.arms) == ["Sum", "ProRubric"]
    assert [run.name for run in domain.arms["Sum"].runs] == ["rubric-rl-seed-1", "rubric-rl-seed-2"]
    assert domain.evaluate is not None
    # Three policies answer four prompts; lexical is asked once for each answer.
    assert domain.evaluate.calls == 3 * 4 + 3 * 4
    assert plan.calls == domain.evaluate.calls + sum(arm.calls for arm in domain.arms.values())
    assert not (folder / "runs").exists()


def test_a_plan_has_the_calls_tokens_cost_and_hours_of_every_stage(folder: Path) -> None:
    compile_part = {"tasks": "tasks.jsonl", "generator": "http://localhost:1/v1#none"}
    plan = plan_study(StudyConfig(write_study(folder, compile=compile_part)))
    [domain] = plan.domains
    rows = {stage.name: stage for stage in domain.stages}
    assert [*rows] == ["compile compiled.jsonl", "train Sum", "train ProRubric", "evaluate"]
    compiled, arm = domain.compile["compiled.jsonl"], domain.arms["Sum"]
    row = rows["compile compiled.jsonl"]
    assert (row.runs, row.calls, row.cost) == (None, 12, None)
    assert row.tokens == compiled.prompt_tokens + compiled.completion_tokens > 0
    # A second for the first token and 50 tokens a second after it, in 64 calls at once.
    assert row.hours == pytest.approx((12 * 1 + compiled.completion_tokens / 50) / 64 / 3600)
    # lexical takes no time; the tiny policy is two runs of less than an hour.
    assert (rows["train Sum"].runs, rows["train Sum"].calls, rows["train Sum"].tokens) == (2, arm.calls, 0)
    assert rows["train Sum"].hours == sum(run.resources.hours for run in arm.runs if run.resources)
    assert (plan.calls, plan.tokens) == (sum(r.calls for r in rows.values()), sum(r.tokens for r in rows.values()))
    assert plan.cost is None
    assert plan.hours == pytest.approx(sum(r.hours or 0 for r in rows.values()))


def test_the_hours_of_the_mini_are_those_of_one_core(folder: Path) -> None:
    sizes = {"rollouts": 300, "prompts": 32, "mini_batch": 16, "responses": 8, "response_limit": 160, "held_out": 0}
    train = {"tasks": "tasks.jsonl", "model": "mini:triage-v1", "judge": "lexical", "validate": "no", **sizes}
    study = write_study(folder, compile={}, train=train, arms={"A": {"method": "rubric-rl"}}, evaluate={})
    # 300 x 32 x 8 answers of at most 160 tokens, 7,000 tokens a second
    assert plan_study(StudyConfig(study)).hours == round(300 * 32 * 8 * 160 / 7_000 / 3600, 1) == 0.5


def test_the_hours_of_a_policy_of_unknown_size_are_not_known(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train = {"model": "mine", "judge": "lexical", "rollouts": 1, "prompts": 2, "mini_batch": 2, "responses": 2}
    path = write_study(folder, train=train, arms={"Sum": {"method": "rubric-rl"}}, evaluate={})
    assert plan_study(StudyConfig(path)).hours is None
    assert run_program(["study", str(path), "--dry-run"]) == 0
    assert "hours not known" in capsys.readouterr().out


def test_an_audit_of_assumed_tasks_is_counted_from_two_of_them(folder: Path) -> None:
    audit = {"judge": "http://localhost:1/v1#judge", "answers_from": "http://localhost:1/v1#policy", "limit": 7}
    assume = {"tasks": 9, "criteria": 4}
    options = {"compile": {}, "arms": {}, "evaluate": {}, "assume": assume, "audit": audit}
    path = write_study(folder, **options, train={"tasks": "not-here.jsonl"})
    [domain] = plan_study(StudyConfig(path)).domains
    assert (domain.missing, domain.assumed) == ({}, True)
    save_tasks(folder / "here.jsonl", _assume_tasks(Assumed(tasks=9, criteria=4)))
    [whole] = plan_study(StudyConfig(write_study(folder, **options, train={"tasks": "here.jsonl"}))).domains
    assert domain.audit is not None
    assert whole.audit is not None
    assert (domain.audit.tasks, domain.audit.answers) == (whole.audit.tasks, whole.audit.answers) == (7, 7 * 4)
    assert (domain.audit.calls, domain.audit.most_calls) == (whole.audit.calls, whole.audit.most_calls)
    assert domain.audit.prompt_tokens == pytest.approx(whole.audit.prompt_tokens, rel=0.01)


def test_the_arms_of_a_study_are_recipes_that_the_verb_train_reads(folder: Path) -> None:
    study = write_study(folder)
    run_study(StudyConfig(study, only=("compile",)))
    _, [domain] = load_study(study)
    path = domain.write_recipe("Sum")
    assert path == Path("runs/mine/recipes/Sum.yaml")
    assert plan_training(path).runs[0].name == "rubric-rl-seed-1"
    found = json.loads(domain.write_recipe("ProRubric").read_text())
    assert (found["tasks"], found["model"], found["out"]) == (
        "runs/mine/compiled.jsonl",
        "tiny",
        "runs/mine/train/ProRubric",
    )


def test_an_arm_goes_on_from_the_last_checkpoint_of_another(folder: Path) -> None:
    _, [domain] = load_study(write_study(folder))
    for number in (2, 10):
        place = folder / f"runs/mine/train/Sum/rubric-rl-seed-1/checkpoints/checkpoint-{number}"
        place.mkdir(parents=True)
        (place / "rollout.json").write_text(json.dumps({"rollout": number}))
    found = json.loads(domain.write_recipe("ProRubric").read_text())
    assert found["model"] == "runs/mine/train/Sum/rubric-rl-seed-1/checkpoints/checkpoint-10"
    RunFolder(place.parents[1]).save_state("running", 10)
    planned = {"ProRubric 42": "planned:ProRubric 42", "Sum 1": "planned:Sum 1", "Sum 2": "planned:Sum 2"}
    assert {policy.name: policy.spec for policy in domain.list_policies()} == planned
    with pytest.raises(ConfigError, match=r"ProRubric 42 is not trained; train it first, or leave the arm out"):
        run_study(StudyConfig(folder / "mine.yaml", only=("evaluate",)))
    RunFolder(place.parents[1]).save_state("done", 10)
    specs = {policy.name: policy.spec for policy in domain.list_policies()}
    assert specs == {**planned, "Sum 1": "runs/mine/train/Sum/rubric-rl-seed-1/checkpoints/checkpoint-10"}


def test_a_study_without_arms_compiles_and_evaluates_given_policies(folder: Path, server: MisbehavingServer) -> None:
    address = f"http://127.0.0.1:{server.port}/v1"
    policies = [{"name": "full", "spec": f"{address}#writes-rest-drink"}]
    evaluate = {"benchmarks": ["healthbench"], "data_dir": "data", "judge": f"{address}#judge", "policy": policies}
    path = write_study(folder, arms={}, evaluate=evaluate)
    result = run_study(StudyConfig(path))
    [domain] = result.domains
    assert (domain.compiled["compiled.jsonl"].kept, [*domain.compiled]) == (12, ["compiled.jsonl"])
    assert domain.evaluation is not None
    assert domain.evaluation.comparisons is not None
    assert [arm.mean for arm in domain.evaluation.comparisons.tables[0].arms] == [100.0]
    asked = server.calls
    again = run_study(StudyConfig(path))
    assert (server.calls, again.unfinished) == (asked, ())
    save_tasks(folder / "tasks.jsonl", [make_task([5, 3])])
    with pytest.raises(
        ConfigError, match=r"compiled\.jsonl: holds tasks that were compiled with another content of the tasks file"
    ):
        run_study(StudyConfig(path))


def test_a_domain_that_is_not_finished_does_not_keep_the_next_one_back(folder: Path, server: MisbehavingServer) -> None:
    policies = [{"name": "full", "spec": f"http://127.0.0.1:{server.port}/v1#writes-rest-drink"}]
    evaluate = {"benchmarks": ["healthbench"], "data_dir": "data", "judge": "lexical", "policy": policies}
    domains = {"first": {"evaluate": {"max_calls": 1}}, "second": {}}
    result = run_study(StudyConfig(write_study(folder, arms={}, evaluate=evaluate, domains=domains)))
    assert result.unfinished == ("first evaluate: answers",)
    assert result.domains[1].evaluation is not None
    assert result.domains[1].evaluation.unfinished == ()


def test_the_answers_of_one_policy_are_audited_once(folder: Path, server: MisbehavingServer) -> None:
    policies = [{"name": "base", "spec": f"http://127.0.0.1:{server.port}/v1#writes-rest-drink"}]
    evaluate = {"benchmarks": ["healthbench"], "data_dir": "data", "judge": "lexical", "policy": policies}
    audit = {"of": "base", "samples": 2, "limit": 4, "edits": "name-item", "resamples": 100, "temperature": 1.0}
    path = write_study(folder, arms={}, evaluate=evaluate, audit=audit)
    [planned] = plan_study(StudyConfig(path, only=("audit",))).domains
    assert planned.audit is not None
    assert (planned.missing, planned.audit.tasks, planned.audit.answers) == ({}, 4, 8)
    config = StudyConfig(path, only=("compile", "audit"))
    [domain] = run_study(config).domains
    assert domain.audit is not None
    assert (domain.audit.tasks, domain.audit.answers, server.calls) == (4, 8, 8)
    assert {exchange.body["temperature"] for exchange in server.exchanges} == {1.0}
    written = (folder / "runs/mine/audit/summary.json").stat().st_mtime_ns
    assert run_study(config).domains[0].audit == domain.audit
    assert (server.calls, (folder / "runs/mine/audit/summary.json").stat().st_mtime_ns) == (8, written)
    assert plan_study(config).domains[0].audit is None
    write_study(folder, arms={}, evaluate=evaluate, audit={**audit, "limit": 5})
    with pytest.raises(ConfigError, match=r"holds a run of audit with another limit \(4, not 5\)"):
        run_study(config)


@pytest.mark.parametrize(
    ("part", "answers_from"),
    [
        ({}, "planned:Sum 1"),  # the arm that another one goes on from
        ({"of": "ProRubric"}, "planned:ProRubric 42"),
        ({"answers_from": "http://localhost:1/v1#mine"}, "http://localhost:1/v1#mine"),
    ],
)
def test_an_audit_is_about_the_policy_that_arms_begin_with_or_the_one_named(
    folder: Path, part: dict[str, Any], answers_from: str
) -> None:
    _, [domain] = load_study(write_study(folder, audit={"judge": "lexical", **part}))
    config = domain.make_audit()
    assert (config.answers_from, config.tasks, config.out) == (
        answers_from,
        "runs/mine/compiled.jsonl",
        Path("runs/mine/audit"),
    )
    _, [other] = load_study(write_study(folder, audit={"of": "Nobody"}))
    with pytest.raises(
        ConfigError,
        match=r"audit.of: Nobody is not the name of a policy or an arm; name one of ProRubric, Sum in audit.of",
    ):
        other.make_audit()


def test_domains_share_what_they_do_not_change(folder: Path) -> None:
    domains = {
        "medicine": {"train": {"tasks": "medicine.jsonl"}},
        "science": {
            "train": {"tasks": "science.jsonl"},
            "arms": {"Raw": {"method": "raw-and", "judge": "scripted:judge.json"}},
        },
    }
    assume = {"tasks": 40, "criteria": 5}
    path = write_study(folder, domains=domains, assume=assume, compile={"generator": "http://localhost:1/v1#none"})
    plan = plan_study(StudyConfig(path, only=("compile", "train")))
    assert [domain.missing for domain in plan.domains] == [{}, {}]
    assert [(domain.name, list(domain.arms), domain.assumed) for domain in plan.domains] == [
        ("medicine", ["Sum", "ProRubric"], True),
        ("science", ["Sum", "Raw", "ProRubric"], True),
    ]
    assert [domain.compile["compiled.jsonl"].calls for domain in plan.domains] == [40, 40]
    only = plan_study(StudyConfig(path, only=("science", "train", "ProRubric")))
    assert [(domain.name, list(domain.arms)) for domain in only.domains] == [("science", ["Sum", "ProRubric"])]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"arm": {}}, "a study has no field 'arm'; did you mean arms?"),
        ({"arms": {}, "compile": {}, "evaluate": {}}, "the study has no part; give compile, arms, audit or evaluate"),
        (
            {"arms": {"..": {}}},
            "'..' cannot be the name of an arm or a domain; write one of 1 to 100 visible characters",
        ),
        ({"domains": {"..": {}}}, "'..' cannot be the name of an arm or a domain"),
        ({"arms": {" ": {}}}, "' ' cannot be the name of an arm or a domain"),
        ({"arms": {"a\nb": {}}}, "cannot be the name of an arm or a domain"),
        ({"arms": {"a" * 101: {}}}, "cannot be the name of an arm or a domain"),
        ({"domains": {"tables": {}}}, "'tables' is a folder of the report; choose another name for the domain"),
        ({"domains": {"x": {"train": None}}}, "the domain x: train is empty; give its fields, or leave it out"),
        ({"domains": {"x": {"arms": {"B": None}}}}, "the arms of the domain x: B is empty; give its fields"),
        ({"arms": {"B": {"compile": True}}}, "the arm B: compile is True; give its fields, or leave it out"),
        ({"arms": {"B": {"sft": "best.jsonl"}}}, "the arm B: sft is 'best.jsonl'; give its fields"),
        ({"arms": {"A": {"after": ["B"]}, "B": {}}}, "after of the arm A is ['B']; give the name of one arm"),
        ({"arms": {"Sum, KL 1": {}}}, "the name 'Sum, KL 1' has a comma; leave it out: --only takes names with commas"),
        (
            {"arms": {"A": {"method": "prorubric", "after": "B"}}},
            "the arm A comes after 'B', which is not an arm; leave it out",
        ),
        ({"domains": {"x": {"tasks": "y"}}}, "the domain x has no field 'tasks'"),
        ({"domains": {"x": {"assume": {"task": 3}}}}, "assume has no field 'task'; did you mean tasks?"),
        ({"arms": {"train": {}}}, "mine.yaml: 'train' is the name of a stage; choose another: --only takes both"),
        ({"arms": {"a/b": {}}}, "mine.yaml: the name 'a/b' has a slash; leave it out: it is the name of a folder"),
        ({"arms": {"x": {}}, "domains": {"x": {}}}, "mine.yaml: 'x' is a domain and an arm; rename one"),
        (
            {"arms": {"x": {}}, "paper": "mini", "domains": {"medicine": {}, "Medical": {}}},
            "mine.yaml: the domains medicine and Medical are both the paper's medicine; rename all but one",
        ),
    ],
)
def test_a_study_that_cannot_be_run_is_refused_in_one_line(folder: Path, changes: dict[str, Any], said: str) -> None:
    path = write_study(folder, **changes)

    def write_first() -> None:
        _, [domain] = load_study(path)
        domain.write_recipe("A")

    with pytest.raises(ConfigError) as refused:
        write_first()
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"arms": {"A": {"method": "rubric-rl"}, "B": {"methd": "rubric-rl"}}},
            "mine.yaml: B: a recipe has no field 'methd'; did you mean method?",
        ),
        ({"audit": {"of": "Sum", "edit": "x"}}, "mine.yaml: audit has no field 'edit'; did you mean edits?"),
        ({"evaluate": {"benchmark": []}}, "mine.yaml: a suite has no field 'benchmark'; did you mean benchmarks?"),
        (
            {"evaluate": {"benchmarks": ["healthbench"], "data_dir": "data", "compare": [["Sun", "Sum"]]}},
            "mine.yaml: there is no policy 'Sun' to compare; there are ProRubric, Sum, ProRubric 42, Sum 1, Sum 2",
        ),
        (
            {"evaluate": {"benchmarks": ["tasks:no.jsonl"], "judge": "lexical"}},
            "mine.yaml: tasks:no.jsonl: a file is missing",
        ),
        ({"evaluate": {"benchmarks": []}}, "mine.yaml: no benchmark is named"),
        (
            {"coverage": "nope"},
            "mine.yaml: coverage is 'nope', which is not evaluated; name one of evaluate.benchmarks: healthbench",
        ),
        ({"evaluate": {"benchmarks": ["tasks:judge.json"], "judge": "nope"}}, "mine.yaml: no model is called 'nope'"),
        ({"evaluate": {"benchmarks": ["tasks:judge.json"], "judge": "lexical"}}, "judge.json: found no prompt"),
        ({"audit": {"of": "Sum", "judge": "nope"}}, "mine.yaml: no model is called 'nope'"),
        ({"arms": {"Tuned": {"method": "sft"}}}, "mine.yaml: Tuned: "),
        ({"arms": {"A": {"method": "prorubric"}}}, "mine.yaml: A: "),  # lexical cannot read dimensions
        ({"arms": {"A": {"method": "rubricrl"}}}, "mine.yaml: A: "),
        ({"arms": {"A": {"method": "rubric-rl", "judge": "nope"}}}, "mine.yaml: A: no model is called 'nope'"),
        ({"compile": {"generator": "rules"}}, "mine.yaml: "),  # no tasks anywhere
        (
            {"compile": {"tasks": "tasks.jsonl", "generator": "rules", "out": "x"}},
            "mine.yaml: compile: out is given; leave it out: the study",
        ),
        ({"arms": {"A": {"method": "rubric-rl", "out": "x"}}}, "mine.yaml: A: out is given; leave it out: the study"),
        ({"audit": {"of": "Sum", "judge": "lexical", "out": "x"}}, "mine.yaml: audit: out is given"),
        ({"compile": {}}, "mine.yaml: Sum: there are no tasks; name the file in train.tasks"),
    ],
)
def test_a_mistake_in_a_later_stage_is_found_before_the_first_one_begins(
    folder: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ProRubricError) as refused:
        run_study(StudyConfig(write_study(folder, **changes)))
    assert str(refused.value).removeprefix(f"{folder}/").startswith(said)
    assert not (folder / "runs/mine/compiled.jsonl").exists()


@pytest.mark.skipif(find_spec("trl") is not None, reason="TRL is installed")
def test_a_trainer_that_is_not_installed_is_missed_before_the_first_stage(folder: Path) -> None:
    path = write_study(folder, arms={"Sum": {"method": "rubric-rl"}}, evaluate={})
    with pytest.raises(MissingExtraError, match=r"Training with TRL needs the extra \[trl\]"):
        run_study(StudyConfig(path))
    assert not (folder / "runs/mine/compiled.jsonl").exists()
    assert run_study(StudyConfig(path, only=("compile",))).unfinished == ()


def test_an_arm_that_only_chooses_answers_needs_no_trainer_and_is_not_evaluated(folder: Path) -> None:
    rows = ({"task_id": f"Question {number}?", "response": "Yes."} for number in range(12))
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    best = {"method": "best-of-n", "best_of": {"samples": "answers.jsonl"}}
    path = write_study(folder, arms={"Best": best}, evaluate={})
    result = run_study(StudyConfig(path))
    [run] = result.domains[0].arms["Best"].runs
    assert (result.unfinished, run.state, run.chosen) == ((), "done", 10)  # two are held out
    assert load_study(path)[1][0].list_policies() == []


def test_an_arm_that_cannot_be_read_is_said_once_and_keeps_its_followers_from_the_plan(folder: Path) -> None:
    arms = {"A": {"method": "rubric-rl"}, "B": {"methd": "rubric-rl"}}
    [domain] = plan_study(StudyConfig(write_study(folder, arms=arms))).domains
    assert [*domain.arms] == ["A"]
    assert domain.missing == {
        "B": "a recipe has no field 'methd'; did you mean method?",
        "evaluate": "the arm B is not planned",
    }


def test_nothing_is_trained_on_tasks_that_are_not_compiled_to_the_end(folder: Path) -> None:
    path = write_study(folder)
    compiled = folder / "runs/mine/compiled.jsonl"
    compiled.parent.mkdir(parents=True)
    compiled.write_bytes((folder / "tasks.jsonl").read_bytes())  # as a process that was killed leaves it
    with pytest.raises(ConfigError, match=r"compiled\.jsonl is not compiled to the end; run the stage compile first"):
        run_study(StudyConfig(path, only=("train",)))
    run_study(StudyConfig(path, only=("compile",)))
    [domain] = plan_study(StudyConfig(path)).domains
    assert (domain.compile, [*domain.arms]) == ({}, ["Sum", "ProRubric"])  # what is done is not planned


def test_runs_that_are_done_are_not_planned_again(folder: Path) -> None:
    path = write_study(folder)
    [before] = plan_study(StudyConfig(path, only=("train",))).domains
    for arm, run in (("Sum", "rubric-rl-seed-1"), ("ProRubric", "prorubric-seed-42")):
        place = RunFolder(folder / "runs/mine/train" / arm / run)
        place.path.mkdir(parents=True)
        place.save_state("done", 4)
    [domain] = plan_study(StudyConfig(path, only=("train",))).domains
    assert {arm: [run.name for run in plan.runs] for arm, plan in domain.arms.items()} == {"Sum": ["rubric-rl-seed-2"]}
    assert 2 * domain.arms["Sum"].calls == before.arms["Sum"].calls


def test_the_evaluation_of_one_arm_keeps_those_that_are_trained(folder: Path) -> None:
    arms = {name: {"method": "rubric-rl"} for name in ("A", "B", "C")}
    for arm, state in (("A", "done"), ("B", "running")):
        run = folder / f"runs/mine/train/{arm}/rubric-rl-seed-42"
        checkpoint = run / "checkpoints/checkpoint-4"
        checkpoint.mkdir(parents=True)
        (checkpoint / "rollout.json").write_text(json.dumps({"rollout": 4}))
        RunFolder(run).save_state(state, 4)
    train = {"tasks": "tasks.jsonl", "model": "tiny", "judge": "lexical"}
    evaluate = {"benchmarks": ["healthbench"], "judge": "lexical", "baseline": "B", "compare": [["C", "A"], ["C", "B"]]}
    _, domains = load_study(write_study(folder, arms=arms, compile={}, train=train, evaluate=evaluate))
    stages, [domain] = choose_parts(("C", "train", "evaluate"), domains)
    assert (stages, domain.chosen) == (("train", "evaluate"), ("C",))
    assert [policy.name for policy in domain.list_policies()] == ["A 42", "C 42"]  # B is not trained to the end
    assert domain.list_not_evaluated() == ["B"]
    suite = domain.make_suite(planned=True)
    assert (suite.baseline, suite.compare) == (None, (("C", "A"),))


@pytest.fixture
def arms(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Parts of a study whose arm Next goes on from First, with a trainer that leaves a checkpoint."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} {ROOT / "tests/train/scripts/stand_in.py"} "$@"\n')
    python.chmod(0o755)
    for arm in ("First", "Next"):
        (folder / "runs/mine/train" / arm).mkdir(parents=True)
        script = {"checkpoint": True, "answers": ["yes"]}
        (folder / "runs/mine/train" / arm / "script.json").write_text(json.dumps(script))
    train = {"tasks": "tasks.jsonl", "model": "tiny", "judge": "lexical", "rollouts": 4, "prompts": 2, "mini_batch": 2}
    own = {"First": {"method": "rubric-rl"}, "Next": {"method": "rubric-rl", "after": "First"}}
    given = {"python": str(python), "validate": "no", "held_out": 0}
    return {"compile": {}, "evaluate": {}, "train": {**train, **given}, "arms": own}


def test_an_arm_goes_on_from_a_trained_one_while_another_process_does(folder: Path, arms: dict[str, Any]) -> None:
    path = write_study(folder, **arms)
    run_study(StudyConfig(path, only=("First",)))
    first = folder / "runs/mine/train/First"
    with lock_path(first / ".lock"):
        result = run_study(StudyConfig(path, only=("train", "Next")))
    assert (result.unfinished, [*result.domains[0].arms]) == ((), ["Next"])
    [run] = list_runs(load_recipe(folder / "runs/mine/recipes/Next.yaml"))
    assert Path(run.model) == Path("runs/mine/train/First/rubric-rl-seed-42/checkpoints/checkpoint-4")
    arms["arms"]["First"]["rate"] = 1e-5
    with pytest.raises(ConfigError, match=r"First/rubric-rl-seed-42: holds this run with another settings\.rate"):
        run_study(StudyConfig(write_study(folder, **arms), only=("Next",)))


def test_an_arm_waits_for_one_that_is_stopped(folder: Path, arms: dict[str, Any]) -> None:
    (folder / "runs/mine/train/First/script.json").write_text(json.dumps({"stop_at": 2, "answers": ["yes"]}))
    result = run_study(StudyConfig(write_study(folder, **arms)))
    assert result.unfinished == ("First: rubric-rl-seed-42", "Next: waits for First")
    assert not (folder / "runs/mine/train/Next/rubric-rl-seed-42").exists()


def test_an_arm_does_not_begin_anew_if_the_checkpoint_is_gone_that_it_goes_on_from(
    folder: Path, arms: dict[str, Any]
) -> None:
    path = write_study(folder, **arms)
    run_study(StudyConfig(path, only=("First",)))
    shutil.rmtree(folder / "runs/mine/train/First/rubric-rl-seed-42/checkpoints")
    [said] = run_study(StudyConfig(path)).unfinished
    place = "runs/mine/train/First/rubric-rl-seed-42"
    assert said == f"Next: {place} has no checkpoint; put it back, or remove that folder to train First again"


def test_a_run_that_fails_is_said_and_the_others_go_on(folder: Path, arms: dict[str, Any]) -> None:
    (folder / "runs/mine/train/First/script.json").write_text('{"fail_at": 1}')
    (folder / "runs/mine/train/Other").mkdir()
    (folder / "runs/mine/train/Other/script.json").write_text('{"answers": ["yes"]}')
    arms["arms"]["Other"] = {"method": "rubric-rl"}
    seen = list[str]()
    result = run_study(StudyConfig(write_study(folder, **arms)), lambda now: seen.append(now.note.partition(":")[0]))
    failed, waiting = result.unfinished
    assert (failed.startswith("First: "), "the judge is gone" in failed) == (True, True)
    assert waiting == "Next: waits for First"
    assert [run.state for run in result.domains[0].arms["Other"].runs] == ["done"]
    assert result.report is not None
    assert [*dict.fromkeys(seen)] == ["stage 1 of 3, train First", "stage 2 of 3, train Other"]


def test_a_setting_that_changed_since_a_run_is_found_by_the_plan(folder: Path, arms: dict[str, Any]) -> None:
    run_study(StudyConfig(write_study(folder, **arms), only=("First",)))
    arms["train"]["rollouts"] = 5
    [domain] = plan_study(StudyConfig(write_study(folder, **arms), only=("train",))).domains
    assert "holds this run with another settings.rollouts (4, not 5)" in domain.missing["First"]


def test_tasks_that_got_no_reply_are_asked_about_again_before_anything_is_trained(
    folder: Path, server: MisbehavingServer, arms: dict[str, Any]
) -> None:
    server.always = "groups"
    server.script("500", "500", "500")
    compile_part = {"tasks": "tasks.jsonl", "generator": f"http://127.0.0.1:{server.port}/v1#g", "http": {"retries": 0}}
    path = write_study(folder, **arms | {"compile": compile_part})
    result = run_study(StudyConfig(path))
    compiled = result.domains[0].compiled["compiled.jsonl"]
    assert (compiled.kept + compiled.repaired, compiled.lost, result.domains[0].arms) == (9, 3, {})
    assert result.unfinished == ("compiled.jsonl: 3 tasks without a reply",)
    with pytest.raises(ConfigError, match="is not compiled to the end"):
        run_study(StudyConfig(path, only=("train",)))
    asked = server.calls
    again = run_study(StudyConfig(path))
    found = again.domains[0].compiled["compiled.jsonl"]
    assert (found.kept + found.repaired, found.lost) == (12, 0)
    assert server.calls - asked == 3 * (asked - 3) / 9  # three tasks are asked about as the other nine were
    assert (again.unfinished, [*again.domains[0].arms]) == ((), ["First", "Next"])


def test_tasks_that_an_endpoint_rejects_do_not_keep_a_study_from_going_on(
    folder: Path, server: MisbehavingServer
) -> None:
    server.always = "groups"
    server.script("400")
    compile_part = {"tasks": "tasks.jsonl", "generator": f"http://127.0.0.1:{server.port}/v1#g"}
    result = run_study(StudyConfig(write_study(folder, compile=compile_part, arms={}, evaluate={})))
    compiled = result.domains[0].compiled["compiled.jsonl"]
    assert (compiled.excluded, compiled.refused, compiled.lost, result.unfinished) == (1, 1, 0, ())


def test_compiled_tasks_that_are_gone_are_made_again_and_may_be_moved(folder: Path) -> None:
    path = write_study(folder, arms={}, evaluate={})
    run_study(StudyConfig(path))
    (folder / "runs/mine/compiled.jsonl").unlink()
    assert run_study(StudyConfig(path)).domains[0].compiled["compiled.jsonl"].kept == 12
    assert (folder / "runs/mine/compiled.jsonl").exists()
    (folder / "runs/mine").rename(folder / "runs/yours")
    written = (folder / "runs/yours/compiled.manifest.json").stat().st_mtime_ns
    run_study(StudyConfig(path.rename(folder / "yours.yaml")))
    assert (folder / "runs/yours/compiled.manifest.json").stat().st_mtime_ns == written


def test_tasks_compiled_with_another_prompt_are_not_taken(folder: Path, server: MisbehavingServer) -> None:
    server.always = "groups"
    prompt = folder / "prompt.txt"
    prompt.write_text((ROOT / "src/prorubric/compile/prompts/group.txt").read_text())
    generator = {"generator": f"http://127.0.0.1:{server.port}/v1#g", "generation": {"prompt_file": "prompt.txt"}}
    path = write_study(folder, compile={"tasks": "tasks.jsonl", **generator}, arms={}, evaluate={})
    run_study(StudyConfig(path))
    prompt.write_text(prompt.read_text() + " Take care.")
    with pytest.raises(ConfigError, match="holds tasks that were compiled with another prompt; put it back"):
        run_study(StudyConfig(path))


def test_an_audit_by_another_judge_of_the_same_name_is_made_again(folder: Path, server: MisbehavingServer) -> None:
    policies = [{"name": "base", "spec": f"http://127.0.0.1:{server.port}/v1#writes-rest-drink"}]
    evaluate = {"benchmarks": ["healthbench"], "data_dir": "data", "judge": "lexical", "policy": policies}
    audit = {"of": "base", "judge": "scripted:own.json", "limit": 1, "edits": "name-item", "scheme": "additive"}
    path = write_study(folder, arms={}, evaluate=evaluate, audit={**audit, "resamples": 100})
    (folder / "own.json").write_text('{"contains": ["no such text"], "reply": "{}"}\n')
    config = StudyConfig(path, only=("compile", "audit"))
    first = run_study(config)
    assert first.domains[0].audit is not None
    failed = sum(first.domains[0].audit.failed_calls.values())
    assert failed > 0
    assert first.unfinished == (f"audit: {failed} calls failed",)
    reply = json.dumps({"satisfied": {str(number): True for number in range(1, 5)}})
    (folder / "own.json").write_text(json.dumps({"contains": [], "reply": reply}) + "\n")
    second = run_study(config)
    assert second.domains[0].audit is not None
    assert (second.unfinished, second.domains[0].audit.failed_calls) == ((), {})


def test_the_options_of_compile_decide_what_is_planned(folder: Path) -> None:
    compile_part = {"tasks": "tasks.jsonl", "generator": "rules", "limit": 5}
    audit = {"judge": "lexical", "scheme": "additive", "edits": "name-item", "responses": "answers.jsonl"}
    rows = ({"task_id": f"Question {number}?", "response": "Yes."} for number in range(12))
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = write_study(folder, compile=compile_part, arms={}, evaluate={}, audit=audit)
    [before] = plan_study(StudyConfig(path)).domains
    run_study(StudyConfig(path, only=("compile",)))
    [after] = plan_study(StudyConfig(path)).domains
    assert before.audit is not None
    assert (before.audit.tasks, before.audit) == (5, after.audit)


def test_an_arm_may_have_the_only_compilation(folder: Path) -> None:
    train = {"tasks": "tasks.jsonl", "model": "tiny", "judge": "lexical"}
    arms = {
        "Own": {"method": "rubric-rl", "compile": {"generator": "rules", "limit": 11}},
        "Sum": {"method": "rubric-rl"},
    }
    path = write_study(folder, compile={}, train={**train, "held_out": 2}, arms=arms, evaluate={})
    [domain] = plan_study(StudyConfig(path)).domains
    assert (domain.missing, [*domain.compile], [*domain.arms]) == ({}, ["compiled-Own.jsonl"], ["Own", "Sum"])
    assert [plan.tasks for plan in domain.arms.values()] == [9, 10]
    assert run_study(StudyConfig(path, only=("compile",))).domains[0].compiled["compiled-Own.jsonl"].kept == 11


def test_an_arm_of_one_domain_is_evaluated_in_another(folder: Path) -> None:
    train = {"tasks": "tasks.jsonl", "model": "tiny", "judge": "lexical", "held_out": 2}
    domains = {
        "a": {"arms": {"Sum": {"method": "rubric-rl", "seeds": [1, 2]}}},
        "b": {"arms": {"Sum": {"domain": "a"}}},
    }
    given = {"compile": {}, "train": train, "arms": {}}
    path = write_study(folder, domains=domains, **given)
    _, [_, domain] = load_study(path)
    assert [(policy.name, policy.group) for policy in domain.list_policies()] == [("Sum 1", "Sum"), ("Sum 2", "Sum")]
    first, second = plan_study(StudyConfig(path, only=("train", "evaluate"))).domains
    assert ([*first.arms], [*second.arms], second.missing) == (["Sum"], [], {})
    assert first.evaluate is not None
    assert second.evaluate is not None
    assert first.evaluate.calls == second.evaluate.calls > 0
    domains["b"]["arms"]["Sum"]["domain"] = "c"
    with pytest.raises(ConfigError, match=r"the arm Sum of the domain b has domain: c; name one that trains it \(a\)"):
        load_study(write_study(folder, domains=domains, **given))


def test_the_folder_of_a_study_has_one_copy_of_its_file(folder: Path) -> None:
    path = write_study(folder, arms={}, evaluate={})
    (folder / "runs/mine").mkdir(parents=True)
    (folder / "runs/mine/study.toml").write_text("title = 'Old'")
    run_study(StudyConfig(path))
    assert [one.name for one in (folder / "runs/mine").glob("study.*")] == ["study.yaml"]


def test_an_arm_may_get_its_own_compilation_after_the_others_are_compiled(folder: Path) -> None:
    path = write_study(folder)
    run_study(StudyConfig(path, only=("compile",)))
    own = {"method": "rubric-rl", "compile": {"generator": "rules"}}
    path = write_study(folder, arms={"Sum": {"method": "rubric-rl"}, "Own": own})
    [domain] = plan_study(StudyConfig(path, only=("compile", "train"))).domains
    assert (domain.missing, [*domain.compile], [*domain.arms]) == ({}, ["compiled-Own.jsonl"], ["Sum", "Own"])


@pytest.mark.parametrize(
    ("only", "said"),
    [
        (("a", "X"), "--only X: a has no such arm; name a domain that has it, or no domain"),
        (("audit",), "--only audit: the study has no audit part; leave it out"),
    ],
)
def test_only_refuses_what_would_be_everything_or_nothing(folder: Path, only: tuple[str, ...], said: str) -> None:
    domains = {"a": {}, "b": {"arms": {"X": {"method": "rubric-rl"}}}}
    path = write_study(folder, domains=domains)
    with pytest.raises(ConfigError, match=re.escape(said)):
        plan_study(StudyConfig(path, only=only))


@pytest.mark.parametrize("only", ["", ",", " "])
def test_only_without_a_name_is_refused(folder: Path, capsys: pytest.CaptureFixture[str], only: str) -> None:
    assert run_program(["study", str(write_study(folder)), "--dry-run", "--only", only]) == 2
    said = "prorubric: --only names nothing; name stages, domains or arms, or leave it out\n"
    assert capsys.readouterr().err == said


def test_names_with_brackets_are_shown_as_they_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_study(folder, arms={"K=1 [a]": {"method": "rubric-rl"}}, evaluate={})
    assert run_program(["study", str(path), "--dry-run", "--only", "train"]) == 0
    assert "train K=1 [a]" in capsys.readouterr().out


def test_a_domain_may_assume_other_sizes(folder: Path) -> None:
    domains = {"large": {}, "small": {"assume": {"tasks": 20}}}
    assume, train = {"tasks": 40, "criteria": 5}, {"tasks": "not-here.jsonl"}
    compile_part = {"generator": "http://localhost:1/v1#none"}
    path = write_study(folder, domains=domains, assume=assume, compile=compile_part, arms={}, train=train)
    plan = plan_study(StudyConfig(path, only=("compile",)))
    large, small = (domain.compile["compiled.jsonl"] for domain in plan.domains)
    assert (large.calls, small.calls) == (40, 20)
    assert large.prompt_tokens == 2 * small.prompt_tokens  # the same number of criteria


def test_arms_that_come_after_each_other_are_refused(folder: Path) -> None:
    arms = {"A": {"method": "prorubric", "after": "B"}, "B": {"method": "prorubric", "after": "A"}}
    with pytest.raises(ConfigError, match="the arms A, B come after each other"):
        run_study(StudyConfig(write_study(folder, arms=arms, compile={}), only=("train",)))


def test_the_program_writes_a_file_to_start_from_and_says_what_it_lacks(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_program(["study", "new.yaml", "--init"]) == 0
    assert run_program(["study", "new.yaml", "--init"]) == 2
    assert run_program(["study", "new.yaml", "--dry-run"]) == 1
    said = capsys.readouterr().out
    assert "not planned, tasks:my-held-out.jsonl: a file is missing" in " ".join(said.split())
    assert said.count("not planned, ") == 5  # the compiled file, its tasks and three benchmarks, but not every arm
    assert said.endswith("in all 0 calls, 0 tokens, about $0.00, about 0.0 hours, without what is not planned\n")


def test_a_file_to_start_from_can_be_in_a_new_folder_and_its_command_can_be_pasted(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_program(["study", "new folder/my study.yaml", "--init"]) == 0
    assert "prorubric study 'new folder/my study.yaml' --dry-run" in " ".join(capsys.readouterr().err.split())
    assert (folder / "new folder" / "my study.yaml").is_file()


def test_a_file_to_start_from_is_yaml(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["study", "new.toml", "--init"]) == 2
    said = capsys.readouterr().err
    assert said == "prorubric: new.toml: --init writes YAML; give a name that ends in .yaml\n"
    assert not (folder / "new.toml").exists()


@pytest.mark.parametrize("name", ["paper-4b", "paper-8b"])
def test_the_studies_of_the_paper_have_every_arm_and_its_exact_calls(folder: Path, name: str) -> None:
    text = (ROOT / f"studies/{name}.yaml").read_text()
    for size, small in (("tasks", 400), ("criteria", 3), ("answers", 800)):
        text = re.sub(rf"\b{size}: \d+", f"{size}: {small}", text)
    path = folder / f"{name}.yaml"
    path.write_text(text)
    plan = plan_study(StudyConfig(path, only=("train",)))
    domains = {domain.name: domain for domain in plan.domains}
    assert [domain.missing for domain in plan.domains] == [{}] * 4
    # Three seeds of 300 rollouts with 64 × 8 responses, a call each; 300 answers are judged twice at seven steps.
    once = 3 * (300 * 64 * 8 + 7 * 300 * 2)
    twice = 3 * (2 * 300 * 64 * 8 + 7 * 300 * 2)
    medical = {arm: own.calls for arm, own in domains["medical"].arms.items()}
    # 485 rollouts without a judge are validated eleven times, supervised fine-tuning before and after.
    others = {"OPSD": 3 * 11 * 300 * 2, "SFT": 3 * 2 * 300 * 2}
    asked_twice = [arm for arm in medical if arm == "Graded" or arm.endswith("+appropriateness")]
    assert medical == {**dict.fromkeys(medical, once), **dict.fromkeys(asked_twice, twice), **others}
    # Every arm of the paper: Rewritten in science, the untrained policy in the evaluation.
    assert {find_paper_key(arm) for arm in medical} == {*PAPER_ARMS} - {"base", "rewritten"}
    assert [*domains] == ["medical", "writing", "dialogue", "science"]
    steps = {domain: own.arms["OPSD"].runs[0].steps for domain, own in domains.items()}
    assert steps == {"medical": 485, "writing": 469, "dialogue": 352, "science": 716}
    assert "Rewritten" in domains["science"].arms
    assert {run.seed for own in plan.domains for arm in own.arms.values() for run in arm.runs} == {42, 43, 44}


@pytest.mark.parametrize("name", ["paper-4b", "paper-8b"])
def test_the_studies_of_the_paper_compile_and_evaluate_each_domain_as_the_paper_does(folder: Path, name: str) -> None:
    path = ROOT / f"studies/{name}.yaml"
    plan = plan_study(StudyConfig(path, only=("compile",)))
    calls = {own.name: {file: part.calls for file, part in own.compile.items()} for own in plan.domains}
    # A call for the dimensions of each task, one for K=1 and one for labels in medicine, one to restate in science.
    assert calls == {
        "medical": {"compiled.jsonl": 3 * 12819, "compiled-ProRubric (other generator).jsonl": 12819},
        "writing": {"compiled.jsonl": 12300},
        "dialogue": {"compiled.jsonl": 9300},
        "science": {"compiled.jsonl": 2 * 18633},
    }
    _, domains = load_study(path)
    benchmarks = {own.name: {*own.evaluate["benchmarks"]} for own in domains}
    judged = {
        domain: {each for each in own if not each.startswith(("probe", "pairs"))} for domain, own in benchmarks.items()
    }
    assert judged == {
        "medical": {"healthbench", "healthbench-consensus", "healthbench-meta", "medqa"},
        "writing": {"writingbench", "creative-v3"},
        "dialogue": {"arena-hard-v2"},
        "science": {"gpqa-diamond", "researchqa"},
    }
    assert {own for own, names in benchmarks.items() if any("2048" in each for each in names)} == {"medical", "science"}
    for domain in domains:
        pairs = domain.make_suite(planned=True).compare
        assert pairs == (("Rubric-RL", "base"), ("ProRubric", "base"), ("ProRubric", "Rubric-RL"))


@pytest.mark.parametrize("name", ["paper-4b", "paper-8b"])
def test_the_evaluations_of_the_paper_are_counted_without_the_files_of_the_benchmarks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_program(["study", str(ROOT / f"studies/{name}.yaml"), "--dry-run", "--only", "evaluate"]) == 0
    assert "gpqa-diamond, researchqa, probe-science" in " ".join(capsys.readouterr().out.split())
    plan = plan_study(StudyConfig(ROOT / f"studies/{name}.yaml", only=("evaluate",)))
    assert [domain.missing for domain in plan.domains] == [{}] * 4
    _, domains = load_study(ROOT / f"studies/{name}.yaml")
    arms = {
        domain.name: 3 * len({**domain.arms, **domain.lent}) + 1 for domain in domains
    }  # three seeds each, and the untrained policy
    # Every policy answers once, or four times for GPQA. Each of three judges sees every criterion of HealthBench, which
    # has those of the consensus, and of WritingBench, all criteria of ResearchQA at once, four criteria of the probe,
    # and nine pairs of policies (three comparisons of three seeds) in two orders. Short answers are asked of the seven
    # policies that are compared.
    probe, pairs, short = 3 * 4 * 200, 3 * 2 * 9 * 200, 7 * 200
    assert {domain.name: domain.evaluate.calls for domain in plan.domains if domain.evaluate} == {
        "medical": arms["medical"] * (5000 + 1273 + 3 * 57_250 + probe) + 3 * 29_511 + 2 * pairs + short,
        "writing": arms["writing"] * (1000 + 96 + 3 * (5000 + 96) + probe) + pairs,
        "dialogue": arms["dialogue"] * (750 + 3 * 2 * 750 + probe) + pairs,
        "science": arms["science"] * (4 * 198 + 703 + 3 * 703 + probe) + 2 * pairs + short,
    }


def plan_evaluation(folder: Path, **evaluate: Any) -> DomainPlan:
    """The plan of an evaluation of one policy by one judge."""
    given = {"judge": "http://localhost:1/v1#judge", "policy": [{"name": "base", "spec": "http://localhost:1/v1#a"}]}
    path = write_study(folder, compile={}, train={}, arms={}, evaluate={"data_dir": "data", **given, **evaluate})
    [domain] = plan_study(StudyConfig(path)).domains
    return domain


def test_benchmarks_that_share_prompts_are_planned_alike(folder: Path) -> None:
    (folder / "data" / healthbench.ALL.name).rename(folder / "data" / healthbench.CONSENSUS.name)
    benchmarks = ["healthbench-consensus", "probe-medical", "healthbench"]
    plan = plan_evaluation(folder, benchmarks=benchmarks)
    # The consensus file is here, but its four prompts are not those that stand for HealthBench.
    assert (plan.missing, plan.published) == ({}, tuple(benchmarks))
    assert plan.evaluate is not None
    assert plan.evaluate.calls == 5000 + 57_250 + 4 * 200
    alone = plan_evaluation(folder, benchmarks=["healthbench-consensus", "medqa"])
    assert alone.evaluate is not None
    assert (alone.published, alone.evaluate.calls) == (("medqa",), 4 + 4 + 1273)


def test_answers_in_a_file_are_judged_in_a_plan_too(folder: Path) -> None:
    (folder / "base.jsonl").write_text("")
    plan = plan_evaluation(folder, benchmarks=["researchqa", "medqa"], policy=[{"name": "base", "spec": "base.jsonl"}])
    assert plan.evaluate is not None
    assert (plan.published, plan.evaluate.calls) == (("researchqa", "medqa"), 703)


def test_answers_that_are_judged_twice_need_their_items(folder: Path) -> None:
    plan = plan_evaluation(folder, benchmarks=["researchqa", "medqa"], repeat_judging=5)
    assert plan.published == ("medqa",)
    assert plan.missing["researchqa"].startswith("a file is missing")


def test_an_evaluation_without_a_benchmark_cannot_be_planned(folder: Path) -> None:
    plan = plan_evaluation(folder, benchmarks=[])
    assert plan.missing == {"evaluate": "no benchmark is named; list them in evaluate.benchmarks"}


def test_the_mini_is_planned_to_the_call(folder: Path) -> None:
    write_mini(folder / "mini", training=64, held_out=5, demos=260)
    plan = plan_study(StudyConfig(ROOT / "studies/paper-mini.yaml"))
    [domain] = plan.domains
    assert domain.missing == {}
    # 300 rollouts of 32 × 8 answers, and five held-out answers at seven validations.
    once, twice = 300 * 32 * 8 + 7 * 5, 2 * 300 * 32 * 8 + 7 * 5
    three_seeds = dict.fromkeys(("Rubric-RL", "ProRubric", "Implicit"), 3 * once)
    asked_twice = dict.fromkeys(("Graded", "Rubric-RL+appropriateness", "ProRubric+appropriateness"), twice)
    others = {"Base": 0, "OPSD": 11 * 5, "SFT": 2 * 5}
    expected = {**dict.fromkeys(domain.arms, once), **three_seeds, **asked_twice, **others}
    assert {arm: own.calls for arm, own in domain.arms.items()} == expected
    assert len(domain.arms) == 16
    # 22 policies answer five cases once. Each of two judges reads the answers for both files and four times for the
    # probe, and compares 21 policies with the base in two orders.
    assert domain.evaluate is not None
    assert domain.evaluate.calls == 22 * 5 + 2 * (22 * 5 * (1 + 1 + 4) + 21 * 5 * 2)
