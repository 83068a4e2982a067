"""The checker's own head automata, against enumeration."""

from __future__ import annotations

import math
from itertools import chain, combinations

import numpy as np
import pytest

from bbparse.problem import Problem
from bbparse.problem.parts import rows_of
from bbparse.proof.crossing import Automata, Crossing, pairs_of
from bbparse.proof.exact import rounded, whole
from tests.oracles.enumerate import enumerate_trees
from tests.proof.helpers import units
from tests.strategies import random_problem


def value(p: Problem, g: int, h: int, mods: set[int]) -> float:
    """What the parts of one head score, from the definition."""
    total = 0.0
    for side in (sorted(m for m in mods if m > h), sorted(m for m in mods if m < h)[::-1]):
        links = list(zip([-1, *side], side))
        last = side[-1:]
        total += sum(s for _, a, i, m, s in rows_of(p.parts.sib) if a == h and (i, m) in links)
        total += sum(
            s for a, b, i, m, s in rows_of(p.parts.gsib) if (a, b) == (g, h) and (i, m) in links
        )
        total += sum(s for a, b, _, m, s in rows_of(p.parts.gc) if (a, b) == (g, h) and m in side)
        total += sum(s for a, b, _, m, s in rows_of(p.parts.ogc) if (a, b) == (g, h) and m in last)
    return total


@pytest.mark.parametrize("single_root", [True, False])
def test_automata_against_all_choices(single_root: bool) -> None:
    rng = np.random.default_rng(124)
    seen = 0
    for _ in range(60):
        p = random_problem(rng, max_words=5, projective=False, max_factors=0, states=False)
        p = p.changed(single_root=single_root)
        pairs = pairs_of(p)
        u, v = ({pair: float(rng.normal()) for pair in pairs} for _ in range(2))
        for h in range(p.n_words + 1) if pairs else ():
            mods = [m for a, m in pairs if a == h]
            grands = [g for g, m in pairs if m == h] if h else [-1]
            must = frozenset(m for m in mods if rng.random() < 0.2)
            found = [-math.inf]
            for g in grands:
                for own in chain(*(combinations(mods, r) for r in range(len(mods) + 1))):
                    if must <= set(own) and (h or len(own) == 1 or (own and not single_root)):
                        paid = sum(u[h, m] for m in own) + (v[g, h] if h else 0.0)
                        found.append(value(p, g, h, set(own)) - paid)
            paid_u, paid_v = ({pair: whole(x) for pair, x in lam.items()} for lam in (u, v))
            best = Automata(p).best(h, grands, mods, must, paid_u, paid_v)
            unit = abs(p.quantum or 1.0)
            assert rounded(best) == pytest.approx(max(found), rel=1e-12, abs=1e-9 * unit)
            seen += 1
    assert seen > 100


def test_bounds_are_above_all_trees() -> None:
    """Also of trees with one of some arcs, for any multipliers."""
    rng = np.random.default_rng(125)
    for _ in range(150):
        p = random_problem(
            rng, max_words=5, projective=False, max_factors=0, states=False, scale="normal"
        )
        trees = enumerate_trees(p)
        paid = units(rng.normal(size=2 * len(pairs_of(p))))
        alive = [True] * len(p.arc_head)
        chosen = np.flatnonzero(rng.random(len(alive)) < 0.3).tolist()
        for some in (frozenset[int](), frozenset(chosen)):
            bound = rounded(Crossing(p).best(alive, units(p.arc_score), some, paid))
            scores = [s for s, arcs in trees if not some or some & set(arcs)]
            assert bound >= max(scores, default=-math.inf) - 1e-9


def test_which_problems_have_multipliers_of_pairs() -> None:
    rng = np.random.default_rng(123)
    assert not any(pairs_of(random_problem(rng, projective=True)) for _ in range(20))
    bare = random_problem(rng, projective=False, parts=())
    assert pairs_of(bare) == []
    with_parts = [random_problem(rng, projective=False, parts=("sib",)) for _ in range(20)]
    for p in with_parts:
        pairs = sorted(set(zip(p.arc_head.tolist(), p.arc_mod.tolist())))
        assert pairs_of(p) == (pairs if len(p.sib_score) else [])
