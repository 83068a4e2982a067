"""Candidate arcs that belong to some projective tree.

A head that looks likely alone may fit no tree: one in eight candidate arcs of English crosses every
arc that could connect the rest of the sentence. Such arcs need no scores, nor do the parts and
factors over them. Trees whose arcs may cross use nearly all candidate arcs.

A boolean inside and outside pass over the spans of Eisner (1996).
"""

from __future__ import annotations

import numpy as np

from bbparse.runtime.jit import kernel


@kernel
def in_projective_trees(n, arc_head, arc_mod, single_root):  # noqa: C901 – one recurrence, there and back
    """Return the arcs, sorted by head, that belong to a projective tree. O(n A).

    ``whole[h, e]`` and ``ending[e, h]`` are True if there is a span from head h to its end e, and
    ``arc[h, m]`` if there is one of an arc. ``used`` and ``found`` mark those in a tree.
    """
    size = n + 1
    first = np.uint64(1 if single_root else 0)
    one, last = np.uint64(1), np.uint64(n)
    tables, ptr = np.zeros((6, size, size), np.bool_), np.zeros(size + 1, np.int64)
    whole, ending, arc, used, found = tables[0], tables[1], tables[2], tables[3], tables[4]
    given = tables[5]
    for a in range(arc_head.shape[0]):
        given[arc_head[a], arc_mod[a]] = True
        ptr[arc_head[a] + 1] = a + 1
    for h in range(size):
        ptr[h + 1] = max(ptr[h], ptr[h + 1])
    for i in range(size):
        whole[i, i] = ending[i, i] = True
    for j in range(first + one, last + one):
        for below in range(one, j - first + one):
            i = j - below
            if given[i, j] or given[j, i]:
                meet = False
                for k in range(i, j):
                    meet |= whole[i, k] & whole[j, k + one]
                arc[i, j], arc[j, i] = meet & given[i, j], meet & given[j, i]
            right = left = False
            for a in range(ptr[i], ptr[i + one]):
                k = np.uint64(arc_mod[a])
                right |= i < k <= j and arc[i, k] and ending[j, k]
            for a in range(ptr[j], ptr[j + one]):
                k = np.uint64(arc_mod[a])
                left |= i <= k < j and arc[j, k] and ending[i, k]
            whole[i, j] = ending[j, i] = right
            whole[j, i] = ending[i, j] = left
    if single_root:
        for m in range(one, last + one):
            found[0, m] = given[0, m] and whole[m, 1] and whole[m, n]
            if found[0, m]:
                used[m, 1] = used[m, n] = True
    else:
        used[0, n] = whole[0, n]
    for length in range(n - int(first), 0, -1):
        for i in range(first, last + one - np.uint64(length)):
            j = i + np.uint64(length)
            if used[i, j]:
                for a in range(ptr[i], ptr[i + one]):
                    k = np.uint64(arc_mod[a])
                    if i < k <= j and arc[i, k] and ending[j, k]:
                        found[i, k] = used[k, j] = True
            if used[j, i]:
                for a in range(ptr[j], ptr[j + one]):
                    k = np.uint64(arc_mod[a])
                    if i <= k < j and arc[j, k] and ending[i, k]:
                        found[j, k] = used[k, i] = True
            if found[i, j] or found[j, i]:
                for k in range(i, j):
                    if whole[i, k] and whole[j, k + one]:
                        used[i, k] = used[j, k + one] = True
    keep = np.empty(arc_head.shape[0], np.bool_)
    for a in range(arc_head.shape[0]):
        keep[a] = found[arc_head[a], arc_mod[a]]
    return arc_head[keep], arc_mod[keep]
