"""``bbparse solve``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bbparse.cli.main import main
from bbparse.problem import Problem, Solution
from bbparse.solving.solve import solve
from tests.strategies import random_problem


def run(*arguments: Any) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["solve", *map(str, arguments)])
    assert isinstance(stop.value.code, int)
    return stop.value.code


@pytest.fixture
def problem() -> Problem:
    rng = np.random.default_rng(81)
    return Problem.from_arc_scores(rng.normal(size=(6, 6))).with_factors(
        [([(2, 1), (2, 5)], 1.5), ([(3, 4), (0, 3)], -np.inf)]
    )


@pytest.fixture
def file(problem: Problem, tmp_path: Path) -> Path:
    problem.save(tmp_path / "p.npz")
    return tmp_path / "p.npz"


def test_table(problem: Problem, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(file, "--k-best", 3) == 0
    lines = capsys.readouterr().out.splitlines()
    expected = solve(problem, k_best=3)
    assert lines[0].startswith("Problem(n_words=5, arcs=25, factors=2 (1 hard)")
    assert lines[1].startswith("optimal: proved; ")
    assert lines[3].split("  ")[-1] == "heads of words 1..5"
    for k, line in enumerate(lines[4:]):
        rank, score, bound, proved, *heads = line.split()
        assert (rank, proved) == (str(k + 1), "yes")
        assert float(score) == float(bound) == pytest.approx(expected.scores[k])
        assert [int(h) for h in heads] == expected.heads[k, 1:].tolist()
    assert len(lines) == 7


def test_table_of_price_and_cut(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(file, "--method", "price-and-cut") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("optimal: proved; ")
    assert lines[2].startswith("0 of 0 triples scored (0.0%), 0 added; ")


@pytest.mark.parametrize("method", ["auto", "bb", "ilp", "price-and-cut"])
def test_json_and_output(
    problem: Problem, file: Path, method: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = file.with_name("s.npz")
    assert run(file, "--json", "--k-best", 2, "--method", method, "--output", target) == 0
    found = json.loads(capsys.readouterr().out)
    saved, expected = Solution.load(target), solve(problem, k_best=2)
    assert found["status"] == saved.status == "optimal"
    assert found["n_words"] == 5
    assert [tree["heads"] for tree in found["trees"]] == expected.heads[:, 1:].tolist()
    assert [tree["score"] for tree in found["trees"]] == pytest.approx(expected.scores)
    assert all(tree["proved"] for tree in found["trees"])
    assert "labels" not in found["trees"][0]
    assert found["stats"]["nodes"] == saved.stats["nodes"]
    assert saved.heads.tolist() == expected.heads.tolist()


def test_labels_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Problem(2, [0, 0, 1, 1], [1, 1, 2, 2], [1.0, 2.0, 3.0, 1.0], [7, 8, 9, 7]).save(
        tmp_path / "p.npz"
    )
    assert run(tmp_path / "p.npz") == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("yes  0:8 1:9")
    assert run(tmp_path / "p.npz", "--json") == 0
    assert json.loads(capsys.readouterr().out)["trees"][0]["labels"] == [8, 9]


def test_no_tree_is_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    p = Problem.from_arc_scores(np.zeros((3, 3))).with_heads({1: 2, 2: 1})
    p.save(tmp_path / "p.npz")
    assert run(tmp_path / "p.npz", "--output", tmp_path / "s.npz") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("infeasible: no tree keeps all constraints; ")
    assert lines[2] == "these cannot all be kept:"
    assert len(lines) >= 5
    assert len(Solution.load(tmp_path / "s.npz")) == 0
    assert run(tmp_path / "p.npz", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["status"], found["trees"]) == ("infeasible", [])
    assert len(found["conflict"]) == len(lines) - 3


def hard_problem() -> Problem:
    rng = np.random.default_rng(82)
    return random_problem(
        rng, min_words=14, max_words=14, projective=False, labelled=False, parts=(),
        max_factors=3000, scale="normal", states=False, hard=False,
    )  # fmt: skip


def test_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hard_problem().save(tmp_path / "p.npz")
    for options, line in (
        (("--node-limit", 2), "node_limit: stopped by the node limit; 2 nodes, "),
        (("--time-limit", 1e-6), "time_limit: stopped by the time limit; 1 nodes, "),
        (("--gap", 1e3), "gap: stopped by the gap; "),
        (("--time-limit", 1e-6, "--method", "ilp"), "time_limit: stopped by the time limit; "),
    ):
        assert run(tmp_path / "p.npz", *options) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[1].startswith(line)
        assert " no  " in lines[-1] or lines[-1] == "no tree was found"
        assert run(tmp_path / "p.npz", "--json", *options) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["status"] == line.partition(":")[0]
        for tree in found["trees"]:
            assert not tree["proved"]
            assert tree["upper_bound"] is None or tree["upper_bound"] > tree["score"]
