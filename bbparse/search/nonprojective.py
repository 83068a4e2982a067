"""Branch and bound over non-projective trees.

The same search as :mod:`bbparse.search.tree` with another bound
(:mod:`bbparse.bounding.nonprojective`): QL13's multipliers over the best arborescence. Parts and
factors become terms, conjunctions of literals; labels are arcs like any others.

Where the bound is the score of a node's best tree and more trees are wanted, the rest of the node
is divided by that tree (Lawler 1972): child i has the tree's arcs of the words before the i-th free
word and lacks its arc of that word, so no tree is in two children and the tree itself in none.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sortedcontainers import SortedKeyList

from bbparse.bounding.nonprojective import CLOSED, SOLVED, bound_node
from bbparse.bounding.terms import start_terms
from bbparse.problem import Problem
from bbparse.search.settings import SearchSettings
from bbparse.search.tree import Outcome

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Long = NDArray[np.int64]
Flags = NDArray[np.int8]


@dataclass(slots=True)
class Terms:
    """Everything a problem scores beside its arcs, over arcs sorted by modifier.

    Attributes
    ----------
    lit_ptr, lit_arcs, lit_mod
        Literals: sets of arcs into one word.
    ptr, lit, neg, weight
        Terms: literals, which of them are negated, weight.
    """

    lit_ptr: Ints
    lit_arcs: Ints
    lit_mod: Ints
    ptr: Long
    lit: Ints
    neg: Flags
    weight: Floats


class _Builder:
    """Collects terms; those with the same literals are added up."""

    def __init__(self, arc_head: Ints, arc_mod: Ints) -> None:
        self.by_words: dict[tuple[int, int], tuple[int, ...]] = {}
        for a, pair in enumerate(zip(arc_head.tolist(), arc_mod.tolist())):
            self.by_words[pair] = (*self.by_words.get(pair, ()), a)
        self.literals: dict[tuple[int, ...], int] = {}
        # (literals that must hold, literals that must not) → weight
        self.terms: dict[tuple[tuple[int, ...], tuple[int, ...]], float] = {}

    def literal(self, arcs: tuple[int, ...]) -> int:
        return self.literals.setdefault(arcs, len(self.literals))

    def words(self, head: int, mod: int) -> tuple[int, ...]:
        return self.by_words.get((head, mod), ())

    def add(
        self, present: list[tuple[int, ...]], absent: list[tuple[int, ...]], weight: float
    ) -> None:
        """A term; it never fires if an arc that must be present is no candidate."""
        if weight == 0.0 or not all(present):
            return
        key = (
            tuple(sorted(self.literal(arcs) for arcs in present)),
            tuple(sorted(self.literal(arcs) for arcs in absent if arcs)),
        )
        self.terms[key] = self.terms.get(key, 0.0) + weight

    def terms_of(self, arc_mod: Ints) -> Terms:
        sets = list(self.literals)
        items = sorted((key, weight) for key, weight in self.terms.items() if weight != 0.0)
        lits = [[*present, *absent] for (present, absent), _ in items]
        return Terms(
            np.cumsum([0] + [len(arcs) for arcs in sets], dtype=np.int32),
            np.array([a for arcs in sets for a in arcs], dtype=np.int32),
            np.array([arc_mod[arcs[0]] for arcs in sets], dtype=np.int32),
            np.cumsum([0] + [len(own) for own in lits], dtype=np.int64),
            np.array([j for own in lits for j in own], dtype=np.int32),
            np.array([
                i >= len(present)
                for (present, absent), _ in items for i in range(len(present) + len(absent))
            ], dtype=np.int8),
            np.array([weight for _, weight in items], dtype=np.float64),
        )  # fmt: skip


def terms_of(p: Problem, order: Ints) -> Terms:
    """The parts and factors of a problem as terms over its arcs in another order.

    Parameters
    ----------
    p : Problem
    order : int32[A]
        The problem's arc at each new place; arcs into one word stand together.
    """
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    builder = _Builder(p.arc_head[order], p.arc_mod[order])
    words, add = builder.words, builder.add

    def between(head: int, near: int, outer: int) -> list[tuple[int, ...]]:
        return [words(head, x) for x in range(min(near, outer) + 1, max(near, outer))]

    def sibling(upper: list[tuple[int, ...]], h: int, inner: int, m: int, score: float) -> None:
        if inner == -1:
            add([*upper, words(h, m)], between(h, h, m), score)
        else:
            add([*upper, words(h, m), words(h, inner)], between(h, inner, m), score)

    for h, i, m, s in _rows(p.sib_head, p.sib_inner, p.sib_outer, p.sib_score):
        sibling([], h, i, m, s)
    for g, h, i, m, s in _rows(
        p.gsib_grand, p.gsib_head, p.gsib_inner, p.gsib_outer, p.gsib_score
    ):
        sibling([] if g == -1 else [words(g, h)], h, i, m, s)
    for g, h, m, s in _rows(p.gc_grand, p.gc_head, p.gc_mod, p.gc_score):
        add([words(g, h), words(h, m)], [], s)
    for g, h, m, s in _rows(p.ogc_grand, p.ogc_head, p.ogc_mod, p.ogc_score):
        farther = range(m + 1, p.n_words + 1) if m > h else range(1, m)
        add([words(g, h), words(h, m)], [words(h, x) for x in farther], s)
    arcs, ptr = place[p.factor_arcs].tolist(), p.factor_ptr.tolist()
    for f, weight in enumerate(p.factor_score.tolist()):
        add([(a,) for a in arcs[ptr[f] : ptr[f + 1]]], [], weight)
    return builder.terms_of(p.arc_mod[order])


def _rows(*columns: NDArray[Any]) -> zip[tuple[Any, ...]]:
    return zip(*(column.tolist() for column in columns))


@dataclass(slots=True)
class Node:
    """One subspace: live arc scores, terms and multipliers, and what its bound said."""

    base: Floats
    t_ptr: Long
    t_lit: Ints
    t_neg: Flags
    t_weight: Floats
    lam: Floats
    c_lam: Floats
    sizes: Long
    constant: Floats
    bound: float = np.inf
    arc: int = -1
    slack: float = 0.0
    solved: bool = False
    tree: Ints | None = None

    def copy(self, base: Floats) -> Node:
        """An independent node with other live arcs, trimmed to the terms that are left."""
        terms = int(self.sizes[0])
        used = int(self.t_ptr[terms])
        return replace(
            self, base=base, t_ptr=self.t_ptr[: terms + 1].copy(), t_lit=self.t_lit[:used].copy(),
            t_neg=self.t_neg[:used].copy(), t_weight=self.t_weight[:terms].copy(),
            lam=self.lam[:used].copy(), c_lam=self.c_lam.copy(), sizes=self.sizes.copy(),
            constant=self.constant.copy(),
        )  # fmt: skip


class NonprojectiveSearch:
    """One search: the problem as arrays, the k best trees so far and the open nodes.

    Parameters
    ----------
    problem : Problem
        Presolved (all arcs free), not projective.
    k : int
        Number of trees wanted.
    settings : SearchSettings
        ``root_calls``, ``node_calls`` and ``eliminate_every`` are used.
    """

    def __init__(self, problem: Problem, k: int, settings: SearchSettings) -> None:
        p = problem
        self.settings = settings
        self.quantum = p.quantum
        self.single_root = p.single_root
        self.order = np.lexsort((np.arange(len(p.arc_mod)), p.arc_mod)).astype(np.int32)
        self.arc_head = p.arc_head[self.order]
        self.arc_mod = p.arc_mod[self.order]
        self.base = p.arc_score[self.order]
        self.mod_ptr = np.searchsorted(self.arc_mod, np.arange(p.n_words + 2)).astype(np.int32)
        self.terms = terms = terms_of(p, self.order)
        place = np.empty(len(self.order), dtype=np.int32)
        place[self.order] = np.arange(len(self.order), dtype=np.int32)
        self.c_ptr, self.c_score_ptr, self.c_score = p.count_ptr, p.count_score_ptr, p.count_score
        self.c_arcs = place[p.count_arcs]
        for lo, hi in zip(self.c_ptr[:-1], self.c_ptr[1:]):
            self.c_arcs[lo:hi].sort()
        weights = np.abs(np.concatenate([terms.weight, self.c_score]))
        weights = weights[np.isfinite(weights) & (weights > 0.0)]
        self.typical = float(np.median(weights)) if len(weights) else 1.0
        self.trees = np.zeros((k, p.n_words), np.int32)
        self.scores = np.full(k, -np.inf)
        self.count = np.zeros(1, np.int64)
        self.counters = np.zeros(2)
        self.n_nodes = 0
        lam = np.empty(len(terms.lit))
        start_terms(len(terms.weight), terms.ptr, terms.weight, lam)
        self.root = Node(
            self.base.copy(), terms.ptr.copy(), terms.lit.copy(), terms.neg.copy(),
            terms.weight.copy(), lam, np.zeros(len(self.c_arcs)),
            np.array([len(terms.weight)], np.int64), np.zeros(1),
        )  # fmt: skip

    def _bound(self, node: Node, calls: int) -> bool:
        """Bound a node in place; whether it stays open."""
        t = self.terms
        out = np.empty(3)
        tree = np.empty(self.trees.shape[1], np.int32)
        self.n_nodes += 1
        status = bound_node(
            self.single_root, self.mod_ptr, self.arc_head, self.arc_mod,
            t.lit_ptr, t.lit_arcs, t.lit_mod,
            self.c_ptr, self.c_arcs, self.c_score_ptr, self.c_score,
            self.base, t.ptr, t.lit, t.neg, t.weight,
            node.base, node.t_ptr, node.t_lit, node.t_neg, node.t_weight, node.lam, node.c_lam,
            node.sizes, node.constant, self.trees, self.scores, self.count,
            calls, self.settings.eliminate_every, self.quantum, self.typical, tree, self.counters,
            out,
        )  # fmt: skip
        node.bound = min(node.bound, float(out[0]))
        node.arc = int(out[1])
        node.slack = float(out[2])
        node.solved = status == SOLVED
        node.tree = tree
        return status != CLOSED

    def _children(self, node: Node) -> list[Node]:
        """The subspaces a node falls into; see the top of the file."""
        mod = self.arc_mod
        if not node.solved or node.tree is None:
            with_arc, without = node.base.copy(), node.base
            with_arc[(mod == mod[node.arc]) & (np.arange(len(mod)) != node.arc)] = -np.inf
            without[node.arc] = -np.inf
            return [node.copy(with_arc), node.copy(without)]
        children = []
        base = node.base
        for m, arc in enumerate(node.tree.tolist(), start=1):
            own = slice(int(self.mod_ptr[m]), int(self.mod_ptr[m + 1]))
            if np.count_nonzero(base[own] > -np.inf) == 1:
                continue
            without = base.copy()
            without[arc] = -np.inf
            children.append(node.copy(without))
            base = base.copy()
            score = base[arc]
            base[own] = -np.inf
            base[arc] = score
        return children

    def run(self, time_limit: float | None, node_limit: int | None, gap: float) -> Outcome:
        """Search until done or a limit is reached; see :func:`search_nonprojective`."""
        deadline = np.inf if time_limit is None else time.monotonic() + time_limit
        most = np.inf if node_limit is None else node_limit
        is_open = self._bound(self.root, self.settings.root_calls)
        stats: dict[str, float | int] = {"closed_at_root": int(not is_open)}
        bound, status = -np.inf, "optimal"
        if is_open:
            bound, status = self._run_queue(deadline, most, gap)
        found = int(self.count[0])
        if found == 0 and status == "optimal":
            status = "infeasible"
        stats |= {
            "nodes": self.n_nodes,
            "dp_calls": int(self.counters[0]),
            "trees_tried": int(self.counters[1]),
            "terms": len(self.terms.weight),
        }
        return Outcome(
            self.order[self.trees[:found]], self.scores[:found].copy(), bound, status, stats
        )

    def _run_queue(self, deadline: float, most: float, gap: float) -> tuple[float, str]:
        """Best bound first; ties by age, so that the order is the same in every run."""
        queue = SortedKeyList(key=lambda entry: (-entry[0], entry[1]))
        queue.add((self.root.bound, 0, self.root))
        born = 1
        worst = self.scores.shape[0] - 1
        while queue:
            bound, _, node = queue.pop(0)
            raised = self.quantum - node.slack
            if bound < self.scores[worst] + (raised if raised > node.slack else node.slack):
                continue
            if gap > 0.0 and self.count[0] > worst:
                last = float(self.scores[worst])
                if bound - last <= gap * max(abs(last), abs(bound)):
                    return bound, "optimal"
            for child in self._children(node):
                if self.n_nodes >= most:
                    return bound, "node_limit"
                if time.monotonic() >= deadline:
                    return bound, "time_limit"
                if self._bound(child, self.settings.node_calls):
                    queue.add((child.bound, born, child))
                    born += 1
        return -np.inf, "optimal"


def search_nonprojective(
    problem: Problem,
    k: int = 1,
    settings: SearchSettings | None = None,
    *,
    time_limit: float | None = None,
    node_limit: int | None = None,
    gap: float = 0.0,
) -> Outcome:
    """Find the k best non-projective trees of a presolved problem.

    Returns
    -------
    Outcome
        Trees in the problem's arcs, best first; ``bound`` is an upper bound on every tree that is
        not among them (-inf: they are proved, or all there are); ``status`` is optimal (with a
        finite bound: stopped by ``gap``), time_limit, node_limit or infeasible.
    """
    started = time.monotonic()
    run = NonprojectiveSearch(problem, k, settings or SearchSettings())
    if time_limit is not None:
        time_limit = max(0.0, time_limit - (time.monotonic() - started))
    return run.run(time_limit, node_limit, gap)
