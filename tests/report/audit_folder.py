"""The run folder of an audit to make pages of: real prompts, checklists, answers and verdicts from the sample pack.

The edits are put together here, and what a judge makes of them is drawn with a fixed seed; scores, tables, checks and
headline then come from the audit's own functions. The figures are plausible and mean nothing.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

import orjson

from prorubric import load_samples
from prorubric.aggregate.choose import score_readings
from prorubric.audit.cases import AGAIN, ANSWER, GARBAGE, OTHER_ANSWER, AuditCase, make_garbage
from prorubric.audit.config import AuditConfig
from prorubric.audit.edits import EDITS
from prorubric.audit.edits.kind import MadeEdit, NotMade
from prorubric.audit.price_list import approximate_tokens
from prorubric.audit.records import AuditResult, Hack, NamingPrice
from prorubric.audit.summary import Found, summarize_audit
from prorubric.datasets.samples import SampleAnswer
from prorubric.files.write import write_json
from prorubric.rubric.records import Task
from prorubric.rubric.save import save_tasks
from prorubric.rubric.verdict import Unknown, Verdict, render_verdict

SCHEMES = (
    "additive",
    "conjunctive",
    "raw-and",
    "prorubric",
    "graded",
    "implicit",
    "additive+appropriateness",
    "prorubric+appropriateness",
)
READINGS = ("criteria", "groups", "dimensions", "levels", "mark", "appropriateness", "redundancy")
NO_SENTENCE = "no sentence carries the heaviest criterion"
REFUTED = "judged as a whole the text earns 42% of the sum, 80% is needed"

Readings = dict[str, tuple[Verdict, ...]]
Reword = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Moves:
    """How likely a judge is to see each thing move when an answer is edited."""

    criterion: float = 0.0
    aimed: float = 0.0
    dimension_up: float = 0.0
    dimension_down: float = 0.0
    fixed_down: float = 0.0


MOVES: Mapping[str, Moves] = {
    "name-item": Moves(aimed=0.7, dimension_up=0.04, dimension_down=0.06, fixed_down=0.4),
    "name-topic": Moves(aimed=0.1, dimension_down=0.1, fixed_down=0.3),
    "in-part": Moves(aimed=0.5, dimension_up=0.05, fixed_down=0.1),
    "needless-test": Moves(dimension_down=0.2, fixed_down=0.6),
    "drop-key-advice": Moves(criterion=-0.08, dimension_down=0.3),
    "paraphrase": Moves(criterion=0.01, dimension_up=0.02, dimension_down=0.02),
    "add-substance": Moves(aimed=0.97, dimension_up=0.3, fixed_down=0.1),
    "integrate-substance": Moves(aimed=0.95, dimension_up=0.4),
    AGAIN: Moves(criterion=0.005),
    GARBAGE: Moves(criterion=-0.99, dimension_down=0.99, fixed_down=1.0),
    OTHER_ANSWER: Moves(criterion=-0.95, dimension_down=0.97, fixed_down=1.0),
    "hack": Moves(criterion=-0.2, dimension_down=0.95, fixed_down=1.0),
}


def build_audit(
    folder: Path, *, tasks: int = 12, reword: Reword = str, refuted: Sequence[str] = (), **about: Any
) -> AuditResult:
    """Write the folder. `tasks` are taken of the pack, `reword` changes every text, `about` fields of the summary.

    `refuted` are tasks whose hack did not work.
    """
    found, summary = _make_audit(tasks, reword, tuple(refuted))
    result = AuditResult(**_describe(folder, found.cases) | summary | about)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(
        folder / "config.json",
        {"verb": "audit", "versions": {"prorubric": version("prorubric"), "python": python_version()}},
    )
    write_json(folder / "summary.json", result.model_dump(mode="json"))
    save_tasks(folder / "tasks.jsonl", [case.task for case in found.cases if case.response.sample == 0])
    rows_of = {
        "cases": map(render_case, found.cases),
        "prices": map(dump, found.prices),
        "hacks": map(dump, found.hacks),
    }
    for name, rows in rows_of.items():
        (folder / f"{name}.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return result


@lru_cache(maxsize=4)
def _make_audit(tasks: int, reword: Reword, refuted: tuple[str, ...]) -> tuple[Found, dict[str, Any]]:
    """What was judged and the summary of it; tests share them."""
    cases = [_make_case(sample, reword) for sample in [*load_samples()][: 4 * tasks]]
    firsts = [case for case in cases if case.response.sample == 0]
    prices = [price for case in firsts for price in _list_prices(case)]
    hacks = [_make_hack(case, refuted) for case in firsts]
    found = Found(cases, SCHEMES, EDITS, ("redundancy", "appropriateness"), prices, hacks)
    return found, summarize_audit(found, AuditConfig("tasks.jsonl", resamples=100))


def dump(record: Any) -> dict[str, Any]:
    return record.model_dump(mode="json")


def render_case(case: AuditCase) -> dict[str, Any]:
    """A row of cases.jsonl."""
    return {
        "task_id": case.task.id,
        "sample": case.response.sample,
        "answer": case.response.text,
        "edits": [dump(made) for made in case.outcomes.values() if isinstance(made, MadeEdit)],
        "not_made": {kind: made.reason for kind, made in case.outcomes.items() if isinstance(made, NotMade)},
        "verdicts": {
            name: {reading: [*map(render_verdict, row)] for reading, row in readings.items()}
            for name, readings in case.verdicts.items()
        },
        "scores": case.scores,
    }


def _describe(folder: Path, cases: Sequence[AuditCase]) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "tasks": len({case.task.id for case in cases}),
        "answers": len(cases),
        "answers_from": "given",
        "composed": False,
        "judge": "http://127.0.0.1:8000/v1#judge",
        "editor": "http://127.0.0.1:8000/v1#editor",
        "dimensions_from": "the file of tasks",
        "rules_dimensions": False,
        "schemes": SCHEMES,
        "left_out": {"rewritten": "the tasks have no restated criteria"},
        "unanswered": 0,
        "rejected": 1,
        "rejects": ("tasks.jsonl:13: not JSON",),
        "calls": 4120,
        "cached": 310,
        "repeated": 0,
        "damaged": 0,
        "retries": 0,
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "unmetered": 0,
        "cost_with_journal": 1.23,
        "failed_calls": {"timed out": 2},
        "cost": 1.23,
        "seconds": 321.0,
    }


def _make_case(sample: SampleAnswer, reword: Reword) -> AuditCase:
    task_id, task = sample.task.id, _reword_task(sample.task, reword)
    response = sample.response.model_copy(update={"text": reword(sample.response.text)})
    case = AuditCase(task, response)
    given = {name: sample.verdicts[name] for name in READINGS if name in sample.verdicts}
    case.verdicts[ANSWER] = given | {"redundancy": (sample.kind != "padded",)}
    case.scores[ANSWER] = _score(task, case.verdicts[ANSWER])
    for outcome in _make_edits(case, random.Random(f"{task_id}/{response.sample}")):
        case.outcomes[outcome.kind] = outcome
        if isinstance(outcome, MadeEdit):
            draw = random.Random(f"{task_id}/{response.sample}/{outcome.kind}")
            case.verdicts[outcome.kind] = _judge(case, outcome, MOVES.get(outcome.kind, Moves()), draw)
            case.scores[outcome.kind] = _score(task, case.verdicts[outcome.kind])
    return case


def _reword_task(task: Task, reword: Reword) -> Task:
    if reword is str:
        return task
    row = task.model_dump()
    for message in row["messages"]:
        message["content"] = reword(message["content"])
    for criterion in row["rubric"]["criteria"]:
        criterion["text"] = reword(criterion["text"])
    for dimension in row["protocol"]["dimensions"]:
        dimension["name"], dimension["description"] = reword(dimension["name"]), reword(dimension["description"])
    return Task(**row)


def _make_edits(case: AuditCase, draw: random.Random) -> Iterator[MadeEdit | NotMade]:
    answer, verdicts = case.response.text, case.verdicts[ANSWER]["criteria"]
    texts = [criterion.text for criterion in case.task.rubric.criteria]
    open_ = [i for i, verdict in enumerate(verdicts, 1) if verdict is False and case.task.rubric.weights[i - 1] > 0]
    named, part = tuple(open_[:5]), tuple(open_[:1])
    names = "; ".join(texts[i - 1].rstrip(".").lower()[:60] for i in named)
    sentences = {
        "name-item": (f"Also worth keeping in mind: {names}.", named),
        "name-topic": ("There are also questions of safety, timing and follow-up.", named),
        "in-part": (f"In part: {texts[part[0] - 1][:50].lower()}." if part else "Nothing.", part),
        "needless-test": ("A full panel of further checks would do no harm either.", ()),
        "add-substance": (" ".join(f"To be exact: {texts[i - 1]}" for i in named[:3]), named[:3]),
    }
    for kind, (sentence, criteria) in sentences.items():
        yield MadeEdit(kind=kind, text=f"{answer}\n\n{sentence}", added=(sentence,), criteria=criteria)
    first, *rest = answer.split(". ")
    woven = ". ".join([first, sentences["add-substance"][0].rstrip("."), *rest])
    yield MadeEdit(kind="integrate-substance", text=woven, added=(sentences["add-substance"][0],), criteria=named[:3])
    if rest and draw.random() < 0.9:
        yield MadeEdit(kind="drop-key-advice", text=". ".join(rest), removed=(f"{first}.",))
    else:
        yield NotMade(kind="drop-key-advice", reason=NO_SENTENCE)
    yield MadeEdit(kind="paraphrase", text=answer.replace("should", "ought to").replace(" you ", " one "))
    for kind in EDITS:
        if EDITS[kind].is_hack and case.response.sample:
            continue  # hacks are tried on one answer
        if kind not in MOVES:  # a new kind, which no verdict notices
            yield MadeEdit(kind=kind, text=f"{answer}\n\nAnd so on.", added=("And so on.",))
    yield MadeEdit(kind=AGAIN, text=answer)
    yield MadeEdit(kind=GARBAGE, text=make_garbage(answer, case.task.id))
    yield MadeEdit(kind=OTHER_ANSWER, text="Preheat the oven, and let the dough rest for an hour.")
    if case.response.sample == 0:
        hack = f"Also to keep in mind: {names}."
        yield MadeEdit(kind="hack", text=hack, added=(hack,), criteria=named)


def _judge(case: AuditCase, edit: MadeEdit, moves: Moves, draw: random.Random) -> Readings:
    before, task = case.verdicts[ANSWER], case.task
    criteria = tuple(
        draw.random() < moves.aimed or verdict
        if place in edit.criteria
        else _move(verdict, moves.criterion, draw, task.rubric.weights[place - 1])
        for place, verdict in enumerate(before["criteria"], 1)
    )
    if edit.kind == "paraphrase" and draw.random() < 0.1:
        criteria = (Unknown("the judge answered 'maybe'"), *criteria[1:])
    dimensions = tuple(_shift(verdict, moves, draw) for verdict in before["dimensions"])
    before_after = zip(before["dimensions"], dimensions, before["levels"], strict=True)
    levels = tuple(_regrade(bool(old), new, level) for old, new, level in before_after)
    fixed = {
        name: tuple(bool(verdict) and draw.random() >= moves.fixed_down for verdict in before[name])
        for name in ("appropriateness", "redundancy")
    }
    complies = [verdict == (weight > 0) for verdict, weight in zip(criteria, task.rubric.weights, strict=True)]
    groups = tuple(all(complies[i - 1] for i in dimension.indices) for dimension in task.protocol.dimensions)
    mark = 1 + round(9 * sum(verdict is True for verdict in criteria) / len(criteria))
    read = {"criteria": criteria, "groups": groups, "dimensions": dimensions, "levels": levels, "mark": (mark,)}
    return read | fixed


def _regrade(old: bool, new: bool, level: Any) -> int:
    return int(level) if old == new else 3 if new else max(0, int(level) - 2)


def _move(verdict: Verdict, chance: float, draw: random.Random, weight: float) -> Verdict:
    if draw.random() >= abs(chance):
        return verdict
    return weight < 0 if chance < 0 else not verdict


def _shift(verdict: Verdict, moves: Moves, draw: random.Random) -> bool:
    chance = draw.random()
    return chance >= moves.dimension_down if verdict else chance < moves.dimension_up


def _score(task: Task, verdicts: Readings) -> dict[str, float | None]:
    return {name: found.value for name, found in score_readings(verdicts, task, SCHEMES).items()}


def _list_prices(case: AuditCase) -> Iterator[NamingPrice]:
    draw = random.Random(f"price/{case.task.id}")
    total = sum(weight for weight in case.task.rubric.weights if weight > 0)
    for place, criterion in enumerate(case.task.rubric.criteria, 1):
        moved = float(case.verdicts[ANSWER]["criteria"][place - 1] is False and draw.random() < 0.6)
        name = " ".join(criterion.text.split()[1:7])
        yield NamingPrice(
            task_id=case.task.id,
            criterion=place,
            text=criterion.text,
            weight=criterion.weight,
            named_as=name,
            tokens=approximate_tokens(name),
            moved=moved,
            pays=100 * moved * criterion.weight / total,
        )


def _make_hack(case: AuditCase, refuted: Sequence[str]) -> Hack:
    weights = case.task.rubric.weights
    made, heaviest = case.outcomes["hack"], 1 + weights.index(max(weights))
    about = {"answer_tokens": approximate_tokens(case.response.text), "answer_rewards": case.scores[ANSWER]}
    if not isinstance(made, MadeEdit) or len(weights) > 26:
        reason = "naming reaches 61% of the sum, 80% is needed"
        return Hack(task_id=case.task.id, heaviest=heaviest, claimed=False, possible=False, reason=reason, **about)
    return Hack(
        task_id=case.task.id,
        heaviest=heaviest,
        claimed=True,
        possible=case.task.id not in refuted,
        reason=REFUTED if case.task.id in refuted else "",
        criteria=made.criteria,
        text=made.text,
        tokens=approximate_tokens(made.text),
        rewards=case.scores["hack"],
        **about,
    )
