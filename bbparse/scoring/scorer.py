"""`PartScorer`: feature templates and weights, as scores of arcs and parts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration.templates import KINDS, TemplateSet
from bbparse.errors import ModelError
from bbparse.problem.parts import PART_NAMES
from bbparse.scoring.candidates import likely_arcs, score_all_arcs, score_candidates
from bbparse.scoring.compile import compile_templates
from bbparse.scoring.kernels import walk_parts
from bbparse.scoring.parts import PartWords, all_arcs, parts_not_in
from bbparse.scoring.tables import SentenceTables, sentence_tables
from bbparse.scoring.weights import WEIGHT_TYPES, Weights, aligned_zeros
from bbparse.treebank.encode import PAD

# Writable, as every array is that a kernel sees: read-only ones are types of their own to numba,
# and would cost a second compilation.
_NO_WORDS = np.zeros(0, dtype=np.int32)
_NO_SCORES = np.zeros(0, dtype=np.float64)
_NO_WEIGHTS = np.zeros(1, dtype=np.int8)
_NO_MARKS = np.zeros((1, 1), dtype=np.uint16)

Marks = NDArray[np.uint16]


class PartScorer:
    """The linear model over arcs, siblings, grandchildren and grand-siblings.

    Scores depend on nothing that a call changes, so one scorer serves any number of threads.

    Parameters
    ----------
    templates : TemplateSet
        The features.
    weights : int32[2**templates.bits], optional
        Weights in integer quanta, as int8 or int16 if they fit (`bbparse.scoring.weights`); used
        as they are, without a copy, if they are contiguous. Zeros by default.
    quantum : float
        What a weight of 1 is worth.

    Attributes
    ----------
    weights : int32[2**templates.bits], or narrower
        May be changed in place between calls.
    quantum : float
        May be set between calls.

    Raises
    ------
    ModelError
        If the weights have another size or dtype.
    """

    def __init__(
        self,
        templates: TemplateSet,
        weights: Weights | None = None,
        quantum: float = 1.0,
    ) -> None:
        size = 1 << templates.bits
        if weights is None:
            weights = aligned_zeros(size)
        elif weights.shape != (size,) or weights.dtype not in WEIGHT_TYPES:
            raise ModelError(
                f"weights have shape {weights.shape} and dtype {weights.dtype},"
                f" expected {(size,)} and int32"
            )
        self.templates = templates
        self.weights: NDArray[Any] = np.ascontiguousarray(weights)
        self.quantum = float(quantum)
        self._guided = bool(templates.guide_atoms())
        self._compiled = compile_templates(templates)
        #: Numbers and names of the kinds of part that there are templates of.
        self._kinds = [
            (number, name)
            for number, (name, kind) in enumerate(zip(("arc", *PART_NAMES), KINDS))
            if number and templates.templates[kind]
        ]

    def with_weights(self, weights: Weights) -> PartScorer:
        """The same with other weights."""
        return PartScorer(self.templates, weights, self.quantum)

    def score(
        self,
        values: NDArray[np.uint64],
        arc_head: NDArray[np.int32],
        arc_mod: NDArray[np.int32],
        projective: bool = True,
        single_root: bool = True,
        marks: Marks | None = None,
    ) -> dict[str, NDArray[Any]]:
        """Scores of candidate arcs and of all parts that they can form.

        Parameters
        ----------
        values : uint64[n_words + 1 + 2 * PAD, len(ATTRIBUTES)]
            The sentence, as `encode` gives it.
        arc_head, arc_mod : int32[A]
            Candidate arcs, each once, sorted by (head, mod). Not checked.
        projective, single_root : bool
            Leave out parts that no such tree contains.
        marks : uint16[n_words + 1, n_words + 1], optional
            What the guide says of the arcs; needed where templates have atoms of the guide.

        Returns
        -------
        dict of arrays
            Fields of a `bbparse.Problem`: the scores of arcs, and the kinds of part that there are
            templates of. Parts are sorted by (head, outer, inner, grand); see
            `candidates.enumerate_parts`. Outermost grandchildren share the words of grandchildren.

        Raises
        ------
        ValueError
            If marks are needed and not given, or of another size.
        """
        sib, gc, gsib, scores, start = score_candidates(
            values, PAD, arc_head, arc_mod, projective, single_root, self._marks(values, marks),
            self.weights, self.quantum, self._compiled,
        )  # fmt: skip
        ends = start.tolist()
        own = [scores[first:end] for first, end in pairwise(ends)]
        words = {"sib": sib, "gc": gc, "ogc": gc, "gsib": gsib}
        fields = {"arc_score": own[0]}
        for number, name in self._kinds:
            fields.update(zip(PART_NAMES[name], (*words[name], own[number])))
        return fields

    def _marks(self, values: NDArray[np.uint64], marks: Marks | None) -> Marks:
        if not self._guided:
            return _NO_MARKS
        size = len(values) - 2 * PAD
        if marks is None:
            raise ValueError("marks are missing: templates have atoms of the guide")
        if marks.shape != (size, size):
            raise ValueError(f"marks has shape {marks.shape}, expected {(size, size)}")
        return marks

    def score_all_arcs(self, values: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Scores of all arcs by the arc templates alone.

        Returns
        -------
        float64[n_words + 1, n_words + 1]
            scores[h, m]; -inf for arcs into the root and of a word to itself.
        """
        self._marks(values, None)
        n = len(values) - 2 * PAD - 1
        return score_all_arcs(values, PAD, self.weights, self.quantum, self._compiled, n)

    def likely_arcs(
        self, values: NDArray[np.uint64], k: int, margin: float, single_root: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """See `candidates.likely_arcs`."""
        self._marks(values, None)
        return likely_arcs(
            k, margin, single_root, values, PAD, self.weights, self.quantum, self._compiled
        )

    def features_of_all_arcs(
        self, values: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Every arc of a sentence and its features, for templates without a role ``b``.

        Returns
        -------
        arc_head, arc_mod : int32[A]
            All arcs, sorted by (head, mod).
        indices : int64[A, F]
            The features of each arc.

        Raises
        ------
        ModelError
            If arc templates look at the words between: arcs then differ in their features' number.
        """
        if any(template.slot("b") for template in self.templates.templates["arc"]):
            raise ModelError("arc templates with 'b.' give arcs different numbers of features")
        n = len(values) - 2 * PAD - 1
        head, mod = all_arcs(n, n)
        indices = walk_parts(
            0, 0, 3, PartWords(_NO_WORDS, head, _NO_WORDS, mod),
            sentence_tables(values, PAD, self._compiled.words), self._marks(values, None),
            _NO_WEIGHTS, 0.0, _NO_SCORES, self._compiled.parts,
        )  # fmt: skip
        return head, mod, indices.reshape(len(head), -1)

    def _checked(self, values: NDArray[np.uint64], heads: NDArray[np.int32]) -> NDArray[np.int32]:
        n = len(values) - 2 * PAD - 1
        # A copy: a row of a `Solution` is read-only, and so of another type to numba.
        heads = np.array(heads, dtype=np.int32, order="C")
        if heads.shape != (n + 1,):
            raise ValueError(f"heads has shape {heads.shape}, expected {(n + 1,)}")
        if n and not (heads[1:].min() >= 0 and heads[1:].max() <= n):
            raise ValueError(f"heads[1:] has values outside 0..{n}")
        return heads

    def tree_features(
        self,
        values: NDArray[np.uint64],
        heads: NDArray[np.int32],
        marks: Marks | None = None,
    ) -> NDArray[np.int64]:
        """Indices of all features that fire in a tree, one entry for each time they do.

        Parameters
        ----------
        values : uint64[n_words + 1 + 2 * PAD, len(ATTRIBUTES)]
            The sentence, as `encode` gives it.
        heads : int[n_words + 1]
            heads[m] is the head of word m; heads[0] is not read.
        marks : uint16[n_words + 1, n_words + 1], optional
            As for `score`.

        Returns
        -------
        int64[number of features]
            ``weights[indices].sum() * quantum`` is the score of the tree.

        Raises
        ------
        ValueError
            If `heads` has another length, a head is out of range, or marks are missing.
        """
        heads = self._checked(values, heads)
        marks = self._marks(values, marks)
        tables = sentence_tables(values, PAD, self._compiled.words)
        return self._features(tables, marks, heads, heads, False)

    def tree_difference(
        self,
        values: NDArray[np.uint64],
        heads: NDArray[np.int32],
        others: NDArray[np.int32],
        marks: Marks | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Feature counts of one tree minus those of another.

        The same as ``difference(tree_features(heads), tree_features(others))``, but only parts
        that the trees do not share are looked at.

        Returns
        -------
        indices : int64[D]
            Ascending, each once.
        counts : int64[D]
            Never 0.

        Raises
        ------
        ValueError
            As `tree_features`.
        """
        heads = self._checked(values, heads)
        others = self._checked(values, others)
        marks = self._marks(values, marks)
        tables = sentence_tables(values, PAD, self._compiled.words)
        return difference(
            self._features(tables, marks, heads, others, True),
            self._features(tables, marks, others, heads, True),
        )

    def _features(
        self,
        tables: SentenceTables,
        marks: Marks,
        heads: NDArray[np.int32],
        others: NDArray[np.int32],
        compare: bool,
    ) -> NDArray[np.int64]:
        found = [np.zeros(0, np.int64)]
        for number, kind in enumerate(KINDS):
            if self.templates.templates[kind]:
                parts = parts_not_in(heads, others, number, compare)
                found.append(
                    walk_parts(
                        number, 0, 3, parts, tables, marks, _NO_WEIGHTS, 0.0, _NO_SCORES,
                        self._compiled.parts,
                    )
                )  # fmt: skip
        return np.concatenate(found)


def difference(
    added: NDArray[np.int64], removed: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Multiset difference of two lists of feature indices.

    Returns
    -------
    indices : int64[D]
        Ascending, each once.
    counts : int64[D]
        How many times more an index is in `added` than in `removed`; never 0.
    """
    signs = np.repeat([1, -1], [len(added), len(removed)])
    indices, inverse = np.unique(np.concatenate([added, removed]), return_inverse=True)
    counts = np.bincount(inverse, signs, len(indices)).astype(np.int64)
    kept = counts != 0
    return indices[kept].astype(np.int64), counts[kept]
