"""The integer program of a parsing problem: its rows and columns.

There is a column z_a for each arc; these and the counts of count factors must be integers.
Projective trees are encoded as derivations, others as flows that carry one unit from the root to
each word, unless the caller cuts off points that are no trees. Further columns stand for adjacent
siblings, outermost modifiers, and each part, factor and count of several arcs.

Martin, Rardin & Campbell (1990) turn any dynamic program into a linear program whose vertices are
its derivations. It has one column for each way to make an item from smaller ones, and one row for
each item, which is made as often as it is used. For Eisner's algorithm with adjacent siblings
(McDonald & Pereira 2006), such a program excludes crossing arcs and cycles by itself, and its
columns include the adjacent siblings and outermost modifiers, so that parts over these cost nothing
more. Only items that candidate arcs can make are written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from bbparse.core import Problem
from bbparse.core.parts import rows_of, set_rows
from bbparse.inference.programs.highs import Program

#: (kind, first word, other word): see `_Items`.
Item = tuple[str, int, int]
#: Item that is made, items that it is made from, and the key of the column in
#: `Derivations.adjacent` or `Derivations.last`, if it has one.
Step = tuple[Item, tuple[Item, ...], tuple[int, ...]]


class Derivations:
    """Steps that derive a whole tree from single words.

    Items are ``half``: a word with all its modifiers on one side, up to another word; ``arc``: a
    head with a modifier and everything between them, but without the modifier's far side; ``gap``:
    the words between two adjacent siblings. Every derivation makes the item ``whole`` once.

    ``made`` and ``used`` have the columns of the steps that make an item, and of those that use it.
    ``adjacent`` has the column of (head, inner, outer), where inner is -1 for the nearest modifier.
    ``last`` has the columns in which (head, mod) is the outermost arc of its side. ``joined``
    returns True if there is a candidate arc from one word to another, and ``column`` makes the
    column of a step.
    """

    def __init__(
        self, n: int, joined: Callable[[int, int], bool], column: Callable[[], int]
    ) -> None:
        self.n = n
        self.joined = joined
        self.whole: Item = ("half", 0, n)
        self.made: dict[Item, list[int]] = {}
        self.used: dict[Item, list[int]] = {}
        self.adjacent: dict[tuple[int, int, int], int] = {}
        self.last: dict[tuple[int, int], list[int]] = {}
        steps: dict[Item, list[Step]] = {}
        for width in range(n + 1):
            for i in range(n + 1 - width):
                for step in self._steps(i, i + width, steps):
                    steps.setdefault(step[0], []).append(step)
        waiting, seen = [self.whole], {self.whole}
        while waiting:
            item = waiting.pop()
            for step in steps.get(item, []):
                self._write(step, column())
                waiting += [part for part in step[1] if part not in seen]
                seen.update(step[1])

    def _write(self, step: Step, column: int) -> None:
        item, parts, key = step
        self.made.setdefault(item, []).append(column)
        for part in parts:
            self.used.setdefault(part, []).append(column)
        if len(key) == 3:
            self.adjacent[key[0], key[1], key[2]] = column
        elif len(key) == 2:
            self.last.setdefault((key[0], key[1]), []).append(column)

    def _steps(self, i: int, j: int, steps_of: dict[Item, list[Step]]) -> Iterator[Step]:
        """Yield the steps that make an item over the words i..j; the caller adds each at once."""

        def exist(*items: Item) -> bool:
            return all(item[1] == item[2] or item in steps_of for item in items)

        if i == j:
            return
        for r in range(i, j):
            parts: tuple[Item, ...] = (("half", i, r), ("half", j, r + 1))
            if i > 0 and exist(*parts):
                yield ("gap", i, j), _real(parts), ()
        for head, mod, step in ((i, j, 1), (j, i, -1)):
            if mod == 0 or not self.joined(head, mod):
                continue
            parts = (("half", mod, head + step),)
            if exist(*parts):
                yield ("arc", head, mod), _real(parts), (head, -1, mod)
            for inner in range(head + step, mod, step):
                parts = (("arc", head, inner), ("gap", min(inner, mod), max(inner, mod)))
                if exist(*parts):
                    yield ("arc", head, mod), parts, (head, inner, mod)
        for head, end, step in ((i, j, 1), (j, i, -1)):
            for mod in range(head + step, end + step, step):
                parts = (("arc", head, mod), ("half", mod, end))
                if exist(*parts):
                    yield ("half", head, end), _real(parts), (head, mod)


def _real(parts: tuple[Item, ...]) -> tuple[Item, ...]:
    """Drop the halves that consist of one word, which always exist."""
    return tuple(part for part in parts if part[1] != part[2])


class TreeProgram(Program):
    """The trees of a problem and their scores.

    If not ``complete``, integer points give each word one head but need not be trees, and
    grandchildren have no columns.
    """

    def __init__(self, problem: Problem, complete: bool = True) -> None:
        super().__init__()
        self.problem = p = problem
        self.n = p.n_words
        self.head, self.mod = p.arc_head.tolist(), p.arc_mod.tolist()
        self.count = len(self.head)
        state = p.arc_state.tolist()
        self.cost = [float(s) for s in p.arc_score]
        self.lower = [1.0 if s == 1 else 0.0 for s in state]
        self.upper = [0.0 if s == -1 else 1.0 for s in state]
        self.whole = [True] * self.count
        self.by_words: dict[tuple[int, int], list[int]] = {}
        #: Sets of arcs that share exactly one arc with every tree.
        self.exclusive: list[list[int]] = [[] for _ in range(self.n)]
        for a, (h, m) in enumerate(zip(self.head, self.mod)):
            self.by_words.setdefault((h, m), []).append(a)
            self.exclusive[m - 1].append(a)
        if p.single_root:
            self.exclusive.append([a for a, h in enumerate(self.head) if h == 0])
        #: Columns that are 1 where (head, inner, mod) are adjacent siblings (inner is -1 for the
        #: nearest modifier), and columns of which one is 1 where (head, mod) is outermost.
        self.adjacent: dict[tuple[int, int, int], int] = {}
        self.last: dict[tuple[int, int], list[int]] = {}
        for arcs in self.exclusive:
            self.equal([(a, 1.0) for a in arcs], 1)
        if complete and p.projective:
            self._derivations()
        else:
            if complete:
                self._flows()
            self._siblings()
        self._parts(complete)
        self.constant = self._take_out()
        self._factors()
        self._counts()

    def _derivations(self) -> None:
        """Add derivations: every item made is used once, and the arcs are those that are made."""
        derivations = Derivations(
            self.n, lambda h, m: (h, m) in self.by_words, lambda: self.column(0.0, 1.0)
        )
        self.equal([(y, 1.0) for y in derivations.made.get(derivations.whole, [])], 1)
        for item, columns in derivations.made.items():
            if item != derivations.whole:
                uses = [(y, -1.0) for y in derivations.used[item]]
                self.equal([(y, 1.0) for y in columns] + uses, 0)
        for (h, m), arcs in self.by_words.items():
            steps = [(y, -1.0) for y in derivations.made.get(("arc", h, m), [])]
            self.equal([(a, 1.0) for a in arcs] + steps, 0)
        self.adjacent, self.last = derivations.adjacent, derivations.last

    def _flows(self) -> None:
        arcs = range(self.count)
        flow = [self.column(0.0, float(self.n)) for _ in arcs]
        for m in range(1, self.n + 1):
            balance = [(flow[a], 1.0) for a in arcs if self.mod[a] == m]
            balance += [(flow[a], -1.0) for a in arcs if self.head[a] == m]
            self.equal(balance, 1)
        for a in arcs:
            self.at_most([(flow[a], 1.0), (a, -float(self.n))], 0)

    def _siblings(self) -> None:
        """Add a path over the modifiers of each side of a head with parts, from the inside out."""
        parts = self.problem.parts
        sides = {
            (h, m > h)
            for part in (parts.sib, parts.gsib, parts.ogc)
            for h, m in zip(part.head.tolist(), part.mod.tolist())
        }
        for h, right in sorted(sides):
            line = range(h + 1, self.n + 1) if right else range(h - 1, 0, -1)
            mods = [m for m in line if (h, m) in self.by_words]
            leaving: dict[int, list[int]] = {-1: [], **{m: [] for m in mods}}
            for i, m in enumerate(mods):
                entering = []
                for inner in [-1, *mods[:i]]:
                    y = self.adjacent[h, inner, m] = self.column(0.0, 1.0)
                    entering.append(y)
                    leaving[inner].append(y)
                end = self.column(0.0, 1.0)
                self.last[h, m] = [end]
                leaving[m].append(end)
                self._as_arc(entering, h, m)
            for m in mods:
                self._as_arc(leaving[m], h, m)
            self.at_most([(y, 1.0) for y in leaving[-1]], 1)

    def _as_arc(self, columns: list[int], head: int, mod: int) -> None:
        """Make the columns add up to the columns of the arc."""
        arcs = [(a, -1.0) for a in self.by_words[head, mod]]
        self.equal([(y, 1.0) for y in columns] + arcs, 0)

    def _take_out(self) -> float:
        """Subtract from the arcs of each exclusive set its best score; return the sum of these."""
        total = 0.0
        for group in self.exclusive:
            best = max((self.cost[a] for a in group if self.upper[a] > 0.0), default=0.0)
            for a in group:
                self.cost[a] -= best
            total += best
        return total

    def _conjunction(self, present: list[list[int]], score: float) -> None:
        """Score the trees with a column of each list; columns of one list exclude each other."""
        if not all(present) or score == 0.0:
            return
        terms = [(a, 1.0) for columns in present for a in columns]
        if score == -math.inf:
            self.at_most(terms, len(present) - 1)
            return
        y = self.column(score, 1.0)
        if score < 0.0:  # only the row that keeps the column from its better bound can be tight
            self.at_least([(y, 1.0)] + [(a, -1.0) for a, _ in terms], 1 - len(present))
            return
        for columns in present:
            self.at_most([(y, 1.0)] + [(a, -1.0) for a in columns], 0)

    def _arcs(self, head: int, mod: int) -> list[int]:
        return self.by_words.get((head, mod), [])

    def _parts(self, complete: bool) -> None:
        parts, arcs = self.problem.parts, self._arcs
        for _, h, i, m, s in rows_of(parts.sib):
            if (h, i, m) in self.adjacent:
                self.cost[self.adjacent[h, i, m]] += s
        for g, h, i, m, s in rows_of(parts.gsib):
            if (h, i, m) in self.adjacent:
                upper = [] if g == -1 else [arcs(g, h)]
                self._conjunction([*upper, [self.adjacent[h, i, m]]], s)
        for g, h, _, m, s in rows_of(parts.gc) if complete else ():
            self._conjunction([arcs(g, h), arcs(h, m)], s)
        for g, h, _, m, s in rows_of(parts.ogc):
            self._conjunction([arcs(g, h), self.last.get((h, m), [])], s)

    def _factors(self) -> None:
        for arcs, (weight,) in set_rows(self.problem, "factor"):
            self._conjunction([[a] for a in arcs], weight)

    def _counts(self) -> None:
        """Add one column for each possible number of arcs, of which exactly one is 1."""
        for arcs, scores in set_rows(self.problem, "count"):
            columns = {
                number: self.column(score, 1.0, whole=True)
                for number, score in enumerate(scores)
                if score > -math.inf
            }
            self.equal([(column, 1.0) for column in columns.values()], 1)
            terms = [(a, 1.0) for a in arcs]
            terms += [(column, -float(number)) for number, column in columns.items() if number]
            self.equal(terms, 0)
