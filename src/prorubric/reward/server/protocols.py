"""The bodies that trainers send, each read as the same thing: which task, which text, how many tokens.

Pydantic refuses a body of the wrong shape, `ConfigError` one of the right shape that makes no sense. Whether a task
exists is found out later, by the reward.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, WithJsonSchema, WrapValidator

from prorubric.errors import ConfigError
from prorubric.files.json import parse_json
from prorubric.judge.answer import View
from prorubric.reward.reward import RewardRequest
from prorubric.reward.transcript import choose_reference, drop_stop_texts, split_query
from prorubric.text.show import count, shorten

_REFERENCE = (
    "the id of a task in the server's file; or a task itself, as an object or as JSON text; or a row with either"
)
_OPENAPI = parse_json(Path(__file__).with_name("openapi.json").read_bytes())
"""Example bodies and the schemas of answers by route, for /openapi.json."""
_EXAMPLES = _OPENAPI["examples"]


def _require_reference(value: Any) -> Any:
    if isinstance(value, str | dict) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):  # an id may be a whole number, as in every trainer
        return value
    raise ValueError("does not name a task; give the id of a task, or a task as an object or as JSON text")


_Reference = Annotated[
    Any,
    AfterValidator(_require_reference),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "object"}], "description": _REFERENCE}),
]
_MOST_TOKENS = 2**53
"""Above this a float, in which rewards are computed, does not hold every number."""
_Tokens = Annotated[int, Field(ge=0, le=_MOST_TOKENS, strict=True)]
_Text = Annotated[str, Field(strict=True)]
_MESSAGES = {"type": "array", "items": {"type": "object"}, "description": "the messages of a transcript"}
_Answer = Annotated[
    _Text,
    WrapValidator(lambda value, read_text: value if isinstance(value, list) else read_text(value)),
    WithJsonSchema({"anyOf": [{"type": "string"}, _MESSAGES]}),
]
"""A text, or the messages of a transcript, which the reward reads."""
# One wrong entry is enough to refuse a list: an error for each of millions would take gigabytes.
_Texts = Annotated[list[_Text], Field(fail_fast=True)]


class ScoreRequest(BaseModel):
    """One response to a task, or several."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": _EXAMPLES["score"]})

    task: Annotated[_Reference, Field(validation_alias=AliasChoices("task", "task_id"))]
    response: _Answer | None = None
    responses: Annotated[list[_Answer], Field(fail_fast=True)] | None = None
    tokens: _Tokens | Annotated[list[_Tokens], Field(fail_fast=True)] | None = None
    """The length of the response in tokens, or of each; needed if overlong responses lose reward."""
    validation: bool = False

    def list_requests(self) -> list[RewardRequest]:
        """What is asked for, in order."""
        if (self.response is None) == (self.responses is None):
            raise ConfigError("give either response or responses, and not both")
        if self.tokens is not None and isinstance(self.tokens, list) == (self.responses is None):
            raise ConfigError("tokens is one number with response and a list with responses")
        texts = [self.response] if self.responses is None else self.responses
        tokens = self.tokens if isinstance(self.tokens, list) else [self.tokens] * len(texts)
        if len(tokens) != len(texts):
            numbers = f"{count(len(texts), 'response')}, but {count(len(tokens), 'number')} of tokens"
            raise ConfigError(f"{numbers}; give one for each")
        return [RewardRequest(self.task, text, length) for text, length in zip(texts, tokens, strict=True)]


class OpenRlhfRequest(BaseModel):
    """What OpenRLHF posts to `--reward.remote_url`: whole sequences, their prompts, their labels."""

    model_config = ConfigDict(json_schema_extra={"examples": _EXAMPLES["openrlhf"]})

    query: _Texts
    prompts: _Texts
    labels: Annotated[list[_Reference], Field(fail_fast=True)]

    def list_requests(self, stops: Sequence[str]) -> list[RewardRequest]:
        """What is asked for, in order. OpenRLHF sends no lengths."""
        counts = len(self.query), len(self.prompts), len(self.labels)
        if len(set(counts)) > 1:
            shown = "query, prompts and labels have {}, {} and {} entries".format(*counts)
            raise ConfigError(f"{shown}; give the same number of each")
        texts = map(split_query, self.query, self.prompts)
        return [
            RewardRequest(label, drop_stop_texts(text, stops)) for label, text in zip(self.labels, texts, strict=True)
        ]


class SlimeRequest(BaseModel):
    """What slime's `remote_rm` posts for one sample; your own function may add more of the sample."""

    model_config = ConfigDict(json_schema_extra={"examples": _EXAMPLES["slime"]})

    response: _Text
    prompt: Any = None
    label: Any = None
    metadata: dict[str, Any] | None = None
    """Names the task if there is no label."""
    response_length: _Tokens | None = None

    def list_requests(self, stops: Sequence[str]) -> list[RewardRequest]:
        """What is asked for: one response."""
        task = choose_reference(self.label, self.metadata)
        return [RewardRequest(task, drop_stop_texts(self.response, stops), self.response_length)]


class PolicyResponse(BaseModel):
    """What the policy returned: the items of its output, and whatever else belongs to a response."""

    model_config = ConfigDict(extra="allow")

    output: list[Any]

    def read_last_message(self) -> str:
        """What the assistant said last, without its reasoning and its tool calls.

        No message at all is an empty answer; a message that cannot be read is refused.
        """
        content: Any = ""
        for item in self.output:
            if isinstance(item, dict) and item.get("type", "message") == "message" and item.get("role") == "assistant":
                content = item.get("content")
        if isinstance(content, str):
            return content
        if not isinstance(content, list):
            shown = shorten(repr(content))
            raise ConfigError(f"the content of the last message is {shown}; give a text, or a list of parts")
        said = ""
        for part in content:
            text = part.get("text", part.get("refusal")) if isinstance(part, dict) else None
            if not isinstance(text, str):
                shown = shorten(repr(part))
                raise ConfigError(f"a part of the last message is {shown}; give it a text, or a refusal")
            said += text
        return said

    def list_messages(self) -> list[dict[str, Any]]:
        """The output as messages, with tool calls and their results and without reasoning."""
        messages: list[dict[str, Any]] = []
        for item in self.output:
            kind = item.get("type", "message") if isinstance(item, dict) else None
            if kind == "message":
                messages.append({"role": item.get("role"), "content": item.get("content")})
            elif kind == "function_call":
                if not messages or messages[-1]["role"] != "assistant":
                    messages.append({"role": "assistant", "content": ""})
                messages[-1].setdefault("tool_calls", []).append({**item, "id": item.get("call_id")})
            elif kind == "function_call_output":
                messages.append({"role": "tool", "content": item.get("output"), "tool_call_id": item.get("call_id")})
            elif kind != "reasoning":
                raise ConfigError(f"an item of the output is {shorten(repr(item))}; it cannot be judged as a turn")
        return messages


class VerifyRequest(BaseModel):
    """What a NeMo Gym agent posts to a resources server: a row of the dataset, and the policy's response to it."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": _EXAMPLES["verify"]})

    responses_create_params: dict[str, Any]
    response: PolicyResponse

    def list_requests(self, column: str, view: View) -> list[RewardRequest]:
        """What is asked for: the last message of the assistant, or all of them, with the row that names its task."""
        row = dict(self.model_extra or {})
        inner = row.get("verifier_metadata")
        task = inner if column not in row and isinstance(inner, dict) else row
        usage = (self.response.model_extra or {}).get("usage")
        count = usage.get("output_tokens") if isinstance(usage, dict) else None
        is_count = isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= _MOST_TOKENS
        said: Any = self.response.list_messages() if view == "full" else self.response.read_last_message()
        return [RewardRequest(task, said, count if is_count else None)]


def _list_answers(route: str) -> dict[int | str, dict[str, Any]]:
    problems = {status: (line, _OPENAPI["problem"]) for status, line in _OPENAPI["problems"].items()}
    answers = {"200": ("An answer", _OPENAPI["answers"][route]), **(problems if route in _OPENAPI["examples"] else {})}
    return {
        status: {"description": line, "content": {"application/json": {"schema": schema}}}
        for status, (line, schema) in answers.items()
    }


ANSWERS = {route: _list_answers(route) for route in _OPENAPI["answers"]}
"""What each route answers, for /openapi.json."""
