"""Fences around untrusted text, with a mark that the text cannot contain.

A response may contain anything: a fake end of its own fence, role markers, JSON that looks like a verdict,
instructions to the judge. It is put between two lines with a mark made from a hash of the text itself, so a policy
would have to write a text that contains its own hash. The same text gets the same mark, so the cache still finds the
reply.

The control tokens of chat templates are in `chat_tokens.txt`; only `clean` breaks them up.
"""

import hashlib
import html
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from prorubric.rubric.identity import remember
from prorubric.rubric.records import Task

_MARK_LENGTH = 16
CHAT_TOKENS_FILE = Path(__file__).with_name("chat_tokens.txt")
_CHAT_TOKENS = [
    line.split() for line in CHAT_TOKENS_FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")
]
THINKING_PAIRS = [(tokens[0], tokens[1]) for tokens in _CHAT_TOKENS if len(tokens) == 2]
"""What opens and what closes a model's thinking."""


def match_starts(tokens: Iterable[str]) -> re.Pattern[str]:
    """Matches the first sign of any of these tokens if the rest follows: tokens may overlap, as in `[e~[INST]`."""
    rests: dict[str, list[str]] = {}
    for token in tokens:
        rests.setdefault(re.escape(token[0]), []).append(re.escape(token[1:]))
    pattern = "|".join(f"{start}(?={'|'.join(ends)})" for start, ends in rests.items())
    return re.compile(pattern.replace(r"\*", r"[^\s<>\[\]|｜\u200b]{1,64}"))


_CONTROL_TOKEN = match_starts(token for tokens in _CHAT_TOKENS for token in tokens)
_TOKEN_STARTS = {token[0] for tokens in _CHAT_TOKENS for token in tokens}
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
_LOOKALIKES = str.maketrans("асеіјкморѕтхуԁӏѵαεικνορτυχ", "aceijkmopstxydlvaeiknoptux")
_LOOKALIKE = re.compile(f"[{''.join(map(chr, _LOOKALIKES))}]")
_ESCAPE = re.compile(r"\\+(?:u([0-9a-f]{4})|x([0-9a-f]{2})|u\{0*([0-9a-f]{1,5})\}|[bfnrt])?", re.IGNORECASE)


def make_mark(text: str) -> str:
    """A mark that does not occur in the text."""
    encoded = text.encode("utf-8", "surrogatepass")
    salt = 0
    while True:
        mark = hashlib.sha256(b"prorubric fence %d\x00" % salt + encoded).hexdigest()[:_MARK_LENGTH].upper()
        if mark not in text.upper():
            return mark
        salt += 1


def clean(text: str) -> str:
    """Text as it can be sent: lone surrogates and NUL made visible, control tokens of chat templates broken up.

    Some servers' tokenizers turn `<|im_start|>` inside a message into a real role marker; with a zero-width space
    after the first sign it stays text and looks the same.
    """
    sent = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
    sent = sent.replace("\x00", "␀")
    if not any(start in sent for start in _TOKEN_STARTS):
        return sent
    return _CONTROL_TOKEN.sub("\\g<0>\u200b", sent)


def flatten(text: str) -> str:
    """Text as a reader sees it, for comparing: no escapes and entities, no invisible signs, one case and alphabet."""
    if "\\" in text:
        text = _ESCAPE.sub(
            lambda found: (
                chr(int(found[found.lastindex], 16)) if found.lastindex else "" if found[0][-1] == "\\" else " "
            ),
            text,
        )
    if "&" in text:
        text = html.unescape(html.unescape(text))
    if text.isascii():
        return text.lower()
    shown = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return shown.translate(_LOOKALIKES) if _LOOKALIKE.search(shown) else shown


def fence(name: str, text: str, mark: str | None = None) -> str:
    """The text between two lines with its mark, or with one that texts shown together share."""
    shown = clean(text)
    mark = mark or make_mark(shown)
    return f"<<<{name} {mark}\n{shown}\n{name} {mark}>>>"


@remember(1024)
def render_conversation(task: Task) -> str:
    """The turns of a task behind one mark, each with its role."""
    turns = (f"{message.role}: {message.content}" for message in task.messages)
    return fence("CONVERSATION", "\n\n".join(turns))
