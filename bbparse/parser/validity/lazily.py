"""The best valid trees: a rule becomes part of a problem only when a best tree breaks it.

A labelled tree has the score

    φ(tree) + Σ (score of the arc's label - score of the arc's best label),

which is φ if every arc has its best label. The problem is solved, the trees are checked, the rules
that they break become constraints over copies of the arcs concerned, and the problem is solved
again, until no rule is broken. The last trees are the best of all valid ones: each problem on the
way contains all valid trees, with all labels that a best one may have, and its best tree is valid.
If no tree is valid, each fault has a constraint that costs more than trees can differ by, and the
best tree is one of those with the fewest faults. Where that cost is so large that it hides scores,
as beside masks of -1e12, a tree with the fewest faults is found first, and then the best one at a
cost that outweighs only what trees score more than that one. Scores that `solve` itself adds to
whole trees may outweigh the cost, and hide a tree with fewer faults: callers then drop the proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.core import Problem, Solution
from bbparse.core.edit import with_sets
from bbparse.core.scale import scaled
from bbparse.core.score import tree_terms
from bbparse.inference.search.rescaling import resolves
from bbparse.models.scoring.labels import best_numbers
from bbparse.parser.validity.check import Fault
from bbparse.parser.validity.constraints import ArcLabelScores, Candidates, ForbiddenSet, SplitArcs
from bbparse.runtime.arrays import Ints
from bbparse.runtime.deadline import NO_DEADLINE, Deadline

#: Finds the k best trees of a problem.
Solve = Callable[[Problem, int], Solution]


#: Most trees to list for each that is missing; with four times as many in every try.
_LISTED = 16


class ValidTrees(NamedTuple):
    """Trees that keep the validity rules, or one that breaks as few as possible."""

    #: Different trees, in arcs of the original problem. Scores are those of labelled trees,
    #: without the costs of broken rules.
    solution: Solution
    #: Label of each word, by tree; no lists if the model has no labels.
    labels: list[list[str]]
    #: Faults by tree; empty lists, unless no tree keeps all rules or a limit was reached. No lists
    #: if there are no rules.
    faults: list[list[Fault]]

    def first(self, count: int) -> ValidTrees:
        """Return the first trees, see `Solution.first`."""
        return ValidTrees(self.solution.first(count), self.labels[:count], self.faults[:count])


def solve_valid(
    candidates: Candidates,
    label_scores: ArcLabelScores,
    solve: Solve,
    *,
    k_best: int = 1,
    broken: Iterable[tuple[Sequence[int], Sequence[Fault]]] = (),
    deadline: Deadline = NO_DEADLINE,
) -> ValidTrees:
    """Find the k best trees that keep validity rules, with their labels.

    ``label_scores`` returns the scores of the labels of arcs; -inf: not this label. ``broken`` are
    trees that are known to break rules: heads of the words 1 to n, and faults. Trees differ in
    heads, or in labels that are ``apart``: of trees that agree in these, the best one is listed.
    """
    problem, names, ruled = candidates.problem, candidates.names, candidates.ruled
    constraints: dict[ForbiddenSet, None] = {}
    words = np.arange(1, problem.n_words + 1, dtype=np.int32)

    def forbid(heads: Sequence[int], faults: Sequence[Fault]) -> None:
        for fault in faults:
            arcs = [(heads[m - 1], m) for m in fault.arcs]
            constraints[candidates.forbidding(fault.entry, arcs)] = None

    for heads, faults in broken:
        forbid(heads, faults)
    possible, rounds = True, 0  # possible: some tree may keep all rules
    enough, hides = np.inf, False
    while True:
        split = candidates.split(constraints, label_scores, valid=possible)
        cost = np.inf if possible else min(enough, _more_than_all(split.problem))
        restricted = candidates.constrained(split.problem, split.labels, constraints, cost)
        result = _distinct(restricted, split, k_best, solve)
        rounds += 1
        if result.status == "infeasible" and possible and constraints:
            possible, k_best = False, 1
            continue
        labels: list[list[str]] = []
        faults_of: list[list[Fault]] = []
        n_known = len(constraints)
        for row, arcs in deadline.through(zip(result.heads, result.arcs)):
            heads, chosen = row[1:].tolist(), split.labels[arcs]
            best = best_numbers(label_scores(row[1:], words))
            labels.append([names[i] for i in np.where(chosen >= 0, chosen, best).tolist()])
            faults_of.append(ruled.faults(heads, labels[-1]))
            forbid(heads, faults_of[-1])
        result = result.first(len(labels))
        if result.status != "optimal":
            break  # at a limit, no proof will follow
        if len(constraints) > n_known:
            continue
        if possible:
            break
        enough, hides = _enough(split.problem, result.arcs[0], cost * len(faults_of[0]))
        if not hides or enough > cost / 2.0:
            break
    # At a limit, rules may be broken that the problem did not have: no proof holds under these.
    unruled = [bool(faults) for faults in faults_of] if possible else [len(constraints) > n_known]
    unproved = np.logical_or.accumulate(np.array(unruled, np.bool_))
    base = split.base[result.arcs].astype(np.int32)
    stats = {**result.stats, "rounds": rounds}  # number of times that the problem was solved
    solution = replace(result, proved=result.proved & ~unproved, arcs=base, stats=stats)
    if not possible and len(result):
        solution = _without_penalty(solution, result.arcs[0], restricted, split.problem, hides)
    return ValidTrees(solution, labels, faults_of)


def _enough(problem: Problem, arcs: Ints, paid: float) -> tuple[float, bool]:
    """Return a cost of faults that outweighs what any tree scores more than one with these arcs.

    Also True if what that tree pays is too much to tell the scores of trees apart.
    """
    terms = tree_terms(problem, arcs)
    size = math.fsum(map(abs, terms))
    enough = 2.0 * scaled(problem, terms).loss + size
    return enough or 1.0, not resolves(problem, paid) and paid > 1000.0 * size


def _more_than_all(problem: Problem) -> float:
    """Return a multiple of the quantum by which the scores of no two trees can differ."""
    p = problem
    most, least = np.full((2, p.n_words + 1), [[-np.inf], [np.inf]])
    np.maximum.at(most, p.arc_mod, p.arc_score)
    np.minimum.at(least, p.arc_mod, p.arc_score)
    others = np.concatenate([*(part.score for part in p.parts), p.factor_score, p.count_score])
    spread = float((most - least)[1:].sum())
    spread += 2.0 * float(np.abs(others[np.isfinite(others)]).sum())
    # by more than a search can be wrong, also beside scores that all trees have
    margin = 1e-6 * (spread + float(np.abs(most[1:]).sum())) + 1.0
    quantum = p.quantum or 1.0
    return float(np.ceil((spread + margin) / quantum) + 1.0) * quantum


def _without_penalty(
    result: Solution, arcs: Ints, restricted: Problem, problem: Problem, hides: bool
) -> Solution:
    """Return a tree without what its faults cost; if the cost `hides` scores, there is no proof."""
    of_tree = result.scores[0] - restricted.score(arcs)
    values = np.array([problem.score(arcs) + of_tree])
    proved, status = result.proved, result.status
    if status == "optimal" and hides:
        proved, status = np.zeros(1, np.bool_), "gap"
    bounds = np.where(proved, values, np.inf)
    return replace(result, scores=values, upper_bounds=bounds, proved=proved, status=status)


def _distinct(problem: Problem, split: SplitArcs, k_best: int, solve: Solve) -> Solution:
    """Find the k best different trees, each with its best labels.

    Several times as many are listed, as far as that goes, and those that are found are excluded.
    """
    parts: list[tuple[NDArray[Any], ...]] = []
    n_missing, all_proved, count = k_best, True, k_best
    while True:
        result = solve(problem, count)
        rows = _different(result.arcs, split)
        if count == k_best and len(rows) == len(result):
            return result
        complete = len(result) < count or result.status != "optimal"
        if len(rows) < n_missing and not complete and count < _LISTED * n_missing:
            count *= 4
            continue
        rows = rows[:n_missing]
        # the proof of a tree assumes that the trees before it are the better ones
        proved = np.logical_and.accumulate(result.proved) & all_proved
        bounds = np.where(proved, result.scores, np.inf)
        arrays = (result.heads, result.arcs, result.scores, bounds, proved)
        parts.append(tuple([array[rows] for array in arrays]))
        n_missing -= len(rows)
        if not n_missing or complete:
            break
        all_proved, count = bool(proved.all()), n_missing
        forbidden = []
        for arcs in result.arcs[rows]:  # at most n - 1 of the n arcs of a tree that is the same
            same = np.isin(split.base, split.base[arcs]) & ~split.apart
            same[arcs] = True
            copies = np.flatnonzero(same).tolist()
            n_allowed = problem.n_words
            excess = len(copies) + 1 - n_allowed
            forbidden.append((copies, [0.0] * n_allowed + [-np.inf] * excess))
        problem = with_sets(problem, "count", forbidden)
    heads, arcs, scores, bounds, proved = (np.concatenate(column) for column in zip(*parts))
    status = "optimal" if result.status == "infeasible" else result.status  # no more trees exist
    return Solution(heads, arcs, scores, bounds, proved, status, result.stats)


def _different(trees: Ints, split: SplitArcs) -> list[int]:
    """Return the rows of trees, best first, without those that are a better one but for labels."""
    kept: dict[bytes, list[int]] = {}
    for row, arcs in enumerate(trees):
        same = kept.setdefault(split.base[arcs].tobytes(), [])
        others = trees[same]
        if not ((others == arcs) | ~split.apart[arcs]).all(axis=1).any():
            same.append(row)
    return sorted(chain.from_iterable(kept.values()))
