"""What a server is told when it is started, and the token that its clients must show."""

import hmac
import os
from base64 import b64decode
from binascii import Error as NotBase64
from dataclasses import KW_ONLY, field
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from pydantic import Field

from prorubric.datasets.sources import Format
from prorubric.errors import ConfigError
from prorubric.judge.judge import JudgeConfig
from prorubric.llm.http import HttpConfig
from prorubric.reward.reward import Overlong, RewardConfig
from prorubric.reward.transcript import STOP_TEXTS
from prorubric.rubric.base import Record, config_record

_SHORTEST_TOKEN = 16
_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@config_record
class ServeOptions:
    """What is served, where, and within which limits."""

    _: KW_ONLY
    judge: str
    """The judge: lexical, http://host:port/v1#name, gguf:PATH, smollm2, scripted:FILE, pkg.module:object."""
    tasks: str | None = None
    """Tasks file, or the id of a Hugging Face dataset; not needed if every request carries its task."""
    scheme: str = "prorubric"
    """The scheme that turns verdicts into the score."""
    format: Format = "auto"
    """Format of the tasks."""
    column: str = "task_id"
    """Key under which a row names its task or carries it."""
    journal: Path | None = None
    """File to keep replies in, so that no question is asked twice."""
    overlong_limit: Annotated[int, Field(gt=0)] | None = None
    """Longest response in tokens; responses close to it lose reward. Needs a client that sends lengths."""
    overlong_buffer: Annotated[int, Field(gt=0)] | None = None
    """How many tokens below the limit the loss begins."""
    overlong_factor: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.5
    """Reward that a response at the limit loses."""
    host: str = "127.0.0.1"
    """Address to listen on; any other than loopback needs a token."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8741
    """Port to listen on; 0 picks a free one."""
    token_variable: str = "PRORUBRIC_TOKEN"  # noqa: S105 - the name of a variable
    """Environment variable that holds the token; if it is set, clients must send the token."""
    response_limit: Annotated[int, Field(ge=1)] = 1024
    """Maximum number of responses being judged or waiting; further requests get a 429."""
    body_limit: Annotated[int, Field(ge=1)] = 8 * 1024 * 1024
    """Largest request body in bytes; a larger one gets a 413."""
    total_body_limit: Annotated[int, Field(ge=1)] = 256 * 1024 * 1024
    """Total bytes of request bodies in memory; above it, the largest unfinished request gets a 429."""
    connection_limit: Annotated[int, Field(ge=1)] = 4096
    """Maximum number of connections; above it, those without a complete request are closed, oldest first."""
    header_seconds: _Seconds = 10.0
    """Time limit for the head of a request to arrive; after it the connection is closed."""
    body_seconds: _Seconds = 30.0
    """Time limit for a body to arrive (then 408) and for the client to read an answer (then it is dropped)."""
    allow_host: tuple[str, ...] = ()
    """Host names to accept besides 127.0.0.1, localhost and [::1]; on loopback any other is refused."""
    answer_seconds: _Seconds = 100.0
    """Time limit for a request; after it the client gets a 504. Keep it below the 120 s after which slime hangs up."""
    stop_seconds: _Seconds = 30.0
    """How long to wait for running requests when the server is told to stop."""
    stop_text: tuple[str, ...] = STOP_TEXTS
    """Markers to strip from the end of responses from OpenRLHF and slime."""
    log_text: bool = False
    """Write responses and reasons into the log."""


@config_record
class ServeConfig(ServeOptions):
    """A server: its options, how the judge is asked, how its endpoint is treated."""

    _: KW_ONLY
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
    """Whether clients must show a token."""


def make_reward_config(config: ServeConfig) -> RewardConfig:
    """The reward that is served. The breaker is off: each unknown reward is refused by itself."""
    if (config.overlong_limit is None) != (config.overlong_buffer is None):
        raise ConfigError("overlong responses need both --overlong-limit and --overlong-buffer; give both or none")
    overlong = None
    if config.overlong_limit is not None and config.overlong_buffer is not None:
        overlong = Overlong(limit=config.overlong_limit, buffer=config.overlong_buffer, factor=config.overlong_factor)
    return RewardConfig(
        config.judge,
        scheme=config.scheme,
        tasks=config.tasks,
        format=config.format,
        column=config.column,
        overlong=overlong,
        journal=config.journal,
        max_unknown=1.0,
        judging=config.judging,
        http=config.http,
    )


class Token:
    """What clients must show, compared in constant time and shown by nobody."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value.encode()

    def __repr__(self) -> str:
        return "<token>"

    def fits(self, header: str) -> bool:
        """Whether an `Authorization` header shows it: as a bearer token, or as the password of basic authentication.

        The second is for trainers that can be given a URL and no header: `http://any:TOKEN@host:port/route`.
        """
        scheme, _, given = header.strip().partition(" ")
        shown = given.strip().encode("utf-8", "replace")
        if scheme.lower() == "basic":
            try:
                shown = b64decode(shown, validate=True).partition(b":")[2]
            except NotBase64:
                return False
        elif scheme.lower() != "bearer":
            return False
        return hmac.compare_digest(shown, self._value)


def read_token(config: ServeOptions) -> Token | None:
    """The token of the environment. Without one, only loopback may be served."""
    value = os.environ.get(config.token_variable, "").strip()
    if not value:
        if not is_loopback(config.host):
            raise ConfigError(
                f"--host {config.host} is not loopback, where everyone could ask; put a token into the environment "
                f"variable {config.token_variable}, or serve 127.0.0.1"
            )
        return None
    if len(value) < _SHORTEST_TOKEN or not value.isascii() or not value.isprintable() or " " in value:
        raise ConfigError(
            f"{config.token_variable}: a token has at least {_SHORTEST_TOKEN} printable ASCII characters and no space; "
            "make one with: openssl rand -hex 32"
        )
    return Token(value)


def list_hosts(config: ServeOptions, port: int) -> frozenset[str] | None:
    """What the `Host` of a request may say; None where it may say anything.

    A page in a browser can give its own name the address 127.0.0.1 and then ask what is served there. A token keeps
    it out; on loopback, where there may be none, the name does.
    """
    if not is_loopback(config.host) and not config.allow_host:
        return None
    own = config.host if ":" not in config.host else f"[{config.host}]"
    names = {own, "127.0.0.1", "localhost", "[::1]"}
    usual = names if port == 80 else set()  # where clients leave the port out
    return frozenset(name.lower() for name in {*(f"{name}:{port}" for name in names), *usual, *config.allow_host})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address; a name other than localhost is taken for one that others can."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
