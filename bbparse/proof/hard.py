"""What fixed arcs mean for hard constraints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.problem import Problem


class Hard:
    """The hard constraints of a problem, to see what they force on a subspace."""

    def __init__(self, problem: Problem) -> None:
        p = problem
        self._mod: list[int] = p.arc_mod.tolist()
        self._into: list[list[int]] = [[] for _ in range(p.n_words + 1)]
        for a, m in enumerate(self._mod):
            self._into[m].append(a)
        arcs: list[int] = p.factor_arcs.tolist()
        self._factors = [
            arcs[p.factor_ptr[f] : p.factor_ptr[f + 1]]
            for f in np.flatnonzero(p.factor_score == -np.inf)
        ]
        arcs = p.count_arcs.tolist()
        self._sets: list[tuple[set[int], list[int], list[bool]]] = []
        for c in range(len(p.count_ptr) - 1):
            table = p.count_score[p.count_score_ptr[c] : p.count_score_ptr[c + 1]]
            if np.isneginf(table).any():
                members = arcs[p.count_ptr[c] : p.count_ptr[c + 1]]
                words = sorted({self._mod[a] for a in members})
                self._sets.append((set(members), words, (table > -np.inf).tolist()))

    def forced(self, alive: NDArray[np.bool_]) -> list[int] | None:
        """Arcs of which each contradicts one constraint; None where a constraint is broken.

        All of them contradict the same constraint, and each still does when the others are gone.
        """
        if not self._factors and not self._sets:
            return []
        lives: list[bool] = alive.tolist()
        left = [[a for a in arcs if lives[a]] for arcs in self._into]
        for factor in self._factors:
            if all(lives[a] for a in factor):
                free = [a for a in factor if len(left[self._mod[a]]) > 1]
                if not free:
                    return None
                if len(free) == 1:
                    return free
        for members, words, allowed in self._sets:
            least = sum(1 for m in words if left[m] and members.issuperset(left[m]))
            most = sum(1 for m in words if not members.isdisjoint(left[m]))
            if not any(allowed[least : most + 1]):
                return None
            for m in words:
                inside = [a for a in left[m] if a in members]
                if inside and len(inside) < len(left[m]):
                    if not any(allowed[least + 1 : most + 1]):
                        return inside
                    if not any(allowed[least:most]):
                        return [a for a in left[m] if a not in members]
        return []
