"""One sentence of a batch: its trees as vectors over the scores that they add up."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from bbparse.core import Problem, Solution
from bbparse.core.score import broken_constraint, fired_factors, fired_parts
from bbparse.core.tree import arcs_of, heads_of
from bbparse.inference.oracles.nonprojective.matrix_tree import matrix_tree
from bbparse.inference.oracles.projective.recurrences import part_kinds, recurrence_for
from bbparse.inference.oracles.projective.sums import TreeChart, log_sum, tree_chart
from bbparse.inference.solve import solve
from bbparse.runtime.arrays import Float64s, Ints, Longs
from bbparse.runtime.errors import ProblemError


class ScoredSentence:
    """A problem whose arcs are sorted by head and modifier, with its place in a batch.

    Vectors float64[C] have one element for each arc, sibling, grandchild and factor, in this order;
    ``rows`` int64[C] are their indices in the flat scores of the batch. The vector of a tree is 1
    where it fires, and its score is ``vector @ scores``.
    """

    def __init__(self, problem: Problem, rows: Longs) -> None:
        p = self.problem = problem
        self.rows, self.n_arcs = rows, len(p.arc_head)
        ends = np.cumsum([self.n_arcs, len(p.sib_score), len(p.gc_score)])
        self._kinds = [slice(a, b) for a, b in zip([0, *ends], [*ends, len(rows)])]
        self._hard = p.factor_score == -np.inf
        factors = np.where(self._hard, 0.0, p.factor_score)  # they fire in no tree
        self.scores = np.concatenate([p.arc_score, p.sib_score, p.gc_score, factors])

    def solve(self, scores: Float64s, k: int = 1) -> Solution:
        """Return the proved k best trees under other scores."""
        arc, sib, gc, factor = (scores[kind].copy() for kind in self._kinds)
        factor[self._hard] = -np.inf
        problem = self.problem.changed(
            arc_score=arc, sib_score=sib, gc_score=gc, factor_score=factor
        )
        solution = solve(problem, k_best=k)
        if not len(solution.heads):
            raise ProblemError(f"there is no tree: {'; '.join(solution.conflict)}")
        return solution

    def vector(self, arcs: Ints) -> Float64s:
        """Return the vector of the tree of these arcs, one for each word."""
        p, vector = self.problem, np.zeros(len(self.rows))
        vector[arcs] = 1.0
        if len(vector) > self.n_arcs:
            sib, gc, *_ = fired_parts(p, heads_of(p, arcs))
            vector[self._kinds[1]], vector[self._kinds[2]] = sib, gc
            vector[self._kinds[3]][fired_factors(p, arcs[np.newaxis])[0]] = 1.0
        return vector

    def best(self, scores: Float64s) -> Float64s:
        """Return the vector of the best tree."""
        return self.vector(self.solve(scores).arcs[0])

    def gold(self, heads: Longs) -> Float64s:
        """Return the vector of a given tree, int64[n + 1]; ProblemError if it is not feasible."""
        arcs = arcs_of(self.problem, heads)
        if broken := broken_constraint(self.problem, arcs):
            raise ProblemError(f"the tree is not among those of the layer: {broken}")
        return self.vector(arcs)

    @cached_property
    def _chart(self) -> tuple[TreeChart, list[Longs]]:
        """Chart of all trees, and for siblings and grandchildren their indices in it."""
        p = self.problem
        mode, size = recurrence_for(p, None).mode, p.n_words + 2
        head, mod = p.arc_head.copy(), p.arc_mod.copy()
        chart = TreeChart(*tree_chart(p.n_words, head, mod, mode, p.single_root))
        places = []
        sib, gc, *_ = p.parts
        for part, known in (
            ((sib.head, sib.inner, sib.mod), chart.sib),
            ((gc.grand, gc.head, gc.mod), chart.gc),
        ):
            keys, wanted = (
                ((words[0].astype(np.int64) + 1) * size + words[1] + 1) * size + words[2]
                for words in (known, part)
            )
            order = np.argsort(keys)
            found = np.append(order, len(order))[np.searchsorted(keys[order], wanted)]
            # parts of no tree are put behind the last one, which nothing reads
            absent = np.append(keys, -1)[found] != wanted
            places.append(np.where(absent, len(keys), found))
        return chart, places

    def log_sum(self, scores: Float64s) -> tuple[float, Float64s]:
        """Return the log of the sum of exp(score) over all trees, and the marginals."""
        p = self.problem
        if len(p.factor_score) or (part_kinds(p) and not p.projective):
            raise ProblemError(
                "sums over trees with factors, or with crossing arcs and parts, cannot be computed"
                " exactly; best trees can: hinge_loss, sparse_map_loss"
            )
        arc, sib, gc, _ = (scores[kind] for kind in self._kinds)
        if not p.projective:
            matrix = np.full((p.n_words + 1,) * 2, -np.inf)
            matrix[p.arc_head, p.arc_mod] = arc
            marginal = np.zeros_like(matrix)
            total = matrix_tree(matrix, p.single_root, marginal)
            marginals = marginal[p.arc_head, p.arc_mod]
        else:
            chart, places = self._chart
            values = [np.zeros(words.shape[1] + 1) for words in (chart.sib, chart.gc)]
            for value, place, part_scores in zip(values, places, (sib, gc)):
                np.add.at(value, place, part_scores)
            gradients = [np.zeros(self.n_arcs), *map(np.zeros_like, values)]
            has_tree = len(chart.item_group) > 1
            total = log_sum(tuple(chart), arc.copy(), *values, *gradients) if has_tree else -np.inf
            parts = [part[place] for part, place in zip(gradients[1:], places)]
            marginals = np.concatenate([gradients[0], *parts])
        if total == -np.inf:
            raise ProblemError("there is no tree")
        return float(total), marginals
