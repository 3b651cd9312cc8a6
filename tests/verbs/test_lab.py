"""The folder of `lab run` and `lab compare`; training itself needs torch and is tested in tests/lab."""

from pathlib import Path
from typing import Any

import pytest

from prorubric.errors import ConfigError, MissingExtraError
from prorubric.files.json import parse_json
from prorubric.files.write import write_json
from prorubric.lab.results import BaseResult, LabRun
from prorubric.lab.workers import LabFolder
from prorubric.verbs import lab
from prorubric.verbs.lab import LabCompareConfig, LabConfig, compare_schemes, run_lab
from tests.lab.results import make_base, make_run


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that were never trained."""

    def make_runs(folder: LabFolder, wanted: list[tuple[str, int]], *_: Any) -> tuple[BaseResult, list[LabRun]]:
        runs = [make_run(scheme, seed, {0: 0.6, folder.steps: 0.4}) for scheme, seed in wanted]
        return make_base(["additive"]), runs

    monkeypatch.setattr(lab, "make_runs", make_runs)
    monkeypatch.setattr(lab, "find_spec", lambda name: name if name == "torch" else None)


@pytest.mark.usefixtures("made")
def test_a_folder_is_known_by_its_world_and_not_by_the_version_that_made_it(tmp_path: Path) -> None:
    run_lab(LabConfig(scheme=("additive",), steps=9, seeds=1, out=tmp_path))
    held = parse_json((tmp_path / "config.json").read_bytes())
    assert held["identity"]["world"] == "triage-v1"
    write_json(tmp_path / "config.json", held | {"versions": {"prorubric": "0.0.1"}})
    run_lab(LabConfig(scheme=("additive",), steps=12, seeds=2, out=tmp_path))
    changed = held["identity"] | {"set of parameters": held["identity"]["set of parameters"] | {"slack": 0.4}}
    message = r"holds a run of lab with another world \(triage-v1, not science-v1\); choose another --out"
    with pytest.raises(ConfigError, match=message):
        run_lab(LabConfig(scheme=("additive",), world="science-v1", out=tmp_path))
    write_json(tmp_path / "config.json", held | {"identity": changed})
    with pytest.raises(ConfigError, match="holds a run of lab with another set of parameters"):
        run_lab(LabConfig(scheme=("additive",), out=tmp_path))


@pytest.mark.usefixtures("made")
def test_a_comparison_leaves_its_tables_and_its_page_and_a_run_keeps_them(tmp_path: Path) -> None:
    compare_schemes(LabCompareConfig(scheme=("additive",), steps=9, seeds=1, figures=False, out=tmp_path))
    held = {name: (tmp_path / name).read_bytes() for name in ("summary.json", "report.html")}
    run_lab(LabConfig(scheme=("additive",), steps=12, seeds=1, out=tmp_path))
    assert {name: (tmp_path / name).read_bytes() for name in held} == held
    assert parse_json((tmp_path / "run.json").read_bytes())["steps"] == 12


@pytest.mark.usefixtures("made")
def test_a_comparison_with_figures_is_refused_before_any_run_without_the_extra(tmp_path: Path) -> None:
    with pytest.raises(MissingExtraError, match=r"drawing figures needs the extra \[plot\]"):
        compare_schemes(LabCompareConfig(scheme=("additive",), out=tmp_path / "lab"))
    assert not (tmp_path / "lab").exists()
