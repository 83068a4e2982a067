"""What constraints cost trees without labels, as scores of arcs and factors.

The labels of a tree's arcs are best chosen for each set of words that constraints connect, one set
after the other. What that loses against the best label of each arc is a function of the arcs into
these words: a polynomial, whose coefficients (by Möbius' inversion) are scores of arcs and of
factors. So the best tree of a problem that has them is the best one with labels that break no
constraint. Labels that an arc must not have at all are left out first; constraints which then are
about arcs, whatever their labels, join as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import combinations, product
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.problem import Problem
from bbparse.problem.edit import with_sets
from bbparse.validity.constraints import Arc, Constraint, LabelScores, constrained

#: Sets of arcs into words that constraints connect; where there are more, labels join the problem.
MOST = 500

Arcs = tuple[int, ...]
#: Of arcs, the groups that they are members of (each a bit), and with which labels.
Members = dict[Arc, list[tuple[int, frozenset[int]]]]


class Option(NamedTuple):
    """A label of an arc, what it scores less than the arc's best one, and the groups (as bits) that
    the arc is a member of with it."""

    label: int
    loss: float
    groups: int


class Folded(NamedTuple):
    """A problem that holds what constraints cost, with the arcs of the one given."""

    problem: Problem
    words: list[list[int]]  #: That constraints connect, each set by itself.
    #: By arcs into these words, which labels they have; other arcs have their best ones.
    labels: dict[Arcs, tuple[int, ...]]

    def of_tree(self, arcs: NDArray[np.int32]) -> dict[int, int]:
        """By word, the labels that need not be the best ones of a tree's arcs int32[n]."""
        found: dict[int, int] = {}
        for words in self.words:
            own = tuple(arcs[[m - 1 for m in words]].tolist())
            own = tuple(a for a in own if (a,) in self.labels)
            found.update(zip(self.problem.arc_mod[[*own]].tolist(), self.labels.get(own, ())))
        return found


def fold(
    problem: Problem, constraints: Iterable[Constraint], label_scores: LabelScores, weight: float,
    n_labels: int,
) -> Folded | None:  # fmt: skip
    """The problem with what constraints cost; None where that takes too many factors, or more (as
    where a best tree may need an exception). Arguments are those of `solve_valid`."""
    never: dict[Arc, frozenset[int]] = {}
    members: Members = {}
    masks, bit = [], 1  # each group is a bit
    of_several: list[Constraint] = []
    hard: list[Constraint] = []
    for constraint in constraints:
        if len(constraint.groups) > 1 or constraint.unless:
            of_several.append(constraint)
            continue
        for arc, labels in constraint.groups[0].items():
            never[arc] = never.get(arc, frozenset()) | labels
    constraints = []
    for constraint in of_several:
        about_arcs = _about_arcs(constraint, never, n_labels)
        (hard if about_arcs else constraints).append(constraint)
    for constraint in constraints:
        mask = 0
        for group in constraint.groups:
            for arc, labels in group.items():
                members.setdefault(arc, []).append((bit, labels))
            mask, bit = mask | bit, bit << 1
        masks.append(mask)
    if not all(_pays_no_exception(one, members, never, label_scores) for one in constraints):
        return None
    n = problem.n_words
    keys = problem.arc_head.astype(np.int64) * (n + 1) + problem.arc_mod
    arcs_of_labels = [*dict.fromkeys([*members, *never])]
    places = np.searchsorted(keys, [h * (n + 1) + m for h, m in arcs_of_labels]).tolist()
    options = {}
    for a, arc in zip(places, arcs_of_labels):
        scores, without = label_scores(*arc), never.get(arc, ())
        own = _options(scores, members.get(arc, ()), without, weight, problem.quantum)
        # otherwise its best label is the best, whatever the others'
        if not own or own[0].groups or own[0].label != int(scores.argmax()):
            options[a] = own
    every = 0
    for own in options.values():
        for option in own:
            every |= option.groups
    masks = [mask for mask in masks if not mask & ~every]  # others cannot be broken
    score, state = problem.arc_score.copy(), problem.arc_state.copy()
    factors: dict[Arcs, float] = {}
    chosen: dict[Arcs, tuple[int, ...]] = {}
    components = _connected(problem.arc_mod, options, masks)
    for by_word in components:
        if prod(1 + len(arcs) for arcs in by_word.values()) > MOST:
            return None
        factors |= _polynomial(options, by_word, masks, chosen)
    for arcs in [one for one in factors if len(one) == 1]:
        (a,), cost = arcs, factors.pop(arcs)
        if np.isfinite(cost):
            score[a] += cost
        else:
            if state[a] == 1:  # required, and forbidden: no tree will do
                state[problem.arc_mod == problem.arc_mod[a]] = -1
            state[a] = -1
    changed = problem.changed(arc_score=score, arc_state=state)
    changed = with_sets(changed, "factor", [(arcs, [cost]) for arcs, cost in factors.items()])
    if hard:
        changed = constrained(changed, hard, None)
    return Folded(changed, [[*by_word] for by_word in components], chosen)


def _about_arcs(constraint: Constraint, never: dict[Arc, frozenset[int]], n_labels: int) -> bool:
    """Whether the labels of arcs make no difference to a constraint."""
    return all(-1 in labels for labels in (constraint.unless or {}).values()) and all(
        -1 in labels or len(labels | never.get(arc, labels)) == n_labels
        for group in constraint.groups
        for arc, labels in group.items()
    )


def _pays_no_exception(
    constraint: Constraint, members: Members, never: dict[Arc, frozenset[int]],
    label_scores: LabelScores,
) -> bool:  # fmt: skip
    """Whether no best tree needs the exception of a constraint: whatever arcs a tree has, it loses
    less by giving that of one group a label that no constraint speaks of."""
    exception = constraint.unless or {}
    if not exception:
        return True
    if any(arc in members or arc in never for arc in exception):
        return False
    of_any = {
        arc: never.get(arc, frozenset()).union(*(own for _, own in members[arc]))
        for group in constraint.groups
        for arc in group
    }
    costs = {arc: _behind(label_scores(*arc), own, False) for arc, own in of_any.items()}
    most = min(max([costs[arc] for arc in group], default=0.0) for group in constraint.groups)
    return all(_behind(label_scores(*arc), own, True) >= most for arc, own in exception.items())


def _behind(scores: NDArray[np.float64], labels: frozenset[int], among: bool) -> float:
    """How much less than the best label the best one among some labels, or outside them, scores."""
    found = [x for i, x in enumerate(scores.tolist()) if (i in labels) == among]
    return float(scores.max()) - max(found, default=-np.inf)


def _options(
    scores: NDArray[np.float64], groups: Sequence[tuple[int, frozenset[int]]],
    never: Collection[int], weight: float, quantum: float,
) -> list[Option]:  # fmt: skip
    """The labels of an arc that may be in a best tree, the best first: each avoids a group that
    better ones do not."""
    found: list[Option] = []
    order = np.argsort(-scores, kind="stable")
    for label in order.tolist():
        if scores[label] == -np.inf:
            break
        if label in never:
            continue
        own = sum(bit for bit, labels in groups if label in labels)
        if all(option.groups & ~own for option in found):
            loss = weight * float(scores[order[0]] - scores[label])
            if quantum:
                loss = round(loss / quantum) * quantum
            found.append(Option(label, loss, own))
        if not own:
            break
    return found


def _connected(
    mods: NDArray[np.int32], options: dict[int, list[Option]], masks: Sequence[int]
) -> list[dict[int, list[int]]]:
    """The words that constraints connect, each with its arcs that have options."""
    groups: dict[int, int] = {}  # that a word's arcs may be members of
    arcs: dict[int, list[int]] = {}
    for a, own in options.items():
        m = int(mods[a])
        arcs.setdefault(m, []).append(a)
        for option in own:
            groups[m] = groups.get(m, 0) | option.groups
    sets = [({m}, groups.get(m, 0)) for m in arcs]
    for mask in masks:
        together = [one for one in sets if one[1] & mask]
        sets = [one for one in sets if not one[1] & mask]
        words, held = set[int](), 0
        for one in together:
            words, held = words | one[0], held | one[1]
        sets.append((words, held))
    return [{m: arcs[m] for m in sorted(words)} for words, _ in sets if words]


def _polynomial(
    options: dict[int, list[Option]], by_word: dict[int, list[int]], masks: Sequence[int],
    chosen: dict[Arcs, tuple[int, ...]],
) -> dict[Arcs, float]:  # fmt: skip
    """What arcs into some words lose together, as coefficients; notes the labels that are best."""
    terms: dict[Arcs, float] = {}
    rows = product(*[(-1, *arcs) for arcs in by_word.values()])
    for arcs in sorted((tuple(a for a in row if a >= 0) for row in rows), key=len):
        parts = [one for r in range(1, len(arcs)) for one in combinations(arcs, r)]
        if any(terms.get(one) == -np.inf for one in parts):  # and so is this
            continue
        least = np.inf
        for labels in product(*[options[a] for a in arcs]):
            held = 0
            for option in labels:
                held |= option.groups
            loss = sum(option.loss for option in labels)
            if loss < least and all(mask & ~held for mask in masks):
                least, chosen[arcs] = loss, tuple([option.label for option in labels])
        cost = -least - sum(terms.get(one, 0.0) for one in parts)
        if cost and arcs:
            terms[arcs] = cost
    return terms
