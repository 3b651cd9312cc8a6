"""`report_results`: the tables, figures and page of a study, or the page of any other run, made again from its folder.

Nothing is called or measured: what a folder does not hold is marked as not run.
"""

from dataclasses import KW_ONLY
from importlib.util import find_spec
from pathlib import Path

from prorubric.errors import ConfigError, MissingExtraError, SourceError
from prorubric.evaluate.compare import COMPARISONS, Comparisons
from prorubric.evaluate.training import analyse_training
from prorubric.files.json import parse_json
from prorubric.lab.summary import LabResult
from prorubric.report.audit_page import write_audit_page
from prorubric.report.audit_tables import write_audit_tables
from prorubric.report.evaluation_figures import write_evaluation_figures
from prorubric.report.evaluation_page import write_evaluation_page
from prorubric.report.evaluation_tables import write_evaluation_tables
from prorubric.report.lab_page import write_lab_page
from prorubric.report.study_page import StudyReport
from prorubric.report.train_page import write_train_page
from prorubric.rubric.base import Record, config_record
from prorubric.runs.folder import SUMMARY, read_setting
from prorubric.verbs.study import report_study
from prorubric.verbs.study_file import COPY, load_study

_DRAWN = ("audit", "train", "evaluate", "lab")


@config_record
class ReportConfig:
    """What to report on."""

    place: Path
    """Study file, or the folder of a study or of another run."""
    _: KW_ONLY
    out: Path | None = None
    """Folder for the tables, figures and page of a study; by default the folder of the study."""


class ReportResult(Record):
    """What was written."""

    verb: str
    page: str
    study: StudyReport | None = None


def report_results(config: ReportConfig) -> ReportResult:
    """Draw what a folder holds."""
    place = config.place
    if not place.exists():
        raise SourceError("no such file or folder", remedy="name a study file, or the folder of a run", place=place)
    kept = next((path for path in sorted(place.glob(f"{COPY}.*")) if path.suffix in (".yaml", ".yml", ".toml")), None)
    if not place.is_dir() or kept:
        study, domains = load_study(kept or place, place if kept else None)
        found = report_study(study, domains, config.out or study.out or place)
        return ReportResult(verb="study", page=found.page, study=found)
    verb = str(read_setting(place).get("verb", ""))
    if verb not in _DRAWN:
        known = ", ".join(("study", *_DRAWN))
        raise SourceError(
            f"{place}: no run that has a page", f"it is of {verb}" if verb else "", remedy=f"name a folder of {known}"
        )
    if config.out is not None:
        raise ConfigError("--out is for studies", remedy="leave it out, the page is drawn in the folder of the run")
    summary = parse_json((place / SUMMARY).read_bytes()) if (place / SUMMARY).is_file() else {}
    if verb == "audit":
        write_audit_tables(place)
        page = write_audit_page(place)
    elif verb == "train":
        page = write_train_page(place, analyse_training(place))
    elif verb == "evaluate":
        if not summary or not (place / COMPARISONS).is_file():
            raise SourceError("the evaluation is not finished", remedy="run it again, it goes on", place=place)
        comparisons = Comparisons(**parse_json((place / COMPARISONS).read_bytes()))
        write_evaluation_tables(place, comparisons)
        write_evaluation_figures(place, comparisons)
        del summary["comparisons"]
        page = write_evaluation_page(place, comparisons, read_setting(place)["config"], summary)
    else:
        if not summary:
            raise SourceError("no comparison of schemes", remedy="prorubric lab compare writes one", place=place)
        result, figures = LabResult(**summary), dict[str, Path]()
        if read_setting(place)["config"].get("figures"):
            if find_spec("matplotlib") is None:
                raise MissingExtraError.of("drawing figures", "plot")
            from prorubric.report.lab_figures import draw_figures  # noqa: PLC0415 - brings matplotlib

            figures = draw_figures(result, place / "figures")
        page = write_lab_page(place / "report.html", result, figures)
    return ReportResult(verb=verb, page=str(page))
