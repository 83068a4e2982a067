"""Outputs never overwrite what a command reads, or another output."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from bbparse.apps.cli.common import Command, OutputFile
from bbparse.apps.cli.main import COMMANDS, cli
from tests import toy
from tests.apps.cli.conftest import Run

#: Commands whose outputs are one of their inputs: d, a treebank with a link and a hard link to it.
OVERWRITING = [
    "repair d -o r --report d",
    "repair d -o r --report link",
    "repair d -o r --report hard",
    "repair d -o d --report d",
    "repair d -o r --report r",
    "repair d -o new --report ./new",
    "repair d --report -",
    "train d --model d",
    "train r --dev d --model link",
    "train r --config d --model hard",
    "train-tagger d --model d",
    "train-tagger r --dev d --model d",
    "train-phrases d --model d",
    "train-phrases r --dev hard --model d",
    "parse d r -o d",
    "parse r --model d -o d",
    "parse r --valid d -o link",
    "parse d --text -o d",
    "parse d --format tree -o hard",
    "parse d -o r --model r",
    "tag r --model d -o d",
    "phrases d --model r -o d",
    "explain d -o d",
    "explain r --valid d -o d",
    "tune d --plot d",
    "solve d --output d",
    "solve d --proof d",
    "solve d --output p --proof ./p",
    "bundle r d --output d",
    "calibrate d --model r -o d",
    "annotate d -o link",
]


@pytest.mark.parametrize("line", OVERWRITING)
def test_no_command_overwrites_its_files(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.conllu").write_bytes(toy.DEV.read_bytes())
    shutil.copy(toy.DEV, "r")
    os.link("d.conllu", "hard")
    os.symlink("d.conllu", "link")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    arguments = ["d.conllu" if word == "d" else word for word in line.split()]
    assert "would overwrite it" in run(*arguments).complaint()
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_trees_may_replace_the_trees_that_were_read(
    run: Run, tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(toy.DEV, "d")
    shutil.copy(model, "m")
    os.symlink("d", "link")
    assert run("parse", "d", "--model", model, "-o", "out").code == 0
    for target in ("link", "d"):
        assert run("parse", "d", "--model", model, "-o", target).code == 0
        assert Path("d").read_bytes() == Path("out").read_bytes()
    assert run("repair", "d", "-o", "d", "--report", os.devnull).code == 0
    assert run("calibrate", toy.DEV, "--model", "m", "-o", "m").code == 0


def test_all_commands_say_what_they_write() -> None:
    with cli.make_context("bbparse", ["model"]) as context:
        for name in COMMANDS:
            command = cli.get_command(context, name)
            assert isinstance(command, Command)
            for parameter in command.params:
                if {"-o", "--output"} & set(parameter.opts):
                    assert isinstance(parameter.type, OutputFile)
