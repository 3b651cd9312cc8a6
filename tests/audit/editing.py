"""An answer to be edited, with a checklist of which it meets some, and ways to edit it by hand."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace

from prorubric.audit.editors import Editor
from prorubric.audit.edits import EDITS, EditName
from prorubric.audit.edits.kind import EditCase, MadeEdit, NoEditError, NotMade
from prorubric.datasets.samples import load_samples
from prorubric.rubric.records import Criterion, Message, Rubric, Task
from prorubric.text.sentences import diff_sentences

CHECKLIST: tuple[tuple[str, float, bool | None], ...] = (
    ("Advises taking the baby to the emergency department tonight.", 10, True),
    ("Mentions that a lumbar puncture may be needed, and explains why.", 7, False),
    ("Advises against cold baths or rubbing alcohol to bring the temperature down.", 6, False),
    ("States that a rectal thermometer gives the most reliable reading.", 5, False),
    ("Asks whether the baby was born early.", 4, False),
    ("Mentions dehydration and how many wet diapers are normal.", 3, False),
    ("Includes reassurance that most fevers are viral.", 2, None),
    ("Recommends aspirin.", -8, True),
)
ANSWER = (
    "I am sorry that you are worried.\n\n"
    "At six weeks a fever of 38.4 is an emergency. Take the baby to the emergency department tonight. "
    "Do not wait until the morning.\n\n"
    "- Bring the vaccination card.\n"
    "- Keep offering feeds on the way.\n\n"
    "Call ahead if you can."
)
TASK = Task(
    id="fever",
    messages=(Message(role="user", content="My baby is six weeks old and has a fever of 38.4. Can it wait?"),),
    rubric=Rubric(criteria=tuple(Criterion(text=text, weight=weight) for text, weight, _ in CHECKLIST)),
    domain="medicine",
)
CASE = EditCase(TASK, ANSWER, tuple(complies for _, _, complies in CHECKLIST))


def list_sample_cases() -> list[EditCase]:
    return [
        EditCase(
            sample.task,
            sample.response.text,
            tuple(
                verdict == (criterion.weight > 0)
                for verdict, criterion in zip(sample.verdicts["criteria"], sample.task.rubric.criteria, strict=True)
            ),
        )
        for sample in load_samples()
    ]


def make_case(answer: str, checklist: Sequence[tuple[str, float, bool | None]] = CHECKLIST) -> EditCase:
    rubric = Rubric(criteria=tuple(Criterion(text=text, weight=weight) for text, weight, _ in checklist))
    return EditCase(TASK.model_copy(update={"rubric": rubric}), answer, tuple(complies for _, _, complies in checklist))


def make_edit(kind: EditName, text: str, criteria: tuple[int, ...] = (), case: EditCase = CASE) -> MadeEdit:
    """An edit as an editor would report it, whether or not it is what it claims."""
    added, removed = diff_sentences(case.answer, text)
    return MadeEdit(kind=kind, text=text, added=added, removed=removed, criteria=criteria)


def check_edit(case: EditCase, edit: MadeEdit, partner: MadeEdit | None = None) -> str | None:
    """Why an edit is not what it claims, or None."""
    try:
        EDITS[edit.kind].apply(replace(case, partner=partner), edit.text, edit.criteria)
    except NoEditError as error:
        return error.reason
    return None


def edit_by_rules(case: EditCase, names: Iterable[str]) -> tuple[MadeEdit | NotMade, ...]:
    return asyncio.run(Editor().edit(case, [*names]))
