"""Families that speak of labels: what goes together among the modifiers of a word, and below it.

They are for parsers in which the best labels of every candidate arc are arcs of their own
(``[labels] mode = "arcs"``). Labels are those of Universal Dependencies; subtypes (``nsubj:pass``)
are told apart in some features and not in others.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from bbparse.factors import (
    FactorBatch,
    FactorTable,
    FactorView,
    Feature,
    LabelledArc,
    LabelledFamily,
    LabelledView,
    feature_key,
)

__all__ = ["FunctionWords", "LabelPairs"]

#: Relations that a predicate has once, or whose number says something about its other modifiers.
CORE = frozenset(
    ("nsubj", "csubj", "obj", "iobj", "ccomp", "xcomp", "expl", "cop", "det", "case", "mark")
)
#: Relations of words that have no modifiers, or next to none.
FUNCTION = frozenset(("case", "mark", "cc", "det", "aux", "cop", "punct", "clf", "discourse"))


@lru_cache(maxsize=1 << 12)
def _main(label: str) -> str:
    """The label without its subtype."""
    return label.partition(":")[0]


#: What the features of a pair depend on.
Case = tuple[str, ...]


class _ArcPairs(LabelledFamily):
    """Pairs of labelled arcs, whose features depend on a few strings.

    Such strings come again and again: the keys of their features are remembered.
    """

    def pairs(self, view: LabelledView) -> Iterator[tuple[int, int, Case]]:
        """Numbers of two labelled arcs that can be in one tree, ascending, and their case."""
        raise NotImplementedError

    def features(self, case: Case) -> list[Feature]:
        """Features of a case."""
        raise NotImplementedError

    def labelled_factors(
        self, view: LabelledView
    ) -> Iterator[tuple[list[LabelledArc], list[Feature]]]:
        """See `LabelledFamily.labelled_factors`."""
        arcs = list(view.labelled_arcs)
        for first, second, case in self.pairs(view):
            yield [arcs[first], arcs[second]], self.features(case)

    def propose(self, view: FactorView, table: FactorTable | None = None) -> FactorBatch:
        """See `FactorFamily.propose`."""
        if not isinstance(view, LabelledView):
            return super().propose(view, table)  # says what is missing
        arcs: list[tuple[int, int]] = []
        keys: list[tuple[int, ...]] = []
        for first, second, case in self.pairs(view):
            arcs.append((first, second))
            keys.append(_keys(self, case))
        return FactorBatch.from_lists(arcs, keys)


@lru_cache(maxsize=1 << 16)
def _keys(family: _ArcPairs, case: Case) -> tuple[int, ...]:
    """Keys of the features of a case."""
    return tuple(feature_key(family.name, feature) for feature in family.features(case))


class LabelPairs(_ArcPairs):
    """Two modifiers of one word with relations that a word has once: "at most one nsubj"."""

    name = "label-pairs"
    summary = "two modifiers of one head with core labels: at most one subject, and the like"

    def pairs(self, view: LabelledView) -> Iterator[tuple[int, int, Case]]:
        """See `_ArcPairs.pairs`."""
        labels, upos = view.labels, view.upos
        core = [_main(label) in CORE for label in labels]
        copies = list(pairwise(view.first.tolist()))
        mods, starts = view.arc_mod.tolist(), view.head_ptr.tolist()
        for head in range(view.n_words + 1):
            below = [
                (i, mods[arc], labels[i])
                for arc in range(starts[head], starts[head + 1])
                for i in range(*copies[arc])
                if core[i]
            ]
            for n, (i, mod, label) in enumerate(below):
                for j, other, its_label in below[n + 1 :]:
                    if mod != other:
                        side = "across" if mod < head < other else "beside"
                        yield i, j, (label, its_label, side, upos[head], upos[mod], upos[other])

    def features(self, case: Case) -> list[Feature]:
        """See `_ArcPairs.features`."""
        first, second, side, head, mod, other = case
        pair = (_main(first), _main(second))
        features: list[Feature] = [
            pair, (pair, side), (pair, head), (first, second), (pair, mod, other)
        ]  # fmt: skip
        if pair[0] == pair[1]:
            features.append("twice")
        return features


class FunctionWords(_ArcPairs):
    """A function word with a modifier of its own: "a case marker has no modifiers"."""

    name = "function-words"
    summary = "a case marker, determiner, … with a modifier of its own"

    def pairs(self, view: LabelledView) -> Iterator[tuple[int, int, Case]]:
        """See `_ArcPairs.pairs`."""
        labels, upos = view.labels, view.upos
        copies = list(pairwise(view.first.tolist()))
        heads, mods = view.arc_head.tolist(), view.arc_mod.tolist()
        starts = view.head_ptr.tolist()
        for above, (head, word) in enumerate(zip(heads, mods)):
            for i in range(*copies[above]):
                own = _main(labels[i])
                if own not in FUNCTION:
                    continue
                for arc in range(starts[word], starts[word + 1]):
                    if mods[arc] == head:
                        continue
                    for j in range(*copies[arc]):
                        case = (own, _main(labels[j]), view.lower[word], upos[word],
                                upos[mods[arc]])  # fmt: skip
                        yield min(i, j), max(i, j), case

    def features(self, case: Case) -> list[Feature]:
        """See `_ArcPairs.features`."""
        own, below, word, upos, its_upos = case
        return [own, (own, below), (own, below, word), (own, upos, its_upos)]
