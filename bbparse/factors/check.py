"""A test that a family keeps its contract, for those who write one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from bbparse.errors import FactorError
from bbparse.factors.batch import FactorBatch
from bbparse.factors.family import Arc, FactorFamily
from bbparse.factors.view import FactorView
from bbparse.treebank import Sentence

Described = Counter[tuple[tuple[Arc, ...], tuple[int, ...]]]


def describe(batch: FactorBatch, view: FactorView) -> Described:
    """The sets of a batch with their keys, by words instead of indices, and how often each."""
    pairs = list(view.arc_places)
    return Counter(
        (tuple(sorted(pairs[a] for a in arcs)), tuple(sorted(keys.tolist())))
        for arcs, keys in batch
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
    n = sentence.n_words
    if arcs is None:
        arcs = ((h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m)
    candidates = sorted({*tree.arc_places, *arcs})
    view = FactorView(sentence, [h for h, _ in candidates], [m for _, m in candidates], tree.values)
    total = 0
    for propose, what in ((family.propose, "factor"), (family.propose_counts, "count factor")):
        if describe(propose(view), view) != describe(propose(view), view):
            raise FactorError(f"factor family {family.name!r}: two calls gave different factors")
        alone, among = _fires(propose(tree), tree, tree), _fires(propose(view), view, tree)
        for extra, where in ((alone - among, "alone"), (among - alone, "among other candidates")):
            for members, _ in extra:
                raise FactorError(
                    f"factor family {family.name!r}: {what} {list(members)}, with these features,"
                    f" is proposed only when the tree's arcs are given {where}"
                )
        total += alone.total()
    return total


def _fires(batch: FactorBatch, view: FactorView, tree: FactorView) -> Described:
    """What fires in a tree: as `describe`, of each set the arcs that the tree has."""
    flags = np.array([arc in tree.arc_places for arc in view.arc_places], np.bool_)
    found: Described = Counter()
    for (arcs, keys), times in describe(batch.cells(batch.fired(flags)), view).items():
        found[tuple(arc for arc in arcs if arc in tree.arc_places), keys] += times
    return found
