"""Compile one checklist: generate, check, verify, ask again with the faults, repair, keep or exclude.

Every task comes out again: with dimensions (`kept`, `repaired`), or without them and with the reason (`excluded`). Its
`meta["compile"]` records how, attempt by attempt. The rubric is never changed.
"""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BeforeValidator, Field, JsonValue

from prorubric.compile.check import TEXT_CHECKS, TextCheck, find_exclusion, find_faults, find_text_faults
from prorubric.compile.draft import Draft, Fault, make_object_schema, parse_draft
from prorubric.compile.prompt import (
    Domain,
    GeneratorPrompt,
    Question,
    find_domain,
    load_generator_prompt,
    render_generator_prompt,
    render_retry,
)
from prorubric.compile.repair import counts_from_zero, is_whole_from_zero, repair_draft
from prorubric.compile.rules import draft_by_rules, find_unread
from prorubric.compile.verify import Verification, Verifier, find_verify_faults, load_verify_prompt
from prorubric.errors import ConfigError
from prorubric.llm.model import Failure, Model, Reply, Request
from prorubric.llm.prompt_file import read_prompt
from prorubric.rubric.base import config_record, split_commas
from prorubric.rubric.records import ProtocolRubric, Task

State = Literal["kept", "repaired", "excluded"]
LINEAGE = "compile"
"""The key of a task's `meta` that records how its dimensions were made."""
RULES = "rules"
"""The generator that is not a model, but a baseline."""
RULES_IDENTITY = "rules/5"
"""The generator's name in compiled tasks; changes with anything in `rules` that changes a group or a text."""

FoundT = TypeVar("FoundT")


_ROW = {
    "name": {"type": "string"},
    "description": {"type": "string"},
    "weight": {"type": "number"},
    "atomic_indices": {"type": "array", "items": {"type": "integer"}},
}
GROUP_SCHEMA = make_object_schema({"criteria": {"type": "array", "items": make_object_schema(_ROW)}})


@config_record
class GeneratorConfig:
    """How a generator is asked, and what its replies must be."""

    _: KW_ONLY
    domain: Domain | None = None
    """Use the prompt of this domain for every task; by default each task's own domain decides."""
    prompt_file: Path | None = None
    """Your own prompt instead of the built-in one, with the same sections."""
    reasks: Annotated[int, Field(ge=0, le=2)] = 2
    """How many times to ask the generator again, with the faults of its last reply."""
    max_tokens: Annotated[int, Field(ge=1)] = 3000
    """Longest reply in tokens."""
    text_checks: Annotated[tuple[TextCheck, ...], BeforeValidator(split_commas)] = TEXT_CHECKS
    """Checks to run on the descriptions; empty for none."""
    retry_on_text: bool = True
    """Also ask again when only the text is at fault; otherwise report such faults and keep the draft."""
    repaired: Literal["keep", "exclude"] = "keep"
    """Keep or exclude a task whose draft had to be repaired."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """What became of one task."""

    task: Task
    """With its dimensions, or without them if it is excluded; in both cases with its lineage."""
    state: State
    exclusion: Fault | None = None
    attempts: int = 0
    faults: tuple[Fault, ...] = ()
    """Over all attempts."""
    repairs: tuple[str, ...] = ()
    text_faults: tuple[Fault, ...] = ()
    """Those that the kept draft still has."""
    verified: tuple[Verification, ...] = ()
    """What a verifying model said about each of the dimensions."""
    failed_texts: Mapping[str, Fault] = field(default_factory=dict)
    """Texts for other schemes that the generator did not deliver."""
    failure_sentences: Mapping[str, int] = field(default_factory=dict)
    """What the transform no-failure found."""
    failure: Failure | None = None
    """The failed call, if a question got no reply."""

    @property
    def reason(self) -> str | None:
        """Why the task is excluded."""
        return self.exclusion.kind if self.exclusion else None


@dataclass(frozen=True, slots=True)
class Asked(Generic[FoundT]):
    """The attempts at one question: what was found, and the faults of each reply."""

    found: FoundT | None
    attempts: int = 0
    faults: tuple[tuple[Fault, ...], ...] = ()
    failure: Failure | None = None
    """The last call, if it got no reply."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A draft that could be read, with what is wrong with it."""

    draft: Draft
    structure: tuple[Fault, ...] = ()
    text: tuple[Fault, ...] = ()
    repairs: tuple[str, ...] = ()
    verified: tuple[Verification, ...] = ()


class Compiler:
    """Makes dimensions for tasks with one generator: a model, or None for the rules; a second model may verify them."""

    def __init__(
        self,
        model: Model | None,
        config: GeneratorConfig | None = None,
        own_prompt: str | None = None,
        verifier: Verifier | None = None,
    ) -> None:
        self.model, self.verifier = model, verifier
        self.config = config or GeneratorConfig()
        path = self.config.prompt_file
        self._own_prompt = own_prompt if path is None or own_prompt is not None else read_prompt(path)
        self._prompts: dict[tuple[Question, Domain], GeneratorPrompt] = {}
        self.prompt_for("group", "general")  # refuses a prompt file that cannot be used, before a token is spent

    @property
    def name(self) -> str:
        """The generator's name in compiled tasks."""
        return RULES_IDENTITY if self.model is None else self.model.name

    def prompt_for(self, question: Question, domain: str | None) -> GeneratorPrompt:
        """The prompt for a question on a task of this domain."""
        key = (question, self.config.domain or find_domain(domain))
        if key not in self._prompts:
            own = self._own_prompt if question == "group" else None
            self._prompts[key] = load_generator_prompt(*key, own, self.config.prompt_file)
        return self._prompts[key]

    async def close(self) -> None:
        """Close the model."""
        if self.model is not None:
            await self.model.close()

    async def compile(self, task: Task) -> Compiled:
        """Make the dimensions of one task."""
        n = len(task.rubric)
        if n < 2:
            return self._finish(task, Asked(None), Fault("fewer than two criteria"))
        if self.model is None and (fault := find_unread(task)):
            return self._finish(task, Asked(None), fault)
        if self.model is None:
            candidate = self._examine(draft_by_rules(task), task)
            asked = Asked(candidate, 1, ((*candidate.structure, *candidate.text),))
            return await self._keep(task, asked, candidate)
        candidates: list[_Candidate] = []

        async def read(reply: Reply) -> _Candidate | tuple[Fault, ...] | Fault:
            draft = parse_draft(reply)
            if isinstance(draft, Fault):
                return draft
            candidate = self._examine(draft, task)
            if not candidate.structure:
                candidate = await self._verify(candidate, task)
            candidates.append(candidate)
            text = candidate.text if self.config.retry_on_text else ()
            return (*candidate.structure, *find_verify_faults(candidate.verified), *text) or candidate

        asked = await self.ask("group", task, read, GROUP_SCHEMA)
        if asked.found is None and candidates:
            # One that can be used, then the fewest faults of structure, then of what was verified, then of text; among
            # equals the last draft, which was written with the most feedback.
            def rank(one: _Candidate) -> tuple[bool, int, int, int]:
                lost = sum(len(indices) for found in one.verified for indices in found.faults.values())
                return isinstance(self._repair(one, n), Fault), len(one.structure), lost, len(one.text)

            asked = replace(asked, found=min(reversed(candidates), key=rank))
        # A draft is repaired when the retries are used up; after a failed call, the next run asks again.
        if asked.found is not None and not (asked.failure and asked.found.structure):
            return await self._keep(task, asked, asked.found)
        if asked.failure is None:
            last = asked.faults[-1][0]
            return self._finish(task, asked, Fault(f"no usable reply: {last.kind}", last.detail))
        refused = asked.failure.is_refusal
        kind = "the generator refuses the question" if refused else "no reply from the generator"
        return self._finish(task, asked, Fault(kind, asked.failure.reason))

    async def ask(
        self,
        question: Question,
        task: Task,
        read: Callable[[Reply], Coroutine[Any, Any, FoundT | tuple[Fault, ...] | Fault]],
        schema: Mapping[str, Any],
    ) -> Asked[FoundT]:
        """Ask until a reply can be used, telling the generator what was wrong, or until the retries are used up."""
        if self.model is None:
            raise ConfigError(f"there is no model to write texts ({RULES} writes none); name one with --generator")
        messages = render_generator_prompt(self.prompt_for(question, task.domain), task)
        first = request = Request(messages, max_tokens=self.config.max_tokens, schema=schema)
        faults: list[tuple[Fault, ...]] = []
        for attempt in range(1, self.config.reasks + 2):
            outcome = await self.model.complete(request)
            if isinstance(outcome, Failure):
                return Asked(None, attempt - 1, tuple(faults), outcome)
            found = await read(outcome)
            if isinstance(found, Fault):
                found = (found,)
            if not isinstance(found, tuple):
                return Asked(found, attempt, tuple(faults))
            faults.append(found)
            messages = render_retry(first.messages, outcome.text, [fault.detail for fault in found])
            # Another draw: if the generator repeats itself, the next question must not find the same reply.
            request = replace(first, messages=messages, draw=attempt)
        return Asked(None, len(faults), tuple(faults))

    def _examine(self, draft: Draft, task: Task) -> _Candidate:
        structure = find_faults(draft, len(task.rubric))
        return _Candidate(draft, tuple(structure), tuple(find_text_faults(draft, task, self.config.text_checks)))

    async def _verify(self, candidate: _Candidate, task: Task) -> _Candidate:
        """The candidate with what the verifying model says about it, if there is one."""
        if self.verifier is None or candidate.verified:
            return candidate
        return replace(candidate, verified=await self.verifier.verify(candidate.draft, task))

    async def _keep(self, task: Task, asked: Asked[_Candidate], candidate: _Candidate) -> Compiled:
        """Keep a candidate, repaired and verified, or exclude the task."""
        outcome = self._repair(candidate, len(task.rubric))
        return self._finish(
            task, asked, await self._verify(outcome, task) if isinstance(outcome, _Candidate) else outcome
        )

    def _repair(self, candidate: _Candidate, n: int) -> _Candidate | Fault:
        """A candidate whose structure is right or was repaired, or why it cannot be."""
        if not candidate.structure:
            return candidate
        if counts_from_zero(candidate.draft, n) and not is_whole_from_zero(candidate.draft, n):
            return Fault("indices seem to count from 0 and are not complete")
        draft, repairs = repair_draft(candidate.draft, n)
        exclusion = find_exclusion(draft, n)
        if exclusion is None and self.config.repaired == "exclude":
            return Fault("needs a repair, and repaired tasks are excluded")
        return exclusion or replace(candidate, draft=draft, repairs=repairs)

    def _finish(self, task: Task, asked: Asked[_Candidate], outcome: _Candidate | Fault) -> Compiled:
        """The task with its dimensions and lineage; fields without content are left out of the lineage."""
        exclusion = outcome if isinstance(outcome, Fault) else None
        kept = outcome if isinstance(outcome, _Candidate) else _Candidate(Draft(()))
        state: State = "excluded" if exclusion else "repaired" if kept.repairs else "kept"
        prompt = None if self.model is None else self.prompt_for("group", task.domain)
        rows = kept.draft.dimensions
        verification: JsonValue = None
        if self.verifier is not None and kept.verified:
            found = {"model": self.verifier.model.name, "prompt_sha256": load_verify_prompt()[1]}
            verification = {**found, "dimensions": [one.render() for one in kept.verified]}
        unverified = next((one.failure for one in kept.verified if one.failure), None)
        about: dict[str, JsonValue] = {
            "state": state,
            "generator": self.name,
            "prompt": None if prompt is None else "own" if self.config.prompt_file else prompt.domain,
            "prompt_sha256": None if prompt is None else prompt.sha256,
            "attempts": asked.attempts,
            "faults": [[fault.detail for fault in faults] for faults in asked.faults if faults],
            "repairs": [*kept.repairs],
            "text_faults": [fault.detail for fault in kept.text],
            "verification": verification,
            "notes": [*kept.draft.notes],
            "generator_weights": [row.weight for row in rows] if self.model else [],
            "failure": asked.failure.reason if asked.failure else None,
            "reason": exclusion.kind if exclusion else None,
        }
        lineage = {key: value for key, value in about.items() if value is not None and value != []}
        dimensions = [{"name": row.name, "description": row.description, "indices": row.indices} for row in rows]
        protocol = None if exclusion else ProtocolRubric.of(task.rubric, dimensions)
        return Compiled(
            task.model_copy(update={"protocol": protocol, "meta": {**task.meta, LINEAGE: lineage}}),
            state,
            exclusion,
            asked.attempts,
            faults=tuple(chain.from_iterable(asked.faults)),
            repairs=kept.repairs,
            text_faults=kept.text,
            verified=kept.verified,
            failure=asked.failure if exclusion else unverified,
        )


def add_lineage(task: Task, about: Mapping[str, JsonValue]) -> Task:
    """The task with more in its lineage."""
    earlier = task.meta.get(LINEAGE)
    lineage = {**(earlier if isinstance(earlier, dict) else {}), **about}
    return task.model_copy(update={"meta": {**task.meta, LINEAGE: lineage}})
