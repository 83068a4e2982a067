"""Bounding one node of the search in one jitted call.

The node's candidate set is its chart (hyperedges still possible), its arc scores ``base`` (-inf:
dead) and its factors. The call lowers the bound over multipliers, tries every tree it meets as an
incumbent, deletes what provably is in no better tree, and says which arc to branch on.
"""

from __future__ import annotations

import numpy as np

from bbparse.bounding.counts import (
    apply_counts,
    count_gaps,
    count_score_of,
    disagreement,
    simplify_counts,
    step_counts,
)
from bbparse.bounding.incumbents import insert_tree, tree_score
from bbparse.bounding.multipliers import (
    apply_multipliers,
    arc_leads,
    factor_gaps,
    simplify_factors,
    step_leads,
    step_paper,
    step_polyak,
)
from bbparse.jit import kernel
from bbparse.oracle.projective.passes import (
    backtrace,
    eliminate,
    group_marginals,
    group_scores,
    inside_pass,
    k_best_pass,
    outside_pass,
)

NEG = -np.inf

CLOSED, OPEN = 0, 1
PAPER, POLYAK, LEADS, MIXED = 0, 1, 2, 3


@kernel
def floor_to_beat(scores, count, quantum, slack):
    """Least score of a tree that would change the k best: the k-th score and a little more.

    With a quantum q the next better score is q higher (QL13 §4.4: rounding the bound down);
    without one, trees better by less than ``slack`` count as equal.
    """
    k = scores.shape[0]
    if count[0] < k:
        return NEG
    return scores[k - 1] + (quantum - slack if quantum > 2.0 * slack else slack)


@kernel
def _simplify(
    n_words, arc_mod, base, sizes, constant, hard,
    fac_ptr, fac_arcs, fac_weight, lam,
    cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score, cnt_lam,
):  # fmt: skip
    """Simplify factors and count factors in turn; False where the node has no tree."""
    while True:
        if not simplify_factors(
            n_words, arc_mod, base, sizes, fac_ptr, fac_arcs, fac_weight, lam, constant, hard
        ):
            return False
        if sizes[2] == 0:
            return True
        status = simplify_counts(
            n_words, arc_mod, base, sizes, cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score, cnt_lam,
            constant,
        )  # fmt: skip
        if status == 0:
            return False
        if status == 1:
            return True


@kernel
def bound_node(
    n_words, group_ptr, group_mod, arc_mod,
    item_ptr, item_group, left, right, weight,
    base, fac_ptr, fac_arcs, fac_weight, lam,
    cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score, cnt_lam,
    sizes, constant, trees, scores, count,
    method, max_calls, eliminate_every, close_k, precision, quantum, slack, hard, full_edges,
    counters, out,
):  # fmt: skip
    """Bound a node, in place.

    Parameters
    ----------
    n_words : int
    group_ptr, group_mod, arc_mod : int32 arrays
        Arcs of each head-modifier pair, and modifiers, in chart order.
    item_ptr, item_group, left, right, weight
        The node's chart; shrinks in place.
    base : float64[A]
        Arc scores of the node, -inf where dead; factors that became linear are added here.
    fac_ptr, fac_arcs, fac_weight, lam
        The node's factors and multipliers (:mod:`bbparse.bounding.multipliers`).
    cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score, cnt_lam
        The node's count factors and multipliers (:mod:`bbparse.bounding.counts`).
    sizes : int64[3]
        Numbers of items, of factors and of count factors.
    constant : float64[1]
        Score every tree of the node has beside these.
    trees, scores, count
        The k best trees so far (:mod:`bbparse.bounding.incumbents`), shared by all nodes.
    method : int
        ``PAPER``: subgradient with the paper's step and stopping rules; ``POLYAK``: with Polyak's
        step; ``LEADS``: by max-marginal differences, found at every pass; ``MIXED``: by these where
        elimination finds them, by Polyak's step elsewhere.
    max_calls : int
        Most Viterbi passes.
    eliminate_every : int
        Elimination after the first and then every so many passes; 0: never.
    close_k : int
        List this many trees under the last bound to close the node before branching.
    precision : float
        ``PAPER`` stops when the bound fell by less (QL13: 1e-8).
    quantum, slack, hard : float
        Score quantum (0: none), numerical slack, stand-in for an infinite weight.
    full_edges : float
        Hyperedges of the unpruned chart, to count work in full-size passes.
    counters : float64[3]
        Passes, full-size passes, trees tried; added to.
    out : float64[3]
        Bound, branching arc, score of this node's best tree.

    Returns
    -------
    int
        ``CLOSED`` (no tree of the node would change the k best) or ``OPEN``.
    """
    n_arcs = base.shape[0]
    k = scores.shape[0]
    out[0] = NEG
    out[1] = -1.0
    out[2] = NEG
    if sizes[0] <= 1 or not _simplify(
        n_words, arc_mod, base, sizes, constant, hard, fac_ptr, fac_arcs, fac_weight, lam,
        cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score, cnt_lam,
    ):  # fmt: skip
        return CLOSED
    arc_score = np.empty(n_arcs)
    n_groups = group_mod.shape[0]
    gscore = np.empty(n_groups)
    inside = np.empty(sizes[0])
    outside = np.empty(sizes[0])
    renumber = np.empty(sizes[0], np.int32)
    marginal = np.empty(n_groups)
    arc_gap = np.empty(n_arcs)
    times = np.empty(n_arcs)
    chosen = np.zeros(n_arcs, np.int8)
    scratch = np.empty(n_words + 2)
    copy = np.zeros(cnt_arcs.shape[0], np.int8)
    tree = np.empty(n_words, np.int32)
    best_bound = np.inf
    previous = np.inf
    mild = 1.0  # damping of Polyak steps
    alpha = 0.0
    if method == PAPER:
        for c in range(sizes[1]):
            if fac_weight[c] != 0.0:
                alpha = max(alpha, 1.0 / abs(fac_weight[c]))
    # count factors have no weight to set their step by: the largest finite score
    unit = 1.0
    for i in range(cnt_score_ptr[sizes[2]]):
        if cnt_score[i] > NEG:
            unit = max(unit, abs(cnt_score[i]))
    alpha = alpha if alpha > 0.0 else 1.0 / unit
    rises = 0
    shift = 0.0
    call = -1
    while call + 1 < max_calls or (sizes[1] + sizes[2] == 0 and k == 1):
        call += 1
        shift = constant[0] + apply_multipliers(
            base, sizes[1], fac_ptr, fac_arcs, fac_weight, lam, arc_score
        )
        shift += apply_counts(
            sizes[2], cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score, cnt_lam, copy, arc_score
        )
        group_scores(group_ptr, arc_score, gscore)
        goal = inside_pass(
            sizes[0], item_ptr, item_group, left, right, weight, gscore, inside
        )
        share = item_ptr[sizes[0]] / full_edges
        counters[0] += 1.0
        counters[1] += share
        if goal == NEG:
            return CLOSED
        bound = goal + shift
        floor = floor_to_beat(scores, count, quantum, slack)
        out[0] = min(best_bound, bound)
        if bound < floor:
            return CLOSED
        if call == 0 and k > 1 and count[0] < k:
            # trees for the list first: without a k-th score nothing can be discarded
            many, _, edge_sums = k_best_pass(
                sizes[0], item_ptr, item_group, left, right, weight, group_ptr, arc_score,
                group_mod, n_words, k,
            )  # fmt: skip
            counters[1] += share * k
            for t in range(many.shape[0]):
                value = tree_score(
                    many[t], base, edge_sums[t], constant[0], sizes[1], fac_ptr, fac_arcs,
                    fac_weight, hard, chosen,
                ) + count_score_of(
                    sizes[2], cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score, chosen
                )  # fmt: skip
                counters[2] += 1.0
                if value > NEG:
                    insert_tree(trees, scores, count, many[t], value, slack)
        edge_sum = backtrace(
            sizes[0], item_ptr, item_group, left, right, weight, group_ptr, arc_score,
            group_mod, inside, tree,
        )  # fmt: skip
        value = tree_score(
            tree, base, edge_sum, constant[0], sizes[1], fac_ptr, fac_arcs, fac_weight, hard, chosen
        ) + count_score_of(sizes[2], cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score, chosen)
        counters[2] += 1.0
        if value > NEG:
            out[2] = max(out[2], value)
            insert_tree(trees, scores, count, tree, value, slack)
        floor = floor_to_beat(scores, count, quantum, slack)
        if bound < floor:
            return CLOSED
        if sizes[1] + sizes[2] == 0 and k == 1:
            return CLOSED  # the bound is the score of the tree just found
        if bound < best_bound:
            best_bound = bound
        tight = value > NEG and bound - value <= slack
        eliminates = eliminate_every > 0 and floor > NEG and call % eliminate_every == 0
        by_leads = method == LEADS or (method == MIXED and eliminates)
        if by_leads or eliminates:
            outside_pass(
                sizes[0], item_ptr, item_group, left, right, weight, gscore, inside, outside
            )
            counters[0] += 2.0
            counters[1] += 2.0 * share
            group_marginals(sizes[0], item_group, inside, outside, marginal)
            if by_leads:
                arc_leads(
                    n_words, group_ptr, group_mod, gscore, arc_score, base, marginal, arc_gap
                )
        if eliminates:
            before = item_ptr[sizes[0]]
            left_items = eliminate(
                sizes[0], item_ptr, item_group, left, right, weight, gscore, inside, outside,
                floor - shift, renumber,
            )  # fmt: skip
            sizes[0] = left_items
            if left_items <= 1:
                return CLOSED
            died = False
            for b in range(n_groups):
                for a in range(group_ptr[b], group_ptr[b + 1]):
                    if (
                        base[a] > NEG
                        and marginal[b] - gscore[b] + arc_score[a] + shift < floor
                    ):
                        base[a] = NEG
                        died = True
            if (died or item_ptr[sizes[0]] < before) and not _simplify(
                n_words, arc_mod, base, sizes, constant, hard, fac_ptr, fac_arcs, fac_weight, lam,
                cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score, cnt_lam,
            ):  # fmt: skip
                return CLOSED
            if died:
                # the tree may be gone, and chosen refers to arcs whose factors changed
                for a in range(n_arcs):
                    if base[a] == NEG:
                        chosen[a] = 0
        if sizes[1] + sizes[2] == 0:
            if k > 1:
                break
            previous = bound
            continue
        fell = previous - bound
        if method == PAPER:
            if 0.0 <= fell <= precision:
                break
            if fell < 0.0:
                rises += 1
            step = alpha * 0.5**rises
            step_paper(sizes[1], fac_ptr, fac_arcs, fac_weight, lam, chosen, step, scratch)
            if sizes[2] > 0:
                step_counts(sizes[2], cnt_ptr, cnt_arcs, cnt_lam, copy, chosen, step * unit)
        else:
            if by_leads and sizes[1] > 0:
                if tight:
                    break
                step_leads(
                    sizes[1], fac_ptr, fac_arcs, fac_weight, lam, arc_gap, times, scratch
                )
            if by_leads and sizes[2] == 0:
                previous = bound
                continue
            target = scores[min(k, count[0]) - 1] if count[0] > 0 else bound - abs(bound)
            if fell < 0.0:
                mild *= 0.7
            apart = disagreement(sizes[2], cnt_ptr, cnt_arcs, copy, chosen)
            gap = mild * max(bound - target, slack)
            norm = step_polyak(
                0 if by_leads else sizes[1], fac_ptr, fac_arcs, fac_weight, lam, chosen, gap, apart,
                scratch,
            )  # fmt: skip
            if norm == 0.0 and not by_leads:
                break
            if apart > 0.0:
                step_counts(sizes[2], cnt_ptr, cnt_arcs, cnt_lam, copy, chosen, gap / norm)
        previous = bound

    # The multipliers are as good as they will get: list the trees that remain under the bound.
    shift = constant[0] + apply_multipliers(
        base, sizes[1], fac_ptr, fac_arcs, fac_weight, lam, arc_score
    )
    shift += apply_counts(
        sizes[2], cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score, cnt_lam, copy, arc_score
    )
    listed = max(k, close_k)
    many, values, edge_sums = k_best_pass(
        sizes[0], item_ptr, item_group, left, right, weight, group_ptr, arc_score, group_mod,
        n_words, listed,
    )  # fmt: skip
    share = item_ptr[sizes[0]] / full_edges
    counters[0] += 1.0
    counters[1] += share * listed
    alive = np.zeros(n_words + 1, np.int32)
    for a in range(n_arcs):
        if base[a] > NEG:
            alive[arc_mod[a]] += 1
    branch_gap = 0.0
    for t in range(many.shape[0]):
        value = tree_score(
            many[t], base, edge_sums[t], constant[0], sizes[1], fac_ptr, fac_arcs, fac_weight,
            hard, chosen,
        ) + count_score_of(
            sizes[2], cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score, chosen
        )  # fmt: skip
        counters[2] += 1.0
        if value > NEG:
            out[2] = max(out[2], value)
            insert_tree(trees, scores, count, many[t], value, slack)
        if branch_gap <= slack:
            factor_gaps(sizes[1], fac_ptr, fac_arcs, fac_weight, lam, chosen, arc_gap)
            count_gaps(
                sizes[2], cnt_ptr, cnt_arcs, cnt_score_ptr, cnt_score, cnt_lam, copy, chosen,
                hard, arc_gap,
            )  # fmt: skip
            for a in range(n_arcs):
                if base[a] > NEG and alive[arc_mod[a]] > 1 and arc_gap[a] > branch_gap:
                    branch_gap = arc_gap[a]
                    out[1] = a
    floor = floor_to_beat(scores, count, quantum, slack)
    if many.shape[0] < listed or values[listed - 1] + shift < floor:
        return CLOSED
    out[0] = min(best_bound, values[0] + shift)
    if out[0] < floor:
        return CLOSED
    if out[1] < 0.0:  # no gap anywhere, yet trees are missing: split on the widest choice
        widest = 1
        for a in range(n_arcs):
            if base[a] > NEG and alive[arc_mod[a]] > widest:
                widest = alive[arc_mod[a]]
                out[1] = a
        if out[1] < 0.0:
            return CLOSED
    return OPEN
