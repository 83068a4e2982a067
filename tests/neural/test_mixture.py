"""Batches of gold and silver examples, and the values that have vectors."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bbparse.neural.mixture import MEAN_GOLD, mixed_batches, vocabulary


def test_batches_have_their_fraction_of_gold_words() -> None:
    rng = np.random.default_rng(1)
    sizes, n_gold, batch, steps = rng.integers(1, 40, 900), 200, 300, 400
    chosen = list(mixed_batches(sizes, n_gold, batch, steps, np.random.default_rng(2)))
    again = list(mixed_batches(sizes, n_gold, batch, steps, np.random.default_rng(2)))
    assert chosen == again and len(chosen) == steps
    words = [sum(sizes[i] for i in one) for one in chosen]
    assert min(words) >= batch and max(words) < batch + 40
    gold = [sum(sizes[i] for i in one if i < n_gold) for one in chosen]
    assert sum(gold[:300]) == pytest.approx(300 * batch / 3, rel=0.001)
    assert sum(gold[300:]) == pytest.approx(100 * batch * 0.6, rel=0.001)
    assert sum(gold) == pytest.approx(steps * batch * MEAN_GOLD, rel=0.001)


def test_every_example_is_taken_as_often_as_others_of_its_kind() -> None:
    sizes, n_gold = np.array([5, 9, 2, 7, 1, 3, 8, 4]), 3
    times = Counter(
        i for one in mixed_batches(sizes, n_gold, 12, 300, np.random.default_rng(3)) for i in one
    )
    for kind in (range(n_gold), range(n_gold, len(sizes))):
        counts = [times[i] for i in kind]
        assert max(counts) - min(counts) <= 1 and min(counts) > 20


def test_values_have_vectors_unless_they_are_too_rare() -> None:
    """Silver examples are many, so that a value has to occur 20 times in them."""

    def words(**times: int) -> np.ndarray:
        values = [value for name, count in times.items() for value in [int(name[1:])] * count]
        return np.array(values, np.uint64)[:, np.newaxis]

    gold, silver = [words(v1=2), words(v2=2, v1=1), words(v3=2)], [words(v4=20, v3=19, v1=1)]
    assert vocabulary(gold, 3).tolist() == [1]
    assert vocabulary(gold, 2, silver).tolist() == [1, 2, 3, 4]
    assert vocabulary(gold, 3, silver).tolist() == [1, 4]
