"""The routes: a body in a trainer's own format in, the reward in the format that the trainer reads out.

An unknown reward is a 503 with its reasons on every route, never a number. A request without a task, or without what
the reward needs, is a 422; a judge that cannot be used at all is a 502. A journal that cannot be read or written is the
server's problem: a 503, and its log says which file.
"""

import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from prometheus_client import generate_latest
from starlette.exceptions import HTTPException as StarletteHTTPException

from prorubric.errors import ModelError, ProRubricError, RubricError, SourceError
from prorubric.reward.reward import Reward, RewardRequest, RubricReward
from prorubric.reward.server.config import ServerOptions
from prorubric.reward.server.gate import BUG, RETRY_UNKNOWN, REWARD_ROUTES, Places, Visit, respond
from prorubric.reward.server.log import log_error
from prorubric.reward.server.metrics import Metrics
from prorubric.reward.server.protocols import ANSWERS, OpenRlhfRequest, ScoreRequest, SlimeRequest, VerifyRequest
from prorubric.reward.strict_json import parse_strict_json
from prorubric.rubric.base import read_fault
from prorubric.text.show import shorten

_ABOUT = """\
Rewards from rubrics. A task is named by its id or carried in the request.
An unknown reward is never a number: it is a 503 whose body says why and gives the bounds of the reward."""
_FRAMEWORK_LINES = {
    404: f"no such route; rewards are at POST {', '.join(REWARD_ROUTES)}",
    405: "wrong method for this route; use POST to request rewards",
}
_MOST_KEYS = 1000
"""More would each become an error message."""


class StrictRequest(Request):
    """A request whose body has one meaning: no duplicate key, no NaN, no encoding other than UTF-8."""

    async def json(self) -> Any:
        """The body as JSON; 422 if it is ambiguous."""
        try:
            value = parse_strict_json(await self.body())
        except RubricError as error:
            raise HTTPException(422, f"the body: {error}") from None
        if isinstance(value, dict) and len(value) > _MOST_KEYS:
            raise HTTPException(422, f"the body: an object with {len(value):,} keys; send at most {_MOST_KEYS:,}")
        return value


class StrictRoute(APIRoute):
    """A route that reads its body as a `StrictRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """What FastAPI calls for a request."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_strictly


@dataclass(slots=True)
class Service:
    """What the routes share; `app.state.service`."""

    reward: RubricReward
    options: ServerOptions
    places: Places
    metrics: Metrics
    judge_answered: float | None = field(default=None, init=False)
    """When the judge last gave a verdict, on the monotonic clock."""
    judge_failed: float | None = field(default=None, init=False)
    """When it last gave no verdict on a whole response."""

    async def find_rewards(
        self, request: Request, asked: Sequence[RewardRequest], *, validation: bool = False
    ) -> list[Reward]:
        """The rewards, all of them known; a 503 if some are not."""
        visit: Visit = request.scope["visit"]
        visit.notes["responses"] = len(asked)
        if self.options.log_text:
            visit.notes["texts"] = [one.text for one in asked]
        if len(asked) > self.places.limit:
            line = f"{len(asked)} responses at once, but the limit is {self.places.limit}; send fewer"
            raise HTTPException(422, line)
        with self.places.take(max(len(asked) - 1, 0)):  # the gate took the first
            try:
                rewards = await self.reward.rewards(asked, validation=validation)
            except ModelError:
                self.judge_failed = time.monotonic()
                raise
        unknown = [reward for reward in rewards if reward.value is None]
        for reward in rewards:
            verdicts = [verdict for row in reward.parts.verdicts.values() for verdict in row]
            if all(isinstance(verdict, dict) for verdict in verdicts):
                self.judge_failed = time.monotonic()
            else:
                self.judge_answered = time.monotonic()
        self.metrics.rewards.labels(visit.route).inc(len(rewards) - len(unknown))
        self.metrics.unknown_rewards.labels(visit.route).inc(len(unknown))
        visit.notes["unknown"] = len(unknown)
        if unknown:
            if self.options.log_text:
                visit.notes["reasons"] = [list(reward.parts.unknown) for reward in unknown]
            raise HTTPException(503, describe_unknown_rewards(rewards, visit.route), RETRY_UNKNOWN)
        return rewards


router = APIRouter(route_class=StrictRoute)


@router.post("/score", tags=["rewards"], responses=ANSWERS["score"])
async def score(body: ScoreRequest, request: Request) -> Response:
    """The reward of one response to a task, or of several."""
    service: Service = request.app.state.service
    rewards = await service.find_rewards(request, body.list_requests(), validation=body.validation)
    scored = [render_reward(reward) for reward in rewards]
    return respond(scored[0] if body.responses is None else {"rewards": scored})


@router.post("/openrlhf", tags=["rewards"], responses=ANSWERS["openrlhf"])
async def openrlhf(body: OpenRlhfRequest, request: Request) -> Response:
    """For OpenRLHF's `--reward.remote_url`. The label names the task or carries it."""
    service: Service = request.app.state.service
    rewards = await service.find_rewards(request, body.list_requests(service.options.stop_text))
    values = [reward.value for reward in rewards]
    return respond({"rewards": values, "scores": values, "extra_logs": {}})


@router.post("/slime", tags=["rewards"], responses=ANSWERS["slime"])
async def slime(body: SlimeRequest, request: Request) -> Response:
    """For slime's `--rm-type remote_rm --rm-url`. The answer is the reward itself, a number."""
    service: Service = request.app.state.service
    (reward,) = await service.find_rewards(request, body.list_requests(service.options.stop_text))
    return respond(reward.value)


@router.post("/verify", tags=["rewards"], responses=ANSWERS["verify"])
async def verify(body: VerifyRequest, request: Request) -> Response:
    """For NeMo Gym: the request comes back with its `reward`."""
    service: Service = request.app.state.service
    config = service.reward.config
    (reward,) = await service.find_rewards(request, body.list_requests(config.column, config.judging.view))
    return respond({**body.model_dump(), "reward": reward.value})


@router.post("/seed_session", tags=["rewards"])
async def seed_session() -> dict[str, Any]:
    """For NeMo Gym, whose agents begin with it; there is no state to prepare."""
    return {}


@router.get("/health", tags=["watching"], responses=ANSWERS["health"])
async def health(request: Request) -> dict[str, Any]:
    """Whether the server is alive and whether its judge answered when it was last asked."""
    service: Service = request.app.state.service
    answered, failed = service.judge_answered, service.judge_failed
    if failed is not None and (answered is None or answered < failed):
        judge = "failing"
    else:
        judge = "not asked yet" if answered is None else "answering"
    return {
        "status": "ok",
        "judge": judge,
        "judge_answered_seconds_ago": None if answered is None else round(time.monotonic() - answered, 3),
        "in_flight": service.places.taken,
        "limit": service.places.limit,
    }


@router.get("/metrics", tags=["watching"], response_class=Response)
async def metrics(request: Request) -> Response:
    """Counts and latencies for Prometheus."""
    text = generate_latest(request.app.state.service.metrics.registry)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


async def refuse(request: Request, error: Exception) -> Response:
    """What a client is told if its request fails: a status and one line."""
    status, line = 422, str(error)
    headers: Mapping[str, str] | None = None
    match error:
        case RequestValidationError():
            line = describe_problem(error.errors())
        case ModelError():
            status, line = 502, f"the judge cannot be used: {error}"
        case SourceError():
            # Nothing is wrong with the request, and paths on this machine are not its sender's business.
            log_error("no journal", route=request.scope["visit"].route, text=line)
            status, line, headers = 503, "the server cannot keep replies; its log says why", RETRY_UNKNOWN
        case HTTPException(detail=dict()):
            return respond(error.detail, error.status_code, error.headers)
        case StarletteHTTPException():
            status, headers = error.status_code, error.headers
            line = _FRAMEWORK_LINES.get(status, error.detail)
        case ProRubricError():
            pass  # its own line, as a 422
        case _:
            status, line = 500, BUG  # the framework raises it again after this answer, and the gate logs it
    return respond({"error": line}, status, headers)


def make_app(service: Service) -> FastAPI:
    """The routes as an ASGI application. /openapi.json describes them; a docs page would load scripts from a CDN."""
    errors = (RequestValidationError, ProRubricError, StarletteHTTPException, Exception)
    app = FastAPI(
        title="ProRubric",
        description=_ABOUT,
        version=version("prorubric"),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        exception_handlers=dict.fromkeys(errors, refuse),
    )
    app.state.service = service
    app.include_router(router)
    return app


def render_reward(reward: Reward) -> dict[str, Any]:
    """A reward as `/score` gives it."""
    return {**reward.model_dump(mode="json"), "low": reward.low, "high": reward.high}


def describe_unknown_rewards(rewards: Sequence[Reward], route: str) -> dict[str, Any]:
    """Which rewards are unknown, why, and within which bounds; `/score` also gives the others."""
    unknown = [
        {"index": index, "task": one.parts.task_id, "low": one.low, "high": one.high, "reasons": one.parts.unknown}
        for index, one in enumerate(rewards)
        if one.value is None
    ]
    first = next(one.parts.unknown[0] for one in rewards if one.value is None)
    line = f"{len(unknown)} of {len(rewards)} rewards unknown; first: {shorten(first, 200)}"
    body = {"error": line, "unknown": unknown}
    return {**body, "rewards": [render_reward(reward) for reward in rewards]} if route == "/score" else body


def describe_problem(errors: Sequence[Any]) -> str:
    """What is wrong with a body, in one line."""
    first = errors[0]
    if first["type"] == "json_invalid":
        return f"the body is not JSON ({first['ctx']['error']} at character {first['loc'][-1]})"
    if isinstance(first.get("input"), bytes):
        return "the body was not read as JSON; send it with the header Content-Type: application/json"
    place = ".".join(str(step) for step in first["loc"] if step != "body") or "the body"
    is_clear = first["type"] in ("missing", "value_error")
    shown = "" if is_clear else f" (got {shorten(repr(first.get('input')))})"
    others = f"; {len(errors) - 1} more" if len(errors) > 1 else ""
    return f"{place}: {read_fault(first).message}{shown}{others}"
