"""Which factors a search sees, and that what it does not see changes no answer."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.core.order import in_order
from bbparse.core.parts import Factors
from bbparse.inference.search.factors import possible_factors
from bbparse.inference.search.root import make_root
from bbparse.inference.solve import solve
from tests.strategies import shuffled_factors


def dense(n: int, **fields: Any) -> Problem:
    """All arcs of n words, sorted."""
    p = in_order(Problem.from_arc_scores(np.zeros((n + 1, n + 1))))[0]
    return dataclasses.replace(p, **fields) if fields else p


def seen(p: Problem) -> Factors:
    """The factors of a problem, its arcs sorted and none of them forbidden."""
    place = np.arange(len(p.arc_head), dtype=np.int32)
    place[p.arc_state == -1] = -1
    return Factors(
        *possible_factors(p.arc_head, p.arc_mod, place, p.factors, p.projective, p.single_root)
    )


def by_arcs(p: Problem) -> dict[tuple[tuple[int, int], ...], float]:
    """The factors that are seen as {arcs as pairs of words: weight}."""
    ptr, arcs, score = seen(p)
    pairs = list(zip(p.arc_head.tolist(), p.arc_mod.tolist()))
    sets = [arcs[ptr[f] : ptr[f + 1]].tolist() for f in range(len(score))]
    assert all(s == sorted(s) for s in sets)
    found = {tuple(pairs[a] for a in s): w for s, w in zip(sets, score.tolist())}
    assert len(found) == len(sets)
    return found


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ([(0, 1), (2, 1)], "two heads"),
        ([(1, 2), (2, 1)], "a cycle of two"),
        ([(1, 3), (2, 4)], "crossing"),
        ([(1, 3), (0, 2)], "crossing an arc from the root"),
        ([(0, 1), (0, 2)], "two root words"),
        ([(0, 1), (1, 3), (1, 4), (2, 1)], "two heads among more"),
    ],
)
def test_factors_that_cannot_fire_are_dropped(named: list[tuple[int, int]], why: str) -> None:
    p = dense(4)
    pairs = list(zip(p.arc_head.tolist(), p.arc_mod.tolist()))
    sets = [[pairs.index(arc) for arc in factor] for factor in (named, [(2, 1), (2, 3)])]
    p = dataclasses.replace(
        p, factor_ptr=[0, len(named), len(named) + 2], factor_arcs=sets[0] + sets[1],
        factor_score=[5.0, 1.0],
    )  # fmt: skip
    assert by_arcs(p) == {((2, 1), (2, 3)): 1.0}, why


def test_what_flags_allow_is_kept() -> None:
    p = dense(4).with_factors([([(1, 3), (2, 4)], 5.0), ([(0, 1), (0, 2)], 5.0)])
    assert len(by_arcs(dataclasses.replace(p, single_root=False))) == 1
    assert len(by_arcs(dataclasses.replace(p, single_root=False, projective=False))) == 2


def test_zero_weights_and_forbidden_arcs_drop_factors() -> None:
    p = dense(3).with_factors([([(0, 1), (1, 2)], 0.0), ([(2, 1), (2, 3)], 1.0)])
    assert by_arcs(p) == {((2, 1), (2, 3)): 1.0}
    assert by_arcs(p.without_arcs([(2, 3)])) == {}


def test_duplicates_are_merged() -> None:
    p = dense(3).with_factors(
        [
            ([(0, 1), (1, 2)], 0.5),
            ([(1, 2), (0, 1)], 2.0),
            ([(2, 1), (2, 3)], 1.0),
            ([(2, 1), (2, 3)], -1.0),
            ([(3, 1), (3, 2)], 4.0),
            ([(3, 1), (3, 2)], -math.inf),
        ]
    )
    assert by_arcs(p) == {((0, 1), (1, 2)): 2.5, ((3, 1), (3, 2)): -math.inf}


def test_many_factors_in_any_order() -> None:
    rng = np.random.default_rng(5)
    p = dense(20, projective=False, single_root=False)
    sets = [sorted({int(a) for a in rng.integers(400, size=4)}) for _ in range(5000)]
    sets = [s for s in sets if len(s) > 1] * 2
    p = dataclasses.replace(
        p, factor_ptr=np.cumsum([0] + [len(s) for s in sets]),
        factor_arcs=[a for s in sets for a in s], factor_score=rng.normal(size=len(sets)),
    )  # fmt: skip
    found = seen(p)
    assert 1000 < len(found.score) < len(sets) - 50
    other = seen(shuffled_factors(rng, p))
    assert all(np.array_equal(x, y) for x, y in zip(found, other))


def test_scores_that_no_tree_can_have_say_nothing_of_rounding() -> None:
    """A count factor that lost arcs has fewer scores than there is room for."""
    p = dense(4).with_count_scores([(1, 2), (2, 3), (3, 4), (1, 3)], [0, 1, 2, 3, 1e90])
    assert make_root(p.without_arcs([(1, 2), (2, 3)]), 0).hard < 1e3


def test_words_without_arcs_have_no_tree() -> None:
    for p in (Problem(3, [], [], []), dense(2).without_arcs([(0, 1), (2, 1)])):
        for projective in (True, False):
            s = solve(dataclasses.replace(p, projective=projective), explain=False)
            assert s.status == "infeasible" and len(s) == 0
