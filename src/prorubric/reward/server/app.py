"""The routes: a body in a trainer's own form, the reward in the form that the trainer reads.

A reward that is unknown is a 503 with its reasons on every route, and no route has a number for it. A request that
means no task, or lacks what the reward needs, is a 422; a judge that cannot be used at all is a 502. A journal that
cannot be read or written is the server's trouble: a 503, and its log says which file.
"""

import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from prorubric.errors import ModelError, ProRubricError, RubricError, SourceError
from prorubric.files.json import render_json
from prorubric.reward.reward import Case, Reward, RubricReward
from prorubric.reward.server.config import ServeConfig
from prorubric.reward.server.gate import BUG, RETRY_BUSY, RETRY_UNKNOWN, REWARD_ROUTES, BusyError, Places, Visit
from prorubric.reward.server.log import log_trouble
from prorubric.reward.server.metrics import CONTENT_TYPE, Metrics
from prorubric.reward.server.protocols import Asked, OpenRlhfRequest, ScoreRequest, SlimeRequest, VerifyRequest
from prorubric.reward.strict_json import parse_strict_json
from prorubric.reward.transcript import drop_stop_texts
from prorubric.rubric.base import read_fault
from prorubric.text.show import shorten

_ABOUT = """\
Rewards from rubrics. A task is named by its id or carried in the request.
A reward that is unknown is never a number: it is a 503 whose body says why and what the reward could still be."""


class Scored(BaseModel):
    """One reward: what is known of it, and how it came about."""

    value: float
    low: float
    high: float
    parts: dict[str, Any]


class ScoredSeveral(BaseModel):
    """Several rewards, in the order of the responses."""

    rewards: list[Scored]


class OpenRlhfRewards(BaseModel):
    """What OpenRLHF reads."""

    rewards: list[float]
    scores: list[float]
    extra_logs: dict[str, Any]


class UnknownReward(BaseModel):
    """A reward that is not known: where it could still lie, and why."""

    index: int
    task: str
    low: float
    high: float
    reasons: list[str]


class Problem(BaseModel):
    """What is wrong, in one line."""

    error: str
    unknown: list[UnknownReward] = []


class Health(BaseModel):
    """Whether the server lives and whether its judge does."""

    status: str
    judge: str
    """`answering`, `failing`, or `not asked yet`."""
    judge_answered_seconds_ago: float | None
    in_flight: int
    limit: int


_PROBLEMS: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "No token, or not the right one"},
    413: {"model": Problem, "description": "The body is too large"},
    422: {"model": Problem, "description": "The request means nothing"},
    429: {"model": Problem, "description": "No room now; see Retry-After"},
    502: {"model": Problem, "description": "The judge cannot be used at all"},
    503: {"model": Problem, "description": "The reward is unknown, or cannot be had now; see Retry-After"},
    504: {"model": Problem, "description": "No reward in time"},
}


class UnknownRewardError(Exception):
    """Some of the rewards that a request asked for are not known."""

    def __init__(self, rewards: Sequence[Reward]) -> None:
        super().__init__()
        self.rewards = rewards


_MOST_KEYS = 1000
"""More would each become an error message."""


class StrictRequest(Request):
    """A request whose body has one meaning: no key twice, no NaN, no other encoding than UTF-8."""

    async def json(self) -> Any:
        """The body as JSON; 422 where it could be read in two ways."""
        try:
            value = parse_strict_json(await self.body())
        except RubricError as error:
            raise HTTPException(422, f"the body: {error}") from None
        if isinstance(value, dict) and len(value) > _MOST_KEYS:
            raise HTTPException(422, f"the body: an object with {len(value):,} keys; send at most {_MOST_KEYS:,}")
        return value


class StrictRoute(APIRoute):
    """A route that reads bodies so."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What FastAPI calls for a request."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_strictly


@dataclass(slots=True)
class JudgeWatch:
    """When the judge last answered and when it last did not."""

    answered: float | None = None
    failed: float | None = None

    def look_at(self, rewards: Sequence[Reward]) -> None:
        """A verdict is an answer; where there is none on a whole response, something failed."""
        now = time.monotonic()
        for reward in rewards:
            verdicts = [verdict for row in reward.parts.verdicts.values() for verdict in row]
            if all(isinstance(verdict, dict) for verdict in verdicts):
                self.failed = now
            else:
                self.answered = now

    def describe(self) -> str:
        """How it looks now."""
        if self.failed is not None and (self.answered is None or self.answered < self.failed):
            return "failing"
        return "not asked yet" if self.answered is None else "answering"


class Service:
    """The routes and what they share."""

    def __init__(self, reward: RubricReward, config: ServeConfig, places: Places, metrics: Metrics) -> None:
        self._reward = reward
        self._places = places
        self._metrics = metrics
        self._watch = JudgeWatch()
        self._log_text = config.log_text
        self._drop_stops = partial(drop_stop_texts, stops=config.stop_text)

    async def score(self, body: ScoreRequest, request: Request) -> Response:
        """The reward of one response to a task, or of several."""
        rewards = await self._find(request, body.list_asked(), validation=body.validation)
        scored = [render_reward(reward) for reward in rewards]
        return _respond(scored[0] if body.responses is None else {"rewards": scored})

    async def openrlhf(self, body: OpenRlhfRequest, request: Request) -> Response:
        """For OpenRLHF's `--reward.remote_url`. The label names the task or carries it."""
        rewards = await self._find(request, body.list_asked(self._drop_stops))
        values = [reward.value for reward in rewards]
        return _respond({"rewards": values, "scores": values, "extra_logs": {}})

    async def slime(self, body: SlimeRequest, request: Request) -> Response:
        """For slime's `--rm-type remote_rm --rm-url`. The answer is the reward itself, a number."""
        (reward,) = await self._find(request, body.list_asked(self._drop_stops))
        return _respond(reward.value)

    async def verify(self, body: VerifyRequest, request: Request) -> Response:
        """For NeMo Gym: the request comes back with its `reward`."""
        (reward,) = await self._find(request, body.list_asked(self._reward.config.column))
        return _respond({**body.model_dump(), "reward": reward.value})

    async def seed_session(self) -> dict[str, Any]:
        """For NeMo Gym, whose agents begin with it; there is no state to prepare."""
        return {}

    async def health(self) -> Health:
        """Whether the server lives and whether its judge has answered lately."""
        answered = self._watch.answered
        return Health(
            status="ok",
            judge=self._watch.describe(),
            judge_answered_seconds_ago=None if answered is None else round(time.monotonic() - answered, 3),
            in_flight=self._places.taken,
            limit=self._places.limit,
        )

    async def metrics(self) -> Response:
        """Counts and latencies as Prometheus reads them."""
        text = self._metrics.render(self._reward.usage, self._places.taken)
        return Response(text, media_type=CONTENT_TYPE)

    async def _find(self, request: Request, asked: Sequence[Asked], *, validation: bool = False) -> list[Reward]:
        """The rewards, all of them known."""
        visit: Visit = request.scope["visit"]
        visit.notes["responses"] = len(asked)
        if self._log_text:
            visit.notes["texts"] = [one.text for one in asked]
        if len(asked) > self._places.limit:
            raise HTTPException(
                422, f"{len(asked)} responses at once, where the limit is {self._places.limit}; send fewer"
            )
        cases = [Case(one.reference, one.text, one.tokens) for one in asked]
        with self._places.take(max(len(asked) - 1, 0)):
            rewards = await self._ask(cases, validation)
        self._count(visit, rewards)
        if any(reward.value is None for reward in rewards):
            raise UnknownRewardError(rewards)
        return rewards

    async def _ask(self, cases: Sequence[Case], validation: bool) -> list[Reward]:
        try:
            rewards = await self._reward.rewards(cases, validation=validation)
        except ModelError:
            self._watch.failed = time.monotonic()
            raise
        self._watch.look_at(rewards)
        return rewards

    def _count(self, visit: Visit, rewards: Sequence[Reward]) -> None:
        unknown = [reward for reward in rewards if reward.value is None]
        for reward in rewards:
            self._metrics.count_reward(visit.route, reward.value is not None)
        visit.notes["unknown"] = len(unknown)
        if self._log_text and unknown:
            visit.notes["reasons"] = [list(reward.parts.unknown) for reward in unknown]


def make_app(service: Service) -> FastAPI:
    """The routes as an ASGI application, described by /openapi.json; a page of it would load scripts from elsewhere."""
    off: dict[str, Any] = {"docs_url": None, "redoc_url": None, "redirect_slashes": False}
    app = FastAPI(**off, title="ProRubric", description=_ABOUT, version=version("prorubric"))
    app.router.route_class = StrictRoute
    post = partial(app.add_api_route, methods=["POST"], tags=["rewards"])
    post("/score", service.score, responses={**_PROBLEMS, 200: {"model": Scored | ScoredSeveral}})
    post("/openrlhf", service.openrlhf, responses={**_PROBLEMS, 200: {"model": OpenRlhfRewards}})
    post("/slime", service.slime, responses={**_PROBLEMS, 200: {"model": float}})
    post("/verify", service.verify, responses={**_PROBLEMS, 200: {"description": "The request and its reward"}})
    post("/seed_session", service.seed_session)
    app.add_api_route("/health", service.health, tags=["watching"])
    app.add_api_route("/metrics", service.metrics, tags=["watching"], response_class=Response)
    app.add_exception_handler(RequestValidationError, _refuse_shape)
    app.add_exception_handler(UnknownRewardError, _refuse_unknown)
    app.add_exception_handler(ModelError, _refuse_judge)
    app.add_exception_handler(SourceError, _refuse_without_journal)
    app.add_exception_handler(BusyError, _refuse_for_now)
    app.add_exception_handler(ProRubricError, _refuse_meaning)
    app.add_exception_handler(HTTPException, _refuse_plainly)
    app.add_exception_handler(Exception, _admit_bug)
    return app


def render_reward(reward: Reward) -> dict[str, Any]:
    """A reward as `/score` gives it; `low` and `high` are its own, after what length took off."""
    low, high = bound_reward(reward)
    return {"value": reward.value, "low": low, "high": high, "parts": reward.parts.model_dump(mode="json")}


def bound_reward(reward: Reward) -> tuple[float, float]:
    """What a reward could still be: both are its value where that is known."""
    return reward.parts.low + reward.parts.overlong, reward.parts.high + reward.parts.overlong


def describe_problem(errors: Sequence[Any]) -> str:
    """What is wrong with a body, in one line."""
    first = errors[0]
    if first["type"] == "json_invalid":
        return f"the body is not JSON ({first['ctx']['error']} at character {first['loc'][-1]})"
    if isinstance(first.get("input"), bytes):
        return "the body is not taken for JSON; send it with the header Content-Type: application/json"
    place = ".".join(str(step) for step in first["loc"] if step != "body") or "the body"
    message = read_fault(first).message
    is_said = first["type"] in ("missing", "value_error")
    shown = "" if is_said else f" (got {shorten(repr(first.get('input')))})"
    others = f"; {len(errors) - 1} more" if len(errors) > 1 else ""
    return f"{place}: {message}{shown}{others}"


async def _refuse_shape(_: Request, error: Any) -> Response:
    return _respond({"error": describe_problem(error.errors())}, 422)


async def _refuse_meaning(_: Request, error: Exception) -> Response:
    return _respond({"error": str(error)}, 422)


async def _refuse_judge(_: Request, error: Exception) -> Response:
    return _respond({"error": f"the judge cannot be used: {error}"}, 502)


async def _refuse_without_journal(request: Request, error: Exception) -> Response:
    """Nothing is wrong with the request, and the paths of this machine are not its sender's business."""
    log_trouble("no journal", route=request.scope["visit"].route, text=str(error))
    body = {"error": "the server cannot keep replies; its log says why"}
    return _respond(body, 503, {"Retry-After": str(RETRY_UNKNOWN)})


async def _refuse_for_now(_: Request, error: Exception) -> Response:
    return _respond({"error": str(error)}, 429, {"Retry-After": str(RETRY_BUSY)})


async def _refuse_unknown(request: Request, error: Any) -> Response:
    rewards: Sequence[Reward] = error.rewards
    unknown = [_describe_unknown(index, reward) for index, reward in enumerate(rewards) if reward.value is None]
    line = f"{len(unknown)} of {len(rewards)} rewards unknown; first: {shorten(unknown[0].reasons[0], 200)}"
    body: dict[str, Any] = {"error": line, "unknown": [one.model_dump() for one in unknown]}
    if request.scope["visit"].route == "/score":
        body["rewards"] = [render_reward(reward) for reward in rewards]
    return _respond(body, 503, {"Retry-After": str(RETRY_UNKNOWN)})


def _describe_unknown(index: int, reward: Reward) -> UnknownReward:
    low, high = bound_reward(reward)
    return UnknownReward(index=index, task=reward.parts.task_id, low=low, high=high, reasons=[*reward.parts.unknown])


async def _refuse_plainly(_: Request, error: Any) -> Response:
    line = str(error.detail)
    if error.status_code == 404:
        line = f"nothing is served here; rewards are at POST {', '.join(REWARD_ROUTES)}"
    elif error.status_code == 405:
        line = "this route takes another method; rewards are asked for with POST"
    return _respond({"error": line}, error.status_code, error.headers)


async def _admit_bug(_: Request, __: Exception) -> Response:
    """The framework raises the error once more when this is sent, and the gate writes it down."""
    return _respond({"error": BUG}, 500)


def _respond(body: object, status: int = 200, headers: Any = None) -> Response:
    return Response(render_json(body), status, headers, "application/json")
