"""Broken rules as constraints of a problem over labelled arcs.

A tree must not have an arc of every group of a constraint, unless it also has an arc of the
exception. Each group is into one word. Constraints become count factors over sets of arcs: at most
k - 1 arcs of k groups; and with an exception, at least one arc of the exception or into the same
words from outside the groups. If each group has one arc, the constraint is an ordinary factor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, product
from typing import NamedTuple

import numpy as np

from bbparse.core import Problem
from bbparse.core.edit import arc_index, with_sets
from bbparse.core.parts import SetRow, pair_keys, set_fields, set_rows
from bbparse.core.tree import rivals
from bbparse.parser.validity.check import ALWAYS, PERHAPS, Arc, RuledSentence, relation
from bbparse.runtime.arrays import Flags, Float64s, Ints, Longs
from bbparse.runtime.errors import ProblemError

#: Scores float64[A, L] of the labels of arcs (heads, modifiers), up to a constant for each arc.
ArcLabelScores = Callable[[Ints, Ints], Float64s]
#: Labels bool[A, L] of arcs (heads, modifiers) that make a tree another tree.
ArcLabels = Callable[[Ints, Ints], Flags]


class Group(NamedTuple):
    """Arcs with those labels with which they fulfil a condition, a bit; 0: with any label."""

    condition: int
    arcs: tuple[Arc, ...]


class ForbiddenSet(NamedTuple):
    """Groups of which a tree must not have an arc each, unless it has an arc of the exception."""

    groups: tuple[Group, ...]
    unless: Group | None
    #: Index of the rule's entry. If several forbid the same, a tree has a fault for each of them.
    entry: int


class SplitArcs(NamedTuple):
    """A problem over labelled arcs, and the origin of its A arcs."""

    problem: Problem
    base: Longs  #: Index of each arc in the problem without labels.
    labels: Ints  #: Label of each arc; -1: the best one, whichever it is.
    apart: Flags  #: True if a tree with this label is another tree, also if a better one is listed.


class Candidates:
    """Candidate arcs of a problem and names of labels, under the rules of a sentence."""

    def __init__(
        self,
        problem: Problem,
        names: Sequence[str],
        ruled: RuledSentence,
        apart: ArcLabels | None = None,
    ) -> None:
        self.problem = problem
        self.names = names
        self.ruled = ruled
        self.apart = apart
        self._with_any = -1  # conditions that any label fulfils
        for bits in map(ruled.rules.of_label, names):
            self._with_any &= bits

    def _into(self, m: int) -> list[Arc]:
        """Return the candidate arcs into a word."""
        return [(h, m) for h in self.problem.arc_head[self.problem.arc_mod == m].tolist()]

    def _group(self, entry: int, part: int, arcs: Iterable[Arc]) -> Group:
        """Return the arcs that can be a part of an entry; parts as in `CompiledRules.bit`."""
        condition = self.ruled.rules.bit(entry, part)
        arcs = tuple([arc for arc in arcs if self.ruled.between(*arc) & condition])
        return Group(0 if condition & self._with_any else condition, arcs)

    def forbidding(self, e: int, arcs: Sequence[Arc]) -> ForbiddenSet:
        """Return the constraint against arcs that break entry `e`, in the order of `Fault.arcs`."""
        arc, *others = arcs
        rule, first = self.ruled.rules.entries[e].rule, arc[1]
        groups = [self._group(e, 0, self._into(first) if rule.kind in ("", "below") else [arc])]
        if rule.kind:
            second, *above = others
            seconds = [second]
            if rule.kind == "inside" or (rule.kind == "crossing" and not above):
                into = self._into(second[1])
                seconds = [other for other in into if relation(rule.kind, arc, other) == ALWAYS]
            groups.append(self._group(e, 1, seconds))
            groups += [Group(0, (other,)) for other in above]
        unless = None
        if rule.unless is not None:
            below = self.problem.arc_mod[self.problem.arc_head == first].tolist()
            unless = self._group(e, 2, [(first, m) for m in below])
        return ForbiddenSet(tuple(groups), unless, e)

    def every(self) -> Iterator[ForbiddenSet]:
        """Yield everything that the rules forbid of candidate arcs, if a few arcs decide it."""
        p = self.problem
        pairs = sorted({*zip(p.arc_head.tolist(), p.arc_mod.tolist())})
        for e, entry in enumerate(self.ruled.rules.entries):
            kind = entry.rule.kind
            if kind == "crossing" and p.projective:
                continue
            seconds = self._group(e, 1, pairs).arcs
            from_head: dict[int, list[Arc]] = {}
            for other in seconds:
                from_head.setdefault(other[0], []).append(other)
            for arc in self._group(e, 0, pairs).arcs:
                if not kind:
                    yield self.forbidding(e, [arc])
                elif kind in ("below", "beside"):
                    near = from_head.get(arc[1] if kind == "below" else arc[0], ())
                    yield from (self.forbidding(e, [arc, o]) for o in near if o[1] not in arc)
                else:
                    related = {other: relation(kind, arc, other) for other in seconds}
                    if PERHAPS in related.values():
                        raise ProblemError(
                            f"rule {entry.rule.name} is about crossing arcs, expected a projective"
                            " problem (parsing keeps it in all trees)"
                        )
                    yield from (self.forbidding(e, [arc, o]) for o, how in related.items() if how)

    def split(
        self, constraints: Iterable[ForbiddenSet], scores: ArcLabelScores, *, valid: bool
    ) -> SplitArcs:
        """Copy the arcs of constraints, one copy for each label that makes a difference.

        A label becomes no copy if a better one of the arc fulfils at most the same conditions of
        what is forbidden, and at least the same of exceptions: no best tree needs it. The score of
        a copy is less by the difference to the arc's best label. If trees have to be `valid`,
        labels that a rule about one arc forbids are left out, as long as there is another.
        """
        p, conditions = self.problem, _conditions(constraints)
        keys = pair_keys(p.n_words, p.arc_head, p.arc_mod)
        n_copies = np.ones(len(keys), np.int64)
        forbidden = self.ruled.rules.alone if valid else 0
        copies: dict[int, list[tuple[int, float]]] = {}  # arc → labels, and their losses
        index = {key: a for a, key in enumerate(keys.tolist())}
        number = {arc: index.get(arc[0] * (p.n_words + 1) + arc[1], -1) for arc in conditions}
        known = {a: arc for arc, a in number.items() if a >= 0}  # a wider problem may have others
        none = np.zeros((len(keys), len(self.names)), np.bool_)
        apart = none if self.apart is None else self.apart(p.arc_head, p.arc_mod)
        for a in np.flatnonzero(apart.sum(axis=1) > 1).tolist():
            known.setdefault(a, (int(p.arc_head[a]), int(p.arc_mod[a])))
        chosen = [*known]
        of_arcs = scores(p.arc_head[chosen], p.arc_mod[chosen])
        for (a, arc), of_arc in zip(known.items(), of_arcs):
            bits = self.ruled.bits(arc, self.names)
            needed = conditions.get(arc, (0, 0))
            copies[a] = _best_labels(of_arc, bits, needed, forbidden, apart[a])
            n_copies[a] = len(copies[a])
        first = np.concatenate([[0], np.cumsum(n_copies)])
        base = np.repeat(np.arange(len(keys)), n_copies)
        labels, losses = np.full(len(base), -1, np.int32), np.zeros(len(base))
        for a, options in copies.items():
            for i, (label, loss) in enumerate(options, start=first[a]):
                labels[i], losses[i] = label, loss
        if p.quantum:
            losses = np.rint(losses / p.quantum) * p.quantum + 0.0
        state = p.arc_state.copy()
        for a in np.flatnonzero((state == 1) & (n_copies > 1)).tolist():  # any copy will do
            state[p.arc_mod == p.arc_mod[a]] = -1
            state[a] = 0

        def copies_of(arcs: Sequence[int]) -> list[range]:
            return [range(first[a], first[a + 1]) for a in arcs]

        factors = [
            (arcs, scores)
            for base_arcs, scores in set_rows(p, "factor")
            for arcs in product(*copies_of(base_arcs))
        ]
        counts = []
        for base_arcs, table in set_rows(p, "count"):
            arcs = [*chain(*copies_of(base_arcs))]  # a tree has at most one copy of an arc
            counts.append((arcs, table + table[-1:] * (len(arcs) - len(base_arcs))))
        split = p.changed(
            arc_head=p.arc_head[base],
            arc_mod=p.arc_mod[base],
            arc_score=p.arc_score[base] + losses,
            arc_state=state[base],
            arc_label=np.maximum(labels, 0),
            **set_fields("factor", factors),
            **set_fields("count", counts),
        )
        return SplitArcs(split, base, labels, apart[base, labels] & (labels >= 0))

    def constrained(
        self, p: Problem, labels: Ints, constraints: Iterable[ForbiddenSet], penalty: float = np.inf
    ) -> Problem:
        """Return a problem with constraints that cost a penalty each; `labels` int32[A]: -1 any."""
        arcs_between = arc_index(p)

        def members(group: Group) -> set[int]:
            arcs = {a: arc for arc in group.arcs for a in arcs_between.get(arc, ())}
            return {
                a
                for a, arc in arcs.items()
                if not group.condition
                or self.ruled.bits(arc, [self.names[labels[a]]])[0] & group.condition
            }

        score, state = p.arc_score.copy(), p.arc_state.copy()
        factors: list[SetRow] = []
        counts: list[SetRow] = []
        n_entries = Counter((c.groups, c.unless) for c in dict.fromkeys(constraints))
        for (forbidden, unless), count in n_entries.items():
            groups = [members(group) for group in forbidden]
            cost = count * penalty
            if not all(groups):
                continue
            union = sorted(set().union(*groups))
            alternatives: set[int] = set()
            if unless is not None:
                alternatives = {*np.flatnonzero(rivals(p.arc_mod, union)).tolist()}
                alternatives |= members(unless)
            if alternatives:
                counts.append((sorted(alternatives), [-cost] + [0.0] * len(alternatives)))
            elif len(groups) > 1 and len(union) == len(groups):
                factors.append((union, [-cost]))
            elif len(groups) > 1:
                excess = len(union) + 1 - len(groups)
                counts.append((union, [0.0] * len(groups) + [-cost] * excess))
            elif np.isinf(cost):
                required = [a for a in union if state[a] == 1]
                state[union] = -1
                state[np.isin(p.arc_mod, p.arc_mod[required])] = -1  # then there is no tree
            else:
                score[union] -= cost
        changed = p.changed(arc_score=score, arc_state=state)
        return with_sets(with_sets(changed, "factor", factors), "count", counts)


def _conditions(constraints: Iterable[ForbiddenSet]) -> dict[Arc, tuple[int, int]]:
    """Return the conditions on arcs: those of what is forbidden, and those of exceptions."""
    conditions: dict[Arc, tuple[int, int]] = {}
    for constraint in constraints:
        groups = [(group, group.condition, 0) for group in constraint.groups]
        if constraint.unless:
            groups.append((constraint.unless, 0, constraint.unless.condition))
        for group, against, allows in groups:
            for arc in group.arcs if group.condition else ():
                old = conditions.get(arc, (0, 0))
                conditions[arc] = old[0] | against, old[1] | allows
    return conditions


def _best_labels(
    scores: Float64s, bits: Sequence[int], conditions: tuple[int, int], forbidden: int, apart: Flags
) -> list[tuple[int, float]]:
    """Return the labels that a best tree may need, and their differences to the best one."""
    order = [i for i in np.argsort(-scores, kind="stable").tolist() if scores[i] > -np.inf]
    order = [i for i in order if not bits[i] & forbidden] or order
    against, allows = conditions
    kept, seen = list[int](), set[tuple[int, int]]()
    for label in order:
        own = bits[label] & against, bits[label] & allows
        is_new = own not in seen and all(x & ~own[0] or own[1] & ~y for x, y in seen)
        if is_new or apart[label]:
            kept.append(label)
        seen.add(own)
    top = float(scores.max())
    return [(label, float(scores[label]) - top) for label in sorted(kept)]
