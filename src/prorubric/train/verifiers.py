"""verifiers: a taskset whose rows carry their own rubrics, for `vf-eval` and trainers that use tasksets (prime-rl).

A taskset is a module of yours that exports this class:

    from prorubric.train.verifiers import RubricTaskset

    __all__ = ["RubricTaskset"]

and is run as `vf-eval your_module --env.taskset.tasks tasks.jsonl --env.taskset.task.judge M`. An unknown reward
raises: the trace then has an error and no reward. The parts of a reward are in `trace.info["reward"]`.
"""

from collections.abc import Iterator
from dataclasses import fields
from itertools import takewhile
from pathlib import Path
from typing import Any

from pydantic import Field

from prorubric.datasets.load import load_tasks
from prorubric.datasets.sources import Format
from prorubric.errors import ConfigError
from prorubric.reward.reward import RewardConfig, RubricReward, make_reward
from prorubric.rubric.forms import render_task
from prorubric.rubric.records import Task
from prorubric.train.adapter import list_shadows, load_trainer, require_value

# A base class is needed when its subclass is defined, so importing this module requires verifiers.
vf: Any = load_trainer("verifiers.v1", "the taskset for verifiers", "verifiers")

_SYSTEM_ROLES = ("system", "developer")


class OverlongConfig(vf.BaseConfig):  # type: ignore[misc] # verifiers is not installed where types are checked
    """What length costs, in tokens as the endpoint counts them."""

    limit: int
    buffer: int
    factor: float = 0.5


class RubricTaskConfig(vf.TaskConfig):  # type: ignore[misc]
    """The options of `RewardConfig`, as `--env.taskset.task.*`."""

    judge: str = ""
    scheme: str = RewardConfig.scheme
    overlong: OverlongConfig | None = None
    validation: bool = False
    """Leave out overlong shaping."""
    shadow: list[str] = Field(default_factory=list)
    """Schemes to watch; their scores become metrics `shadow/NAME`."""
    shadow_every: int = RewardConfig.shadow_every
    journal: Path | None = None
    max_unknown: float = RewardConfig.max_unknown
    min_batch: int = RewardConfig.min_batch
    judging: dict[str, Any] = Field(default_factory=dict)
    http: dict[str, Any] = Field(default_factory=dict)

    def make_reward(self) -> RubricReward:
        """The reward of these options, one per process."""
        if not self.judge:
            remedy = "give one with --env.taskset.task.judge, such as http://host:port/v1#name"
            raise ConfigError("no judge is named", remedy=remedy)
        options = self.model_dump(include={option.name for option in fields(RewardConfig)})
        return make_reward(RewardConfig(**options))


class RubricTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """The tasks to load, as `--env.taskset.*`."""

    tasks: str = ""
    format: Format = "auto"
    task: RubricTaskConfig = RubricTaskConfig()


class RubricData(vf.TaskData):  # type: ignore[misc]
    """A row: the prompt, and the task with its rubric, which is not shown to the policy."""

    row: dict[str, Any]


class RubricTask(vf.Task[RubricData, vf.State, RubricTaskConfig]):  # type: ignore[misc]
    """A task that is rewarded by its own rubric."""

    @vf.reward  # type: ignore[untyped-decorator]
    async def rubric(self, trace: Any) -> float:
        """The reward of the policy's last reply, or of all turns (`judging.view`); raises if it is unknown."""
        # To the letter: `trace.last_reply` would strip white space.
        messages = trace.assistant_messages
        last = (messages[-1].content or "") if messages else ""
        text = last if trace.root_reply is None else str(trace.root_reply)
        response: Any = text
        if self.config.judging.get("view") == "full":
            messages = [message.model_dump() for message in trace.messages]
            asked = self.data.row["messages"][-1]["content"]
            start = next((place for place, one in enumerate(messages, 1) if one["content"] == asked), 0)
            response = messages[start:]  # what follows the prompt, which a harness may have changed before its end
            if text != last:  # an agent's own reply, which is not its last message
                response.append({"role": "assistant", "content": text})
        tokens = None if trace.usage is None else trace.usage.completion_tokens  # as the policy's endpoint counts them
        reward = self.config.make_reward()
        found = await reward.reward(self.data.row, response, tokens=tokens, validation=self.config.validation)
        trace.info["reward"] = found.parts.model_dump(mode="json")
        trace.record_metrics(list_shadows(found))
        return require_value(found)


class RubricTaskset(vf.Taskset[RubricTask, RubricTasksetConfig]):  # type: ignore[misc]
    """Tasks of a file, each with its own rubric."""

    def load(self) -> Iterator[RubricTask]:
        """Every task of the file; one that does not fit the scheme is refused before anything is generated."""
        if not self.config.tasks:
            raise ConfigError("no tasks are named; give a file with --env.taskset.tasks")
        reward = self.config.task.make_reward()
        for task in load_tasks(self.config.tasks, self.config.format, strict=True):
            reward.find_task(task)
            yield RubricTask(_make_data(task), self.config.task)


def _make_data(task: Task) -> RubricData:
    """A row. Instructions at the start of the conversation are separate, because harnesses place them differently."""
    system = list(takewhile(lambda message: message.role in _SYSTEM_ROLES, task.messages))
    turns = task.messages[len(system) :]
    prompt: str | list[dict[str, str]]
    if len(turns) == 1 and turns[0].role == "user":
        prompt = turns[0].content
    elif any(message.role == "tool" for message in turns):
        raise ConfigError(f"task {task.id!r}: a tool message needs the call it answers; leave the task out")
    else:
        roles = ["system" if message.role in _SYSTEM_ROLES else message.role for message in turns]
        prompt = [{"role": role, "content": turn.content} for role, turn in zip(roles, turns, strict=True)]
    return RubricData(
        id=task.id,
        prompt=prompt,
        system_prompt="\n\n".join(message.content for message in system) or None,
        row=render_task(task),
    )
