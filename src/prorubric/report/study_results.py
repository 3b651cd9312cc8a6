"""`load_study_results`: what the folders of a study hold, for the tables and figures that are made of it.

Nothing is called or written here. A stage that has not been run is None, or is absent from its mapping; a file that is
there and cannot be read is a `SourceError`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

from prorubric.audit.paper import load_paper
from prorubric.audit.records import AuditResult
from prorubric.errors import ConfigError, RubricError, SourceError
from prorubric.evaluate.compare import COMPARISONS, Comparisons, Table
from prorubric.evaluate.sides import SideResult
from prorubric.evaluate.training import TrainingAnalysis, analyse_training
from prorubric.files.json import parse_json
from prorubric.report.audit_folder import open_audit
from prorubric.report.evaluation_tables import Row, Sheet
from prorubric.report.plots import Figure
from prorubric.runs.folder import SUMMARY

PaperName = Literal["Qwen3-4B", "Qwen3-8B", "mini"]
NOT_RUN = "not run"
_RESAMPLES = 1_000  # of each curve: with ten times as many, fifteen arms take minutes
_SCALES: dict[PaperName | None, str] = {"Qwen3-4B": "4B", "Qwen3-8B": "8B", "mini": "mini", None: "own study"}
_DOMAINS = {
    "medical": "medicine",
    "medicine": "medicine",
    "writing": "writing",
    "dialogue": "dialogue",
    "chat": "dialogue",
    "science": "science",
}
PAPER_DOMAINS = ("medicine", "science", "dialogue", "writing")
PAPER_ARMS = {
    "base": "Base",
    "sft": "SFT",
    "opsd": "OPSD",
    "additive": "Rubric-RL",
    "ruscarl": "RuscaRL",
    "prorubric": "ProRubric",
    "implicit": "Implicit",
    "raw_and": "Raw-AND",
    "graded": "Graded",
    "k1": "K=1",
    "prorubric_no_failure_clauses": "ProRubric, no failure clauses",
    "prorubric_other_generator": "ProRubric, other generator",
    "length_matched": "Length-matched",
    "weighted": "Weighted",
    "rewritten": "Rewritten",
    "additive_plus_appropriateness": "Rubric-RL+appropriateness",
    "prorubric_plus_appropriateness": "ProRubric+appropriateness",
    "implicit_plus_appropriateness": "Implicit+appropriateness",
    "additive_kl_0.005": "Rubric-RL, KL 0.005",
    "additive_kl_0.01": "Rubric-RL, KL 0.01",
    "additive_kl_0.04": "Rubric-RL, KL 0.04",
    "prorubric_kl_0.005": "ProRubric, KL 0.005",
    "prorubric_kl_0.01": "ProRubric, KL 0.01",
    "prorubric_kl_0.04": "ProRubric, KL 0.04",
}
"""The arms of the paper: their names among its figures, and in a study."""
PAIR = ("additive", "prorubric")
"""The two that the paper compares throughout, as arms and as schemes."""
_NOT_SCORES = ("probe", "pairs")


def _simplify(name: str) -> str:
    return re.sub(r"[^a-z0-9.+]", "", name.lower())


_KEYS = {_simplify(name): key for key, name in PAPER_ARMS.items()}


def find_paper_key(arm: str) -> str:
    """The name of an arm among the paper's figures, such as `additive` for Rubric-RL; empty if it has none."""
    return _KEYS.get(_simplify(arm), "")


def list_paper_seeds() -> list[str]:
    """The seeds of the paper's trainings, as columns name them."""
    return [str(seed) for seed in load_paper()["seeds"]]


def find_paper_length(printed: Mapping[str, Any]) -> float | None:
    """The mean length in characters of a policy of the paper, which prints it in thousands."""
    length = printed.get("mean_chars_k")
    return None if length is None else 1000 * length


class Made(NamedTuple):
    """A table of a study, and the figure that goes with it."""

    sheet: Sheet
    """Its rows have a column `state`, which is empty or `not run`."""
    figure: Figure | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """The rows that only the paper has, by their names."""
        rows = [row for row in self.sheet.rows if row.get("state") == NOT_RUN]
        return tuple(
            ", ".join(str(cell) for cell in row.values() if isinstance(cell, str) and cell and cell != NOT_RUN)
            for row in rows
        )


def lay_out(name: str, rows: Sequence[Row], shown: Mapping[str, int]) -> Sheet:
    """A table that shows the domain of its rows, if they have one, before these columns."""
    return Sheet(name, rows, {"domain": 0, **shown} if rows and "domain" in rows[0] else shown)


class DomainPlace(NamedTuple):
    """Where a domain of a study has its results, and what is what in it."""

    name: str
    folder: Path
    arms: Sequence[str]
    coverage: str
    """The benchmark that measures coverage."""
    appropriateness: str
    judges: Sequence[str]
    """Of the evaluation; the first is the lenient one and the last the strict one."""


@dataclass(frozen=True)
class DomainResults:
    """What one domain of a study has so far."""

    place: DomainPlace
    paper: str
    """The paper's name for the domain; empty if it has none, or if the study is not compared with the paper."""
    comparisons: Comparisons | None
    audit: AuditResult | None

    @property
    def name(self) -> str:
        """As tables show it."""
        return self.place.name or self.paper

    @property
    def lenient(self) -> str:
        """The judge that is closest to the training reward's; empty if there is only one."""
        return self.place.judges[0] if len(self.place.judges) > 1 else ""

    @property
    def strict(self) -> str:
        """The judge whose figures count."""
        return self.place.judges[-1] if self.place.judges else ""

    @property
    def others(self) -> Sequence[str]:
        """Judges of another family: those between the lenient and the strict one."""
        return self.place.judges[1:-1]

    @property
    def tables(self) -> Sequence[Table]:
        """Everything that was scored, by benchmark and judge."""
        return self.comparisons.tables if self.comparisons else ()

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """What was scored besides probes and pairs."""
        names = dict.fromkeys(table.benchmark for table in self.tables)
        return tuple(name for name in names if not name.startswith(_NOT_SCORES))

    @cached_property
    def training(self) -> Mapping[str, TrainingAnalysis]:
        """By arm, what its runs did; an arm that has not begun is absent."""
        folders = {arm: self.place.folder / "train" / arm for arm in self.place.arms}
        begun = {arm: folder for arm, folder in folders.items() if (folder / "plan.json").is_file()}
        return {arm: analyse_training(folder, _RESAMPLES) for arm, folder in begun.items()}

    @property
    def methods(self) -> tuple[str, ...]:
        """Everything that was or will be evaluated: policies that were given, then arms."""
        names = dict.fromkeys(side.name for table in self.tables for side in table.sides)
        return tuple(dict.fromkeys([*(name for name in names if name not in self.place.arms), *self.place.arms]))

    def find_table(self, benchmark: str, judge: str) -> Table | None:
        """The scores on a benchmark by a judge, or without one if it needs none."""
        return next(
            (table for table in self.tables if table.benchmark == benchmark and table.judge in (judge, "")), None
        )

    def find_method(self, key: str) -> str | None:
        """What the study calls an arm of the paper; None if it has no such arm."""
        return next((method for method in self.methods if find_paper_key(method) == key), None)

    def find_side(self, benchmark: str, judge: str, method: str) -> SideResult | None:
        """The scores of one method over its seeds."""
        table = self.find_table(benchmark, judge)
        return next((side for side in table.sides if side.name == method), None) if table else None


def name_paper_domains(names: Sequence[str], paper: PaperName | None) -> list[str]:
    """What the paper calls each domain of a study; empty if it has none, or without a comparison.

    Two domains that the paper has as one are refused: only one of them could be next to its figures.
    """
    if not paper:
        return ["" for _ in names]
    # A study of a single domain is about medicine, if it repeats the paper.
    found = [_DOMAINS.get(name.lower(), "medicine" if len(names) == 1 else "") for name in names]
    for theirs in PAPER_DOMAINS:
        same = [name for name, one in zip(names, found, strict=True) if one == theirs]
        if len(same) > 1:
            line = f"the domains {' and '.join(same)} are both the paper's {theirs}"
            raise ConfigError(line, remedy="rename all but one, or leave paper out")
    return found


class AblatedDomain(NamedTuple):
    """A domain whose arms are rows in the tables of ablations."""

    domain: DomainResults
    place: dict[str, str]
    """The first column of its rows, or none."""
    prefix: str
    """What figures write before a method; empty if they have one domain."""


@dataclass(frozen=True)
class StudyResults:
    """Everything that a table or figure of a study is made of."""

    title: str
    paper: PaperName | None
    """Which part of the paper the study is compared with; None without a comparison."""
    domains: tuple[DomainResults, ...]

    @property
    def scale(self) -> str:
        """What the figures are of, for titles."""
        return _SCALES[self.paper]

    @property
    def paper_model(self) -> Literal["Qwen3-4B", "Qwen3-8B"] | None:
        """The paper's model whose figures are next to ours; the mini is compared with the smaller one."""
        return "Qwen3-4B" if self.paper == "mini" else self.paper

    @property
    def clinic(self) -> DomainResults:
        """The domain of the paper's ablations: medicine, or else the first."""
        return next((domain for domain in self.domains if domain.paper == "medicine"), self.domains[0])

    @property
    def ablated(self) -> list[AblatedDomain]:
        """With the paper, whose ablations are of one domain, the clinic alone; else every domain, under its name."""
        if self.paper:
            return [AblatedDomain(self.clinic, {}, "")]
        found, several = list[AblatedDomain](), len(self.domains) > 1
        for own in self.domains:
            place = {"domain": own.name} if own.name else {}
            found.append(AblatedDomain(own, place, f"{own.name}, " if several else ""))
        return found

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """What was scored in any domain besides probes and pairs."""
        return tuple(dict.fromkeys(name for domain in self.domains for name in domain.benchmarks))

    def list_domains(self) -> list[tuple[str, DomainResults | None]]:
        """The paper's domains, each with ours if there is one, then those that only the study has."""
        own = {domain.paper or domain.place.name: domain for domain in self.domains}
        names = dict.fromkeys([*(PAPER_DOMAINS if self.paper else ()), *own])
        return [(name, own.get(name)) for name in names]

    def find_small(self, table: str) -> dict[str, Any]:
        """A table of the paper that it only has for its smaller model; empty if the study is not compared with it."""
        figures: dict[str, Any] = load_paper()[table] if self.paper_model == "Qwen3-4B" else {}
        return figures


def load_study_results(title: str, paper: PaperName | None, places: Sequence[DomainPlace]) -> StudyResults:
    """Read what is there of a study."""
    domains = []
    for place, named in zip(places, name_paper_domains([place.name for place in places], paper), strict=True):
        evaluated, audited = place.folder / "evaluate" / COMPARISONS, place.folder / "audit"
        has_audit = (audited / SUMMARY).is_file()
        try:
            comparisons = Comparisons(**parse_json(evaluated.read_bytes())) if evaluated.is_file() else None
        except (RubricError, TypeError, ValueError) as error:
            line, remedy = "not the comparisons of an evaluation", "evaluate again with --only report"
            raise SourceError(line, str(error), remedy=remedy, place=evaluated) from None
        domains.append(
            DomainResults(
                place=place,
                paper=named,
                comparisons=comparisons,
                audit=open_audit(audited).result if has_audit else None,
            )
        )
    return StudyResults(title, paper, tuple(domains))
