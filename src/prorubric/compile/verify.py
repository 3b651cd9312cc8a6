"""Ask a model whether a dimension still demands what its criteria demand, and whether it contradicts one of them.

One call for each dimension. A reply counts only if it is one JSON object with true or false for every criterion of the
dimension and a list of those that are contradicted. Anything else, and a call without a reply, leaves the dimension
*not verified*, with the reason.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pydantic import JsonValue

from prorubric.compile.check import show_indices
from prorubric.compile.draft import Draft, DraftDimension, Fault, find_object, make_object_schema, read_index
from prorubric.compile.prompt import PROMPTS, render_checklist
from prorubric.llm.fence import fence, render_conversation
from prorubric.llm.model import Failure, Model, Reply, Request
from prorubric.llm.prompt_file import check_placeholders, check_sections, fill_section, read_prompt, split_sections
from prorubric.llm.together import run_together
from prorubric.rubric.records import Message, Task
from prorubric.text.show import is_blank

DROPPED, CONTRADICTED = "demand dropped", "contradicted"
"""The kinds of faults."""
_FILLED = ("conversation", "anchor", "standard", "items")


@dataclass(frozen=True, slots=True)
class Verification:
    """What the model said about one dimension."""

    dropped: tuple[int, ...] = ()
    """Criteria that the text no longer demands."""
    contradicted: tuple[int, ...] = ()
    """Criteria that its failure clause contradicts."""
    unverified: Fault | None = None
    """Why nothing is known about the dimension."""
    failure: Failure | None = None
    """The call, if it got no reply."""

    @property
    def faults(self) -> dict[str, tuple[int, ...]]:
        """The criteria at fault by kind."""
        found = {DROPPED: self.dropped, CONTRADICTED: self.contradicted}
        return {kind: indices for kind, indices in found.items() if indices}

    def render(self) -> JsonValue:
        """The entry in a task's lineage."""
        if self.unverified is not None:
            return {"not verified": ": ".join(filter(None, (self.unverified.kind, self.unverified.detail)))}
        return {kind: [*indices] for kind, indices in self.faults.items()} or "verified"


@dataclass(frozen=True, slots=True)
class Verifier:
    """Asks a model about dimensions."""

    model: Model
    max_tokens: int = 3000

    async def verify(self, draft: Draft, task: Task) -> tuple[Verification, ...]:
        """One verification for each dimension of a draft whose structure is right."""
        return tuple(await run_together(self._ask(dimension, task) for dimension in draft.dimensions))

    async def _ask(self, dimension: DraftDimension, task: Task) -> Verification:
        messages = render_verify_prompt(dimension, task)
        schema = make_verify_schema(dimension.indices)
        outcome = await self.model.complete(Request(messages, max_tokens=self.max_tokens, schema=schema))
        if isinstance(outcome, Failure):
            told = replace(outcome, reason=f"verifying: {outcome.reason}")
            return Verification(unverified=Fault("no reply", outcome.reason), failure=told)
        return parse_verification(outcome, dimension.indices)


def parse_verification(reply: Reply, indices: Sequence[int]) -> Verification:
    """What a reply says about the criteria of a dimension, or why it cannot be read."""
    found = find_object(reply, ("demands",))
    if isinstance(found, Fault):
        return Verification(unverified=Fault(found.kind))
    demands, contradicted = found.get("demands"), found.get("contradicts")
    if not isinstance(demands, dict) or not isinstance(contradicted, list):
        return Verification(unverified=Fault("no demands or no list of contradictions"))
    wanted = {str(index): index for index in indices}
    if demands.keys() != wanted.keys():
        return Verification(unverified=Fault("not one answer for each criterion"))
    if not all(isinstance(answer, bool) for answer in demands.values()):
        return Verification(unverified=Fault("an answer that is not true or false"))
    named = [read_index(value) for value in contradicted]
    if not set(named) <= set(indices):
        return Verification(unverified=Fault("a contradiction with a criterion that is not in the dimension"))
    dropped = tuple(index for key, index in wanted.items() if not demands[key])
    return Verification(dropped, tuple(index for index in indices if index in named))


def find_verify_faults(found: Sequence[Verification]) -> list[Fault]:
    """The faults of a draft, in words that its generator can act on."""
    details = {
        DROPPED: "the description does not demand what item {} demands; say so in it, or in its failure sentence.",
        CONTRADICTED: "the failure sentence contradicts item {}; an answer that does what the item asks must not fail.",
    }
    return [
        Fault(kind, f"Criterion {number}: {details[kind].format(show_indices(indices))}")
        for number, one in enumerate(found, 1)
        for kind, indices in one.faults.items()
    ]


def find_unverified(found: Sequence[Verification]) -> Fault | None:
    """Why a task is excluded if all its dimensions must be verified without a fault."""
    if faults := find_verify_faults(found):
        return Fault(f"verification: {faults[0].kind}", faults[0].detail)
    unverified = next((one.unverified for one in found if one.unverified), None)
    return unverified and Fault(f"not verified: {unverified.kind}", unverified.detail)


def render_verify_prompt(dimension: DraftDimension, task: Task) -> tuple[Message, ...]:
    """The question about one dimension; it does not depend on the other dimensions."""
    sections, _ = load_verify_prompt()
    texts = {
        "conversation": render_conversation(task),
        "anchor": fence("REFERENCE", task.reference) if task.reference and not is_blank(task.reference) else None,
        "standard": fence("STANDARD", f"{dimension.name}\n\n{dimension.description}"),
        "items": fence("ITEMS", render_checklist(task, dimension.indices)),
    }
    parts = [fill_section(sections, name, text) for name, text in texts.items() if text is not None]
    question = Message(role="user", content="\n\n".join([*parts, sections["closing"]]))
    return (Message(role="system", content=sections["instructions"]), question)


@cache
def load_verify_prompt() -> tuple[Mapping[str, str], str]:
    """The sections of the prompt, and its hash."""
    text = read_prompt(PROMPTS / "verify.txt")
    sections = split_sections(text, "verify")
    check_sections("verify", "verify", sections, ["instructions", *_FILLED, "closing"])
    check_placeholders("verify", sections, _FILLED)
    return sections, hashlib.sha256(text.encode()).hexdigest()


def make_verify_schema(indices: Sequence[int]) -> dict[str, Any]:
    """The JSON schema of a reply about these criteria."""
    answers = make_object_schema({str(index): {"type": "boolean"} for index in indices})
    return make_object_schema({"demands": answers, "contradicts": {"type": "array", "items": {"type": "integer"}}})
