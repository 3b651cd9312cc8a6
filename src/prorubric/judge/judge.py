"""The judge: one call a response and reading, and no verdict that the model did not give.

Items that a reply does not settle are asked again, and only those, as a fresh draw; what is still open is `Unknown`
with its reason. A model that gives probabilities instead of text is asked item by item, and its verdict is a
threshold on them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from prorubric.errors import ConfigError, UnjudgedError
from prorubric.judge.items import Item, Reading, list_items
from prorubric.judge.parse import Readout, Wanted, parse_items, parse_one, read_boolean, read_level, read_mark
from prorubric.judge.render import (
    PROMPT_NAMES,
    Layout,
    Prompt,
    PromptName,
    Rendered,
    Style,
    ask_for_key,
    load_prompt,
    render_pair,
    render_prompt,
)
from prorubric.llm.model import Failure, Model, Reply, Request, YesNoModel
from prorubric.llm.together import run_together
from prorubric.rubric.base import config_record
from prorubric.rubric.records import Task
from prorubric.rubric.verdict import Unknown, Verdict

CANARY = "The whole answer consists of a single empty line and, at the same time, of more than a thousand words."
"""An item that no answer can meet. A reply that calls it true, or leaves it out, was not judging."""

MOST_REASKS = 10

Comparison = Literal["first", "second", "tie", "inconsistent"]
# What the two orders said, and what that means for the answer that was first in the first of them.
_SIDES: dict[tuple[Any, Any], Comparison] = {
    ("first", "second"): "first",
    ("second", "first"): "second",
    ("equal", "equal"): "tie",
}


def _name_prompt(value: object) -> object:
    return {"binary": value} if isinstance(value, str | Path) else value


@config_record
class JudgeConfig:
    """How a judge is asked."""

    _: KW_ONLY
    layout: Layout = "paper"
    """Order of the prompt: the paper's, or everything that responses share first, for servers with a prefix cache."""
    show_weights: bool = True
    """Show the judge the weights, as in the paper."""
    max_items: Annotated[int, Field(ge=1)] | None = None
    """Ask about at most so many items in one call."""
    reasons: bool = False
    """Ask for a short reason before each verdict."""
    reasks: Annotated[int, Field(ge=0, le=MOST_REASKS)] = 2
    """How often items without a readable verdict are asked again."""
    canary: bool = False
    """Slip in an item that no answer can meet, and void replies that call it true or leave it out."""
    draws: Annotated[int, Field(ge=1)] = 2
    """Levels: how many draws are averaged."""
    draw_temperature: Annotated[float, Field(ge=0)] = 0.7
    """The temperature of levels' draws and of asking again; everything else is greedy."""
    max_tokens: Annotated[int, Field(ge=1)] = 1024
    """The longest reply."""
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Models that give probabilities: the probability at or above which a verdict is true."""
    unknown_band: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """Models that give probabilities: how near to the threshold a verdict is unknown."""
    prompt_file: Annotated[dict[str, Path], BeforeValidator(_name_prompt)] = field(default_factory=dict)
    """A prompt of your own in place of ours; --prompt-file.graded and so on for those by another name than binary."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdicts of one reading, in the order of its items, and what else is known of them."""

    verdicts: tuple[Verdict, ...]
    probabilities: tuple[float, ...] | None = None
    reasons: Mapping[int, str] = field(default_factory=dict)
    calls: int = 0
    prompt_characters: int = 0
    shared_characters: int = 0
    """How much of the prompts every response to the task has in common."""


@dataclass(slots=True)
class _Case:
    """One response under judgement, and what judging it cost so far."""

    task: Task
    response: str
    calls: int = 0
    prompt: int = 0
    shared: int = 0
    reasons: dict[int, str] = field(default_factory=dict)

    def count(self, rendered: Rendered) -> None:
        self.calls += 1
        self.prompt += sum(len(message.content) for message in rendered.messages)
        self.shared += rendered.shared_characters

    def conclude(self, verdicts: Sequence[Verdict]) -> Judgement:
        return Judgement(tuple(verdicts), None, self.reasons, self.calls, self.prompt, self.shared)


_CUT = ("length", "content_filter")


class Judge:
    """Gives verdicts. Its prompts are read and checked when it is made."""

    def __init__(self, model: Model | YesNoModel, config: JudgeConfig | None = None) -> None:
        self.model = model
        # A model that can do both is asked for probabilities: small ones are far better at that than at writing JSON.
        self._yes_no = model if isinstance(model, YesNoModel) else None
        self._text = model if isinstance(model, Model) else None
        if self._yes_no is None and self._text is None:
            raise ConfigError(f"{model!r} is not a model; make one with make_model")
        self.config = config or JudgeConfig()
        files = self.config.prompt_file
        strangers = sorted(files.keys() - set(PROMPT_NAMES))
        if strangers:
            raise ConfigError(f"no prompt is called {strangers[0]!r}; known: {', '.join(PROMPT_NAMES)}")
        self._prompts = {name: load_prompt(name, files.get(name), self.config.reasons) for name in PROMPT_NAMES}
        self._style = Style(self.config.layout, self.config.show_weights, self.config.reasons)

    async def judge(self, task: Task, response: str, reading: Reading) -> Judgement:
        """The verdicts of one reading on one response."""
        items = list_items(task, reading)
        if self._yes_no is not None:
            return await self._judge_by_probability(self._yes_no, task, response, reading, items)
        case = _Case(task, response)
        if reading == "mark":
            return case.conclude([await self._ask_value("holistic", self._render("holistic", case, items), case)])
        if reading == "levels":
            return case.conclude(await self._average_levels(case, items))
        return case.conclude(await self._ask_in_parts(self._prompts["binary"], case, items))

    async def judge_singly(self, task: Task, response: str, reading: Reading) -> Judgement:
        """One call an item, the reason before the verdict: slower, and what benchmarks ask for."""
        case = _Case(task, response)
        return case.conclude(
            await run_together(
                self._ask_value("single", self._render("single", case, (item,)), case)
                for item in list_items(task, reading)
            )
        )

    async def compare(self, task: Task, first: str, second: str) -> Comparison | Unknown:
        """Which of two answers is better, asked in both orders; a win counts only if both orders agree."""
        prompt = self._prompts["pairwise"]
        forth, back = await run_together(
            self._ask_value("pairwise", render_pair(prompt, task, *pair), _Case(task, first))
            for pair in ((first, second), (second, first))
        )
        for side in (forth, back):
            if isinstance(side, Unknown):
                return side
        return _SIDES.get((forth, back), "inconsistent")

    async def close(self) -> None:
        """Close the model."""
        await self.model.close()

    async def _average_levels(self, case: _Case, items: tuple[Item, ...]) -> list[Verdict]:
        prompt = self._prompts["graded"]
        draws = await run_together(self._ask_in_parts(prompt, case, items, draw) for draw in range(self.config.draws))
        return [_mean(column) for column in zip(*draws, strict=True)]

    async def _ask_in_parts(self, prompt: Prompt, case: _Case, items: tuple[Item, ...], draw: int = 0) -> list[Verdict]:
        size = self.config.max_items or len(items)
        parts = [items[start : start + size] for start in range(0, len(items), size)]
        if len(parts) == 1:
            return await self._ask(prompt, case, items, draw)
        answers = await run_together(self._ask(prompt, case, part, draw) for part in parts)
        return [verdict for answer in answers for verdict in answer]

    async def _ask(self, prompt: Prompt, case: _Case, items: tuple[Item, ...], draw: int) -> list[Verdict]:
        """Ask about some items until each has a verdict, or until asking again is used up."""
        known: dict[int, Verdict] = {}
        faults: dict[int, str] = {}
        open_items = items
        for attempt in range(self.config.reasks + 1):
            # Numbered by the most reasks there can be, so that a journal answers with any other number of them.
            number = draw * (MOST_REASKS + 1) + attempt
            found = await self._call(prompt, case, open_items, number, is_again=attempt > 0)
            if isinstance(found, Failure):
                faults.update({item.index: f"no reply: {found.reason}" for item in open_items})
                break
            known.update(found.values)
            faults.update(found.faults)
            case.reasons.update(found.reasons)
            open_items = tuple(item for item in open_items if item.index not in known)
            if not open_items:
                break
        return [known[item.index] if item.index in known else Unknown(faults[item.index]) for item in items]

    async def _call(
        self, prompt: Prompt, case: _Case, items: tuple[Item, ...], draw: int, is_again: bool
    ) -> Readout | Failure:
        """Ask about some items once, and read the reply."""
        canary = Item(items[-1].index + 1, CANARY, 1.0) if self.config.canary else None
        shown = items if canary is None else (*items, canary)
        asked, wanted = tuple(item.index for item in shown), _WANTED[prompt.name]
        rendered = render_prompt(prompt, case.task, case.response, shown, self._style)
        if is_again:
            rendered, wanted = ask_for_key(rendered, wanted)
        case.count(rendered)
        sampled = draw > 0 or prompt.name == "graded"
        reply = await self._complete(
            Request(
                rendered.messages,
                max_tokens=self.config.max_tokens,
                temperature=self.config.draw_temperature if sampled else 0.0,
                schema=make_schema(wanted.name, asked, self.config.reasons, wanted.key),
                draw=draw,
            )
        )
        if isinstance(reply, Failure):
            return reply
        found = parse_items(reply.text, asked, wanted, rendered.material, is_cut=reply.finish in _CUT)
        if canary is not None:
            met = found.values.pop(canary.index, None)
            found.faults.pop(canary.index, None)
            if met is None or met:
                what = "called an item true that" if met else "gave no verdict on the item that"
                reason = f"the judge {what} no answer can meet"
                found = Readout(faults={**dict.fromkeys(found.values, reason), **found.faults})
        if reply.finish == "length":
            found.faults = {index: f"{fault} (the reply was cut off)" for index, fault in found.faults.items()}
        return found

    def _render(self, name: PromptName, case: _Case, items: tuple[Item, ...]) -> Rendered:
        style = Style(self.config.layout, self.config.show_weights)
        return render_prompt(self._prompts[name], case.task, case.response, items, style)

    async def _ask_value(self, prompt: PromptName, rendered: Rendered, case: _Case) -> Verdict | Any:
        """Ask for one value until it can be read, or until asking again is used up."""
        wanted, fault = _WANTED[prompt], ""
        for draw in range(self.config.reasks + 1):
            if draw == 1:
                rendered, wanted = ask_for_key(rendered, wanted)
            case.count(rendered)
            reason = {"reason": {"type": "string"}} if prompt == "single" else {}
            outcome = await self._complete(
                Request(
                    rendered.messages,
                    max_tokens=self.config.max_tokens,
                    temperature=self.config.draw_temperature if draw else 0.0,
                    schema=_object(reason | {wanted.key or wanted.name: _SCHEMAS[wanted.name]}),
                    draw=draw,
                )
            )
            if isinstance(outcome, Failure):
                return Unknown(f"no reply: {outcome.reason}")
            value = parse_one(outcome.text, wanted, rendered.material, is_cut=outcome.finish in _CUT)
            if value is not None:
                return value
            fault = f"no readable {wanted.name} in the reply" if outcome.text.strip() else "the reply is empty"
        return Unknown(fault)

    async def _complete(self, request: Request) -> Reply | Failure:
        if self._text is None:
            raise ConfigError(f"{self.model.name} gives probabilities and no text; use another judge for this")
        return await self._text.complete(request)

    async def _judge_by_probability(
        self, model: YesNoModel, task: Task, response: str, reading: Reading, items: tuple[Item, ...]
    ) -> Judgement:
        texts = [item.text for item in items]
        conversation = "\n\n".join(f"{message.role}: {message.content}" for message in task.messages)
        count = 1 if reading == "mark" else len(items)
        try:
            probabilities = await model.probabilities(conversation, response, texts)
        except UnjudgedError as error:
            return Judgement((Unknown(str(error)),) * count, calls=1)
        if len(probabilities) != len(items):
            reason = f"the model gave {len(probabilities)} probabilities for {len(items)} items"
            return Judgement((Unknown(reason),) * count, calls=1)
        verdicts = _from_probabilities(probabilities, items, reading, self.config)
        return Judgement(tuple(verdicts), tuple(probabilities), calls=1)


def make_schema(name: str, indices: tuple[int, ...], reasons: bool, key: str | None = None) -> dict[str, Any]:
    """The JSON schema of a reply on these items, under a key that is the name where no other is given."""
    value = _SCHEMAS[name]
    if reasons:
        value = _object({"reason": {"type": "string"}, name: value})
    return _object({key or name: _object({str(index): value for index in indices})})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _mean(column: Sequence[Verdict]) -> Verdict:
    """The mean of several draws; one that is unknown leaves the mean unknown."""
    for verdict in column:
        if isinstance(verdict, Unknown):
            return verdict
    return sum(float(verdict) for verdict in column if not isinstance(verdict, Unknown)) / len(column)


def _from_probabilities(
    probabilities: Sequence[float], items: tuple[Item, ...], reading: Reading, config: JudgeConfig
) -> list[Verdict]:
    """Verdicts from probabilities: a level is three times one, rounded, a mark follows the expected share of weight."""
    bad = [p for p in probabilities if not 0 <= p <= 1]
    if reading == "mark":
        if bad:
            return [Unknown(f"the model gave {bad[0]} for a probability")]
        kept = [p if item.weight > 0 else 1 - p for p, item in zip(probabilities, items, strict=True)]
        total = sum(abs(item.weight) for item in items)
        share = sum(abs(item.weight) * k for item, k in zip(items, kept, strict=True)) / total
        return [1 + 9 * min(1.0, share)]
    return [_from_probability(p, reading, config) for p in probabilities]


def _from_probability(probability: float, reading: Reading, config: JudgeConfig) -> Verdict:
    if not 0 <= probability <= 1:
        return Unknown(f"the model gave {probability} for a probability")
    if reading == "levels":
        return round(3 * probability)
    if abs(probability - config.threshold) < config.unknown_band:
        return Unknown(f"the probability {probability:.2f} is too near to the threshold {config.threshold:g}")
    return probability >= config.threshold


def _read_side(value: Any) -> Any:
    word = value.strip().lower() if isinstance(value, str) else None
    return word if word in ("first", "second", "equal") else None


_WANTED: dict[PromptName, Wanted] = {
    "binary": Wanted("satisfied", read_boolean),
    "graded": Wanted("levels", read_level),
    "holistic": Wanted("mark", read_mark, is_bare=True),
    "single": Wanted("satisfied", read_boolean),
    "pairwise": Wanted("better", _read_side),
}
_SCHEMAS: dict[str, dict[str, Any]] = {
    "satisfied": {"type": "boolean"},
    "levels": {"type": "integer", "minimum": 0, "maximum": 3},
    "mark": {"type": "integer", "minimum": 1, "maximum": 10},
    "better": {"type": "string", "enum": ["first", "second", "equal"]},
}
