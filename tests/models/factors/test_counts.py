"""Count factors as families: features for every number of a set's arcs in the tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from bbparse.factors import FactorFamily, FactorView, check_family
from bbparse.models.factors.family import alive_factors
from bbparse.models.factors.table import FactorTable, feature_key
from bbparse.runtime.errors import FactorError
from tests.models.factors.helpers import (
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


def test_the_last_entry_is_that_of_all_larger_numbers() -> None:
    sentence, heads = random_sentence(np.random.default_rng(1), 6), np.array([-1, 0, 1, 1, 1, 1, 1])
    tree = FactorView.of_tree(sentence, heads)
    assert Counter(tree_keys([Modifiers()], tree).tolist()) == fired(tree, heads)


def test_a_set_of_one_arc_is_no_factor() -> None:
    view = view_of(random_sentence(np.random.default_rng(1), 2), [(0, 1), (1, 2)])
    table = FactorTable([feature_key("modifiers", ("one", view.upos[1]))], [1.5])
    ((factors, counts),) = alive_factors([Modifiers()], [view], table)
    assert len(factors.score) == 0
    assert counts.members(0).tolist() == [1] and counts.table(0).tolist() == [0.0, 1.5]


def test_each_sentence_of_a_batch_has_its_own_sets() -> None:
    views = [case(seed)[0] for seed in (1, 2)]
    keys = np.unique(np.concatenate([Modifiers().propose_counts(view).feat_keys for view in views]))
    table = FactorTable(keys, np.arange(1.0, len(keys) + 1.0))
    for view, (_, counts) in zip(views, alive_factors([Modifiers()], views, table)):
        ((_, alone),) = alive_factors([Modifiers()], [view], table)
        assert all(np.array_equal(one, other) for one, other in zip(counts, alone))


def test_what_breaks_the_contract() -> None:
    view, _, _ = case(1)
    with pytest.raises(FactorError, match=r"'jealous': count factor .*, is proposed only when"):
        check_family(Jealous(), view.sentence)

    class Flat(Modifiers):
        def counts(self, view: FactorView) -> Iterator[Any]:
            yield [(1, 2)], "features"

    with pytest.raises(FactorError, match=r"'modifiers', .*a sequence of features for each number"):
        Flat().propose_counts(view_of(view.sentence, [(1, 2)]))
