"""``bbparse serve``: what can be wrong before it serves."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done

Run = Callable[..., Done]


def test_bad_commands(run: Run, tmp_path: Path, model: Path) -> None:
    nothing = tmp_path / "no.model"
    complaint = run("serve", "--model", nothing).complaint()
    assert complaint.startswith(f"{nothing}: no such file, nor the name of a model")
    assert run("serve", "--model", f"a={nothing}").complaint() == complaint
    other = tmp_path / "other.model"
    other.write_bytes(model.read_bytes())
    for name in ("english", f"english={other}"):
        twice = run("serve", "--model", name, "--model", f"english={model}").complaint()
        assert twice.startswith("two models are named english, ")
        assert twice.endswith(f" and {model}: give one another name, as other={model}")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = str(other.getsockname()[1])
        complaint = run("serve", "--model", model, "--port", port).complaint()
    assert complaint == f"127.0.0.1, port {port}: address already in use"
    broken = tmp_path / "broken.model"
    broken.write_bytes(model.read_bytes()[:1000])
    assert str(broken) in run("serve", "--model", broken, "--port", "0").complaint()


def test_without_its_packages(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.startswith("bbparse.serve"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert run("serve").complaint() == "uvicorn is not installed: pip install 'bbparse[serve]'"
