"""Evaluate a file of answers with `--inspect-log`, and say in one line of JSON what was scored and what the logs hold.

Usage: inspect_logs.py DATA JUDGE ANSWERS FOLDER
"""

import json
import sys
from pathlib import Path

from inspect_ai.log import list_eval_logs, read_eval_log

from prorubric.evaluate.records import Policy
from prorubric.verbs.evaluate import SCORES, EvaluateConfig, evaluate_policies
from tests.evaluate.inspect_reading import read_log

data, judge, answers, folder = sys.argv[1:]
config = EvaluateConfig(
    ("healthbench", "medqa"),
    policy=(Policy("my policy", answers),),
    judge=judge,
    data_dir=Path(data),
    out=Path(folder),
    resamples=10,
    inspect_log=True,
)
result = evaluate_policies(config)
rows = [json.loads(line) for line in (config.out / SCORES).read_text().splitlines()]
listed = sorted(Path(info.name.removeprefix("file://")).name for info in list_eval_logs(str(config.out / "inspect")))
logs = {
    Path(path).name: {**read_log(path), "text": read_eval_log(path).model_dump_json()} for path in result.inspect_logs
}
sys.stdout.write(json.dumps({"scores": rows, "listed": listed, "logs": logs}))
