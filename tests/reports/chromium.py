"""A real Chromium, headless, with a fresh profile, driven over the DevTools protocol.

`with Chromium() as browser: page = browser.open(path)`: `page.run("…")` evaluates JavaScript, `page.key("j")` presses a
key, `page.console` holds what went wrong in the page, `page.requests` every address that it asked for.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CODES = {"Enter": "Enter", "Escape": "Escape", "Tab": "Tab"}


def find_chromium() -> str | None:
    """Path of the browser; None where there is none."""
    return os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Chromium:
    """The browser process; a context manager."""

    def __init__(self) -> None:
        self.program = find_chromium() or ""

    def __enter__(self) -> Chromium:
        self.profile = tempfile.mkdtemp(prefix="pincite-chromium-")
        arguments = [
            self.program,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            "--remote-debugging-port=0",
            f"--user-data-dir={self.profile}",
            "about:blank",
        ]
        self.process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        told = Path(self.profile) / "DevToolsActivePort"
        for _ in range(600):
            if told.exists() and told.read_text().count("\n"):
                break
            time.sleep(0.05)
        port, path = told.read_text().split("\n")[:2]
        self.loop = asyncio.new_event_loop()
        self.address = f"ws://127.0.0.1:{port}{path}"
        self.loop.run_until_complete(self._connect())
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):
            self.call("Browser.close")
        self.loop.run_until_complete(self._disconnect())
        self.loop.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    async def _connect(self) -> None:
        self.http = aiohttp.ClientSession()
        self.socket = await self.http.ws_connect(self.address, max_msg_size=0)
        self.pages: dict[str, Page] = {}
        self.answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.number = 0
        self.reader = asyncio.ensure_future(self._read())

    async def _disconnect(self) -> None:
        self.reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.reader
        await self.socket.close()
        await self.http.close()

    async def _read(self) -> None:
        async for message in self.socket:
            event = json.loads(message.data)
            if "id" in event:
                waiting = self.answers.pop(event["id"], None)
                if waiting and not waiting.done():
                    waiting.set_result(event)
            elif event.get("sessionId") in self.pages:
                self.pages[event["sessionId"]].heard(event["method"], event["params"])

    async def _call(self, method: str, session: str | None, params: dict[str, Any]) -> dict[str, Any]:
        self.number += 1
        waiting = self.answers[self.number] = self.loop.create_future()
        body: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if session:
            body["sessionId"] = session
        await self.socket.send_str(json.dumps(body))
        answer = await asyncio.wait_for(waiting, 120)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """One command of the protocol."""
        return self.loop.run_until_complete(self._call(method, session, params))

    def open(self, path: Path | str, hash_: str = "", width: int = 1440, height: int = 900) -> Page:
        """A new tab with the file; returns when it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        self.pages[session] = page
        for domain in ("Page", "Runtime", "Log", "Network", "DOM", "Accessibility"):
            page.call(f"{domain}.enable")
        page.size(width, height)
        page.go(path, hash_)
        return page

    def wait(self, seconds: float) -> None:
        """Let events come in."""
        self.loop.run_until_complete(asyncio.sleep(seconds))


class Page:
    """One tab."""

    def __init__(self, browser: Chromium, session: str, target: str) -> None:
        self.browser, self.session, self.target = browser, session, target
        self.console: list[str] = []
        self.requests: list[str] = []
        self.is_loaded = False

    def heard(self, method: str, params: dict[str, Any]) -> None:
        """An event of this tab."""
        if method == "Page.loadEventFired":
            self.is_loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            detail = params["exceptionDetails"]
            self.console.append(detail.get("exception", {}).get("description") or detail["text"])
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.console.append(str([each.get("value") for each in params["args"]]))

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command of the protocol, to this tab."""
        return self.browser.call(method, self.session, **params)

    def go(self, path: Path | str, hash_: str = "") -> None:
        """Load a file (or an address) and wait until it is there."""
        url = path.resolve().as_uri() if isinstance(path, Path) else path
        self.is_loaded = False
        self.call("Page.navigate", url=url + hash_)
        self.until(lambda: self.is_loaded, 120)

    def until(self, holds: Any, seconds: float = 10) -> None:
        """Wait for a Python condition."""
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise TimeoutError("the page did not get there")
            self.browser.wait(0.02)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"].get("exception", {}).get("description", "failed"))
        return answer["result"].get("value")

    def wait_for(self, script: str, seconds: float = 10) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({script})"):
            if time.monotonic() > end:
                raise TimeoutError(
                    f"{script} did not become true; the page shows: {self.run('document.body.innerText')[:600]}"
                )
            self.browser.wait(0.02)

    def key(self, key: str) -> None:
        """Press and release a key, and let the page draw."""
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        self.call(
            "Input.dispatchKeyEvent",
            type="keyDown",
            key=key,
            code=CODES.get(key, ""),
            text=text,
            windowsVirtualKeyCode={"Enter": 13, "Escape": 27, "Tab": 9}.get(key, 0),
        )
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=CODES.get(key, ""))
        self.settle()

    def click(self, selector: str) -> None:
        """A real click in the middle of the first element that fits."""
        self.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        self.settle()
        box = self.run(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
            " return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)
        self.settle()

    def settle(self) -> None:
        """Two frames later."""
        self.run(
            "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))"
        )

    def size(self, width: int, height: int) -> None:
        """The window's size in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def colours(self, scheme: str) -> None:
        """`light` or `dark`, as the system would say."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """A PNG of the window, or of the whole page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """Close the tab."""
        self.browser.call("Target.closeTarget", targetId=self.target)
