"""The review in a real browser: by mouse and by keyboard, two windows, a phone, a large file, hostile text."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prorubric.view.review import parse_operation
from prorubric.view.review_file import ReviewFile
from tests.report.browser import Page, open_browser, type_at_once

from .review_browsing import Hands, serve
from .reviewing import CRITERIA, PARTS, make_task, save, write_run

pytestmark = pytest.mark.xdist_group("browser")

THREE = ((*PARTS[0][:2], (1,)), ("Examines a knee", "A swollen knee is examined. Fails if it is not.", (2,)), PARTS[1])
EVIL = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
ITEMS = (
    "JSON.stringify([...document.querySelectorAll('.members')].map("
    "list => [...list.children].map(item => Number(item.dataset.criterion))))"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Page]:
    with open_browser() as page:
        yield page


@pytest.fixture
def hands(browser: Page) -> Iterator[Hands]:
    made = Hands(browser)
    yield made
    # Nothing that a test leaves unsaved may hold up the next one.
    made.rest()
    made.press("Escape", "Escape")
    # The server has ended by now, and the page may have asked it once more what others did.
    assert [text for text in browser.complaints if "ERR_CONNECTION" not in text] == []
    assert [url for url in browser.requests if not url.startswith((made.url, "data:"))] == []


def show(hands: Hands, url: str, place: str = "", **look: Any) -> None:
    hands.url = url
    hands.page.open(f"{url}#/review/c.jsonl{place}", **look)
    hands.wait("document.querySelector('.dimensions article')" if place else "document.querySelector('.queue li')")


def read_steps(path: Path) -> list[dict[str, Any]]:
    lines = path.with_name("c.reviews.jsonl").read_text().splitlines()
    return [json.loads(line)["operation"] for line in lines]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return save(tmp_path / "c.jsonl", make_task("first", THREE), make_task("second", THREE), make_task("third"))


def test_groups_are_changed_with_the_keyboard(hands: Hands, path: Path, tmp_path: Path) -> None:
    verdicts = {"first": [{"criteria": [True, False, True, False]}]}
    run = write_run(tmp_path / "run", [make_task("first", THREE)], verdicts)
    with serve(path, verdicts=run) as url:
        show(hands, url)
        hands.press("j", "Enter")
        hands.wait("document.querySelector('.dimensions article')")
        # What a move does to the score is shown before it is saved. Criterion 3 holds, and weighs 4 of 14.
        hands.press("j", "j", "k", "j", "j", "2")
        hands.wait("document.querySelector('.impact p')")
        assert hands.page.evaluate(ITEMS) == "[[1],[2,4],[3]]"
        assert "conjunctive\t0.786\t0.643" in hands.read(".impact table")
        assert not path.with_name("c.reviews.jsonl").exists()
        hands.press("Escape")
        hands.wait("!document.querySelector('.bar')")
        assert hands.page.evaluate(ITEMS) == "[[1],[2],[3,4]]"
        # A dimension may not be left empty: the line says what to do.
        hands.press("k", "k", "1")
        hands.wait_for_text(".bar .alarm", "merge it with another instead")
        hands.press("Escape", "m", "3")
        hands.wait("document.querySelectorAll('article').length === 2")
        hands.press("Enter")
        hands.wait_for_text("[data-notice]", "Saved: merge dimension 2 into dimension 3.")
        assert hands.page.evaluate(ITEMS) == "[[1],[2,3,4]]"
        # Split two criteria off, with the faults of the new text as it is typed.
        hands.press("x", "j", "x", "s")
        hands.wait("document.activeElement.name === 'name'")
        hands.type("Goes on")
        hands.press("Tab")
        hands.type("Goes on running step by step.")
        hands.wait_for_text(".bar .faults", "Fails if")
        hands.type(" Fails if it does not.")
        hands.wait("!document.querySelector('.bar .faults')")
        hands.press("Enter", ctrl=True)
        hands.wait_for_text("[data-notice]", "Saved: split criteria 2, 3 off dimension 2.")
        assert hands.page.evaluate(ITEMS) == "[[1],[4],[2,3]]"
    assert [step["op"] for step in read_steps(path)] == ["merge", "split"]


def test_keys_faster_than_the_page_is_drawn_all_count(hands: Hands, path: Path) -> None:
    with serve(path) as url:
        hands.url = url
        hands.page.open(f"{url}#/review/c.jsonl/first")
        hands.page.evaluate(type_at_once(".dimensions article", "j", "j", "2"))
        hands.wait_for_text(".bar", "Move criterion 3 to dimension 2")


def test_steps_faster_than_the_server_answers_are_all_taken(hands: Hands, path: Path) -> None:
    review = ReviewFile(path).wait()
    for name in ("One", "Two", "Three"):
        rename = parse_operation({"op": "rename", "dimension": 1, "name": name})
        review.do("first", review.find("first").state.hash, rename, "ben")
    with serve(path) as url:
        show(hands, url, "/first")
        hands.press("u", "u", "u", "U")
        hands.wait_for_text("[data-notice]", "Done again: rename")
        assert hands.page.evaluate("document.querySelector('article input').value") == "One"
        hands.press("j", "j", "j", "2")
        hands.wait("document.querySelector('.bar')")
        hands.press("Enter", "Enter", "a", "a")
        hands.wait("document.querySelector('[data-notice].good')")
        hands.press("a", "a")
        hands.wait_for_text("h1 .status", "accepted")
        assert hands.read("[data-notice]") == "Accepted."
    kinds = [step.kind for step in ReviewFile(path).wait().find("first").steps]
    assert kinds == ["do"] * 3 + ["undo"] * 3 + ["redo"] + ["do"] * 2


def test_what_someone_else_saves_while_one_begins_to_type_is_not_overwritten(hands: Hands, path: Path) -> None:
    other = ReviewFile(path).wait()
    with serve(path) as url:
        show(hands, url, "/first")
        # The page asks what others did; before the reply is there, the reviewer begins to type.
        hands.page.evaluate("""(() => {
          const real = window.fetch;
          window.fetch = async (...asked) => {
            const answer = await real(...asked);
            if (!String(asked[0]).includes("/api/review/task")) return answer;
            window.held = true;
            await new Promise((done) => { window.release = done; });
            setTimeout(() => { window.hasArrived = true; }, 200);
            return answer;
          };
        })()""")
        rename = parse_operation({"op": "rename", "dimension": 1, "name": "Ben"})
        other.do("first", other.find("first").state.hash, rename, "ben")
        hands.wait("window.held")
        hands.click('[aria-label="Name of dimension 1"]')
        hands.type("Ana", over=True)
        hands.wait("document.querySelector('.bar')")
        hands.page.evaluate("window.release()")
        hands.wait("window.hasArrived")
        hands.press("Enter")
        hands.wait_for_text("[data-notice]", "Not saved: someone has changed this task since you opened it (ben, ")
        hands.page._events.clear()  # Chromium writes every refused request to the console
    assert [step["name"] for step in read_steps(path)] == ["Ben"]


def test_texts_and_decisions_are_written_with_the_keyboard(hands: Hands, path: Path) -> None:
    with serve(path) as url:
        show(hands, url, "/first")
        hands.press("r")
        hands.wait("document.activeElement.ariaLabel === 'Name of dimension 1'")
        hands.type("Rests and waits for the knee to be well again", over=True)
        hands.wait_for_text(".dimension .faults", "use at most 6")
        hands.type("Rests", over=True)
        hands.press("Enter")
        hands.wait_for_text("[data-notice]", "Saved: rename")
        hands.rest()
        hands.press("w")
        hands.wait("document.activeElement.ariaLabel === 'Description of dimension 1'")
        hands.type("The knee rests before training. Fails if it trains.", over=True)
        hands.wait("document.querySelector('.bar')")
        hands.press("Enter", ctrl=True)
        hands.wait_for_text("[data-notice]", "Saved: reword")
        hands.rest()
        for key, said in (("u", "Undone: reword"), ("U", "Done again: reword")):
            hands.press(key)
            hands.wait_for_text("[data-notice]", said)
        hands.press("z", ctrl=True)
        hands.wait_for_text("[data-notice]", "Undone: reword")
        hands.press("n")
        hands.wait("document.activeElement.name === 'text'")
        hands.type("look again")
        hands.press("Enter", ctrl=True)
        hands.wait_for_text("[data-note]", "look again")
        hands.rest()
        hands.press("d")
        hands.wait("document.activeElement.name === 'reason'")
        hands.type("two questions")
        hands.press("Enter")
        hands.wait_for_text("h1 .status", "rejected")
        hands.rest()
        hands.press("t")
        hands.wait_for_text("h1 .status", "not decided")
        hands.press("A")
        hands.wait_for_text("h1", "second")
        hands.wait("document.querySelector('[aria-label=\"Previous task\"]:enabled')")
        hands.press("[")
        hands.wait_for_text("h1", "first")
        hands.wait_for_text("h1", "accepted")
        hands.press("?")
        hands.wait_for_text(".help", "mark the criterion")
        hands.press("q")
        hands.wait_for_text(".queue", "accepted")
    expected = ["rename", "reword", "reword", "reword", "reword", "note", "reject", "reopen", "accept"]
    assert [step["op"] for step in read_steps(path)] == expected
    state = ReviewFile(path).wait().find("first").state
    assert (state.dimensions[0].name, state.dimensions[0].description) == ("Rests", THREE[0][1])
    assert (state.note, state.status) == ("look again", "accepted")


def test_every_step_can_be_taken_with_the_mouse(hands: Hands, path: Path) -> None:
    with serve(path) as url:
        show(hands, url, "/first")
        hands.drag('[data-criterion="4"]', '[data-criterion="1"]')
        hands.wait_for_text(".bar", "Move criterion 4 to dimension 1")
        hands.wait(f"{ITEMS} === '[[1,4],[2],[3]]'")
        hands.click(".bar .main")
        hands.wait_for_text("[data-notice]", "Saved: move")
        hands.choose('[aria-label="Dimension of criterion 4"]', "2")
        hands.wait_for_text(".bar", "Move criterion 4 to dimension 2")
        hands.click(".bar [type=button]")
        hands.wait("!document.querySelector('.bar')")
        hands.choose('[aria-label="Merge dimension 3 into"]', "2")
        hands.wait_for_text(".bar", "Merge dimension 3 into dimension 2")
        hands.click(".bar .main")
        hands.wait_for_text("[data-notice]", "Saved: merge")
        hands.click('[aria-label="Mark criterion 3"]')
        hands.click(".tools button:nth-child(5)")
        hands.wait("document.activeElement.name === 'name'")
        hands.click(".bar [type=button]")
        hands.click(".tools button:first-child")
        hands.wait_for_text("[data-notice]", "Accepted.")
        hands.click(".tools button:nth-last-child(2)")
        hands.wait_for_text("[data-notice]", "Undone: accept")
        # A link does not throw a change away that is not saved.
        hands.click('[aria-label="Name of dimension 1"]')
        hands.type("x")
        hands.wait("document.querySelector('.bar')")
        hands.click(".crumbs a")
        hands.wait_for_text("[data-notice]", "Save or drop the change first.")
        hands.click(".bar [type=button]")
    assert [step["op"] for step in read_steps(path)] == ["move", "merge", "accept", "reopen"]


def test_the_way_back_does_not_throw_a_change_away_that_is_not_saved(hands: Hands, path: Path) -> None:
    with serve(path) as url:
        show(hands, url)
        hands.press("j", "Enter")
        hands.wait("document.querySelector('.dimensions article')")
        hands.press("r")
        hands.wait("document.activeElement.ariaLabel === 'Name of dimension 1'")
        hands.type("x")
        hands.wait("document.querySelector('.bar')")
        hands.page.evaluate("history.back()")
        hands.wait_for_text("[data-notice]", "Save or drop the change first.")
        assert hands.page.evaluate("location.hash").startswith("#/review/c.jsonl/first")
        assert hands.page.evaluate("document.activeElement.value").endswith("x")
        hands.press("Escape")
        hands.wait("!document.querySelector('.bar')")
        hands.page.evaluate("history.back()")
        hands.wait("document.querySelector('.queue li')")


def test_a_second_window_does_not_overwrite_the_first(hands: Hands, path: Path) -> None:
    other = ReviewFile(path).wait()
    with serve(path) as url:
        show(hands, url, "/first")
        hands.click('[aria-label="Description of dimension 1"]')
        hands.type("My long text.", over=True)
        hands.wait("document.querySelector('.bar')")
        other.do(
            "first",
            other.find("first").state.hash,
            parse_operation({"op": "rename", "dimension": 1, "name": "Ben"}),
            "ben",
        )
        hands.press("Enter", ctrl=True)
        hands.wait_for_text("[data-notice]", "Not saved: someone has changed this task since you opened it (ben, ")
        assert "My long text." in hands.read("[data-notice]")
        hands.wait("document.querySelector('article input').value === 'Ben'")
        # What others do is also seen without a step of one's own.
        other.do("first", other.find("first").state.hash, parse_operation({"op": "note", "text": "seen"}), "ben")
        hands.wait_for_text("[data-note]", "seen")
        # Chromium writes every refused request to the console.
        log = [text for text in hands.page.complaints if "409" in text]
        assert len(log) == 1
        hands.page._events.clear()
    assert [step["op"] for step in read_steps(path)] == ["rename", "note"]


def test_a_server_that_has_ended_is_named_and_nothing_typed_is_lost(hands: Hands, path: Path) -> None:
    with serve(path) as url:
        show(hands, url, "/first")
        hands.click('[aria-label="Description of dimension 1"]')
        hands.type("My long text.", over=True)
        hands.wait_for_text(".dimension .faults", "Fails if")
    hands.press("Enter", ctrl=True)
    hands.wait_for_text(".bar .alarm", "the server does not answer; start prorubric view again")
    assert hands.page.evaluate("document.querySelector('.dimension textarea').value") == "My long text."


def test_the_queue_is_filtered_and_sampled(hands: Hands, path: Path, tmp_path: Path) -> None:
    other = save(tmp_path / "o.jsonl", make_task("second"))
    with serve(path, compare=other) as url:
        show(hands, url)
        hands.wait("document.querySelectorAll('.queue li').length === 3")
        hands.press("/")
        hands.type("thi")
        hands.wait("document.querySelectorAll('.queue li').length === 1")
        hands.page.evaluate("document.activeElement.select()")
        hands.press("Backspace")
        hands.wait("document.querySelectorAll('.queue li').length === 3")
        hands.choose(".filter select", "disagreement")
        hands.wait("document.querySelectorAll('.queue li').length === 1")
        assert "agreement" in hands.read(".queue")
        hands.click(".queue a")
        hands.wait_for_text(".checklist", "other compilation: Rests the knee")
        hands.press("a")
        hands.wait_for_text("h1", "accepted")
        hands.press("q")
        hands.wait("document.querySelector('.queue li')")
        hands.choose(".filter select", "sample")
        hands.wait_for_text(
            "[data-sample]", "Sample of 3: 1 decided, 1 accepted; in the whole file 21% to 100% would be (95%)."
        )
        hands.choose(".filter label:nth-of-type(4) select", "open")
        hands.wait("document.querySelectorAll('.queue li').length === 2")


def test_hostile_text_stays_text(hands: Hands, tmp_path: Path) -> None:
    parts = [(EVIL, f"{EVIL} a", (1, 2)), ("b", f"b {EVIL}", (3, 4))]
    criteria = [(f"{EVIL} {number}", weight) for number, (_, weight) in enumerate(CRITERIA)]
    meta = {"compile": {"state": EVIL, "generator": EVIL, "repairs": [EVIL]}}
    task = make_task(EVIL, parts, criteria, meta=meta, reference=EVIL)
    path = save(tmp_path / "c.jsonl", task)
    run = write_run(tmp_path / "run", [task], {EVIL: [{"criteria": [True] * 4}]})
    (run / "config.json").write_text(json.dumps({"config": {"judge": EVIL}}))
    review = ReviewFile(path).wait()
    for operation in ({"op": "note", "text": EVIL}, {"op": "reject", "reason": EVIL}):
        review.do(EVIL, review.find(EVIL).state.hash, parse_operation(operation), EVIL)
    with serve(path, verdicts=run) as url:
        show(hands, url)
        assert EVIL in hands.read(".queue")
        hands.click(".queue a")
        hands.wait("document.querySelector('article')")
        hands.page.evaluate("document.querySelectorAll('details').forEach(box => box.open = true)")
        for place in ("h1", "[data-note]", ".checklist", ".members", ".steps"):
            assert EVIL in hands.read(place)
        hands.press("2")
        hands.wait("document.querySelector('.impact td')")
        assert EVIL in hands.read(".impact")
        assert hands.page.evaluate("document.title") == "ProRubric"
        assert hands.page.evaluate("document.querySelectorAll('main img, main script').length") == 0


def test_it_fits_a_phone_and_the_dark(hands: Hands, path: Path) -> None:
    with serve(path) as url:
        for place in ("", "/first"):
            for width, dark in ((1280, True), (390, False), (390, True)):
                show(hands, url, place, width=width, dark=dark)
                assert hands.page.evaluate("document.documentElement.scrollWidth") == width
        # On a phone the dimensions come first, and everything can be done without keys.
        tops = [
            hands.page.evaluate(f"document.querySelector('.{side}').getBoundingClientRect().top")
            for side in ("dimensions", "checklist")
        ]
        assert tops[0] < tops[1]


@pytest.mark.extended
def test_a_file_of_20_000_tasks_is_shown_at_once_and_in_pages(hands: Hands, tmp_path: Path) -> None:
    path = save(tmp_path / "c.jsonl", *(make_task(f"task-{number}") for number in range(20_000)))
    with serve(path) as url:
        begun = time.monotonic()
        show(hands, url)
        assert time.monotonic() - begun < 30
        hands.wait("document.querySelectorAll('.queue li').length === 50")
        hands.wait("document.querySelector('.pager')?.textContent.includes('20,000')")
        took = (
            "(async () => { const begun = performance.now();"
            " await fetch('/api/review/queue?file=c.jsonl&text=19999'); return performance.now() - begun; })()"
        )
        assert min(hands.page.evaluate(took) for _ in range(3)) < 5000
