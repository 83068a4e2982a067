"""Settings of hypothesis, the toy model, and who runs which tests when."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

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


#: What several processes begin with: one trains, another solves, so that they compile other kernels
#: than each other; then what takes long, so that none is left alone with it at the end.
FIRST = (
    "models/learning/test_train.py", "inference/oracles/", "inference/search/",
    "inference/relaxation/", "inference/proof/", "test_docs.py", "apps/cli/", "apps/corpus/",
    "apps/serve/", "parser/", "models/learning/", "grammar/", "text/", "apps/explain/",
)  # fmt: skip
#: Files whose tests may be run by different processes.
DIVIDED = ("test_docs.py", "test_fuzz.py", "test_enumeration.py")


def _place(item: pytest.Item) -> int:
    path = item.path.relative_to(Path(__file__).parent).as_posix()
    return next((i for i, start in enumerate(FIRST) if path.startswith(start)), len(FIRST))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadfile``: files in the order above, and not by the number of their tests."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class InOrder(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return nodeid if file.endswith(DIVIDED) else file

    config.option.loadscopereorder = False
    return InOrder(config, log)
