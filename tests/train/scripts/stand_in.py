"""In a trainer's place: writes the files of a run without training, as `script.json` beside the run folder tells.

What a supervisor does is tested with it; the trainers themselves have tests of their own.
"""

import json
import sys
import time
from pathlib import Path

from prorubric import Response, save_responses
from prorubric.datasets.load import load_tasks
from prorubric.train.run_folder import RunFolder, read_state
from prorubric.train.supervise import end_with_parent


def main() -> int:
    folder = RunFolder(Path(sys.argv[-1]))
    end_with_parent()
    script = json.loads((folder.path.parent / "script.json").read_text())
    run = folder.load_run()
    with (folder.path.parent / "starts.txt").open("a") as starts:
        starts.write(f"{run.name}\n")
    first = read_state(folder.path).step
    for step in range(first, run.settings.rollouts + 1):
        if step == script.get("fail_at"):
            folder.save_state("failed", step, "the judge is gone")
            return 2
        if step == script.get("stop_at"):
            folder.save_state("stopped", step, "asked to stop")
            return 0
        if step == script.get("crash_at"):
            sys.stdout.write("Segmentation fault, says the trainer\n")
            return 3
        folder.save_state("running", step)
        path = folder.name_answers(step)
        is_due = run.validate_every is not None and step % run.validate_every == 0
        if folder.held_out.exists() and not path.exists() and is_due:
            text = script["answers"][min(step, len(script["answers"]) - 1)]
            tasks = load_tasks(str(folder.held_out))
            save_responses(path, [Response(task_id=task.id, text=f"{text} {step}", tokens=7) for task in tasks])
        time.sleep(script.get("seconds", 0.0))
        if script.get("waits_for_judge"):  # a training that is slow enough for each validation to be judged in time
            summary = path.with_name("summary.json")
            while path.exists() and not summary.exists():
                time.sleep(0.02)
            time.sleep(0.8)
        if reason := folder.read_stop():
            folder.save_state("stopped", step, reason)
            return 0
    if script.get("checkpoint"):
        path = folder.checkpoints / f"checkpoint-{run.settings.rollouts}"
        path.mkdir(parents=True)
        folder.seal_checkpoint(path, run.settings.rollouts, "all")
    folder.save_state("done", run.settings.rollouts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
