"""Kernels that call kernels; what stays as it is where numba is off, or not as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest


def test_a_kernel_is_the_function_itself_where_numba_is_off() -> None:
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            "from bbparse.inference.relaxation.state import score_spread; print(score_spread)",
        ],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.startswith("<function score_spread")


INTERRUPTED = """
import random, signal, time
import numpy as np
from bbparse.runtime.jit import kernel

@kernel
def squares(n):
    out = np.empty(n)
    for i in range(n):
        out[i] = i * i
    return out, out[::2]

class Stop(Exception):
    pass

def stop(number, frame):
    raise Stop

def work():
    # not in the block below: Python 3.13 handles signals where its loops jump back, outside of it
    end = time.monotonic() + 0.1
    while time.monotonic() < end:
        squares(3)

squares(3)
signal.signal(signal.SIGALRM, stop)
random.seed(0)
lost = 0
for _ in range(200):
    try:
        signal.setitimer(signal.ITIMER_REAL, random.uniform(0.001, 0.003))
        work()
        lost += 1
    except Stop:
        pass
print(lost)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals")
def test_no_exception_of_a_signal_handler_is_lost_where_arrays_come_back(tmp_path: Path) -> None:
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout == "0\n", done.stderr
