"""Factors before a search: those that become parts score the same trees as before."""

from __future__ import annotations

import numpy as np
import pytest

from bbparse.core.score import fired_factors, fired_parts
from bbparse.core.tree import heads_of
from bbparse.inference.oracles.arcs import alive_arcs
from bbparse.inference.oracles.projective.recurrences import RECURRENCES
from bbparse.inference.search.factors import possible_factors, take_parts
from tests.oracles.forest import forest
from tests.strategies import random_problem


@pytest.mark.parametrize("name", ["sibling", "carreras", "grandsib"])
def test_factors_that_become_parts_score_the_same_trees(name: str) -> None:
    rng, mode, taken = np.random.default_rng(17), RECURRENCES[name].mode, 0
    for _ in range(80):
        p = random_problem(
            rng,
            min_words=4,
            max_words=5,
            projective=True,
            labelled=False,
            parts=(),
            max_factors=80,
            scale="normal",
        )
        order = alive_arcs(p.n_words, p.arc_head, p.arc_mod, p.arc_state)
        place = np.full(len(p.arc_head), -1, np.int32)
        place[order] = np.arange(len(order))
        head, mod = p.arc_head[order], p.arc_mod[order]
        sets, weight = possible_factors(p, place, head, mod)
        q, others, weight_of_others = take_parts(p, mode, head, mod, sets, weight)
        taken += len(weight) - len(weight_of_others)
        for arcs in forest(p).arcs[:200].astype(np.int32):
            on = np.append(np.isin(np.arange(len(order)), place[arcs]), True)
            before = p.factor_score[fired_factors(p, arcs[np.newaxis])[0]].sum()
            after = weight_of_others[on[others].all(axis=1)].sum()
            for part, fires in zip(q.parts, fired_parts(q, heads_of(q, arcs))):
                after += part.score[fires].sum()
            assert after == pytest.approx(before, rel=1e-9, abs=1e-9)
    assert taken > 20, taken
