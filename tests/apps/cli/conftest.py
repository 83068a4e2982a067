"""Commands, run in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bbparse.apps.cli.main import main
from tests import toy

#: Configuration of a small network.
NETWORK = """
[model]
backbone = "grandsib"
[network]
epochs = 2
layers = "r"
word = 16
width = 16
biaffine_dim = 16
arc_mlp_dim = 16
part_dim = 16
label_dim = 16
batch = 100
cutoff = 1
"""


@dataclass
class Done:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    def complaint(self, *, alone: bool = True) -> str:
        """The line of an error that the user caused, without the program's name.

        It stands alone, or comes after what was told before.
        """
        assert self.code == 2
        lines = self.err.splitlines()
        assert lines, "an error must be told"
        assert [line for line in lines if line.startswith("bbparse: error: ")] == lines[-1:]
        assert "Traceback" not in self.err
        assert len(lines) == 1 or not alone
        return lines[-1].removeprefix("bbparse: error: ")


Run = Callable[..., Done]


@pytest.fixture(autouse=True, scope="session")
def small_networks() -> Iterator[None]:
    """Parsers are trained with taggers whose networks are small, which takes less time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bbparse.text.tagger_training.LabelSettings", lambda: toy.NETWORK)
        yield


@pytest.fixture(autouse=True, scope="session")
def silent_compiler() -> Iterator[None]:
    """Whatever a test, or a fixture, is the first to compile, its command says nothing of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bbparse.runtime.jit.print", lambda *args, **options: None, raising=False)
        yield


def succeed(*arguments: str | Path) -> None:
    """Run a command in this process, for a fixture."""
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    assert stop.value.code == 0


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process."""

    def command(*arguments: str | Path) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        assert isinstance(stop.value.code, int)
        return Done(stop.value.code, captured.out, captured.err)

    return command


@pytest.fixture(scope="session")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The configuration of the toy parser as a file."""
    path = tmp_path_factory.mktemp("config") / "toy.toml"
    path.write_text(toy.TOML, encoding="utf-8")
    return path
