"""The configuration of an audit: `AuditConfig`."""

from dataclasses import KW_ONLY, field
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from prorubric.aggregate.bootstrap import RESAMPLES
from prorubric.aggregate.choose import AUTO
from prorubric.audit.edits import EDITS, EditName
from prorubric.audit.effects import MARGIN
from prorubric.audit.price_list import TARGET
from prorubric.datasets.load import TaskOptions
from prorubric.errors import ConfigError
from prorubric.judge.judge import JudgeConfig
from prorubric.judge.panel import Judges
from prorubric.rubric.base import config_record, split_commas
from prorubric.runs.run import RunOptions
from prorubric.text.show import shorten

Edits = Annotated[
    tuple[EditName, ...],
    BeforeValidator(split_commas),
    AfterValidator(lambda names: tuple(dict.fromkeys(names))),
    Field(min_length=1),
]


@config_record
class AuditConfig(TaskOptions, RunOptions):
    """What is audited: whose answers, edited and judged by whom, under which schemes, and how models are asked."""

    tasks: str
    """Tasks file, or the id of a Hugging Face dataset."""
    responses: Path | None = None
    """Answers file. Without one, answers are sampled (--answers-from) or composed from the checklists."""
    _: KW_ONLY
    judge: Judges = "lexical"
    """Judge, or several: lexical, http://host:port/v1#name, gguf:PATH, smollm2, scripted:FILE, pkg.module:object."""
    editor: str = "rules"
    """Editor of the answers: rules (offline), or a model that writes text."""
    generator: str = "rules"
    """Generator of dimensions for tasks without any: rules (weak, offline), or a model that writes text."""
    answers_from: str | None = None
    """Model to sample answers from when no answers file is given."""
    samples: Annotated[int, Field(ge=1, le=64)] = 4
    """Number of answers to sample or compose per prompt."""
    temperature: Annotated[float, Field(ge=0)] = 0.7
    """Temperature of sampled answers."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 0.8
    """Top-p of sampled answers."""
    scheme: str = AUTO
    """Comma-separated schemes, all, or auto: the sum, and ProRubric if the judge can read it."""
    edits: Edits = tuple(EDITS)
    """The edits to make."""
    hacks_file: Path | None = None
    """Text file with one phrase per line; each is an extra edit that appends it to the answer."""
    out: Path = Path("prorubric-audit")
    """Run folder; run the same command again to finish what is missing."""
    overwrite: bool = False
    """Replace an existing audit in the folder; its journal is kept."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Audit at most this many prompts, chosen by a hash of their ids."""
    resamples: Annotated[int, Field(ge=100, le=1_000_000)] = RESAMPLES
    """Number of resamples for each interval."""
    margin: Annotated[float, Field(ge=0, le=100)] = MARGIN
    """How far above 0, in points, an interval may reach and still count as "padding does not pay"."""
    target: Annotated[float, Field(gt=0, le=1)] = TARGET
    """Share of the sum that a hack must reach."""
    most_unknown: Annotated[float, Field(ge=0, lt=1)] = 0.05
    """Maximum share of unknown verdicts; above it, the judge counts as not alive."""
    judging: JudgeConfig = field(default_factory=JudgeConfig)

    def __post_init__(self) -> None:
        if self.responses is not None and self.answers_from is not None:
            raise ConfigError(
                f"answers are given twice: by the file {self.responses} and by --answers-from "
                f"{shorten(self.answers_from)}; give one of the two"
            )
