"""The options of a compile run, and whether they fit together."""

from dataclasses import KW_ONLY, field
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field

from prorubric.compile.bake import DESCRIBING, NEEDS_DIMENSIONS, Transform
from prorubric.compile.compiler import RULES, GeneratorConfig
from prorubric.compile.texts import TextName
from prorubric.compile.work import TEXT_OF, Group, Plan
from prorubric.datasets.load import Subset
from prorubric.datasets.sources import Format
from prorubric.errors import ConfigError
from prorubric.llm.http import HttpConfig
from prorubric.llm.prompt_file import read_prompt
from prorubric.rubric.base import config_record, split_commas
from prorubric.runs.engines import Engine


def _read_path(value: object) -> object:
    return str(value) if isinstance(value, Path) else value


@config_record
class CompileFiles:
    """What is compiled, by which generator, into which file."""

    tasks: Annotated[str, BeforeValidator(_read_path)]
    """Tasks file, or the id of a Hugging Face dataset."""
    _: KW_ONLY
    out: Path | None = None
    """File to write: .jsonl, .json (also .gz, .zst) or .parquet. The same command finishes an interrupted run."""
    generator: str = ""
    """The generator: rules (no model), http://host:port/v1#name, gguf:PATH, scripted:FILE, pkg.module:object."""
    group: Group | None = None
    """Which tasks get new dimensions: by default all, or none if only --transform is given."""
    texts: Annotated[tuple[TextName, ...], BeforeValidator(split_commas)] = ()
    """Extra texts for the generator to write: k1, rewritten, labels, for the schemes k1, rewritten and weighted."""
    transform: Annotated[tuple[Transform, ...], BeforeValidator(split_commas)] = ()
    """Controls to apply to the tasks, in this order."""
    engine: Engine = "local"
    """Where to run: on this machine, or in Ray actors on many machines."""
    workers: Annotated[int, Field(ge=1)] = 2
    """Ray: number of actors."""
    format: Format = "auto"
    """Format of the tasks."""
    subset: Subset = "all"
    """HealthBench: only the physician-consensus criteria, or only the others."""
    split: str = "train"
    """The split of a dataset on the hub."""
    limit: Annotated[int, Field(ge=1)] | None = None
    """Compile only the first N tasks, to try a generator before paying for all of them."""
    strict: bool = False
    """Stop at the first row that cannot be read."""
    overwrite: bool = False
    """Replace an existing output."""
    journal: Path | None = None
    """Journal to share between runs; by default each output has its own next to it."""
    prices: str | Path | None = None
    """US dollars per million prompt and completion tokens, as in 0.15,0.60, or a JSON file of prices by model."""


@config_record
class CompileConfig(CompileFiles):
    """A whole run: its files, how the generator is asked, how its endpoint is treated."""

    _: KW_ONLY
    generation: GeneratorConfig = field(default_factory=GeneratorConfig)
    http: HttpConfig = field(default_factory=HttpConfig)


def make_plan(config: CompileConfig) -> Plan:
    """What is done to each task; raises `ConfigError` where the options do not fit together."""
    group = config.group or _choose_group(config)
    own = config.generation.prompt_file
    plan = Plan(group, config.texts, config.transform, config.generation, None if own is None else read_prompt(own))
    writes = [*config.texts, *(name for name in config.transform if name in TEXT_OF)]
    if group != "none" and not config.generator:
        raise ConfigError(f"--generator is missing; name a model, or {RULES} to do without one")
    if config.texts and config.generator in ("", RULES):
        raise ConfigError(f"--texts {','.join(config.texts)} needs a model that writes them; name it with --generator")
    if config.engine == "ray" and config.generator in ("", RULES):
        raise ConfigError("--engine ray spreads the calls to a model, and there is none; leave it out")
    _check_order(config.transform)
    if group == "none" and not writes and not config.transform:
        raise ConfigError("there is nothing to do; name --texts or --transform, or leave --group out")
    return plan


def _choose_group(config: CompileConfig) -> Group:
    """All; but where a transform is asked for, what is there stays, and only a transform of dimensions needs some."""
    if not config.transform:
        return "all"
    return "missing" if config.generator and any(name in NEEDS_DIMENSIONS for name in config.transform) else "none"


def _check_order(transforms: tuple[Transform, ...]) -> None:
    repeated = [name for name in transforms if transforms.count(name) > 1]
    if repeated:
        raise ConfigError(f"--transform names {repeated[0]} twice; name each once")
    if "weighted" in transforms[:-1]:
        raise ConfigError("--transform weighted drops criteria, of which the others must see all; name it last")
    descriptions = [name for name in transforms if name in DESCRIBING]
    if len(descriptions) > 1:
        raise ConfigError(f"--transform {','.join(descriptions)}: each of these writes the descriptions; name one")
    if descriptions and "appropriateness" in transforms[: transforms.index(descriptions[0])]:
        raise ConfigError(
            f"--transform {descriptions[0]} would change the appropriateness text; name that one after it"
        )
