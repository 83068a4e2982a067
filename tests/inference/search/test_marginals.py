"""Arc scores in place of factors, against the factors of all trees."""

from __future__ import annotations

import numpy as np

from bbparse.inference.search.marginals import factors_as_arcs
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem


def test_no_tree_gains_less_beside_the_given_one_than_by_factors() -> None:
    rng = np.random.default_rng(5)
    for _ in range(80):
        p = random_problem(rng, max_words=4, parts=(), max_factors=20, scale="halves")
        trees = [np.array(arcs) for _, arcs in enumerate_trees(p)]
        if not trees:
            continue
        given = trees[int(rng.integers(len(trees)))]
        own = factors_as_arcs(len(p.arc_head), p.factors, given)
        by_arcs = np.array([own[arcs].sum() for arcs in trees])
        by_factors = np.array([p.score(arcs) - p.arc_score[arcs].sum() for arcs in trees])
        place = next(i for i, arcs in enumerate(trees) if arcs is given)
        assert (by_arcs - by_arcs[place] >= by_factors - by_factors[place] - 1e-9).all()
