"""The clock of `runtime.deadline` in kernels, so that a long loop can end at a deadline."""

from __future__ import annotations

import os
import time

import numpy as np
from numba import types

from bbparse.runtime.jit import kernel

if os.name == "nt":
    _ticks = types.ExternalFunction("GetTickCount64", types.uint64())

    @kernel
    def now() -> float:
        """Return the time of `bbparse.runtime.deadline.clock`."""
        return 1e-3 * _ticks()

else:
    _gettime = types.ExternalFunction("clock_gettime", types.intc(types.intc, types.uintp))
    _MONOTONIC = time.CLOCK_MONOTONIC

    @kernel
    def now() -> float:
        """Return the time of `bbparse.runtime.deadline.clock`."""
        moment = np.empty(2, np.intp)  # a struct timespec
        _gettime(_MONOTONIC, moment.ctypes.data)
        return moment[0] + 1e-9 * moment[1]


@kernel
def is_over(until: float) -> bool:
    """Return True once a time has passed; inf: never. Takes a tenth of a microsecond."""
    return until < np.inf and now() >= until
