"""All trees of a problem as arrays, scored so that no proportion of scores hides a digit.

No code is shared with the package: only the arrays of a problem are read. Shapes of up to six words
are listed once; for more words the heads that a problem names are combined, where these are few.
Scores are sums of two doubles (Dekker 1971), right to 2**-95 of the terms that a tree contains.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float64s = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Most combinations of heads, and most trees with their labels.
MOST = 100_000


class TooMany(ValueError):
    """More trees than can be listed."""


@dataclass(frozen=True)
class Shapes:
    """Trees by their heads: int64[T, n + 1], of which column 0 is -1."""

    heads: Ints

    def kept(self, rows: Any) -> Shapes:
        """Some of these trees, with what is known about them."""
        some = Shapes(self.heads[rows])
        for name in ("inner", "grand", "outermost"):
            if name in self.__dict__:
                some.__dict__[name] = self.__dict__[name][rows]
        return some

    @cached_property
    def grand(self) -> Ints:
        """The head of each word's head; -1 where that is the root."""
        return np.take_along_axis(self.heads, np.maximum(self.heads, 0), 1)

    @cached_property
    def inner(self) -> Ints:
        """The next modifier of each word's head on the way to that head; -1: none."""
        found = np.full_like(self.heads, -1)
        n = self.heads.shape[1] - 1
        for m, k in product(range(1, n + 1), range(1, n + 1)):
            if k == m:
                continue
            h = self.heads[:, m]
            between = (k < m) & (h < k) if k < m else h > k
            both = between & (self.heads[:, k] == h)
            # k comes nearer to m: upwards from the left, and only the first from the right
            found[both & ((found[:, m] < 0) | (k < m)), m] = k
        return found

    @cached_property
    def outermost(self) -> Flags:
        """Whether no modifier of the same head lies farther out on the word's side."""
        found = np.ones(self.heads.shape, np.bool_)
        n = self.heads.shape[1] - 1
        for m, k in product(range(1, n + 1), range(1, n + 1)):
            h = self.heads[:, m]
            farther = h < m if k > m else h > m
            if k != m:
                found[:, m] &= ~(farther & (self.heads[:, k] == h))
        return found


def _trees(heads: Ints, projective: bool) -> Flags:
    """Which rows int64[R, n + 1] are trees; column 0 is 0 here."""
    n = heads.shape[1] - 1
    above = heads
    for _ in range(n.bit_length()):
        above = np.take_along_axis(above, above, 1)
    good: Flags = ~above.any(1)
    if projective:
        for m, k in product(range(1, n + 1), range(1, n + 1)):
            if m == k:
                continue
            low, high = np.minimum(heads[:, m], m), np.maximum(heads[:, m], m)
            inside = (low < k) & (k < high)
            good &= ~(inside & ((heads[:, k] < low) | (heads[:, k] > high)))
    return good


def _combined(choices: list[list[int]], projective: bool, single_root: bool) -> Shapes:
    """Trees in which each word has one of its heads."""
    total = math.prod(map(len, choices))
    if total > MOST:
        raise TooMany(f"{total} combinations of heads")
    heads = np.zeros((total, len(choices) + 1), np.int64)
    rows = np.arange(total)
    for m, own in enumerate(choices, start=1):
        rows, place = np.divmod(rows, max(1, len(own)))
        heads[:, m] = np.array(own or [0], np.int64)[place]
    if single_root:
        heads = heads[(heads[:, 1:] == 0).sum(1) == 1]
    heads = heads[_trees(heads, projective)]
    heads[:, 0] = -1
    return Shapes(heads)


@cache
def _all_shapes(n: int, projective: bool) -> Shapes:
    found = _combined(
        [[h for h in range(n + 1) if h != m] for m in range(1, n + 1)], projective, False
    )
    _ = found.inner, found.grand, found.outermost
    return found


@dataclass(frozen=True)
class Forest:
    """Feasible trees: int64[T, n] arcs, scores high + low float64[T], and Σ |terms| float64[T].

    ``high`` is the score as a double.
    """

    arcs: Ints
    high: Float64s
    low: Float64s
    size: Float64s

    def order(self) -> Ints:
        """Trees by falling score."""
        return np.lexsort((-self.low, -self.high))

    @cached_property
    def place(self) -> dict[tuple[int, ...], int]:
        """The index of each tree, by its arcs."""
        return {tuple(row): i for i, row in enumerate(self.arcs.tolist())}


def forest(problem: Any) -> Forest:
    """All feasible trees of a problem; `TooMany` if they are."""
    p, n = problem, problem.n_words
    head, mod, state = (a.astype(np.int64) for a in (p.arc_head, p.arc_mod, p.arc_state))
    required = np.zeros(n + 1, np.bool_)
    required[mod[state == 1]] = True
    usable = np.flatnonzero((state == 1) | ((state == 0) & ~required[mod]))
    # arcs between the same words lie beside each other
    usable = usable[np.lexsort((head[usable], mod[usable]))]
    number = np.zeros((n + 1, n + 1), np.int64)
    np.add.at(number, (head[usable], mod[usable]), 1)
    if n <= 6:
        shapes = _all_shapes(n, bool(p.projective))
        heads = shapes.heads
        good = (number[heads[:, 1:], np.arange(1, n + 1)] > 0).all(1)
        if p.single_root:
            good &= (heads[:, 1:] == 0).sum(1) == 1
        shapes = shapes.kept(good)
    else:
        choices = [np.flatnonzero(number[:, m]).tolist() for m in range(1, n + 1)]
        shapes = _combined(choices, bool(p.projective), bool(p.single_root))
    # one row for each way to label a tree
    first = np.zeros((n + 1, n + 1), np.int64)
    first.T.flat[:] = np.cumsum(np.append(0, number.T.flat))[:-1]
    heads = shapes.heads
    ways = number[heads[:, 1:], np.arange(1, n + 1)]
    total = ways.prod(1)
    if total.sum() > MOST:
        raise TooMany(f"{total.sum()} trees with labels")
    rows = np.repeat(np.arange(len(heads)), total)
    rest = np.arange(len(rows)) - np.repeat(np.cumsum(total) - total, total)
    if len(rows) != len(heads):
        shapes = shapes.kept(rows)
        heads, ways = shapes.heads, ways[rows]
    arcs = np.empty((len(rows), n), np.int64)
    for m in range(1, n + 1):
        rest, place = np.divmod(rest, np.maximum(1, ways[:, m - 1]))
        arcs[:, m - 1] = usable[first[heads[:, m], m] + place] if len(usable) else 0
    return _scored(p, shapes, arcs)


def forest_of(problem: Any, rows: Any) -> Forest:
    """Those of the given trees, int[T, n] arcs, that are feasible."""
    p = problem
    arcs = np.unique(np.array(rows, np.int64).reshape(-1, p.n_words), axis=0)
    words = np.arange(1, p.n_words + 1)
    arcs = arcs[((arcs >= 0) & (arcs < len(p.arc_head))).all(1)]
    heads = np.zeros((len(arcs), p.n_words + 1), np.int64)
    heads[:, 1:] = p.arc_head[arcs]
    good = (p.arc_mod[arcs] == words).all(1) & (p.arc_state[arcs] != -1).all(1)
    good &= (p.arc_state[arcs] == 1).sum(1) == (p.arc_state == 1).sum()
    good &= _trees(heads, bool(p.projective))
    if p.single_root:
        good &= (heads[:, 1:] == 0).sum(1) == 1
    heads[:, 0] = -1
    return _scored(p, Shapes(heads[good]), arcs[good])


def _scored(p: Any, shapes: Shapes, arcs: Ints) -> Forest:
    """Trees with their scores; those of score -inf are left out."""
    high, low, size = np.zeros((3, len(arcs)))
    feasible = np.ones(len(arcs), np.bool_)
    for term in _terms(p, shapes, arcs):
        feasible &= term > -np.inf
        x = np.where(feasible, term, 0.0)
        total = high + x
        part = total - high
        low += (high - (total - part)) + (x - part)
        high = total
        size += np.abs(x)
    total = high + low
    low -= total - high  # |low| is at most half a unit in the last place of the sum
    return Forest(*(a[feasible] for a in (arcs, total, low, size)))


def _terms(p: Any, shapes: Shapes, arcs: Ints) -> Any:
    """All terms of the definition of φ, one float64[T] after the other."""
    n, heads = p.n_words, shapes.heads
    for m in range(n):
        yield p.arc_score[arcs[:, m]] if len(arcs) else np.zeros(0)
    words = np.broadcast_to(np.arange(n + 1), heads.shape)[:, 1:]
    for kind in ("sib", "gc", "ogc", "gsib"):
        scores = getattr(p, f"{kind}_score")
        if not len(scores):
            continue
        h = heads[:, 1:]
        if kind.endswith("sib"):
            keys = (h, shapes.inner[:, 1:] + 1, words)
            columns = [getattr(p, f"{kind}_{name}") for name in ("head", "inner", "outer")]
            columns[1] = columns[1] + 1
            if kind == "gsib":
                keys = (shapes.grand[:, 1:] + 1, *keys)
                columns.insert(0, p.gsib_grand + 1)
        else:
            keys = (shapes.grand[:, 1:] + 1, h, words)
            columns = [getattr(p, f"{kind}_{name}") for name in ("grand", "head", "mod")]
            columns[0] = columns[0] + 1
        table = np.zeros((n + 2,) * len(keys))
        table[tuple(columns)] = scores
        values = table[keys]
        if kind == "ogc":
            values = np.where(shapes.outermost[:, 1:], values, 0.0)
        yield from values.T
    ptr = p.factor_ptr.tolist()
    for f, weight in enumerate(p.factor_score.tolist()):
        fires = np.ones(len(arcs), np.bool_)
        for a in p.factor_arcs[ptr[f] : ptr[f + 1]].tolist():
            fires &= arcs[:, p.arc_mod[a] - 1] == a
        yield np.where(fires, weight, 0.0)
    ptr, starts = p.count_ptr.tolist(), p.count_score_ptr.tolist()
    for c in range(len(ptr) - 1):
        number = np.zeros(len(arcs), np.int64)
        for a in p.count_arcs[ptr[c] : ptr[c + 1]].tolist():
            number += arcs[:, p.arc_mod[a] - 1] == a
        yield p.count_score[starts[c] : starts[c + 1]][number]
