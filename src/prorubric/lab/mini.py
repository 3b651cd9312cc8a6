"""The files of the mini: what a small language model needs to learn a world's answers from text, with the real trainer.

`tasks.jsonl` are the cases to train on, with checklists and dimensions, `held-out.jsonl` others for `g`, and
`consensus.jsonl` the same held-out cases with the parts of `c` as criteria. Cases and judges are those of the lab.
`demos.jsonl` are demonstrations for the policy `mini:WORLD`, and `demo-tasks.jsonl` their prompts. `best.jsonl` has the
best of six other demonstrations for each case to train on, by the lenient judge. `base.yaml` trains on `demos.jsonl`,
and `arms.yaml` goes on from there with the lenient judge.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from prorubric.aggregate.batch import PlanTable
from prorubric.errors import ConfigError
from prorubric.files.write import open_whole
from prorubric.lab.cases import Cases, render_case
from prorubric.lab.checklist import make_checklists
from prorubric.lab.demos import write_demos
from prorubric.lab.facts import Facts
from prorubric.lab.language import (
    MOST_CASES,
    CasePlace,
    make_case_task,
    make_consensus_task,
    make_language,
    parse_place,
    read_texts,
)
from prorubric.lab.measure import Measure, measure
from prorubric.lab.model import JUDGE_SEED
from prorubric.lab.results import HELD_OUT_CASES, HELD_OUT_SEED
from prorubric.lab.schemes import find_lab_scheme, make_scorer
from prorubric.lab.world import END, World, find_world, make_world
from prorubric.rubric.base import Record
from prorubric.rubric.records import Criterion, Message, Response, Rubric, Task
from prorubric.rubric.save import save_responses, save_tasks

TRAINING_CASES, TRAINING_SEED, DEMO_SEED = 4096, 0, 2
DEMOS = 64_000
SAMPLE_SEEDS = range(3, 9)
"""Of the six demonstrations for each case to train on, the best of which is kept."""
BATCH, EPOCHS = 128, 2  # of base.yaml
_RECIPES = Path(__file__).with_name("mini_recipes")


def write_mini(
    folder: Path,
    world: str = "triage-v1",
    *,
    training: int = TRAINING_CASES,
    held_out: int = HELD_OUT_CASES,
    demos: int = DEMOS,
) -> dict[str, int]:
    """Write the files of a world's mini into a folder; gives the number of rows of each file of data."""
    find_world(world)
    if demos < BATCH or not 0 < training <= MOST_CASES or not 0 < held_out <= MOST_CASES:
        raise ConfigError(f"the mini needs at least {BATCH} demonstrations, and 1 to {MOST_CASES:,} cases of each kind")
    made = make_world(world)
    cases = Cases(made, demos, DEMO_SEED)
    held = [CasePlace(world, row, held_out, HELD_OUT_SEED) for row in range(held_out)]
    trained = (make_case_task(CasePlace(world, row, training, TRAINING_SEED)) for row in range(training))
    demo_tasks = (  # answers to these are not judged, so their rubric is only the decision
        Task(
            id=f"{world}-demo-{row}",
            messages=(Message(role="user", content=render_case(made, cases, row)),),
            rubric=Rubric(criteria=(Criterion(text=made.texts.decision_criteria[level], weight=1.0),)),
            domain=made.texts.domain,
        )
        for row, level in enumerate(cases.level_T)
    )
    shown = (
        Response(task_id=f"{world}-demo-{row}", text=made.moves.render(moves))
        for row, moves in enumerate(write_demos(made, cases, DEMO_SEED))
    )
    written = {
        "tasks.jsonl": save_tasks(folder / "tasks.jsonl", trained),
        "held-out.jsonl": save_tasks(folder / "held-out.jsonl", map(make_case_task, held)),
        "consensus.jsonl": save_tasks(folder / "consensus.jsonl", map(make_consensus_task, held)),
        "demo-tasks.jsonl": save_tasks(folder / "demo-tasks.jsonl", demo_tasks),
        "demos.jsonl": save_responses(folder / "demos.jsonl", shown),
        "best.jsonl": save_responses(folder / "best.jsonl", _list_best(made, training)),
    }
    values = {"{world}": world, "{base_steps}": str(demos // BATCH * EPOCHS)}
    for recipe in _RECIPES.glob("*.yaml"):
        text = recipe.read_text(encoding="utf-8")
        for name, value in values.items():
            text = text.replace(name, value)
        with open_whole(folder / recipe.name) as stream:
            stream.write(text.encode())
    return written


class TextMeasure(Record):
    """What answers as text are worth, by the lab's own measures, and how well they are written."""

    measure: Measure
    answers: int
    read: float
    """The share of sentences that are moves."""
    repeated: float
    """The share of moves that were said before in the same answer."""


def measure_answers(answers: Iterable[Response]) -> TextMeasure:
    """Measure answers to cases of one draw, such as those in `held-out.jsonl`, without a call."""
    found = [(parse_place(answer.task_id), answer.text) for answer in answers]
    places = [place for place, _ in found if place]
    if len({place._replace(row=0) for place in places}) != 1 or len(places) < len(found):
        raise ConfigError("these are not answers to the cases of one draw of the lab", remedy="answer held-out.jsonl")
    world, lists = make_world(places[0].world), places[0].lists
    facts = read_texts(lists, world, [place.row for place in places], [text for _, text in found])
    moves, sentences = facts.moves_R_L > END, sum(len(make_language(world.spec.name).parse(text)) for _, text in found)
    said = int(moves.sum())
    return TextMeasure(
        measure=measure(facts, PlanTable.of(lists.tasks, "additive")),
        answers=len(found),
        read=said / max(sentences, 1),
        repeated=1 - int(facts.said_moves.sum()) / max(said, 1),
    )


def _list_best(world: World, training: int) -> Iterator[Response]:
    """The best demonstration for each case by the sum of its criteria, as `best-of-n` with `lab:WORLD` finds it."""
    lists = make_checklists(world.spec.name, training, TRAINING_SEED)
    drawn = [write_demos(world, lists.cases, seed) for seed in SAMPLE_SEEDS]
    score = make_scorer(find_lab_scheme("additive"), lists)
    values = np.stack([score(Facts(world, lists, np.arange(training), moves), JUDGE_SEED) for moves in drawn])
    for row, sample in enumerate(values.argmax(axis=0).tolist()):
        name = CasePlace(world.spec.name, row, training, TRAINING_SEED).name
        yield Response(task_id=name, sample=sample, text=world.moves.render(drawn[sample][row]))
