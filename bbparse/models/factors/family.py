"""`FactorFamily`: the base class of factor families, and a test of their contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from bbparse.core.parts import Counts, Factors
from bbparse.models.factors.batch import FactorBatch
from bbparse.models.factors.table import FactorTable, Feature, feature_key, readable
from bbparse.models.factors.view import FactorView
from bbparse.runtime.errors import FactorError
from bbparse.treebank import Sentence

Arc = tuple[int, int]
"""Head and modifier."""

Described = Counter[tuple[tuple[Arc, ...], tuple[int, ...]]]


@contextmanager
def naming_errors(where: str, sentence: Sentence | None = None) -> Iterator[None]:
    """Turn errors of users' code into a `FactorError` that names the place and the sentence."""
    try:
        yield
    except Exception as error:
        where = where if sentence is None else f"{where}, {sentence.name}"
        kind = "" if isinstance(error, FactorError) else f"{type(error).__name__}: "
        raise FactorError(f"{where}: {kind}{error}") from error


def is_foreign(method: Callable[..., object]) -> bool:
    """Return True unless a method comes with `bbparse`, so that its arrays need no check."""
    return not method.__module__.startswith("bbparse.")


class FactorFamily:
    """Proposes factors (sets of two or more arcs) for a sentence and gives their features.

    A family has a `name`, a `summary` and the method `factors`. Families with many factors (all
    pairs of siblings) override `propose` with array code instead; see
    `bbparse.factors.TemplateFamily`. A family that scores *how many* arcs of a set are in the tree
    has the method `counts` (or `propose_counts`), in addition to `factors` or instead of it.

    **The contract.** Whether a set of arcs is proposed, and with which features, depends only on
    the sentence and on *these arcs*, never on which other arcs are candidates: training shows the
    family only the arcs of a tree to find the factors that fire in it.
    `bbparse.factors.check_family` tests this for a sentence and a tree. Proposals must not depend
    on earlier calls either, and threads share one object.

    Attributes
    ----------
    name : str
        The name that users give to ``--factors``; part of the hash of every feature.
    summary : str
        One line for ``bbparse factors``.
    """

    name: str = ""
    summary: str = ""

    @property
    def has_counts(self) -> bool:
        """True if the family may score how many arcs of a set are in the tree."""
        own, base = type(self), FactorFamily
        return own.counts is not base.counts or own.propose_counts is not base.propose_counts

    def factors(self, view: FactorView) -> Iterable[tuple[Iterable[Arc], Sequence[Feature]]]:
        """Propose factors; a simple family implements only this method.

        Yields
        ------
        arcs : iterable of (head, modifier)
            The factor. It is ignored if one of its arcs is not a candidate, or if a word has two
            heads in it, so a family need not check.
        features : sequence of `Feature`
            Strings, integers or tuples of them. The factor's score is the sum of their learned
            weights.
        """
        if not self.has_counts:
            raise NotImplementedError(f"{type(self).__name__}.factors")
        return ()

    def counts(
        self, view: FactorView
    ) -> Iterable[tuple[Iterable[Arc], Sequence[Sequence[Feature]]]]:
        """Propose sets of arcs with a score for each number of them in the tree.

        Yields
        ------
        arcs : iterable of (head, modifier)
            The set, from which arcs that are not candidates are removed.
        features : sequence of sequences of `Feature`
            Features for one arc in the tree, for two and so on; the last entry covers all larger
            numbers. No arc at all scores 0. Features depend on the sentence and the definition of
            the set (all arcs from word 3 to the left), not on which of its arcs are candidates.
        """
        return ()

    def propose(self, view: FactorView) -> FactorBatch:
        """Return the factors as arrays; this default suits families with few factors.

        Raises `FactorError` if `factors` fails or breaks the contract, naming family and sentence.
        """
        arcs: list[list[int]] = []
        cells: list[list[list[int]]] = []
        with naming_errors(f"factor family {self.name!r}", view.sentence):
            for pairs, features in self.factors(view):
                indices = self._arc_indices(view, pairs)
                if indices:
                    arcs.append(indices)
                    cells.append([self._keys(features)])
        return FactorBatch.from_lists(arcs, cells)

    def propose_counts(self, view: FactorView) -> FactorBatch:
        """Return the sets of `counts` as arrays; see `propose`."""
        arcs: list[list[int]] = []
        cells: list[list[list[int]]] = []
        with naming_errors(f"factor family {self.name!r}", view.sentence):
            for pairs, features in self.counts(view):
                indices = sorted({view.arc_places[arc] for arc in pairs if arc in view.arc_places})
                if isinstance(features, str) or not isinstance(features, Sequence):
                    raise FactorError(
                        "features: expected a sequence of features for each number, found "
                        f"{features!r}"
                    )
                if indices:
                    arcs.append(indices)
                    keys = [self._keys(entry) for entry in features] or [[]]
                    cells.append([keys[min(k, len(keys) - 1)] for k in range(len(indices))])
        return FactorBatch.from_lists(arcs, cells)

    def propose_all(self, view: FactorView) -> FactorBatch:
        """Return the batches of `propose` and `propose_counts` together."""
        return FactorBatch.joined([self.checked(m, view) for m in ("propose", "propose_counts")])

    def checked(self, method: str, view: FactorView) -> FactorBatch:
        """Return the batch of `propose` or `propose_counts`; validate it if users' code made it."""
        propose = getattr(self, method)
        if not is_foreign(propose):
            return propose(view)
        with naming_errors(f"factor family {self.name!r}", view.sentence):
            batch = propose(view)
            if not isinstance(batch, FactorBatch):
                raise FactorError(f"{method} gave {batch!r:.60}, expected a FactorBatch")
            if fault := batch.fault(view.n_arcs):
                raise FactorError(f"{method}: {fault}")
        return batch

    def name_features(self, view: FactorView) -> dict[int, str]:
        """Return readable names of the features of the factors in a view, by key.

        The view has few arcs, such as those of a tree. Explanations show features that are missing
        here without a name.
        """
        named = [feature for _, each in self.counts(view) for some in each for feature in some]
        try:
            for pairs, features in self.factors(view):
                if self._arc_indices(view, pairs):
                    named += features
        except NotImplementedError:
            pass
        return {feature_key(self.name, feature): readable(feature) for feature in named}

    def _arc_indices(self, view: FactorView, pairs: Iterable[Arc]) -> list[int]:
        """Return the ascending indices of the arcs; empty for a factor that cannot fire."""
        arcs, n = set(pairs), view.n_words
        indices = sorted([view.arc_places.get(arc, -1) for arc in arcs])
        if len(indices) < 2:
            raise FactorError(f"a factor has two or more arcs, found {sorted(arcs)}")
        if indices[0] < 0:
            for head, mod in arcs:
                if not (0 <= head <= n and 1 <= mod <= n):
                    raise FactorError(
                        f"arc {head} → {mod}: expected a head in 0..{n} and a modifier in 1..{n}"
                    )
            return []
        return indices if len({mod for _, mod in arcs}) == len(arcs) else []

    def _keys(self, features: Sequence[Feature]) -> list[int]:
        if isinstance(features, str):
            raise FactorError(f"features: expected a sequence of features, found {features!r}")
        return [feature_key(self.name, feature) for feature in features]


def alive_factors(
    families: Iterable[FactorFamily], views: Sequence[FactorView], table: FactorTable
) -> list[tuple[Factors, Counts]]:
    """Return the factors and count factors of each sentence whose score is not 0, by family.

    A family handles all sentences before the next one does: its tables stay in the caches.
    """
    proposed = [[family.propose_all(view) for view in views] for family in families]
    batches = [FactorBatch.joined(of_sentence) for of_sentence in zip(*proposed)]
    return [batch.known(table).scored(table.weights) for batch in batches]


def tree_batches(families: Iterable[FactorFamily], view: FactorView) -> Iterator[FactorBatch]:
    """Yield the factors that fire in a tree whose arcs the view has, each set with one cell."""
    tree = np.ones(view.n_arcs, np.bool_)
    for family in families:
        batch = family.propose_all(view)
        yield batch.cells(batch.fired(tree))


def describe(batch: FactorBatch, view: FactorView) -> Described:
    """Count the sets of a batch with their keys, by words instead of indices."""
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
    """Check that a family keeps its contract on a sentence.

    The factors that fire in a tree must be the same whether the family sees only the tree's arcs or
    further candidates.

    Parameters
    ----------
    family : FactorFamily
    sentence : Sentence
    heads : sequence of int, length n + 1, optional
        The tree; ``heads[0]`` is not read. By default the sentence's own heads.
    arcs : iterable of (head, modifier), optional
        Candidate arcs, to which those of the tree are added. By default all arcs.

    Returns
    -------
    int
        Number of factors and count factors that fire in the tree.

    Raises
    ------
    FactorError
        If proposals depend on which other arcs are candidates, or differ between calls.
    """
    tree = FactorView.of_tree(sentence, [-1, *sentence.heads] if heads is None else heads)
    n = sentence.n_words
    if arcs is None:
        arcs = ((h, m) for h in range(n + 1) for m in range(1, n + 1) if h != m)
    candidates = sorted({*tree.arc_places, *arcs})
    view = FactorView(sentence, [h for h, _ in candidates], [m for _, m in candidates], tree.values)
    total = 0
    for method, what in (("propose", "factor"), ("propose_counts", "count factor")):
        batches = [family.checked(method, view) for _ in range(2)]
        if describe(batches[0], view) != describe(batches[1], view):
            raise FactorError(f"factor family {family.name!r}: two calls gave different factors")
        alone = _fires(family.checked(method, tree), tree, tree)
        among = _fires(batches[0], view, tree)
        for extra, where in ((alone - among, "alone"), (among - alone, "among other candidates")):
            for members, _ in extra:
                raise FactorError(
                    f"factor family {family.name!r}: {what} {list(members)}, with these features,"
                    f" is proposed only when the tree's arcs are given {where}"
                )
        total += alone.total()
    return total


def _fires(batch: FactorBatch, view: FactorView, tree: FactorView) -> Described:
    """Describe the factors that fire in a tree, as `describe`, by the arcs of the tree."""
    flags = np.array([arc in tree.arc_places for arc in view.arc_places], np.bool_)
    fires: Described = Counter()
    for (arcs, keys), times in describe(batch.cells(batch.fired(flags)), view).items():
        fires[tuple(arc for arc in arcs if arc in tree.arc_places), keys] += times
    return fires
