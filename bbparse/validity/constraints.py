"""What a broken rule forbids, as constraints of a problem over labelled arcs.

A constraint has groups of labelled arcs, each group into one word: not all groups may have an arc
in the tree, unless an arc of its exception is in it, too. As count factors, with sets of arcs: of k
groups at most k - 1 arcs; and with an exception, at least one of the arcs that lead to the same
words outside the groups, or of the exception. Groups of one arc each are a factor.

Where some tree keeps all rules, what joins may forbid more than a fault, if only no valid tree
(`strong_constraints`); where none does, each fault is counted by a constraint of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.errors import ProblemError
from bbparse.problem import Problem
from bbparse.problem.edit import with_sets
from bbparse.problem.parts import set_fields, set_rows, take_sets
from bbparse.validity.check import ALWAYS, NEVER, PERHAPS, Arc, Fault, RuledSentence, crosses
from bbparse.validity.table import ArcCondition

#: Labels by arc: under these an arc belongs to a group; -1 is among them if it does under all.
Group = Mapping[Arc, frozenset[int]]
#: What all arcs are like.
ANY = ArcCondition(())
#: Log-probabilities of the labels of an arc, up to a constant: float64[L] of (head, modifier).
LabelScores = Callable[[int, int], NDArray[np.float64]]


class Constraint(NamedTuple):
    """Not an arc of each group, unless one of the exception (None: there is no exception).

    ``of`` is what it is about: the entry of the rules, and the words.
    """

    of: tuple[int, ...]
    groups: tuple[Group, ...]
    unless: Group | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """Constraints with the same key are one. No tree breaks two for one fault."""
        return (self.of, *(frozenset(group) for group in self.groups))


class Arcs:
    """The candidate arcs of a problem, with the labels they may have."""

    def __init__(self, problem: Problem, labels: Sequence[str]) -> None:
        self.labels = (*labels,)
        self.projective = problem.projective
        self._head, self._mod = problem.arc_head, problem.arc_mod

    def group(self, ruled: RuledSentence, e: int, part: int, arcs: Iterable[Arc]) -> Group:
        """Those of some arcs, with their labels, that are the given part of an entry."""
        return ruled.labels_of(e, part, arcs, self.labels)

    def into(self, m: int) -> list[Arc]:
        """Candidate arcs into a word."""
        return [(h, m) for h in self._head[self._mod == m].tolist()]

    @property
    def every(self) -> frozenset[int]:
        """All labels, whichever they are."""
        return frozenset(range(-1, len(self.labels)))

    def below(self, h: int) -> list[Arc]:
        """Candidate arcs from a word."""
        return [(h, m) for m in self._mod[self._head == h].tolist()]

    def all(self) -> list[Arc]:
        """All candidate arcs, each pair of words once."""
        return sorted({*zip(self._head.tolist(), self._mod.tolist())})


def constraint_of(
    ruled: RuledSentence, fault: Fault, heads: Mapping[int, int], arcs: Arcs
) -> Constraint:
    """What forbids a fault, and the same one with other arcs and labels.

    `heads` are those of the fault's words in the tree that has it.
    """
    e, kind = fault.entry, ruled.rules.entries[fault.entry].rule.kind
    first, *others = fault.arcs
    arc = (heads[first], first)
    into = arcs.into(first) if kind in ("", "below") else [arc]
    groups = [arcs.group(ruled, e, 0, into)]
    if kind:
        second, *above = others
        other = (heads[second], second)
        near = [other]
        if kind == "inside":
            near = arcs.into(second)
        elif kind == "crossing" and not above:
            near = [one for one in arcs.into(second) if crosses(arc, one) == ALWAYS]
        groups.append(arcs.group(ruled, e, 1, near))
        groups += [{(heads[word], word): arcs.every} for word in above]
    unless = None
    if ruled.rules.entries[e].unless is not None:
        unless = arcs.group(ruled, e, 2, arcs.below(first))
    return Constraint((e, *fault.arcs), tuple(groups), unless)


def strong_constraints(
    ruled: RuledSentence, fault: Fault, heads: Mapping[int, int], arcs: Arcs
) -> Iterator[Constraint]:
    """What forbids a fault, as `constraint_of`, and more trees that are not valid.

    The labels that arcs then change to keep the rules about one arc, too. Where arcs cross, it is
    about all that could bring the same two words into each other's way; and where an arc spans a
    word which is not below its head, it wants an arc that brings it there.
    """
    exact = constraint_of(ruled, fault, heads, arcs)
    found = [exact]
    entry = ruled.rules.entries[fault.entry]
    if entry.rule.kind == "crossing":
        first, second, *above = fault.arcs
        if not above:
            found = [*_in_the_way(ruled, fault, arcs, exact.unless)]
        elif entry.unless is None and entry.other == ANY:
            arc = heads[first], first
            chain = [second, *above] if min(arc) < second < max(arc) else above
            found = [_brought_below(ruled, fault, arcs, chain)]
    yield from found
    labelled = dict.fromkeys(
        arc
        for one in found
        for group in one.groups
        for arc, labels in group.items()
        if -1 not in labels
    )
    if never := ruled.never(labelled, arcs.labels):
        yield Constraint((-1, *fault.arcs), (never,))


def _in_the_way(
    ruled: RuledSentence, fault: Fault, arcs: Arcs, unless: Group | None
) -> Iterator[Constraint]:
    """All pairs of arcs into the two words of a fault that always cross, in as few constraints as
    there are sets that arcs into the first one cross."""
    first, second = fault.arcs
    firsts = arcs.group(ruled, fault.entry, 0, arcs.into(first))
    seconds = arcs.group(ruled, fault.entry, 1, arcs.into(second))
    crossed = {
        arc: frozenset(other for other in seconds if crosses(arc, other) == ALWAYS)
        for arc in firsts
    }
    for others in dict.fromkeys(crossed.values()):
        if others:
            group = {arc: firsts[arc] for arc, own in crossed.items() if others <= own}
            second_group = {arc: seconds[arc] for arc in sorted(others)}
            yield Constraint((fault.entry, first, second), (group, second_group), unless)


def _brought_below(
    ruled: RuledSentence, fault: Fault, arcs: Arcs, chain: Sequence[int]
) -> Constraint:
    """Of an arc that spans a word, whose ancestors are a chain without the arc's head: not so,
    unless some arc leads from outside into the chain."""
    first = fault.arcs[0]
    spanning = [
        (h, first)
        for h, _ in arcs.into(first)
        if h and h not in chain and min(h, first) < chain[0] < max(h, first)
    ]
    bridges = {(g, x): arcs.every for x in chain for g, _ in arcs.into(x) if g and g not in chain}
    group = arcs.group(ruled, fault.entry, 0, spanning)
    return Constraint((fault.entry, first, *chain), (group,), bridges)


def all_constraints(ruled: RuledSentence, arcs: Arcs) -> Iterator[Constraint]:
    """All that rules forbid of candidate arcs.

    Raises `ProblemError` where that depends on more than a few arcs: of punctuation in trees that
    are not projective.
    """
    pairs = arcs.all()
    for e, entry in enumerate(ruled.rules.entries):
        kind = entry.rule.kind
        if kind == "crossing" and arcs.projective:
            continue
        firsts = [*arcs.group(ruled, e, 0, pairs)]
        seconds = [*arcs.group(ruled, e, 1, pairs)]
        for h, m in firsts:
            if not kind:
                found = [(h, m)]
            elif kind == "below":
                found = [(g, x) for g, x in seconds if g == m and x != h]
            elif kind == "beside":
                found = [(g, x) for g, x in seconds if g == h and x != m]
            elif kind == "inside":
                found = [(g, x) for g, x in seconds if min(h, m) < x < max(h, m)]
            else:
                found = [other for other in seconds if crosses((h, m), other) != NEVER]
                if any(crosses((h, m), other) == PERHAPS for other in found):
                    raise ProblemError(
                        f"rule {entry.rule.name} is about crossing arcs, expected a projective"
                        " problem (parsing keeps it in all trees)"
                    )
            for g, x in found:
                fault = Fault("", 0, (m, x) if kind else (m,), e)
                yield constraint_of(ruled, fault, {x: g, m: h}, arcs)


def constrained(
    problem: Problem,
    constraints: Iterable[Constraint],
    labels: NDArray[np.int32] | None,
    penalty: float = np.inf,
) -> Problem:
    """The problem with constraints, each of which costs a penalty where it is broken.

    `labels` int32[A] are those that arcs have; None: the constraints are about arcs under whatever
    labels.
    """
    p = problem
    where: dict[Arc, list[int]] = {}
    into: dict[int, set[int]] = {}
    for a, (h, m) in enumerate(zip(p.arc_head.tolist(), p.arc_mod.tolist())):
        where.setdefault((h, m), []).append(a)
        into.setdefault(m, set()).add(a)

    def members(group: Group) -> set[int]:
        return {
            a
            for arc, allowed in group.items()
            for a in where.get(arc, ())
            if labels is None or labels[a] in allowed
        }

    score, state = p.arc_score.copy(), p.arc_state.copy()
    factors: list[tuple[int, ...]] = []
    counts: list[tuple[list[int], NDArray[np.float64]]] = []
    seen = set()
    for constraint in constraints:
        if constraint.key in seen:
            continue
        seen.add(constraint.key)
        groups = [members(group) for group in constraint.groups]
        if not all(groups):
            continue
        if constraint.unless is not None:
            words = {m for group in constraint.groups for _, m in group}
            others = set().union(*(into[m] for m in words)) - set().union(*groups)
            others |= members(constraint.unless)
            if others:
                counts.append((sorted(others), _table(len(others), 0, 1, penalty)))
                continue
        if len(groups) > 1 and all(len(group) == 1 for group in groups):
            factors.append(tuple(chain(*groups)))
        elif len(groups) > 1:
            union = sorted(set().union(*groups))
            counts.append((union, _table(len(union), len(groups), len(union) + 1, penalty)))
        elif np.isinf(penalty):
            if (state[[*groups[0]]] == 1).any():  # required, and forbidden: no tree will do
                counts.append((sorted(groups[0]), _table(len(groups[0]), 0, 2, penalty)))
            state[[a for a in groups[0] if state[a] != 1]] = -1
        else:
            score[[*groups[0]]] -= penalty
    changed = p.changed(arc_score=score, arc_state=state)
    changed = with_sets(changed, "factor", [(arcs, [-penalty]) for arcs in factors])
    return with_sets(changed, "count", counts)


def _table(size: int, low: int, high: int, penalty: float) -> NDArray[np.float64]:
    """Scores of the numbers 0 to size, of which those from low, below high, are a fault."""
    table = np.zeros(size + 1)
    table[low:high] = -penalty
    return table


class SplitArcs(NamedTuple):
    """A problem over labelled arcs, and what its A arcs are."""

    problem: Problem
    base: NDArray[np.int64]  #: Which arc of the problem without labels each one is.
    labels: NDArray[np.int32]  #: Which label; -1: the arc's best one, whichever it is.


def split_arcs(
    problem: Problem,
    constraints: Iterable[Constraint],
    label_scores: LabelScores,
    weight: float,
) -> SplitArcs:
    """The arcs that constraints speak of, in copies with those labels that make a difference.

    Of labels that are in the same groups only the best one of an arc is a copy: no other is in a
    best tree. A copy scores what the arc does, and `weight` times how much less its label scores
    than the arc's best. The problem given has no labels; its arcs are sorted by head and modifier.
    """
    p = problem
    sets: dict[Arc, dict[frozenset[int], None]] = {}
    for constraint in constraints:
        for group in (*constraint.groups, constraint.unless or {}):
            for arc, allowed in group.items():
                if -1 not in allowed:
                    sets.setdefault(arc, {})[allowed] = None
    n_arcs = len(p.arc_head)
    number = np.ones(n_arcs, np.int64)  # of copies
    copied: list[tuple[int, int, float]] = []
    pairs = p.arc_head.astype(np.int64) * (p.n_words + 1) + p.arc_mod
    touched = np.isin(pairs, [h * (p.n_words + 1) + m for h, m in sets])
    for a in np.flatnonzero(touched).tolist():
        arc = (int(p.arc_head[a]), int(p.arc_mod[a]))
        scores = label_scores(*arc)
        best: dict[tuple[bool, ...], int] = {}
        for label in np.argsort(-scores, kind="stable").tolist():
            if scores[label] > -np.inf:
                best.setdefault(tuple([label in allowed for allowed in sets[arc]]), label)
        number[a] = len(best)
        top = float(scores.max())
        copied += [(a, label, float(scores[label]) - top) for label in sorted(best.values())]
    first = np.concatenate([[0], np.cumsum(number)])
    copies = np.repeat(np.arange(n_arcs), number)
    labels = np.full(len(copies), -1, np.int32)
    lost = np.zeros(len(copies))
    of_touched = touched[copies]
    labels[of_touched] = [label for _, label, _ in copied]
    lost[of_touched] = [weight * behind for _, _, behind in copied]
    if p.quantum:
        lost = np.rint(lost / p.quantum) * p.quantum + 0.0
    state = p.arc_state.copy()
    for a in np.flatnonzero(state == 1).tolist():  # any of its copies will do
        state[(p.arc_mod == p.arc_mod[a]) & (np.arange(n_arcs) != a)] = -1
        state[a] = 1 if number[a] == 1 else 0

    def places(arcs: Sequence[int]) -> list[range]:
        return [range(first[a], first[a + 1]) for a in arcs]

    whole = np.ones(len(p.factor_score), np.bool_)
    if len(whole):
        whole = np.logical_and.reduceat(number[p.factor_arcs] == 1, p.factor_ptr[:-1])
    factor_ptr, factor_arcs = take_sets(p.factor_ptr, first[p.factor_arcs], whole)
    split = np.flatnonzero(~whole)
    several = [
        (arcs, [p.factor_score[f]])
        for f in split.tolist()
        for arcs in product(*places(p.factor_arcs[p.factor_ptr[f] : p.factor_ptr[f + 1]].tolist()))
    ]
    counts = []
    for arcs, table in set_rows(p, "count"):
        every = [*chain(*places(arcs))]  # of the copies of an arc a tree has one at most
        counts.append((every, table + table[-1:] * (len(every) - len(arcs))))
    changed = p.changed(
        arc_head=p.arc_head[copies], arc_mod=p.arc_mod[copies],
        arc_score=p.arc_score[copies] + lost, arc_state=state[copies],
        arc_label=np.maximum(labels, 0),
        factor_ptr=factor_ptr, factor_arcs=factor_arcs.astype(np.int32),
        factor_score=p.factor_score[whole],
        **set_fields("count", counts),
    )  # fmt: skip
    return SplitArcs(with_sets(changed, "factor", several), copies, labels)
