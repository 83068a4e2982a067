"""Every solver gives the k best of all trees, as enumeration lists them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bbparse import best_tree, best_trees
from bbparse.core import Problem, Solution
from bbparse.inference.oracles.projective.dense import eisner
from bbparse.inference.oracles.projective.recurrences import RECURRENCES
from bbparse.inference.solve import solve
from tests.fuzz.checks import fault
from tests.fuzz.draw import Case
from tests.fuzz.shrink import code
from tests.oracles.forest import forest
from tests.strategies import SCALES, random_problem, random_scores

Solver = Callable[[Problem, int], Solution]


def by(**options: Any) -> Solver:
    return lambda p, k: solve(p, k_best=k, explain=False, **options)


#: Each solver, and what is drawn for it; `tests/fuzz` has settings, batches, programs.
SOLVERS: dict[str, tuple[Solver, dict[str, Any]]] = {
    **{
        name: (by(backbone=name), {"projective": True, "parts": tuple(sorted(some.holds))})
        for name, some in RECURRENCES.items()
    },
    **{
        f"{name}, arcs and parts only": (
            by(backbone=name),
            {"projective": True, "parts": sorted(some.holds), "max_factors": 0},
        )
        for name, some in RECURRENCES.items()
    },
    "observed": (by(observer=lambda *_: None), {"max_factors": 25, "max_counts": 2}),
    "crossing": (by(), {"projective": False, "max_factors": 60, "max_counts": 2, "min_words": 4}),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_the_trees_are_the_best_of_all(name: str) -> None:
    solver, drawn = SOLVERS[name]
    rng = np.random.default_rng(31)
    for index in range(100):
        p = random_problem(rng, **{"max_words": 6, **drawn})
        k = int(rng.choice([1, 2, 7, 1000]))
        case = Case("search", (31, index), p, k)
        assert not (wrong := fault(p, solver(p, k), forest(p), case)), f"{wrong}: {code(case)}"


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("single_root", [True, False])
def test_trees_of_a_matrix(projective: bool, single_root: bool) -> None:
    rng = np.random.default_rng(7)
    flags = {"projective": projective, "single_root": single_root}
    for i in range(150):
        n = int(rng.integers(1, 6))
        arcs = random_scores(rng, SCALES[i % len(SCALES)], (n + 1) ** 2).reshape(n + 1, n + 1)
        arcs[rng.random(arcs.shape) < 0.15] = -np.inf
        arcs[1:, 0] = rng.normal(size=n)
        arcs[0] = np.nan  # nothing depends so: not looked at
        np.fill_diagonal(arcs, np.nan)
        p = Problem.from_arc_scores(arcs, **flags)
        trees, case = forest(p), Case("search", (7, i), p, 3)
        assert not fault(p, best_trees(arcs, 3, **flags), trees, case), code(case)
        if not len(trees.arcs):
            continue
        found = [best_tree(arcs, **flags)]
        if projective:
            square = np.where(np.isnan(arcs), -np.inf, arcs).T.copy()
            found.append(eisner(square, single_root)[0])
        for heads in found:
            assert p.score(heads) >= trees.high.max() - 1e-14 * trees.size.max()
