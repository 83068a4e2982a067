"""``bbparse verify``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bbparse.cli.main import main
from bbparse.problem import Problem, Solution
from bbparse.solving.solve import solve
from tests.proof.helpers import changed

SCORES = np.random.default_rng(121).normal(size=(6, 6))
ARCS = [([(0, 2), (2, 5)], 1.5), ([(2, 1), (2, 3)], -2.0), ([(2, 4), (4, 5)], float("-inf"))]


def problem(scale: float = 1.0) -> Problem:
    return Problem.from_arc_scores(scale * SCORES).with_factors(ARCS)


def run(path: Path, p: Problem, s: Solution) -> int:
    p.save(path / "p.npz")
    s.save(path / "s.npz")
    return verify(str(path / "p.npz"), str(path / "s.npz"))


def verify(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["verify", *arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code


@pytest.mark.parametrize(
    ("k", "text"), [(1, "this is the best tree"), (4, "these are the 4 best trees")]
)
def test_right(k: int, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    p = problem()
    assert run(tmp_path, p, solve(p, k_best=k, proof=True)) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"verified: {text}; best score ")
    assert out.count("\n") == 1


def test_solve_writes_what_verify_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, proved = str(tmp_path / "p.npz"), str(tmp_path / "proved.npz")
    problem().save(given)
    with pytest.raises(SystemExit) as stop:
        main(["solve", given, "--k-best", "3", "--proof", proved])
    assert stop.value.code == 0
    assert verify(given, proved) == 0
    assert "verified: these are the 3 best trees" in capsys.readouterr().out


def test_solve_without_a_proof(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given, proved = str(tmp_path / "p.npz"), tmp_path / "proved.npz"
    problem().save(given)
    with pytest.raises(SystemExit) as stop:
        main(["solve", given, "--proof", str(proved), "--time-limit", "1e-9"])
    assert stop.value.code == 1
    captured = capsys.readouterr()
    assert "optimal" in captured.out
    assert captured.err == "no proof: the time limit was reached\n"
    assert not proved.exists()


def test_all_trees_and_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    p = Problem.from_arc_scores(np.arange(9.0).reshape(3, 3))
    assert run(tmp_path, p, solve(p, k_best=9, proof=True)) == 0
    assert "these are all feasible trees, 2 of them" in capsys.readouterr().out
    p = p.without_arcs([(0, 1), (0, 2)])
    assert run(tmp_path, p, solve(p, proof=True)) == 0
    assert capsys.readouterr().out == "verified: there is no feasible tree\n"


def test_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    p = problem()
    s = solve(p, k_best=3, proof=True)
    assert s.proof is not None
    for other, spoiled, text in (
        (problem(1.1), s, "the proof is of another problem"),
        (p, solve(p, k_best=3), "the solution has no proof"),
        (p, changed(s, node_bound=s.proof.node_bound - 1e-3), "its bound is given as"),
        (p, changed(s, k_best=4), "above the last tree's score -inf"),
    ):
        assert run(tmp_path, other, spoiled) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("not verified: ")
        assert captured.err.count("\n") == 1
        assert text in captured.err


def test_bad_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    p = problem()
    assert run(tmp_path, p, solve(p, proof=True)) == 0
    good, found = str(tmp_path / "p.npz"), str(tmp_path / "s.npz")
    capsys.readouterr()
    for arguments, text in (
        ((good, str(tmp_path / "none.npz")), "none.npz: no such file"),
        ((found, found), "holds a 'bbparse.Solution', expected a 'bbparse.Problem'"),
        ((good,), "Missing argument"),
    ):
        assert verify(*arguments) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert text in error
