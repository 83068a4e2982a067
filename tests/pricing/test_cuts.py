"""Cuts: against all sets of words, and all trees."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from bbparse.pricing.points import broken_sets, broken_spans
from tests.oracles.enumerate import is_projective, is_tree


def entering(weight: np.ndarray, inside: np.ndarray) -> float:
    return float(weight[np.ix_(~inside, inside)].sum())


def test_sets_are_found_where_there_are_any() -> None:
    rng = np.random.default_rng(181)
    found = 0
    for _ in range(200):
        n = int(rng.integers(1, 6))
        weight = rng.random((n + 1, n + 1)) * (rng.random((n + 1, n + 1)) < 0.5)
        np.fill_diagonal(weight, 0.0)
        weight[:, 0] = 0.0
        weight[:, 1:] /= np.maximum(weight[:, 1:].sum(axis=0), 1e-9)
        sets = broken_sets(weight)
        every = [
            np.isin(np.arange(n + 1), chosen)
            for size in range(1, n + 1)
            for chosen in combinations(range(1, n + 1), size)
        ]
        least = min(entering(weight, inside) for inside in every)
        assert bool(len(sets)) == (least < 1.0 - 1e-6)
        for inside in sets:
            found += 1
            assert not inside[0]
            assert entering(weight, inside) < 1.0 - 1e-6
        if len(sets):
            assert least <= min(entering(weight, inside) for inside in sets) + 1e-9
    assert found > 50


@pytest.mark.parametrize("n", [3, 4, 5])
def test_spans_are_broken_by_crossing_arcs_only(n: int) -> None:
    for rest in product(range(n + 1), repeat=n):
        heads = [-1, *rest]
        if any(heads[m] == m for m in range(1, n + 1)) or not is_tree(heads):
            continue
        weight = np.zeros((n + 1, n + 1))
        weight[rest, range(1, n + 1)] = 1.0
        assert (next(broken_spans(weight), None) is None) == is_projective(heads)
