"""`ProblemMaker`: from a sentence to its `Problem`.

Each step (word vectors, candidates, scores, factors) reads its own tables, of up to tens of
megabytes, and its own code. Some dozens of sentences pass through one step before the next, which
keeps both in the caches: this saves a fifth of the time, and the results are the same.

Pruning keeps a few candidate heads for each word, by a first-order classifier. It is log-linear
over the heads of one word, so score differences are log-odds, and a margin on them means the same
everywhere. The arcs of its best projective tree are always kept: without them the candidates may
contain no tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import numpy as np

from bbparse.core import Problem
from bbparse.core.parts import SET_NAMES
from bbparse.inference.search.linear import BestTrees, best_trees
from bbparse.models.configuration import Configuration
from bbparse.models.factors.family import FactorFamily, alive_factors
from bbparse.models.factors.table import FactorTable
from bbparse.models.factors.view import FactorView
from bbparse.models.scoring.arc_network import ArcNetwork, BatchArcs, BatchScores, Scored, fields_of
from bbparse.models.scoring.candidates import Pairs
from bbparse.models.scoring.linear import QUANTUM, LinearScorer
from bbparse.models.scoring.soft_tags import likely_tags_of
from bbparse.neural.embeddings import Embeddings
from bbparse.runtime.arrays import Hashes, Ints, Longs
from bbparse.runtime.errors import ProblemError, TreebankError
from bbparse.runtime.options import check_type
from bbparse.treebank import Sentence
from bbparse.treebank.encode import encode_all
from bbparse.treebank.sentence import MAX_WORDS, ScoredTree

# Most candidate parts of a sentence; more would endanger the memory (24 bytes each and more).
MAX_PARTS = 60_000_000


def with_arcs_of(arc_head: Ints, arc_mod: Ints, heads: Ints) -> Pairs:
    """Return the union of candidate arcs and a tree, int32[n + 1] heads (-1: none), sorted."""
    n = len(heads) - 1
    keys = arc_head.astype(np.int64) * (n + 1) + arc_mod
    mods = 1 + np.flatnonzero(heads[1:] >= 0)
    tree = heads[mods].astype(np.int64) * (n + 1) + mods
    union = np.union1d(keys, tree)
    return (union // (n + 1)).astype(np.int32), (union % (n + 1)).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class ProblemMaker:
    """Maker of problems from sentences. Making one changes nothing in it, so threads may share it.

    Arcs and parts are scored by a network, or by templates after pruning by `pruner`.
    """

    config: Configuration
    network: ArcNetwork | None = None
    pruner: LinearScorer | None = None
    scorer: LinearScorer | None = None
    families: Sequence[FactorFamily] = ()
    #: Weights of the factors' features.
    table: FactorTable = field(default_factory=lambda: FactorTable(np.zeros(0, np.uint64)))
    #: Pretrained vectors as further input of the network.
    embeddings: Embeddings | None = None
    #: Most candidate parts of a sentence.
    max_parts: int = MAX_PARTS

    def __post_init__(self) -> None:
        if self.network is not None:
            self.network.used_embeddings(self.embeddings, "the network")

    def __call__(
        self,
        sentences: Sequence[Sentence],
        prune: int | None = None,
        margin: float | None = None,
        given: Sequence[Mapping[int, int]] = (),
    ) -> ScoredBatch:
        """Make the scored problems of a batch of sentences.

        `prune` is the most heads of a word, 0: all; `margin` the largest log-odds between the best
        head and a candidate. Arcs ``given`` for each sentence, by modifier, are candidates, too.
        """
        for sentence in sentences:
            if not isinstance(sentence, Sentence):
                check_type("sentence", sentence, Sentence, "a Sentence", TreebankError)
            if not sentence.forms:
                raise TreebankError(f"{sentence.place()}: there are no words")
            if len(sentence.forms) > MAX_WORDS:
                raise TreebankError(
                    f"{sentence.place()}: {sentence.n_words:,} words, expected at most"
                    f" {MAX_WORDS:,}: split the sentence, or leave such ones out (--skip-invalid)"
                )
        values = [] if self.is_network else encode_all(sentences)
        scores = self.scores(sentences)
        arcs = self._candidates(values, scores, prune, margin)
        if any(given):
            pairs = [arcs.of_sentence(i) for i in range(len(sentences))]
            for i, fixed in enumerate(given):
                heads = np.full(sentences[i].n_words + 1, -1, np.int32)
                heads[list(fixed)] = list(fixed.values())
                pairs[i] = with_arcs_of(*pairs[i], heads)
            arcs = BatchArcs.of(pairs)
        return ScoredBatch(self, sentences, values, arcs, scores)

    def over_arcs(
        self, sentence: Sentence, values: Hashes, arc_head: Ints, arc_mod: Ints
    ) -> Scored:
        """Make the scored problem over these candidate arcs, sorted by (head, mod)."""
        scores, arcs = self.scores([sentence]), BatchArcs.of([(arc_head, arc_mod)])
        return ScoredBatch(self, [sentence], [values], arcs, scores)[0]

    def check_sizes(self, sentences: Sequence[Sentence], n_arcs: Longs) -> None:
        """Check that the parts of the arcs fit in memory; raises `ProblemError` otherwise."""
        per_word = n_arcs / [len(sentence.forms) for sentence in sentences]
        # Price and cut keeps some arrays of triples; charts have contexts of grand-siblings.
        priced = self.config.model.solver == "price-and-cut"
        parts = n_arcs * per_word * (4.0 if priced else 1.0 + per_word / 4.0)
        for i in np.flatnonzero(parts > self.max_parts).tolist():
            sentence = sentences[i]
            raise ProblemError(
                f"{sentence.source or 'input'}, {sentence.name}: {sentence.n_words} words with "
                f"{per_word[i]:.0f} candidate heads each are too many parts for memory; prune more"
            )

    def view_of(self, scored: Scored, some: Ints | slice = slice(None)) -> FactorView:
        """Return the view of a scored sentence and its candidate arcs, or some of them."""
        arcs, labels = (scored.problem.arc_head[some], scored.problem.arc_mod[some]), None
        if scored.scores is not None and self.label_names:
            labels = scored.scores.label_numbers(*arcs)
        return FactorView(scored.sentence, *arcs, scored.values, labels, self.label_names)

    @property
    def is_network(self) -> bool:
        """True if a network alone scores sentences: it encodes them itself."""
        return self.network is not None and not self.families

    @property
    def label_names(self) -> Sequence[str]:
        """Labels that families may see on arcs, in order; empty with templates."""
        return () if self.network is None else self.network.labels

    def scores(self, sentences: Sequence[Sentence]) -> BatchScores | None:
        """Score sentences with the network; None with templates."""
        if self.network is None:
            return None
        vectors = None if self.embeddings is None else self.embeddings(sentences)
        tags = [None if s.likely_tags is None else likely_tags_of(s) for s in sentences]
        return self.network(sentences, vectors, tags)

    def _candidates(
        self,
        values: Sequence[Hashes],
        scores: BatchScores | None,
        k: int | None,
        margin: float | None,
    ) -> BatchArcs:
        """Return the candidate arcs of each sentence."""
        pruner, model = self.config.pruner, self.config.model
        k, margin = pruner.k if k is None else k, pruner.margin if margin is None else margin
        options = k, float(margin), model.single_root
        if scores is not None:
            return scores.candidates(*options)
        linear = cast(LinearScorer, self.pruner)  # templates come with a pruner
        return BatchArcs.of([linear.candidates(encoded, *options) for encoded in values])


class ScoredBatch(Sequence[Scored]):
    """Scored sentences of a batch in flat arrays; each becomes a `Scored` when it is asked for."""

    def __init__(
        self,
        maker: ProblemMaker,
        sentences: Sequence[Sentence],
        values: Sequence[Hashes],
        arcs: BatchArcs,
        scores: BatchScores | None,
    ) -> None:
        maker.check_sizes(sentences, np.diff(arcs.ptr))
        self.maker, self.sentences, self.values = maker, sentences, values
        self.arcs, self.scores = arcs, scores
        self.kind = maker.config.projective, maker.config.model.single_root
        if scores is not None:
            #: Scores of the arcs, float64[A], and siblings and grandchildren with theirs.
            self.arc_score, self.parts = scores.scored(arcs, *self.kind)
        self._sets: list[dict[str, Any]] = []
        if maker.families and len(maker.table):
            # A family handles all sentences before the next one does.
            factors = alive_factors(maker.families, self._views(), maker.table)
            self._sets = [dict(zip(SET_NAMES, (*f, *c))) for f, c in factors]

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[k] for k in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i %= len(self)
        sentence, arcs = self.sentences[i], self.arcs.of_sentence(i)
        encoded = self.values[i] if self.values else None
        if self.scores is None:
            scorer = cast(LinearScorer, self.maker.scorer)  # templates come with a scorer
            fields: dict[str, Any] = scorer.score(self.values[i], *arcs, *self.kind)
        else:
            of_arcs = self.arc_score[slice(*self.arcs.ptr[i : i + 2])]
            fields = fields_of(of_arcs, self.parts, i)
        if self._sets:
            fields |= self._sets[i]
        fields |= {"projective": self.kind[0], "single_root": self.kind[1], "quantum": QUANTUM}
        problem = Problem.trusted(sentence.n_words, *arcs, **fields)
        scores = None if self.scores is None else self.scores.of_sentence(i)
        return Scored(sentence, encoded, problem, scores)

    def decoded(self, labelled: bool) -> tuple[BestTrees, list[ScoredTree]]:
        """Find the best trees and their labels, all at once; not all may be settled.

        They are those of the charts of a network's scores, projective and without factors.
        """
        scores = cast(BatchScores, self.scores)
        n_words, arcs = scores.size - 1, (*self.arcs, self.arc_score)
        found, labels = best_trees(n_words, arcs, self.parts, self.kind[1], QUANTUM), list[str]()
        ptr = np.append(0, np.cumsum(n_words))
        if labelled:
            words = np.arange(1, ptr[-1] + 1) - np.repeat(ptr[:-1], n_words)
            labels = scores.best_labels(BatchArcs(ptr, found.heads, words.astype(np.int32)))
        heads, rows = found.heads.tolist(), zip(found.scores.tolist(), pairwise(ptr.tolist()))
        return found, [
            ScoredTree(tuple(heads[a:b]), score, score, True, tuple(labels[a:b]))
            for score, (a, b) in rows
        ]

    def _views(self) -> list[FactorView]:
        """Return the views of all sentences, which have copies of the arcs."""
        names, labels, ptr = self.maker.label_names, None, self.arcs.ptr
        if self.scores is not None and names:
            labels = self.scores.label_numbers(self.arcs)
        return [
            FactorView(
                sentence,
                *self.arcs.of_sentence(i),
                self.values[i],
                None if labels is None else labels[ptr[i] : ptr[i + 1]],
                names,
            )
            for i, sentence in enumerate(self.sentences)
        ]
