"""`serve_rewards`: the server from its first line to its last.

What is wrong with the options, the tasks, the judge's name or the port is said before anything is served. A first
SIGTERM or SIGINT lets what is under way end, within a limit; a second SIGINT ends at once.
"""

import asyncio
import errno
import gc
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from prorubric.aggregate.choose import READS_WORDS, split_by_words
from prorubric.errors import ConfigError, MissingExtraError
from prorubric.reward.engine import run_blocking
from prorubric.reward.reward import make_reward
from prorubric.reward.server.config import ServeConfig, Serving, list_hosts, make_reward_config, read_token
from prorubric.reward.server.gate import REWARD_ROUTES, Gate, Places, Rules
from prorubric.reward.server.log import log, set_up_logs
from prorubric.reward.server.metrics import Metrics

try:
    import uvicorn

    from prorubric.reward.server.app import Service, make_app
    from prorubric.reward.server.connections import Connection, Connections
except ImportError as missing:
    if missing.name not in ("uvicorn", "fastapi"):
        raise
    raise MissingExtraError.of("prorubric serve", "serve") from missing

_BACKSTOP_SECONDS = 5.0
"""Beyond the time that requests have to end; then the framework cancels what is left."""

_BACKLOG = 2048
"""Connections that the system keeps until they are accepted."""
_OTHER_FILES = 64
"""Open files besides those for clients and for the judge."""

_NOTE_ON_LENGTHS = (
    "overlong responses lose reward, so that lengths are needed: OpenRLHF sends none and /openrlhf will refuse; "
    "/slime needs response_length, which slime does not send by itself"
)

_MEANS = "rewards will be near 0 whatever the response; use a model as the judge"

try:
    import resource
except ImportError:  # not a Unix
    resource = None  # type: ignore[assignment]

OnReady = Callable[[Serving], None]


class Server(uvicorn.Server):
    """Uvicorn with limits on its connections, and with a word to its gate when it is told to stop."""

    def __init__(self, gate: Gate, config: ServeConfig, metrics: Metrics, on_start: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                gate,
                http=Connection,
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
                timeout_graceful_shutdown=int(config.stop_seconds + _BACKSTOP_SECONDS),
            )
        )
        self._gate = gate
        self._connections = Connections(self, config, limit_connections(config), metrics)
        self._accepting: list[asyncio.Task[None]] = []
        self._on_start = on_start
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        self._loop = asyncio.get_running_loop()
        await super().startup([])
        self._accepting = [self._loop.create_task(self._connections.accept(listener)) for listener in sockets or ()]
        self._on_start()

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second; looks at the connections once a second."""
        if counter % 10 == 0:
            self._connections.look_over()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept nothing more, and let what is under way end."""
        for task in self._accepting:
            task.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal asked the server to stop."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._gate.stop)
        super().handle_exit(sig, frame)


def serve_rewards(config: ServeConfig, on_ready: OnReady | None = None) -> None:
    """Serve until a signal says to stop. `on_ready` is told where, once it listens."""
    token = read_token(config)
    reward = make_reward(make_reward_config(config))
    places, metrics = Places(config.response_limit), Metrics()
    app = make_app(Service(reward, config, places, metrics))
    listener = bind(config.host, config.port)
    rules = Rules(token, list_hosts(config, listener.getsockname()[1]), config)
    serving = describe(config, listener, len(reward.tasks), token is not None)

    def start() -> None:
        log("started", **serving.model_dump(mode="json"))
        if on_ready is not None:
            on_ready(serving)

    set_up_logs(log_text=config.log_text)
    # What is there now stays until the end; to look through it again and again would hold up requests.
    gc.collect()
    gc.freeze()
    if reward.config.overlong is not None:
        log("note", text=_NOTE_ON_LENGTHS)
    unread = split_by_words((reward.config.scheme, *reward.config.shadow))[1] if config.judge == READS_WORDS else {}
    if unread:
        log("note", text=f"{', '.join(unread)}: {READS_WORDS} compares words and cannot read their texts; {_MEANS}")
    server = Server(Gate(app, rules, places, metrics), config, metrics, start)
    with listener, pass_signals_to(server):
        # On the loop that has the judge's sockets: a thread of its own would only wait for that one's lock.
        run_blocking(server.serve([listener]))
    log("stopped")


def bind(host: str, port: int) -> socket.socket:
    """A socket of our own at an address; `ConfigError` where it cannot be had."""
    try:
        # Said outright that it is TCP: only then asyncio turns off Nagle's algorithm, which costs 40 ms an answer.
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        family, kind, protocol, _, address = found[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    except socket.gaierror as error:
        raise ConfigError(f"--host {host}: no such address ({error.strerror}); give one of this machine") from None
    try:
        listener.bind(address)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"port {port} of {host} is taken; name another with --port, or 0 for a free one"
            ) from None
        raise ConfigError(f"{host}:{port} cannot be listened on ({error.strerror})") from None
    return listener


def limit_connections(config: ServeConfig) -> int:
    """How many connections there may be: no more than open files allow, some of which the judge needs."""
    if resource is None:
        return config.connection_limit
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    others = _OTHER_FILES + config.http.concurrency
    wanted = config.connection_limit + others
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    allowed = config.connection_limit if soft == resource.RLIM_INFINITY else max(soft // 2, soft - others)
    return min(config.connection_limit, allowed)


def describe(config: ServeConfig, listener: socket.socket, tasks: int, has_token: bool) -> Serving:
    """What is served where."""
    port = int(listener.getsockname()[1])
    host = f"[{config.host}]" if ":" in config.host else config.host
    return Serving(
        url=f"http://{host}:{port}",
        host=config.host,
        port=port,
        judge=config.judge,
        scheme=config.scheme,
        tasks=tasks,
        routes=REWARD_ROUTES,
        token=has_token,
    )


@contextmanager
def pass_signals_to(server: Server) -> Iterator[None]:
    """SIGINT and SIGTERM tell a server to stop; they come to the main thread, and the server runs in another."""
    before = {number: signal.signal(number, server.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
