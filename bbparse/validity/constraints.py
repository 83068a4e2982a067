"""Broken rules as constraints of a problem over labelled arcs.

A constraint has groups of labelled arcs, each group into one word. A tree must not have an arc of
every group, unless it also has an arc of the exception. Constraints become count factors over sets
of arcs: at most k - 1 arcs of k groups; and with an exception, at least one arc of the exception or
into the same words from outside the groups. If each group has one arc, the constraint is an
ordinary factor.

As long as some tree keeps all rules, a constraint may forbid more than one fault, as long as it
forbids no valid tree (`strong_constraints`). If no tree keeps them, each fault is counted by a
constraint of its own.
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

#: Arc → labels with which it belongs to the group; -1 is among them if all labels do.
Group = Mapping[Arc, frozenset[int]]
#: Condition that all arcs fulfil.
ANY = ArcCondition(())
#: Log probabilities of the labels of an arc (head, modifier), up to a constant: float64[L].
LabelScores = Callable[[int, int], NDArray[np.float64]]


class Constraint(NamedTuple):
    """Groups of which a tree must not have an arc each, unless it has an arc of the exception.

    ``of`` identifies its subject: the entry of the rules, and the words. ``unless`` is None if
    there is no exception.
    """

    of: tuple[int, ...]
    groups: tuple[Group, ...]
    unless: Group | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """Key under which equal constraints are one; no tree breaks two for one fault."""
        return (self.of, *(frozenset(group) for group in self.groups))


class Arcs:
    """Candidate arcs of a problem, with their possible labels."""

    def __init__(self, problem: Problem, labels: Sequence[str]) -> None:
        self.labels = (*labels,)
        self.projective = problem.projective
        self._head, self._mod = problem.arc_head, problem.arc_mod

    def group(self, ruled: RuledSentence, e: int, part: int, arcs: Iterable[Arc]) -> Group:
        """Return the arcs that can be the given part of an entry, with their labels."""
        return ruled.labels_of(e, part, arcs, self.labels)

    def into(self, m: int) -> list[Arc]:
        """Return the candidate arcs into a word."""
        return [(h, m) for h in self._head[self._mod == m].tolist()]

    @property
    def every(self) -> frozenset[int]:
        """All labels, with -1 for any."""
        return frozenset(range(-1, len(self.labels)))

    def below(self, h: int) -> list[Arc]:
        """Return the candidate arcs from a word."""
        return [(h, m) for m in self._mod[self._head == h].tolist()]

    def all(self) -> list[Arc]:
        """Return all candidate arcs, each pair of words once."""
        return sorted({*zip(self._head.tolist(), self._mod.tolist())})


def constraint_of(
    ruled: RuledSentence, fault: Fault, heads: Mapping[int, int], arcs: Arcs
) -> Constraint:
    """Return the constraint that forbids a fault, also with other arcs and labels.

    `heads` are the heads of the fault's words in the tree that has it.
    """
    e, kind = fault.entry, ruled.rules.entries[fault.entry].rule.kind
    first, *further_words = fault.arcs
    arc = (heads[first], first)
    into = arcs.into(first) if kind in ("", "below") else [arc]
    groups = [arcs.group(ruled, e, 0, into)]
    if kind:
        second, *above = further_words
        second_arc = (heads[second], second)
        second_arcs = [second_arc]
        if kind == "inside":
            second_arcs = arcs.into(second)
        elif kind == "crossing" and not above:
            second_arcs = [
                candidate for candidate in arcs.into(second) if crosses(arc, candidate) == ALWAYS
            ]
        groups.append(arcs.group(ruled, e, 1, second_arcs))
        groups += [{(heads[word], word): arcs.every} for word in above]
    unless = None
    if ruled.rules.entries[e].unless is not None:
        unless = arcs.group(ruled, e, 2, arcs.below(first))
    return Constraint((e, *fault.arcs), tuple(groups), unless)


def strong_constraints(
    ruled: RuledSentence, fault: Fault, heads: Mapping[int, int], arcs: Arcs
) -> Iterator[Constraint]:
    """Yield constraints that forbid a fault, as `constraint_of`, and other invalid trees.

    They include the rules about one arc for the labels that arcs may change to. If two arcs cross,
    they forbid all arcs that would make the same two words cross; and if an arc spans a word that
    is not below its head, they require an arc that brings the word there.
    """
    exact = constraint_of(ruled, fault, heads, arcs)
    constraints = [exact]
    entry = ruled.rules.entries[fault.entry]
    if entry.rule.kind == "crossing":
        first, second, *above = fault.arcs
        if not above:
            constraints = [*_in_the_way(ruled, fault, arcs, exact.unless)]
        elif entry.unless is None and entry.other == ANY:
            arc = heads[first], first
            chain = [second, *above] if min(arc) < second < max(arc) else above
            constraints = [_brought_below(ruled, fault, arcs, chain)]
    yield from constraints
    labelled = dict.fromkeys(
        arc
        for constraint in constraints
        for group in constraint.groups
        for arc, labels in group.items()
        if -1 not in labels
    )
    if never := ruled.never(labelled, arcs.labels):
        yield Constraint((-1, *fault.arcs), (never,))


def _in_the_way(
    ruled: RuledSentence, fault: Fault, arcs: Arcs, unless: Group | None
) -> Iterator[Constraint]:
    """Yield constraints on all pairs of arcs into the two words of a fault that always cross.

    There are as few constraints as there are different sets that the arcs into the first word
    cross.
    """
    first, second = fault.arcs
    firsts = arcs.group(ruled, fault.entry, 0, arcs.into(first))
    seconds = arcs.group(ruled, fault.entry, 1, arcs.into(second))
    crossed = {
        arc: frozenset(second_arc for second_arc in seconds if crosses(arc, second_arc) == ALWAYS)
        for arc in firsts
    }
    for crossed_arcs in dict.fromkeys(crossed.values()):
        if crossed_arcs:
            group = {
                arc: firsts[arc] for arc, crossings in crossed.items() if crossed_arcs <= crossings
            }
            second_group = {arc: seconds[arc] for arc in sorted(crossed_arcs)}
            yield Constraint((fault.entry, first, second), (group, second_group), unless)


def _brought_below(
    ruled: RuledSentence, fault: Fault, arcs: Arcs, chain: Sequence[int]
) -> Constraint:
    """Return the constraint for an arc that spans a word which is not below its head.

    The chain is the word and its ancestors. The arc is forbidden unless some arc leads from outside
    into the chain.
    """
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
    """Yield everything that the rules forbid of candidate arcs.

    `ProblemError` if that depends on more than a few arcs: for punctuation in trees that may be
    non-projective.
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
                partners = [(h, m)]
            elif kind == "below":
                partners = [(g, x) for g, x in seconds if g == m and x != h]
            elif kind == "beside":
                partners = [(g, x) for g, x in seconds if g == h and x != m]
            elif kind == "inside":
                partners = [(g, x) for g, x in seconds if min(h, m) < x < max(h, m)]
            else:
                partners = [
                    second_arc for second_arc in seconds if crosses((h, m), second_arc) != NEVER
                ]
                if any(crosses((h, m), second_arc) == PERHAPS for second_arc in partners):
                    raise ProblemError(
                        f"rule {entry.rule.name} is about crossing arcs, expected a projective"
                        " problem (parsing keeps it in all trees)"
                    )
            for g, x in partners:
                fault = Fault("", 0, (m, x) if kind else (m,), e)
                yield constraint_of(ruled, fault, {x: g, m: h}, arcs)


def constrained(
    problem: Problem,
    constraints: Iterable[Constraint],
    labels: NDArray[np.int32] | None,
    penalty: float = np.inf,
) -> Problem:
    """Return the problem with constraints, each of which costs a penalty if it is broken.

    `labels` int32[A] has the label of each arc; None: constraints are about arcs with any label.
    """
    p = problem
    arcs_between: dict[Arc, list[int]] = {}
    into: dict[int, set[int]] = {}
    for a, (h, m) in enumerate(zip(p.arc_head.tolist(), p.arc_mod.tolist())):
        arcs_between.setdefault((h, m), []).append(a)
        into.setdefault(m, set()).add(a)

    def members(group: Group) -> set[int]:
        return {
            a
            for arc, allowed in group.items()
            for a in arcs_between.get(arc, ())
            if labels is None or labels[a] in allowed
        }

    score, state = p.arc_score.copy(), p.arc_state.copy()
    factors: list[tuple[int, ...]] = []
    counts: list[tuple[list[int], NDArray[np.float64]]] = []
    keys = set()
    for constraint in constraints:
        if constraint.key in keys:
            continue
        keys.add(constraint.key)
        groups = [members(group) for group in constraint.groups]
        if not all(groups):
            continue
        if constraint.unless is not None:
            words = {m for group in constraint.groups for _, m in group}
            alternatives = set().union(*(into[m] for m in words)) - set().union(*groups)
            alternatives |= members(constraint.unless)
            if alternatives:
                counts.append((sorted(alternatives), _table(len(alternatives), 0, 1, penalty)))
                continue
        if len(groups) > 1 and all(len(group) == 1 for group in groups):
            factors.append(tuple(chain(*groups)))
        elif len(groups) > 1:
            union = sorted(set().union(*groups))
            counts.append((union, _table(len(union), len(groups), len(union) + 1, penalty)))
        elif np.isinf(penalty):
            if (state[[*groups[0]]] == 1).any():  # both required and forbidden: no tree is feasible
                counts.append((sorted(groups[0]), _table(len(groups[0]), 0, 2, penalty)))
            state[[a for a in groups[0] if state[a] != 1]] = -1
        else:
            score[[*groups[0]]] -= penalty
    changed = p.changed(arc_score=score, arc_state=state)
    changed = with_sets(changed, "factor", [(arcs, [-penalty]) for arcs in factors])
    return with_sets(changed, "count", counts)


def _table(size: int, low: int, high: int, penalty: float) -> NDArray[np.float64]:
    """Return scores of the counts 0 to size, of which those from low to below high are faults."""
    table = np.zeros(size + 1)
    table[low:high] = -penalty
    return table


class SplitArcs(NamedTuple):
    """A problem over labelled arcs, and the origin of its A arcs."""

    problem: Problem
    base: NDArray[np.int64]  #: Index of each arc in the problem without labels.
    labels: NDArray[np.int32]  #: Label of each arc; -1: the best one, whichever it is.


def split_arcs(
    problem: Problem,
    constraints: Iterable[Constraint],
    label_scores: LabelScores,
    weight: float,
) -> SplitArcs:
    """Copy the arcs of constraints, one copy for each label that makes a difference.

    Of labels that are in the same groups, only the best one of an arc becomes a copy: no best tree
    needs another. A copy has the score of the arc minus `weight` times the difference of its label
    to the arc's best one. The problem has no labels, and its arcs are sorted by head and modifier.
    """
    p = problem
    sets: dict[Arc, dict[frozenset[int], None]] = {}
    for constraint in constraints:
        for group in (*constraint.groups, constraint.unless or {}):
            for arc, allowed in group.items():
                if -1 not in allowed:
                    sets.setdefault(arc, {})[allowed] = None
    n_arcs = len(p.arc_head)
    n_copies = np.ones(n_arcs, np.int64)  # number of copies of each arc
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
        n_copies[a] = len(best)
        top = float(scores.max())
        copied += [(a, label, float(scores[label]) - top) for label in sorted(best.values())]
    first = np.concatenate([[0], np.cumsum(n_copies)])
    copies = np.repeat(np.arange(n_arcs), n_copies)
    labels = np.full(len(copies), -1, np.int32)
    penalty = np.zeros(len(copies))
    is_copy = touched[copies]
    labels[is_copy] = [label for _, label, _ in copied]
    penalty[is_copy] = [weight * behind for _, _, behind in copied]
    if p.quantum:
        penalty = np.rint(penalty / p.quantum) * p.quantum + 0.0
    state = p.arc_state.copy()
    for a in np.flatnonzero(state == 1).tolist():  # any of its copies satisfies this
        state[(p.arc_mod == p.arc_mod[a]) & (np.arange(n_arcs) != a)] = -1
        state[a] = 1 if n_copies[a] == 1 else 0

    def copies_of(arcs: Sequence[int]) -> list[range]:
        return [range(first[a], first[a + 1]) for a in arcs]

    is_unsplit = np.ones(len(p.factor_score), np.bool_)
    if len(is_unsplit):
        is_unsplit = np.logical_and.reduceat(n_copies[p.factor_arcs] == 1, p.factor_ptr[:-1])
    factor_ptr, factor_arcs = take_sets(p.factor_ptr, first[p.factor_arcs], is_unsplit)
    split = np.flatnonzero(~is_unsplit)
    split_factors = [
        (arcs, [p.factor_score[f]])
        for f in split.tolist()
        for arcs in product(
            *copies_of(p.factor_arcs[p.factor_ptr[f] : p.factor_ptr[f + 1]].tolist())
        )
    ]
    counts = []
    for arcs, table in set_rows(p, "count"):
        all_copies = [*chain(*copies_of(arcs))]  # a tree has at most one copy of an arc
        counts.append((all_copies, table + table[-1:] * (len(all_copies) - len(arcs))))
    changed = p.changed(
        arc_head=p.arc_head[copies], arc_mod=p.arc_mod[copies],
        arc_score=p.arc_score[copies] + penalty, arc_state=state[copies],
        arc_label=np.maximum(labels, 0),
        factor_ptr=factor_ptr, factor_arcs=factor_arcs.astype(np.int32),
        factor_score=p.factor_score[is_unsplit],
        **set_fields("count", counts),
    )  # fmt: skip
    return SplitArcs(with_sets(changed, "factor", split_factors), copies, labels)
