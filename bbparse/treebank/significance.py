"""Significance of the difference between two parsers: the paired bootstrap over sentences.

Sentences are drawn with replacement, as many as there are and the same ones for both parsers. The
variation of the difference of the two scores over many draws estimates its variation over other
samples of sentences (Efron & Tibshirani 1993, §16.4; Berg-Kirkpatrick, Burkett & Klein 2012). Cost:
O(resamples · sentences).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bbparse.runtime.errors import TreebankError
from bbparse.treebank.evaluation import COUNTS, MEASURES, Tally, shares, tallied
from bbparse.treebank.sentence import Sentence

if TYPE_CHECKING:  # numpy is imported when sentences are drawn: reading files does not need it
    import numpy as np
    from numpy.typing import NDArray

RESAMPLES = 10_000
_SEED = 1  # the same trees give the same figures


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference of two parsers in one measure."""

    first: float  #: Score of the first parser, from 0 to 1.
    second: float  #: Score of the second parser.
    difference: float  #: first - second.
    #: Bounds of the 95 % confidence interval: percentiles of the resampled differences.
    low: float
    high: float
    #: Probability of a difference at least as large, of either sign, between two equally good
    #: parsers: the fraction of resampled differences at least as far from the observed one as that
    #: is from zero. Never 0: the sample itself counts as one.
    p_value: float


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
    counts = np.stack([first.counts, second.counts]).astype(np.float64)
    observed = _shares(counts.sum(axis=1), names)
    drawn = _shares(resampled(counts, resamples), names)
    difference = observed[0] - observed[1]
    differences = drawn[0] - drawn[1]
    low, high = np.quantile(differences, [0.025, 0.975], axis=0)
    # slack, so that rounding does not exclude draws that are exactly as far as the sample
    far = (np.abs(differences - difference) >= np.abs(difference) - 1e-12).sum(axis=0)
    p_values = (1.0 + far) / (1.0 + resamples)
    columns = np.stack([observed[0], observed[1], difference, low, high, p_values], axis=1)
    return {name: Difference(*row) for name, row in zip(names, columns.tolist())}


def resampled(counts: NDArray[np.float64], resamples: int) -> NDArray[np.float64]:
    """Sum counts float64[2, sentences, counts] over each draw: float64[2, resamples, counts]."""
    import numpy as np

    n, rng = counts.shape[1], np.random.default_rng(_SEED)
    draws = (np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(resamples))
    return np.stack([draw.astype(np.float64) @ counts for draw in draws], axis=1)


def _shares(sums: NDArray[np.float64], names: list[str]) -> NDArray[np.float64]:
    """Compute the measures float64[..., measures] of sums of counts, float64[..., counts]."""
    import numpy as np

    def divided(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)

    total = dict(zip(COUNTS, np.moveaxis(sums, -1, 0)))
    values = shares(total, {name: MEASURES[name] for name in names}, divided)
    return np.stack([*values.values()], axis=-1)
