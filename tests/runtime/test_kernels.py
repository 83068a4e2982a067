"""Kernels that call kernels; what stays as it is where numba is off, or not as it was."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

TWO_FILES = {
    "below.py": """
        import numpy as np
        from bbparse.runtime.jit import kernel

        @kernel
        def total(numbers, divisor):
            if divisor < 0:
                raise ValueError("negative")
            found = np.zeros(1)
            for number in numbers:
                found[0] += number
            return found[0] / divisor

        @kernel
        def twice(numbers, divisor):
            return total(numbers, divisor) + total(numbers[::-1], divisor)
        """,
    "above.py": """
        import numpy as np
        from below import total, twice
        from bbparse.runtime.jit import kernel

        @kernel
        def both(numbers, divisor):
            'Two ways.'
            return total(numbers, divisor), twice(numbers, divisor)

        numbers = np.arange(5.0)
        print(*both(numbers, 2.0), *both(np.arange(5), 2))
        for divisor in (0.0, -1.0):
            try:
                both(numbers, divisor)
            except (ZeroDivisionError, ValueError) as error:
                print(type(error).__name__, error)
        print(twice(numbers, 4.0), len(both._whole.signatures), both.__doc__, both.__name__)
        hits, misses = both._whole.stats.cache_hits, total._whole.stats.cache_misses
        print(sum(hits.values()), sum(misses.values()))
        """,
}


def test_kernels_call_kernels(tmp_path: Path) -> None:
    """As parts of the calling one, whose code alone is kept."""
    for name, text in TWO_FILES.items():
        (tmp_path / name).write_text(textwrap.dedent(text), encoding="utf-8")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    said: list[str] = []

    def answers() -> list[str]:
        ran = subprocess.run(
            [sys.executable, "above.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(ran.stderr)
        return ran.stdout.splitlines()

    first, second = answers(), answers()
    assert first[:-1] == second[:-1]
    assert first[:-1] == [
        "5.0 10.0 5.0 10.0",
        "ZeroDivisionError division by zero",
        "ValueError negative",
        "5.0 2 Two ways. both",
    ]
    assert first[-1] == "0 0"
    assert second[-1] == "2 0"
    assert said[0].startswith("bbparse: compiling kernels, which") and said[0].count("\n") == 1
    assert not said[1]


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
