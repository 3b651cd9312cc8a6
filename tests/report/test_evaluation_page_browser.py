"""The page of an evaluation in a real browser."""

from pathlib import Path

import pytest

from prorubric.report.evaluation_page import write_evaluation_page

from .browser import open_browser
from .evaluation import SETTINGS, SUMMARY, make_comparisons

pytestmark = pytest.mark.xdist_group("browser")


def test_it_renders_without_a_complaint_a_request_or_a_sideways_scroll(tmp_path: Path) -> None:
    found = make_comparisons(items=12, resamples=20)
    address = write_evaluation_page(tmp_path, found, SETTINGS, SUMMARY).as_uri()
    with open_browser() as browser:
        for width, dark in ((1280, False), (390, True)):
            browser.open(address, width=width, dark=dark)
            browser.evaluate("document.querySelectorAll('details').forEach(box => box.open = true)")
            browser.settle()
            assert browser.complaints == []
            assert browser.requests == [address]
            assert browser.evaluate("document.documentElement.scrollWidth") == width
            ends = "[...document.querySelectorAll('svg.scatter text')].map(text => text.getBoundingClientRect())"
            assert browser.evaluate(f"Math.min(...{ends}.map(box => box.left))") >= 0
            assert browser.evaluate(f"Math.max(...{ends}.map(box => box.right))") <= width
