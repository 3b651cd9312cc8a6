"""A whole file compiled and verified: what is counted, what it costs, and what was planned."""

import json
from pathlib import Path
from typing import Any

import pytest

from prorubric import CompileConfig, ScriptedModel, compile_rubrics, save_tasks
from prorubric.cli.app import run as run_program
from prorubric.compile.compiler import GeneratorConfig
from prorubric.compile.verify import load_verify_prompt
from prorubric.errors import ConfigError, ModelError, StoppedError
from prorubric.llm.model import Failure, Outcome, Request
from prorubric.verbs.compile import estimate_compile
from tests.compile.generating import group_by_prompt, make_tasks
from tests.compile.running import finish, start, start_with_ray
from tests.compile.test_verify import answer, list_items
from tests.verbs.test_compile_interrupted import ray_environment

__all__ = ["ray_environment"]

GENERATOR = ScriptedModel(
    lambda request: group_by_prompt([{"content": message.content} for message in request.messages]), name="gen"
)


def verify(request: Request) -> str:
    """Criterion 4 of the third and the seventh task is lost for good; about the fifth there is nothing to be read."""
    question = request.messages[1].content
    if "Question 4:" in question:
        return "Certainly!"
    is_lost = "Question 2:" in question or "Question 6:" in question
    return answer({str(item): not (is_lost and item == 4) for item in list_items(request)})


def fail(_: Request) -> Outcome:
    return Failure("connection", "connection refused")


VERIFIER = ScriptedModel(verify, name="ver")
SILENT = ScriptedModel(fail, name="silent")


def make_config(folder: Path, count: int = 10, **options: Any) -> CompileConfig:
    save_tasks(folder / "tasks.jsonl", make_tasks(count))
    models = {"generator": f"{__name__}:GENERATOR", "verify": f"{__name__}:VERIFIER"}
    return CompileConfig(str(folder / "tasks.jsonl"), out=folder / "out.jsonl", **{**models, **options})


def test_verified_dimensions_faults_and_what_is_not_verified_are_counted(tmp_path: Path) -> None:
    result = compile_rubrics(make_config(tmp_path))
    assert (result.kept, result.verified, result.attempts) == (10, 16, {"1": 8, "3": 2})
    assert (result.verify_faults, result.not_verified) == ({"demand dropped": 2}, {"no object": 2})
    assert result.faults == {"demand dropped": 6}
    manifest = json.loads((tmp_path / "out.manifest.json").read_text())
    assert {key: manifest[key] for key in ("verified", "verify_faults", "not_verified")} == {
        "verified": 16,
        "verify_faults": {"demand dropped": 2},
        "not_verified": {"no object": 2},
    }
    assert manifest["prompts"]["verify"]["general"] == load_verify_prompt()[1]
    assert manifest["config"]["verify"] == f"{__name__}:VERIFIER"


def test_calls_tokens_and_cost_are_those_of_each_model_at_its_own_price(tmp_path: Path) -> None:
    prices = {"gen": {"prompt": 2.0, "completion": 8.0}, "ver": {"prompt": 0.5, "completion": 1.0}}
    (tmp_path / "prices.json").write_text(json.dumps(prices))
    result = compile_rubrics(make_config(tmp_path, prices=tmp_path / "prices.json"))
    generator, verifier = (result.models[f"{__name__}:{name}"] for name in ("GENERATOR", "VERIFIER"))
    # Two tasks are asked three times, and the same two dimensions come each time.
    assert (generator.calls, generator.cached, verifier.calls, verifier.cached) == (14, 0, 28, 8)
    assert (result.calls, result.cached) == (42, 8)
    assert generator.cost == pytest.approx((generator.prompt_tokens * 2 + generator.completion_tokens * 8) / 1e6)
    assert verifier.cost == pytest.approx((verifier.prompt_tokens * 0.5 + verifier.completion_tokens) / 1e6)
    assert result.cost == pytest.approx((generator.cost or 0) + (verifier.cost or 0))


@pytest.mark.parametrize("generator", ["rules", f"{__name__}:GENERATOR"])
def test_the_calls_that_were_planned_are_those_that_are_made(tmp_path: Path, generator: str) -> None:
    config = make_config(tmp_path, 2, generator=generator)
    planned = estimate_compile(config)
    before = sum(len(model.requests) for model in (GENERATOR, VERIFIER))
    result = compile_rubrics(config)
    made = sum(len(model.requests) for model in (GENERATOR, VERIFIER)) - before
    by_model = generator != "rules"
    assert planned.calls == made == result.calls == (6 if by_model else 4)
    # At most three drafts of four dimensions for each of two tasks.
    assert planned.most_calls == (6 + 24 if by_model else 4)


def test_the_journal_answers_what_was_asked_and_the_rest_is_planned(tmp_path: Path) -> None:
    config = make_config(tmp_path, 2)
    compile_rubrics(make_config(tmp_path, 2, verify=""))
    planned = estimate_compile(make_config(tmp_path, 2, overwrite=True))
    # The drafts are there; a fault in each of two could lead to two more drafts of up to four dimensions.
    assert (planned.calls, planned.cached, planned.most_calls) == (4, 2, 4 + 2 * 2 + 2 * 2 * 4)
    again = compile_rubrics(make_config(tmp_path, 2, overwrite=True))
    assert (again.calls - again.cached, again.cached) == (4, 2)
    done = estimate_compile(make_config(tmp_path, 2, overwrite=True))
    assert (done.calls, done.cached, done.most_calls, config.models) == (0, 6, 0, again_models())


def again_models() -> tuple[str, str]:
    return f"{__name__}:GENERATOR", f"{__name__}:VERIFIER"


def test_the_budget_holds_for_both_models_together_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    with pytest.raises(StoppedError, match="--max-calls 4 is reached"):
        compile_rubrics(make_config(tmp_path, 4, max_calls=4))
    assert not (tmp_path / "out.jsonl").exists()
    result = compile_rubrics(make_config(tmp_path, 4, max_calls=100))
    assert (result.kept, result.cached >= 4) == (4, True)


def test_strictly_tasks_are_excluded_with_the_reason_and_no_text_is_written_for_them(tmp_path: Path) -> None:
    result = compile_rubrics(make_config(tmp_path, verify_strict=True, generation=GeneratorConfig(reasks=0)))
    assert (result.kept, result.excluded, result.verified) == (7, 3, 14)
    assert result.reasons == {"verification: demand dropped": 2, "not verified: no object": 1}
    texts = make_config(
        tmp_path, verify_strict=True, generation=GeneratorConfig(reasks=0), texts=("labels",), overwrite=True
    )
    assert estimate_compile(texts).calls == 7


def test_a_verifier_that_never_answers_ends_the_run_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"the last 50 tasks got no reply \(verifying: connection refused\)"):
        compile_rubrics(make_config(tmp_path, 60, generator="rules", verify=f"{__name__}:SILENT"))
    result = compile_rubrics(make_config(tmp_path, 5, generator="rules", verify=f"{__name__}:SILENT"))
    assert (result.kept, result.not_verified) == (5, {"no reply": 10})
    assert result.failures == {"verifying: connection refused": 5}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group": "none", "texts": ("k1",)}, "--verify checks new dimensions, but none are made here"),
        ({"verify": "", "verify_strict": True}, "--verify-strict needs a model that verifies"),
        ({"verify": "lexical"}, r"lexical/3 gives probabilities and does not write text"),
        ({"verify": "rules"}, "no model is called 'rules'"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_a_call(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    before = len(GENERATOR.requests)
    with pytest.raises(ConfigError, match=message):
        compile_rubrics(make_config(tmp_path, **options))
    assert len(GENERATOR.requests) == before


def test_the_terminal_shows_what_was_found_and_the_exit_code_is_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = make_config(tmp_path)
    arguments = ["--generator", config.generator, "--verify", config.verify, "--out", str(config.out)]
    assert run_program(["compile", config.tasks, *arguments]) == 1
    shown = capsys.readouterr()
    assert "dimensions verified: 16 x without a fault\n" in shown.out
    assert "dimensions kept with faults: 2 x demand dropped\n" in shown.out
    assert "dimensions not verified: 2 x no object\n" in shown.out
    assert "about 30 calls to make" in shown.err


@pytest.mark.xdist_group("ray")
def test_ray_verifies_as_this_process_does(tmp_path: Path, ray_environment: dict[str, str]) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        save_tasks(folder / "tasks.jsonl", make_tasks(10))
    models = again_models()
    assert finish(start(here, models[0], "--verify", models[1]))[0] == 1
    process = start_with_ray(there, models[0], "--verify", models[1], **ray_environment)
    try:
        code, said = finish(process)
    finally:
        process.kill()
        process.communicate()
    assert (code, "Traceback" in said) == (1, False), said
    assert (there / "out.jsonl").read_bytes() == (here / "out.jsonl").read_bytes()
    counts = [json.loads((folder / "out.manifest.json").read_text())["models"] for folder in (here, there)]
    assert counts[0] == counts[1]
    assert {name: use["calls"] for name, use in counts[1].items()} == {models[0]: 14, models[1]: 28}
