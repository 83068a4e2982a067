"""Trees around given heads: an annotator has fixed some arcs, and the parser fills in the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from bbparse.errors import TreebankError
from bbparse.parsing.parse import Parse
from bbparse.parsing.parser import Parser
from bbparse.problem import Problem, Solution
from bbparse.scoring.problem_maker import Scored
from bbparse.treebank import Sentence
from bbparse.treebank.encode import encode
from bbparse.treebank.sentence import NO_HEAD
from bbparse.treebank.structure import crossing_words
from bbparse.validity.rules import Rules

#: What is asked of the trees of a sentence besides its heads: makes a problem of its problem.
Restriction = Callable[[Problem], Problem]

# Arcs that a message names.
_FEW = 6


def fill_in(
    parser: Parser,
    sentence: Sentence,
    *,
    k_best: int = 1,
    prune: int | None = None,
    time_limit: float | None = None,
    node_limit: int | None = None,
) -> Solution:
    """The best trees among those with every head that a sentence has.

    Given arcs are candidates, whatever the pruner thinks of them. Where the candidates hold fewer
    than ``k_best`` trees, pruning is loosened, as by `Parser.solve`.

    Parameters
    ----------
    parser : Parser
    sentence : Sentence
        Words whose head is -1 (``_`` in a file) get one.
    k_best, prune, time_limit, node_limit
        As for `Parser.solve`.

    Raises
    ------
    TreebankError
        If no tree has all these heads; says which of them contradict each other.
    """
    limits = {"k_best": k_best, "time_limit": time_limit, "node_limit": node_limit}
    return _filled(parser, sentence, prune, limits)[1]


def _filled(
    parser: Parser,
    sentence: Sentence,
    prune: int | None,
    limits: dict[str, Any],
    restrict: Restriction | None = None,
    reasons: bool = True,
) -> tuple[Scored, Solution]:
    """What `fill_in` does, and what it solved."""
    given = {m: h for m, h in enumerate(sentence.heads, start=1) if h != NO_HEAD}
    where = f"{sentence.source or 'input'}, {sentence.name}: no"
    crossing = sorted(crossing_words(sentence.heads)) if parser.config.projective else []
    if crossing:
        arcs = ", ".join(f"{sentence.heads[m - 1]} → {m}" for m in crossing[:_FEW])
        more = f" and {len(crossing) - _FEW} more" if len(crossing) > _FEW else ""
        raise TreebankError(
            f"{where} projective tree has all heads that are given: the arcs {arcs}{more} cross; a"
            " model trained with --projective no keeps them"
        )
    maker, values = parser.maker, encode(sentence)
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
        solution = parser.solve_problem(problem, explain=whole and reasons, **limits)
        done = solution.status not in ("optimal", "infeasible")
        if done or len(solution) >= limits["k_best"]:
            break
    if solution.status == "infeasible":
        conflict = f": {'; '.join(solution.conflict)}" if solution.conflict else ""
        kind = "projective tree" if parser.config.projective else "tree"
        and_more = " and keeps to the constraints" if restrict is not None else ""
        raise TreebankError(
            f"{where} {kind} with one root has all heads that are given{and_more}{conflict}"
        )
    return Scored(sentence, values, marks, problem), solution


def fill_in_all(
    parser: Parser,
    sentences: Iterable[Sentence],
    *,
    k_best: int = 1,
    prune: int | None = None,
    time_limit: float | None = None,
    node_limit: int | None = None,
    valid: str | Rules | None = None,
    confidence: bool = False,
    restrict: Restriction | None = None,
    reasons: bool = True,
) -> Iterator[Parse]:
    """Parses of one sentence after the other with the heads, and their labels, that each has.

    Parameters are those of `Parser.parse`. `restrict` may forbid arcs of each problem, or add
    factors (see `bbparse.problem`), and raises `ProblemError` if that cannot be done; without
    `reasons` an error does not say which of all that contradict each other. Rules that the given
    arcs break themselves are told with the tree, as are all that no tree around them keeps.
    """
    limits = {"k_best": k_best, "time_limit": time_limit, "node_limit": node_limit}
    wanted = parser.wanted(valid, confidence)
    for sentence in sentences:
        if restrict is not None or any(head != NO_HEAD for head in sentence.heads):
            found = _filled(parser, sentence, prune, limits, restrict, reasons)
        else:
            found = parser.widened(sentence, prune, limits)
        rows = enumerate(zip(sentence.heads, sentence.deprels), start=1)
        given = {m: own for m, (head, own) in rows if head != NO_HEAD and own != "_"}
        yield parser.finished(*found, wanted, limits, given)
