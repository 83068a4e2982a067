"""Intervals and p-values against plain loops, against chance, and against what is certain."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from bbparse.runtime.errors import TreebankError
from bbparse.treebank import compare
from bbparse.treebank.evaluation import Tally
from bbparse.treebank.significance import compare_fractions, compare_tallies
from tests.treebank.test_evaluation import chain


def tally(lengths: list[int], accuracy: float, rng: random.Random) -> Tally:
    """A parser that finds each head with the same chance."""
    result = Tally()
    for n in lengths:
        heads = [m if rng.random() < accuracy else m + 1 for m in range(n)]
        result.add(chain(n), heads, ["root"] + ["obj"] * (n - 1))
    return result


def pair(seed: int, first: float, second: float, sentences: int = 60) -> tuple[Tally, Tally]:
    rng = random.Random(seed)
    lengths = [rng.randint(1, 12) for _ in range(sentences)]
    return tally(lengths, first, rng), tally(lengths, second, rng)


@pytest.mark.parametrize("sentences", [3, 9, 40])
def test_as_a_plain_loop(sentences: int) -> None:
    """The same draws, sentence by sentence, without rounding."""
    first, second = pair(5, 0.9, 0.8, sentences)
    found = compare_tallies(first, second, resamples=300)
    assert set(found) == set(first.measures)
    words, heads = first.counts[:, 1], (first.counts - second.counts)[:, 3]
    gains = [int(x) for x in heads if x]
    rng = np.random.default_rng(1)
    if len(gains) < 16:
        swaps = [*product([0, 1], repeat=len(gains))]
    else:
        rows = [i for i in range(sentences) if (first.counts[i] != second.counts[i]).any()]
        tosses = np.concatenate(  # 64 at once
            [rng.integers(0, 2, (n, len(rows))) for n in (64, 64, 64, 64, 44)]
        )
        swaps = tosses[:, [i for i, row in enumerate(rows) if heads[row]]].tolist()
    sums = [sum(-x if swapped else x for x, swapped in zip(gains, swap)) for swap in swaps]
    far = sum(abs(x) >= abs(sum(gains)) for x in sums)
    uas = found["uas"]
    assert uas.differing == len(gains)
    assert uas.p_value == (far / len(swaps) if len(gains) < 16 else (far + 1) / 301)
    rng, drawn = np.random.default_rng(1), []
    for draw in rng.integers(0, sentences, (300, sentences)):
        drawn.append(Fraction(int(heads[draw].sum()), int(words[draw].sum())))
    ends = np.quantile([float(x) for x in drawn], [0.025, 0.975])
    assert [uas.low, uas.high] == pytest.approx(ends)
    assert uas.difference == pytest.approx(int(heads.sum()) / int(words.sum()), abs=1e-12)
    assert uas.first == first.scores().uas and uas.second == second.scores().uas
    assert found["clas"].first == pytest.approx(first.scores().clas)
    assert found["complete"].second == second.scores().complete


@pytest.mark.parametrize(
    ("sentences", "p_value"),
    [(1, 1.0), (2, 0.5), (4, 0.125), (15, 2.0**-14), (16, 0.001), (60, 0.001)],
)
def test_few_sentences_prove_little(sentences: int, p_value: float) -> None:
    """All differ alike: only two of the 2ⁿ swaps are as far, and no interval can be estimated."""
    rng = random.Random(1)
    right, wrong = (tally([4] * sentences, accuracy, rng) for accuracy in (1.0, 0.0))
    row = compare_tallies(right, wrong, resamples=999)["uas"]
    assert (row.first, row.second, row.difference) == (1, 0, 1)
    assert (row.p_value, row.differing) == (p_value, sentences)
    assert math.isnan(row.low) and math.isnan(row.high)


def test_certain_cases() -> None:
    first, second = pair(2, 0.9, 0.9)
    for row in compare_tallies(first, first, resamples=50).values():
        assert (row.difference, row.p_value, row.differing) == (0, 1, 0) and math.isnan(row.low)
    # the other way round it is the same question
    there = compare_tallies(first, second, resamples=400)["las"]
    back = compare_tallies(second, first, resamples=400)["las"]
    assert there.difference == -back.difference
    assert there.p_value == back.p_value
    assert there.low == pytest.approx(-back.high)


@pytest.mark.parametrize("sentences", [3, 5, 10, 100])
def test_equal_parsers_seldom_differ_significantly(sentences: int) -> None:
    """At most one comparison in twenty: of 300, more than 24 have a chance below 1 %."""
    rng, found = np.random.default_rng(7), 0
    for _ in range(300):
        lengths = np.broadcast_to(rng.integers(3, 30, sentences), (2, sentences))
        right = rng.binomial(lengths, 0.9)
        (row,) = compare_fractions(np.stack([right, lengths], axis=-1)[:, :, None], 400)
        found += row.p_value < 0.05
    assert found <= 24


def test_what_cannot_be_compared() -> None:
    with pytest.raises(TreebankError, match="there are no sentences to compare"):
        compare([], [], [])
    with pytest.raises(TreebankError, match="has no counterpart"):
        compare([chain(2)], [chain(2)], [chain(2), chain(2)])
