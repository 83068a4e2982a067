"""Reduction of a problem to the trees that score at least as much as a known one.

Let P be the sum of the maximum scores of words, parts, factors and count factors, each by itself. A
tree of score L loses P - L in all against these maxima, and a tree that is as good can lose no more
at any one place. So arcs with a larger loss are forbidden, and so are factors and numbers of arcs;
factors and parts whose absence would lose more are required; and the maximum of each word and each
count factor is subtracted. The scores that remain are of the size of P - L, whatever the original
scores were: penalties of masks and rewards that force an arc become constraints, and enter no sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bbparse.core.parts import PART_NAMES, pair_keys, take_sets
from bbparse.core.problem import Problem
from bbparse.core.tree import arcs_left, rivals
from bbparse.runtime.arrays import NEG, Flags, Float64s, Ints

#: Factor by which a loss must exceed the largest possible one, because of rounding.
_MARGIN = 1.0 + 1e-9
#: Exponent of two of the largest score of a reduced problem: `bbparse.core.check.MAX_SCORE`.
_TOP = 332


class Nothing(Exception):
    """No tree of a problem scores more than the known one."""


@dataclass(slots=True)
class Choice:
    """A choice between trees that have and lack something, and its largest effect on the score."""

    size: float
    kind: str  # "arc", "factor", "count", or a kind of part
    index: int
    number: int = 0  # number of arcs of a count factor


class Normal(NamedTuple):
    """A problem with the trees of a `Reduction`, without the constants in their scores.

    The score of a tree is ``unit`` times its score in the original problem minus the sum of the
    ``constants``. ``kept`` bool[F] marks the factors of the original problem that are in it.
    """

    problem: Problem
    unit: float
    constants: list[float]
    kept: Flags


@dataclass(eq=False)
class Reduction:
    """The trees of a problem over ``alive`` arcs; a part of score -inf is in none of them."""

    problem: Problem
    lacking: float = np.inf  # upper bound on the total loss of the trees that matter
    alive: Flags = field(init=False)
    peaks: list[float] = field(init=False)  # they add up to P

    def __post_init__(self) -> None:
        p = self.problem
        words = np.repeat(np.arange(len(p.factor_score)), np.diff(p.factor_ptr)) * (p.n_words + 1)
        words += p.arc_mod[p.factor_arcs]
        distinct = np.bincount(np.unique(words) // (p.n_words + 1), minlength=len(p.factor_score))
        self._fit = distinct == np.diff(p.factor_ptr)  # factors without two arcs of a word
        self._find_alive()

    # ---- possible and certain elements -----------------------------------------------------------

    def _find_alive(self) -> None:
        p = self.problem
        self.alive = arcs_left(p.arc_mod, p.arc_state == 1, p.arc_state == -1)
        pairs = pair_keys(p.n_words, p.arc_head, p.arc_mod)
        self._heads = [set[int]() for _ in range(p.n_words + 1)]
        for h, m in zip(p.arc_head[self.alive].tolist(), p.arc_mod[self.alive].tolist()):
            self._heads[m].add(h)
        self._pairs = np.unique(pairs[self.alive])
        self._choices = np.bincount(p.arc_mod[self.alive], minlength=p.n_words + 1)
        if (self._choices[1:] == 0).any():
            raise Nothing

    def kill(self, arcs: Any) -> None:
        """Forbid arcs."""
        state = np.where(self.alive, 0, -1).astype(np.int8)
        state[arcs] = -1
        self.problem = self.problem.changed(arc_state=state)
        self._find_alive()

    def change(self, name: str, index: Any, value: Any) -> None:
        """Change scores."""
        scores = getattr(self.problem, name).copy()
        scores[index] = value
        self.problem = self.problem.changed(**{name: scores})

    def _joined(self, head: Ints, mod: Ints) -> Flags:
        """Return whether an arc that is left joins these words; -1 stands for no word."""
        keys = pair_keys(self.problem.n_words, head, mod)
        return (head < 0) | (mod < 0) | np.isin(keys, self._pairs)

    def _arcs_of(self, kind: str, row: int) -> list[tuple[int, int]]:
        """Return the pairs of words that a part joins."""
        grand, h, inner, m = (int(words[row]) for words in getattr(self.problem.parts, kind)[:-1])
        return [pair for pair in ((h, m), (grand, h), (h, inner)) if min(pair) >= 0]

    def _between(self, kind: str, row: int) -> list[tuple[int, int]]:
        """Return the remaining pairs of words that exclude a part."""
        if kind == "gc":
            return []
        (h, m), *others = self._arcs_of(kind, row)
        if kind == "ogc":
            words = range(m + 1, self.problem.n_words + 1) if m > h else range(1, m)
        else:
            inner = next((k for g, k in others if g == h), h)
            words = range(min(inner, m) + 1, max(inner, m))
        return [(h, k) for k in words if k != h and h in self._heads[k]]

    def _certain(self, kind: str, row: int) -> bool:
        """Return True if all trees have a part, given that it is possible."""
        alone = all(self._heads[m] == {h} for h, m in self._arcs_of(kind, row))
        return alone and not self._between(kind, row)

    def _parts(self) -> dict[str, tuple[Float64s, Flags, Float64s, Flags]]:
        """Return scores, possible parts, maxima by modifier and certain parts, by kind of part."""
        result = {}
        p = self.problem
        alone = np.array([len(heads) == 1 for heads in self._heads])
        for kind, (grand, head, inner, mod, score) in p.parts._asdict().items():
            if not len(score):
                continue
            possible = self._joined(head, mod) & self._joined(grand, head)
            possible &= self._joined(head, inner)
            peaks, sure = np.zeros(p.n_words + 1), np.zeros(len(score), np.bool_)
            np.maximum.at(peaks, mod[possible], score[possible])
            for row in np.flatnonzero(possible & alone[mod]).tolist():
                if self._certain(kind, row):
                    peaks[mod[row]], sure[row] = score[row], True
            if (score[sure] == NEG).any():
                raise Nothing
            result[kind] = score, possible & (score > NEG), peaks, sure
        return result

    def _factors(self) -> tuple[Flags, Flags]:
        """Return which factors are possible, and which are certain."""
        p = self.problem
        if not len(p.factor_score):
            return np.zeros(0, np.bool_), np.zeros(0, np.bool_)
        masks = [self.alive, self.alive & (self._choices == 1)[p.arc_mod]]
        possible, certain = (
            np.logical_and.reduceat(of[p.factor_arcs], p.factor_ptr[:-1]) & self._fit
            for of in masks
        )
        if (certain & (p.factor_score == NEG)).any():
            raise Nothing
        return possible, certain

    def _counts(self) -> list[tuple[slice, Float64s]]:
        """Return the slice and the scores of each count factor, -inf for impossible numbers."""
        p, result = self.problem, []
        for (lo, hi), (start, end) in zip(pairwise(p.count_ptr), pairwise(p.count_score_ptr)):
            arcs = p.count_arcs[lo:hi]
            n_arcs = np.bincount(p.arc_mod[arcs[self.alive[arcs]]], minlength=p.n_words + 1)
            low = int(((n_arcs > 0) & (n_arcs == self._choices)).sum())
            high = int((n_arcs > 0).sum())
            table = np.full(end - start, NEG)
            table[low : high + 1] = p.count_score[start + low : start + high + 1]
            if not (table > NEG).any():
                raise Nothing
            result.append((slice(int(start), int(end)), table))
        return result

    # ---- reduction -------------------------------------------------------------------------------

    def reduce(self, terms: list[float]) -> None:
        """Keep the trees that score at least the sum of the terms; `Nothing` if none is better."""
        while self.reduce_once(terms):
            pass

    def reduce_once(self, terms: list[float]) -> bool:
        """Reduce by the current loss; return True if arcs died, which may lower the loss."""
        p = self.problem
        best = np.full(p.n_words + 1, NEG)
        np.maximum.at(best, p.arc_mod[self.alive], p.arc_score[self.alive])
        parts, counts = self._parts(), self._counts()
        possible, certain = self._factors()
        weights = p.factor_score[possible]
        gains = np.where(certain[possible], weights, np.maximum(weights, 0.0))
        self.peaks = best[1:].tolist() + gains.tolist() + [float(t.max()) for _, t in counts]
        for _, _, peaks, _ in parts.values():
            self.peaks += peaks.tolist()
        lacking = math.fsum(self.peaks + [-x for x in terms])
        if lacking <= 0.0:
            raise Nothing
        self.lacking = max_loss = lacking * _MARGIN
        dead = self.alive & (best[p.arc_mod] - p.arc_score > max_loss)
        for f in np.flatnonzero(possible & (p.factor_score > max_loss)).tolist():
            dead |= self.alive & rivals(p.arc_mod, p.factors.members(f))
        for kind, (score, may, peaks, _) in parts.items():
            mod = getattr(p.parts, kind).mod
            for m in np.flatnonzero(peaks > max_loss).tolist():
                rows = np.flatnonzero(may & (mod == m) & (score >= peaks[m] - max_loss))
                if len(rows) == 1:
                    dead |= self.alive & self._excluded(kind, int(rows[0]))
            self.change(f"{kind}_score", may & (peaks[mod] - score > max_loss), NEG)
        self.change("factor_score", ~certain & (p.factor_score < -max_loss), NEG)
        for where, table in counts:
            table[table < table.max() - max_loss] = NEG
            self.change("count_score", where, table)
        if dead.any():
            self.kill(dead)
        return bool(dead.any())

    def _excluded(self, kind: str, row: int) -> Flags:
        """Return the arcs that no tree with a part has."""
        p = self.problem
        excluded = np.zeros(len(self.alive), np.bool_)
        for h, m in self._arcs_of(kind, row):
            excluded |= (p.arc_mod == m) & (p.arc_head != h)
        for h, m in self._between(kind, row):
            excluded |= (p.arc_mod == m) & (p.arc_head == h)
        return excluded

    def normal(self) -> Normal:
        """Return a problem with these trees, whose scores differ by a constant and a unit.

        Elements that are in no tree that matters may have any score that keeps them out. The unit
        is a power of two, of about the size of the largest loss.
        """
        p, max_loss = self.problem, self.lacking
        parts = self._parts()
        possible, certain = self._factors()
        unit = self._unit(
            *(score[may & ~sure] for score, may, _, sure in parts.values()),
            p.factor_score[possible & ~certain],
        )
        best = np.full(p.n_words + 1, NEG)
        np.maximum.at(best, p.arc_mod[self.alive], p.arc_score[self.alive])
        arc_score = np.zeros(len(self.alive))  # dead arcs may be out of any proportion to the unit
        arc_score[self.alive] = (p.arc_score - best[p.arc_mod])[self.alive] * unit
        changes: dict[str, Any] = {
            "arc_state": np.where(self.alive, 0, -1).astype(np.int8),
            "arc_score": arc_score,
            "count_score": p.count_score.copy(), "quantum": p.quantum * unit,
        }  # fmt: skip
        constants: list[float] = best[1:].tolist()
        for where, table in self._counts():
            changes["count_score"][where] = (table - table.max()) * unit
            constants.append(float(table.max()))
        for kind, (score, may, peaks, sure) in parts.items():
            names, mod = PART_NAMES[kind], getattr(p.parts, kind).mod
            constants += score[sure].tolist()
            peaks[mod[sure]] = 0.0  # that is among the constants
            kept = (may | (score == NEG)) & ~sure  # others may be out of any proportion to the unit
            changes |= {name: getattr(p, name)[kept] for name in names[:-1]}
            out = peaks[mod[kept]] - 2.0 * max_loss
            changes[names[-1]] = np.where(score[kept] > NEG, score[kept], out) * unit
        constants += p.factor_score[certain].tolist()
        if NEG in constants:
            raise Nothing
        kept = possible & ~certain
        changes["factor_ptr"], changes["factor_arcs"] = take_sets(p.factor_ptr, p.factor_arcs, kept)
        changes["factor_score"] = p.factor_score[kept] * unit
        return Normal(p.changed(**changes), unit, constants, kept)

    def _unit(self, *open_scores: Float64s) -> float:
        """Return a power of two, about the inverse of the largest loss; no score overflows."""
        scale = -math.frexp(self.lacking)[1] if self.lacking > 1e-300 else 1000
        largest = max(float(np.abs(x[x > NEG]).max(initial=0.0)) for x in open_scores)
        if largest:
            scale = min(scale, _TOP - math.frexp(largest)[1])
        return 2.0**scale

    # ---- branching -------------------------------------------------------------------------------

    def children(self) -> list[Reduction]:
        """Divide these trees by the most decisive choice; rewards come first."""
        gains, losses = self._choose()
        gain = max(gains, key=lambda c: c.size, default=None)
        loss = max(losses, key=lambda c: c.size, default=None)
        if gain is None or (loss is not None and 1e4 * gain.size < loss.size):
            gain = loss
        if gain is None:
            return []
        children = []
        for present in (True, False):
            child = Reduction(self.problem)
            try:
                child._decide(gain, present)
            except Nothing:
                continue
            children.append(child)
        return children

    def _decide(self, c: Choice, present: bool) -> None:
        p = self.problem
        if c.kind == "arc":
            self.kill(rivals(p.arc_mod, c.index) if present else [c.index])
        elif c.kind == "count":
            lo, hi = p.count_score_ptr[c.index : c.index + 2].tolist()
            others = np.arange(lo, hi) != lo + c.number
            self.change("count_score", np.arange(lo, hi)[others if present else ~others], NEG)
        elif not present:
            self.change(f"{c.kind}_score", c.index, NEG)
        elif c.kind == "factor":
            self.kill(rivals(p.arc_mod, p.factors.members(c.index)))
        else:
            self.kill(self._excluded(c.kind, c.index))

    def _choose(self) -> tuple[list[Choice], list[Choice]]:
        """Return the choices that raise the score of trees, and those that lower it."""
        p = self.problem
        gains: list[Choice] = []
        losses: list[Choice] = []

        def choose(scores: Float64s, chosen: list[tuple[str, int, int]]) -> None:
            """Add the best of several choices over the second best, and the last below the best."""
            order = np.argsort(-scores, kind="stable").tolist()
            best, second, last = (float(scores[order[i]]) for i in (0, 1, -1))
            gains.append(Choice(best - second, *chosen[order[0]]))
            losses.append(Choice(best - last, *chosen[order[-1]]))

        for m in np.flatnonzero(self._choices > 1).tolist():
            into = np.flatnonzero(self.alive & (p.arc_mod == m))
            choose(p.arc_score[into], [("arc", a, 0) for a in into.tolist()])
        possible, certain = self._factors()
        scored = {"factor": (p.factor_score, possible & ~certain & (p.factor_score > NEG))}
        for kind, (score, may, _, sure) in self._parts().items():
            scored[kind] = score, may & ~sure
        for kind, (score, may) in scored.items():
            for row in np.flatnonzero(may & (score != 0.0)).tolist():
                choice = Choice(abs(float(score[row])), kind, row)
                (gains if score[row] > 0.0 else losses).append(choice)
        for c, (_, table) in enumerate(self._counts()):
            numbers = np.flatnonzero(table > NEG)
            if len(numbers) > 1:
                choose(table[numbers], [("count", c, k) for k in numbers.tolist()])
        return gains, losses
