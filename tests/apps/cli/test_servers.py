"""``bbparse serve`` and ``bbparse annotate``: what can be wrong before they serve."""

from __future__ import annotations

import gzip
import socket
import sys
from pathlib import Path

import pytest

from tests import toy
from tests.apps.cli.conftest import Run


def test_serve(run: Run, tmp_path: Path, model: Path) -> None:
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
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        complaint = run("serve", "--model", model, "--port", port).complaint()
    assert complaint == f"127.0.0.1, port {port}: address already in use"
    broken = tmp_path / "broken.model"
    broken.write_bytes(model.read_bytes()[:1000])
    assert str(broken) in run("serve", "--model", broken, "--port", "0").complaint()


def test_annotate(run: Run, tmp_path: Path, model: Path) -> None:
    broken, packed = tmp_path / "broken.conllu", tmp_path / "out.conllu.gz"
    broken.write_text("1\tA\n")
    packed.write_bytes(gzip.compress(b""))
    none = tmp_path / "no.conllu"
    for arguments, message in (
        (("-",), "name a file"),
        ((toy.DEV, "-o", "-"), "expected the name of a file"),
        ((none,), f"{none}: cannot be read: No such file or directory"),
        ((toy.DEV, "--model", model), "calibrate it with 'bbparse calibrate'"),
        ((toy.DEV, "--host", "no.such.host"), "address not found"),
        ((broken,), "line 1: expected 10 columns"),
        ((toy.DEV, "--spans", "Entity"), f"{toy.DEV}: no word has Entity= in MISC"),
        ((toy.DEV, "-o", ""), "the name is empty, expected a file"),
        ((toy.DEV, "-o", tmp_path / "no" / "out.conllu"), "there is no folder"),
        ((toy.DEV, "-o", packed), f"{packed}: exists and has no journal: remove it, or annotate"),
    ):
        assert message in run("annotate", *arguments, "--port", "0").complaint()
    assert {*tmp_path.iterdir()} == {broken, packed}


@pytest.mark.parametrize("command", [("serve",), ("annotate", toy.DEV)])
def test_without_their_packages(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: tuple[str | Path, ...]
) -> None:
    for name in list(sys.modules):
        if name.startswith(("bbparse.apps.serve", "bbparse.apps.annotate")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    complaint = run(*command).complaint()
    assert complaint == "uvicorn is not installed: pip install '.[serve]' in the checkout"
