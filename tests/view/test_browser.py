"""The app in a real browser: every page, by mouse and by key, wide and narrow, with hostile texts everywhere."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from prorubric.files.lock import lock_path
from tests.patience import PATIENCE
from tests.report.browser import Page, open_browser, type_at_once
from tests.view.folders import STRICT, copy_run, name_run, serve

pytestmark = pytest.mark.xdist_group("browser")

STRICT_RUN, LENIENT_RUN, PANEL = map(name_run, ("judged/strict", "judged/lenient<b>", "panel"))
KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowRight": 39, " ": 32}


@pytest.fixture(scope="module")
def root(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that the tests of this module may change."""
    return copy_run(runs, tmp_path_factory.mktemp("browser") / "runs")


@pytest.fixture(scope="module")
def address(root: Path, runs: Path) -> Iterator[str]:
    with serve(root, judge=f"scripted:{runs.parent / 'inputs' / STRICT}") as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with open_browser() as page:
        yield page


@pytest.fixture
def page(browser: Page, address: str) -> Iterator[Page]:
    """A page that must end without a complaint, a request to elsewhere, or a script that got in."""
    yield browser
    assert browser.complaints == []
    assert {url for url in browser.requests if not url.startswith((address, "data:"))} == set()
    assert browser.evaluate("window.hacked") is None
    assert browser.evaluate("document.querySelectorAll('main img, main script, main b > img').length") == 0


def wait_for(page: Page, script: str) -> None:
    end = time.monotonic() + PATIENCE
    while not page.evaluate(f"Boolean({script})"):
        assert time.monotonic() < end, f"{script}\n{page.evaluate('document.body.innerText')}"
        time.sleep(0.02)


def read(page: Page) -> str:
    return str(page.evaluate("document.querySelector('main').innerText"))


def wait_for_text(page: Page, text: str) -> None:
    wait_for(page, f"document.body.innerText.includes({json.dumps(text)})")


def press(page: Page, key: str) -> None:
    code = KEYS.get(key, ord(key[0].upper()))
    about = {"key": key, "windowsVirtualKeyCode": code}
    text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
    page.call("Input.dispatchKeyEvent", type="keyDown", **about, **text)
    page.call("Input.dispatchKeyEvent", type="keyUp", **about)
    page.settle()


def click(page: Page, selector: str) -> None:
    wait_for(page, f"document.querySelector({json.dumps(selector)})")
    page.evaluate(
        f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center', behavior: 'instant'}})"
    )
    spot = page.evaluate(
        f"(() => {{ const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
        " return [box.left + box.width / 2, box.top + box.height / 2]; })()"
    )
    for kind in ("mousePressed", "mouseReleased"):
        page.call("Input.dispatchMouseEvent", type=kind, x=spot[0], y=spot[1], button="left", clickCount=1)
    page.settle()


def fill(page: Page, selector: str, text: str) -> None:
    click(page, selector)
    page.call("Input.insertText", text=text)
    page.settle()


def choose(page: Page, name: str, value: str) -> None:
    """As the keyboard would choose it; the list that opens belongs to the system."""
    box = f"document.querySelector('select[name={name}]')"
    wait_for(page, f"[...({box}?.options ?? [])].some(option => option.value === {json.dumps(value)})")
    page.evaluate(f"{box}.value = {json.dumps(value)}; {box}.dispatchEvent(new Event('change', {{bubbles: true}}))")
    page.settle()


class TestRuns:
    def test_every_run_is_listed_under_its_verb_and_found_by_words(self, page: Page, address: str) -> None:
        page.open(f"{address}/")
        wait_for_text(page, "judged/strict")
        assert page.evaluate("[...document.querySelectorAll('h2')].map(box => box.innerText)") == [
            "evaluate",
            "judge",
            "train",
        ]
        fill(page, "input[name=text]", "judged lenient<b>")
        wait_for(page, "document.querySelectorAll('.runs tbody tr').length === 1")
        assert "text=judged+lenient%3Cb%3E" in page.evaluate("location.hash")

    def test_two_runs_are_chosen_and_compared_with_the_keyboard(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/?verb=judge")
        wait_for_text(page, "judged/strict")
        for name in ("judged/strict", "judged/lenient<b>"):
            page.evaluate(f"document.querySelector('[aria-label=\"Compare {name}\"]').focus()")
            press(page, " ")
        found = "[...document.querySelectorAll('button')].find(one => one.innerText === 'Compare two')"
        wait_for(page, found)
        page.evaluate(f"{found}.focus()")
        press(page, "Enter")
        wait_for_text(page, "9 of 16 (56.3%)")

    def test_a_run_that_starts_shows_up_as_running_by_itself(self, page: Page, address: str, root: Path) -> None:
        folder = copy_run(root / "judged/strict", root / "started")
        (folder / "summary.json").unlink()
        with lock_path(folder / ".lock"):
            page.open(f"{address}/#/?live=1")
            wait_for_text(page, "6 of 6 answers judged")
            assert page.evaluate("document.querySelectorAll('.state.running').length") == 1
        wait_for_text(page, "No runs match.")

    def test_an_address_that_leads_nowhere_says_so(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/nowhere/at/all")
        wait_for_text(page, "There is no such page.")


class TestAnswers:
    def test_the_list_is_filtered_as_one_types_and_cleared(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/run/{STRICT_RUN}")
        wait_for_text(page, "6 answers")
        fill(page, "input[name=task]", "fever")
        wait_for_text(page, "2 answers")
        choose(page, "verdict", "unknown")
        wait_for_text(page, "No answers match.")
        click(page, "form.filters button")
        wait_for_text(page, "6 answers")

    def test_keys_move_through_the_list_open_an_answer_and_lead_back(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/run/{STRICT_RUN}?text=doctor")
        wait_for_text(page, "3 answers")
        press(page, "j")
        press(page, "j")
        press(page, "Enter")
        wait_for_text(page, "answer 2 of 3")
        press(page, "j")
        wait_for_text(page, "answer 3 of 3")
        press(page, "u")
        wait_for_text(page, "3 answers")
        assert page.evaluate("location.hash").endswith("?text=doctor")

    def test_what_is_typed_while_the_filter_is_applied_is_not_lost(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/run/{STRICT_RUN}")
        wait_for_text(page, "6 answers")
        page.evaluate("""addEventListener("hashchange", () => {
          const box = document.querySelector("input[name=task]");
          box.value += "v";
          box.dispatchEvent(new Event("input", { bubbles: true }));
        }, { once: true })""")
        fill(page, "input[name=task]", "fe")
        wait_for(page, "location.hash.endsWith('?task=fev')")
        wait_for_text(page, "2 answers")
        assert page.evaluate("document.querySelector('input[name=task]').value") == "fev"

    def test_the_line_about_keys_is_only_there_with_the_keys(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/run/{STRICT_RUN}")
        wait_for_text(page, "6 answers")
        shown = page.evaluate("['.keys', '.keys kbd'].map(name => document.querySelector(name).offsetParent !== null)")
        assert shown in ([True, True], [False, False])

    def test_the_fields_of_a_filter_are_of_one_height(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/run/{STRICT_RUN}")
        wait_for_text(page, "6 answers")
        fields = "document.querySelectorAll('.filters .field :is(input, select)')"
        assert len(set(page.evaluate(f"[...{fields}].map(box => box.offsetHeight)"))) == 1

    def test_keys_faster_than_the_page_is_drawn_all_count(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/run/{STRICT_RUN}?text=doctor")
        page.evaluate(type_at_once("[data-row]", "j", "j", "k", "j", "Enter"))
        wait_for_text(page, "answer 2 of 3")

    def test_an_answer_has_verdicts_reasons_scores_and_the_quotation_in_its_text(
        self, page: Page, address: str
    ) -> None:
        page.open(f"{address}/#/run/{LENIENT_RUN}/0")
        wait_for_text(page, "What each scheme pays")
        text = read(page)
        assert re.search(r"additive\s+1\.000", text)
        assert re.search(r"prorubric\s+0\.000", text)
        assert "because <img src=x" in text
        assert "not in the answer" in text
        assert page.evaluate("[...document.querySelectorAll('mark')].map(box => box.innerText)") == [
            "Go to the doctor now"
        ]
        click(page, "button.quote")
        wait_for(page, "document.querySelector('mark.chosen')")

    def test_an_unknown_verdict_comes_with_its_reason(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/run/{STRICT_RUN}?verdict=unknown")
        wait_for_text(page, "1 answer")
        click(page, ".answers tbody a")
        wait_for(page, "document.querySelectorAll('.item .v.open').length === 2")
        assert "0.000 … 1.000" in read(page)

    def test_an_evaluation_is_filtered_by_policy_and_its_report_opens(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/run/{name_run('evaluated')}")
        wait_for_text(page, "6 answers")
        choose(page, "policy", "new")
        wait_for_text(page, "3 answers")
        report = "[...document.querySelectorAll('a')].find(one => one.innerText === 'Report')"
        wait_for(page, report)
        page.open(page.evaluate(f"{report}.href"))
        assert "ProRubric" in page.evaluate("document.body.innerText")
        assert page.evaluate("self.origin") == "null"

    def test_pages_of_the_list_are_turned(self, page: Page, address: str, root: Path) -> None:
        folder = copy_run(root / "judged/strict", root / "long")
        rows = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
        more = [json.dumps({**rows[0], "sample": 10 + number}) for number in range(60)]
        (folder / "verdicts.jsonl").write_text("\n".join([*map(json.dumps, rows), *more]) + "\n")
        page.open(f"{address}/#/run/{name_run('long')}")
        wait_for_text(page, "66 answers, page 1 of 2")
        click(page, ".pager button:last-child")
        wait_for_text(page, "66 answers, page 2 of 2")
        wait_for(page, "document.querySelectorAll('.answers tbody tr').length === 16")


class TestComparison:
    def test_runs_side_by_side_by_disagreement_and_by_scheme(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/compare/{STRICT_RUN}/{LENIENT_RUN}")
        wait_for_text(page, "6 answers")
        choose(page, "scheme", "additive")
        wait_for_text(page, "3 answers")
        click(page, ".answers tbody a")
        wait_for(page, "document.querySelectorAll('tr.changed').length === 2")
        press(page, "Escape")
        wait_for_text(page, "Verdicts that differ")

    def test_keys_lead_through_the_answers_in_the_order_of_the_list(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/compare/{STRICT_RUN}/{LENIENT_RUN}?different=1")
        wait_for_text(page, "Verdicts that differ")
        wait_for(page, "document.querySelectorAll('.answers tbody a').length > 2")
        listed = page.evaluate("[...document.querySelectorAll('.answers tbody a')].map(one => one.hash)")
        click(page, ".answers tbody a")
        for at, place in enumerate(listed, 1):
            wait_for_text(page, f"answer {at} of {len(listed)}")
            assert page.evaluate("location.hash") == place
            press(page, "j")

    def test_two_judges_of_one_run(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/run/{PANEL}?disputed=1")
        wait_for_text(page, "3 answers")
        found = "[...document.querySelectorAll('a')].find(one => one.innerText === 'Compare its judges')"
        wait_for(page, found)
        page.evaluate(f"{found}.click()")
        wait_for_text(page, "3 of 10 (30.0%)")
        click(page, "input[name=different]")
        wait_for_text(page, "3 answers")


class TestTraining:
    def test_curves_alarm_and_peak_and_new_steps_as_they_come(self, page: Page, address: str, root: Path) -> None:
        [steps] = (root / "trained").glob("*/steps.jsonl")
        lines = steps.read_bytes().splitlines(keepends=True)
        steps.write_bytes(b"".join(lines[:20]))
        (steps.parent / "state.json").write_text('{"state": "running", "step": 20}')
        with lock_path(root / "trained/.lock"):
            page.open(f"{address}/#/training/{name_run('trained')}")
            wait_for_text(page, "20 of 100")
            wait_for(page, "document.querySelectorAll('.uplot canvas').length === 4")
            assert "highest at step 10 (0.800), now 0.600" in read(page)
            assert page.evaluate("document.querySelectorAll('.alarm').length") == 0
            steps.write_bytes(b"".join(lines))
            (steps.parent / "state.json").write_text('{"state": "running", "step": 30}')
            wait_for_text(page, "30 of 100")
            wait_for_text(page, "step 30: since step 1 the score has risen by 0.200")
        pixels = "box.getContext('2d').getImageData(0, 0, box.width, box.height).data.some(Boolean)"
        drawn = f"[...document.querySelectorAll('canvas')].every(box => {pixels})"
        assert page.evaluate(drawn)


class TestAsking:
    def test_an_answer_and_an_item_are_judged_again(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/run/{LENIENT_RUN}/0")
        wait_for_text(page, "Judge again")
        found = "[...document.querySelectorAll('button')].find(one => one.innerText === 'Judge again')"
        wait_for(page, found)
        page.evaluate(f"{found}.click()")
        wait_for_text(page, "2 of 3 verdicts differ from the stored ones.")
        click(page, "details.reading + details.reading .again button")
        wait_for(page, "document.querySelector('.again .v.y')")

    def test_a_pasted_answer_to_a_task_of_a_run(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/ask")
        choose(page, "run", STRICT_RUN)
        choose(page, "task", "fever")
        fill(page, "textarea[name=answer]", "Wait and see. <img src=x onerror=window.hacked=1>")
        click(page, "button.main")
        wait_for_text(page, "What each scheme pays")
        assert re.search(r"additive\s+0\.000", read(page))

    def test_a_question_of_ones_own_with_criteria(self, page: Page, address: str) -> None:
        page.open(f"{address}/#/ask")
        fill(page, "textarea[name=question]", "Rash?")
        fill(page, "textarea[name=criteria]", "Says wait.\n-2 | Recommends antibiotics.")
        fill(page, "textarea[name=answer]", "Wait and see.")
        click(page, "button.main")
        wait_for_text(page, "What each scheme pays")

    def test_without_a_judge_the_page_says_how_to_name_one(self, browser: Page, runs: Path) -> None:
        with serve(runs) as address:
            browser.open(f"{address}/#/ask")
            wait_for_text(browser, "No judge is configured.")
            assert browser.evaluate("document.querySelector('button.main').disabled")


def test_the_address_with_its_token_can_be_opened_from_another_site(browser: Page, runs: Path) -> None:
    with serve(runs, token="secret") as address:
        browser.open(f"data:text/html,<a href='{address}/?token=secret%23/run/{STRICT_RUN}'>open</a>")
        click(browser, "a")
        wait_for_text(browser, "6 answers")
        assert browser.evaluate("location.search + document.cookie") == ""


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (390, False)])
def test_no_page_scrolls_sideways_and_all_have_a_heading(page: Page, address: str, width: int, dark: bool) -> None:
    compare = f"compare/{STRICT_RUN}/{LENIENT_RUN}"
    places = (
        "",
        f"run/{STRICT_RUN}",
        f"run/{LENIENT_RUN}/0",
        compare,
        f"{compare}/0",
        f"training/{name_run('trained')}",
        "ask",
    )
    page.open(f"{address}/", width=width, dark=dark)
    for place in places:
        page.evaluate(f"location.hash = {json.dumps('#/' + place)}")
        wait_for(
            page,
            "document.querySelector('h1') && !/(Reading|Loading|Looking|Comparing) /.test(document.body.innerText)",
        )
        page.settle()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, place
        assert page.evaluate("document.querySelectorAll('h1').length") == 1, place
