"""The app in a real browser: a server for the time of a test, and a reviewer's hands."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from prorubric.reward.server.config import ServerOptions, list_hosts
from prorubric.reward.server.listen import bind
from prorubric.view.app import make_app
from prorubric.view.config import ViewConfig
from prorubric.view.gate import ViewGate
from tests.patience import PATIENCE
from tests.report.browser import Page

_CODES = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowRight": 39, "Tab": 9, "Backspace": 8}
_SHIFT, _CTRL = 8, 2


@contextmanager
def serve(path: Path, **options: Any) -> Iterator[str]:
    """The address of the app, behind its gate."""
    listener = bind("127.0.0.1", 0)
    port = int(listener.getsockname()[1])
    app = make_app(path, config=ViewConfig(path, **{"who": "ana", **options}))
    gate = ViewGate(app, hosts=list_hosts(ServerOptions(port=port), port), token=None)
    server = uvicorn.Server(uvicorn.Config(gate, lifespan="off", log_config=None, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()


class Hands:
    """What a reviewer does with a page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.url = ""

    def wait(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.page.evaluate(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise AssertionError(f"{condition} is not true; the page says: {self.read('body')}")
            time.sleep(0.02)

    def wait_for_text(self, selector: str, text: str) -> None:
        """Wait until an element has a text."""
        self.wait(f"document.querySelector({json.dumps(selector)})?.textContent.includes({json.dumps(text)})")

    def read(self, selector: str) -> str:
        """The text of an element."""
        found = self.page.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")
        return str(found)

    def rest(self) -> None:
        """Take the focus away from where it is."""
        self.page.evaluate("document.activeElement?.blur()")

    def press(self, *keys: str, ctrl: bool = False) -> None:
        """Press and release keys, one after the other."""
        for key in keys:
            shift = _SHIFT if len(key) == 1 and key.isupper() else 0
            common = {"key": key, "modifiers": shift | (_CTRL if ctrl else 0)}
            common["windowsVirtualKeyCode"] = _CODES.get(key, ord(key.upper()[0]))
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
            self.page.call(
                "Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text and not ctrl else {})
            )
            self.page.call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.page.settle()

    def type(self, text: str, *, over: bool = False) -> None:
        """Type into the field that has the focus; `over` replaces what it has."""
        if over:
            self.page.evaluate("document.activeElement.select()")
        self.page.call("Input.insertText", text=text)
        self.page.settle()

    def point(self, selector: str) -> tuple[float, float]:
        """The middle of an element, in view."""
        script = (
            "name => { const found = document.querySelector(name);"
            " found.scrollIntoView({block: 'center', behavior: 'instant'}); const box = found.getBoundingClientRect();"
            " return [box.x + box.width / 2, box.y + box.height / 2]; }"
        )
        box = self.page.evaluate(f"({script})({json.dumps(selector)})")
        return float(box[0]), float(box[1])

    def click(self, selector: str) -> None:
        """Click on the middle of an element."""
        x, y = self.point(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.page.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.page.settle()

    def choose(self, selector: str, value: str) -> None:
        """Choose an option of a list."""
        script = "(box, value) => { box.value = value; box.dispatchEvent(new Event('change', {bubbles: true})); }"
        self.page.evaluate(f"({script})(document.querySelector({json.dumps(selector)}), {json.dumps(value)})")
        self.page.settle()

    def drag(self, selector: str, target: str) -> None:
        """Drag an element onto another, with the mouse."""
        self.point(selector)
        script = (
            "name => { const box = document.querySelector(name).getBoundingClientRect();"
            " return [box.x + 60, box.y + box.height / 2]; }"
        )
        (x, y), (to_x, to_y) = (self.page.evaluate(f"({script})({json.dumps(name)})") for name in (selector, target))
        self.page.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
        for part in range(1, 11):
            place = {"x": x + (to_x - x) * part / 10, "y": y + (to_y - y) * part / 10}
            self.page.call("Input.dispatchMouseEvent", type="mouseMoved", button="left", buttons=1, **place)
            time.sleep(0.06)  # the library looks at where the pointer is twenty times a second
        self.page.call("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=to_y, button="left", clickCount=1)
        self.page.settle()
