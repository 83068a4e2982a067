"""Kernels from candidate arcs to the scores of all parts they can form, one call a sentence.

Most templates of grand-siblings look at three of the four words. Their scores are summed once for
each (h, s, m) and each (g, h, m), and the grand-siblings share the sums: the same integers with
fewer look-ups.
"""

from __future__ import annotations

import numpy as np

from bbparse.inference.oracles.projective.dense import eisner
from bbparse.inference.oracles.projective.weights import index_groups
from bbparse.models.scoring.compile import (
    GRANDCHILD,
    GRANDSIBLING,
    OUTERMOST,
    SIBLING,
    SIZE,
    WITHOUT_GRAND,
    WITHOUT_INNER,
    PartTemplates,
)
from bbparse.models.scoring.kernels import walk_parts
from bbparse.models.scoring.parts import PartWords, sentence_tables
from bbparse.runtime.jit import kernel
from bbparse.treebank.encode import PAD

#: Sentences of more than `LONG` words are pruned without arcs longer than `REACH`.
LONG, REACH = 300, 150


@kernel
def enumerate_parts(n, arc_head, arc_mod, projective, single_root, want):
    """Enumerate all parts that candidate arcs can form, as `PartWords`.

    Arcs are sorted by (head, mod). `want` (bool[3]) selects siblings, chains and grand-siblings;
    kinds that are not selected are empty. Siblings are sorted by (head, outer, inner), chains by
    (head, mod, grand) and grand-siblings by (head, outer, inner, grand), -1 first, so that the
    parts of one arc, or of one sibling part, follow each other. Chains are the arcs from the root,
    as (-1, 0, m), then grandchildren.

    Parts that no tree contains are left out: cycles; with `projective`, g→h→m with g between h and
    m (g would be a descendant of h); with `single_root`, siblings under the root.

    Returns siblings, chains, grand-siblings and the number of arcs from the root.
    """
    n_arcs = arc_head.shape[0]
    _, out_ptr, out_mid, in_ptr, in_list, _ = index_groups(n, arc_head, arc_mod)
    room = np.zeros(3, np.int64)  # an upper bound, as some parts fit no tree
    for a in range(n_arcs):
        h, m = arc_head[a], arc_mod[a]
        n_inner = a - out_mid[h] if m > h else out_mid[h] - a - 1
        if h == 0 and single_root:
            n_inner = 0
        n_grand = max(1, in_ptr[h + 1] - in_ptr[h])
        room[0] += 1 + n_inner if want[0] else 0
        room[1] += n_grand if want[1] else 0
        room[2] += n_grand * (1 + n_inner) if want[2] else 0
    sib = np.empty((3, room[0]), np.int32)
    chains = np.empty((3, room[1]), np.int32)
    gsib = np.empty((4, room[2]), np.int32)
    grands = np.empty(n + 1, np.int32)
    n_sib = n_chains = n_gsib = 0
    for a in range(n_arcs):
        h, m = arc_head[a], arc_mod[a]
        count = 0
        if h == 0:
            grands[0] = -1
            count = 1
        for c in range(in_ptr[h], in_ptr[h + 1]):
            g = arc_head[in_list[c]]
            if g != m and not (projective and min(h, m) < g < max(h, m)):
                grands[count] = g
                count += 1
        for c in range(count if want[1] else 0):
            chains[0, n_chains], chains[1, n_chains], chains[2, n_chains] = grands[c], h, m
            n_chains += 1
        # Arcs to the modifiers between h and m.
        first, last = (out_mid[h], a) if m > h else (a + 1, out_mid[h])
        if h == 0 and single_root:
            last = first
        for b in range(first - 1, last):
            s = arc_mod[b] if b >= first else np.int32(-1)
            if want[0]:
                sib[0, n_sib], sib[1, n_sib], sib[2, n_sib] = h, s, m
                n_sib += 1
            for c in range(count if want[2] else 0):
                # Without `projective` the head of h may lie between h and m; it cannot be s.
                if s < 0 or grands[c] != s:
                    gsib[0, n_gsib], gsib[1, n_gsib] = grands[c], h
                    gsib[2, n_gsib], gsib[3, n_gsib] = s, m
                    n_gsib += 1
    return (
        PartWords(sib[0, :0], sib[0, :n_sib], sib[1, :n_sib], sib[2, :n_sib]),
        PartWords(chains[0, :n_chains], chains[1, :n_chains], chains[0, :0], chains[2, :n_chains]),
        PartWords(gsib[0, :n_gsib], gsib[1, :n_gsib], gsib[2, :n_gsib], gsib[3, :n_gsib]),
        min(np.int64(out_ptr[1]), n_chains),
    )


@kernel
def _add_shared(arc_head, arc_mod, sib, chains, of_sib, of_chain, quantum, scores):
    """Complete grand-sibling scores: add the shared sums, and convert from quanta."""
    b = 0
    first = 0
    k = 0
    for a in range(arc_head.shape[0]):
        h = arc_head[a]
        m = arc_mod[a]
        last = first
        while last < of_chain.shape[0] and chains.head[last] == h and chains.mod[last] == m:
            last += 1
        while b < of_sib.shape[0] and sib.head[b] == h and sib.mod[b] == m:
            s = sib.inner[b]
            for c in range(first, last):
                if s < 0 or chains.grand[c] != s:
                    scores[k] = (scores[k] + of_sib[b] + of_chain[c]) * quantum
                    k += 1
            b += 1
        first = last


@kernel
def score_candidates(
    values, arc_head, arc_mod, projective, single_root, weights, quantum, templates
):  # fmt: skip
    """Score candidate arcs (sorted by head, mod), and all parts they can form.

    `templates` are `CompiledTemplates`, as plain tuples. Returns siblings, grandchildren and
    grand-siblings as the fields of `PartWords`, in the order of `enumerate_parts`; the scores of
    all kinds one after the other (float64); and the start of each kind (int64[6]). Outermost
    grandchildren have the triples of grandchildren. Kinds without templates have no scores.
    """
    word_templates, part_templates = templates
    tables = sentence_tables(values, word_templates)
    there = PartTemplates(*part_templates).walks[:, SIZE] > 0
    want = np.empty(3, np.bool_)
    want[2] = there[WITHOUT_GRAND] or there[GRANDSIBLING] or there[WITHOUT_INNER]
    want[0] = want[2] or there[SIBLING]
    want[1] = want[2] or there[GRANDCHILD] or there[OUTERMOST]
    sib, chains, gsib, top = enumerate_parts(
        tables.table.shape[0] - 2, arc_head, arc_mod, projective, single_root, want
    )
    gc = PartWords(chains.grand[top:], chains.head[top:], chains.inner, chains.mod[top:])
    start = np.zeros(6, np.int64)
    start[1] = arc_head.shape[0]
    start[2] = start[1] + (sib.mod.shape[0] if there[SIBLING] else 0)
    start[3] = start[2] + (gc.mod.shape[0] if there[GRANDCHILD] else 0)
    start[4] = start[3] + (gc.mod.shape[0] if there[OUTERMOST] else 0)
    start[5] = start[4] + gsib.mod.shape[0]
    scores = np.zeros(start[5])
    of_sib = np.zeros(sib.mod.shape[0] if want[2] else 0)
    of_chain = np.zeros(chains.mod.shape[0] if want[2] else 0)
    # The code has one call for all template groups: numba copies a callee into its caller.
    for walk in range(there.shape[0] - 1):
        if not there[walk]:
            continue
        parts = PartWords(chains.inner, arc_head, chains.inner, arc_mod)
        if walk == SIBLING or walk == WITHOUT_GRAND:
            parts = sib
        elif walk == GRANDCHILD or walk == OUTERMOST:
            parts = gc
        elif walk == GRANDSIBLING:
            parts = gsib
        elif walk == WITHOUT_INNER:
            parts = chains
        kind = min(walk, 4)
        into = of_sib if walk == WITHOUT_GRAND else of_chain if walk == WITHOUT_INNER else (
            scores[start[kind] : start[kind + 1]]
        )  # fmt: skip
        unit = 1.0 if walk >= WITHOUT_GRAND else quantum
        walk_parts(walk, parts, tables, weights, unit, into, part_templates)
    if want[2]:
        _add_shared(arc_head, arc_mod, sib, chains, of_sib, of_chain, quantum, scores[start[4] :])
    return (sib[:], gc[:], gsib[:]), scores, start


@kernel
def all_arcs(n, reach):
    """List every arc of a sentence of n words, sorted by (head, mod): int32 arrays head, mod.

    Heads other than the root are at most `reach` words away.
    """
    head = np.empty(n * min(n, 2 * reach + 1), np.int32)
    mod = np.empty(head.shape[0], np.int32)
    filled = 0
    for h in range(n + 1):
        first = 1 if h == 0 else max(1, h - reach)
        last = n if h == 0 else min(n, h + reach)
        for m in range(first, last + 1):
            if m != h:
                head[filled] = h
                mod[filled] = m
                filled += 1
    return head[:filled], mod[:filled]


@kernel
def prune_arcs(scores, k, margin, best_heads):
    """Prune arcs, and return int32 arrays head, mod, sorted by (head, mod).

    `scores` is float64[n+1, n+1], scores[h, m], -inf where there is no arc. A word keeps those of
    its k best heads (0: all; among equal ones the smaller index) that score at least its best minus
    `margin`, and the arc from best_heads[m] (int32[n+1]; -1: none). O(n² k).
    """
    n = scores.shape[0] - 1
    keep = np.zeros((n + 1, n + 1), np.bool_)
    most = n + 1 if k == 0 else min(k, n + 1)
    top = np.empty(most, np.int64)
    for m in range(1, n + 1):
        best = -np.inf
        for h in range(n + 1):
            if h != m:
                best = max(best, scores[h, m])
        least = best - margin
        count = 0
        for h in range(n + 1):
            score = scores[h, m]
            if h == m or score == -np.inf or score < least:
                continue
            if count == most and score <= scores[top[count - 1], m]:
                continue
            # Insert from the end: a later head goes behind equal ones.
            place = count if count < most else most - 1
            count = place + 1
            if k == 0:
                top[place] = h
                continue
            while place > 0 and scores[top[place - 1], m] < score:
                top[place] = top[place - 1]
                place -= 1
            top[place] = h
        for i in range(count):
            keep[top[i], m] = True
        if best_heads[m] >= 0:
            keep[best_heads[m], m] = True
    head, mod = np.nonzero(keep)
    return head.astype(np.int32), mod.astype(np.int32)


@kernel
def score_all_arcs(values, weights, quantum, templates, reach):
    """Score all arcs by the arc templates: float64[n+1, n+1], -inf where there is no arc.

    Arcs longer than `reach` are left out, except from the root.
    """
    word_templates, part_templates = templates
    tables = sentence_tables(values, word_templates)
    n = tables.table.shape[0] - 2
    head, mod = all_arcs(n, reach)
    scores = np.zeros(head.shape[0])
    no_words = np.empty(0, np.int32)
    walk_parts(
        np.int64(0), PartWords(no_words, head, no_words, mod), tables, weights,
        quantum, scores, part_templates,
    )  # fmt: skip
    square = np.full((n + 1, n + 1), -np.inf)
    for a in range(head.shape[0]):
        square[head[a], mod[a]] = scores[a]
    return square


@kernel
def best_tree(scores, single_root):
    """Find a good projective tree, int32[n+1] heads; for up to `LONG` words it is the best one.

    Longer sentences are divided into blocks of `REACH` words, each with its best tree; the root of
    a block heads the root of the next.
    """
    n = scores.shape[0] - 1
    if n <= LONG:
        heads, _ = eisner(scores, single_root)
        return heads
    heads = np.full(n + 1, -1, np.int32)
    above = 0
    for start in range(0, n, REACH):
        size = min(REACH, n - start)
        block = np.empty((size + 1, size + 1))
        for i in range(size + 1):
            for j in range(size + 1):
                block[i, j] = scores[start + i if i > 0 else 0, start + j]
        block_heads, _ = eisner(block, True)
        root = above
        for j in range(1, size + 1):
            heads[start + j] = start + block_heads[j] if block_heads[j] > 0 else above
            if block_heads[j] == 0:
                root = start + j
        above = root
    return heads


@kernel
def likely_arcs(k, margin, single_root, values, weights, quantum, templates):
    """Score all arcs, and prune them with `prune_arcs` and the best projective tree.

    Arcs of sentences of more than `LONG` words are at most `REACH` long: O(n³) is too slow there.
    """
    n = values.shape[0] - 2 * PAD - 1
    reach = n if n <= LONG else REACH
    square = score_all_arcs(values, weights, quantum, templates, reach)
    return prune_arcs(square, k, margin, best_tree(square, single_root))
