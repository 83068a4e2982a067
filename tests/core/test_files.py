from __future__ import annotations

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.core import FIELDS, Problem, Solution
from bbparse.runtime.errors import OutputError, ProblemError
from tests.core.helpers import SOLUTION
from tests.strategies import random_problem


def same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and (
        (left.dtype == right.dtype and np.array_equal(left, right))
        if isinstance(left, np.ndarray)
        else left == right
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A problem with every kind of field, in a file."""
    rng = np.random.default_rng(5)
    p = random_problem(rng, min_words=4, max_words=4, labelled=True, max_factors=12, max_counts=4)
    p.save(tmp_path / "p.npz")
    return tmp_path / "p.npz"


def rewrite(path: Path, **changes: Any) -> None:
    """Replace (or with None remove) fields of an archive, pickling objects as numpy would."""
    with np.load(path) as archive:
        arrays = {name: archive[name] for name in archive.files}
    arrays.update(changes)
    with open(path, "wb") as file:
        np.savez(file, **{name: array for name, array in arrays.items() if array is not None})


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        p = random_problem(rng, max_counts=4)
        p.save(tmp_path / "p.npz")
        loaded = Problem.load(tmp_path / "p.npz")
        assert all(same(getattr(p, name), getattr(loaded, name)) for name in FIELDS)
    assert os.listdir(tmp_path) == ["p.npz"]


def test_solutions_too(tmp_path: Path) -> None:
    solution = Solution(**{**SOLUTION, "stats": {"nodes": 3, "seconds": 0.5}})
    path = str(tmp_path / "no suffix")
    solution.save(path)
    loaded = Solution.load(path)
    for name in ("heads", "arcs", "scores", "upper_bounds", "proved", "status", "stats"):
        assert same(getattr(solution, name), getattr(loaded, name)), name
    assert isinstance(loaded.stats["nodes"], int)
    none = Solution(np.zeros((0, 4), int), np.zeros((0, 3), int), [], [], [], "infeasible")
    none.save(path)
    assert Solution.load(path).heads.shape == (0, 4)


def test_every_truncation_is_refused(saved: Path) -> None:
    data = saved.read_bytes()
    for size in [*range(0, len(data), 97), len(data) - 1]:
        saved.write_bytes(data[:size])
        with pytest.raises(ProblemError, match=r"p\.npz: not a complete \.npz file"):
            Problem.load(saved)


def test_damaged_bytes_never_give_another_problem(saved: Path) -> None:
    rng = np.random.default_rng(2)
    data, p = saved.read_bytes(), Problem.load(saved)
    refused = 0
    for _ in range(400):
        damaged = bytearray(data)
        for _ in range(int(rng.integers(1, 4))):
            damaged[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        saved.write_bytes(damaged)
        try:
            loaded = Problem.load(saved)
        except ProblemError as error:
            refused += 1
            assert "\n" not in str(error)
            continue
        # A bit of a date stamp or a flag.
        assert all(same(getattr(p, name), getattr(loaded, name)) for name in FIELDS)
    assert refused > 200


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arc_mod": None}, "field arc_mod is missing"),
        ({"kind": None}, "field kind is missing: not written by bbparse"),
        ({"version": None}, "field version is missing"),
        ({"note": np.zeros(1)}, "field 'note' is unknown"),
        ({"version": np.array(2)}, "its format is 2, expected 1: make the file anew"),
        ({"kind": np.array("x")}, "holds a 'x', expected a 'bbparse.Problem'"),
        ({"arc_head": np.array([0, 1.5])}, "field arc_head has dtype float64"),
        ({"n_words": np.array([3])}, "field n_words has shape (1,), expected 0 dimensions"),
        (
            {"arc_head": np.array([0]), "arc_mod": np.array([1, 2])},
            "arc_mod has 2 elements, expected 1 as in arc_head",
        ),
        ({"arc_head": np.array([{}], object)}, "field arc_head holds pickled objects"),
        ({"n_words": np.array(-3)}, "p.npz: n_words is -3, expected 1..32000"),
    ],
)
def test_faults_name_the_file_and_the_field(
    saved: Path, changes: dict[str, Any], message: str
) -> None:
    rewrite(saved, **changes)
    with pytest.raises(ProblemError) as caught:
        Problem.load(saved)
    assert message in str(caught.value)
    assert str(saved) in str(caught.value)


def test_pickled_objects_are_not_run(saved: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (os.mkdir, (str(saved.parent / "trapped"),))

    rewrite(saved, arc_score=np.array([Trap()], dtype=object))
    with pytest.raises(ProblemError, match="field arc_score holds pickled objects"):
        Problem.load(saved)
    saved.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ProblemError, match=r"not a complete \.npz file"):
        Problem.load(saved)
    assert not (saved.parent / "trapped").exists()


@pytest.mark.parametrize(("shape", "found"), [(1 << 60, 0), (2, 24)])
def test_a_size_that_does_not_fit_is_refused_before_it_is_used(
    saved: Path, shape: int, found: int
) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"descr": "<f8", "fortran_order": False, "shape": (shape,)}
    )
    header.write(bytes(found))
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["arc_score.npy"] = header.getvalue()
    with zipfile.ZipFile(saved, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    with pytest.raises(ProblemError, match=f"field arc_score has {found} bytes of data, expected"):
        Problem.load(saved)


def test_a_field_twice_or_of_another_kind_is_refused(saved: Path) -> None:
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ProblemError, match=r"field 'readme.txt' is no \.npy array"):
        Problem.load(saved)


def test_files_that_are_not_there(tmp_path: Path, saved: Path) -> None:
    with pytest.raises(ProblemError, match=r"x\.npz: no such file"):
        Problem.load(tmp_path / "x.npz")
    with pytest.raises(ProblemError, match="cannot be read: Is a directory"):
        Problem.load(tmp_path)
    with pytest.raises(ProblemError, match=r"holds a 'bbparse\.Problem', expected"):
        Solution.load(saved)


def test_no_half_written_file_is_left(tmp_path: Path, saved: Path) -> None:
    with pytest.raises(OutputError, match=r"q\.npz: cannot be written: No such file"):
        Problem.load(saved).save(tmp_path / "missing" / "q.npz")
    assert os.listdir(tmp_path) == ["p.npz"]
