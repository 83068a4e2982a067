"""toulbar2: a cost function network with one variable per word.

The value of a word is its head together with the adjacent sibling on its inner side (none, or
another modifier of the head between them). So arcs and siblings are unary costs, grand-siblings,
grandchildren and factors of two arcs binary ones, larger factors costs over more words; a count
factor has a variable of its own, whose
value is the number of its arcs by a linear constraint. Binary
tables also forbid arcs that cross, a second root, and inner siblings that are none. Cycles of two
words are forbidden from the start, longer ones, which are rare, as they are found: the network is
solved again with a cost on the cycle, and all solves count.
"""

from __future__ import annotations

import itertools
import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rivals.common import Answer, crossing, parts_of, sides_of_siblings

from bbparse.core import Problem
from bbparse.core.parts import ANY, set_rows
from bbparse.core.tree import arcs_of
from bbparse.treebank.trees import find_cycle

DECIMALS = 6
Value = tuple[int, int]


class Network:
    """The cost functions of a problem, added up before they are handed over."""

    def __init__(self, problem: Problem) -> None:
        self.problem = p = problem
        self.n = p.n_words
        heads: list[list[int]] = [[] for _ in range(self.n + 1)]
        for h, m in zip(p.arc_head.tolist(), p.arc_mod.tolist()):
            heads[m].append(h)
        sides = sides_of_siblings(p)
        self.values: list[list[Value]] = [[] for _ in range(self.n + 1)]
        for m in range(1, self.n + 1):
            for h in heads[m]:
                inner = [-1]
                if (h, m > h) in sides:
                    between = range(min(h, m) + 1, max(h, m))
                    inner += [i for i in between if h in heads[i]]
                self.values[m] += [(h, i) for i in inner]
        self.unary = [np.zeros(len(vs)) for vs in self.values]
        self.binary: dict[tuple[int, int], NDArray[np.float64]] = {}
        self.larger: list[tuple[tuple[int, ...], tuple[int, ...], float]] = []
        self._arcs_and_parts()
        self._constraints()

    def pair(self, m: int, k: int, rows: Any, columns: Any, cost: float) -> None:
        """Add a cost where the value of m is one of rows and that of k one of columns."""
        if m > k:
            m, k, rows, columns = k, m, columns, rows
        if (m, k) not in self.binary:
            self.binary[m, k] = np.zeros((len(self.values[m]), len(self.values[k])))
        self.binary[m, k][np.ix_(rows, columns)] += cost

    def places(self, m: int, head: int, inner: int = ANY) -> NDArray[np.int64]:
        """Places of the values of a word that have a head, and an inner sibling."""
        fits = [h == head and inner in (ANY, i) for h, i in self.values[m]]
        return np.flatnonzero(fits)

    def _arcs_and_parts(self) -> None:
        p = self.problem
        for h, m, s in zip(p.arc_head.tolist(), p.arc_mod.tolist(), p.arc_score.tolist()):
            self.unary[m][self.places(m, h)] -= s
        for g, h, i, m, s in parts_of(p, "sib", "gc", "gsib"):
            places = self.places(m, h, i)
            if g in (ANY, -1):
                self.unary[m][places] -= s
            else:
                self.pair(m, h, places, self.places(h, g), -s)
        for arcs, (s,) in set_rows(p, "factor"):
            mods, heads = tuple(p.arc_mod[arcs].tolist()), tuple(p.arc_head[arcs].tolist())
            if len(set(mods)) < len(mods):
                continue  # two heads for a word: never
            if len(mods) == 2:
                self.pair(*mods, self.places(mods[0], heads[0]), self.places(mods[1], heads[1]), -s)
            else:
                self.larger.append((mods, heads, -s))

    def _constraints(self) -> None:
        p = self.problem
        for a, b in crossing(p):
            m, k = int(p.arc_mod[a]), int(p.arc_mod[b])
            if m != k:
                self.pair(
                    m,
                    k,
                    self.places(m, int(p.arc_head[a])),
                    self.places(k, int(p.arc_head[b])),
                    math.inf,
                )
        if p.single_root:
            roots = [m for m in range(1, self.n + 1) if len(self.places(m, 0))]
            for m, k in itertools.combinations(roots, 2):
                self.pair(m, k, self.places(m, 0), self.places(k, 0), math.inf)
        for m in range(1, self.n + 1):
            for place, (h, i) in enumerate(self.values[m]):
                near = h if i == -1 else i
                if i != -1:
                    others = np.flatnonzero([head != h for head, _ in self.values[i]])
                    if len(others):
                        self.pair(m, i, [place], others, math.inf)
                for k in range(min(near, m) + 1, max(near, m)):
                    if len(between := self.places(k, h)) and self._looks(m, h):
                        self.pair(m, k, [place], between, math.inf)

    def _looks(self, m: int, h: int) -> bool:
        """Whether the values of m with this head tell its inner siblings apart."""
        inner = [i for head, i in self.values[m] if head == h]
        between = range(min(h, m) + 1, max(h, m))
        return len(inner) > 1 or not any(len(self.places(k, h)) for k in between)

    def build(self, cycles: list[list[tuple[int, int]]]) -> Any:
        """A fresh solver with all cost functions, and the cycles forbidden."""
        import pytoulbar2

        network = pytoulbar2.CFN(resolution=DECIMALS)
        for m in range(1, self.n + 1):
            network.AddVariable(f"w{m}", [f"v{i}" for i in range(len(self.values[m]))])
            network.AddFunction([m - 1], self.unary[m].tolist())
        for (m, k), table in self.binary.items():
            table = np.where(np.isposinf(table), network.Top, table)
            network.AddFunction([m - 1, k - 1], table.ravel().tolist())
        for c, (arcs, scores) in enumerate(set_rows(self.problem, "count")):
            network.AddVariable(f"c{c}", [f"v{k}" for k in range(len(scores))])
            network.AddFunction([self.n + c], [-s for s in scores])
            terms = [(self.n + c, k, -k) for k in range(1, len(scores))]
            for a in arcs:
                m, h = int(self.problem.arc_mod[a]), int(self.problem.arc_head[a])
                terms += [(m - 1, int(place), 1) for place in self.places(m, h)]
            network.AddGeneralizedLinearConstraint(terms, "==", 0)
        forbidden = [(tuple(m for m, _ in c), tuple(h for _, h in c), math.inf) for c in cycles]
        for mods, heads, cost in [*self.larger, *forbidden]:
            places = [self.places(m, h).tolist() for m, h in zip(mods, heads)]
            tuples = [list(t) for t in itertools.product(*places)]
            if tuples:
                network.AddCompactFunction([m - 1 for m in mods], 0, tuples, [cost] * len(tuples))
        return network


def solve(problem: Problem, time_limit: float) -> Answer:
    """Solve until there is no cycle."""
    started = time.perf_counter()
    network = Network(problem)
    building = time.perf_counter() - started
    cycles: list[list[tuple[int, int]]] = []
    seconds = 0.0
    while True:
        started = time.perf_counter()
        solver = network.build(cycles)
        building += time.perf_counter() - started
        left = time_limit - seconds
        started = time.perf_counter()
        found = solver.Solve(timeLimit=max(1, math.ceil(left)))
        seconds += time.perf_counter() - started
        done = seconds < time_limit
        if found is None:
            return Answer(None, False, seconds, building)
        heads = [network.values[m][int(found[0][m - 1])][0] for m in range(1, network.n + 1)]
        cycle = [(m, heads[m - 1]) for m in find_cycle(heads)]
        if not cycle:
            return Answer(arcs_of(problem, [-1, *heads]), done, seconds, building)
        if not done:
            return Answer(None, False, seconds, building)
        cycles.append(cycle)
