"""Bounding one node of the non-projective search in one jitted call.

As :mod:`bbparse.bounding.node` does for projective trees (QL13 §3.2): the bound is the best tree
under arc scores plus multipliers, lowered by projected subgradient steps of Polyak's length; every
tree that is met is tried as an incumbent. The dynamic program is Edmonds', whose reduced scores
say after each call which arcs are in no better tree.

Arcs lie by modifier (``mod_ptr``). A node is its live arcs (``base`` not -inf), what is left of the
terms (:mod:`bbparse.bounding.terms`), and multipliers; count factors
(:mod:`bbparse.bounding.valency`) never shrink. Trees are scored from the arrays of the whole
problem, so that a tree has one score whichever node meets it.
"""

from __future__ import annotations

import numpy as np

from bbparse.bounding.copying import copy_into
from bbparse.bounding.incumbents import insert_tree
from bbparse.bounding.terms import (
    BROKEN,
    apply_terms,
    mark_literals,
    score_terms,
    simplify_terms,
    step_terms,
    term_gaps,
    term_norm,
)
from bbparse.bounding.valency import (
    apply_valencies,
    fix_by_valencies,
    score_valencies,
    step_valencies,
    valency_gaps,
    valency_norm,
)
from bbparse.jit import kernel
from bbparse.oracle.nonprojective.arborescence import best_arborescence

NEG = -np.inf
EPSILON = 2.220446049250313e-16
#: Where all scores are 0 there is no rounding error, but ties are still to be closed.
TINY = 1e-280

#: No tree of the node would change the k best; branch on an arc; the node's best tree is known.
CLOSED, OPEN, SOLVED = 0, 1, 2


@kernel
def score_tree(
    tree, arc_score, t_ptr, t_lit, t_neg, t_weight, lit_ptr, lit_arcs,
    c_ptr, c_arcs, c_score_ptr, c_score, chosen, on,
):  # fmt: skip
    """φ of a tree from the arrays of the whole problem; marks ``chosen`` arcs, ``on`` literals."""
    chosen[:] = 0
    score = 0.0
    for a in tree:
        chosen[a] = 1
        score += arc_score[a]
    mark_literals(lit_ptr, lit_arcs, chosen, on)
    score += score_terms(t_weight.shape[0], t_ptr, t_lit, t_neg, t_weight, on)
    return score + score_valencies(c_ptr, c_arcs, c_score_ptr, c_score, chosen)


@kernel
def _simplify(
    n_words, mod_ptr, arc_mod, base, alive, sizes, t_ptr, t_lit, t_neg, t_weight, lam,
    lit_ptr, lit_arcs, lit_mod, c_ptr, c_arcs, c_score_ptr, c_score, constant,
):  # fmt: skip
    """Follow up what is fixed until nothing changes; whether the node may have a tree."""
    while True:
        for m in range(1, n_words + 1):
            alive[m] = 0
            for a in range(mod_ptr[m], mod_ptr[m + 1]):
                alive[m] += base[a] > NEG
            if alive[m] == 0:
                return False
        count, died, infeasible = simplify_terms(
            sizes[0], t_ptr, t_lit, t_neg, t_weight, lam, lit_ptr, lit_arcs, lit_mod,
            base, alive, mod_ptr, constant,
        )  # fmt: skip
        if infeasible:
            return False
        sizes[0] = count
        more, infeasible = fix_by_valencies(
            c_ptr, c_arcs, c_score_ptr, c_score, arc_mod, mod_ptr, base, alive
        )
        if infeasible:
            return False
        if not died and not more:
            return True


@kernel
def bound_node(
    single_root, mod_ptr, arc_head, arc_mod, lit_ptr, lit_arcs, lit_mod,
    c_ptr, c_arcs, c_score_ptr, c_score,
    root_base, root_ptr, root_lit, root_neg, root_weight,
    base, t_ptr, t_lit, t_neg, t_weight, lam, c_lam, sizes, constant,
    trees, scores, count, max_calls, eliminate_every, quantum, typical,
    tree, counters, out,
):  # fmt: skip
    """Bound a node, in place.

    Parameters
    ----------
    single_root : bool
    mod_ptr, arc_head, arc_mod
        Arcs, by modifier.
    lit_ptr, lit_arcs, lit_mod
        Literals of the problem.
    c_ptr, c_arcs, c_score_ptr, c_score
        Count factors of the problem, arcs ascending in each set.
    root_base, root_ptr, root_lit, root_neg, root_weight
        Arc scores and terms of the whole problem.
    base, t_ptr, t_lit, t_neg, t_weight, lam, c_lam
        Arc scores (-inf: dead), terms and multipliers of the node.
    sizes : int64[1]
        Number of terms.
    constant : float64[1]
        Score that every tree of the node has beside these.
    trees, scores, count
        The k best trees so far (:mod:`bbparse.bounding.incumbents`).
    max_calls, eliminate_every
        Most calls of Edmonds' algorithm; elimination after the first and then every so many (0:
        never); least step.
    quantum : float
        All tree scores are integer multiples of it; 0: not known.
    typical : float
        Size of a term's weight, for the first steps.
    tree : int32[n]
        Out: the tree under the best bound; with SOLVED, the node's best tree.
    counters : float64[2]
        Calls and trees tried; added to.
    out : float64[3]
        Out: bound, branching arc (-1: none), rounding error that the bound may have.

    Returns
    -------
    int
        CLOSED, OPEN or SOLVED.
    """
    n = tree.shape[0]
    n_arcs = base.shape[0]
    k = scores.shape[0]
    out[0] = NEG
    out[1] = -1.0
    out[2] = 0.0
    alive = np.zeros(n + 1, np.int64)
    if not _simplify(
        n, mod_ptr, arc_mod, base, alive, sizes, t_ptr, t_lit, t_neg, t_weight, lam,
        lit_ptr, lit_arcs, lit_mod, c_ptr, c_arcs, c_score_ptr, c_score, constant,
    ):  # fmt: skip
        return CLOSED
    arc_score = np.empty(n_arcs)
    arc_abs = np.empty(n_arcs)
    reduced = np.empty(n_arcs)
    chosen = np.zeros(n_arcs, np.int8)
    on = np.zeros(lit_mod.shape[0], np.int8)
    copy = np.zeros(c_arcs.shape[0], np.int8)
    longest = 2
    for t in range(sizes[0]):
        longest = max(longest, t_ptr[t + 1] - t_ptr[t])
    scratch = np.empty(longest)
    info = np.zeros(1)
    largest = np.zeros(1)
    current = np.empty(n, np.int32)
    best_lam = lam.copy()
    best_c_lam = c_lam.copy()
    best_bound = np.inf
    known = False  # whether `tree` belongs to best_lam
    previous = np.inf
    mild = 1.0
    call = -1
    while True:
        call += 1
        copy_into(arc_score, base)
        for a in range(n_arcs):
            arc_abs[a] = abs(base[a]) if base[a] > NEG else 0.0
        info[0] = abs(constant[0])
        shift = constant[0] + apply_terms(
            sizes[0], t_ptr, t_lit, t_neg, t_weight, lam, lit_ptr, lit_arcs, arc_score, arc_abs,
            info,
        )  # fmt: skip
        shift += apply_valencies(
            c_ptr, c_arcs, c_score_ptr, c_score, arc_mod, base, alive, c_lam, copy, arc_score,
            arc_abs, info,
        )  # fmt: skip
        if shift == NEG:
            return CLOSED
        value = best_arborescence(
            mod_ptr, arc_head, arc_score, single_root, current, reduced, largest
        )
        counters[0] += 1.0
        if value == NEG:
            return CLOSED
        bound = value + shift
        # Rounding errors come from the numbers that were added, not from their sum; arcs that
        # are merely very bad are in no sum that matters.
        cancelled = 0.0
        for a in range(n_arcs):
            if base[a] > NEG:
                cancelled = max(cancelled, arc_abs[a] - abs(arc_score[a]))
        reach = 0.0
        for a in current:
            reach += abs(arc_score[a])
        slack = 64.0 * EPSILON * (info[0] + reach + n * (cancelled + largest[0])) + TINY
        score = score_tree(
            current, root_base, root_ptr, root_lit, root_neg, root_weight, lit_ptr, lit_arcs,
            c_ptr, c_arcs, c_score_ptr, c_score, chosen, on,
        )  # fmt: skip
        counters[1] += 1.0
        if score > NEG:
            insert_tree(trees, scores, count, current, score, np.inf)
        out[2] = slack
        floor = NEG
        if count[0] == k:
            floor = scores[k - 1] + (quantum - slack if quantum > 2.0 * slack else slack)
        out[0] = min(best_bound, bound)
        if out[0] < floor:
            return CLOSED
        if bound <= best_bound or not known:
            best_bound = min(bound, best_bound)
            copy_into(best_lam, lam)
            copy_into(best_c_lam, c_lam)
            copy_into(tree, current)
            known = True
        if bound - score <= slack:
            copy_into(tree, current)
            return SOLVED if k > 1 else CLOSED
        died = False
        if eliminate_every > 0 and call % eliminate_every == 0:
            for a in range(n_arcs):
                if base[a] > NEG and (reduced[a] == NEG or bound + reduced[a] < floor):
                    base[a] = NEG
                    died = True
            if died:
                if not _simplify(
                    n, mod_ptr, arc_mod, base, alive, sizes, t_ptr, t_lit, t_neg, t_weight, lam,
                    lit_ptr, lit_arcs, lit_mod, c_ptr, c_arcs, c_score_ptr, c_score, constant,
                ):  # fmt: skip
                    return CLOSED
                copy_into(best_lam, lam)
                copy_into(best_c_lam, c_lam)
                known = False
        if call + 1 >= max_calls:
            if died:  # look once more, so that `tree` belongs to what is alive
                continue
            break
        if bound > previous:
            mild *= 0.7
        previous = bound
        norm = term_norm(sizes[0], t_ptr, t_lit, t_neg, t_weight, lam, on) + valency_norm(
            c_arcs, copy, chosen
        )
        if norm == 0.0:
            if died:
                continue
            break
        # A step goes as far as the best tree may be away, but not by a huge penalty's size.
        gap = reach + typical
        if count[0] > 0:
            gap = min(gap, bound - scores[min(k, count[0]) - 1])
        alpha = mild * max(gap, slack) / norm
        step_terms(sizes[0], t_ptr, t_lit, t_neg, t_weight, lam, on, alpha, scratch)
        step_valencies(c_arcs, c_lam, copy, chosen, alpha)

    copy_into(lam, best_lam)
    copy_into(c_lam, best_c_lam)
    chosen[:] = 0
    for a in tree:
        chosen[a] = 1
    mark_literals(lit_ptr, lit_arcs, chosen, on)
    arc_gap = np.zeros(n_arcs)
    term_gaps(sizes[0], t_ptr, t_lit, t_neg, t_weight, lam, on, lit_ptr, lit_arcs, arc_gap)
    valency_gaps(
        c_ptr, c_arcs, c_score_ptr, c_score, arc_mod, base, alive, c_lam, chosen, BROKEN, arc_gap
    )
    widest = 0.0
    for a in range(n_arcs):
        if base[a] > NEG and alive[arc_mod[a]] > 1 and arc_gap[a] > widest:
            widest = arc_gap[a]
            out[1] = a
    if out[1] < 0.0:  # no gap on any free arc: split on the widest choice
        options = 1
        for a in range(n_arcs):
            if base[a] > NEG and alive[arc_mod[a]] > options:
                options = alive[arc_mod[a]]
                out[1] = a
    return OPEN if out[1] >= 0.0 else CLOSED  # closed: that one tree was all
