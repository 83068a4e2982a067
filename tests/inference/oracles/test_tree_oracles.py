"""Best trees of the oracles, and the best with each arc, against the list of all trees."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.inference.oracles.projective.calls import chart_k_best
from bbparse.inference.oracles.projective.dense import eisner
from bbparse.inference.oracles.projective.recurrences import RECURRENCES
from bbparse.inference.oracles.tree_oracles import Arborescences, ProjectiveTrees
from tests.oracles.forest import forest
from tests.strategies import SCALES, random_problem


@pytest.mark.parametrize("name", [*RECURRENCES, "crossing"])
def test_best_trees_and_max_marginals(name: str) -> None:
    rng = np.random.default_rng(31)
    none = 0
    for i in range(120):
        p = random_problem(
            rng,
            max_words=5,
            projective=name != "crossing",
            max_factors=0,
            parts=() if name == "crossing" else sorted(RECURRENCES[name].holds),
            scale=SCALES[i % len(SCALES)],
        )
        trees = forest(p)
        oracle = Arborescences(p) if name == "crossing" else ProjectiveTrees(p, name)
        added = rng.integers(-4, 5, len(p.arc_head)) / 4.0
        totals = trees.high + added[trees.arcs].sum(axis=1)
        near = 1e-13 * float(trees.size.max(initial=0.0) + 10.0)
        value, on = oracle.best(added)
        assert value == pytest.approx(totals.max(initial=-math.inf), rel=0, abs=near)
        each = np.full(len(p.arc_head), -math.inf)
        for arcs, total in zip(trees.arcs, totals):
            each[arcs] = np.maximum(each[arcs], total)
        found = oracle.max_marginals(added)
        if name == "crossing":  # bounds
            assert (found >= each - near).all()
        else:
            assert found == pytest.approx(each, rel=0, abs=near)
        none += not len(totals)
        if not len(totals):
            continue
        chosen = np.flatnonzero(on)
        row = tuple(chosen[np.argsort(p.arc_mod[chosen])].tolist())
        assert totals[trees.place[row]] == pytest.approx(value, rel=0, abs=near)
        if isinstance(oracle, ProjectiveTrees):
            arc_score, scratch, _ = oracle._pass(added)
            _, found, _, _ = chart_k_best(
                oracle.chart, scratch, arc_score, p.n_words, 7, -np.inf, np.inf
            )
            assert found == pytest.approx(sorted(totals, reverse=True)[:7], rel=0, abs=near)
    assert none >= 3


def test_parts_over_words_that_no_arc_joins_do_nothing() -> None:
    p = Problem(
        3, [0, 1, 2], [1, 2, 3], [1, 1, 1],
        sib_head=[1, 1], sib_inner=[2, -1], sib_outer=[3, 3], sib_score=[100, 100],
        gc_grand=[2], gc_head=[1], gc_mod=[3], gc_score=[100],
        ogc_grand=[0], ogc_head=[3], ogc_mod=[1], ogc_score=[100],
        gsib_grand=[0, 3], gsib_head=[1, 1], gsib_inner=[-1, -1], gsib_outer=[3, 2],
        gsib_score=[100, 100],
    )  # fmt: skip
    assert ProjectiveTrees(p).best(np.zeros(3))[0] == 3.0


def test_of_equal_trees_of_a_matrix_that_with_the_first_root_is_found() -> None:
    for n in (1, 2, 3, 6):
        assert eisner(np.zeros((n + 1, n + 1)), True)[0].tolist().index(0) == 1
