"""Count factors as families: features for every number of a set's arcs in the tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.factors import (
    FactorCounter,
    FactorFamily,
    FactorView,
    alive_factors,
    check_family,
    feature_key,
    tree_batches,
)
from bbparse.models.learning.trainer import contrast, features_apart, proposals_of, with_proposals
from bbparse.models.scoring.linear import QUANTUM
from bbparse.runtime.errors import FactorError
from tests.models.factors.helpers import (
    difference,
    random_arcs,
    random_sentence,
    random_tree,
    tree_keys,
    view_of,
)


class Modifiers(FactorFamily):
    """How many modifiers a word has on its right."""

    name = "modifiers"
    summary = "modifiers to the right"

    def counts(self, view: FactorView) -> Iterator[Any]:
        for h in range(1, view.n_words + 1):
            arcs = [(h, m) for m in range(h + 1, view.n_words + 1)]
            if arcs:
                yield arcs, [[("one", view.upos[h])], [("two", view.upos[h]), "two"], ["more"]]


class Jealous(Modifiers):
    """Its features depend on which arcs are candidates."""

    name = "jealous"

    def counts(self, view: FactorView) -> Iterator[Any]:
        for h in range(1, view.n_words + 1):
            yield [(h, m) for m in view.modifiers_of(h)], [[len(view.modifiers_of(h))]]


def case(seed: int) -> tuple[FactorView, np.ndarray, np.ndarray]:
    """Candidate arcs, and two trees among them."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 10))
    trees = [random_tree(rng, n) for _ in range(2)]
    arcs = {(t[m], m) for t in trees for m in range(1, n + 1)} | set(random_arcs(rng, n, 0.3))
    view = view_of(random_sentence(rng, n), sorted(arcs))
    return view, np.array(trees[0]), np.array(trees[1])


def fired(view: FactorView, heads: np.ndarray) -> Counter[int]:
    """Keys that fire in a tree, from the definition."""
    keys: Counter[int] = Counter()
    for h in range(1, view.n_words + 1):
        k = sum(heads[m] == h for m in range(h + 1, view.n_words + 1))
        tag = view.upos[h]
        features: list[Any] = [[], [("one", tag)], [("two", tag), "two"], ["more"]][min(k, 3)]
        keys.update(feature_key("modifiers", feature) for feature in features)
    return keys


@pytest.mark.parametrize("seed", range(10))
def test_cells_fire_by_number(seed: int) -> None:
    view, gold, _ = case(seed)
    tree = FactorView.of_tree(view.sentence, gold, view.values)
    assert Counter(tree_keys([Modifiers()], tree).tolist()) == fired(view, gold)
    check_family(Modifiers(), view.sentence)
    batch = Modifiers().propose_counts(view)
    flags = gold[view.arc_mod] == view.arc_head
    numbers = [int(flags[batch.arcs[a:b]].sum()) for a, b in zip(batch.ptr, batch.ptr[1:])]
    cells = batch.cells(batch.fired(flags))
    assert Counter(cells.feat_keys.tolist()) == fired(view, gold)
    assert len(cells) == sum(number > 0 for number in numbers)


@pytest.mark.parametrize("seed", range(10))
def test_scores_in_problems_and_in_learning(seed: int) -> None:
    view, gold, heads = case(seed)
    family = Modifiers()
    counter = FactorCounter()
    for tree in (gold, heads):
        own = FactorView.of_tree(view.sentence, tree, view.values)
        counter.add(tree_batches([family], own))
    table = counter.table(1)
    weights = np.random.default_rng(seed).integers(1, 9, len(table)).astype(np.int32)
    table.weights[:] = weights * QUANTUM
    plain = Problem(view.n_words, view.arc_head, view.arc_mod, np.zeros(view.n_arcs))
    proposals = proposals_of([family], view, table)
    problem = with_proposals(plain, proposals, weights, QUANTUM)
    ((_, direct),) = alive_factors([family], [view], table)
    assert problem.count_ptr.tolist() == direct.ptr.tolist()
    assert problem.count_arcs.tolist() == direct.arcs.tolist()
    assert problem.count_score.tolist() == direct.score.tolist()
    assert problem.count_score_ptr.tolist() == direct.score_ptr.tolist()
    value = dict(zip(table.keys.tolist(), table.weights.tolist()))
    for tree in (gold, heads):
        expected = sum(value.get(key, 0.0) * times for key, times in fired(view, tree).items())
        assert problem.score(tree) == pytest.approx(expected)
    flags = [tree[view.arc_mod] == view.arc_head for tree in (gold, heads)]
    expected = fired(view, gold)
    expected.subtract(fired(view, heads))
    places = difference(*features_apart(proposals, *flags))
    found = {int(table.keys[p]): c for p, c in places.items()}
    assert found == {key: c for key, c in expected.items() if c}
    batch = family.propose_counts(view)
    assert set(found) <= set(contrast(batch, flags[0], flags[1:]).feat_keys.tolist())
    assert not len(contrast(batch, flags[0], flags[:1]))


def test_what_breaks_the_contract() -> None:
    view, _, _ = case(1)
    with pytest.raises(FactorError, match=r"'jealous': count factor .*, is proposed only when"):
        check_family(Jealous(), view.sentence)

    class Flat(Modifiers):
        def counts(self, view: FactorView) -> Iterator[Any]:
            yield [(1, 2)], "features"

    with pytest.raises(FactorError, match=r"'modifiers', .*a sequence of features for each number"):
        Flat().propose_counts(view_of(view.sentence, [(1, 2)]))
