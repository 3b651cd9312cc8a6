"""Names for tasks whose source gives none, and the hash by which a prompt is known."""

import hashlib
from collections.abc import Sequence

from prorubric.files.json import render_json
from prorubric.rubric.records import Message, Rubric


def hash_prompt(messages: Sequence[Message]) -> str:
    """The sha256 of a conversation; white space at the ends of a turn does not make another prompt."""
    turns = [[message.role, message.content.strip()] for message in messages]
    return hashlib.sha256(render_json(turns)).hexdigest()


def make_id(messages: Sequence[Message], rubric: Rubric) -> str:
    """A name made from the content: the same prompt with another checklist is another task."""
    items = [[c.text, c.weight, *([c.check.rules] if c.check else [])] for c in rubric.criteria]
    return hashlib.sha256(render_json([hash_prompt(messages), items])).hexdigest()[:16]
