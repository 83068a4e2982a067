"""Every projective tree has one derivation, and the program says so without whole numbers."""

from __future__ import annotations

from itertools import count, product

import numpy as np
import pytest

from bbparse.highs import Linear
from bbparse.ilp.program import Derivations, Item, TreeProgram
from tests.oracles.enumerate import enumerate_trees
from tests.strategies import random_problem


def number_of_derivations(n: int, pairs: set[tuple[int, int]]) -> int:
    numbers = count()
    ways = Derivations(n, lambda h, m: (h, m) in pairs, lambda: next(numbers))
    used: dict[int, list[Item]] = {}
    for item, columns in ways.used.items():
        for column in columns:
            used.setdefault(column, []).append(item)

    def ways_of(item: Item) -> int:
        return sum(
            int(np.prod([ways_of(part) for part in used.get(column, [])]))
            for column in ways.made.get(item, [])
        )

    return ways_of(ways.whole)


@pytest.mark.parametrize(("n", "trees"), [(1, 1), (2, 3), (3, 12), (4, 55), (5, 273)])
def test_one_derivation_for_each_tree(n: int, trees: int) -> None:
    pairs = {(h, m) for h, m in product(range(n + 1), range(1, n + 1)) if h != m}
    assert number_of_derivations(n, pairs) == trees


def test_only_what_the_candidate_arcs_allow() -> None:
    rng = np.random.default_rng(71)
    for _ in range(30):
        p = random_problem(
            rng, projective=True, single_root=False, labelled=False, max_factors=0, states=False
        )
        pairs = set(zip(p.arc_head.tolist(), p.arc_mod.tolist()))
        assert number_of_derivations(p.n_words, pairs) == len(enumerate_trees(p))


def test_without_factors_the_linear_program_is_whole() -> None:
    rng = np.random.default_rng(72)
    for _ in range(30):
        p = random_problem(
            rng, projective=True, single_root=False, max_factors=0, states=False,
            parts=("sib",), scale="normal",
        )  # fmt: skip
        program = TreeProgram(p)
        expected = enumerate_trees(p)
        if program.impossible():
            assert not expected
            continue
        answer = Linear(program).solve(np.array(program.lower), np.array(program.upper))
        assert answer.status == ("optimal" if expected else "infeasible")
        if expected:
            assert answer.bound == pytest.approx(expected[0][0], abs=1e-7)
            assert answer.bound >= expected[0][0] - 1e-12
