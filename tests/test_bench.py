"""The benchmarks start, and the parts of them that others lean on do what they say."""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem

BENCH = Path(__file__).parent.parent / "bench"
#: Those that others import only, and those that import what is not installed here.
OTHERS = {"measure", "one_backbone", "rules", "beside_udpipe", "torch_layer"}
SCRIPTS = sorted({path.stem for path in BENCH.glob("*.py")} - OTHERS)


@pytest.mark.parametrize("name", SCRIPTS)
def test_it_starts(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # in this process, which has imported what takes long
    monkeypatch.syspath_prepend(BENCH)
    monkeypatch.setattr(sys, "argv", [f"{name}.py", "--help"])
    with pytest.raises(SystemExit) as stop:
        runpy.run_path(str(BENCH / f"{name}.py"), run_name="__main__")
    assert stop.value.code == 0
    assert "usage:" in capsys.readouterr().out


def test_each_is_listed() -> None:
    page = (BENCH / "README.md").read_text(encoding="utf-8")
    for name in SCRIPTS:
        assert f"`{name}.py" in page


def test_the_page_of_figures_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["figures.py", "--check"])
    runpy.run_path(str(BENCH / "figures.py"), run_name="__main__")


@pytest.mark.parametrize("way", ["solve", "solve_ilp_by_highs"])
def test_solvers_that_are_compared_find_the_best_tree(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(BENCH)
    problem = random_problem(
        np.random.default_rng(2),
        min_words=4,
        max_words=4,
        projective=True,
        labelled=False,
        scale="normal",
        states=False,
        hard=False,
    )
    answer = getattr(importlib.import_module("rivals.ours"), way)(problem, 5.0)
    assert answer.proved
    assert problem.score(answer.arcs) == pytest.approx(enumerate_trees(problem)[0][0])
