"""The process of the command line: signals end it, whatever its command is at.

Next to nothing is imported before signals are seen to: while modules are imported, Python may lose
what a handler raises.
"""

from __future__ import annotations

import gc
import signal
import sys
from typing import Any

from bbparse.storage.interrupts import apart

_SIGNALLED = 128


def console() -> None:
    """What the installed command runs: the command line, beside the main thread."""
    collect_less_garbage()
    try:
        sys.exit(apart(_status, _ending(), _tell))
    finally:
        if "torch" not in sys.modules:  # which complains of what is never freed
            gc.freeze()


def collect_less_garbage() -> None:
    """Have Python look for garbage less often than it does by default.

    Loading numba and its compiled code makes a million objects that stay until the end. Looking
    through them again and again, and once more at the end, is a fifth of a short run.
    """
    gc.set_threshold(200_000, 20, 100)


def _say(message: str) -> None:
    """A line on the standard error, if there is one."""
    try:
        print(f"bbparse: {message}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass


def _status() -> int:
    from bbparse.cli.main import status

    return status()


def _ending() -> dict[int, int]:
    """Signals that end a command, and its exit status then; what is ignored stays so (nohup)."""
    usual: dict[str, Any] = {"SIGINT": signal.default_int_handler}
    usual |= dict.fromkeys(("SIGTERM", "SIGHUP"), signal.SIG_DFL)
    found = {}
    for name, handler in usual.items():
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) is handler:
            found[number] = _SIGNALLED + number
    return found


def _tell(number: int) -> None:
    """Say what has ended the command, in a line of its own: a terminal shows bars, and ^C."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(file=sys.stderr)
    name = signal.Signals(number).name
    _say("interrupted" if number == signal.SIGINT else f"ended by {name}")
