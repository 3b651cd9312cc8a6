"""The GitHub action, the pre-commit hook and the workflow, run as far as they can be without GitHub."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from prorubric.cli.check_output import MARKER
from tests.cli.program import write_tasks

ROOT = Path(__file__).parents[1]
UVX = ROOT / ".tools/bin/uvx"
CLEAN = [("Tells her to rest", 4.0), ("Explains the dose", 2.0), ("Asks about her age", 2.0)]
UNCLEAR = [*CLEAN, ("Clarity", 1.0)]
GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]
# Stands for GitHub's program: notes its arguments, lists the comments in a file, and fails if it is told to.
GH = """#!/usr/bin/env bash
echo "$*" >> "$FAKE_GH/calls"
if [ -e "$FAKE_GH/forbidden" ]; then echo "HTTP 403" >&2; exit 1; fi
if [[ "$*" == *--jq* ]]; then cat "$FAKE_GH/ids"; fi
"""


def load(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text())


class Runner:
    """A job of GitHub's: a checkout with a commit, its environment files, and the values of expressions."""

    def __init__(self, folder: Path) -> None:
        self.work, self.temp, self.gh = (folder / name for name in ("work", "temp", "gh"))
        for path in (self.work / "rubrics", self.temp / "prorubric/bin", self.gh):
            path.mkdir(parents=True)
        program = self.temp / "prorubric/bin/prorubric"
        program.write_text(f'#!/usr/bin/env bash\nexec "{sys.executable}" -m prorubric "$@"\n')
        (self.gh / "gh").write_text(GH)
        (self.gh / "ids").touch()
        for path in (program, self.gh / "gh"):
            path.chmod(0o755)
        self.write(CLEAN)
        for command in (["git", "init", "--quiet"], ["git", "add", "."], [*GIT, "commit", "--quiet", "-m", "a"]):
            subprocess.run(command, cwd=self.work, check=True)
        self.values = {
            "inputs.files": "rubrics/**/*.jsonl\n",
            "inputs.base || (github.base_ref && format('origin/{0}', github.base_ref))": "HEAD",
            "inputs.fail-on": "error",
            "github.event.pull_request.number": "7",
            "github.action_path": str(ROOT),
        }

    def write(self, criteria: list[tuple[str, float]]) -> None:
        write_tasks(self.work / "rubrics/a.jsonl", ("flu", criteria))

    def run(self, name: str) -> subprocess.CompletedProcess[str]:
        """One step of the action as GitHub runs it."""
        (step,) = (step for step in load("action.yml")["runs"]["steps"] if step.get("name") == name)
        given = {key: self.fill(value) for key, value in step.get("env", {}).items()}
        output, summary = self.temp / "output", self.temp / "summary"
        environment = {
            **os.environ,
            "PATH": f"{self.gh}:{os.environ['PATH']}",
            "FAKE_GH": str(self.gh),
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_REPOSITORY": "some/rubrics",
            **given,
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(command, cwd=self.work, env=environment, capture_output=True, text=True, check=False)
        if output.exists():
            self.values["steps.check.outputs.code"] = output.read_text().strip().removeprefix("code=")
        return done

    def fill(self, text: str) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: self.values.get(found[1], ""), text)

    @property
    def calls(self) -> list[str]:
        return (self.gh / "calls").read_text().splitlines()


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_the_action_annotates_summarizes_and_fails_on_a_new_error(runner: Runner) -> None:
    runner.write(UNCLEAR)
    done = runner.run("Check the files")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "::error file=rubrics/a.jsonl,line=1,title=prorubric%3A unjudgeable::flu: criterion 4"
    )
    assert (runner.temp / "summary").read_text().startswith(MARKER)
    assert runner.run("Pass or fail").returncode == 1


def test_the_action_passes_if_nothing_is_new(runner: Runner) -> None:
    assert runner.run("Check the files").returncode == 0
    assert runner.run("Pass or fail").returncode == 0


def test_an_input_of_the_action_is_never_run(runner: Runner) -> None:
    runner.values["inputs.files"] = '$(touch hacked)\n"; touch hacked; "'
    done = runner.run("Check the files")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert not (runner.work / "hacked").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [("inputs.fail-on", "--fail-on"), ("inputs.max-rise", "--max-rise"), ("inputs.answers", "--json: no such file")],
)
def test_an_input_that_looks_like_an_option_is_a_value(name: str, message: str, runner: Runner) -> None:
    runner.values[name] = "--json"
    done = runner.run("Check the files")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_a_module_of_the_pull_request_is_not_run_when_the_package_is_installed(runner: Runner) -> None:
    (runner.work / "venv.py").write_text("open('hacked', 'w')")
    python = runner.gh / "python"
    python.write_text(f'#!/usr/bin/env bash\nexec "{sys.executable}" "$@" --help\n')  # makes no environment
    python.chmod(0o755)
    assert "usage: venv" in runner.run("Install ProRubric").stdout
    assert not (runner.work / "hacked").exists()


def test_the_action_writes_one_comment_and_replaces_it_later(runner: Runner) -> None:
    runner.run("Check the files")
    assert runner.run("Comment on the pull request").returncode == 0
    (runner.gh / "ids").write_text("41\n42\n")
    assert runner.run("Comment on the pull request").returncode == 0
    body = f"--field body=@{runner.temp}/prorubric-comment.md --silent"
    _, written, _, replaced = runner.calls
    assert written == f"api --method POST repos/some/rubrics/issues/7/comments {body}"
    assert replaced == f"api --method PATCH repos/some/rubrics/issues/comments/41 {body}"
    assert f'startswith("{MARKER}")' in runner.calls[0]


def test_a_token_that_may_not_comment_is_a_notice(runner: Runner) -> None:
    runner.run("Check the files")
    (runner.gh / "forbidden").touch()
    done = runner.run("Comment on the pull request")
    assert done.returncode == 0
    assert done.stdout.startswith("::notice title=prorubric::The comment could not be written; ")


def test_every_input_of_the_action_is_used_and_none_is_part_of_a_script() -> None:
    text, action = (ROOT / "action.yml").read_text(), load("action.yml")
    assert [name for name in action["inputs"] if not re.search(rf"inputs\.{name}\b", text)] == []
    assert [step for step in action["runs"]["steps"] if "${{" in step.get("run", "")] == []
    assert all(step["shell"] == "bash" for step in action["runs"]["steps"] if "run" in step)


@pytest.mark.extended
def test_the_action_installs_the_package_from_its_own_folder(runner: Runner) -> None:
    shutil.rmtree(runner.temp / "prorubric")
    assert runner.run("Install ProRubric").returncode == 0
    runner.write(UNCLEAR)
    runner.run("Check the files")
    assert runner.run("Pass or fail").returncode == 1


def test_the_workflow_runs_targets_of_the_makefile_and_this_action() -> None:
    steps = [step for job in load(".github/workflows/ci.yml")["jobs"].values() for step in job["steps"]]
    targets = {step["run"].split()[1] for step in steps if "run" in step}
    assert targets == {"check", "docs", "test", "test-all", "dist"}
    makefile = (ROOT / "Makefile").read_text()
    assert [name for name in targets if not re.search(rf"^{name}\b.*:", makefile, re.MULTILINE)] == []
    (given,) = (step["with"] for step in steps if step.get("uses") == "./")
    assert given.keys() <= load("action.yml")["inputs"].keys()
    assert all((ROOT / path).is_file() for path in given.values())


@pytest.mark.parametrize(
    ("path", "is_rubric"),
    [
        ("rubrics/a.jsonl", True),
        ("data/rubric/medicine/b.yaml", True),
        ("rubrics/readme.md", False),
        ("answers/a.jsonl", False),
        ("myrubrics/a.jsonl", False),
    ],
)
def test_the_hook_looks_at_files_in_folders_of_rubrics(path: str, is_rubric: bool) -> None:
    (hook,) = load(".pre-commit-hooks.yaml")
    assert bool(re.search(hook["files"], path)) is is_rubric


@pytest.mark.extended
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="pre-commit clones the project")
def test_pre_commit_runs_the_hook_on_what_is_committed(runner: Runner, tmp_path: Path) -> None:
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "cache")}
    hook = {"id": "prorubric-check", "args": ["--base", "HEAD"]}
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    config = {"repos": [{"repo": str(ROOT), "rev": commit.stdout.strip(), "hooks": [hook]}]}
    (runner.work / ".pre-commit-config.yaml").write_text(json.dumps(config))

    def try_hook(criteria: list[tuple[str, float]]) -> subprocess.CompletedProcess[str]:
        runner.write(criteria)
        subprocess.run(["git", "add", "."], cwd=runner.work, check=True)
        command = [UVX, "pre-commit", "run"]
        return subprocess.run(command, cwd=runner.work, env=environment, capture_output=True, text=True, check=False)

    failed = try_hook(UNCLEAR)
    assert failed.returncode == 1, failed.stderr
    assert "new error unjudgeable  flu: criterion 4 (+1, 'Clarity') cannot be judged" in failed.stdout
    passed = try_hook([*CLEAN, ("Asks since when", 1.0)])
    assert (passed.returncode, passed.stdout.count("Passed")) == (0, 1)
