"""What a model says of labelled arcs, and what repairs make of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from bbparse.errors import ModelError
from bbparse.parsing.arc_scores import ModelScores
from bbparse.parsing.parser import Parser
from bbparse.treebank import NO_HEAD
from bbparse.validity.repair import RepairOptions, repair
from bbparse.validity.rules import Rules
from tests import toy


@pytest.mark.parametrize("parser", [toy.parser, toy.network_parser])
def test_missing_arcs_are_the_probable_ones(parser: Callable[[], Parser]) -> None:
    scores, ud = ModelScores(parser()), Rules.load("ud")
    right = {True: 0, False: 0}
    total = 0
    for sentence in toy.dev_sentences()[:60]:
        table = scores(sentence)
        n = sentence.n_words
        assert table.shape == (n + 1, n + 1, len(scores.labels))
        table[np.arange(n + 1), np.arange(n + 1)] = -np.inf
        np.testing.assert_allclose(np.exp(table[:, 1:]).sum(axis=(0, 2)), 1.0)
        gap = n // 2
        heads, labels = sentence.heads.copy(), sentence.deprels.copy()
        heads[gap], labels[gap] = NO_HEAD, "_"
        total += 1
        for with_model in right:
            options = RepairOptions(scores=scores if with_model else None)
            got = repair(replace(sentence, heads=heads, deprels=labels), ud, options=options)
            assert got.proved and not got.after
            new = got.heads[gap], got.labels[gap]
            right[with_model] += new == (sentence.heads[gap], sentence.deprels[gap])
    assert right[True] > 0.5 * total > 0.25 * total > right[False]


def test_models_without_labels() -> None:
    parser = Parser(replace(toy.parser().model, labeller=None))
    with pytest.raises(ModelError, match="the model has no labels"):
        ModelScores(parser)
