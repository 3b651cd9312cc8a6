"""SkyRL: an environment for `skyrl_gym`, registered together with its reward.

    from prorubric import RewardConfig
    from prorubric.train.skyrl import register_env

    register_env(RewardConfig(judge="http://localhost:8000/v1#Qwen3-32B", tasks="tasks.jsonl"))

and `env_class: prorubric` in the data. A row names its task, or carries it, in the column of the config or in
`reward_spec.ground_truth`. An unknown reward raises, and the trainer stops. `fallback` is for runs that have to
continue; such episodes are counted in the metric `judge_failed`.

An episode has one turn. For tools or a dialogue, override `RubricEnv.observe`: it says what comes back for a turn, and
the episode is judged when it ends, by all its turns or the last (`judging.view`).
"""

from collections.abc import Mapping
from typing import Any

from prorubric.reward.reward import Reward, RewardConfig, make_reward
from prorubric.rubric.records import Task
from prorubric.train.adapter import list_metrics, list_shadows, load_trainer, require_no_overlong, require_value

_FEATURE = "the environment for SkyRL"
# A base class is needed when its subclass is defined, so importing this module requires skyrl-gym.
_BaseTextEnv: Any = load_trainer("skyrl_gym.envs.base_text_env", _FEATURE, "skyrl").BaseTextEnv


def register_env(
    config: RewardConfig,
    name: str = "prorubric",
    *,
    fallback: float | None = None,
    env: str = "prorubric.train.skyrl:RubricEnv",
) -> None:
    """Register the environment for `skyrl_gym.make`; call it in the process that runs SkyRL's generator.

    `env` names a subclass of yours, as `module:Class`.
    """
    require_no_overlong(config, "SkyRL", "use its own generator.apply_overlong_filtering if you need it")
    make_reward(config)  # a config that cannot be used is refused here, before anything is generated
    options = {"config": config, "fallback": fallback}
    gym = load_trainer("skyrl_gym", _FEATURE, "skyrl")
    gym.register(id=name, entry_point=env, kwargs=options)


class RubricEnv(_BaseTextEnv):  # type: ignore[misc] # SkyRL is not installed where types are checked
    """One prompt, one response or several turns, one reward."""

    def __init__(
        self,
        config: RewardConfig,
        fallback: float | None = None,
        env_config: Any = None,  # noqa: ARG002 - SkyRL passes it; ours comes from `register_env`
        extras: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self._reward = make_reward(config)
        self._fallback = fallback
        self._row = dict(extras or {})
        spec = self._row.get("reward_spec")
        if isinstance(spec, Mapping) and spec.get("ground_truth") is not None:
            self._row.setdefault("ground_truth", spec["ground_truth"])
        self.max_turns = int(self._row.get("max_turns") or 1)
        self._messages: list[dict[str, Any]] = []
        self._task: Task | None = None
        self._found: Reward | None = None

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """Return the prompt unchanged; a row without a task is refused before anything is generated."""
        self._task = self._reward.find_task({**self._row, "prompt": prompt})
        return prompt, {}

    def observe(self, action: str) -> list[dict[str, Any]]:  # noqa: ARG002 - for subclasses
        """The messages that answer a turn of the policy: results of tools, or a user's reply. None end the episode."""
        return []

    def step(self, action: str) -> dict[str, Any]:
        """Go on if there is something to observe; otherwise judge the episode, with the reward's parts as metadata."""
        self.turns += 1
        observed = self.observe(action) if self.turns < self.max_turns else []
        self._messages += [{"role": "assistant", "content": action}, *observed]
        if observed:
            return {"observations": observed, "reward": 0.0, "done": False, "metadata": {}}
        self._found = found = self._reward([self._task or self._row], [self._messages])[0]
        return {
            "observations": [],
            "reward": require_value(found, self._fallback),
            "done": True,
            "metadata": {"reward": found.parts.model_dump(mode="json")},
        }

    def get_metrics(self) -> dict[str, float]:
        """What SkyRL averages over episodes: failures of the judge, the bounds of the score, known shadows."""
        return {} if self._found is None else {**list_metrics(self._found), **list_shadows(self._found)}
