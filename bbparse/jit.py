"""How kernels are compiled: one decorator, so that all are compiled alike."""

from __future__ import annotations

from numba import njit

#: For functions over arrays and scalars. ``cache``: compiled once for a machine. ``nogil``: other
#: threads go on. ``no_cfunc_wrapper``: numba would also compile a way in for callers in C, of which
#: there are none; that is a tenth of what the first run waits for.
kernel = njit(cache=True, nogil=True, no_cfunc_wrapper=True)
#: For a few lines that are compiled anew into each kernel that calls them.
inlined = njit(cache=True, nogil=True, inline="always")
