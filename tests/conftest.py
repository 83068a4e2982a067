"""Settings of hypothesis, and the budget of long random runs."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# The first call of a jitted function compiles it, which no deadline allows for.
settings.register_profile(
    "default",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("default")

# Where tests run in the background, a shell has told them to ignore it, and what they start, too:
# those that interrupt something would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def fuzz_seconds() -> float:
    """Seconds that one test marked fuzz may take: BBPARSE_FUZZ_SECONDS, 60 if it is not set."""
    return float(os.environ.get("BBPARSE_FUZZ_SECONDS", "60"))


@pytest.fixture
def fuzz_seed() -> int:
    """Seed of tests marked fuzz: BBPARSE_FUZZ_SEED, 1 if it is not set."""
    return int(os.environ.get("BBPARSE_FUZZ_SEED", "1"))
