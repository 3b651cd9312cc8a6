"""The judge: one call per response and reading, and no verdict that the model did not give.

Items that a reply leaves open are asked about again, and only those, as a fresh draw; what is still open then is
`Unknown` with its reason. With several votes, all of this is done once for each of them, and the majority counts. A
model that gives probabilities instead of text is asked once, and a verdict is a threshold on its probability.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import lru_cache, partial
from hashlib import sha256
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from prorubric.errors import ConfigError, UnjudgedError
from prorubric.judge.addressing import Addressing, find_addressing
from prorubric.judge.answer import ShownAnswer, View, show_answer
from prorubric.judge.checks import CheckedItems, run_checks
from prorubric.judge.evidence import check_evidence
from prorubric.judge.forms import APPLICABLE, BOOLEAN, SIDE, TEXT_LABEL, VerdictForm
from prorubric.judge.parse import Quote, parse_items, parse_one
from prorubric.judge.readings import Item, Reading, find_reading, list_items
from prorubric.judge.render import (
    JudgePrompt,
    Layout,
    Rendered,
    ask_for_key,
    load_judge_prompts,
    render_judge_prompt,
    render_pair,
)
from prorubric.judge.text_replies import parse_text_reply
from prorubric.judge.texts import TEXTS
from prorubric.judge.votes import average_votes, join_votes
from prorubric.llm.model import Failure, Model, Reply, Request, YesNoModel, refuse_statement
from prorubric.llm.together import run_together
from prorubric.rubric.base import config_record
from prorubric.rubric.records import Answer, Response, Task, find_last_text
from prorubric.rubric.verdict import NO_REPLY, Evidence, NotApplicable, Unknown, Verdict, are_boolean, is_unknown

CANARY = TEXTS["canary"]
"""An item that no answer can meet. A reply that calls it true, or leaves it out, was not judging."""

MOST_REASKS, MOST_VOTES = 10, 15

Comparison = Literal["first", "second", "tie", "inconsistent"]
# What the two orders said, and what that means for the answer that was first in the first of them.
_SIDES: dict[tuple[Any, Any], Comparison] = {
    ("first", "second"): "first",
    ("second", "first"): "second",
    ("equal", "equal"): "tie",
}
_CANARY_MET = Unknown("the judge called an item true that no answer can meet", kind="canary")
_CANARY_LEFT_OUT = Unknown("the judge gave no verdict on the item that no answer can meet", kind="canary")
_UNFOUNDED = Unknown("the judge quotes what the answer does not say", kind="unfounded")
_SILENT = Unknown("the transcript has no assistant turn", kind="no answer")
_CUT = ("length", "content_filter")
_INDEX = attrgetter("index")
_NOTES = {"reason": {"type": "string"}, "quote": {"type": "string"}, "turn": {"type": "integer", "minimum": 0}}
"""What a reply says of an item besides its verdict, as parts of a JSON schema."""


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
    """Maximum number of items in one call."""
    reasons: bool = False
    """Ask for a short reason before each verdict."""
    evidence: bool = False
    """With reasons: also ask for a quotation (in transcripts, with its turn) and check that it occurs."""
    unfounded: Literal["flag", "unknown"] = "flag"
    """If a quotation does not occur in the answer: flag the verdict, or ask again and then make it unknown."""
    reasks: Annotated[int, Field(ge=0, le=MOST_REASKS)] = 2
    """How many times to ask again about items without a readable verdict."""
    canary: bool = False
    """Add an item that no answer can meet, and void replies that call it true or leave it out."""
    votes: Annotated[int, Field(ge=1, le=MOST_VOTES)] = 1
    """Ask about each item this many times, as separate draws; the majority counts. Levels and marks are averaged."""
    permute: bool = False
    """Show the items in a different order in every vote after the first."""
    min_agreement: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Votes and panels: a verdict with a smaller share of the votes is unknown."""
    cascade: Annotated[float, Field(gt=0, le=1)] | None = None
    """Two judges: items that the first is less sure of than this go to the second."""
    not_applicable: bool = False
    """Let the judge say that an item does not apply to the answer."""
    addressing: Addressing = "flag"
    """If an answer addresses the judge: flag it, make its verdicts unknown without a call, or ignore it."""
    draws: Annotated[int, Field(ge=1)] = 2
    """Levels: number of draws to average, unless there are more votes."""
    draw_temperature: Annotated[float, Field(ge=0)] = 0.7
    """Temperature for draws of levels, votes after the first, and re-asks; everything else is greedy."""
    max_tokens: Annotated[int, Field(ge=1)] = 1024
    """Maximum length of a reply, in tokens."""
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """Models that give probabilities: the probability at or above which a verdict is true."""
    unknown_band: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """Models that give probabilities: a verdict closer to the threshold than this is unknown."""
    python_checks: bool = False
    """Let checks call the Python functions that the tasks file names; only for files you trust."""
    view: View = "last"
    """Show the judge only the last turn of a transcript, or all of it."""
    max_transcript_characters: Annotated[int, Field(ge=1)] | None = 100_000
    """Longer transcripts are cut by whole turns: the first and the most recent ones are kept."""
    prompt_file: Annotated[dict[str, Path], BeforeValidator(_name_prompt)] = field(default_factory=dict)
    """Your own prompt instead of the built-in one; --prompt-file.graded and so on for prompts other than binary."""

    def __post_init__(self) -> None:
        if self.evidence and not self.reasons:
            raise ConfigError("evidence is asked for together with a reason; set reasons as well")
        if self.permute and self.votes == 1:
            raise ConfigError("permute changes the order between votes, and there is one vote; set votes to 2 or more")
        if self.votes > 1 and self.draw_temperature == 0 and not self.permute:
            raise ConfigError(f"the {self.votes} votes would be alike at draw_temperature 0; raise it, or set permute")


@dataclass(slots=True)
class Judgement:
    """The verdicts of one reading on one response, in the order of its items, filled in as replies are read."""

    verdicts: tuple[Verdict, ...] = ()
    probabilities: tuple[float | None, ...] | None = None
    """None for an item that a check decided."""
    reasons: dict[int, str] = field(default_factory=dict)
    """By the index of the item."""
    evidence: dict[int, Evidence] = field(default_factory=dict)
    """By the index of the item, what the judge says its verdict rests on."""
    agreement: dict[int, float] = field(default_factory=dict)
    """By the index of the item, the share of the votes that say what most say; empty if there was one vote."""
    unknown_votes: int = 0
    """Votes without a verdict, of several."""
    judges: "dict[str, Judgement]" = field(default_factory=dict)
    """The judgement of each member of a panel or a cascade."""
    only: tuple[int, ...] | None = None
    """The indices of the items that it is about, if the judge was not asked about all of them."""
    addressing: Mapping[str, str] = field(default_factory=dict)
    """What the answer says to its judge, by kind; see `find_addressing`."""
    calls: int = 0
    prompt_characters: int = 0
    shared_characters: int = 0
    """How much of the prompts every response to the task has in common."""
    turns_left_out: int = 0
    """Turns of a long transcript that the judge was not shown."""

    @property
    def sent_on(self) -> tuple[int, ...]:
        """The indices of the items that went on to the second judge of a cascade, which decided them."""
        return next((own.only for own in self.judges.values() if own.only is not None), ())


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
        self._prompts = load_judge_prompts(self.config.prompt_file, self.config.reasons)
        self._render = partial(render_judge_prompt, layout=self.config.layout, show_weights=self.config.show_weights)

    async def judge(
        self, task: Task, response: Answer, reading: str | Reading, only: tuple[int, ...] | None = None
    ) -> Judgement:
        """The verdicts of one reading on one response, a text or the turns of a transcript.

        `only` names the items to judge by their indices; without it, all are judged.
        """
        wanted = find_reading(reading)
        checks, shown = self._check(task, response, wanted).select(only), self._show(task, response)
        addressing = self._find_addressing(shown)
        if _is_silent(response):  # checks of an empty text would say nothing about an answer
            return Judgement((_SILENT,) * (1 if wanted.is_joint else len(checks.items)), only=only)
        if addressing and self.config.addressing == "unknown":
            found = Judgement((_refuse(addressing),) * (1 if wanted.is_joint else len(checks.asked)))
        else:
            found = await self._judge_items(task, shown, wanted, checks.asked) if checks.asked else Judgement()
        found.addressing, found.only = addressing, only
        found.verdicts = checks.complete(found.verdicts)
        if found.probabilities is not None and checks.decided:
            given = dict(zip((item.index for item in checks.asked), found.probabilities, strict=True))
            found.probabilities = tuple(given.get(item.index) for item in checks.items)
        found.reasons |= checks.reasons
        found.evidence = {index: given for index, given in found.evidence.items() if index not in checks.reasons}
        return found

    async def _judge_items(self, task: Task, shown: ShownAnswer, wanted: Reading, items: tuple[Item, ...]) -> Judgement:
        if self._yes_no is not None and not wanted.form.is_text:
            found = await self._judge_by_probability(self._yes_no, task, shown.text, wanted, items)
        else:
            prompt = self._find_prompt(wanted.prompt, self._find_form(wanted))
            if self.config.evidence and wanted.asks_by_item:
                asking = TEXTS["quote_and_turn" if shown.turns else "quote"]
                prompt = replace(prompt, closing=f"{prompt.closing} {asking}")
            render = partial(self._render, prompt, task, shown, show_points=wanted.shows_points)
            orders = [items] * max(self.config.votes, self.config.draws if wanted.is_averaged else 1)
            if self.config.permute and not wanted.form.is_text:
                orders[1:] = [_permute(items, f"{task.id}/{vote}") for vote in range(1, len(orders))]
            votes = await run_together(self._vote(render, wanted, order, vote) for vote, order in enumerate(orders))
            found = join_judgements(votes, wanted, items, self.config.min_agreement)
        found.turns_left_out = shown.turns_left_out
        return found

    async def _vote(
        self, render: Callable[[tuple[Item, ...]], Rendered], reading: Reading, order: tuple[Item, ...], vote: int
    ) -> Judgement:
        """One vote on all items, in the order in which they are shown; its verdicts are in the order of their indices.

        Items in another order than usual are numbered by it.
        """
        found, indices = Judgement(), [*map(_INDEX, order)]
        is_usual = indices == sorted(indices)
        shown = order if is_usual else tuple(replace(item, index=place) for place, item in enumerate(order, 1))
        if reading.is_joint or reading.form.is_text:
            value = await self._ask_for_one(render(shown), reading.form, found, vote=vote)
            if isinstance(value, tuple):
                found.verdicts = tuple(value[index - 1] for index in indices)
            else:
                found.verdicts = (value,) * (1 if reading.is_joint else len(shown))
            return found
        asked: Sequence[Sequence[Verdict]]
        if reading.is_single:
            one = partial(self._ask_for_one, form=reading.form, found=found, with_reason=True, vote=vote)
            asked = [await run_together(one(render((item,))) for item in shown)]
        else:
            size = min(self.config.max_items or len(shown), reading.most_items or len(shown))
            parts = [shown[start : start + size] for start in range(0, len(shown), size)]
            asked = await run_together(self._ask(render, reading, part, vote, found) for part in parts)
        found.verdicts = tuple(chain.from_iterable(asked))
        if not is_usual:
            verdicts = dict(zip(indices, found.verdicts, strict=True))
            found.verdicts = tuple(verdicts[index] for index in sorted(indices))
            found.reasons = {indices[place - 1]: reason for place, reason in found.reasons.items()}
            found.evidence = {indices[place - 1]: given for place, given in found.evidence.items()}
        return found

    async def judge_all(self, task: Task, response: Answer, readings: Sequence[str | Reading]) -> dict[str, Judgement]:
        """The judgements of several readings by their names, asked for at the same time."""
        wanted = [find_reading(reading) for reading in readings]
        found = await run_together(self.judge(task, response, reading) for reading in wanted)
        return {reading.name: judgement for reading, judgement in zip(wanted, found, strict=True)}

    async def judge_singly(self, task: Task, response: Answer, reading: str | Reading) -> Judgement:
        """One call an item, the reason before the verdict: slower, and what benchmarks ask for."""
        wanted, shown = find_reading(reading), self._show(task, response)
        checks, addressing = self._check(task, response, wanted), self._find_addressing(shown)
        found = Judgement(addressing=addressing, turns_left_out=shown.turns_left_out)
        form = self._find_form(wanted) if wanted.form is BOOLEAN else BOOLEAN
        prompts = (self._render(self._find_prompt("single", form), task, shown, (item,)) for item in checks.asked)
        asked = (self._ask_for_one(prompt, form, found, with_reason=True) for prompt in prompts)
        if _is_silent(response):
            found.verdicts = (_SILENT,) * len(checks.items)
            return found
        if found.addressing and self.config.addressing == "unknown":
            found.verdicts = checks.complete((_refuse(found.addressing),) * len(checks.asked))
        else:
            found.verdicts = checks.complete(await run_together(asked))
        found.reasons |= checks.reasons
        return found

    async def compare(self, task: Task, first: Answer, second: Answer) -> Comparison | Unknown:
        """Which of two answers is better, asked in both orders; a win counts only if both orders agree.

        An answer is a text or the turns of a transcript, of which the judge is shown as much as for a verdict.
        """
        forth, back = await self.compare_both_ways(task, first, second)
        for side in (forth, back):
            if isinstance(side, Unknown):
                return side
        return _SIDES.get((forth, back), "inconsistent")

    async def compare_both_ways(self, task: Task, first: Answer, second: Answer, prompt: str = "pairwise") -> list[Any]:
        """The verdict on two answers with `first` shown first, and with `second` shown first.

        The prompt `pairwise` gives `first`, `second` or `equal`; those of Arena-Hard give a label such as `A>>B`.
        """
        one, other = self._show(task, first), self._show(task, second)
        form = SIDE if prompt == "pairwise" else TEXT_LABEL
        return await run_together(
            self._ask_for_one(render_pair(self._prompts[prompt], task, *pair), form, Judgement())
            for pair in ((one, other), (other, one))
        )

    async def close(self) -> None:
        """Close the model."""
        await self.model.close()

    def _check(self, task: Task, response: Answer, reading: Reading) -> CheckedItems:
        """What checks say about the last turn."""
        text = response if isinstance(response, str) else find_last_text(response)
        return run_checks(task, text, reading, list_items(task, reading), python=self.config.python_checks)

    def _show(self, task: Task, response: Answer) -> ShownAnswer:
        return show_answer(task, response, self.config.view, self.config.max_transcript_characters)

    def _find_addressing(self, shown: ShownAnswer) -> Mapping[str, str]:
        return {} if self.config.addressing == "ignore" else find_addressing(shown.material)

    def _find_form(self, reading: Reading) -> VerdictForm:
        """The form of a reading's verdicts; an item about the whole response always applies."""
        may_not_apply = self.config.not_applicable and reading.form is BOOLEAN and reading.about != "response"
        return APPLICABLE if may_not_apply else reading.form

    def _find_prompt(self, name: str, form: VerdictForm) -> JudgePrompt:
        prompt = self._prompts[name]
        return replace(prompt, closing=f"{prompt.closing} {TEXTS['not_applicable']}") if form is APPLICABLE else prompt

    async def _ask(
        self,
        render: Callable[[tuple[Item, ...]], Rendered],
        reading: Reading,
        items: tuple[Item, ...],
        draw: int,
        found: Judgement,
    ) -> list[Verdict]:
        """Ask about some items until each has a verdict, or until asking again is used up."""
        verdicts: dict[int, Verdict] = {}
        open_items, form = items, self._find_form(reading)
        for attempt in range(self.config.reasks + 1):
            canary = Item(open_items[-1].index + 1, CANARY, 1.0) if self.config.canary else None
            shown = open_items if canary is None else (*open_items, canary)
            rendered, key = render(shown), None
            if attempt > 0:
                rendered, key = ask_for_key(rendered, form)
            asked = tuple(map(_INDEX, shown))
            # Numbered by the most reasks there can be, so a journal also answers a run with fewer or more of them.
            number = draw * (MOST_REASKS + 1) + attempt
            schema = _make_schema(form, asked, self._list_notes(rendered), key)
            reply = await self._send(rendered, schema, number, number > 0 or reading.is_averaged, found)
            if isinstance(reply, Failure):
                verdicts |= dict.fromkeys((item.index for item in open_items), _describe_failure(reply))
                break
            read, reasons, quotes = parse_items(
                reply.text, asked, form, rendered.material, key, is_cut=reply.finish in _CUT
            )
            evidence = self._check_quotes(quotes, rendered)
            if canary is not None:
                met = read.pop(canary.index)
                reasons.pop(canary.index, None)
                evidence.pop(canary.index, None)
                if met:  # true, unknown, or not applicable
                    void = _CANARY_LEFT_OUT if isinstance(met, Unknown | NotApplicable) else _CANARY_MET
                    read = {index: said if isinstance(said, Unknown) else void for index, said in read.items()}
                    reasons, evidence = {}, {}
            refused = [index for index, given in evidence.items() if not given.founded and not is_unknown(read[index])]
            read |= dict.fromkeys(refused if self.config.unfounded == "unknown" else (), _UNFOUNDED)
            if reply.finish == "length":
                for index, said in read.items():
                    if isinstance(said, Unknown):
                        read[index] = Unknown(f"{said.reason} (the reply was cut off)", kind="cut off")
            verdicts |= read
            found.reasons |= reasons
            found.evidence = {index: given for index, given in found.evidence.items() if index not in read} | evidence
            if are_boolean(read.values()):  # the usual case: nothing is open
                break
            for index, said in read.items():
                if isinstance(said, NotApplicable):
                    verdicts[index] = NotApplicable(reasons.get(index, ""))
            open_items = tuple(item for item in open_items if isinstance(verdicts[item.index], Unknown))
            if not open_items:
                break
        return [verdicts[item.index] for item in items]

    def _list_notes(self, rendered: Rendered) -> tuple[str, ...]:
        """What a reply says of each item besides its verdict."""
        has_turns = self.config.evidence and rendered.answer and rendered.answer.turns
        return (
            *(("reason",) if self.config.reasons else ()),
            *(("quote",) if self.config.evidence else ()),
            *(("turn",) if has_turns else ()),
        )

    def _check_quotes(self, quotes: Mapping[int, Quote], rendered: Rendered) -> dict[int, Evidence]:
        """The evidence of a reply, if it was asked for; turn 0 is none, and a single text has no turns."""
        if not self.config.evidence or rendered.answer is None:
            return {}
        turns = rendered.answer.turns
        given = {index: (quote.text, (quote.turn or None) if turns else None) for index, quote in quotes.items()}
        return {index: check_evidence(*said, rendered.answer) for index, said in given.items() if any(said)}

    async def _ask_for_one(
        self, rendered: Rendered, form: VerdictForm, found: Judgement, with_reason: bool = False, vote: int = 0
    ) -> Any:
        """Ask for one value until it can be read, or until asking again is used up."""
        value: Any = None
        key = None
        for attempt in range(self.config.reasks + 1):
            if attempt == (0 if form.is_text else 1):
                rendered, key = ask_for_key(rendered, form)
            reason = {"reason": {"type": "string"}} if with_reason else {}
            schema = None if form.is_text else _make_object(reason | {key or form.key: form.schema})
            draw = vote * (MOST_REASKS + 1) + attempt
            reply = await self._send(rendered, schema, draw, draw > 0, found)
            if isinstance(reply, Failure):
                return _describe_failure(reply)
            parse = parse_text_reply if form.is_text else parse_one
            value = parse(reply.text, form, rendered.material, key, is_cut=reply.finish in _CUT)
            if not isinstance(value, Unknown):
                break
        return value

    async def _send(
        self, rendered: Rendered, schema: dict[str, Any] | None, draw: int, is_sampled: bool, found: Judgement
    ) -> Reply | Failure:
        if self._text is None:
            raise ConfigError(f"{self.model.name} gives probabilities but no text; use another judge for this")
        found.calls += 1
        found.prompt_characters += sum(len(message.content) for message in rendered.messages)
        found.shared_characters += rendered.shared_characters
        return await self._text.complete(
            Request(
                rendered.messages,
                max_tokens=self.config.max_tokens,
                temperature=self.config.draw_temperature if is_sampled else 0.0,
                schema=schema,
                draw=draw,
            )
        )

    async def _judge_by_probability(
        self, model: YesNoModel, task: Task, response: str, reading: Reading, items: tuple[Item, ...]
    ) -> Judgement:
        """Verdicts from probabilities; what the model refuses to judge is unknown, and the rest is asked."""
        refused: dict[int, Verdict] = {
            item.index: Unknown(reason, kind="not judged")
            for item in items
            if (reason := refuse_statement(model, item.text))
        }
        if refused and reading.is_joint:
            return Judgement((next(iter(refused.values())),))
        rest = tuple(item for item in items if item.index not in refused)
        found = await self._ask_probabilities(model, task, response, reading, rest) if rest else Judgement()
        if refused:
            said = refused | dict(zip((item.index for item in rest), found.verdicts, strict=True))
            known = dict(zip((item.index for item in rest), found.probabilities or (), strict=False))
            found.verdicts = tuple(said[item.index] for item in items)
            found.probabilities = tuple(known.get(item.index) for item in items) if known else None
        return found

    async def _ask_probabilities(
        self, model: YesNoModel, task: Task, response: str, reading: Reading, items: tuple[Item, ...]
    ) -> Judgement:
        conversation = "\n\n".join(f"{message.role}: {message.content}" for message in task.messages)
        count = 1 if reading.is_joint else len(items)
        try:
            probabilities = await model.probabilities(conversation, response, [item.text for item in items])
        except UnjudgedError as error:
            return Judgement((Unknown(str(error), kind="not judged"),) * count, calls=1)
        if len(probabilities) != len(items):
            reason = f"the model gave {len(probabilities)} probabilities for {len(items)} items"
            return Judgement((Unknown(reason, kind="not a probability"),) * count, calls=1)
        given = probabilities
        if reading.is_joint:  # the expected share of the weight that is met
            met = [p if item.weight > 0 else 1 - p for p, item in zip(probabilities, items, strict=True)]
            weights = [abs(item.weight) for item in items]
            share = sum(weight * p for weight, p in zip(weights, met, strict=True)) / sum(weights)
            given = [p for p in probabilities if not 0 <= p <= 1][:1] or [min(1.0, share)]
        verdicts = tuple(self._read_probability(probability, reading.form) for probability in given)
        return Judgement(verdicts, tuple(probabilities), calls=1)

    def _read_probability(self, probability: float, form: VerdictForm) -> Verdict:
        threshold = self.config.threshold
        if not 0 <= probability <= 1:
            return Unknown(f"the model gave {probability} for a probability", kind="not a probability")
        if form.from_probability is not None:
            return form.from_probability(probability)
        if abs(probability - threshold) < self.config.unknown_band:
            reason = f"the probability {probability:.2f} is too close to the threshold {threshold:g}"
            return Unknown(reason, kind="too close")
        return probability >= threshold


@dataclass(frozen=True, slots=True)
class Judged:
    """One response with its judgements by the name of the reading."""

    task: Task
    response: Response
    judgements: Mapping[str, Judgement]

    @property
    def addressing(self) -> Mapping[str, str]:
        """What the response says to its judge, by kind; the same in every reading."""
        return next((found.addressing for found in self.judgements.values()), {})

    @property
    def is_open(self) -> bool:
        """True if a verdict, or a vote, is unknown."""
        judgements = self.judgements.values()
        return any(found.unknown_votes or any(map(is_unknown, found.verdicts)) for found in judgements)


def join_judgements(
    votes: Sequence[Judgement], reading: Reading, items: Sequence[Item], min_agreement: float
) -> Judgement:
    """One judgement of several on the same items: the majority, or the mean of levels and marks.

    A reason and the evidence are those of the first vote that agrees with the verdict and has some.
    """
    if len(votes) == 1:
        return votes[0]
    joined = Judgement(
        calls=sum(vote.calls for vote in votes),
        prompt_characters=sum(vote.prompt_characters for vote in votes),
        shared_characters=sum(vote.shared_characters for vote in votes),
        unknown_votes=sum(is_unknown(verdict) for vote in votes for verdict in vote.verdicts),
        turns_left_out=max(vote.turns_left_out for vote in votes),
        addressing=votes[0].addressing,
    )
    is_counted, verdicts = reading.form.is_boolean, []
    for item, cast in zip(items, zip(*(vote.verdicts for vote in votes), strict=True), strict=False):
        if is_counted:
            verdict, joined.agreement[item.index] = join_votes(cast, min_agreement)
        else:
            verdict = average_votes(cast)
        verdicts.append(verdict)
        agreeing = [vote for vote, said in zip(votes, cast, strict=True) if not is_counted or said == verdict]
        for vote in agreeing:
            if item.index in vote.reasons or item.index in vote.evidence:
                joined.reasons |= {item.index: vote.reasons[item.index]} if item.index in vote.reasons else {}
                joined.evidence |= {item.index: vote.evidence[item.index]} if item.index in vote.evidence else {}
                break
    joined.verdicts = tuple(verdicts)
    return joined


@lru_cache(maxsize=256)
def _make_schema(
    form: VerdictForm, indices: tuple[int, ...], notes: tuple[str, ...], key: str | None = None
) -> dict[str, Any]:
    """The JSON schema of a reply about these items, with the verdicts under the form's key or another.

    `notes` are what comes before each verdict: a reason, a quotation, its turn.
    """
    value = form.schema
    if notes:
        value = _make_object({**{name: _NOTES[name] for name in notes}, form.key: value})
    return _make_object({key or form.key: _make_object({str(index): value for index in indices})})


def _make_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _is_silent(answer: Answer) -> bool:
    """True for a transcript in which the assistant has no turn; a text may be empty and is an answer all the same."""
    return not isinstance(answer, str) and not any(turn.role == "assistant" for turn in answer)


def _refuse(addressing: Mapping[str, str]) -> Unknown:
    return Unknown(f"the answer addresses its judge ({', '.join(addressing)})", kind="addresses the judge")


def _describe_failure(failure: Failure) -> Unknown:
    reason = f"{NO_REPLY}: {failure.reason}"
    return Unknown(reason, kind=NO_REPLY, failure=failure.kind, status=failure.status)


def _permute(items: tuple[Item, ...], seed: str) -> tuple[Item, ...]:
    """The items in an order that depends on the seed alone, so that a journal answers again."""
    ranks = {item: sha256(f"{seed}/{item.index}".encode(errors="surrogatepass")).digest() for item in items}
    return tuple(sorted(items, key=ranks.__getitem__))
