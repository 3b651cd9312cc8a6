"""A model whose replies are written beforehand, for tests: `ScriptedModel` in Python, `scripted:FILE` as a string.

The file has one rule a line: `{"contains": ["text", …], "reply": "…"}`. The first rule whose texts all occur in the
prompt answers; a rule without `contains` answers everything. A prompt that no rule matches is a failure, never an
empty reply.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from prorubric.errors import ConfigError, SourceError
from prorubric.files.read import read_rows
from prorubric.llm.model import Failure, Outcome, Reply, Request

Script = Callable[[Request], Outcome | str | None]


class ScriptedModel:
    """Answers from a function, or with a list of replies in turn."""

    def __init__(self, script: Script | Sequence[str], name: str = "scripted") -> None:
        if isinstance(script, str):
            raise ConfigError("a script is a list of replies or a function; put a single reply into a list")
        replies = iter(()) if callable(script) else iter(script)
        self._script: Script = script if callable(script) else lambda _: next(replies, None)
        self.name = self.identity = name
        """Give a changed script another name."""
        self.requests: list[Request] = []
        """Every request so far, for tests to look at."""

    async def complete(self, request: Request) -> Outcome:
        """Answer one request from the script."""
        self.requests.append(request)
        answer = self._script(request)
        if isinstance(answer, Reply | Failure):
            return answer
        if answer is None:
            return Failure("reply", "the script has no reply to this prompt")
        characters = sum(len(message.content) for message in request.messages)
        return Reply(answer, prompt_tokens=characters // 4, completion_tokens=len(answer) // 4)

    async def close(self) -> None:
        """Nothing to close."""


def load_script(path: Path) -> ScriptedModel:
    """A scripted model from a file of rules."""
    rules: list[tuple[list[str], str]] = []
    for row in read_rows(path):
        rule = row.value or {}
        texts, reply = rule.get("contains", []), rule.get("reply")
        is_list = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
        if not is_list or not isinstance(reply, str) or rule.keys() - {"contains", "reply"}:
            raise SourceError(f'{path}:{row.line}: not a rule; write {{"contains": ["text"], "reply": "text"}}')
        rules.append((texts, reply))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]

    def answer(request: Request) -> str | None:
        prompt = "\n".join(message.content for message in request.messages)
        return next((reply for texts, reply in rules if all(text in prompt for text in texts)), None)

    return ScriptedModel(answer, name=f"scripted:{path.name}@{digest}")
