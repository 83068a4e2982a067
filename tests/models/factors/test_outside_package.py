"""Families of other packages, and batches that other code has made."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.core.parts import Factors
from bbparse.factors import (
    FactorBatch,
    FactorFamily,
    FactorTable,
    FactorView,
    TemplateFamily,
    alive_counts,
    check_family,
)
from bbparse.runtime.errors import FactorError
from bbparse.treebank import Sentence
from tests import toy
from tests.models.factors.helpers import alive_factors, all_arcs, view_of

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


SENTENCE = Sentence.from_words(["a", "b", "c"], heads=[2, 0, 2])
VIEW = view_of(SENTENCE, all_arcs(3))
TABLE = FactorTable(np.array([1, 2, 3], np.uint64))


class Own(FactorFamily):
    """A family that makes its arrays itself."""

    name, summary = "own", "its own arrays"

    def __init__(self, batch: Any) -> None:
        self.batch = batch

    def propose(self, view: FactorView, table: FactorTable | None = None) -> Any:
        return self.batch

    propose_counts = propose


def batch() -> FactorBatch:
    return FactorBatch.from_lists([[0, 3], [1, 4]], [[[1]], [[2]]])


def refuse(family: FactorFamily, text: str) -> None:
    """See that whatever asks the family has one line of why it cannot be."""
    match = f"factor family 'own', sentence #1: .*{text}"
    with pytest.raises(FactorError, match=match) as error:
        alive_factors([family], VIEW, TABLE)
    assert "\n" not in str(error.value)
    if isinstance(family, Own):
        for ask in (
            lambda: family.propose_all(VIEW),
            lambda: alive_counts([family], VIEW, TABLE),
            lambda: check_family(family, SENTENCE),
        ):
            with pytest.raises(FactorError, match=match):
                ask()


def test_arrays_as_they_must_be() -> None:
    assert alive_factors([Own(batch())], VIEW, TABLE).arcs.tolist() in ([], [0, 3, 1, 4])
    assert Own(batch()).propose_all(VIEW).ptr.tolist() == [0, 2, 4, 6, 8]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"arcs": np.array([0, 3, 1, 99], np.int32)}, "arcs are 0 to 99, expected 0 to 8"),
        ({"arcs": np.array([0, 3, -1, 4], np.int32)}, "arcs are -1 to 4"),
        ({"arcs": np.array([0, 3, 1, 4])}, r"arcs is int64\[4\], expected an array int32"),
        ({"arcs": [0, 3, 1, 4]}, "arcs is of type list"),
        ({"arcs": np.array([0, 0, 1, 4], np.int32)}, "a set has an arc twice"),
        ({"arcs": np.zeros((4, 2), np.int32)[:, 0]}, "lie end to end"),
        ({"ptr": np.array([0, 2, 1 << 40])}, "ptr does not rise from 0 to 4"),
        ({"ptr": np.array([0, 5, 4])}, "ptr does not rise"),
        ({"ptr": np.array([0, 4])}, "cell_ptr has 3 elements, expected 2"),
        ({"ptr": np.array([0, 0, 4])}, "set 0 has 0 arcs and 1 cells"),
        ({"cell_ptr": np.array([0, 1, 7])}, "cell_ptr does not rise from 0 to 2"),
        ({"cell_ptr": np.array([0, 0, 2])}, "set 0 has 2 arcs and 0 cells"),
        ({"feat_ptr": np.array([0, 1, 9])}, "feat_ptr does not rise from 0 to 2"),
        ({"feat_ptr": np.zeros(0, np.int64)}, "cell_ptr does not rise|feat_ptr has 0 elements"),
        ({"feat_keys": np.array([1, 2], np.int64)}, r"feat_keys is int64\[2\]"),
    ],
)
def test_arrays_that_kernels_would_follow_anywhere(changes: dict[str, Any], text: str) -> None:
    refuse(Own(dataclasses.replace(batch(), **changes)), text)


def test_what_is_no_batch() -> None:
    refuse(Own(None), "gave None, expected a FactorBatch")


@pytest.mark.parametrize(
    ("factors", "text"),
    [
        (None, "score gave None, expected Factors"),
        (Factors(np.array([0, 2]), np.array([0, 77], np.int32), np.ones(1)), "arcs are 0 to 77"),
        (Factors(np.array([0, 9]), np.array([0, 1], np.int32), np.ones(1)), "ptr does not rise"),
        (Factors(np.array([0, 2]), np.array([0, 1], np.int32), np.array([np.nan])), "no finite"),
        (Factors(np.array([0, 2]), np.array([0, 1], np.int32), 7), "scores 7, expected"),
        (Factors(np.array([0, 2]), np.array([0, 1], np.int32), np.ones(2)), "expected float64"),
    ],
)
def test_factors_of_its_own_scoring(factors: Any, text: str) -> None:
    class Scoring(FactorFamily):
        name, summary = "own", "its own scores"

        def score(self, view: FactorView, table: FactorTable) -> Any:
            return factors

    refuse(Scoring(), text)


@pytest.mark.parametrize(
    ("first", "text"),
    [
        ([0, 1 << 40], "expected 0 to 8"),
        ([-1], "first_arcs gave -1 to -1"),
        ([0.5], "expected indices of arcs"),
        ([[0]], "expected indices of arcs"),
    ],
)
def test_first_arcs_of_a_template_family(first: Any, text: str) -> None:
    class Pairs(TemplateFamily):
        name, summary = "own", "siblings, of some arcs"
        arcs = ("h m", "h c")
        common = "h.upos"
        templates = ("m.lemma",)

        def first_arcs(self, view: FactorView) -> Any:
            return first

    refuse(Pairs(), text)
