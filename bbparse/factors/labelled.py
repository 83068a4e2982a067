"""Arcs with labels: what a family sees that speaks of them, and how others go on not to.

In the labelled mode of a parser every candidate arc comes in a few copies, one for each of the
labels that suit it best; a tree has one of the copies. A family derived from `LabelledFamily` names
its arcs by head, modifier and label. Any other family is shown the plain arcs, and its factors are
made over all combinations of the copies of their arcs: whatever the labels, one of them fires.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import FactorError
from bbparse.factors.batch import FactorBatch, ScoredFactors
from bbparse.factors.view import FactorView
from bbparse.jit import kernel

if TYPE_CHECKING:
    from bbparse.factors.family import FactorFamily
    from bbparse.factors.table import FactorTable
    from bbparse.treebank import Sentence

__all__ = ["LabelledArc", "LabelledView", "expanded", "expanded_scores", "proposals"]

LabelledArc = tuple[int, int, str]
"""Head, modifier and label."""


class LabelledView(FactorView):
    """A sentence and candidate arcs over it, each with some labels.

    Everything that a `FactorView` has speaks of pairs of words here, too: `arc_head`, `n_arcs`,
    `modifiers_of` and so on. The arcs with labels are numbered by themselves.

    Parameters
    ----------
    view : FactorView
        The arcs without labels.
    labels : sequence of A sequences of str
        Labels of each arc, at least one, each once, in the order of their numbers.

    Attributes
    ----------
    first : int64[A + 1]
        Labelled arcs first[a] to first[a + 1] - 1 are the copies of arc a.
    labels : list of str
        The label of each labelled arc.
    """

    def __init__(self, view: FactorView, labels: Sequence[Sequence[str]]) -> None:
        self.__dict__.update(view.__dict__)
        if len(labels) != self.n_arcs:
            raise FactorError(f"labels: found those of {len(labels)} arcs, expected {self.n_arcs}")
        self.first = np.zeros(self.n_arcs + 1, np.int64)
        np.cumsum([len(own) for own in labels], out=self.first[1:])
        self.labels = [label for own in labels for label in own]

    @classmethod
    def of_arcs(
        cls,
        sentence: Sentence,
        arc_head: NDArray[np.int32],
        arc_mod: NDArray[np.int32],
        arc_label: NDArray[np.int32],
        names: Sequence[str],
        values: NDArray[np.uint64] | None = None,
        marks: NDArray[np.uint16] | None = None,
    ) -> LabelledView:
        """The view over labelled arcs, sorted by head, modifier and label.

        Parameters
        ----------
        sentence, values, marks
            As for `FactorView`.
        arc_head, arc_mod, arc_label : int32[B]
            The arcs of a labelled `Problem`, or some of them.
        names : sequence of str
            What the labels are called.
        """
        new = np.ones(len(arc_head), np.bool_)
        new[1:] = (arc_head[1:] != arc_head[:-1]) | (arc_mod[1:] != arc_mod[:-1])
        found = cls.__new__(cls)
        plain = FactorView(sentence, arc_head[new], arc_mod[new], values, marks, names)
        found.__dict__.update(plain.__dict__)
        found.first = np.append(np.flatnonzero(new), len(arc_head))
        found.labels = [names[i] for i in arc_label.tolist()]
        return found

    def labels_of(self, head: int, mod: int) -> Sequence[str]:
        """Labels that the arc from `head` to `mod` may have; none if it is no candidate."""
        place = self.arc_places.get((head, mod), -1)
        if place < 0:
            return ()
        starts = self._starts
        return self.labels[starts[place] : starts[place + 1]]

    def labelled_index(self, head: int, mod: int, label: str) -> int:
        """Number of a labelled arc, -1 if it is no candidate."""
        return self._index.get((head, mod, label), -1)

    @cached_property
    def _starts(self) -> list[int]:
        return self.first.tolist()

    @cached_property
    def _index(self) -> dict[LabelledArc, int]:
        copies = np.diff(self.first)
        heads = np.repeat(self.arc_head, copies).tolist()
        mods = np.repeat(self.arc_mod, copies).tolist()
        return {arc: i for i, arc in enumerate(zip(heads, mods, self.labels))}

    @property
    def labelled_arcs(self) -> Iterable[LabelledArc]:
        """All labelled arcs, in order."""
        return self._index


def proposals(
    family: FactorFamily, view: FactorView, table: FactorTable | None = None
) -> FactorBatch:
    """What a family proposes for a view, over labelled arcs where the view has them.

    A family that speaks of labels has nothing to say where arcs have none.

    Raises
    ------
    FactorError
        As `FactorFamily.propose`.
    """
    if isinstance(view, LabelledView):
        return (
            family.propose(view, table) if family.labelled
            else expanded(family.propose(view, table), view.first)
        )  # fmt: skip
    if family.labelled:
        return FactorBatch.from_lists([], [])
    return family.propose(view, table)


def expanded(batch: FactorBatch, first: NDArray[np.int64]) -> FactorBatch:
    """Factors over plain arcs as factors over all combinations of their copies.

    Parameters
    ----------
    batch : FactorBatch
    first : int64[A + 1]
        Where the copies of each arc begin.
    """
    ptr, arcs, origin = _combinations(batch.ptr, batch.arcs, first)
    sizes = np.diff(batch.feat_ptr)[origin]
    feat_ptr = np.zeros(len(ptr), np.int64)
    np.cumsum(sizes, out=feat_ptr[1:])
    features = np.repeat(batch.feat_ptr[:-1][origin] - feat_ptr[:-1], sizes)
    features += np.arange(len(features))
    return FactorBatch(ptr, arcs, feat_ptr, batch.feat_keys[features], batch.gates[origin])


def expanded_scores(factors: ScoredFactors, first: NDArray[np.int64]) -> ScoredFactors:
    """Scored factors over plain arcs as those over all combinations of their copies."""
    ptr, arcs, origin = _combinations(factors.ptr, factors.arcs, first)
    return ScoredFactors(ptr, arcs, factors.scores[origin])


@kernel
def _combinations(
    ptr: NDArray[np.int64], arcs: NDArray[np.int32], first: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """All combinations of copies, those with the last arc's next copy next: sets, and whose."""
    n_sets = n_arcs = 0
    for f in range(ptr.shape[0] - 1):
        number = 1
        for k in range(ptr[f], ptr[f + 1]):
            number *= first[arcs[k] + 1] - first[arcs[k]]
        n_sets += number
        n_arcs += number * (ptr[f + 1] - ptr[f])
    new_ptr = np.zeros(n_sets + 1, np.int64)
    new_arcs = np.empty(n_arcs, np.int32)
    origin = np.empty(n_sets, np.int64)
    n = i = 0
    for f in range(ptr.shape[0] - 1):
        size = ptr[f + 1] - ptr[f]
        number = 1
        for k in range(ptr[f], ptr[f + 1]):
            number *= first[arcs[k] + 1] - first[arcs[k]]
        for j in range(number):
            rest = j
            for k in range(size - 1, -1, -1):
                a = arcs[ptr[f] + k]
                copies = first[a + 1] - first[a]
                new_arcs[i + k] = first[a] + rest % copies
                rest //= copies
            i += size
            origin[n] = f
            n += 1
            new_ptr[n] = i
    return new_ptr, new_arcs, origin
