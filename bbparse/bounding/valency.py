"""Bounds for count factors in non-projective search, word by word.

A count factor scores f(k) when k arcs of its set are in the tree. Its arcs lie by modifier, and of
those into one word at most one is in the tree, so that with any real multipliers lam

    f(|c ∩ y|) ≤ Σ_e lam_e z_e + max_k ( f(k) - the least that k words can pay )

where a word pays the smallest lam of its live arcs in the set, and words whose live arcs all are in
the set must pay. (Lagrangian relaxation of a copy of the arc variables that keeps "one head a
word".) The sets do not shrink: words that have become fixed are seen at each call.
"""

from __future__ import annotations

import numpy as np

from bbparse.jit import kernel

NEG = -np.inf


@kernel
def _open_words(lo, hi, arcs, arc_mod, base, alive, lam, word_arc, word_pays, counts):
    """Collect the words of a set: optional ones from the front, forced ones counted and marked.

    ``word_arc[i]`` is the slot of the cheapest live arc of the i-th word, ``word_pays[i]`` its
    lam; forced words come last. Fills counts with (optional words, forced words).
    """
    optional = 0
    forced = 0
    size = hi - lo
    i = lo
    while i < hi:
        m = arc_mod[arcs[i]]
        cheapest = -1
        live = 0
        while i < hi and arc_mod[arcs[i]] == m:
            if base[arcs[i]] > NEG:
                live += 1
                if cheapest < 0 or lam[i] < lam[cheapest]:
                    cheapest = i
            i += 1
        if live == 0:
            continue
        if live == alive[m]:
            forced += 1
            word_arc[size - forced] = cheapest
            word_pays[size - forced] = lam[cheapest]
        else:
            word_arc[optional] = cheapest
            word_pays[optional] = lam[cheapest]
            optional += 1
    counts[0] = optional
    counts[1] = forced


@kernel
def apply_valencies(
    ptr, arcs, score_ptr, score, arc_mod, base, alive, lam, copy, arc_score, arc_abs, info
):
    """Add all multipliers to ``arc_score``; return the constant (-inf: no tree fits the tables).

    Marks in ``copy`` the arcs that the inner maximum takes. ``info[0]`` grows by the magnitudes
    that the constant was added from.
    """
    total = 0.0
    counts = np.zeros(2, np.int64)
    for c in range(ptr.shape[0] - 1):
        lo = ptr[c]
        hi = ptr[c + 1]
        for i in range(lo, hi):
            arc_score[arcs[i]] += lam[i]
            arc_abs[arcs[i]] += abs(lam[i])
            copy[i] = 0
        word_arc = np.empty(hi - lo, np.int64)
        pays = np.empty(hi - lo)
        _open_words(lo, hi, arcs, arc_mod, base, alive, lam, word_arc, pays, counts)
        optional, forced = counts[0], counts[1]
        fixed = 0.0
        for i in range(hi - lo - forced, hi - lo):
            fixed += pays[i]
            info[0] += abs(pays[i])
            copy[word_arc[i]] = 1
        order = np.argsort(pays[:optional], kind="mergesort")
        best = NEG
        best_k = 0
        paid = fixed
        for k in range(optional + 1):
            if k > 0:
                paid += pays[order[k - 1]]
            value = score[score_ptr[c] + forced + k] - paid
            if value > best:
                best = value
                best_k = k
        if best == NEG:
            return NEG
        for k in range(best_k):
            copy[word_arc[order[k]]] = 1
            info[0] += abs(pays[order[k]])
        info[0] += abs(best)
        total += best
    return total


@kernel
def score_valencies(ptr, arcs, score_ptr, score, chosen):
    """Σ f(number of the set's arcs in the tree marked in ``chosen``)."""
    total = 0.0
    for c in range(ptr.shape[0] - 1):
        on = 0
        for i in range(ptr[c], ptr[c + 1]):
            on += chosen[arcs[i]]
        total += score[score_ptr[c] + on]
    return total


@kernel
def valency_norm(arcs, copy, chosen):
    """Squared length of the subgradient, the tree's arcs minus the copy's."""
    norm = 0.0
    for i in range(arcs.shape[0]):
        norm += chosen[arcs[i]] != copy[i]
    return norm


@kernel
def step_valencies(arcs, lam, copy, chosen, alpha):
    """lam ← lam - alpha (tree - copy)."""
    for i in range(arcs.shape[0]):
        lam[i] -= alpha * (chosen[arcs[i]] - copy[i])


@kernel
def valency_gaps(
    ptr, arcs, score_ptr, score, arc_mod, base, alive, lam, chosen, broken, arc_gap
):
    """Add the gap of every set, bound minus score, to its arcs; returns the sum of the gaps."""
    total = 0.0
    nothing = np.zeros(arc_gap.shape[0])
    copy = np.zeros(arcs.shape[0], np.int8)
    info = np.zeros(1)
    pair = np.empty(2, np.int64)
    for c in range(ptr.shape[0] - 1):
        lo = ptr[c]
        hi = ptr[c + 1]
        pair[0] = 0
        pair[1] = hi - lo
        gap = apply_valencies(
            pair, arcs[lo:hi], score_ptr[c : c + 1], score, arc_mod, base, alive, lam[lo:hi],
            copy[lo:hi], nothing, nothing, info,
        )  # fmt: skip
        on = 0
        for i in range(lo, hi):
            if chosen[arcs[i]]:
                on += 1
                gap += lam[i]
        value = score[score_ptr[c] + on]
        gap = gap - value if value > NEG else broken
        if gap > 0.0:
            total += gap
            for i in range(lo, hi):
                arc_gap[arcs[i]] += gap
    return total


@kernel
def fix_by_valencies(ptr, arcs, score_ptr, score, arc_mod, mod_ptr, base, alive):
    """Kill arcs that no allowed number leaves room for.

    Returns (whether arcs died, whether some set has no allowed number).
    """
    died = False
    counts = np.zeros(2, np.int64)
    nothing = np.zeros(arcs.shape[0])
    for c in range(ptr.shape[0] - 1):
        lo = ptr[c]
        hi = ptr[c + 1]
        word_arc = np.empty(hi - lo, np.int64)
        pays = np.empty(hi - lo)
        _open_words(lo, hi, arcs, arc_mod, base, alive, nothing, word_arc, pays, counts)
        optional, forced = counts[0], counts[1]
        least = -1
        most = -1
        for k in range(optional + 1):
            if score[score_ptr[c] + forced + k] > NEG:
                if least < 0:
                    least = k
                most = k
        if least < 0:
            return died, True
        if optional == 0 or (most > 0 and least < optional):
            continue
        died = True
        for w in range(optional):
            m = arc_mod[arcs[word_arc[w]]]
            for a in range(mod_ptr[m], mod_ptr[m + 1]):
                inside = False
                for i in range(lo, hi):
                    inside = inside or arcs[i] == a
                if base[a] > NEG and inside == (most == 0):
                    base[a] = NEG
                    alive[m] -= 1
    return died, False
