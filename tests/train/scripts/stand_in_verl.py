"""In verl's place: prepares the files of a run, and writes the dumps of its validations without training."""

import json
import sys
import time
from pathlib import Path

from prorubric.train.run_folder import RunFolder
from prorubric.train.verl_files import write_inputs


def main() -> int:
    module, *arguments = sys.argv[2:]
    if module == "prorubric.train.verl_files":
        folder = Path(arguments[0])
        write_inputs(RunFolder(folder).load_run(), folder)
        return 0
    options = dict(argument.split("=", 1) for argument in arguments)
    dumps = Path(options["trainer.validation_data_dir"].strip("'"))
    folder = RunFolder(dumps.parent)
    run, script = folder.load_run(), json.loads((folder.path.parent / "script.json").read_text())
    with (folder.path.parent / "starts.txt").open("a") as starts:
        starts.write(f"{run.name}\n")
    dumps.mkdir(exist_ok=True)
    names = [json.loads(line)["id"] for line in folder.held_out.read_text().splitlines()]
    for step in range(run.settings.rollouts + 1):
        text = script["answers"][min(step, len(script["answers"]) - 1)]
        rows = [{"gts": name, "output": f"{text} {step}", "tokens": 7, "score": float("nan")} for name in names]
        (dumps / f"{step}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        time.sleep(script.get("seconds", 0.0))
    return 0


if __name__ == "__main__":
    sys.exit(main())
