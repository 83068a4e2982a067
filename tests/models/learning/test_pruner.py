"""The pre-pruner: what it leaves always holds a tree, its own best one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bbparse.core import Problem
from bbparse.inference.oracles.projective.dense import eisner
from bbparse.models.scoring.linear import LinearScorer
from bbparse.treebank import Sentence
from bbparse.treebank.encode import encode
from tests import toy
from tests.oracles.enumerate import enumerate_trees


def random_pruner(rng: np.random.Generator) -> LinearScorer:
    """A pruner whose weights mean nothing, some of them equal."""
    scorer = LinearScorer(toy.configuration().pruner_templates)
    scorer.weights[:] = rng.integers(-3, 4, len(scorer.weights)) << int(rng.integers(12, 18))
    return scorer


def short_sentences(count: int, longest: int) -> list[Sentence]:
    return [s for s in toy.sentences() if s.n_words <= longest][:count]


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize(("k", "margin"), [(1, 5.0), (2, 0.5), (4, math.inf), (2, math.inf)])
def test_candidates_hold_a_tree_and_the_pruners_best_one(
    k: int, margin: float, single_root: bool
) -> None:
    rng = np.random.default_rng(141)
    for sentence in short_sentences(30, 6):
        pruner = random_pruner(rng)
        values = encode(sentence)
        head, mod = pruner.candidates(values, k, margin, single_root)
        arcs = list(zip(head.tolist(), mod.tolist()))
        assert arcs == sorted(set(arcs))
        matrix = pruner.score_all_arcs(values)
        best, score = eisner(matrix, single_root)
        assert {(int(best[m]), m) for m in range(1, len(best))} <= set(arcs)
        p = Problem(
            sentence.n_words, head, mod, matrix[head, mod].tolist(), single_root=single_root
        )
        assert enumerate_trees(p)[0][0] == pytest.approx(score)
        # Apart from the tree's arcs, a word keeps at most k heads.
        for m in range(1, sentence.n_words + 1):
            assert 1 <= sum(1 for _, word in arcs if word == m) <= k + 1
