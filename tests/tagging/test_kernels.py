"""The best sequence against all sequences."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bbparse.tagging.kernels import best_first, best_sequence


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 4), st.booleans()
)
def test_the_best_sequence_is_the_best(seed: int, n: int, width: int, chained: bool) -> None:
    random = np.random.default_rng(seed)
    n_labels = width + 2
    counts = random.integers(1, width + 1, n).astype(np.int32)
    labels = np.array([random.permutation(n_labels)[:width] for _ in range(n)], np.int32)
    scores = random.integers(-9, 10, (n, width)).astype(np.int64)
    side = n_labels + 1 if chained else 1
    bigrams = random.integers(-9, 10, (side, side)).astype(np.int32)
    out = np.empty(n, np.int32)
    best_sequence(counts, labels, scores.copy(), bigrams, out)

    def score(places: tuple[int, ...]) -> int:
        total = sum(int(scores[i, place]) for i, place in enumerate(places))
        if chained:
            sequence = [n_labels, *(labels[i, p] for i, p in enumerate(places)), n_labels]
            total += sum(int(bigrams[a, b]) for a, b in pairwise(sequence))
        return total

    every = list(product(*map(range, counts)))
    best = max(map(score, every))
    assert score(tuple(out)) == best


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=12), st.integers(1, 8))
def test_the_best_candidates_are_kept(given_scores: list[int], most: int) -> None:
    labels = np.arange(len(given_scores), dtype=np.int32)
    scores = np.array(given_scores, np.int64)
    count = best_first(labels, scores, len(labels), most)
    assert count == min(most, len(given_scores))
    assert sorted(scores[:count], reverse=True) == sorted(given_scores, reverse=True)[:count]
    assert [given_scores[label] for label in labels] == scores.tolist()
