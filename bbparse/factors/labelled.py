"""Arcs with labels: what a family sees that speaks of them, and how others go on not to.

In the labelled mode of a parser every candidate arc comes in a few copies, one for each of the
labels that suit it best; a tree has one of the copies. A family derived from `LabelledFamily` names
its arcs by head, modifier and label. Any other family is shown the plain arcs, and its factors are
made over all combinations of the copies of their arcs: whatever the labels, one of them fires.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import FactorError
from bbparse.factors.batch import FactorBatch
from bbparse.factors.view import FactorView

if TYPE_CHECKING:
    from bbparse.factors.family import FactorFamily
    from bbparse.factors.table import FactorTable
    from bbparse.treebank import Sentence

__all__ = ["LabelledArc", "LabelledView", "expanded", "proposals"]

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
        self._index: dict[LabelledArc, int] = {}
        self._labels: dict[tuple[int, int], Sequence[str]] = {}
        pairs = zip(self.arc_head.tolist(), self.arc_mod.tolist())
        count = 0
        for pair, own in zip(pairs, labels):
            self._labels[pair] = own
            for label in own:
                self._index[(*pair, label)] = count
                count += 1

    @classmethod
    def of_arcs(
        cls,
        sentence: Sentence,
        arc_head: NDArray[np.int32],
        arc_mod: NDArray[np.int32],
        arc_label: NDArray[np.int32],
        names: Sequence[str],
        values: NDArray[np.uint64] | None = None,
    ) -> LabelledView:
        """The view over labelled arcs, sorted by head, modifier and label.

        Parameters
        ----------
        sentence, values
            As for `FactorView`.
        arc_head, arc_mod, arc_label : int32[B]
            The arcs of a labelled `Problem`, or some of them.
        names : sequence of str
            What the labels are called.
        """
        new = np.ones(len(arc_head), np.bool_)
        new[1:] = (arc_head[1:] != arc_head[:-1]) | (arc_mod[1:] != arc_mod[:-1])
        starts = np.flatnonzero(new)
        groups = np.split(arc_label, starts[1:]) if len(starts) else []
        view = FactorView(sentence, arc_head[new], arc_mod[new], values)
        return cls(view, [[names[i] for i in group.tolist()] for group in groups])

    def labels_of(self, head: int, mod: int) -> Sequence[str]:
        """Labels that the arc from `head` to `mod` may have; none if it is no candidate."""
        return self._labels.get((head, mod), ())

    def labelled_index(self, head: int, mod: int, label: str) -> int:
        """Number of a labelled arc, -1 if it is no candidate."""
        return self._index.get((head, mod, label), -1)

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
    arcs: list[int] = []
    sizes: list[int] = []
    origin: list[int] = []
    starts = first.tolist()
    members, ptr = batch.arcs.tolist(), batch.ptr.tolist()
    for f in range(len(batch)):
        copies = [range(starts[a], starts[a + 1]) for a in members[ptr[f] : ptr[f + 1]]]
        for chosen in product(*copies):
            arcs += chosen
            sizes.append(len(chosen))
            origin.append(f)
    feature_sizes = np.diff(batch.feat_ptr)[origin]
    places = [np.arange(batch.feat_ptr[f], batch.feat_ptr[f + 1]) for f in origin]
    features = np.concatenate(places) if places else np.zeros(0, np.int64)
    return FactorBatch(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array(arcs, np.int32),
        np.concatenate([[0], np.cumsum(feature_sizes)]).astype(np.int64),
        batch.feat_keys[features],
        batch.gates[origin],
    )
