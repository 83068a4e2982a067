"""Settings of hypothesis, and the toy model."""

from __future__ import annotations

import signal
from pathlib import Path

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


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy parser's file; not to be changed."""
    from tests import toy  # which imports what few tests need

    path = tmp_path_factory.mktemp("model") / "toy.model"
    toy.parser().save(path)
    return path
