"""The page of a training in a real browser."""

from pathlib import Path

import pytest

from prorubric.evaluate.training import analyse_training
from prorubric.report.train_page import write_train_page
from tests.train.recipe_folder import RecipeFolder, fill_two_methods

from .browser import open_browser

pytestmark = pytest.mark.xdist_group("browser")


def test_it_renders_without_a_complaint_a_request_or_a_sideways_scroll(tmp_path: Path) -> None:
    folder = RecipeFolder(tmp_path / "out")
    fill_two_methods(folder)
    address = write_train_page(folder.path, analyse_training(folder.path, resamples=50)).as_uri()
    with open_browser() as browser:
        for width, dark in ((1280, False), (390, True)):
            browser.open(address, width=width, dark=dark)
            browser.evaluate("document.querySelectorAll('details').forEach(box => box.open = true)")
            browser.settle()
            assert browser.complaints == []
            assert browser.requests == [address]
            assert browser.evaluate("document.documentElement.scrollWidth") == width
            wide = "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth).length"
            assert browser.evaluate(wide) == 0
            ends = "[...document.querySelectorAll('svg.curves text')].map(text => text.getBoundingClientRect())"
            assert browser.evaluate(f"Math.min(...{ends}.map(box => box.left))") >= 0
            assert browser.evaluate(f"Math.max(...{ends}.map(box => box.right))") <= width
