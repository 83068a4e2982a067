"""Kernels that tell, for every arc, the best projective tree that has it, and which arcs none has.

A head that looks likely by itself may fit no tree: one in eight candidate arcs of English crosses
all that could hold the rest of the sentence together. Such arcs need no scores, nor do the parts
and factors over them.

Inside and outside pass over the spans of Eisner (1996) in the (max, +) semiring: O(n³) time, O(n²)
memory.
"""

from __future__ import annotations

import numpy as np

from bbparse.jit import kernel


@kernel
def max_marginals(scores, single_root):
    """Score of the best projective tree with each arc.

    Parameters
    ----------
    scores : float64[n+1, n+1]
        scores[h, m], -inf where there is no such arc; column 0 is not read.
    single_root : bool
        The root has exactly one modifier.

    Returns
    -------
    float64[n+1, n+1]
        -inf for arcs in no tree. The arcs of a best tree have its score, which is the maximum.
    """
    n = scores.shape[0] - 1
    none = -np.inf
    best_with = np.full((n + 1, n + 1), none)
    # Row i of each array belongs to a span that starts (or, `by_end`, ends) at word i, so that
    # inner loops run along rows. right: spans whose head is their first word; left: their last.
    right = np.full((n + 1, n + 1), none)
    right_by_end = np.full((n + 1, n + 1), none)
    left = np.full((n + 1, n + 1), none)
    left_by_end = np.full((n + 1, n + 1), none)
    arc_right = np.full((n + 1, n + 1), none)
    arc_left_by_end = np.full((n + 1, n + 1), none)
    first = 1 if single_root else 0
    for i in range(first, n + 1):
        right[i, i] = right_by_end[i, i] = left[i, i] = left_by_end[i, i] = 0.0
    for length in range(1, n + 1 - first):
        for i in range(first, n + 1 - length):
            j = i + length
            best = none
            for r in range(i, j):
                best = max(best, right[i, r] + left_by_end[j, r + 1])
            arc_right[i, j] = best + scores[i, j]
            arc_left_by_end[j, i] = best + scores[j, i] if i > 0 else none
            best = none
            for r in range(i + 1, j + 1):
                best = max(best, arc_right[i, r] + right_by_end[j, r])
            right[i, j] = right_by_end[j, i] = best
            best = none
            for r in range(i, j):
                best = max(best, left[i, r] + arc_left_by_end[j, r])
            left[i, j] = left_by_end[j, i] = best

    out_right = np.full((n + 1, n + 1), none)
    out_right_by_end = np.full((n + 1, n + 1), none)
    out_left = np.full((n + 1, n + 1), none)
    out_left_by_end = np.full((n + 1, n + 1), none)
    out_arc_right = np.full((n + 1, n + 1), none)
    out_arc_left_by_end = np.full((n + 1, n + 1), none)
    if single_root:
        for m in range(1, n + 1):
            out_left[1, m] = scores[0, m] + right[m, n]
            out_right[m, n] = max(out_right[m, n], scores[0, m] + left[1, m])
            best_with[0, m] = scores[0, m] + left[1, m] + right[m, n]
    else:
        out_right[0, n] = 0.0
    for length in range(n - first, 0, -1):
        for i in range(first, n + 1 - length):
            j = i + length
            outer = max(out_right[i, j], out_right_by_end[j, i])
            if outer > none:
                for r in range(i + 1, j + 1):
                    out_arc_right[i, r] = max(out_arc_right[i, r], outer + right_by_end[j, r])
                    out_right_by_end[j, r] = max(out_right_by_end[j, r], outer + arc_right[i, r])
            outer = max(out_left[i, j], out_left_by_end[j, i])
            if outer > none:
                for r in range(i, j):
                    out_arc_left_by_end[j, r] = max(
                        out_arc_left_by_end[j, r], outer + left[i, r]
                    )
                    out_left[i, r] = max(out_left[i, r], outer + arc_left_by_end[j, r])
            best_with[i, j] = arc_right[i, j] + out_arc_right[i, j]
            outer = out_arc_right[i, j] + scores[i, j]
            if i > 0:
                best_with[j, i] = arc_left_by_end[j, i] + out_arc_left_by_end[j, i]
                outer = max(outer, out_arc_left_by_end[j, i] + scores[j, i])
            if outer > none:
                for r in range(i, j):
                    out_right[i, r] = max(out_right[i, r], outer + left_by_end[j, r + 1])
                    out_left_by_end[j, r + 1] = max(
                        out_left_by_end[j, r + 1], outer + right[i, r]
                    )
    return best_with


@kernel
def _bits(low, high):
    """The bits low..high - 1 of a word of 64."""
    one = np.uint64(1)
    return (one << np.uint64(high)) - (one << np.uint64(low))


@kernel
def _in_trees_by_bits(n, arcs, single_root):
    """Whether each arc is in a tree, for at most 62 words: bool[n+1, n+1] like `arcs`.

    The passes of `max_marginals` over truth values, a word of bits for all the places where a span
    can be split: O(n²).
    """
    one = np.uint64(1)
    size = n + 1
    first = 1 if single_root else 0
    # Bit j of right[i]: there is the span from head i to j > i; bit i of right_by_end[j]: the same.
    right = np.zeros(size, np.uint64)
    right_by_end = np.zeros(size, np.uint64)
    left = np.zeros(size, np.uint64)
    left_by_end = np.zeros(size, np.uint64)
    arc_right = np.zeros(size, np.uint64)
    arc_left = np.zeros(size, np.uint64)
    for i in range(first, size):
        bit = one << np.uint64(i)
        right[i] = right_by_end[i] = left[i] = left_by_end[i] = bit
    for length in range(1, size - first):
        for i in range(first, size - length):
            j = i + length
            at_i = one << np.uint64(i)
            at_j = one << np.uint64(j)
            if right[i] & (left[j] >> one) & _bits(i, j):
                if arcs[i, j]:
                    arc_right[i] |= at_j
                if arcs[j, i] and i > 0:
                    arc_left[j] |= at_i
            if arc_right[i] & right_by_end[j] & _bits(i + 1, j + 1):
                right[i] |= at_j
                right_by_end[j] |= at_i
            if left_by_end[i] & arc_left[j] & _bits(i, j):
                left[j] |= at_i
                left_by_end[i] |= at_j

    found = np.zeros((size, size), np.bool_)
    out_right = np.zeros(size, np.uint64)
    out_right_by_end = np.zeros(size, np.uint64)
    out_left = np.zeros(size, np.uint64)
    out_left_by_end = np.zeros(size, np.uint64)
    out_arc_right = np.zeros(size, np.uint64)
    out_arc_left = np.zeros(size, np.uint64)
    whole = one << np.uint64(n)
    if single_root:
        for m in range(1, size):
            if arcs[0, m] and left[m] & np.uint64(2) and right[m] & whole:
                found[0, m] = True
                out_left[m] |= np.uint64(2)
                out_right[m] |= whole
    elif right[0] & whole:
        out_right[0] = whole
    for length in range(n - first, 0, -1):
        for i in range(first, size - length):
            j = i + length
            at_i = one << np.uint64(i)
            at_j = one << np.uint64(j)
            if out_right[i] & at_j or out_right_by_end[j] & at_i:
                splits = arc_right[i] & right_by_end[j] & _bits(i + 1, j + 1)
                out_arc_right[i] |= splits
                out_right_by_end[j] |= splits
            if out_left[j] & at_i or out_left_by_end[i] & at_j:
                splits = left_by_end[i] & arc_left[j] & _bits(i, j)
                out_arc_left[j] |= splits
                out_left_by_end[i] |= splits
            found[i, j] = out_arc_right[i] & at_j
            found[j, i] = out_arc_left[j] & at_i
            if found[i, j] or found[j, i]:
                splits = right[i] & (left[j] >> one) & _bits(i, j)
                out_right[i] |= splits
                out_left[j] |= splits << one
    return found


@kernel
def arcs_in_trees(n, arc_head, arc_mod, single_root):
    """Those of the candidate arcs (int32[A]) that some projective tree has, in their order.

    There are none where no tree exists.
    """
    n_arcs = arc_head.shape[0]
    keep = np.zeros(n_arcs, np.bool_)
    if n <= 62:
        arcs = np.zeros((n + 1, n + 1), np.bool_)
        for a in range(n_arcs):
            arcs[arc_head[a], arc_mod[a]] = True
        found = _in_trees_by_bits(n, arcs, single_root)
        for a in range(n_arcs):
            keep[a] = found[arc_head[a], arc_mod[a]]
    else:
        scores = np.full((n + 1, n + 1), -np.inf)
        for a in range(n_arcs):
            scores[arc_head[a], arc_mod[a]] = 0.0
        best = max_marginals(scores, single_root)
        for a in range(n_arcs):
            keep[a] = best[arc_head[a], arc_mod[a]] > -np.inf
    return _those(arc_head, arc_mod, keep)


@kernel
def _those(arc_head, arc_mod, keep):
    """The arcs (int32[A]) to keep, bool[A], in their order."""
    count = 0
    for a in range(keep.shape[0]):
        count += keep[a]
    head = np.empty(count, np.int32)
    mod = np.empty(count, np.int32)
    count = 0
    for a in range(keep.shape[0]):
        if keep[a]:
            head[count] = arc_head[a]
            mod[count] = arc_mod[a]
            count += 1
    return head, mod


@kernel
def _spread(head_ptr, arc_mod, seen, waiting, count, without):
    """Mark in `seen` all words that arcs (sorted by head) lead to from the `count` that wait.

    Nothing passes through the word `without`. Returns how many have been marked, these included.
    """
    done = 0
    while done < count:
        word = waiting[done]
        done += 1
        for a in range(head_ptr[word], head_ptr[word + 1]):
            m = arc_mod[a]
            if m != without and not seen[m]:
                seen[m] = True
                waiting[count] = m
                count += 1
    return count


@kernel
def arcs_in_crossing_trees(n, arc_head, arc_mod, single_root):
    """Those of the candidate arcs (int32[A], sorted by head) that some tree has, in their order.

    Arcs may cross. An arc is in a tree if from the root, or a word that can be its only modifier,
    its head can be reached without passing through its modifier: the way there and the arc are part
    of a tree, as every word can be reached. O(n A).
    """
    n_arcs = arc_head.shape[0]
    head_ptr = np.zeros(n + 2, np.int64)
    for a in range(n_arcs):
        head_ptr[arc_head[a] + 1] += 1
    for h in range(n + 1):
        head_ptr[h + 1] += head_ptr[h]
    keep = np.zeros(n_arcs, np.bool_)
    waiting = np.empty(n + 1, np.int64)
    starts = np.zeros(n + 1, np.bool_)  # the root's modifiers from which every word can be reached
    for a in range(head_ptr[1]):
        seen = np.zeros(n + 1, np.bool_)
        if single_root:
            waiting[0] = arc_mod[a]
            seen[arc_mod[a]] = True
            starts[arc_mod[a]] = _spread(head_ptr, arc_mod, seen, waiting, 1, 0) == n
        elif a == 0:
            waiting[0] = 0
            starts[:] = _spread(head_ptr, arc_mod, seen, waiting, 1, 0) == n + 1
    for m in range(1, n + 1):
        seen = np.zeros(n + 1, np.bool_)
        count = 0
        for a in range(head_ptr[1]):
            word = arc_mod[a]
            if word != m and starts[word]:
                seen[word] = True
                waiting[count] = word
                count += 1
        _spread(head_ptr, arc_mod, seen, waiting, count, m)
        for a in range(n_arcs):
            if arc_mod[a] == m:
                keep[a] = starts[m] if arc_head[a] == 0 else seen[arc_head[a]]
    return _those(arc_head, arc_mod, keep)
