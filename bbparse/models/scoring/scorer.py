"""`PartScorer`: scores of arcs and parts from feature templates and weights."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bbparse.core.parts import PART_NAMES
from bbparse.models.scoring.candidates import (
    all_arcs,
    likely_arcs,
    score_all_arcs,
    score_candidates,
)
from bbparse.models.scoring.compile import SIZE, compile_templates
from bbparse.models.scoring.kernels import walk_parts
from bbparse.models.scoring.parts import parts_not_in, sentence_tables
from bbparse.models.templates import KINDS, TemplateSet
from bbparse.runtime.errors import ModelError, ProblemError
from bbparse.runtime.jit import plain
from bbparse.treebank.encode import ATTRIBUTES, PAD

# Writable, as every array that kernels see: numba gives read-only arrays types of their own,
# which would cost a second compilation.
_NO_WORDS = np.zeros(0, dtype=np.int32)
_NO_SCORES = np.zeros(0, dtype=np.float64)
_NO_WEIGHTS = np.zeros(1, dtype=np.int8)

Weights = NDArray[np.int8] | NDArray[np.int16] | NDArray[np.int32]

#: Types of weights: training takes 32 bits, a loaded model as few as possible.
WEIGHT_TYPES = (np.int8, np.int16, np.int32)

#: Bytes of a line of memory, which holds both weights of a template with ``+@``.
_LINE = 64


def aligned_zeros(size: int, dtype: DTypeLike = np.int32) -> NDArray[Any]:
    """Return zeros that start on a line of memory, so that paired weights share a line."""
    n_bytes = size * np.dtype(dtype).itemsize
    raw = np.zeros(n_bytes + _LINE, dtype=np.uint8)
    offset = -raw.ctypes.data % _LINE
    return raw[offset : offset + n_bytes].view(dtype)


class PartScorer:
    """The linear model over arcs, siblings, grandchildren and grand-siblings.

    Scoring changes nothing in the scorer, so threads may share it. Weights (int32[2**bits], or
    narrower, see `models.model_file`; zeros by default) are in units of `quantum`. Contiguous ones
    are used without a copy. Both may be changed between calls, the weights in place. Raises
    `ModelError` if weights have another size or dtype.
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
        compiled = compile_templates(templates)
        self._compiled = plain(compiled)
        #: Indices into `WALKS` of the template groups that are not empty.
        self._walks = np.flatnonzero(compiled.parts.walks[:, SIZE]).tolist()
        #: Indices and names of the kinds of part that have templates.
        self._kinds = [
            (number, name)
            for number, (name, kind) in enumerate(zip(("arc", *PART_NAMES), KINDS))
            if number and templates.templates[kind]
        ]

    def with_weights(self, weights: Weights) -> PartScorer:
        return PartScorer(self.templates, weights, self.quantum)

    def score(
        self,
        values: NDArray[np.uint64],
        arc_head: NDArray[np.int32],
        arc_mod: NDArray[np.int32],
        projective: bool = True,
        single_root: bool = True,
    ) -> dict[str, NDArray[Any]]:
        """Score candidate arcs and all parts that they can form.

        Arcs, int32[A], must be unique and sorted by (head, mod); this is not checked. Parts that no
        tree contains (projective, or with a single root, as requested) are left out.

        Returns fields of a `bbparse.Problem`: the scores of arcs, and the kinds of part that have
        templates, sorted by (head, outer, inner, grand) as in `candidates.enumerate_parts`.
        Outermost grandchildren share the words of grandchildren.
        """
        arcs = (np.require(array, requirements="W") for array in (arc_head, arc_mod))
        (sib, gc, gsib), scores, start = score_candidates(
            values, *arcs, projective, single_root, self.weights, self.quantum,
            self._compiled,
        )  # fmt: skip
        ends = start.tolist()
        kind_scores = [scores[first:end] for first, end in pairwise(ends)]
        _, *sib_words = sib
        grand, head, _, mod = gc
        words = {
            "sib": sib_words, "gc": (grand, head, mod), "ogc": (grand, head, mod), "gsib": gsib
        }  # fmt: skip
        fields = {"arc_score": kind_scores[0]}
        for number, name in self._kinds:
            fields.update(zip(PART_NAMES[name], (*words[name], kind_scores[number])))
        return fields

    def score_all_arcs(self, values: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Score all arcs by the arc templates alone, float64[n + 1, n + 1].

        Arcs into the root and from a word to itself score -inf.
        """
        n = len(values) - 2 * PAD - 1
        return score_all_arcs(values, self.weights, self.quantum, self._compiled, n)

    def likely_arcs(
        self, values: NDArray[np.uint64], k: int, margin: float, single_root: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the pruned arcs; see `candidates.likely_arcs`."""
        return likely_arcs(
            k, margin, single_root, values, self.weights, self.quantum, self._compiled
        )

    def features_of_all_arcs(
        self, values: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Return every arc, sorted by (head, mod), and its features int64[A, F].

        Raises `ModelError` if arc templates look at the words between: arcs would then have
        different numbers of features.
        """
        if any(template.slot("b") for template in self.templates.templates["arc"]):
            raise ModelError("arc templates with 'b.' give arcs different numbers of features")
        n = len(values) - 2 * PAD - 1
        head, mod = all_arcs(n, n)
        words, parts = self._compiled
        tables = plain(sentence_tables(values, words))
        indices = walk_parts(
            0, (_NO_WORDS, head, _NO_WORDS, mod), tables, _NO_WEIGHTS, 0.0, _NO_SCORES,
            parts,
        )  # fmt: skip
        return head, mod, indices.reshape(len(head), -1)

    def tree_difference(
        self,
        values: NDArray[np.uint64],
        heads: NDArray[np.int32],
        others: NDArray[np.int32] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the feature counts of one tree, int[n + 1] heads, minus those of another.

        Only parts that the trees do not share are evaluated. Without others, all features of a tree
        count: ``(weights[indices] * counts).sum() * quantum`` is then its score.

        Returns indices int64[D], ascending and unique, and counts int64[D], none 0. Raises
        `ProblemError` if a tree does not fit the sentence.
        """
        heads = checked_heads(values, heads)
        word_templates, part_templates = self._compiled
        tables = plain(sentence_tables(values, word_templates))
        compared = others is not None
        trees = [heads, heads if others is None else checked_heads(values, others)]
        sides_of: list[list[NDArray[np.int64]]] = [[], []]
        for features, tree, other in zip(sides_of, trees, reversed(trees)):
            features.append(np.zeros(0, np.int64))
            for walk in self._walks if compared or features is sides_of[0] else ():
                parts = plain(parts_not_in(tree, other, walk, compared))
                features.append(
                    walk_parts(
                        walk, parts, tables, _NO_WEIGHTS, 0.0, _NO_SCORES, part_templates
                    )
                )
        return difference(*map(np.concatenate, sides_of))


def difference(
    added: NDArray[np.int64], removed: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the multiset difference of two lists of feature indices.

    Returns indices int64[D], ascending and unique, and by how much each is more frequent in
    `added`, never 0.
    """
    signs = np.repeat([1, -1], [len(added), len(removed)])
    indices, inverse = np.unique(np.concatenate([added, removed]), return_inverse=True)
    counts = np.bincount(inverse, signs, len(indices)).astype(np.int64)
    kept = counts != 0
    return indices[kept].astype(np.int64), counts[kept]


def checked_heads(values: NDArray[np.uint64], heads: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a copy of heads that kernels can read: in range, 0 at position 0, writable.

    Raises `ProblemError` if values and heads do not fit each other, or a head is out of range.
    """
    n = len(values) - 2 * PAD - 1
    if values.ndim != 2 or n < 0 or values.shape[1] != len(ATTRIBUTES):
        raise ProblemError(f"values: found shape {values.shape}, expected that of an encoding")
    if np.shape(heads) != (n + 1,):
        raise ProblemError(f"heads: found shape {np.shape(heads)}, expected {(n + 1,)}")
    checked = np.array(heads, np.int32)
    checked[0] = 0
    if checked.min() < 0 or checked.max() > n:
        m = int(np.flatnonzero((checked < 0) | (checked > n))[0])
        raise ProblemError(f"heads[{m}] is {checked[m]}, expected 0 to {n}")
    return checked
