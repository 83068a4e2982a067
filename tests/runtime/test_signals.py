"""What signal handlers raise is never lost, nor makes something else of it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numba import types

from bbparse.runtime.jit import kernel
from bbparse.runtime.signals import held_signals

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")


class CameError(Exception):
    """Raised by the handler."""


@pytest.fixture
def alarm() -> Iterator[None]:
    def come(number: int, frame: Any) -> None:
        raise CameError

    before = signal.signal(signal.SIGALRM, come)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


@kernel
def _busy(rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Two arrays, after a while."""
    state = 1
    for _ in range(rounds):
        state = (state * 16807) % 2147483647
    return np.full(3, state), np.full(2, 0.5)


def test_a_signal_during_a_kernel_is_raised_as_it_is(alarm: None) -> None:
    _busy(1)
    for _ in range(20):
        with pytest.raises(CameError):
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            for _ in range(1000):
                _busy(1_000_000)


def test_a_signal_during_a_kernels_first_call_is_raised(alarm: None) -> None:
    _busy.compile((types.int64,))
    with pytest.raises(CameError):
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        _busy(300_000_000)


def test_a_signal_waits_until_code_is_ready(alarm: None) -> None:
    done = False
    with pytest.raises(CameError), held_signals():
        signal.raise_signal(signal.SIGALRM)
        done = True
    assert done
    with pytest.raises(CameError):  # as before
        signal.raise_signal(signal.SIGALRM)
