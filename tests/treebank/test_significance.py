"""The paired bootstrap against a plain one, against chance, and against what is certain."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from bbparse.runtime.errors import TreebankError
from bbparse.treebank import compare
from bbparse.treebank.evaluation import Tally
from bbparse.treebank.significance import compare_tallies
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


@pytest.mark.parametrize("sentences", [3, 40])  # of few, many draws are as far as the sample
def test_as_a_plain_loop(sentences: int) -> None:
    """The same draws, sentence by sentence, without rounding."""
    first, second = pair(5, 0.9, 0.8, sentences)
    names = first.measures
    found = compare_tallies(first, second, resamples=300)
    assert set(found) == set(names)
    rng = np.random.default_rng(1)
    draws = rng.integers(0, sentences, (300, sentences))
    words, heads = 1, 3
    a, b = first.counts, second.counts
    real = Fraction(int((a - b)[:, heads].sum()), int(a[:, words].sum()))
    drawn = []
    for draw in draws:
        total = sum(int(a[i, words]) for i in draw)
        drawn.append(Fraction(sum(int(a[i, heads] - b[i, heads]) for i in draw), total))
    far = sum(abs(value - real) >= abs(real) for value in drawn)
    uas = found["uas"]
    assert uas.difference == pytest.approx(float(real), abs=1e-12)
    assert uas.p_value == pytest.approx((far + 1) / 301)
    ends = np.quantile([float(x) for x in drawn], [0.025, 0.975])
    assert [uas.low, uas.high] == pytest.approx(ends)
    assert uas.first == first.scores().uas and uas.second == second.scores().uas
    assert found["clas"].first == pytest.approx(first.scores().clas)
    assert found["complete"].second == second.scores().complete


def test_certain_cases() -> None:
    first, second = pair(2, 0.9, 0.9)
    same = compare_tallies(first, first, resamples=50)
    for row in same.values():
        assert (row.difference, row.low, row.high, row.p_value) == (0, 0, 0, 1)
    right, wrong = pair(2, 1.0, 0.0)
    row = compare_tallies(right, wrong, resamples=999)["uas"]
    assert (row.first, row.second, row.difference, row.low, row.high) == (1, 0, 1, 1, 1)
    assert row.p_value == 0.001
    # the other way round it is the same question
    there = compare_tallies(first, second, resamples=400)["las"]
    back = compare_tallies(second, first, resamples=400)["las"]
    assert there.difference == -back.difference
    assert there.p_value == back.p_value
    assert there.low == pytest.approx(-back.high)


def test_what_cannot_be_compared() -> None:
    with pytest.raises(TreebankError, match="there are no sentences to compare"):
        compare([], [], [])
    with pytest.raises(TreebankError, match="has no counterpart"):
        compare([chain(2)], [chain(2)], [chain(2), chain(2)])
