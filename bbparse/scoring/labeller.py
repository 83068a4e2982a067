"""`Labeller`: names for the arcs of a tree, one arc at a time.

A linear classifier, with the templates of the parser's own model. The label of an arc may depend
on the whole tree around it, so the kinds of part have a wider meaning here:

=====================  ============================================================================
kind                   words of the templates; h→m is the arc to label, unless stated otherwise
=====================  ============================================================================
arc                    h, m
sibling                h, m, and as s in turn each modifier of h near m (see `REACH`)
grandsibling           g, h, m, and s the next modifier between h and m, as in the parser
grandchild             the arc to label is g→h, and m is in turn each modifier of h
outermost_grandchild   the same, for the outermost modifiers of h only
=====================  ============================================================================

Hashing and templates are those of `bbparse.scoring.kernels`. A feature's index is the row of a
matrix with the weights of all labels side by side: it costs one random access to memory, and its
row is added by vector instructions. Rows are a whole number of memory lines long, and weights have
16 bits: what limits speed is the number of lines read. Files hold the weights without zeros.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration.templates import TemplateSet, check_label_templates
from bbparse.errors import ModelError
from bbparse.jit import plain
from bbparse.scoring.compile import compile_templates
from bbparse.scoring.label_kernels import best_labels, label_scores
from bbparse.scoring.marks import NO_MARKS, checked_marks
from bbparse.scoring.scorer import aligned_zeros, checked_heads
from bbparse.storage.archive import INTS, TEXT, Rule

Ints = NDArray[np.int32]

#: What a weight of 1 is worth: 16 bits reach from -8 to 8; trained weights stay between -5 and 5.
LABEL_QUANTUM = 2.0**-12
#: Labels that there may be: there is memory for all of them in each row.
MAX_LABELS = 512
#: Weights in a line of memory.
_PER_LINE = 32

#: Arrays of a model file, with the rules that `read_archive` checks them by.
LABEL_ARRAYS: dict[str, Rule] = {
    "label_names": (TEXT, 1, None),
    "label_root": (INTS, 0, None),
    "label_counts": ("u", 1, None),
    "label_columns": ("u", 1, "label_columns"),
    "label_weights": ("i", 1, "label_columns"),
}


class LabelQuanta(NamedTuple):
    """What a labeller makes of a tree."""

    scores: Ints  #: Of all labels, int32[n_words + 1, width], in quanta.
    heads: Ints  #: int32[n_words + 1], that of the root 0.


class Labeller:
    """Labels the arcs of trees. Nothing changes while it does, so threads may share it.

    Templates have none over the words between (``b.``); labels are sorted, each once; `root` is
    which of them all arcs from word 0 have and no other arc, -1 if there is no such rule.
    `ModelError` or `ConfigError` if they do not fit.

    The `weights` (int16[2**templates.bits, width]) have a column for each label, in quanta of
    `LABEL_QUANTUM`, padded to whole lines of memory; zeros, to be written to. Marks are needed if
    it is `guided`, because templates have atoms of the guide.
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
        self.guided = bool(templates.guide_atoms())
        self._compiled = plain(compile_templates(templates))

    def label(
        self,
        values: NDArray[np.uint64],
        heads: NDArray[np.int32],
        marks: NDArray[np.uint16] | None = None,
    ) -> list[str]:
        """Labels of the arcs of a tree, int[n + 1] heads, that of word i + 1 at position i.

        Marks are a guide's, needed where `guided`. `ProblemError` if values, heads and marks do not
        fit each other, or a head is out of range.
        """
        heads = checked_heads(values, heads)
        marks = checked_marks(marks, len(heads), self.guided)
        return self.best_of(self.quanta(values, heads, marks))

    def quanta(
        self, values: NDArray[np.uint64], heads: NDArray[np.int32], marks: NDArray[np.uint16]
    ) -> LabelQuanta:
        """What `best_of` and `scores_of` take; heads and marks, which a parser has found, are not
        checked."""
        own = heads.copy()  # writable, and without the -1 of the root
        own[0] = 0
        marks = marks if self.guided else NO_MARKS
        scores = label_scores(values, own, self._compiled, marks, self.weights)
        return LabelQuanta(scores, own)

    def best_of(self, quanta: LabelQuanta) -> list[str]:
        """The best label of each arc."""
        labels = self.labels
        return [labels[i] for i in best_labels(*quanta, len(labels), self.root).tolist()]

    def scores_of(self, quanta: LabelQuanta) -> NDArray[np.float64]:
        """Scores float64[n_words, L] of all labels of the arcs of a tree.

        Up to a constant for each word, the logarithm of the label's probability; -inf where the
        rule about the root excludes a label.
        """
        out = quanta.scores[1:, : len(self.labels)] * np.float64(LABEL_QUANTUM)
        if self.root >= 0:
            top, rooted = quanta.heads[1:] == 0, np.arange(len(self.labels)) != self.root
            out[np.equal.outer(top, rooted)] = -np.inf
        return out

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What `from_arrays` reads: the arrays of `LABEL_ARRAYS`, zeros left out."""
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
        """A labeller from the arrays of `to_arrays`, with dtypes as `LABEL_ARRAYS` has them.

        `ModelError`, naming the file `where`, if one is missing or does not fit the others.
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
    """The labels, if a model can have them: some, not too many, sorted, each a word of text."""
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
