"""One training in a separate process: started, followed, stopped and resumed from outside.

The supervisor never touches the trainer. It reads what the child writes into its folder (`steps.jsonl`, answers at
validations, `state.json`), judges the answers, and asks the child to stop with a file. A child whose parent is killed
notices the end of its standard input and ends as well.
"""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prorubric.errors import ConfigError, ProRubricError
from prorubric.files.write import write_json
from prorubric.reward.engine import stop_background
from prorubric.reward.monitor import StepRecord, load_steps
from prorubric.train.recipe import StopRule, TrainRun
from prorubric.train.run_folder import ANSWERS, STATE, STEPS, STOP, VALIDATION, State, read_state
from prorubric.train.validate import Validated, Validator, load_validated
from prorubric.train.verl_files import collect_answers

LOG = "log.txt"
_WATCHED = "PRORUBRIC_ENDS_WITH_STDIN"
_POLL_SECONDS = 0.3
_RETRY_SECONDS = 30.0
_PATIENCE_SECONDS = 10.0
"""How long a child that was ended may take to go."""


def end_with_parent() -> None:
    """In a child of a supervisor: end with it, however it ends. What is lost is made again by the next one."""
    if os.environ.get(_WATCHED):

        def wait() -> None:
            while os.read(sys.stdin.fileno(), 1):
                pass
            os._exit(1)

        threading.Thread(target=wait, daemon=True).start()


def find_fall(validations: Sequence[Validated], rule: StopRule) -> str:
    """Why a run has to stop: appropriateness stayed too far below step 0's. Empty if it need not."""
    curve = [(found.step, found.appropriateness) for found in validations if found.appropriateness is not None]
    if rule.fall is None or len(curve) <= rule.after or curve[0][0] != 0:
        return ""
    start = curve[0][1]
    last = curve[-rule.after :]
    if any(value >= start - rule.fall for _, value in last):
        return ""
    falls = ", ".join(f"{value:.3f} at step {step}" for step, value in last)
    return f"appropriateness fell from {start:.3f} to {falls}, by more than {rule.fall:g}"


@dataclass(slots=True)
class Supervisor:
    """Follows one run until its child has ended and its validations are judged."""

    run: TrainRun
    folder: Path
    command: Sequence[str]
    validator: Validator | None
    stop: StopRule | None
    tell: Callable[[Sequence[StepRecord], Sequence[Validated]], str]
    """Called after every look, with the steps and the validations so far; text that it returns stops the run."""
    is_interrupted: Callable[[], int]
    """How often the user asked to stop."""
    validations: dict[int, Validated] = field(default_factory=dict)
    late: dict[int, str] = field(default_factory=dict)
    """Validations whose judge failed, with the reason."""
    _pending: dict[int, "Future[Validated | None]"] = field(default_factory=dict)
    steps: list[StepRecord] = field(default_factory=list)
    _retry_at: float = 0.0
    _size: int = -1

    def follow(self) -> State:
        """Run the child to its end, unless the run has ended already, and judge what is not judged yet.

        Raises `ProRubricError` with the child's line if it failed.
        """
        code = 0
        with ThreadPoolExecutor(1) as judge:
            (self.folder / STOP).unlink(missing_ok=True)
            self._look(judge)
            state = read_state(self.folder)
            curve = [self.validations[step] for step in sorted(self.validations)]
            has_fallen = self.stop and find_fall(curve, self.stop)
            has_alarm = self.run.stop_on_alarm and self.steps and self.steps[-1].alarms
            # A rule that stopped the run would stop it again.
            if state.state != "done" and not (state.state == "stopped" and (has_fallen or has_alarm)):
                if reason := self._read_stop():  # such as a budget that other runs have used up
                    stopped = State(state="stopped", step=state.step, reason=reason)
                    write_json(self.folder / STATE, stopped.model_dump())
                else:
                    code = self._run_child(judge)
            self._retry_at = 0.0
            self._look(judge, ended=True)
            while self._pending:  # the last answers are judged after the child has ended
                if self.is_interrupted():
                    self._give_up()
                time.sleep(_POLL_SECONDS)
                self._collect()
        reason = self._read_stop()
        (self.folder / STOP).unlink(missing_ok=True)
        return self._finish(code, reason)

    def _read_stop(self) -> str:
        """Why the child was asked to stop; empty if it was not."""
        path = self.folder / STOP
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def _give_up(self) -> None:
        """Stop judging; the replies so far are in the journal, and the same command asks for the others."""
        for future in self._pending.values():
            future.cancel()
        self._pending.clear()
        stop_background()

    def _run_child(self, judge: ThreadPoolExecutor) -> int:
        if shutil.which(self.command[0]) is None:
            raise ConfigError(f"{self.command[0]}: no such program", remedy="python names the Python of the trainer")
        with (self.folder / LOG).open("ab") as log:
            if self.run.trainer == "verl":  # its rows, with the tokenizer of its environment
                prepare = [self.command[0], "-m", "prorubric.train.verl_files", str(self.folder)]
                if code := subprocess.run(prepare, stdout=log, stderr=log, check=False).returncode:  # noqa: S603 - ours
                    return code
            child = subprocess.Popen(  # noqa: S603 - the command is ours
                [*self.command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, _WATCHED: "1"},
            )
        with child:
            try:
                while child.poll() is None:
                    self._look(judge)
                    if self.is_interrupted() > 1:
                        _end(child, signal.SIGKILL)
                        self._give_up()
                        raise KeyboardInterrupt
                    if self.run.trainer == "verl" and (self.folder / STOP).exists():
                        _end(child, signal.SIGTERM)  # verl does not read the file; the last checkpoint is kept
                    time.sleep(_POLL_SECONDS)
            finally:
                if child.poll() is None:
                    _end(child, signal.SIGTERM)
        return child.returncode

    def _look(self, judge: ThreadPoolExecutor, *, ended: bool = False) -> None:
        """Judge new answers, and ask the child to stop if there is a reason."""
        self._collect()
        if self.run.trainer == "verl":
            collect_answers(self.run, self.folder, ended=ended)
        for folder in sorted((self.folder / VALIDATION).glob("step-*")):
            step = int(folder.name.partition("-")[2])
            is_due = step not in self.late or time.monotonic() >= self._retry_at
            if (
                self.validator
                and (folder / ANSWERS).is_file()
                and step not in self.validations | self._pending
                and is_due
            ):
                if found := load_validated(folder):
                    self.validations[step] = found
                else:
                    self._pending[step] = judge.submit(self.validator.judge_answers, folder, step)
        curve = [self.validations[step] for step in sorted(self.validations)]
        path = self.folder / STEPS
        if self.run.reward and path.is_file() and path.stat().st_size != self._size:
            self._size, self.steps = path.stat().st_size, load_steps(path)
        reason = self.tell(self.steps, curve)
        reason = reason or (find_fall(curve, self.stop) if self.stop else "")
        reason = reason or ("interrupted" if self.is_interrupted() else "")
        if reason and not (self.folder / STOP).exists():
            (self.folder / STOP).write_text(reason, encoding="utf-8")

    def _collect(self) -> None:
        for step, future in [*self._pending.items()]:
            if not future.done():
                continue
            del self._pending[step]
            try:
                found = future.result()
            except ProRubricError as error:
                self.late[step], self._retry_at = str(error), time.monotonic() + _RETRY_SECONDS
                continue
            self.late.pop(step, None)
            if found is not None:
                self.validations[step] = found

    def _finish(self, code: int, stopped: str) -> State:
        if self.run.trainer == "verl" and (code == 0 or stopped) and read_state(self.folder).state != "done":
            step = self.steps[-1].step if self.steps else 0
            told = State(state="stopped" if stopped else "done", step=step, reason=stopped)
            write_json(self.folder / STATE, told.model_dump())
            return told
        state = read_state(self.folder)
        if code == 0 and state.state in ("done", "stopped"):
            return state
        reason = state.reason
        if state.state != "failed":  # the child did not say why it ended: the last line of its output may
            how = f"exit code {code}" if code else "its work unfinished"
            how = f"signal {signal.Signals(-code).name}" if code < 0 else how
            lines = (self.folder / LOG).read_text(encoding="utf-8", errors="replace").splitlines()
            last = next((line.strip() for line in reversed(lines) if line.strip()), "no output")
            reason = f"the trainer ended with {how} ({last[:200]}); see {self.folder / LOG}"
        write_json(self.folder / STATE, {**state.model_dump(), "state": "failed", "reason": reason})
        raise ProRubricError(reason, place=f"run {self.run.name}")


def _end(child: "subprocess.Popen[Any]", number: signal.Signals) -> None:
    """End the child and the processes that it started."""
    try:
        os.killpg(child.pid, number)
        child.wait(_PATIENCE_SECONDS)
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
