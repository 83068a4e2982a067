"""Bounds for count factors: a count factor scores the number of arcs of its set in the tree.

For a set c of r arcs with scores f(0..r) and any real multipliers lam,

    f(|c ∩ y|) ≤ Σ_e lam_e z_e + max_k ( f(k) - the sum of the k smallest lam )

by Lagrangian relaxation of a copy of the arc variables; the inner maximum over subsets needs one
sort. OR of arcs and valencies (QL13 §5.1) are tables of this kind, and so are at-most-one,
at-least-one and connected spans, with f = -inf where a number is not allowed.

Kernels take the count factors of a node as a `inference.relaxation.state.NodeCounts`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bbparse.inference.relaxation.multipliers import choices_of
from bbparse.inference.relaxation.state import NodeCounts
from bbparse.runtime.arrays import NEG, Float64s
from bbparse.runtime.jit import kernel


def start_counts(tables: Sequence[Float64s]) -> Float64s:
    """Return the first multipliers of sets: the score of the last arc if no other scores less.

    They are exact for linear tables; for others they are 0.
    """
    lam = [np.zeros(max(0, len(table) - 1)) for table in tables]
    for own, table in zip(lam, tables):
        steps = np.diff(table[table > NEG])
        if len(steps) and steps[-1] == steps.min():
            own[:] = steps[-1]
    return np.concatenate([np.empty(0), *lam])


def largest_counts(counts: NodeCounts) -> Float64s:
    """Return the largest magnitude of the scores of each set, of which a tree has one."""
    sizes = np.where(counts.score > NEG, np.abs(counts.score), 0.0)
    return np.maximum.reduceat(sizes, counts.score_ptr[:-1]) if len(sizes) else sizes


@kernel
def best_copy(counts, c, copy):
    """Maximize f(k) minus the k smallest multipliers of a set; mark their arcs in ``copy``."""
    lo, hi, start = counts.ptr[c], counts.ptr[c + 1], counts.score_ptr[c]
    lam, score = counts.lam, counts.score
    order = np.argsort(lam[lo:hi])
    best = score[start]
    best_k = 0
    paid = 0.0
    for k in range(1, hi - lo + 1):
        paid += lam[lo + order[k - 1]]
        if score[start + k] - paid > best:
            best = score[start + k] - paid
            best_k = k
    for k in range(hi - lo):
        copy[lo + order[k]] = 1 if k < best_k else 0
    return best


@kernel
def apply_counts(counts, copy, arc_score):
    """Add the multipliers of all sets to ``arc_score``; return the bound's constant."""
    constant = 0.0
    for c in range(counts.size[0]):
        for i in range(counts.ptr[c], counts.ptr[c + 1]):
            arc_score[counts.arcs[i]] += counts.lam[i]
        constant += best_copy(counts, c, copy)
    return constant


@kernel
def count_score_of(counts, chosen):
    """Return Σ_c f(|c ∩ y|) for the tree y marked in ``chosen``."""
    total = 0.0
    for c in range(counts.size[0]):
        on = 0
        for i in range(counts.ptr[c], counts.ptr[c + 1]):
            on += chosen[counts.arcs[i]]
        total += counts.score[counts.score_ptr[c] + on]
    return total


@kernel
def disagreement(counts, copy, chosen):
    """Return the squared norm of the subgradient z - copy over all sets."""
    norm = 0.0
    for i in range(counts.ptr[counts.size[0]]):
        if chosen[counts.arcs[i]] != copy[i]:
            norm += 1.0
    return norm


@kernel
def step_counts(counts, copy, chosen, alpha):
    """Take a subgradient step, lam ← lam - alpha (z - copy)."""
    for i in range(counts.ptr[counts.size[0]]):
        counts.lam[i] -= alpha * (chosen[counts.arcs[i]] - copy[i])


@kernel
def count_gaps(counts, copy, chosen, hard, arc_gap):
    """Add the gap of every set, bound minus score, to its arcs."""
    ptr, arcs, lam = counts.ptr, counts.arcs, counts.lam
    for c in range(counts.size[0]):
        gap = best_copy(counts, c, copy)
        on = 0
        for i in range(ptr[c], ptr[c + 1]):
            if chosen[arcs[i]] == 1:
                on += 1
                gap += lam[i]
        value = counts.score[counts.score_ptr[c] + on]
        gap = hard if value == NEG else gap - value
        if gap > 0.0:
            for i in range(ptr[c], ptr[c + 1]):
                arc_gap[arcs[i]] += gap


@kernel
def require_arc(arc, arc_mod, base, alive):
    """Require an arc: remove all other arcs into its modifier."""
    m = arc_mod[arc]
    for a in range(base.shape[0]):
        if a != arc and arc_mod[a] == m and base[a] > NEG:
            base[a] = NEG
            alive[m] -= 1


@kernel
def _fix_arcs(arcs, required, arc_mod, base, alive):
    """Require all of some arcs, or forbid them; return False if one that is required is dead."""
    for a in arcs:
        if base[a] == NEG:
            if required:
                return False
        elif required:
            require_arc(a, arc_mod, base, alive)
        else:
            base[a] = NEG
            alive[arc_mod[a]] -= 1
    return True


@kernel
def _move_table(score, start, to, size):
    """Move a table forward; return its first and last allowed number, and if all scores are equal.

    The numbers are -1 if none is allowed.
    """
    least, most, flat = -1, -1, True
    for k in range(size):
        value = score[start + k]
        score[to + k] = value
        flat = flat and value == score[to]
        if value > NEG:
            least = k if least < 0 else least
            most = k
    return least, most, flat


@kernel
def simplify_counts(n_words, arc_mod, base, counts, constant):
    """Simplify count factors in place, and fix arcs for which a table leaves no choice.

    Dead and required arcs (see `inference.relaxation.multipliers.simplify_factors`) are removed
    from their sets. A set with one arc left becomes an arc score; a set with no arc left, or with a
    constant table, becomes a constant. Returns 0 if a table rules out every tree, 2 if arcs died,
    and 1 otherwise.
    """
    ptr, arcs, lam = counts.ptr, counts.arcs, counts.lam
    score_ptr, score = counts.score_ptr, counts.score
    alive = choices_of(n_words, arc_mod, base)
    died = False
    changed = True
    while changed:
        changed = False
        kept = used = filled = lo = start = 0
        for c in range(counts.size[0]):
            hi, next_start = ptr[c + 1], score_ptr[c + 1]
            first, shift = used, 0
            for i in range(lo, hi):
                a = arcs[i]
                if base[a] == NEG:
                    continue
                if alive[arc_mod[a]] == 1:
                    shift += 1
                else:
                    arcs[used] = a
                    lam[used] = lam[i]
                    used += 1
            r = used - first
            least, most, flat = _move_table(score, start + shift, filled, r + 1)
            lo, start = hi, next_start
            if least < 0:
                return 0
            if flat or r == 1 or most == 0 or least == r:  # the set is not needed any more
                used = first
                if flat:
                    constant[0] += score[filled]
                elif most == 0 or least == r:
                    members = arcs[first : first + r]
                    if not _fix_arcs(members, least == r, arc_mod, base, alive):
                        return 0
                    constant[0] += score[filled + most]
                    changed = died = True
                else:
                    base[arcs[first]] += score[filled + 1] - score[filled]
                    constant[0] += score[filled]
                continue
            kept += 1
            filled += r + 1
            ptr[kept] = used
            score_ptr[kept] = filled
        counts.size[0] = kept
        for m in range(1, n_words + 1):
            if alive[m] == 0:
                return 0
    return 2 if died else 1
