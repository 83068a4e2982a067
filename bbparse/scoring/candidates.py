"""Kernels from candidate arcs to the scores of all parts they can form, one call a sentence.

Most templates of a grand-sibling look at three of its four words. They are summed once for each
(h, s, m) and each (g, h, m), and the sums shared by the grand-siblings: the same integers, for a
fraction of the look-ups.
"""

from __future__ import annotations

import numpy as np

from bbparse.jit import kernel
from bbparse.oracle.projective.dense import eisner
from bbparse.scoring.compile import PartTemplates
from bbparse.scoring.kernels import walk_parts
from bbparse.scoring.parts import PartWords, sentence_tables

#: Sentences of more words are pruned without a look at arcs longer than `REACH`.
LONG, REACH = 300, 150


@kernel
def enumerate_parts(n, arc_head, arc_mod, projective, single_root, want):
    """All parts that candidate arcs can form.

    Arcs are sorted by (head, mod). `want` (bool[4]) says whether siblings, grandchildren,
    grand-siblings and chains are asked for; the arrays of the others are empty. Siblings are sorted
    by (head, outer, inner), grandchildren and chains by (head, mod, grand) and grand-siblings by
    (head, outer, inner, grand), -1 first, so that the parts of one arc, or of one sibling part,
    follow each other. Chains are grandchildren and, as (-1, 0, m), the arcs from the root.

    Left out is what no tree contains: cycles; with `projective`, g→h→m with g between h and m
    (g would be a descendant of h); with `single_root`, siblings under the root.

    Returns siblings int32[3, S] (head, inner, outer), grandchildren int32[3, G] (grand, head, mod),
    grand-siblings int32[4, Q] (grand, head, inner, outer) and chains int32[3, C].
    """
    n_arcs = arc_head.shape[0]
    head_ptr = np.zeros(n + 2, np.int64)
    in_ptr = np.zeros(n + 2, np.int64)
    for a in range(n_arcs):
        head_ptr[arc_head[a] + 1] += 1
        in_ptr[arc_mod[a] + 1] += 1
    for i in range(n + 1):
        head_ptr[i + 1] += head_ptr[i]
        in_ptr[i + 1] += in_ptr[i]
    in_head = np.empty(n_arcs, np.int32)
    fill = in_ptr.copy()
    for a in range(n_arcs):
        in_head[fill[arc_mod[a]]] = arc_head[a]
        fill[arc_mod[a]] += 1
    grands = np.empty(n + 1, np.int32)
    sib = np.empty((3, 0), np.int32)
    gc = np.empty((3, 0), np.int32)
    gsib = np.empty((4, 0), np.int32)
    chains = np.empty((3, 0), np.int32)
    n_sib = n_gc = n_gsib = n_chains = 0
    for listing in range(2):  # first they are counted
        if listing:
            sib = np.empty((3, n_sib), np.int32)
            gc = np.empty((3, n_gc), np.int32)
            gsib = np.empty((4, n_gsib), np.int32)
            chains = np.empty((3, n_chains), np.int32)
            n_sib = n_gc = n_gsib = n_chains = 0
        for a in range(n_arcs):
            h = arc_head[a]
            m = arc_mod[a]
            count = 0
            if h == 0:
                grands[0] = -1
                count = 1
            for c in range(in_ptr[h], in_ptr[h + 1]):
                g = in_head[c]
                if g != m and not (projective and min(h, m) < g < max(h, m)):
                    grands[count] = g
                    count += 1
            for c in range(count):
                if want[1] and h > 0:
                    if listing:
                        gc[0, n_gc], gc[1, n_gc], gc[2, n_gc] = grands[c], h, m
                    n_gc += 1
                if want[3]:
                    if listing:
                        chains[0, n_chains], chains[1, n_chains] = grands[c], h
                        chains[2, n_chains] = m
                    n_chains += 1
            # The arcs to the modifiers between h and m.
            first = last = a if m > h else a + 1
            if m > h:
                while first > head_ptr[h] and arc_mod[first - 1] > h:
                    first -= 1
            else:
                while last < head_ptr[h + 1] and arc_mod[last] < h:
                    last += 1
            if h == 0 and single_root:
                last = first
            for b in range(first - 1, last):
                s = arc_mod[b] if b >= first else np.int32(-1)
                if want[0]:
                    if listing:
                        sib[0, n_sib], sib[1, n_sib], sib[2, n_sib] = h, s, m
                    n_sib += 1
                for c in range(count if want[2] else 0):
                    # Without `projective` the head of h may lie between h and m; it is not s.
                    if s < 0 or grands[c] != s:
                        if listing:
                            gsib[0, n_gsib], gsib[1, n_gsib] = grands[c], h
                            gsib[2, n_gsib], gsib[3, n_gsib] = s, m
                        n_gsib += 1
    return sib, gc, gsib, chains


@kernel
def _add_shared(arc_head, arc_mod, sib, chains, of_sib, of_chain, quantum, scores):
    """Make of grand-sibling scores, without what is shared and in quanta, the whole scores."""
    b = 0
    first = 0
    k = 0
    for a in range(arc_head.shape[0]):
        h = arc_head[a]
        m = arc_mod[a]
        last = first
        while last < chains.shape[1] and chains[1, last] == h and chains[2, last] == m:
            last += 1
        while b < sib.shape[1] and sib[0, b] == h and sib[2, b] == m:
            s = sib[1, b]
            for c in range(first, last):
                if s < 0 or chains[0, c] != s:
                    scores[k] = (scores[k] + of_sib[b] + of_chain[c]) * quantum
                    k += 1
            b += 1
        first = last


@kernel
def score_candidates(
    values, pad, arc_head, arc_mod, projective, single_root, marks, weights, quantum, templates
):  # fmt: skip
    """Scores of candidate arcs (sorted by head, mod), and of all parts they can form.

    `templates` are `CompiledTemplates`, as plain tuples.
    Returns siblings, grandchildren and grand-siblings as `enumerate_parts` does, the scores of all
    kinds one after the other (float64) and where each kind's start (int64[6]). Outermost
    grandchildren are the same triples as grandchildren. Kinds without templates have no scores.
    """
    word_templates, part_templates = templates
    tables = sentence_tables(values, pad, word_templates)
    kind_size = PartTemplates(*part_templates).kind_size
    want = np.empty(4, np.bool_)
    want[2] = kind_size[4] > 0
    want[3] = want[2]
    want[0] = kind_size[1] > 0 or want[2]
    want[1] = kind_size[2] > 0 or kind_size[3] > 0
    sib, gc, gsib, chains = enumerate_parts(
        tables.table.shape[0] - 2, arc_head, arc_mod, projective, single_root, want
    )
    start = np.zeros(6, np.int64)
    start[1] = arc_head.shape[0]
    start[2] = start[1] + (sib.shape[1] if kind_size[1] else 0)
    start[3] = start[2] + (gc.shape[1] if kind_size[2] else 0)
    start[4] = start[3] + (gc.shape[1] if kind_size[3] else 0)
    start[5] = start[4] + gsib.shape[1]
    scores = np.zeros(start[5])
    of_sib = np.zeros(sib.shape[1] if want[2] else 0)
    of_chain = np.zeros(chains.shape[1])
    no_words = np.empty(0, np.int32)
    # One call in the code, whatever the kind: numba copies what is called into the caller.
    for step in range(7):
        kind = min(step, 4)
        if not kind_size[kind]:
            continue
        grand = no_words
        inner = no_words
        head = arc_head
        mod = arc_mod
        first, last = 0, 3
        unit = quantum
        if step == 1:
            head, inner, mod = sib[0], sib[1], sib[2]
        elif step == 2 or step == 3:
            grand, head, mod = gc[0], gc[1], gc[2]
        elif step == 4:
            head, inner, mod = sib[0], sib[1], sib[2]
            last = 1
        elif step == 5:
            grand, head, inner, mod = gsib[0], gsib[1], gsib[2], gsib[3]
            first, last = 1, 2
        elif step == 6:
            grand, head, mod = chains[0], chains[1], chains[2]
            first = 2
        if step >= 4:
            unit = 1.0
        into = of_sib if step == 4 else of_chain if step == 6 else (
            scores[start[kind] : start[kind + 1]]
        )  # fmt: skip
        walk_parts(
            kind, first, last, PartWords(grand, head, inner, mod), tables, marks, weights, unit,
            into, part_templates,
        )  # fmt: skip
    if want[2]:
        _add_shared(arc_head, arc_mod, sib, chains, of_sib, of_chain, quantum, scores[start[4] :])
    return sib, gc, gsib, scores, start


@kernel
def all_arcs(n, reach):
    """Every arc of a sentence of n words, sorted by (head, mod): int32 arrays head, mod.

    Other heads than the root are at most `reach` words away.
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
    """The candidate arcs worth keeping.

    `scores` is float64[n+1, n+1], scores[h, m], -inf where there is no arc. Kept are, for each
    word, its k best heads (0: all; of equal ones those with smaller index) as far as they score
    no less than its best minus `margin`, and the arc from best_heads[m] (int32[n+1]; -1: none).
    O(n² k). Returns int32 arrays head, mod, sorted by (head, mod).
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
            # Insertion from the end: a later head goes behind equal ones.
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
def score_all_arcs(values, pad, weights, quantum, templates, reach):
    """Scores of all arcs by the arc templates alone: float64[n+1, n+1], -inf where is no arc.

    Arcs longer than `reach` are none, unless they come from the root.
    """
    word_templates, part_templates = templates
    tables = sentence_tables(values, pad, word_templates)
    n = tables.table.shape[0] - 2
    head, mod = all_arcs(n, reach)
    scores = np.zeros(head.shape[0])
    no_words = np.empty(0, np.int32)
    walk_parts(
        np.int64(0), np.int64(0), np.int64(3), PartWords(no_words, head, no_words, mod), tables,
        np.zeros((1, 1), np.uint16), weights, quantum, scores, part_templates,
    )  # fmt: skip
    square = np.full((n + 1, n + 1), -np.inf)
    for a in range(head.shape[0]):
        square[head[a], mod[a]] = scores[a]
    return square


@kernel
def _tree_of_blocks(scores, single_root):
    """Heads int32[n+1] of a good projective tree: the best one, but of a long sentence's blocks.

    The root of each block is the head of the next one's.
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
        own, _ = eisner(block, True)
        root = above
        for j in range(1, size + 1):
            heads[start + j] = start + own[j] if own[j] > 0 else above
            if own[j] == 0:
                root = start + j
        above = root
    return heads


@kernel
def likely_arcs(k, margin, single_root, values, pad, weights, quantum, templates):
    """`prune_arcs` of the scores of all arcs and of the best projective tree by them.

    Longer sentences than `LONG` words have arcs of at most `REACH`, as O(n³) is too much for them.
    """
    n = values.shape[0] - 2 * pad - 1
    reach = n if n <= LONG else REACH
    square = score_all_arcs(values, pad, weights, quantum, templates, reach)
    return prune_arcs(square, k, margin, _tree_of_blocks(square, single_root))
