"""`view_runs`: a local web app to look at runs and to review compiled rubrics.

It is served on loopback. Elsewhere a token is needed, which is made at the start and is part of the printed URL. What
is wrong with the path, the judge or the port is reported before anything is served.
"""

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable

from prorubric.errors import ConfigError, MissingExtraError
from prorubric.files.write import split_suffix
from prorubric.reward.server.config import ServerOptions, is_loopback, list_hosts
from prorubric.rubric.base import Record
from prorubric.runs.verdicts import VERDICTS
from prorubric.view.config import ViewConfig
from prorubric.view.review_export import ExportResult, export_review

_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - what the user may have asked for
_PACKAGES = ("fastapi", "starlette", "uvicorn", "h11", "prometheus_client")
"""What the extra [serve] installs."""


class Viewing(Record):
    """Where the app is."""

    url: str
    """With the token, if there is one."""
    path: str
    judge: str
    """Empty if none may be asked."""


def export_view(config: ViewConfig) -> ExportResult:
    """Fold the review of a tasks file into a new tasks file."""
    if config.export is None or not config.path.is_file():
        raise ConfigError("name the file under review", remedy="prorubric view TASKS --export OUT", place=config.path)
    return export_review(config.path, config.export, accepted_only=config.accepted_only, overwrite=config.overwrite)


def view_runs(config: ViewConfig, on_ready: Callable[[Viewing], None] | None = None) -> None:
    """Serve the app until a signal says to stop. `on_ready` gets the address once the server listens."""
    try:
        import uvicorn  # noqa: PLC0415 - needs the extra [serve]

        from prorubric.reward.server.listen import bind  # noqa: PLC0415
        from prorubric.view.app import make_app  # noqa: PLC0415
        from prorubric.view.gate import ViewGate  # noqa: PLC0415
    except ImportError as missing:
        if (missing.name or "").partition(".")[0] not in _PACKAGES:
            raise
        raise MissingExtraError.of("prorubric view", "serve") from missing
    if not config.path.exists():
        raise ConfigError(f"{config.path}: no such file or folder; name a folder with runs, or a run folder")
    if config.path.is_file():
        split_suffix(config.path)
    if config.compare is not None and not config.compare.is_file():
        raise ConfigError(f"--compare {config.compare}: no such file; name another compilation of the same tasks")
    if config.verdicts is not None and not (config.verdicts / VERDICTS).is_file():
        raise ConfigError(
            f"--verdicts {config.verdicts}: not the folder of a finished run; name one that judge has written"
        )
    app = make_app(config.path, config=config)
    listener = bind(config.host, config.port)
    port = int(listener.getsockname()[1])
    token = None if is_loopback(config.host) else secrets.token_urlsafe(24)
    gate = ViewGate(app, hosts=list_hosts(ServerOptions(host=config.host, port=port), port), token=token)
    # Listening on every address, the machine is reached by its name.
    host = socket.gethostname() if config.host in _EVERYWHERE else config.host
    host = f"[{host}]" if ":" in host else host
    page = "#/review" if config.path.is_file() else ""
    url = f"http://{host}:{port}/{f'?token={token}' if token else ''}{page}"
    viewing = Viewing(url=url, path=str(config.path), judge=", ".join(config.judge or ()))

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if on_ready is not None:
                on_ready(viewing)
            if config.open:  # a browser in a terminal would not return
                threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    settings = uvicorn.Config(
        gate,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=2,
    )
    with listener:
        try:
            Server(settings).run(sockets=[listener])
        except KeyboardInterrupt:
            return
