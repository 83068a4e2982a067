"""What fixed arcs mean for multipliers and for hard constraints, in terms of the whole problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bbparse.jit import kernel
from bbparse.problem import Problem


@kernel
def settle(
    alive: NDArray[np.bool_],
    choices: NDArray[np.int64],
    arc_mod: NDArray[np.int32],
    hard: float,
    n_terms: int,
    ptr: NDArray[np.int64],
    lit: NDArray[np.int32],
    neg: NDArray[np.int8],
    term_weight: NDArray[np.float64],
    lam: NDArray[np.float64],
    lit_ptr: NDArray[np.int32],
    lit_arcs: NDArray[np.int32],
    lit_mod: NDArray[np.int32],
    n_sets: int,
    cnt_ptr: NDArray[np.int64],
    cnt_arcs: NDArray[np.int32],
    count_lam: NDArray[np.float64],
) -> None:
    """Move multipliers so that what is fixed makes bounds tighter. In place.

    A term with a literal that is false scores nothing: its weight goes to that literal, or its
    multiplier to zero. Literals that are true give their share to the open ones, and with a single
    open literal left a negative term is exact at its full weight. Copies of fixed arcs are fixed
    by ``hard``.
    """
    state = np.zeros(lit_mod.shape[0], np.int8)  # 1: has an arc in every tree, -1: in none
    for j in range(lit_mod.shape[0]):
        left = 0
        for i in range(lit_ptr[j], lit_ptr[j + 1]):
            left += alive[lit_arcs[i]]
        if left == 0:
            state[j] = -1
        elif left == choices[lit_mod[j]]:
            state[j] = 1
    for c in range(n_terms):
        lo = ptr[c]
        hi = ptr[c + 1]
        weight = term_weight[c]
        false = -1
        free = 0
        lost = 0.0
        for i in range(lo, hi):
            now = -state[lit[i]] if neg[i] else state[lit[i]]
            if now < 0:
                false = i
            elif now == 0:
                free += 1
            elif weight > 0.0:
                lost += lam[i]
        if false >= 0:
            lam[lo:hi] = 0.0
            if weight > 0.0:
                lam[false] = weight
        elif weight < 0.0:
            if free <= 1:
                lam[lo] = -weight
        elif free > 0 and lost > 0.0:
            for i in range(lo, hi):
                if state[lit[i]] == 0:
                    lam[i] += lost / free
                else:
                    lam[i] = 0.0
    for c in range(n_sets):
        for i in range(cnt_ptr[c], cnt_ptr[c + 1]):
            a = cnt_arcs[i]
            if not alive[a]:
                count_lam[i] = hard
            elif choices[arc_mod[a]] == 1:
                count_lam[i] = -hard


class Hard:
    """The hard constraints of a problem, to see what they force on a subspace.

    Parameters
    ----------
    problem : Problem
    place : int32[A]
        Where each arc is in the order that `forced` speaks of.
    arc_mod : int32[A]
        Modifier of the arc at each place.
    """

    def __init__(
        self, problem: Problem, place: NDArray[np.int32], arc_mod: NDArray[np.int32]
    ) -> None:
        p = problem
        self._mod: list[int] = arc_mod.tolist()
        self._into: list[list[int]] = [[] for _ in range(p.n_words + 1)]
        for a, m in enumerate(self._mod):
            self._into[m].append(a)
        arcs: list[int] = place[p.factor_arcs].tolist()
        self._factors = [
            arcs[p.factor_ptr[f] : p.factor_ptr[f + 1]]
            for f in np.flatnonzero(p.factor_score == -np.inf)
        ]
        arcs = place[p.count_arcs].tolist()
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
