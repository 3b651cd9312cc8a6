"""The files of a run that verl reads and writes: rows in their order, agent loops, and the answers of a validation.

`python -m prorubric.train.verl_files FOLDER`, in verl's environment, prepares a folder for the command of its run, anew
or to be resumed. It ends with 2 and one line if the run is refused. Only its check of lengths needs a tokenizer, and
nothing here needs verl.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pyarrow as pa

from prorubric.datasets.carry import MESSAGES_TYPE
from prorubric.datasets.load import load_responses, load_tasks
from prorubric.datasets.sources import verl
from prorubric.errors import ConfigError, ProRubricError, SourceError
from prorubric.files.write import open_rows, write_json
from prorubric.rubric.records import Response, Task
from prorubric.rubric.save import save_responses
from prorubric.text.show import count
from prorubric.train.adapter import load_trainer
from prorubric.train.recipe import TrainRun
from prorubric.train.run_folder import RunFolder
from prorubric.train.scaffold import scaffold_prompt
from prorubric.train.verl_settings import AGENT_LOOPS, CHECKPOINTS, DUMPS, HELD_OUT, ROWS, check_run

SCAFFOLD_LOOP = "prorubric_scaffold"
"""The agent loop that rows of a training with scaffolds name. Rows to validate on name none."""

_EXTRA = pa.struct([*verl.SCHEMA.field("extra_info").type, ("split", pa.string()), ("index", pa.int64())])
_SCHEMA = verl.SCHEMA.set(verl.SCHEMA.get_field_index("extra_info"), pa.field("extra_info", _EXTRA))
_SCAFFOLDED = _SCHEMA.append(pa.field("agent_name", pa.string()))
_ANSWERS = pa.schema({"messages": MESSAGES_TYPE})


def prepare_verl(folder: Path) -> None:
    """Write what verl reads, refuse long prompts, and remove the records of rollouts that verl will make again."""
    run = RunFolder(folder).load_run()
    write_inputs(run, folder)
    if run.settings.kind == "grpo":
        check_lengths(run, folder, load_trainer("transformers", "verl", "trl").AutoTokenizer.from_pretrained(run.model))
    cut_back(folder)


def cut_back(folder: Path) -> int:
    """Remove what was recorded after verl's newest checkpoint, whose rollout is given; 0 if there is none."""
    newest = folder / CHECKPOINTS / "latest_checkpointed_iteration.txt"
    last = int(newest.read_text()) if newest.exists() else 0
    RunFolder(folder).cut_records(last)
    return last


def write_inputs(run: TrainRun, folder: Path) -> None:
    """Write what the command of a run reads, from `rows.jsonl` and the tasks next to the folder."""
    check_run(run)
    tasks = {task.id: task for task in load_tasks(folder.parent / "tasks.jsonl", strict=True)}
    if run.settings.kind == "sft":
        _write_answers(run, folder, tasks)
        return
    scaffold = run.settings.scaffold
    agent = {} if scaffold is None else {"agent_name": SCAFFOLD_LOOP}
    rows = (tasks[name] for name in RunFolder(folder).load_rows())
    _write_prompts(folder / ROWS, rows, "train", agent)
    if run.validate is not None:
        _write_prompts(folder / HELD_OUT, load_tasks(folder.parent / "held-out.jsonl", strict=True), "test", {})
    if scaffold is not None:
        loop = {"_target_": "prorubric.train.verl_scaffold.ScaffoldLoop", "folder": str(folder.absolute())}
        write_json(folder / AGENT_LOOPS, [{"name": SCAFFOLD_LOOP, **loop}])  # YAML reads JSON


def _write_prompts(path: Path, tasks: Iterable[Task], split: str, more: Mapping[str, str]) -> None:
    with open_rows(path, _SCAFFOLDED if more else _SCHEMA) as write:
        for index, task in enumerate(tasks):
            row: dict[str, Any] = verl.render(task)
            write({**row, **more, "extra_info": {**row["extra_info"], "split": split, "index": index}})


def _write_answers(run: TrainRun, folder: Path, tasks: Mapping[str, Task]) -> None:
    """Conversations that end with the answer to learn, in an order that depends on the seed.

    verl shuffles them again in every epoch, in the same way for all seeds.
    """
    data = run.settings.sft and run.settings.sft.data
    if not data:
        raise ConfigError(f"{run.name}: sft.data is missing", remedy="name a file of responses, such as best.jsonl")
    answers = [answer for answer in load_responses(data, strict=True) if answer.task_id in tasks]
    if not answers:
        raise SourceError(f"{data}: no answer belongs to any of the tasks; check that the ids are the same")
    answers.sort(key=lambda it: hashlib.sha256(f"{run.seed}/{it.task_id}/{it.sample}".encode()).digest())
    with open_rows(folder / ROWS, _ANSWERS) as write:
        for answer in answers:
            prompt = [message.model_dump() for message in tasks[answer.task_id].messages]
            write({"messages": [*prompt, {"role": "assistant", "content": answer.text}]})


def check_lengths(run: TrainRun, folder: Path, tokenizer: Any) -> None:
    """Refuse prompts above the limit, each with all of its scaffold: verl would cut off their beginning."""
    settings, limit, long = run.settings, run.settings.prompt_limit, []
    used, held_out = {*RunFolder(folder).load_rows()}, folder.parent / "held-out.jsonl"
    trained = (task for task in load_tasks(folder.parent / "tasks.jsonl", strict=True) if task.id in used)
    validated = load_tasks(held_out, strict=True) if run.validate is not None else ()
    place = {"step": 1, "steps": settings.rollouts, "rollout": 0, "responses": settings.responses}
    for task, scaffold in chain(zip(trained, repeat(settings.scaffold)), zip(validated, repeat(None))):
        messages = [message.model_dump() for message in task.messages]
        if scaffold is not None:
            messages = scaffold_prompt(task, scaffold, seed=run.seed, **place)
        text = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False, enable_thinking=False
        )
        tokens = len(tokenizer(text, add_special_tokens=False)["input_ids"])
        if tokens > limit:
            long.append(f"{task.id} with {tokens:,}")
    if long:
        line = f"{count(len(long), 'prompt')} of more than {limit:,} tokens, the first is {long[0]}"
        raise ConfigError(line, remedy="leave these tasks out, or raise prompt_limit", place=run.name)


def collect_answers(run: TrainRun, folder: Path, *, ended: bool = False) -> list[int]:
    """Make `validation/step-NNNN/answers.jsonl` of verl's own files; gives the rollouts of those that are new.

    A file that verl may still be writing is left for later, unless the run has ended. What verl writes when it
    resumes in between two validations is left out.
    """
    every = run.validate_every
    if every is None:
        return []
    new: list[int] = []
    order = [task.id for task in load_tasks(folder.parent / "held-out.jsonl", strict=True)]
    for step in sorted(int(path.stem) for path in (folder / DUMPS).glob("*.jsonl")):
        out = folder / "validation" / f"step-{step:04d}" / "answers.jsonl"
        if out.exists() or (step % every and step != run.settings.rollouts):
            continue
        answers = read_dump(folder / DUMPS / f"{step}.jsonl")
        if ended or len(answers) == len(order):
            save_responses(out, [answers[name] for name in order if name in answers])
            new.append(step)
    return new


def read_dump(path: Path) -> dict[str, Response]:
    """The answers in a file of verl's `trainer.validation_data_dir`, by task; a line without its end is left out."""
    found: dict[str, Response] = {}
    for line in path.read_bytes().splitlines(keepends=True):
        if line.endswith(b"\n"):
            row = json.loads(line)  # which may hold NaN
            name = str(row["gts"])
            found[name] = Response(task_id=name, text=row["output"], tokens=row.get("tokens"))
    return found


def main() -> None:
    """Prepare a folder."""
    try:
        prepare_verl(Path(sys.argv[1]))
    except ProRubricError as error:
        sys.stderr.write(f"{error}\n")
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
