"""SkyRL: an environment of one turn for `skyrl_gym`, registered together with the reward that it gives.

    from prorubric import RewardConfig
    from prorubric.train.skyrl import register_env

    register_env(RewardConfig(judge="http://localhost:8000/v1#Qwen3-32B", tasks="tasks.jsonl"))

and `env_class: prorubric` in the data. A row names its task, or carries it, in the column of the config or in
`reward_spec.ground_truth`. SkyRL takes nothing but a number from `step`, so an unknown reward raises and the trainer
stops: it never sees a number that nobody gave. `fallback` is for runs that have to go on; such episodes are counted in
the metric `judge_failed`.
"""

import logging
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from prorubric.errors import ConfigError, MissingExtraError
from prorubric.reward.reward import Reward, RewardConfig, make_reward
from prorubric.rubric.records import Task
from prorubric.train.known import describe_unknown, require_value

_log = logging.getLogger(__name__)


def _load(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtraError.of("the environment for SkyRL", "skyrl") from None


# A subclass needs its base when it is defined; whoever imports this module wants SkyRL.
_BaseTextEnv: Any = _load("skyrl_gym.envs.base_text_env").BaseTextEnv


def register_env(config: RewardConfig, name: str = "prorubric", *, fallback: float | None = None) -> None:
    """Make the environment known to `skyrl_gym.make`; call it in the process that runs SkyRL's generator."""
    if config.overlong is not None:
        raise ConfigError(
            "SkyRL hands over text without a count of tokens; leave out overlong, or use SkyRL's own "
            "generator.apply_overlong_filtering"
        )
    make_reward(config)  # what is wrong with the config is said here, before anything is generated
    options = {"config": config, "fallback": fallback}
    _load("skyrl_gym").register(id=name, entry_point="prorubric.train.skyrl:RubricEnv", kwargs=options)


class RubricEnv(_BaseTextEnv):  # type: ignore[misc] # there is no SkyRL where types are checked
    """One prompt, one response, one reward."""

    def __init__(
        self,
        config: RewardConfig,
        fallback: float | None = None,
        env_config: Any = None,  # noqa: ARG002 - SkyRL gives it; ours came with `register_env`
        extras: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self._reward = make_reward(config)
        self._fallback = fallback
        self._row = _flatten(extras or {})
        self._task: Task | None = None
        self._found: Reward | None = None

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """The prompt as it is; a row that means no task is refused before anything is generated."""
        self._task = self._reward.find_task({**self._row, "prompt": prompt})
        return prompt, {}

    def step(self, action: str) -> dict[str, Any]:
        """Judge the response and end the episode; the parts of the reward are in the metadata."""
        task = self._task or self._reward.find_task(self._row)
        self._found = found = self._reward([task], [action])[0]
        return {
            "observations": [],
            "reward": self._choose_value(found),
            "done": True,
            "metadata": {"reward": found.parts.model_dump(mode="json")},
        }

    def get_metrics(self) -> dict[str, float]:
        """What SkyRL averages over episodes: failures of the judge, the reward's bounds, known shadows."""
        if self._found is None:
            return {}
        parts = self._found.parts
        shadows = {f"shadow/{name}": value for name, value in parts.shadow.items() if value is not None}
        return {"judge_failed": float(self._found.value is None), "low": parts.low, "high": parts.high, **shadows}

    def _choose_value(self, reward: Reward) -> float:
        if reward.value is None and self._fallback is not None:
            _log.warning("an episode gets %g instead of a reward: %s", self._fallback, describe_unknown(reward))
            return self._fallback
        return require_value(reward)


def _flatten(extras: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a row, with SkyRL's `reward_spec.ground_truth` where a ground truth is looked for."""
    spec = extras.get("reward_spec")
    truth = spec.get("ground_truth") if isinstance(spec, Mapping) else None
    return dict(extras) if truth is None else {"ground_truth": truth, **extras}
