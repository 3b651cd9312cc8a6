"""The page of an audit in a real browser: it renders, opens, sorts and finds, and loads nothing from elsewhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prorubric.report.audit_page import write_audit_page

from .audit_folder import build_audit
from .browser import Page, open_browser
from .test_audit_page import hostile

pytestmark = pytest.mark.xdist_group("browser")

FIRST_CASE = "document.querySelector('details.case')"
ROWS = f"{FIRST_CASE}.querySelectorAll('.compare > section:first-child tbody tr')"


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with open_browser() as page:
        yield page


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("audit")
    build_audit(folder)
    return write_audit_page(folder).as_uri()


@pytest.fixture
def opened(browser: Page, address: str) -> Page:
    browser.open(address)
    browser.evaluate(f"{FIRST_CASE}.open = true")
    browser.settle()
    return browser


@pytest.mark.parametrize("width", [1280, 768, 360])
@pytest.mark.parametrize("dark", [False, True])
def test_it_renders_without_a_complaint_a_request_or_a_sideways_scroll(
    width: int, dark: bool, browser: Page, address: str, tmp_path: Path
) -> None:
    browser.open(address, width=width, dark=dark)
    browser.evaluate("document.querySelectorAll('details').forEach(box => box.open = true)")
    browser.settle()
    assert browser.complaints == []
    assert browser.requests == [address]
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    assert browser.evaluate("document.querySelectorAll('.forest svg.plot').length") > 60
    assert len(browser.screenshot(tmp_path / "page.png", whole=False)) > 10_000


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_every_figure_of_a_table_is_within_the_window(dark: bool, browser: Page, address: str) -> None:
    browser.open(address, width=390, dark=dark)
    browser.evaluate("document.querySelectorAll('details').forEach(box => box.open = true)")
    browser.settle()
    hidden = "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth)"
    assert browser.evaluate(f"{hidden}.map(box => box.getAttribute('aria-label'))") == []
    price = "document.querySelector('#prices tbody tr')"
    assert browser.evaluate(f"[...{price}.children].slice(-1)[0].getBoundingClientRect().right") <= 390
    shown = f"[...{price}.querySelectorAll('td')].map(cell => getComputedStyle(cell, '::before').content)"
    heads = ["no.", "criterion", "named as", "weight", "tokens", "moved", "moved per token", "pays"]
    assert browser.evaluate(shown) == [f'"{head}"' for head in heads]


@pytest.mark.parametrize("dark", [False, True])
def test_text_stands_out_from_its_ground(dark: bool, browser: Page, address: str) -> None:
    browser.open(address, dark=dark)
    contrast = """(() => {
        const light = (name) => {
            const [r, g, b] = name.match(/[\\d.]+/g).map(x => x / 255).map(
                x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        const ground = light(getComputedStyle(document.body).backgroundColor);
        return ["body", ".note", "nav a", ".answer.yes", "small.up", "small.down", ".alarm strong"].map(name => {
            const ink = light(getComputedStyle(document.querySelector(name)).color);
            return (Math.max(ink, ground) + 0.05) / (Math.min(ink, ground) + 0.05);
        });
    })()"""
    ratios = browser.evaluate(contrast)
    assert ratios[0] > 10
    assert min(ratios) >= 4.5


def test_the_ground_is_dark_where_the_reader_likes_it_dark(browser: Page, address: str) -> None:
    grounds = [
        browser.open(address, dark=dark).evaluate("getComputedStyle(document.body).backgroundColor")
        for dark in (False, True)
    ]
    assert grounds == ["rgb(253, 253, 252)", "rgb(20, 23, 26)"]


def test_a_task_opens_with_two_schemes_side_by_side(opened: Page) -> None:
    heads = opened.evaluate(f"[...{FIRST_CASE}.querySelectorAll('.compare h5')].map(head => head.textContent)")
    tops = opened.evaluate(
        f"[...{FIRST_CASE}.querySelectorAll('.compare > section')].map(side => side.getBoundingClientRect().top)"
    )
    assert heads == ["additive", "prorubric"]
    assert tops[0] == tops[1]
    assert opened.evaluate(f"{FIRST_CASE}.querySelector('.readings').hidden")
    assert opened.evaluate(f"{FIRST_CASE}.querySelectorAll('ins, del').length") > 0


def test_choosing_an_edit_shows_its_text_and_its_verdicts(opened: Page) -> None:
    choose = f"""(kind => {{
        const pick = {FIRST_CASE}.querySelector('.pick-edit');
        pick.value = kind;
        pick.dispatchEvent(new Event('change', {{bubbles: true}}));
        const open = [...{FIRST_CASE}.querySelectorAll('[data-edit]')].filter(panel => !panel.hidden);
        const after = [...{ROWS}].map(row => row.cells[3].textContent);
        const changed = [...{ROWS}].filter(row => row.classList.contains('changed')).length;
        return [open.map(panel => panel.dataset.edit).join(), after.join(''), changed];
    }})"""
    kinds = opened.evaluate(f"{FIRST_CASE}.dataset.kinds").split()
    glyphs = {"y": "✓", "n": "✗", "?": "?"}
    codes = [row.split() for row in opened.evaluate(f"[...{ROWS}].map(row => row.dataset.v)")]
    for kind in ("name-item", "garbage", "again"):
        shown = opened.evaluate(f"{choose}('{kind}')")
        after = [row[kinds.index(kind)] for row in codes]
        changed = sum(row[0] != code for row, code in zip(codes, after, strict=True))
        assert shown == [kind, "".join(map(glyphs.__getitem__, after)), changed]
    assert opened.complaints == []


def test_only_what_changed_can_be_shown(opened: Page) -> None:
    visible = f"[...{ROWS}].filter(row => row.getClientRects().length).length"
    changed = opened.evaluate(f"[...{ROWS}].filter(row => row.classList.contains('changed')).length")
    every = opened.evaluate(visible)
    opened.evaluate(f"{FIRST_CASE}.querySelector('.pick-changed').click()")
    assert changed < every
    assert opened.evaluate(visible) == changed


def test_both_sides_can_read_the_same_verdicts(opened: Page) -> None:
    opened.evaluate(
        f"""(() => {{
            const pick = {FIRST_CASE}.querySelector('.pick-right');
            pick.value = [...pick.options].find(option => option.textContent === 'conjunctive').value;
            pick.dispatchEvent(new Event('change', {{bubbles: true}}));
        }})()"""
    )
    sides = f"[...{FIRST_CASE}.querySelectorAll('.compare > section')]"
    counts = opened.evaluate(f"{sides}.map(side => side.querySelectorAll('tbody tr').length)")
    assert counts[0] == counts[1] > 10


def test_a_task_is_found_by_its_words(browser: Page, address: str) -> None:
    browser.open(address)
    find = """(words => {
        const field = document.getElementById('find');
        field.value = words;
        field.dispatchEvent(new Event('input'));
        return [...document.querySelectorAll('details.case')].filter(box => !box.hidden).length;
    })"""
    assert browser.evaluate(f"{find}('INFANT tylenol')") == 1
    assert browser.evaluate(f"{find}('no such words anywhere')") == 0
    assert browser.evaluate(f"{find}('')") == 12


def test_a_table_is_sorted_by_its_figures_and_turned_round(browser: Page, address: str) -> None:
    browser.open(address)
    column = "[...document.querySelectorAll('#prices tbody tr')].map(row => Number(row.cells[5].dataset.sort))"
    press = "document.querySelectorAll('#prices thead button')[5].click()"
    browser.evaluate(press)
    tokens = browser.evaluate(column)
    assert tokens == sorted(tokens, reverse=True)
    browser.evaluate(press)
    assert browser.evaluate(column) == sorted(tokens)
    assert browser.evaluate("document.querySelectorAll('#prices th')[5].getAttribute('aria-sort')") == "ascending"


def test_a_link_to_a_task_opens_it(browser: Page, address: str) -> None:
    browser.open(f"{address}#task-3")
    browser.settle()
    assert browser.evaluate("document.getElementById('task-3').open")
    assert browser.evaluate("document.querySelectorAll('details.case[open]').length") == 1


def test_a_task_opens_from_the_keyboard(browser: Page, address: str) -> None:
    browser.open(address)
    browser.evaluate(f"{FIRST_CASE}.querySelector('summary').focus()")
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r"
        )
    browser.settle()
    assert browser.evaluate(f"{FIRST_CASE}.open")


def test_without_scripts_everything_is_there_but_the_choice(browser: Page, address: str) -> None:
    browser.open(address, script=False)
    shown = browser.evaluate(
        f"[!{FIRST_CASE}.querySelector('.readings').hidden, {FIRST_CASE}.querySelectorAll('[data-edit]').length > 5,"
        f" {FIRST_CASE}.querySelector('.slot-controls').childElementCount,"
        " document.querySelectorAll('th button').length]"
    )
    assert shown == [True, True, 0, 0]


def test_hostile_texts_do_nothing(browser: Page, tmp_path: Path) -> None:
    build_audit(tmp_path, reword=hostile)
    address = write_audit_page(tmp_path).as_uri()
    browser.open(address, width=360)
    browser.evaluate("document.querySelectorAll('details').forEach(box => box.open = true)")
    browser.settle()
    assert browser.evaluate("typeof window.hacked") == "undefined"
    assert browser.complaints == []
    assert browser.requests == [address]
    assert browser.evaluate("document.documentElement.scrollWidth") == 360


def test_a_script_that_got_in_all_the_same_would_not_run(browser: Page, address: str, tmp_path: Path) -> None:
    page = Path(address.removeprefix("file://")).read_text(encoding="utf-8")
    broken = tmp_path / "broken.html"
    broken.write_text(
        page.replace("<main>", "<main><script>window.hacked = 1</script><img src='http://127.0.0.1:9/x'>")
    )
    browser.open(broken.as_uri())
    assert browser.evaluate("typeof window.hacked") == "undefined"
    assert len(browser.complaints) == 2
    assert all("Content Security Policy" in complaint for complaint in browser.complaints)
