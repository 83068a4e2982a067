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

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bbparse.models.scoring.linear import GRANDCHILD, OUTERMOST, SIBLING, Features, Words, parts_of
from bbparse.models.templates import TemplateSet
from bbparse.runtime.arrays import Float64s, Ints, Longs
from bbparse.runtime.errors import ModelError
from bbparse.runtime.jit import kernel

if TYPE_CHECKING:
    from bbparse.models.scoring.arc_network import ArcNetwork
    from bbparse.models.scoring.problem_maker import Scored

Labelling: TypeAlias = "Labeller | ArcNetwork"
"""A classifier of arc labels: a labeller, or the network that scores the arcs."""

#: Value of a weight of 1: 16 bits reach from -8 to 8; trained weights stay between -5 and 5.
LABEL_QUANTUM = 2.0**-12
#: Most labels: a row of weights has all of them.
MAX_LABELS = 512
#: Most modifiers of the same head, on either side, that count as siblings.
REACH = 4


def best_labels(labelling: Labelling, scores: Float64s) -> list[str]:
    """Return the best label of each arc by the scores of `tree_scores`; the first of equal ones."""
    return [labelling.labels[i] for i in scores.argmax(axis=1).tolist()]


def by_root(scores: Float64s, heads: Ints, root: int) -> Float64s:
    """Set label scores, float64[A, L], to -inf where the rule about the root excludes the label.

    Arcs from the root have the label ``root``, and no other arcs have it; -1: there is no rule.
    """
    if root >= 0:
        scores[np.equal.outer(heads == 0, np.arange(scores.shape[1]) != root)] = -np.inf
    return scores


class Labeller:
    """Classifier of the labels of a tree's arcs.

    Labelling changes nothing in it, so threads may share it. Labels are sorted and unique. `root`
    is the index of the label that all arcs from word 0 have and no others, or -1 if there is no
    such rule. Raises `ModelError` if these do not fit.

    The `weights` (int16[2**templates.bits, labels]) have a row for each feature, in quanta of
    `LABEL_QUANTUM`. They start as zeros, to be written to.
    """

    def __init__(self, templates: TemplateSet, labels: tuple[str, ...], root: int = -1) -> None:
        labels = checked_labels(tuple(labels))
        if not -1 <= root < len(labels) or (root >= 0 and len(labels) == 1):
            raise ModelError(
                f"root is {root}, expected -1 or the number of one of several labels,"
                f" of which there are {len(labels)}"
            )
        self.weights = np.zeros((1 << templates.bits, len(labels)), np.int16)
        self.templates = templates
        self.labels = labels
        self.root = int(root)
        self._features = Features(templates)

    def features(self, values: NDArray[np.uint64], heads: Ints) -> tuple[Longs, Longs]:
        """Return the features of the arcs of a tree: the modifier of each, and its row.

        ``heads`` are int32[n + 1], none out of range, and heads[0] is 0.
        """
        # Siblings before m and after m have different features: the highest bit of the index.
        left = 1 << (self.templates.bits - 1)
        mods: list[Longs] = [np.zeros(0, np.int64)]
        rows: list[Longs] = [np.zeros(0, np.int64)]
        for kind in self._features.kinds:
            parts = near_siblings(heads) if kind == SIBLING else parts_of(heads, kind)
            owner, indices = self._features.of_parts(values, parts, kind)
            _, head, inner, mod = parts
            if kind == SIBLING:
                indices ^= left * (inner < mod)[owner]
            word = head if kind in (GRANDCHILD, OUTERMOST) else mod
            mods.append(word[owner].astype(np.int64))
            rows.append(indices)
        return np.concatenate(mods), np.concatenate(rows)

    def tree_scores(self, scored: Scored, heads: Ints, arcs: Ints | None = None) -> Float64s:
        """Score all labels of the arcs of a tree, int32[n + 1] heads: float64[n_words, L].

        ``arcs``, if given, are the numbers of the tree's arcs in the scored problem, int32[n].
        A score is the log-probability of the label up to a constant for each word, or -inf if the
        rule about the root excludes the label.
        """
        tree = heads.copy()  # writable, and without the -1 of the root
        tree[0] = 0
        quanta = np.zeros((len(tree), len(self.labels)), np.int32)
        add_rows(*self.features(scored.values, tree), self.weights, quanta)
        return by_root(quanta[1:] * np.float64(LABEL_QUANTUM), tree[1:], self.root)

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


@kernel
def add_rows(owner: Longs, rows: Longs, weights: NDArray[Any], scores: NDArray[Any]) -> None:
    """Add ``weights[rows[i]]`` to ``scores[owner[i]]``, for all i."""
    for i in range(rows.shape[0]):
        for label in range(weights.shape[1]):
            scores[owner[i], label] += weights[rows[i], label]


def near_siblings(heads: Ints) -> Words:
    """Return each arc with each modifier of its head that is at most `REACH` modifiers away."""
    none = np.zeros(0, np.int32)
    mods = (1 + np.argsort(heads[1:], kind="stable")).astype(np.int32)
    inner, mod = [none], [none]
    for step in range(1, min(REACH, len(mods) - 1) + 1):
        same = heads[mods[:-step]] == heads[mods[step:]]
        before, after = mods[:-step][same], mods[step:][same]
        inner += [before, after]
        mod += [after, before]
    all_mods = np.concatenate(mod)
    return none, heads[all_mods], np.concatenate(inner), all_mods


def checked_labels(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels if they are valid: some, not too many, sorted, each a word of text."""
    if not 1 <= len(labels) <= MAX_LABELS:
        raise ModelError(f"labels: found {len(labels)}, expected 1 to {MAX_LABELS}")
    for i, label in enumerate(labels):
        if not label or any(c in label for c in "\t\n\r"):
            raise ModelError(f"labels[{i}] is {label!r}, expected text without tabs and breaks")
        if i and labels[i - 1] >= label:
            raise ModelError(
                f"labels[{i}] is {label!r} after {labels[i - 1]!r}, expected sorted labels"
            )
    return labels
