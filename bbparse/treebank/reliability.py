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

Intervals are percentiles of a bootstrap over sentences (Efron & Tibshirani 1993).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from bbparse.runtime.arrays import Float64s, Longs
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


class Agreement(NamedTuple):
    """Agreement in one kind of category, with bounds of 95 % confidence intervals."""

    observed: float  #: Mean fraction of words on which two annotators agree.
    kappa: float  #: nan if both use one category only.
    kappa_interval: tuple[float, float]
    alpha: float
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
            counts.update((min(a, b), max(a, b)) for a, b in zip(one, other) if a != b)
        return [(*pair, n) for pair, n in sorted(counts.items(), key=lambda x: (-x[1], x[0]))]

    def agreement(self, kind: str, category: str | None = None, resamples: int = 1000) -> Agreement:
        """Measure agreement in a kind of category, or in one category against all others."""
        columns = self.columns(kind)
        if category is not None:
            columns = [[str(value == category) for value in column] for column in columns]
        names, flat = np.unique([v for column in columns for v in column], return_inverse=True)
        values = flat.reshape(len(columns), -1)
        missing = int(np.searchsorted(names, "_")) if "_" in names and category is None else -1
        weights = np.ones(len(self.files[0]))
        measure = partial(self._measure, values, len(names), missing)
        observed, kappa, alpha = measure(weights)
        rng, n = np.random.default_rng(1), len(weights)
        draws = (np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(resamples))
        drawn = np.array([measure(draw.astype(np.float64)) for draw in draws])
        intervals = []
        for column in drawn[:, 1:].T:
            defined = column[~np.isnan(column)]
            ends = np.quantile(defined, [0.025, 0.975]) if len(defined) else (np.nan, np.nan)
            intervals.append((float(ends[0]), float(ends[1])))
        return Agreement(observed, kappa, intervals[0], alpha, intervals[1])

    def _measure(
        self, values: Longs, n: int, missing: int, weights: Float64s
    ) -> tuple[float, float, float]:
        """Return observed agreement, kappa and alpha, each sentence weighted by its draws."""
        of_word = weights[self.sentence]
        pairs = list(combinations(values, 2))
        total = of_word.sum()
        same = [float(of_word[a == b].sum() / total) for a, b in pairs]
        shares = [np.bincount(row, of_word, n) / total for row in values]
        chance = [float(a @ b) for a, b in combinations(shares, 2)]
        kappas = [(p - e) / (1.0 - e) if e < 1.0 else np.nan for p, e in zip(same, chance)]
        return float(np.mean(same)), float(np.mean(kappas)), _alpha(values, n, missing, of_word)


def _alpha(values: Longs, n: int, missing: int, of_word: Float64s) -> float:
    """Compute Krippendorff's alpha of categories int[annotators, words] with weights of words."""
    known = values != missing
    m = known.sum(axis=0)
    paired = m >= 2
    if not (of_word * paired).any():
        return np.nan
    differing = np.zeros(values.shape[1])
    for a, b in combinations(range(len(values)), 2):
        differing += 2.0 * (known[a] & known[b] & (values[a] != values[b]))
    counts = np.zeros(n)
    for row, is_known in zip(values, known):
        use = is_known & paired
        counts += np.bincount(row[use], of_word[use], n)
    total = counts.sum()
    observed = (of_word * differing / np.maximum(m - 1, 1))[paired].sum() / total
    expected = (total**2 - counts @ counts) / (total * (total - 1.0))
    return float(1.0 - observed / expected) if expected > 0.0 else np.nan


def rows(
    annotations: Annotations, by_relation: bool, resamples: int
) -> Iterator[tuple[str, Agreement]]:
    """Yield names and agreements: kinds that have values, then relations, most frequent first."""
    for kind in KINDS:
        columns = annotations.columns(kind)
        if any(value != "_" for column in columns for value in column):
            yield kind, annotations.agreement(kind, None, resamples)
    if by_relation:
        labels = Counter(label for column in annotations.columns("label") for label in column)
        for label, _ in sorted(labels.items(), key=lambda item: (-item[1], item[0])):
            yield f"label {label}", annotations.agreement("label", label, resamples)
