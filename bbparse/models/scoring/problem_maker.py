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

import numpy as np

from bbparse.core import Problem
from bbparse.core.parts import SET_NAMES
from bbparse.models.configuration import Configuration
from bbparse.models.factors.family import FactorFamily, alive_factors
from bbparse.models.factors.table import FactorTable
from bbparse.models.factors.view import FactorView
from bbparse.models.scoring.arc_network import (
    ArcNetwork,
    BatchScores,
    NetworkScores,
    Scored,
)
from bbparse.models.scoring.candidates import Pairs
from bbparse.models.scoring.linear import QUANTUM, LinearScorer
from bbparse.models.scoring.soft_tags import likely_tags_of
from bbparse.neural.embeddings import Embeddings
from bbparse.runtime.arrays import Hashes, Ints
from bbparse.runtime.errors import ProblemError, TreebankError
from bbparse.runtime.options import check_options, check_type
from bbparse.treebank import Sentence
from bbparse.treebank.encode import encode, encode_all

# Most candidate parts of a sentence; more would endanger the memory (24 bytes each and more).
MAX_PARTS = 60_000_000
#: Maximum length of a sentence: scores of all pairs of words take time and memory.
MAX_WORDS = 2000


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
            self.network.taken(self.embeddings, "the network")

    def __call__(
        self,
        sentences: Sequence[Sentence],
        prune: int | None = None,
        margin: float | None = None,
        given: Sequence[Mapping[int, int]] = (),
    ) -> list[Scored]:
        """Make the scored problems of a batch of sentences.

        `prune` is the most heads of a word, 0: all; `margin` the largest log-odds between the best
        head and a candidate. Arcs ``given`` for each sentence, by modifier, are candidates, too.
        """
        check_options({"prune": prune}, ProblemError)
        for sentence in sentences:
            check_type("sentence", sentence, Sentence, "a Sentence", TreebankError)
            if not sentence.forms:
                raise TreebankError(f"{sentence.place()}: there are no words")
            if sentence.n_words > MAX_WORDS:
                raise TreebankError(
                    f"{sentence.place()}: {sentence.n_words:,} words, expected at most"
                    f" {MAX_WORDS:,}: cut the sentence, or leave such sentences out with"
                    " --skip-invalid"
                )
        values = encode_all(sentences)
        scores = self.scores(sentences, values)
        arcs = self._candidates(values, scores, prune, margin)
        for i, fixed in enumerate(given):
            if fixed:
                heads = np.full(sentences[i].n_words + 1, -1, np.int32)
                heads[list(fixed)] = list(fixed.values())
                arcs[i] = with_arcs_of(*arcs[i], heads)
        return self._scored(sentences, values, arcs, scores)

    def over_arcs(
        self, sentence: Sentence, values: Hashes, arc_head: Ints, arc_mod: Ints
    ) -> Scored:
        """Make the scored problem over these candidate arcs, sorted by (head, mod)."""
        scores = self.scores([sentence], [values])
        return self._scored([sentence], [values], [(arc_head, arc_mod)], scores)[0]

    def check_size(self, sentence: Sentence, n_arcs: int) -> None:
        """Check that the parts of the arcs fit in memory; raises `ProblemError` otherwise."""
        n = sentence.n_words
        per_word = n_arcs / n
        # Price and cut keeps some arrays of triples; charts have contexts of grand-siblings.
        priced = self.config.model.solver == "price-and-cut"
        if n_arcs * per_word * (4.0 if priced else 1.0 + per_word / 4.0) > self.max_parts:
            raise ProblemError(
                f"{sentence.source or 'input'}, {sentence.name}: {n} words with "
                f"{per_word:.0f} candidate heads each are too many parts for memory; prune more"
            )

    def view(self, sentence: Sentence, arc_head: Ints, arc_mod: Ints) -> FactorView:
        """Return the view of a sentence's arcs, sorted by (head, mod), for factor families."""
        values = encode(sentence)
        batch = self.scores([sentence], [values])
        scores = None if batch is None else batch.sentences()[0]
        return self._view(sentence, values, (arc_head, arc_mod), scores)

    def view_of(self, scored: Scored) -> FactorView:
        """Return the view of a scored sentence and its candidate arcs."""
        arcs = scored.problem.arc_head, scored.problem.arc_mod
        return self._view(scored.sentence, scored.values, arcs, scored.scores)

    @property
    def label_names(self) -> Sequence[str]:
        """Labels that families may see on arcs, in order; empty with templates."""
        return () if self.network is None else self.network.labels

    def scores(self, sentences: Sequence[Sentence], values: Sequence[Hashes]) -> BatchScores | None:
        """Score sentences with the network; None with templates."""
        if self.network is None:
            return None
        vectors = None if self.embeddings is None else self.embeddings(sentences)
        return self.network(values, vectors, [likely_tags_of(s) for s in sentences])

    def _candidates(
        self,
        values: Sequence[Hashes],
        scores: BatchScores | None,
        k: int | None,
        margin: float | None,
    ) -> list[Pairs]:
        """Return the candidate arcs of each sentence."""
        pruner, model = self.config.pruner, self.config.model
        k, margin = pruner.k if k is None else k, pruner.margin if margin is None else margin
        options = k, float(margin), model.single_root
        if scores is not None:
            return scores.candidates(*options)
        assert self.pruner is not None  # templates come with a pruner
        return [self.pruner.candidates(encoded, *options) for encoded in values]

    def _view(
        self, sentence: Sentence, values: Hashes, arcs: Pairs, scores: NetworkScores | None
    ) -> FactorView:
        labels = None
        if scores is not None and self.label_names:
            labels = 1 + scores.label_scores(*arcs).argmax(axis=1).astype(np.int32)
        return FactorView(sentence, *arcs, values, labels, self.label_names)

    def _scored(
        self,
        sentences: Sequence[Sentence],
        values: Sequence[Hashes],
        arcs: Sequence[Pairs],
        batch: BatchScores | None,
    ) -> list[Scored]:
        """Make problems over candidate arcs."""
        projective, single_root = kind = self.config.projective, self.config.model.single_root
        for sentence, (head, _) in zip(sentences, arcs):
            self.check_size(sentence, len(head))
        scores: Sequence[NetworkScores | None] = [None] * len(sentences)
        if batch is None:
            assert self.scorer is not None  # it comes with the pruner
            parts = [self.scorer.score(v, *pair, *kind) for v, pair in zip(values, arcs)]
        else:
            scores = known = batch.sentences()
            if self.label_names:
                for one, pair, labels in zip(known, arcs, batch.label_scores(arcs)):
                    one.arc_labels = pair[0], labels
            parts = batch.fields(arcs, *kind)
        if self.families and len(self.table):
            # Views have copies of the arcs, because the arcs of problems become read-only.
            views = [*map(self._view, sentences, values, arcs, scores)]
            for fields, sets in zip(parts, alive_factors(self.families, views, self.table)):
                fields.update(zip(SET_NAMES, (*sets[0], *sets[1])))
        problems = [
            Problem.trusted(
                sentence.n_words,
                *pair,
                **fields,
                projective=projective,
                single_root=single_root,
                quantum=QUANTUM,
            )
            for sentence, pair, fields in zip(sentences, arcs, parts)
        ]
        return list(map(Scored, sentences, values, problems, scores))
