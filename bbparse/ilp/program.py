"""The rows and columns of the program of a problem.

A column z_a for each arc; these and the numbers of count factors must be whole. Projective trees
are written as derivations, others as flows that carry one unit from the root to each word, unless
the caller cuts off what is no tree. Columns for adjacent siblings and outermost modifiers, one for
each part, factor and count that several arcs make up.

Martin, Rardin & Campbell (1990) turn any dynamic program into a linear program whose corners are
its derivations: one column for each way to make an item from smaller ones, one row for each item,
made as often as it is used. Written for Eisner's algorithm with adjacent siblings (McDonald &
Pereira 2006), it says by itself that arcs do not cross and that there is no cycle, and columns are
the adjacent siblings and the outermost modifiers of the tree, so that parts over them cost nothing
more. Only what the candidate arcs can make is written down.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from bbparse.highs import Program
from bbparse.problem import Problem
from bbparse.problem.parts import rows_of, set_rows

#: (kind, first word, other word): see `_Items`.
Item = tuple[str, int, int]
#: What is made, from which items, and the place of the column in `Derivations.adjacent` or
#: `Derivations.last`, if it has one.
Step = tuple[Item, tuple[Item, ...], tuple[int, ...]]


class Derivations:
    """The steps that lead from single words to a whole tree.

    Items are ``half``: a word and all its modifiers on one side, up to another word; ``arc``: from
    a head to a modifier, all between them settled, and the modifier's far side not;
    ``gap``: what lies between two adjacent siblings. ``whole`` is what every derivation makes once.

    ``made`` and ``used`` have the columns of the steps that make an item, and of those that use it;
    ``adjacent`` the column of (head, inner, outer), inner being -1 for the nearest modifier;
    ``last`` the columns in which (head, mod) is the outermost arc of its side. ``joined`` says
    whether there is a candidate arc from one word to another, ``column`` makes a column for a step.
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
        item, parts, name = step
        self.made.setdefault(item, []).append(column)
        for part in parts:
            self.used.setdefault(part, []).append(column)
        if len(name) == 3:
            self.adjacent[name[0], name[1], name[2]] = column
        elif len(name) == 2:
            self.last.setdefault((name[0], name[1]), []).append(column)

    def _steps(self, i: int, j: int, known: dict[Item, list[Step]]) -> Iterator[Step]:
        """The steps that make an item of the words i..j from known ones.

        Items of one span are given before they are used, as the caller adds each at once.
        """

        def there(*items: Item) -> bool:
            return all(item[1] == item[2] or item in known for item in items)

        if i == j:
            return
        for r in range(i, j):
            parts: tuple[Item, ...] = (("half", i, r), ("half", j, r + 1))
            if i > 0 and there(*parts):
                yield ("gap", i, j), _real(parts), ()
        for head, mod, step in ((i, j, 1), (j, i, -1)):
            if mod == 0 or not self.joined(head, mod):
                continue
            parts = (("half", mod, head + step),)
            if there(*parts):
                yield ("arc", head, mod), _real(parts), (head, -1, mod)
            for inner in range(head + step, mod, step):
                parts = (("arc", head, inner), ("gap", min(inner, mod), max(inner, mod)))
                if there(*parts):
                    yield ("arc", head, mod), parts, (head, inner, mod)
        for head, end, step in ((i, j, 1), (j, i, -1)):
            for mod in range(head + step, end + step, step):
                parts = (("arc", head, mod), ("half", mod, end))
                if there(*parts):
                    yield ("half", head, end), _real(parts), (head, mod)


def _real(parts: tuple[Item, ...]) -> tuple[Item, ...]:
    """Without the halves of no word but their own, which are always there."""
    return tuple(part for part in parts if part[1] != part[2])


class TreeProgram(Program):
    """The trees of a problem and their scores.

    Not ``connected``: words have one head each, and nothing more is asked of whole points. Not
    ``triples``: grandchildren have no columns.
    """

    def __init__(self, problem: Problem, connected: bool = True, triples: bool = True) -> None:
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
        #: Sets of arcs of which every tree has exactly one.
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
        self._one_head()
        if connected and p.projective:
            self._derivations()
        else:
            if connected:
                self._flows()
            self._siblings()
        self._parts(triples)
        self.constant = self._take_out()
        self._factors()
        self._counts()

    def _one_head(self) -> None:
        for arcs in self.exclusive:
            self.equal([(a, 1.0) for a in arcs], 1)

    def _derivations(self) -> None:
        """What is made is used once; what makes an arc is in the tree if the arc is."""
        ways = Derivations(
            self.n, lambda h, m: (h, m) in self.by_words, lambda: self.column(0.0, 1.0)
        )
        self.equal([(y, 1.0) for y in ways.made.get(ways.whole, [])], 1)
        for item, columns in ways.made.items():
            if item != ways.whole:
                uses = [(y, -1.0) for y in ways.used[item]]
                self.equal([(y, 1.0) for y in columns] + uses, 0)
        for (h, m), arcs in self.by_words.items():
            made = [(y, -1.0) for y in ways.made.get(("arc", h, m), [])]
            self.equal([(a, 1.0) for a in arcs] + made, 0)
        self.adjacent, self.last = ways.adjacent, ways.last

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
        """On each side of a head that parts look at: a path over its modifiers from the inside."""
        p = self.problem
        sides = {
            (h, m > h)
            for heads, mods in (
                (p.sib_head, p.sib_outer), (p.gsib_head, p.gsib_outer), (p.ogc_head, p.ogc_mod)
            )
            for h, m in zip(heads.tolist(), mods.tolist())
        }  # fmt: skip
        for h, right in sorted(sides):
            line = range(h + 1, self.n + 1) if right else range(h - 1, 0, -1)
            mods = [m for m in line if (h, m) in self.by_words]
            leaving: dict[int, list[int]] = {-1: [], **{m: [] for m in mods}}
            for place, m in enumerate(mods):
                entering = []
                for inner in [-1, *mods[:place]]:
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
        """The columns add up to those of the arc."""
        arcs = [(a, -1.0) for a in self.by_words[head, mod]]
        self.equal([(y, 1.0) for y in columns] + arcs, 0)

    def _take_out(self) -> float:
        """Take the best score out of arcs of which every tree has exactly one; what they add up to.

        Scores that all trees pay would only hide small differences.
        """
        total = 0.0
        for group in self.exclusive:
            best = max((self.cost[a] for a in group if self.upper[a] > 0.0), default=0.0)
            for a in group:
                self.cost[a] -= best
            total += best
        return total

    def _conjunction(self, present: list[list[int]], score: float) -> None:
        """Score the trees with a column of each list; those of one list exclude each other."""
        if not all(present) or score == 0.0:
            return
        terms = [(a, 1.0) for columns in present for a in columns]
        if score == -math.inf:
            self.at_most(terms, len(present) - 1)
            return
        y = self.column(score, 1.0)
        if score < 0.0:  # only what keeps the column from its better end can ever bind
            self.at_least([(y, 1.0)] + [(a, -1.0) for a, _ in terms], 1 - len(present))
            return
        for columns in present:
            self.at_most([(y, 1.0)] + [(a, -1.0) for a in columns], 0)

    def _arcs(self, head: int, mod: int) -> list[int]:
        return self.by_words.get((head, mod), [])

    def _parts(self, triples: bool) -> None:
        p, arcs = self.problem, self._arcs
        for h, i, m, s in rows_of(p.parts.sib):
            if (h, i, m) in self.adjacent:
                self.cost[self.adjacent[h, i, m]] += s
        for g, h, i, m, s in rows_of(p.parts.gsib):
            if (h, i, m) in self.adjacent:
                upper = [] if g == -1 else [arcs(g, h)]
                self._conjunction([*upper, [self.adjacent[h, i, m]]], s)
        for g, h, m, s in rows_of(p.parts.gc) if triples else ():
            self._conjunction([arcs(g, h), arcs(h, m)], s)
        for g, h, m, s in rows_of(p.parts.ogc):
            self._conjunction([arcs(g, h), self.last.get((h, m), [])], s)

    def _factors(self) -> None:
        for arcs, (weight,) in set_rows(self.problem, "factor"):
            self._conjunction([[a] for a in arcs], weight)

    def _counts(self) -> None:
        """One column for each number of arcs, of which exactly one is 1."""
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
