"""skyrl-gym: its own `make`, `init` and `step` give the reward to the bit, and no number for an unknown one."""

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prorubric import load_samples
from tests.train.parity import SCHEMES, expect, expect_transcripts, load_pairs
from tests.train.running import ROOT, run_in, trainers


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the script tells of single episodes; the judge of some of them has no reply."""
    silent = tmp_path_factory.mktemp("silent") / "script.jsonl"
    silent.write_text('{"contains": ["words that no prompt has"], "reply": "{}"}\n')
    return run_in("skyrl", "skyrl_episodes.py", "cases", f"scripted:{silent}")


@trainers
def test_every_pair_gets_the_same_reward_under_every_scheme(parity: Path) -> None:
    found = run_in("skyrl", "skyrl_episodes.py", "parity", parity)
    pairs = load_pairs(parity)
    assert found == {scheme: expect(pairs, scheme) for scheme in SCHEMES}


@trainers
def test_an_episode_of_two_turns_is_judged_at_its_end_by_all_turns_or_the_last(parity: Path) -> None:
    found = run_in("skyrl", "skyrl_episodes.py", "transcripts", parity)
    pairs = load_pairs(parity)
    assert found == {"full": expect_transcripts(pairs, calls=False), "last": expect(pairs)}


@trainers
def test_a_row_names_its_task_in_a_column_or_as_the_ground_truth(cases: dict[str, Any]) -> None:
    named = cases["named"]
    assert {step["metadata"]["reward"]["task_id"] for step in named.values()} == {next(load_samples()).task.id}
    assert {place: step["reward"] for place, step in named.items()} == {"column": 0.0, "ground truth": 0.0}


@trainers
def test_a_row_carries_its_task_whole_or_only_the_rubric(cases: dict[str, Any]) -> None:
    found = {place: step["reward"] for place, step in cases["carried"].items()}
    assert found == dict.fromkeys(("ground truth", "column", "rubric and prompt"), 75 / 182)


@trainers
def test_skyrl_gets_bounds_and_shadows_as_metrics(cases: dict[str, Any]) -> None:
    step = cases["shadow"]
    assert step["metrics"] == {
        "judge_failed": 0.0,
        "low": step["reward"],
        "high": step["reward"],
        "shadow/weighted": step["metadata"]["reward"]["shadow"]["weighted"],
    }
    assert math.isfinite(step["metrics"]["shadow/weighted"])


@trainers
def test_an_unknown_reward_raises_out_of_step(cases: dict[str, Any]) -> None:
    assert cases["unknown"] == (
        "UnjudgedError: task 'medicine-infant-fever': the reward is unknown, somewhere from 0 to 1 "
        "(no reply: the script has no reply to this prompt); look at the judge, or raise its retries (http) and reasks "
        "(judging)"
    )


@trainers
def test_a_run_that_has_to_go_on_gets_its_number_and_a_count(cases: dict[str, Any]) -> None:
    assert cases["filled"]["reward"] == 0.25
    assert cases["filled"]["metrics"] == {"judge_failed": 1.0, "low": 0.0, "high": 1.0}


@trainers
def test_misuse_is_refused_before_anything_is_generated(cases: dict[str, Any]) -> None:
    assert cases["no such task"].startswith("ConfigError: no task matches ")
    assert cases["overlong"].startswith("ConfigError: SkyRL passes text without a token count; leave out overlong")
    assert cases["no such scheme"].startswith("SchemeError: ")


@trainers
def test_the_example_plays_the_sample_pack() -> None:
    said = run_in("skyrl", ROOT / "examples/skyrl/rubric_env.py", variables={"PRORUBRIC_SCHEME": "additive"})
    assert said == {"episodes": 48, "reward": pytest.approx(0.445, abs=5e-4), "judge_failed": 0.0}


def test_the_page_shows_the_example() -> None:
    shown = re.findall(r"^```py\n(.*?)^```", (ROOT / "docs/trainers/skyrl.md").read_text(), re.MULTILINE | re.DOTALL)
    example = (ROOT / "examples/skyrl/rubric_env.py").read_text()
    assert [block in example for block in shown] == [True]


def test_without_skyrl_the_import_says_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import prorubric.train.skyrl"], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == (
        "prorubric.errors.MissingExtraError: the environment for SkyRL needs the extra [skyrl]; "
        "install prorubric with it: pip install '.[skyrl]' in a checkout"
    )
