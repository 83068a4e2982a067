"""A browser for the tests of both pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apps.serve.browser import Browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = Browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.close()
