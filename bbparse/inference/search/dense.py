"""Best trees of problems that have arcs only, and nearly all of them: Eisner's algorithm.

One pass over a score matrix finds the best tree; no bound is needed. A sparse chart costs more, if
there are many arcs.
"""

from __future__ import annotations

import numpy as np

from bbparse.core import Problem
from bbparse.inference.oracles.projective.dense import eisner
from bbparse.inference.search.packed import (
    HEADS,
    TREES,
    TURN,
    Size,
    Written,
    alive_arcs,
    named,
    problem_at,
)
from bbparse.inference.search.rescore import add_up
from bbparse.runtime.arrays import NEG
from bbparse.runtime.clock import now
from bbparse.runtime.jit import kernel


def is_dense(problem: Problem) -> bool:
    """Return True if a problem has arcs only, and so many that a sparse chart costs more."""
    return (
        4 * len(problem.arc_head) >= problem.n_words**2
        and len(problem.factor_ptr) == len(problem.count_ptr) == 1
        and problem.arc_label is None
    )


@kernel
def _matrix(n, arcs):
    """Return the scores of `alive_arcs` and their numbers, by head and modifier."""
    table, place = np.full((n + 1, n + 1), NEG), np.zeros((n + 1, n + 1), np.int32)
    for a in alive_arcs(n, arcs):
        h, m = arcs.head[a], arcs.mod[a]
        table[h, m], place[h, m] = arcs.score[a], a
    return table, place


@kernel
def call_dense(packed, start, until, written):
    """Find the best tree of each of some packed problems from ``start`` on.

    The plain tuples are those of `inference.search.root.call_projective`. The score of a problem
    is NaN if its time, or the time ``until``, is over before. Returns the number of the problem
    after the last one.
    """
    packed, written = named(packed), Written(*written)
    begun = now()
    for s in range(start, packed.sizes.shape[0]):
        started = now()
        row = packed.sizes[s]
        size = Size(row[0], row[1], row[2], row[3], row[4], row[5])
        n, at = size.n_words, packed.ptr[s, HEADS]
        tree = packed.ptr[s, TREES]
        arcs = problem_at(packed, s).arcs
        table, place = _matrix(n, arcs)
        own = min(until, started + packed.allowed[s, 1])
        heads, total = eisner(table, size.single_root == 1, own)
        scores = np.zeros(n)
        written.heads[at] = -1
        for m in range(1, n + 1):
            h = heads[m]
            a = place[h, m] if total > NEG else np.int32(0)
            written.heads[at + m], written.arcs[at - tree + m - 1] = h, a
            if total > NEG:
                scores[m - 1] = arcs.score[a]
        exact = written.scores[3 * tree : 3 * tree + 3]
        exact[0], exact[1], exact[2] = add_up(scores)
        told = written.told[s]
        told[:] = 0.0
        told[0], told[1], told[2] = 1.0, 1.0, 1.0
        told[5], told[6] = exact[0] if total == total else np.inf, 1.0 if total > NEG else 0.0
        told[7], told[8] = started, now()
        if told[8] - begun > TURN:
            return s + 1
    return packed.sizes.shape[0]
