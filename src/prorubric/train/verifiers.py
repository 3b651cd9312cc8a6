"""verifiers: a taskset whose rows carry their own rubrics, for `vf-eval` and for what trains with it (prime-rl).

A taskset is a module of yours that exports this class:

    from prorubric.train.verifiers import RubricTaskset

    __all__ = ["RubricTaskset"]

and is run as `vf-eval your_module --env.taskset.tasks tasks.jsonl --env.taskset.task.judge M`. Weights may be negative,
dimensions come along. An unknown reward raises: the trace then has an error and no reward, verifiers counts it as
failed, and a retry rule of yours may run it again. The parts of a reward are in `trace.info["reward"]`.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import Field

from prorubric.datasets.load import load_tasks
from prorubric.datasets.sources import Format
from prorubric.errors import ConfigError, MissingExtraError
from prorubric.judge.judge import JudgeConfig
from prorubric.llm.http import HttpConfig
from prorubric.reward.reward import Overlong, RewardConfig, RubricReward, make_reward
from prorubric.rubric.forms import render_task
from prorubric.rubric.records import Message, Task
from prorubric.train.known import require_value


def _load(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError.of("the taskset for verifiers", "verifiers") from None


# A subclass needs its base when it is defined; whoever imports this module wants verifiers.
vf: Any = _load("verifiers.v1")


class OverlongConfig(vf.BaseConfig):  # type: ignore[misc] # there is no verifiers where types are checked
    """What length costs, in tokens as the endpoint counts them."""

    limit: int
    buffer: int
    factor: float = 0.5


class RubricTaskConfig(vf.TaskConfig):  # type: ignore[misc]
    """How rewards are made: `--env.taskset.task.*`, the options of `RewardConfig`."""

    judge: str = ""
    """The judge: http://host:port/v1#name, gguf:PATH, smollm2, lexical, scripted:FILE, pkg.module:object."""
    scheme: str = "prorubric"
    """The scheme that turns verdicts into the score."""
    overlong: OverlongConfig | None = None
    """What length costs; nothing by default."""
    validation: bool = False
    """Leave out overlong shaping."""
    shadow: list[str] = Field(default_factory=list)
    """Schemes to watch; their scores become metrics `shadow/NAME`."""
    shadow_every: int = 1
    """Shadows that need calls of their own are judged for every n-th response only."""
    journal: Path | None = None
    """Replies of the judge are kept here and never asked for twice."""
    max_unknown: float = 0.2
    """A larger share of unknown rewards makes every further one fail."""
    min_batch: int = RewardConfig.min_batch
    """The breaker looks at no fewer rewards than these."""
    judging: dict[str, Any] = Field(default_factory=dict)
    """Options of `JudgeConfig`."""
    http: dict[str, Any] = Field(default_factory=dict)
    """Options of `HttpConfig`."""

    def make_reward(self) -> RubricReward:
        """The reward of these options, one a process."""
        if not self.judge:
            raise ConfigError(
                "no judge is named; give one with --env.taskset.task.judge, such as http://host:port/v1#name"
            )
        return make_reward(
            RewardConfig(
                judge=self.judge,
                scheme=self.scheme,
                overlong=Overlong(**self.overlong.model_dump()) if self.overlong else None,
                shadow=tuple(self.shadow),
                shadow_every=self.shadow_every,
                journal=self.journal,
                max_unknown=self.max_unknown,
                min_batch=self.min_batch,
                judging=JudgeConfig(**self.judging),
                http=HttpConfig(**self.http),
            )
        )


class RubricTasksetConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which tasks are loaded: `--env.taskset.*`."""

    tasks: str = ""
    """The file of tasks, or a Hugging Face dataset by its id."""
    format: Format = "auto"
    """The form of the tasks."""
    task: RubricTaskConfig = RubricTaskConfig()


class RubricData(vf.TaskData):  # type: ignore[misc]
    """A row: what the policy is asked, and the task with its rubric."""

    row: dict[str, Any]
    """The task in our own form; it is not shown to the policy."""


class RubricTask(vf.Task[RubricData, vf.State, RubricTaskConfig]):  # type: ignore[misc]
    """A task that is rewarded by its own rubric."""

    @vf.reward  # type: ignore[untyped-decorator]
    async def rubric(self, trace: Any) -> float:
        """The reward of what the policy said last; raises where it is unknown."""
        config = self.config
        found = await config.make_reward().reward(
            self.data.row, _read_reply(trace), tokens=_count_tokens(trace), validation=config.validation
        )
        trace.info["reward"] = found.parts.model_dump(mode="json")
        shadows = {f"shadow/{name}": value for name, value in found.parts.shadow.items() if value is not None}
        trace.record_metrics(shadows)
        return require_value(found)


class RubricTaskset(vf.Taskset[RubricTask, RubricTasksetConfig]):  # type: ignore[misc]
    """Tasks of a file, each with its own rubric."""

    def load(self) -> Iterator[RubricTask]:
        """Every task of the file; one that the scheme does not fit is refused before anything is generated."""
        if not self.config.tasks:
            raise ConfigError("no tasks are named; give a file with --env.taskset.tasks")
        reward = self.config.task.make_reward()
        for task in load_tasks(self.config.tasks, self.config.format, strict=True):
            reward.find_task(task)
            yield RubricTask(_make_data(task), self.config.task)


def _make_data(task: Task) -> RubricData:
    """The instructions that a conversation begins with apart from the rest: harnesses place them differently."""
    count = next((at for at, message in enumerate(task.messages) if not _is_system(message)), len(task.messages))
    system, turns = task.messages[:count], task.messages[count:]
    return RubricData(
        id=task.id,
        prompt=_render_turns(task.id, turns),
        system_prompt="\n\n".join(message.content for message in system) or None,
        row=render_task(task),
    )


def _render_turns(task_id: str, turns: Sequence[Message]) -> str | list[dict[str, str]]:
    if len(turns) == 1 and turns[0].role == "user":
        return turns[0].content
    if any(message.role == "tool" for message in turns):
        raise ConfigError(f"task {task_id!r}: a tool's message needs the call that it answers; leave the task out")
    return [
        {"role": "system" if _is_system(message) else message.role, "content": message.content} for message in turns
    ]


def _is_system(message: Message) -> bool:
    return message.role in ("system", "developer")


def _read_reply(trace: Any) -> str:
    """What the policy said last, to the letter: `trace.last_reply` would strip it."""
    if trace.root_reply is not None:
        return str(trace.root_reply)
    replies = trace.assistant_messages
    return (replies[-1].content or "") if replies else ""


def _count_tokens(trace: Any) -> int | None:
    """The tokens that the policy wrote, as its endpoint counts them; None where it does not."""
    return trace.usage.completion_tokens if trace.usage is not None else None
