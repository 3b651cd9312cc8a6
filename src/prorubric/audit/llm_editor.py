"""An editor that asks a model for the least that makes an edit: a paragraph, a sentence and its place, a number.

The answer is never given out of hand except for a paraphrase: what the model writes is put in its place here, so that
nothing else can change, and `check_edit` looks anyway. A reply that cannot be used is answered with what was wrong with
it, twice at most; then the edit is not made. A call that fails is not made either, and says so. What an edit means
(that the substance is true, that the dropped sentence was the one that matters) rests with the model.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeGuard

from prorubric.audit.edits import PAIRS, Edit, EditCase, EditKind, NotMade
from prorubric.audit.phrases import demand_of
from prorubric.audit.place import append, insert, number_sentences, remove
from prorubric.audit.verify import (
    LARGEST_ADDITION,
    NAMED,
    SHORT_ADDITION,
    SUBSTANCE,
    check_edit,
    compare,
    list_met,
    list_targets,
)
from prorubric.compile.draft import Fault, find_object
from prorubric.compile.prompt import render_retry
from prorubric.files.json import render_json
from prorubric.llm.fence import fence, render_conversation
from prorubric.llm.model import Failure, Model, Reply, Request
from prorubric.llm.prompt_file import check_placeholders, check_sections, fill_section, read_prompt, split_sections
from prorubric.llm.together import run_together
from prorubric.rubric.records import Message
from prorubric.text.show import is_blank
from prorubric.text.units import split_sentences

VERSION = "llm-editor/2"
"""Changes with anything here that changes a question or what is made of a reply."""
REASKS = 2
_AGAIN_TEMPERATURE = 0.7
MOST_SHOWN = 8
"""How many criteria a model is shown to choose from."""
_LONGEST_DEMAND = 60
_SMALL_REPLY = 700
_FOLDER = Path(__file__).parent / "prompts"
_REQUIRED = ("instructions", "answer", "closing")
_FILLED = ("conversation", "answer", "items", "budget", "material")


@dataclass(frozen=True, slots=True)
class _Job:
    """One edit to be made: what is shown to the model beside the conversation."""

    case: EditCase
    kind: EditKind
    pieces: tuple[str, ...]
    criteria: tuple[int, ...] = ()
    """1-based places of the criteria shown."""
    partner: Edit | None = None


_Found = dict[str, Any]
_Made = tuple[str, tuple[int, ...]]
"""The edited text and the criteria that it aims at."""


class LlmEditor:
    """Edits answers with a model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        for kind in _QUESTIONS:
            load_edit_prompt(kind)  # a prompt that cannot be used is found before a token is spent

    @property
    def name(self) -> str:
        """The model as the user wrote it."""
        return self._model.name

    @property
    def identity(self) -> str:
        """The model, the prompts and the code around them."""
        return f"{VERSION}+{_hash_prompts()}+{self._model.identity}"

    async def edit(self, case: EditCase, kinds: Sequence[EditKind]) -> tuple[Edit | NotMade, ...]:
        """One outcome for each kind, in order. What is paired with another edit is asked for when that one is made."""
        pairs = [PAIRS[kind] for kind in kinds if kind in PAIRS]
        first = [kind for kind in dict.fromkeys([*kinds, *pairs]) if kind not in PAIRS]
        done = dict(zip(first, await run_together(self._edit_one(case, kind, None) for kind in first), strict=True))
        last = [kind for kind in dict.fromkeys(kinds) if kind in PAIRS]
        paired = await run_together(self._edit_one(case, kind, done[PAIRS[kind]]) for kind in last)
        done |= dict(zip(last, paired, strict=True))
        return tuple(done[kind] for kind in kinds)

    async def close(self) -> None:
        """Let go of the model."""
        await self._model.close()

    async def _edit_one(self, case: EditCase, kind: EditKind, partner: Edit | NotMade | None) -> Edit | NotMade:
        job = _prepare(case, kind, partner)
        if isinstance(job, str):
            return NotMade(kind=kind, reason=job)
        first = request = _make_request(job)
        reason = ""
        for attempt in range(1, REASKS + 2):
            outcome = await self._model.complete(request)
            if isinstance(outcome, Failure):
                return NotMade(kind=kind, reason=f"no reply: {outcome.kind}")
            made = _read(job, outcome)
            if isinstance(made, Edit | NotMade):
                return made
            reason = made.kind
            messages = render_retry(first.messages, outcome.text, [made.message])
            # Another draw and not the likeliest words: a model that repeats itself would do so again.
            request = replace(first, messages=messages, draw=attempt, temperature=_AGAIN_TEMPERATURE)
        return NotMade(kind=kind, reason=reason)


def _prepare(case: EditCase, kind: EditKind, partner: Edit | NotMade | None) -> _Job | str:
    """What to ask, or why there is nothing to ask for."""
    if is_blank(case.answer):
        return "the answer is empty"
    if kind in PAIRS and not isinstance(partner, Edit):
        return "there is no appended text to pair it with"
    criteria = partner.criteria if isinstance(partner, Edit) else _choose_criteria(case, kind)
    if len(criteria) < _AIMS.get(kind, (0, 0))[0]:
        return "no criterion is met" if kind == "drop-key-advice" else "too few unmet criteria"
    pieces = tuple(split_sentences(case.answer))
    return _Job(case, kind, pieces, criteria, partner if isinstance(partner, Edit) else None)


def _choose_criteria(case: EditCase, kind: EditKind) -> tuple[int, ...]:
    """The criteria that a model is shown: all for a needless step, else the heaviest that the edit can be about."""
    if kind == "needless-test":
        found = list(range(1, len(case.task.rubric) + 1))
    else:
        found = list_met(case) if kind == "drop-key-advice" else list_targets(case)
    short = [index for index in found if _is_short(case, index)]
    return tuple(short[: _AIMS[kind][1]]) if kind in _AIMS else tuple(short)


_AIMS: dict[EditKind, tuple[int, int]] = {
    "name-item": NAMED,
    "name-topic": NAMED,
    "in-part": (1, MOST_SHOWN),
    "drop-key-advice": (1, MOST_SHOWN),
    "paraphrase": (0, 0),
    "add-substance": SUBSTANCE,
}


def _is_short(case: EditCase, index: int) -> bool:
    """False for what instructs a judge at length; nobody meets or names that in a sentence."""
    return demand_of(case.task.rubric.criteria[index - 1].text).count(" ") < _LONGEST_DEMAND


# --- asking


@lru_cache(maxsize=16)
def load_edit_prompt(kind: EditKind) -> Mapping[str, str]:
    """The sections of our prompt for an edit."""
    path = _FOLDER / f"{kind}.txt"
    sections = split_sections(read_prompt(path), path)
    check_sections(path, kind, sections, _REQUIRED)
    check_placeholders(path, sections, _FILLED)
    return sections


@lru_cache(maxsize=1)
def _hash_prompts() -> str:
    text = "\x00".join(part for kind in _QUESTIONS for part in load_edit_prompt(kind).values())
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _make_request(job: _Job) -> Request:
    sections, question = load_edit_prompt(job.kind), _QUESTIONS[job.kind]
    answer = number_sentences(job.pieces) if question.numbered else job.case.answer
    material = job.partner.text[len(job.case.answer) :].strip() if job.partner else ""
    shown = {
        "conversation": render_conversation(job.case.task),
        "answer": fence("ANSWER", answer),
        "items": fence("CHECKLIST", _render_items(job)),
        "budget": str(_find_budget(job.case)),
        "material": fence("MATERIAL", material),
    }
    parts = [
        fill_section(sections, name, shown[name]) if name in shown else text
        for name, text in sections.items()
        if name != "instructions"
    ]
    return Request(
        (
            Message(role="system", content=sections["instructions"]),
            Message(role="user", content="\n\n".join(parts)),
        ),
        max_tokens=_SMALL_REPLY + (len(job.case.answer) // 2 if question.whole else 0),
        is_sized=True,
        schema=question.schema,
    )


def _render_items(job: _Job) -> str:
    """The criteria by the numbers that a reply uses, from 1 on."""
    criteria = [job.case.task.rubric.criteria[index - 1] for index in job.criteria]
    rows = (
        {"number": number, "weight": criterion.weight, "criterion": demand_of(criterion.text)}
        for number, criterion in enumerate(criteria, 1)
    )
    return "\n".join(render_json(row).decode() for row in rows)


def _find_budget(case: EditCase) -> int:
    """How many words of substance there may be: half of the answer, and enough for two sentences in any case."""
    return max(int(LARGEST_ADDITION * len(case.answer.split())), SHORT_ADDITION // 2)


# --- reading


def _read(job: _Job, reply: Reply) -> Edit | NotMade | Fault:
    found = find_object(reply)
    if isinstance(found, Fault):
        return found
    made = _QUESTIONS[job.kind].place(job, found)
    if isinstance(made, Fault | NotMade):
        return made
    text, criteria = made
    added, removed = compare(job.case.answer, text)
    edit = Edit(kind=job.kind, text=text, added=added, removed=removed, criteria=criteria)
    reason = check_edit(job.case, edit, job.partner)
    return edit if reason is None else Fault(reason, f"The edit is not what was asked for: {reason}.")


def _append_paragraph(job: _Job, found: _Found) -> _Made | Fault:
    paragraph = _read_text(found, "paragraph")
    if isinstance(paragraph, Fault):
        return paragraph
    return append(job.case.answer, paragraph), job.criteria


def _append_half(job: _Job, found: _Found) -> _Made | Fault | NotMade:
    number = found.get("criterion")
    if number == 0 and not isinstance(number, bool):
        return NotMade(kind=job.kind, reason="no unmet criterion has two parts")
    if not _is_place(number, len(job.criteria)):
        return Fault("no such criterion", f'"criterion" must be a number from 1 to {len(job.criteria)}.')
    sentence = _read_text(found, "sentence")
    if isinstance(sentence, Fault):
        return sentence
    return append(job.case.answer, sentence), (job.criteria[number - 1],)


def _insert_step(job: _Job, found: _Found) -> _Made | Fault:
    sentence, place = _read_text(found, "sentence"), found.get("after")
    if isinstance(sentence, Fault):
        return sentence
    if not _is_place(place, len(job.pieces)):
        return _no_such_sentence("after", job)
    return insert(job.pieces, {place - 1: [sentence]}), ()


def _remove_sentence(job: _Job, found: _Found) -> _Made | Fault:
    place = found.get("sentence")
    if not _is_place(place, len(job.pieces)):
        return _no_such_sentence("sentence", job)
    return remove(job.pieces, place - 1), ()


def _replace_answer(_: _Job, found: _Found) -> _Made | Fault:
    answer = _read_text(found, "answer")
    return answer if isinstance(answer, Fault) else (answer, ())


def _insert_material(job: _Job, found: _Found) -> _Made | Fault:
    rows = found.get("insertions")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        return Fault("no list", 'There is no list of objects under "insertions".')
    sentences: dict[int, list[str]] = {}
    for row in rows:
        sentence, place = _read_text(row, "sentence"), row.get("after")
        if isinstance(sentence, Fault):
            return sentence
        if not _is_place(place, len(job.pieces)):
            return _no_such_sentence("after", job)
        sentences.setdefault(place - 1, []).append(sentence)
    return insert(job.pieces, sentences), job.criteria


def _read_text(found: Mapping[str, Any], key: str) -> str | Fault:
    value = found.get(key)
    if not isinstance(value, str) or is_blank(value):
        return Fault(f"no {key}", f'There is no text under "{key}".')
    return value.strip()


def _is_place(value: Any, most: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _no_such_sentence(key: str, job: _Job) -> Fault:
    return Fault("no such sentence", f'"{key}" must be the number of a sentence, from 1 to {len(job.pieces)}.')


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked for one kind of edit and what is done with the reply."""

    place: Callable[[_Job, _Found], _Made | Fault | NotMade]
    schema: Mapping[str, Any]
    numbered: bool = False
    """True where the model is shown the sentences by number."""
    whole: bool = False
    """True where it writes the whole answer."""


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


_TEXT, _PLACE = {"type": "string"}, {"type": "integer"}
_PARAGRAPH = _object({"paragraph": _TEXT})
_STEP = _object({"after": _PLACE, "sentence": _TEXT})
_QUESTIONS: dict[EditKind, _Question] = {
    "name-item": _Question(_append_paragraph, _PARAGRAPH),
    "name-topic": _Question(_append_paragraph, _PARAGRAPH),
    "in-part": _Question(_append_half, _object({"criterion": _PLACE, "sentence": _TEXT})),
    "needless-test": _Question(_insert_step, _STEP, numbered=True),
    "drop-key-advice": _Question(_remove_sentence, _object({"sentence": _PLACE}), numbered=True),
    "paraphrase": _Question(_replace_answer, _object({"answer": _TEXT}), whole=True),
    "add-substance": _Question(_append_paragraph, _PARAGRAPH),
    "integrate-substance": _Question(
        _insert_material, _object({"insertions": {"type": "array", "items": _STEP}}), numbered=True
    ),
}
