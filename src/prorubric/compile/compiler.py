"""One checklist at a time: generate, validate, ask again with the faults told, repair, keep or exclude.

A task always comes out again: with dimensions (`kept`, `repaired`), or without and with the reason (`excluded`). How
that came about, attempt by attempt, is in its `meta["compile"]`. The rubric is never changed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BeforeValidator, Field, JsonValue

from prorubric.compile.check import TEXT_CHECKS, TextCheck, find_exclusion, find_faults, find_text_faults
from prorubric.compile.draft import Draft, DraftDimension, Fault, parse_draft
from prorubric.compile.prompt import Domain, Prompt, Question, find_domain, load_prompt, render_prompt, render_retry
from prorubric.compile.repair import Repaired, counts_from_zero, is_whole_from_zero, repair_draft
from prorubric.compile.rules import draft_by_rules
from prorubric.errors import ConfigError
from prorubric.llm.model import Failure, Model, Reply, Request
from prorubric.llm.prompt_file import read_prompt
from prorubric.rubric.base import config_record, split_commas
from prorubric.rubric.records import ProtocolRubric, Task

State = Literal["kept", "repaired", "excluded"]
STATES: tuple[State, ...] = ("kept", "repaired", "excluded")
LINEAGE = "compile"
"""The key of a task's `meta` under which it says how its dimensions were made."""
RULES = "rules"
"""The generator that is not a model: runs of neighbouring criteria. A weak baseline, labelled as such."""
RULES_IDENTITY = "rules/3"
"""What a task says it was made by; changes with anything in `rules` that changes a group or a text."""

FoundT = TypeVar("FoundT")

GROUP_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "criteria": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "description": {"type": "string"},
                    "weight": {"type": "number"},
                    "atomic_indices": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["name", "description", "weight", "atomic_indices"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["criteria"],
    "additionalProperties": False,
}


@config_record
class GeneratorConfig:
    """How a generator is asked, and what its replies must be."""

    _: KW_ONLY
    domain: Domain | None = None
    """Use the prompt of this domain for every task; by default each task's own domain decides."""
    prompt_file: Path | None = None
    """Your own prompt instead of the built-in one, with the same sections."""
    reasks: Annotated[int, Field(ge=0, le=2)] = 2
    """How often the generator is asked again, told what was wrong."""
    max_tokens: Annotated[int, Field(ge=1)] = 3000
    """Longest reply in tokens."""
    text_checks: Annotated[tuple[TextCheck, ...], BeforeValidator(split_commas)] = TEXT_CHECKS
    """Checks to run on the descriptions; empty for none."""
    retry_on_text: bool = True
    """Also ask again when only the text is at fault; otherwise report such faults and keep the draft."""
    repaired: Literal["keep", "exclude"] = "keep"
    """What to do with a task whose draft had to be repaired."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """What became of one task."""

    task: Task
    """With its dimensions, or without them where it is excluded; with its lineage in any case."""
    state: State
    reason: str | None
    """Why it is excluded."""
    attempts: int
    faults: tuple[Fault, ...]
    """What the generator was asked again for, over all attempts."""
    repairs: tuple[str, ...] = ()
    text_faults: tuple[Fault, ...] = ()
    """Those that the kept draft still has."""
    failure: Failure | None = None
    """What the failed call said, where the task is excluded for want of a reply."""


@dataclass(frozen=True, slots=True)
class Asked(Generic[FoundT]):
    """The attempts at one question: what was found, and the faults of each reply."""

    found: FoundT | None
    attempts: int
    faults: tuple[tuple[Fault, ...], ...]
    failure: Failure | None = None
    """Why the last call gave no reply, where it gave none."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A draft that could be read, with what is wrong with it."""

    draft: Draft
    structure: tuple[Fault, ...]
    text: tuple[Fault, ...]

    @property
    def faults(self) -> tuple[Fault, ...]:
        return (*self.structure, *self.text)


class Compiler:
    """Makes dimensions for tasks with one generator: a model, or None for the rules."""

    def __init__(
        self, model: Model | None, config: GeneratorConfig | None = None, own_prompt: str | None = None
    ) -> None:
        self.model = model
        self.config = config or GeneratorConfig()
        path = self.config.prompt_file
        self._own_prompt = own_prompt if path is None or own_prompt is not None else read_prompt(path)
        self._is_stopping = False
        self._prompts: dict[tuple[Question, Domain], Prompt] = {}
        self.prompt_for("group", "general")  # a prompt file that cannot be used is found before a token is spent

    @property
    def name(self) -> str:
        """The generator, as every compiled task names it."""
        return RULES_IDENTITY if self.model is None else self.model.name

    def prompt_for(self, question: Question, domain: str | None) -> Prompt:
        """The prompt for a question on a task of this domain."""
        key = (question, self.config.domain or find_domain(domain))
        if key not in self._prompts:
            own = self._own_prompt if question == "group" else None
            self._prompts[key] = load_prompt(*key, own, self.config.prompt_file)
        return self._prompts[key]

    def stop(self) -> None:
        """Ask nothing more; what has been asked is waited for."""
        self._is_stopping = True

    async def close(self) -> None:
        """Let go of the model."""
        if self.model is not None:
            await self.model.close()

    async def compile(self, task: Task) -> Compiled:
        """Make the dimensions of one task."""
        n = len(task.rubric)
        if n < 2:
            return self._exclude(task, Asked(None, 0, ()), "fewer than two criteria")
        if self.model is None:
            candidate = self._examine(_draft_by_rules(task), task)
            return self._conclude(task, Asked(candidate, 1, (candidate.faults,)))
        best: list[_Candidate] = []

        def read(reply: Reply) -> _Candidate | tuple[Fault, ...]:
            draft = parse_draft(reply)
            if isinstance(draft, Fault):
                return (draft,)
            candidate = self._examine(draft, task)
            best.append(candidate)
            wrong = candidate.faults if self.config.retry_on_text else candidate.structure
            return wrong or candidate

        asked = await self.ask("group", task, read, GROUP_SCHEMA)
        if asked.found is None and best:
            asked = replace(asked, found=self._choose(best, n))
        return self._conclude(task, asked)

    async def ask(
        self,
        question: Question,
        task: Task,
        read: Callable[[Reply], FoundT | tuple[Fault, ...]],
        schema: Mapping[str, Any],
    ) -> Asked[FoundT]:
        """Ask until a reply can be used, telling the generator what was wrong, or until the retries are used up."""
        if self.model is None:
            raise ConfigError(f"there is no model to write texts ({RULES} writes none); name one with --generator")
        first = request = self.make_request(question, task, schema)
        faults: list[tuple[Fault, ...]] = []
        for attempt in range(1, self.config.reasks + 2):
            if self._is_stopping:
                stopped = Failure("gave-up", "stopped before it was asked", attempts=0)
                return Asked(None, attempt - 1, tuple(faults), stopped)
            outcome = await self.model.complete(request)
            if isinstance(outcome, Failure):
                return Asked(None, attempt - 1, tuple(faults), outcome)
            found = read(outcome)
            if not isinstance(found, tuple):
                return Asked(found, attempt, tuple(faults))
            faults.append(found)
            messages = render_retry(first.messages, outcome.text, [fault.message for fault in found])
            # Another draw: where the generator repeats itself, the next question must not find the same reply.
            request = replace(first, messages=messages, draw=attempt)
        return Asked(None, len(faults), tuple(faults))

    def make_request(self, question: Question, task: Task, schema: Mapping[str, Any]) -> Request:
        """The first question of its kind about a task."""
        prompt = self.prompt_for(question, task.domain)
        return Request(render_prompt(prompt, task), max_tokens=self.config.max_tokens, schema=schema)

    def _examine(self, draft: Draft, task: Task) -> _Candidate:
        structure = find_faults(draft, len(task.rubric))
        return _Candidate(draft, tuple(structure), tuple(find_text_faults(draft, task, self.config.text_checks)))

    def _choose(self, candidates: Sequence[_Candidate], n: int) -> _Candidate:
        """What can be used, then the fewest faults of structure, then of text; of equals the last: it was told most."""

        def weigh(one: _Candidate) -> tuple[bool, int, int]:
            return isinstance(self._mend(one, n), str), len(one.structure), len(one.text)

        return min(reversed(candidates), key=weigh)

    def _mend(self, candidate: _Candidate, n: int) -> Repaired | str:
        """A draft whose structure is right or was put right, or why there is none."""
        draft = candidate.draft
        if not candidate.structure:
            return Repaired(draft, ())
        if counts_from_zero(draft, n) and not is_whole_from_zero(draft, n):
            return "indices seem to count from 0 and are not complete"
        mended = repair_draft(draft, n)
        reason = find_exclusion(mended.draft, n)
        if reason is None and self.config.repaired == "exclude":
            return "needs a repair, and repaired tasks are excluded"
        return reason or mended

    def _conclude(self, task: Task, asked: Asked[_Candidate]) -> Compiled:
        """Keep the best draft, repair it, or say why there is none."""
        # A repair is for when the retries are used up; where a call failed, the next run asks again.
        if asked.found is None or (asked.failure is not None and asked.found.structure):
            return self._exclude(task, asked, _explain(asked))
        mended = self._mend(asked.found, len(task.rubric))
        if isinstance(mended, str):
            return self._exclude(task, asked, mended)
        draft, repairs = mended.draft, mended.repairs
        state: State = "repaired" if repairs else "kept"
        lineage = self._describe(task, state, asked, draft, repairs)
        protocol = ProtocolRubric.of(task.rubric, map(_as_mapping, draft.dimensions))
        made = task.model_copy(update={"protocol": protocol, "meta": {**task.meta, LINEAGE: lineage}})
        return Compiled(made, state, None, asked.attempts, _flatten(asked), repairs, asked.found.text)

    def _exclude(self, task: Task, asked: Asked[_Candidate], reason: str) -> Compiled:
        lineage = {**self._describe(task, "excluded", asked), "reason": reason}
        made = task.model_copy(update={"protocol": None, "meta": {**task.meta, LINEAGE: lineage}})
        return Compiled(made, "excluded", reason, asked.attempts, _flatten(asked), failure=asked.failure)

    def _describe(
        self,
        task: Task,
        state: State,
        asked: Asked[_Candidate],
        draft: Draft | None = None,
        repairs: tuple[str, ...] = (),
    ) -> dict[str, JsonValue]:
        """How the dimensions of a task were made; what there is nothing to say about is left out."""
        prompt = None if self.model is None else self.prompt_for("group", task.domain)
        weights = [dimension.weight for dimension in draft.dimensions] if draft and self.model else []
        about: dict[str, JsonValue] = {
            "state": state,
            "generator": self.name,
            "prompt": None if prompt is None else "own" if self.config.prompt_file else prompt.domain,
            "prompt_sha256": None if prompt is None else prompt.sha256,
            "attempts": asked.attempts,
            "faults": [[fault.message for fault in faults] for faults in asked.faults if faults],
            "repairs": [*repairs],
            "text_faults": [fault.message for fault in asked.found.text] if asked.found and draft else [],
            "notes": [*draft.notes] if draft else [],
            "generator_weights": [*weights],
            "failure": asked.failure.reason if asked.failure else None,
        }
        return {key: value for key, value in about.items() if value is not None and value != []}


def _draft_by_rules(task: Task) -> Draft:
    return Draft(
        tuple(
            DraftDimension(str(part["name"]), str(part["description"]), tuple(part["indices"]))
            for part in draft_by_rules(task)
        )
    )


def _as_mapping(dimension: DraftDimension) -> dict[str, Any]:
    return {"name": dimension.name, "description": dimension.description, "indices": dimension.indices}


def _explain(asked: Asked[_Candidate]) -> str:
    if asked.failure is not None:
        return "the generator refuses the question" if asked.failure.is_refusal else "no reply from the generator"
    return f"no usable reply: {asked.faults[-1][0].kind}"


def _flatten(asked: Asked[_Candidate]) -> tuple[Fault, ...]:
    return tuple(fault for faults in asked.faults for fault in faults)
