"""Untrusted text behind a mark that it cannot contain.

A response may hold anything: a fake end of its own fence, role markers, JSON that looks like a verdict, instructions
to the judge. It is set between two lines with a mark that is made from a hash of the text itself, so that a policy
would have to write a text that contains its own hash; the same text gets the same mark, so that the cache still finds
the reply.
"""

import hashlib
import re
from functools import lru_cache

from prorubric.rubric.identity import ByIdentity
from prorubric.rubric.records import Task

_MARK_LENGTH = 16
_CONTROL_TOKEN = re.compile(r"<\||<｜|\[/?INST\]|</?s>|<(?:start|end)_of_turn>|<</?SYS>>")


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

    `<|im_start|>` inside a message becomes a real role marker in some servers' tokenizers; with a zero-width space
    behind the first sign it stays text.
    """
    sent = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
    sent = sent.replace("\x00", "␀")
    if "<" not in sent and "[" not in sent:  # no token begins otherwise
        return sent
    return _CONTROL_TOKEN.sub(lambda found: f"{found[0][0]}\u200b{found[0][1:]}", sent)


def fence(name: str, text: str) -> str:
    """The text between two lines that carry its mark."""
    shown = clean(text)
    mark = make_mark(shown)
    return f"<<<{name} {mark}\n{shown}\n{name} {mark}>>>"


def render_conversation(task: Task) -> str:
    """The turns of a task behind one mark; each begins with who speaks."""
    return _remember_conversation(ByIdentity(task))


@lru_cache(maxsize=1024)
def _remember_conversation(key: ByIdentity[Task]) -> str:
    turns = (f"{message.role}: {message.content}" for message in key.object.messages)
    return fence("CONVERSATION", "\n\n".join(turns))
