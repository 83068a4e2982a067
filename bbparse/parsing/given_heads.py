"""Trees around given heads: an annotator has fixed some arcs, and the parser fills in the rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bbparse.errors import TreebankError
from bbparse.parsing.parse import Wanted
from bbparse.problem import Problem, Solution
from bbparse.scoring.problem_maker import ProblemMaker, Scored
from bbparse.treebank import Sentence
from bbparse.treebank.encode import encode
from bbparse.treebank.sentence import NO_HEAD
from bbparse.treebank.structure import crossing_words

#: What is asked of the trees of a sentence besides its heads: makes a problem of its problem.
Restriction = Callable[[Problem], Problem]

# Arcs that a message names.
_FEW = 6


def fill_in(
    maker: ProblemMaker,
    solve: Callable[..., Solution],
    sentence: Sentence,
    wanted: Wanted,
    restrict: Restriction | None = None,
    reasons: bool = True,
) -> tuple[Scored, Solution]:
    """The best trees among those with every head that a sentence has, by `Parser.solve_problem`.

    Given arcs are candidates, whatever the pruner thinks of them. Where the candidates hold fewer
    trees than are asked for, pruning is loosened. Other parameters are those of
    `Parser.parse_around`.
    """
    given = {m: h for m, h in enumerate(sentence.heads, start=1) if h != NO_HEAD}
    where = f"{sentence.source or 'input'}, {sentence.name}: no"
    crossing = sorted(crossing_words(sentence.heads)) if maker.config.projective else []
    if crossing:
        arcs = ", ".join(f"{sentence.heads[m - 1]} → {m}" for m in crossing[:_FEW])
        more = f" and {len(crossing) - _FEW} more" if len(crossing) > _FEW else ""
        raise TreebankError(
            f"{where} projective tree has all heads that are given: the arcs {arcs}{more} cross; a"
            " model trained with --projective no keeps them, unless --projective yes is given"
        )
    values, prune = encode(sentence), wanted.prune
    wider = ((prune, None), (prune, np.inf), (0, None))
    for heads, margin in wider[:1] if prune == 0 else wider:
        head, mod = maker.pruner.candidates(values, heads, margin)
        candidates = set(zip(head.tolist(), mod.tolist())) | {(h, m) for m, h in given.items()}
        head, mod = np.array(sorted(candidates), np.int32).T.copy()
        marks = maker.marks([sentence], [values], [(head, mod)])[0]
        problem = maker.over_arcs(sentence, values, head, mod, marks).with_heads(given)
        if restrict is not None:
            problem = restrict(problem)
        whole = heads == 0  # then no arc was left out, and it can be said what is in the way
        solution = solve(problem, explain=whole and reasons, **wanted.limits)
        if len(solution) >= wanted.k_best or solution.status not in ("optimal", "infeasible"):
            break
    if solution.status == "infeasible":
        conflict = f": {'; '.join(solution.conflict)}" if solution.conflict else ""
        kind = "projective tree" if maker.config.projective else "tree"
        and_more = " and keeps to the constraints" if restrict is not None else ""
        raise TreebankError(
            f"{where} {kind} with one root has all heads that are given{and_more}{conflict}"
        )
    return Scored(sentence, values, marks, problem), solution
