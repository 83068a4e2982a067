from __future__ import annotations

import io
import os
import pickle
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.core import FIELDS, Problem, Solution
from bbparse.runtime.archive import write_archive
from bbparse.runtime.errors import OutputError, ProblemError
from tests.archives import fields_of
from tests.core.helpers import SOLUTION, no_trees
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


def rewrite(path: Path, *, kind: str = "bbparse.Problem", **changes: Any) -> None:
    """Replace (or with None remove) fields of an archive."""
    fields = {**fields_of(path), **changes}
    kept = {name: value for name, value in fields.items() if value is not None}
    write_archive(path, kind, kept)


def with_member(path: Path, name: str, data: bytes) -> None:
    """Replace a member of an archive, or add one."""
    with zipfile.ZipFile(path) as archive:
        members = {old: archive.read(old) for old in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for old, content in {**members, name: data}.items():
            archive.writestr(old, content)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        p = random_problem(rng, max_counts=4)
        p.save(tmp_path / "p.npz")
        loaded = Problem.load(tmp_path / "p.npz")
        assert all(same(getattr(p, name), getattr(loaded, name)) for name in FIELDS)
    assert os.listdir(tmp_path) == ["p.npz"]


def test_solutions_too(tmp_path: Path) -> None:
    path = str(tmp_path / "no suffix")
    SOLUTION.save(path)
    loaded = Solution.load(path)
    for name in ("heads", "arcs", "scores", "upper_bounds", "proved", "status", "stats"):
        assert same(getattr(SOLUTION, name), getattr(loaded, name)), name
    assert isinstance(loaded.stats["nodes"], int)
    no_trees("infeasible").save(path)
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
        ({"note": np.zeros(1)}, "field 'note' is unknown"),
        ({"kind": "x"}, "holds a 'x', expected a 'bbparse.Problem'"),
        ({"arc_head": np.array([0, 1.5])}, "field arc_head has dtype float64"),
        ({"arc_head": np.array([[0]])}, "field arc_head has shape (1, 1), expected 1 dimensions"),
        ({"arc_head": 3}, "field arc_head is no .npy array"),
        ({"n_words": np.array(3)}, "field n_words is no int of the card"),
        (
            {"arc_head": np.array([0]), "arc_mod": np.array([1, 2])},
            "arc_mod has 2 elements, expected 1 as in arc_head",
        ),
        ({"n_words": -3}, "p.npz: n_words is -3, expected 1..32000"),
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


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ("{", "not a complete .npz file"),
        ("[]", "card.json is no dict"),
        ("{}", "holds a '', expected a 'bbparse.Problem'"),
        ('{"kind": "bbparse.Problem", "version": 2}', "its format is 2, expected 1: make the file"),
    ],
)
def test_faults_of_the_card(saved: Path, card: str, message: str) -> None:
    with_member(saved, "card.json", card.encode())
    with pytest.raises(ProblemError) as caught:
        Problem.load(saved)
    assert message in str(caught.value)


def test_pickled_objects_are_not_run(saved: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (os.mkdir, (str(saved.parent / "trapped"),))

    file = io.BytesIO()
    np.save(file, np.array([Trap()], dtype=object), allow_pickle=True)
    with_member(saved, "arc_score.npy", file.getvalue())
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
    with_member(saved, "arc_score.npy", header.getvalue() + bytes(found))
    with pytest.raises(ProblemError, match=f"field arc_score has {found} bytes of data, expected"):
        Problem.load(saved)


def test_other_members_are_refused(saved: Path) -> None:
    with_member(saved, "readme.txt", b"hello")
    with pytest.raises(ProblemError, match=r"field 'readme.txt' is unknown"):
        Problem.load(saved)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("arc_head.npy", b"")
    with pytest.raises(ProblemError, match="field 'arc_head' is there twice"):
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


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are those of POSIX")
def test_no_file_replaces_a_pipe_or_is_named_like_the_standard_output(
    tmp_path: Path, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    problem = Problem.load(saved)
    for save in (problem.save, SOLUTION.save):
        for name in ("pipe", "-", "/dev/stdout"):
            with pytest.raises(OutputError, match="expected the name of a file"):
                save(name)
    assert Path("pipe").is_fifo() and sorted(os.listdir()) == ["p.npz", "pipe"]
