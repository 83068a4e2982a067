"""Paths of at most three arcs between two words of a tree, and the features that classify them.

A template is the labels of a path: first up from the dependent of an edge, then down to its head.
All templates form a trie: ``up`` and ``down``, int32[states, relations], lead from a state by a
label to the next one (-1 for none); ``template``, int32[states], is the one that ends there.
"""

from __future__ import annotations

import numpy as np

from bbparse.models.graph.words import (
    CLAUSE,
    EXPLETIVE,
    HEAD,
    LEMMA,
    MARKER,
    OBJECT,
    PASSIVE,
    RELATION,
    RELATIVE,
    SUBJECT,
    UPOS,
)
from bbparse.runtime.arrays import Ints
from bbparse.runtime.jit import kernel

#: Most arcs of a path, and its nodes: words, or the root.
MAX_ARCS = 3
MAX_NODES = MAX_ARCS + 1
# Columns of a path: its template, its number of words, and their rows from dependent to head.
TEMPLATE, LENGTH, NODES = 0, 1, 2
N_PATH = NODES + MAX_NODES
#: Most features of a path, and of these for children: words may have many.
MAX_FEATURES, _MOST_CHILDREN = 400, 300

graph_kernel = kernel(stage="enhanced graphs")
_part = kernel(stage="enhanced graphs", inline=True)


@graph_kernel
def find_paths(words, up, down, template, paths):
    """Write the paths that match a template to int32[:, N_PATH]; return how many there are.

    From each word up by at most three labels; from each word on the way down by the labels that are
    left, depth first. O(words · templates that begin alike).
    """
    rows, child_start, children = words.rows, words.child_start, words.children
    found = 0
    stack = np.empty((MAX_ARCS * rows.shape[0], 3), np.int32)  # word, state, arcs down
    nodes = np.empty(MAX_NODES, np.int32)
    for d in range(rows.shape[0]):
        if rows[d, HEAD] < 0:
            continue
        state, top, below = 0, d, -1
        for n_up in range(MAX_ARCS + 1):
            size = 1
            stack[0, 0], stack[0, 1], stack[0, 2] = top, state, 0
            while size:
                size -= 1
                x, s, n_down = stack[size, 0], stack[size, 1], stack[size, 2]
                n_arcs = n_up + n_down
                nodes[n_arcs] = x
                if template[s] >= 0 and n_arcs:
                    if found < paths.shape[0]:
                        paths[found, TEMPLATE], paths[found, LENGTH] = template[s], n_arcs + 1
                        for j in range(n_arcs + 1):
                            paths[found, NODES + j] = nodes[j]
                    found += 1
                if n_arcs == MAX_ARCS:
                    continue
                for c in range(child_start[x + 1] - 1, child_start[x] - 1, -1):
                    child = children[c]
                    after = down[s, rows[child, RELATION]]
                    if after >= 0 and child != below:
                        stack[size, 0], stack[size, 1], stack[size, 2] = child, after, n_down + 1
                        size += 1
            if rows[top, HEAD] < 0:
                break
            state = up[state, rows[top, RELATION]]
            if state < 0:
                break
            below, top = top, rows[top, HEAD]
    return found


@graph_kernel
def find_relatives(words, bits, adposition):
    """Return int32[rows, 2]: the relative word and the stranded adposition of each clause.

    The relative word is the first one among a word and its children; else below a child that heads
    no clause of its own. A stranded adposition follows the word and has no children. -1 for none.
    """
    rows, child_start = words.rows, words.child_start
    n = rows.shape[0]
    found = np.full((n, 2), -1, np.int32)
    for r in range(n):
        head = rows[r, HEAD]
        if head >= 0 and rows[r, RELATIVE]:
            if found[r, 0] < 0:
                found[r, 0] = r
            if found[head, 0] < 0:
                found[head, 0] = r
        is_bare = child_start[r] == child_start[r + 1]
        if 0 <= head < r and rows[r, UPOS] == adposition and is_bare and found[head, 1] < 0:
            found[head, 1] = r
    for r in range(n):
        head = rows[r, HEAD]
        if head >= 0 and rows[r, RELATIVE] and not bits[rows[head, RELATION]] & CLAUSE:
            clause = rows[head, HEAD]
            if clause >= 0 and found[clause, 0] < 0:
                found[clause, 0] = r
    return found


@_part
def _block_size(sizes):
    """Return the number of features of one place on a path, by the sizes of a vocabulary."""
    return sizes.sum() + 11 * sizes[0] + 2 * sizes[LEMMA - RELATION] + 10


def n_features(sizes: Ints) -> int:
    """Return the number of features of a path."""
    return int(MAX_NODES * _block_size.py_func(sizes) + sizes[1] ** 2 + 10)


@_part
def _features(path, words, bits, relatives, sizes, out):
    """Write the features of a path to `out`, int32[MAX_FEATURES]; return their number.

    A feature is a number: a block for each place on the path, then one for the whole path.
    """
    rows, child_start, children = words.rows, words.child_start, words.children
    n_relations, n_upos, n_lemmas = sizes[0], sizes[1], sizes[LEMMA - RELATION]
    length, block = path[LENGTH], _block_size(sizes)
    d, p = path[NODES], path[NODES + length - 1]
    count = 0
    for j in range(length):
        x, base = path[NODES + j], j * block
        is_top = (j == 0 or rows[x, HEAD] != path[NODES + j - 1]) and (
            j == length - 1 or rows[x, HEAD] != path[NODES + j + 1]
        )
        if is_top:
            out[count] = base + rows[x, RELATION]
            count += 1
        base += n_relations
        for k in range(1, sizes.shape[0]):
            out[count] = base + rows[x, RELATION + k]
            count += 1
            base += sizes[k]
        seen = 0
        for c in range(child_start[x], child_start[x + 1]):
            relation, lemma = rows[children[c], RELATION], rows[children[c], LEMMA]
            seen |= bits[relation]
            if count < _MOST_CHILDREN:
                out[count] = base + relation
                count += 1
                if lemma and bits[relation] & MARKER:
                    out[count] = base + n_relations + lemma
                    count += 1
        base += n_relations + n_lemmas
        if j:
            out[count] = base + (d < x)
            count += 1
        base += 2
        r, relation = relatives[x, 0], 0
        if r >= 0:
            relation, head = rows[r, RELATION], rows[r, HEAD]
            on_path = False
            for i in range(length):
                on_path |= path[NODES + i] == head
            out[count] = base + (n_relations if head == p else 0) + relation
            out[count + 1] = base + 2 * n_relations + (r == d) + 2 * (r == p) + 4 * on_path
            out[count + 2] = base + 2 * n_relations + 8 + rows[r, LEMMA]
            count += 3
        base += 2 * n_relations + 8 + n_lemmas
        state = (seen & SUBJECT != 0) | (seen & OBJECT != 0) << 1 | (relatives[x, 1] >= 0) << 2
        out[count] = base + state * n_relations + relation
        count += 1
    base = MAX_NODES * block
    out[count] = base + rows[d, UPOS] * n_upos + rows[p, UPOS]
    base += n_upos * n_upos
    seen = 0
    for c in range(child_start[p], child_start[p + 1]):
        seen |= bits[rows[children[c], RELATION]]
    out[count + 1] = base + (
        (seen & SUBJECT != 0) | (seen & EXPLETIVE != 0) << 1 | (seen & PASSIVE != 0) << 2
    )
    out[count + 2] = base + 8 + (relatives[p, 1] >= 0)
    return count + 3


@graph_kernel
def feature_rows(paths, words, bits, relatives, sizes, starts, out):
    """Write the features of each path to `out` as far as it is long, and where they begin."""
    buffer = np.empty(MAX_FEATURES, np.int32)
    starts[0] = 0
    for i in range(paths.shape[0]):
        count = _features(paths[i], words, bits, relatives, sizes, buffer)
        start = starts[i]
        if start + count <= out.shape[0]:
            out[start : start + count] = buffer[:count]
        starts[i + 1] = start + count


@graph_kernel
def classify(paths, words, bits, relatives, sizes, index, weights, n_classes):
    """Return int32[paths]: the class with the highest score of each path; the first of several.

    ``index``, int32[templates, features], is where the weights of a feature begin, -1 for none.
    """
    buffer = np.empty(MAX_FEATURES, np.int32)
    scores = np.empty(n_classes.max(), np.float32)
    best = np.zeros(paths.shape[0], np.int32)
    for i in range(paths.shape[0]):
        t = paths[i, TEMPLATE]
        if n_classes[t] == 1:
            continue
        count = _features(paths[i], words, bits, relatives, sizes, buffer)
        scores[:] = 0.0
        for k in range(count):
            start = index[t, buffer[k]]
            if start >= 0:
                for y in range(n_classes[t]):
                    scores[y] += weights[start + y]
        for y in range(1, n_classes[t]):
            if scores[y] > scores[best[i]]:
                best[i] = y
    return best


@graph_kernel
def loss_gradient(weights, starts, features, classes, ridge, gradient):
    """Return the regularised negative log-likelihood of a multinomial model, and its gradient.

    ``weights`` and ``gradient`` are float64[features, classes]; the features of row i are those
    from ``starts[i]`` on, its class is ``classes[i]``.
    """
    n_classes = weights.shape[1]
    scores = np.empty(n_classes, np.float64)
    loss = 0.0
    for f in range(weights.shape[0]):
        for y in range(n_classes):
            gradient[f, y] = ridge * weights[f, y]
            loss += 0.5 * ridge * weights[f, y] ** 2
    for i in range(classes.shape[0]):
        scores[:] = 0.0
        for k in range(starts[i], starts[i + 1]):
            scores += weights[features[k]]
        largest = scores.max()
        total = np.exp(scores - largest).sum()
        loss += np.log(total) + largest - scores[classes[i]]
        for y in range(n_classes):
            change = np.exp(scores[y] - largest) / total - (y == classes[i])
            for k in range(starts[i], starts[i + 1]):
                gradient[features[k], y] += change
    return loss
