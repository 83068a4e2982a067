"""Run a command in a process that signals can end at any point.

Next to nothing is imported before signals are handled: during an import, Python may lose the
exception of a handler.
"""

from __future__ import annotations

import gc
import os
import sys

from bbparse.runtime.signals import beside_main


def console() -> None:
    """Run the command line beside the main thread; the installed command calls this."""
    if sys.stderr is None:  # closed by the caller; no other file may become descriptor 2
        null = os.open(os.devnull, os.O_WRONLY)
        if null != 2:
            os.dup2(null, 2)
            os.close(null)
        sys.stderr = open(2, "w", closefd=False)
    # Loading numba and its compiled code makes a million objects that stay until the end. Checking
    # them again and again, and once more at the end, takes a third of a short run.
    gc.set_threshold(200_000, 20, 100)
    try:
        sys.exit(beside_main(_status))
    finally:
        if "torch" not in sys.modules:  # torch complains about objects that are never freed
            gc.freeze()


def _status() -> int:
    from bbparse.apps.cli.main import status

    return status()
