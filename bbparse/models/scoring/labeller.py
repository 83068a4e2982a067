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

Hashing and templates are those of `models.scoring.kernels`. A feature's index is the row of a
matrix with the weights of all labels side by side. It costs one random access to memory, and its
row is added by vector instructions. Rows are a whole number of memory lines long, and weights have
16 bits, because the number of lines read limits the speed. Files hold the weights without zeros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from bbparse.core.parts import ProblemArrays
from bbparse.models.scoring.compile import compile_templates
from bbparse.models.scoring.label_kernels import label_scores
from bbparse.models.scoring.scorer import aligned_zeros
from bbparse.models.templates import TemplateSet, check_label_templates
from bbparse.runtime.archive import INTS, TEXT, Rule
from bbparse.runtime.arrays import Ints
from bbparse.runtime.errors import ModelError
from bbparse.runtime.jit import plain

#: Value of a weight of 1: 16 bits reach from -8 to 8; trained weights stay between -5 and 5.
LABEL_QUANTUM = 2.0**-12
#: Most labels: each row has memory for all labels.
MAX_LABELS = 512
#: Number of weights in a line of memory.
_PER_LINE = 32

#: Arrays of a model file, with the rules by which `read_archive` checks them.
LABEL_ARRAYS: dict[str, Rule] = {
    "label_names": (TEXT, 1, None),
    "label_root": (INTS, 0, None),
    "label_counts": ("u", 1, None),
    "label_columns": ("u", 1, "label_columns"),
    "label_weights": ("i", 1, "label_columns"),
}


class LabelScores(Protocol):
    """A network's scores of the labels of a sentence."""

    def tree_label_scores(self, heads: Ints) -> NDArray[np.float32]:
        """Score the labels of the arcs of a tree, float32[n_words, L]."""
        ...

    def labels_over(self, arc_head: Ints) -> NDArray[np.float32] | None:
        """Return the stored scores of the labels of a problem's arcs, float32[A, L], if any."""
        ...


class Scored(Protocol):
    """Input of a labelling, see `bbparse.models.scoring.problem_maker.Scored`."""

    @property
    def values(self) -> NDArray[np.uint64]: ...
    @property
    def problem(self) -> ProblemArrays: ...
    @property
    def scores(self) -> LabelScores | None: ...


class Solved(Protocol):
    """The best tree of a sentence, see `bbparse.Solution`."""

    @property
    def heads(self) -> Ints: ...
    @property
    def arcs(self) -> Ints: ...


class Labelling(Protocol):
    """Classifier of arc labels: a labeller, or the network that scores the arcs."""

    #: Sorted and unique.
    labels: tuple[str, ...]

    def scores_of_trees(
        self, scored: Sequence[Scored], solved: Sequence[Solved]
    ) -> NDArray[np.float64]:
        """Score all labels of the arcs of each sentence's best tree, as `tree_scores` does.

        The rows of all sentences follow each other.
        """
        ...

    def tree_scores(
        self, scored: Scored, heads: Ints, arcs: Ints | None = None
    ) -> NDArray[np.float64]:
        """Score all labels of the arcs of a tree, int32[n + 1] heads: float64[n_words, L].

        ``arcs``, if given, are the numbers of the tree's arcs in the scored problem, int32[n].
        A score is the log-probability of the label up to a constant for each word, or -inf if the
        rule about the root excludes the label.
        """
        ...


class Labels(NamedTuple):
    """Labels of the arcs of a tree, and the scores of all labels, float64[n_words, L]."""

    names: list[str]
    scores: NDArray[np.float64]


def label_together(
    labelling: Labelling, scored: Sequence[Scored], solved: Sequence[Solved]
) -> list[Labels]:
    """Label the best tree of each sentence of a batch."""
    scores = labelling.scores_of_trees(scored, solved)
    names = best_labels(labelling, scores)
    ends = np.cumsum([one.heads.shape[1] - 1 for one in solved]).tolist()
    return [Labels(names[a:b], scores[a:b]) for a, b in pairwise([0, *ends])]


def best_labels(labelling: Labelling, scores: NDArray[np.float64]) -> list[str]:
    """Return the best label of each arc by the scores of `tree_scores`; the first of equal ones."""
    return [labelling.labels[i] for i in scores.argmax(axis=1).tolist()]


def by_root(scores: NDArray[np.float64], heads: Ints, root: int) -> NDArray[np.float64]:
    """Set label scores to -inf where the rule about the root excludes the label.

    Arcs from the root have the label ``root``, and no other arcs have it; -1: there is no rule.
    """
    if root >= 0:
        top = np.flatnonzero(heads[1:] == 0)
        kept = scores[top, root]
        scores[:, root] = -np.inf
        scores[top] = -np.inf
        scores[top, root] = kept
    return scores


class Labeller:
    """Classifier of the labels of a tree's arcs.

    Labelling changes nothing in it, so threads may share it. Templates must not look at the words
    between (``b.``). Labels are sorted and unique. `root` is the index of the label that all arcs
    from word 0 have and no others, or -1 if there is no such rule. Raises `ModelError` or
    `ConfigError` if these do not fit.

    The `weights` (int16[2**templates.bits, width]) have a column for each label, in quanta of
    `LABEL_QUANTUM`, padded to whole lines of memory. They start as zeros, to be written to.
    """

    def __init__(self, templates: TemplateSet, labels: tuple[str, ...], root: int = -1) -> None:
        labels = checked_labels(tuple(labels))
        if not -1 <= root < len(labels) or (root >= 0 and len(labels) == 1):
            raise ModelError(
                f"root is {root}, expected -1 or the number of one of several labels,"
                f" of which there are {len(labels)}"
            )
        size, width = 1 << templates.bits, -(-len(labels) // _PER_LINE) * _PER_LINE
        self.weights = aligned_zeros(size * width, np.int16).reshape(size, width)
        self.templates = check_label_templates(templates)
        self.labels = labels
        self.root = int(root)
        self._compiled = plain(compile_templates(templates))

    def tree_scores(
        self, scored: Scored, heads: Ints, arcs: Ints | None = None
    ) -> NDArray[np.float64]:
        """Score all labels, see `Labelling`; heads, which a parser found, are not checked."""
        tree = heads.copy()  # writable, and without the -1 of the root
        tree[0] = 0
        quanta = label_scores(scored.values, tree, self._compiled, self.weights)
        scores = quanta[1:, : len(self.labels)] * np.float64(LABEL_QUANTUM)
        return by_root(scores, tree, self.root)

    def scores_of_trees(
        self, scored: Sequence[Scored], solved: Sequence[Solved]
    ) -> NDArray[np.float64]:
        """Score all labels, see `Labelling`."""
        return np.concatenate([self.tree_scores(s, y.heads[0]) for s, y in zip(scored, solved)])

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of `LABEL_ARRAYS`, without zeros, for `from_arrays`."""
        rows, columns = np.nonzero(self.weights)
        return {
            "label_names": np.array(self.labels),
            "label_root": np.array(self.root, np.int32),
            "label_counts": np.bincount(rows, minlength=len(self.weights)).astype(np.uint16),
            "label_columns": columns.astype(np.uint16),
            "label_weights": self.weights[rows, columns],
        }

    @classmethod
    def from_arrays(
        cls, templates: TemplateSet, arrays: Mapping[str, NDArray[Any]], where: str = "labeller"
    ) -> Labeller:
        """Build a labeller from the arrays of `to_arrays`, with the dtypes of `LABEL_ARRAYS`.

        Raises `ModelError`, naming the file `where`, if an array is missing or does not fit.
        """
        for name in LABEL_ARRAYS:
            if name not in arrays:
                raise ModelError(f"{where}: array {name} is missing")
        names = tuple(arrays["label_names"].tolist())
        counts, columns, values = (arrays[f"label_{x}"] for x in ("counts", "columns", "weights"))
        try:
            labeller = cls(templates, names, int(arrays["label_root"]))
        except ModelError as error:
            raise ModelError(f"{where}: {error}") from None
        weights = labeller.weights
        total = int(counts.sum(dtype=np.uint64))
        for wrong, what in (
            (len(counts) != len(weights),
             f"counts has {len(counts)} elements, expected {len(weights)}"),
            (int(counts.max(initial=0)) > len(names),
             f"counts goes up to {int(counts.max(initial=0))}, expected at most {len(names)}"),
            (total != len(columns),
             f"counts adds up to {total}, expected the {len(columns)} elements of label_columns"),
            (int(columns.max(initial=0)) >= len(names),
             f"columns goes up to {int(columns.max(initial=0))}, expected less than {len(names)}"),
            (values.dtype != np.int16, f"weights has dtype {values.dtype}, expected int16"),
        ):  # fmt: skip
            if wrong:
                raise ModelError(f"{where}: label_{what}")
        place = np.repeat(np.arange(len(weights)) * weights.shape[1], counts)
        weights.reshape(-1)[place + columns] = values
        return labeller


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
