"""Scores of grandchildren on demand, behind bounds of their templates (RSM12 §4.3.2).

The weight of a template's feature of a triple (g, p, c) is found by a hash of the attributes around
the three words, and of directions and distances. For any two words, this weight is at most the
largest over all values of the third, and all distances. Sums over templates therefore bound the
scores of all triples over an arc, without scoring any of them.

Templates over tags have few values: their bounds are computed once per model, and again when a
sentence has a new value. For other templates, such as pairs of lemmas, only the values of the
sentence count, which takes O(n^2) as long as they look at two words.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.inference.programs.columns import Columns
from bbparse.models.scoring.compile import AXES, GRANDCHILD, GROUP, ROW, SIZE, compile_templates
from bbparse.models.scoring.kernels import walk_parts
from bbparse.models.scoring.parts import sentence_tables
from bbparse.models.scoring.scorer import PartScorer
from bbparse.models.templates import ARC_ATOMS, TemplateSet
from bbparse.runtime.errors import ConfigError
from bbparse.runtime.jit import plain
from bbparse.treebank.encode import PAD

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint32]
_ROLES = (0, 1, 3)  # columns of g, h and m
#: Most combinations of values whose bounds are cached.
_KEPT = 1 << 18
_NO_WORDS = np.zeros(0, np.int32)
#: Arc atoms of ``+@`` as functions of the directions of h→m and g→h (`AXES`): values are start:end.
_ALSO = {
    "dir": lambda right, below: (right, right + 1),
    "dirdist": lambda right, below: (7 * right, 7 * right + 7),
    "gdir": lambda right, below: (right + 2 * below, right + 2 * below + 1),
}  # fmt: skip


class Largest(NamedTuple):
    """The largest weights of a template, by hashes of the attributes around two words."""

    #: tuple of uint32[V]: sorted hashes around g, h and m.
    values: tuple[Hashes, ...]
    #: int64[2, V_h, V_m]: by the direction of h→m.
    over_grand: Ints
    #: int64[2, V_g, V_h]: by the direction of g→h.
    over_mod: Ints
    #: int64[V_g, V_m].
    over_head: Ints


class DelayedScorer:
    """A model of arcs and grandchildren that scores grandchildren on demand.

    `arcs` is the same model without grandchildren. Raises `ConfigError` if there are templates of
    other parts.
    """

    def __init__(self, scorer: PartScorer) -> None:
        t = scorer.templates
        if not self.takes(t):
            raise ConfigError(
                "only models of arcs and grandchildren score on demand"
            )
        self.arcs = PartScorer(
            replace(t, templates={**t.templates, "grandchild": ()}), scorer.weights, scorer.quantum
        )
        self.scorer = scorer
        self.compiled = compile_templates(t)
        c = self.compiled.parts
        groups = c.groups[slice(*c.walks[GRANDCHILD : GRANDCHILD + 2, GROUP])]
        #: Index of the arc atom of ``+@`` of each template, -1 for none.
        self._also = [int(also) for start, end, also, *_ in groups for _ in range(start, end)]
        self._kept: list[Largest | None] = [None] * len(self._also)

    @staticmethod
    def takes(templates: TemplateSet) -> bool:
        """Return True if there are templates of arcs and grandchildren only."""
        used = {kind for kind, each in templates.templates.items() if each}
        return used == {"arc", "grandchild"}

    def columns(self, values: NDArray[np.uint64]) -> DelayedColumns:
        """Return the triples of an encoded sentence over all its arcs."""
        return DelayedColumns(self, values)

    def bounds(self, table: Hashes) -> NDArray[np.float64]:
        """Bound [p, c] over all g, [g, p] over all c, [g, c] over all p: [3, n + 1, n + 1]."""
        words = len(table) - 1
        place = np.arange(words)
        later = (place[:, None] < place).astype(np.intp)
        over = np.zeros((3, words, words), np.int64)
        for t in range(len(self._also)):
            hashes = [table[:-1, self.compiled.parts.walks[GRANDCHILD, r] + t] for r in _ROLES]
            largest = self._largest(t, hashes)
            g, h, m = (np.searchsorted(v, hashed) for v, hashed in zip(largest.values, hashes))
            over[0] += largest.over_grand[later, h[:, None], m]
            over[1] += largest.over_mod[later, g[:, None], h]
            over[2] += largest.over_head[g[:, None], m]
        return over * np.float64(self.scorer.quantum)

    def _largest(self, t: int, hashes: list[Hashes]) -> Largest:
        """Return the largest weights of a template for a sentence; cache them if they are few."""
        column_values = tuple(np.unique(column) for column in hashes)
        kept = self._kept[t]
        known = column_values
        if kept is not None:
            known = tuple(map(np.union1d, kept.values, column_values))
        if np.prod([len(v) for v in known]) > _KEPT:
            return self._found(t, column_values)
        if kept is None or any(len(a) > len(b) for a, b in zip(known, kept.values)):
            self._kept[t] = kept = self._found(t, known)
        return kept

    def _found(self, t: int, values: tuple[Hashes, ...]) -> Largest:
        c, weights = self.compiled.parts, self.scorer.weights
        g, h, m = values
        plain = g[:, None, None] ^ h[:, None] ^ m
        largest = np.empty((2, AXES[3], *plain.shape), np.int64)
        walk = c.walks[GRANDCHILD]
        rows, steps, size = c.arc_rows[walk[ROW] :], walk[5:10], walk[SIZE]
        for right, below in product(range(2), range(AXES[3])):
            at = {
                int(right * steps[0] + near * steps[1] + below * steps[3] + far * steps[4])
                for near in range(AXES[1]) for far in range(AXES[4])
            }  # fmt: skip
            best = None
            for arcs in np.unique([rows[row * size + t] for row in at]):
                index = plain ^ arcs
                total = weights[index].astype(np.int64)
                if self._also[t] >= 0:
                    name = list(ARC_ATOMS)[self._also[t]]
                    span = _ALSO.get(name, lambda *_, n=name: (0, ARC_ATOMS[n].size))(right, below)
                    total += np.max(
                        [weights[index ^ np.uint32(v + 1)] for v in range(*span)], axis=0
                    )
                best = total if best is None else np.maximum(best, total)
            largest[right, below] = best
        over_mod = largest.max(axis=4)
        between = over_mod[::-1, 2]  # g→h goes the other way than h→m
        return Largest(
            values, largest.max(axis=(1, 2)), np.maximum(over_mod[:, :2].max(axis=0), between),
            largest.max(axis=(0, 1, 3)),
        )  # fmt: skip


class DelayedColumns(Columns):
    """Triples of one encoded sentence over all its arcs."""

    def __init__(self, model: DelayedScorer, values: NDArray[np.uint64]) -> None:
        self._model = model
        self._tables = sentence_tables(values, plain(model.compiled.words))
        size = len(values) - 2 * PAD
        pairs = ~np.eye(size, dtype=np.bool_)
        pairs[:, 0] = False
        super().__init__(pairs, *model.bounds(self._tables[0]))

    def score(self, grand: Ints, head: Ints, mod: Ints) -> NDArray[np.float64]:
        scores = np.empty(len(head))
        if len(head):
            g, h, m = (np.ascontiguousarray(a, np.int32) for a in (grand, head, mod))
            scorer, parts = self._model.scorer, self._model.compiled.parts
            walk_parts(
                GRANDCHILD, (g, h, _NO_WORDS, m), plain(self._tables),
                scorer.weights, scorer.quantum, scores, plain(parts),
            )  # fmt: skip
        return scores
