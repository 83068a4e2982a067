"""Which candidate arcs some tree has.

A head that looks likely by itself may fit no tree: one in eight candidate arcs of English crosses
all that could hold the rest of the sentence together. Such arcs need no scores, nor do the parts
and factors over them.

For projective trees, an inside and an outside pass over the spans of Eisner (1996), in truth values
of which 64 are looked at together: bits in rows stand for the places where a span can be split.
"""

from __future__ import annotations

import numpy as np

from bbparse.jit import inlined, kernel


@kernel
def _bits(low, high):
    """The bits low..high - 1 of a word of 64."""
    one = np.uint64(1)
    return (one << np.uint64(high)) - (one << np.uint64(low))


@kernel
def _in_trees_by_bits(n, arcs, single_root):
    """Whether each arc is in a tree, for at most 62 words: bool[n+1, n+1] like `arcs`.

    A row is a word of bits: O(n²).
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


@inlined
def _put(rows, i, place):
    rows[i, place >> 6] |= np.uint64(1) << np.uint64(place & 63)


@inlined
def _has(rows, i, place):
    return (rows[i, place >> 6] >> np.uint64(place & 63)) & np.uint64(1) != 0


@inlined
def _common(rows, i, others, j, word, low, high):
    """The bits low..high - 1 that two rows have in common, as far as a word of them goes."""
    both = rows[i, word] & others[j, word]
    if both != 0:
        first, last = low - 64 * word, high - 64 * word
        if first > 0:
            both &= ~_bits(0, first)
        if last < 64:
            both &= _bits(0, last)
    return both


@inlined
def _meet(rows, i, others, j, low, high):
    """Whether two rows have one of the bits low..high - 1 in common."""
    found = False
    for word in range(low >> 6, ((high - 1) >> 6) + 1):
        if _common(rows, i, others, j, word, low, high) != 0:
            found = True
            break
    return found


@inlined
def _pass_on(rows, i, others, j, low, high, to_rows, to_others):
    """Add to two rows what two others have in common of the bits low..high - 1."""
    for word in range(low >> 6, ((high - 1) >> 6) + 1):
        both = _common(rows, i, others, j, word, low, high)
        if both != 0:
            to_rows[i, word] |= both
            to_others[j, word] |= both


@kernel
def _in_trees_by_rows(n, arcs, single_root):
    """The same for any number of words: O(n³ / 64).

    Bits of `left` and `out_left` are those of the places before, where the other span ends.
    """
    size = n + 1
    first = 1 if single_root else 0
    rows = np.zeros((12, size, (size >> 6) + 1), np.uint64)
    right, right_by_end, left, left_by_end = rows[0], rows[1], rows[2], rows[3]
    arc_right, arc_left = rows[4], rows[5]
    for i in range(first, size):
        _put(right, i, i)
        _put(right_by_end, i, i)
        _put(left_by_end, i, i)
        if i > 0:
            _put(left, i, i - 1)
    for length in range(1, size - first):
        for i in range(first, size - length):
            j = i + length
            if (arcs[i, j] or arcs[j, i]) and _meet(right, i, left, j, i, j):
                if arcs[i, j]:
                    _put(arc_right, i, j)
                if arcs[j, i] and i > 0:
                    _put(arc_left, j, i)
            if _meet(arc_right, i, right_by_end, j, i + 1, j + 1):
                _put(right, i, j)
                _put(right_by_end, j, i)
            if _meet(left_by_end, i, arc_left, j, i, j):
                if i > 0:
                    _put(left, j, i - 1)
                _put(left_by_end, i, j)
    found = np.zeros((size, size), np.bool_)
    out_right, out_right_by_end, out_left, out_left_by_end = rows[6], rows[7], rows[8], rows[9]
    out_arc_right, out_arc_left = rows[10], rows[11]
    if single_root:
        for m in range(1, size):
            if arcs[0, m] and _has(left, m, 0) and _has(right, m, n):
                found[0, m] = True
                _put(out_left, m, 0)
                _put(out_right, m, n)
    elif _has(right, 0, n):
        _put(out_right, 0, n)
    for length in range(n - first, 0, -1):
        for i in range(first, size - length):
            j = i + length
            if _has(out_right, i, j) or _has(out_right_by_end, j, i):
                _pass_on(
                    arc_right, i, right_by_end, j, i + 1, j + 1, out_arc_right, out_right_by_end
                )
            if (i > 0 and _has(out_left, j, i - 1)) or _has(out_left_by_end, i, j):
                _pass_on(left_by_end, i, arc_left, j, i, j, out_left_by_end, out_arc_left)
            found[i, j] = _has(out_arc_right, i, j)
            found[j, i] = _has(out_arc_left, j, i)
            if found[i, j] or found[j, i]:
                _pass_on(right, i, left, j, i, j, out_right, out_left)
    return found


@kernel
def arcs_in_trees(n, arc_head, arc_mod, single_root):
    """Those of the candidate arcs (int32[A]) that some projective tree has, in their order.

    There are none where no tree exists.
    """
    n_arcs = arc_head.shape[0]
    keep = np.zeros(n_arcs, np.bool_)
    arcs = np.zeros((n + 1, n + 1), np.bool_)
    for a in range(n_arcs):
        arcs[arc_head[a], arc_mod[a]] = True
    if n <= 62:
        found = _in_trees_by_bits(n, arcs, single_root)
    else:
        found = _in_trees_by_rows(n, arcs, single_root)
    for a in range(n_arcs):
        keep[a] = found[arc_head[a], arc_mod[a]]
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
