"""Which candidate arcs some tree has.

A head that looks likely by itself may fit no tree: one in eight candidate arcs of English crosses
all that could hold the rest of the sentence together. Such arcs need no scores, nor do the parts
and factors over them.

For projective trees, an inside and an outside pass over the spans of Eisner (1996), in truth values
of which 64 are looked at together: bits in rows stand for the places where a span can be split.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import inlined, kernel

Ints = NDArray[np.int32]


@kernel
def _bits(low, high):
    """The bits low..high - 1 of a word of 64."""
    one = np.uint64(1)
    return (one << np.uint64(high)) - (one << np.uint64(low))


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
def _in_projective_trees(n, arc_head, arc_mod, single_root):
    """Those of the arcs that are in a tree. O(n³ / 64).

    Bit j of row i of `right`: there is the span from head i to j >= i, in `right_by_end` it is bit
    i of row j. Bits of `left` and `out_left` are those of the places before, where the other span
    ends.
    """
    size = n + 1
    arcs = np.zeros((size, size), np.bool_)
    for a in range(arc_head.shape[0]):
        arcs[arc_head[a], arc_mod[a]] = True
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
    found = arcs  # each is looked at before it is written
    out_right, out_right_by_end, out_left, out_left_by_end = rows[6], rows[7], rows[8], rows[9]
    out_arc_right, out_arc_left = rows[10], rows[11]
    if single_root:
        for m in range(1, size):
            found[0, m] = arcs[0, m] and _has(left, m, 0) and _has(right, m, n)
            if found[0, m]:
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
    keep = np.empty(arc_head.shape[0], np.bool_)
    for a in range(arc_head.shape[0]):
        keep[a] = found[arc_head[a], arc_mod[a]]
    return arc_head[keep], arc_mod[keep]


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
def _in_crossing_trees(n, arc_head, arc_mod, single_root):
    """Those of the arcs, sorted by head, that are in a tree whose arcs may cross.

    An arc is in a tree if from the root, or a word that can be its only modifier,
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
    return arc_head[keep], arc_mod[keep]


def arcs_in_trees(
    n: int, arc_head: Ints, arc_mod: Ints, single_root: bool, projective: bool = True
) -> tuple[Ints, Ints]:
    """Those of the candidate arcs int32[A], sorted by head, that some tree has, in their order.

    There are none where no tree exists.
    """
    chosen = _in_projective_trees if projective else _in_crossing_trees
    found: tuple[Ints, Ints] = chosen(n, arc_head, arc_mod, single_root)
    return found
