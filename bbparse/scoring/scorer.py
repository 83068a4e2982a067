"""`PartScorer`: feature templates and weights, as scores of arcs and parts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bbparse.configuration.templates import KINDS, TemplateSet
from bbparse.errors import ModelError, ProblemError
from bbparse.jit import plain
from bbparse.problem.parts import PART_NAMES
from bbparse.scoring.candidates import all_arcs, likely_arcs, score_all_arcs, score_candidates
from bbparse.scoring.compile import SIZE, compile_templates
from bbparse.scoring.kernels import walk_parts
from bbparse.scoring.parts import parts_not_in, sentence_tables
from bbparse.treebank.encode import ATTRIBUTES, PAD

# Writable, as every array is that a kernel sees: read-only ones are types of their own to numba,
# and would cost a second compilation.
_NO_WORDS = np.zeros(0, dtype=np.int32)
_NO_SCORES = np.zeros(0, dtype=np.float64)
_NO_WEIGHTS = np.zeros(1, dtype=np.int8)

Weights = NDArray[np.int8] | NDArray[np.int16] | NDArray[np.int32]

#: What weights may be; learning takes 32 bits, a model that is loaded as few as will do.
WEIGHT_TYPES = (np.int8, np.int16, np.int32)

#: Bytes of a line of memory, which holds both weights of a template with ``+@``.
_LINE = 64


def aligned_zeros(size: int, dtype: DTypeLike = np.int32) -> NDArray[Any]:
    """Zeros that start on a line of memory, so that paired weights lie in one line."""
    n_bytes = size * np.dtype(dtype).itemsize
    raw = np.zeros(n_bytes + _LINE, dtype=np.uint8)
    offset = -raw.ctypes.data % _LINE
    return raw[offset : offset + n_bytes].view(dtype)


class PartScorer:
    """The linear model over arcs, siblings, grandchildren and grand-siblings.

    Scores depend on nothing that a call changes, so one scorer serves any number of threads.
    Weights (int32[2**bits], or narrower, see `bbparse.model.file`; zeros by default) are in
    quanta, of which `quantum` says what one is worth; they are used as they are, without a copy, if
    they are contiguous. Both may be changed between calls, the weights in place. `ModelError` if
    weights have another size or dtype.
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
        #: Numbers of the walks that there are templates of.
        self._walks = np.flatnonzero(compiled.parts.walks[:, SIZE]).tolist()
        #: Numbers and names of the kinds of part that there are templates of.
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
        """Scores of candidate arcs and of all parts that they can form.

        Arcs, int32[A], come once each, sorted by (head, mod), unchecked. Left out are parts that no
        tree contains, projective or with a single root as asked for.

        Returns fields of a `bbparse.Problem`: the scores of arcs, and the kinds of part that there
        are templates of, sorted by (head, outer, inner, grand) as `candidates.enumerate_parts`
        says. Outermost grandchildren share the words of grandchildren.
        """
        arcs = (np.require(array, requirements="W") for array in (arc_head, arc_mod))
        sib, gc, gsib, scores, start = score_candidates(
            values, *arcs, projective, single_root, self.weights, self.quantum,
            self._compiled,
        )  # fmt: skip
        ends = start.tolist()
        own = [scores[first:end] for first, end in pairwise(ends)]
        _, *own_sib = sib
        grand, head, _, mod = gc
        words = {
            "sib": own_sib, "gc": (grand, head, mod), "ogc": (grand, head, mod), "gsib": gsib
        }  # fmt: skip
        fields = {"arc_score": own[0]}
        for number, name in self._kinds:
            fields.update(zip(PART_NAMES[name], (*words[name], own[number])))
        return fields

    def score_all_arcs(self, values: NDArray[np.uint64]) -> NDArray[np.float64]:
        """Scores float64[n + 1, n + 1] of all arcs, by the arc templates alone.

        -inf for arcs into the root and of a word to itself.
        """
        n = len(values) - 2 * PAD - 1
        return score_all_arcs(values, self.weights, self.quantum, self._compiled, n)

    def likely_arcs(
        self, values: NDArray[np.uint64], k: int, margin: float, single_root: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """See `candidates.likely_arcs`."""
        return likely_arcs(
            k, margin, single_root, values, self.weights, self.quantum, self._compiled
        )

    def features_of_all_arcs(
        self, values: NDArray[np.uint64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
        """Every arc, sorted by (head, mod), and its features int64[A, F].

        `ModelError` if arc templates look at the words between: arcs then differ in their features'
        number.
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
        """Feature counts of one tree, int[n + 1] heads, minus those of another.

        Only parts that the trees do not share are looked at. Without others, all features of a
        tree: ``(weights[indices] * counts).sum() * quantum`` is its score.
        Returns indices int64[D], ascending, each once, and counts int64[D], none 0; `ProblemError`
        if a tree does not fit the sentence.
        """
        heads = checked_heads(values, heads)
        word_templates, part_templates = self._compiled
        tables = plain(sentence_tables(values, word_templates))
        compared = others is not None
        trees = [heads, heads if others is None else checked_heads(values, others)]
        found: list[list[NDArray[np.int64]]] = [[], []]
        for features, own, other in zip(found, trees, reversed(trees)):
            features.append(np.zeros(0, np.int64))
            for walk in self._walks if compared or features is found[0] else ():
                parts = plain(parts_not_in(own, other, walk, compared))
                features.append(
                    walk_parts(
                        walk, parts, tables, _NO_WEIGHTS, 0.0, _NO_SCORES, part_templates
                    )
                )
        return difference(*map(np.concatenate, found))


def difference(
    added: NDArray[np.int64], removed: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Multiset difference of two lists of feature indices.

    Returns indices int64[D], ascending, each once, and how many times more each is in `added`, not
    0.
    """
    signs = np.repeat([1, -1], [len(added), len(removed)])
    indices, inverse = np.unique(np.concatenate([added, removed]), return_inverse=True)
    counts = np.bincount(inverse, signs, len(indices)).astype(np.int64)
    kept = counts != 0
    return indices[kept].astype(np.int64), counts[kept]


def checked_heads(values: NDArray[np.uint64], heads: NDArray[np.int32]) -> NDArray[np.int32]:
    """A copy of heads as kernels may read them: in range, 0 at position 0, and writable.

    `ProblemError` if values and heads do not fit each other, or a head is out of range.
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
