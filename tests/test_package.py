"""The package's face: public names, and where its settings are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import bbparse
from bbparse.models.configuration import CONFIGURATIONS, Configuration
from bbparse.runtime.errors import ConfigError


def test_public_names_exist() -> None:
    assert set(bbparse.__all__) <= set(dir(bbparse))
    for name in bbparse.__all__:
        assert getattr(bbparse, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        bbparse.nothing  # noqa: B018


def test_configurations_by_name_and_by_path(tmp_path: Path) -> None:
    assert "english" in CONFIGURATIONS.names()
    assert CONFIGURATIONS.path("english") == CONFIGURATIONS.path("configs/english.toml").resolve()
    own = tmp_path / "own.toml"
    own.touch()
    assert CONFIGURATIONS.path(own) == own
    with pytest.raises(ConfigError, match=r"odd: no such file, nor .* configuration .*english"):
        CONFIGURATIONS.path("odd")


@pytest.mark.parametrize("name", CONFIGURATIONS.names())
def test_shipped_configurations_are_read(name: str) -> None:
    assert Configuration.load(name).to_table()


def test_families_are_those_installed_whatever_lies_in_the_working_directory(
    tmp_path: Path,
) -> None:
    for name in ("features", "configs", "english", "siblings", "words"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('a file of the user')\n")
    code = (
        "from bbparse.models.factors.registry import available, load_families\n"
        "print(len(load_families(available())))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) > 20
