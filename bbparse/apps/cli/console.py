"""The process of the command line: signals end it at any point of its command.

Next to nothing is imported before signals are handled: during an import, Python may lose the
exception of a handler.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import Any

from bbparse.runtime.interrupts import apart

_SIGNALLED = 128


def console() -> None:
    """Run the command line beside the main thread; the installed command calls this."""
    collect_less_garbage()
    if sys.stderr is None:  # closed by the caller; no other file may become descriptor 2
        null = os.open(os.devnull, os.O_WRONLY)
        if null != 2:
            os.dup2(null, 2)
            os.close(null)
        sys.stderr = open(2, "w", closefd=False)
    try:
        sys.exit(apart(_status, _ending(), _tell))
    finally:
        if "torch" not in sys.modules:  # torch complains about objects that are never freed
            gc.freeze()


def collect_less_garbage() -> None:
    """Make Python's garbage collection less frequent.

    Loading numba and its compiled code makes a million objects that stay until the end. Checking
    them again and again, and once more at the end, takes a fifth of a short run.
    """
    gc.set_threshold(200_000, 20, 100)


def _status() -> int:
    from bbparse.apps.cli.main import status

    return status()


def _ending() -> dict[int, int]:
    """Return the exit status for each signal that ends a command; ignored ones stay so (nohup)."""
    usual: dict[str, Any] = {"SIGINT": signal.default_int_handler}
    usual |= dict.fromkeys(("SIGTERM", "SIGHUP"), signal.SIG_DFL)
    statuses = {}
    for name, handler in usual.items():
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is handler:
            statuses[number] = _SIGNALLED + number
    return statuses


def _tell(number: int) -> None:
    """Report what ended the command, on a line of its own: a terminal shows bars, and ^C."""
    end = "interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}"
    start = "\n" if sys.stderr.isatty() else ""
    print(f"{start}bbparse: {end}", file=sys.stderr, flush=True)
