"""``bbparse solve``, and ``bbparse verify``, which reads the proofs that it writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bbparse.core import Problem, Solution
from bbparse.inference.solve import solve
from tests.apps.cli.conftest import Run
from tests.inference.proof.helpers import changed
from tests.strategies import random_problem

SCORES = np.random.default_rng(121).normal(size=(6, 6))
ARCS = [([(0, 2), (2, 5)], 1.5), ([(2, 1), (2, 3)], -2.0), ([(2, 4), (4, 5)], float("-inf"))]


def factored(scale: float = 1.0) -> Problem:
    return Problem.from_arc_scores(scale * SCORES.T).with_factors(ARCS)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    factored().save(tmp_path / "p.npz")
    return tmp_path / "p.npz"


def test_table(run: Run, file: Path) -> None:
    done = run("solve", file, "--k-best", "3")
    lines = done.out.splitlines()
    expected = solve(factored(), k_best=3)
    assert done.code == 0 and len(lines) == 7
    assert lines[0].startswith("Problem(n_words=5, arcs=25, factors=3 (1 hard)")
    assert lines[1].startswith("optimal: proved; ")
    assert lines[3].split("  ")[-1] == "heads of words 1..5"
    for k, line in enumerate(lines[4:]):
        rank, score, bound, proved, *heads = line.split()
        assert (rank, proved) == (str(k + 1), "yes")
        assert float(score) == float(bound) == pytest.approx(expected.scores[k])
        assert [int(h) for h in heads] == expected.heads[k, 1:].tolist()
    lines = run("solve", file, "--method", "price-and-cut").out.splitlines()
    assert lines[1].startswith("optimal: proved; ")


@pytest.mark.parametrize("method", ["auto", "bb", "ilp", "price-and-cut"])
def test_json_and_output(run: Run, file: Path, method: str) -> None:
    target = file.with_name("s.npz")
    options = ("--json", "--k-best", "2", "--method", method, "--output", target)
    found = json.loads(run("solve", file, *options).out)
    saved, expected = Solution.load(target), solve(factored(), k_best=2)
    assert found["status"] == saved.status == "optimal"
    assert found["n_words"] == 5
    assert [tree["heads"] for tree in found["trees"]] == expected.heads[:, 1:].tolist()
    assert [tree["score"] for tree in found["trees"]] == pytest.approx(expected.scores)
    assert all(tree["proved"] for tree in found["trees"])
    assert "labels" not in found["trees"][0]
    assert found["stats"]["nodes"] == saved.stats["nodes"]
    assert saved.heads.tolist() == expected.heads.tolist()


def test_labels_are_shown(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    Problem(2, [0, 0, 1, 1], [1, 1, 2, 2], [1.0, 2.0, 3.0, 1.0], [7, 8, 9, 7]).save(path)
    assert run("solve", path).out.splitlines()[-1].endswith("yes  0:8 1:9")
    assert json.loads(run("solve", path, "--json").out)["trees"][0]["labels"] == [8, 9]


def test_no_tree_is_an_answer(run: Run, tmp_path: Path) -> None:
    path, target = tmp_path / "p.npz", tmp_path / "s.npz"
    Problem.from_arc_scores(np.zeros((3, 3))).with_heads({1: 2, 2: 1}).save(path)
    done = run("solve", path, "--output", target)
    lines = done.out.splitlines()
    assert done.code == 0 and len(lines) >= 5 and len(Solution.load(target)) == 0
    assert lines[1].startswith("infeasible: no tree keeps all constraints; ")
    assert lines[2] == "these cannot all be kept:"
    found = json.loads(run("solve", path, "--json").out)
    assert (found["status"], found["trees"]) == ("infeasible", [])
    assert len(found["conflict"]) == len(lines) - 3


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("--node-limit 2", "node_limit: stopped by the node limit; 2 nodes, "),
        ("--time-limit 1e-6", "time_limit: stopped by the time limit; 1 nodes, "),
        ("--gap 1e3", "gap: stopped by the gap; "),
        ("--time-limit 1e-6 --method ilp", "time_limit: stopped by the time limit; "),
    ],
)
def test_limits(run: Run, tmp_path: Path, options: str, line: str) -> None:
    path = tmp_path / "p.npz"
    random_problem(
        np.random.default_rng(82),
        min_words=14,
        max_words=14,
        projective=False,
        labelled=False,
        parts=(),
        max_factors=3000,
        scale="normal",
        states=False,
        hard=False,
    ).save(path)
    lines = run("solve", path, *options.split()).out.splitlines()
    assert lines[1].startswith(line)
    assert " no  " in lines[-1] or lines[-1] == "no tree was found"
    found = json.loads(run("solve", path, "--json", *options.split()).out)
    assert found["status"] == line.partition(":")[0]
    for tree in found["trees"]:
        assert not tree["proved"]
        assert tree["upper_bound"] is None or tree["upper_bound"] > tree["score"]


def saved(folder: Path, p: Problem, s: Solution) -> tuple[Path, Path]:
    p.save(folder / "p.npz")
    s.save(folder / "s.npz")
    return folder / "p.npz", folder / "s.npz"


ALL = Problem.from_arc_scores(np.arange(9.0).reshape(3, 3))


@pytest.mark.parametrize(
    ("p", "k", "text"),
    [
        (factored(), 1, "this is the best tree; best score "),
        (factored(), 4, "these are the 4 best trees; best score "),
        (ALL, 9, "these are all feasible trees, 2 of them; best score "),
        (ALL.without_arcs([(0, 1), (0, 2)]), 1, "there is no feasible tree\n"),
    ],
)
def test_right(run: Run, tmp_path: Path, p: Problem, k: int, text: str) -> None:
    done = run("verify", *saved(tmp_path, p, solve(p, k_best=k, proof=True)))
    assert done.code == 0 and done.out.startswith(f"verified: {text}")
    assert done.out.count("\n") == 1


def test_solve_writes_what_verify_reads(run: Run, tmp_path: Path) -> None:
    given, proved = tmp_path / "p.npz", tmp_path / "proved.npz"
    factored().save(given)
    done = run("solve", given, "--proof", proved, "--time-limit", "1e-9")
    assert (done.code, done.err) == (1, "no proof: the time limit was reached\n")
    assert "optimal" in done.out and not proved.exists()
    assert run("solve", given, "--k-best", "3", "--proof", proved).code == 0
    assert "verified: these are the 3 best trees" in run("verify", given, proved).out


def test_wrong(run: Run, tmp_path: Path) -> None:
    p = factored()
    s = solve(p, k_best=3, proof=True)
    assert s.proof is not None
    for other, spoiled, text in (
        (factored(1.1), s, "the proof belongs to another problem"),
        (p, solve(p, k_best=3), "the solution has no proof"),
        (p, changed(s, node_bound=s.proof.node_bound - 1e-3), "its bound is "),
        (p, changed(s, k_best=4), "above the last tree's score -inf"),
    ):
        done = run("verify", *saved(tmp_path, other, spoiled))
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert done.err.startswith("not verified: ") and text in done.err


def test_bad_files(run: Run, tmp_path: Path) -> None:
    good, found = saved(tmp_path, factored(), solve(factored(), proof=True))
    for arguments, text in (
        ((good, tmp_path / "none.npz"), "none.npz: no such file"),
        ((found, found), "holds a 'bbparse.Solution', expected a 'bbparse.Problem'"),
        ((good,), "Missing argument"),
    ):
        assert text in run("verify", *arguments).complaint()


def test_json_alone(tmp_path: Path) -> None:
    """In a process of its own, HiGHS writes nothing to standard output."""
    p = Problem.from_arc_scores(SCORES, projective=False).with_factors([([(2, 1), (2, 5)], 1.5)])
    p.save(tmp_path / "p.npz")
    command = [sys.executable, "-m", "bbparse", "solve", tmp_path / "p.npz", "--json"]
    done = subprocess.run([*command, "--method", "ilp"], capture_output=True, timeout=300)
    assert done.returncode == 0 and json.loads(done.stdout)["status"] == "optimal"
