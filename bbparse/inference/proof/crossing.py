"""The checker's bounds on crossing trees: an arborescence and head automata (Koo et al. 2010).

The code shares nothing with the solver and is written to be read, not to be fast. The best
arborescence, whose arcs also score the multipliers u and v, and the automata, which pay them,
together bound all trees. Each automaton uses the arcs that all trees of a subspace have: those
of words with a single candidate head. Scores are integer multiples of a unit
(:mod:`bbparse.inference.proof.exact`), and nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bbparse.core.parts import ProblemArrays
from bbparse.inference.proof.exact import NONE, exists
from bbparse.inference.proof.spans import Reading

#: Head and modifier.
Pair = tuple[int, int]
#: Root arcs (negative), and score.
Weight = tuple[int, int]
#: An arc: head, modifier, weight, and index in the problem.
Arc = tuple[int, int, Weight, int]


def pairs_of(problem: ProblemArrays) -> list[Pair]:
    """Return the sorted candidate pairs with multipliers: all pairs of crossing problems."""
    p = problem
    if p.projective or not any(len(part.score) for part in p.parts):
        return []
    return sorted(set(zip(p.arc_head.tolist(), p.arc_mod.tolist())))


class Crossing(Reading):
    """Bounds on the trees of a problem that allows crossing arcs; parts count if ``scored``."""

    def __init__(self, problem: ProblemArrays, scored: bool = True) -> None:
        super().__init__(problem, scored)
        self.pairs = pairs_of(problem) if scored else []

    def best(
        self, alive: Sequence[bool], score: Sequence[int], some: frozenset[int], paid: Sequence[int]
    ) -> int:
        """Return an upper bound on the trees over the alive arcs; exact if there are no parts.

        ``score`` int[A] are arc scores. If ``some`` is not empty, only trees with at least one of
        these arcs count. ``paid`` int[2 P] is u of each pair, then v of each pair.
        """
        if not self.pairs:
            needed = [a for a in some if alive[a]] if some else [-1]
            return max((self.tree(alive, score, a) for a in needed), default=NONE)
        arcs, words = list(zip(self.head, self.mod)), range(self.n + 1)
        u = dict(zip(self.pairs, paid))
        v = dict(zip(self.pairs, paid[len(self.pairs) :]))
        shared = [s + u[pair] + v[pair] for s, pair in zip(score, arcs)]
        heads: list[set[int]] = [set() for _ in words]
        mods: list[set[int]] = [set() for _ in words]
        for a, (h, m) in enumerate(arcs):
            if alive[a]:
                heads[m].add(h)
                mods[h].add(m)
        must = [frozenset(m for m in mods[h] if heads[m] == {h}) for h in words]
        own = [self.automaton(h, heads[h], mods[h], must[h], u, v) for h in words]
        if not some:
            return self.tree(alive, shared) + sum(own)
        best = NONE
        for a in some:
            h, m = arcs[a]
            tree = self.tree(alive, shared, a) if alive[a] else NONE
            if exists(tree):
                having = list(own)
                having[h] = self.automaton(h, heads[h], mods[h], must[h] | {m}, u, v)
                having[m] = self.automaton(m, {h}, mods[m], must[m], u, v)
                best = max(best, tree + sum(having))
        return best

    def tree(self, alive: Sequence[bool], score: Sequence[int], needed: int = -1) -> int:
        """Return the best score of a tree over the alive arcs, with arc ``needed`` if not -1.

        The single root is enforced exactly. An arc weighs (-1, score) from the root and (0, score)
        from elsewhere; weights are added by component and compared lexicographically. The best tree
        then has the minimum number of root arcs, and among such trees the highest score.
        """
        given: list[Arc] = []
        word = self.mod[needed] if needed >= 0 else 0
        for a, (head, mod) in enumerate(zip(self.head, self.mod)):
            if alive[a] and (mod != word or a == needed):
                level = -1 if self.single_root and head == 0 else 0
                given.append((head, mod, (level, score[a]), a))
        chosen = best_arcs(list(range(1, self.n + 1)), given)
        if chosen is None or (self.single_root and sum(self.head[a] == 0 for a in chosen) != 1):
            return NONE
        return sum(score[a] for a in chosen)

    def automaton(
        self,
        h: int,
        grands: set[int],
        mods: set[int],
        must: frozenset[int],
        u: Mapping[Pair, int],
        v: Mapping[Pair, int],
    ) -> int:
        """Return the maximum of the automaton of head h; `NONE` or less if it is infeasible.

        The parts of h score a function f_h(g, M) of its own head g and its modifiers M. Its
        automaton maximizes f_h(g, M) - Σ_{m in M} u_hm - v_gh over g among ``grands`` (ignored for
        the root) and M among ``mods``, with all of ``must``. For each g it builds a chain of
        modifiers on either side, from the nearest to the farthest.
        """
        right = sorted(m for m in mods if m > h)
        left = sorted((m for m in mods if m < h), reverse=True)
        pays = {m: u[h, m] for m in mods}
        if h == 0:
            return self._root(right, must, pays)
        return max(
            (
                self._side(g, h, right, must, pays) + self._side(g, h, left, must, pays) - v[g, h]
                for g in grands
            ),
            default=NONE,
        )

    def _root(self, mods: list[int], must: frozenset[int], pays: Mapping[int, int]) -> int:
        """Return the maximum of the root's automaton: one modifier, or at least one."""
        if not self.single_root:
            return max((self._side(-1, 0, mods, must | {m}, pays) for m in mods), default=NONE)
        only = [m for m in mods if must <= {m}]
        return max((self.link(-1, 0, -1, m) - pays[m] for m in only), default=NONE)

    def _side(
        self, g: int, h: int, mods: list[int], must: frozenset[int], pays: Mapping[int, int]
    ) -> int:
        """Return the score of the best chain of modifiers on one side, given from near to far."""
        chains: list[tuple[int, int]] = [(-1, 0)]  # last modifier and score of each chain
        for m in mods:
            best = max(before + self.link(g, h, inner, m) for inner, before in chains)
            if m in must:
                chains.clear()
            chains.append((m, best - pays[m]))
        return max(score + self.ogc.get((g, h, last), 0) for last, score in chains)


def best_arcs(words: list[int], arcs: list[Arc]) -> list[int] | None:
    """Return the arcs (indices) of the best tree over all words, rooted in 0; None: no tree.

    This is the algorithm of Chu-Liu and Edmonds. Each word takes its best arc. A cycle is
    contracted to a new word; the weight of an arc into it is reduced by that of the cycle's arc
    that it replaces. This is repeated with fewer words.
    """
    best: dict[int, Arc] = {}
    for arc in arcs:
        head, mod, weight, _ = arc
        if head != mod and (mod not in best or weight > best[mod][2]):
            best[mod] = arc
    if len(best) < len(words):
        return None
    cycle = _cycle(words, best)
    if not cycle:
        return [arc[3] for arc in best.values()]
    # Contract the cycle to one word; an arc into it replaces one arc of the cycle.
    merged = max(words) + 1
    smaller: list[Arc] = []
    for head, mod, weight, a in arcs:
        if mod in cycle and head not in cycle:
            lost = best[mod][2]
            smaller.append((head, merged, (weight[0] - lost[0], weight[1] - lost[1]), a))
        elif mod not in cycle:
            smaller.append((merged if head in cycle else head, mod, weight, a))
    entered = {a: mod for _, mod, _, a in arcs if mod in cycle}
    tree = best_arcs([w for w in words if w not in cycle] + [merged], smaller)
    if tree is None:
        return None
    into = next(entered[a] for a in tree if a in entered)
    return tree + [best[w][3] for w in cycle if w != into]


def _cycle(words: list[int], best: dict[int, Arc]) -> set[int]:
    """Return the words of one cycle among the best arcs; empty if there is none."""
    clear = {0}
    for word in words:
        path: list[int] = []
        while word not in clear and word not in path:
            path.append(word)
            word = best[word][0]
        if word not in clear:
            return set(path[path.index(word) :])
        clear.update(path)
    return set()
