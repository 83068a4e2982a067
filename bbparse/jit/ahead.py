"""The first run on a machine: compile in two processes at once.

numba compiles a kernel when it is first called and keeps the code in a cache on disk. It compiles
under a lock, one kernel at a time, so threads do not help; but a second process can compile some
kernels while this one compiles others, and both find the other's in the cache.
"""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from bbparse.jit.cache import KernelCache

__all__ = ["is_compiled", "run_elsewhere"]


def is_compiled(kernel: Any) -> bool:
    """Whether there is code of a kernel, in this process or kept from another.

    For whatever types of arguments; True where numba is switched off, and nothing to compile.
    """
    if not hasattr(kernel, "py_func"):
        return True
    kept = kernel._cache
    return bool(kernel.signatures) or (isinstance(kept, KernelCache) and kept.is_filled)


@contextlib.contextmanager
def run_elsewhere(module: str) -> Iterator[None]:
    """While this process compiles, run a module in another that compiles, too.

    Where it fails, the kernels are compiled when they are called.
    """
    other = None
    collecting = gc.isenabled()
    gc.disable()  # what a compiler builds up stays; looking for garbage there takes a tenth
    if sys.executable:
        none = subprocess.DEVNULL
        with contextlib.suppress(OSError):
            other = subprocess.Popen(
                [sys.executable, "-m", module], stdin=none, stdout=none, stderr=none
            )
    try:
        yield
    except BaseException:
        if other is not None:
            other.kill()
        raise
    finally:
        if collecting:
            gc.enable()
        if other is not None:
            other.wait()
