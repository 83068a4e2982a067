"""Run a command in a process that signals can end at any point.

Next to nothing is imported before signals are handled: during an import, Python may lose the
exception of a handler.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TextIO

from bbparse.runtime.signals import until_signal


def console() -> None:
    """Run the command line until a signal ends it; the installed command calls this."""
    # No other file may get the number of one that the caller has closed. What is told is dropped,
    # but to write output is an error.
    if sys.stdout is None:
        sys.stdout = _standing_in(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _standing_in(2, os.O_WRONLY)
    # Loading numba and its compiled code makes a million objects that stay until the end. Checking
    # them again and again, and once more at the end, takes a third of a short run.
    gc.set_threshold(200_000, 20, 100)
    try:
        sys.exit(until_signal(_status))
    finally:
        if "torch" not in sys.modules:  # torch complains about objects that are never freed
            gc.freeze()


def _standing_in(descriptor: int, mode: int) -> TextIO:
    """Open the null device in the place of a standard stream that is closed."""
    null = os.open(os.devnull, mode)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)
    return open(descriptor, "w", closefd=False)


def _status() -> int:
    from bbparse.apps.cli.main import status

    return status()
