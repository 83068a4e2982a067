"""From factors to arc scores: the bound of QL13 §3.2 and its multipliers.

A factor c with r arcs and weight φ is bounded by a linear function of its arcs (QL13 eq. 5 and 8).
Multipliers are kept scaled by |φ|, as ``lam``, so that they are themselves arc scores:

* φ ≥ 0:  φ z_c ≤ Σ_e lam_e z_e            lam_e ≥ 0, Σ_e lam_e = φ
* φ < 0:  φ z_c ≤ -lam (Σ_e z_e - (r - 1))  0 ≤ lam ≤ |φ|, kept in the factor's first slot

(``lam = φ p`` in the paper's terms.) Kernels take the factors of a node as a
:class:`bbparse.inference.relaxation.state.NodeFactors`.
"""

from __future__ import annotations

import numpy as np

from bbparse.runtime.arrays import NEG, Float64s, Longs
from bbparse.runtime.jit import kernel


@kernel
def copy_into(target, source):
    """Copy a vector into one of the same length.

    ``target[:] = source`` raises an error that names both shapes if they differ. Numba compiles the
    code of that message into each kernel with such an assignment, and into all callers: 2,700
    lines of LLVM IR in a kernel that has 400 lines without.
    """
    for i in range(source.shape[0]):
        target[i] = source[i]


@kernel
def project_simplex(values, lo, hi, total, scratch):
    """Project ``values[lo:hi]`` in place onto {x ≥ 0, Σ x = total}, in Euclidean distance.

    Uses sorting (Duchi et al. 2008, Figure 1). ``scratch`` holds at least ``hi - lo`` floats.
    """
    r = hi - lo
    if r == 2:  # closed form: most factors are pairs
        shift = (total - values[lo] - values[lo + 1]) * 0.5
        x = values[lo] + shift
        x = min(max(x, 0.0), total)
        values[lo] = x
        values[lo + 1] = total - x
        return
    for i in range(r):  # insertion sort, falling; factors are short
        x = values[lo + i]
        j = i
        while j > 0 and scratch[j - 1] < x:
            scratch[j] = scratch[j - 1]
            j -= 1
        scratch[j] = x
    running = 0.0
    theta = 0.0
    for i in range(r):
        running += scratch[i]
        candidate = (running - total) / (i + 1)
        if scratch[i] >= candidate:
            theta = candidate
    for i in range(lo, hi):
        values[i] = max(values[i] - theta, 0.0)


def start_multipliers(ptr: Longs, weight: Float64s, lam: Float64s) -> None:
    """Initialize multipliers as the paper: p uniform for φ ≥ 0, p¹ = 0 for φ < 0 (QL13 §4.4)."""
    sizes = np.diff(ptr)
    lam[:] = np.repeat(np.maximum(weight, 0.0) / sizes, sizes)


@kernel
def apply_multipliers(base, factors, arc_score):
    """Fill ``arc_score`` with base scores plus multipliers; return the bound's constant."""
    ptr, arcs, weight, lam, size = factors
    copy_into(arc_score, base)
    constant = 0.0
    for c in range(size[0]):
        lo, hi = ptr[c], ptr[c + 1]
        if weight[c] >= 0.0:
            for i in range(lo, hi):
                arc_score[arcs[i]] += lam[i]
        elif lam[lo] > 0.0:
            x = lam[lo]
            for i in range(lo, hi):
                arc_score[arcs[i]] -= x
            constant += x * (hi - lo - 1)
    return constant


@kernel
def subgradient_norm(factors, chosen):
    """Return the squared norm of the subgradient of the factors' bound at the tree ``chosen``.

    Components that leave the simplex or cross active bounds are removed. The norm is 0 if every
    factor's bound is exact at the tree.
    """
    ptr, arcs, weight, lam, size = factors
    norm = 0.0
    for c in range(size[0]):
        lo, hi = ptr[c], ptr[c + 1]
        r = hi - lo
        on = 0
        for i in range(lo, hi):
            on += chosen[arcs[i]]
        if weight[c] >= 0.0:
            if 0 < on < r:
                # arcs that can still give: those on with lam > 0
                for i in range(lo, hi):
                    if chosen[arcs[i]] == 1 and lam[i] > 0.0:
                        norm += on * (r - on) / r
                        break
        else:
            d = on - (r - 1)
            if (d > 0 and lam[lo] < -weight[c]) or (d < 0 and lam[lo] > 0.0):
                norm += d * d
    return norm


@kernel
def step_subgradient(factors, chosen, alpha, scratch):
    """Take one projected subgradient step at the tree ``chosen``, in the space of arc scores.

    If ``alpha`` is the gap divided by the squared norm of the whole subgradient, this is Polyak's
    step, which does not depend on the scale.
    """
    ptr, arcs, weight, lam, size = factors
    for c in range(size[0]):
        lo, hi = ptr[c], ptr[c + 1]
        phi = weight[c]
        on = 0
        for i in range(lo, hi):
            on += chosen[arcs[i]]
        if phi >= 0.0:
            if 0 < on < hi - lo:
                for i in range(lo, hi):
                    lam[i] -= alpha * chosen[arcs[i]]
                project_simplex(lam, lo, hi, phi, scratch)
        elif on != hi - lo - 1:
            lam[lo] = min(max(lam[lo] + alpha * (on - (hi - lo - 1)), 0.0), -phi)


@kernel
def factor_gaps(factors, chosen, arc_gap):
    """Sum factor gaps G_c onto arcs, G_e = Σ_{c∋e} G_c (QL13 §3.3).

    The gap of a factor is its bound at the tree ``chosen`` minus its score.
    """
    ptr, arcs, weight, lam, size = factors
    arc_gap[:] = 0.0
    for c in range(size[0]):
        lo, hi = ptr[c], ptr[c + 1]
        on, gap = 0, 0.0
        for i in range(lo, hi):
            if chosen[arcs[i]] == 1:
                on += 1
                gap += lam[i]
        if weight[c] < 0.0:
            gap = -lam[lo] * (on - (hi - lo - 1))
        if on == hi - lo:
            gap -= weight[c]
        if gap > 0.0:
            for i in range(lo, hi):
                arc_gap[arcs[i]] += gap


@kernel
def choices_of(n_words, arc_mod, base):
    """Return the number of alive arcs into each word, int32[n + 1]."""
    alive = np.zeros(n_words + 1, np.int32)
    for a in range(base.shape[0]):
        if base[a] > NEG:
            alive[arc_mod[a]] += 1
    return alive


@kernel
def simplify_factors(n_words, arc_mod, base, factors, constant, hard):  # noqa: C901 – one pass over sets, in place
    """Simplify factors in place: drop those with a dead arc, remove required arcs from others.

    An arc is dead if ``base`` is -inf, and required if no other arc into its word is alive. A
    factor with one arc left becomes an arc score; a factor with no arc left becomes a constant. A
    factor of weight ``-hard`` ("never together") with one arc left kills that arc. Returns False if
    the node is infeasible: some word has no arc left, or a hard factor must fire.
    """
    ptr, arcs, weight, lam, size = factors
    alive = choices_of(n_words, arc_mod, base)
    changed = True
    while changed:
        changed = False
        for m in range(1, n_words + 1):
            if alive[m] == 0:
                return False
        kept = used = lo = 0
        for c in range(size[0]):
            hi, phi, start, first = ptr[c + 1], weight[c], used, lam[lo]
            dead, lost = False, 0.0
            for i in range(lo, hi):
                a = arcs[i]
                if base[a] == NEG:
                    dead = True
                    break
                if alive[arc_mod[a]] == 1:
                    lost += lam[i]
                else:
                    arcs[used] = a
                    lam[used] = lam[i]
                    used += 1
            r, lo = used - start, hi
            if dead or r < 2:
                used = start
            if dead:
                continue
            if r == 0:
                if phi <= -hard:
                    return False
                constant[0] += phi
                continue
            if r == 1:
                a = arcs[start]
                if phi <= -hard:
                    base[a] = NEG
                    alive[arc_mod[a]] -= 1
                    changed = True
                else:
                    base[a] += phi
                continue
            if phi < 0.0:
                lam[start] = first
            elif lost > 0.0:
                for i in range(start, used):
                    lam[i] += lost / r
            weight[kept] = phi
            kept += 1
            ptr[kept] = used
        size[0] = kept
    return True
