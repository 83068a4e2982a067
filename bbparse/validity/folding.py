"""Constraints folded into the scores of arcs and factors, for problems without labels.

The labels of a tree's arcs are best chosen separately for each set of words that constraints
connect. The loss against the best label of each arc is a function of the arcs into these words: a
polynomial whose coefficients (by Möbius inversion) are scores of arcs and factors. So the best tree
of a problem with these scores is the best labelled tree that breaks no constraint. Labels that an
arc must never have are removed first; constraints that then depend on arcs only, whatever their
labels, are added as they are.
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

#: Maximum number of sets of arcs into connected words; beyond it, labels become part of the
#: problem.
MAX_SETS = 500

Arcs = tuple[int, ...]
#: Arc → its groups (each a bit), and the labels with which it belongs to them.
Members = dict[Arc, list[tuple[int, frozenset[int]]]]


class Option(NamedTuple):
    """A label of an arc, its loss against the arc's best label, and its groups as bits."""

    label: int
    loss: float
    groups: int


class Folded(NamedTuple):
    """A problem that includes the costs of constraints, with the arcs of the original one."""

    problem: Problem
    words: list[list[int]]  #: Sets of words that constraints connect.
    #: Arcs into these words → their labels; other arcs have their best ones.
    labels: dict[Arcs, tuple[int, ...]]

    def of_tree(self, arcs: NDArray[np.int32]) -> dict[int, int]:
        """Return the labels, by word, that may not be the best of a tree's arcs int32[n]."""
        label_of: dict[int, int] = {}
        for words in self.words:
            connected_arcs = tuple(arcs[[m - 1 for m in words]].tolist())
            connected_arcs = tuple(a for a in connected_arcs if (a,) in self.labels)
            label_of.update(
                zip(
                    self.problem.arc_mod[[*connected_arcs]].tolist(),
                    self.labels.get(connected_arcs, ()),
                )
            )
        return label_of


def fold(
    problem: Problem, constraints: Iterable[Constraint], label_scores: LabelScores, weight: float,
    n_labels: int,
) -> Folded | None:  # fmt: skip
    """Fold constraints into a problem; the arguments are those of `solve_valid`.

    None if that takes too many factors, or is impossible because a best tree may need an exception.
    """
    never: dict[Arc, frozenset[int]] = {}
    members: Members = {}
    masks, bit = [], 1  # each group has a bit
    compound: list[Constraint] = []
    hard: list[Constraint] = []
    for constraint in constraints:
        if len(constraint.groups) > 1 or constraint.unless:
            compound.append(constraint)
            continue
        for arc, labels in constraint.groups[0].items():
            never[arc] = never.get(arc, frozenset()) | labels
    constraints = []
    for constraint in compound:
        about_arcs = _about_arcs(constraint, never, n_labels)
        (hard if about_arcs else constraints).append(constraint)
    for constraint in constraints:
        mask = 0
        for group in constraint.groups:
            for arc, labels in group.items():
                members.setdefault(arc, []).append((bit, labels))
            mask, bit = mask | bit, bit << 1
        masks.append(mask)
    if not all(_pays_no_exception(c, members, never, label_scores) for c in constraints):
        return None
    n = problem.n_words
    keys = problem.arc_head.astype(np.int64) * (n + 1) + problem.arc_mod
    arcs_of_labels = [*dict.fromkeys([*members, *never])]
    indices = np.searchsorted(keys, [h * (n + 1) + m for h, m in arcs_of_labels]).tolist()
    options = {}
    for a, arc in zip(indices, arcs_of_labels):
        scores, forbidden = label_scores(*arc), never.get(arc, ())
        arc_options = _options(scores, members.get(arc, ()), forbidden, weight, problem.quantum)
        # otherwise its best label is best in every combination
        if not arc_options or arc_options[0].groups or arc_options[0].label != int(scores.argmax()):
            options[a] = arc_options
    all_groups = 0
    for arc_options in options.values():
        for option in arc_options:
            all_groups |= option.groups
    masks = [mask for mask in masks if not mask & ~all_groups]  # other constraints cannot be broken
    score, state = problem.arc_score.copy(), problem.arc_state.copy()
    factors: dict[Arcs, float] = {}
    chosen: dict[Arcs, tuple[int, ...]] = {}
    components = _connected(problem.arc_mod, options, masks)
    for by_word in components:
        if prod(1 + len(arcs) for arcs in by_word.values()) > MAX_SETS:
            return None
        factors |= _polynomial(options, by_word, masks, chosen)
    for arcs in [key for key in factors if len(key) == 1]:
        (a,), cost = arcs, factors.pop(arcs)
        if np.isfinite(cost):
            score[a] += cost
        else:
            if state[a] == 1:  # both required and forbidden: no tree is feasible
                state[problem.arc_mod == problem.arc_mod[a]] = -1
            state[a] = -1
    changed = problem.changed(arc_score=score, arc_state=state)
    changed = with_sets(changed, "factor", [(arcs, [cost]) for arcs, cost in factors.items()])
    if hard:
        changed = constrained(changed, hard, None)
    return Folded(changed, [[*by_word] for by_word in components], chosen)


def _about_arcs(constraint: Constraint, never: dict[Arc, frozenset[int]], n_labels: int) -> bool:
    """Return True if the labels of arcs make no difference to a constraint."""
    return all(-1 in labels for labels in (constraint.unless or {}).values()) and all(
        -1 in labels or len(labels | never.get(arc, labels)) == n_labels
        for group in constraint.groups
        for arc, labels in group.items()
    )


def _pays_no_exception(
    constraint: Constraint, members: Members, never: dict[Arc, frozenset[int]],
    label_scores: LabelScores,
) -> bool:  # fmt: skip
    """Return True if no best tree needs the exception of a constraint.

    That is so if, in any tree, another label for an arc of some group costs less than the
    exception.
    """
    exception = constraint.unless or {}
    if not exception:
        return True
    if any(arc in members or arc in never for arc in exception):
        return False
    labels_of = {
        arc: never.get(arc, frozenset()).union(*(labels for _, labels in members[arc]))
        for group in constraint.groups
        for arc in group
    }
    costs = {arc: _behind(label_scores(*arc), labels, False) for arc, labels in labels_of.items()}
    max_cost = min(max([costs[arc] for arc in group], default=0.0) for group in constraint.groups)
    return all(
        _behind(label_scores(*arc), labels, True) >= max_cost for arc, labels in exception.items()
    )


def _behind(scores: NDArray[np.float64], labels: frozenset[int], among: bool) -> float:
    """Return the loss of the best label among, or outside, some labels against the best of all."""
    selected = [x for i, x in enumerate(scores.tolist()) if (i in labels) == among]
    return float(scores.max()) - max(selected, default=-np.inf)


def _options(
    scores: NDArray[np.float64], groups: Sequence[tuple[int, frozenset[int]]],
    never: Collection[int], weight: float, quantum: float,
) -> list[Option]:  # fmt: skip
    """Return the labels that an arc may have in a best tree, the best first.

    Each avoids a group that all better ones are in.
    """
    options: list[Option] = []
    order = np.argsort(-scores, kind="stable")
    for label in order.tolist():
        if scores[label] == -np.inf:
            break
        if label in never:
            continue
        bits = sum(bit for bit, labels in groups if label in labels)
        if all(option.groups & ~bits for option in options):
            loss = weight * float(scores[order[0]] - scores[label])
            if quantum:
                loss = round(loss / quantum) * quantum
            options.append(Option(label, loss, bits))
        if not bits:
            break
    return options


def _connected(
    mods: NDArray[np.int32], options: dict[int, list[Option]], masks: Sequence[int]
) -> list[dict[int, list[int]]]:
    """Return the words that constraints connect, each with its arcs that have options."""
    groups: dict[int, int] = {}  # word → groups of its arcs
    arcs: dict[int, list[int]] = {}
    for a, arc_options in options.items():
        m = int(mods[a])
        arcs.setdefault(m, []).append(a)
        for option in arc_options:
            groups[m] = groups.get(m, 0) | option.groups
    components = [({m}, groups.get(m, 0)) for m in arcs]
    for mask in masks:
        touched = [component for component in components if component[1] & mask]
        components = [component for component in components if not component[1] & mask]
        words, bits = set[int](), 0
        for component in touched:
            words, bits = words | component[0], bits | component[1]
        components.append((words, bits))
    return [{m: arcs[m] for m in sorted(words)} for words, _ in components if words]


def _polynomial(
    options: dict[int, list[Option]], by_word: dict[int, list[int]], masks: Sequence[int],
    chosen: dict[Arcs, tuple[int, ...]],
) -> dict[Arcs, float]:  # fmt: skip
    """Return the joint loss of arcs into some words as coefficients; set the best labels."""
    terms: dict[Arcs, float] = {}
    rows = product(*[(-1, *arcs) for arcs in by_word.values()])
    for arcs in sorted((tuple(a for a in row if a >= 0) for row in rows), key=len):
        subsets = [subset for r in range(1, len(arcs)) for subset in combinations(arcs, r)]
        if any(
            terms.get(subset) == -np.inf for subset in subsets
        ):  # then this set is forbidden, too
            continue
        min_loss = np.inf
        for labels in product(*[options[a] for a in arcs]):
            bits = 0
            for option in labels:
                bits |= option.groups
            loss = sum(option.loss for option in labels)
            if loss < min_loss and all(mask & ~bits for mask in masks):
                min_loss, chosen[arcs] = loss, tuple([option.label for option in labels])
        cost = -min_loss - sum(terms.get(subset, 0.0) for subset in subsets)
        if cost and arcs:
            terms[arcs] = cost
    return terms
