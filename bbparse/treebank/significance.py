"""Significance of the difference between two parsers on the same sentences.

p-values are from paired approximate randomization (Noreen 1989; Yeh 2000): if the parsers are
equally good, the outputs of each sentence might as well be swapped. All swaps are enumerated if
fewer than `ENUMERATED` sentences differ, and drawn otherwise.

Confidence intervals are from the paired bootstrap (Efron & Tibshirani 1993, §16.4): sentences are
drawn with replacement, as many as there are and the same ones for both parsers. With fewer than
`FEW` sentences they are too narrow. Cost: O(resamples · sentences).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bbparse.runtime.errors import TreebankError
from bbparse.runtime.progress import watched
from bbparse.treebank.evaluation import COUNTS, MEASURES, Tally, tallied
from bbparse.treebank.sentence import Sentence

if TYPE_CHECKING:  # numpy is imported when sentences are drawn: reading files does not need it
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 10_000
ENUMERATED = 16
FEW = 30
_SEED = 1  # the same trees give the same figures
_AT_ONCE = 64  # draws summed in one product of matrices


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference of two parsers in one measure."""

    first: float  #: Score of the first parser, from 0 to 1.
    second: float  #: Score of the second parser.
    difference: float  #: first - second.
    #: Bounds of the 95 % confidence interval: percentiles of the resampled differences. nan if all
    #: of these are equal: there are too few sentences, or none differs from the others.
    low: float
    high: float
    #: Probability of a difference at least as large, of either sign, between two equally good
    #: parsers. Drawn swaps count the sample itself, so it is never 0.
    p_value: float
    differing: int  #: Number of sentences in which the counts of the measure differ.


def compare(
    gold: Iterable[Sentence], first: Iterable[Sentence], second: Iterable[Sentence]
) -> dict[str, Difference]:
    """Compare the trees of two parsers for the same sentences, with a head for every word.

    Returns a `Difference` for each measure that all have data for. `TreebankError` if there are no
    sentences, or they or their words differ.
    """
    sentences = list(gold)
    if not sentences:
        raise TreebankError("there are no sentences to compare")
    return compare_tallies(tallied(sentences, first), tallied(sentences, second))


def compare_tallies(
    first: Tally, second: Tally, *, resamples: int = RESAMPLES
) -> dict[str, Difference]:
    """Compare two tallies of the same gold sentences, added in the same order."""
    import numpy as np

    names = [name for name in first.measures if name in second.measures]
    counts = np.stack([first.counts, second.counts])
    parts = [
        counts[..., [COUNTS.index(count) for count in group]].sum(axis=-1)
        for name in names
        for group in MEASURES[name]
    ]
    fractions = np.stack(parts, axis=-1).reshape(*counts.shape[:2], len(names), 2)
    return dict(zip(names, compare_fractions(fractions, resamples)))


def compare_fractions(fractions: NDArray[np.int64], resamples: int = RESAMPLES) -> list[Difference]:
    """Compare measures: numerators and denominators int64[2, sentences, measures, 2]."""
    import numpy as np

    n, n_measures = fractions.shape[1:3]
    total = fractions.sum(axis=1).astype(np.float64)  # [2, measures, 2]
    observed = _divided(total)
    difference = observed[0] - observed[1]
    pairs = np.concatenate(list(fractions), axis=1).reshape(n, -1)
    drawn = _divided(_sums(_resampled(n, resamples), pairs).reshape(-1, 2, n_measures, 2))
    low, high = np.quantile(drawn[:, 0] - drawn[:, 1], [0.025, 0.975], axis=0)
    equal = high - low < 1e-12
    low[equal] = high[equal] = np.nan
    gains = fractions[1] - fractions[0]  # what a swap adds to the first
    differing = gains.any(axis=2)
    rows, p_values = differing.any(axis=1), np.ones(n_measures)
    drawn_gains = _sums(_coins(rows.sum(), resamples), gains[rows].reshape(-1, 2 * n_measures))
    for m, own in enumerate(differing.T):
        gain = drawn_gains[:, 2 * m : 2 * m + 2]
        if exact := own.sum() < ENUMERATED:
            gain = (np.arange(1 << own.sum())[:, None] >> np.arange(own.sum()) & 1) @ gains[own, m]
        swapped = _divided(total[0, m] + gain) - _divided(total[1, m] - gain)
        # slack, so that rounding does not exclude swaps that are exactly as far as the sample
        far = (np.abs(swapped) >= abs(difference[m]) - 1e-12).sum()
        p_values[m] = far / len(gain) if exact else (1 + far) / (1 + resamples)
    columns = [*observed, difference, low, high, p_values, differing.sum(axis=0)]
    return [Difference(*row) for row in zip(*(column.tolist() for column in columns))]


def _resampled(n: int, draws: int) -> Iterator[NDArray[np.int64]]:
    """Yield bootstrap samples of n sentences in blocks, int64[block, n]."""
    import numpy as np

    rng = np.random.default_rng(_SEED)
    for start in watched(range(0, draws, _AT_ONCE), "intervals", ""):
        drawn = rng.integers(0, n, (min(_AT_ONCE, draws - start), n))
        yield np.stack([np.bincount(draw, minlength=n) for draw in drawn])


def _coins(n: int, draws: int) -> Iterator[NDArray[np.int64]]:
    """Yield tosses of n fair coins in blocks, int64[block, n] of 0 and 1."""
    import numpy as np

    rng = np.random.default_rng(_SEED)
    for start in watched(range(0, draws, _AT_ONCE), "p-values", ""):
        yield rng.integers(0, 2, (min(_AT_ONCE, draws - start), n))


def _sums(weights: Iterable[NDArray[np.int64]], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum counts int64[n, columns] with the weights of each draw: float64[draws, columns]."""
    import numpy as np

    values = counts.astype(np.float64)
    return np.concatenate([part.astype(np.float64) @ values for part in weights])


def _divided(fractions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide numerators by denominators, [..., 2]; 0 where the denominator is 0."""
    import numpy as np

    part, whole = np.moveaxis(fractions, -1, 0)
    return np.divide(part, whole, out=np.zeros_like(part, np.float64), where=whole > 0)
