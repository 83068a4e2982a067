"""A test that a family keeps its contract, for those who write one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from bbparse.errors import FactorError
from bbparse.factors.batch import CountBatch, FactorBatch
from bbparse.factors.family import Arc, FactorFamily
from bbparse.factors.view import FactorView
from bbparse.treebank import Sentence

Described = Counter[tuple[tuple[Arc, ...], tuple[int, ...]]]


def describe(batch: FactorBatch, view: FactorView) -> Described:
    """The factors of a batch with their keys, by words instead of indices, and how often each."""
    pairs = list(zip(view.arc_head.tolist(), view.arc_mod.tolist()))
    return Counter(
        (tuple(sorted(pairs[a] for a in arcs)), tuple(sorted(keys.tolist())))
        for arcs, keys in batch
    )


def describe_counts(batch: CountBatch, view: FactorView, tree: set[Arc]) -> Counter[Any]:
    """Keys of the cells of count factors that fire in a tree, cell by cell, and how often each."""
    pairs = zip(view.arc_head.tolist(), view.arc_mod.tolist())
    flags = np.array([pair in tree for pair in pairs])
    numbers = [int(flags[batch.arcs[a:b]].sum()) for a, b in pairwise(batch.ptr)]
    return Counter(
        tuple(sorted(keys.tolist())) for _, keys in batch.cells(np.array(numbers, np.int64))
    )


def check_family(
    family: FactorFamily,
    sentence: Sentence,
    heads: Sequence[int] | None = None,
    arcs: Iterable[Arc] | None = None,
) -> int:
    """Check that what fires in a tree is what is proposed for its arcs among others.

    Parameters
    ----------
    family : FactorFamily
    sentence : Sentence
    heads : sequence of int, length n + 1, optional
        A tree, ``heads[0]`` is not read; the sentence's own heads if left out.
    arcs : iterable of (head, modifier), optional
        Candidate arcs; those of the tree are added. All arcs if left out.

    Returns
    -------
    int
        How many factors and count factors fire in the tree, so that a test can see that some do.

    Raises
    ------
    FactorError
        If the family's proposals for these arcs depend on which other arcs there are, or differ
        from call to call.
    """
    tree = FactorView.of_tree(sentence, [-1, *sentence.heads] if heads is None else heads)
    chosen = set(zip(tree.arc_head.tolist(), tree.arc_mod.tolist()))
    n = sentence.n_words
    if arcs is None:
        arcs = ((h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m)
    candidates = sorted(chosen.union(arcs))
    view = FactorView(sentence, [h for h, _ in candidates], [m for _, m in candidates], tree.values)
    fires = describe(family.propose(tree), tree)
    proposed = describe(family.propose(view), view)
    if describe(family.propose(view), view) != proposed:
        raise FactorError(f"factor family {family.name!r}: two calls gave different factors")
    expected = Counter(
        {factor: times for factor, times in proposed.items() if chosen.issuperset(factor[0])}
    )
    for factor in (fires - expected) + (expected - fires):
        where = "alone" if fires[factor] > expected[factor] else "among other candidates"
        raise FactorError(
            f"factor family {family.name!r}: factor {list(factor[0])}, with these features, is "
            f"proposed only when the tree's arcs are given {where}"
        )
    cells = describe_counts(family.propose_counts(tree), tree, chosen)
    if cells != describe_counts(family.propose_counts(view), view, chosen):
        raise FactorError(
            f"factor family {family.name!r}: count factors have other features when the tree's"
            " arcs are given alone than among other candidates"
        )
    return fires.total() + cells.total()
