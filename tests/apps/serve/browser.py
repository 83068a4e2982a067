"""A browser without a screen, driven through its own pipe: no driver and no package is needed."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
#: The browser to use, if there is one.
BROWSER = next(filter(None, map(shutil.which, _NAMES)), "")
needs_browser = pytest.mark.skipif(not BROWSER, reason="there is no browser")

_KEYS = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39, "Tab": 9}


class Browser:
    """One page in a headless Chromium."""

    def __init__(self, folder: Path) -> None:
        theirs, self._out = os.pipe()
        self._in, theirs_too = os.pipe()
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (theirs, theirs_too)]
        command = [
            BROWSER,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--remote-debugging-pipe",
            "--disable-dev-shm-usage",
            "--no-first-run",
            f"--user-data-dir={folder}",
            "about:blank",
        ]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{high[0]} 4>&{high[1]}', "browser", *command],
            pass_fds=high,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for fd in (theirs, theirs_too, *high):
            os.close(fd)
        self._read = b""
        self._count = 0
        self._session = ""
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        found = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = found["sessionId"]
        self.errors: list[str] = []
        self.requested: list[str] = []
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """A command of the DevTools protocol, and its result."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._read:
                piece = os.read(self._in, 1 << 16)
                assert piece, "the browser has ended"
                self._read += piece
            text, _, self._read = self._read.partition(b"\0")
            found = json.loads(text)
            if found.get("method") == "Runtime.exceptionThrown":
                self.errors.append(found["params"]["exceptionDetails"]["text"])
            if found.get("method") == "Network.requestWillBeSent":
                self.requested.append(found["params"]["request"]["url"])
            if found.get("id") == self._count:
                assert "error" not in found, found["error"]
                return found["result"]

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.call(
            "Runtime.evaluate",
            expression=script,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, script: str, seconds: float = 15.0) -> Any:
        """The value of an expression when it is true."""
        end = time.monotonic() + seconds
        while not (value := self.run(script)):
            assert time.monotonic() < end, f"{script}: {self.run('document.body.innerText')}"
            time.sleep(0.05)
        return value

    def key(self, key: str) -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = _KEYS.get(key, ord(key[0].upper()))
        named = {"key": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **named, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def mouse(self, kind: str, x: float, y: float) -> None:
        """Move the mouse, press or release its button."""
        self.call(
            "Input.dispatchMouseEvent",
            type=f"mouse{kind}",
            x=x,
            y=y,
            clickCount=1,
            button="none" if kind == "Moved" else "left",
        )

    def screen(self, width: int, height: int) -> None:
        """Another screen."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            mobile=False,
            deviceScaleFactor=1,
        )

    def close(self) -> None:
        """End the browser."""
        self.process.kill()
        self.process.wait()
        os.close(self._in)
        os.close(self._out)
