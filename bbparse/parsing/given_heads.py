"""Trees around given heads: an annotator has fixed some arcs, and the parser fills in the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bbparse.errors import TreebankError
from bbparse.parsing.parser import Parse, Parser
from bbparse.problem import Solution
from bbparse.treebank import Sentence
from bbparse.treebank.encode import encode
from bbparse.treebank.scored import ScoredTree
from bbparse.treebank.sentence import NO_HEAD
from bbparse.treebank.structure import crossing_words

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
    for heads, margin in ((prune, None), (prune, np.inf), (0, None)):
        head, mod = maker.pruner.candidates(values, heads, margin)
        candidates = set(zip(head.tolist(), mod.tolist())) | {(h, m) for m, h in given.items()}
        head, mod = np.array(sorted(candidates), np.int32).T.copy()
        solution = parser.solve_problem(
            maker.over_arcs(sentence, values, head, mod).with_heads(given),
            k_best=k_best, time_limit=time_limit, node_limit=node_limit,
        )  # fmt: skip
        found = len(solution) >= k_best or solution.status not in ("optimal", "infeasible")
        if found or prune == 0:  # then no arc was left out
            break
    if solution.status == "infeasible":
        reasons = f": {'; '.join(solution.conflict)}" if solution.conflict else ""
        kind = "projective tree" if parser.config.projective else "tree"
        raise TreebankError(f"{where} {kind} with one root has all heads that are given{reasons}")
    return solution


def fill_in_all(
    parser: Parser, sentences: Iterable[Sentence], **options: Any
) -> Iterator[Parse]:
    """`fill_in` of one sentence after the other; those without any head as by `Parser.solve`."""
    for sentence in sentences:
        some = any(head != NO_HEAD for head in sentence.heads)
        solution = (
            fill_in(parser, sentence, **options) if some else parser.solve(sentence, **options)
        )
        yield parser.labelled(sentence, solution)


def with_given_labels(sentence: Sentence, trees: Iterable[ScoredTree]) -> list[ScoredTree]:
    """The trees of a sentence, with the labels that it has for its given heads."""
    return [
        replace(
            tree,
            labels=tuple(
                own if head != NO_HEAD and own != "_" else label
                for label, head, own in zip(tree.labels, sentence.heads, sentence.deprels)
            ),
        )
        for tree in trees
    ]
