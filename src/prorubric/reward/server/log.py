"""The server's log: one JSON object per line on stderr. Requests and answers are not in it unless asked for.

An exception is logged as its type and the places it went through, without its message, which may quote a request. What
other libraries log is cut to their own words: the values that they fill in may quote a request, too.
"""

import logging
import re
import sys
import time
import traceback
from datetime import UTC, datetime
from typing import Any

from prorubric.files.json import render_json

_LOGGER = logging.getLogger("prorubric.serve")
_FOREIGN = ("uvicorn.error", "asyncio")
_FOREIGN_SECONDS = 1.0
"""How long a message of another library is not repeated."""
_QUOTING = re.compile(r"[(<\[{'\"]")
"""How a value begins that was written into a message: asyncio puts a failed callback's arguments there."""


class RepeatFilter(logging.Filter):
    """Lets messages that may come thousands of times a second through once in a while, with how often they came."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: dict[str, tuple[float, int]] = {}
        """For each message when it may be logged again, and how often it came since it last was."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log it. Our own messages say themselves how long a pause they need."""
        pause = getattr(record, "pause", _FOREIGN_SECONDS)
        if len(self._seen) > 100:
            self._seen.clear()
        key, now = str(record.msg)[:40], time.monotonic()
        due, times = self._seen.get(key, (0.0, 0))
        record.__dict__["times"] = times + 1
        self._seen[key] = (now + pause, 0) if now >= due else (due, times + 1)
        return now >= due


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON."""

    def __init__(self, log_text: bool) -> None:
        super().__init__()
        self._log_text = log_text

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
        }
        if record.name == _LOGGER.name:
            fields |= {"event": record.msg, **getattr(record, "fields", {})}
        else:
            if self._log_text:
                message = record.getMessage().strip()
            elif isinstance(record.msg, str):
                message = _QUOTING.split(record.msg.strip().partition("\n")[0])[0].strip()
            else:
                message = type(record.msg).__name__
            fields |= {"event": "log", "source": record.name, "message": message}
        if (times := getattr(record, "times", 1)) > 1:
            fields["times"] = times
        if record.exc_info and (error := record.exc_info[1]) is not None:
            frames = traceback.extract_tb(error.__traceback__)
            fields["error"] = type(error).__name__
            fields["at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        return render_json(fields).decode()


def set_up_logs(*, log_text: bool = False) -> None:
    """Send the server's own lines, and the warnings of the libraries it runs on, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(log_text))
    handler.addFilter(RepeatFilter())
    for name in (_LOGGER.name, *_FOREIGN):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO if name == _LOGGER.name else logging.WARNING)


def log(event: str, **fields: Any) -> None:
    """Log an event."""
    _LOGGER.info(event, extra={"fields": fields, "pause": 0.0})


def log_error(event: str, exception: BaseException | None = None, *, pause: float = 0.0, **fields: Any) -> None:
    """Log a problem that the operator should look at, or a bug with its exception; again only after a pause."""
    _LOGGER.error(event, exc_info=exception, extra={"fields": fields, "pause": pause})
