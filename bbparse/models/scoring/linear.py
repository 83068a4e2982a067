"""`LinearScorer`: scores of arcs and parts as sums of weights of their features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.core.parts import PART_NAMES, pair_keys
from bbparse.models.scoring.batch_kernels import QUANTUM, candidate_arcs, part_words
from bbparse.models.scoring.candidates import LONG, REACH, Pairs, all_arcs
from bbparse.models.scoring.features import GRAND, HEAD, INNER, MOD, ROLES, Features, as_parts
from bbparse.models.templates import KINDS, TemplateSet
from bbparse.runtime.arrays import Float64s, Hashes, Ints
from bbparse.treebank.encode import PAD

_TOGETHER = 4096  # parts whose features are in memory at the same time


class LinearScorer:
    """The linear model over arcs, siblings, grandchildren and grand-siblings.

    Weights (int32[2**bits]) are in units of `QUANTUM` and may be changed in place between calls.
    """

    def __init__(self, templates: TemplateSet, weights: Ints | None = None) -> None:
        self.templates = templates
        self.weights = np.zeros(1 << templates.bits, np.int32) if weights is None else weights
        self.features = Features(templates)

    def score(
        self,
        values: Hashes,
        arc_head: Ints,
        arc_mod: Ints,
        projective: bool = True,
        single_root: bool = True,
    ) -> dict[str, NDArray[Any]]:
        """Score candidate arcs and all parts that trees can form of them: fields of a `Problem`.

        Arcs, int32[A], are sorted by (head, mod); kinds of part as in `batch_kernels.part_words`.
        """
        head, mod = (np.require(array, requirements="W") for array in (arc_head, arc_mod))
        (_, sib), (_, gc) = part_words(
            np.array([0, len(head)]),
            head,
            mod,
            np.array([len(values) - 2 * PAD]),
            np.zeros(1, np.int64),
            projective,
            single_root,
        )
        siblings = as_parts(sib[0], sib[2], inner=sib[1])
        grandchildren = as_parts(gc[1], gc[2], grand=gc[0])
        fields = {"arc_score": self._scores(values, as_parts(head, mod), "arc")}
        for kind, name in (
            ("sibling", "sib"),
            ("grandchild", "gc"),
            ("outermost_grandchild", "ogc"),
            ("grandsibling", "gsib"),
        ):
            if kind not in self.features.kinds:
                continue
            parts = siblings if kind == "sibling" else grandchildren
            if kind == "grandsibling":
                under_root = mod[head == 0]
                chains = as_parts(np.zeros_like(under_root), under_root), grandchildren
                parts = _joined(siblings, np.concatenate(chains, axis=1))
            words = parts[[ROLES.index(role) for role in KINDS[kind]]]
            fields.update(zip(PART_NAMES[name], (*words, self._scores(values, parts, kind))))
        return fields

    def _scores(self, values: Hashes, parts: Ints, kind: str) -> Float64s:
        """Score parts of a kind, float64[P]."""
        scores = np.zeros(parts.shape[1])
        for first in range(0, len(scores) if kind in self.features.kinds else 0, _TOGETHER):
            some = slice(first, first + _TOGETHER)
            owner, indices = self.features.of_parts(values, parts[:, some], kind)
            scores[some] = np.bincount(owner, self.weights[indices], len(scores[some]))
        return scores * QUANTUM

    def candidates(self, values: Hashes, k: int, margin: float, single_root: bool) -> Pairs:
        """Return the candidate arcs of a sentence; see `BatchScores.candidates`."""
        n = len(values) - 2 * PAD - 1
        if k == 0:
            return all_arcs(n, n)
        scores = self.score_all_arcs(values, n if n <= LONG else REACH)
        size = np.array([n + 1])
        _, head, mod = candidate_arcs(scores.ravel(), size, k, margin, single_root)
        return head, mod

    def score_all_arcs(self, values: Hashes, reach: int | None = None) -> Float64s:
        """Score all arcs, at most `reach` long, by their own templates: float64[n + 1, n + 1]."""
        n = len(values) - 2 * PAD - 1
        head, mod = all_arcs(n, n if reach is None else reach)
        square = np.full((n + 1, n + 1), -np.inf)
        square[head, mod] = self._scores(values, as_parts(head, mod), "arc")
        return square


def _joined(siblings: Ints, grandchildren: Ints) -> Ints:
    """Return the grand-siblings, sorted: siblings and grandchildren with the same arc h → m."""
    n = int(siblings[MOD].max(initial=0))
    keys, wanted = (pair_keys(n, parts[HEAD], parts[MOD]) for parts in (grandchildren, siblings))
    first = np.searchsorted(keys, wanted)
    counts = np.searchsorted(keys, wanted, side="right") - first
    of_sibling = np.repeat(np.arange(len(wanted)), counts)
    of_grandchild = np.arange(len(of_sibling)) + (first - np.cumsum(counts) + counts)[of_sibling]
    parts = siblings[:, of_sibling]
    parts[GRAND] = grandchildren[GRAND, of_grandchild]
    return parts[:, (parts[INNER] < 0) | (parts[INNER] != parts[GRAND])]
