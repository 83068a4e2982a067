"""`LinearScorer`: scores of arcs and parts as sums of weights of their features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bbparse.core.parts import PART_NAMES, pair_keys
from bbparse.inference.search.rescore import tree_parts
from bbparse.models.scoring.batch_kernels import part_words
from bbparse.models.scoring.candidates import all_arcs
from bbparse.models.scoring.features import compile_templates, find_features, score_parts
from bbparse.models.templates import KINDS, TemplateSet
from bbparse.runtime.arrays import Float64s, Hashes, Ints, Longs
from bbparse.treebank.encode import PAD

#: Numbers of the kinds of part (`KINDS`).
ARC, SIBLING, GRANDCHILD, OUTERMOST, GRANDSIBLING = range(len(KINDS))
_NONE = np.zeros(0, np.int32)

Weights = NDArray[np.int32]
Words = tuple[Ints, Ints, Ints, Ints]
"""Grandparents, heads, inner siblings and modifiers of parts; empty for a role they lack."""


class Features:
    """Feature templates, ready for kernels."""

    def __init__(self, templates: TemplateSet) -> None:
        self.templates = templates
        self.compiled = tuple(compile_templates(templates))
        #: Numbers of the kinds that have templates.
        self.kinds = [k for k, kind in enumerate(KINDS) if templates.templates[kind]]

    def of_parts(self, values: Hashes, parts: Words, kind: int) -> tuple[Longs, Longs]:
        """Return the features of parts of a kind: the part of each feature, and its index."""
        ends, indices = find_features(values, parts, kind, self.compiled)
        return np.repeat(np.arange(len(ends) - 1), np.diff(ends)), indices

    def of_tree(self, values: Hashes, heads: Ints) -> Longs:
        """Return the indices of all features of a tree, int32[n + 1] heads."""
        tree = heads.copy()  # writable, and without the -1 of the root
        tree[0] = 0
        rows = [self.of_parts(values, parts_of(tree, kind), kind)[1] for kind in self.kinds]
        return np.concatenate([np.zeros(0, np.int64), *rows])


class LinearScorer:
    """The linear model over arcs, siblings, grandchildren and grand-siblings.

    Scoring changes nothing in the scorer, so threads may share it. Weights (int32[2**bits], zeros
    by default) are in units of `quantum`; they may be changed in place between calls.
    """

    def __init__(
        self, templates: TemplateSet, weights: Weights | None = None, quantum: float = 1.0
    ) -> None:
        self.templates = templates
        self.weights = np.zeros(1 << templates.bits, np.int32) if weights is None else weights
        self.quantum = float(quantum)
        self.features = Features(templates)

    def score(
        self, values: Hashes, arc_head: Ints, arc_mod: Ints, projective: bool = True,
        single_root: bool = True,
    ) -> dict[str, NDArray[Any]]:
        """Score candidate arcs and all parts that they can form.

        Arcs, int32[A], must be unique and sorted by (head, mod); this is not checked. Parts that no
        tree contains (projective, or with a single root, as requested) are left out.

        Returns fields of a `bbparse.Problem`: the scores of arcs, and the kinds of part that have
        templates, in the order of `batch_kernels.part_words`.
        """
        head, mod = (np.require(array, requirements="W") for array in (arc_head, arc_mod))
        kinds, n = self.features.kinds, len(values) - 2 * PAD - 1
        _, siblings, _, grandchildren = part_words(
            np.array([0, len(head)]), head, mod, np.array([n + 1]), np.zeros(1, np.int64),
            projective, single_root,
        )
        inner_parts = _NONE, *siblings[:3]
        outer_parts = grandchildren[0], grandchildren[1], _NONE, grandchildren[2]
        fields = {"arc_score": self._scores(values, (_NONE, head, _NONE, mod), ARC)}
        for kind, name, parts in (
            (SIBLING, "sib", inner_parts), (GRANDCHILD, "gc", outer_parts),
            (OUTERMOST, "ogc", outer_parts), (GRANDSIBLING, "gsib", ()),
        ):
            if kind in kinds:
                parts = parts or grandsiblings(siblings, grandchildren, mod[head == 0])
                words = [column for column in parts if column is not _NONE]
                fields.update(zip(PART_NAMES[name], (*words, self._scores(values, parts, kind))))
        return fields

    def _scores(self, values: Hashes, parts: Words, kind: int) -> Float64s:
        compiled = self.features.compiled
        return score_parts(values, parts, kind, compiled, self.weights, self.quantum)

    def score_all_arcs(self, values: Hashes, reach: int | None = None) -> Float64s:
        """Score all arcs by the arc templates alone, float64[n + 1, n + 1].

        Arcs into the root and from a word to itself score -inf, and with `reach` those from other
        words than the root that are longer.
        """
        n = len(values) - 2 * PAD - 1
        head, mod = all_arcs(n, n if reach is None else reach)
        square = np.full((n + 1, n + 1), -np.inf)
        square[head, mod] = self._scores(values, (_NONE, head, _NONE, mod), ARC)
        return square


def grandsiblings(siblings: Ints, grandchildren: Ints, root_mods: Ints) -> Words:
    """Join the siblings and grandchildren of `part_words` that have the same arc h → m.

    Siblings under the root, of which ``root_mods`` are the candidate modifiers, have no grandparent
    (-1). Sorted by (head, modifier, inner, grandparent).
    """
    chains = np.zeros((3, len(root_mods)), np.int32)
    chains[0], chains[2] = -1, root_mods
    chains = np.concatenate([chains, grandchildren[:3]], axis=1)
    n = int(siblings[2].max(initial=0))
    keys = pair_keys(n, chains[1], chains[2])
    wanted = pair_keys(n, siblings[0], siblings[2])
    first = np.searchsorted(keys, wanted)
    counts = np.searchsorted(keys, wanted, "right") - first
    of_sibling = np.repeat(np.arange(len(wanted)), counts)
    offsets = first - np.cumsum(counts) + counts
    grand = chains[0, np.arange(len(of_sibling)) + offsets[of_sibling]]
    head, inner, mod = siblings[:3, of_sibling]
    kept = (inner < 0) | (inner != grand)
    return grand[kept], head[kept], inner[kept], mod[kept]


def parts_of(heads: Ints, kind: int) -> Words:
    """Return the parts of a kind in a tree, int32[n + 1] heads, of which heads[0] is 0."""
    grand, inner, outermost = tree_parts(heads)
    mod = np.arange(len(heads), dtype=np.int32)
    chosen = mod > 0
    if kind in (GRANDCHILD, OUTERMOST):
        chosen &= heads > 0
    if kind == OUTERMOST:
        chosen &= outermost.astype(np.bool_)
    has_grand, has_inner = kind >= GRANDCHILD, kind in (SIBLING, GRANDSIBLING)
    return (
        grand[chosen] if has_grand else _NONE, heads[chosen],
        inner[chosen] if has_inner else _NONE, mod[chosen],
    )


def difference(added: Longs, removed: Longs) -> tuple[Longs, Longs]:
    """Return the multiset difference of two lists of feature indices.

    Returns indices, ascending and unique, and by how much each is more frequent in `added`, never
    0.
    """
    signs = np.repeat([1, -1], [len(added), len(removed)])
    indices, inverse = np.unique(np.concatenate([added, removed]), return_inverse=True)
    counts = np.bincount(inverse, signs, len(indices)).astype(np.int64)
    kept = counts != 0
    return indices[kept].astype(np.int64), counts[kept]
