"""The best valid trees: rules join a problem only where its best trees break them.

A tree with labels scores

    φ(tree) + Σ (score of the arc's label - score of the arc's best label),

so where every arc has its best label, φ. It is solved, the trees found are checked, what they break
becomes constraints over copies of the arcs concerned, and it is solved again, until nothing is
broken. The last trees are the best of all valid ones: each problem on the way holds all valid
trees, with all labels that may be in a best one, and its best tree is valid. Nearly always what the
constraints cost can be said without copies (`bbparse.validity.folding`). Where no tree is valid,
constraints cost more than trees can differ by, one for each fault, and the best tree is one of
those with the fewest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bbparse.deadline import NO_DEADLINE, Deadline
from bbparse.problem import Problem, Solution
from bbparse.validity.check import Fault, RuledSentence
from bbparse.validity.constraints import (
    Arcs,
    Constraint,
    LabelScores,
    constrained,
    constraint_of,
    split_arcs,
    strong_constraints,
)
from bbparse.validity.folding import fold

#: What a difference of 1 between scores of labels is worth in the score of a tree.
LABEL_WEIGHT = 1.0
#: Finds the k best trees of a problem.
Solve = Callable[[Problem, int], Solution]


class ValidTrees(NamedTuple):
    """Trees that keep rules, or one that breaks as few as it must."""

    #: Trees that differ in heads, in arcs of the problem given. Scores are those of trees with
    #: labels, without what broken rules cost.
    solution: Solution
    labels: list[list[str]]  #: Of each tree, the label of each word.
    #: Of each tree; empty lists, unless no tree keeps all rules or a limit was reached.
    faults: list[list[Fault]]
    rounds: int  #: How often the problem was solved.


def solve_valid(
    problem: Problem,
    ruled: RuledSentence,
    names: Sequence[str],
    label_scores: LabelScores,
    solve: Solve,
    *,
    k_best: int = 1,
    broken: Iterable[tuple[Sequence[int], Sequence[Fault]]] = (),
    deadline: Deadline = NO_DEADLINE,
) -> ValidTrees:
    """The k best trees that keep rules, with their labels, which have the ``names``.

    The problem has no labels and arcs sorted by head and modifier; ``label_scores`` of a head and a
    modifier are float64[L], -inf: not this one; ``solve`` finds the k best trees of a problem.
    ``broken`` are trees that are not the answer, to begin with: heads of the words 1 to n, and
    faults. At the deadline, which ``solve`` keeps, too, it ends with the trees that it has.
    """
    arcs = Arcs(problem, names)
    active: dict[Any, Constraint] = {}
    exact: dict[Any, Constraint] = {}  # for each fault that was met, what forbids just this
    known: dict[tuple[int, int], NDArray[np.float64]] = {}
    possible, rounds = True, 0  # to keep all rules, as far as is known

    def join(heads: Sequence[int], faults: Sequence[Fault]) -> bool:
        """Let what forbids a tree's faults join; whether any of it is new."""
        by_word, before = dict(enumerate(heads, start=1)), len(active)
        for fault in faults:
            one = constraint_of(ruled, fault, by_word, arcs)
            exact.setdefault(one.key, one)
            if possible:
                for constraint in strong_constraints(ruled, fault, by_word, arcs):
                    active.setdefault(constraint.key, constraint)
        return len(active) > before

    for heads, faults in broken:
        join(heads, faults)

    def scores(head: int, mod: int) -> NDArray[np.float64]:
        if (head, mod) not in known:
            known[head, mod] = label_scores(head, mod)
        return known[head, mod]

    while True:
        labels: list[dict[int, int]] = []  # of each tree, those that need not be an arc's best
        split = None
        folded = None
        if possible:
            folded = fold(problem, active.values(), scores, LABEL_WEIGHT, len(names))
        if folded is not None:
            found = solve(folded.problem, k_best)
            labels = [folded.of_tree(row) for row in found.arcs]
        else:
            split = split_arcs(problem, active.values(), scores, LABEL_WEIGHT)
            penalty = np.inf if possible else _more_than_all(split.problem)
            whole = constrained(split.problem, active.values(), split.labels, penalty)
            found = _distinct(whole, split.labels, k_best, solve)
            for row in split.labels[found.arcs].tolist():
                labels.append({m: label for m, label in enumerate(row, start=1) if label >= 0})
        rounds += 1
        if found.status == "infeasible" and possible and active:
            possible, k_best, active = False, 1, exact
            continue
        faults_of: list[list[Fault]] = []
        texts: list[list[str]] = []
        new = False
        for row, own in deadline.through(zip(found.heads, labels)):
            heads = row[1:].tolist()
            by_word = dict(enumerate(heads, start=1))
            best = (own[m] if m in own else int(scores(h, m).argmax()) for m, h in by_word.items())
            texts.append([names[i] for i in best])
            faults_of.append(ruled.faults(heads, texts[-1]))
            new |= join(heads, faults_of[-1])
        found = found.first(len(texts))
        if not new or found.status != "optimal":  # at a limit there is no proof to come
            break
    taken = found.arcs if split is None else split.base[found.arcs].astype(np.int32)
    values, bounds = found.scores, found.upper_bounds
    if split is not None and not possible and len(found):
        values = np.array([split.problem.score(found.arcs[0])])  # what the tree scores itself
        bounds = bounds + values - found.scores if found.proved[0] else np.full(1, np.inf)
    solution = Solution.trusted(
        found.heads, taken, values, bounds, found.proved, found.status, found.stats
    )
    return ValidTrees(solution, texts, faults_of, rounds)


def _distinct(problem: Problem, labels: NDArray[np.int32], k_best: int, solve: Solve) -> Solution:
    """The k best trees that differ in heads, each with the labels it scores most with.

    Where trees with other labels take the places of some, what was found is forbidden, and the
    others are looked for.
    """
    every = frozenset(labels.tolist())
    parts: list[tuple[NDArray[Any], ...]] = []
    left, proved = k_best, True
    while True:
        found = solve(problem, left)
        rows: dict[tuple[int, ...], int] = {}
        for row, heads in enumerate(found.heads[:, 1:].tolist()):
            rows.setdefault((*heads,), row)
        if not parts and len(rows) == len(found):
            return found
        # what is proved of a tree supposes that those before it are the ones that are better
        sure = np.logical_and.accumulate(found.proved) & proved
        bounds = np.where(sure, found.scores, np.inf)
        own = [*rows.values()]
        every_array = (found.heads, found.arcs, found.scores, bounds, sure)
        parts.append(tuple([array[own] for array in every_array]))
        left -= len(rows)
        if not left or len(rows) == len(found) or found.status != "optimal":
            break
        proved = bool(sure.all())
        again = [tuple([{(h, m): every} for m, h in enumerate(r, start=1)]) for r in rows]
        problem = constrained(problem, [Constraint((), groups) for groups in again], labels)
    heads, arcs, scores, bounds, sure = (np.concatenate(column) for column in zip(*parts))
    status = "optimal" if found.status == "infeasible" else found.status  # there are no more
    return Solution.trusted(heads, arcs, scores, bounds, sure, status, found.stats)


def _more_than_all(problem: Problem) -> float:
    """More than the scores of two trees of a problem can differ by, a multiple of its quantum."""
    p = problem
    most = np.full(p.n_words + 1, -np.inf)
    least = np.full(p.n_words + 1, np.inf)
    np.maximum.at(most, p.arc_mod, p.arc_score)
    np.minimum.at(least, p.arc_mod, p.arc_score)
    spread = float((most[1:] - least[1:]).sum())
    for scores in (*(part.score for part in p.parts), p.factor_score):
        spread += float(np.abs(scores[np.isfinite(scores)]).sum())
    for table in np.split(p.count_score, p.count_score_ptr[1:-1]):
        finite = table[np.isfinite(table)]
        spread += float(np.ptp(finite)) if len(finite) else 0.0
    quantum = p.quantum or 1.0
    return float(np.ceil((spread + 1.0) / quantum) + 1.0) * quantum
