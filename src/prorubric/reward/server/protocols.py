"""The bodies that trainers send, each read as the same thing: which task, which text, how many tokens.

Pydantic refuses what has the wrong shape; `ConfigError` what has the right shape and no meaning. Whether a task exists
is found out later, by the reward.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, WithJsonSchema, model_validator

from prorubric.errors import ConfigError
from prorubric.reward.transcript import choose_reference, split_query
from prorubric.text.show import shorten

DropStops = Callable[[str], str]

_REFERENCE = (
    "the id of a task in the server's file; or a task itself, as an object or as JSON text; "
    "or a row that holds the one or the other"
)
_EXAMPLE_TASK = "medicine-infant-fever"


@dataclass(frozen=True, slots=True)
class Asked:
    """One response whose reward is wanted."""

    reference: Any
    """What names the task, or carries it."""
    text: str
    tokens: int | None = None


def _names_a_task(value: Any) -> Any:
    if isinstance(value, str | dict) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):  # an id may be a whole number, as in every trainer
        return value
    raise ValueError("names no task; give the id of a task, or a task as an object or as JSON text")


_Reference = Annotated[
    Any,
    AfterValidator(_names_a_task),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "object"}], "description": _REFERENCE}),
]
_MOST_TOKENS = 2**53
"""Above this a float, in which rewards are computed, does not hold every number."""
_Tokens = Annotated[int, Field(ge=0, le=_MOST_TOKENS, strict=True)]
_Text = Annotated[str, Field(strict=True)]
# One wrong entry is enough to refuse a list: an error for each of millions would take gigabytes.
_Texts = Annotated[list[_Text], Field(fail_fast=True)]


class ScoreRequest(BaseModel):
    """One response to a task, or several."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"task": _EXAMPLE_TASK, "response": "Give him water and call a doctor if …", "tokens": 12},
                {"task": _EXAMPLE_TASK, "responses": ["Give him water.", "Wait."], "validation": True},
            ]
        },
    )

    task: Annotated[_Reference, Field(validation_alias=AliasChoices("task", "task_id"))]
    response: _Text | None = None
    responses: _Texts | None = None
    tokens: _Tokens | Annotated[list[_Tokens], Field(fail_fast=True)] | None = None
    """How long the response is in tokens, or each of them; needed where overlong responses lose reward."""
    validation: bool = False
    """Leave out the penalty for overlong responses."""

    @model_validator(mode="after")
    def _is_one_or_several(self) -> Self:
        if (self.response is None) == (self.responses is None):
            raise ValueError("give response, or responses, and not both")
        several = isinstance(self.tokens, list)
        if self.tokens is not None and several != (self.responses is not None):
            raise ValueError("tokens is one number beside response and a list beside responses")
        if isinstance(self.tokens, list) and len(self.tokens) != len(self.responses or ()):
            raise ValueError(f"{len(self.responses or ())} responses, and {len(self.tokens)} numbers of tokens")
        return self

    def list_asked(self) -> list[Asked]:
        """What is asked, in order."""
        if self.responses is None:
            tokens = None if isinstance(self.tokens, list) else self.tokens
            return [Asked(self.task, self.response or "", tokens)]
        counts = self.tokens if isinstance(self.tokens, list) else [None] * len(self.responses)
        return [Asked(self.task, text, count) for text, count in zip(self.responses, counts, strict=True)]


class OpenRlhfRequest(BaseModel):
    """What OpenRLHF posts to `--reward.remote_url`: whole sequences, their prompts, their labels."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": [
                        "<|im_start|>user\nMy boy has a fever.<|im_end|>\n<|im_start|>assistant\n"
                        "Give him water.<|im_end|>"
                    ],
                    "prompts": ["<|im_start|>user\nMy boy has a fever.<|im_end|>\n<|im_start|>assistant\n"],
                    "labels": [_EXAMPLE_TASK],
                }
            ]
        }
    )

    query: _Texts
    prompts: _Texts
    labels: Annotated[list[_Reference], Field(fail_fast=True)]

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        counts = (len(self.query), len(self.prompts), len(self.labels))
        if len(set(counts)) > 1:
            raise ValueError(
                "query, prompts and labels have {}, {} and {} entries; give as many of each".format(*counts)
            )
        return self

    def list_asked(self, drop_stops: DropStops) -> list[Asked]:
        """What is asked, in order. OpenRLHF sends no lengths."""
        rows = zip(self.query, self.prompts, self.labels, strict=True)
        return [Asked(label, drop_stops(split_query(query, prompt))) for query, prompt, label in rows]


class SlimeRequest(BaseModel):
    """What slime's `remote_rm` posts for one sample; a function of your own may add more of the sample."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"prompt": "My boy has a fever.", "response": "Give him water.<|im_end|>", "label": _EXAMPLE_TASK}
            ]
        }
    )

    response: _Text
    prompt: Any = None
    label: Any = None
    metadata: dict[str, Any] | None = None
    """Looked into where there is no label."""
    response_length: _Tokens | None = None

    @model_validator(mode="after")
    def _names_its_task(self) -> Self:
        _names_a_task(self.reference)
        return self

    @property
    def reference(self) -> Any:
        """What names the task: the label, or the metadata where there is none."""
        return choose_reference(self.label, self.metadata)

    def list_asked(self, drop_stops: DropStops) -> list[Asked]:
        """The one that is asked."""
        return [Asked(self.reference, drop_stops(self.response), self.response_length)]


class PolicyResponse(BaseModel):
    """What the policy gave back: the items of its output, and what else belongs to a response."""

    model_config = ConfigDict(extra="allow")

    output: list[Any]


class VerifyRequest(BaseModel):
    """What a NeMo Gym agent posts to a resources server: a row of the dataset, and the policy's response to it."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "responses_create_params": {"input": [{"role": "user", "content": "My boy has a fever."}]},
                    "response": {
                        "output": [
                            {
                                "type": "message",
                                "role": "assistant",
                                "content": [{"type": "output_text", "text": "Give him water."}],
                            }
                        ],
                        "usage": {"output_tokens": 4},
                    },
                    "task_id": _EXAMPLE_TASK,
                }
            ]
        },
    )

    responses_create_params: dict[str, Any]
    response: PolicyResponse

    def list_asked(self, column: str) -> list[Asked]:
        """The one that is asked: the last message of the assistant, and the row that names its task."""
        row = dict(self.model_extra or {})
        inner = row.get("verifier_metadata")
        reference = inner if column not in row and isinstance(inner, dict) else row
        return [Asked(reference, read_last_message(self.response.output), _read_output_tokens(self.response))]


def read_last_message(output: Sequence[Any]) -> str:
    """What the assistant said last, without its reasoning and its tool calls.

    No message at all is an empty answer; a message that cannot be read is refused, and not taken for one.
    """
    said = [item for item in output if _is_spoken(item)]
    content = said[-1].get("content") if said else ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(map(_read_part, content))
    raise ConfigError(f"the content of the last message is {_show(content)}; give a text, or a list of parts")


def _is_spoken(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type", "message") == "message" and item.get("role") == "assistant"


def _read_part(part: Any) -> str:
    text = part.get("text", part.get("refusal")) if isinstance(part, dict) else None
    if isinstance(text, str):
        return text
    raise ConfigError(f"a part of the last message is {_show(part)}; give it a text, or a refusal")


def _show(value: Any) -> str:
    return shorten(repr(value))


def _read_output_tokens(response: PolicyResponse) -> int | None:
    usage = (response.model_extra or {}).get("usage")
    count = usage.get("output_tokens") if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= _MOST_TOKENS else None
