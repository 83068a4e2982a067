"""Outputs overwrite neither what a command reads, nor another output, nor devices and pipes."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import pytest

from bbparse.apps.cli.common import Command, OutputFile, OutputFolder
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


def outputs() -> Iterator[tuple[str, click.Command, click.Parameter]]:
    """Yield all commands with each of their outputs."""
    with cli.make_context("bbparse", ["model"]) as context:
        for name in COMMANDS:
            command = cli.get_command(context, name)
            assert isinstance(command, Command)
            for parameter in command.params:
                if isinstance(parameter.type, OutputFile):
                    yield name, command, parameter
                elif not isinstance(parameter.type, OutputFolder):
                    assert not {"-o", "--output"} & set(parameter.opts)


@pytest.mark.skipif(sys.platform == "win32", reason="devices and pipes are those of POSIX")
def test_only_text_and_plots_go_into_devices_and_pipes(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Models, solutions, proofs and treebanks under annotation replace none of them."""
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    os.symlink("pipe", "link")
    os.symlink("/dev/stdout", "out")
    with suppress(PermissionError):  # only root may
        os.mknod("null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    made = {path: path.lstat() for path in Path().iterdir()}
    names = [*map(str, made), "-", "/dev/stdout", "/dev/fd/1", "/dev/../dev/fd/2"]
    streams = set()
    for name, command, output in outputs():
        assert isinstance(output.type, OutputFile)
        if output.type.streams:
            streams.add(f"{name} {output.opts[0]}")
            continue
        line = [name]
        for other in command.params:
            if isinstance(other, click.Argument):
                line.append("x")
            elif other.required and other is not output:
                line += [other.opts[0], "x"]
        for node in names:
            complaint = run(*line, output.opts[0], node).complaint()
            assert complaint.endswith(": cannot be written: expected the name of a file")
    assert {path: path.lstat() for path in Path().iterdir()} == made
    text = {
        "parse --output",
        "enhance --output",
        "explain -o",
        "repair --output",
        "combine --output",
    }
    text |= {"phrases --output", "tag --output", "repair --report", "tune --plot"}
    assert streams == text
