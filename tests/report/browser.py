"""A real browser for tests: Chromium, driven over its DevTools protocol with nothing but aiohttp.

Everything a page says on the console, every exception and everything it asks the network for is kept. Tests that need
the browser are skipped, with the reason, where there is none.
"""

import asyncio
import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.patience import PATIENCE

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NO_BROWSER = "no Chromium on this machine; install one to run the tests in a real browser"
_OPTIONS = (
    *("--headless=new", "--no-sandbox", "--no-zygote", "--disable-gpu", "--in-process-gpu", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
    # One process for pages, and a page that was left is forgotten: a quarter of the memory.
    *("--renderer-process-limit=1", "--disable-site-isolation-trials"),
    "--disable-features=BackForwardCache,SpareRendererForSitePerProcess,IsolateOrigins,site-per-process",
    *("--no-first-run", "--hide-scrollbars", "--remote-debugging-port=0"),
)


class Page:
    """One page in the browser."""

    def __init__(self, runner: asyncio.Runner, socket: aiohttp.ClientWebSocketResponse, session: str) -> None:
        self._runner, self._socket, self._session = runner, socket, session
        self._numbers = count(1_000)
        self._events: list[dict[str, Any]] = []

    def open(self, url: str, *, width: int = 1280, dark: bool = False, script: bool = True) -> "Page":
        """Load a page and forget everything that was seen before."""
        self.call("Emulation.setScriptExecutionDisabled", value=not script)
        self.look(width, dark=dark)
        # Through an empty page: a step within the open page loads nothing, and no event would tell that it is done.
        for place in ("about:blank", url):
            self._events.clear()
            self.call("Page.navigate", url=place)
            self._runner.run(self._wait_for("Page.loadEventFired"))
            if place == "about:blank":
                self.call("HeapProfiler.collectGarbage")
        return self

    def look(self, width: int, *, dark: bool = False, height: int = 900) -> None:
        """Look through a window of this width."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )

    def call(self, method: str, **params: Any) -> Any:
        """Send one command and give back its result."""
        return self._runner.run(self._call(method, params))

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"].get("exception", {}).get("description", found))
        return found["result"].get("value")

    def settle(self) -> None:
        """Let the page do what it was asked to: two frames, in which events are handled and things are drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def screenshot(self, path: Path, *, whole: bool = True) -> bytes:
        """A picture of the page."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))
        return path.read_bytes()

    @property
    def complaints(self) -> list[str]:
        """Errors and warnings of the console, refused content and exceptions."""
        self.settle()
        return [text for event in self._events if (text := _read_complaint(event)) is not None]

    @property
    def requests(self) -> list[str]:
        """Everything that the page asked for, by address."""
        self.settle()
        sent = [event["params"] for event in self._events if event["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in sent]

    async def _call(self, method: str, params: dict[str, Any]) -> Any:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params, "sessionId": self._session})
        while True:
            message = await self._receive()
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]

    async def _wait_for(self, method: str) -> None:
        while not any(event["method"] == method for event in self._events):
            await self._receive()

    async def _receive(self) -> dict[str, Any]:
        message: dict[str, Any] = await asyncio.wait_for(self._socket.receive_json(), PATIENCE)
        if "method" in message and message.get("sessionId") == self._session:
            self._events.append(message)
        return message


def type_at_once(selector: str, *keys: str) -> str:
    """A script that presses keys the moment an element is there, with no frame between them.

    Before the last one, what the page put off at the first has been done, and nothing that it put off later.
    """
    return f"""(async () => {{
      await new Promise((done) => {{
        const look = () => document.querySelector({json.dumps(selector)}) && done();
        new MutationObserver(look).observe(document, {{ childList: true, subtree: true }});
        look();
      }});
      const keys = {json.dumps(keys)};
      let later;
      for (const [place, key] of keys.entries()) {{
        if (place === keys.length - 1) await later;
        document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {{ key, bubbles: true, cancelable: true }}));
        later ??= new Promise((done) => setTimeout(done));
        for (let turn = 0; turn < 20; turn++) await null; // what the page has queued is done, but no timer and no frame
      }}
    }})()"""


@contextmanager
def open_browser() -> Iterator[Page]:
    """A browser with one empty page; both are gone afterwards."""
    if PROGRAM is None:
        pytest.skip(NO_BROWSER)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, asyncio.Runner() as runner:
        command = [PROGRAM, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            session, socket, page = runner.run(_connect(runner, Path(profile), process))
            try:
                yield page
            finally:
                runner.run(socket.close())
                runner.run(session.close())
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


async def _connect(
    runner: asyncio.Runner, profile: Path, process: subprocess.Popen[bytes]
) -> tuple[aiohttp.ClientSession, aiohttp.ClientWebSocketResponse, Page]:
    address = await _find_address(profile / "DevToolsActivePort", process)
    session = aiohttp.ClientSession()
    socket = await session.ws_connect(address, max_msg_size=0)
    await socket.send_json({"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank"}})
    target = (await _answer(socket, 1))["targetId"]
    attach = {"targetId": target, "flatten": True}
    await socket.send_json({"id": 2, "method": "Target.attachToTarget", "params": attach})
    page = Page(runner, socket, (await _answer(socket, 2))["sessionId"])
    for domain in ("Page", "Runtime", "Log", "Network"):
        await page._call(f"{domain}.enable", {})
    return session, socket, page


async def _answer(socket: aiohttp.ClientWebSocketResponse, number: int) -> dict[str, Any]:
    while True:
        message = await asyncio.wait_for(socket.receive_json(), PATIENCE)
        if message.get("id") == number:
            found: dict[str, Any] = message["result"]
            return found


async def _find_address(path: Path, process: subprocess.Popen[bytes]) -> str:
    """Where the browser listens, which it writes into its profile once it does."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        lines = path.read_text().split("\n") if path.is_file() else []
        if len(lines) >= 2:
            return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
        await asyncio.sleep(0.05)
    raise AssertionError(f"the browser did not start (exit code {process.poll()})")


def _read_complaint(event: dict[str, Any]) -> str | None:
    params = event["params"]
    match event["method"]:
        case "Runtime.exceptionThrown":
            return str(params["exceptionDetails"])
        case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
            return str(params["args"])
        case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
            return str(params["entry"]["text"])
    return None
