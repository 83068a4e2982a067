"""A factor family from a package outside the project: installed, then trained and parsed with."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import toy

PYPROJECT = """
[build-system]
requires = []
build-backend = "make_wheel"
backend-path = ["."]

[project]
name = "bracket-factors"
version = "1.0"

[project.entry-points."bbparse.factors"]
neighbours = "bracket_factors:Neighbours"
"""

# Anyone else would name setuptools. This builds the wheel without network and build tools, which
# the environment of the tests need not have.
BACKEND = """
import tomllib
from pathlib import Path
from zipfile import ZipFile


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    name, version = project["name"], project["version"]
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    entries = [
        line
        for group, points in project["entry-points"].items()
        for line in [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    ]
    files = {
        "bracket_factors.py": Path("bracket_factors.py").read_text(),
        f"{info}/METADATA": f"Metadata-Version: 2.1\\nName: {name}\\nVersion: {version}\\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{info}/entry_points.txt": "\\n".join(entries) + "\\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{file},,\\n" for file in [*files, f"{info}/RECORD"])
    wheel = f"{stem}-py3-none-any.whl"
    with ZipFile(Path(wheel_directory, wheel), "w") as archive:
        for file, text in files.items():
            archive.writestr(file, text)
    return wheel
"""

# As anyone would write it: ten lines of Python.
MODULE = '''
from bbparse.factors import FactorFamily


class Neighbours(FactorFamily):
    """A head with the words right before and after it as modifiers."""

    name = "neighbours"
    summary = "a head with a modifier on either side, next to it"

    def factors(self, view):
        upos = view.sentence.upos
        for h in range(2, view.n_words):
            yield [(h, h - 1), (h, h + 1)], [(upos[h - 2], upos[h - 1], upos[h])]
'''


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that pip installed the package into."""
    folder = tmp_path_factory.mktemp("outside")
    package = folder / "package"
    package.mkdir()
    (package / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (package / "make_wheel.py").write_text(BACKEND, encoding="utf-8")
    (package / "bracket_factors.py").write_text(MODULE, encoding="utf-8")
    installed = folder / "installed"
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
        "--no-deps", "--no-build-isolation", "--no-index", "--target", str(installed),
        str(package),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return installed


def bbparse(*arguments: str | Path, path: Path | None) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, with a folder on Python's path.

    What it says of compiling, the first time on a machine, is left out.
    """
    variables = dict(os.environ)
    if path is not None:
        earlier = variables.get("PYTHONPATH")
        variables["PYTHONPATH"] = os.pathsep.join([str(path), *([earlier] if earlier else [])])
    done = subprocess.run(
        [sys.executable, "-m", "bbparse", *map(str, arguments)],
        env=variables, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    lines = done.stderr.splitlines(keepends=True)
    done.stderr = "".join(line for line in lines if "compiling" not in line)
    return done


def test_it_is_listed_with_its_package(target: Path) -> None:
    done = bbparse("factors", path=target)
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("neighbours"))
    assert "a head with a modifier on either side, next to it" in line
    assert line.endswith("bracket-factors")


def test_it_trains_and_parses_by_name(target: Path, tmp_path: Path) -> None:
    config, model = tmp_path / "toy.toml", tmp_path / "toy.model"
    config.write_text(
        toy.TOML.replace('["siblings", "grandchildren"]', '["neighbours", "siblings"]'),
        encoding="utf-8",
    )
    train: list[str | Path] = ["train", toy.DEV, "--config", config, "--model", model]
    train += ["--epochs", "2"]
    parse: list[str | Path] = ["parse", toy.DEV, "--model", model]
    done = bbparse(*train, path=target)
    assert done.returncode == 0, done.stderr
    (told,) = (line for line in done.stderr.splitlines() if line.endswith(" factor features"))
    done = bbparse(*train, "--factors", "neighbours", path=target)
    assert done.returncode == 0, done.stderr
    (alone,) = (line for line in done.stderr.splitlines() if line.endswith(" factor features"))
    assert int(told.split()[0]) > int(alone.split()[0]) > 0, "the package's features are learned"

    done = bbparse(*parse, path=target)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n\n") == len(toy.dev_sentences())

    # Without the package, neither works, and the message says what is there.
    for command in (train, [*parse, "--output", tmp_path / "out.conllu"]):
        done = bbparse(*command, path=None)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "no factor family 'neighbours'; there are: agreement, " in done.stderr
    assert not (tmp_path / "out.conllu").exists()
