"""`serve_rewards`: rewards over HTTP, for OpenRLHF, slime, NeMo Gym and any other client.

What is wrong with the options, the tasks, the judge's name or the port is reported before anything is served. A first
SIGTERM or SIGINT lets running requests finish, within a limit; a second SIGINT ends at once.
"""

import gc
from collections.abc import Callable
from dataclasses import KW_ONLY, field
from pathlib import Path
from typing import Annotated

from pydantic import Field

from prorubric.aggregate.choose import READS_WORDS, split_by_words
from prorubric.datasets.sources import Format
from prorubric.errors import ConfigError, MissingExtraError
from prorubric.judge.judge import JudgeConfig
from prorubric.judge.panel import Judges, list_judges
from prorubric.llm.http import HttpConfig
from prorubric.reward.reward import Overlong, RewardConfig, make_reward
from prorubric.reward.server.config import ServerOptions, list_hosts, read_token
from prorubric.reward.server.log import log, set_up_logs
from prorubric.rubric.base import Record, config_record

_PACKAGES = ("fastapi", "starlette", "uvicorn", "h11", "prometheus_client")
"""What the extra [serve] installs."""
_OTHER_FILES = 64
"""Open files besides those for clients and for the judge."""
_NOTE_ON_LENGTHS = (
    "overlong responses lose reward, so lengths are needed: OpenRLHF sends none and /openrlhf will refuse; "
    "/slime needs response_length, which slime does not send by itself"
)


@config_record
class ServeConfig(ServerOptions):
    """A server: what it serves, where, within which limits, and how the judge is asked."""

    _: KW_ONLY
    judge: Judges
    """Judge, or several: lexical, http://host:port/v1#name, gguf:PATH, smollm2, scripted:FILE, pkg.module:object."""
    tasks: str | None = None
    """Tasks file, or the id of a Hugging Face dataset; not needed if every request carries its task."""
    scheme: str = "prorubric"
    """Scheme that turns verdicts into the score."""
    format: Format = "auto"
    """Format of the tasks."""
    column: str = "task_id"
    """Key under which a row names its task or carries it."""
    journal: Path | None = None
    """File to keep replies in, so no question is asked twice."""
    overlong_limit: Annotated[int, Field(gt=0)] | None = None
    """Longest response in tokens; responses close to it lose reward. Needs a client that sends lengths."""
    overlong_buffer: Annotated[int, Field(gt=0)] | None = None
    """How many tokens below the limit the penalty begins."""
    overlong_factor: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.5
    """Reward that a response at the limit loses."""
    judging: JudgeConfig = field(default_factory=JudgeConfig)
    http: HttpConfig = field(default_factory=HttpConfig)


class Serving(Record):
    """Where a server listens and what it serves."""

    url: str
    host: str
    port: int
    judge: str
    scheme: str
    tasks: int
    """How many tasks can be named by id."""
    routes: tuple[str, ...]
    token: bool


def serve_rewards(config: ServeConfig, on_ready: Callable[[Serving], None] | None = None) -> None:
    """Serve rewards until a signal says to stop. `on_ready` gets the address once the server listens."""
    try:
        from prorubric.reward.server.app import Service, make_app  # noqa: PLC0415 - needs the extra [serve]
        from prorubric.reward.server.gate import REWARD_ROUTES, Places, ServerGate  # noqa: PLC0415
        from prorubric.reward.server.listen import Server, bind, limit_connections  # noqa: PLC0415
        from prorubric.reward.server.metrics import Metrics  # noqa: PLC0415
    except ImportError as missing:
        if (missing.name or "").partition(".")[0] not in _PACKAGES:
            raise
        raise MissingExtraError.of("prorubric serve", "serve") from missing
    token = read_token(config)
    reward = make_reward(make_reward_config(config))
    places = Places(config.response_limit)
    metrics = Metrics(lambda: reward.usage, lambda: places.taken)
    listener = bind(config.host, config.port)
    port = int(listener.getsockname()[1])
    app = make_app(Service(reward, config, places, metrics))
    gate = ServerGate(app, config, places, metrics, token, list_hosts(config, port))
    connection_limit = limit_connections(config.connection_limit, _OTHER_FILES + config.http.concurrency)
    serving = Serving(
        url=f"http://[{config.host}]:{port}" if ":" in config.host else f"http://{config.host}:{port}",
        host=config.host,
        port=port,
        judge=", ".join(list_judges(config.judge)),
        scheme=config.scheme,
        tasks=len(reward.tasks),
        routes=REWARD_ROUTES,
        token=token is not None,
    )

    def on_start() -> None:
        log("started", **serving.model_dump(mode="json"))
        if on_ready is not None:
            on_ready(serving)

    set_up_logs(log_text=config.log_text)
    if reward.config.overlong is not None:
        log("note", text=_NOTE_ON_LENGTHS)
    unread = split_by_words((config.scheme,))[1] if READS_WORDS in list_judges(config.judge) else {}
    if unread:
        means = "rewards will be near 0 whatever the response; use a model as the judge"
        log("note", text=f"{', '.join(unread)}: {READS_WORDS} compares words and cannot read their texts; {means}")
    # What exists now stays until the end; collecting it again and again would hold up requests.
    gc.collect()
    gc.freeze()
    with listener:
        Server(gate, config, metrics, connection_limit).run_until_stopped(listener, on_start)
    log("stopped")


def make_reward_config(config: ServeConfig) -> RewardConfig:
    """The reward that is served. The breaker is off: each unknown reward is refused by itself."""
    limit, buffer = config.overlong_limit, config.overlong_buffer
    if (limit is None) != (buffer is None):
        raise ConfigError("overlong responses need both --overlong-limit and --overlong-buffer; give both or neither")
    overlong = Overlong(limit=limit, buffer=buffer, factor=config.overlong_factor) if limit and buffer else None
    same = ("judge", "scheme", "tasks", "format", "column", "journal", "judging", "http")
    return RewardConfig(**{name: getattr(config, name) for name in same}, overlong=overlong, max_unknown=1.0)
