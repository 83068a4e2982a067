"""The checker's bounds: upper bounds on the trees of a subspace under given multipliers.

All sums are exact (`inference.proof.exact`), so that a bound holds for scores and multipliers of
any magnitude. :mod:`bbparse.core.proof` defines the multipliers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from bbparse.inference.proof.crossing import Crossing
from bbparse.inference.proof.exact import to_units
from bbparse.inference.proof.spans import Projective, Trees
from bbparse.runtime.errors import VerificationError

if TYPE_CHECKING:
    from bbparse.core.parts import ProblemArrays


@dataclass(slots=True)
class Subspace:
    """A set of trees: their arcs are alive, bool[A], and include at least one arc of ``some``."""

    alive: list[bool]
    some: frozenset[int] = frozenset()


@dataclass(slots=True)
class Row:
    """Multipliers converted to arc scores, a constant, and multipliers of counts and pairs."""

    score: list[int]
    constant: int
    counts: list[list[int]]
    paid: list[int]


class Bounds:
    """Bounds on the trees of one problem; unless ``scored``, all finite scores are 0."""

    def __init__(self, problem: ProblemArrays, trees: Trees, scored: bool) -> None:
        self.trees, self.scored = trees, scored
        self._best: Projective | Crossing = (Projective if problem.projective else Crossing)(
            problem, scored
        )
        self._score = [to_units(x) if scored else 0 for x in trees.score]
        self._tables = [
            [to_units(x) if scored or x == -math.inf else 0 for x in table]
            for table in trees.tables
        ]
        self.into: list[list[int]] = [[] for _ in range(trees.n + 1)]
        for a, m in enumerate(trees.mod):
            self.into[m].append(a)

    def bound(self, space: Subspace, row: Row) -> int:
        """Return an upper bound on the trees of a subspace; `NONE` or less if there is none."""
        bound = self._best.best(space.alive, row.score, space.some, row.paid) + row.constant
        choices = [sum(space.alive[a] for a in arcs) for arcs in self.into]
        for members, table, lam in zip(self.trees.sets, self._tables, row.counts):
            bound += self._best_copy(space, choices, members, table, lam)
        return bound

    def _best_copy(
        self,
        space: Subspace,
        choices: list[int],
        members: list[int],
        table: list[int],
        lam: list[int],
    ) -> int:
        """Maximize a count factor's score minus the multipliers of the arcs that it counts."""
        # these need not form a tree, but all trees have the arcs of `paid`, and no tree a dead one
        paid: list[int] = []
        free: list[int] = []
        for a, x in zip(members, lam):
            if space.alive[a]:
                (free if choices[self.trees.mod[a]] > 1 else paid).append(x)
        free.sort()
        total = sum(paid)
        best = table[len(paid)] - total
        for number, x in enumerate(free, start=len(paid) + 1):
            total += x
            best = max(best, table[number] - total)
        return best

    # ---- multipliers ---------------------------------------------------------------------------

    def row(
        self, factors: Sequence[float], counts: Sequence[float], pairs: Sequence[float], name: str
    ) -> Row:
        """Check multipliers and convert them to arc scores and a constant."""
        t = self.trees
        row = Row(list(self._score), 0, [], [])
        for f, (lo, hi) in enumerate(pairwise(t.factor_ptr)):
            if self.scored or t.weights[f] == -math.inf:
                own = factors[lo:hi]
                if not all(0.0 <= x < math.inf for x in own):
                    raise VerificationError(
                        f"{name}: factor {f} has a multiplier below 0 or not finite"
                    )
                self._add_factor(row, f, [to_units(x) for x in own], f"{name}: factor {f}")
        row.counts = [
            _all_to_units(counts[lo:hi], f"{name}: count factor {c}")
            for c, (lo, hi) in enumerate(pairwise(t.count_ptr))
        ]
        for arcs, lam in zip(t.sets, row.counts):
            for a, x in zip(arcs, lam):
                row.score[a] += x
        if self.scored:
            row.paid = _all_to_units(pairs, f"{name}: a pair")
        return row

    def _add_factor(self, row: Row, f: int, lam: list[int], name: str) -> None:
        """Add lam · z for each arc, or -lam · (Σ z - (r - 1)) for a negative weight."""
        weight, arcs = self.trees.weights[f], self.trees.factors[f]
        shares = lam
        if weight >= 0.0:
            missing = to_units(weight) - sum(lam)
            if not abs(missing) * 10**9 <= to_units(weight):
                raise VerificationError(
                    f"{name} has multipliers that do not add up to its weight {weight}"
                )
            row.constant += max(0, missing)
        else:
            if any(lam[1:]) or (weight > -math.inf and lam[0] > -to_units(weight)):
                raise VerificationError(f"{name} has multipliers beyond its weight {weight}")
            shares = [-lam[0]] * len(arcs)
            row.constant += lam[0] * (len(arcs) - 1)
        for a, x in zip(arcs, shares):
            row.score[a] += x


def _all_to_units(lam: Iterable[float], name: str) -> list[int]:
    units = []
    for x in lam:
        if not abs(x) < math.inf:
            raise VerificationError(f"{name} has a multiplier that is not finite")
        units.append(to_units(x))
    return units
