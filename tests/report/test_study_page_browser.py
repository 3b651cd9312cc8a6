"""The page of a study in a real browser."""

from pathlib import Path

import pytest

from prorubric.report.study_page import write_study_report

from .browser import open_browser
from .study import load, write_evaluation

pytestmark = pytest.mark.xdist_group("browser")


def test_it_renders_without_a_complaint_a_request_or_a_sideways_scroll(tmp_path: Path) -> None:
    write_evaluation(
        tmp_path,
        {("healthbench", "pro"): [20, 30, 34, 36, 40], ("healthbench-consensus", "pro"): [50, 20, 26, 36, 46]},
    )
    address = Path(write_study_report(tmp_path, load(tmp_path)).page).as_uri()
    with open_browser() as browser:
        for width, dark in ((1280, False), (390, True)):
            browser.open(address, width=width, dark=dark)
            browser.settle()
            assert browser.complaints == []
            assert browser.requests == [address]
            assert browser.evaluate("document.documentElement.scrollWidth") == width
            ends = "[...document.querySelectorAll('svg.scatter text')].map(text => text.getBoundingClientRect())"
            assert browser.evaluate(f"Math.min(...{ends}.map(box => box.left))") >= 0
            assert browser.evaluate(f"Math.max(...{ends}.map(box => box.right))") <= width
