"""The pictures in the docs: `python -m tests.view.pictures` makes them again.

Runs, reviews, the audit and the evaluation are of the sample pack; the training, the study and the lab are made up.
"""

import base64
import os
import shutil
import sys
import tempfile
from pathlib import Path

from prorubric import (
    AuditConfig,
    CompileConfig,
    JudgeRunConfig,
    audit_rewards,
    compile_rubrics,
    judge_responses,
    load_responses,
    save_responses,
)
from prorubric.datasets.samples import SAMPLE_RESPONSES, SAMPLE_TASKS
from prorubric.lab.summary import summarize_lab
from prorubric.report.lab_page import write_lab_page
from prorubric.report.study_page import write_study_report
from prorubric.verbs.demo import DemoConfig, run_demo
from prorubric.verbs.evaluate import EvaluateConfig, evaluate_policies
from tests.lab.results import make_base, make_run
from tests.report.browser import Page, open_browser
from tests.report.study import load, write_evaluation
from tests.view.folders import make_training, name_run, serve
from tests.view.test_browser import wait_for_text

PLACES = {
    "view-runs": ("", "runs."),
    "view-answer": (f"run/{name_run('demo')}/1", "What each scheme pays"),
    "view-compare": (f"compare/{name_run('demo')}/{name_run('judged')}", "Verdicts that differ"),
    "view-training": (f"training/{name_run('trained')}", "highest at step"),
    "view-try": (f"ask?run={name_run('judged')}&task=medicine-infant-fever", "Rectal temp"),
    "review-queue": ("review/compiled.jsonl?by=disagreement", "agreement"),
    "review-task": ("review/compiled.jsonl/medicine-infant-fever", "Dimensions"),
}
REPORTS = ("audit", "evaluation", "study", "lab")


def main(out: Path) -> None:
    """Make them."""
    out = out.absolute()
    with tempfile.TemporaryDirectory(prefix="runs-") as place, open_browser() as page:
        os.chdir(place)
        root = Path("runs")
        _make_runs(root)
        served = serve(root.absolute(), judge="lexical", compare=Path("tasks.jsonl"), verdicts=root / "judged")
        with served as address:
            for name, (path, text) in PLACES.items():
                _take(page, f"{address}/#/{path}", text, out / f"{name}.webp")
        _make_reports(root)
        for name in REPORTS:
            _take(page, (root / name / "report.html").absolute().as_uri(), "", out / f"report-{name}.webp")


def _make_runs(root: Path) -> None:
    """What the pages show, of the sample pack."""
    for path in (SAMPLE_TASKS, SAMPLE_RESPONSES):
        shutil.copy(path, ".")
    run_demo(DemoConfig(out=root / "demo"))
    shutil.rmtree(root / "demo/audit")  # it names where the package is on this machine
    compile_rubrics(CompileConfig("tasks.jsonl", out=str(root / "compiled.jsonl"), generator="rules"))
    files = ("tasks.jsonl", Path("responses.jsonl"))
    judge_responses(JudgeRunConfig(*files, judge="lexical", out=root / "judged", scheme="all"))
    make_training(root / "trained")


def _make_reports(root: Path) -> None:
    audit_rewards(AuditConfig("tasks.jsonl", Path("responses.jsonl"), out=root / "audit"))
    answers = [*load_responses("responses.jsonl")]
    for name, sample in (("focused", 0), ("padded", 1)):
        rows = [one for one in answers if one.sample == sample]
        save_responses(Path(f"{name}.jsonl"), [one.model_copy(update={"sample": 0}) for one in rows])
    policies = ("focused=focused.jsonl", "padded=padded.jsonl")
    evaluate_policies(
        EvaluateConfig(("tasks:tasks.jsonl",), policy=policies, judge="lexical", out=root / "evaluation")  # type: ignore[arg-type]
    )
    means = {("healthbench", "pro"): [20, 30, 34, 36, 40], ("healthbench-consensus", "pro"): [50, 20, 26, 36, 46]}
    write_evaluation(root / "study", means)
    write_study_report(root / "study", load(root / "study"))
    ends = {"additive": 0.3, "prorubric": 0.55, "raw-and": 0.5}
    runs = [make_run(scheme, seed, {0: 0.6, 50: c}) for scheme, c in ends.items() for seed in (42, 43)]
    (root / "lab").mkdir()
    write_lab_page(root / "lab/report.html", summarize_lab(make_base([*ends]), runs), {})


def _take(page: Page, address: str, text: str, path: Path) -> None:
    page.open(address, width=1120)
    page.look(1120, height=760)
    wait_for_text(page, text)
    page.settle()
    found = page.call("Page.captureScreenshot", format="webp", quality=70)
    path.write_bytes(base64.b64decode(found["data"]))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs/pictures"))
