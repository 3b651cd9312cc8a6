"""Where a server listens, its limits, and which clients it accepts: the options, the token, the host names."""

import hmac
import os
from base64 import b64decode
from binascii import Error as NotBase64
from dataclasses import KW_ONLY
from ipaddress import ip_address
from typing import Annotated

from pydantic import Field, SecretStr

from prorubric.errors import ConfigError
from prorubric.reward.transcript import STOP_TEXTS
from prorubric.rubric.base import config_record

_SHORTEST_TOKEN = 16
_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@config_record
class ServerOptions:
    """Where a server listens and within which limits."""

    _: KW_ONLY
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


def is_authorized(header: str, token: SecretStr) -> bool:
    """Whether an `Authorization` header has the token: as a bearer token, or as the password of basic authentication.

    The second is for trainers that accept a URL and no header: `http://any:TOKEN@host:port/route`. The comparison
    takes the same time whatever is sent.
    """
    scheme, _, given = header.strip().partition(" ")
    sent = given.strip().encode("utf-8", "replace")
    if scheme.lower() == "basic":
        try:
            sent = b64decode(sent, validate=True).partition(b":")[2]
        except NotBase64:
            return False
    elif scheme.lower() != "bearer":
        return False
    return hmac.compare_digest(sent, token.get_secret_value().encode())


def read_token(options: ServerOptions) -> SecretStr | None:
    """The token from the environment. Without one, only loopback may be served."""
    value = os.environ.get(options.token_variable, "").strip()
    if not value:
        if not is_loopback(options.host):
            remedy = f"put a token into the environment variable {options.token_variable}, or serve on 127.0.0.1"
            raise ConfigError(f"--host {options.host} is not loopback, so anyone could ask", remedy=remedy)
        return None
    if len(value) < _SHORTEST_TOKEN or not value.isascii() or not value.isprintable() or " " in value:
        line = f"a token has at least {_SHORTEST_TOKEN} printable ASCII characters and no space"
        raise ConfigError(line, remedy="make one with: openssl rand -hex 32", place=options.token_variable)
    return SecretStr(value)


def list_hosts(options: ServerOptions, port: int) -> frozenset[str] | None:
    """What the `Host` header of a request may be; None for anything.

    A page in a browser can point its own name at 127.0.0.1 and then ask what is served there. A token keeps it out; on
    loopback, where no token is needed, the name does.
    """
    if not is_loopback(options.host) and not options.allow_host:
        return None
    own = options.host if ":" not in options.host else f"[{options.host}]"
    names = {own, "127.0.0.1", "localhost", "[::1]"}
    usual = names if port == 80 else set()  # clients leave this port out
    return frozenset(name.lower() for name in {*(f"{name}:{port}" for name in names), *usual, *options.allow_host})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address; a name other than localhost might be reachable by others."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
