"""Which rules a tree breaks, word by word and condition by condition.

Plain Python; of the package only the parsed texts of conditions and the fields of rules are read.
"""

from __future__ import annotations

from itertools import product
from typing import Any


def broken(rules: Any, sentence: Any, heads: list[int], labels: list[str]) -> set[tuple[Any, ...]]:  # noqa: C901 – one case for each kind of rule
    """(number of the rule, of its conditions, words …) of each fault; heads of words 1 to n."""
    words = range(1, len(heads) + 1)

    def above(m: int) -> list[int]:
        found = [m]
        while found[-1] != 0:
            found.append(heads[found[-1] - 1])
        return found

    def holds(condition: Any, m: int) -> bool:
        h, label = heads[m - 1], labels[m - 1]
        for what, values, negated in condition.tests:
            if what == "label":
                found = label in values or label.split(":")[0] in values
            elif what == "side":
                found = ("left" if m < h else "right") in values
            else:
                role, column = what.split(".")
                word = h if role == "head" else m
                found = (sentence.upos[word - 1] if word else "ROOT") in values
                assert column == "upos"
            if found == negated:
                return False
        return True

    found = set()
    for number, rule in enumerate(rules.rules):
        pairs = product(enumerate(rule.arc), enumerate(rule.other or (None,)))
        for (i, arc), (j, other) in pairs:
            for m in words:
                if not holds(arc, m):
                    continue
                h = heads[m - 1]
                if rule.unless is not None and any(
                    heads[x - 1] == m and holds(rule.unless, x) for x in words
                ):
                    continue
                if other is None:
                    found.add((number, i, j, m))
                    continue
                between = set(range(min(h, m) + 1, max(h, m)))
                for x in words:
                    if x == m or not holds(other, x):
                        continue
                    y = heads[x - 1]
                    if rule.kind == "below":
                        hit = y == m
                    elif rule.kind == "beside":
                        hit = y == h
                    elif rule.kind == "inside":
                        hit = x in between
                    else:
                        hit = (x in between) != (y in between) and not {x, y} & {h, m}
                        outer = y if x in between else x
                        behind = outer < m if m < h else outer > m
                        hit = hit and (behind or h not in above(y) or h == 0)
                    mutual = rule.kind == "beside" and arc == other and rule.unless is None
                    if hit:
                        found.add((number, i, j, *(sorted((m, x)) if mutual else (m, x))))
    return found
