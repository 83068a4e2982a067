"""Edmonds' algorithm against every choice of heads."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from bbparse.inference.oracles.nonprojective.arborescence import best_arborescence
from tests.oracles.enumerate import is_tree


class Graph:
    """A random digraph, arcs by modifier, here and there several between two words."""

    def __init__(self, rng: np.random.Generator, n: int, scale: str) -> None:
        share = float(rng.choice([0.4, 0.7, 1.0]))
        pairs = [(h, m) for m in range(1, n + 1) for h in range(n + 1) if h != m]
        arcs = [pair for pair in pairs for _ in range(int(rng.integers(1, 3 if n < 4 else 2)))]
        arcs = [arc for arc in arcs if rng.random() < share]
        self.n = n
        self.head = np.array([h for h, _ in arcs], np.int32)
        self.mod = np.array([m for _, m in arcs], np.int32)
        self.ptr = np.searchsorted(self.mod, np.arange(n + 2)).astype(np.int32)
        count = len(arcs)
        self.score = {
            "normal": rng.normal(size=count),
            "ties": rng.integers(-2, 3, count).astype(np.float64),
            "mixed": rng.normal(size=count) * 10.0 ** rng.integers(-3, 10, count),
            "zero": np.zeros(count),
        }[scale]
        self.score[rng.random(count) < 0.1] = -np.inf

    def solve(self, single_root: bool) -> tuple[float, Any, Any]:
        tree, reduced = np.zeros(self.n, np.int32), np.full(len(self.head), np.nan)
        score = best_arborescence(
            self.ptr, self.head, self.score, single_root, tree, reduced, np.zeros(1)
        )
        return score, tree, reduced

    def trees(self, single_root: bool) -> list[tuple[float, tuple[int, ...]]]:
        choices = [
            [a for a in range(self.ptr[m], self.ptr[m + 1]) if self.score[a] > -np.inf]
            for m in range(1, self.n + 1)
        ]
        found = []
        for arcs in product(*choices):
            heads = [-1] + [int(self.head[a]) for a in arcs]
            if is_tree(heads) and (not single_root or heads.count(0) == 1):
                found.append((float(self.score[list(arcs)].sum()), arcs))
        return found


def check(rng: np.random.Generator) -> bool:
    scale = str(rng.choice(["normal", "ties", "mixed", "zero"]))
    graph = Graph(rng, int(rng.integers(1, 6)), scale)
    single_root = bool(rng.random() < 0.6)
    every = graph.trees(single_root)
    score, tree, reduced = graph.solve(single_root)
    if not every:
        assert score == -np.inf
        return False
    # Every tree of these sizes is a sum of a few scores: errors are those of one of them.
    near = 1e-14 * float(np.abs(graph.score[np.isfinite(graph.score)]).max())
    assert score == pytest.approx(max(s for s, _ in every), rel=1e-12, abs=near)
    heads = [-1, *graph.head[tree].tolist()]
    assert is_tree(heads) and (not single_root or heads.count(0) == 1)
    assert (graph.mod[tree] == np.arange(1, graph.n + 1)).all()
    best_with = np.full(len(graph.head), -np.inf)
    for value, arcs in every:
        best_with[list(arcs)] = np.maximum(best_with[list(arcs)], value)
    assert (best_with <= score + reduced + near).all()
    assert (reduced[tree] >= -near).all()
    return True


def test_best_trees_and_reduced_scores() -> None:
    rng = np.random.default_rng(31)
    assert sum(check(rng) for _ in range(1500)) > 1000


def test_a_single_root_costs_no_digits() -> None:
    """Scores of 1e-12 decide, beside others of 1e3, under the best of all single roots."""
    small = 1e-12
    score = {(0, 1): 1e3, (0, 2): 1e3 + 5e-10, (1, 2): small, (2, 1): 2 * small}
    head = np.array([0, 2, 0, 1], np.int32)
    ptr = np.array([0, 0, 2, 4], np.int32)
    values = np.array([score[0, 1], score[2, 1], score[0, 2], score[1, 2]])
    tree, reduced = np.zeros(2, np.int32), np.zeros(4)
    best_arborescence(ptr, head, values, True, tree, reduced, np.zeros(1))
    assert head[tree].tolist() == [2, 0]


def test_ties_take_the_first_arc() -> None:
    head = np.array([0, 0, 1, 1], np.int32)
    ptr = np.array([0, 0, 2, 4], np.int32)
    tree, reduced = np.zeros(2, np.int32), np.zeros(4)
    assert best_arborescence(ptr, head, np.zeros(4), True, tree, reduced, np.zeros(1)) == 0.0
    assert tree.tolist() == [0, 2]
