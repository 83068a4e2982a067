"""`ProblemMaker`: from a sentence to its `Problem`.

Each step (candidates, the guide's marks, scores, factors) reads tables of its own, of up to tens of
megabytes, and code of its own. Taking some dozens of sentences through one step before the next
keeps these in the caches: a fifth of the time of a sentence by itself. What comes out is the same.

Pre-pruning keeps a few candidate heads for each word, by a first-order classifier. It is log-linear
over the heads of one word, so that score differences are log-odds and a margin on them means the
same everywhere. The arcs of its own best projective tree are always kept: a candidate set without
them may hold no tree at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from bbparse.scoring.candidates import LONG, all_arcs
from bbparse.scoring.in_trees import arcs_in_trees
from bbparse.scoring.marks import NO_MARKS, steps_of, sure_marks
from bbparse.scoring.network import Network, PartNetwork
from bbparse.scoring.scorer import PartScorer, Weights
from bbparse.treebank import Sentence
from bbparse.treebank.encode import PAD, encode
from bbparse.treebank.sections import SECTION_WORDS

Ints = NDArray[np.int32]
Values = NDArray[np.uint64]
Marks = NDArray[np.uint16]
Floats = NDArray[np.float32]

# Candidate parts that a sentence may have before memory is in danger (24 bytes each and more).
MAX_PARTS = 60_000_000

#: Candidate arcs of a long sentence, two a word at least.
MOST_ARCS = 3000

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
    """Candidate arcs and those of a tree, int32[n + 1] heads, together, sorted by (head, mod)."""
    n = len(heads) - 1
    keys = arc_head.astype(np.int64) * (n + 1) + arc_mod
    tree = heads[1:].astype(np.int64) * (n + 1) + np.arange(1, n + 1)
    both = np.union1d(keys, tree)
    return (both // (n + 1)).astype(np.int32), (both % (n + 1)).astype(np.int32)


@dataclass(slots=True, eq=False)
class Scored:
    """A sentence and its problem."""

    sentence: Sentence
    #: uint64[...]: as `encode` gives them.
    values: Values
    #: uint16[n+1, n+1] or None: the guide's, among all candidate arcs.
    marks: Marks | None
    problem: Problem

    @property
    def sure_marks(self) -> Marks:
        """The marks that a `Labeller` looks at."""
        return NO_MARKS if self.marks is None else sure_marks(self.marks)


@dataclass(frozen=True, slots=True, eq=False)
class ProblemMaker:
    """Makes problems of sentences. Nothing in it changes meanwhile, so threads may share it."""

    config: Configuration
    pruner: Pruner
    #: Backbone templates and weights.
    scorer: PartScorer
    families: Sequence[FactorFamily] = ()
    #: Weights of the factors' features.
    table: FactorTable = field(default_factory=lambda: FactorTable(np.zeros(0, np.uint64)))
    #: Whose opinion on the candidate arcs the templates build on.
    guide: Network | None = None
    #: Whose scores are added to those of the templates.
    trees: PartNetwork | None = None
    #: Vectors that guide and trees take besides.
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
    ) -> list[Scored]:
        """The scored problems of a batch of sentences.

        `prune` is the most heads of a word instead of the model's, 0 for all arcs; `margin` the
        largest log-odds of a candidate head against the word's best. `ProblemError` if so many arcs
        are left that the parts would not fit into memory, or `prune` is negative.
        """
        check_options({"prune": prune}, ProblemError)
        for sentence in sentences:
            check_type("sentence", sentence, Sentence, "a Sentence", TreebankError)
        values = [encode(sentence) for sentence in sentences]
        arcs = [self.pruner.candidates(own, prune, margin) for own in values]
        outside = self._vectors(sentences)
        marks: Sequence[Marks | None] = [None] * len(values)
        if prune != 0:  # an arc's odds are those against all candidates
            marks = self._marks(values, arcs, outside)
            least = self.config.guide.least if margin is None else 0
            arcs = [
                self._in_trees(sentence.n_words, a, given, least)
                for sentence, a, given in zip(sentences, arcs, marks)
            ]
        return self._score(sentences, values, arcs, marks, outside)

    def _vectors(self, sentences: Sequence[Sentence]) -> Sequence[Floats | None]:
        """Vectors from outside of each sentence; None where there are none."""
        return [None] * len(sentences) if self.outside is None else self.outside(sentences)

    def marks(
        self,
        sentences: Sequence[Sentence],
        values: Sequence[Values],
        arcs: Sequence[tuple[Ints, Ints]],
    ) -> Sequence[Marks | None]:
        """What the guide says of arcs of each sentence; None without one."""
        return self._marks(values, arcs, self._vectors(sentences))

    def _marks(
        self,
        values: Sequence[Values],
        arcs: Sequence[tuple[Ints, Ints]],
        outside: Sequence[Floats | None],
    ) -> Sequence[Marks | None]:
        if self.guide is None:
            return [None] * len(values)
        return [self.guide.marks(own, *a, one) for own, a, one in zip(values, arcs, outside)]

    def over_arcs(
        self,
        sentence: Sentence,
        values: Values,
        arc_head: Ints,
        arc_mod: Ints,
        marks: Marks | None = None,
    ) -> Problem:
        """The problem over given candidate arcs, sorted by (head, mod).

        ``marks`` are the guide's (for training sentences, those of one that did not see them);
        where they are not given, the guide is asked.
        """
        asked = self.trees is not None or (marks is None and self.guide is not None)
        outside = self._vectors([sentence]) if asked else [None]
        return self._score([sentence], [values], [(arc_head, arc_mod)], [marks], outside)[0].problem

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
        values = encode(sentence)  # labels do not depend on the other arcs
        marks = self.marks([sentence], [values], [(arc_head, arc_mod)])[0]
        return FactorView(sentence, arc_head, arc_mod, values, marks, self.label_names)

    @property
    def label_names(self) -> Sequence[str]:
        """The guide's labels in order, none without a guide."""
        return () if self.guide is None else self.guide.labels

    def _in_trees(
        self, n: int, arcs: tuple[Ints, Ints], marks: Marks | None, least: int
    ) -> tuple[Ints, Ints]:
        """Candidate arcs that some tree has, of those the guide finds likely if these have one."""
        head, mod = arcs
        kind = self.config.model.single_root, self.config.projective
        if least and marks is not None:
            likely = steps_of(marks[head, mod]) >= least
            found = arcs_in_trees(n, head[likely], mod[likely], *kind)
            if len(found[0]):
                return found
        found = arcs_in_trees(n, head, mod, *kind)
        return found if len(found[0]) else arcs

    def _score(
        self,
        sentences: Sequence[Sentence],
        values: Sequence[Values],
        arcs: Sequence[tuple[Ints, Ints]],
        marks: Sequence[Marks | None],
        outside: Sequence[Floats | None],
    ) -> list[Scored]:
        """Problems over candidate arcs; marks that are missing are asked for."""
        for sentence, (head, _) in zip(sentences, arcs):
            self.check_size(sentence, len(head))
        if any(given is None for given in marks):
            marks = self._marks(values, arcs, outside)
        config = self.config
        kind = config.projective, config.model.single_root
        parts = [
            self.scorer.score(own, *a, *kind, given)
            for own, a, given in zip(values, arcs, marks)
        ]
        if self.trees is not None:
            unit = config.trees.weight / self.quantum
            for fields, own, a, one in zip(parts, values, arcs, outside):
                more = self.trees.part_fields(own, *a, *kind, one)
                for name, array in more.items():
                    if name.endswith("score"):
                        more[name] = np.rint(array * unit) * self.quantum
                fields.update(more, arc_score=fields["arc_score"] + more["arc_score"])
        if self.families and len(self.table):
            # Views have copies of the arcs: those of problems become read-only.
            views = [
                FactorView(sentence, *a, own, given, self.label_names)
                for sentence, a, own, given in zip(sentences, arcs, values, marks)
            ]
            for fields, factors in zip(parts, alive_factors(self.families, views, self.table)):
                fields.update(zip(_FACTORS, factors))
            counting = [family for family in self.families if family.has_counts]
            for fields, view in zip(parts, views):
                fields.update(zip(_COUNTS, alive_counts(counting, view, self.table) or ()))
        problems = [
            Problem.trusted(
                sentence.n_words, *a, **fields,
                projective=config.projective, single_root=config.model.single_root,
                quantum=self.quantum,
            )
            for sentence, a, fields in zip(sentences, arcs, parts)
        ]  # fmt: skip
        return list(map(Scored, sentences, values, marks, problems))


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
