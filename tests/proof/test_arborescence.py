"""The checker's own arborescences, against enumeration."""

from __future__ import annotations

import math

import numpy as np

from bbparse.problem import Problem
from bbparse.proof.crossing import Arborescences
from bbparse.proof.exact import rounded
from tests.oracles.enumerate import enumerate_trees
from tests.proof.helpers import units
from tests.strategies import random_problem


def test_best_trees_with_an_arc() -> None:
    rng = np.random.default_rng(121)
    for _ in range(300):
        p = random_problem(
            rng, max_words=5, projective=False, parts=(), max_factors=0, states=False
        )
        trees = [set(arcs) for _, arcs in enumerate_trees(p)]
        score = rng.integers(-3, 4, len(p.arc_head)).astype(float).tolist()
        alive = (rng.random(len(score)) < 0.8).tolist()
        for needed in (-1, *np.flatnonzero(alive)[:3].tolist()):
            scores = [
                sum(score[a] for a in arcs)
                for arcs in trees
                if all(alive[a] for a in arcs) and (needed < 0 or needed in arcs)
            ]
            best = Arborescences(p).best(alive, units(score), needed)
            assert rounded(best) == max(scores, default=-math.inf)


def test_the_root_has_one_modifier_even_at_a_price() -> None:
    scores = np.full((4, 4), -1e6)
    scores[0] = 1e9
    many = Problem.from_arc_scores(scores, projective=False, single_root=False)
    one = Problem.from_arc_scores(scores, projective=False)
    for p, best in ((many, 3e9), (one, 1e9 - 2e6)):
        a = len(p.arc_head)
        assert rounded(Arborescences(p).best([True] * a, units(p.arc_score))) == best


def test_nested_cycles() -> None:
    """Words 1 and 2 prefer each other, and so do that pair and word 3, and those and word 4."""
    scores = np.full((5, 5), -np.inf)
    scores[1, 2] = scores[2, 1] = 100.0
    scores[3, 1], scores[2, 3] = 50.0, 60.0
    scores[4, 3], scores[1, 4] = 20.0, 30.0
    scores[0, 4], scores[0, 1] = 1.0, 2.0
    p = Problem.from_arc_scores(scores, projective=False)
    best = enumerate_trees(p)[0][0]
    found = Arborescences(p).best([True] * len(p.arc_head), units(p.arc_score))
    assert rounded(found) == best
