"""``bbparse annotate``: what can be wrong before it serves."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import toy
from tests.cli.conftest import Done

Run = Callable[..., Done]


def test_bad_commands(run: Run, tmp_path: Path, model: Path) -> None:
    place = ("--model", model, "--port", "0")
    assert "name a file" in run("annotate", "-", *place).complaint()
    assert "name a file" in run("annotate", toy.DEV, "-o", "-", *place).complaint()
    complaint = run("annotate", tmp_path / "no.conllu", "--port", "0").complaint()
    assert complaint == f"{tmp_path / 'no.conllu'}: cannot be read: No such file or directory"
    assert "calibrate it with 'bbparse calibrate'" in run("annotate", toy.DEV, *place).complaint()
    assert "no such address" in run("annotate", toy.DEV, "--host", "no.such.host").complaint()
    broken = tmp_path / "broken.conllu"
    broken.write_text("1\tA\n")
    assert "line 1: expected 10 columns" in run("annotate", broken, "--port", "0").complaint()
    folder = run("annotate", toy.DEV, "-o", tmp_path / "no" / "out.conllu", "--port", "0")
    assert "there is no folder" in folder.complaint()
    out = tmp_path / "out.conllu.gz"
    out.write_bytes(gzip.compress(b""))
    complaint = run("annotate", toy.DEV, "-o", out, "--port", "0").complaint()
    assert complaint == f"{out}: exists and has no journal: remove it, or annotate it"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.conllu", "out.conllu.gz"]


def test_without_its_packages(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.startswith(("bbparse.serve", "bbparse.annotate")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    complaint = run("annotate", toy.DEV).complaint()
    assert complaint == "uvicorn is not installed: pip install 'bbparse[serve]'"
