"""The methods of the paper, each as one record of settings; `METHODS` is the table of its training runs.

A method is a record and never a subclass: what a trainer does with it follows from its fields. A rollout is 64 prompts
with 8 responses each, used for two updates of 32 prompts. The paper trained in verl and says nothing about weight decay
and dual clipping, so verl's defaults are used for both.
"""

from dataclasses import KW_ONLY, replace
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from prorubric.aggregate.schemes import find_scheme
from prorubric.errors import ConfigError
from prorubric.reward.reward import Overlong, RewardConfig
from prorubric.rubric.base import config_record
from prorubric.train.scaffold import Scaffold
from prorubric.train.self_distillation import Distillation

Kind = Literal["grpo", "distillation", "sft", "best-of-n"]

SEEDS = (42, 43, 44)
"""The paper's."""

_Positive = Annotated[int, Field(ge=1)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Finite = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def read_switch(value: object) -> object:
    """`no`, `off` and `false` mean that a part is left out; `yes`, `on` and `true`, that it is as it is by default."""
    word = value.lower() if isinstance(value, str) else value
    return None if word in ("no", "off", "none", False) else {} if word in ("yes", "on", True) else value


@config_record
class Shaping:
    """What length costs, as in `Overlong`; the limit is that of the responses."""

    _: KW_ONLY
    buffer: _Positive | None = None
    """How many tokens below the limit the reward begins to shrink; by default half of the limit."""
    factor: _Finite = 0.5


@config_record
class Sft:
    """What supervised fine-tuning needs in addition."""

    _: KW_ONLY
    data: str | None = None
    """Answers to train on: a responses file, such as `best.jsonl` of a best-of-n run."""
    epochs: _Positive = 3
    batch: _Positive = 64
    """Rows per update; the last short batch of an epoch is left out."""
    warmup_share: _Share = 0.05
    schedule: Literal["constant", "cosine", "linear"] = "constant"
    """Schedule of the learning rate after the warm-up; the paper does not state it."""
    row_limit: _Positive = 20_000
    """In tokens, prompt and answer together; longer rows are left out."""


@config_record
class BestOfN:
    """How the best of several answers to a prompt is chosen."""

    _: KW_ONLY
    samples: str | None = None
    """Answers of a policy, several to a prompt: a responses file."""
    n: _Positive = 6
    """Answers per prompt to consider; more are left out and counted."""


@config_record
class Settings:
    """The settings of a run. The defaults are those of the paper's runs with GRPO."""

    _: KW_ONLY
    kind: Kind = "grpo"
    scheme: str | None = "prorubric"
    """The scheme of the reward; None if nothing is judged."""
    rollouts: _Positive = 300
    prompts: _Positive = 64
    """Prompts per rollout."""
    responses: _Positive = 8
    """Responses per prompt."""
    mini_batch: _Positive = 32
    """Prompts per update."""
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1e-6
    warmup: Annotated[int, Field(ge=0)] = 10
    """Rollouts until the learning rate is reached; it is constant after that."""
    weight_decay: _Finite = 0.01
    clip: tuple[_Finite, _Finite] = (0.20, 0.28)
    dual_clip: Annotated[float, Field(gt=1)] | None = 3.0
    kl: _Finite = 0.0
    """Weight of the KL loss to the untrained policy (k3, the low-variance estimator); 0 for none."""
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    prompt_limit: _Positive = 4096
    """In tokens; a longer prompt is left out."""
    response_limit: _Positive = 8192
    overlong: Annotated[Shaping | None, BeforeValidator(read_switch)] = Shaping()
    every: _Positive = 50
    """Rollouts between two checkpoints, and between two validations."""
    scaffold: Annotated[Scaffold | None, BeforeValidator(read_switch)] = None
    distillation: Annotated[Distillation | None, BeforeValidator(read_switch)] = None
    sft: Annotated[Sft | None, BeforeValidator(read_switch)] = None
    best_of: Annotated[BestOfN | None, BeforeValidator(read_switch)] = None

    def __post_init__(self) -> None:
        if self.kind == "grpo" and self.responses < 2:
            raise ConfigError(f"responses is {self.responses}; GRPO compares the responses to a prompt: give 2 or more")
        if self.kind in ("grpo", "distillation") and self.prompts % self.mini_batch:
            raise ConfigError(
                f"{self.prompts} prompts do not divide into mini-batches of {self.mini_batch}",
                remedy="choose another prompts or mini_batch",
            )
        shaping = self.overlong
        if shaping is not None and (shaping.buffer or 0) > self.response_limit:
            raise ConfigError(
                f"overlong: the buffer {shaping.buffer} is above the response_limit {self.response_limit}"
            )

    @property
    def updates(self) -> int:
        """Updates of the policy in one rollout."""
        return self.prompts // self.mini_batch

    @property
    def is_judged(self) -> bool:
        """True if responses are rewarded during the run."""
        return self.kind in ("grpo", "best-of-n")

    def price_length(self) -> Overlong | None:
        """What length costs under these settings."""
        if self.overlong is None or self.kind != "grpo":
            return None
        buffer = self.overlong.buffer or max(1, self.response_limit // 2)
        return Overlong(limit=self.response_limit, buffer=buffer, factor=self.overlong.factor)


PAPER = Settings()
"""What the paper's runs with GRPO have in common."""

_SUM = Settings(scheme="additive")
_SCAFFOLDED = replace(_SUM, prompt_limit=6144, scaffold=Scaffold())

METHODS: dict[str, Settings] = {
    "rubric-rl": _SUM,
    "prorubric": PAPER,
    "raw-and": replace(PAPER, scheme="raw-and"),
    "no-failure": replace(PAPER, scheme="prorubric-no-failure"),
    "graded": replace(PAPER, scheme="graded"),
    "k1": replace(PAPER, scheme="k1"),
    "implicit": replace(PAPER, scheme="implicit"),
    "weighted": replace(PAPER, scheme="weighted"),
    "rewritten": replace(PAPER, scheme="rewritten"),
    "length-matched": replace(_SUM, response_limit=4096),
    **{f"rubric-rl-kl-{kl}": replace(_SUM, kl=kl) for kl in (0.005, 0.01, 0.04)},
    **{f"prorubric-kl-{kl}": replace(PAPER, kl=kl) for kl in (0.005, 0.01, 0.04)},
    "ruscarl": _SCAFFOLDED,
    "ruscarl-original": replace(_SUM, scaffold=Scaffold(role="system", train_on="original")),
    "opsd": Settings(
        kind="distillation",
        scheme=None,
        rollouts=485,
        prompts=128,
        responses=1,
        rate=4.2e-6,
        response_limit=2048,
        overlong=None,
        distillation=Distillation(),
    ),
    "sft": Settings(kind="sft", scheme=None, rate=1e-5, weight_decay=0.1, overlong=None, sft=Sft()),
    "best-of-n": Settings(kind="best-of-n", scheme="additive", overlong=None, best_of=BestOfN()),
}
"""The paper's runs by name; with `+appropriateness` after the name of one that is judged, its reward has the fixed
criterion in addition."""

_EXTRA = "+appropriateness"


def find_method(method: "str | Settings") -> Settings:
    """The settings of a method by its name; `pkg.module:function` is GRPO with your own scheme."""
    if isinstance(method, Settings):
        return method
    base = method.removesuffix(_EXTRA)
    if base in METHODS and (base == method or METHODS[base].kind == "grpo"):
        found = METHODS[base]
        return found if base == method else replace(found, scheme=f"{found.scheme}{_EXTRA}")
    if ":" in method:
        find_scheme(method)
        return replace(PAPER, scheme=method)
    close = get_close_matches(method, METHODS, 1)
    hint = f"did you mean {close[0]}? " if close else ""
    raise ConfigError(f"no method is called {method!r}", remedy=f"{hint}known: {', '.join(METHODS)}")


def make_paper_reward(method: "str | Settings", **options: Any) -> RewardConfig:
    """The reward of a run; `options` (judge, tasks, …) are those of `RewardConfig` and win over the paper's."""
    found = find_method(method)
    if found.scheme is None:
        raise ConfigError(f"{method} has no reward", remedy="choose a method with a scheme")
    return RewardConfig(**{"scheme": found.scheme, "overlong": found.price_length(), **options})
