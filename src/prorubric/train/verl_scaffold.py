"""An agent loop for verl that shows scaffolds: verl's own loop for one turn, with another prompt.

verl makes one for every rollout and tells it the task, the step and which rollout of the group it is. A row names this
loop in its column `agent_name`; rows to validate on name none, so validation has no scaffold. verl is imported when it
calls, and the responses are rewarded as answers to the original prompt.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from prorubric.datasets.sources.verl import parse_extra_info
from prorubric.train.run_folder import RunFolder
from prorubric.train.scaffold import Scaffold, scaffold_counts, scaffold_prompt
from prorubric.train.verl import SCAFFOLD


class ScaffoldLoop:
    """What verl calls for one rollout."""

    def __init__(self, folder: str, **given: Any) -> None:
        single = import_module("verl.experimental.agent_loop.single_turn_agent_loop").SingleTurnAgentLoop
        self._loop, self._run = single(**given), RunFolder(Path(folder)).load_run()

    async def run(self, sampling_params: dict[str, Any], **columns: Any) -> Any:
        """Answer the scaffolded prompt; the ids that are trained on are those of `train_on`."""
        settings, original = self._run.settings, list(columns["raw_prompt"])
        scaffold, task = settings.scaffold or Scaffold(), parse_extra_info(columns["extra_info"])
        rollout = int(columns["session_id"])
        place = {"step": int(columns["global_steps"]), "steps": settings.rollouts, "responses": settings.responses}
        shown = scaffold_prompt(task, scaffold, seed=self._run.seed, rollout=rollout, **place)
        output = await self._loop.run(sampling_params, **{**columns, "raw_prompt": shown})
        counts = scaffold_counts(len(task.rubric.criteria), **place, scaffold=scaffold)
        output.extra_fields[SCAFFOLD] = counts[rollout]
        if scaffold.train_on == "original":
            output.prompt_ids = await self._loop.ct_build_initial_tokens(original)
            # Both belong to the prompt that was shown.
            output.response_logprobs = output.routed_experts = None
        return output
