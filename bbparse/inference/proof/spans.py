"""The checker's reading of a `Problem`, and its dynamic program for the best projective tree.

Both are plain Python, share no code with the solver, and are written to be read, not to be fast.
Scores are integer multiples of a unit (`inference.proof.exact`), and nothing is rounded.

The items are those of Koo & Collins 2010, for all kinds of parts at once:

* half (g, h, e): h with head g and all its modifiers on one side; the span ends at e;
* open (g, h, m): h with head g and its modifiers up to m, with only the half of m towards h.

For problems without grandchildren g is not used, and is always -1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from bbparse.core.parts import ANY, ProblemArrays, rows_of, set_rows
from bbparse.inference.proof.exact import NONE, exists, to_float, to_units


class Reading:
    """The arcs and parts of a problem as plain Python numbers; unless ``scored``, parts score 0."""

    def __init__(self, problem: ProblemArrays, scored: bool = True) -> None:
        self.n = problem.n_words
        self.single_root = problem.single_root
        self.head: list[int] = problem.arc_head.tolist()
        self.mod: list[int] = problem.arc_mod.tolist()
        tables: list[dict[tuple[int, ...], int]] = [{} for _ in problem.parts]
        for table, part in zip(tables, problem.parts if scored else ()):
            for *words, score in rows_of(part):  # scores of repeated parts are added
                key = tuple(word for word in words if word != ANY)
                table[key] = table.get(key, 0) + to_units(score)
        self.sib, self.gc, self.ogc, self.gsib = tables

    def link(self, g: int, h: int, inner: int, m: int) -> int:
        """Return the score that modifier m adds after ``inner`` to h, whose own head is g."""
        score = self.sib.get((h, inner, m), 0) + self.gsib.get((g, h, inner, m), 0)
        return score + self.gc.get((g, h, m), 0)


class Trees(Reading):
    """Everything that scores or forbids trees of one problem."""

    def __init__(self, problem: ProblemArrays) -> None:
        super().__init__(problem)
        p = problem
        self.projective = p.projective
        self.score: list[float] = p.arc_score.tolist()
        self.state: list[int] = p.arc_state.tolist()
        self.factor_ptr: list[int] = p.factor_ptr.tolist()
        self.factors = [arcs for arcs, _ in set_rows(p, "factor")]
        self.weights: list[float] = p.factor_score.tolist()
        counts = set_rows(p, "count")
        self.count_ptr: list[int] = p.count_ptr.tolist()
        self.sets, self.tables = [arcs for arcs, _ in counts], [scores for _, scores in counts]

    def fault(self, arcs: Sequence[int]) -> str:
        """Return why arcs, one into each word, are no feasible tree; "" if they are one."""
        for a in arcs:
            if self.state[a] == -1:
                return f"uses the forbidden arc {self.head[a]} -> {self.mod[a]}"
        for a, state in enumerate(self.state):
            if state == 1 and a not in arcs:
                return f"lacks the required arc {self.head[a]} -> {self.mod[a]}"
        heads = [-1] + [self.head[a] for a in arcs]
        for m in range(1, self.n + 1):
            above = m
            for _ in range(self.n):
                above = heads[above] if above > 0 else 0
            if above != 0:
                return f"has a cycle above word {m}"
        if self.single_root and heads.count(0) != 1:
            return f"has {heads.count(0)} root words"
        if self.projective:
            for m in range(1, self.n + 1):
                low, high = sorted((heads[m], m))
                for k in range(low + 1, high):
                    if not low <= heads[k] <= high:
                        return f"has crossing arcs: {heads[m]} -> {m} and {heads[k]} -> {k}"
        if self.phi(arcs) == -math.inf:
            return "is ruled out by a factor of score -inf"
        return ""

    def phi(self, arcs: Sequence[int]) -> float:
        """Return φ of a tree, from its definition."""
        return math.fsum(self.terms(arcs))

    def terms(self, arcs: Sequence[int]) -> list[float]:
        """Return the terms of which φ of a tree is the sum."""
        heads = [-1] + [self.head[a] for a in arcs]
        chosen = set(arcs)
        parts: list[int] = []
        for m in range(1, self.n + 1):
            h = heads[m]
            g = heads[h]
            mods = [k for k in range(1, self.n + 1) if heads[k] == h and (k < h) == (m < h)]
            nearest_first = sorted(mods, key=lambda k: abs(k - h))
            i = nearest_first.index(m)
            inner = nearest_first[i - 1] if i else -1
            parts.append(self.sib.get((h, inner, m), 0))
            parts.append(self.gsib.get((g, h, inner, m), 0))
            parts.append(self.gc.get((g, h, m), 0))
            if m == nearest_first[-1]:
                parts.append(self.ogc.get((g, h, m), 0))
        terms = [self.score[a] for a in arcs] + [to_float(x) for x in parts]
        terms += [w for arcs_of, w in zip(self.factors, self.weights) if chosen.issuperset(arcs_of)]
        terms += [
            table[len(chosen.intersection(arcs_of))]
            for arcs_of, table in zip(self.sets, self.tables)
        ]
        return terms


#: Best score of an item without a marked arc, and with at least one.
Pair = tuple[int, int]
_NOTHING: Pair = (NONE, NONE)
_EMPTY: Pair = (0, NONE)


def _join(a: Pair, b: Pair) -> Pair:
    """Combine two items."""
    if a[1] == b[1] == NONE:  # shortcut: nearly always so, and sums with `NONE` are slow
        return a[0] + b[0], NONE
    return a[0] + b[0], max(a[0] + b[1], a[1] + b[0], a[1] + b[1])


def _better(a: Pair, b: Pair) -> Pair:
    """Take the better of two alternatives."""
    return max(a[0], b[0]), max(a[1], b[1])


def _some(a: Pair) -> bool:
    """Return True if the item exists."""
    return exists(a[0]) or exists(a[1])


def _plus(a: Pair, score: int) -> Pair:
    return a[0] + score, a[1] + score if a[1] != NONE else NONE


class Projective(Reading):
    """The dynamic program of one projective problem; it uses arcs, parts and ``single_root``."""

    def __init__(self, problem: ProblemArrays, scored: bool = True) -> None:
        super().__init__(problem, scored)
        self.by_grand = bool(self.gc or self.ogc or self.gsib)

    def best(
        self, alive: Sequence[bool], score: Sequence[int], some: frozenset[int], _: Sequence[int]
    ) -> int:
        """Return the best score of a tree over the alive arcs; see `Crossing.best`."""
        without, having = self.both(alive, score, some)
        return having if some else without

    def both(
        self, alive: Sequence[bool], score: Sequence[int], marked: frozenset[int] = frozenset()
    ) -> Pair:
        """Return the best scores of trees without marked arcs, and of trees with one; or `NONE`."""
        arcs: dict[tuple[int, int], Pair] = {}
        for a, lives in enumerate(alive):
            if lives:
                at = (self.head[a], self.mod[a])
                this = (NONE, score[a]) if a in marked else (score[a], NONE)
                arcs[at] = _better(arcs.get(at, _NOTHING), this)
        return _Chart(self, arcs).tree()


class _Chart:
    """One run of the dynamic program; its tables hold only items that exist."""

    def __init__(self, spans: Projective, arcs: dict[tuple[int, int], Pair]) -> None:
        self.spans = spans
        self.arcs = arcs
        n = spans.n
        self.grands: list[list[int]] = [[-1]] + [[] for _ in range(n)]
        self.mods: list[list[int]] = [[] for _ in range(n + 1)]
        for h, m in sorted(arcs):
            self.mods[h].append(m)
            self.grands[m].append(h)
        if not spans.by_grand:
            self.grands = [[-1] for _ in range(n + 1)]
        self.open: dict[tuple[int, int, int], Pair] = {}
        self.half: dict[tuple[int, int, int], Pair] = {}
        for h in range(n + 1):
            for g in self.grands[h]:
                self.half[g, h, h] = _EMPTY
        self.between: dict[tuple[int, int, int], Pair] = {}

    def tree(self) -> Pair:
        """Fill the tables, narrow spans first, and put the whole sentence together."""
        n = self.spans.n
        by_width = sorted(self.arcs, key=lambda arc: abs(arc[0] - arc[1]))
        at = 0
        for width in range(1, n + 1):
            while at < len(by_width) and abs(by_width[at][0] - by_width[at][1]) == width:
                h, m = by_width[at]
                for g in self.grands[h]:
                    if not min(h, m) <= g <= max(h, m):
                        self._open(g, h, m)
                at += 1
            for h in range(n + 1):
                for end in (h - width, h + width):
                    if 1 <= end <= n:
                        for g in self.grands[h]:
                            self._half(g, h, end)
        if not self.spans.single_root:
            return self.half.get((-1, 0, n), _NOTHING)
        best = _NOTHING
        for m in self.mods[0]:
            # the root word is the nearest modifier of the root, and the only one
            alone = self._first(-1, 0, m)
            rest = self.half.get((self._above(0), m, n), _NOTHING)
            best = _better(best, _join(alone, rest))
        return best

    def _above(self, h: int) -> int:
        """Return the head that a half span records: h, or -1 without grandchildren."""
        return h if self.spans.by_grand else -1

    def _first(self, g: int, h: int, m: int) -> Pair:
        """Build the item of h with m as nearest modifier; words between them are under m."""
        next_to_head = h + 1 if m > h else h - 1
        inside = self.half.get((self._above(h), m, next_to_head), _NOTHING)
        return _plus(_join(inside, self.arcs[h, m]), self.spans.link(g, h, -1, m))

    def _open(self, g: int, h: int, m: int) -> None:
        best = self._first(g, h, m)
        for inner in self.mods[h]:
            if h < inner < m or m < inner < h:
                before = self.open.get((g, h, inner))
                if before is not None:
                    both = _join(_join(before, self._between(h, inner, m)), self.arcs[h, m])
                    best = _better(best, _plus(both, self.spans.link(g, h, inner, m)))
        if _some(best):
            self.open[g, h, m] = best

    def _between(self, h: int, inner: int, m: int) -> Pair:
        """Combine the halves of two adjacent modifiers of h over the words between them."""
        g = self._above(h)
        known = self.between.get((g, inner, m))
        if known is None:
            known = _NOTHING
            left, right = min(inner, m), max(inner, m)
            for end in range(left, right):
                one = self.half.get((g, left, end))
                other = self.half.get((g, right, end + 1))
                if one is not None and other is not None:
                    known = _better(known, _join(one, other))
            self.between[g, inner, m] = known
        return known

    def _half(self, g: int, h: int, end: int) -> None:
        best = _NOTHING
        for m in self.mods[h]:
            if h < m <= end or end <= m < h:
                before = self.open.get((g, h, m))
                if before is not None:
                    last = self.half.get((self._above(h), m, end), _NOTHING)
                    outermost = self.spans.ogc.get((g, h, m), 0)
                    best = _better(best, _plus(_join(before, last), outermost))
        if _some(best):
            self.half[g, h, end] = best
