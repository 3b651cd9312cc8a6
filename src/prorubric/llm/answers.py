"""What the answer of an endpoint says: a reply, or what went wrong, with its code and the parameter that it is about.

Everything here is text that somebody else wrote, in any form. What goes into an error line is checked first for words
of the prompt.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from math import isfinite
from typing import Any
from urllib.parse import unquote

import orjson

from prorubric.llm.model import MOST_TOKENS, Reply, Request
from prorubric.llm.thinking import drop_thinking

SHOWN_CHARACTERS = 200
"""Of what a server says, in an error line."""
_PAGE_OPENINGS = ("<!doctype", "<html", "<head", "<body", "<?xml")
_REPLY_SIGNS = ("{", "[", '"', "<", "data:", "\ufffd")
"""Not in what a proxy says in one line; the last one stands for bytes that are no text."""
_WORD = re.compile(r"[^\W_]+")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
_SHORT_WORD, _LONG_WORD, _RUN_OF_WORDS = 2, 5, 4
_PLAIN_WORDS = frozenset(
    """
    about above access account again already and any api are available bad before below billing body busy but can
    cannot capacity check com completion connect connection context could current default details did docs does
    error errors exceeded exceeds exist failed failure field find for format found free from gateway given had has
    have head header headers healthy however html http https input instead internal into invalid issue its json key
    keys later least length less limit loading max maximum memory message messages min minute missing model models
    more most must new not number object only organization out overloaded parameter parameters per plan please
    provided quota rate reached reason reduce request requested requests required reset response retry returned
    schema see server service should since size sorry status string support supported supports temperature than that
    the their then there this time timeout title token tokens too top trace try type unable unavailable unexpected
    unknown unsupported upstream use used using validation value values was were while will with would you your
    """.split()
)
"""Words of errors that say nothing about a prompt, even where they are in it."""
_REPLY_LENGTH = ("max_tokens", "max_completion_tokens")
_ABOVE_MOST = ("integer_above_max_value", "less_than_equal")
_ABOVE_MOST_WORDS = ("too large", "too high", "at most", "maximum", "exceed", "less than or equal", "valid range")
_PROMPT_LENGTH = ("context length", "input token", "prompt", "in the messages")


@dataclass(frozen=True, slots=True)
class Unread:
    """Why there is no reply in an answer."""

    reason: str
    said: str = ""
    """The server's own words, which may be long, and may repeat the prompt or the key."""


def parse_reply(body: bytes, prompt: str = "") -> Reply | Unread:
    """The reply in the body of a good answer, without its thinking; or what is wrong with it.

    A mark of thinking that the prompt contains may be quoted: see `drop_thinking`.
    """
    try:
        data = _loads(body)
    except (ValueError, RecursionError):
        return _explain_no_json(body)
    choices = data.get("choices") if isinstance(data, dict) else None
    if not isinstance(choices, list) or not choices:
        said = parse_error(body).message if isinstance(data, dict) and "error" in data else ""
        return Unread("the answer has no choices", said)
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        return Unread("the first choice of the answer has no message")
    text = _read_content(message)
    if text is None:
        return Unread("the answer's content is not text")
    usage = data["usage"] if isinstance(data.get("usage"), dict) else {}
    finish = choice.get("finish_reason")
    return Reply(
        drop_thinking(text, prompt),
        _count(usage.get("prompt_tokens")),
        _count(usage.get("completion_tokens")),
        finish if isinstance(finish, str) else None,
    )


@dataclass(frozen=True, slots=True)
class ServerError:
    """What an endpoint says of an error; empty where it does not say."""

    message: str = ""
    code: str = ""
    """Its code, or else its type."""
    param: str = ""
    """The field of the request that it is about."""

    @property
    def caps_replies(self) -> bool:
        """True where the endpoint writes no reply of the length that was asked for, however short the prompt."""
        said = self.message.casefold()
        is_about_length = self.param in _REPLY_LENGTH or (
            not self.param and any(name in said for name in _REPLY_LENGTH)
        )
        if (
            not is_about_length
            or self.code == "context_length_exceeded"
            or any(words in said for words in _PROMPT_LENGTH)
        ):
            return False
        return self.code in _ABOVE_MOST or any(words in said for words in _ABOVE_MOST_WORDS)


def parse_error(body: bytes) -> ServerError:
    """The error in a body, in the forms that endpoints use; a body that is not JSON is all message."""
    try:
        data = _loads(body)
        if isinstance(data, dict) and isinstance(data.get("error"), dict | list | str):
            data = data["error"]
    except (ValueError, RecursionError):
        return ServerError(body.decode("utf-8", "replace"))
    message = _find_message(data)
    if isinstance(data, dict) and isinstance(data.get("detail"), list):  # FastAPI's
        data = data["detail"]
    about = data[0] if isinstance(data, list) and data else data
    if not isinstance(about, dict):
        return ServerError(message or body.decode("utf-8", "replace"))
    code, place = (about.get("code"), about.get("type")), about.get("loc")
    param = about.get("param") or (place[-1] if isinstance(place, list) and place else "")
    return ServerError(
        message or "",
        next((text for text in code if isinstance(text, str) and text), ""),
        param if isinstance(param, str) else "",
    )


def repeats_prompt(said: str, request: Request) -> bool:
    """True where a word, or several plain ones in a row, may come from the prompt."""
    plain = _ESCAPE.sub(" ", unescape(unquote(said))).casefold()
    words = _WORD.findall(plain)
    prompt = _WORD.findall(" ".join(message.content for message in request.messages).casefold())
    whole = "".join(prompt)
    # A long word may be cut off, and is looked for within others; a short one would be found in too many.
    short = {word for word in words if _SHORT_WORD < len(word) < _LONG_WORD} - _PLAIN_WORDS
    long = {word for word in words if len(word) >= _LONG_WORD} - _PLAIN_WORDS
    runs = {"".join(words[start : start + _RUN_OF_WORDS]) for start in range(len(words) - _RUN_OF_WORDS + 1)}
    # Where words of other scripts begin and end is not known here.
    return not short.isdisjoint(prompt) or any(word in whole for word in long | runs) or not "".join(words).isascii()


def parse_retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a number or an HTTP date; None where the header is missing or unreadable."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value)
    return max(0.0, seconds) if isfinite(seconds) else None


def _loads(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except ValueError:  # a lone surrogate is JSON to the standard library
        return json.loads(body)


def _read_content(message: Mapping[str, Any]) -> str | None:
    """The text of a message, or of its refusal; "" where it only thought or called a tool, None if unreadable."""
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(_read_part(part) for part in content)
    if not content and isinstance(message.get("refusal"), str):
        return str(message["refusal"])
    return "" if content is None else content if isinstance(content, str) else None


def _read_part(part: Any) -> str:
    if isinstance(part, str):
        return part
    text = part.get("text", part.get("refusal")) if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and 0 <= value < MOST_TOKENS else 0


def _explain_no_json(body: bytes) -> Unread:
    """What came instead of JSON, where it is a page or one short line: the words of what stands before the endpoint.

    JSON that breaks off, a stream of events and a longer text may hold a reply, and are not shown.
    """
    text = body.decode("utf-8-sig", "replace")
    opening = text.lstrip()[: SHOWN_CHARACTERS + 1].rstrip()
    if not opening:
        return Unread("the answer is empty")
    is_page = opening.casefold().startswith(_PAGE_OPENINGS)
    is_notice = len(text.strip()) <= SHOWN_CHARACTERS and opening.isprintable()
    is_shown = is_page or (is_notice and not any(sign in opening for sign in _REPLY_SIGNS))
    return Unread("the answer is not JSON", text if is_shown else "")


def _find_message(data: Any) -> str | None:
    """The text of an error in the forms that endpoints use, however deep it is."""
    while isinstance(data, dict | list) and data:
        if isinstance(data, list):
            data = data[0]
        else:
            data = next((data[name] for name in ("error", "message", "detail", "msg") if name in data), None)
    return data if isinstance(data, str) else None


def _seconds_until(value: str) -> float:
    try:
        moment = parsedate_to_datetime(value)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (moment - datetime.now(UTC)).total_seconds()
    except (ValueError, OverflowError, TypeError):
        return float("nan")
