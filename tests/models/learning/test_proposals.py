"""Proposals against the families themselves, asked anew for every tree."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.factors import (
    FactorCounter,
    FactorTable,
    FactorView,
    load_families,
)
from bbparse.models.learning.trainer import features_apart, proposals_of, with_proposals
from bbparse.models.scoring.linear import QUANTUM
from tests.models.factors.helpers import (
    alive_factors,
    difference,
    random_sentence,
    random_tree,
    tree_keys,
)

NAMES = ("siblings", "grandchildren", "combs", "rather-than")


def case(seed: int) -> tuple[FactorView, FactorTable, np.ndarray, np.ndarray]:
    """Candidate arcs, a table with most of their features, and two trees among them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 12))
    sentence = random_sentence(rng, n)
    trees = [random_tree(rng, n) for _ in range(4)]
    arcs = sorted({(tree[m], m) for tree in trees for m in range(1, n + 1)})
    view = FactorView(sentence, [h for h, _ in arcs], [m for _, m in arcs])
    counter = FactorCounter()
    counter.add(family.propose(view) for family in load_families(NAMES))
    full = counter.table(1)
    known = rng.random(len(full)) < 0.7
    weights = rng.integers(-3, 4, int(known.sum())) * QUANTUM
    table = FactorTable(full.keys[known], weights)
    return view, table, np.array(trees[0], np.int32), np.array(trees[1], np.int32)


@pytest.mark.parametrize("seed", range(20))
def test_scores_and_differences_are_those_of_the_families(seed: int) -> None:
    view, table, gold, heads = case(seed)
    families = load_families(NAMES)
    proposals = proposals_of(families, view, table)
    problem = Problem(view.n_words, view.arc_head, view.arc_mod, np.zeros(view.n_arcs))
    weights = np.rint(table.weights / QUANTUM).astype(np.int32)
    scored = with_proposals(problem, proposals, weights, QUANTUM)
    direct = alive_factors(families, view, table)
    assert scored.factor_ptr.tolist() == direct.ptr.tolist()
    assert scored.factor_arcs.tolist() == direct.arcs.tolist()
    assert scored.factor_score.tolist() == direct.score.tolist()
    expected: Counter[int] = Counter()
    for tree, sign in ((gold, 1), (heads, -1)):
        own = FactorView.of_tree(view.sentence, tree, view.values)
        for place in table.find(tree_keys(families, own)).tolist():
            expected[place] += sign if place >= 0 else 0
    flags = [tree[view.arc_mod] == view.arc_head for tree in (gold, heads)]
    found = difference(*features_apart(proposals, *flags))
    assert found == {place: count for place, count in expected.items() if count}
    assert features_apart(proposals, flags[0], flags[0])[0].size == 0
