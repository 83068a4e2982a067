"""The benchmarks start, and the parts of them that others lean on do what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent / "bench"
SCRIPTS = (
    "decode",
    "dense",
    "kernels",
    "learning",
    "measure",
    "multipliers",
    "scaling",
    "tables",
    "throughput",
)


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_starts(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(BENCH / f"{name}.py"), "--help"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "usage:" in done.stdout


def test_each_is_listed() -> None:
    page = (BENCH / "README.md").read_text(encoding="utf-8")
    for name in SCRIPTS:
        assert f"`{name}.py" in page
