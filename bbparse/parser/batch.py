"""Parse a batch of sentences: tag, score and decode them, and make their graphs, all together.

Only sentences of which more is asked, or whose best tree breaks rules, are searched one by one
(`bbparse.parser.search`). For all others, a `Parse` is made at the very end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bbparse.inference.oracles.projective.recurrences import GRANDSIB
from bbparse.models.scoring.problem_maker import ScoredBatch
from bbparse.parser.confidence import evidence_of
from bbparse.parser.parse import Parse
from bbparse.parser.search import Restriction, Search
from bbparse.parser.validity.check import RuledSentence
from bbparse.parser.validity.rules import Rules
from bbparse.runtime.arrays import Ints
from bbparse.runtime.deadline import Deadline
from bbparse.runtime.errors import BBParseError
from bbparse.treebank import Sentence
from bbparse.treebank.sentence import ScoredTree, given_heads

if TYPE_CHECKING:
    from bbparse.parser.parser import Parser

#: Seconds for a sentence in which its best tree is surely found without a search.
_AT_ONCE = 0.1
_FEW = 4
#: Counts of a search that ends with its first tree.
_AT_ROOT = {"nodes": 1, "dp_calls": 1, "trees_tried": 1, "closed_at_root": 1, "dp_work": 1.0}


def parse_up_to_error(
    parser: Parser, batch: Sequence[Sentence], **how: Any
) -> tuple[list[Parse], BBParseError | None]:
    """Parse a batch up to the first sentence that fails; return the parses and the error."""
    parses: list[Parse] = []
    try:
        return parse_batch(parser, batch, **how), None
    except BBParseError as failure:  # parsing one by one shows which sentence failed
        try:
            for sentence in batch:
                parses += parse_batch(parser, [sentence], **how)
        except BBParseError as error:  # raised after the sentences before it are returned
            return parses, error
        return parses, failure


def parse_batch(
    parser: Parser,
    batch: Sequence[Sentence],
    tag: bool | None,
    until: Deadline,
    restrict: Restriction | None,
    reasons: bool,
) -> list[Parse]:
    """Parse a batch; arguments are those of `Parser.parse_all`."""
    model, options, rules = parser.model, parser.options, parser.rules
    if tag or (tag is None and model.tagger is not None):
        batch = model.tag_batch(batch)
    search = partial(Search, parser, until=until, restrict=restrict, reasons=reasons)
    if parser.takes_all_arcs:
        return with_graphs(parser, [search(sentence).parse() for sentence in batch])
    given = [*map(given_heads, batch)] if options.keep_heads else ()
    scored = model.maker(batch, options.prune, None, given)
    if restrict is not None or not needs_no_search(parser, until.left() / len(batch)):
        return with_graphs(parser, [search(s).parse(one) for s, one in zip(batch, scored)])
    best, trees = scored.decoded(model.labeller is not None)
    to_search = {*np.flatnonzero(~best.settled).tolist()}
    if rules is not None:
        # the test of a batch takes as long as a closer look at some trees
        suspects: Sequence[int] = range(len(batch))
        if len(batch) > _FEW:
            suspects = rules.suspects([(s, t.heads, t.labels) for s, t in zip(batch, trees)])
        to_search |= {i for i in suspects if _breaks(rules, batch[i], trees[i])}
    arcs = np.split(best.arcs, np.cumsum([len(tree.heads) for tree in trees]))
    parses = [
        search(batch[i]).parse(scored[i]) if i in to_search else _straight(parser, scored, i, *row)
        for i, row in enumerate(zip(trees, best.edges.tolist(), arcs))
    ]
    return with_graphs(parser, parses)


def _breaks(rules: Rules, sentence: Sentence, tree: ScoredTree) -> bool:
    return bool(RuledSentence(rules, sentence).faults(tree.heads, tree.labels, True))


def _straight(
    parser: Parser, scored: ScoredBatch, i: int, tree: ScoredTree, edges: int, arcs: Ints
) -> Parse:
    """Return the parse of sentence i with its best tree; ``edges`` is the size of its chart."""
    if parser.calibration is not None:
        evidence = evidence_of(parser.model, scored[i], arcs, tree.labels)
        tree = replace(tree, **parser.calibration(evidence)._asdict())
    stats = {**_AT_ROOT, "edges": edges, "upper_bound": tree.score}
    return Parse(scored.sentences[i], [tree], "optimal", stats)


def with_graphs(parser: Parser, parses: list[Parse]) -> list[Parse]:
    """Return parses with the enhanced graphs of their trees, if they are wanted."""
    enhancer, options = parser.model.enhancer, parser.options
    is_wanted = options.enhanced is not False or parser.edges is not None
    if enhancer is None or parser.model.labeller is None or not is_wanted:
        return parses
    trees = [(one.sentence, tree.heads, tree.labels) for one in parses for tree in one.trees]
    graphs = iter(enhancer(trees))
    for one in parses:
        one.trees = [replace(tree, enhanced=graph) for tree, graph in zip(one.trees, graphs)]
    return parses


def needs_no_search(parser: Parser, seconds: float = math.inf) -> bool:
    """Return True if the best trees of sentences are those of charts, unless rules forbid.

    There are as many ``seconds`` for each of them, or fewer by the options.
    """
    options, maker, limit = parser.options, parser.model.maker, parser.options.time_limit
    return (
        min(seconds, math.inf if limit is None else limit) >= _AT_ONCE
        and options.k_best == 1
        and not (options.keep_heads or parser.families or options.spans or maker.families)
        and maker.network is not None
        and parser.model.labeller in (None, maker.network)
        and maker.config.method.get("backbone") == GRANDSIB.name
    )
