"""The checker's own bounds on crossing trees: an arborescence and head automata (Koo et al. 2010).

They share no code with the solver and are meant to be read rather than to be fast. With the best
arborescence, which is paid u and v for its arcs, the automata bound all trees. Each knows what all
trees of a subspace have: which words have one candidate head only. Scores are whole numbers of
units (:mod:`bbparse.proof.exact`), and nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from bbparse.problem.parts import ProblemArrays
from bbparse.proof.exact import NONE, exists
from bbparse.proof.spans import Reading

#: Head and modifier.
Pair = tuple[int, int]
#: Root arcs (negative), and score.
Weight = tuple[int, int]
#: Of an arc: head, modifier, weight, and the index in the problem.
Arc = tuple[int, int, Weight, int]


def pairs_of(problem: ProblemArrays) -> list[Pair]:
    """The candidate pairs that have multipliers, sorted; none where no tree and parts are apart.

    These are the pairs of a problem that allows crossing arcs and has parts.
    """
    p = problem
    if p.projective or not any(len(part.score) for part in p.parts):
        return []
    return sorted(set(zip(p.arc_head.tolist(), p.arc_mod.tolist())))


class Arborescences(Reading):
    """Best non-projective trees over the arcs of one problem; nothing else of it is used.

    Chu-Liu and Edmonds: each word takes its best arc; a cycle becomes one new word, into which an
    arc costs what the arc that it drives out of the cycle was worth; and so on with fewer words.

    That the root has a single modifier is kept exactly. An arc weighs (-1, score) from the root and
    (0, score) from elsewhere; weights are added by component and compared from the left. The best
    tree then has the fewest root arcs that any tree has, and among such trees the highest score.
    """

    def best(self, alive: Sequence[bool], score: Sequence[int], needed: int = -1) -> int:
        """The best score of a tree over the arcs alive, bool[A], with the one needed, if any."""
        given: list[Arc] = []
        word = self.mod[needed] if needed >= 0 else 0
        for a, (head, mod) in enumerate(zip(self.head, self.mod)):
            if alive[a] and (mod != word or a == needed):
                level = -1 if self.single_root and head == 0 else 0
                given.append((head, mod, (level, score[a]), a))
        chosen = best_arcs(list(range(1, self.n + 1)), given)
        if chosen is None:
            return NONE
        if self.single_root and sum(self.head[a] == 0 for a in chosen) != 1:
            return NONE
        return sum(score[a] for a in chosen)


def best_arcs(words: list[int], arcs: list[Arc]) -> list[int] | None:
    """Indices of the arcs of the best tree that hangs all words from 0; None if there is none."""
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
    # The words of the cycle become one; an arc into it stands for one that drives out another.
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
    """The words of one cycle among the best arcs; empty if there is none."""
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


class Automata(Reading):
    """The automata of one problem: its parts and ``single_root`` are used, nothing else.

    What the parts of head h score is a function f_h(g, M) of its own head g and its modifiers M. An
    automaton finds the most that f_h(g, M) - Σ_{m in M} u_hm - v_gh can be, for any g and M over
    some arcs: for each g, a chain of modifiers on either side, from near to far.
    """

    def best(
        self,
        h: int,
        grands: Iterable[int],
        mods: Iterable[int],
        must: frozenset[int],
        u: Mapping[Pair, int],
        v: Mapping[Pair, int],
    ) -> int:
        """The most that head h can have; `NONE` or less where it can have nothing.

        ``grands`` may be its head (not looked at for the root), ``mods`` its modifiers, of which it
        must have ``must``; u and v are what is paid for a modifier, and for the head, by pair.
        """
        right = sorted(m for m in mods if m > h)
        left = sorted((m for m in mods if m < h), reverse=True)
        pays = {m: u[h, m] for m in (*left, *right)}
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
        """The root has one modifier, or one at least."""
        if not self.single_root:
            return max((self._side(-1, 0, mods, must | {m}, pays) for m in mods), default=NONE)
        only = [m for m in mods if must <= {m}]
        return max((self._link(-1, 0, -1, m) - pays[m] for m in only), default=NONE)

    def _link(self, g: int, h: int, inner: int, m: int) -> int:
        """What modifier m adds next to its inner sibling; -1: it is the nearest to h."""
        score = self.sib.get((h, inner, m), 0) + self.gsib.get((g, h, inner, m), 0)
        return score + self.gc.get((g, h, m), 0)

    def _side(
        self, g: int, h: int, mods: list[int], must: frozenset[int], pays: Mapping[int, int]
    ) -> int:
        """The best chain of the modifiers of one side, given from near to far."""
        chains: list[tuple[int, int]] = [(-1, 0)]  # its last modifier, and its score
        for m in mods:
            best = max(before + self._link(g, h, inner, m) for inner, before in chains)
            if m in must:
                chains.clear()
            chains.append((m, best - pays[m]))
        return max(score + self.ogc.get((g, h, last), 0) for last, score in chains)


class Crossing:
    """Bounds on the trees of a problem that allows crossing arcs.

    Not ``scored``: all parts count nothing, and there are no multipliers.
    """

    def __init__(self, problem: ProblemArrays, scored: bool = True) -> None:
        self.pairs = pairs_of(problem) if scored else []
        self.trees = Arborescences(problem)
        self.automata = Automata(problem)
        self.words = range(problem.n_words + 1)

    def best(
        self,
        alive: Sequence[bool],
        score: Sequence[int],
        some: frozenset[int],
        paid: Sequence[int],
    ) -> int:
        """No tree over the arcs that are alive scores more; exact where there are no parts.

        Arcs have scores int[A]; trees have one of the arcs ``some`` at least, all trees if there
        are none; ``paid`` int[2 P] is u of each pair, then v of each pair.
        """
        arcs = list(zip(self.trees.head, self.trees.mod))
        if not self.pairs:
            needed = [a for a in some if alive[a]] if some else [-1]
            return max((self.trees.best(alive, score, a) for a in needed), default=NONE)
        u = dict(zip(self.pairs, paid))
        v = dict(zip(self.pairs, paid[len(self.pairs) :]))
        shared = [s + u[pair] + v[pair] for s, pair in zip(score, arcs)]
        heads: list[set[int]] = [set() for _ in self.words]
        mods: list[set[int]] = [set() for _ in self.words]
        for a, (h, m) in enumerate(arcs):
            if alive[a]:
                heads[m].add(h)
                mods[h].add(m)
        must = [frozenset(m for m in mods[h] if heads[m] == {h}) for h in self.words]
        own = [self.automata.best(h, heads[h], mods[h], must[h], u, v) for h in self.words]
        if not some:
            return self.trees.best(alive, shared) + sum(own)
        best = NONE
        for a in some:
            h, m = arcs[a]
            tree = self.trees.best(alive, shared, a) if alive[a] else NONE
            if exists(tree):
                having = list(own)
                having[h] = self.automata.best(h, heads[h], mods[h], must[h] | {m}, u, v)
                having[m] = self.automata.best(m, [h], mods[m], must[m], u, v)
                best = max(best, tree + sum(having))
        return best
