"""Compiling in two processes: the second one does not outlive an interruption of the first."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from bbparse.parsing import compiling


class Waiting:
    """A second process that works until it is killed; waiting for it is interrupted."""

    def __init__(self) -> None:
        self.killed = False

    def wait(self) -> None:
        if not self.killed:
            raise KeyboardInterrupt

    def kill(self) -> None:
        self.killed = True


@pytest.mark.parametrize("when", ["while compiling", "while waiting"])
def test_the_second_process_ends_with_an_interruption(
    monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    other = Waiting()

    def started(*_: Any, **__: Any) -> Waiting:
        return other

    monkeypatch.setattr(subprocess, "Popen", started)
    with pytest.raises(KeyboardInterrupt), compiling.run_elsewhere("bbparse.parsing.compiling"):
        if when == "while compiling":
            raise KeyboardInterrupt
    assert other.killed
