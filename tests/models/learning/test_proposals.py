"""Proposals against the families themselves, asked anew for every tree."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.core.parts import SET_NAMES
from bbparse.factors import FactorView
from bbparse.models.factors.batch import FactorCounter
from bbparse.models.factors.family import alive_factors
from bbparse.models.factors.registry import load_families
from bbparse.models.factors.table import FactorTable
from bbparse.models.learning.trainer import contrast, features_apart, proposals_of, with_proposals
from bbparse.models.scoring.linear import QUANTUM
from tests.models.factors.helpers import difference, random_sentence, random_tree, tree_keys
from tests.models.factors.test_counts import Modifiers
from tests.models.factors.test_family import SameTag

FAMILIES = load_families(["siblings", "grandchildren", "combs", "rather-than", SameTag, Modifiers])


def case(seed: int) -> tuple[FactorView, FactorTable, np.ndarray, np.ndarray]:
    """Candidate arcs, a table with most of their features, and two trees among them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 12))
    sentence = random_sentence(rng, n)
    trees = [random_tree(rng, n) for _ in range(4)]
    arcs = sorted({(tree[m], m) for tree in trees for m in range(1, n + 1)})
    view = FactorView(sentence, [h for h, _ in arcs], [m for _, m in arcs])
    counter = FactorCounter()
    counter.add(family.propose_all(view) for family in FAMILIES)
    full = counter.table(1)
    known = rng.random(len(full)) < 0.7
    weights = rng.integers(-3, 4, int(known.sum())) * QUANTUM
    table = FactorTable(full.keys[known], weights)
    return view, table, np.array(trees[0], np.int32), np.array(trees[1], np.int32)


@pytest.mark.parametrize("seed", range(20))
def test_scores_and_differences_are_those_of_what_fires(seed: int) -> None:
    view, table, gold, heads = case(seed)
    proposals = proposals_of(FAMILIES, view, table)
    plain = Problem(view.n_words, view.arc_head, view.arc_mod, np.zeros(view.n_arcs))
    weights = np.rint(table.weights / QUANTUM).astype(np.int32)
    learned = with_proposals(plain, proposals, weights)
    ((factors, counts),) = alive_factors(FAMILIES, [view], table)
    parsed = plain.changed(**dict(zip(SET_NAMES, (*factors, *counts))))
    expected: Counter[int] = Counter()
    for tree, sign in ((gold, 1), (heads, -1)):
        own = FactorView.of_tree(view.sentence, tree, view.values)
        places = table.find(tree_keys(FAMILIES, own))
        known = places[places >= 0].tolist()
        score = pytest.approx(table.weights[known].sum())
        assert learned.score(tree) == score and parsed.score(tree) == score
        for place in known:
            expected[place] += sign
    flags = [tree[view.arc_mod] == view.arc_head for tree in (gold, heads)]
    found = difference(*features_apart(proposals, *flags))
    assert found == {place: count for place, count in expected.items() if count}
    assert features_apart(proposals, flags[0], flags[0])[0].size == 0
    batches = [family.propose_all(view) for family in FAMILIES]
    apart = {key for one in batches for key in contrast(one, flags[0], flags[1:]).feat_keys}
    assert {table.keys[place] for place in found} <= apart
    assert not any(len(contrast(one, flags[0], flags[:1])) for one in batches)
