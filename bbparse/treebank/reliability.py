"""Agreement of annotators beyond chance: Cohen's kappa and Krippendorff's alpha.

Each word is a unit, and each annotator gives it one category of a kind:

* ``label``: the relation;
* ``head``: the distance to the head, with its sign, or "root": whole heads have no categories that
  recur, and chance would be near zero;
* ``arc``: both together;
* ``upos``, ``xpos``, ``feats``, ``lemma``: the column.

Cohen's kappa (1960) of two annotators is (p - e) / (1 - e): p is the fraction of words on which
they agree, e = Σ_c p₁(c) p₂(c) what two annotators with these frequencies would reach by chance.
For more annotators it is the mean over all pairs (Light 1971).

Krippendorff's alpha for nominal data (2011) is 1 - D_o / D_e. Of the N values of all units with two
values or more, D_o is the fraction of pairs within units that differ, each pair weighted by
1 / (m_u - 1) for the m_u values of its unit, and D_e the fraction of pairs of any two values that
differ. Words without a value (``_``) of an annotator count as missing for alpha, and as a category
of its own for kappa.

Intervals are percentiles of a bootstrap over sentences (Efron & Tibshirani 1993), which are too
narrow with few sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from bbparse.runtime.arrays import Flags, Float64s, Longs
from bbparse.runtime.progress import watched
from bbparse.treebank.evaluation import paired_sentences
from bbparse.treebank.sentence import NO_HEAD, Sentence


def _distances(sentence: Sentence) -> list[str]:
    return [
        "_" if head == NO_HEAD else "root" if head == 0 else str(head - m)
        for m, head in enumerate(sentence.heads, start=1)
    ]


#: Kind of category → the category of each word of a sentence.
KINDS: dict[str, Callable[[Sentence], list[str]]] = {
    "arc": lambda s: [
        "_" if "_" in pair else " ".join(pair) for pair in zip(_distances(s), s.deprels)
    ],
    "head": _distances,
    "label": attrgetter("deprels"),
    "upos": attrgetter("upos"),
    "xpos": attrgetter("xpos"),
    "feats": attrgetter("feats"),
    "lemma": attrgetter("lemmas"),
}


class AnnotatorAgreement(NamedTuple):
    """Agreement in one kind of category, with bounds of 95 % confidence intervals.

    Both bounds are nan if all draws are equal: of one sentence, or of sentences that are all alike.
    """

    observed: float  #: Mean fraction of words on which two annotators agree.
    kappa: float  #: nan if two of the annotators use the same one category only.
    kappa_interval: tuple[float, float]
    alpha: float  #: nan if the words with two values or more have one category only.
    alpha_interval: tuple[float, float]


class Annotations:
    """Annotations of the same words: the sentences of two annotators or more."""

    def __init__(self, files: Sequence[Sequence[Sentence]]) -> None:
        first = files[0]
        for file in files[1:]:
            for _ in paired_sentences(first, file):
                pass
        self.files = files
        lengths = [sentence.n_words for sentence in first]
        #: Sentence of each word.
        self.sentence = np.repeat(np.arange(len(first)), lengths)

    def columns(self, kind: str) -> list[list[str]]:
        """Return the categories of all words by annotator; `kind` is one of `KINDS`."""
        categories = KINDS[kind]
        return [[value for s in file for value in categories(s)] for file in self.files]

    def confusions(self) -> list[tuple[str, str, int]]:
        """Return pairs of different labels and their number, the most frequent first."""
        counts: Counter[tuple[str, str]] = Counter()
        for one, other in combinations(self.columns("label"), 2):
            pairs = ((min(a, b), max(a, b)) for a, b in zip(one, other))
            counts.update(pair for pair in pairs if pair[0] != pair[1] and "_" not in pair)
        return [(*pair, n) for pair, n in sorted(counts.items(), key=lambda x: (-x[1], x[0]))]

    def agreement(
        self, kind: str, category: str | None = None, resamples: int = 1000
    ) -> AnnotatorAgreement:
        """Measure agreement in a kind of category, or in one category against all others."""
        codes = {"_": 0}
        columns = self.columns(kind)
        values = np.array([[codes.setdefault(v, len(codes)) for v in row] for row in columns])
        known = values > 0
        if category is not None:
            values = (values == codes.get(category, -1)).astype(np.int64)
        measure = _measure(values, known, self.sentence, n := len(self.files[0]))
        observed, kappa, alpha = measure(np.ones(n))
        rng = np.random.default_rng(1)
        drawn = np.array(
            [
                measure(np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64))
                for _ in watched(range(resamples), category or kind, " draws")
            ]
        )
        intervals = []
        for column in drawn[:, 1:].T:
            defined = column[~np.isnan(column)]
            ends = np.quantile(defined, [0.025, 0.975]).tolist() if len(defined) else [np.nan] * 2
            intervals.append((ends[0], ends[1]) if ends[1] - ends[0] > 1e-12 else (np.nan, np.nan))
        return AnnotatorAgreement(observed, kappa, intervals[0], alpha, intervals[1])


def _measure(
    values: Longs, known: Flags, sentence: Longs, n_sentences: int
) -> Callable[[Float64s], tuple[float, float, float]]:
    """Return a function of the weights of sentences: observed agreement, kappa and alpha.

    `values` are categories int[annotators, words], some of them not `known`.
    """
    n_annotators, n = len(values), int(values.max(initial=0)) + 1
    pairs = list(combinations(range(n_annotators), 2))
    n_known = known.sum(axis=0)
    paired = known & (n_known >= 2)  # values that alpha compares
    where = np.broadcast_to(sentence, values.shape)
    by_annotator = values + n * np.arange(n_annotators)[:, None]
    counts_by_annotator = _counter(by_annotator.ravel(), where.ravel(), n_annotators * n)
    counts_of_paired = None if paired.all() else _counter(values[paired], where[paired], n)

    def by_sentence(of_word: Flags | Float64s) -> Float64s:
        return np.bincount(sentence, of_word, n_sentences).astype(np.float64)

    same = np.stack([by_sentence(values[a] == values[b]) for a, b in pairs])
    differing = sum(known[a] & known[b] & (values[a] != values[b]) for a, b in pairs)
    differing = by_sentence(2.0 * differing / np.maximum(n_known - 1, 1))
    lengths = by_sentence(np.ones(len(sentence)))

    def measure(weights: Float64s) -> tuple[float, float, float]:
        total = weights @ lengths
        agreed = same @ weights / total
        counts = counts_by_annotator(weights).reshape(-1, n)
        shares = counts / total
        chance = [float(shares[a] @ shares[b]) for a, b in pairs]
        kappas = [(p - e) / (1.0 - e) if e < 1.0 else np.nan for p, e in zip(agreed, chance)]
        pooled = counts_of_paired(weights) if counts_of_paired else counts.sum(axis=0)
        n_pooled = pooled.sum()
        rate = weights @ differing * (n_pooled - 1.0)
        expected = n_pooled**2 - pooled @ pooled
        alpha = float(1.0 - rate / expected) if expected > 0.0 else np.nan
        return float(agreed.mean()), float(np.mean(kappas)), alpha

    return measure


def _counter(bins: Longs, sentence: Longs, n: int) -> Callable[[Float64s], Float64s]:
    """Return a function that counts n bins with weights of sentences

    The words of a bin stand together, so that their weights are summed where they are read.
    """
    order = np.argsort(bins, kind="stable")
    present, starts = np.unique(bins[order], return_index=True)
    where = sentence[order]

    def counts(weights: Float64s) -> Float64s:
        result = np.zeros(n)
        if len(present):
            result[present] = np.add.reduceat(weights[where], starts)
        return result

    return counts


def rows(
    annotations: Annotations, by_relation: bool, resamples: int
) -> Iterator[tuple[str, AnnotatorAgreement]]:
    """Yield names and agreements: kinds that have values, then relations, most frequent first."""
    for kind in KINDS:
        columns = annotations.columns(kind)
        if any(value != "_" for column in columns for value in column):
            yield kind, annotations.agreement(kind, None, resamples)
    if by_relation:
        labels = Counter(label for column in annotations.columns("label") for label in column)
        del labels["_"]  # no relation: a missing value
        for label, _ in sorted(labels.items(), key=lambda item: (-item[1], item[0])):
            yield f"label {label}", annotations.agreement("label", label, resamples)
