"""The verb `lab`: train policies in a small world, compare schemes, read one case, compare worlds.

Runs go to a folder that holds one world with one set of parameters; two worlds in one table could not be compared. A
comparison leaves `summary.json`, `report.html` and `figures/`; `run_lab` leaves `run.json`, so trying one scheme in the
folder of a comparison keeps its tables. Figures need the extra [plot]: without it a comparison is refused before any
run, unless it is asked to leave them out. Reading runs needs no torch.
"""

from dataclasses import KW_ONLY, asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import BeforeValidator, Field

from prorubric.audit.paper import load_paper
from prorubric.errors import ConfigError, MissingExtraError, SourceError
from prorubric.evaluate.statistics import Spread
from prorubric.files.write import write_json
from prorubric.lab.checklist import make_checklists
from prorubric.lab.facts import Facts
from prorubric.lab.language import MOST_CASES
from prorubric.lab.measure import PARTS, hold_parts
from prorubric.lab.mini import BATCH, DEMOS, TRAINING_CASES, write_mini
from prorubric.lab.results import (
    BASE,
    HELD_OUT_CASES,
    HELD_OUT_SEED,
    KEPT_ANSWERS,
    Correlation,
    correlate,
    load_runs,
)
from prorubric.lab.schemes import COMPARED, check_lab_scheme
from prorubric.lab.summary import LabResult, summarize_lab
from prorubric.lab.workers import LabFolder, make_runs
from prorubric.lab.world import END, fill_rows, find_world, make_world
from prorubric.rubric.base import Record, config_record, split_commas
from prorubric.runs.folder import Setting, claim_folder
from prorubric.runs.run import OnProgress
from prorubric.train.methods import PAPER, SEEDS

Mark = Literal["absent", "named", "wrong", "met"]
_MARKS: tuple[Mark, ...] = ("absent", "named", "wrong", "met")


@config_record
class LabConfig:
    """Which runs to make, and where."""

    _: KW_ONLY
    scheme: Annotated[tuple[str, ...], BeforeValidator(split_commas), Field(min_length=1)] = COMPARED
    """Comma-separated schemes, such as prorubric,additive-kl-0.01, or your own function as pkg.module:function."""
    world: str = "triage-v1"
    """Name of the world."""
    steps: Annotated[int, Field(ge=1, le=10_000)] = PAPER.rollouts
    """Number of training steps."""
    seeds: Annotated[int, Field(ge=1, le=100)] = len(SEEDS)
    """Number of seeds, starting at 42."""
    workers: Annotated[int, Field(ge=1, le=256)] = 2
    """Number of worker processes, each with one thread."""
    out: Path = Path("prorubric-lab")
    """Run folder; run the same command again to make the missing runs."""

    def __post_init__(self) -> None:
        find_world(self.world)
        for name in self.scheme:
            check_lab_scheme(name)


@config_record
class LabCompareConfig(LabConfig):
    """A comparison: by default every scheme of the paper's medical tables, over three seeds."""

    _: KW_ONLY
    figures: bool = True
    """Draw figures as PNG and SVG."""


def run_lab(config: LabConfig, on_progress: OnProgress | None = None) -> LabResult:
    """Train on one or a few schemes; the result covers what the config asks for."""
    return _make_tables(config, on_progress, "run.json")


def compare_schemes(config: LabCompareConfig, on_progress: OnProgress | None = None) -> LabResult:
    """Compare schemes and write the page."""
    if config.figures and find_spec("matplotlib") is None:
        raise MissingExtraError.of("drawing figures", "plot")
    result = _make_tables(config, on_progress, "summary.json")
    figures = {}
    if config.figures:
        from prorubric.report.lab_figures import draw_figures  # noqa: PLC0415 - brings matplotlib

        figures = draw_figures(result, config.out / "figures")
    from prorubric.report.lab_page import write_lab_page  # noqa: PLC0415 - only a comparison needs it

    write_lab_page(config.out / "report.html", result, figures)
    return result


def _make_tables(config: LabConfig, on_progress: OnProgress | None, name: str) -> LabResult:
    if find_spec("torch") is None:
        raise MissingExtraError.of("training in the lab", "lab")
    # All schemes of a seed before the next, so a table fills evenly.
    seeds = [SEEDS[0] + number for number in range(config.seeds)]
    wanted = [(scheme, seed) for seed in seeds for scheme in dict.fromkeys(config.scheme)]
    spec = find_world(config.world)
    # Named without files: beginning would remove them, and here runs of earlier calls are kept.
    setting = Setting("lab", config, {"world": spec.name, "set of parameters": asdict(spec)})
    with claim_folder(config.out, setting) as begin:
        begin()
        base, runs = make_runs(LabFolder(config.out, config.world, config.steps), wanted, config.workers, on_progress)
        result = summarize_lab(base, runs)
        write_json(config.out / name, result.model_dump(mode="json"))
    return result


@config_record
class ReadConfig:
    """Which case, and whose answers."""

    case: Annotated[int, Field(ge=1, le=KEPT_ANSWERS)] = 1
    """Number of a held-out case."""
    _: KW_ONLY
    scheme: Annotated[tuple[str, ...], BeforeValidator(split_commas)] = ()
    """Comma-separated schemes whose answers to show; by default all in the folder."""
    out: Path = Path("prorubric-lab")
    """Run folder."""


class ReadAnswer(Record):
    """One policy's answer."""

    scheme: str
    seed: int | None
    steps: int
    """How many steps it was trained for; 0 for the untrained policy."""
    sentences: tuple[str, ...]
    tokens: int
    marks: tuple[Mark, ...]
    """For each criterion of the checklist, the truth, not what a judge said of it."""
    parts: dict[str, bool]
    """The parts of `c`, and whether they hold."""


class ReadResult(Record):
    """One case: what was asked, the untrained answer and the trained ones, and what each has of the checklist."""

    world: str
    case: int
    question: str
    right_decision: str
    criteria: tuple[str, ...]
    weights: tuple[float, ...]
    answers: tuple[ReadAnswer, ...]


def read_case(config: ReadConfig) -> ReadResult:
    """Read one case from a run folder: for every scheme the longest run, and among several the first seed."""
    base, runs = load_runs(config.out)
    by_scheme = {run.scheme: run for run in sorted(runs, key=lambda run: (run.steps, -run.seed))}
    for name in config.scheme:
        if name not in by_scheme:
            held = ", ".join(sorted(by_scheme)) or "none"
            raise ConfigError(f"{config.out} holds no run of {name!r}; it holds: {held}")
    chosen = [by_scheme[name] for name in config.scheme or sorted(by_scheme)]
    world, lists = make_world(base.world), make_checklists(base.world, HELD_OUT_CASES, HELD_OUT_SEED)
    row = config.case - 1
    task, rows = lists.tasks[row], [base.answers[row], *(run.answers[row] for run in chosen)]
    facts = Facts(world, lists, np.full(len(rows), row), fill_rows(rows))
    names = [(BASE, None, 0), *((run.scheme, run.seed, run.steps) for run in chosen)]
    answers = [
        ReadAnswer(
            scheme=scheme,
            seed=seed,
            steps=steps,
            sentences=tuple(world.moves.sentences[move] for move in facts.moves_R_L[number] if move != END),
            tokens=int(facts.tokens[number]),
            marks=tuple(_MARKS[level] for level in facts.level[number, : len(task.rubric)]),
            parts={part: bool(holds) for part, holds in zip(PARTS, hold_parts(facts)[number], strict=True)},
        )
        for number, (scheme, seed, steps) in enumerate(names)
    ]
    return ReadResult(
        world=base.world,
        case=config.case,
        question=task.messages[0].content,
        right_decision=world.texts.decisions[lists.cases.level_T[row]],
        criteria=tuple(criterion.text for criterion in task.rubric.criteria),
        weights=task.rubric.weights,
        answers=tuple(answers),
    )


@config_record
class MiniConfig:
    """What the files for training a small language model in a world are made of."""

    _: KW_ONLY
    world: str = "triage-v1"
    """Name of the world."""
    training: Annotated[int, Field(ge=1, le=MOST_CASES)] = TRAINING_CASES
    """Number of cases to train on."""
    held_out: Annotated[int, Field(ge=1, le=MOST_CASES)] = HELD_OUT_CASES
    """Number of held-out cases."""
    demos: Annotated[int, Field(ge=BATCH)] = DEMOS
    """Number of demonstrations."""
    out: Path = Path("prorubric-mini")
    """Folder to write."""

    def __post_init__(self) -> None:
        find_world(self.world)


class MiniResult(Record):
    """The files that were written."""

    folder: str
    rows: dict[str, int]


def make_mini_files(config: MiniConfig) -> MiniResult:
    """Write tasks, demonstrations and recipes."""
    sizes = {"training": config.training, "held_out": config.held_out, "demos": config.demos}
    return MiniResult(folder=str(config.out), rows=write_mini(config.out, config.world, **sizes))


@config_record
class WorldsConfig:
    """Which folders to compare."""

    folders: Annotated[tuple[Path, ...], Field(min_length=1)]
    """Run folders, one for each world."""
    _: KW_ONLY


class WorldRow(Record):
    """One world; all in points of 100."""

    world: str
    domain: str
    naming_share: float | None
    """What naming earns under the sum, as a share of what substance earns."""
    fall: Spread
    """`c` under additive minus `c` of the untrained policy."""
    lead: Spread | None
    """`c` under ProRubric minus `c` under additive, seed by seed."""
    paper_naming_share: float | None
    paper_fall: float | None
    paper_lead: float | None


class WorldsResult(Record):
    """Several worlds."""

    worlds: tuple[WorldRow, ...]
    pays_and_falls: Correlation
    """Over worlds, of the naming share and how far `c` fell; with three of them little more than an order."""


def compare_worlds(config: WorldsConfig) -> WorldsResult:
    """What each world's rubric pays for, how far `c` fell under the sum, and the paper's figures for both."""
    rows, paper = [], load_paper()
    for folder in config.folders:
        base, runs = load_runs(folder)
        most = max((run.steps for run in runs), default=0)
        ends = {(run.scheme, run.seed): 100 * run.last.c for run in runs if run.steps == most}
        additive = {seed: c for (scheme, seed), c in ends.items() if scheme == "additive"}
        if not additive:
            raise SourceError(f"{folder} holds no run of additive; make one with: prorubric lab run --out {folder}")
        leads = [ends["prorubric", seed] - c for seed, c in additive.items() if ("prorubric", seed) in ends]
        domain = make_world(base.world).texts.domain
        changes = paper["probe_change_from_base"].get(domain, {})
        mean = {scheme: float(np.mean(changes[scheme])) for scheme in ("additive", "prorubric") if changes.get(scheme)}
        row = WorldRow(
            world=base.world,
            domain=domain,
            naming_share=next((found.value for found in base.audit.naming_share if found.scheme == "additive"), None),
            fall=Spread.of([c - 100 * base.sampled.c for c in additive.values()]),
            lead=Spread.of(leads) if leads else None,
            paper_naming_share=paper["incentive_audit_by_domain"].get(domain, {}).get("naming_share_additive"),
            paper_fall=mean.get("additive"),
            paper_lead=mean["prorubric"] - mean["additive"] if len(mean) == 2 else None,
        )
        rows.append(row)
    shares = {row.world: row.naming_share for row in rows if row.naming_share is not None}
    falls = {row.world: -row.fall.mean for row in rows}
    return WorldsResult(worlds=tuple(rows), pays_and_falls=correlate(shares, falls))
