"""The editors: `rules`, which needs no model, and any model that writes text. Every edit is verified.

`rules` is deterministic, reads and writes English, and knows only what the checklist says: it is plain and at times
clumsy. A model is asked for the least that makes an edit (a paragraph, a sentence and its place, a number) and never
rewrites the whole answer except to paraphrase it. A reply that cannot be used is answered with what was wrong with it,
twice at most. Whether the substance is true and the dropped sentence mattered rests with the model.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from prorubric.audit import edits
from prorubric.audit.edits import EDITS
from prorubric.audit.edits.kind import (
    EditCase,
    EditKind,
    EditQuestion,
    EditReply,
    MadeEdit,
    NoEditError,
    NotMade,
    make_reply_schema,
)
from prorubric.audit.phrases import demand_of
from prorubric.audit.place import number_sentences
from prorubric.compile.draft import Fault, find_object
from prorubric.compile.prompt import render_retry
from prorubric.errors import ConfigError
from prorubric.files.json import render_json
from prorubric.llm.fence import fence, render_conversation
from prorubric.llm.make import FORMS, hint_at_model, make_text_model
from prorubric.llm.model import Failure, Model, Request
from prorubric.llm.prompt_file import fill_section, load_sections
from prorubric.llm.together import run_together
from prorubric.rubric.records import Message
from prorubric.text.show import is_blank
from prorubric.text.words import are_english, is_english

RULES = "rules"
RULES_IDENTITY = "rules/4"
"""Changes with anything in the rules that changes an edit."""
LLM_VERSION = "llm-editor/4"
"""Changes with anything that changes a question or what is made of a reply."""
DECLINED = "cannot"
"""The key under which an editor that is a program says why it does not make an edit; no prompt asks for it."""
REASKS = 2
_AGAIN_TEMPERATURE = 0.7
_SMALL_REPLY = 700
_PROMPTS = Path(edits.__file__).parent / "prompts"


class Editor:
    """Edits answers with a model, or by rules."""

    def __init__(self, model: Model | None = None, *, or_by_rules: bool = False) -> None:
        self._model, self._or_by_rules = model, or_by_rules
        self.identity = RULES_IDENTITY
        """Everything about the editor that can change an edit."""
        if model is not None:
            # A prompt that cannot be used is found before a token is spent.
            prompts = "\x00".join(
                part for kind in EDITS.values() if kind.question for part in load_edit_prompt(kind.name).values()
            )
            self.identity = f"{LLM_VERSION}+{hashlib.sha256(prompts.encode()).hexdigest()[:16]}+{model.identity}"

    async def edit(
        self, case: EditCase, names: Sequence[str], known: Mapping[str, EditKind] = EDITS
    ) -> tuple[MadeEdit | NotMade, ...]:
        """One outcome for each kind of edit, in order. What is compared with another edit is made after it."""
        kinds = [known[name] for name in dict.fromkeys(names)]
        alone = dict.fromkeys(kind.pair or kind for kind in kinds)
        made = {outcome.kind: outcome for outcome in await run_together(self._make(case, kind) for kind in alone)}
        partners = {kind: made[kind.pair.name] for kind in kinds if kind.pair}
        paired = await run_together(
            self._make(replace(case, partner=partner) if isinstance(partner, MadeEdit) else case, kind)
            for kind, partner in partners.items()
        )
        made |= {outcome.kind: outcome for outcome in paired}
        return tuple(made[name] for name in names)

    async def _make(self, case: EditCase, kind: EditKind) -> MadeEdit | NotMade:
        """One edit, verified."""
        if self._model is None or kind.question is None:
            return _make_by_rules(case, kind)
        outcome = await _make_by_model(case, kind, kind.question, self._model)
        return _make_by_rules(case, kind) if self._or_by_rules and isinstance(outcome, NotMade) else outcome


def make_editor(
    spec: str, make_model: Callable[[str], Model] = make_text_model, *, or_by_rules: bool = False
) -> Editor:
    """The editor that a string names; `make_model` makes its model, if it is one. Misuse raises before any call.

    With `or_by_rules`, edits that the model does not make are made by rules.
    """
    if spec == RULES:
        return Editor()
    if spec not in ("smollm2", "lexical") and not any(sign in spec for sign in ":/"):
        known = FORMS.removeprefix("lexical, ")
        raise ConfigError(
            f"no editor is called {spec!r}; known forms: {RULES}, {known}; {hint_at_model(spec, (RULES, 'smollm2'))}"
        )
    return Editor(make_model(spec), or_by_rules=or_by_rules)


def _make_by_rules(case: EditCase, kind: EditKind) -> MadeEdit | NotMade:
    if is_blank(case.answer):
        return NotMade(kind=kind.name, reason="the answer is empty")
    if kind.is_english and not is_english(case.answer):
        return NotMade(kind=kind.name, reason="the answer is not in English")
    if kind.is_english and not are_english([criterion.text for criterion in case.task.rubric.criteria]):
        return NotMade(kind=kind.name, reason="the criteria are not in English")
    try:
        return kind.apply(case, *kind.by_rules(case))
    except NoEditError as error:
        return NotMade(kind=kind.name, reason=error.reason)


async def _make_by_model(case: EditCase, kind: EditKind, question: EditQuestion, model: Model) -> MadeEdit | NotMade:
    try:
        criteria = kind.choose_criteria(case, question)
    except NoEditError as error:
        return NotMade(kind=kind.name, reason=error.reason)
    first = request = _make_request(case, kind.name, question, criteria)
    reason = ""
    for attempt in range(1, REASKS + 2):
        reply = await model.complete(request)
        if isinstance(reply, Failure):
            return NotMade(kind=kind.name, reason=f"no reply: {reply.kind}")
        found = find_object(reply)
        if isinstance(found, Fault):
            reason, hint = found.kind, found.detail
        elif isinstance(found.get(DECLINED), str):
            return NotMade(kind=kind.name, reason=found[DECLINED])
        else:
            try:
                return kind.apply(case, *question.read(EditReply(case, criteria, found)))
            except NoEditError as error:
                reason, hint = error.reason, error.hint
                if error.is_final:
                    break
        # Another draw and not the likeliest words: a model that repeats itself would do so again.
        messages = render_retry(first.messages, reply.text, [hint])
        request = replace(first, messages=messages, draw=attempt, temperature=_AGAIN_TEMPERATURE)
    return NotMade(kind=kind.name, reason=reason)


@lru_cache(maxsize=64)
def load_edit_prompt(name: str) -> Mapping[str, str]:
    """The sections of the prompt for an edit."""
    filled = ("conversation", "answer", "items", "budget", "material")
    return load_sections(_PROMPTS / f"{name}.txt", ("instructions", "answer", "closing"), filled)


def _make_request(case: EditCase, name: str, question: EditQuestion, criteria: Sequence[int]) -> Request:
    sections = load_edit_prompt(name)
    items = [  # by the numbers that a reply uses
        {"number": number, "weight": case.task.rubric.weights[i - 1], "criterion": demand_of(case.criterion(i))}
        for number, i in enumerate(criteria, 1)
    ]
    filled = {
        "conversation": render_conversation(case.task),
        "answer": fence("ANSWER", number_sentences(case.pieces) if question.is_numbered else case.answer),
        "items": fence("CHECKLIST", "\n".join(render_json(item).decode() for item in items)),
        "budget": str(question.budget(case)) if question.budget else "",
        "material": fence("MATERIAL", case.partner.text[len(case.answer) :].strip() if case.partner else ""),
    }
    parts = [
        fill_section(sections, name, filled[name]) if name in filled else text
        for name, text in sections.items()
        if name != "instructions"
    ]
    return Request(
        (
            Message(role="system", content=sections["instructions"]),
            Message(role="user", content="\n\n".join(parts)),
        ),
        max_tokens=_SMALL_REPLY + (len(case.answer) // 2 if question.is_whole else 0),
        is_sized=True,
        schema=make_reply_schema(question.reply),
    )
