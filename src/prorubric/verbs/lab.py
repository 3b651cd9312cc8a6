"""`run_lab` and `compare_schemes`: make the runs that are missing, sum them up, and leave tables, figures and a page.

A comparison leaves `summary.json` (its result record), `report.html` and `figures/`; `run_lab` leaves `run.json`, so
that trying one scheme in the folder of a comparison takes nothing from its tables. Figures need the extra [plot];
without it a comparison is refused before any run, so that the work does not end without its picture. `--no-figures`
goes without.
"""

from dataclasses import KW_ONLY
from typing import Protocol

from prorubric.errors import MissingExtraError
from prorubric.files.write import write_json
from prorubric.lab.engine import LabConfig, make_runs
from prorubric.lab.summary import LabResult, summarize
from prorubric.rubric.base import config_record


class Show(Protocol):
    """Told how far the runs are."""

    def __call__(self, done: int, note: str, total: int | None = None) -> None:
        """Show it."""


def _say_nothing(done: int, note: str, total: int | None = None) -> None:
    """Nobody watches."""


@config_record
class CompareConfig(LabConfig):
    """A comparison: by default every scheme of the paper's medical tables, over three seeds."""

    _: KW_ONLY
    figures: bool = True
    """Draw figures as PNG and SVG."""


def run_lab(config: LabConfig, show: Show = _say_nothing) -> LabResult:
    """Train on one or a few schemes; the result covers what the config asks for."""
    return _make_result(config, show, "run.json")


def compare_schemes(config: CompareConfig, show: Show = _say_nothing) -> LabResult:
    """Compare schemes and write the page."""
    if config.figures:
        _require_plot()
    result = _make_result(config, show, "summary.json")
    figures = {}
    if config.figures:
        from prorubric.report.lab_figures import draw_figures  # noqa: PLC0415 - brings matplotlib

        figures = draw_figures(result, config.out / "figures")
    from prorubric.report.lab_page import write_page  # noqa: PLC0415 - only a comparison needs it

    write_page(result, figures, config.out / "report.html")
    return result


def _make_result(config: LabConfig, show: Show, name: str) -> LabResult:
    base, runs = make_runs(config, show)
    result = summarize(base, runs)
    write_json(config.out / name, result.model_dump(mode="json"))
    return result


def _require_plot() -> None:
    try:
        import matplotlib  # noqa: F401, PLC0415 - heavy, and an extra
    except ImportError:
        raise MissingExtraError.of("drawing figures", "plot") from None
