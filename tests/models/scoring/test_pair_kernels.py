"""Scores of pairs and triples of words, their gradients and losses, against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest

from bbparse.models.scoring.pair_kernels import (
    ARC_VALUES,
    counts_before,
    head_losses,
    log_sums,
    pair_scores,
    row_sums,
)
from bbparse.models.scoring.part_kernels import PART_VALUES, part_scores, part_scores_back
from bbparse.neural.ragged import Ragged
from bbparse.treebank import Sentence
from bbparse.treebank.encode import encode
from tests.models.scoring.networks import (
    arc_score,
    part_score,
    random_sentence,
)
from tests.neural.plain import assert_slopes

PAIRS, SHARED = 32, 16
WORDS = ([1], [4, 1, 6], [40, 3])
Arrays = dict[str, np.ndarray]


def pair_case(
    rng: np.random.Generator, words: list[int]
) -> tuple[Ragged, list[Sentence], np.ndarray, Arrays]:
    """Sentences, what `pair_scores` counts in them, and vectors and weights."""
    sentences = [random_sentence(rng, n) for n in words]
    batch = Ragged.of([n + 1 for n in words])
    before = batch.rows_of([counts_before(encode(one)) for one in sentences], 0)
    shapes = {"both": (batch.n_rows, 2 * (PAIRS + SHARED) + 16), "table": (ARC_VALUES, SHARED),
              "out": (SHARED,)}  # fmt: skip
    arrays = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    return batch, sentences, before, arrays


def in_double(arrays: Arrays) -> Arrays:
    return {name: array.astype(float) for name, array in arrays.items()}


def arcs_of(batch: Ragged) -> list[tuple[int, int, int, int]]:
    """Sentence, head, modifier and place of every score of `pair_scores`, arcs only."""
    found, at = [], 0
    for s, n in enumerate(batch.size.tolist()):
        found += [(s, h, m, at + h * n + m) for h in range(n) for m in range(1, n) if h != m]
        at += n * n
    return found


def score_by_definition(
    batch: Ragged, sentences: list[Sentence], p: Arrays, s: int, h: int, m: int
) -> float:
    first = int(batch.first[s])
    ends = p["both"][first : first + sentences[s].n_words + 1]
    tags = ["", *sentences[s].upos]
    return arc_score(ends, tags, h, m, (PAIRS, SHARED), p["table"], p["out"])


@pytest.mark.parametrize("words", WORDS)
def test_scores_of_arcs_are_as_defined(words: list[int]) -> None:
    rng = np.random.default_rng(len(words))
    batch, sentences, before, arrays = pair_case(rng, words)
    found = pair_scores(
        arrays["both"], (PAIRS, SHARED), (batch.first, batch.size), before,
        row_sums(arrays["table"]), arrays["out"],
    )  # fmt: skip
    p, arcs = in_double(arrays), arcs_of(batch)
    for s, h, m, place in arcs:
        expected = score_by_definition(batch, sentences, p, s, h, m)
        assert found[place] == pytest.approx(expected, rel=1e-4, abs=1e-4)
    found[[place for *_, place in arcs]] = -np.inf
    assert len(found) == (batch.size**2).sum() and (found == -np.inf).all()


@pytest.mark.parametrize("at", [0, 16])
def test_scores_of_triples_and_their_gradients(at: int) -> None:
    rng = np.random.default_rng(4)
    size, n, begin = 16, 14, 3
    triples = np.array(
        [(h, x, m) for h in range(n + 1) for m in range(1, n + 1) if h != m
         for x in rng.choice([-1, *(w for w in range(n + 1) if w not in (h, m))], 2, False)],
        np.int32,
    ).T  # fmt: skip
    shapes = {"both": (n + 1, at + 6 * size), "out": (size,), "table": (PART_VALUES, size),
              "none": (2 * size,)}  # fmt: skip
    arrays = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    both = np.concatenate([np.full((begin, at + 6 * size), np.nan, np.float32), arrays["both"]])
    weights = arrays["out"], arrays["table"], arrays["none"]
    given = tuple(map(np.ascontiguousarray, triples)), both, begin, at
    found = part_scores(*given, weights)
    p = in_double(arrays)

    def score(h: int, x: int, m: int) -> float:
        return part_score(p["both"], at, h, x, m, p["out"], p["table"], p["none"])

    expected = [score(*map(int, triple)) for triple in triples.T]
    assert np.allclose(found, expected, rtol=1e-4, atol=1e-4)
    slopes = rng.normal(size=len(found)) * (rng.random(len(found)) < 0.3)
    d_both = np.ones_like(both)
    gradients = {name: np.ones_like(array) for name, array in arrays.items()}
    d_weights = tuple(gradients[k] for k in ("out", "table", "none"))
    part_scores_back(*given, weights, slopes, d_both, d_weights)
    gradients["both"] = d_both[begin:]
    assert (d_both[:begin] == 1.0).all()
    some = [(tuple(map(int, t)), s) for t, s in zip(triples.T, slopes.tolist()) if s]

    def loss() -> float:
        return sum(s * score(*t) for t, s in some)

    assert_slopes(loss, p, {k: gradient - 1.0 for k, gradient in gradients.items()}, rng)


def test_losses_of_heads_and_log_odds_are_those_of_all_arcs_of_a_word() -> None:
    rng = np.random.default_rng(6)
    batch = Ragged.of([5, 2, 8])
    layout = batch.first, batch.size
    arcs = arcs_of(batch)
    scores = np.full(int((batch.size**2).sum()), -np.inf, np.float32)
    scores[[place for *_, place in arcs]] = 20.0 * rng.normal(size=len(arcs))
    heads = np.full(batch.n_rows, -1, np.int32)
    expected, slopes, unknown = 0.0, np.zeros(len(scores)), 0
    for s, n in enumerate(batch.size.tolist()):
        for m in range(1, n):
            own = {h: place for t, h, k, place in arcs if (t, k) == (s, m)}
            total = np.logaddexp.reduce(scores[list(own.values())].astype(float))
            gold = int(rng.choice([-1, *own]))
            heads[batch.first[s] + m] = gold
            unknown += gold < 0
            if gold < 0:
                continue
            expected += total - float(scores[own[gold]])
            for h, place in own.items():
                slopes[place] += 0.25 * (np.exp(float(scores[place]) - total) - (h == gold))
    assert 0 < unknown < 12
    found = np.ones_like(scores)
    loss = head_losses(scores, layout, heads, np.float32(0.25), found)
    assert loss == pytest.approx(expected, rel=1e-5)
    assert np.allclose(found - 1.0, slopes, atol=1e-5)
    square = scores[-64:].reshape(8, 8)
    head, mod = np.array([(h, m) for s, h, m, _ in arcs if s == 2], np.int32).T.copy()
    chances = np.exp(square[head, mod] - log_sums(square.ravel(), np.array([len(square)]))[mod])
    assert np.allclose([chances[mod == m].sum() for m in range(1, 8)], 1.0)
    ratio = np.log(chances) - square[head, mod]
    assert all(np.ptp(ratio[mod == m]) < 1e-4 for m in range(1, 8))
