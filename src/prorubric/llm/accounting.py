"""What a run asked for, what it got and an estimate of the cost.

Costs are estimates from list prices with a date on them. A model whose price is not known, and an endpoint that does
not say how many tokens it used, cost None, never 0: readers would believe a 0.
"""

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import AliasChoices, BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from prorubric.errors import SourceError
from prorubric.files.json import parse_json
from prorubric.llm.model import Failure, FailureKind, Outcome
from prorubric.rubric.base import explain_invalid
from prorubric.text.show import shorten

EVERY_MODEL = "*"
_PAIR = 2
_EXAMPLE = 'write {"model-name": {"prompt": 0.15, "completion": 0.60}}, in US dollars per million tokens'
_SAME_MODEL = re.compile(r"(-latest|[-@:]\d{4}.*)?")
"""What may follow a name in the table: nothing, or a release date. `gpt-5-pro` is not a `gpt-5`."""

_Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


@dataclass(slots=True)
class Usage:
    """Counts that grow with a run."""

    model: str = ""
    calls: int = 0
    """Requests that came to an end: with a reply, from the cache, or as a failure."""
    cached: int = 0
    """Those of them that the journal answered; they use no tokens."""
    repeated: int = 0
    """Those of the cached that had the reply to the same question of this run, not of an earlier one."""
    failures: dict[FailureKind, int] = field(default_factory=dict)
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_prompt_tokens: int = 0
    """What the replies from the journal used when they were made."""
    cached_completion_tokens: int = 0
    unmetered: int = 0
    """Replies that came without a count of tokens."""
    damaged: int = 0
    """Replies that were damaged in the journal and asked for again."""
    refused: set[str] = field(default_factory=set)
    """Fields of requests that the endpoint does not take, and that were left out."""

    def add(self, outcome: Outcome) -> None:
        """Count one outcome. A call that was stopped before its first attempt is not one."""
        if isinstance(outcome, Failure) and outcome.attempts == 0:
            return
        self.calls += 1
        if isinstance(outcome, Failure):
            self.failures[outcome.kind] = self.failures.get(outcome.kind, 0) + 1
        elif outcome.cached:
            self.cached += 1
            self.repeated += outcome.repeated
            if not outcome.repeated:  # its tokens are counted where the question came first
                self.cached_prompt_tokens += outcome.prompt_tokens
                self.cached_completion_tokens += outcome.completion_tokens
        else:
            self.prompt_tokens += outcome.prompt_tokens
            self.completion_tokens += outcome.completion_tokens
            self.unmetered += outcome.prompt_tokens == 0

    def merge(self, other: "Usage") -> None:
        """Add the counts of another `Usage`."""
        self.model = self.model or other.model
        for kind, number in other.failures.items():
            self.failures[kind] = self.failures.get(kind, 0) + number
        self.refused |= other.refused
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def take(self) -> "Usage":
        """Return the counts so far and reset them."""
        taken = replace(self)
        self.failures = {}
        for name in _COUNTS:
            setattr(self, name, 0)
        return taken


_COUNTS = tuple(part.name for part in fields(Usage) if part.type is int)


@checked_dataclass(frozen=True)
class Price:
    """US dollars per million tokens, and since when; a price list may call the two input and output."""

    prompt: Annotated[_Dollars, Field(validation_alias=AliasChoices("prompt", "input"))]
    completion: Annotated[_Dollars, Field(validation_alias=AliasChoices("completion", "output"))]
    date: datetime.date | None = None
    source: str = ""


def _read_pair(value: object) -> object:
    return {"prompt": value[0], "completion": value[1]} if isinstance(value, list) and len(value) == _PAIR else value


Prices = Mapping[str, Price]
_TABLE = TypeAdapter(dict[str, Annotated[Price, BeforeValidator(_read_pair)]])


def load_prices(source: Path | str | None = None) -> Prices:
    """Our price table, with the user's prices before ours.

    They are two numbers for every model, as in `0.15,0.60`, or a JSON file: `{"model-name": {"prompt": 0.15,
    "completion": 0.60}}` in US dollars per million tokens, where `date` and `source` may be added, `[0.15, 0.60]` is
    short for the two, and the name `*` is every other model. Anything else is refused with `SourceError`.
    """
    if source is None:
        return _TABLE.validate_json(Path(__file__).with_name("prices.json").read_bytes())
    numbers = _read_numbers(str(source))
    try:
        table: Any = {EVERY_MODEL: numbers} if numbers else parse_json(Path(source).read_bytes())
        if isinstance(table, dict) and isinstance(table.get("prompt", table.get("input")), int | float):
            table = {EVERY_MODEL: table}
        return {**({} if numbers else load_prices()), **_TABLE.validate_python(table)}
    except OSError as error:
        reason = f"the price table cannot be read ({error.strerror}); name a file, or two numbers as in 0.15,0.60"
    except ValidationError as error:
        reason = f"not a price{'' if numbers else ' table'}: {explain_invalid(error)}; {_EXAMPLE}"
    except ValueError as error:
        reason = f"not a price table: Invalid JSON ({shorten(str(error))}); {_EXAMPLE}"
    raise SourceError(f"{source}: {reason}")


def _read_numbers(text: str) -> list[float]:
    """The two numbers of `0.15,0.60`; empty for anything else."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        return []
    return numbers if len(numbers) == _PAIR else []


def find_price(model: str, prices: Prices) -> Price | None:
    """The price of a model by the longest name in the table that it begins with, or of every other model, or None.

    Only a release date may follow the name, so a more expensive sibling is unknown rather than cheap.
    """
    name = model.rpartition("#")[2].casefold()
    fits = [
        known for known in prices if name.startswith(known.casefold()) and _SAME_MODEL.fullmatch(name[len(known) :])
    ]
    return prices[max(fits, key=len)] if fits else prices.get(EVERY_MODEL)


def estimate_cost(usage: Usage, prices: Prices, with_cached: bool = False) -> float | None:
    """US dollars for the tokens of a run at list price; None if the price or the tokens are not known.

    With `with_cached` also what the replies from the journal cost when they were made.
    """
    price = find_price(usage.model, prices)
    if price is None or usage.unmetered:
        return None
    prompt = usage.prompt_tokens + (usage.cached_prompt_tokens if with_cached else 0)
    completion = usage.completion_tokens + (usage.cached_completion_tokens if with_cached else 0)
    return (prompt * price.prompt + completion * price.completion) / 1_000_000
