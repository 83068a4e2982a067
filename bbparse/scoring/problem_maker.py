"""`ProblemMaker`: from a sentence to its `Problem`.

Each step (vectors of words, candidates, scores, factors) reads tables of its own, of up to tens of
megabytes, and code of its own. Taking some dozens of sentences through one step before the next
keeps these in the caches: a fifth of the time of a sentence by itself. What comes out is the same.

Pre-pruning keeps a few candidate heads for each word, by a first-order classifier. It is log-linear
over the heads of one word, so that score differences are log-odds and a margin on them means the
same everywhere. The arcs of its own best projective tree are always kept: a candidate set without
them may hold no tree at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bbparse.configuration import Configuration
from bbparse.errors import ProblemError, TreebankError
from bbparse.factors import FactorFamily, FactorTable, FactorView, alive_counts, alive_factors
from bbparse.options import check_options, check_type
from bbparse.outside import Outside
from bbparse.problem import Problem
from bbparse.problem.parts import Counts, Factors, names_of
from bbparse.problem.quantum import QUANTUM
from bbparse.scoring.arc_network import MOST_ARCS, ArcNetwork, SentenceScores, labels_of_arcs
from bbparse.scoring.candidates import LONG, all_arcs
from bbparse.scoring.in_trees import arcs_in_trees
from bbparse.scoring.scorer import PartScorer, Weights
from bbparse.treebank import Sentence
from bbparse.treebank.encode import PAD, encode
from bbparse.treebank.sections import SECTION_WORDS

Ints = NDArray[np.int32]
Values = NDArray[np.uint64]

# Candidate parts that a sentence may have before memory is in danger (24 bytes each and more).
MAX_PARTS = 60_000_000

_FACTORS, _COUNTS = names_of("factor", Factors), names_of("count", Counts)


@dataclass(frozen=True, slots=True, eq=False)
class Pruner:
    """Candidate arcs of a sentence, by arc templates and weights of the classifier.

    A word has `k` heads at most (0: all), no log-odds further than `margin` from its best one.
    """

    scorer: PartScorer
    k: int
    margin: float
    single_root: bool = True

    @classmethod
    def of(cls, config: Configuration, weights: Weights, quantum: float = QUANTUM) -> Pruner:
        """As a configuration says, with weights in quanta."""
        scorer = PartScorer(config.pruner_templates, weights, quantum)
        return cls(scorer, config.pruner.k, config.pruner.margin, config.model.single_root)

    def candidates(
        self,
        values: NDArray[np.uint64],
        k: int | None = None,
        margin: float | None = None,
    ) -> tuple[Ints, Ints]:
        """Candidate arcs ``(arc_head, arc_mod)``, int32[A], sorted by (head, mod).

        `k` and `margin` may be others than the pruner's own; its k is less for sentences of more
        than `LONG` words. A k of 0 keeps every arc, whatever the margin.
        """
        n = len(values) - 2 * PAD - 1
        if k is None:
            k = self.k
            if n > LONG and k > 0:  # else their charts are of a size that no limit on work holds
                k = min(k, max(2, MOST_ARCS // n))
        if margin is None:
            margin = self.margin
        if k == 0:
            return all_arcs(n, n)
        return self.scorer.likely_arcs(values, int(k), float(margin), self.single_root)


def with_arcs_of(arc_head: Ints, arc_mod: Ints, heads: Ints) -> tuple[Ints, Ints]:
    """Candidate arcs and those of a tree, int32[n + 1] heads, together, sorted by (head, mod).

    Words of a negative head get no more arcs.
    """
    n = len(heads) - 1
    keys = arc_head.astype(np.int64) * (n + 1) + arc_mod
    mods = 1 + np.flatnonzero(heads[1:] >= 0)
    tree = heads[mods].astype(np.int64) * (n + 1) + mods
    both = np.union1d(keys, tree)
    return (both // (n + 1)).astype(np.int32), (both % (n + 1)).astype(np.int32)


@dataclass(slots=True, eq=False)
class Scored:
    """A sentence and its problem."""

    sentence: Sentence
    #: uint64[...]: as `encode` gives them.
    values: Values
    problem: Problem
    #: What the network scores of the sentence; None beside templates.
    scores: SentenceScores | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ProblemMaker:
    """Makes problems of sentences. Nothing in it changes meanwhile, so threads may share it.

    Arcs and parts are scored by a network, or else by templates: by `scorer`, after the `pruner`
    has chosen the candidate arcs.
    """

    config: Configuration
    network: ArcNetwork | None = None
    pruner: Pruner | None = None
    scorer: PartScorer | None = None
    families: Sequence[FactorFamily] = ()
    #: Weights of the factors' features.
    table: FactorTable = field(default_factory=lambda: FactorTable(np.zeros(0, np.uint64)))
    #: Pretrained vectors that the network takes besides.
    outside: Outside | None = None
    #: All scores, those of factors too, are multiples of it.
    quantum: float = QUANTUM
    #: Candidate parts that a sentence may have.
    max_parts: int = MAX_PARTS

    def __call__(
        self,
        sentences: Sequence[Sentence],
        prune: int | None = None,
        margin: float | None = None,
        given: Sequence[Mapping[int, int]] = (),
    ) -> list[Scored]:
        """The scored problems of a batch of sentences.

        `prune` is the most heads of a word instead of the model's, 0 for all arcs; `margin` the
        largest log-odds of a candidate head against the word's best. Arcs ``given`` of each
        sentence, head by modifier, are candidates, too. `ProblemError` if so many arcs are left
        that the parts would not fit into memory, or `prune` is negative.
        """
        check_options({"prune": prune}, ProblemError)
        for sentence in sentences:
            check_type("sentence", sentence, Sentence, "a Sentence", TreebankError)
        values = [encode(sentence) for sentence in sentences]
        scores = self._scores(sentences, values)
        arcs = []
        for i, (sentence, own, some) in enumerate(zip(sentences, values, scores)):
            head, mod = self._candidates(own, some, prune, margin)
            if given and given[i]:
                heads = np.full(sentence.n_words + 1, -1, np.int32)
                heads[list(given[i])] = list(given[i].values())
                head, mod = with_arcs_of(head, mod, heads)
            elif prune != 0:
                head, mod = self._in_trees(sentence.n_words, head, mod)
            arcs.append((head, mod))
        return self._scored(sentences, values, arcs, scores)

    def over_arcs(
        self, sentence: Sentence, values: Values, arc_head: Ints, arc_mod: Ints
    ) -> Scored:
        """The scored problem over given candidate arcs, sorted by (head, mod)."""
        scores = self._scores([sentence], [values])
        return self._scored([sentence], [values], [(arc_head, arc_mod)], scores)[0]

    def check_size(self, sentence: Sentence, n_arcs: int) -> None:
        """Refuse, by `ProblemError`, so many arcs that their parts would not fit into memory."""
        n = sentence.n_words
        per_word = n_arcs / n
        if n_arcs * per_word * (1.0 + per_word / 4.0) > self.max_parts:
            raise ProblemError(
                f"{sentence.source or 'input'}, {sentence.name}: {n} words with "
                f"{per_word:.0f} candidate heads each are too many parts for memory; prune more"
            )

    def view(self, sentence: Sentence, arc_head: Ints, arc_mod: Ints) -> FactorView:
        """What families see of some arcs of a sentence, sorted by (head, mod)."""
        values = encode(sentence)
        scores = self._scores([sentence], [values])[0]
        return self._view(sentence, values, arc_head, arc_mod, scores)

    @property
    def label_names(self) -> Sequence[str]:
        """Labels that families may see on arcs, in order; none beside templates."""
        return () if self.network is None else self.network.labels

    def _scores(
        self, sentences: Sequence[Sentence], values: Sequence[Values]
    ) -> Sequence[SentenceScores | None]:
        """What the network makes of each sentence; None beside templates."""
        if self.network is None:
            return [None] * len(values)
        return self.network(values, None if self.outside is None else self.outside(sentences))

    def _candidates(
        self, values: Values, scores: SentenceScores | None, k: int | None, margin: float | None
    ) -> tuple[Ints, Ints]:
        if scores is None:
            assert self.pruner is not None  # templates come with one
            return self.pruner.candidates(values, k, margin)
        settings = self.config.pruner
        return scores.candidates(
            settings.k if k is None else k, settings.margin if margin is None else margin,
            self.config.model.single_root,
        )  # fmt: skip

    def _in_trees(self, n: int, head: Ints, mod: Ints) -> tuple[Ints, Ints]:
        """Candidate arcs that some tree has; all of them where there is no tree."""
        kind = self.config.model.single_root, self.config.projective
        some = arcs_in_trees(n, head, mod, *kind)
        return some if len(some[0]) else (head, mod)

    def _view(
        self, sentence: Sentence, values: Values, head: Ints, mod: Ints,
        scores: SentenceScores | None,
    ) -> FactorView:  # fmt: skip
        labels = None
        if scores is not None and self.label_names:
            known = scores.arc_labels
            if known is None or len(known) != len(head):
                known = scores.label_scores(head, mod)
            labels = 1 + known.argmax(axis=1).astype(np.int32)
        return FactorView(sentence, head, mod, values, labels, self.label_names)

    def _scored(
        self,
        sentences: Sequence[Sentence],
        values: Sequence[Values],
        arcs: Sequence[tuple[Ints, Ints]],
        scores: Sequence[SentenceScores | None],
    ) -> list[Scored]:
        """Problems over candidate arcs."""
        kind = self.config.projective, self.config.model.single_root
        if self.label_names:
            known = [some for some in scores if some is not None]
            for one, a, labels in zip(known, arcs, labels_of_arcs(known, arcs)):
                one.keep_labels(*a, labels)
        parts = []
        for sentence, own, (head, mod), some in zip(sentences, values, arcs, scores):
            self.check_size(sentence, len(head))
            if some is None:
                assert self.scorer is not None  # beside the pruner
                parts.append(self.scorer.score(own, head, mod, *kind))
            else:
                parts.append(some.fields(head, mod, *kind, self.quantum))
        if self.families and len(self.table):
            # Views have copies of the arcs: those of problems become read-only.
            views = [
                self._view(sentence, own, *a, some)
                for sentence, a, own, some in zip(sentences, arcs, values, scores)
            ]
            for fields, factors in zip(parts, alive_factors(self.families, views, self.table)):
                fields.update(zip(_FACTORS, factors))
            counting = [family for family in self.families if family.has_counts]
            for fields, view in zip(parts, views):
                fields.update(zip(_COUNTS, alive_counts(counting, view, self.table) or ()))
        problems = [
            Problem.trusted(
                sentence.n_words, *a, **fields,
                projective=self.config.projective, single_root=self.config.model.single_root,
                quantum=self.quantum,
            )
            for sentence, a, fields in zip(sentences, arcs, parts)
        ]  # fmt: skip
        return list(map(Scored, sentences, values, problems, scores))


def batches(sentences: Iterable[Sentence], together: bool = True) -> Iterator[list[Sentence]]:
    """Sentences in batches of some dozens; one by one, if they are not to be taken together.

    The scored parts of a batch are in memory at the same time: it has some thousand words. Where
    the sentences end in an error, those before it come first.
    """
    check_type("sentences", sentences, Iterable, "sentences", TreebankError)
    batch: list[Sentence] = []
    words = 0
    try:
        for sentence in sentences:
            check_type("sentence", sentence, Sentence, "a Sentence", TreebankError)
            if batch and (not together or words + sentence.n_words > SECTION_WORDS):
                yield batch
                batch, words = [], 0
            batch.append(sentence)
            words += sentence.n_words
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch
