"""Projective trees as flows: the ways to put one together from its spans.

Martin, Rardin & Campbell (1990) turn any dynamic program into a linear program whose corners are
its derivations: one column for each way to make an item from smaller ones, one row for each item,
made as often as it is used. Written for Eisner's algorithm with adjacent siblings (McDonald &
Pereira 2006), it says by itself that arcs do not cross and that there is no cycle, and columns are
the adjacent siblings and the outermost modifiers of the tree, so that parts over them cost nothing
more. Only what the candidate arcs can make is written down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
