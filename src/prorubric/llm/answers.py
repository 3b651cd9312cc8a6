"""Read an endpoint's answer: a reply, or an error with its code and the request field it is about.

All of this is text that someone else wrote, in any form. What goes into an error line is first checked for words of
the prompt.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from math import isfinite
from pathlib import Path
from urllib.parse import unquote

from prorubric.files.json import parse_json
from prorubric.llm.model import MOST_TOKENS, Reply, Request
from prorubric.llm.thinking import drop_thinking

_SHOWN_CHARACTERS = 200
NEWER_NAME = "max_completion_tokens"
"""What newer endpoints call `max_tokens`."""
# Some endpoints refuse one of these for some models, and are then asked without it.
_OPTIONAL_FIELDS = ("max_tokens", "temperature", "top_p", "seed", "top_k", "min_p", "chat_template_kwargs")
_OWN_FIELD = re.compile(r"\b(top_k|min_p|chat_template_kwargs)\b")
"""Fields that only some servers have; others name them in the message alone."""
_UNSUPPORTED = ("unsupported", "not support", "unrecognized", "unknown", "not permitted", NEWER_NAME)
_FORMAT_WORDS = ("response_format", "response format", "json_schema", "json_object", "guided", "grammar")
_REPLY_LENGTH = ("max_tokens", NEWER_NAME)
_ABOVE_MAXIMUM = ("integer_above_max_value", "less_than_equal")
_ABOVE_MAXIMUM_WORDS = ("too large", "too high", "at most", "maximum", "exceed", "less than or equal", "valid range")
_PROMPT_LENGTH = ("context length", "input token", "prompt", "in the messages")
_PAGE_OPENINGS = ("<!doctype", "<html", "<head", "<body", "<?xml")
_REPLY_SIGNS = ("{", "[", '"', "<", "data:", "\ufffd")
"""Signs that a line is not a proxy's notice; the last one replaces bytes that are not text."""
_WORD = re.compile(r"[^\W_]+")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_SHORT_WORD, _LONG_WORD, _RUN_OF_WORDS = 2, 5, 4
_PLAIN_WORDS = frozenset(Path(__file__).with_name("error_words.txt").read_text(encoding="utf-8").split())
"""Words of error messages that reveal nothing about a prompt, even if it contains them."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Why an answer has no reply in it, and the server's own words, which may repeat the prompt or the key."""

    reason: str
    said: str = ""


def parse_reply(body: bytes, prompt: str = "") -> Reply | Unread:
    """The reply in the body of a successful answer, without its thinking, or why there is none."""
    try:
        data = parse_json(body)
    except (ValueError, RecursionError):
        return _explain_no_json(body)
    match data:
        case {"choices": [{"message": dict(message)} as choice, *_]}:
            content, finish, usage = message.get("content"), choice.get("finish_reason"), data.get("usage")
        case {"choices": [_, *_]}:
            return Unread("the first choice of the answer has no message")
        case _:
            has_error = isinstance(data, dict) and "error" in data
            return Unread("the answer has no choices", parse_error(body).message if has_error else "")
    if isinstance(content, list):
        parts = (part.get("text", part.get("refusal")) if isinstance(part, dict) else part for part in content)
        content = "".join(part for part in parts if isinstance(part, str))
    if content is None or content == "":  # it refused, only thought, or called a tool
        content = message.get("refusal") or ""
    if not isinstance(content, str):
        return Unread("the answer's content is not text")
    counts = [usage.get(name) if isinstance(usage, dict) else 0 for name in ("prompt_tokens", "completion_tokens")]
    read, written = (count if isinstance(count, int) and 0 <= count < MOST_TOKENS else 0 for count in counts)
    return Reply(drop_thinking(content, prompt), read, written, finish if isinstance(finish, str) else None)


@dataclass(frozen=True, slots=True)
class ServerError:
    """What an endpoint says about an error; fields it does not give are empty."""

    message: str = ""
    code: str = ""
    """Its code, or else its type."""
    param: str = ""

    @property
    def unsupported_field(self) -> str | None:
        """The optional request field that the endpoint does not support."""
        is_unsupported = any(word in f"{self.code} {self.message}".casefold() for word in _UNSUPPORTED)
        return self._optional_field if is_unsupported else None

    @property
    def is_about_format(self) -> bool:
        """True if the endpoint does not take `response_format` in this form."""
        said = self.message.casefold()
        is_named = self.param.startswith("response_format") or any(word in said for word in _FORMAT_WORDS)
        return is_named and self._optional_field is None

    @property
    def limits_reply(self) -> bool:
        """True if the endpoint allows no reply as long as `max_tokens`, however short the prompt."""
        said = self.message.casefold()
        if not (self.param in _REPLY_LENGTH if self.param else any(name in said for name in _REPLY_LENGTH)):
            return False
        if self.code == "context_length_exceeded" or any(words in said for words in _PROMPT_LENGTH):
            return False
        return self.code in _ABOVE_MAXIMUM or any(words in said for words in _ABOVE_MAXIMUM_WORDS)

    @property
    def _optional_field(self) -> str | None:
        if self.param:
            return self.param if self.param in _OPTIONAL_FIELDS else None
        if NEWER_NAME in self.message.casefold():
            return "max_tokens"
        named = _OWN_FIELD.search(self.message)
        return named[0] if named else None


def parse_error(body: bytes) -> ServerError:
    """The error in a body, in the forms that endpoints use; a body that is not JSON is all message."""
    try:
        data = parse_json(body)
    except (ValueError, RecursionError):
        return ServerError(body.decode("utf-8", "replace"))
    if isinstance(data, dict) and isinstance(data.get("error"), dict | list | str):
        data = data["error"]
    message = data
    while isinstance(message, dict | list) and message:
        if isinstance(message, list):
            message = message[0]
        else:
            message = next((message[name] for name in ("error", "message", "detail", "msg") if name in message), None)
    message = message if isinstance(message, str) else ""
    if isinstance(data, dict) and isinstance(data.get("detail"), list):  # FastAPI's
        data = data["detail"]
    about = data[0] if isinstance(data, list) and data else data
    if not isinstance(about, dict):
        return ServerError(message or body.decode("utf-8", "replace"))
    code = next((text for text in (about.get("code"), about.get("type")) if isinstance(text, str) and text), "")
    place = about.get("loc")
    param = about.get("param") or (place[-1] if isinstance(place, list) and place else "")
    return ServerError(message, code, param if isinstance(param, str) else "")


def repeats_prompt(said: str, request: Request) -> bool:
    """True if a word, or several plain ones in a row, may come from the prompt."""
    plain = _ESCAPE.sub(" ", unescape(unquote(said))).casefold()
    words = _WORD.findall(plain)
    prompt = _WORD.findall(" ".join(message.content for message in request.messages).casefold())
    whole = "".join(prompt)
    # A long word may be cut off, so it is also looked for inside others; a short one would be found in too many.
    short = {word for word in words if _SHORT_WORD < len(word) < _LONG_WORD} - _PLAIN_WORDS
    long = {word for word in words if len(word) >= _LONG_WORD} - _PLAIN_WORDS
    runs = {"".join(words[start : start + _RUN_OF_WORDS]) for start in range(len(words) - _RUN_OF_WORDS + 1)}
    # Words of other scripts cannot be told apart here.
    return not short.isdisjoint(prompt) or any(word in whole for word in long | runs) or not "".join(words).isascii()


def parse_retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a number or an HTTP date; None if the header is missing or unreadable."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            seconds = (moment - datetime.now(UTC)).total_seconds()
        except (ValueError, OverflowError, TypeError):
            return None
    return max(0.0, seconds) if isfinite(seconds) else None


def _explain_no_json(body: bytes) -> Unread:
    """What came instead of JSON. A page or one short line is a proxy's and is shown; other text may hold a reply."""
    text = body.decode("utf-8-sig", "replace")
    opening = text.lstrip()[: _SHOWN_CHARACTERS + 1].rstrip()
    if not opening:
        return Unread("the answer is empty")
    is_page = opening.casefold().startswith(_PAGE_OPENINGS)
    is_notice = len(text.strip()) <= _SHOWN_CHARACTERS and opening.isprintable()
    is_shown = is_page or (is_notice and not any(sign in opening for sign in _REPLY_SIGNS))
    return Unread("the answer is not JSON", text if is_shown else "")
