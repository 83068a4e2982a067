"""`Labeller`: labels for the arcs of a tree, one arc at a time.

It is a linear classifier with the templates of the parser's own model. The label of an arc may
depend on the whole tree around it, so the kinds of part have a wider meaning here:

=====================  ============================================================================
kind                   words of the templates; h→m is the arc to label, unless stated otherwise
=====================  ============================================================================
arc                    h, m
sibling                h, m, and as s each modifier of h near m in turn (see `REACH`)
grandsibling           g, h, m, and s the next modifier between h and m, as in the parser
grandchild             the arc to label is g→h, and m is each modifier of h in turn
outermost_grandchild   the same, for the outermost modifiers of h only
=====================  ============================================================================

Templates and features are those of `models.scoring.features`. A feature's index is the row of a
matrix with the weights of all labels side by side.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from bbparse.models.scoring.arc_network import ArcNetwork, Scored
from bbparse.models.scoring.features import HEAD, INNER, MOD, Features, as_parts, parts_of
from bbparse.models.scoring.labels import by_root, check_labels
from bbparse.models.templates import TemplateSet
from bbparse.runtime.arrays import Float64s, Hashes, Ints, Longs
from bbparse.runtime.errors import ModelError
from bbparse.runtime.jit import kernel

#: Value of a weight of 1: 16 bits reach from -8 to 8; trained weights stay between -5 and 5.
LABEL_QUANTUM = 2.0**-12
#: Most modifiers of the same head, on either side, that count as siblings.
REACH = 4


class Labeller:
    """Classifier of the labels of a tree's arcs; labelling changes nothing in it.

    The `weights` (int16[2**templates.bits, labels]) have a row for each feature, in quanta of
    `LABEL_QUANTUM`. They start as zeros, to be written to.
    """

    def __init__(self, templates: TemplateSet, labels: tuple[str, ...], root: int = -1) -> None:
        check_labels(labels, root)
        if len(labels) < (2 if root >= 0 else 1):
            raise ModelError(f"labels: found {len(labels)} with the root {root}, expected more")
        self.weights = np.zeros((1 << templates.bits, len(labels)), np.int16)
        self.templates = templates
        self.labels = labels
        self.root = int(root)
        self._features = Features(templates)

    def features(self, values: Hashes, heads: Ints) -> tuple[Longs, Longs]:
        """Return the features of the arcs of a tree, int32[n + 1] heads: modifiers and rows."""
        # Siblings before m and after m have different features: the highest bit of the index.
        left = 1 << (self.templates.bits - 1)
        mods = [np.zeros(0, np.int64)]
        rows = [np.zeros(0, np.int64)]
        for kind in self._features.kinds:
            parts = near_siblings(heads) if kind == "sibling" else parts_of(heads, kind)
            owner, indices = self._features.of_parts(values, parts, kind)
            if kind == "sibling":
                indices ^= left * (parts[INNER] < parts[MOD])[owner]
            word = HEAD if kind in ("grandchild", "outermost_grandchild") else MOD
            mods.append(parts[word, owner].astype(np.int64))
            rows.append(indices)
        return np.concatenate(mods), np.concatenate(rows)

    def tree_scores(self, scored: Scored, heads: Ints) -> Float64s:
        """Score all labels of the arcs of a tree, int32[n + 1] heads: float64[n_words, L].

        Log-probabilities, up to a constant for each word; -inf for labels that the root excludes.
        """
        quanta = np.zeros((len(heads), len(self.labels)), np.int32)
        values = cast(Hashes, scored.values)  # templates score the sentence, too
        add_rows(*self.features(values, heads), self.weights, quanta)
        return by_root(quanta[1:] * np.float64(LABEL_QUANTUM), heads[1:], self.root)

    def scores_around(self, scored: Scored, tree: Ints, heads: Ints, mods: Ints) -> Float64s:
        """Score all labels of some arcs, float64[A, L].

        An arc of the tree, int32[n + 1] heads, is scored in that tree; another arc is scored in the
        tree that has it in place of its modifier's arc.
        """
        scores = self.tree_scores(scored, tree)[mods - 1]
        for i in np.flatnonzero(tree[mods] != heads):
            moved = tree.copy()
            moved[mods[i]] = heads[i]
            scores[i] = self.tree_scores(scored, moved)[mods[i] - 1]
        return scores


Labelling: TypeAlias = Labeller | ArcNetwork
"""A classifier of arc labels: a labeller, or the network that scores the arcs."""


@kernel
def add_rows(to: Longs, rows: Longs, table: NDArray[Any], out: NDArray[Any]) -> None:
    """Add ``table[rows[i]]`` to ``out[to[i]]``, for all i."""
    for i in range(rows.shape[0]):
        for column in range(table.shape[1]):
            out[to[i], column] += table[rows[i], column]


def near_siblings(heads: Ints) -> Ints:
    """Return each arc with each modifier of its head that is at most `REACH` modifiers away."""
    mods = (1 + np.argsort(heads[1:], kind="stable")).astype(np.int32)
    parts = [np.zeros((4, 0), np.int32)]
    for step in range(1, min(REACH, len(mods) - 1) + 1):
        before, after = mods[:-step], mods[step:]
        same = heads[before] == heads[after]
        before, after = before[same], after[same]
        parts += [as_parts(heads[after], after, before), as_parts(heads[before], before, after)]
    return np.concatenate(parts, axis=1)
