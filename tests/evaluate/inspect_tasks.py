"""Run tasks of Inspect by their names, and say in one line of JSON what their logs hold.

Usage: inspect_tasks.py DATA JUDGE LOGS
"""

import json
import sys
from typing import Any

from inspect_ai import eval as run_task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai._util.registry import registry_lookup
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from prorubric.evaluate.benchmarks.registry import BENCHMARKS
from tests.evaluate.inspect_reading import read_log

data, judge, logs = sys.argv[1:]
settings: list[list[Any]] = []


def answer(messages: list[Any], _tools: Any, _choice: Any, config: Any) -> ModelOutput:
    """Case 2 gets no letter, and what is said about remedy 3 is cut off."""
    text = "I did it." if "case 2" in messages[-1].text else "I did it. Answer: C"
    reason = "max_tokens" if "remedy 3" in messages[-1].text else "stop"
    settings.append([config.temperature, config.top_p, config.top_k, config.max_tokens])
    output = ModelOutput.from_content("mockllm/model", text, reason)
    output.usage = ModelUsage(input_tokens=1, output_tokens=7, total_tokens=8)  # otherwise Inspect loads a tokenizer
    return output


found: dict[str, Any] = {"tasks": [name for name in BENCHMARKS if registry_lookup("task", f"prorubric/{name}")]}
found["refused"] = []
for place in (data, f"{data}/none"):
    try:
        run_task("prorubric/healthbench", model="mockllm/model", task_args={"data_dir": place}, log_dir=logs)
    except PrerequisiteError as error:
        found["refused"].append(error.message)
for name in (
    *("medqa", "gpqa-diamond", "healthbench", "healthbench-consensus", "healthbench-hard"),
    *("arena-hard-v2", "writingbench"),
):
    model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
    args = {"data_dir": data} if name in ("medqa", "gpqa-diamond") else {"data_dir": data, "judge": judge}
    [log] = run_task(f"prorubric/{name}", model=model, task_args=args, log_dir=logs, display="none")
    found[name] = {**read_log(log.location), "settings": settings[-1]}
sys.stdout.write(json.dumps(found))
