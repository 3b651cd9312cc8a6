"""The models of a run: each created once, counted under its own name, journaled, and kept within the budget."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from prorubric.errors import ConfigError, NotAskedError
from prorubric.llm.accounting import Prices, Usage, estimate_cost, find_price
from prorubric.llm.cache import CachedModel, CachedYesNo, Keeper
from prorubric.llm.http import HttpConfig
from prorubric.llm.make import make_model
from prorubric.llm.model import Failure, Model, ModelT, ModelWrapper, Outcome, Request, YesNoModel, stop_model
from prorubric.llm.own import OwnModel
from prorubric.runs.stop import Stop

AnyModel = Model | YesNoModel


@dataclass(slots=True)
class CallGate:
    """Decides whether another call may be made: not after a stop, and not beyond the budget.

    Calls in flight are finished, so the cost can end above the limit by what they take.
    """

    stop: Stop
    max_calls: int | None = None
    max_cost: float | None = None
    prices: Prices = field(default_factory=dict)
    usage: dict[str, Usage] = field(default_factory=dict)
    """By model."""
    begun: int = 0

    def check_budget(self) -> None:
        """Ask the run to stop if its budget is used up."""
        if self.max_calls is not None and self.begun >= self.max_calls:
            self.stop.ask(f"--max-calls {self.max_calls} is reached")
        elif self.max_cost is not None:
            spent = self.cost()
            if spent is None:
                self.stop.ask("the endpoint does not count tokens, so --max-cost cannot be checked")
            elif spent >= self.max_cost:
                self.stop.ask(f"--max-cost {self.max_cost:g} is reached")

    def enter(self) -> Failure | None:
        """Count one call; or the failure to give in its place."""
        self.check_budget()
        if self.stop.asked:
            return Failure("gave-up", "stopped before it was asked", attempts=0)
        self.begun += 1
        return None

    def cost(self, *, with_cached: bool = False) -> float | None:
        """US dollars at list price by all models together; None if the price or the tokens of one are not known."""
        costs = [estimate_cost(used, self.prices, with_cached) for used in self.usage.values() if used.calls]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


class _Gated(ModelWrapper[ModelT]):
    """A model that is asked only while the gate is open."""

    def __init__(self, model: ModelT, gate: CallGate) -> None:
        super().__init__(model)
        self._gate = gate


class GatedModel(_Gated[Model]):
    """A text model behind the gate."""

    async def complete(self, request: Request) -> Outcome:
        """Ask the model, if the gate lets the call through."""
        return self._gate.enter() or await self._model.complete(request)


class GatedYesNo(_Gated[YesNoModel]):
    """A model of probabilities behind the gate."""

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        """Ask the model, if the gate lets the call through."""
        if refused := self._gate.enter():
            raise NotAskedError(refused.reason)
        return await self._model.probabilities(conversation, response, statements)


class Redrawn(ModelWrapper[Model]):
    """A text model that is asked for other draws than the first."""

    def __init__(self, model: Model, draw: int) -> None:
        super().__init__(model)
        self._draw = draw

    async def complete(self, request: Request) -> Outcome:
        """Answer as another draw."""
        return await self._model.complete(replace(request, draw=request.draw + self._draw))


class WritingYesNo(ModelWrapper[YesNoModel]):
    """A model that both gives probabilities and writes."""

    def __init__(self, model: YesNoModel, text: Model) -> None:
        super().__init__(model)
        self._text = text

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        """One probability from 0 to 1 for each statement."""
        return await self._model.probabilities(conversation, response, statements)

    async def complete(self, request: Request) -> Outcome:
        """Answer one request."""
        return await self._text.complete(request)


class Models:
    """Makes the models of a run, each once, however many parts it plays: one in this process is large."""

    def __init__(self, http: HttpConfig, gate: CallGate) -> None:
        self._http, self._gate = http, gate
        self._made: dict[str, AnyModel] = {}

    def make(self, spec: str) -> AnyModel:
        """The model that a string names, as it is; raises before a token is spent."""
        if spec not in self._made:
            usage = self._gate.usage.setdefault(spec, Usage())
            model = self._made[spec] = make_model(spec, self._http, usage)
            if self._gate.max_cost is not None and not find_price(model.name, self._gate.prices):
                raise ConfigError(f"--max-cost needs the price of {spec}; set it with --prices, as in 0.15,0.60")
            # Calls that the budget has let through are made; after a signal only those on the wire are finished.
            self._gate.stop.listeners.append(lambda: None if self._gate.stop.reason else stop_model(model))
        return self._made[spec]

    def open(self, spec: str, journal: Keeper, draw: int = 0) -> AnyModel:
        """The model with its calls counted, journaled and kept within the budget; `draw` asks it afresh."""
        model, usage = self.make(spec), self._gate.usage[spec]
        text: Model | None = None
        if isinstance(model, Model):
            text = CachedModel(GatedModel(model, self._gate), journal, usage)
            text = Redrawn(text, draw) if draw else text
        if not isinstance(model, YesNoModel):
            return text or model
        yes_no = CachedYesNo(GatedYesNo(model, self._gate), journal, usage, draw)
        return WritingYesNo(yes_no, text) if text else yes_no

    async def close(self, *, own: bool = True) -> None:
        """Close every model; `own=False` leaves the user's own objects open, which another run may still use.

        A model that is asked for after that is made again.
        """
        for model in self._made.values():
            if own or not isinstance(model, OwnModel):
                await model.close()
        self._made.clear()
