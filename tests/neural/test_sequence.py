"""What networks do to the process that they are in."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

_PROGRAM = """
import resource
import numpy as np
from bbparse.neural.sequence import keep_freed_memory

def pages():
    for _ in range(4):
        [np.ones(1_000_000, np.uint8) for _ in range(4)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

pages()
print(-pages() + pages())
keep_freed_memory()
pages()
print(-pages() + pages())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries decide themselves")
def test_memory_of_a_batch_is_there_for_the_next_one() -> None:
    run = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, check=True)
    before, after = map(int, run.stdout.split())
    assert before > 1000
    assert after < 100
