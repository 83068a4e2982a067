"""Terms: scored conjunctions of arcs that are there and arcs that are not, and their bounds.

Non-projective search has no dynamic program that could hold parts, so parts and factors alike are
terms. A term scores φ when all its literals are true; a literal says that one of a set of arcs into
one word is in the tree (value l = Σ z_e), or that none is (l = 1 - Σ z_e). An adjacent sibling
part, for one, is "head → inner, head → outer, and no head → x for each x between". As l is 0 or 1
and linear in z, the bounds of QL13 §3.2 hold with l in the place of z:

* φ ≥ 0:  φ Π l ≤ Σ_j lam_j l_j             lam_j ≥ 0, Σ_j lam_j = φ
* φ < 0:  φ Π l ≤ -lam (Σ_j l_j - (r - 1))   0 ≤ lam ≤ |φ|, kept in the term's first slot

A weight of -inf needs no stand-in: its lam has no upper limit.

Layout: literal j is "some of the arcs ``lit_arcs[lit_ptr[j] : lit_ptr[j + 1]]``", all into word
``lit_mod[j]``. Term t has the literals ``t_lit[t_ptr[t] : t_ptr[t + 1]]``, negated where ``t_neg``
is 1, with ``lam`` aligned to them. Literals belong to the problem; terms to a node, where they
shrink.
"""

from __future__ import annotations

import numpy as np

from bbparse.bounding.multipliers import project_simplex
from bbparse.jit import kernel

NEG = -np.inf
#: Stands for the infinite gap of a hard constraint that a tree breaks; larger than any honest one.
BROKEN = 1e150


@kernel
def start_terms(n_terms, t_ptr, t_weight, lam):
    """The paper's start: lam uniform for φ ≥ 0, 0 for φ < 0 (QL13 §4.4)."""
    for t in range(n_terms):
        share = max(t_weight[t], 0.0) / (t_ptr[t + 1] - t_ptr[t])
        for i in range(t_ptr[t], t_ptr[t + 1]):
            lam[i] = share


@kernel
def apply_terms(
    n_terms, t_ptr, t_lit, t_neg, t_weight, lam, lit_ptr, lit_arcs, arc_score, arc_abs, info
):
    """Add the multipliers to ``arc_score`` and their magnitudes to ``arc_abs``.

    Returns the bound's constant; ``info[0]`` grows by the magnitudes it was added from.
    """
    constant = 0.0
    for t in range(n_terms):
        lo = t_ptr[t]
        hi = t_ptr[t + 1]
        rising = t_weight[t] >= 0.0
        if not rising:
            if lam[lo] == 0.0:
                continue
            constant += lam[lo] * (hi - lo - 1)
            info[0] += lam[lo] * (hi - lo - 1)
        for i in range(lo, hi):
            x = lam[i] if rising else -lam[lo]
            if x == 0.0:
                continue
            if t_neg[i]:
                constant += x
                info[0] += abs(x)
                x = -x
            for j in range(lit_ptr[t_lit[i]], lit_ptr[t_lit[i] + 1]):
                arc_score[lit_arcs[j]] += x
                arc_abs[lit_arcs[j]] += abs(x)
    return constant


@kernel
def mark_literals(lit_ptr, lit_arcs, chosen, on):
    """``on[j]``: whether the tree marked in ``chosen`` has an arc of literal j."""
    for j in range(on.shape[0]):
        on[j] = 0
        for i in range(lit_ptr[j], lit_ptr[j + 1]):
            on[j] |= chosen[lit_arcs[i]]


@kernel
def score_terms(n_terms, t_ptr, t_lit, t_neg, t_weight, on):
    """Σ φ of the terms all of whose literals are true."""
    score = 0.0
    for t in range(n_terms):
        fires = True
        for i in range(t_ptr[t], t_ptr[t + 1]):
            if on[t_lit[i]] == t_neg[i]:
                fires = False
                break
        if fires:
            score += t_weight[t]
    return score


@kernel
def term_norm(n_terms, t_ptr, t_lit, t_neg, t_weight, lam, on):
    """Squared length of the subgradient, without what the limits of lam cut off."""
    norm = 0.0
    for t in range(n_terms):
        lo = t_ptr[t]
        r = t_ptr[t + 1] - lo
        true = 0
        can_give = False
        for i in range(lo, lo + r):
            if on[t_lit[i]] != t_neg[i]:
                true += 1
                can_give = can_give or lam[i] > 0.0
        if t_weight[t] >= 0.0:
            if can_give and true < r:
                norm += true * (r - true) / r
        else:
            d = true - (r - 1)
            if (d > 0 and lam[lo] < -t_weight[t]) or (d < 0 and lam[lo] > 0.0):
                norm += d * d
    return norm


@kernel
def step_terms(n_terms, t_ptr, t_lit, t_neg, t_weight, lam, on, alpha, scratch):
    """One projected subgradient step of length ``alpha``."""
    for t in range(n_terms):
        lo = t_ptr[t]
        hi = t_ptr[t + 1]
        true = 0
        for i in range(lo, hi):
            true += on[t_lit[i]] != t_neg[i]
        if t_weight[t] >= 0.0:
            if 0 < true < hi - lo:
                for i in range(lo, hi):
                    if on[t_lit[i]] != t_neg[i]:
                        lam[i] -= alpha
                project_simplex(lam, lo, hi, t_weight[t], scratch)
        else:
            d = true - (hi - lo - 1)
            if d != 0:
                lam[lo] = min(max(lam[lo] + alpha * d, 0.0), -t_weight[t])


@kernel
def term_gaps(
    n_terms, t_ptr, t_lit, t_neg, t_weight, lam, on, lit_ptr, lit_arcs, arc_gap
):
    """Factor gaps (QL13 §3.3) added to the arcs of their literals; returns their sum."""
    total = 0.0
    for t in range(n_terms):
        lo = t_ptr[t]
        hi = t_ptr[t + 1]
        true = 0
        gap = 0.0
        for i in range(lo, hi):
            if on[t_lit[i]] != t_neg[i]:
                true += 1
                if t_weight[t] >= 0.0:
                    gap += lam[i]
        if t_weight[t] < 0.0:
            gap = -lam[lo] * (true - (hi - lo - 1))
        if true == hi - lo:
            gap = gap - t_weight[t] if t_weight[t] > NEG else BROKEN
        if gap > 0.0:
            total += gap
            for i in range(lo, hi):
                for j in range(lit_ptr[t_lit[i]], lit_ptr[t_lit[i] + 1]):
                    arc_gap[lit_arcs[j]] += gap
    return total


@kernel
def simplify_terms(
    n_terms, t_ptr, t_lit, t_neg, t_weight, lam, lit_ptr, lit_arcs, lit_mod,
    base, alive, mod_ptr, constant,
):  # fmt: skip
    """Use what is fixed: drop false terms and true literals, in place.

    ``alive[m]`` counts the arcs into word m that are not dead (``base`` -inf). A term left with
    one literal becomes arc score, with none a constant; a hard one left with one literal kills the
    arcs that would make it true. Returns (number of terms, whether arcs died, whether the node is
    infeasible).
    """
    kept = 0
    used = 0
    died = False
    lo = 0
    for t in range(n_terms):
        hi = t_ptr[t + 1]
        weight = t_weight[t]
        start = used
        false = False
        lost = 0.0
        first = lam[lo]
        for i in range(lo, hi):
            j = t_lit[i]
            open_arcs = 0
            for k in range(lit_ptr[j], lit_ptr[j + 1]):
                open_arcs += base[lit_arcs[k]] > NEG
            if 0 < open_arcs < alive[lit_mod[j]]:
                t_lit[used] = j
                t_neg[used] = t_neg[i]
                lam[used] = lam[i]
                used += 1
            elif (open_arcs > 0) != (t_neg[i] == 1):
                lost += lam[i]
            else:
                false = True
                break
        r = used - start
        lo = hi
        if false:
            used = start
        elif r == 0:
            if weight == NEG:
                return kept, died, True
            constant[0] += weight
        elif r == 1:
            used = start
            j = t_lit[start]
            negated = t_neg[start] == 1
            if weight == NEG:
                died = True
                m = lit_mod[j]
                if not negated:  # the arcs of the literal must not be there
                    for k in range(lit_ptr[j], lit_ptr[j + 1]):
                        if base[lit_arcs[k]] > NEG:
                            base[lit_arcs[k]] = NEG
                            alive[m] -= 1
                else:  # one of them must be, and so no other arc into the word
                    for a in range(mod_ptr[m], mod_ptr[m + 1]):
                        inside = False
                        for k in range(lit_ptr[j], lit_ptr[j + 1]):
                            inside = inside or lit_arcs[k] == a
                        if not inside and base[a] > NEG:
                            base[a] = NEG
                            alive[m] -= 1
            else:
                if negated:
                    constant[0] += weight
                    weight = -weight
                for k in range(lit_ptr[j], lit_ptr[j + 1]):
                    base[lit_arcs[k]] += weight
        else:
            if weight < 0.0:
                lam[start] = first
            elif lost > 0.0:
                for i in range(start, used):
                    lam[i] += lost / r
            t_weight[kept] = weight
            kept += 1
            t_ptr[kept] = used
    return kept, died, False
